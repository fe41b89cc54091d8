use super::super::expr::parse;
use super::*;
use crate::results::{Rows, Series};

#[test]
fn names_of_series_split_into_table_keys_and_column() {
    assert_eq!(split("network.jain"), Some((SeriesKind::Network, vec![], "jain")));
    assert_eq!(split("links.R1>R2.queue_ms"), Some((SeriesKind::Links, vec!["R1>R2"], "queue_ms")));
    let path = split("paths.C.1.P1>R1>C.1.goodput_mbps").map(|s| s.1);
    assert_eq!(path, Some(vec!["C.1", "P1>R1>C.1"]));
    let share = split("shares.R1./a.b/c.R1>R4.share").map(|s| s.1);
    assert_eq!(share, Some(vec!["R1", "/a.b/c", "R1>R4"]));
    assert_eq!(split("consumers.goodput_mbps"), None);
    assert_eq!(split("goodput_mbps"), None);
}

fn run() -> Run {
    let mut series = Series { bin_s: 0.5, ..Series::default() };
    let row = |name: &str, values: &[f64]| Rows { key: vec![name.into()], columns: vec![values.to_vec()] };
    let ramp = [0.0, 2.0, 4.0, f64::NAN, 8.0, 8.0, 8.0, 8.0];
    series.tables[SeriesKind::Consumers as usize] = vec![row("A", &ramp), row("B", &[0.0; 8])];
    Run { series, ..Run::default() }
}

#[test]
fn functions_of_a_series_take_the_bins_between_their_times() {
    let value = |f, a, b| over_time(f, &run(), "consumers.A.goodput_mbps", (a, b), 1.0);
    assert_eq!(value(Function::Mean, 0.0, 1.5), Some(2.0));
    assert_eq!(value(Function::Mean, 1.0, 2.5), Some(6.0));
    assert_eq!(value(Function::Highest, 0.0, 1.5), Some(4.0));
    assert_eq!(value(Function::Lowest, 0.5, 9.0), Some(2.0));
    assert_eq!(value(Function::Total, 0.0, 4.0), Some(38.0));
    assert_eq!(value(Function::Mean, 5.0, 9.0), None);
    assert_eq!(value(Function::Variation, 2.0, 4.0), Some(0.0));
    // Seconds 1, 4, 8, 8: within 10 % of the last half's 8 from second 2 on.
    assert_eq!(value(Function::Convergence, 0.1, 0.5), Some(2.0));
    let coarse = over_time(Function::Convergence, &run(), "consumers.A.goodput_mbps", (0.1, 0.5), 2.0);
    assert_eq!(coarse, Some(2.0));
    // Bins 1 and 2 (2 + 4), then 8 in each bin from 2 s on: two bursts if a pause of 0.6 s separates them.
    assert_eq!(value(Function::BurstCount, 0.6, 1.0), Some(2.0));
    assert_eq!((value(Function::BurstSize, 0.6, 1.0), value(Function::BurstStart, 0.6, 1.0)), (Some(6.0), Some(0.5)));
    assert_eq!((value(Function::BurstSize, 0.6, 2.0), value(Function::BurstStart, 0.6, 2.0)), (Some(32.0), Some(2.0)));
    assert_eq!((value(Function::BurstCount, 0.6, 7.0), value(Function::BurstSize, 0.6, 3.0)), (Some(1.0), None));
    // If only one of two consumers receives Data, the Jain index is one half.
    let jain = over_time(Function::Jain, &run(), "consumers.*.goodput_mbps", (0.0, 1.5), 1.0);
    assert_eq!(jain, Some(0.5));
}

#[test]
fn a_peak_share_is_that_of_the_worst_stretch_with_enough_in_it() {
    let mut run = run();
    let row = |name: &str, values: &[f64]| Rows { key: vec![name.into()], columns: vec![values.to_vec()] };
    run.series.tables[SeriesKind::Consumers as usize] =
        vec![row("A", &[0.0, 2.0, 0.0, 0.0, 1.0]), row("B", &[10.0, 6.0, 2.0, 0.0, 9.0])];
    let names = ("consumers.A.goodput_mbps", "consumers.B.goodput_mbps");
    let peak = |from, window, least| peak_share(&run, names, (from, 9.0), window, least);
    // Two bins each: 2 of 18, 2 of 10, 0 of 2, 1 of 10.
    assert_eq!(peak(0.0, 0.7, 0.0), Some(0.2));
    assert_eq!(peak(0.0, 1.0, 15.0), Some(1.0 / 9.0));
    assert_eq!(peak(1.0, 1.0, 0.0), Some(0.1));
    // One bin: 2 of 8. None is large enough, or the run is too short.
    assert_eq!((peak(0.0, 0.1, 0.0), peak(0.0, 0.1, 99.0), peak(0.0, 9.0, 0.0)), (Some(0.25), Some(0.0), None));
}

