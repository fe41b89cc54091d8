//! What a fetch saw of its scheme: the header fields that Data carried, and what the consumer made of them.

use ndnweir_core::ctx::TraceEvent;
use ndnweir_core::fields::{FieldLayout, Fields};
use std::collections::BTreeMap;

/// How often a header field came, and its latest value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FieldSeen {
    /// Data that carried it.
    pub data: u64,
    /// The latest value, in the field's unit.
    pub latest: u32,
}

/// The signals of one fetch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Signals {
    /// By the field's name.
    pub fields: BTreeMap<&'static str, FieldSeen>,
    /// The latest value of each record of the consumer, by its key and number; see the consumer's page.
    pub recorded: BTreeMap<(&'static str, u64), f64>,
}

/// Records by key and number that are kept: path labels may be false, so that there may be any number. Ours.
const MAX_RECORDED: usize = 256;

impl Signals {
    /// A Data arrived with these fields.
    pub(super) fn count(&mut self, layout: &FieldLayout, fields: &Fields) {
        for (field, slot) in layout.iter() {
            let value = fields.get(slot);
            if value > 0 {
                let seen = self.fields.entry(field.info().name).or_default();
                *seen = FieldSeen { data: seen.data + 1, latest: value };
            }
        }
    }

    /// The consumer recorded this.
    pub(super) fn record(&mut self, event: &TraceEvent) {
        let full = self.recorded.len() >= MAX_RECORDED;
        match self.recorded.get_mut(&(event.key, event.id)) {
            Some(latest) => *latest = event.value,
            None if full => {}
            None => drop(self.recorded.insert((event.key, event.id), event.value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::fields::Field;
    use ndnweir_core::units::Time;

    #[test]
    fn fields_are_counted_and_records_kept_up_to_their_limit() {
        let (mut signals, mut layout, mut fields) = (Signals::default(), FieldLayout::new(), Fields::default());
        let slot = layout.slot(Field::ExplicitRate).unwrap();
        signals.count(&layout, &fields);
        for rate in [7, 9] {
            fields.set(slot, rate);
            signals.count(&layout, &fields);
        }
        assert_eq!(signals.fields["explicit-rate"], FieldSeen { data: 2, latest: 9 });
        for id in (0..1000).chain([3]) {
            signals.record(&TraceEvent { at: Time::ZERO, key: "path-window", id, value: 1.0 });
            signals.record(&TraceEvent { at: Time::ZERO, key: "path-window", id: 3, value: id as f64 });
        }
        assert_eq!((signals.recorded.len(), signals.recorded[&("path-window", 3)]), (MAX_RECORDED, 3.0));
    }
}
