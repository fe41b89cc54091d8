//! Names, documentation pages, named schemes.

use ndnweir_core::component::Info;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use serde_json::{Value, json};
use std::path::PathBuf;

pub fn page(name: &str) -> Option<String> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/schemes", &format!("{name}.md")].iter().collect();
    std::fs::read_to_string(path).ok()
}

pub fn components() -> impl Iterator<Item = (Family, &'static Info)> {
    Family::ALL.into_iter().flat_map(|family| family.components().iter().map(move |info| (family, info)))
}

#[test]
fn names_are_unique_in_their_family_and_fit_for_a_scenario_file() {
    for (family, info) in components() {
        let same = family.components().iter().filter(|other| other.name == info.name).count();
        assert_eq!(same, 1, "{} occurs {same} times", info.name);
        assert!(info.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", info.name);
        assert!(!info.summary.ends_with('.') && !info.summary.contains('\n'), "{}: one line, no full stop", info.name);
    }
}

#[test]
fn every_component_and_every_named_scheme_has_a_page() {
    let names = components().map(|(_, info)| info.name).chain(Scheme::names());
    let missing: Vec<_> = names.filter(|name| page(name).is_none()).collect();
    assert!(missing.is_empty(), "docs/schemes has no page for {missing:?}");
}

#[test]
fn pages_begin_with_the_name_and_say_where_the_law_comes_from() {
    for name in components().map(|(_, info)| info.name).chain(Scheme::names()) {
        let text = page(name).unwrap_or_default();
        assert!(text.starts_with(&format!("# {name}\n")), "{name}.md does not begin with its title");
        assert!(text.contains("**Family** ") && text.contains("**Source** "), "{name}.md lacks its family or source");
    }
}

/// The lines of a page under a heading, up to the next of its level; none without the heading.
fn lines_under<'a>(text: &'a str, heading: &str) -> Option<Vec<&'a str>> {
    let mut lines = text.lines().skip_while(|line| *line != heading);
    lines.next()?;
    Some(lines.take_while(|line| !line.starts_with("## ")).collect())
}

// RFC 9743, sections 5.3.1 and 8: what no run of `judge` can show is on the page.
#[test]
fn every_named_scheme_says_where_it_deviates_from_rfc_2914_and_7141_and_whom_it_believes() {
    for name in Scheme::names() {
        let text = page(name).unwrap_or_default();
        let lines = lines_under(&text, "## RFC 9743").unwrap_or_default();
        for subject in ["RFC 2914", "RFC 7141", "Security"] {
            let start = format!("- **{subject}**: ");
            let said = lines.iter().filter(|line| line.len() > start.len() && line.starts_with(&start)).count();
            assert_eq!(said, 1, "{name}.md: the section \"## RFC 9743\" needs one item that begins with {start:?}");
        }
    }
}

#[test]
fn pages_of_router_components_name_every_parameter() {
    fn walk(value: &serde_json::Value, name: &str, text: &str) {
        for (key, inner) in value.as_object().into_iter().flatten() {
            assert!(text.contains(&format!("`{key}`")), "{name}.md does not mention the parameter {key}");
            walk(inner, name, text);
        }
    }
    for (_, info) in components().filter(|(family, _)| *family != Family::Consumer) {
        walk(&(info.defaults)(), info.name, &page(info.name).unwrap_or_default());
    }
}

/// All names of properties in a schema, those of nested tables included.
fn properties(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(table) => {
            for (key, inner) in table {
                let names = inner.as_object().filter(|_| key == "properties").into_iter().flatten();
                found.extend(names.map(|(name, _)| name.clone()));
                properties(inner, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| properties(inner, found)),
        _ => {}
    }
}

#[test]
fn parameters_are_written_in_kebab_case() {
    for (family, info) in components() {
        let mut names = Vec::new();
        properties(&(info.schema)(), &mut names);
        let snake: Vec<_> = names.iter().filter(|name| name.contains('_')).collect();
        assert!(snake.is_empty(), "{} {}: {snake:?}", family.key(), info.name);
    }
}

/// Tables with one parameter each, at its place and under its name with underscores; and both names.
fn underscored(defaults: &Value) -> Vec<(Value, String, String)> {
    let mut found = Vec::new();
    for (key, value) in defaults.as_object().into_iter().flatten() {
        if key.contains('-') {
            let old = key.replace('-', "_");
            found.push((json!({ old.clone(): value }), old, key.clone()));
        }
        found.extend(underscored(value).into_iter().map(|(inner, old, new)| (json!({ key: inner }), old, new)));
    }
    found
}

#[test]
fn a_parameter_with_underscores_is_rejected_with_how_it_is_written() {
    let mut tried = 0;
    for (family, info) in components() {
        for (params, old, new) in underscored(&(info.defaults)()) {
            let error = family.check(info.name, &params).unwrap_err().to_string();
            assert!(error.contains(&format!("`{old}` is written `{new}`")), "{}: {params}: {error}", info.name);
            tried += 1;
        }
    }
    assert!(tried > 60, "only {tried} parameters have two words");
}

#[test]
fn every_named_scheme_resolves_and_builds() {
    for name in Scheme::names() {
        let scheme = Scheme::named(name).unwrap();
        let mut layout = scheme.layout();
        scheme.consumer(&mut layout);
        scheme.marker(&mut layout);
        scheme.discipline(&mut layout);
        scheme.shaper(&mut layout);
        scheme.strategy(&mut layout);
        scheme.meter(&mut layout);
        scheme.planner(&mut layout);
        assert!(!scheme.summary.is_empty());
    }
}
