//! The outcome of a run, and its packet accounting.

use crate::observer::{ConsumerCounters, Drops, LinkCounters};
use crate::tcp::SenderCounters;
use ndnweir_core::packet::Packet;
use ndnweir_core::planner::PlannerCounters;
use ndnweir_core::units::Time;
use ndnweir_link::LinkTotals;
use ndnweir_node::NodeCounters;

/// A rolling hash over every arrival of a run: when, where and what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub struct EventHash(u64);

impl EventHash {
    /// Of no arrivals.
    pub const fn new() -> EventHash {
        EventHash(0x6e64_6e77_6569_7221)
    }

    #[inline]
    fn update(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    /// What an arrival adds.
    #[inline]
    pub fn words(at: Time, directed_link: u32, packet: &Packet) -> [u64; 4] {
        let small = [packet.kind as u8, packet.reason as u8, packet.mark, packet.flags];
        [
            at.nanos(),
            packet.name.key(),
            u64::from(directed_link) << 32 | u64::from(packet.nonce),
            u64::from(packet.size) << 32 | u64::from(u32::from_le_bytes(small)),
        ]
    }

    /// Adds [`EventHash::words`].
    #[inline]
    pub fn add(&mut self, words: &[u64; 4]) {
        words.iter().for_each(|&word| self.update(word));
    }

    /// Adds an arrival.
    #[inline]
    pub fn arrival(&mut self, at: Time, directed_link: u32, packet: &Packet) {
        self.add(&EventHash::words(at, directed_link, packet));
    }

    /// The hash.
    pub const fn get(self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

impl Default for EventHash {
    fn default() -> EventHash {
        EventHash::new()
    }
}

/// The Interests of one consumer, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterestAccount {
    /// Interests sent, retransmissions included.
    pub interests: u64,
    /// Segments answered with Data.
    pub answered: u64,
    /// Answered with a NACK.
    pub rejected: u64,
    /// Given up, or to be replaced by a retransmission.
    pub timed_out: u64,
    /// Outstanding at the end.
    pub pending: u64,
}

impl InterestAccount {
    /// Answers (Data or NACK) that came after their Interest had been given up and before another was sent: they are
    /// counted twice in the fields above. Negative if Interests are missing.
    pub const fn late(&self) -> i64 {
        (self.answered + self.rejected + self.timed_out + self.pending) as i64 - self.interests as i64
    }

    /// Whether every Interest is accounted for.
    pub const fn is_accounted_for(&self) -> bool {
        let late = self.late();
        late >= 0 && late as u64 <= self.rejected + self.timed_out && late as u64 <= self.answered + self.rejected
    }
}

/// What became of the fragments that arrived at a node (see [`crate::network::Link::mtu`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct FragmentCounters {
    /// Fragments that arrived.
    pub arrived: u64,
    /// Of these, parts of packets that were put together.
    pub used: u64,
    /// Packets that were put together.
    pub packets: u64,
    /// Fragments that had come before.
    pub duplicates: u64,
    /// Packets of which a fragment was missing after half a second, or that gave way to newer ones.
    pub incomplete: u64,
    /// Their fragments.
    pub given_up: u64,
    /// Fragments of packets that are incomplete now.
    pub pending: u64,
}

impl FragmentCounters {
    /// Whether every fragment is accounted for.
    pub const fn is_accounted_for(&self) -> bool {
        self.arrived == self.used + self.duplicates + self.given_up + self.pending
    }
}

/// What a flow that is not NDN did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct CrossCounters {
    /// Datagrams or segments sent, segments sent again included.
    pub sent: u64,
    /// Those that reached the other end, each segment once.
    pub delivered: u64,
    /// When a finite transfer had been acknowledged.
    pub completed: Option<Time>,
    /// Of TCP: what its sender did.
    pub sender: SenderCounters,
}

/// What happened in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The seed that repeats it.
    pub seed: u64,
    /// The time reached: the duration, unless the run was stopped.
    pub ended: Time,
    /// Whether it reached its end.
    pub finished: bool,
    /// Over every arrival; zero if switched off.
    pub hash: u64,
    /// Interests, Data and NACKs that crossed one link.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// Most packets between a node's decision to send and their arrival, egress queues included as far as their
    /// departures were known.
    pub peak_in_flight: u64,
    /// The same at the end.
    pub in_flight: u64,
    /// By [`crate::observer::ConsumerId`].
    pub accounts: Vec<InterestAccount>,
    /// By [`crate::observer::ConsumerId`].
    pub consumers: Vec<ConsumerCounters>,
    /// Counters of each directed link at the end.
    pub links: Vec<LinkCounters>,
    /// What each directed link did with its packets.
    pub propagations: Vec<LinkTotals>,
    /// Packets in flight on each directed link at the end.
    pub in_flight_by_link: Vec<u64>,
    /// Each NDN node's counters; switches have none.
    pub nodes: Vec<NodeCounters>,
    /// What traffic that is not NDN did, in the order of [`crate::Network::cross`].
    pub cross: Vec<CrossCounters>,
    /// What became of the fragments that arrived, by node.
    pub fragments: Vec<FragmentCounters>,
    /// Packets that arrived at a node that was down, by node.
    pub dead: Vec<u64>,
    /// Frames a switch could not forward, by node.
    pub unswitched: Vec<u64>,
    /// Messages between nodes and planners; none without a planner.
    pub control: Option<ControlCounters>,
    /// By node, bytes that its strategies, meter and shapers keep at the end; see [`ndnweir_node::Node::kept_bytes`].
    pub kept_by_nodes: Vec<Option<u64>>,
    /// By [`crate::observer::ConsumerId`], the same of the components of consumers that fetch one object.
    pub kept_by_consumers: Vec<Option<u64>>,
}

