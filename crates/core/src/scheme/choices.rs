//! A scheme's choices for single prefixes: their own strategy, and whether their Interests go through the shaper.
//!
//! Any strategy may be chosen; each prefix with a choice has an instance of its own. A shaper belongs to a face and
//! paces by the whole rate of its link, so two of them on one link would allocate it twice. Of the prefixes of a scheme
//! some may be shaped and others not, but all that are have the same shaper. That is ours: no source defines several
//! shapers on one link.

use super::{ComponentChoice, Scheme};
use crate::error::SchemeError;
use crate::registry::{Family, ShaperParams, StrategyParams};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The shaper that admits everything.
const NO_SHAPER: &str = "none";

/// The strategy of the names under a prefix, and whether they are shaped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrefixChoice {
    /// The prefix, such as "/video".
    pub prefix: String,
    /// Its strategy.
    pub strategy: ComponentChoice<StrategyParams>,
    /// Its shaper: that of the faces, or "none".
    pub shaper: ComponentChoice<ShaperParams>,
}

/// Whether `name` is `prefix` or below it.
fn is_under(prefix: &str, name: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a shaper does something.
fn shapes(part: &ComponentChoice<ShaperParams>) -> bool {
    part.name() != NO_SHAPER
}

impl Scheme {
    /// The most prefixes with a choice of their own.
    pub const MAX_CHOICES: usize = 64;

    /// Reads `{ "/video" = { strategy = "asf", shaper = "none" }, "/live" = "multicast" }`.
    pub(super) fn choose_all(&mut self, prefixes: &Value) -> Result<(), SchemeError> {
        let Value::Object(table) = prefixes else {
            let help = "write prefixes = { \"/video\" = { strategy = \"asf\" } }";
            return Err(SchemeError::about("prefixes", "prefixes is not a table", help));
        };
        let mut sorted: Vec<_> = table.iter().collect();
        sorted.sort_by_key(|(prefix, _)| prefix.len());
        sorted.into_iter().try_for_each(|(prefix, choice)| self.choose(prefix, choice))
    }

    /// Gives names under a prefix a strategy of their own, or sets with `shaper` whether they are shaped: the name of a
    /// strategy, or a table with one or both. What is left out is as the longest shorter prefix has it at this time;
    /// "/" stands for the scheme's own parts.
    ///
    /// # Errors
    /// About this prefix; nothing has changed then.
    pub fn choose(&mut self, prefix: &str, choice: &Value) -> Result<(), SchemeError> {
        let mut changed = self.clone();
        changed.put_choice(prefix, choice).map_err(|e| e.under(prefix))?;
        *self = changed;
        Ok(())
    }

    fn put_choice(&mut self, prefix: &str, choice: &Value) -> Result<(), SchemeError> {
        let (strategy, shaper) = match choice {
            Value::String(_) => (Some(choice), None),
            Value::Object(table) if !table.is_empty() => {
                if let Some(key) = table.keys().find(|key| !matches!(key.as_str(), "strategy" | "shaper")) {
                    return Err(SchemeError::new(format!("unknown key {key:?}"), "a prefix has: strategy, shaper"));
                }
                (table.get("strategy"), table.get("shaper"))
            }
            _ => {
                let help = "write { strategy = \"asf\" }, { shaper = \"none\" } or both";
                return Err(SchemeError::new("it chooses nothing", help));
            }
        };
        let sound =
            prefix.starts_with('/') && (prefix == "/" || prefix.split('/').skip(1).all(|part| !part.is_empty()));
        if !sound {
            return Err(SchemeError::new("this is not a prefix", "write it as /video or /video/live"));
        }
        let (own_strategy, own_shaper) = self.choice_for(prefix);
        let mut new =
            PrefixChoice { prefix: prefix.into(), strategy: own_strategy.clone(), shaper: own_shaper.clone() };
        strategy.map_or(Ok(()), |value| new.strategy.change(value))?;
        shaper.map_or(Ok(()), |value| new.shaper.change(value))?;
        if prefix == "/" {
            self.parts.strategy = new.strategy;
            self.parts.shaper = new.shaper;
        } else if let Some(known) = self.choices.iter_mut().find(|known| known.prefix == prefix) {
            *known = new;
        } else if self.choices.len() < Scheme::MAX_CHOICES {
            self.choices.push(new);
            self.choices.sort_by_key(|choice| choice.prefix.len());
        } else {
            let message = format!("more than {} prefixes with a choice of their own", Scheme::MAX_CHOICES);
            return Err(SchemeError::new(message, "leave out some"));
        }
        self.check_shapers()?;
        self.check_fields()
    }

    /// The strategy and shaper of a name.
    fn choice_for(&self, name: &str) -> (&ComponentChoice<StrategyParams>, &ComponentChoice<ShaperParams>) {
        match self.choice_for_name(name).checked_sub(1) {
            Some(place) => (&self.choices[place].strategy, &self.choices[place].shaper),
            None => (&self.parts.strategy, &self.parts.shaper),
        }
    }

    /// The choice of a name: 0 is the scheme's own, n the n-th of [`Scheme::choices`]. The longest prefix wins. Names
    /// are compared as they are written.
    pub fn choice_for_name(&self, name: &str) -> usize {
        let place = self.choices.iter().rposition(|choice| is_under(&choice.prefix, name));
        place.map_or(0, |place| place + 1)
    }

    /// Whether Interests of choice number `choice` (see [`Scheme::choice_for_name`]) go through the shaper.
    pub fn is_shaped(&self, choice: usize) -> bool {
        let own = choice.checked_sub(1).and_then(|place| self.choices.get(place)).map(|choice| &choice.shaper);
        shapes(own.unwrap_or(&self.parts.shaper))
    }

    /// The shaper of every face: of the shapers of all prefixes the one that is not null.
    pub fn face_shaper(&self) -> &ComponentChoice<ShaperParams> {
        self.shapers().find(|part| shapes(part)).unwrap_or(&self.parts.shaper)
    }

    /// The scheme's own, then those of single prefixes.
    fn shapers(&self) -> impl Iterator<Item = &ComponentChoice<ShaperParams>> {
        std::iter::once(&self.parts.shaper).chain(self.choices.iter().map(|choice| &choice.shaper))
    }

    fn check_shapers(&self) -> Result<(), SchemeError> {
        let one = self.face_shaper();
        let Some(other) = self.shapers().find(|part| shapes(part) && *part != one) else { return Ok(()) };
        let problem = if one.name() == other.name() {
            format!("the shaper {} with two sets of parameters", one.name())
        } else {
            format!("the shapers {} and {}", one.name(), other.name())
        };
        let error = SchemeError::new(
            format!("{problem} would each pace Interests by the whole rate of the same links"),
            "give all shaped prefixes one shaper, and the others shaper = \"none\"",
        );
        Err(SchemeError { family: Some(Family::Shaper), ..error })
    }
}
