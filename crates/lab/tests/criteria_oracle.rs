//! Every measure of every criterion can be passed and can be failed: one that cannot would say nothing.
//!
//! An oracle has the optimum: each consumer sends at its fair rate, or keeps the window that holds it. It cannot know
//! what happens next, so where things change, schemes that are made for it take its place. Broken schemes ignore every
//! signal, do not back off, stay at a window of one, or leave everything to one flow.
//!
//! It takes minutes without optimisation, so `scripts/judge-oracle` runs it; the test that runs always looks at a few.

use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_lab::criteria::{self, Criterion, CriterionVerdict, Depth, Folder, ReadOptions, text};
use ndnweir_lab::evaluation::grid::Case;
use ndnweir_lab::evaluation::{Limits, number};
use ndnweir_lab::experiment::{Silent, describe, routed};
use ndnweir_scenario::{CrossKind, Scenario, Traffic};
use ndnweir_sim::parts::{Members, Part};
use ndnweir_sim::routing::{Availability, Fibs};
use ndnweir_sim::topology::Topology;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// What the oracle leaves free, so that its packets' rhythms do not meet in a queue.
const ROOM: f64 = 0.97;
/// The same where Interests are drawn among next hops, so that packets come in bursts.
const ROOM_FOR_DRAWS: f64 = 0.95;

/// How the oracle keeps to the fair rate.
#[derive(Clone, Copy)]
enum Oracle {
    /// It sends at the rate.
    Rate,
    /// It sends at the rate, and every node draws next hops in proportion to the paths of the optimum.
    Shares,
    /// It keeps the window that the rate fills over the base RTT, and a half more.
    Window,
    /// It sends at a hundredth of the rate: no oracle, but a scheme that is silent for fear of congestion.
    Hundredth,
}

/// Gives consumers the oracle's component; those that the scenario gives one keep it, as do streams.
fn enlighten(case: &mut Case, oracle: Oracle) {
    let scenario = &case.scenario;
    let solved = |scenario: &Scenario| routed(scenario).map(|problem| problem.solve()).unwrap_or_default();
    let optimum = solved(scenario);
    // Objects have no fair rate; they get that of an endless flow in their place, as if all came at once.
    let mut endless = scenario.clone();
    for consumer in &mut endless.consumers {
        match &mut consumer.traffic {
            Traffic::Fetch { segments, .. } => *segments = None,
            traffic @ Traffic::Flows(_) => *traffic = Traffic::Fetch { segments: None, consumer: None },
            _ => {}
        }
    }
    let all = solved(&endless);
    let room = left(scenario);
    let (info, limits) = (describe(scenario), Limits::without_optimum(scenario));
    let wire = info.data_wire_bytes as f64 / info.payload_bytes as f64;
    for consumer in &mut case.scenario.consumers {
        let base = limits.base_rtt_ms.iter().find(|b| b.0 == consumer.name).map_or(1.0, |b| b.1);
        let Some(goodput) = optimum.goodput(&consumer.name).or(all.goodput(&consumer.name)) else { continue };
        let fair = goodput * wire * room;
        let own = match &mut consumer.traffic {
            Traffic::Fetch { consumer, .. } => consumer,
            Traffic::Flows(flows) => &mut flows.consumer,
            _ => continue,
        };
        if own.is_none() {
            let at = |rate: f64| json!({ "name": "rate-aimd", "link": format!("{:.3}kbps", rate * 1e3) });
            let chosen = match oracle {
                Oracle::Rate => at(fair * ROOM),
                Oracle::Shares => at(fair * ROOM_FOR_DRAWS),
                Oracle::Hundredth => at(fair / 100.0),
                Oracle::Window => {
                    let window = fair * 1e3 * base / 8.0 / info.data_wire_bytes as f64;
                    json!({ "name": "fixed", "window": (1.5 * window).max(1.0) })
                }
            };
            *own = Some(ComponentChoice::from_value(&chosen).unwrap());
        }
    }
    if matches!(oracle, Oracle::Shares) && case.scenario.parts.is_empty() {
        share_out(&mut case.scenario, &endless);
    }
}

