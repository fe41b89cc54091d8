//! Values, in gNMI's encodings.

use super::Answer;
use super::schema::{Kind, Schema};
use super::tree::{Node, Selection};
use crate::proto::gnmi::{Encoding, ScalarArray, TypedValue, typed_value};
use serde_json::{Map, Value as Json, json};
use tonic::Status;

/// The value of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A string.
    Text(String),
    /// Several.
    Texts(Vec<String>),
    /// A uint32 or uint64; the model says which.
    Number(u64),
    /// A number with six digits after the point.
    Decimal(f64),
    /// A name of an enumeration.
    Name(&'static str),
}

/// The largest integer that JSON's readers take for what it is.
const MAX_JSON: u64 = 1 << 53;

fn decimal(value: f64) -> f64 {
    (value.clamp(-9e12, 9e12) * 1e6).round() / 1e6
}

impl Value {
    /// As JSON: RFC 7951 writes 64-bit numbers and decimals as strings, plain JSON as numbers.
    pub fn json(&self, kind: Kind, ietf: bool) -> Json {
        match self {
            Value::Text(text) => json!(text),
            Value::Texts(texts) => json!(texts),
            Value::Number(number) if ietf && kind == Kind::Count => json!(number.to_string()),
            Value::Number(number) => json!(number),
            Value::Decimal(value) if ietf => json!(format!("{}", decimal(*value))),
            Value::Decimal(value) => json!(decimal(*value)),
            Value::Name(name) => json!(name),
        }
    }

    /// As gNMI's message.
    pub fn typed(&self, kind: Kind, encoding: Encoding) -> TypedValue {
        use typed_value::Value as V;
        let value = match (encoding, self) {
            (Encoding::Json, _) => V::JsonVal(self.json(kind, false).to_string().into_bytes()),
            (Encoding::JsonIetf, _) => V::JsonIetfVal(self.json(kind, true).to_string().into_bytes()),
            (_, Value::Text(text)) => V::StringVal(text.clone()),
            (_, Value::Name(name)) => V::StringVal((*name).to_owned()),
            (_, Value::Number(number)) => V::UintVal(*number),
            (_, Value::Decimal(value)) => V::DoubleVal(decimal(*value)),
            (_, Value::Texts(texts)) => {
                let element = texts.iter().map(|text| TypedValue { value: Some(V::StringVal(text.clone())) });
                V::LeaflistVal(ScalarArray { element: element.collect() })
            }
        };
        TypedValue { value: Some(value) }
    }

    /// Reads a leaf's value from JSON of either kind.
    pub fn from_json(kind: Kind, json: &Json, at: &str) -> Answer<Value> {
        let wrong = |wanted: &str| Status::invalid_argument(format!("{at}: {json} is not {wanted}"));
        let number = |most: u64, wanted: &str| {
            let read = match json {
                Json::Number(number) => number.as_u64().filter(|number| *number <= MAX_JSON),
                Json::String(text) => text.parse().ok(),
                _ => None,
            };
            read.filter(|number| *number <= most).map(Value::Number).ok_or_else(|| wrong(wanted))
        };
        match kind {
            Kind::Number => number(u32::MAX.into(), "a whole number up to 4294967295"),
            Kind::Count => number(u64::MAX, "a whole number"),
            Kind::Text => json.as_str().map(|text| Value::Text(text.into())).ok_or_else(|| wrong("a string")),
            Kind::Enum(names) => {
                let name = json.as_str().and_then(|text| names.iter().find(|name| **name == text));
                name.map(|name| Value::Name(name)).ok_or_else(|| wrong(&format!("one of {}", names.join(", "))))
            }
            Kind::Decimal | Kind::Texts => Err(wrong("something that can be set")),
        }
    }

    /// Reads a leaf's value from gNMI's message.
    pub fn from_typed(kind: Kind, value: &typed_value::Value, at: &str) -> Answer<Value> {
        use typed_value::Value as V;
        let json = match value {
            V::JsonVal(bytes) | V::JsonIetfVal(bytes) => read_json(bytes, at)?,
            V::StringVal(text) | V::AsciiVal(text) => json!(text),
            V::UintVal(number) => json!(number.to_string()),
            V::IntVal(number) => json!(number.to_string()),
            _ => return Err(Status::invalid_argument(format!("{at}: this kind of value is not used in the model"))),
        };
        Value::from_json(kind, &json, at)
    }
}

/// Parses JSON of a Set.
pub fn read_json(bytes: &[u8], at: &str) -> Answer<Json> {
    serde_json::from_slice(bytes).map_err(|error| Status::invalid_argument(format!("{at}: not JSON: {error}")))
}

/// A node with all below it as JSON; none if nothing of the selection is there. `top` qualifies the first names with
/// the module (RFC 7951, section 4).
pub fn to_json(node: &Node, schema: &Schema, selection: Selection, ietf: bool, top: bool) -> Option<Json> {
    match (node, schema) {
        (Node::Leaf(value), Schema::Leaf(kind, config)) => selection.has(*config).then(|| value.json(*kind, ietf)),
        (Node::List(entries), schema) => {
            let entries = entries.values().filter_map(|entry| to_json(entry, schema, selection, ietf, false));
            let entries: Vec<Json> = entries.collect();
            (!entries.is_empty()).then_some(Json::Array(entries))
        }
        (Node::Container(children), schema) => {
            let mut object = Map::new();
            let (mut keys, mut found) = (Vec::new(), false);
            for (name, child) in children {
                let Some((name, of)) = schema.child(name) else { continue };
                let named = if top && ietf { format!("{}:{name}", super::MODEL.0) } else { name.to_owned() };
                if schema.key() == Some(name) {
                    // An entry is distinguished whatever is selected.
                    keys.extend(to_json(child, of, Selection::All, ietf, false).map(|value| (named, value)));
                } else if let Some(value) = to_json(child, of, selection, ietf, false) {
                    found = true;
                    object.insert(named, value);
                }
            }
            let all_keys = selection == Selection::All && !keys.is_empty();
            if found || all_keys {
                object.extend(keys);
            }
            (found || all_keys).then_some(Json::Object(object))
        }
        _ => None,
    }
}
