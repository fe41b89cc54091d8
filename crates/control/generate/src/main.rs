//! Writes the messages and the service of gNMI as Rust: `generate-gnmi PROTO-FOLDER OUTPUT-FOLDER`.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let folders: Vec<String> = std::env::args().skip(1).collect();
    let [proto, out] = folders.as_slice() else { return Err("usage: generate-gnmi PROTO-FOLDER OUTPUT-FOLDER".into()) };
    let described = protox::compile(["gnmi.proto"], [proto])?;
    Ok(tonic_prost_build::configure().out_dir(out).compile_fds(described)?)
}
