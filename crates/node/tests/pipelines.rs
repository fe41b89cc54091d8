//! The pipelines of a node, one rule per test.

use crate::common::*;
use ndnweir_core::fields::Fields;
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::packet::{Kind, NackReason, Packet, flags};
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_node::{DropCause, FaceConfig, NodeCounters, Transmit};
use serde_json::json;

const I: Kind = Kind::Interest;
const D: Kind = Kind::Data;
const N: Kind = Kind::Nack;

#[test]
fn an_interest_goes_to_the_cheapest_hop_and_its_data_comes_back_once() {
    let mut node = router(&Setup::default());
    let out = give(&mut node, ms(0), 0, interest(1, 7));
    assert_eq!(summary(&out), [(1, I)]);
    assert_eq!((out[0].packet.hop_limit, out[0].start, out[0].end), (99, ms(0), us(40)));
    let out = give(&mut node, ms(5), 1, data(1));
    assert_eq!(summary(&out), [(0, D)]);
    assert_eq!((out[0].start, out[0].end), (ms(5), ms(6)));
    assert!(give(&mut node, ms(6), 1, data(1)).is_empty());
    let counters = node.counters();
    assert_eq!((counters.answered, counters.unsolicited, counters.pit), (1, 1, 0));
}

#[test]
fn interests_of_several_downstreams_are_aggregated_and_all_get_the_data_with_its_mark() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 7));
    assert!(give(&mut node, ms(1), 2, interest(1, 8)).is_empty());
    assert!(give(&mut node, ms(2), 3, interest(1, 9)).is_empty());
    let out = give(&mut node, ms(5), 1, Packet { mark: 1, ..data(1) });
    assert_eq!(summary(&out), [(0, D), (2, D), (3, D)]);
    assert!(out.iter().all(|t| t.packet.mark == 1));
    let NodeCounters { aggregated, answered, pit, .. } = node.counters();
    assert_eq!((aggregated, answered, pit), (2, 3, 0));
}

#[test]
fn a_retransmission_after_the_suppression_interval_is_forwarded_and_renews_the_lifetime() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 7));
    assert!(give(&mut node, ms(5), 0, interest(1, 8)).is_empty(), "suppressed");
    let out = give(&mut node, ms(500), 0, interest(1, 9));
    assert_eq!(summary(&out), [(2, I)], "the hop not used yet");
    wake(&mut node, ms(1499));
    assert_eq!(node.counters().pit, 1);
    wake(&mut node, ms(1500));
    let NodeCounters { pit, pit_expired, expired, retransmitted, .. } = node.counters();
    assert_eq!((pit, pit_expired, expired, retransmitted), (0, 1, 1, 2));
}

#[test]
fn the_same_interest_twice_from_one_face_is_dropped() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 7));
    assert!(give(&mut node, ms(100), 0, interest(1, 7)).is_empty());
    assert_eq!(node.counters().duplicates, 1);
}

#[test]
fn an_interest_that_comes_back_by_another_face_is_answered_with_a_duplicate_nack() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 7));
    for face in [1, 3] {
        let out = give(&mut node, ms(1), face, interest(1, 7));
        assert_eq!(summary(&out), [(face, N)]);
        assert_eq!((out[0].packet.reason, out[0].packet.nonce), (NackReason::Duplicate, 7));
    }
    assert_eq!(summary(&give(&mut node, ms(5), 1, data(1))), [(0, D)], "loops leave no in-record");
}

#[test]
fn a_loop_is_recognised_after_the_entry_has_expired() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 7));
    let out = give(&mut node, ms(1000), 3, interest(1, 7));
    assert_eq!(summary(&out), [(3, N)]);
    assert_eq!(node.counters().loops, 1);
}

#[test]
fn hop_limit_zero_is_dropped_and_one_reaches_applications_only() {
    let mut node = Setup::default().node(&[link(9), link(9), FaceConfig::local()]);
    node.set_route(ms(0), PrefixId(0), &[hop(1, 1)]);
    assert!(give(&mut node, ms(0), 0, Packet { hop_limit: 0, ..interest(1, 1) }).is_empty());
    assert!(give(&mut node, ms(0), 0, Packet { hop_limit: 1, ..interest(2, 2) }).is_empty());
    node.set_route(ms(0), PrefixId(0), &[hop(2, 1)]);
    assert_eq!(summary(&give(&mut node, ms(0), 0, Packet { hop_limit: 1, ..interest(3, 3) })), [(2, I)]);
    assert_eq!(node.counters().drops[DropCause::Protocol], 2);
}

