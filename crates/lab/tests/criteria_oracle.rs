//! Every measure of every criterion can be passed and can be failed: one that cannot would say nothing.
//!
//! An oracle has the optimum: each consumer sends at its fair rate, or keeps the window that holds it. It cannot know
//! what happens next, so where things change, schemes that are made for it take its place. Broken schemes ignore every
//! signal, or stay at a window of one.
//!
//! It takes minutes without optimisation, so `scripts/judge-oracle` runs it; the test that runs always looks at a few.

use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_lab::criteria::{self, Criterion, CriterionVerdict, Depth, Extent, Folder};
use ndnweir_lab::evaluation::Limits;
use ndnweir_lab::evaluation::grid::Case;
use ndnweir_lab::experiment::{Silent, describe, routed};
use ndnweir_scenario::Traffic;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// What the oracle leaves free, so that its packets' rhythms do not meet in a queue.
const ROOM: f64 = 0.97;

/// How the oracle keeps to the fair rate.
#[derive(Clone, Copy)]
enum Oracle {
    /// It sends at the rate.
    Rate,
    /// It keeps the window that the rate fills over the base RTT, and a half more.
    Window,
}

/// Gives consumers the oracle's component; those that the scenario gives one keep it, as do streams.
fn enlighten(case: &mut Case, oracle: Oracle) {
    let scenario = &case.scenario;
    let optimum = routed(scenario).map(|problem| problem.solve()).unwrap_or_default();
    let (info, limits) = (describe(scenario), Limits::without_optimum(scenario));
    let wire = info.data_wire_bytes as f64 / info.payload_bytes as f64;
    let least = info.links.iter().map(|l| l.rate_mbps).fold(f64::MAX, f64::min);
    for consumer in &mut case.scenario.consumers {
        let base = limits.base_rtt_ms.iter().find(|b| b.0 == consumer.name).map_or(1.0, |b| b.1);
        // Objects have no fair rate; a tenth of the narrowest link leaves room for those that come with them.
        let fair = optimum.goodput(&consumer.name).map_or(least / 10.0, |goodput| goodput * wire);
        if let Traffic::Fetch { consumer: own @ None, .. } = &mut consumer.traffic {
            let chosen = match oracle {
                Oracle::Rate => json!({ "name": "rate-aimd", "link": format!("{:.3}kbps", fair * ROOM * 1e3) }),
                Oracle::Window => {
                    let window = fair * 1e3 * base / 8.0 / info.data_wire_bytes as f64;
                    json!({ "name": "fixed", "window": (1.5 * window).max(1.0) })
                }
            };
            *own = Some(ComponentChoice::from_value(&chosen).unwrap());
        }
    }
}

fn read(only: &[&str], set: &[&str]) -> Vec<Criterion> {
    let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
    let set = set.iter().map(|s| (*s).to_owned()).collect();
    let extent = Extent { depth: Depth::Quick, held_out: Some(1), set };
    criteria::read_all(&Folder::Shipped, &only, &extent).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Passed and failed, by criterion and measure.
#[derive(Default)]
struct Seen(BTreeMap<(String, String), (Vec<String>, Vec<String>)>);

impl Seen {
    fn look(&mut self, candidate: &str, criteria: &[Criterion], scheme: &str) {
        let names = [scheme.to_owned()];
        let judgement = criteria::run(criteria, &names, &[1], &Silent, &AtomicBool::new(false)).unwrap();
        for (criterion, results) in criteria.iter().zip(&judgement.results) {
            let Some(result) = &results[0] else { continue };
            for (measure, found) in criterion.measures.iter().zip(&result.measures) {
                let place = self.0.entry((criterion.name.clone(), measure.id.clone())).or_default();
                match found.cell().verdict {
                    CriterionVerdict::Pass => place.0.push(candidate.to_owned()),
                    CriterionVerdict::Fail => place.1.push(candidate.to_owned()),
                    _ => {}
                }
            }
        }
    }
}

/// Schemes that ignore signals, or do nothing.
const BROKEN: [(&str, &str); 2] = [("huge window", "5000"), ("window of one", "1")];

fn look(only: &[&str], schemes: &[&str]) -> Seen {
    let mut seen = Seen::default();
    for (name, oracle) in [("oracle by rate", Oracle::Rate), ("oracle by window", Oracle::Window)] {
        let mut criteria = read(only, &["scheme.oracle.marker=droptail"]);
        for case in criteria.iter_mut().flat_map(|c| &mut c.experiments).flat_map(|e| &mut e.cases) {
            enlighten(case, oracle);
        }
        seen.look(name, &criteria, "oracle");
    }
    for (name, window) in BROKEN {
        let window = format!("scheme.broken.consumer.window={window}");
        let criteria = read(only, &["scheme.broken.consumer=fixed", &window, "scheme.broken.marker=droptail"]);
        seen.look(name, &criteria, "broken");
    }
    for scheme in schemes {
        seen.look(scheme, &read(only, &[]), scheme);
    }
    seen
}

fn report(seen: &Seen) -> (String, Vec<String>) {
    let mut table = String::new();
    let mut wrong = Vec::new();
    for ((criterion, measure), (passed, failed)) in &seen.0 {
        table.push_str(&format!("{criterion}.{measure}: passed by {passed:?}; failed by {failed:?}\n"));
        if passed.is_empty() {
            wrong.push(format!("{criterion}.{measure} is passed by none"));
        }
        if failed.is_empty() {
            wrong.push(format!("{criterion}.{measure} is failed by none"));
        }
    }
    (table, wrong)
}

#[test]
fn oracles_pass_and_broken_schemes_fail_where_it_is_quick_to_see() {
    let seen = look(&["tail-drop", "constrained"], &[]);
    let (table, _) = report(&seen);
    let of = |criterion: &str, measure: &str| &seen.0[&(criterion.to_owned(), measure.to_owned())];
    for measure in ["rate", "loss", "queue"] {
        assert!(of("tail-drop", measure).0.contains(&"oracle by rate".to_owned()), "{table}");
    }
    for measure in ["loss", "queue"] {
        assert!(of("tail-drop", measure).1.contains(&"huge window".to_owned()), "{table}");
    }
    assert!(of("tail-drop", "rate").1.contains(&"window of one".to_owned()), "{table}");
}

/// Every measure, with all registered schemes beside oracles and broken ones.
#[test]
#[ignore = "takes minutes; scripts/judge-oracle runs it optimised"]
fn every_measure_is_passed_by_something_and_failed_by_something() {
    let schemes: Vec<&str> = Scheme::names().collect();
    let seen = look(&[], &schemes);
    let (table, wrong) = report(&seen);
    println!("{table}");
    assert!(wrong.is_empty(), "{}\n\n{table}", wrong.join("\n"));
}
