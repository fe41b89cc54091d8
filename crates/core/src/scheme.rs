//! Schemes: compositions of one component per family.

mod choices;
mod component;
mod named;

pub use choices::PrefixChoice;
pub use component::{ComponentChoice, ComponentView};

use crate::error::SchemeError;
use crate::fields::{Field, FieldLayout, Fields};
use crate::registry::{
    AnyConsumer, AnyDiscipline, AnyMarker, AnyMeter, AnyPlanner, AnyShaper, AnyStrategy, ConsumerParams,
    DisciplineParams, Family, MarkerParams, MeterParams, PlannerParams, ShaperParams, StrategyParams,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What nodes do with marks on Interests.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema, ndnweir_state::Value,
)]
#[serde(rename_all = "kebab-case")]
pub enum InterestMarks {
    /// The mark stays on the Interest and has no effect (stock ndnSIM).
    Ignore,
    /// A node records it in the PIT and ORs it into the Data.
    #[default]
    Copy,
    /// A node records it with the downstream it came from, and ORs it into that downstream's Data alone (NDN-DPDK).
    Own,
}

/// What content stores do with the mark of a Data they store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CachedMarks {
    /// It is removed: the copy does not cross the congested link (NDN-DPDK; our default).
    #[default]
    Strip,
    /// It stays, and every answer from the store carries it again (NFD).
    Replay,
}

/// A named composition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scheme {
    /// Its name.
    pub name: String,
    /// One line on what it is and who published it.
    pub summary: String,
    /// One component per family.
    pub parts: Parts,
    /// Marks on Interests.
    pub interest_marks: InterestMarks,
    /// Marks on stored Data.
    pub cached_marks: CachedMarks,
    /// The strategies and shapers of single prefixes, in place of those above; a shorter prefix comes before a longer
    /// one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<PrefixChoice>,
}

macro_rules! parts {
    ($($family:ident $key:ident $params:ident $any:ident $doc:literal;)*) => {
        /// One component per family, in the order of [`Family::ALL`]; by default the null component.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Parts {
            $(#[doc = $doc] pub $key: ComponentChoice<$params>,)*
        }

        impl Parts {
            /// The component of a family, as it is written.
            pub fn of(&self, family: Family) -> ComponentView<'_> {
                match family {
                    $(Family::$family => self.$key.view(),)*
                }
            }

            /// Applies a name, or a table with a name and parameters; a table without `name` changes parameters.
            ///
            /// # Errors
            /// If there is no such component or the parameters do not fit; nothing has changed then.
            pub fn change(&mut self, family: Family, value: &Value) -> Result<(), SchemeError> {
                match family {
                    $(Family::$family => self.$key.change(value),)*
                }
            }

            fn needs(&self, family: Family) -> Vec<Field> {
                match family {
                    $(Family::$family => self.$key.needs(),)*
                }
            }
        }

        impl Serialize for Parts {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                ($(&self.$key,)*).serialize(serializer)
            }
        }

        impl<'de> Deserialize<'de> for Parts {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Parts, D::Error> {
                let ($($key,)*) = Deserialize::deserialize(deserializer)?;
                Ok(Parts { $($key,)* })
            }
        }

        impl Scheme {
            $(
                /// Builds an instance of the family's component.
                pub fn $key(&self, layout: &mut FieldLayout) -> $any {
                    parts!(@built self $key).build(layout)
                }
            )*
        }
    };
    (@built $scheme:ident shaper) => { $scheme.face_shaper() };
    (@built $scheme:ident $key:ident) => { $scheme.parts.$key };
}

parts! {
    Consumer consumer ConsumerParams AnyConsumer "At each fetch.";
    Marker marker MarkerParams AnyMarker "In each egress queue.";
    Discipline discipline DisciplineParams AnyDiscipline "The order of each egress queue.";
    Shaper shaper ShaperParams AnyShaper "At each face.";
    Strategy strategy StrategyParams AnyStrategy "At each node.";
    Meter meter MeterParams AnyMeter "At each node.";
    Planner planner PlannerParams AnyPlanner "For the network.";
}

/// Whether a composition has such a key that names no family.
const OTHER_KEYS: [&str; 5] = ["base", "summary", "interest-marks", "cached-marks", "prefixes"];

