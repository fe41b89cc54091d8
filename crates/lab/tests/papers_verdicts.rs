//! Verdicts, readings and counts of papers, from made-up runs of the small paper in `paper/`.

use crate::papers::{PUBLISHED, folder};
use ndnweir_lab::evaluation::{Measured, Runs};
use ndnweir_lab::papers::claims::{ClaimCounts, ClaimOutcome, by_reading, claims, summary};
use ndnweir_lab::papers::model::StatementKind;
use ndnweir_lab::papers::{self, Judged, Paper, PaperVerdict};
use ndnweir_lab::results::Run;
use std::collections::BTreeMap;

use PaperVerdict::{NotReproduced, OneRun, Reproduced, Undecided};

fn paper(published: &str) -> Paper {
    papers::read(&folder("verdicts", published)).unwrap_or_else(|p| panic!("{p}"))
}

/// Runs with these goodputs, one number for each seed.
fn made(case: usize, scheme: &str, values: &[f64]) -> Vec<Measured> {
    let each = values.iter().enumerate().map(|(i, v)| Measured {
        case,
        run: Run { scheme: scheme.into(), seed: i as u64 + 1, ..Run::default() },
        scalars: BTreeMap::from([("goodput_mbps".to_owned(), *v)]),
        ..Measured::default()
    });
    each.collect()
}

/// The entries of the paper for runs of its experiments.
fn judged(paper: &Paper, experiments: Vec<Vec<Measured>>) -> Vec<Judged> {
    papers::judge(paper, &Runs(experiments))
}

fn find<'a>(all: &'a [Judged], id: &str, reading: &str) -> &'a Judged {
    all.iter().find(|j| j.id == id && j.reading == reading).unwrap_or_else(|| panic!("no {id} under {reading}"))
}

/// Goodput of cubic, published as 9.5 with a tolerance of 0.2.
fn number(published: &str, values: &[f64]) -> Judged {
    let all = judged(&paper(published), vec![made(0, "cubic", values)]);
    find(&all, "n.cubic", "literal").clone()
}

/// As many values as wanted, half of them `off` below and half above the middle.
fn around(middle: f64, off: f64, n: usize) -> Vec<f64> {
    (0..n).map(|i| if i % 2 == 0 { middle - off } else { middle + off }).collect()
}

#[test]
fn a_number_is_reproduced_only_if_its_mean_is_known_to_the_tolerance() {
    let of = |values: &[f64]| number(PUBLISHED, values).verdict;
    assert_eq!(of(&[9.3; 4]), Reproduced, "a difference equal to the tolerance is accepted");
    assert_eq!(of(&[9.29; 4]), NotReproduced, "without spread there is no doubt");
    assert_eq!(of(&[9.5]), Undecided, "a single run has no spread");
    // By hand: SD 0.4 · √(4/3) = 0.462, standard error 0.231, t(3) = 3.182: half the interval is 0.735.
    let noisy = number(PUBLISHED, &around(9.5, 0.4, 4));
    assert_eq!(noisy.verdict, Undecided, "the mean is the published number, and could be another one");
    assert!((noisy.half_width.unwrap() - 0.735).abs() < 0.001, "{noisy:?}");
    assert_eq!(of(&around(9.5, 0.4, 40)), Reproduced, "more runs decide it: half the interval is 0.13");
    assert_eq!(of(&around(9.1, 0.4, 10)), Undecided, "0.2 off the band, half the interval 0.3");
    assert_eq!(of(&around(9.1, 0.4, 40)), NotReproduced, "the same mean, half the interval 0.13");
}

#[test]
fn few_runs_are_judged_by_students_quantile_and_not_by_two() {
    // Three runs: standard error 0.0577, two of them 0.115, Student's interval 0.248 = 4.303 · 0.0577.
    let values = [9.4, 9.5, 9.6];
    let found = number(PUBLISHED, &values);
    assert!((found.half_width.unwrap() - 0.2484).abs() < 1e-3);
    assert_eq!(found.verdict, Undecided);
}

