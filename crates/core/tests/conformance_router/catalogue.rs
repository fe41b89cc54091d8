//! Names, documentation pages, named schemes.

use ndnweir_core::component::Info;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use std::path::PathBuf;

fn page(name: &str) -> Option<String> {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../docs/schemes", &format!("{name}.md")].iter().collect();
    std::fs::read_to_string(path).ok()
}

fn components() -> impl Iterator<Item = (Family, &'static Info)> {
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

#[test]
fn every_named_scheme_resolves_and_builds() {
    for name in Scheme::names() {
        let scheme = Scheme::named(name).unwrap();
        let mut layout = scheme.layout();
        scheme.consumer(&mut layout).unwrap();
        scheme.marker(&mut layout).unwrap();
        scheme.discipline(&mut layout).unwrap();
        scheme.shaper(&mut layout).unwrap();
        scheme.strategy(&mut layout).unwrap();
        scheme.meter(&mut layout).unwrap();
        scheme.planner(&mut layout).unwrap();
        assert!(!scheme.summary.is_empty());
    }
}
