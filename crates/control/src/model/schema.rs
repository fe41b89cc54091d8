//! The tables of the model.

use Kind::{Count, Decimal, Enum, Number, Text, Texts};
use Schema::{Container, Leaf, List};

/// What a leaf holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    Text,
    /// Several strings.
    Texts,
    /// A uint32.
    Number,
    /// A uint64 or counter64.
    Count,
    /// A decimal64 with six digits after the point.
    Decimal,
    /// One of these names.
    Enum(&'static [&'static str]),
}

/// A node of the model.
#[derive(Clone, Copy, Debug)]
pub enum Schema {
    /// Children by name.
    Container(&'static [(&'static str, Schema)]),
    /// Entries, distinguished by this key, with children by name.
    List(&'static str, &'static [(&'static str, Schema)]),
    /// A value; whether it is configuration.
    Leaf(Kind, bool),
}

const fn config(kind: Kind) -> Schema {
    Leaf(kind, true)
}

const fn state(kind: Kind) -> Schema {
    Leaf(kind, false)
}

/// Names of [`ndnweir_core::meter::ndnsieve::State`].
pub const CONGESTION: &[&str] = &["FREE", "MILD", "SEVERE"];
/// Whether packets can be sent.
pub const OPERATION: &[&str] = &["UP", "DOWN"];
/// How long a face lives.
pub const PERSISTENCY: &[&str] = &["PERSISTENT", "ON_DEMAND", "PERMANENT"];
/// Where a face leads.
pub const SCOPE: &[&str] = &["NON_LOCAL", "LOCAL"];

const ROUTER: Schema = Container(&[(
    "state",
    Container(&[
        ("version", state(Text)),
        ("scheme", state(Text)),
        ("listen", state(Texts)),
        ("signals", state(Count)),
        ("in-interests", state(Count)),
        ("in-data", state(Count)),
        ("in-nacks", state(Count)),
        ("out-interests", state(Count)),
        ("out-data", state(Count)),
        ("out-nacks", state(Count)),
        ("satisfied-interests", state(Count)),
        ("unsatisfied-interests", state(Count)),
    ]),
)]);

const FACE: Schema = List(
    "id",
    &[
        ("id", state(Count)),
        ("config", Container(&[("rate", config(Count))])),
        (
            "state",
            Container(&[
                ("id", state(Count)),
                ("remote-uri", state(Text)),
                ("local-uri", state(Text)),
                ("scope", state(Enum(SCOPE))),
                ("persistency", state(Enum(PERSISTENCY))),
                ("oper-status", state(Enum(OPERATION))),
                ("rate", state(Count)),
                ("utilization", state(Decimal)),
                ("occupancy", state(Decimal)),
                ("congestion-state", state(Enum(CONGESTION))),
                ("signals", state(Count)),
                ("measured", state(Count)),
                ("queue-packets", state(Count)),
                (
                    "counters",
                    Container(&[
                        ("in-interests", state(Count)),
                        ("in-data", state(Count)),
                        ("in-nacks", state(Count)),
                        ("out-interests", state(Count)),
                        ("out-data", state(Count)),
                        ("out-nacks", state(Count)),
                        ("in-octets", state(Count)),
                        ("out-octets", state(Count)),
                        ("marks", state(Count)),
                        ("drops", state(Count)),
                    ]),
                ),
            ]),
        ),
    ],
);

const NEXT_HOP: Schema = List(
    "face",
    &[
        ("face", state(Count)),
        ("config", Container(&[("cost", config(Number))])),
        ("state", Container(&[("cost", state(Number)), ("route-cost", state(Number)), ("data-rate", state(Count))])),
    ],
);

const ENTRY: Schema = List("prefix", &[("prefix", state(Text)), ("next-hop", NEXT_HOP)]);

const STORE: Schema = Container(&[
    ("config", Container(&[("capacity", config(Count))])),
    (
        "state",
        Container(&[
            ("capacity", state(Count)),
            ("entries", state(Count)),
            ("hits", state(Count)),
            ("misses", state(Count)),
        ]),
    ),
]);

const STRATEGY: Schema = List(
    "prefix",
    &[
        ("prefix", state(Text)),
        ("config", Container(&[("name", config(Text))])),
        ("state", Container(&[("name", state(Text))])),
    ],
);

/// The whole model.
pub const ROOT: Schema = Container(&[(
    "ndn",
    Container(&[
        ("router", ROUTER),
        ("faces", Container(&[("face", FACE)])),
        ("fib", Container(&[("entry", ENTRY)])),
        ("pit", Container(&[("state", Container(&[("entries", state(Count)), ("limit", state(Count))]))])),
        ("content-store", STORE),
        ("strategies", Container(&[("strategy", STRATEGY)])),
    ]),
)]);

impl Schema {
    /// The children; a leaf has none.
    pub fn children(&self) -> &'static [(&'static str, Schema)] {
        match self {
            Container(children) | List(_, children) => children,
            Leaf(..) => &[],
        }
    }

    /// The child of a name.
    pub fn child(&self, name: &str) -> Option<(&'static str, &'static Schema)> {
        self.children().iter().find(|(known, _)| *known == name).map(|(known, schema)| (*known, schema))
    }

    /// The key that distinguishes entries.
    pub fn key(&self) -> Option<&'static str> {
        match self {
            List(key, _) => Some(key),
            _ => None,
        }
    }
}
