use super::*;
use crate::ctx::{Rng, Trace};
use crate::fields::{FieldLayout, Fields};
use crate::ids::{FaceId, PrefixId};
use crate::packet::{Kind, Packet};
use crate::units::{Duration, Time};

const ALL: [Field; 3] = [Field::ConsumerWindow, Field::FlowCount, Field::MarkDistance];

struct Bench {
    meter: Pooling,
    slots: [Slot; 3],
}

/// A run that carries `fields`, and has slots for all.
fn bench(fields: &[Field]) -> Bench {
    let mut layout = FieldLayout::new();
    for &field in fields {
        layout.slot(field);
    }
    let meter = Pooling::new(&NoParams {}, &mut Env { layout: &mut layout });
    Bench { meter, slots: ALL.map(|field| layout.slot(field).unwrap()) }
}

impl Bench {
    fn data(&self, mark: u8, values: [u32; 3]) -> Packet {
        Packet { kind: Kind::Data, mark, fields: self.fields(values), ..Packet::default() }
    }

    fn fields(&self, values: [u32; 3]) -> Fields {
        let mut fields = Fields::default();
        for (slot, value) in self.slots.into_iter().zip(values) {
            fields.set(slot, value);
        }
        fields
    }

    fn values(&self, packet: &Packet) -> [u32; 3] {
        self.slots.map(|slot| packet.fields.get(slot))
    }

    /// Window, flow count and distance after it arrived.
    fn arrives(&mut self, mut packet: Packet, local: bool) -> Packet {
        let (mut rng, mut trace) = (Rng::derive(1, &[]), Trace::default());
        let mut ctx = Ctx { now: Time::ZERO, rng: &mut rng, trace: &mut trace };
        let (prefix, face, rtt) = (PrefixId(0), FaceId(1), Duration::ZERO);
        let mut event = DataIn { packet: &mut packet, prefix, face, rtt, retransmitted: false, local };
        self.meter.on_data_in(&mut event, &mut ctx);
        packet
    }

    /// After it left for a consumer with this window, over a face with so many flows.
    fn data_out(&mut self, mut packet: Packet, window: u32, flows: u32) -> Packet {
        let (mut rng, mut trace) = (Rng::derive(1, &[]), Trace::default());
        let mut ctx = Ctx { now: Time::ZERO, rng: &mut rng, trace: &mut trace };
        let interest_fields = self.fields([window, 0, 0]);
        let mut event = DataOut {
            packet: &mut packet,
            prefix: PrefixId(0),
            face: FaceId(0),
            interest_arrival: Time::ZERO,
            retransmitted: false,
            interest_fields: &interest_fields,
            from_cache: false,
            flows,
        };
        self.meter.on_data_out(&mut event, &mut ctx);
        packet
    }
}

#[test]
fn a_data_carries_the_window_of_the_consumer_behind_this_router_and_the_flows_of_the_face_it_leaves_by() {
    let mut bench = bench(&ALL);
    let packet = bench.arrives(bench.data(0, [99, 9, 5]), false);
    assert_eq!(bench.values(&packet), [99, 0, 0], "a count without a mark means nothing");
    let packet = bench.data_out(packet, 2560, 3);
    assert_eq!(bench.values(&packet), [2560, 3, 0]);
}

#[test]
fn a_marked_data_keeps_the_count_of_the_queue_that_marked_it_and_counts_hops_from_there() {
    let mut bench = bench(&ALL);
    let mut packet = bench.data_out(bench.data(0, [0; 3]), 256, 2);
    packet.mark = 1;
    for (hop, flows) in [(1, 7), (2, 1), (3, 4)] {
        packet = bench.arrives(packet, false);
        assert_eq!(bench.values(&packet)[1..], [2, hop]);
        packet = bench.data_out(packet, 256, flows);
        assert_eq!(bench.values(&packet)[1..], [2, hop]);
    }
    let packet = bench.arrives(packet, true);
    assert_eq!(bench.values(&packet)[2], 3, "the path from an application is not a hop");
}

#[test]
fn a_data_whose_mark_was_held_back_starts_over() {
    let mut bench = bench(&ALL);
    let mut packet = bench.arrives(bench.data(1, [0, 2, 1]), false);
    packet.mark = 0;
    let packet = bench.data_out(packet, 256, 4);
    assert_eq!(bench.values(&packet), [256, 4, 0]);
}

// The mark joins after arrival, from the PIT: the congested link is the one the Interest came over.
#[test]
fn a_mark_from_an_interest_takes_the_count_of_the_link_that_interest_came_over() {
    let mut bench = bench(&ALL);
    let mut packet = bench.arrives(bench.data(0, [0, 9, 0]), false);
    packet.mark = 1;
    let packet = bench.data_out(packet, 256, 4);
    assert_eq!(bench.values(&packet)[1..], [4, 0]);
    let packet = bench.arrives(packet, false);
    assert_eq!(bench.values(&packet)[1..], [4, 1]);
}

#[test]
fn fields_that_no_other_component_needs_are_left_alone() {
    for field in ALL {
        let mut one = bench(&[field]);
        let packet = one.arrives(one.data(1, [0; 3]), false);
        let packet = one.data_out(packet, 256, 4);
        let written: Vec<_> = ALL.into_iter().zip(one.values(&packet)).filter(|(_, value)| *value > 0).collect();
        assert_eq!(written.len(), 1);
        assert_eq!(written[0].0, field);
    }
    let mut none = bench(&[]);
    let packet = none.arrives(none.data(1, [1, 2, 3]), false);
    let packet = none.data_out(packet, 256, 4);
    assert_eq!(none.values(&packet), [1, 2, 3]);
}
