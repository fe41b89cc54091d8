//! A forwarder without I/O: link-layer frames and the time go in, frames and the next wake-up come out.
//!
//! It adds encoding to a [`Node`], whose pipelines decide everything: frames are reassembled from fragments and decoded
//! ([`crate::header`]), their names are mapped to numbers and their bytes to tags; what the node sends is encoded as
//! frames again. It has no sockets.
//!
//! - A Data answers every pending Interest that it matches: its own name, prefixes of it with CanBePrefix, and its name
//!   with its digest. It is cached under its own name. An Interest with CanBePrefix or a digest is answered from the
//!   content store if one of the first [`MAX_CANDIDATES`] stored names under it will do.
//! - `/localhost` neither comes from nor goes to faces that are not local; `/localhop` from such a face reaches
//!   applications on this node only. Data of the node's management are accepted from its face only
//!   ([`Forwarder::reserve`]).
//! - A Data counts only from a face that an Interest for it was sent to; others are dropped and counted. NFD takes a
//!   pending Interest's Data from anyone, which lets anyone fill the content store with any content.
//! - A name has at most [`MAX_COMPONENTS`] components.
//! - An Interest without a nonce gets one; its lifetime is at most [`ForwarderConfig::max_lifetime`].
//! - A NACK carries the Interest as the upstream returned it, with the downstream's nonce: with aggregated Interests,
//!   MustBeFresh and lifetime may be those of another.
//! - Lost frames on faces with an MTU are sent again where both ends take part ([`reliability`]).
//! - An Interest with a ForwardingHint goes where that says ([`Forwarder::set_regions`]).
//! - Every table has a bound: to free names and payloads the content store's oldest Data are evicted, then packets are
//!   dropped and counted ([`ForwarderCounters`]).

mod choices;
mod emit;
mod faces;
mod fragments;
mod hints;
mod links;
mod names;
mod payloads;
mod queues;
mod receive;
pub mod reliability;
mod reserved;
mod routes;
mod tokens;

pub use choices::Chosen;
pub use emit::Frames;
pub use faces::{FaceOptions, LinkCounters};
pub use hints::MAX_DELEGATIONS;
pub use reliability::Reliability;
pub use routes::{MAX_HOPS, Route, RouteError};

use crate::config::NodeConfig;
use crate::error::StrategyError;
use crate::fib_tree::FibTree;
use crate::keyed::HashKey;
use crate::node::Node;
use crate::shares::ShareLimits;
use crate::uses::Use;
use choices::Choices;
use faces::Face;
use fragments::Fragments;
use names::Names;
use ndnweir_core::ctx::Rng;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::{FaceId, NameId};
use ndnweir_core::meter::Report;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_wire::{Name, NameView};
use payloads::Payloads;
use routes::Routes;
use std::collections::BTreeSet;
use tokens::Tokens;

/// Stored names that are examined for an Interest with CanBePrefix.
pub const MAX_CANDIDATES: usize = 64;
/// Components that a name may have; packets with longer ones are dropped. Eight times the depth of NFD's name tree, and
/// far more than names in use have; a packet would hold 4,390.
pub const MAX_COMPONENTS: usize = 256;
/// Of the memory, the part that pending Interests may hold.
const PENDING_SHARE: usize = 2;

/// What a forwarder is built from.
#[derive(Clone, Debug)]
pub struct ForwarderConfig<'a> {
    /// The node's number, for its random streams.
    pub number: u32,
    /// The seed of all random numbers, nonces included.
    pub seed: u64,
    /// The hash key of tables whose keys are chosen by on-demand peers. A process draws it when it starts.
    pub hash_key: HashKey,
    /// The scheme in force.
    pub scheme: &'a Scheme,
    /// The most pending Interests, one per name and face that waits; they also hold at most half of `memory`. Of both,
    /// one face alone gets at most 7/8, and faces [on demand](crate::FaceClass::OnDemand) three quarters all together,
    /// evenly by [group](FaceOptions::group), so that a flood leaves room for others.
    pub pit_limit: usize,
    /// The most packets in the content store; 0 is none.
    pub cache: usize,
    /// The most bytes of packets and names held, cached ones included. Overhead is counted, the PIT's records are not.
    pub memory: Bytes,
    /// The most bytes that packets of which fragments are missing may take, those of all faces together. A face may
    /// take as many as are free, and at most 1 MiB.
    pub fragments: Bytes,
    /// The most prefixes with routes.
    pub prefixes: usize,
    /// The longest an Interest may stay pending.
    pub max_lifetime: Duration,
    /// The same for Interests from faces [on demand](crate::FaceClass::OnDemand).
    pub max_lifetime_on_demand: Duration,
}

