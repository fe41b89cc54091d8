//! What threads bring to one run: `cargo run --release -p ndnweir-sim --example speedup CASE [scale] [rounds] [recorded]`.
//!
//! Every round runs the case on one thread, on two, and as two processes on one thread each beside each other, which is what
//! the machine gives at best. The medians of the rounds are printed. Then the case is divided for 2, 4 and 16 threads, and
//! from the events of each process in each window follows how much faster that would be on as many cores: the threads take
//! the processes in the order in which the engine gives them, all events take the same time, and what one thread does
//! between windows takes as long as it was measured here.

use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;
use ndnweir_sim::bench::{Case, cases};
use ndnweir_sim::observer::{Delivery, DirectedLinkId, NoObserver, NodeId, Observer};
use ndnweir_sim::{Outcome, PacketTap, RunOptions, TakeWindow, run};
use std::ops::Range;
use std::time::Instant;

/// Is told everything, and counts.
#[derive(Default)]
struct Count(u64);

impl Observer for Count {
    fn delivered(&mut self, _: &Delivery) {
        self.0 += 1;
    }
}

impl PacketTap for Count {
    fn sent(&mut self, _: Time, _: Range<Time>, _: DirectedLinkId, _: [NodeId; 2], _: &Packet) {
        self.0 += 1;
    }
}

/// Seconds.
fn simulate(case: &Case, recorded: bool, threads: usize, windows: &mut TakeWindow<'_>) -> (f64, Outcome) {
    let start = now();
    let mut told = |events: &[u64]| windows(events);
    let windows: Option<&mut TakeWindow<'_>> = Some(&mut told);
    let (mut observer, mut tap) = (Count::default(), Count::default());
    let outcome = if recorded {
        let options = RunOptions { threads, windows, tap: Some(&mut tap), ..RunOptions::full() };
        run(&case.network, &case.scheme, 1, &mut observer, options)
    } else {
        run(&case.network, &case.scheme, 1, &mut NoObserver, RunOptions { threads, windows, ..RunOptions::default() })
    };
    (start.elapsed().as_secs_f64(), outcome.unwrap_or_else(|error| panic!("{error}")))
}

#[expect(clippy::disallowed_methods, reason = "measures the engine from outside")]
fn now() -> Instant {
    Instant::now()
}

fn median(of: &mut [f64]) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

/// Seconds that the slower of two takes, which are started together.
fn two_beside(words: &[String]) -> f64 {
    let program = std::env::current_exe().unwrap_or_else(|error| panic!("{error}"));
    let start =
        || std::process::Command::new(&program).args(words).arg("one").stdout(std::process::Stdio::piped()).spawn();
    let both = [start(), start()].map(|child| child.and_then(|child| child.wait_with_output()));
    let seconds = both.map(|out| {
        let out = out.unwrap_or_else(|error| panic!("{error}")).stdout;
        String::from_utf8_lossy(&out).trim().parse::<f64>().unwrap_or(f64::NAN)
    });
    seconds[0].max(seconds[1])
}

/// The events of the thread that has most, if each takes the next of these processes when it has finished one.
fn longest(events: &[u64], order: &[usize], threads: usize) -> u64 {
    let mut busy = vec![0; threads];
    for &process in order {
        if let Some(first) = busy.iter_mut().min() {
            *first += events[process];
        }
    }
    busy.into_iter().max().unwrap_or_default()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let scale = words.get(1).and_then(|s| s.parse().ok()).unwrap_or(1.0);
    let rounds = words.get(2).and_then(|s| s.parse().ok()).unwrap_or(5);
    let recorded = words.iter().any(|word| word == "recorded");
    let case = words.first().and_then(|name| cases(scale).into_iter().find(|case| case.name == name));
    let Some(case) = case else { panic!("no such case: {words:?}") };
    if words.iter().any(|word| word == "one") {
        println!("{}", simulate(&case, recorded, 1, &mut |_| {}).0);
        return;
    }
    let (mut one, mut two, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        one.push(simulate(&case, recorded, 1, &mut |_| {}).0);
        two.push(simulate(&case, recorded, 2, &mut |_| {}).0);
        beside.push(two_beside(&words));
    }
    let gains = |of: &[f64], work: f64| one.iter().zip(of).map(|(one, of)| work * one / of).collect::<Vec<_>>();
    let (mut threads, mut processes) = (gains(&two, 1.0), gains(&beside, 2.0));
    let alone = median(&mut one);
    println!(
        "{} in flight at most; medians of {rounds}: one thread {alone:.2} s, two threads {:.2} times as fast, two processes {:.2}",
        simulate(&case, recorded, 1, &mut |_| {}).1.peak_in_flight,
        median(&mut threads),
        median(&mut processes)
    );
    for threads in [2, 4, 16] {
        let (mut counts, mut between) = (Vec::<Vec<u64>>::new(), 0.0);
        let mut last = now();
        let mut windows = |events: &[u64]| {
            let here = now();
            let took = (here - last).as_secs_f64();
            if events.is_empty() && !counts.is_empty() {
                between += took;
            }
            last = here;
            if !events.is_empty() {
                counts.push(events.to_vec());
            }
        };
        let (whole, outcome) = simulate(&case, recorded, threads, &mut windows);
        let mut order: Vec<usize> = (0..counts.first().map_or(0, Vec::len)).collect();
        let (mut total, mut longest_sum) = (0, 0);
        for events in &counts {
            total += events.iter().sum::<u64>();
            longest_sum += longest(events, &order, threads);
            order.sort_by_key(|&process| std::cmp::Reverse(events[process]));
        }
        let alone_events = outcome.events - total;
        println!(
            "divided for {threads:2}: {} windows of {:.0} events, {:.1} % of events outside, longest of {threads} threads {:.3} of all; \
             {:.3} s of {whole:.2} s between windows",
            counts.len(),
            total as f64 / counts.len().max(1) as f64,
            100.0 * alone_events as f64 / outcome.events as f64,
            longest_sum as f64 / total.max(1) as f64,
            between
        );
        let each = alone / outcome.events as f64;
        let simulated = each * (longest_sum + alone_events) as f64 + if counts.is_empty() { 0.0 } else { between };
        println!("   on {threads} cores: {:.2} times as fast as one thread", alone / simulated);
    }
}
