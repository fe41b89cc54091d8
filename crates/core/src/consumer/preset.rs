//! Parameters of laws that exist in several published versions.

/// Makes a `Params` whose missing keys take the values of a preset.
///
/// `preset` itself is resolved while reading and does not remain, so two ways to write the same law are equal.
macro_rules! params_with_presets {
    ($preset:ident; $($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// The parameters; their defaults are those of the default preset.
        #[derive(Clone, Debug, PartialEq, serde::Serialize, schemars::JsonSchema, ndnweir_state::Value)]
        #[serde(rename_all = "kebab-case")]
        #[schemars(deny_unknown_fields, default)]
        pub struct Params {
            /// The published version whose values stand where no other value is given.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub preset: Option<$preset>,
            $($(#[$doc])* pub $field: $type,)*
        }

        impl<'de> serde::Deserialize<'de> for Params {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Params, D::Error> {
                #[derive(serde::Deserialize, Default)]
                #[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
                struct Given {
                    #[serde(deserialize_with = "crate::consumer::preset::given")]
                    preset: Option<$preset>,
                    $(#[serde(deserialize_with = "crate::consumer::preset::given")] $field: Option<$type>,)*
                }
                let given = <Given as serde::Deserialize>::deserialize(deserializer)?;
                let base = given.preset.unwrap_or_default().params();
                Ok(Params { preset: None, $($field: given.$field.unwrap_or(base.$field),)* })
            }
        }

        impl Default for Params {
            fn default() -> Params {
                $preset::default().params()
            }
        }
    };
}
pub(super) use params_with_presets;

/// A given value; "null" is not one, and does not stand for a missing one.
pub(super) fn given<'de, T: serde::Deserialize<'de>, D: serde::Deserializer<'de>>(d: D) -> Result<Option<T>, D::Error> {
    T::deserialize(d).map(Some)
}
