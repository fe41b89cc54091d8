//! How long the optimum of a scenario takes: `cargo run --release -p ndnweir-lab --example optimum SCENARIO [rounds]`.
//!
//! Prints wall and processor time of each round, and the result, whose bytes must not depend on the number of threads
//! (`RAYON_NUM_THREADS`).

use ndnweir_lab::experiment::optimum;

/// Processor time of this process so far, in hundredths of a second; zero where /proc does not tell.
fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(file) = words.first() else { panic!("SCENARIO [rounds]") };
    let rounds = words.get(1).and_then(|rounds| rounds.parse().ok()).unwrap_or(1);
    let scenario = ndnweir_scenario::load(file, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    for round in 0..rounds {
        let start = std::time::Instant::now();
        let before = ticks();
        let found = optimum(&scenario);
        eprintln!("{:.3} s wall, {:.2} s processor", start.elapsed().as_secs_f64(), (ticks() - before) as f64 / 100.0);
        if round == 0 {
            println!("{found:#?}");
        }
    }
}
