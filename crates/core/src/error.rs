//! What is wrong with a scheme, a component or a parameter.

use crate::family::Family;
use std::fmt;

/// What is wrong with a scheme, a component or a parameter, and the remedy.
///
/// The fields say what it is about, so that a caller who knows where a scheme was written can point to the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct SchemeError {
    /// The prefix whose choice it is about; none for the scheme's own components.
    pub prefix: Option<Box<str>>,
    /// The family whose component it is about.
    pub family: Option<Family>,
    /// The component; none if there is none of the name that was given.
    pub component: Option<&'static str>,
    /// The parameter, with dots into tables, such as `timer.min`. Without a family it is a key of the scheme itself,
    /// such as `base`.
    pub parameter: Option<String>,
    /// What is wrong; names the parameter and its value where it is about one.
    pub message: String,
    /// The remedy; may be empty where the message says all.
    pub help: String,
}

impl SchemeError {
    /// An error that is not about a single key.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> SchemeError {
        let (message, help) = (message.into(), help.into());
        SchemeError { prefix: None, family: None, component: None, parameter: None, message, help }
    }

    /// An error about a parameter, or about a key of the scheme itself.
    pub fn about(parameter: &str, message: impl Into<String>, help: impl Into<String>) -> SchemeError {
        SchemeError { parameter: Some(parameter.into()), ..SchemeError::new(message, help) }
    }

    /// An error about the value of a parameter: the message begins with `parameter = value`.
    pub fn value(parameter: &str, value: impl fmt::Display, wrong: &str, help: impl Into<String>) -> SchemeError {
        SchemeError::about(parameter, format!("{parameter} = {value} {wrong}"), help)
    }

    /// It is about a component of this family.
    #[must_use]
    pub fn of(mut self, family: Family, component: &'static str) -> SchemeError {
        (self.family, self.component) = (Some(family), Some(component));
        self
    }

    /// It is about the component that a prefix has.
    #[must_use]
    pub fn under(mut self, prefix: &str) -> SchemeError {
        self.prefix = Some(prefix.into());
        self
    }

    /// What is wrong, with the component and without the prefix and the remedy.
    pub fn problem(&self) -> String {
        match self.component {
            Some(component) => format!("{component}: {}", self.message),
            None => self.message.clone(),
        }
    }
}

impl fmt::Display for SchemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(prefix) = &self.prefix {
            write!(f, "prefixes.{prefix}: ")?;
        }
        f.write_str(&self.problem())?;
        if !self.help.is_empty() {
            write!(f, "; {}", self.help)?;
        }
        Ok(())
    }
}
