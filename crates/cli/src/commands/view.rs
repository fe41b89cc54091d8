//! `ndnweir view`.

use super::print;
use crate::failure::Failure;
use crate::interrupt;
use crate::view_args::ViewArgs;
use ndnweir_view::{Attached, Options, Server};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub fn run(args: &ViewArgs) -> Result<(), Failure> {
    let folder = &args.folder;
    if folder.exists() && !folder.is_dir() {
        return Err(Failure::Input(format!("{}: is not a folder", folder.display())));
    }
    if let Some(address) = args.forwarder.iter().find(|address| !is_address(address)) {
        return Err(Failure::Input(format!("--forwarder {address}: write HOST:PORT, such as 127.0.0.1:9696")));
    }
    let forwarders = args.forwarder.iter().cloned().map(Attached::Forwarder);
    let attached = forwarders.chain(args.fetch.iter().cloned().map(Attached::Fetch)).collect();
    let stop = interrupt::watch()?;
    let server = Server::start(Options { root: folder.clone(), port: args.port, attached }).map_err(Failure::input)?;
    let path = if args.forwarder.is_empty() && args.fetch.is_empty() { "/" } else { "/attached" };
    print(&format!("{}\n", server.url(path)))?;
    wait(stop);
    Ok(())
}

/// Waits for Ctrl-C.
pub(super) fn wait(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn is_address(text: &str) -> bool {
    text.rsplit_once(':').is_some_and(|(host, port)| {
        !host.is_empty()
            && port.parse::<u16>().is_ok()
            && host.chars().all(|c| c.is_ascii_alphanumeric() || ".-:[]".contains(c))
    })
}
