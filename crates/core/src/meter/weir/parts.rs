//! What flows add to what a link counts, each by itself, in a table of bounded size.

use super::flow_set::Place;

/// A flow's part of the flows of a link: of all, and of those that the link holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, ndnweir_state::Value)]
pub(super) struct Part {
    pub(super) flows: f64,
    pub(super) bound: f64,
}

/// Parts by flow. Numbers of flows follow each other, so that up to 256 have a place of their own; of those that share one
/// none is taken for more than a flow. Only what was added of late takes room.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub(super) struct Parts(Vec<Entry>);

/// A place, in the order of places, and what is there.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Entry {
    place: u8,
    part: Part,
}

#[cfg(test)]
pub(super) const ENTRY: usize = size_of::<Entry>();

impl Parts {
    /// A flow adds this.
    pub(super) fn add(&mut self, flow: Place, flows: f64, bound: f64) {
        let Some(Entry { part, .. }) = self.find(flow).ok().and_then(|index| self.0.get_mut(index)) else {
            return self.begin(flow, flows, bound);
        };
        part.flows += flows;
        part.bound += bound;
    }

    /// The same, of one that has added nothing of late.
    #[inline(never)]
    fn begin(&mut self, flow: Place, flows: f64, bound: f64) {
        let index = self.find(flow).unwrap_or_else(|index| index);
        self.0.insert(index, Entry { place: flow.0, part: Part { flows, bound } });
    }

    /// What a flow has added of late, and no more than a whole flow.
    pub(super) fn of(&self, flow: Place) -> Part {
        let Part { flows, bound } = self.find(flow).map(|index| self.0[index].part).unwrap_or_default();
        Part { flows: flows.min(1.0), bound: bound.min(1.0) }
    }

    #[inline(always)]
    fn find(&self, Place(place): Place) -> Result<usize, usize> {
        self.0.binary_search_by_key(&place, |entry| entry.place)
    }

    /// A slot ends, and what was counted before loses this part of itself.
    pub(super) fn fade(&mut self, gain: f64) {
        let mut all = 0.0;
        self.0.retain_mut(|Entry { part, .. }| {
            part.flows *= 1.0 - gain;
            part.bound *= 1.0 - gain;
            all += part.flows;
            part.flows > LOST
        });
        if all < NOTHING {
            self.0 = Vec::new();
        }
    }
}

/// A part that adds nothing to any count, in the digits of one.
const LOST: f64 = 1e-30;
/// Fewer flows than these are none.
const NOTHING: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::FlowId;

    fn of(flow: u32) -> Place {
        Place::of(FlowId(flow))
    }

    // Half of each is left: 0.3 + 0.2 and 0.1 of flow 5, and of flow 261, which shares its place; 0.4 of flow 3.
    #[test]
    fn what_flows_add_fades_and_takes_no_room_then() {
        let mut parts = Parts::default();
        for (flow, flows, bound) in [(5, 0.6, 0.2), (3, 0.8, 0.0), (261, 0.4, 0.0)] {
            parts.add(of(flow), flows, bound);
        }
        parts.fade(0.5);
        assert_eq!(parts.of(of(5)), Part { flows: 0.5, bound: 0.1 });
        assert_eq!(parts.of(of(261)), parts.of(of(5)));
        assert_eq!(parts.of(of(3)), Part { flows: 0.4, bound: 0.0 });
        assert_eq!(parts.of(of(4)), Part::default());
        (0..90).for_each(|_| {
            parts.fade(0.5);
            parts.add(of(9), 0.5, 0.5);
        });
        assert_eq!((parts.0.len(), parts.of(of(9)).flows), (3, 1.0));
        (0..20).for_each(|_| {
            parts.fade(0.5);
            parts.add(of(9), 0.5, 0.5);
        });
        assert_eq!(parts.0.len(), 1);
        (0..1000).for_each(|flow| parts.add(of(flow), 0.1, 0.1));
        assert_eq!(parts.0.len(), 256, "and no more than a table of places ever");
        (0..40).for_each(|_| parts.fade(0.5));
        assert!(parts.0.is_empty());
    }
}
