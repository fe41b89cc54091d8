//! Scheme names and compositions, checked by the registry's callback.

use std::collections::BTreeSet;

use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;

use super::diag::{Findings, Place, suggest};
use super::model::{Composition, Consumer, SchemeName};
use super::network::{Network, component};
use super::tree::{Item, Table, Value};
use super::{SchemeCheck, is_name, is_under, prefix_error};

/// Keys of a composition that are no family.
const OTHER_KEYS: [&str; 5] = ["base", "summary", "interest-marks", "cached-marks", "prefixes"];

/// Whether `key` is one of a composition.
pub(super) fn is_key(key: &str) -> bool {
    OTHER_KEYS.contains(&key) || Family::ALL.into_iter().any(|family| family.key() == key)
}

/// The [`SchemeCheck`] that asks the registry of `ndnweir-core`.
///
/// # Errors
/// What the registry says of an unknown scheme, component or parameter.
pub fn registry_check(name: &str, value: &serde_json::Value) -> Result<(), String> {
    match value.as_object() {
        None => Scheme::named(name).map(drop),
        Some(_) if !name.is_empty() => Scheme::resolve(name, value).map(drop),
        Some(single) => single.iter().try_for_each(|(key, component)| {
            let family = Family::ALL.into_iter().find(|family| family.key() == key);
            let family = family.ok_or_else(|| format!("there is no family {key:?}"))?;
            let mut params = component.as_object().cloned().unwrap_or_default();
            let name = params.remove("name");
            let name = component.as_str().or(name.as_ref().and_then(|n| n.as_str())).unwrap_or_default();
            family.check(name, &serde_json::Value::Object(params))
        }),
    }
}

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
        let families = Family::ALL.iter().map(|family| family.key());
        for entry in &table.entries {
            let known = families.clone().chain(OTHER_KEYS);
            if !known.clone().any(|key| key == entry.key) {
                let help = suggest(&entry.key, "keys of a scheme", known);
                found.error(&entry.key_at, format!("a scheme has no \"{}\"", entry.key), help);
                sound = false;
            } else if families.clone().any(|key| key == entry.key) && table.get("base").is_none() {
                // With a base, a table without a name changes parameters of the base's component.
                sound &= component(&entry.item, found).is_some();
            }
        }
        let families = match item.to_json() {
            Ok(families) if sound => families,
            Ok(_) => continue,
            Err((at, message)) => {
                found.error(&at, message, "write a number, a text, true, false, a list or a table");
                continue;
            }
        };
        if let Err(message) = check(name, &families) {
            let message = message.strip_prefix(&format!("scheme {name}: ")).unwrap_or(&message);
            let place = place_of(table, message).unwrap_or(&item.at);
            let help = "`ndnweir list` shows the components, `ndnweir explain NAME` their parameters";
            found.error(place, format!("scheme {name}: {message}"), help);
        }
        compositions.push(Composition { name: name.clone(), families, place: item.at.clone() });
    }
    compositions
}

/// Checks that the prefixes for which schemes choose are asked for.
pub(super) fn prefixes(root: &Table, consumers: &[Consumer], found: &Findings) {
    let schemes = root.get("scheme").and_then(Item::as_table);
    let tables = schemes.into_iter().flat_map(|schemes| &schemes.entries).filter_map(|scheme| {
        let prefixes = scheme.item.as_table()?.get("prefixes")?.as_table()?;
        Some((&scheme.key, prefixes))
    });
    for (scheme, table) in tables {
        for entry in &table.entries {
            let prefix = &entry.key;
            if let Some(message) = prefix_error(prefix) {
                found.error(
                    &entry.key_at,
                    format!("scheme {scheme}: {message}"),
                    "write an NDN name such as \"/video/a\"",
                );
            } else if !consumers.iter().any(|consumer| is_under(prefix, &consumer.prefix)) {
                let help =
                    suggest(prefix, "names asked for", consumers.iter().map(|consumer| consumer.prefix.as_str()));
                found.error(&entry.key_at, format!("scheme {scheme}: no consumer asks for names under {prefix}"), help);
            }
        }
    }
}

/// The place of what an error text is about: the key it starts with (`family: ...` or `family.parameter: ...`), or the
/// parameter or component it quotes.
fn place_of<'a>(table: &'a Table, message: &str) -> Option<&'a Place> {
    let path = message.split_once(':').map_or("", |(path, _)| path.trim());
    // A prefix may hold dots.
    if let Some(choice) = path.strip_prefix("prefixes.").and_then(|key| table.get("prefixes")?.as_table()?.get(key)) {
        return Some(&choice.at);
    }
    let mut parts = path.split('.');
    if let Some(family) = parts.next().and_then(|key| table.get(key)) {
        let parameter = parts.next().and_then(|key| family.as_table()?.get(key));
        return Some(&parameter.unwrap_or(family).at);
    }
    let quoted = |text: &str| ['"', '`'].iter().any(|q| message.contains(&format!("{q}{text}{q}")));
    let parameters = table.entries.iter().filter_map(|e| e.item.as_table()).flat_map(|t| &t.entries);
    if let Some(parameter) = parameters.filter(|p| p.key != "name").find(|p| quoted(&p.key)) {
        return Some(&parameter.key_at);
    }
    // The component's name may also open the text: "codel: ...".
    let component = |item: &'a Item| item.as_text().or_else(|| item.as_table()?.get("name")?.as_text());
    let meant = |item: &'a Item| component(item).is_some_and(|name| quoted(name) || path == name);
    table.entries.iter().find(|e| e.key != "base" && meant(&e.item)).map(|e| &e.item.at)
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
