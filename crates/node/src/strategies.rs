//! The strategies of a node: one for all names, and one more for each choice that names have of their own.
//!
//! Each has its own state and random stream for its names. A pending Interest belongs to the strategy under which it
//! began, so that a strategy that counts what is in flight is notified of its end, until its name is requested again:
//! then it is transferred to the present strategy of the name. A strategy that is replaced or removed stays until no
//! pending or held Interest belongs to it. With a single strategy all this is a comparison with zero; the rest is kept
//! out of the pipelines.

use ndnweir_core::ctx::{Ctx, Rng, Trace};
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::ids::FlowId;
use ndnweir_core::registry::{AnyStrategy, StrategyParams};
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::strategy::{Released, Strategy};
use ndnweir_core::units::Time;
use ndnweir_state::{State as _, Writer};

/// The most strategies in addition to the first, those to be removed included.
const MAX_OTHERS: usize = 127;

/// Names that have one choice in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StrategyChoiceId(pub(crate) u8);

impl StrategyChoiceId {
    /// All names that have no choice of their own.
    pub const ROOT: StrategyChoiceId = StrategyChoiceId(0);

    /// The n-th choice of a node's scheme, as [`ndnweir_core::scheme::Scheme::choice_for_name`] counts; 0 is the root.
    pub fn of_scheme(index: usize) -> StrategyChoiceId {
        StrategyChoiceId(u8::try_from(index).unwrap_or(0))
    }
}

/// A strategy with what belongs to it.
#[derive(ndnweir_state::State)]
#[repr(C)]
pub(crate) struct StrategyInstance {
    pub(crate) strategy: AnyStrategy,
    pub(crate) rng: Rng,
    /// Interests that it holds and has not released.
    held: u64,
    /// See [`Strategy::watches_data`].
    watches_data: bool,
    /// Whether its Interests go through shapers.
    shaped: bool,
    /// What it is built from, after a crash again.
    #[state(skip)]
    part: ComponentChoice<StrategyParams>,
    /// Pending Interests that still belong to it, once it has no names any more.
    leaving: Option<usize>,
}

impl StrategyInstance {
    pub(crate) fn new(
        strategy: AnyStrategy,
        rng: Rng,
        part: ComponentChoice<StrategyParams>,
        shaped: bool,
    ) -> StrategyInstance {
        let watches_data = strategy.watches_data();
        StrategyInstance { strategy, rng, part, watches_data, shaped, held: 0, leaving: None }
    }

    /// Another strategy in its place, with the same random stream.
    pub(crate) fn set_strategy(&mut self, strategy: AnyStrategy) {
        self.watches_data = strategy.watches_data();
        self.strategy = strategy;
    }

    pub(crate) fn is(&self, part: &ComponentChoice<StrategyParams>, shaped: bool) -> bool {
        self.part == *part && self.shaped == shaped
    }
}

/// The owner of a pending Interest, and whether it is shaped, which it stays.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Owner {
    id: u8,
    shaped: bool,
}

/// All strategies of a node.
#[derive(ndnweir_state::State)]
#[repr(C)]
pub(crate) struct Strategies {
    /// Those beside the first, by number less one; empty while the first has all names.
    #[state(flat)]
    others: Vec<Option<Box<StrategyInstance>>>,
    /// What all hold together.
    held: u64,
    first: StrategyInstance,
    /// By flow, the choice of its names; those beyond its end have none of their own.
    by_flow: Vec<u8>,
    /// By PIT slot; those beyond its end are the first's.
    by_slot: Vec<Owner>,
    /// How many were made, for their random streams.
    made: u64,
}

impl Strategies {
    pub(crate) fn new(first: StrategyInstance) -> Strategies {
        Strategies { first, others: Vec::new(), by_flow: Vec::new(), by_slot: Vec::new(), held: 0, made: 1 }
    }