#[test]
fn a_published_range_is_met_by_every_mean_inside_it() {
    let ranges = PUBLISHED.replacen("published = [9.5, 5]", "published = [8, 5]\npublished-to = [9, 5]", 1);
    let of = |value: f64| number(&ranges, &[value; 3]);
    assert_eq!([8.0, 8.5, 9.0, 9.2, 7.8].map(|v| of(v).verdict), [Reproduced; 5]);
    assert_eq!([9.3, 7.7].map(|v| of(v).verdict), [NotReproduced; 2]);
    assert_eq!((of(8.5).published, of(8.5).published_to), (Some(8.0), Some(9.0)));
}

#[test]
fn a_single_published_run_needs_one_of_twenty_runs_like_it() {
    let single = PUBLISHED.replacen("summary = \"a test\"", "summary = \"a test\"\nsingle-runs = true", 1);
    // Two modes, of which the published 9.5 is the rare one; the mean is in neither.
    let modes = |hits: usize, n: usize| -> Vec<f64> { (0..n).map(|i| if i < hits { 9.4 } else { 5.0 }).collect() };
    let of = |hits: usize, n: usize| number(&single, &modes(hits, n));
    assert_eq!(of(5, 100).verdict, OneRun);
    assert!(of(5, 100).note.contains("5 of 100 runs within the tolerance"), "{}", of(5, 100).note);
    // The probability of at most one hit in 100 is 0.037 if one run in twenty hits; of at most two it is 0.118.
    assert_eq!((of(1, 100).verdict, of(2, 100).verdict), (NotReproduced, Undecided));
    assert_eq!(of(0, 10).verdict, NotReproduced, "runs that are all alike leave no doubt");
    // By hand: mean 5.8, SD 2.53, t(9) 2.262: the next run is expected within 6.0 of the mean, the band begins at 3.5.
    let apart = number(&single, &[5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 13.0]);
    assert_eq!(apart.verdict, Undecided, "ten runs that differ cannot exclude one in twenty");
    assert_eq!(of(100, 100).verdict, Reproduced);
    assert_eq!(number(PUBLISHED, &modes(5, 100)).verdict, NotReproduced, "where means were published, the mean counts");
}

#[test]
fn an_ordering_holds_only_with_its_whole_interval_and_in_every_case() {
    let paper = paper(PUBLISHED);
    let of = |cubic: &[f64], pcon: &[f64], second: (f64, f64)| {
        let mut runs = made(0, "cubic", cubic);
        runs.extend(made(0, "pcon", pcon));
        runs.extend(made(1, "cubic", &[second.0; 3]));
        runs.extend(made(1, "pcon", &[second.1; 3]));
        find(&judged(&paper, vec![runs]), "o", "literal").clone()
    };
    let clear = of(&[9.0, 9.1, 9.2], &[8.0, 8.1, 8.3], (9.0, 1.0));
    assert_eq!((clear.verdict, clear.n, clear.published), (Reproduced, 3, None));
    // By hand: margins 1.0, 1.0, 0.9.
    assert!((clear.mean.unwrap() - 2.9 / 3.0).abs() < 1e-12);
    assert_eq!(of(&[9.0, 7.0, 9.2], &[8.0, 8.1, 8.1], (9.0, 1.0)).verdict, Undecided);
    assert_eq!(of(&[7.0; 3], &[8.0; 3], (9.0, 1.0)).verdict, NotReproduced);
    assert_eq!(of(&[8.0; 3], &[8.0; 3], (9.0, 1.0)).verdict, NotReproduced, "equality is no order");
    let other = of(&[9.0, 9.1, 9.2], &[8.0, 8.1, 8.3], (1.0, 9.0));
    assert_eq!(other.verdict, NotReproduced, "the second case is a condition, not seeds: {}", other.note);
    assert!(other.note.contains("50 packets: cubic 1.00, pcon 9.00 (not reproduced)"), "{}", other.note);
}

