//! Whether a UDP peer is where its datagrams say they come from. An address can be forged; what is sent to it then
//! reaches a host that never sent an Interest. A neighbour with link reliability proves itself by acknowledging a
//! TxSequence, which begins with a random number. Others are recognised by what they request again: some of the Data
//! for them are withheld at random, and a peer that requests these again, and not those that were sent, has seen which
//! ones arrived.

use ndnweir_core::ctx::Rng;
use ndnweir_wire::{InterestView, LpPacketView, NameView, tlv};
use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};

/// Bytes that a peer gets before anything is withheld, so that short exchanges are not affected.
const FREE_BYTES: usize = 32 << 10;
/// One of this many Data is withheld.
const WITHHELD_OF: u32 = 4;
/// A peer that requests this many withheld Data again is proved,
const HITS: u32 = 12;
/// unless it has requested more than this many again that were sent. A blind guess is right once in four; that 12
/// guesses are right before three are wrong has a chance of 5 in a million.
const MISSES: u32 = 2;
/// Names remembered.
const MAX_WITHHELD: usize = 64;
const MAX_SENT: usize = 512;

/// What an Interest shows about its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    /// Nothing.
    None,
    /// It requests again what was withheld.
    Hit,
    /// It has done so often enough.
    Proved,
}

/// The test of one peer.
#[derive(Debug)]
pub(super) struct Challenge {
    hash: RandomState,
    rng: Rng,
    bytes: usize,
    withheld: VecDeque<u64>,
    sent: VecDeque<u64>,
    /// Requested again after they were withheld.
    released: VecDeque<u64>,
    hits: u32,
    misses: u32,
}

impl Default for Challenge {
    fn default() -> Challenge {
        let hash = RandomState::new();
        let rng = Rng::derive(hash.hash_one(0_u8), &[]);
        let (withheld, sent, released) = (VecDeque::new(), VecDeque::new(), VecDeque::new());
        Challenge { hash, rng, bytes: 0, withheld, sent, released, hits: 0, misses: 0 }
    }
}

impl Challenge {
    /// Whether a Data, of which this is the first frame, is to be withheld. One that was requested again is not.
    pub(super) fn withholds(&mut self, frame: &[u8], bytes: usize) -> bool {
        self.bytes += bytes;
        let Some(name) = data_name(frame).filter(|_| self.bytes > FREE_BYTES) else { return false };
        let name = self.hash.hash_one(name.as_bytes());
        if [&self.sent, &self.withheld, &self.released].iter().any(|list| list.contains(&name)) {
            return false;
        }
        let withhold = self.rng.bits().is_multiple_of(WITHHELD_OF);
        match withhold {
            true => remember(&mut self.withheld, name, MAX_WITHHELD),
            false => remember(&mut self.sent, name, MAX_SENT),
        }
        withhold
    }

    /// How often it has requested again what was withheld, and hardly anything else.
    pub(super) fn signs(&self) -> u32 {
        self.hits
    }

    /// A frame has come from the peer.
    pub(super) fn received(&mut self, frame: &[u8]) -> Sign {
        if self.withheld.is_empty() && self.sent.is_empty() {
            return Sign::None;
        }
        let Some(name) = interest_name(frame, |name| self.hash.hash_one(name)) else { return Sign::None };
        if let Some(at) = self.withheld.iter().position(|withheld| *withheld == name) {
            self.withheld.remove(at);
            // It is sent now, if there is room; requesting it again proves nothing.
            remember(&mut self.released, name, MAX_WITHHELD);
            self.hits += 1;
            return if self.hits >= HITS { Sign::Proved } else { Sign::Hit };
        }
        if self.sent.contains(&name) {
            self.misses += 1;
            if self.misses > MISSES {
                *self = Challenge { bytes: self.bytes, ..Challenge::default() };
            }
        }
        Sign::None
    }
}

/// The oldest are replaced.
fn remember(list: &mut VecDeque<u64>, name: u64, most: usize) {
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(name);
}

/// What an Interest requests, without an implicit digest.
fn interest_name(frame: &[u8], hash: impl FnOnce(&[u8]) -> u64) -> Option<u64> {
    let view = LpPacketView::decode(frame).ok()?;
    let interest = InterestView::decode_unchecked_digest(view.fragment.filter(|_| view.nack.is_none())?).ok()?;
    let name = interest.name();
    let whole = name.last().is_some_and(|last| last.as_implicit_digest().is_some());
    let name = if whole { name.parent()? } else { name };
    Some(hash(name.as_bytes()))
}

