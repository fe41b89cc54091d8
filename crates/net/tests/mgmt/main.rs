//! The NFD management protocol from outside: bytes, commands, captured packets, the RIB against a model.
#![allow(clippy::duplicate_mod, reason = "the fuzz target's file brings its own copy of the forwarder it talks to")]

mod announce;
mod captured;
mod codec;
mod commands;
mod datasets;
mod fake;
mod fuzz_entries;
mod random;
mod replay;
mod rib;

/// Bytes written as hexadecimal digits.
fn hex(text: &str) -> Vec<u8> {
    let digit = |b: u8| char::from(b).to_digit(16).expect("a hexadecimal digit") as u8;
    text.trim().as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

fn name(text: &str) -> ndnweir_wire::Name {
    text.parse().expect("a name")
}
