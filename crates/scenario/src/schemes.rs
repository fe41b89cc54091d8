//! Scheme names and compositions.

use std::collections::{BTreeMap, BTreeSet};

use ndnweir_core::error::SchemeError;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;

use super::diag::{Findings, Location, nearest, suggest};
use super::model::{Composition, Consumer, SchemeName};
use super::network::{place_in, remedy, written};
use super::tree::{Entry, Item, Table, Value};
use super::{is_name, is_under, prefix_error};

/// Keys of a composition that are not a family.
const OTHER_KEYS: [&str; 5] = ["base", "summary", "interest-marks", "cached-marks", "prefixes"];

/// Whether `key` is one of a composition.
pub(super) fn is_key(key: &str) -> bool {
    OTHER_KEYS.contains(&key) || Family::ALL.into_iter().any(|family| family.key() == key)
}

pub(super) fn read(root: &Table, found: &Findings) -> (Vec<SchemeName>, Vec<Composition>) {
    let compositions = compositions(root, found);
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
        if !own && let Err(error) = Scheme::named(name) {
            let help = format!("{}; or add a [scheme.NAME] table", error.help);
            found.error(&item.at, error.message, help);
        }
        names.push(SchemeName { name: name.to_string(), place: item.at.clone() });
    }
    (names, compositions)
}

fn compositions(root: &Table, found: &Findings) -> Vec<Composition> {
    let mut compositions = Vec::new();
    let mut read: Vec<(&String, &Table, &Item, serde_json::Value)> = Vec::new();
    let Some(schemes) = root.get("scheme").and_then(Item::as_table) else { return compositions };
    for entry in &schemes.entries {
        let (name, item) = (&entry.key, &entry.item);
        if !is_name(name) {
            let help = "use letters, digits, '_', '-', '.' and '+', at most 64";
            found.error(&entry.key_at, format!("\"{name}\" is not a valid name"), help);
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
        if table.get("base").is_none() && Scheme::names().any(|known| known == name) {
            let message =
                format!("scheme {name} comes with the product, and this table does not say what becomes of it");
            let help = format!("add base = \"{name}\" to change it, or give the new scheme a name of its own");
            found.error(&item.at, message, help);
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
            } else if entry.key == "prefixes" {
                // Malformed ones are reported by `prefixes`.
                let prefixes = entry.item.as_table().map_or(&[][..], |table| &table.entries);
                sound &= prefixes.iter().all(|choice| prefix_error(&choice.key).is_none());
            } else if families.clone().any(|key| key == entry.key) && table.get("base").is_none() {
                // With a base, a table without a name changes parameters of the base's component.
                sound &= nameless(name, entry, found) && written(&entry.item, found).is_some();
            }
        }
        match item.to_json() {
            Ok(families) if sound => read.push((name, table, item, families)),
            Ok(_) => {}
            Err((at, message)) => {
                found.error(&at, message, "write a number, a text, true, false, a list or a table");
            }
        }
    }
    let own: BTreeMap<&str, &serde_json::Value> = read.iter().map(|(name, .., json)| (name.as_str(), json)).collect();
    let mut checked = Vec::new();
    for (name, table, item, _) in &read {
        match whole(name, &own) {
            Ok((families, bases)) => checked.push((*name, *table, *item, bases, Scheme::resolve(name, &families))),
            Err(message) => {
                let place = table.get("base").map_or(&item.at, |base| &base.at);
                let help = "name a base that does not build on this scheme";
                found.error(place, format!("scheme {name}: {message}"), help);
            }
        }
    }
    // Errors of a base are reported there, and only there.
    let is_sound: BTreeMap<&str, bool> = checked.iter().map(|c| (c.0.as_str(), c.4.is_ok())).collect();
    let sound = |base: &String| is_sound.get(base.as_str()).copied().unwrap_or(schemes.get(base).is_none());
    for (name, table, item, bases, result) in checked {
        match result {
            Ok(scheme) => {
                compositions.push(Composition { name: name.clone(), scheme, place: item.at.clone() });
            }
            Err(error) if bases.iter().all(sound) => {
                let within = error.prefix.as_ref().map_or(String::new(), |prefix| format!("prefixes.{prefix}: "));
                let message = format!("scheme {name}: {within}{}", error.problem());
                found.error(place_of(table, &error).unwrap_or(&item.at), message, remedy(&error));
            }
            Err(_) => {}
        }
    }
    compositions
}

/// Reports parameters of a component that is not named, where an existing scheme was probably meant.
fn nameless(scheme: &str, entry: &Entry, found: &Findings) -> bool {
    let meant = nearest(scheme, Scheme::names());
    let (Some(table), Some(meant)) = (entry.item.as_table(), meant) else { return true };
    if table.get("name").is_some() {
        return true;
    }
    let message = format!("scheme {scheme} has no {} whose parameters could change", entry.key);
    found.error(&entry.item.at, message, format!("did you mean scheme \"{meant}\"?"));
    false
}

/// Longest chain of schemes of one scenario that are each the base of the next.
const MAX_BASES: usize = 16;

/// A composition with those of this scenario that it is based on put in place of their names, and their names.
fn whole(name: &str, own: &BTreeMap<&str, &serde_json::Value>) -> Result<(serde_json::Value, Vec<String>), String> {
    let mut chain: Vec<&str> = vec![name];
    while let Some(base) = own.get(chain[chain.len() - 1]).and_then(|json| json["base"].as_str()) {
        // A scheme that is its own base changes the shipped one of that name.
        let itself = chain.last() == Some(&base) && Scheme::names().any(|known| known == base);
        if itself {
            break;
        }
        let circle = chain.contains(&base);
        chain.push(base);
        if circle && base != name {
            // It leads into a cycle that is reported there.
            return Ok((serde_json::Value::Null, chain[1..].iter().map(|&base| base.to_owned()).collect()));
        }
        if circle {
            return Err(format!("its bases lead in a circle: {}", chain.join(" is based on ")));
        }
        if chain.len() > MAX_BASES {
            return Err(format!("its chain of bases has more than {MAX_BASES} schemes"));
        }
    }
    let mut families: Option<serde_json::Value> = None;
    for json in chain.iter().rev().filter_map(|name| own.get(name)) {
        let mut json = (*json).clone();
        if let Some(base) = families {
            json["base"] = base;
        }
        families = Some(json);
    }
    Ok((families.unwrap_or_default(), chain[1..].iter().map(|&base| base.to_owned()).collect()))
}

/// Checks that the prefixes for which schemes choose are requested.
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
                    suggest(prefix, "names requested", consumers.iter().map(|consumer| consumer.prefix.as_str()));
                found.error(&entry.key_at, format!("scheme {scheme}: no consumer requests names under {prefix}"), help);
            }
        }
    }
}

/// The place that an error is about, where it is in the scheme's table.
fn place_of<'a>(table: &'a Table, error: &SchemeError) -> Option<&'a Location> {
    let chosen = error.prefix.as_ref().map(|prefix| table.get("prefixes")?.as_table()?.get(prefix));
    let (table, at) = match chosen.flatten() {
        Some(choice) => (choice.as_table().unwrap_or(const { &Table { entries: Vec::new() } }), Some(&choice.at)),
        None => (table, None),
    };
    match error.family {
        Some(family) => table.get(family.key()).map(|item| place_in(item, error)).or(at),
        None => at.or_else(|| table.get(error.parameter.as_ref()?).map(|item| &item.at)),
    }
}
