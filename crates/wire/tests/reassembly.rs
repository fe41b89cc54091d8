//! Fragmentation to an MTU and reassembly within bounds.

use core::time::Duration;

use crate::common::strategies;
use ndnweir_wire::lp::*;
use proptest::prelude::*;

const ZERO: Duration = Duration::ZERO;

fn push(
    reassembler: &mut Reassembler,
    now: Duration,
    sender: u64,
    wire: &[u8],
) -> Result<Option<(Vec<u8>, LpHeader)>, ReassemblyError> {
    let view = LpPacketView::decode(wire).expect("fragments are well-formed");
    let result = reassembler.push(now, sender, &view)?;
    Ok(result.map(|r| (r.packet.into_owned(), r.header)))
}

fn split(packet: &[u8], mtu: usize) -> Vec<Vec<u8>> {
    Fragmenter::new(mtu, 0).fragment(&LpHeader::default(), packet).expect("fits")
}

fn seconds(n: u64) -> Duration {
    Duration::from_secs(n)
}

proptest! {
    #[test]
    fn fragments_in_any_order_give_the_packet_back(
        packet in prop::collection::vec(any::<u8>(), 1..3000),
        mut header in strategies::header(),
        mtu in 400_usize..1500,
        first_sequence: u64,
        order in any::<prop::sample::Index>(),
    ) {
        header.prefix_announcement = None;
        (header.sequence, header.frag_index, header.frag_count) = (None, None, None);
        // Whether a packet stays bare is decided by its header, and then its bytes must be a packet.
        header.congestion_mark = header.congestion_mark.or(Some(0));
        let mut fragmenter = Fragmenter::new(mtu, first_sequence);
        let mut fragments = fragmenter.fragment(&header, &packet).unwrap();
        prop_assert!(fragments.iter().all(|f| f.len() <= mtu));
        let count = fragments.len();
        fragments.rotate_left(order.index(count));
        let mut reassembler = Reassembler::default();
        for (i, fragment) in fragments.iter().enumerate() {
            let done = push(&mut reassembler, ZERO, 0, fragment).unwrap();
            if i + 1 < count {
                prop_assert_eq!(done, None);
            } else {
                prop_assert_eq!(done, Some((packet.clone(), header.clone())));
            }
        }
        prop_assert_eq!(reassembler.partials(), 0);
        prop_assert_eq!(reassembler.bytes(), 0);
        prop_assert_eq!(reassembler.stats().reassembled, u64::from(count > 1));
    }

    #[test]
    fn bounds_hold_whatever_arrives(
        arrivals in prop::collection::vec((0_u64..3, 0_u64..12, prop::option::of(0_u64..8), prop::option::of(0_u64..8), 0_usize..60, 0_u64..3), 0..120)
    ) {
        let config = ReassemblerConfig {
            max_partials: 3, max_bytes: 1200, max_fragments: 6, max_packet: 120, timeout: seconds(2),
        };
        let mut reassembler = Reassembler::new(config);
        let mut now = ZERO;
        for (sender, sequence, frag_index, frag_count, len, step) in arrivals {
            now += seconds(step);
            let header = LpHeader { sequence: Some(sequence), frag_index, frag_count, ..LpHeader::default() };
            let wire = header.encode(Some(&vec![0; len]));
            if let Ok(Some((packet, _))) = push(&mut reassembler, now, sender, &wire) {
                prop_assert!(packet.len() <= config.max_packet);
            }
            prop_assert!(reassembler.partials() <= config.max_partials);
            prop_assert!(reassembler.bytes() <= config.max_bytes);
            prop_assert!(reassembler.next_deadline().is_none_or(|d| d > now));
        }
        reassembler.expire(now + seconds(100));
        prop_assert_eq!((reassembler.partials(), reassembler.bytes()), (0, 0));
    }
}

#[test]
fn a_packet_that_fits_stays_whole_and_bare() {
    let packet = [5, 3, 7, 1, 0];
    assert_eq!(split(&packet, 5), [packet.to_vec()]);
    let mut reassembler = Reassembler::default();
    let done = push(&mut reassembler, ZERO, 0, &packet).unwrap();
    assert_eq!(done, Some((packet.to_vec(), LpHeader::default())));
    assert_eq!(reassembler.stats(), ReassemblyStats::default());
}