#[test]
fn a_flow_that_starves_between_its_good_times_shows_in_the_least_of_its_stretches_and_not_in_its_mean() {
    let mut run = run();
    let row = |name: &str, values: &[f64]| Rows { key: vec![name.into()], columns: vec![values.to_vec()] };
    run.series.tables[SeriesKind::Consumers as usize] =
        vec![row("A", &[0.0, 8.0, 1.0, 0.0, 2.0, 9.0]), row("B", &[4.0, 4.0, 4.0, 2.0, 4.0, 4.0])];
    let least = |name: &str, from, to, stretch| least_in(&run, name, (from, to), stretch);
    // Bins of half a second. A over one second: 4, 4.5, 0.5, 1, 5.5; over one and a half: 3, 3, 1, 3.67.
    assert_eq!(least("consumers.*.goodput_mbps", 0.0, 3.0, 1.0), Some(0.5));
    assert_eq!(least("consumers.*.goodput_mbps", 0.0, 3.0, 1.5), Some(1.0));
    // Only what lies between the two times counts: A 0.5 before 2 s, then 1 and 5.5. B alone: 4, 3, 3, 4.
    assert_eq!(least("consumers.*.goodput_mbps", 1.5, 3.0, 1.0), Some(1.0));
    assert_eq!(least("consumers.B.goodput_mbps", 0.0, 3.0, 1.0), Some(3.0));
    // A's mean over the run is 20 / 6, B's 22 / 6.
    let all = over_time(Function::Least, &run, "consumers.*.goodput_mbps", (0.0, 3.0), 1.0);
    assert_eq!(all, Some(20.0 / 6.0));
    assert_eq!(least("consumers.*.goodput_mbps", 0.0, 3.0, 9.0), None, "the run is too short");
}

#[test]
fn balance_is_taken_bin_by_bin() {
    let mut both = run();
    let b = [8.0, 2.0, 4.0, 4.0, 0.0, 0.0, 16.0, 16.0];
    both.series.tables[SeriesKind::Consumers as usize][1].columns = vec![b.to_vec()];
    let of = |from: f64, to: f64| balance(&both, ["consumers.A.goodput_mbps", "consumers.B.goodput_mbps"], from, to);
    // Traffic that changes sides is out of balance, though the two have the same mean.
    assert_eq!((of(0.0, 0.5), of(0.5, 2.0), of(2.0, 4.0)), (Some(0.0), Some(1.0), Some(0.25)));
    assert_eq!(of(0.0, 4.0), Some(3.0 / 7.0), "the bin without a value does not count");
    let none = balance(&both, ["consumers.A.goodput_mbps", "consumers.C.goodput_mbps"], 0.0, 4.0);
    assert_eq!(none, None);
}

#[test]
fn harm_is_the_part_that_is_lost_and_never_below_zero() {
    let runs = Runs(Vec::new());
    let value =
        |text: &str| runs.value(&[], 0, &Measured::new(0, run(), &ScenarioInfo::default()), &parse(text).unwrap());
    // The example of Ware et al., section 4: 100 Mbit/s alone, 50 beside; 10 ms alone, 40 beside.
    assert_eq!((value("harm(100, 50)"), value("harm-less(10, 40)")), (Some(0.5), Some(0.75)));
    assert_eq!((value("harm(5, 6)"), value("harm-less(40, 10)")), (Some(0.0), Some(0.0)));
    assert_eq!((value("harm(5, 0)"), value("harm(0, 0)"), value("harm-less(0, 0)")), (Some(1.0), None, None));
}

#[test]
fn a_dwell_lasts_until_the_same_component_records_something_else() {
    let event = |at_s, node, id, value| ComponentEvent { at_s, node, key: "state".into(), id, value };
    let events = [
        event(1.0, 0, 1, 2.0),
        event(1.5, 1, 1, 2.0),
        event(2.0, 0, 1, 0.0),
        event(2.5, 1, 1, 1.0),
        event(3.0, 0, 2, 2.0),
        event(3.4, 0, 2, 1.0),
        event(4.0, 0, 1, 2.0),
    ];
    // 1 s at each node for number 1, 0.4 s for number 2; the last period has not ended.
    let stay = |of: fn(u64) -> bool| dwell(&events, "state", 2.0, of).map(|s| (s * 1e6).round() / 1e6);
    assert_eq!((stay(|_| true), stay(|id| id == 1), stay(|id| id == 2)), (Some(0.8), Some(1.0), Some(0.4)));
    assert_eq!(dwell(&events, "state", 3.0, |_| true), None);
}
