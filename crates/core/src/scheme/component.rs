//! A component chosen by name.

use crate::component::{Env, FamilyParams};
use crate::error::SchemeError;
use crate::fields::{Field, FieldLayout};
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A component of one family, chosen by name, with the parameters that differ from its defaults. They are read and
/// checked when it is made, and instances are built from what was read.
#[derive(Clone, Debug, Default)]
pub struct ComponentChoice<P> {
    /// As written in the file.
    params: Map<String, Value>,
    read: P,
}

/// A component choice of whatever family, as written in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ComponentView<'a> {
    /// The component's name.
    pub name: &'static str,
    /// The parameters written in the file; the others keep their defaults.
    pub params: &'a Map<String, Value>,
}

impl<P: FamilyParams> ComponentChoice<P> {
    /// The component called `name` with these parameters.
    ///
    /// # Errors
    /// If there is no such component or the parameters do not fit.
    pub fn new(name: &str, params: Map<String, Value>) -> Result<ComponentChoice<P>, SchemeError> {
        let params = Value::Object(params);
        let read = P::read(name, &params)?;
        let Value::Object(params) = params else { return Ok(ComponentChoice { params: Map::new(), read }) };
        Ok(ComponentChoice { params, read })
    }

    /// A component that was read already, or made outside this crate; it has no parameters of a file.
    pub fn of(read: P) -> ComponentChoice<P> {
        ComponentChoice { params: Map::new(), read }
    }

    /// A component with only its defaults.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn plain(name: &str) -> Result<ComponentChoice<P>, SchemeError> {
        ComponentChoice::new(name, Map::new())
    }

    /// Reads `"codel"` or `{ name = "codel", target = "5ms" }`.
    ///
    /// # Errors
    /// If it is neither, or as [`ComponentChoice::new`].
    pub fn from_value(value: &Value) -> Result<ComponentChoice<P>, SchemeError> {
        if value.is_object() && !value["name"].is_string() {
            return Err(no_component::<P>());
        }
        let mut choice = ComponentChoice::default();
        choice.change(value).map(|()| choice)
    }

    /// Applies a name, or a table with a name and parameters; a table without `name` changes parameters.
    ///
    /// # Errors
    /// As [`ComponentChoice::from_value`]; nothing has changed then.
    pub fn change(&mut self, value: &Value) -> Result<(), SchemeError> {
        *self = match value {
            Value::String(name) => ComponentChoice::plain(name)?,
            Value::Object(table) => {
                let (name, mut params) = match table.get("name") {
                    Some(Value::String(name)) => (name.as_str(), Map::new()),
                    _ => (self.name(), self.params.clone()),
                };
                overlay(&mut params, table.iter().filter(|(key, _)| *key != "name"));
                ComponentChoice::new(name, params)?
            }
            _ => return Err(no_component::<P>()),
        };
        Ok(())
    }

    /// The component's name.
    pub fn name(&self) -> &'static str {
        self.read.name()
    }

    /// The parameters written in the file; the others keep their defaults.
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    /// Name and parameters.
    pub fn view(&self) -> ComponentView<'_> {
        ComponentView { name: self.name(), params: &self.params }
    }

    /// The header fields that a run must carry for it, with these parameters.
    pub fn needs(&self) -> Vec<Field> {
        self.read.needs()
    }

    /// Builds an instance.
    pub fn build(&self, layout: &mut FieldLayout) -> P::Instance {
        self.read.build(&mut Env { layout })
    }
}

fn no_component<P: FamilyParams>() -> SchemeError {
    let message = format!("{} is not a component", P::FAMILY.key());
    let error = SchemeError::new(message, "write a name, or a table with a name and parameters");
    SchemeError { family: Some(P::FAMILY), ..error }
}

/// Overrides `params`; tables within are merged, so that one of their keys can be changed alone.
fn overlay<'a>(params: &mut Map<String, Value>, overrides: impl Iterator<Item = (&'a String, &'a Value)>) {
    for (key, value) in overrides {
        match (params.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(table)) => overlay(inner, table.iter()),
            _ => drop(params.insert(key.clone(), value.clone())),
        }
    }
}

/// Two are equal if they are written the same.
impl<P: FamilyParams> PartialEq for ComponentChoice<P> {
    fn eq(&self, other: &ComponentChoice<P>) -> bool {
        self.view() == other.view()
    }
}

impl Serialize for ComponentView<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1 + self.params.len()))?;
        map.serialize_entry("name", self.name)?;
        for (key, value) in self.params {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<P: FamilyParams> Serialize for ComponentChoice<P> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.view().serialize(serializer)
    }
}

impl<'de, P: FamilyParams> Deserialize<'de> for ComponentChoice<P> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<ComponentChoice<P>, D::Error> {
        ComponentChoice::from_value(&Value::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}
