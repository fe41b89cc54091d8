//! Where the time of `ndnweir sim` goes, phase by phase:
//! `cargo run --release -p ndnweir-report --example phases SCENARIO SCHEME THREADS FOLDER`.
//!
//! Wall and processor time of each phase, and of the simulated part that per packet-hop. `between` is what one thread does
//! between the windows of several. With large pages, as the command has them: `GLIBC_TUNABLES=glibc.malloc.hugetlb=1`.

use ndnweir_lab::experiment::{Experiment, Inputs, Watching, choose, optimum};
use ndnweir_lab::results::{Comparison, Repeat, SeriesOf};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Seconds since the clock was made, of wall time and of the process's processors.
struct Clock(Instant);

impl Clock {
    fn start() -> Clock {
        Clock(Instant::now())
    }

    fn now(&self) -> [f64; 2] {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        // User and system time, in hundredths of a second.
        let ticks = |at: usize| fields.get(at).and_then(|ticks| ticks.parse::<f64>().ok()).unwrap_or(f64::NAN);
        [self.0.elapsed().as_secs_f64(), (ticks(11) + ticks(12)) / 100.0]
    }
}

/// Prints what has passed between two readings.
fn print(what: &str, [from, to]: [[f64; 2]; 2]) {
    println!("{what:<22} {:>8.2} s wall {:>8.2} s processor", to[0] - from[0], to[1] - from[1]);
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, scheme, threads, folder] = &words[..] else { panic!("SCENARIO SCHEME THREADS FOLDER") };
    let threads = threads.parse().unwrap_or(1);
    let clock = Clock::start();
    let mut at = vec![clock.now()];
    let scenario = ndnweir_scenario::load(file, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let schemes = choose(&scenario, std::slice::from_ref(scheme)).unwrap_or_else(|error| panic!("{error}"));
    let experiment = Experiment { scenario, schemes, seeds: vec![1], events: Vec::new() };
    let inputs = Inputs::new(&experiment.scenario);
    at.push(clock.now());
    let (mut first, mut last) = (None, at[0]);
    let mut progress = |_: f64| {
        last = clock.now();
        first.get_or_insert(last);
    };
    let (mut count, mut events, mut between, mut ended) = (0_u64, 0_u64, 0.0, None);
    let mut windows = |of: &[u64]| {
        let now = clock.0.elapsed().as_secs_f64();
        if of.is_empty() {
            between += ended.map_or(0.0, |ended| now - ended);
        } else {
            (count, ended, events) = (count + 1, Some(now), events + of.iter().sum::<u64>());
        }
    };
    let watching =
        Watching { progress: Some(&mut progress), windows: Some(&mut windows), threads, ..Watching::default() };
    let stop = AtomicBool::new(false);
    let finished = experiment.run_one(&inputs, &experiment.schemes[0], 1, &stop, watching);
    let finished = finished.unwrap_or_else(|error| panic!("{error}")).unwrap_or_else(|| panic!("stopped"));
    let first = first.unwrap_or(at[1]);
    at.extend([first, last, clock.now()]);
    let optimum = optimum(&experiment.scenario);
    at.push(clock.now());
    let mut comparison = Comparison {
        scenario: inputs.info,
        partial: false,
        runs: vec![finished.run],
        optimum,
        repeat: Repeat::default(),
    };
    comparison.thin_series();
    ndnweir_report::write(&comparison, Path::new(folder), SeriesOf::First).unwrap_or_else(|error| panic!("{error}"));
    at.push(clock.now());
    let names = ["reading", "setting up", "simulating", "metrics", "optimum", "files and page"];
    names.iter().zip(at.windows(2)).for_each(|(name, ends)| print(name, [ends[0], ends[1]]));
    print("all", [at[0], at[6]]);
    let outcome = &finished.outcome;
    let per_hop = |seconds: f64| seconds * 1e9 / outcome.packet_hops as f64;
    println!(
        "{} packet-hops, {} events, at most {} packets in flight; simulating takes {:.0} ns of wall and {:.0} of \
         processor time per hop, all {:.0} and {:.0}",
        outcome.packet_hops,
        outcome.events,
        outcome.peak_in_flight,
        per_hop(at[3][0] - at[2][0]),
        per_hop(at[3][1] - at[2][1]),
        per_hop(at[6][0] - at[0][0]),
        per_hop(at[6][1] - at[0][1]),
    );
    if count > 0 {
        println!(
            "{count} windows with {:.1} % of the events, {:.0} in each; {between:.2} s between them",
            100.0 * events as f64 / outcome.events as f64,
            events as f64 / count as f64,
        );
    }
}
