//! The index of `docs/schemes`: generated from the registry.
//!
//! `UPDATE_INDEX=1 cargo test --test conformance_router index` writes it.

use super::catalogue::{components, page};
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use std::fmt::Write;

const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemes/README.md");

const HEAD: &str = "\
# Schemes and components

Generated from the registry; after a change there:

```console
UPDATE_INDEX=1 cargo test --quiet --test conformance_router index
```

`ndnweir explain NAME` prints a page. A *stand-in* takes the place of a scheme whose law is not public. How to add one:
[write your own scheme](../write-a-scheme.md).
";

/// What a family's heading says beside its name.
fn heading(family: Family) -> &'static str {
    match family {
        Family::Consumer => "Consumers: window laws, at each fetch",
        Family::Marker => "Markers: which packets of an egress queue are marked or dropped",
        Family::Discipline => "Disciplines: the order of an egress queue, and what it admits",
        Family::Shaper => "Shapers: when an Interest may leave through a face",
        Family::Strategy => "Strategies: where a node sends an Interest",
        Family::Meter => "Meters: what a node measures and stamps on packets",
        Family::Planner => "Planners: costs, with a view of the whole network",
    }
}

fn row(name: &str, stand_in: bool, cells: &[&str]) -> String {
    let label = if stand_in { " (stand-in)" } else { "" };
    let cells: Vec<_> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    format!("| [{name}]({name}.md){label} | {} |\n", cells.join(" | "))
}

/// The components of a scheme that are not those that do nothing.
fn composition(scheme: &Scheme) -> String {
    let parts = Family::ALL.map(|family| (family, scheme.part(family)));
    let chosen = parts.into_iter().filter(|(family, part)| part.name != family.default_component());
    let listed: Vec<_> = chosen.map(|(family, part)| format!("{} {}", family.key(), part.name)).collect();
    if listed.is_empty() { format!("consumer {}", scheme.part(Family::Consumer).name) } else { listed.join(", ") }
}

fn index() -> String {
    let mut text = HEAD.to_owned();
    text += "\n## Named schemes\n\n| scheme | what it is | components |\n|---|---|---|\n";
    for name in Scheme::names() {
        let scheme = Scheme::named(name).unwrap();
        text += &row(name, scheme.is_stand_in(), &[&scheme.summary, &composition(&scheme)]);
    }
    for family in Family::ALL {
        let title = heading(family);
        write!(text, "\n## {title}\n\n| {} | what it does | source |\n|---|---|---|\n", family.key()).unwrap();
        for info in family.components() {
            text += &row(info.name, info.stand_in, &[info.summary, info.source]);
        }
    }
    text
}

#[test]
fn the_index_of_schemes_is_that_of_the_registry() {
    let now = index();
    if std::env::var_os("UPDATE_INDEX").is_some() {
        std::fs::write(PATH, &now).unwrap();
    }
    let stored = std::fs::read_to_string(PATH).unwrap_or_default();
    assert!(stored == now, "docs/schemes/README.md is out of date; the command that writes it is at its head");
}

#[test]
fn pages_name_every_family_their_component_is_of() {
    let named = Scheme::names().map(|name| (name, "named scheme"));
    for (name, family) in components().map(|(family, info)| (info.name, family.key())).chain(named) {
        let text = page(name).unwrap_or_default();
        let (_, rest) = text.split_once("**Family** ").unwrap_or_default();
        let families = rest.split("**Source**").next().unwrap_or_default();
        assert!(families.contains(family), "{name}.md: **Family** does not say {family}");
    }
}

#[test]
fn every_page_is_in_the_index() {
    let index = index();
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemes")).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        assert!(
            file == "README.md" || index.contains(&format!("]({file})")),
            "{file}: no component or scheme has its name"
        );
    }
}
