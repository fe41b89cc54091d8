//! Per-hop information on packets: one table of header fields, and the slots a run gives them.
//!
//! On the wire each field is an NDNLPv2 header field with a non-negative integer, from the range that a receiver
//! ignores when it does not know the type (800 to 959, divisible by 4). In a packet in memory the fields that the
//! running scheme declares get one 32-bit slot each. Zero means "not present" throughout.

use serde::{Deserialize, Serialize};

/// What a node does with a field when a second Interest joins a pending one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aggregation {
    /// The pending Interest's value stays.
    First,
    /// The larger value stays.
    Largest,
    /// The field does not travel on Interests.
    NotOnInterests,
}

/// A header field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema, ndnweir_state::Value)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    /// Round-trip time measured by the sender of this Data towards the producer (HbHCM).
    HopRtt,
    /// The path of a Data, or the path that an Interest should take (RAAQM, MIRCC, PTP).
    PathLabel,
    /// The consumer's congestion window (resource pooling, method A).
    ConsumerWindow,
    /// Flows that share the queue which set the mark (resource pooling, method C).
    FlowCount,
    /// The rate of Data a router grants (RCP, MIRCC, QSCCP).
    ExplicitRate,
    /// How congested the worst queue of the path is (CoopCon-like, FleCom-like, ECP).
    CongestionLevel,
    /// Hops since the mark was set (PCON's f(Distance)).
    MarkDistance,
    /// A router nearer the consumer already filters marks (resource pooling, method B).
    MarksFiltered,
    /// Interest: no node on its path so far had a route; Data: announces a route to its prefix (self-learning).
    Discovery,
    /// The highest rate of Interests that the routers upstream can take of this flow (HoBHIS 2014).
    ToleranceRate,
    /// How busy the busiest link of the path is (FleCom-like).
    PathUse,
    /// The consumer reacts to marks in proportion, and its packets request the low-latency queue (DualPI2).
    LowLatency,
    /// The link that [`Field::LinkState`] is about; the two are written together (E2E-AQM).
    LinkId,
    /// Hops that have stamped, and the delay or the rate of one link of the path (E2E-AQM).
    LinkState,
    /// The round-trip time that the consumer sees (RCP), in the lower 24 bits; above them, what part of one is left of a
    /// flow that ends (`weir`), see [`crate::shared::explicit`].
    RoundTrip,
    /// The class of service of an Interest (MIRCC: 1 primary, 2 secondary; QSCCP: 1 to 8, plus 8 when penalised).
    ServiceClass,
    /// The rate of Data a router grants to secondary traffic (MIRCC).
    SecondaryRate,
    /// By how much other ways of the same prefix take longer than that of this Data (`overflow`).
    LongerWay,
}

/// A row of the field table.
#[derive(Clone, Copy, Debug)]
pub struct FieldInfo {
    /// Which field.
    pub field: Field,
    /// As written in documents and records.
    pub name: &'static str,
    /// Unit of the 32-bit value.
    pub unit: &'static str,
    /// NDNLPv2 header type number.
    pub tlv_type: u32,
    /// When Interests aggregate.
    pub aggregation: Aggregation,
    /// Whether a content store keeps it with the Data; all our fields describe one traversal of the path and are
    /// stripped.
    pub cached: bool,
}

/// NDNLPv2's CongestionMark, for completeness of the table's page; it is a field of every packet.
pub const CONGESTION_MARK_TLV: u32 = 832;

macro_rules! field_table {
    ($($field:ident $name:literal $unit:literal $tlv:literal $aggregation:ident;)*) => {
        /// Every field, in the order of [`Field`].
        pub const FIELDS: &[FieldInfo] = &[$(FieldInfo {
            field: Field::$field, name: $name, unit: $unit, tlv_type: $tlv,
            aggregation: Aggregation::$aggregation, cached: false,
        }),*];
    };
}

field_table! {
    HopRtt          "hop-rtt"          "0.1 µs"             904 NotOnInterests;
    PathLabel       "path-label"       "label"              908 First;
    ConsumerWindow  "consumer-window"  "1/256 segments"     912 Largest;
    FlowCount       "flow-count"       "flows"              916 NotOnInterests;
    ExplicitRate    "explicit-rate"    "kbit/s"             920 First;
    CongestionLevel "congestion-level" "1/2³² of the range" 924 NotOnInterests;
    MarkDistance    "mark-distance"    "hops"               928 NotOnInterests;
    MarksFiltered   "marks-filtered"   "flag"               932 Largest;
    Discovery       "discovery"        "flag"               936 Largest;
    ToleranceRate   "tolerance-rate"   "packets/s"          900 NotOnInterests;
    PathUse         "path-use"         "1/2³² of the capacity" 940 NotOnInterests;
    LowLatency      "low-latency"      "flag"               948 First;
    LinkId          "link-id"          "number"             880 NotOnInterests;
    LinkState       "link-state"       "hops, kind, reading" 884 NotOnInterests;
    RoundTrip       "round-trip"       "µs, part left"      952 First;
    ServiceClass    "service-class"    "class"              956 First;
    SecondaryRate   "secondary-rate"   "kbit/s"             896 NotOnInterests;
    LongerWay       "longer-way"       "µs"                 892 NotOnInterests;
}

