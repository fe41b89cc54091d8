//! `ndnweir strategy`.

use super::connect;
use super::table::table;
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::manage_args::{StrategyAction, StrategyArgs};
use ndnweir_net::mgmt::ControlParameters;
use ndnweir_net::mgmt::dataset::StrategyChoice;
use ndnweir_wire::Name;
use serde_json::{Value, json};

/// Where strategies have their names (NFD wiki, `StrategyChoice`).
const STRATEGIES: &str = "/localhost/nfd/strategy";

pub fn run(args: &StrategyArgs) -> Result<(), Failure> {
    let as_json = args.remote.json;
    match &args.action {
        StrategyAction::List => {
            let choices: Vec<StrategyChoice> = connect(&args.remote)?.list("strategy-choice", "list")?;
            if as_json {
                let row =
                    |c: &StrategyChoice| json!({ "prefix": c.name.to_string(), "strategy": c.strategy.to_string() });
                return print_json(&Value::from_iter(choices.iter().map(row)));
            }
            let rows: Vec<_> = choices.iter().map(|c| [c.name.to_string(), c.strategy.to_string()]).collect();
            print(&table(["PREFIX", "STRATEGY"], &[], &rows))
        }
        StrategyAction::Set { prefix, strategy } => {
            let parameters = ControlParameters {
                strategy: Some(full_name(strategy)?),
                ..ControlParameters::of_name(prefix.clone())
            };
            let done = connect(&args.remote)?.command("strategy-choice", "set", &parameters)?;
            let strategy = done.strategy.unwrap_or_default();
            if as_json {
                return print_json(&json!({ "prefix": prefix.to_string(), "strategy": strategy.to_string() }));
            }
            print(&format!("{prefix} has the strategy {strategy}.\n"))
        }
        StrategyAction::Unset { prefix } => {
            if prefix.is_empty() {
                return Err(Failure::input("the strategy of / can be changed, not unset"));
            }
            let parameters = ControlParameters::of_name(prefix.clone());
            connect(&args.remote)?.command("strategy-choice", "unset", &parameters)?;
            if as_json {
                return print_json(&json!({ "prefix": prefix.to_string() }));
            }
            print(&format!("{prefix} has no strategy of its own any more.\n"))
        }
    }
}

fn full_name(text: &str) -> Result<Name, Failure> {
    let full = if text.starts_with('/') { text.to_owned() } else { format!("{STRATEGIES}/{text}") };
    full.parse().map_err(|error| Failure::input(format!("`{text}` is not a strategy's name: {error}")))
}
