//! One NDN node as a state machine without I/O: packets and the time go in, packets and the next wake-up come out.
//!
//! The same [`Node`] serves the simulator and the real forwarder. It knows no sockets, links or names: the driver
//! interns names to small numbers (see [`ndnweir_core::ids`]) and moves packets between nodes. Congestion control
//! happens in the hooks of `ndnweir-core`, called from the pipelines in [`node`] and from the egress of each face.
//!
//! ```
//! use ndnweir_core::ids::{FlowId, NameId, PrefixId};
//! use ndnweir_core::packet::{Kind, Packet};
//! use ndnweir_core::queue::Limit;
//! use ndnweir_core::scheme::Scheme;
//! use ndnweir_core::strategy::NextHop;
//! use ndnweir_core::units::{Duration, Rate, Time};
//! use ndnweir_node::{FaceConfig, Node, NodeConfig};
//!
//! let scheme = Scheme::named("cubic")?;
//! let mut node = Node::new(NodeConfig {
//!     number: 0,
//!     seed: 1,
//!     scheme: &scheme,
//!     layout: &scheme.layout(),
//!     pit_limit: 1000,
//!     cache: 0,
//!     prefixes: 1,
//!     trace: false,
//!     force_events: false,
//! })?;
//! let application = node.add_face(FaceConfig::local())?;
//! let upstream = node.add_face(FaceConfig::link(Rate::from_mbps(10.0), Limit::Packets(100)))?;
//! node.set_route(Time::ZERO, PrefixId(0), &[NextHop { face: upstream, cost: 1 }]);
//! node.bind_flow(FlowId(0), Some(PrefixId(0)));
//!
//! // An Interest goes in and leaves towards the producer. Its 50 B take 40 µs at 10 Mbit/s.
//! let name = NameId { flow: FlowId(0), segment: 0 };
//! let hop_limit = Packet::HOP_LIMIT;
//! let interest = Packet { name, nonce: 7, size: 50, lifetime_ms: 4000, hop_limit, ..Packet::default() };
//! node.handle(Time::ZERO, application, interest);
//! let sent = node.poll_transmit().expect("there is a route");
//! assert_eq!((sent.face, sent.end), (upstream, Time::ZERO + Duration::from_micros(40)));
//!
//! // The driver delivers it after the propagation delay. Before it hands in what came back, it lets the node do what
//! // has become due.
//! let now = Time::ZERO + Duration::from_millis(20);
//! while node.poll_timeout() <= now {
//!     node.handle_timeout(node.poll_timeout());
//! }
//! node.handle(now, upstream, Packet { name, kind: Kind::Data, size: 1250, ..Packet::default() });
//! assert_eq!(node.poll_transmit().map(|answer| answer.face), Some(application));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod config;
pub mod counters;
mod cs;
mod dead;
pub mod egress;
pub mod error;
mod face;
pub mod fetcher;
mod fib;
pub mod fib_tree;
mod flow_prefixes;
mod flows;
pub mod forwarder;
pub mod fragments;
pub mod growth;
pub mod header;
mod hop_lists;
mod index;
pub mod keyed;
pub mod node;
mod outbox;
mod pit;
pub mod rate_trace;
pub mod requests;
pub mod server;
mod shares;
mod strategies;
pub mod streams;
pub mod uses;
mod wheel;
mod zipf;

pub use config::{Departure, FaceConfig, NodeConfig, Transmit};
pub use counters::{DropCause, Drops, FaceCounters, NodeCounters};
pub use error::{FaceError, StrategyError};
pub use fetcher::{Arrival, Fetcher, FetcherConfig, FetcherCounters};
pub use flow_prefixes::FlowPrefixes;
pub use forwarder::{Forwarder, ForwarderConfig};
pub use hop_lists::HopLists;
pub use keyed::HashKey;
pub use node::{Custom, Expected, Node};
pub use server::{Server, ServerConfig};
pub use shares::FaceClass;
pub use strategies::StrategyChoiceId;
pub use zipf::Zipf;