/// The name of the Data that begins in a frame.
fn data_name(frame: &[u8]) -> Option<NameView<'_>> {
    let view = LpPacketView::decode(frame).ok()?;
    let fragment = view.fragment.filter(|_| view.frag_index.unwrap_or(0) == 0)?;
    if fragment.first() != Some(&(tlv::types::DATA as u8)) {
        return None;
    }
    // A first fragment is not a whole packet: only its TLV headers and the name are read.
    let name = fragment.get(1 + var_number_len(*fragment.get(1)?)..)?;
    if name.first() != Some(&(tlv::types::NAME as u8)) {
        return None;
    }
    let (head, len) = match *name.get(1)? {
        len @ 0..=252 => (2, usize::from(len)),
        253 => (4, usize::from(u16::from_be_bytes([*name.get(2)?, *name.get(3)?]))),
        _ => return None,
    };
    NameView::from_value(name.get(head..head + len)?).ok()
}

fn var_number_len(first: u8) -> usize {
    match first {
        0..=252 => 1,
        253 => 3,
        254 => 5,
        255 => 9,
    }
}

/// Whether a frame carries (a part of) a Data.
pub(super) fn carries_data(frame: &[u8]) -> bool {
    let Ok(view) = LpPacketView::decode(frame) else { return false };
    let begins = view.fragment.and_then(|fragment| fragment.first().copied());
    view.frag_index.unwrap_or(0) > 0 || begins == Some(tlv::types::DATA as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_wire::lp::Fragmenter;
    use ndnweir_wire::signature::DigestSha256;
    use ndnweir_wire::{DataBuilder, InterestBuilder, LpHeader, Name};

    fn name(number: usize) -> Name {
        format!("/a/seg={number}").parse().unwrap()
    }

    fn interest(number: usize) -> Vec<u8> {
        InterestBuilder::new(name(number).as_view()).nonce([1, 2, 3, 4]).encode().unwrap()
    }

    fn data(number: usize) -> Vec<u8> {
        let data = DataBuilder::new(name(number).as_view()).content(&[7; 8000]).sign(&DigestSha256).unwrap();
        Fragmenter::new(1400, 1).fragment(&LpHeader::default(), &data).unwrap()[0].clone()
    }

    /// How many Data it takes until a peer is proved that repeats its Interests as `again` says, and which Data were
    /// withheld.
    fn proved_after(again: impl Fn(usize, bool) -> bool, most: usize) -> Option<usize> {
        let mut challenge = Challenge::default();
        for number in 0..most {
            let withheld = challenge.withholds(&data(number), 8200);
            if again(number, withheld) {
                if challenge.received(&interest(number)) == Sign::Proved {
                    return Some(number);
                }
                let again = challenge.withholds(&data(number), 8200);
                assert!(!(withheld && again), "a repeated request is answered");
            }
        }
        None
    }

    #[test]
    fn a_peer_that_requests_withheld_data_again_is_proved_soon() {
        for _ in 0..20 {
            assert!(proved_after(|_, withheld| withheld, 400).is_some());
            // One in fifty is lost on the path as well.
            assert!(proved_after(|number, withheld| withheld || number % 50 == 49, 2000).is_some());
        }
    }

    #[test]
    fn who_does_not_see_what_came_is_not_proved() {
        assert_eq!(proved_after(|_, _| false, 2000), None);
        // 2000 blind guesses are some 500 tries of which each is right with 5 in a million: one series in 400 is.
        let proved = |every: usize| (0..3).filter(|_| proved_after(|n, _| n % every == 0, 2000).is_some()).count();
        assert!(proved(1) <= 1 && proved(4) <= 1);
    }

    #[test]
    fn short_exchanges_are_left_alone() {
        for _ in 0..50 {
            let mut challenge = Challenge::default();
            assert!((0..3).all(|number| !challenge.withholds(&data(number), 8200)));
        }
    }

    #[test]
    fn the_name_is_found_in_whole_data_and_in_first_fragments_and_nonsense_is_none() {
        let whole = DataBuilder::new(name(7).as_view()).sign(&DigestSha256).unwrap();
        assert_eq!(data_name(&whole).map(|name| name.to_owned()), Some(name(7)));
        assert_eq!(data_name(&data(7)).map(|name| name.to_owned()), Some(name(7)));
        assert!(carries_data(&whole) && carries_data(&data(7)) && !carries_data(&interest(7)));
        for len in 0..whole.len() {
            let _ = (data_name(&whole[..len]), carries_data(&whole[..len]));
        }
        for len in 0..100 {
            let header =
                LpHeader { frag_index: Some(0), frag_count: Some(2), sequence: Some(1), ..LpHeader::default() };
            let _ = data_name(&header.encode(Some(&whole[..len.min(whole.len())])));
        }
    }
}
