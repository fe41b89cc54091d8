//! Putting fragments together again, within bounds.

use core::time::Duration;
use std::borrow::Cow;
use std::collections::BTreeMap;

use thiserror::Error;

use super::{ExtraField, LpHeader, LpPacketView, MAX_FRAGMENTS};

/// Bounds of a [`Reassembler`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReassemblerConfig {
    /// Most packets that may be incomplete at one time; the oldest is dropped.
    pub max_partials: usize,
    /// Most bytes that incomplete packets may occupy together, overhead included; the oldest are dropped.
    pub max_bytes: usize,
    /// Most fragments of one packet.
    pub max_fragments: usize,
    /// Largest reassembled packet in bytes.
    pub max_packet: usize,
    /// How long after its first fragment an incomplete packet is given up.
    pub timeout: Duration,
}

impl Default for ReassemblerConfig {
    /// 256 packets, 1 MiB, [`MAX_FRAGMENTS`], 8800 bytes (the practical packet limit), 500 ms (as NFD, which counts
    /// them from the latest fragment instead of the first).
    fn default() -> Self {
        Self {
            max_partials: 256,
            max_bytes: 1 << 20,
            max_fragments: MAX_FRAGMENTS,
            max_packet: 8800,
            timeout: Duration::from_millis(500),
        }
    }
}

/// Why a fragment was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReassemblyError {
    /// A fragment without Sequence cannot be put in its place.
    #[error("fragment without Sequence")]
    NoSequence,
    /// FragIndex not below FragCount.
    #[error("fragment {index} of {count}")]
    IndexOutOfRange {
        /// FragIndex.
        index: u64,
        /// FragCount.
        count: u64,
    },
    /// FragCount above the bound.
    #[error("{0} fragments are more than allowed")]
    TooManyFragments(u64),
    /// FragCount differs from that of fragments received before; the incomplete packet is given up.
    #[error("fragments of one packet disagree on their number")]
    CountMismatch,
    /// This fragment is already there.
    #[error("duplicate fragment")]
    Duplicate,
    /// The packet would exceed the bound; the incomplete packet is given up.
    #[error("the reassembled packet would be larger than allowed")]
    TooLarge,
}

/// What happened to fragments, counted since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReassemblyStats {
    /// Packets put together from more than one fragment.
    pub reassembled: u64,
    /// Incomplete packets given up because time ran out.
    pub timed_out: u64,
    /// Incomplete packets that gave way to newer ones.
    pub evicted: u64,
    /// Incomplete packets given up because their fragments contradict each other or exceed a bound.
    pub abandoned: u64,
    /// Fragments dropped with a [`ReassemblyError`].
    pub dropped_fragments: u64,
}

/// A complete network-layer packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reassembled<'a> {
    /// The packet; borrowed from the buffer when it came in one piece.
    pub packet: Cow<'a, [u8]>,
    /// The header of its first fragment, without Sequence, FragIndex and FragCount when there were several. Its
    /// CongestionMark is the largest of all fragments, since any of them may have been the one that met the queue.
    /// Acks and TxSequence concern each LpPacket; read them before it is pushed.
    pub header: LpHeader,
    /// Whether any of its fragments was pushed as one sent again ([`Reassembler::push_again`]).
    pub link_retransmitted: bool,
}

/// Sender on the link, and Sequence that fragment 0 has: the fragments of one packet share both.
type Key = (u64, u64);

#[derive(Debug)]
struct Partial {
    arrival: u64,
    header: Option<LpHeader>,
    congestion_mark: Option<u64>,
    link_retransmitted: bool,
    /// Number of fragments.
    count: usize,
    /// The fragments below `joined`, one after the other: most arrive in order.
    whole: Vec<u8>,
    joined: usize,
    /// Those that came before their turn, with their places, in order.
    ahead: Vec<(usize, Box<[u8]>)>,
    /// Bytes of those.
    ahead_bytes: usize,
    header_bytes: usize,
}

impl Partial {
    fn new(arrival: u64, count: usize) -> Self {
        Self {
            arrival,
            header: None,
            congestion_mark: None,
            link_retransmitted: false,
            count,
            whole: Vec::new(),
            joined: 0,
            ahead: Vec::new(),
            ahead_bytes: 0,
            header_bytes: 0,
        }
    }

    /// Bytes of the fragments that are here.
    fn bytes(&self) -> usize {
        self.whole.len() + self.ahead_bytes
    }

    /// Whether a fragment is here.
    fn has(&self, index: usize) -> bool {
        index < self.joined || self.place(index).is_ok()
    }

    /// Where in `ahead` a fragment is, or would be.
    fn place(&self, index: usize) -> Result<usize, usize> {
        self.ahead.binary_search_by_key(&index, |(at, _)| *at)
    }

