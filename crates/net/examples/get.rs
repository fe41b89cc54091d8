//! Fetches an object into memory and shows what is counted:
//! `cargo run -p ndnweir-net --example get -- /example/data pcon`.

use ndnweir_net::application::{Get, SCHEME};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let name = words.next().ok_or("give the name of an object, and a scheme")?;
    let fetch = Get::new(name.parse()?).scheme(words.next().as_deref().unwrap_or(SCHEME))?;
    let fetch = fetch.progress(|counters, last| {
        let all = last.map_or("?".to_owned(), |last| (last + 1).to_string());
        eprint!("\r{} of {all} segments, window {:.0}", counters.segments, counters.window);
    });
    let fetched = fetch.bytes()?;
    let counters = fetched.statistics.counters;
    eprintln!();
    println!("{}: {} bytes", fetched.object, fetched.content.len());
    println!("{} Interests, {} of them again, {} marks", counters.interests, counters.retransmissions, counters.marks);
    Ok(())
}