impl Scheme {
    /// The names of the shipped schemes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        named::NAMED.iter().map(|named| named.name)
    }

    /// A shipped scheme.
    ///
    /// # Errors
    /// If there is none of that name; lists the existing ones.
    pub fn named(name: &str) -> Result<Scheme, SchemeError> {
        let Some(named) = named::NAMED.iter().find(|named| named.name == name) else {
            let known: Vec<_> = Scheme::names().collect();
            return Err(crate::suggest::unknown("scheme", name, &known));
        };
        let mut scheme = Scheme::resolve(name, &(named.composition)())?;
        scheme.summary = named.summary.into();
        Ok(scheme)
    }

    /// Reads a composition such as `{ consumer = "bic", marker = { name = "codel", target = "5ms" } }`.
    ///
    /// `base = "NAME"` starts from a shipped scheme, also from the one of the same name, and `base = { … }` from
    /// another composition; families left out keep the base's component, or do nothing.
    ///
    /// # Errors
    /// An unknown key, component or parameter, or more header fields than a run carries.
    pub fn resolve(name: &str, composition: &Value) -> Result<Scheme, SchemeError> {
        let Value::Object(table) = composition else {
            let help = "write a table such as { consumer = \"bic\", marker = \"codel\" }";
            return Err(SchemeError::new("this scheme is not a table", help));
        };
        let about = |key: &str, message: &str, help: &str| SchemeError::about(key, format!("{key}: {message}"), help);
        let mut scheme = match table.get("base") {
            Some(Value::String(base)) => Scheme::named(base).map_err(|e| about("base", &e.message, &e.help))?,
            Some(inner @ Value::Object(_)) => Scheme::resolve(name, inner)?,
            Some(_) => return Err(about("base", "this is not a scheme", "write the name of another scheme")),
            None => Scheme::default(),
        };
        scheme.summary = match table.get("base") {
            Some(Value::String(base)) if base == name => format!("{}; changed for this scenario", scheme.summary),
            _ => "a composition of this scenario".into(),
        };
        scheme.name = name.into();
        for (key, value) in table {
            match key.as_str() {
                "base" | "prefixes" => {}
                "summary" => scheme.summary = value.as_str().unwrap_or_default().into(),
                "interest-marks" => {
                    scheme.interest_marks = InterestMarks::deserialize(value)
                        .map_err(|_| about(key, "this is not known", "write \"ignore\", \"copy\" or \"own\""))?;
                }
                "cached-marks" => {
                    scheme.cached_marks = CachedMarks::deserialize(value)
                        .map_err(|_| about(key, "this is not known", "write \"strip\" or \"replay\""))?;
                }
                _ => match Family::ALL.into_iter().find(|family| family.key() == key) {
                    Some(family) => scheme.parts.change(family, value)?,
                    None => return Err(unknown_key(key)),
                },
            }
        }
        if let Some(prefixes) = table.get("prefixes") {
            scheme.choose_all(prefixes)?;
        }
        scheme.check_fields()?;
        Ok(scheme)
    }

    /// The component of a family, as it is written.
    pub fn part(&self, family: Family) -> ComponentView<'_> {
        self.parts.of(family)
    }

    /// Whether any part stands in for a scheme whose law is not public.
    pub fn is_stand_in(&self) -> bool {
        let own = Family::ALL.into_iter().map(|family| (family, self.part(family).name));
        let choices = self
            .choices
            .iter()
            .flat_map(|choice| [(Family::Strategy, choice.strategy.name()), (Family::Shaper, choice.shaper.name())]);
        own.chain(choices).any(|(family, name)| family.components().iter().any(|i| i.name == name && i.stand_in))
    }

    /// The header fields its components need, as they are set.
    pub fn fields(&self) -> Vec<Field> {
        let own = Family::ALL.into_iter().flat_map(|family| self.parts.needs(family));
        let choices = self.choices.iter().flat_map(|choice| [choice.strategy.needs(), choice.shaper.needs()].concat());
        let mut fields = Vec::new();
        for field in own.chain(choices) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        fields
    }

    fn check_fields(&self) -> Result<(), SchemeError> {
        let fields = self.fields();
        if fields.len() <= Fields::SLOTS {
            return Ok(());
        }
        let message = format!("the components need {} header fields, a run carries {}", fields.len(), Fields::SLOTS);
        Err(SchemeError::new(message, "leave out a component that needs some"))
    }

    /// The slots of a run of this scheme.
    pub fn layout(&self) -> FieldLayout {
        let mut layout = FieldLayout::new();
        for field in self.fields() {
            layout.slot(field);
        }
        layout
    }
}

fn unknown_key(key: &str) -> SchemeError {
    let known: Vec<_> = OTHER_KEYS.into_iter().chain(Family::ALL.into_iter().map(Family::key)).collect();
    let help = match crate::suggest::corrected_spelling(key, known.iter().copied()) {
        Some(name) => format!("it is written {name:?}"),
        None => format!("a scheme has: {}", known.join(", ")),
    };
    SchemeError::about(key, format!("unknown key {key:?}"), help)
}

#[cfg(test)]
mod tests;