    /// Takes a fragment that is not here; if it is the next, with memory for `reserve` bytes.
    fn put(&mut self, index: usize, fragment: &[u8], reserve: usize) {
        if index != self.joined {
            if let Err(place) = self.place(index) {
                self.ahead.insert(place, (index, fragment.into()));
                self.ahead_bytes += fragment.len();
            }
            return;
        }
        // No more than is counted: exact.
        self.whole.reserve_exact(reserve);
        self.whole.extend_from_slice(fragment);
        self.joined += 1;
        let next = self.joined;
        let follow = self.ahead.iter().enumerate().take_while(|(i, (at, _))| *at == next + i).count();
        for (_, part) in self.ahead.drain(..follow) {
            self.whole.reserve_exact(part.len());
            self.whole.extend_from_slice(&part);
            self.ahead_bytes -= part.len();
            self.joined += 1;
        }
    }

    /// How much memory a fragment takes that is not here.
    fn growth(&self, index: usize, len: usize) -> usize {
        if index == self.joined { (self.whole.len() + len).saturating_sub(self.whole.capacity()) } else { PART + len }
    }

    fn cost(&self) -> usize {
        self.whole.capacity() + self.ahead.len() * PART + self.ahead_bytes + self.header_bytes + BOOKKEEPING
    }
}

/// Bookkeeping of an incomplete packet: itself, and its places in both maps.
const BOOKKEEPING: usize = size_of::<Partial>() + 2 * (size_of::<Key>() + size_of::<u64>());

/// The same of a part that came before its turn: its slot, of which a vector that grows has up to twice as many, and what
/// an allocator adds. What a packet says of its number of fragments costs nothing before they are there.
const PART: usize = 2 * size_of::<(usize, Box<[u8]>)>() + ALLOCATION;

/// Bytes that an allocator typically needs in addition to what was requested.
const ALLOCATION: usize = 16;

/// Heap that a copy of the header occupies, which a peer could otherwise make as large as it likes.
fn cost_of_header(packet: &LpPacketView<'_>) -> usize {
    let acks = packet.acks().count() * size_of::<u64>();
    let extras: usize = packet.extras().map(|(_, value)| size_of::<ExtraField>() + value.len()).sum();
    acks + extras + packet.prefix_announcement.map_or(0, <[u8]>::len)
}

/// Puts the fragments that one face receives together.
///
/// `now` is any clock that does not go backwards, as a duration since a fixed moment.
#[derive(Debug)]
pub struct Reassembler {
    config: ReassemblerConfig,
    partials: BTreeMap<Key, Partial>,
    /// By arrival of the first fragment, with deadlines, which are in the same order.
    by_age: BTreeMap<u64, (Key, Duration)>,
    arrivals: u64,
    bytes: usize,
    stats: ReassemblyStats,
}

impl Default for Reassembler {
    fn default() -> Self {
        Self::new(ReassemblerConfig::default())
    }
}

impl Reassembler {
    /// An empty reassembler with these bounds.
    #[must_use]
    pub fn new(config: ReassemblerConfig) -> Self {
        let (partials, by_age) = (BTreeMap::new(), BTreeMap::new());
        Self { config, partials, by_age, arrivals: 0, bytes: 0, stats: ReassemblyStats::default() }
    }

    /// Keeps incomplete packets for at least this long, from the next one on.
    pub fn extend_timeout(&mut self, timeout: Duration) {
        self.config.timeout = self.config.timeout.max(timeout);
    }

    /// Changes how many bytes incomplete packets may occupy. When they occupy more, the oldest are dropped for the next
    /// fragment.
    pub const fn set_max_bytes(&mut self, max_bytes: usize) {
        self.config.max_bytes = max_bytes;
    }

    /// What happened so far.
    #[must_use]
    pub const fn stats(&self) -> ReassemblyStats {
        self.stats
    }

    /// Number of incomplete packets.
    #[must_use]
    pub fn partials(&self) -> usize {
        self.partials.len()
    }

