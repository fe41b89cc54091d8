//! Files of a crate do not name each other in circles.

use super::{repository, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Crates whose files are checked.
const CHECKED: [&str; 7] = ["core", "node", "link", "lab", "report", "emulate", "cli"];

type Module = Vec<String>;

/// The module that a file is.
fn module(root: &Path, file: &Path) -> Module {
    let inner = file.strip_prefix(root).unwrap().with_extension("");
    let mut parts: Module = inner.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

/// Without comments and unit tests.
fn code(text: &str) -> String {
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// Every path in `text` that starts with `start` and `::`; a group in braces gives one path for each of its parts.
fn paths(text: &str, start: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(&format!("{start}::")) {
        if text[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &text[at + start.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(rest.len());
        let path: Module = rest[..end].split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let Some(group) = rest[end..].strip_prefix('{').filter(|_| rest[..end].ends_with("::")) else {
            found.push(path);
            continue;
        };
        let group = group.split(';').next().unwrap_or_default();
        for part in group.split([',', '{', '}']).map(str::trim).filter(|part| !part.is_empty()) {
            let part = part.split_whitespace().next().unwrap_or_default();
            found.push(path.iter().cloned().chain(part.split("::").map(str::to_owned)).collect());
        }
    }
    found
}

/// The longest beginning of a path that is a module.
fn resolve(modules: &BTreeMap<Module, String>, base: &[String], path: &[String]) -> Module {
    let mut found = base.to_vec();
    for part in path {
        let next: Module = found.iter().chain([part]).cloned().collect();
        if !modules.contains_key(&next) {
            break;
        }
        found = next;
    }
    found
}

/// The modules each module names, those it is in or that are in it apart.
fn named(modules: &BTreeMap<Module, String>) -> BTreeMap<&Module, BTreeSet<Module>> {
    let uses = |(module, text): (&Module, &String)| {
        let mut all: Vec<Module> = paths(text, "crate").iter().map(|path| resolve(modules, &[], path)).collect();
        for path in paths(text, "super") {
            let ups = path.iter().take_while(|part| *part == "super").count();
            let base = &module[..module.len().saturating_sub(1 + ups)];
            all.push(resolve(modules, base, &path[ups..]));
        }
        all.retain(|other| !other.is_empty() && !other.starts_with(module) && !module.starts_with(other));
        all.into_iter().collect::<BTreeSet<Module>>()
    };
    modules.iter().map(|entry| (entry.0, uses(entry))).collect()
}

/// A cycle, if there is one: modules without imports are removed until none is left.
fn circle(modules: &BTreeMap<Module, String>) -> Vec<String> {
    let mut left = named(modules);
    loop {
        let before = left.len();
        let there: BTreeSet<Module> = left.keys().map(|module| (*module).clone()).collect();
        left.retain(|_, uses| uses.iter().any(|other| there.contains(other)));
        if left.len() == before {
            return left.keys().map(|module| module.join("::")).collect();
        }
    }
}

#[test]
fn files_do_not_name_each_other_in_circles() {
    for name in CHECKED {
        let root = repository().join("crates").join(name).join("src");
        let modules: BTreeMap<Module, String> =
            sources(&root).iter().map(|file| (module(&root, file), code(&fs::read_to_string(file).unwrap()))).collect();
        assert!(modules.len() > 1, "{name}");
        assert_eq!(circle(&modules), Vec::<String>::new(), "crates/{name}: a circle, and what leads to it");
    }
}

#[test]
fn circles_are_seen() {
    let module = |name: &str| name.split("::").map(str::to_owned).collect::<Module>();
    let made = |texts: &[(&str, &str)]| texts.iter().map(|(name, text)| (module(name), (*text).to_owned())).collect();
    let straight = [("a", "use super::b::{X, Y};\nuse crate::c;"), ("b", "fn f() { crate::c::g() }"), ("c", "")];
    assert_eq!(circle(&made(&straight)), Vec::<String>::new());
    let round = [
        ("a", "use crate::{\n    b::X, c};"),
        ("b", "use crate::c::d::E;"),
        ("c", ""),
        ("c::d", "super::super::a::f()"),
    ];
    assert_eq!(circle(&made(&round)), ["a", "b", "c::d"]);
}