#[test]
fn without_a_prefix_or_an_eligible_hop_the_answer_is_a_no_route_nack() {
    let mut node = router(&Setup::default());
    let on_demand_peer = Packet { name: ndnweir_core::ids::NameId { flow: FlowId(5), segment: 0 }, ..interest(0, 1) };
    let out = give(&mut node, ms(0), 0, on_demand_peer);
    assert_eq!((summary(&out), out[0].packet.reason), (vec![(0, N)], NackReason::NoRoute));
    node.set_route(ms(0), PrefixId(0), &[hop(0, 1)]);
    let out = give(&mut node, ms(0), 0, interest(1, 2));
    assert_eq!(
        (summary(&out), out[0].packet.reason),
        (vec![(0, N)], NackReason::NoRoute),
        "not back where it came from"
    );
    assert_eq!(node.counters().nacks_sent, [0, 0, 2]);
}

#[test]
fn a_full_pit_is_counted_and_answered_with_a_congestion_nack() {
    let mut node = router(&Setup { pit_limit: 2, ..Setup::default() });
    for i in 0..2 {
        give(&mut node, ms(0), 0, interest(i, i));
    }
    let out = give(&mut node, ms(0), 0, interest(2, 2));
    assert_eq!((summary(&out), out[0].packet.reason), (vec![(0, N)], NackReason::Congestion));
    assert!(give(&mut node, ms(0), 3, interest(1, 9)).is_empty(), "joining needs no entry");
    give(&mut node, ms(1), 1, data(0));
    assert_eq!(summary(&give(&mut node, ms(2), 0, interest(3, 3))), [(1, I)]);
    let NodeCounters { pit_full, pit_peak, .. } = node.counters();
    assert_eq!((pit_full, pit_peak), (1, 2));
}

#[test]
fn a_nack_goes_downstream_once_every_upstream_has_rejected_with_the_least_severe_reason() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 7));
    give(&mut node, ms(20), 0, interest(1, 8));
    give(&mut node, ms(21), 3, interest(1, 9));
    assert!(give(&mut node, ms(30), 1, nack(1, 7, NackReason::Congestion)).is_empty(), "face 2 may still answer");
    let out = give(&mut node, ms(31), 2, Packet { mark: 1, ..nack(1, 8, NackReason::NoRoute) });
    assert_eq!(summary(&out), [(0, N), (3, N)]);
    assert!(out.iter().all(|t| t.packet.reason == NackReason::Congestion && t.packet.mark == 1 && t.packet.size == 50));
    assert_eq!(out.iter().map(|t| t.packet.nonce).collect::<Vec<_>>(), [8, 9], "each gets the nonce it sent last");
    assert_eq!((node.counters().rejected, node.counters().pit), (2, 0));
}

#[test]
fn two_nodes_that_wait_for_each_other_are_parted_by_a_nack_to_the_one_while_the_others_wait_on() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 7));
    give(&mut node, ms(20), 0, interest(1, 8));
    assert!(give(&mut node, ms(25), 2, interest(1, 9)).is_empty(), "joins, though face 2 owes the answer");
    let out = give(&mut node, ms(30), 1, nack(1, 7, NackReason::Duplicate));
    assert_eq!((summary(&out), out[0].packet.nonce), (vec![(2, N)], 9));
    assert_eq!((node.counters().rejected, node.counters().pending), (1, 1));
    assert_eq!(summary(&give(&mut node, ms(40), 2, data(1))), [(0, D)]);
}

#[test]
fn a_nack_with_another_nonce_or_from_another_face_is_ignored() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 7));
    assert!(give(&mut node, ms(1), 1, nack(1, 6, NackReason::NoRoute)).is_empty());
    assert!(give(&mut node, ms(1), 2, nack(1, 7, NackReason::NoRoute)).is_empty());
    assert!(give(&mut node, ms(1), 1, nack(2, 7, NackReason::NoRoute)).is_empty());
    assert_eq!((node.counters().unmatched_nacks, node.counters().pit), (3, 1));
}

#[test]
fn a_downstream_that_has_lost_patience_gets_no_data() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, Packet { lifetime_ms: 10, ..interest(1, 7) });
    give(&mut node, ms(1), 3, interest(1, 8));
    assert_eq!(summary(&give(&mut node, ms(11), 1, data(1))), [(3, D)]);
    assert_eq!((node.counters().expired, node.counters().answered), (1, 1));
}