    /// Writes what the strategies themselves keep.
    pub(crate) fn save_own(&self, to: &mut Writer) {
        let others = self.others.iter().flatten().map(|other| &**other);
        std::iter::once(&self.first).chain(others).for_each(|instance| instance.strategy.save(to));
    }

    /// The number of the next one's random stream.
    pub(crate) fn next_stream(&mut self) -> u64 {
        self.made += 1;
        self.made - 1
    }

    /// Whether there are others than the first.
    #[inline(always)]
    pub(crate) fn several(&self) -> bool {
        !self.others.is_empty()
    }

    /// The strategy of new Interests of a flow.
    #[inline(always)]
    pub(crate) fn of(&mut self, flow: FlowId) -> &mut StrategyInstance {
        if self.others.is_empty() { &mut self.first } else { self.one_of(flow) }
    }

    #[cold]
    #[inline(never)]
    fn one_of(&mut self, flow: FlowId) -> &mut StrategyInstance {
        let id = self.chosen(flow);
        self.by_id(id)
    }

    /// The strategy that a pending Interest belongs to.
    #[inline(always)]
    pub(crate) fn at(&mut self, slot: u32) -> &mut StrategyInstance {
        if self.others.is_empty() { &mut self.first } else { self.one_at(slot) }
    }

    #[cold]
    #[inline(never)]
    fn one_at(&mut self, slot: u32) -> &mut StrategyInstance {
        let id = self.owner(slot).id;
        self.by_id(id)
    }

    /// Whether a pending Interest goes through shapers, where there are any.
    #[inline(always)]
    pub(crate) fn shapes(&self, slot: u32) -> bool {
        if self.others.is_empty() { self.first.shaped } else { self.owner(slot).shaped }
    }

    /// Whether any of them may want to be woken.
    pub(crate) fn wake(&self) -> bool {
        self.first.strategy.wakes() || self.others.iter().flatten().any(|other| other.strategy.wakes())
    }

    /// Whether there is only one, which takes the cheapest next hop.
    pub(crate) fn take_cheapest(&self) -> bool {
        self.others.is_empty() && self.first.strategy.takes_cheapest()
    }

    /// Whether any of them wants to be told of Data.
    pub(crate) fn watch_data(&self) -> bool {
        // Of several one usually does.
        !self.others.is_empty() || self.first.watches_data
    }

    /// Whether one of them may mark what came without a mark.
    pub(crate) fn mark_themselves(&self) -> bool {
        !self.others.is_empty() || self.first.strategy.marks_itself()
    }

    fn chosen(&self, flow: FlowId) -> u8 {
        self.by_flow.get(flow.0 as usize).copied().unwrap_or(0)
    }

    #[cold]
    #[inline(never)]
    fn owner(&self, slot: u32) -> Owner {
        self.by_slot.get(slot as usize).copied().unwrap_or(Owner { id: 0, shaped: self.first.shaped })
    }

    fn set_owner(&mut self, slot: u32, owner: Owner) {
        let none = Owner { id: 0, shaped: self.first.shaped };
        let slot = slot as usize;
        if slot >= self.by_slot.len() {
            self.by_slot.resize(slot + 1, none);
        }
        self.by_slot[slot] = owner;
    }

    fn by_id(&mut self, id: u8) -> &mut StrategyInstance {
        let other = usize::from(id).checked_sub(1).and_then(|place| self.others.get_mut(place)?.as_deref_mut());
        other.unwrap_or(&mut self.first)
    }

    /// One by its choice; none if there is no such choice (any more).
    pub(crate) fn get(&self, choice: StrategyChoiceId) -> Option<&StrategyInstance> {
        let found = match usize::from(choice.0).checked_sub(1) {
            None => Some(&self.first),
            Some(place) => self.others.get(place)?.as_deref(),
        };
        found.filter(|instance| instance.leaving.is_none())
    }

    /// As [`Strategies::get`].
    pub(crate) fn get_mut(&mut self, choice: StrategyChoiceId) -> Option<&mut StrategyInstance> {
        self.get(choice)?;
        Some(self.by_id(choice.0))
    }