#[test]
fn likeness_is_decided_by_the_interval_of_the_difference() {
    let near = PUBLISHED.replacen("rule = \"descending\"", "rule = \"near\"\nwithin = 0.1\ncase = \"20 packets\"", 1);
    let paper = paper(&near);
    let of = |cubic: &[f64], pcon: &[f64]| {
        let runs = made(0, "cubic", cubic).into_iter().chain(made(0, "pcon", pcon)).collect();
        find(&judged(&paper, vec![runs]), "o", "literal").verdict
    };
    assert_eq!(of(&[10.0; 3], &[9.5; 3]), Reproduced);
    assert_eq!(of(&[10.0; 3], &[8.5; 3]), NotReproduced);
    assert_eq!(of(&[5.0, 10.0, 15.0], &[10.0; 3]), Undecided, "equal means of which little is known");
}

#[test]
fn what_could_not_be_measured_is_not_reproduced_and_says_so() {
    for entry in judged(&paper(PUBLISHED), vec![]) {
        assert_eq!((entry.verdict, entry.n, entry.mean), (NotReproduced, 0, None));
        assert!(entry.note.contains("not measured"), "{}", entry.note);
    }
}

#[test]
fn a_reading_judges_what_it_changes_once_more() {
    let paper = paper(PUBLISHED);
    let under = |reading: usize| -> Vec<String> {
        paper.entries.iter().filter(|e| e.reading == Some(reading)).map(|e| format!("{} {}", e.id, e.scheme)).collect()
    };
    assert_eq!(under(0), ["n.cubic cubic", "n.pcon pcon", "t cubic"], "the ordering has no case to change");
    // The other experiment runs the other schemes; the trend too.
    assert_eq!(under(1), ["n.cubic pcon", "n.pcon cubic", "o ", "t pcon"]);
    assert_eq!(paper.experiments.iter().map(|e| e.id.as_str()).collect::<Vec<_>>(), ["e", "e~slow"]);
    assert_eq!(paper.experiments[1].cases[0].set, ["link.R-P.rate=5Mbps", "link.R-P.queue=20 packets"]);
    assert!(paper.entries.iter().all(|e| e.experiment == usize::from(e.reading == Some(1))));
    assert!(paper.entries.iter().filter(|e| e.reading == Some(0)).all(|e| e.case == Some(1)));
    let order = paper.entries.iter().find(|e| e.id == "o" && e.reading == Some(1)).unwrap();
    let StatementKind::Ordering { items, .. } = &order.kind else { panic!("{order:?}") };
    let items: Vec<String> = items.iter().map(|(label, e)| format!("{label}: {e}")).collect();
    assert_eq!(items, ["pcon: goodput_mbps@pcon", "cubic: goodput_mbps@cubic"]);
}

#[test]
fn another_experiment_or_metric_may_be_a_reading() {
    let more = format!(
        "{PUBLISHED}\n[[experiment]]\nid = \"f\"\nabout = \"another\"\nscenario = \"s.toml\"\nschemes = [\"cubic\", \"pcon\"]\n\
         vary = [{{ key = \"link.R-P.queue\", values = [\"20 packets\", \"50 packets\"] }}]\n\
         [[choice]]\nid = \"c\"\nopen = \"o\"\nliteral = \"l\"\n\
         [[reading]]\nid = \"r\"\nchoice = \"c\"\nabout = \"a\"\nwhy = \"w\"\nfitted = []\nsettings = 1\n\
         instead = [\"e = f\"]\nmetrics = [\"n.pcon = jain\"]\nentries = [\"n.*\"]\n"
    );
    let paper = paper(&more);
    let under: Vec<_> = paper.entries.iter().filter(|e| e.reading == Some(2)).collect();
    assert_eq!(
        under.iter().map(|e| (e.id.as_str(), e.experiment)).collect::<Vec<_>>(),
        [("n.cubic", 1), ("n.pcon", 1)]
    );
    let metric = |at: usize| match &under[at].kind {
        StatementKind::Number { metric, .. } => metric.to_string(),
        _ => String::new(),
    };
    assert_eq!((metric(0), metric(1)), ("goodput_mbps".into(), "jain".into()));
}

