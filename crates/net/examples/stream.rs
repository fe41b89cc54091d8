//! Counts the lines of an object while it comes, however large it is:
//! `cargo run -p ndnweir-net --example stream -- /example/data`.

use ndnweir_net::application::Get;
use std::error::Error;
use std::io::{BufRead, BufReader};

fn main() -> Result<(), Box<dyn Error>> {
    let name = std::env::args().nth(1).ok_or("give the name of an object")?;
    let mut lines = 0_u64;
    for line in BufReader::new(Get::new(name.parse()?).stream()?).split(b'\n') {
        line?;
        lines += 1;
    }
    println!("{lines} lines");
    Ok(())
}