    /// The one of the root.
    pub(crate) fn root_mut(&mut self) -> &mut StrategyInstance {
        &mut self.first
    }

    /// All, with their numbers.
    fn numbered(&mut self) -> impl Iterator<Item = (u8, &mut StrategyInstance)> {
        let others = self.others.iter_mut().zip(1..).filter_map(|(other, id)| Some((id, other.as_deref_mut()?)));
        std::iter::once((0, &mut self.first)).chain(others)
    }

    /// All, in order of their numbers.
    pub(crate) fn each(&mut self) -> impl Iterator<Item = &mut StrategyInstance> {
        self.numbered().map(|(_, instance)| instance)
    }

    /// Whether any sends what is pending to new next hops.
    pub(crate) fn any_sends_pending(&self) -> bool {
        let sends = |instance: &StrategyInstance| instance.strategy.sends_pending_to_new_hops();
        sends(&self.first) || self.others.iter().flatten().any(|other| sends(other))
    }

    /// When the first of them must be woken.
    pub(crate) fn next_wake(&self) -> Time {
        let first = self.first.strategy.next_wake();
        if self.others.is_empty() { first } else { first.min(self.next_wake_of_others()) }
    }

    #[cold]
    #[inline(never)]
    fn next_wake_of_others(&self) -> Time {
        self.others.iter().flatten().map(|other| other.strategy.next_wake()).min().unwrap_or(Time::NEVER)
    }

    /// Whether any holds Interests.
    #[inline(always)]
    pub(crate) fn holds(&self) -> bool {
        self.held > 0
    }

    /// The owner of a pending Interest holds it.
    pub(crate) fn hold(&mut self, slot: u32) {
        self.at(slot).held += 1;
        self.held += 1;
    }

    /// The next Interest that any of them releases, and its owner.
    pub(crate) fn release(&mut self, now: Time, trace: &mut Trace) -> Option<(StrategyChoiceId, Released)> {
        let (id, held, released) = self.numbered().find_map(|(id, instance)| {
            let mut ctx = Ctx { now, rng: &mut instance.rng, trace: &mut *trace };
            let released = instance.strategy.release(&mut ctx)?;
            let held = released.held && instance.held > 0;
            instance.held -= u64::from(held);
            Some((id, held, released))
        })?;
        self.held -= u64::from(held);
        if self.several() {
            self.remove_if_unused(id);
        }
        Some((StrategyChoiceId(id), released))
    }

    /// Whether a pending Interest belongs to the strategy of a choice.
    pub(crate) fn is_of(&self, slot: u32, choice: StrategyChoiceId) -> bool {
        self.others.is_empty() || self.owner(slot).id == choice.0
    }

