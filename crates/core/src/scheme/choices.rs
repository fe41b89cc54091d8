//! What a scheme says of single prefixes: their own strategy, and whether their Interests go through the shaper.
//!
//! A strategy may be any; each prefix that is chosen for has an instance of its own. A shaper belongs to a face and
//! paces by the whole rate of its link, so two of them on one link would promise it twice. Of the prefixes of a scheme
//! some may be shaped and others not, but all that are have the same shaper. That is ours: no source says what several
//! shapers on one link would mean.

use super::{ComponentChoice, Scheme};
use crate::registry::Family;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The shaper that lets everything pass.
const NO_SHAPER: &str = "none";

/// The strategy of the names under a prefix, and whether they are shaped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrefixChoice {
    /// The prefix, such as "/video".
    pub prefix: String,
    /// Its strategy.
    pub strategy: ComponentChoice,
    /// Its shaper: that of the faces, or "none".
    pub shaper: ComponentChoice,
}

impl PrefixChoice {
    fn parts(&self) -> [(Family, &ComponentChoice); 2] {
        [(Family::Strategy, &self.strategy), (Family::Shaper, &self.shaper)]
    }
}

/// Whether `name` is `prefix` or below it.
fn is_under(prefix: &str, name: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether a shaper does something.
fn shapes(part: &ComponentChoice) -> bool {
    part.name != NO_SHAPER
}

impl Scheme {
    /// The most prefixes with a choice of their own.
    pub const MAX_CHOICES: usize = 64;

    /// Reads `{ "/video" = { strategy = "asf", shaper = "none" }, "/live" = "multicast" }`.
    pub(super) fn choose_all(&mut self, prefixes: &Value) -> Result<(), String> {
        let Value::Object(table) = prefixes else {
            return Err("prefixes must be a table such as { \"/video\" = { strategy = \"asf\" } }".into());
        };
        let mut sorted: Vec<_> = table.iter().collect();
        sorted.sort_by_key(|(prefix, _)| prefix.len());
        sorted.into_iter().try_for_each(|(prefix, choice)| self.choose(prefix, choice))
    }

    /// Gives names under a prefix a strategy of their own, or says by `shaper` whether they are shaped: the name of a
    /// strategy, or a table with one or both. What is left out is as the longest shorter prefix has it at this time;
    /// "/" stands for the scheme's own parts.
    ///
    /// # Errors
    /// A sentence that names the remedy.
    pub fn choose(&mut self, prefix: &str, choice: &Value) -> Result<(), String> {
        let said = |e: String| format!("prefixes.{prefix}: {e}");
        let form = || said("write { strategy = \"asf\" }, { shaper = \"none\" } or both".into());
        let (strategy, shaper) = match choice {
            Value::String(_) => (Some(choice), None),
            Value::Object(table) if !table.is_empty() => {
                if let Some(key) = table.keys().find(|key| !matches!(key.as_str(), "strategy" | "shaper")) {
                    return Err(said(format!("unknown key {key:?}; a prefix has: strategy, shaper")));
                }
                (table.get("strategy"), table.get("shaper"))
            }
            _ => return Err(form()),
        };
        let sound =
            prefix.starts_with('/') && (prefix == "/" || prefix.split('/').skip(1).all(|part| !part.is_empty()));
        if !sound {
            return Err(said("a prefix is written as /video or /video/live".into()));
        }
        let (mut own_strategy, mut own_shaper) = {
            let (strategy, shaper) = self.choice_for(prefix);
            (strategy.clone(), shaper.clone())
        };
        for (part, family, value) in
            [(&mut own_strategy, Family::Strategy, strategy), (&mut own_shaper, Family::Shaper, shaper)]
        {
            if let Some(value) = value {
                part.change(family, value).map_err(said)?;
            }
        }
        let new = PrefixChoice { prefix: prefix.into(), strategy: own_strategy, shaper: own_shaper };
        if prefix == "/" {
            self.parts[Family::Strategy as usize] = new.strategy;
            self.parts[Family::Shaper as usize] = new.shaper;
        } else if let Some(known) = self.choices.iter_mut().find(|known| known.prefix == prefix) {
            *known = new;
        } else if self.choices.len() < Scheme::MAX_CHOICES {
            self.choices.push(new);
            self.choices.sort_by_key(|choice| choice.prefix.len());
        } else {
            return Err(said(format!("more than {} prefixes with a choice of their own", Scheme::MAX_CHOICES)));
        }
        self.check_shapers().and_then(|()| self.check_fields()).map_err(said)
    }

    /// The strategy and shaper of a name.
    fn choice_for(&self, name: &str) -> (&ComponentChoice, &ComponentChoice) {
        match self.choice_for_name(name).checked_sub(1) {
            Some(place) => (&self.choices[place].strategy, &self.choices[place].shaper),
            None => (self.part(Family::Strategy), self.part(Family::Shaper)),
        }
    }

    /// Whose choice a name has: 0 the scheme's own, n that of the n-th of [`Scheme::choices`]. The longest prefix wins.
    /// Names are compared as they are written.
    pub fn choice_for_name(&self, name: &str) -> usize {
        let place = self.choices.iter().rposition(|choice| is_under(&choice.prefix, name));
        place.map_or(0, |place| place + 1)
    }

    /// Whether Interests of prefix number `governing` (see [`Scheme::governing`]) go through the shaper.
    pub fn is_shaped(&self, governing: usize) -> bool {
        let own = governing.checked_sub(1).and_then(|place| self.choices.get(place)).map(|choice| &choice.shaper);
        shapes(own.unwrap_or(self.part(Family::Shaper)))
    }

    /// What every face has: of the shapers of all prefixes the one that does something.
    pub fn face_shaper(&self) -> &ComponentChoice {
        let own = self.part(Family::Shaper);
        let all = std::iter::once(own).chain(self.choices.iter().map(|choice| &choice.shaper));
        all.into_iter().find(|part| shapes(part)).unwrap_or(own)
    }

    /// The part that instances of a family are built from.
    pub(super) fn built(&self, family: Family) -> &ComponentChoice {
        if family == Family::Shaper { self.face_shaper() } else { self.part(family) }
    }

    /// All parts, those of single prefixes included.
    pub(super) fn parts_in_force(&self) -> impl Iterator<Item = (Family, &ComponentChoice)> {
        let own = Family::ALL.into_iter().map(|family| (family, self.part(family)));
        own.chain(self.choices.iter().flat_map(PrefixChoice::parts))
    }

    fn check_shapers(&self) -> Result<(), String> {
        let one = self.face_shaper();
        let other =
            self.parts_in_force().find(|(family, part)| *family == Family::Shaper && shapes(part) && *part != one);
        let Some((_, other)) = other else { return Ok(()) };
        let what = if one.name == other.name {
            format!("the shaper {} with two sets of parameters", one.name)
        } else {
            format!("the shapers {} and {}", one.name, other.name)
        };
        Err(format!(
            "{what} would each pace Interests by the whole rate of the same links; give all shaped prefixes one \
             shaper, and the others shaper = \"none\""
        ))
    }
}