#[test]
fn the_content_store_answers_without_marks_and_says_so() {
    let mut node = router(&Setup { cache: 10, ..Setup::default() });
    give(&mut node, ms(0), 0, interest(1, 7));
    let mut fields = Fields::default();
    let slot = ndnweir_core::fields::FieldLayout::new().slot(ndnweir_core::fields::Field::HopRtt).unwrap();
    fields.set(slot, 5);
    give(&mut node, ms(1), 1, Packet { mark: 1, fields, ..data(1) });
    let out = give(&mut node, ms(2), 3, interest(1, 8));
    assert_eq!(summary(&out), [(3, D)]);
    assert_eq!((out[0].packet.mark, out[0].packet.fields), (0, Fields::default()));
    assert!(out[0].packet.has(flags::FROM_CACHE));
    let fresh = Packet { flags: flags::MUST_BE_FRESH, ..interest(1, 9) };
    assert_eq!(summary(&give(&mut node, ms(51), 3, fresh)), [(1, I)], "stale after its 50 ms");
    let out = give(&mut node, ms(60), 1, Packet { flags: flags::FROM_CACHE, ..data(1) });
    assert!(!out[0].packet.has(flags::FROM_CACHE), "the flag is for one hop");
    assert_eq!((node.counters().hits, node.counters().misses, node.counters().cache), (1, 2, 1));
}

#[test]
fn marks_on_interests_come_back_with_the_data_unless_they_are_ignored() {
    for (mode, expected) in [("copy", 2), ("ignore", 0)] {
        let mut node = router(&Setup { scheme: json!({ "interest-marks": mode }), cache: 4, ..Setup::default() });
        let out = give(&mut node, ms(0), 0, Packet { mark: 2, ..interest(1, 7) });
        assert_eq!(out[0].packet.mark, 2, "the mark stays on the Interest");
        give(&mut node, ms(0), 3, interest(1, 8));
        let out = give(&mut node, ms(1), 1, data(1));
        assert_eq!(out.iter().map(|t| t.packet.mark).collect::<Vec<_>>(), [expected, expected]);
        let out = give(&mut node, ms(2), 0, Packet { mark: 2, ..interest(1, 9) });
        assert_eq!(out[0].packet.mark, expected, "from the content store too");
        assert_eq!(give(&mut node, ms(3), 0, interest(1, 10))[0].packet.mark, 0);
    }
}

#[test]
fn with_own_marks_an_interest_marks_only_the_data_of_its_downstream() {
    let mut node = router(&Setup { scheme: json!({ "interest-marks": "own" }), cache: 4, ..Setup::default() });
    let marks = |out: &[Transmit]| out.iter().map(|t| (t.face.0, t.packet.mark)).collect::<Vec<_>>();
    // Two aggregated Interests, one of which is marked, whichever comes first.
    for (segment, first, second) in [(1, 1, 0), (2, 0, 1)] {
        give(&mut node, ms(0), 0, Packet { mark: first, ..interest(segment, 7) });
        give(&mut node, ms(0), 3, Packet { mark: second, ..interest(segment, 8) });
        assert_eq!(marks(&give(&mut node, ms(1), 1, data(segment))), [(0, first), (3, second)]);
    }
    // A marked Data is marked for both.
    give(&mut node, ms(10), 0, Packet { mark: 1, ..interest(3, 7) });
    give(&mut node, ms(10), 3, interest(3, 8));
    assert_eq!(marks(&give(&mut node, ms(11), 1, Packet { mark: 1, ..data(3) })), [(0, 1), (3, 1)]);
    // Of two Interests from one face the last counts.
    give(&mut node, ms(20), 0, Packet { mark: 1, ..interest(4, 7) });
    give(&mut node, ms(40), 0, interest(4, 8));
    assert_eq!(marks(&give(&mut node, ms(41), 1, data(4))), [(0, 0)]);
    // From the content store the Data has the Interest's mark, whatever it had when it came.
    assert_eq!(marks(&give(&mut node, ms(50), 0, Packet { mark: 1, ..interest(3, 9) })), [(0, 1)]);
    assert_eq!(marks(&give(&mut node, ms(51), 3, interest(3, 10))), [(3, 0)]);
}