/// A packet or Interest got lost unnoticed: a bug of the simulator or of a node.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AccountingError {
    /// The Interests of a consumer do not add up.
    #[error("consumer {consumer}: {account:?}")]
    Consumer {
        /// Its number.
        consumer: usize,
        /// Its Interests, by outcome.
        account: InterestAccount,
    },
    /// The packets of a directed link do not add up.
    #[error("link {link}: {totals:?}, {in_flight} in flight")]
    Link {
        /// Its number.
        link: usize,
        /// What it did with its packets.
        totals: LinkTotals,
        /// How many are in flight.
        in_flight: u64,
    },
    /// The fragments that arrived at a node do not add up.
    #[error("node {node}: {counters:?}")]
    Fragments {
        /// Its number.
        node: usize,
        /// What it counted.
        counters: FragmentCounters,
    },
    /// The Interests that arrived at a node do not add up.
    #[error("node {node}: {} Interests, {accounted} accounted for: {counters:?}", counters.interests)]
    Node {
        /// Its number.
        node: usize,
        /// Interests that were answered, dropped and counted, or are pending.
        accounted: u64,
        /// What it counted.
        counters: Box<NodeCounters>,
    },
}

/// Messages between nodes and planners.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ndnweir_state::Value)]
pub struct ControlCounters {
    /// Messages to planners.
    pub messages: u64,
    /// Of these, lost.
    pub messages_lost: u64,
    /// Signals sent by nodes, lost ones included.
    pub signals: u64,
    /// Orders given.
    pub orders: u64,
    /// Of these, lost.
    pub orders_lost: u64,
    /// Orders that a node did not carry out, as another planner had been elected or its next hops were not those.
    pub orders_rejected: u64,
    /// Totals of all planners.
    pub tally: PlannerCounters,
}

impl Outcome {
    /// Drops of the whole network.
    pub fn drops(&self) -> Drops {
        let mut drops = Drops::default();
        for link in self.links.iter().map(|l| l.drops).chain(self.nodes.iter().map(|n| n.drops)) {
            drops += link;
        }
        drops.down += self.dead.iter().sum::<u64>() + self.unswitched.iter().sum::<u64>();
        drops
    }

    /// Checks that nothing was lost unnoticed: per consumer every Interest was answered, rejected, given up or is
    /// pending; per link every packet or fragment arrived, was lost for a counted reason or is in flight; per node
    /// every fragment that arrived became part of a packet, was given up or waits for others, and every Interest that
    /// arrived was dropped for a counted reason, answered at once, or became a pending one that was answered, rejected,
    /// expired or still is pending.
    ///
    /// # Errors
    /// The first sum that does not hold.
    pub fn check(&self) -> Result<(), AccountingError> {
        for (consumer, &account) in self.accounts.iter().enumerate() {
            if !account.is_accounted_for() {
                return Err(AccountingError::Consumer { consumer, account });
            }
        }
        for (link, (&totals, &in_flight)) in self.propagations.iter().zip(&self.in_flight_by_link).enumerate() {
            let accounted = totals.revoked + totals.arrived + totals.lost + totals.down + in_flight;
            if totals.sent + totals.copies != accounted {
                return Err(AccountingError::Link { link, totals, in_flight });
            }
        }
        for (node, &counters) in self.fragments.iter().enumerate() {
            if !counters.is_accounted_for() {
                return Err(AccountingError::Fragments { node, counters });
            }
        }
        for (node, n) in self.nodes.iter().enumerate() {
            let at_once =
                n.down + n.hop_limit + n.hits + n.loops + n.duplicates + n.pit_full + n.no_prefix + n.retransmitted;
            let pending = n.answered + n.rejected + n.expired + n.lost + n.pending;
            if n.interests != at_once + pending {
                let accounted = at_once + pending;
                return Err(AccountingError::Node { node, accounted, counters: Box::new(*n) });
            }
        }
        Ok(())
    }
}