impl<'a> ForwarderConfig<'a> {
    /// A forwarder of usual size: 65,536 pending Interests, as many cached packets, 512 MiB, 32 MiB of fragments, 4096
    /// prefixes, one minute, or for on-demand peers 4 s, NDN's default lifetime. Its hash key is public.
    pub fn new(scheme: &'a Scheme) -> ForwarderConfig<'a> {
        ForwarderConfig {
            number: 0,
            seed: 0,
            hash_key: HashKey::FIXED,
            scheme,
            pit_limit: 65_536,
            cache: 65_536,
            memory: Bytes::new(512 << 20),
            fragments: Bytes::new(32 << 20),
            prefixes: 4096,
            max_lifetime: Duration::from_millis(60_000),
            max_lifetime_on_demand: Duration::from_millis(4000),
        }
    }
}

/// Packets that a forwarder dropped before they reached its node, and the sizes of its tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForwarderCounters {
    /// Frames that are not packets.
    pub malformed: u64,
    /// Fragments that could not be reassembled.
    pub fragments: u64,
    /// Packets whose fragments did not all come in time.
    pub fragments_late: u64,
    /// Packets with missing fragments that were dropped for newer ones of their face.
    pub fragments_evicted: u64,
    /// Packets whose names have more than [`MAX_COMPONENTS`] components.
    pub long_names: u64,
    /// Packets under `/localhost` from faces that are not local, and Data under a prefix that belongs to another face.
    pub scope: u64,
    /// Packets dropped because there was no room for their bytes or names.
    pub full: u64,
    /// Unsolicited Data.
    pub unsolicited: u64,
    /// Of those, the ones whose name was pending: they arrived on a face that no Interest for it had been sent to.
    pub no_out_record: u64,
    /// NACKs for names that are not pending.
    pub unmatched_nacks: u64,
    /// Packets that could not be sent, as the link header leaves no room within the MTU.
    pub unsendable: u64,
    /// Names in use now.
    pub names: u64,
    /// Packets whose bytes are held now.
    pub payloads: u64,
    /// Bytes that packets and names take now, of [`ForwarderConfig::memory`].
    pub held_bytes: u64,
    /// Bytes that packets of which fragments are missing take now, of [`ForwarderConfig::fragments`].
    pub fragment_bytes: u64,
    /// Bytes of packets that neighbours have not acknowledged.
    pub unacknowledged_bytes: u64,
}

/// The forwarder.
pub struct Forwarder {
    node: Node,
    layout: FieldLayout,
    faces: Vec<Face>,
    /// Faces that were removed, with the time from which their numbers may be used again.
    removed: BTreeSet<(Time, FaceId)>,
    names: Names,
    payloads: Payloads,
    tokens: Tokens,
    tree: FibTree,
    routes: Routes,
    choices: Choices,
    /// The regions of this node, see [`Forwarder::set_regions`].
    regions: Vec<Name>,
    /// Prefixes reserved for one face.
    reserved: Vec<(Name, FaceId)>,
    rng: Rng,
    max_lifetime: Duration,
    max_lifetime_on_demand: Duration,
    /// The most bytes of packets and names.
    memory: usize,
    fragments: Fragments,
    counters: ForwarderCounters,
    link_timers: links::Timers,
    /// Bytes of packets that wait for acks, of all faces.
    unacknowledged: links::Unacknowledged,
    queues: queues::Queues,
    /// Working memory.
    answered: Vec<NameId>,
}

