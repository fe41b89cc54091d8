//! Runs a scenario under a scheme with nothing recorded, and prints how many packet-hops and segments there were, for
//! `scripts/scheme-instructions`:
//! `cargo run --release -p ndnweir-scenario --example hops SCENARIO SCHEME [section.key=value ...]`.
//! `SCHEME` is a name, or a composition as JSON.

use ndnweir_core::scheme::Scheme;
use ndnweir_scenario::load;
use ndnweir_sim::bench::Work;
use ndnweir_sim::observer::NoObserver;
use ndnweir_sim::{RunOptions, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, scheme, changes @ ..] = &words[..] else {
        return Err("give a scenario and a scheme".into());
    };
    let changes: Vec<&str> = changes.iter().map(String::as_str).collect();
    let network = load(scenario, &changes).map_err(|error| error.to_string())?.network();
    let scheme = match scheme.starts_with('{') {
        true => Scheme::resolve("given", &serde_json::from_str(scheme)?)?,
        false => Scheme::named(scheme)?,
    };
    let work = Work::of(&run(&network, &scheme, 1, &mut NoObserver, RunOptions::default())?);
    println!("{} packet-hops, {} segments", work.packet_hops, work.segments);
    Ok(())
}
