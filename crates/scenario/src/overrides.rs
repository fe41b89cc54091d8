//! `--set section.name.key=value`.

use ndnweir_core::scheme::Scheme;

use super::diag::{Findings, Location, Problems, suggest};
use super::schemes::is_key;
use super::tree::{self, Item, Table, Value};

/// Sections that are one table.
const SETTINGS: [&str; 6] = ["run", "routing", "control", "topology", "demand", "link-defaults"];
/// Sections that are lists of named things.
const LISTS: [&str; 7] = ["node", "link", "cross", "producer", "consumer", "event", "part"];

/// One parsed override.
#[derive(Clone, Debug)]
pub(super) struct Override {
    at: Location,
    section: String,
    /// The rest of the key, after the section.
    path: String,
    value: Item,
}

pub(super) fn parse(text: &str) -> Result<Override, Problems> {
    let at = Location::whole(&format!("--set {text}"));
    let form = "write section.key=value or section.name.key=value, such as link.R1-R2.rate=5Mbps";
    let Some((key, value)) = text.split_once('=') else {
        return Err(Problems::one(at, "there is no \"=\" in the override", form));
    };
    let Some((section, path)) = key.trim().split_once('.') else {
        return Err(Problems::one(at, format!("\"{}\" names no key of a section", key.trim()), form));
    };
    let known = SETTINGS.iter().chain(&LISTS).chain(&["scheme"]).copied();
    if !known.clone().any(|s| s == section) {
        let help = suggest(section, "sections", known);
        return Err(Problems::one(at, format!("there is no section \"{section}\""), help));
    }
    if path.is_empty() || path.split('.').any(str::is_empty) {
        return Err(Problems::one(at, format!("\"{key}\" has an empty part"), form));
    }
    if (LISTS.contains(&section) || section == "scheme") && !path.contains('.') {
        let message = format!("\"{key}\" names no key of a {section}");
        return Err(Problems::one(at, message, format!("write {section}.NAME.key=value")));
    }
    let value = tree::parse_value(value, &at);
    Ok(Override { at, section: section.into(), path: path.into(), value })
}

/// Applies overrides of settings and schemes, before the topology is read.
pub(super) fn apply_settings(root: &mut Table, overrides: &[Override], found: &Findings) {
    for o in overrides {
        if SETTINGS.contains(&o.section.as_str()) {
            match root.table_mut(&o.section, &o.at) {
                Some(table) => table.set(&o.path, o.value.clone()),
                None => found.error(&o.at, format!("{} is not a section in this file", o.section), ""),
            }
        } else if o.section == "scheme" {
            scheme(root, o, found);
        }
    }
}

/// Applies overrides of nodes and links, after the topology is read.
pub(super) fn apply_network(root: &mut Table, overrides: &[Override], found: &Findings) {
    for o in overrides.iter().filter(|o| o.section == "node" || o.section == "link") {
        named(root, o, found);
    }
}

/// Applies overrides of traffic, events and parts, after the demand is made.
pub(super) fn apply_traffic(root: &mut Table, overrides: &[Override], found: &Findings) {
    let of_traffic = |o: &&Override| matches!(o.section.as_str(), "cross" | "producer" | "consumer" | "event" | "part");
    for o in overrides.iter().filter(of_traffic) {
        named(root, o, found);
    }
}

