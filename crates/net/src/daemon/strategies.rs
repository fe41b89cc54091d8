//! Strategies of single prefixes: their names in the management protocol, and a configuration that is read again.
//!
//! A name is `/localhost/nfd/strategy/NAME`, perhaps with a version and parameters behind it, as NFD has it:
//! `asf/v=5/max-timeouts~3`. Any version means the present strategy, whose name has `v=1`. Parameters are the
//! strategy's own, with dots into tables, or NFD's where it has them too.

use super::config::{ConfigError, name};
use super::{Daemon, RunError};
use crate::mgmt::CommandFailure;
use ndnweir_core::registry::{Family, StrategyParams};
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::units::Time;
use ndnweir_wire::{Component, Name, NameView};
use serde_json::{Map, Value};

/// The prefix of strategy names (NFD wiki, `StrategyChoice`).
pub(super) const STRATEGY_PREFIX: [&[u8]; 3] = [b"localhost", b"nfd", b"strategy"];

/// NFD's parameters, what they are called here, and the unit of their numbers (NFD's `asf-strategy`,
/// `retx-suppression-exponential`).
const OF_NFD: [(&str, &str, &str); 6] = [
    ("probing-interval", "probing-interval", "ms"),
    ("max-timeouts", "max-timeouts", ""),
    ("measurements-lifetime", "measurement-lifetime", "ms"),
    ("retx-suppression-initial", "suppression.initial", "ms"),
    ("retx-suppression-max", "suppression.max", "ms"),
    ("retx-suppression-multiplier", "suppression.multiplier", ""),
];

/// Reads the name of a strategy.
///
/// # Errors
/// 404 if there is none of that name, 409 if it cannot have such parameters.
pub(super) fn strategy_of(strategy: NameView<'_>) -> Result<ComponentChoice<StrategyParams>, CommandFailure> {
    let unknown = || {
        let known: Vec<_> = Family::Strategy.components().iter().map(|info| info.name).collect();
        CommandFailure::new(
            404,
            format!("there is no strategy {strategy}; under /localhost/nfd/strategy there are: {}", known.join(", ")),
        )
    };
    let mut words = strategy.components();
    let at_home = STRATEGY_PREFIX
        .iter()
        .all(|word| words.next().is_some_and(|found| found.is_generic() && found.value() == *word));
    let word = words.next().filter(|word| at_home && word.is_generic()).ok_or_else(unknown)?;
    let word = std::str::from_utf8(word.value()).map_err(|_| unknown())?;
    if !Family::Strategy.components().iter().any(|info| info.name == word) {
        return Err(unknown());
    }
    let mut params = Map::new();
    for parameter in words.filter(|component| component.as_version().is_none()) {
        let text = std::str::from_utf8(parameter.value()).ok().and_then(|text| text.split_once('~'));
        let Some((key, value)) = text else {
            return Err(CommandFailure::new(409, format!("{word}: a parameter is written as max-timeouts~3")));
        };
        set(&mut params, key, value);
    }
    ComponentChoice::new(word, params).map_err(|why| CommandFailure::new(409, why.to_string()))
}

fn set(params: &mut Map<String, Value>, key: &str, value: &str) {
    let (key, unit) = OF_NFD.iter().find(|row| row.0 == key).map_or((key, ""), |row| (row.1, row.2));
    let is_number = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    let value = match serde_json::from_str(value) {
        Ok(plain @ (Value::Number(_) | Value::Bool(_))) if unit.is_empty() => plain,
        _ if is_number => Value::String(format!("{value}{unit}")),
        _ => Value::String(value.to_owned()),
    };
    match key.split_once('.') {
        None => drop(params.insert(key.to_owned(), value)),
        Some((table, key)) => {
            let table = params.entry(table).or_insert_with(|| Value::Object(Map::new()));
            if let Value::Object(table) = table {
                table.insert(key.to_owned(), value);
            }
        }
    }
}

