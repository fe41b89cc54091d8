//! `ndnweir validate`.

use super::{print, print_json};
use crate::args::ValidateArgs;
use crate::failure::Failure;
use ndnweir_core::plain;
use ndnweir_lab::evaluation::grid::Case;
use ndnweir_lab::experiment;
use ndnweir_scenario::Scenario;
use serde_json::json;

fn check(scenario: &Scenario) -> Result<(), Failure> {
    let schemes = experiment::choose(scenario, &[]).map_err(Failure::input)?;
    super::inputs::check(scenario, &schemes)
}

pub fn run(args: &ValidateArgs) -> Result<(), Failure> {
    if let Some(cases) = super::cases::read(&args.scenario, &args.overrides, &[])? {
        cases.iter().try_for_each(|case| check(&case.scenario))?;
        if args.json {
            let case = |case: &Case| json!({ "name": case.name, "set": case.set, "scenario": case.scenario });
            return print_json(&json!({ "cases": cases.iter().map(case).collect::<Vec<_>>() }));
        }
        let names: String = cases.iter().map(|case| format!("case: {}\n", plain::line(&case.name))).collect();
        return print(&format!("{}: valid in {} cases\n{names}", args.scenario, cases.len()));
    }
    let scenario = super::inputs::load(&args.scenario, &args.overrides)?;
    check(&scenario)?;
    if args.json {
        return print_json(&json!(scenario));
    }
    let mut text = format!(
        "{}: valid. {} nodes, {} links, {} producers, {} consumers, {} events, {} simulated\n",
        scenario.source,
        scenario.nodes.len(),
        scenario.links.len(),
        scenario.producers.len(),
        scenario.consumers.len(),
        scenario.events.len(),
        scenario.run.duration,
    );
    let own: Vec<String> = scenario.compositions.iter().map(|composition| composition.name.clone()).collect();
    let own = if own.is_empty() { Vec::new() } else { experiment::choose(&scenario, &own).map_err(Failure::input)? };
    for scheme in &own {
        for (number, choice) in (1..).zip(&scheme.choices) {
            let shaped = match (scheme.face_shaper().name(), scheme.is_shaped(number)) {
                ("none", _) => String::new(),
                (shaper, true) => format!(", shaped by {shaper}"),
                (_, false) => ", not shaped".into(),
            };
            text.push_str(&format!(
                "scheme {}: {} has {}{shaped}\n",
                scheme.name,
                choice.prefix,
                choice.strategy.name()
            ));
        }
    }
    for note in &scenario.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    print(&text)
}