    /// An Interest is pending from now on.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin(&mut self, slot: u32, flow: FlowId) {
        let id = self.chosen(flow);
        let shaped = self.by_id(id).shaped;
        self.set_owner(slot, Owner { id, shaped });
    }

    /// An Interest is no longer pending.
    #[cold]
    #[inline(never)]
    pub(crate) fn end(&mut self, slot: u32) {
        let id = self.owner(slot).id;
        if let Some(left) = &mut self.by_id(id).leaving {
            *left = left.saturating_sub(1);
        }
        self.remove_if_unused(id);
    }

    /// Whether the name of a pending Interest has another strategy now.
    pub(crate) fn has_moved(&self, slot: u32, flow: FlowId) -> bool {
        self.owner(slot).id != self.chosen(flow)
    }

    /// Transfers a pending Interest to the present strategy of its name.
    pub(crate) fn transfer(&mut self, slot: u32, flow: FlowId) {
        let (Owner { shaped, .. }, id) = (self.owner(slot), self.chosen(flow));
        self.end(slot);
        if self.several() {
            self.set_owner(slot, Owner { id, shaped });
        }
    }

    /// Assigns the names of a flow to a choice.
    pub(crate) fn assign(&mut self, flow: FlowId, choice: StrategyChoiceId) {
        let flow = flow.0 as usize;
        if flow < self.by_flow.len() {
            self.by_flow[flow] = choice.0;
        } else if choice != StrategyChoiceId::ROOT {
            self.by_flow.resize(flow + 1, 0);
            self.by_flow[flow] = choice.0;
        }
    }

    /// The number of one more.
    fn vacant(&self) -> Option<u8> {
        let free = self.others.iter().position(Option::is_none).unwrap_or(self.others.len());
        (free < MAX_OTHERS).then_some(free as u8 + 1)
    }

    /// Whether there is room for one more.
    pub(crate) fn have_room(&self) -> bool {
        self.vacant().is_some()
    }

    fn put(&mut self, id: u8, instance: StrategyInstance) {
        let place = usize::from(id) - 1;
        if place >= self.others.len() {
            self.others.resize_with(place + 1, || None);
        }
        self.others[place] = Some(Box::new(instance));
    }

    /// Adds one, which has no names yet; none if there is no room.
    pub(crate) fn add(&mut self, instance: StrategyInstance) -> Option<StrategyChoiceId> {
        let id = self.vacant()?;
        self.put(id, instance);
        Some(StrategyChoiceId(id))
    }

    /// Another one for the names of a choice; what is `pending` stays with the former. Whether there was room for both.
    pub(crate) fn replace(&mut self, choice: StrategyChoiceId, instance: StrategyInstance, pending: &[u32]) -> bool {
        let Some(id) = self.vacant().filter(|_| self.get(choice).is_some()) else { return false };
        let former = std::mem::replace(self.by_id(choice.0), instance);
        let shaped = former.shaped;
        self.put(id, former);
        for &slot in pending.iter().filter(|&&slot| self.owner(slot).id == choice.0).collect::<Vec<_>>() {
            // A slot without an owner of its own was the former's, shaped as that was.
            let owner = self.by_slot.get(slot as usize).copied().unwrap_or(Owner { id, shaped });
            self.set_owner(slot, Owner { id, ..owner });
        }
        self.retire(id, pending);
        true
    }

    /// The names of a choice, never the root, have that of the root until they are given another.
    pub(crate) fn remove(&mut self, choice: StrategyChoiceId, pending: &[u32]) {
        if choice != StrategyChoiceId::ROOT && self.get(choice).is_some() {
            self.by_flow.iter_mut().filter(|id| **id == choice.0).for_each(|id| *id = 0);
            self.retire(choice.0, pending);
        }
    }

    fn retire(&mut self, id: u8, pending: &[u32]) {
        let left = pending.iter().filter(|&&slot| self.owner(slot).id == id).count();
        self.by_id(id).leaving = Some(left);
        self.remove_if_unused(id);
    }

    /// Removes one that has no names and no Interests left.
    fn remove_if_unused(&mut self, id: u8) {
        let Some(Some(other)) = usize::from(id).checked_sub(1).map(|place| self.others.get_mut(place)) else { return };
        if other.as_ref().is_none_or(|instance| instance.leaving != Some(0) || instance.held > 0) {
            return;
        }
        *other = None;
        while self.others.last().is_some_and(Option::is_none) {
            self.others.pop();
        }
        if self.others.is_empty() {
            self.by_flow.clear();
            self.by_slot.clear();
        }
    }

    /// Builds all again after a crash, in which all pending Interests were lost. Their random streams continue.
    pub(crate) fn rebuild(&mut self, layout: &FieldLayout) {
        self.held = 0;
        self.by_slot.clear();
        for instance in self.each() {
            instance.held = 0;
            instance.leaving = instance.leaving.map(|_| 0);
            instance.set_strategy(instance.part.build(&mut layout.clone()));
        }
        (1..=self.others.len() as u8).for_each(|id| self.remove_if_unused(id));
    }

    /// A shaper was installed from outside the registry.
    pub(crate) fn shape_root(&mut self) {
        self.first.shaped = true;
    }
}