/// The full name of a strategy, with the parameters that were given.
pub(super) fn name_of(part: &ComponentChoice<StrategyParams>) -> Name {
    let home = STRATEGY_PREFIX.into_iter().chain([part.name().as_bytes()]).map(Component::generic);
    let mut name = home.chain([Component::version(1)]).fold(Name::new(), Name::with);
    let mut params = Vec::new();
    for (key, value) in part.params() {
        match value {
            Value::Object(table) => params.extend(table.iter().map(|(inner, value)| (format!("{key}.{inner}"), value))),
            value => params.push((key.clone(), value)),
        }
    }
    for (key, value) in params {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        name = name.with(Component::generic(format!("{key}~{value}")));
    }
    name
}

impl Daemon {
    /// Whether another configuration's strategies can be taken over.
    ///
    /// # Errors
    /// If they need a shaper that the faces do not have.
    pub(super) fn check_strategies(&self, new: &Scheme) -> Result<(), RunError> {
        let (has, wants) = (self.config.scheme.face_shaper(), new.face_shaper());
        let shaped = (1..=new.choices.len()).any(|number| new.is_shaped(number));
        if shaped && wants != has {
            let text = format!("the shaper of faces is {} until the next start, not {}", has.name(), wants.name());
            return Err(ConfigError::new(text).into());
        }
        Ok(())
    }

    /// Applies the strategies of another configuration, as far as they differ from the present ones.
    pub(super) fn take_over_strategies(&mut self, now: Time, new: &Scheme) -> Result<(), RunError> {
        let old = self.config.scheme.clone();
        let removed =
            |choice: &&ndnweir_core::scheme::PrefixChoice| new.choices.iter().all(|new| new.prefix != choice.prefix);
        for choice in old.choices.iter().filter(removed) {
            self.forwarder.unset_strategy(name(&choice.prefix).map_err(ConfigError::new)?.as_view());
        }
        let own = &new.parts.strategy;
        if *own != old.parts.strategy {
            self.forwarder.choose(now, Name::new().as_view(), own, None).map_err(ConfigError::new)?;
        }
        for (place, choice) in new.choices.iter().enumerate().filter(|(_, choice)| !old.choices.contains(choice)) {
            let (prefix, shaped) = (name(&choice.prefix).map_err(ConfigError::new)?, new.is_shaped(place + 1));
            self.forwarder.choose(now, prefix.as_view(), &choice.strategy, Some(shaped)).map_err(ConfigError::new)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<ComponentChoice<StrategyParams>, CommandFailure> {
        strategy_of(text.parse::<Name>().unwrap().as_view())
    }

    #[test]
    fn a_strategy_is_known_by_the_names_that_other_forwarders_write() {
        for (text, known) in [
            ("/localhost/nfd/strategy/best-route", "best-route"),
            ("/localhost/nfd/strategy/best-route/v=5", "best-route"),
            ("/localhost/nfd/strategy/multicast/v=1", "multicast"),
            ("/localhost/nfd/strategy/self-learning/v=1", "self-learning"),
            ("/localhost/nfd/strategy/pcon", "pcon"),
        ] {
            assert_eq!(read(text).unwrap(), ComponentChoice::plain(known).unwrap(), "{text}");
        }
        for text in [
            "/",
            "/best-route",
            "/localhost/nfd/strategy",
            "/localhost/nfd/strategy/access/v=1",
            "/localhost/nfd/strategy/v=1",
        ] {
            assert_eq!(read(text).unwrap_err().code, 404, "{text}");
        }
    }

    #[test]
    fn parameters_are_those_of_nfd_or_our_own_and_are_named_with_the_strategy() {
        let part =
            read("/localhost/nfd/strategy/asf/v=5/probing-interval~30000/max-timeouts~5/retx-suppression-initial~20")
                .unwrap();
        let params = json!({ "probing-interval": "30000ms", "max-timeouts": 5, "suppression": { "initial": "20ms" } });
        assert_eq!(Value::Object(part.params().clone()), params);
        assert_eq!(read(&name_of(&part).to_string()), Ok(part));
        assert_eq!(read("/localhost/nfd/strategy/pcon/change~0.5").unwrap().params()["change"], json!(0.5));
        for wrong in
            ["asf/v=5/max-timeouts", "asf/no-such~1", "asf/probing-interval~5", "best-route/v=5/retx-suppression-max~x"]
        {
            assert_eq!(read(&format!("/localhost/nfd/strategy/{wrong}")).unwrap_err().code, 409, "{wrong}");
        }
    }
}
