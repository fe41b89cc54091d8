//! What flows add to what a link counts, each by itself, in a table of fixed size.

use crate::ids::FlowId;

const PLACES: usize = 256;

/// A flow's part of the flows of a link: of all, and of those that the link holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, ndnweir_state::Value)]
pub(super) struct Part {
    pub(super) flows: f64,
    pub(super) bound: f64,
}

/// Parts by flow. Numbers of flows follow each other, so that up to 256 have a place of their own; of those that share one
/// none is taken for more than a flow. A link without flows has no table.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    /// A flow adds this.
    pub(super) fn add(&mut self, flow: FlowId, flows: f64, bound: f64) {
        if self.0.is_empty() {
            self.0 = vec![Part::default(); PLACES];
        }
        let part = &mut self.0[place(flow)];
        part.flows += flows;
        part.bound += bound;
    }

    /// What a flow has added of late, and no more than a whole flow.
    pub(super) fn of(&self, flow: FlowId) -> Part {
        let Part { flows, bound } = self.0.get(place(flow)).copied().unwrap_or_default();
        Part { flows: flows.min(1.0), bound: bound.min(1.0) }
    }

    /// A slot ends, and what was counted before loses this part of itself.
    pub(super) fn fade(&mut self, gain: f64) {
        let mut all = 0.0;
        for part in &mut self.0 {
            part.flows *= 1.0 - gain;
            part.bound *= 1.0 - gain;
            all += part.flows;
        }
        if all < NOTHING {
            self.0 = Vec::new();
        }
    }
}

/// Fewer flows than these are none.
const NOTHING: f64 = 1e-9;

fn place(flow: FlowId) -> usize {
    flow.0 as usize % PLACES
}
