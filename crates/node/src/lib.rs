//! One NDN node as a state machine without I/O: packets and the time go in, packets and the next wake-up come out.
//!
//! The same [`Node`] serves the simulator and the real forwarder. It knows no sockets, links or names: the driver
//! interns names to small numbers (see [`ndnweir_core::ids`]) and moves packets between nodes. Congestion control
//! happens in the hooks of `ndnweir-core`, called from the pipelines in [`node`] and from the egress of each face.
//!
//! ```text
//! let face = node.add_face(config)?;
//! node.handle(now, face, packet);
//! while let Some(transmit) = node.poll_transmit() { /* deliver after transmit.end and the propagation delay */ }
//! /* call node.handle_timeout(t) when t = node.poll_timeout() has come */
//! ```

pub mod config;
pub mod counters;
mod cs;
mod dead;
pub mod egress;
mod face;
pub mod fetcher;
mod fib;
pub mod fib_tree;
mod flows;
pub mod forwarder;
pub mod header;
mod index;
pub mod keyed;
pub mod node;
mod outbox;
mod pit;
pub mod requests;
pub mod server;
mod shares;
mod strategies;
pub mod streams;
pub mod uses;
mod wheel;

pub use config::{FaceConfig, NodeConfig, Transmit};
pub use counters::{DropCause, Drops, FaceCounters, NodeCounters};
pub use fetcher::{Arrival, Fetcher, FetcherConfig, FetcherCounters};
pub use forwarder::{Forwarder, ForwarderConfig};
pub use keyed::HashKey;
pub use node::{Custom, Node};
pub use server::{Server, ServerConfig};
pub use shares::FaceClass;
pub use strategies::StrategyChoiceId;
