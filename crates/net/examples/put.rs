//! Publishes a text until Enter is pressed: `cargo run -p ndnweir-net --example put -- /example/data "hello"`.

use ndnweir_net::application::Put;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(name), Some(text)) = (words.next(), words.next()) else { return Err("give a name and a text".into()) };
    let published = Put::new(name.parse()?).start(text.into_bytes())?;
    println!("{} is published; press Enter to end", published.object());
    std::io::stdin().read_line(&mut String::new())?;
    Ok(published.end()?)
}
