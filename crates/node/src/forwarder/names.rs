//! Maps names to numbers while they are in use.
//!
//! A flow's number stands for one of three kinds of name: the name of an object whose segments are numbered (then the
//! segment number is the second half of the [`NameId`]), a whole name that ends in anything else, and the name in an
//! Interest with CanBePrefix, which is separate because other Data answer it. A segment number is recognised only in
//! its shortest form, so that two names never share a number. A number is in use while a payload or a PIT entry refers
//! to it; then it is given to the next new name, with another generation.
//!
//! A name in an Interest with a ForwardingHint is separate from the same name with another one or with none, since it
//! is forwarded differently. The same Data answers all of them.

use super::MAX_COMPONENTS;
use crate::keyed::{HashKey, NumberHash};
use hashbrown::{HashMap, HashTable};
use ndnweir_core::ids::{FlowId, NameId};
use ndnweir_core::packet::{Packet, flags};
use ndnweir_wire::interest::delegations;
use ndnweir_wire::tlv::nni_len;
use ndnweir_wire::{Component, DataView, InterestBuilder, InterestView, NameView};
use siphasher::sip::SipHasher13;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hasher;
use std::time::Duration;

/// Names that a new one is compared with at most: more collisions do not occur by chance.
const MAX_PROBES: u32 = 128;

/// What a flow's name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Form {
    /// An object: the segment number follows.
    Segments,
    /// A whole name.
    Whole,
    /// A whole name in an Interest with CanBePrefix.
    Prefix,
}

/// The overhead of a flow in addition to the bytes of its name, and that of its place among the stored ones.
pub(super) const OVERHEAD: usize = size_of::<NameEntry>() + 32;

#[derive(Debug)]
struct NameEntry {
    form: Form,
    name: Box<[u8]>,
    /// Value of the ForwardingHint; empty if there is none.
    hint: Box<[u8]>,
    /// Of all three.
    hash: u64,
    uses: u32,
    generation: u32,
    /// Segments in the content store.
    stored: BTreeSet<u32>,
}

impl NameEntry {
    /// Bytes that it takes.
    fn cost(&self) -> usize {
        let hint = if self.hint.is_empty() { 0 } else { self.hint.len() + 2 * size_of::<(u64, u32)>() };
        self.name.len() + hint + OVERHEAD
    }

    /// Its place among the stored ones: an object and a whole name may be the same bytes.
    fn place(&self) -> Box<[u8]> {
        self.name.iter().copied().chain([self.form as u8]).collect()
    }
}

/// A name taken apart.
#[derive(Clone, Copy, Debug)]
pub(super) struct Split<'a> {
    form: Form,
    name: &'a [u8],
    segment: u32,
    hint: &'a [u8],
    /// Of form, name and hint.
    hash: u64,
}

/// The table.
#[derive(Debug)]
pub(super) struct Names {
    key: HashKey,
    flows: Vec<NameEntry>,
    free: Vec<u32>,
    index: HashTable<u32>,
    /// Flows with a ForwardingHint, by the hash of form and name.
    hinted: BTreeSet<(u64, u32)>,
    limit: usize,
    bytes: usize,
    /// Flows with Data in the content store, by name and form, which is in canonical order of their names.
    stored: BTreeMap<Box<[u8]>, FlowId>,
    /// Pending Interests with CanBePrefix, by number of components.
    prefixes: [u32; MAX_COMPONENTS + 1],
    /// How many of them there are.
    with_prefix: u32,
    /// Pending Interests for one Data by its digest, by the hash of the name without the digest. A collision only costs
    /// the computation of a digest that was not requested.
    digests: HashMap<u64, u32, NumberHash>,
    /// Names that the last new one was compared with.
    probes: Cell<u32>,
}

/// Takes the place of the form when names of digests are hashed.
const BEFORE_DIGEST: u8 = 255;

/// The hash of what a hasher has seen, of which the first `len` bytes are the name's.
fn finish(mut hasher: SipHasher13, form: u8, len: usize) -> u64 {
    hasher.write_u64((len as u64) << 8 | u64::from(form));
    hasher.finish()
}

fn hash(key: HashKey, form: u8, name: &[u8], hint: &[u8]) -> u64 {
    let mut hasher = key.names();
    hasher.write(name);
    if !hint.is_empty() {
        hasher.write(hint);
    }
    finish(hasher, form, name.len())
}

fn depth(name: &[u8]) -> usize {
    NameView::from_value(name).map_or(0, |name| name.len()).min(MAX_COMPONENTS)
}

