//! What every component of every family provides, and what it is built from.

use crate::error::SchemeError;
use crate::family::Family;
use crate::fields::{Field, FieldLayout, Slot};
use crate::suggest;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A component: a named law with parameters whose defaults are its source's values.
pub trait Component: Sized {
    /// The name in scenario files.
    const NAME: &'static str;
    /// One line for `ndnweir list`.
    const SUMMARY: &'static str;
    /// Where the law comes from: paper and section, RFC or code; "ours" where it is our completion.
    const SOURCE: &'static str;
    /// Whether this stands in for a scheme whose law is not public; every output notes it.
    const STAND_IN: bool = false;
    /// The header fields it may read or write.
    const FIELDS: &'static [Field] = &[];
    /// Its parameters; each documents its unit and source.
    type Params: Default + Clone + Serialize + DeserializeOwned + JsonSchema + PartialEq + std::fmt::Debug;

    /// Rejects invalid parameters.
    ///
    /// # Errors
    /// Names the parameter, its value and the remedy; the caller adds the component.
    fn check(_params: &Self::Params) -> Result<(), SchemeError> {
        Ok(())
    }

    /// The header fields that a run must carry for an instance with these parameters. Others of [`Component::FIELDS`]
    /// it uses only if another component of the scheme needs them (see [`Env::carried`]).
    fn needs(_params: &Self::Params) -> Vec<Field> {
        Self::FIELDS.to_vec()
    }

    /// Builds one instance. `params` have passed [`Component::check`].
    fn new(params: &Self::Params, env: &mut Env<'_>) -> Self;
}

/// The surroundings of an instance when it is built.
pub struct Env<'a> {
    /// The header fields of the run.
    pub layout: &'a mut FieldLayout,
}

impl Env<'_> {
    /// The slot of a field, if the run carries it because some component of the scheme needs it.
    pub fn carried(&self, field: Field) -> Option<Slot> {
        self.layout.find(field)
    }

    /// The slot of a declared field. [`crate::scheme::Scheme::resolve`] has made sure that all declared fields fit.
    ///
    /// # Panics
    /// If a component requests a field that neither it nor its scheme declared and no slot is left.
    pub fn slot(&mut self, field: Field) -> Slot {
        #[expect(
            clippy::expect_used,
            reason = "a component that does not declare its fields is a bug; the conformance suite finds it"
        )]
        self.layout.slot(field).expect("components declare their fields in FIELDS")
    }
}

/// The parameters of a component that has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ndnweir_state::Value)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

/// The registry's entry of a component.
#[derive(Clone, Debug)]
pub struct Info {
    /// See [`Component::NAME`].
    pub name: &'static str,
    /// See [`Component::SUMMARY`].
    pub summary: &'static str,
    /// See [`Component::SOURCE`].
    pub source: &'static str,
    /// See [`Component::STAND_IN`].
    pub stand_in: bool,
    /// See [`Component::FIELDS`].
    pub fields: &'static [Field],
    /// The default parameters.
    pub defaults: fn() -> serde_json::Value,
    /// JSON schema of the parameters, with their documentation.
    pub schema: fn() -> serde_json::Value,
}

impl Info {
    /// The row of `C`.
    pub const fn of<C: Component>() -> Info {
        Info {
            name: C::NAME,
            summary: C::SUMMARY,
            source: C::SOURCE,
            stand_in: C::STAND_IN,
            fields: C::FIELDS,
            defaults: || serde_json::to_value(C::Params::default()).unwrap_or_default(),
            schema: || schemars::schema_for!(C::Params).to_value(),
        }
    }
}

/// A component of one family with its parameters, read and checked: what instances are built from.
///
/// The registry has one type for each family, such as [`crate::registry::ConsumerParams`]; its default is the null
/// component.
pub trait FamilyParams: Clone + std::fmt::Debug + Default {
    /// The family.
    const FAMILY: Family;
    /// What is built.
    type Instance;

    /// Reads and checks the parameters of the component called `name`; missing ones take their defaults.
    ///
    /// # Errors
    /// If there is no such component or the parameters do not fit.
    fn read(name: &str, params: &Value) -> Result<Self, SchemeError>;

    /// The component's name.
    fn name(&self) -> &'static str;

    /// See [`Component::needs`].
    fn needs(&self) -> Vec<Field>;

    /// Builds one instance.
    fn build(&self, env: &mut Env<'_>) -> Self::Instance;
}

/// A component made outside this crate: its name, and what makes an instance.
pub struct Outside<T: ?Sized> {
    name: &'static str,
    make: Arc<dyn Fn() -> Box<T> + Send + Sync>,
}

impl<T: ?Sized> Outside<T> {
    /// A component of this name; `make` is called for each fetch, queue or node.
    pub fn new(name: &'static str, make: impl Fn() -> Box<T> + Send + Sync + 'static) -> Outside<T> {
        Outside { name, make: Arc::new(make) }
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Makes an instance.
    pub fn make(&self) -> Box<T> {
        (self.make)()
    }
}

impl<T: ?Sized> Clone for Outside<T> {
    fn clone(&self) -> Outside<T> {
        Outside { name: self.name, make: Arc::clone(&self.make) }
    }
}

/// Two are equal if one was cloned from the other.
impl<T: ?Sized> PartialEq for Outside<T> {
    fn eq(&self, other: &Outside<T>) -> bool {
        Arc::ptr_eq(&self.make, &other.make)
    }
}

impl<T: ?Sized> std::fmt::Debug for Outside<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Outside").field(&self.name).finish()
    }
}

/// Reads and checks the parameters of `C`; missing ones take their defaults.
///
/// # Errors
/// If they do not fit.
pub fn parse_params<C: Component>(params: &Value) -> Result<C::Params, SchemeError> {
    let params = if params.is_null() { &Value::Object(Map::new()) } else { params };
    let parsed = read_params::<C>(params).map_err(|e| misfit(&e, params, &|p| read_params::<C>(p).is_ok()))?;
    C::check(&parsed)?;
    Ok(parsed)
}

// Compiled once for each component, not at each call.
#[inline(never)]
fn read_params<C: Component>(params: &Value) -> Result<C::Params, serde_json::Error> {
    C::Params::deserialize(params)
}

/// The error of parameters that do not fit; `reads` says whether others would.
fn misfit(error: &serde_json::Error, params: &Value, reads: &dyn Fn(&Value) -> bool) -> SchemeError {
    let (message, help) = suggest::with_suggestion(&error.to_string());
    match culprit(params, reads) {
        // Messages about unknown keys name them.
        Some(parameter) if message.contains('`') => SchemeError::about(&parameter, message, help),
        Some(parameter) => SchemeError::about(&parameter, format!("{parameter}: {message}"), help),
        None => SchemeError::new(message, help),
    }
}

/// The parameter that cannot be read, with dots into tables: the first that cannot be read alone.
fn culprit(params: &Value, reads: &dyn Fn(&Value) -> bool) -> Option<String> {
    let alone = |key: &str, value: &Value| serde_json::json!({ key: value });
    let (key, value) = params.as_object()?.iter().find(|(key, value)| !reads(&alone(key, value)))?;
    let inner = culprit(value, &|inner| reads(&alone(key, inner)));
    Some(inner.map_or_else(|| key.clone(), |inner| format!("{key}.{inner}")))
}
