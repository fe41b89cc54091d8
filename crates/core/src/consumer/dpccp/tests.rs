use super::super::testing_path::{Path, path};
use super::machine::State;
use super::*;

fn ms(t: u64) -> Duration {
    Duration::from_millis(t)
}

fn at(t: u64) -> Time {
    Time::ZERO + ms(t)
}

/// A machine that has started at 0 with a least round-trip time of 60 ms.
fn machine(params: &Params) -> Machine {
    let mut machine = Machine::new(params);
    machine.start(at(0), params);
    machine.on_data(Some(ms(60)), false);
    machine
}

/// `count` Data with this round-trip time arrive, then the interval ends.
fn interval(machine: &mut Machine, count: u32, rtt_ms: u64, params: &Params) {
    (0..count).for_each(|_| machine.on_data(Some(ms(rtt_ms)), false));
    machine.advance(machine.due(), params);
}

// Intervals of 60 ms: the rate is 105, 100 and 95. 18 Data in 180 ms at the least round-trip time: no backlog, so 105.
#[test]
fn bandwidth_filling_tries_three_rates_and_grows_by_a_twentieth_without_backlog() {
    let params = Params::default();
    let mut machine = machine(&params);
    let mut sent = vec![machine.sends_at()];
    for count in [5, 6, 6] {
        interval(&mut machine, count, 60, &params);
        sent.push(machine.sends_at());
    }
    assert_eq!(sent, [105.0, 100.0, 95.0, 105.0 * 1.05]);
    assert_eq!((machine.rate(), machine.due(), machine.state()), (105.0, at(240), State::Filling(0)));
}

// 18 Data in 180 ms are 100 per second; a mean round trip 40 ms above the least makes 4 packets: more than 3. The step
// of 1 leads up to the target of 20. Then 80 ms later D = 10/0.1 s · 50 ms (mean 110) = 5 in each interval: the step
// is 2.
#[test]
fn with_a_backlog_the_rate_is_that_of_data_and_steps_towards_the_target() {
    let params = Params::default();
    let mut machine = machine(&params);
    interval(&mut machine, 5, 60, &params);
    interval(&mut machine, 0, 60, &params);
    interval(&mut machine, 12, 120, &params);
    // (6 · 60 + 12 · 120)/18 − 60 = 40 ms.
    assert!((machine.backlog() - 4.0).abs() < 1e-9, "{}", machine.backlog());
    assert!((machine.rate() - 101.0).abs() < 1e-9 && machine.state() == State::Converging(0));
    // The interval is the longest round trip, 120 ms.
    assert_eq!(machine.due(), at(300));
    for _ in 0..3 {
        interval(&mut machine, 12, 110, &params);
    }
    assert!((machine.rate() - 103.0).abs() < 1e-9, "{}", machine.rate());
}

#[test]
fn a_backlog_above_thirty_is_drained_until_none_is_seen_and_the_rate_falls_by_a_fifth() {
    let params = Params::default();
    let mut machine = machine(&params);
    (0..3).for_each(|_| interval(&mut machine, 6, 100, &params));
    let rate = machine.rate();
    // 120 Data in 100 ms, and 60 ms above the least: 72 packets.
    interval(&mut machine, 120, 100, &params);
    (0..2).for_each(|_| interval(&mut machine, 120, 120, &params));
    assert_eq!((machine.state(), machine.sends_at()), (State::Draining, 2.0));
    interval(&mut machine, 3, 120, &params);
    assert_eq!(machine.state(), State::Draining);
    interval(&mut machine, 0, 120, &params);
    assert_eq!(machine.state(), State::Filling(0));
    assert!((machine.rate() - 0.8 * rate).abs() < 1e-9, "{} after {rate}", machine.rate());
}

#[test]
fn a_mark_counts_as_filled_bandwidth_and_silence_is_no_reason_to_grow() {
    let params = Params::default();
    let mut marked = machine(&params);
    marked.on_data(Some(ms(60)), true);
    (0..3).for_each(|_| interval(&mut marked, 5, 60, &params));
    assert!(matches!(marked.state(), State::Converging(_)));
    let mut silent = Machine::new(&params);
    silent.start(at(0), &params);
    (0..30).for_each(|_| interval(&mut silent, 0, 60, &params));
    assert_eq!(silent.rate(), 100.0);
}

#[test]
fn interests_take_paths_in_proportion_to_their_rates() {
    let mut paths = Paths::new(Machine::new(&Params::default()));
    paths.on_data(5, at(0), || Machine::new(&Params::default()));
    paths.on_data(6, at(0), || Machine::new(&Params { initial_rate: 300.0, ..Params::default() }));
    let labels: Vec<u32> = (0..99).map(|segment| paths.assign(segment, next_in_turn)).collect();
    let second = labels.iter().filter(|&&label| label == 6).count();
    assert!((74..=75).contains(&second), "{second}");
}

#[test]
fn a_lone_flow_fills_the_path_with_about_twenty_packets_of_queue() {
    let mut path: Path<Dpccp> = path(serde_json::Value::Null, ms(1), ms(50));
    path.run(ms(30_000), |_, _| {});
    let (mut data, mut sum) = (0.0, 0.0);
    path.run(ms(30_000), |_, rtt| (data, sum) = (data + 1.0, sum + rtt.millis()));
    assert!(data > 25_000.0, "{data}");
    // 51 ms without a queue; 1 ms per packet in it.
    assert!((53.0..85.0).contains(&(sum / data)), "{}", sum / data);
}