#[test]
fn only_the_first_fragment_carries_the_header_and_sequences_go_on() {
    let header = LpHeader { congestion_mark: Some(1), ..LpHeader::default() };
    let mut fragmenter = Fragmenter::new(100, u64::MAX);
    let fragments = fragmenter.fragment(&header, &[0; 200]).unwrap();
    let views: Vec<_> = fragments.iter().map(|f| LpPacketView::decode(f).unwrap()).collect();
    assert_eq!(views.iter().map(|v| v.sequence).collect::<Vec<_>>(), [Some(u64::MAX), Some(0), Some(1)]);
    assert_eq!(views.iter().map(|v| v.congestion_mark).collect::<Vec<_>>(), [Some(1), None, None]);
    let next = fragmenter.fragment(&header, &[0; 200]).unwrap();
    assert_eq!(LpPacketView::decode(&next[0]).unwrap().sequence, Some(2));
}

#[test]
fn an_mtu_without_room_is_an_error() {
    let mut fragmenter = Fragmenter::new(20, 0);
    let error = fragmenter.fragment(&LpHeader::default(), &[0; 50]).unwrap_err();
    assert!(matches!(error, FragmentError::NoRoom { mtu: 20, .. }));
    fragmenter.set_mtu(40);
    assert_eq!(fragmenter.mtu(), 40);
    assert!(matches!(fragmenter.fragment(&LpHeader::default(), &[0; 8800]), Err(FragmentError::TooMany(_))));
    assert!(fragmenter.fragment(&LpHeader::default(), &[0; 50]).is_ok());
}

#[test]
fn a_mark_on_any_fragment_marks_the_packet() {
    let mut reassembler = Reassembler::default();
    let fragments = split(&[0; 200], 100);
    for (i, fragment) in fragments.iter().enumerate() {
        let view = LpPacketView::decode(fragment).unwrap();
        let mut header = view.to_header();
        if i == 1 {
            header.congestion_mark = Some(3);
        }
        if let Some((_, header)) = push(&mut reassembler, ZERO, 0, &header.encode(view.fragment)).unwrap() {
            assert_eq!(header, LpHeader { congestion_mark: Some(3), ..LpHeader::default() });
        }
    }
    assert_eq!(reassembler.stats().reassembled, 1);
}

#[test]
fn senders_on_a_shared_link_do_not_mix() {
    let mut reassembler = Reassembler::default();
    let (a, b) = (split(&[1; 200], 150), split(&[2; 200], 150));
    assert_eq!(push(&mut reassembler, ZERO, 1, &a[0]), Ok(None));
    assert_eq!(push(&mut reassembler, ZERO, 2, &b[0]), Ok(None));
    assert_eq!(push(&mut reassembler, ZERO, 2, &b[1]).unwrap().unwrap().0, [2; 200]);
    assert_eq!(push(&mut reassembler, ZERO, 1, &a[1]).unwrap().unwrap().0, [1; 200]);
}

#[test]
fn an_incomplete_packet_is_given_up_when_its_time_runs_out() {
    let mut reassembler = Reassembler::default();
    let fragments = split(&[0; 200], 150);
    assert_eq!(reassembler.next_deadline(), None);
    push(&mut reassembler, seconds(1), 0, &fragments[0]).unwrap();
    let deadline = reassembler.next_deadline().unwrap();
    assert_eq!(deadline, Duration::from_millis(1500));
    assert_eq!(reassembler.expire(deadline - Duration::from_nanos(1)), 0);
    assert_eq!(push(&mut reassembler, deadline, 0, &fragments[1]), Ok(None));
    assert_eq!(reassembler.stats().timed_out, 1);
    assert_eq!(reassembler.partials(), 1);
}

#[test]
fn the_oldest_incomplete_packet_is_dropped() {
    let mut reassembler = Reassembler::new(ReassemblerConfig { max_partials: 2, ..ReassemblerConfig::default() });
    let mut fragmenter = Fragmenter::new(150, 0);
    let packets: Vec<_> = (0..3).map(|i| fragmenter.fragment(&LpHeader::default(), &[i; 200]).unwrap()).collect();
    for packet in &packets {
        assert_eq!(push(&mut reassembler, ZERO, 0, &packet[0]), Ok(None));
    }
    assert_eq!(reassembler.stats().evicted, 1);
    assert!(push(&mut reassembler, ZERO, 0, &packets[2][1]).unwrap().is_some());
    assert!(push(&mut reassembler, ZERO, 0, &packets[1][1]).unwrap().is_some());
    assert_eq!(push(&mut reassembler, ZERO, 0, &packets[0][1]), Ok(None));
}