/// The name without the digest that it ends in.
fn before_digest(form: Form, name: &[u8]) -> Option<&[u8]> {
    if form != Form::Whole {
        return None;
    }
    let name = NameView::from_value(name).ok()?;
    name.last()?.as_implicit_digest()?;
    Some(name.parent()?.as_bytes())
}

/// A name in an Interest without CanBePrefix, or of a Data, taken apart: form, bytes and segment.
fn parts(name: NameView<'_>) -> (Form, &[u8], u32) {
    let whole = (Form::Whole, name.as_bytes(), NameId::WHOLE);
    let Some(last) = name.last() else { return whole };
    let Some(number) = last.as_segment().filter(|&number| nni_len(number) == last.value().len()) else { return whole };
    match u32::try_from(number) {
        Ok(segment) if segment != NameId::WHOLE => {
            let len = name.as_bytes().len() - last.wire_len();
            (Form::Segments, &name.as_bytes()[..len], segment)
        }
        _ => whole,
    }
}

impl Names {
    /// At most `limit` flows.
    pub(super) fn new(limit: usize, key: HashKey) -> Names {
        Names {
            key,
            flows: Vec::new(),
            free: Vec::new(),
            index: HashTable::new(),
            hinted: BTreeSet::new(),
            limit,
            bytes: 0,
            stored: BTreeMap::new(),
            prefixes: [0; MAX_COMPONENTS + 1],
            with_prefix: 0,
            digests: HashMap::with_hasher(key.numbers(16)),
            probes: Cell::new(0),
        }
    }