#[test]
fn a_marked_data_from_the_content_store_is_marked_for_another_consumer_only_with_replay() {
    for (mode, cached) in [("strip", 0), ("replay", 1)] {
        for interest_marks in ["ignore", "copy", "own"] {
            let scheme = json!({ "cached-marks": mode, "interest-marks": interest_marks });
            let mut node = router(&Setup { scheme, cache: 4, ..Setup::default() });
            give(&mut node, ms(0), 0, interest(1, 7));
            let out = give(&mut node, ms(1), 1, Packet { mark: 1, ..data(1) });
            assert_eq!(out[0].packet.mark, 1, "the consumer whose Interest came first sees the mark");
            let out = give(&mut node, ms(2), 3, interest(1, 8));
            assert_eq!((out[0].face.0, out[0].packet.mark), (3, cached), "{mode}, {interest_marks}");
            // An Interest's own mark counts on top, unless it is ignored.
            let out = give(&mut node, ms(3), 3, Packet { mark: 2, ..interest(1, 9) });
            let expected = if interest_marks == "ignore" { cached } else { 2 };
            assert_eq!(out[0].packet.mark, expected, "{mode}, {interest_marks}");
        }
    }
}

#[test]
fn what_waits_at_an_egress_excludes_the_packet_on_the_wire_and_the_next_beyond_the_limit_is_dropped() {
    let mut node = Setup::default().node(&[link(2), link(100)]);
    node.set_route(ms(0), PrefixId(0), &[hop(1, 1)]);
    for i in 0..4 {
        give(&mut node, ms(0), 0, interest(i, i));
    }
    let ends: Vec<_> = (0..4).flat_map(|i| give(&mut node, ms(10), 1, data(i))).map(|t| t.end).collect();
    assert_eq!(ends, [ms(11), ms(12), ms(13)]);
    let counters = node.face_counters(ms(10), FaceId(0));
    assert_eq!((counters.queue_packets, counters.queue_bytes), (2, Bytes::new(2500)));
    assert_eq!((counters.drops[DropCause::Overflow], counters.overflow_data_bits), (1, 10_000));
    let counters = node.face_counters(ms(11), FaceId(0));
    assert_eq!((counters.queue_packets, counters.data_packets, counters.data_bits), (1, 2, 20_000));
    assert_eq!(counters.sojourn_max, Duration::from_millis(1));
    assert_eq!(node.face_counters(ms(11), FaceId(0)).sojourn_max, Duration::ZERO, "a new maximum per reading");
    assert_eq!(node.face_counters(ms(20), FaceId(0)).sojourn_sum, 3_000_000);
}

// From RFC 8289's pseudocode, written down separately: 101 Data of 1 ms each come at 10 ms, the first leaves at once.
// CoDel (interval 10 ms) marks 24 of the 100 behind it, or drops 17. Interests are treated alike.
#[test]
fn what_a_discipline_marks_or_drops_inside_is_counted_by_its_cause() {
    for (action, marks, drops) in [("mark", 24, 0), ("drop", 0, 17)] {
        let discipline = json!({ "name": "fq-codel", "interval": "10ms", "action": action });
        let scheme = json!({ "discipline": discipline });
        let mut node = Setup { scheme, ..Setup::default() }.node(&[link(200), link(200)]);
        node.set_route(ms(0), PrefixId(0), &[hop(1, 1)]);
        for i in 0..101 {
            give(&mut node, ms(0), 0, Packet { size: 1250, ..interest(i, i) });
        }
        let interests = node.face_counters(ms(0), FaceId(1));
        assert_eq!(interests.queue_packets, 100);
        let out = wake(&mut node, ms(200));
        let interests = node.face_counters(ms(200), FaceId(1));
        assert_eq!((interests.interest_marks, interests.drops[DropCause::Marker]), (marks, drops));
        assert_eq!(out.iter().filter(|t| t.packet.mark == 1).count() as u64, marks);
        let out: Vec<_> = (0..101).flat_map(|i| give(&mut node, ms(200), 1, data(i))).collect();
        assert_eq!(out.len(), 1);
        let out = wake(&mut node, ms(400));
        let counters = node.face_counters(ms(400), FaceId(0));
        assert_eq!((counters.data_marks, counters.drops[DropCause::Marker]), (marks, drops));
        assert_eq!((counters.data_packets, counters.queue_packets), (101 - drops, 0));
        assert_eq!(out.iter().filter(|t| t.packet.mark == 1).count() as u64, marks);
    }
}