#[test]
fn the_header_of_a_first_fragment_counts_towards_the_bound() {
    let config = ReassemblerConfig { max_bytes: 1000, ..ReassemblerConfig::default() };
    let mut reassembler = Reassembler::new(config);
    let mut header = LpHeader { sequence: Some(0), frag_count: Some(2), acks: vec![0; 50], ..LpHeader::default() };
    push(&mut reassembler, ZERO, 0, &header.encode(Some(&[0]))).unwrap();
    assert!(reassembler.bytes() > 400);
    header.sequence = Some(10);
    header.acks = vec![0; 200];
    let rejected = push(&mut reassembler, ZERO, 0, &header.encode(Some(&[0])));
    assert_eq!(rejected, Err(ReassemblyError::TooLarge));
}

/// A packet that arrived in pieces of a byte occupies hundreds of them.
#[test]
fn bookkeeping_counts_towards_the_bound_and_a_lower_bound_takes_effect_with_the_next_fragment() {
    let mut reassembler = Reassembler::new(ReassemblerConfig { max_bytes: 6000, ..ReassemblerConfig::default() });
    let fragment = |sequence| {
        let header =
            LpHeader { sequence: Some(sequence), frag_index: Some(1), frag_count: Some(2), ..LpHeader::default() };
        header.encode(Some(&[0]))
    };
    for i in 0..100 {
        push(&mut reassembler, ZERO, 0, &fragment(10 * i)).unwrap();
        assert!(reassembler.bytes() <= 6000);
    }
    assert!((2..60).contains(&reassembler.partials()), "{} packets", reassembler.partials());
    let before = reassembler.stats().evicted;
    reassembler.set_max_bytes(2000);
    assert_eq!(reassembler.stats().evicted, before);
    push(&mut reassembler, ZERO, 0, &fragment(2000)).unwrap();
    assert!(reassembler.bytes() <= 2000 && reassembler.partials() >= 1);
    assert!(reassembler.stats().evicted > before);
}

/// A few bytes would otherwise occupy as much as four hundred fragments.
#[test]
fn the_number_of_fragments_that_a_packet_states_takes_no_memory() {
    let mut reassembler = Reassembler::default();
    let header = LpHeader { sequence: Some(7), frag_index: Some(399), frag_count: Some(400), ..LpHeader::default() };
    push(&mut reassembler, ZERO, 0, &header.encode(Some(&[0]))).unwrap();
    assert!((100..600).contains(&reassembler.bytes()), "{}", reassembler.bytes());
}

#[test]
fn contradicting_fragments_are_dropped_and_counted() {
    let mut reassembler = Reassembler::default();
    let fragment = |sequence, index, count, len| {
        LpHeader { sequence, frag_index: Some(index), frag_count: Some(count), ..LpHeader::default() }
            .encode(Some(&vec![0; len]))
    };
    let mut expect = |wire: Vec<u8>, error| assert_eq!(push(&mut reassembler, ZERO, 0, &wire), Err(error));
    expect(fragment(None, 0, 2, 1), ReassemblyError::NoSequence);
    expect(fragment(Some(1), 2, 2, 1), ReassemblyError::IndexOutOfRange { index: 2, count: 2 });
    expect(fragment(Some(1), 0, 0, 1), ReassemblyError::IndexOutOfRange { index: 0, count: 0 });
    expect(fragment(Some(1), 1, 401, 1), ReassemblyError::TooManyFragments(401));
    expect(fragment(Some(1), 1, u64::MAX, 1), ReassemblyError::TooManyFragments(u64::MAX));
    expect(fragment(Some(1), 0, 2, 9000), ReassemblyError::TooLarge);
    assert_eq!(push(&mut reassembler, ZERO, 0, &fragment(Some(10), 0, 3, 5000)), Ok(None));
    let duplicate = push(&mut reassembler, ZERO, 0, &fragment(Some(10), 0, 3, 1));
    assert_eq!(duplicate, Err(ReassemblyError::Duplicate));
    let too_large = push(&mut reassembler, ZERO, 0, &fragment(Some(11), 1, 3, 5000));
    assert_eq!(too_large, Err(ReassemblyError::TooLarge));
    assert_eq!(push(&mut reassembler, ZERO, 0, &fragment(Some(20), 0, 3, 5)), Ok(None));
    let mismatch = push(&mut reassembler, ZERO, 0, &fragment(Some(21), 1, 2, 5));
    assert_eq!(mismatch, Err(ReassemblyError::CountMismatch));
    let stats = reassembler.stats();
    assert_eq!((stats.abandoned, stats.dropped_fragments), (2, 9));
    assert_eq!((reassembler.partials(), reassembler.bytes()), (0, 0));
}

#[test]
fn an_idle_packet_completes_nothing() {
    let mut reassembler = Reassembler::default();
    assert_eq!(push(&mut reassembler, ZERO, 0, &LpHeader::default().encode(None)), Ok(None));
    assert_eq!(reassembler.stats(), ReassemblyStats::default());
}