/// Every node draws the next hop of a consumer's Interests in proportion to the optimum's rates on the paths through
/// it: strategy `weighted` with the weights of this node and prefix.
fn share_out(scenario: &mut Scenario, endless: &Scenario) {
    let network = endless.network();
    let (Ok(problem), Ok(topology)) = (routed(endless), Topology::new(&network)) else { return };
    let Ok(allocation) = problem.allocate() else { return };
    let up = Availability::all(&topology);
    let fibs = Fibs::new(&network, &topology, &up);
    let mut prefixes: BTreeMap<usize, Map<String, Value>> = BTreeMap::new();
    // Consumers of one name share its Interests, so their rates add up.
    let mut rates: BTreeMap<(&str, usize, u16), f64> = BTreeMap::new();
    let place = |name: &str| endless.consumers.iter().position(|c| c.name == name).unwrap();
    for (flow, paths) in problem.flows.iter().zip(&allocation.paths) {
        let name = endless.consumers[place(&flow.name)].prefix.as_str();
        for (hop, rate) in paths.iter().flat_map(|(path, rate)| path.iter().map(move |hop| (*hop, *rate))) {
            // Interests take the opposite direction.
            let interest = &topology.channels[hop ^ 1];
            *rates.entry((name, interest.from as usize, interest.out_face)).or_default() += rate;
        }
    }
    for flow in &problem.flows {
        let consumer = place(&flow.name);
        let (name, prefix) = (endless.consumers[consumer].prefix.as_str(), network.consumers[consumer].prefix);
        let hops = fibs.next_hops(prefix);
        for (node, hops) in hops.iter().enumerate() {
            let weight = |face: u16| rates.get(&(name, node, face)).copied().unwrap_or_default();
            let weights: Vec<f64> = hops.iter().map(|hop| weight(hop.face.0)).collect();
            // With one next hop there is nothing to share, and a node takes few choices by prefix.
            if hops.len() > 1 && weights.iter().any(|weight| *weight > 0.0) {
                let strategy = json!({ "strategy": { "name": "weighted", "weights": weights } });
                prefixes.entry(node).or_default().insert(name.to_owned(), strategy);
            }
        }
    }
    for (node, prefixes) in prefixes {
        let choices = json!({ "marker": "droptail", "prefixes": prefixes });
        scenario.part_schemes.push(Scheme::resolve(&format!("shares at {node}"), &choices).unwrap());
        scenario.parts.push(Part {
            scheme: scenario.part_schemes.len() - 1,
            members: Members::Nodes(vec![node]),
            share: 1.0,
            stream: node as u64,
        });
    }
}

/// The part of the fair rates that other traffic leaves. Of datagrams that come and go it is what is always free and
/// half of the rest; flows that come and go need some room to be quick.
fn left(scenario: &Scenario) -> f64 {
    let each = |cross: &CrossKind| match cross {
        CrossKind::Poisson { .. } | CrossKind::OnOff { .. } => 0.6,
        // The media of the criteria take at most 15 % of their link.
        CrossKind::Nada { .. } => 0.8,
        CrossKind::Tcp { .. } => 1.0,
    };
    let others = scenario.cross.iter().map(|c| each(&c.kind)).fold(1.0, f64::min);
    let flows = scenario.consumers.iter().any(|c| matches!(c.traffic, Traffic::Flows(_)));
    let transfers = scenario.cross.iter().filter(|c| matches!(c.kind, CrossKind::Tcp { .. })).count() as f64;
    (if flows { 0.6 } else { others }) / (1.0 + transfers)
}