impl Field {
    /// The field's row.
    pub fn info(self) -> &'static FieldInfo {
        &FIELDS[self as usize]
    }
}

/// A window in segments as [`Field::ConsumerWindow`] carries it: in 1/256 segments, cut to what fits.
pub fn window_to_field(segments: f64) -> u32 {
    (segments * 256.0) as u32
}

/// The window in segments that [`Field::ConsumerWindow`] carries; none if it is not present.
pub fn window_of_field(value: u32) -> Option<f64> {
    (value > 0).then(|| f64::from(value) / 256.0)
}

/// Where a run keeps a field in [`Fields`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub struct Slot(u8);

/// The values a packet carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, ndnweir_state::Value)]
pub struct Fields([u32; Fields::SLOTS]);

impl Fields {
    /// How many fields one run can carry.
    pub const SLOTS: usize = 7;
    /// None.
    pub const NONE: &'static Fields = &Fields([0; Fields::SLOTS]);

    /// The value in a slot; 0 is "not present".
    pub fn get(&self, slot: Slot) -> u32 {
        self.0[slot.0 as usize]
    }
    /// Writes a slot.
    pub fn set(&mut self, slot: Slot, value: u32) {
        self.0[slot.0 as usize] = value;
    }
    /// Replaces each value that is present.
    pub fn replace(&mut self, value: u32) {
        self.0.iter_mut().filter(|present| **present != 0).for_each(|present| *present = value);
    }
    /// Drops all but these, as a receiver drops fields that it does not know.
    pub fn keep(&mut self, slots: Slots) {
        for (i, value) in self.0.iter_mut().enumerate() {
            if slots.0 >> i & 1 == 0 {
                *value = 0;
            }
        }
    }
}

/// Some of the slots of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Slots(u8);

/// Which field has which slot in one run: the same in every node.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct FieldLayout {
    fields: Vec<Field>,
}

impl FieldLayout {
    /// A layout with no fields.
    pub fn new() -> FieldLayout {
        FieldLayout::default()
    }

    /// The slot of `field`, allocated on first use; none when all [`Fields::SLOTS`] are taken by other fields.
    pub fn slot(&mut self, field: Field) -> Option<Slot> {
        let found = self.fields.iter().position(|&f| f == field);
        let index = match found {
            Some(index) => index,
            None if self.fields.len() < Fields::SLOTS => {
                self.fields.push(field);
                self.fields.len() - 1
            }
            None => return None,
        };
        Some(Slot(index as u8))
    }

    /// The slot of `field`, if it has one.
    pub fn find(&self, field: Field) -> Option<Slot> {
        self.iter().find(|&(known, _)| known == field).map(|(_, slot)| slot)
    }

    /// The slots of those of these fields that have one.
    pub fn slots_of(&self, fields: &[Field]) -> Slots {
        let known = self.iter().filter(|(field, _)| fields.contains(field));
        Slots(known.fold(0, |all, (_, slot)| all | 1 << slot.0))
    }

    /// The fields in use, with their slots.
    pub fn iter(&self) -> impl Iterator<Item = (Field, Slot)> + '_ {
        self.fields.iter().enumerate().map(|(i, &f)| (f, Slot(i as u8)))
    }

    /// The fields of a pending Interest after `joining` was aggregated onto it (see [`Aggregation`]).
    pub fn aggregate(&self, pending: &mut Fields, joining: &Fields) {
        for (field, slot) in self.iter() {
            if field.info().aggregation == Aggregation::Largest {
                pending.set(slot, pending.get(slot).max(joining.get(slot)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum_and_uses_ignorable_unassigned_types() {
        for (i, row) in FIELDS.iter().enumerate() {
            assert_eq!(row.field as usize, i);
            assert!((800..960).contains(&row.tlv_type) && row.tlv_type % 4 == 0 && row.tlv_type > 848);
            assert!(FIELDS[..i].iter().all(|other| other.tlv_type != row.tlv_type));
        }
    }

    #[test]
    fn slots_are_given_once_per_field_until_none_is_left() {
        let mut layout = FieldLayout::new();
        let first = layout.slot(Field::HopRtt);
        assert_eq!(layout.slot(Field::HopRtt), first);
        let second = layout.slot(Field::PathUse).unwrap();
        let mut fields = Fields::default();
        fields.set(first.unwrap(), 5);
        fields.set(second, 7);
        fields.keep(layout.slots_of(&[Field::PathUse, Field::LowLatency]));
        assert_eq!((fields.get(first.unwrap()), fields.get(second)), (0, 7));
        let used = FIELDS.iter().filter(|row| layout.slot(row.field).is_some()).count();
        assert_eq!(used, Fields::SLOTS);
    }
}
