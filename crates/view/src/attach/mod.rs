//! Running programs that the page watches: forwarders by their metrics, fetches by their traces. The command line names
//! them; a page cannot.

mod fetch;
mod forwarder;

use crate::feed::{Feed, Full};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// Programs that are watched at most.
pub const MAX_ATTACHED: usize = 16;
/// Bytes of what is kept of each.
const FEED: usize = 4 << 20;

/// A program to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attached {
    /// A forwarder that serves its metrics at this `HOST:PORT`.
    Forwarder(String),
    /// A fetch that writes this trace.
    Fetch(PathBuf),
}

/// What is watched, and what came of it.
pub struct Program {
    what: Attached,
    pub feed: Arc<Feed>,
}

impl Program {
    pub fn new(what: Attached) -> Program {
        Program { what, feed: Arc::new(Feed::new(FEED, Full::Evict)) }
    }

    pub fn describe(&self) -> Value {
        match &self.what {
            Attached::Forwarder(address) => json!({ "kind": "forwarder", "name": address }),
            Attached::Fetch(path) => json!({ "kind": "fetch", "name": path.display().to_string() }),
        }
    }

    /// Watches until the runtime ends.
    pub fn spawn(&self) {
        let (feed, what) = (Arc::clone(&self.feed), self.what.clone());
        tokio::spawn(async move {
            match what {
                Attached::Forwarder(address) => forwarder::watch(&address, &feed).await,
                Attached::Fetch(path) => fetch::watch(&path, &feed).await,
            }
        });
    }
}
