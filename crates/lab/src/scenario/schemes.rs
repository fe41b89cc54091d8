//! Scheme names and compositions, checked by the registry's callback.

use std::collections::BTreeSet;

use super::diag::{Findings, Place, suggest};
use super::model::{Composition, SchemeName};
use super::network::{Network, component};
use super::tree::{Item, Table, Value};
use super::{SchemeCheck, is_name};

/// The families a composition may name a component of.
const FAMILIES: [&str; 7] = ["consumer", "queue", "marker", "shaper", "strategy", "meter", "planner"];

pub(super) fn read(root: &Table, found: &Findings, check: SchemeCheck<'_>) -> (Vec<SchemeName>, Vec<Composition>) {
    let compositions = compositions(root, found, check);
    let run = root.get("run").and_then(Item::as_table);
    let Some(item) = run.and_then(|t| t.get("schemes")) else { return (Vec::new(), compositions) };
    let help = "write schemes = [\"pcon\", \"cubic\"]";
    let Value::List(items) = &item.value else {
        found.error(&item.at, format!("schemes is {}, not a list", item.kind()), help);
        return (Vec::new(), compositions);
    };
    let mut names = Vec::new();
    let mut seen = BTreeSet::new();
    for item in items {
        let Some(name) = item.as_text() else {
            found.error(&item.at, format!("a scheme is {}, not a name", item.kind()), help);
            continue;
        };
        if !seen.insert(name) {
            found.error(&item.at, format!("scheme \"{name}\" is named twice"), "delete one of the two");
        }
        let own = root.get("scheme").and_then(Item::as_table).is_some_and(|t| t.get(name).is_some());
        if !own && let Err(message) = check(name, &serde_json::Value::Null) {
            found.error(&item.at, message, "name a scheme of the registry, or add a [scheme.NAME] table");
        }
        names.push(SchemeName { name: name.to_string(), place: item.at.clone() });
    }
    (names, compositions)
}

fn compositions(root: &Table, found: &Findings, check: SchemeCheck<'_>) -> Vec<Composition> {
    let mut compositions = Vec::new();
    let Some(schemes) = root.get("scheme").and_then(Item::as_table) else { return compositions };
    for entry in &schemes.entries {
        let (name, item) = (&entry.key, &entry.item);
        if !is_name(name) {
            let help = "use letters, digits, '_', '-', '.' and '+', at most 64";
            found.error(&entry.key_at, format!("\"{name}\" is no usable name"), help);
            continue;
        }
        let Some(table) = item.as_table() else {
            let help = format!("write [scheme.{name}] and below it consumer = \"bic\" and so on");
            found.error(&item.at, format!("scheme {name} is {}, not a table", item.kind()), help);
            continue;
        };
        if table.entries.is_empty() {
            let help = "name at least one component, such as consumer = \"bic\"";
            found.error(&item.at, format!("scheme {name} composes nothing"), help);
            continue;
        }
        let mut sound = true;
        for family in &table.entries {
            if !FAMILIES.contains(&family.key.as_str()) {
                let help = suggest(&family.key, "families", FAMILIES);
                found.error(&family.key_at, format!("there is no family \"{}\"", family.key), help);
                sound = false;
            } else {
                sound &= component(&family.item, found).is_some();
            }
        }
        let Some(families) = item.to_json().ok().filter(|_| sound) else { continue };
        if let Err(message) = check(name, &families) {
            let place = place_of(table, &message).unwrap_or(&item.at);
            found.error(
                place,
                format!("scheme {name}: {message}"),
                "see `ndnweir list` for components and their parameters",
            );
        }
        compositions.push(Composition { name: name.clone(), families, place: item.at.clone() });
    }
    compositions
}

/// The place of the key an error text starts with: `family: ...` or `family.parameter: ...`.
fn place_of<'a>(table: &'a Table, message: &str) -> Option<&'a Place> {
    let (path, _) = message.split_once(':')?;
    let mut parts = path.trim().split('.');
    let family = table.get(parts.next()?)?;
    let parameter = parts.next().and_then(|key| family.as_table()?.get(key));
    Some(&parameter.unwrap_or(family).at)
}

/// Checks the markers that replace a scheme's on single links.
pub(super) fn markers(network: &Network, found: &Findings, check: SchemeCheck<'_>) {
    for (link, place) in network.links.iter().zip(&network.link_places) {
        for marker in [&link.forward.marker, &link.backward.marker].into_iter().flatten() {
            if let Err(message) = check("", &serde_json::json!({ "marker": marker })) {
                let message = format!("link {}: {message}", link.name);
                found.error(place, message, "name a marker component of the registry");
            }
        }
    }
}
