//! The shipped scenarios, which are part of the binary.

use super::tree;

/// A shipped scenario.
#[derive(Clone, Copy, Debug)]
pub struct Shipped {
    /// The name it is found by.
    pub name: &'static str,
    /// Its path in the source tree.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Shipped {
    /// What it shows, in a sentence or two: the scenario's `about`.
    pub fn summary(&self) -> String {
        let root = tree::parse(self.file, self.text).unwrap_or_default();
        root.get("about").and_then(tree::Item::as_text).unwrap_or_default().to_string()
    }
}

macro_rules! scenarios {
    ($($name:literal),* $(,)?) => {
        &[$(Shipped {
            name: $name,
            file: concat!("scenarios/", $name, ".toml"),
            text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
        }),*]
    };
}

macro_rules! files {
    ($($file:literal),* $(,)?) => {
        &[$(($file, include_str!(concat!("../../../scenarios/", $file)))),*]
    };
}

const SCENARIOS: &[Shipped] = scenarios![
    "dumbbell",
    "two-paths",
    "three-paths",
    "parking-lot",
    "linear",
    "abilene",
    "geant",
    "star-100",
    "controller-failure",
    "geant-failure",
    "cellular",
    "short-flows",
];

const TOPOLOGIES: &[(&str, &str)] =
    files!["topologies/abilene.graphml", "topologies/geant.graphml", "topologies/example-ndnsim.txt",];

const TRACES: &[(&str, &str)] = files!["traces/cellular.trace"];

/// The text of a shipped rate trace.
pub(super) fn trace(file: &str) -> Option<&'static str> {
    TRACES.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}

/// The names of the shipped rate traces.
pub(super) fn traces() -> impl Iterator<Item = &'static str> {
    TRACES.iter().map(|(name, _)| *name)
}

/// All shipped scenarios, simplest first.
pub fn shipped() -> &'static [Shipped] {
    SCENARIOS
}

pub(super) fn by_name(name: &str) -> Option<&'static Shipped> {
    SCENARIOS.iter().find(|s| s.name == name)
}

pub(super) fn topologies() -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    TOPOLOGIES.iter()
}

pub(super) fn topology(file: &str) -> Option<&'static str> {
    TOPOLOGIES.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
}
