//! Which strategy names have, by their longest prefix with a choice of its own.

use super::Forwarder;
use super::routes::elements;
use crate::error::StrategyError;
use crate::fib_tree::FibTree;
use crate::keyed::HashKey;
use crate::strategies::StrategyChoiceId;
use ndnweir_core::ids::PrefixId;
use ndnweir_core::registry::StrategyParams;
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::units::Time;
use ndnweir_wire::{Name, NameView};
use std::collections::BTreeMap;

/// Components of all prefixes in the table, shared ones counted once.
const MAX_COMPONENTS: usize = 64 * Scheme::MAX_CHOICES;

/// What a prefix has.
#[derive(Clone, Debug)]
pub struct Chosen {
    id: StrategyChoiceId,
    /// Its strategy.
    pub strategy: ComponentChoice<StrategyParams>,
    /// Whether its Interests go through the shapers of faces, where there are any.
    pub shaped: bool,
}

#[derive(Debug)]
pub(super) struct Choices {
    /// The empty prefix is always there.
    table: BTreeMap<Name, Chosen>,
    /// Its values are the numbers of choices.
    tree: FibTree,
}

impl Choices {
    /// The choices of a scheme, as a node built from it numbers them.
    pub(super) fn new(scheme: &Scheme, key: HashKey) -> Result<Choices, StrategyError> {
        let mut choices = Choices { table: BTreeMap::new(), tree: FibTree::keyed(MAX_COMPONENTS, key) };
        choices.put(Name::new(), StrategyChoiceId::ROOT, &scheme.parts.strategy, scheme.is_shaped(0))?;
        for (number, choice) in (1..).zip(&scheme.choices) {
            let name = choice
                .prefix
                .parse()
                .map_err(|error| StrategyError::Prefix { prefix: choice.prefix.clone(), error })?;
            choices.put(name, StrategyChoiceId::of_scheme(number), &choice.strategy, scheme.is_shaped(number))?;
        }
        Ok(choices)
    }

    fn put(
        &mut self,
        name: Name,
        id: StrategyChoiceId,
        strategy: &ComponentChoice<StrategyParams>,
        shaped: bool,
    ) -> Result<(), StrategyError> {
        self.tree.insert(&elements(name.as_view()), PrefixId(id.0.into()))?;
        self.table.insert(name, Chosen { id, strategy: strategy.clone(), shaped });
        Ok(())
    }

    /// Whose choice a name has.
    pub(super) fn of<C: AsRef<[u8]>>(&self, elements: &[C]) -> StrategyChoiceId {
        self.tree.longest(elements).map_or(StrategyChoiceId::ROOT, |id| StrategyChoiceId::of_scheme(id.index()))
    }

    fn chosen(&self, name: NameView<'_>) -> Option<&Chosen> {
        let id = self.of(&elements(name));
        self.table.values().find(|chosen| chosen.id == id)
    }
}

impl Forwarder {
    /// Gives the names under a prefix a strategy. `shaped` says whether their Interests are shaped; none keeps it as it
    /// was. What is pending stays with the former strategy until it is answered, ends, or is requested again.
    ///
    /// # Errors
    /// [`StrategyError`]; nothing has changed then.
    pub fn choose(
        &mut self,
        now: Time,
        prefix: NameView<'_>,
        strategy: &ComponentChoice<StrategyParams>,
        shaped: Option<bool>,
    ) -> Result<(), StrategyError> {
        let shaped = shaped.unwrap_or_else(|| self.choices.chosen(prefix).is_some_and(|chosen| chosen.shaped));
        if let Some(chosen) = self.choices.table.get_mut(prefix.as_bytes()) {
            self.node.replace_strategy(now, chosen.id, strategy, shaped)?;
            (chosen.strategy, chosen.shaped) = (strategy.clone(), shaped);
        } else {
            if self.choices.table.len() > Scheme::MAX_CHOICES {
                return Err(StrategyError::TooManyPrefixes);
            }
            let id = self.node.choose(now, strategy, shaped)?;
            if let Err(error) = self.choices.put(prefix.to_owned(), id, strategy, shaped) {
                self.node.remove_strategy(id);
                return Err(error);
            }
            self.bind_under(prefix);
        }
        self.layout = self.node.layout().clone();
        self.account();
        Ok(())
    }

    /// Removes the strategy choice of a prefix, which then has that of the next shorter one. Whether there was one;
    /// that of the empty prefix stays.
    pub fn unset_strategy(&mut self, prefix: NameView<'_>) -> bool {
        if prefix.is_empty() {
            return false;
        }
        let Some(chosen) = self.choices.table.remove(prefix.as_bytes()) else { return false };
        self.choices.tree.remove(&elements(prefix));
        self.bind_under(prefix);
        self.node.remove_strategy(chosen.id);
        true
    }

    /// The prefixes with a choice of their own, the empty one first, in canonical order.
    pub fn choices(&self) -> impl Iterator<Item = (NameView<'_>, &Chosen)> {
        self.choices.table.iter().map(|(name, chosen)| (name.as_view(), chosen))
    }
}