#[test]
fn at_most_two_readings_stand_beside_the_literal_one() {
    let third = "\n[[reading]]\nid = \"third\"\nchoice = \"link\"\nabout = \"a\"\nwhy = \"w\"\nfitted = []\nsettings = 1\n\
                 cases = [\"20 packets = 50 packets\"]\n";
    let problems = papers::read(&folder("third", &format!("{PUBLISHED}{third}"))).unwrap_err().to_string();
    assert!(problems.contains("3 readings of one choice"), "{problems}");
}

#[test]
fn every_claim_counts_once_and_where_it_stands_first() {
    let counted = PUBLISHED.replacen("rule = \"descending\"", "rule = \"descending\"\nuncounted = \"follows\"", 1);
    let paper = paper(&counted);
    let runs = |literal: (f64, f64), deep: (f64, f64)| {
        let mut runs = made(0, "cubic", &[literal.0; 3]);
        runs.extend(made(0, "pcon", &[literal.1; 3]));
        runs.extend(made(1, "cubic", &[deep.0; 3]));
        runs.extend(made(1, "pcon", &[deep.1; 3]));
        judged(&paper, vec![runs])
    };
    let of = |literal, deep| claims(&runs(literal, deep)).into_iter().map(|c| (c.id, c.outcome)).collect::<Vec<_>>();
    let ids = |list: &[(String, ClaimOutcome)]| list.iter().map(|c| c.0.clone()).collect::<Vec<_>>();
    let first = of((9.5, 5.0), (9.5, 5.0));
    assert_eq!(ids(&first), ["n.cubic", "n.pcon", "t"], "what is not counted is no claim");
    assert_eq!((&first[0].1, &first[1].1), (&ClaimOutcome::Literal(Reproduced), &ClaimOutcome::Literal(Reproduced)));
    // Only the deeper queue gives both; the second number was fitted there.
    let second = of((1.0, 1.0), (9.5, 5.0));
    assert_eq!(second[0].1, ClaimOutcome::Reading(vec!["deep".into()]));
    assert_eq!(second[1].1, ClaimOutcome::Fitted(vec!["deep".into()]));
    let none = runs((1.0, 1.0), (1.0, 1.0));
    assert_eq!(ClaimCounts::of(&claims(&none)), ClaimCounts { published: 3, unexplained: 3, ..ClaimCounts::default() });
    let rows = by_reading(&paper, &runs((1.0, 1.0), (9.5, 5.0)));
    assert_eq!(rows[0], ("literal".into(), 3, 0, 0));
    assert_eq!(rows[1], ("deep".into(), 3, 1, 1), "a fitted claim is not counted for a reading either");
    assert_eq!(summary(&paper, &none)[0][3], "not reproduced");
    let line = &summary(&paper, &runs((1.0, 1.0), (9.5, 5.0)))[0];
    assert_eq!(line[3], "1 reproduced under deep; 1 holds where fitted (deep)");
    assert!(line[2].starts_with("cubic 1.00 Mbit/s; pcon 1.00"), "{line:?}");
}

#[test]
fn a_known_cause_is_counted_apart_from_an_unknown_one() {
    let cause = PUBLISHED.replacen("reason = \"a test\"", "reason = \"a test\"\ncause = \"the link is full\"", 1);
    let paper = paper(&cause);
    let all = judged(&paper, vec![made(0, "cubic", &[1.0; 3])]);
    let of = |id: &str| claims(&all).into_iter().find(|c| c.id == id).unwrap().outcome;
    assert_eq!(of("n.cubic"), ClaimOutcome::Explained("the link is full".into()));
    assert_eq!(of("o"), ClaimOutcome::Unexplained);
}

#[test]
fn an_undecided_literal_reading_is_not_reproduced_by_a_clear_miss_elsewhere() {
    let paper = paper(PUBLISHED);
    let runs = made(0, "cubic", &[1.0, 18.0, 9.5]).into_iter().chain(made(1, "cubic", &[1.0; 3])).collect();
    let all = judged(&paper, vec![runs]);
    assert_eq!(find(&all, "n.cubic", "deep").verdict, NotReproduced);
    assert_eq!(claims(&all)[0].outcome, ClaimOutcome::Undecided);
}