fn scheme(root: &mut Table, o: &Override, found: &Findings) {
    let schemes = root.get("scheme").and_then(Item::as_table);
    let names: Vec<String> = schemes.map_or(Vec::new(), |t| t.entries.iter().map(|e| e.key.clone()).collect());
    let known =
        names.iter().find_map(|name| Some((name.as_str(), o.path.strip_prefix(name.as_str())?.strip_prefix('.')?)));
    // A name that is new composes a scheme for this run.
    let new = || o.path.split_once('.').filter(|(_, rest)| is_key(rest.split('.').next().unwrap_or_default()));
    let Some((name, rest)) = known.or_else(new) else {
        let wanted = o.path.split('.').next().unwrap_or_default();
        let help = suggest(wanted, "schemes with a [scheme.NAME] table", names.iter().map(String::as_str));
        found.error(&o.at, format!("this scenario composes no scheme \"{wanted}\""), help);
        return;
    };
    // A shipped scheme that this file does not compose is changed, not composed again.
    let changed = !names.iter().any(|own| own == name) && Scheme::names().any(|known| known == name);
    let table = root.table_mut("scheme", &o.at).and_then(|t| t.table_mut(name, &o.at));
    let Some(table) = table else { return };
    if changed {
        table.set("base", Item::text(&o.at, name));
    }
    match rest.split_once('.') {
        None => table.set(rest, o.value.clone()),
        Some(("prefixes", choice)) => prefix(table, choice, o, found),
        Some((family, parameter)) => set_parameter(table, family, parameter, o, found),
    }
}

/// Sets a parameter of the component at `key`: `beta`, or `timer.min` within a table of parameters.
fn set_parameter(table: &mut Table, key: &str, parameter: &str, o: &Override, found: &Findings) {
    // "bic" becomes { name = "bic" }, which takes parameters.
    if let Some(Item { value: Value::Text(component), at }) = table.get(key).cloned() {
        table.set(key, Item::table(&at, vec![("name", Item::text(&at, component))]));
    }
    let mut inner = table.table_mut(key, &o.at);
    let mut parts: Vec<&str> = parameter.split('.').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        inner = inner.and_then(|table| table.table_mut(part, &o.at));
    }
    match inner {
        Some(table) => table.set(last, o.value.clone()),
        None => {
            let help = format!("write {key} or its parameters as a table, or override the whole of it");
            found.error(&o.at, format!("\"{key}.{parameter}\" is not a parameter of a component here"), help);
        }
    }
}

/// Changes a scheme's choice for a prefix: its strategy, or with `.strategy` or `.shaper` behind it one of the two.
fn prefix(scheme: &mut Table, choice: &str, o: &Override, found: &Findings) {
    let (prefix, key) = match choice.rsplit_once('.') {
        Some((prefix, key @ ("strategy" | "shaper"))) => (prefix, key),
        _ => (choice, "strategy"),
    };
    let Some(prefixes) = scheme.table_mut("prefixes", &o.at) else {
        found.error(&o.at, "prefixes is not a table", "write prefixes = { \"/video\" = { strategy = \"asf\" } }");
        return;
    };
    if let Some(Item { value: Value::Text(strategy), at }) = prefixes.get(prefix).cloned() {
        prefixes.set(prefix, Item::table(&at, vec![("strategy", Item::text(&at, strategy))]));
    }
    if let Some(table) = prefixes.table_mut(prefix, &o.at) {
        table.set(key, o.value.clone());
    }
}

/// The name by which overrides and events refer to an entry.
pub(super) fn entry_name(table: &Table) -> Option<String> {
    if let Some(name) = table.get("name") {
        return name.as_text().map(str::to_string);
    }
    let ends: Vec<&str> = table.list("ends").iter().filter_map(Item::as_text).collect();
    (ends.len() == 2).then(|| ends.join("-"))
}

/// The key of an entry whose value is a component with parameters of its own.
fn component_key(section: &str) -> Option<&'static str> {
    match section {
        "consumer" => Some("component"),
        "link" => Some("marker"),
        _ => None,
    }
}

/// The key that excludes this one: a link has a rate or a trace.
fn excluded_key(key: &str) -> Option<&'static str> {
    match key {
        "rate" => Some("trace"),
        "trace" => Some("rate"),
        _ => None,
    }
}

/// Sets a key of an entry, or a parameter of the component at that key.
fn put(table: &mut Table, key: &str, parameter: Option<&str>, o: &Override, found: &Findings) {
    match parameter {
        None => {
            if let Some(excluded_key) = excluded_key(key).filter(|_| o.section == "link") {
                table.remove(excluded_key);
            }
            table.set(key, o.value.clone());
        }
        Some(parameter) => set_parameter(table, key, parameter, o, found),
    }
}

