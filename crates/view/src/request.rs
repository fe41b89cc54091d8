//! What the page may run: one shipped scenario, changed within bounds.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::Duration;
use ndnweir_lab::experiment::choose;
use ndnweir_scenario::{self as scenario, Scenario, Traffic, shipped};
use serde::Deserialize;

/// Most schemes and seeds of a run.
const MAX_RUNS: usize = 200;
/// Longest simulated time.
const MAX_DURATION: Duration = Duration::from_millis(600_000);
/// Most packet-hops of all its simulations together, by [`packet_hops`]: minutes on one core.
pub const MAX_PACKET_HOPS: f64 = 2e9;

/// The body of `POST /api/runs`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunRequest {
    /// A shipped scenario's name.
    pub scenario: String,
    /// Schemes by name; none are the scenario's own.
    pub schemes: Vec<String>,
    /// How many seeds, from 1 on.
    pub seeds: Option<u32>,
    /// Simulated time.
    pub duration_s: Option<f64>,
    /// The link that the next three change; none is every link.
    pub link: Option<String>,
    /// Its rate.
    pub rate_mbps: Option<f64>,
    /// Its propagation delay.
    pub delay_ms: Option<f64>,
    /// The room of its queues.
    pub queue_packets: Option<u32>,
    /// The number of consumers, where the scenario draws them.
    pub flows: Option<u32>,
    /// The load of flows that come and go, in percent.
    pub load_percent: Option<f64>,
}

/// A request that was checked.
#[derive(Debug)]
pub struct Checked {
    /// The scenario as it is simulated.
    pub scenario: Scenario,
    /// Its schemes.
    pub schemes: Vec<Scheme>,
    /// What was set, as `--set` has it.
    pub overrides: Vec<String>,
    /// The number of seeds.
    pub seeds: u32,
}

impl RunRequest {
    /// Checks everything.
    ///
    /// # Errors
    /// A sentence about what is wrong.
    pub fn check(&self) -> Result<Checked, String> {
        if !shipped().iter().any(|known| known.name == self.scenario) {
            return Err(format!("there is no shipped scenario {:?}", short(&self.scenario)));
        }
        let seeds = self.seeds.unwrap_or(1);
        if !(1..=50).contains(&seeds) {
            return Err("seeds: 1 to 50".into());
        }
        let mut source = scenario::find(&self.scenario).map_err(|e| e.to_string())?;
        if source.vary().is_some() {
            return Err(format!("{} has several cases; run it with ndnweir sim", self.scenario));
        }
        let overrides = self.overrides(&source)?;
        scenario::apply_overrides(&mut source, &overrides).map_err(|e| e.to_string())?;
        let scenario = source.validate().map_err(|e| e.to_string())?;
        if scenario.run.duration > MAX_DURATION {
            return Err(format!("simulated time: at most {MAX_DURATION}"));
        }
        if self.schemes.iter().any(|name| name == "all") {
            return Err("name the schemes one by one".into());
        }
        let schemes = choose(&scenario, &self.schemes).map_err(|e| short(&e.to_string()))?;
        let runs = schemes.len() * seeds as usize;
        if runs > MAX_RUNS {
            return Err(format!("{runs} simulations; at most {MAX_RUNS}: choose fewer schemes or seeds"));
        }
        let hops = packet_hops(&scenario) * runs as f64;
        if hops > MAX_PACKET_HOPS {
            let (hops, most) = (hops / 1e6, MAX_PACKET_HOPS / 1e6);
            return Err(format!(
                "up to {hops:.0} million packet-hops; at most {most:.0} million: choose fewer schemes or seeds, a \
                 shorter time or lower rates, or run it with ndnweir sim"
            ));
        }
        let network = scenario.network();
        network.check().map_err(|e| e.to_string())?;
        schemes.iter().try_for_each(|scheme| network.check_parts(scheme)).map_err(|e| e.to_string())?;
        Ok(Checked { scenario, schemes, overrides, seeds })
    }

    fn overrides(&self, source: &scenario::Source) -> Result<Vec<String>, String> {
        let link = self.link.as_deref().unwrap_or("*");
        if link != "*" && !link.split('-').all(scenario::is_name) {
            return Err("link: no such name".into());
        }
        let mut list = Vec::new();
        let mut number =
            |what: &str, value: Option<f64>, least: f64, most: f64, text: &dyn Fn(f64) -> String| match value {
                Some(value) if !(least..=most).contains(&value) => Err(format!("{what}: {least} to {most}")),
                Some(value) => {
                    list.push(text(value));
                    Ok(())
                }
                None => Ok(()),
            };
        number("duration_s", self.duration_s, 1.0, 600.0, &|s| format!("run.duration={s}s"))?;
        number("rate_mbps", self.rate_mbps, 0.01, 10_000.0, &|mbps| format!("link.{link}.rate={mbps}Mbps"))?;
        number("delay_ms", self.delay_ms, 0.01, 1000.0, &|ms| format!("link.{link}.delay={ms}ms"))?;
        let queue = self.queue_packets.map(f64::from);
        number("queue_packets", queue, 1.0, 10_000.0, &|n| format!("link.{link}.queue={n} packets"))?;
        number("flows", self.flows.map(f64::from), 1.0, 200.0, &|n| format!("demand.consumers={n}"))?;
        let comes_and_goes = |source: &scenario::Source| {
            let scenario = source.clone().validate().ok()?;
            let found = scenario.consumers.into_iter().find(|c| matches!(c.traffic, Traffic::Flows(_)))?;
            Some(found.name)
        };
        let consumer = self.load_percent.and_then(|_| comes_and_goes(source)).unwrap_or_default();
        number("load_percent", self.load_percent, 1.0, 95.0, &|load| format!("consumer.{consumer}.load={load}%"))?;
        Ok(list)
    }
}