impl Forwarder {
    /// A forwarder without faces and routes.
    ///
    /// # Errors
    /// If a component of the scheme cannot be built.
    pub fn new(config: ForwarderConfig<'_>) -> Result<Forwarder, StrategyError> {
        let layout = config.scheme.layout();
        let mut node = Node::new(NodeConfig {
            number: config.number,
            seed: config.seed,
            scheme: config.scheme,
            layout: &layout,
            pit_limit: config.pit_limit,
            cache: config.cache,
            prefixes: config.prefixes,
            trace: false,
            // A packet is handed out when it may leave, so that nothing here waits for its time.
            force_events: true,
        })?;
        node.log_uses();
        let key = config.hash_key;
        node.set_hash_key(key);
        let memory = usize::try_from(config.memory.get()).unwrap_or(usize::MAX);
        let overhead = names::OVERHEAD + payloads::OVERHEAD;
        node.share_pit(ShareLimits { bytes: memory / PENDING_SHARE, overhead });
        // A name is in use by a payload or a PIT entry.
        let names = memory / payloads::OVERHEAD + config.pit_limit;
        Ok(Forwarder {
            node,
            layout,
            faces: Vec::new(),
            names: Names::new(names.min(1 << 24), key),
            removed: BTreeSet::new(),
            payloads: Payloads::default(),
            tokens: Tokens::new(config.pit_limit, key),
            tree: FibTree::keyed(config.prefixes.saturating_mul(8), key),
            routes: Routes::new(config.prefixes),
            choices: Choices::new(config.scheme, key)?,
            regions: Vec::new(),
            reserved: Vec::new(),
            rng: Rng::derive(config.seed, &[u64::from(config.number), 0x666f_7277]),
            max_lifetime: config.max_lifetime,
            max_lifetime_on_demand: config.max_lifetime_on_demand,
            memory,
            fragments: Fragments::new(usize::try_from(config.fragments.get()).unwrap_or(usize::MAX)),
            counters: ForwarderCounters::default(),
            link_timers: links::Timers::default(),
            unacknowledged: links::Unacknowledged::new(memory),
            queues: queues::Queues::new(memory),
            answered: Vec::new(),
        })
    }

    /// When [`Forwarder::handle_timeout`] must be called; [`Time::NEVER`] if not at all.
    pub fn poll_timeout(&self) -> Time {
        self.node.poll_timeout().min(self.link_timers.next())
    }

    /// The time of [`Forwarder::poll_timeout`] has come. Links are served by [`Forwarder::poll_transmit`].
    pub fn handle_timeout(&mut self, now: Time) {
        self.node.handle_timeout(now);
        self.account();
    }

    /// The node inside, for reading.
    pub fn node(&self) -> &Node {
        &self.node
    }

    /// Takes the meter's reports to a controller.
    pub fn drain_reports(&mut self) -> impl Iterator<Item = Report> + '_ {
        self.node.drain_reports()
    }

    /// What was dropped here, and the sizes of the tables.
    pub fn counters(&self) -> ForwarderCounters {
        ForwarderCounters {
            names: self.names.len() as u64,
            payloads: self.payloads.len() as u64,
            held_bytes: (self.payloads.bytes() + self.names.bytes()) as u64,
            unacknowledged_bytes: self.unacknowledged.bytes() as u64,
            fragment_bytes: self.fragments.bytes(),
            fragments_late: self.fragments.timed_out,
            fragments_evicted: self.fragments.evicted,
            ..self.counters
        }
    }

    /// Changes how many packets the content store may hold, whether it takes Data in, and whether it answers.
    pub fn set_cache(&mut self, packets: usize, admits: bool, serves: bool) {
        self.node.set_cache(packets, admits, serves);
        self.account();
    }

    /// Evicts up to `packets` of the content store's oldest Data; returns how many.
    pub fn evict(&mut self, packets: usize) -> usize {
        let evicted = (0..packets).take_while(|_| self.node.evict()).count();
        self.account();
        evicted
    }

    /// Erases at most `limit` stored Data whose names begin with `prefix`: how many, and whether more are left.
    pub fn erase(&mut self, prefix: NameView<'_>, limit: usize) -> (usize, bool) {
        let names: Vec<NameId> = self.names.stored_under(prefix.as_bytes()).take(limit).collect();
        let erased = names.iter().filter(|name| self.node.erase(**name)).count();
        self.account();
        let left = self.names.stored_under(prefix.as_bytes()).next().is_some();
        (erased, left)
    }

    /// Counts what the node did with names and payloads since the last call.
    fn account(&mut self) {
        for entry in self.node.drain_uses() {
            match entry {
                Use::Held(tag) => self.payloads.retain(tag),
                Use::Pending(name) => self.names.begin(name),
                Use::Settled(name) => {
                    self.tokens.settle(name, self.names.generation(name.flow));
                    self.names.end(name);
                }
                Use::Expired(name) => {
                    self.tokens.forget(name, self.names.generation(name.flow));
                    self.names.end(name);
                }
                Use::Stored(name, tag) => {
                    self.names.store(name);
                    self.payloads.retain(tag);
                }
                Use::Released(tag) => {
                    if let Some(flow) = self.payloads.release(tag) {
                        self.names.release(flow);
                    }
                }
                Use::Evicted(name, tag) => {
                    self.names.evict(name);
                    if let Some(flow) = self.payloads.release(tag) {
                        self.names.release(flow);
                    }
                }
            }
        }
    }

    /// Ends one use of a payload.
    fn release(&mut self, tag: u32) {
        if let Some(flow) = self.payloads.release(tag) {
            self.names.release(flow);
        }
    }
}