#[test]
fn an_interest_of_short_lifetime_or_few_hops_takes_no_data_from_others() {
    let short = |nonce| Packet { lifetime_ms: 15, ..interest(1, nonce) };
    let near = |nonce| Packet { hop_limit: 2, ..interest(1, nonce) };
    let late = Packet { lifetime_ms: 1, ..interest(1, 2) };
    // Faces 0 and 2 ask within 3 ms of each other, and the Data comes at 30 ms.
    let asked = |first: Packet, second: Packet| {
        let mut node = router(&Setup::default());
        let mut sent = give(&mut node, ms(0), 0, first);
        sent.extend(give(&mut node, ms(3), 2, second));
        let got: Vec<u16> = give(&mut node, ms(30), 1, data(1)).iter().map(|t| t.face.0).collect();
        let sent: Vec<_> = sent.iter().map(|t| (t.packet.nonce, t.packet.lifetime_ms, t.packet.hop_limit)).collect();
        (sent, got)
    };
    assert_eq!(asked(interest(1, 1), late), (vec![(1, 1000, 99)], vec![0]), "what was sent lasts for both");
    assert_eq!(asked(interest(1, 1), near(2)), (vec![(1, 1000, 99)], vec![0, 2]));
    assert_eq!(asked(interest(1, 1), interest(1, 2)), (vec![(1, 1000, 99)], vec![0, 2]));
    assert_eq!(asked(short(1), interest(1, 2)), (vec![(1, 15, 99), (2, 1000, 99)], vec![2]));
    assert_eq!(asked(near(1), interest(1, 2)), (vec![(1, 1000, 1), (2, 1000, 99)], vec![0, 2]));
}

#[test]
fn a_face_that_asks_again_shortens_nothing_that_it_asked_for() {
    let mut node = router(&Setup::default());
    give(&mut node, ms(0), 0, interest(1, 1));
    give(&mut node, ms(3), 0, Packet { lifetime_ms: 1, ..interest(1, 2) });
    assert_eq!(summary(&give(&mut node, ms(30), 1, data(1))), [(0, D)]);
}

#[test]
fn framing_counts_for_time_counters_and_byte_limits_but_not_in_the_packet() {
    let limit = ndnweir_core::queue::Limit::Bytes(Bytes::new(1260));
    let face = FaceConfig { framing: Bytes::new(10), limit, ..link(0) };
    let mut node = Setup::default().node(&[face, link(100)]);
    node.set_route(ms(0), PrefixId(0), &[hop(1, 1)]);
    for i in 0..3 {
        give(&mut node, ms(0), 0, interest(i, i));
    }
    let out: Vec<_> = (0..3).flat_map(|i| give(&mut node, ms(10), 1, data(i))).collect();
    assert_eq!(out.iter().map(|t| t.end).collect::<Vec<_>>(), [us(11_008), us(12_016)]);
    assert_eq!(out[0].packet.size, 1250);
    assert_eq!(node.face_counters(ms(30), FaceId(0)).data_bits, 2 * 1260 * 8);
}

#[test]
fn local_faces_and_faces_without_a_rate_pass_packets_at_once() {
    let mut node = Setup::default().node(&[FaceConfig::local(), FaceConfig { rate: None, ..link(0) }]);
    node.set_route(ms(0), PrefixId(0), &[hop(1, 1)]);
    for i in 0..3 {
        let out = give(&mut node, ms(1), 0, interest(i, i));
        assert_eq!((out[0].start, out[0].end), (ms(1), ms(1)));
    }
    let out = give(&mut node, ms(2), 1, data(0));
    assert_eq!((out[0].start, out[0].end), (ms(2), ms(2)));
    assert_eq!(node.poll_timeout().max(ms(3)), node.poll_timeout(), "only the lifetimes remain");
}

#[test]
fn unknown_faces_and_unsolicited_packets_are_counted_and_dropped() {
    let mut node = router(&Setup::default());
    for packet in [interest(1, 1), data(1), nack(1, 1, NackReason::NoRoute)] {
        assert!(give(&mut node, ms(0), 99, packet).is_empty());
    }
    assert!(give(&mut node, ms(0), 1, data(1)).is_empty());
    let drops = node.counters().drops;
    assert_eq!((drops[DropCause::Down], drops[DropCause::Protocol]), (3, 1));
    assert_eq!(node.poll_timeout(), Time::NEVER);
}
