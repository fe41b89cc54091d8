//! A deterministic packet-level simulator of NDN networks.
//!
//! [`run`] takes a [`Network`] (plain values), a scheme and a seed, reports to an [`observer::Observer`] and returns an
//! [`Outcome`]. Every NDN node is an `ndnweir_node::Node`, the same code that forwards real packets; every consumer
//! under congestion control is an `ndnweir_node::Fetcher`. This crate adds time, links, switches, routing, and faults;
//! consumers without congestion control are `ndnweir_node::requests`. It contains no particular scheme, no scenario
//! file, no statistics and no use of the operating system.
//!
//! ```
//! use ndnweir_core::queue::Limit;
//! use ndnweir_core::scheme::Scheme;
//! use ndnweir_core::units::{Duration, Rate, Time};
//! use ndnweir_sim::network::{Consumer, Direction, Link, Network, NodeKind, Producer, Traffic};
//! use ndnweir_sim::observer::NoObserver;
//! use ndnweir_sim::{RunOptions, run};
//!
//! // Consumer – router – producer over 10 Mbit/s with 10 ms and room for 500 packets each.
//! let direction = Direction::new(Rate::from_mbps(10.0), Duration::from_millis(10), Limit::Packets(500));
//! let fetch = Consumer {
//!     node: 0,
//!     prefix: 0,
//!     object: 0,
//!     traffic: Traffic::Fetch { segments: Some(500), consumer: None },
//!     start: Time::ZERO,
//!     start_jitter: None,
//!     stop: None,
//!     interest_size: 50,
//!     lifetime: Duration::from_millis(4000),
//! };
//! let network = Network {
//!     nodes: vec![NodeKind::Ndn { cache: 0 }; 3],
//!     links: vec![Link::symmetric(0, 1, direction.clone()), Link::symmetric(1, 2, direction)],
//!     prefixes: 1,
//!     producers: vec![Producer { node: 2, prefix: 0, payload: 1200, size: 1250, freshness: Duration::ZERO }],
//!     consumers: vec![fetch],
//!     duration: Duration::from_millis(5000),
//!     ..Network::default()
//! };
//! let outcome = run(&network, &Scheme::named("cubic")?, 1, &mut NoObserver, RunOptions::default())?;
//! // Every packet is accounted for, and every segment has arrived.
//! outcome.check()?;
//! assert_eq!(outcome.consumers[0].segments, 500);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! **Time** is in whole nanoseconds. An event is due at a source: a directed link (its next arrival), a node (its next
//! timeout) or an application. Each source has at most one pending event, so the schedule is as large as the network
//! and not as the traffic in it. Of one instant, changes of the network come first, then packets that arrive, then
//! timeouts of nodes, of applications and of the planner's channel, then samples. Packets that arrive at one instant
//! come in the order in which they joined their senders' queues, as in a simulator that processes events in the order
//! of their scheduling ([`schedule::EventRank::arrival`] says to which precision); then, as events of another kind, by
//! destination and link. A network that is described in the order of names, as scenarios are, gives results that do not
//! depend on the order in which it was written. The same seed gives the same bytes on every machine and on
//! every number of threads ([`RunOptions::threads`]).
//!
//! **One event per packet-hop**: a queue that is predictable (first in first out, constant rate, a marker that depends
//! neither on later arrivals nor on departures) hands a packet over when it joins, with its future departure. Other
//! queues cost one more event per packet. [`RunOptions::force_events`] gives every queue the second driver; the results
//! are the same.
//!
//! # Limits of the model
//! - A link is full duplex unless it shares a medium ([`network::SharedMedium`]), keeps its order unless told
//!   otherwise, loses whole packets, and has no bit errors, no medium access and no retransmission of its own but for
//!   [`network::Arq`]. One with an MTU carries larger packets as fragments, of which the loss of one loses the packet.
//! - A queue limit excludes the packet on the wire. Departures at an instant precede arrivals at it.
//! - Nodes take no time: a packet that arrives leaves, or joins its queue, at the same instant. Applications answer
//!   immediately. A fetch whose round trip would take no time at all is rejected.
//! - Packets have the sizes the scenario gives, which may grow with the segment number; header fields and marks add
//!   nothing to them.
//! - Where parts run other schemes (see [`parts`]), a node drops the header fields that its scheme does not know.
//! - Names are interned: there is no cost of long names, no CanBePrefix discovery, no signature.
//! - A link that fails loses its queues and all packets on it, and both nodes are informed immediately that it is down;
//!   routing follows after [`network::Routing::reaction`] for all nodes together, without messages. A node that crashes
//!   is not noticed by its neighbours before that; what it had sent continues.
//! - A new rate holds for the bits not sent yet; a new delay or loss probability for packets not sent completely.
//! - Switches forward frames along the cheapest path and do not learn; their queues are drop-tail and independent of
//!   NDN. An interface that several NDN faces share has one such queue, and those faces' own queues are empty.
//! - The planner's messages take a constant delay, may be lost (see [`network::Control`]) and use no capacity.

mod below;
pub mod bench;
mod check;
pub mod engine;
pub mod flows;
mod groups;
pub mod in_order;
mod mtu;
mod nada;
pub mod network;
pub mod observer;
pub mod outcome;
pub mod parts;
pub mod path;
pub mod pcap;
pub mod pcapng;
pub mod player;
pub mod routing;
pub mod schedule;
pub mod shortest;
mod signals;
pub mod tcp;
pub mod topology;
mod traffic;

pub use engine::{Keeper, PacketTap, RunOptions, TakeWindow, TapPart, run};
pub use mtu::{frames_of, largest_frames};
pub use network::{Network, NetworkError};
pub use outcome::{InterestAccount, Outcome};
