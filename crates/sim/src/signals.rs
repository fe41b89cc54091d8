//! Links that change congestion signals, as a router or tunnel does that is at fault or lies.

use ndnweir_core::fields::Slots;
use ndnweir_core::packet::Packet;
use serde::Serialize;

/// What happens to the congestion mark of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MarkChange {
    /// Nothing.
    #[default]
    Keep,
    /// It is removed.
    Clear,
    /// Every packet gets one.
    Set,
}

/// What happens to the header fields of a packet that a scheme has put there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FieldChange {
    /// Nothing.
    #[default]
    Keep,
    /// They are removed, as a router does that does not know them.
    Clear,
    /// Each gets the least value that can be written, 1.
    Least,
    /// Each gets the largest value that can be written.
    Largest,
}

/// What a direction of a link does to the congestion signals of NDN packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SignalChange {
    /// To congestion marks.
    pub marks: MarkChange,
    /// To header fields.
    pub fields: FieldChange,
}

impl SignalChange {
    /// Whether signals stay as they are.
    pub fn is_none(&self) -> bool {
        *self == SignalChange::default()
    }

    /// Changes the signals of a packet.
    pub fn apply(self, packet: &mut Packet) {
        match self.marks {
            MarkChange::Keep => {}
            MarkChange::Clear => packet.mark = 0,
            MarkChange::Set => packet.mark = packet.mark.max(1),
        }
        match self.fields {
            FieldChange::Keep => {}
            FieldChange::Clear => packet.fields.keep(Slots::default()),
            FieldChange::Least => packet.fields.replace(1),
            FieldChange::Largest => packet.fields.replace(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::fields::{Field, FieldLayout};

    #[test]
    fn marks_and_fields_are_changed_as_the_link_says() {
        let mut layout = FieldLayout::new();
        let (used, unused) = (layout.slot(Field::HopRtt).unwrap(), layout.slot(Field::PathLabel).unwrap());
        let mut packet = Packet::default();
        packet.fields.set(used, 7);
        let changed = |marks, fields, mark| {
            let mut packet = Packet { mark, ..packet };
            SignalChange { marks, fields }.apply(&mut packet);
            (packet.mark, packet.fields.get(used), packet.fields.get(unused))
        };
        assert_eq!(changed(MarkChange::Keep, FieldChange::Keep, 2), (2, 7, 0));
        assert_eq!(changed(MarkChange::Clear, FieldChange::Least, 2), (0, 1, 0));
        assert_eq!(changed(MarkChange::Set, FieldChange::Largest, 0), (1, u32::MAX, 0));
        assert_eq!(changed(MarkChange::Set, FieldChange::Clear, 3), (3, 0, 0));
    }
}