fn named(root: &mut Table, o: &Override, found: &Findings) {
    // What follows the key of a component is a parameter of it.
    let component = component_key(&o.section).and_then(|key| {
        let (head, parameter) = o.path.split_once(&format!(".{key}."))?;
        Some(((head, key), Some(parameter)))
    });
    let plain = || Some((o.path.rsplit_once('.')?, None));
    let Some(((head, key), parameter)) = component.or_else(plain) else { return };
    let (pattern, way) = match head.rsplit_once('.') {
        Some((name, way @ ("forward" | "backward"))) if o.section == "link" => (name, Some(way)),
        _ => (head, None),
    };
    let mut names = Vec::new();
    let mut hits = 0;
    if let Some(Item { value: Value::List(items), .. }) = root.get_mut(&o.section) {
        for table in items.iter_mut().filter_map(Item::as_table_mut) {
            let Some(name) = entry_name(table) else { continue };
            let reversed = || {
                let ends: Vec<&str> = table.list("ends").iter().filter_map(Item::as_text).collect();
                ends.len() == 2 && glob(pattern, &format!("{}-{}", ends[1], ends[0]))
            };
            let straight = glob(pattern, &name);
            let turned = !straight && o.section == "link" && reversed();
            names.push(name);
            if !straight && !turned {
                continue;
            }
            hits += 1;
            match way {
                // Named from its second end, a link's directions change places.
                Some(way) => {
                    let way = match (way, turned) {
                        ("forward", false) | ("backward", true) => "forward",
                        _ => "backward",
                    };
                    if let Some(direction) = table.table_mut(way, &o.at) {
                        put(direction, key, parameter, o, found);
                    }
                }
                None => {
                    let mut directions = 0;
                    for way in ["forward", "backward"] {
                        let Some(direction) = table.get_mut(way).and_then(Item::as_table_mut) else { continue };
                        if parameter.is_none() {
                            direction.remove(key);
                            excluded_key(key).into_iter().for_each(|excluded_key| direction.remove(excluded_key));
                        } else if direction.get(key).is_some() {
                            directions += 1;
                            put(direction, key, parameter, o, found);
                        }
                    }
                    // A parameter changes the components that there are.
                    if directions == 0 || table.get(key).is_some() {
                        put(table, key, parameter, o, found);
                    }
                }
            }
        }
    }
    if hits == 0 {
        let what = if o.section == "cross" { "cross traffic".into() } else { format!("{}s", o.section) };
        let help = match (o.section.as_str(), names.is_empty()) {
            ("event", true) => format!("give the event a name: name = \"{pattern}\""),
            _ => suggest(pattern, &what, names.iter().map(String::as_str)),
        };
        found.error(&o.at, format!("no {} is called \"{pattern}\"", o.section), help);
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any characters.
pub(super) fn glob(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(part) = last.replace(part) {
            let part: &str = part;
            match rest.find(part) {
                Some(i) => rest = &rest[i + part.len()..],
                None => return false,
            }
        }
    }
    match last {
        Some(end) => rest.ends_with(end),
        None => rest.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, name, fits) in [
            ("*", "R1-R2", true),
            ("R1-*", "R1-R2", true),
            ("*-R2", "R1-R2", true),
            ("R*-R*", "R1-R2", true),
            ("R1-R2", "R1-R2", true),
            ("R1", "R1-R2", false),
            ("*-R3", "R1-R2", false),
            ("ab*ba", "aba", false),
        ] {
            assert_eq!(glob(pattern, name), fits, "{pattern} {name}");
        }
    }

    #[test]
    fn overrides_that_name_nothing_say_how_they_are_written() {
        for text in ["", "run.duration", "duration=5s", "rum.duration=5s", "link.rate=5Mbps", "link..rate=5Mbps"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--set {text}: ")), "{error}");
            assert!(error.contains("help: "), "{error}");
        }
    }
}
