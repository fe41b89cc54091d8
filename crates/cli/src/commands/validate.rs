//! `ndnweir validate`.

use super::{print, print_json};
use crate::args::ValidateArgs;
use crate::failure::Failure;
use ndnweir_lab::experiment;
use serde_json::json;

pub fn run(args: &ValidateArgs) -> Result<(), Failure> {
    let scenario = super::sim::load(&args.scenario, &args.overrides)?;
    scenario.network().check().map_err(Failure::input)?;
    experiment::choose(&scenario, &[]).map_err(Failure::input)?;
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