/// The beginning of what was written, for a message.
fn short(text: &str) -> String {
    text.chars().take(300).collect()
}

/// At most so many packets cross a link in a simulation: what consumers' or producers' own links carry, whichever is
/// less, over paths of the mean length of those in a network of this size, an Interest for each Data.
pub fn packet_hops(scenario: &Scenario) -> f64 {
    let adjacency = scenario.adjacency();
    let access = |node: usize| -> f64 {
        let rate = |&(link, _, first): &(usize, usize, bool)| {
            let link = &scenario.links[link];
            let into = if first { &link.backward } else { &link.forward };
            into.rate.map_or(10e9, |rate| rate.bps() as f64)
        };
        adjacency.get(node).map_or(0.0, |links| links.iter().map(rate).sum())
    };
    let of = |nodes: &mut dyn Iterator<Item = usize>| {
        let nodes: std::collections::BTreeSet<usize> = nodes.collect();
        nodes.into_iter().map(access).sum::<f64>()
    };
    let bps =
        of(&mut scenario.consumers.iter().map(|c| c.node)).min(of(&mut scenario.producers.iter().map(|p| p.node)));
    let payload = scenario.producers.iter().map(|p| p.payload.bits()).min().unwrap_or(1).max(1);
    let hops = (scenario.nodes.len() as f64).min(8.0);
    bps * scenario.run.duration.secs() / payload as f64 * 2.0 * hops
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str) -> Result<Checked, String> {
        serde_json::from_str::<RunRequest>(text).map_err(|e| e.to_string())?.check()
    }

    #[test]
    fn sliders_become_what_the_command_line_sets() {
        let checked = request(
            r#"{"scenario": "dumbbell", "schemes": ["pcon", "bic"], "seeds": 3, "duration_s": 20, "link": "R1-R2",
                "rate_mbps": 5.5, "delay_ms": 40, "queue_packets": 30}"#,
        )
        .unwrap();
        let expected =
            ["run.duration=20s", "link.R1-R2.rate=5.5Mbps", "link.R1-R2.delay=40ms", "link.R1-R2.queue=30 packets"];
        assert_eq!(checked.overrides, expected);
        assert_eq!((checked.schemes.len(), checked.seeds), (2, 3));
        let link = &checked.scenario.links[checked.scenario.link("R1-R2").unwrap()];
        assert_eq!(link.forward.delay, Duration::from_millis(40));
        let more = request(r#"{"scenario": "abilene", "flows": 4}"#).unwrap();
        assert_eq!(more.scenario.consumers.len(), 4);
        assert!(!more.schemes.is_empty(), "the scenario's own");
        assert!(request(r#"{"scenario": "short-flows", "load_percent": 20}"#).is_ok());
    }

    #[test]
    fn what_is_too_large_or_unknown_is_rejected() {
        for (text, why) in [
            (r#"{"scenario": "/etc/passwd"}"#, "no shipped scenario"),
            (r#"{"scenario": "../x.toml"}"#, "no shipped scenario"),
            (r#"{"scenario": "dumbbell", "schemes": ["<script>"]}"#, "no scheme"),
            (r#"{"scenario": "dumbbell", "schemes": ["all"]}"#, "one by one"),
            (r#"{"scenario": "dumbbell", "seeds": 1000}"#, "1 to 50"),
            (r#"{"scenario": "dumbbell", "seeds": 0}"#, "1 to 50"),
            (r#"{"scenario": "dumbbell", "duration_s": 1e9}"#, "1 to 600"),
            (r#"{"scenario": "dumbbell", "rate_mbps": 1e300}"#, "0.01 to"),
            (r#"{"scenario": "dumbbell", "queue_packets": 4294967295}"#, "1 to 10000"),
            (r#"{"scenario": "dumbbell", "link": "x.rate=1Mbps\nrun", "rate_mbps": 1}"#, "no such name"),
            (r#"{"scenario": "dumbbell", "link": "R9-R1", "rate_mbps": 1}"#, "R9-R1"),
            (r#"{"scenario": "dumbbell", "rate_mbps": 10000, "duration_s": 600}"#, "packet-hops"),
            (r#"{"scenario": "dumbbell", "out": "/tmp"}"#, "unknown field"),
            (r#"{"scenario": "dumbbell", "flows": 2}"#, "demand"),
            (r#""dumbbell""#, "invalid"),
        ] {
            let error = request(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn the_estimate_is_an_upper_bound_of_what_a_run_of_the_dumbbell_counts() {
        let scenario = scenario::load("dumbbell", &["run.duration=5s"]).unwrap();
        let schemes = choose(&scenario, &["pcon".into()]).unwrap();
        let options = ndnweir_lab::experiment::Inputs::new(&scenario);
        let experiment = ndnweir_lab::experiment::Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
        let stop = std::sync::atomic::AtomicBool::new(false);
        let run = experiment.run_one(&options, &experiment.schemes[0], 1, &stop, Default::default()).unwrap().unwrap();
        let estimate = packet_hops(&experiment.scenario);
        let counted = run.outcome.packet_hops as f64;
        assert!(counted < estimate && estimate < 20.0 * counted, "{counted} of {estimate}");
    }
}