    /// Bytes occupied by incomplete packets, bookkeeping included.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// When [`Self::expire`] next has something to do; `None` when nothing is incomplete.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Duration> {
        self.by_age.first_key_value().map(|(_, &(_, deadline))| deadline)
    }

    /// Gives up the incomplete packets whose deadline has passed by `now`, and returns how many.
    pub fn expire(&mut self, now: Duration) -> usize {
        let mut expired = 0;
        while self.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.remove_oldest_except(None);
            expired += 1;
        }
        self.stats.timed_out += expired as u64;
        expired
    }

    /// Takes one LpPacket that `sender` (an address on a shared link; 0 elsewhere) sent, and returns the network-layer
    /// packet that it completes; `None` when fragments are missing, or in an idle packet.
    ///
    /// # Errors
    /// [`ReassemblyError`]; the fragment is dropped.
    pub fn push<'a>(
        &mut self,
        now: Duration,
        sender: u64,
        packet: &LpPacketView<'a>,
    ) -> Result<Option<Reassembled<'a>>, ReassemblyError> {
        self.push_again(now, sender, packet, false)
    }

    /// As [`Self::push`], for an LpPacket that link reliability may have sent `again`.
    ///
    /// # Errors
    /// [`ReassemblyError`]; the fragment is dropped.
    pub fn push_again<'a>(
        &mut self,
        now: Duration,
        sender: u64,
        packet: &LpPacketView<'a>,
        again: bool,
    ) -> Result<Option<Reassembled<'a>>, ReassemblyError> {
        self.expire(now);
        let Some(fragment) = packet.fragment else {
            return Ok(None);
        };
        if !packet.is_fragmented() {
            let header = packet.to_header();
            return Ok(Some(Reassembled { packet: fragment.into(), header, link_retransmitted: again }));
        }
        let result = self.push_fragment(now, sender, packet, fragment, again);
        if result.is_err() {
            self.stats.dropped_fragments += 1;
        }
        result
    }

    fn push_fragment<'a>(
        &mut self,
        now: Duration,
        sender: u64,
        packet: &LpPacketView<'a>,
        fragment: &[u8],
        again: bool,
    ) -> Result<Option<Reassembled<'a>>, ReassemblyError> {
        let (index, count) = (packet.frag_index.unwrap_or(0), packet.frag_count.unwrap_or(1));
        if index >= count {
            return Err(ReassemblyError::IndexOutOfRange { index, count });
        }
        if count > self.config.max_fragments as u64 {
            return Err(ReassemblyError::TooManyFragments(count));
        }
        let sequence = packet.sequence.ok_or(ReassemblyError::NoSequence)?;
        let key = (sender, sequence.wrapping_sub(index));
        // Both are below the bound just checked.
        let (index, count) = (index as usize, count as usize);

        let (known_bytes, known_cost, growth) = match self.partials.get(&key) {
            Some(partial) if partial.count != count => {
                self.abandon(key);
                return Err(ReassemblyError::CountMismatch);
            }
            Some(partial) if partial.has(index) => {
                return Err(ReassemblyError::Duplicate);
            }
            Some(partial) => (partial.bytes(), partial.cost(), partial.growth(index, fragment.len())),
            None if index == 0 => (0, 0, fragment.len()),
            None => (0, 0, PART + fragment.len()),
        };
        let header_bytes = if index == 0 { cost_of_header(packet) } else { 0 };
        let cost_with = |bytes: usize| known_cost.max(BOOKKEEPING) + header_bytes + bytes;
        // With the first there is memory for all, where there is as much: others are as long or little longer.
        let all = (count * fragment.len()).min(self.config.max_packet).max(fragment.len());
        let takes_all = index == 0 && cost_with(all) <= self.config.max_bytes;
        let (growth, reserve) = if takes_all { (all, all) } else { (growth, fragment.len()) };
        let cost = cost_with(growth);
        if known_bytes.saturating_add(fragment.len()) > self.config.max_packet || cost > self.config.max_bytes {
            self.abandon(key);
            return Err(ReassemblyError::TooLarge);
        }
        self.make_room(key, known_cost == 0, cost - known_cost);
        let partial = self.entry(now, key, count);
        let before = partial.cost();
        partial.congestion_mark = partial.congestion_mark.max(packet.congestion_mark);
        partial.link_retransmitted |= again;
        if index == 0 {
            partial.header = Some(packet.to_header());
            partial.header_bytes = header_bytes;
        }
        partial.put(index, fragment, reserve);
        let (after, complete) = (partial.cost(), partial.joined == count);
        self.bytes = self.bytes + after - before;
        Ok(if complete { self.complete(key) } else { None })
    }

    fn entry(&mut self, now: Duration, key: Key, count: usize) -> &mut Partial {
        let deadline = now.saturating_add(self.config.timeout);
        self.partials.entry(key).or_insert_with(|| {
            let arrival = self.arrivals;
            self.arrivals += 1;
            self.by_age.insert(arrival, (key, deadline));
            self.bytes += BOOKKEEPING;
            Partial::new(arrival, count)
        })
    }

    /// Drops the oldest packets other than `key` until `more` bytes, and `key` itself, fit.
    fn make_room(&mut self, key: Key, is_new: bool, more: usize) {
        let new = usize::from(is_new);
        while self.bytes + more > self.config.max_bytes || self.partials.len() + new > self.config.max_partials.max(1) {
            if !self.remove_oldest_except(Some(key)) {
                break;
            }
            self.stats.evicted += 1;
        }
    }

    fn remove_oldest_except(&mut self, keep: Option<Key>) -> bool {
        let oldest = self.by_age.values().find(|(key, _)| Some(*key) != keep).copied();
        oldest.is_some_and(|(key, _)| self.remove(key).is_some())
    }

    fn abandon(&mut self, key: Key) {
        if self.remove(key).is_some() {
            self.stats.abandoned += 1;
        }
    }

    fn remove(&mut self, key: Key) -> Option<Partial> {
        let partial = self.partials.remove(&key)?;
        self.by_age.remove(&partial.arrival);
        self.bytes -= partial.cost();
        Some(partial)
    }

    fn complete<'a>(&mut self, key: Key) -> Option<Reassembled<'a>> {
        let partial = self.remove(key)?;
        self.stats.reassembled += 1;
        let mut header = partial.header.unwrap_or_default();
        header.sequence = None;
        header.frag_index = None;
        header.frag_count = None;
        header.congestion_mark = partial.congestion_mark;
        Some(Reassembled { packet: partial.whole.into(), header, link_retransmitted: partial.link_retransmitted })
    }
}
