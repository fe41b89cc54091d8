//! What can be run from the page: the shipped scenarios, and what of each can be changed.

use ndnweir_core::scheme::Scheme;
use ndnweir_lab::experiment::choose;
use ndnweir_report::assets::group;
use ndnweir_scenario::{self as scenario, Scenario, Traffic};
use serde_json::{Value, json};

/// Links that are offered one by one; of more, only all at once.
const MAX_LINKS: usize = 60;

/// The shipped scenarios that run as one case, with what they offer, and all schemes.
pub fn catalogue() -> Value {
    let entry = |shipped: &scenario::Shipped| {
        let source = scenario::find(shipped.name).ok()?;
        if source.vary().is_some() {
            return None;
        }
        source.validate().ok().map(|valid| describe(shipped.name, &valid))
    };
    let scenarios: Vec<Value> = scenario::shipped().iter().filter_map(entry).collect();
    let schemes: Vec<Value> = (Scheme::names())
        .map(|name| {
            let stand_in = Scheme::named(name).is_ok_and(|scheme| scheme.is_stand_in());
            json!({ "name": name, "group": group(name), "stand_in": stand_in })
        })
        .collect();
    json!({ "scenarios": scenarios, "schemes": schemes })
}

fn describe(name: &str, scenario: &Scenario) -> Value {
    let own = choose(scenario, &[]).map(|list| list.into_iter().map(|s| s.name).collect::<Vec<_>>());
    let links = (scenario.links.iter()).map(|link| {
        let rate = link.forward.rate.filter(|_| link.forward.trace.is_none());
        json!({
            "name": link.name,
            "rate_mbps": rate.map(|rate| rate.mbps()),
            "delay_ms": link.forward.delay.millis(),
            "queue": link.forward.limit.to_string(),
        })
    });
    json!({
        "name": name,
        "about": scenario.about,
        "duration_s": scenario.run.duration.secs(),
        "warmup_s": scenario.run.warm_up.secs(),
        "nodes": scenario.nodes.len(),
        "consumers": scenario.consumers.len(),
        "links_in_all": scenario.links.len(),
        "links": if scenario.links.len() <= MAX_LINKS { links.collect::<Vec<_>>() } else { Vec::new() },
        "flows": flows(name, scenario),
        "schemes": own.unwrap_or_default(),
    })
}

/// What the number of flows is called in `--set`, and how many there are, if the scenario draws its consumers.
fn flows(name: &str, scenario: &Scenario) -> Value {
    if scenario::load(name, &["demand.consumers=2"]).is_ok() {
        return json!({ "key": "demand.consumers", "now": scenario.consumers.len() });
    }
    let arrive = scenario.consumers.iter().find(|c| matches!(c.traffic, Traffic::Flows(_)));
    match arrive.map(|c| format!("consumer.{}.load", c.name)) {
        Some(key) if scenario::load(name, &[&format!("{key}=50%")]).is_ok() => json!({ "key": key, "now": null }),
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shipped_scenario_says_what_can_be_changed() {
        let all = catalogue();
        let scenario = |name: &str| {
            let list = all["scenarios"].as_array().unwrap();
            list.iter().find(|s| s["name"] == name).unwrap_or_else(|| panic!("{name}")).clone()
        };
        let dumbbell = scenario("dumbbell");
        assert_eq!(
            dumbbell["links"][4],
            json!({"name": "R1-R2", "rate_mbps": 10.0, "delay_ms": 10.0, "queue": "100 packets"})
        );
        assert_eq!((&dumbbell["flows"], &dumbbell["links_in_all"]), (&Value::Null, &json!(5)));
        assert_eq!(scenario("abilene")["flows"], json!({"key": "demand.consumers", "now": 10}));
        assert!(scenario("short-flows")["flows"]["key"].as_str().is_some_and(|key| key.ends_with(".load")));
        assert_eq!(scenario("star-100")["links"], json!([]));
        assert!(all["schemes"].as_array().unwrap().iter().any(|s| s["name"] == "pcon" && s["stand_in"] == false));
    }
}
