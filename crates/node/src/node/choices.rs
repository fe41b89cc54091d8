//! Strategy choices: added, changed and removed while traffic flows.

use super::Node;
use super::extras::Extras;
use crate::error::StrategyError;
use crate::flow_prefixes::FlowPrefixes;
use crate::strategies::{StrategyChoiceId, StrategyInstance};
use crate::streams;
use ndnweir_core::ctx::Ctx;
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::registry::StrategyParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::strategy::Strategy;
use ndnweir_core::units::Time;

impl Node {
    /// Adds a strategy choice. `shaped` says whether its Interests go through the faces' shapers;
    /// [`Node::assign_strategy`] then assigns names to it. The choices of the scheme exist from the start.
    ///
    /// # Errors
    /// If there are too many, or it needs more header fields than packets carry; nothing has changed then.
    pub fn choose(
        &mut self,
        now: Time,
        part: &ComponentChoice<StrategyParams>,
        shaped: bool,
    ) -> Result<StrategyChoiceId, StrategyError> {
        let instance = self.strategy_instance(part, shaped)?;
        let choice = self.strategies.add(instance).ok_or(StrategyError::TooMany)?;
        self.note_parts();
        self.initialise_strategy(now, choice);
        Ok(choice)
    }

    /// Changes the strategy of a choice; nothing happens if it is the same. What is pending stays with the former one
    /// until it is answered, ends, or is requested again.
    ///
    /// # Errors
    /// As [`Node::choose`], or if there is no such choice.
    pub fn replace_strategy(
        &mut self,
        now: Time,
        choice: StrategyChoiceId,
        part: &ComponentChoice<StrategyParams>,
        shaped: bool,
    ) -> Result<(), StrategyError> {
        match self.strategies.get(choice) {
            None => return Err(StrategyError::UnknownChoice),
            Some(present) if present.is(part, shaped) => return Ok(()),
            Some(_) => {}
        }
        let instance = self.strategy_instance(part, shaped)?;
        self.strategies.replace(choice, instance, &self.pit.slots());
        self.note_parts();
        self.initialise_strategy(now, choice);
        Ok(())
    }

    /// Removes a choice; its names have that of the root until [`Node::assign_strategy`] assigns another. The root
    /// stays.
    pub fn remove_strategy(&mut self, choice: StrategyChoiceId) {
        self.strategies.remove(choice, &self.pit.slots());
        self.note_parts();
    }

    /// Assigns the names of a flow to a choice, from their next Interest on.
    pub fn assign_strategy(&mut self, flow: FlowId, choice: StrategyChoiceId) {
        if self.strategies.several() && flow.0 < FlowPrefixes::MAX_FLOWS && self.strategies.get(choice).is_some() {
            self.strategies.assign(flow, choice);
        }
    }

    fn strategy_instance(
        &mut self,
        part: &ComponentChoice<StrategyParams>,
        shaped: bool,
    ) -> Result<StrategyInstance, StrategyError> {
        if !self.strategies.have_room() {
            return Err(StrategyError::TooMany);
        }
        let mut layout = self.plan.layout.clone();
        for field in part.needs() {
            layout.slot(field).ok_or(StrategyError::TooManyFields(part.name()))?;
        }
        let strategy = part.build(&mut layout);
        if layout.iter().next().is_some() {
            self.pit.carry_fields();
        }
        self.extras.set(Extras::STAMPS, super::stamps_data(&layout));
        self.layout = layout.clone();
        self.plan.layout = layout;
        let rng = self.plan.stream(streams::STRATEGY, self.strategies.next_stream());
        Ok(StrategyInstance::new(strategy, rng, part.clone(), shaped))
    }

    /// Notifies a new strategy of all faces and next hops.
    fn initialise_strategy(&mut self, now: Time, choice: StrategyChoiceId) {
        let Some(StrategyInstance { strategy, rng, .. }) = self.strategies.get_mut(choice) else { return };
        for (number, face) in self.faces.iter().enumerate() {
            strategy.on_face(FaceId(number as u16), face.egress.is_local(), face.egress.is_up());
        }
        for prefix in (0..self.fib.prefixes()).map(|prefix| PrefixId(prefix as u32)) {
            let mut ctx = Ctx { now, rng: &mut *rng, trace: &mut self.trace };
            strategy.on_next_hops(prefix, self.fib.hops(prefix), &mut ctx);
        }
    }

    /// A pending Interest that is requested again is transferred to the present strategy of its name. For the former
    /// one it timed out.
    #[cold]
    pub(super) fn transfer_pending(&mut self, now: Time, slot: u32, prefix: PrefixId) {
        let flow = self.pit.name(slot).flow;
        if self.strategies.has_moved(slot, flow) {
            self.notify_timeout(now, slot, prefix);
            self.pit.set_note(slot, 0);
            self.strategies.transfer(slot, flow);
        }
    }
}