fn read(only: &[&str], set: &[String]) -> Vec<Criterion> {
    let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
    let options = ReadOptions { depth: Depth::Quick, held_out: Some(1), set: set.to_vec() };
    // Not those in the program: who changes a criterion wants to see what it does.
    let folder = Folder::find(Some(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../judge")))).unwrap();
    criteria::read_all(&folder, &only, &options).unwrap_or_else(|problems| panic!("{problems}"))
}

/// What a candidate came to in a measure.
struct Found {
    candidate: String,
    verdict: CriterionVerdict,
    value: Option<f64>,
    cell: String,
}

/// By criterion and measure: the thresholds, and the result of each candidate.
#[derive(Default)]
struct Seen(BTreeMap<(String, String), (String, Vec<Found>)>);

impl Seen {
    fn record(&mut self, candidate: &str, criteria: &[Criterion], scheme: &str) {
        let names = [scheme.to_owned()];
        let judgement = criteria::run(criteria, &names, &[1], &Silent, &AtomicBool::new(false)).unwrap();
        for (criterion, results) in criteria.iter().zip(&judgement.results) {
            let Some(result) = &results[0] else { continue };
            for (measure, found) in criterion.measures.iter().zip(&result.measures) {
                let cell = found.cell();
                let place = self.0.entry((criterion.name.clone(), measure.id.clone())).or_default();
                place.0 = text::thresholds(measure);
                place.1.push(Found {
                    candidate: candidate.to_owned(),
                    verdict: cell.verdict,
                    value: cell.value.as_ref().map(|s| s.mean),
                    cell: criterion.cell_name(cell.experiment, cell.case),
                });
            }
        }
        println!("{candidate}: {} million packet-hops", judgement.packet_hops[0] / 1_000_000);
    }

    /// Whether a candidate has this verdict in a measure.
    fn has(&self, criterion: &str, measure: &str, candidate: &str, verdict: CriterionVerdict) -> bool {
        let found = &self.0[&(criterion.to_owned(), measure.to_owned())].1;
        found.iter().any(|f| f.candidate == candidate && f.verdict == verdict)
    }

    /// A block for each measure, and the measures that nothing passes or nothing fails.
    fn report(&self) -> (String, Vec<String>) {
        let mut table = String::new();
        let mut wrong = Vec::new();
        for ((criterion, measure), (thresholds, found)) in &self.0 {
            table.push_str(&format!("{criterion}.{measure}: {thresholds}\n"));
            for f in found {
                let value = f.value.map_or_else(|| "undefined".to_owned(), number);
                table.push_str(&format!("  {:<18} {value:>9}  {}  {}\n", f.candidate, f.verdict.text(), f.cell));
            }
            for (verdict, what) in [(CriterionVerdict::Pass, "passed"), (CriterionVerdict::Fail, "failed")] {
                if !found.iter().any(|f| f.verdict == verdict) {
                    wrong.push(format!("{criterion}.{measure} is {what} by none"));
                }
            }
        }
        (table, wrong)
    }
}

/// Oracles, and what their routers do: nothing, keep flows apart, use all next hops alike, or in proportion to the
/// optimum. The last is broken.
const ORACLES: [(&str, Oracle, Option<&str>); 6] = [
    ("oracle by rate", Oracle::Rate, None),
    ("oracle by window", Oracle::Window, None),
    ("with fair queues", Oracle::Rate, Some("scheme.oracle.discipline=fq-codel")),
    ("with all paths", Oracle::Rate, Some("scheme.oracle.strategy=random")),
    (SHARES, Oracle::Shares, None),
    ("a hundredth", Oracle::Hundredth, None),
];

/// Schemes that ignore signals, or do nothing.
const BROKEN: [(&str, &[&str]); 10] = [
    ("huge window", &["consumer.window=5000"]),
    ("no back-off", &["consumer.window=5000", "consumer.timer.backoff-cap=1"]),
    ("timer of a minute", &["consumer.window=16", "consumer.timer.min=60s"]),
    ("window of one", &["consumer.window=1", "strategy=random"]),
    (NEVER_DOUBLES, &["consumer.window=1", "consumer.timer.backoff-cap=1"]),
    (ONE_TAKES_ALL, &["consumer.window=1", "strategy=random"]),
    ("window of seven", &["consumer.window=7"]),
    ("every round trip", &["consumer=raaqm", "consumer.samples=1000", "strategy=random", "meter=path-label"]),
    ("to all next hops", &["consumer.window=16", "strategy=multicast"]),
    (
        "impatient",
        &["consumer.window=16", "consumer.timer.min=50ms", "consumer.timer.max=200ms", "consumer.timer.backoff-cap=1"],
    ),
];
/// The oracle that knows rates and shares.
const SHARES: &str = "with the shares";

/// The window of one whose timer is the same after every timeout.
const NEVER_DOUBLES: &str = "one without back-off";

/// The first consumer of each scenario has a huge window, all others one of one.
const ONE_TAKES_ALL: &str = "one takes all";

fn favour_the_first(case: &mut Case) {
    let fetches = case.scenario.consumers.iter_mut().filter_map(|consumer| match &mut consumer.traffic {
        Traffic::Fetch { consumer: own @ None, .. } => Some(own),
        _ => None,
    });
    let huge = json!({ "name": "fixed", "window": 5000 });
    fetches.take(1).for_each(|own| *own = Some(ComponentChoice::from_value(&huge).unwrap()));
}

/// Every case of every criterion.
fn cases(criteria: &mut [Criterion]) -> impl Iterator<Item = &mut Case> {
    criteria.iter_mut().flat_map(|c| &mut c.experiments).flat_map(|e| &mut e.cases)
}

/// Tries the candidates that `wanted` names.
fn judge(only: &[&str], wanted: impl Fn(&str) -> bool, schemes: &[String]) -> Seen {
    let mut seen = Seen::default();
    for (name, oracle, part) in ORACLES.into_iter().filter(|o| wanted(o.0)) {
        let set: Vec<String> = ["scheme.oracle.marker=droptail"].into_iter().chain(part).map(String::from).collect();
        let mut criteria = read(only, &set);
        cases(&mut criteria).for_each(|case| enlighten(case, oracle));
        seen.record(name, &criteria, "oracle");
    }
    for (name, parts) in BROKEN.into_iter().filter(|b| wanted(b.0)) {
        let parts = parts.iter().map(|part| format!("scheme.broken.{part}"));
        let set: Vec<String> = ["scheme.broken.consumer=fixed", "scheme.broken.marker=droptail"]
            .map(String::from)
            .into_iter()
            .chain(parts)
            .collect();
        let mut criteria = read(only, &set);
        if name == ONE_TAKES_ALL {
            cases(&mut criteria).for_each(favour_the_first);
        }
        seen.record(name, &criteria, "broken");
    }
    for scheme in schemes {
        seen.record(scheme, &read(only, &[]), scheme);
    }
    seen
}

#[test]
fn oracles_pass_and_broken_schemes_fail_where_it_is_quick_to_see() {
    let seen = judge(&["tail-drop", "constrained"], |_| true, &[]);
    let (table, _) = seen.report();
    for measure in ["rate", "loss", "queue"] {
        assert!(seen.has("tail-drop", measure, "oracle by rate", CriterionVerdict::Pass), "{table}");
    }
    for measure in ["loss", "queue"] {
        assert!(seen.has("tail-drop", measure, "huge window", CriterionVerdict::Fail), "{table}");
    }
    assert!(seen.has("tail-drop", "rate", "window of one", CriterionVerdict::Fail), "{table}");
}

#[test]
fn a_window_of_one_passes_persistent_congestion_only_if_its_timer_doubles() {
    let seen = judge(&["congestion-collapse"], |name| ["window of one", NEVER_DOUBLES].contains(&name), &[]);
    let (table, _) = seen.report();
    for (measure, never) in [("persistent", CriterionVerdict::Pass), ("backs-off", CriterionVerdict::Fail)] {
        assert!(seen.has("congestion-collapse", measure, "window of one", CriterionVerdict::Pass), "{table}");
        assert!(seen.has("congestion-collapse", measure, NEVER_DOUBLES, never), "{table}");
    }
}

#[test]
fn rates_and_shares_of_the_optimum_pass_on_real_and_drawn_networks_and_rates_alone_do_not() {
    let seen = judge(&["wired", "held-out"], |name| [SHARES, "oracle by rate", "window of one"].contains(&name), &[]);
    let (table, _) = seen.report();
    for criterion in ["wired", "held-out"] {
        assert!(seen.has(criterion, "rate", SHARES, CriterionVerdict::Pass), "{table}");
        assert!(!seen.has(criterion, "rate", "oracle by rate", CriterionVerdict::Pass), "{table}");
        assert!(seen.has(criterion, "rate", "window of one", CriterionVerdict::Fail), "{table}");
    }
}

/// A list with commas that the script hands over.
fn handed(variable: &str) -> Vec<String> {
    let list = std::env::var(variable).unwrap_or_default();
    list.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// Every measure, with the schemes of `JUDGE_SCHEMES` beside oracles and broken ones; `JUDGE_ONLY` names criteria.
#[test]
#[ignore = "takes minutes; scripts/judge-oracle runs it optimised"]
fn every_measure_is_passed_by_something_and_failed_by_something() {
    let (only, schemes) = (handed("JUDGE_ONLY"), handed("JUDGE_SCHEMES"));
    let only: Vec<&str> = only.iter().map(String::as_str).collect();
    let seen = judge(&only, |_| true, &schemes);
    let (table, wrong) = seen.report();
    println!("{table}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
