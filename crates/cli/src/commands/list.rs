//! `ndnweir list`.

use super::{print, print_json};
use crate::args::ListArgs;
use crate::failure::Failure;
use crate::terminal;
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use ndnweir_lab::text_table::wrapped;
use ndnweir_scenario as scenario;
use serde_json::json;
use std::fmt::Write;

pub fn run(args: &ListArgs) -> Result<(), Failure> {
    let schemes: Vec<_> = Scheme::names().map(Scheme::named).collect::<Result<_, _>>().map_err(Failure::work)?;
    if args.json {
        return print_json(&document(&schemes));
    }
    let mut text = String::from("Schemes (ndnweir sim SCENARIO --scheme NAME)\n");
    for scheme in &schemes {
        row(&mut text, &scheme.name, &with_label(&scheme.summary, scheme.is_stand_in()));
    }
    text.push_str("\nScenarios\n");
    for shipped in scenario::shipped() {
        row(&mut text, shipped.name, &shipped.summary());
    }
    for family in Family::ALL {
        let _ = writeln!(text, "\nComponents: {}", family.key());
        for info in family.components() {
            row(&mut text, info.name, &with_label(info.summary, info.stand_in));
        }
    }
    text.push_str("\nndnweir explain NAME shows details.\n");
    print(&text)
}

/// A name and what it is, in as many lines as the terminal needs.
fn row(text: &mut String, name: &str, summary: &str) {
    const INDENT: usize = 19;
    let room = terminal::width().map(|width| width.saturating_sub(INDENT).max(20));
    for (i, line) in wrapped(summary, room).iter().enumerate() {
        let _ = writeln!(text, "  {:<16} {line}", if i == 0 { name } else { "" });
    }
}

fn with_label(summary: &str, stand_in: bool) -> String {
    match stand_in {
        true => format!("{summary} (stand-in: the original law is not public)"),
        false => summary.into(),
    }
}

fn document(schemes: &[Scheme]) -> serde_json::Value {
    let composition = |scheme: &Scheme| {
        let parts = Family::ALL.map(|family| (family.key().to_string(), json!(scheme.part(family))));
        json!({
            "name": scheme.name, "summary": scheme.summary, "stand_in": scheme.is_stand_in(),
            "parts": serde_json::Map::from_iter(parts),
        })
    };
    let components = Family::ALL.map(|family| {
        let rows = family.components().iter();
        let rows = rows.map(|i| json!({ "name": i.name, "summary": i.summary, "source": i.source }));
        (family.key().to_string(), rows.collect())
    });
    let scenarios = scenario::shipped().iter().map(|s| json!({ "name": s.name, "summary": s.summary() }));
    json!({
        "schemes": schemes.iter().map(composition).collect::<Vec<_>>(),
        "scenarios": scenarios.collect::<Vec<_>>(),
        "components": serde_json::Map::from_iter(components),
    })
}