    fn hashed<'a>(&self, (form, name, segment): (Form, &'a [u8], u32), hint: &'a [u8]) -> Split<'a> {
        Split { form, name, segment, hint, hash: hash(self.key, form as u8, name, hint) }
    }

    /// The name of a Data, or in an Interest without CanBePrefix, taken apart.
    pub(super) fn split<'a>(&self, name: NameView<'a>) -> Split<'a> {
        self.hashed(parts(name), &[])
    }

    /// The name in an Interest, taken apart. No Data is longer than a name with a digest at its end, so there
    /// CanBePrefix says nothing.
    pub(super) fn split_interest<'a>(&self, interest: &InterestView<'a>) -> Split<'a> {
        let (name, hint) = (interest.name(), interest.forwarding_hint_value());
        let digest = || name.last().is_some_and(|last| last.as_implicit_digest().is_some());
        if interest.can_be_prefix() && !digest() {
            return self.hashed((Form::Prefix, name.as_bytes(), NameId::WHOLE), hint);
        }
        self.hashed(parts(name), hint)
    }

    /// Bytes in use, overhead included.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Flows in use.
    pub(super) fn len(&self) -> usize {
        self.flows.len() - self.free.len()
    }

    /// The number of a name that is in use.
    pub(super) fn find(&self, split: Split<'_>) -> Option<NameId> {
        let mut probes = 0;
        let is = |&id: &u32| {
            probes += 1;
            let flow = &self.flows[id as usize];
            flow.hash == split.hash && flow.form == split.form && *flow.name == *split.name && *flow.hint == *split.hint
        };
        let found = self.index.find(split.hash, is).copied().map(FlowId);
        self.probes.set(probes);
        let flow = found?;
        Some(NameId { flow, segment: split.segment })
    }

    /// The same name without its hint.
    fn without_hint<'a>(&self, split: Split<'a>) -> Split<'a> {
        if split.hint.is_empty() { split } else { self.hashed((split.form, split.name, split.segment), &[]) }
    }

    /// The numbers of a name in use with any ForwardingHint.
    pub(super) fn hinted(&self, split: Split<'_>) -> impl Iterator<Item = NameId> {
        let range = (!self.hinted.is_empty()).then(|| {
            let hash = self.without_hint(split).hash;
            self.hinted.range((hash, 0)..=(hash, u32::MAX))
        });
        let is = move |id: &u32| {
            let flow = &self.flows[*id as usize];
            flow.form == split.form && *flow.name == *split.name
        };
        let ids = range.into_iter().flatten().map(|(_, id)| *id).filter(is);
        ids.map(move |id| NameId { flow: FlowId(id), segment: split.segment })
    }

    /// The number of a name, if it is in use, and then those of the same name with other hints or with none.
    pub(super) fn find_any_hint<'a>(&'a self, split: Split<'a>) -> impl Iterator<Item = NameId> + 'a {
        let without = (!split.hint.is_empty()).then(|| self.find(self.without_hint(split))).flatten();
        self.find(split).into_iter().chain(without).chain(self.hinted(split))
    }

    /// The number of a name, and whether its flow is new; none when the table is full, or there are too many names near
    /// its place. A new flow must be used, or returned with [`Names::discard`].
    pub(super) fn intern(&mut self, split: Split<'_>) -> Option<(NameId, bool)> {
        if let Some(name) = self.find(split) {
            return Some((name, false));
        }
        if self.len() >= self.limit || self.probes.get() > MAX_PROBES {
            return None;
        }
        let mut flow = NameEntry {
            form: split.form,
            name: split.name.into(),
            hint: split.hint.into(),
            hash: split.hash,
            uses: 0,
            generation: 0,
            stored: BTreeSet::new(),
        };
        self.bytes += flow.cost();
        let id = match self.free.pop() {
            Some(id) => {
                flow.generation = self.flows[id as usize].generation.wrapping_add(1);
                self.flows[id as usize] = flow;
                id
            }
            None => {
                self.flows.push(flow);
                (self.flows.len() - 1) as u32
            }
        };
        if !split.hint.is_empty() {
            self.hinted.insert((self.without_hint(split).hash, id));
        }
        let flows = &self.flows;
        self.index.insert_unique(split.hash, id, |&id| flows[id as usize].hash);
        Some((NameId { flow: FlowId(id), segment: split.segment }, true))
    }

    /// The name of a flow: for [`Form::Segments`] without the segment.
    pub(super) fn name(&self, flow: FlowId) -> &[u8] {
        &self.flows[flow.0 as usize].name
    }

    /// The value of the ForwardingHint of a flow; empty if there is none.
    pub(super) fn hint(&self, flow: FlowId) -> &[u8] {
        &self.flows[flow.0 as usize].hint
    }

    /// An Interest made from a name in use and what the node knows of one; none if no such Interest can be made,
    /// because its name says that it carries parameters.
    pub(super) fn interest(&self, packet: &Packet) -> Option<Vec<u8>> {
        let flow = self.flows.get(packet.name.flow.0 as usize).filter(|flow| flow.uses > 0)?;
        let mut name = NameView::from_value(&flow.name).ok()?.to_owned();
        if flow.form == Form::Segments {
            name.push(Component::segment(u64::from(packet.name.segment)).as_view());
        }
        if name.as_view().components().any(|component| component.as_parameters_digest().is_some()) {
            return None;
        }
        InterestBuilder::new(name.as_view())
            .can_be_prefix(flow.form == Form::Prefix)
            .must_be_fresh(packet.has(flags::MUST_BE_FRESH))
            .forwarding_hint(delegations(&flow.hint))
            .nonce(packet.nonce.to_be_bytes())
            .lifetime(Duration::from_millis(u64::from(packet.lifetime_ms)))
            .hop_limit(packet.hop_limit)
            .encode()
            .ok()
    }

    /// Distinguishes the names that have had one number.
    pub(super) fn generation(&self, flow: FlowId) -> u32 {
        self.flows.get(flow.0 as usize).map_or(0, |flow| flow.generation)
    }

    /// The flows in use that a route of `prefix` may affect: those whose name begins with it, and those with a hint.
    pub(super) fn under<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = FlowId> + 'a {
        let under = move |(_, flow): &(usize, &NameEntry)| {
            flow.uses > 0 && (!flow.hint.is_empty() || flow.name.starts_with(prefix))
        };
        self.flows.iter().enumerate().filter(under).map(|(id, _)| FlowId(id as u32))
    }

    /// One more use of a flow.
    pub(super) fn retain(&mut self, flow: FlowId) {
        self.flows[flow.0 as usize].uses += 1;
    }

    /// One use fewer; the last one frees the number.
    pub(super) fn release(&mut self, id: FlowId) {
        let flow = &mut self.flows[id.0 as usize];
        debug_assert!(flow.uses > 0, "a name is released more often than it is retained");
        flow.uses = flow.uses.saturating_sub(1);
        self.discard(id);
    }

    /// Frees the number of a flow that has no use.
    pub(super) fn discard(&mut self, id: FlowId) {
        let flow = &mut self.flows[id.0 as usize];
        if flow.uses > 0 {
            return;
        }
        let cost = flow.cost();
        let (form, name, hint) = (flow.form, std::mem::take(&mut flow.name), std::mem::take(&mut flow.hint));
        if let Ok(entry) = self.index.find_entry(flow.hash, |&other| other == id.0) {
            entry.remove();
            self.bytes -= cost;
            self.free.push(id.0);
            if !hint.is_empty() {
                self.hinted.remove(&(hash(self.key, form as u8, &name, &[]), id.0));
            }
        }
        debug_assert!(self.flows[id.0 as usize].stored.is_empty(), "{form:?} {name:?} is still stored");
    }

    /// A PIT entry for this name begins.
    pub(super) fn begin(&mut self, name: NameId) {
        self.retain(name.flow);
        let NameEntry { form, name, .. } = &self.flows[name.flow.0 as usize];
        if *form == Form::Prefix {
            self.prefixes[depth(name)] += 1;
            self.with_prefix += 1;
        } else if let Some(before) = before_digest(*form, name) {
            *self.digests.entry(hash(self.key, BEFORE_DIGEST, before, &[])).or_insert(0) += 1;
        }
    }

    /// The PIT entry for this name has ended.
    pub(super) fn end(&mut self, name: NameId) {
        let flow = name.flow;
        let NameEntry { form, name, .. } = &self.flows[flow.0 as usize];
        if *form == Form::Prefix {
            self.prefixes[depth(name)] -= 1;
            self.with_prefix -= 1;
        } else if let Some(before) = before_digest(*form, name) {
            let place = hash(self.key, BEFORE_DIGEST, before, &[]);
            if let Some(count) = self.digests.get_mut(&place) {
                *count -= 1;
                if *count == 0 {
                    self.digests.remove(&place);
                }
            }
        }
        self.release(flow);
    }

    /// The content store has Data of this name.
    pub(super) fn store(&mut self, name: NameId) {
        let flow = &mut self.flows[name.flow.0 as usize];
        if flow.stored.is_empty() {
            self.stored.insert(flow.place(), name.flow);
            self.bytes += flow.name.len() + OVERHEAD;
        }
        flow.stored.insert(name.segment);
    }

    /// The content store no longer has it.
    pub(super) fn evict(&mut self, name: NameId) {
        let flow = &mut self.flows[name.flow.0 as usize];
        if flow.stored.remove(&name.segment) && flow.stored.is_empty() {
            self.stored.remove(&flow.place());
            self.bytes -= flow.name.len() + OVERHEAD;
        }
    }

    /// Stored names that begin with `prefix`, in canonical order but for the segments of objects, which come first.
    pub(super) fn stored_under<'a>(&'a self, prefix: &'a [u8]) -> impl Iterator<Item = NameId> + 'a {
        let from = (std::ops::Bound::Included(prefix), std::ops::Bound::Unbounded);
        let flows = self.stored.range::<[u8], _>(from).take_while(move |(name, _)| name.starts_with(prefix));
        flows.flat_map(|(_, &flow)| {
            self.flows[flow.0 as usize].stored.iter().map(move |&segment| NameId { flow, segment })
        })
    }

    /// Pushes the numbers under which Interests that this Data answers may be pending, beside its own name: its own
    /// name with a hint, the prefixes of its name that were requested with CanBePrefix, and its name with its digest.
    ///
    /// The hash of a prefix continues from that of the next shorter one, so that this takes as long as the name has
    /// bytes, and what is found.
    pub(super) fn other_names_satisfied_by(&self, data: &DataView<'_>, own: Split<'_>, out: &mut Vec<NameId>) {
        let bytes = data.name().as_bytes();
        out.extend(self.hinted(own));
        if self.with_prefix > 0 {
            let (mut hasher, mut hashed, mut end) = (self.key.names(), 0, 0);
            let components = data.name().components().map(|component| component.wire_len());
            for (len, &pending) in components.zip(&self.prefixes[1..]) {
                end += len;
                if pending > 0 {
                    hasher.write(&bytes[hashed..end]);
                    hashed = end;
                    let (form, segment) = (Form::Prefix, NameId::WHOLE);
                    let hash = finish(hasher, form as u8, end);
                    out.extend(self.find_any_hint(Split { form, name: &bytes[..end], segment, hint: &[], hash }));
                }
            }
        }
        if !self.digests.is_empty() && self.digests.contains_key(&hash(self.key, BEFORE_DIGEST, bytes, &[])) {
            let full = data.full_name();
            out.extend(self.find_any_hint(self.hashed((Form::Whole, full.as_bytes(), NameId::WHOLE), &[])));
        }
    }
}

#[cfg(test)]
mod tests;
