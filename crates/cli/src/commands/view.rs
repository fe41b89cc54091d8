//! `ndnweir view`.

use super::print;
use crate::failure::Failure;
use crate::interrupt;
use crate::view_args::ViewArgs;
use ndnweir_view::{Attached, Options, Server};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Where `ndnweir sim` writes without `--out`.
const USUAL: &str = "results";

pub fn run(args: &ViewArgs) -> Result<(), Failure> {
    let folder = folder(args)?;
    if let Some(address) = args.forwarder.iter().find(|address| !is_address(address)) {
        return Err(Failure::Input(format!("--forwarder {address}: write HOST:PORT, such as 127.0.0.1:9696")));
    }
    let forwarders = args.forwarder.iter().cloned().map(Attached::Forwarder);
    let attached = forwarders.chain(args.fetch.iter().cloned().map(Attached::Fetch)).collect();
    let stop = interrupt::watch()?;
    let server = Server::start(Options { root: folder, port: args.port, attached }).map_err(Failure::input)?;
    let path = if args.forwarder.is_empty() && args.fetch.is_empty() { "/" } else { "/attached" };
    print(&format!("{}\n", server.url(path)))?;
    wait(stop);
    Ok(())
}

/// The folder to serve. The usual one is made when a run is started on the page; one that is named has to be there, since
/// a misspelt one would look like one without results.
fn folder(args: &ViewArgs) -> Result<PathBuf, Failure> {
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from(USUAL));
    let wrong = match (folder.is_dir(), folder.exists()) {
        (true, _) => return Ok(folder),
        (false, true) => "is not a folder; name one with result folders",
        (false, false) if args.folder.is_none() => return Ok(folder),
        (false, false) => "there is no such folder; name one with result folders, or make it for new ones",
    };
    Err(Failure::Input(format!("{}: {wrong}", folder.display())))
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
