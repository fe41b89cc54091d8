//! Traces by hand.

use super::*;
use ndnweir_core::ctx::Rng;
use ndnweir_wire::lp::Reassembler;
use proptest::prelude::*;
use std::collections::BTreeMap;

mod learned;

const PLENTY: usize = 1 << 30;

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

struct End {
    link: ReliableLink,
    fragmenter: Fragmenter,
}

/// What of a frame concerns the link.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    sequence: Option<u64>,
    number: Option<u64>,
    acks: Vec<u64>,
    mark: Option<u64>,
}

fn seen(frame: &[u8]) -> Seen {
    let header = LpPacketView::decode(frame).unwrap().to_header();
    Seen { sequence: header.sequence, number: header.tx_sequence, acks: header.acks, mark: header.congestion_mark }
}

fn numbers(frames: &[Vec<u8>]) -> Vec<Option<u64>> {
    frames.iter().map(|frame| seen(frame).number).collect()
}

fn acks(numbers: &[u64]) -> Vec<u8> {
    LpHeader { acks: numbers.to_vec(), ..LpHeader::default() }.encode(None)
}

impl End {
    /// TxSequences begin with `first`, Sequences with that plus 100.
    fn new(setting: Reliability, first: u64) -> End {
        End::with(Params::default(), setting, first)
    }

    fn with(params: Params, setting: Reliability, first: u64) -> End {
        let link = ReliableLink::new(params, setting, first);
        End { link, fragmenter: Fragmenter::new(1400, first.wrapping_add(100)) }
    }

    /// One whose neighbour acknowledges; the probe took TxSequence 0 and 20 ms.
    fn in_use() -> End {
        let mut end = End::new(Reliability::On, 0);
        assert_eq!(numbers(&end.send(ms(0), 50)), [Some(0)]);
        end.receive(ms(20), &acks(&[0]));
        assert!(end.link.is_in_use());
        end
    }

    fn send_about(&mut self, now: Time, packet: &[u8], about: FrameContent) -> Vec<Vec<u8>> {
        let (mut frames, header) = (Frames::default(), LpHeader::default());
        self.link.send(now, &header, packet, about, PLENTY, &mut self.fragmenter, &mut frames).unwrap();
        assert!(frames.iter().all(|frame| frame.len() <= self.fragmenter.mtu()));
        frames.iter().map(<[u8]>::to_vec).collect()
    }

    /// A Data of `len` bytes leaves.
    fn send(&mut self, now: Time, len: usize) -> Vec<Vec<u8>> {
        let mut packet = match u8::try_from(len - 2) {
            Ok(inside) if inside < 253 => vec![6, inside],
            _ => [&[6, 253], &((len - 4) as u16).to_be_bytes()[..]].concat(),
        };
        packet.resize(len, 0);
        self.send_about(now, &packet, FrameContent::Data)
    }

    fn receive(&mut self, now: Time, frame: &[u8]) -> ReceivedFrame {
        self.link.receive(now, &LpPacketView::decode(frame).unwrap())
    }

    /// What the link sends without a packet.
    fn poll(&mut self, now: Time) -> Vec<Vec<u8>> {
        let (mtu, mut frames) = (self.fragmenter.mtu(), Frames::default());
        while self.link.poll(now, mtu, &mut frames).is_some() {}
        assert!(self.link.poll_timeout(mtu) > now);
        assert!(frames.iter().all(|frame| frame.len() <= mtu));
        frames.iter().map(<[u8]>::to_vec).collect()
    }

    fn due(&self) -> Time {
        self.link.poll_timeout(self.fragmenter.mtu())
    }
}

#[test]
fn the_first_packet_is_a_probe_and_once_it_is_acknowledged_every_frame_has_both_numbers() {
    let mut end = End::new(Reliability::On, 7);
    let asks = end.send(ms(0), 50);
    // TxSequence is 840 = 0x348, eight bytes.
    assert_eq!(&asks[0][12..24], [0xFD, 3, 0x48, 8, 0, 0, 0, 0, 0, 0, 0, 7]);
    assert_eq!(numbers(&end.send(ms(999), 50)), [None], "it is probed once a second");
    end.receive(ms(999), &acks(&[7]));
    let frames = end.send(ms(1000), 3000);
    let both: Vec<_> = frames.iter().map(|frame| (seen(frame).sequence, seen(frame).number)).collect();
    assert_eq!(both, [(Some(108), Some(8)), (Some(109), Some(9)), (Some(110), Some(10))]);
    assert_eq!(seen(&end.send(ms(1000), 50)[0]).sequence, Some(111), "single frames too");
    // The last fragment requests all.
    assert_eq!(numbers(&End::new(Reliability::On, 7).send(ms(0), 3000)), [None, None, Some(7)]);
}

#[test]
fn a_neighbour_that_does_not_acknowledge_is_probed_once_a_second_and_gets_no_frame_twice() {
    let mut end = End::new(Reliability::On, 0);
    let mut due = Vec::new();
    for t in 0..100 {
        let frames = end.send(ms(100 * t), 50);
        due.extend(numbers(&frames).into_iter().flatten().map(|_| t));
        assert_eq!(end.poll(ms(100 * t + 99)), Vec::<Vec<u8>>::new());
    }
    assert_eq!(due, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    assert_eq!(end.link.bytes(), 0);
}

#[test]
fn one_that_may_not_probe_waits_for_the_neighbour() {
    let mut end = End::new(Reliability::OnRequest, 0);
    assert_eq!(numbers(&end.send(ms(0), 50)), [None]);
    let mut other = End::new(Reliability::On, 500);
    end.receive(ms(1), &other.send(ms(0), 50)[0]);
    let answer = seen(&end.send(ms(2), 50)[0]);
    assert_eq!((answer.number, answer.acks), (Some(0), vec![500]));
}

#[test]
fn a_probe_that_was_kept_back_is_made_by_the_next_packet() {
    let mut end = End::new(Reliability::On, 7);
    assert_eq!(numbers(&end.send(ms(0), 50)), [Some(7)]);
    end.link.ask_again(7);
    assert_eq!(end.due(), Time::NEVER, "nothing is waited for");
    assert_eq!(numbers(&end.send(ms(1), 50)), [Some(7)]);
    assert_eq!(numbers(&end.send(ms(2), 50)), [None]);
    end.receive(ms(3), &acks(&[7]));
    end.link.ask_again(7);
    assert_eq!(numbers(&end.send(ms(4), 50)), [Some(8)], "one that acknowledges needs none");
}

#[test]
fn the_third_ack_of_a_later_frame_sends_a_frame_again_with_the_next_number() {
    let mut end = End::in_use();
    let frames = end.send(ms(20), 8000);
    // The header takes 16 + 16 bytes more than without reliability: still six frames.
    assert_eq!(numbers(&frames), [1, 2, 3, 4, 5, 6].map(Some));
    end.receive(ms(40), &acks(&[1, 3, 4]));
    assert!(end.poll(ms(40)).is_empty());
    end.receive(ms(41), &acks(&[5]));
    let again = end.poll(ms(41));
    assert_eq!((seen(&again[0]).sequence, seen(&again[0]).number), (Some(102), Some(7)));
    assert_eq!(again.len(), 1);
    let part = |frame: &[u8]| LpPacketView::decode(frame).unwrap().fragment.unwrap().to_vec();
    assert_eq!(part(&again[0]), part(&frames[1]));
    end.receive(ms(61), &acks(&[6, 7]));
    let expected = Counts { acked: 7, retransmitted: 1, ..Counts::default() };
    assert_eq!((end.link.counts(), end.link.bytes(), end.due()), (expected, 0, Time::NEVER));
}

#[test]
fn late_repeated_and_forged_acks_change_nothing() {
    let mut end = End::in_use();
    end.send(ms(20), 8000);
    for _ in 0..10 {
        end.receive(ms(30), &acks(&[0, 7, 99, u64::MAX, 1 << 63]));
    }
    end.receive(ms(40), &acks(&[4, 4, 4, 4]));
    assert!(end.poll(ms(40)).is_empty());
    end.receive(ms(41), &acks(&[5, 6]));
    assert_eq!(numbers(&end.poll(ms(41))), [7, 8, 9].map(Some));
    // They had arrived: acks for the first transmissions come now, and the others' later.
    end.receive(ms(42), &acks(&[1, 2, 3]));
    end.receive(ms(61), &acks(&[7, 8, 9]));
    let counts = end.link.counts();
    assert_eq!((counts.acked, counts.retransmitted, counts.given_up, counts.strays), (7, 3, 0, 56));
}

#[test]
fn a_last_frame_is_sent_again_at_its_timeout_and_a_silent_neighbour_is_given_up_after_four() {
    let mut end = End::in_use();
    end.send(ms(1000), 50);
    // The round trip was 20 ms, the least timeout is 200 ms, and each is twice the one before.
    for (at, number) in [(1200, 2), (1600, 3), (2400, 4)] {
        assert_eq!(end.due(), ms(at));
        assert_eq!(numbers(&end.poll(ms(at))), [Some(number)]);
    }
    assert_eq!(end.due(), ms(4000));
    assert!(end.poll(ms(4000)).is_empty());
    assert!(!end.link.is_in_use());
    assert_eq!(end.link.counts(), Counts { acked: 1, retransmitted: 3, given_up: 1, ..Counts::default() });
    // An ack that arrives late matches nothing in flight.
    end.receive(ms(4001), &acks(&[1, 2, 3, 4]));
    assert!(!end.link.is_in_use());
    assert_eq!(numbers(&end.send(ms(4500), 50)), [None]);
    assert_eq!(numbers(&end.send(ms(5000), 50)), [Some(5)], "and it is probed again");
}

#[test]
fn an_ack_ends_the_doubling_of_timeouts_and_a_timeout_tries_eight_frames() {
    let mut end = End::in_use();
    for i in 0..20 {
        end.send(ms(1000 + i), 50);
    }
    assert_eq!(numbers(&end.poll(ms(1300))), (21..29).map(Some).collect::<Vec<_>>());
    // The oldest of the others was sent at 1008 ms and waits for 400 ms now.
    assert_eq!(end.due(), ms(1408));
    // Three of the eight are acknowledged: the twelve that were not tried are overtaken.
    end.receive(ms(1320), &acks(&[21, 22, 23]));
    assert_eq!(end.poll(ms(1320)).len(), 12);
    assert_eq!(end.due(), ms(1500), "sent at 1300 ms, 200 ms");
}

#[test]
fn a_packet_whose_frame_is_lost_four_times_is_given_up_with_its_other_frames() {
    let mut end = End::in_use();
    // Frames 1 and 2 are of one packet. The second is acknowledged, the first never.
    end.send(ms(20), 2000);
    end.receive(ms(40), &acks(&[2]));
    let mut lost = vec![1];
    for round in 1..=4 {
        let now = ms(40 + 20 * round);
        let three: Vec<u64> = (0..3).flat_map(|_| numbers(&end.send(now, 50))).flatten().collect();
        end.receive(now + Duration::from_millis(19), &acks(&three));
        lost.extend(numbers(&end.poll(now + Duration::from_millis(19))).into_iter().flatten());
    }
    assert_eq!(lost.len(), 4, "it was sent four times: {lost:?}");
    let counts = end.link.counts();
    assert_eq!((counts.retransmitted, counts.given_up, end.link.bytes()), (3, 1, 0));
    assert_eq!(end.due(), Time::NEVER);
}

#[test]
fn numbers_wrap() {
    // The probe takes u64::MAX - 2; Sequences wrap within the first packet, too.
    let mut end = End::new(Reliability::On, u64::MAX - 2);
    end.fragmenter = Fragmenter::new(1400, u64::MAX - 2);
    end.send(ms(0), 50);
    end.receive(ms(20), &acks(&[u64::MAX - 2]));
    let frames = end.send(ms(20), 8000);
    assert_eq!(numbers(&frames), [u64::MAX - 1, u64::MAX, 0, 1, 2, 3].map(Some));
    assert_eq!(
        frames.iter().map(|f| seen(f).sequence.unwrap()).collect::<Vec<_>>(),
        [u64::MAX - 1, u64::MAX, 0, 1, 2, 3]
    );
    end.receive(ms(40), &acks(&[u64::MAX - 1, 0, 1, 2]));
    let again = end.poll(ms(40));
    assert_eq!((seen(&again[0]).sequence, seen(&again[0]).number), (Some(u64::MAX), Some(4)));
    let mut other = End::new(Reliability::On, 0);
    let mut arrived: Vec<ReceivedFrame> =
        [0, 2, 3, 4, 5].map(|i: usize| other.receive(ms(30), &frames[i])).into_iter().collect();
    arrived.push(other.receive(ms(50), &again[0]));
    assert!(arrived[..5].iter().all(|frame| *frame == ReceivedFrame::default()));
    assert_eq!(arrived[5], ReceivedFrame { duplicate: false, link_retransmitted: true });
}

#[test]
fn a_frame_that_comes_again_is_a_duplicate_and_frames_that_overtake_each_other_are_not_link_retransmitted() {
    let (mut end, mut other) = (End::in_use(), End::new(Reliability::On, 0));
    let frames = end.send(ms(20), 8000);
    for i in [0, 2, 1, 4, 3] {
        assert_eq!(other.receive(ms(30), &frames[i]), ReceivedFrame::default());
    }
    assert_eq!(other.receive(ms(31), &frames[3]), ReceivedFrame { duplicate: true, link_retransmitted: false });
    // All but the last were acknowledged, but the acks were lost.
    end.receive(ms(50), &acks(&[4, 5]));
    end.send(ms(50), 50);
    end.receive(ms(70), &acks(&[7]));
    let again = end.poll(ms(70));
    assert_eq!(again.len(), 3, "frames 1 to 3");
    for frame in &again {
        assert!(other.receive(ms(80), frame).duplicate);
    }
    assert_eq!(other.link.counts().duplicates, 4);
    // The sixth, at its timeout: nothing later has come, but TxSequence is ahead of Sequence.
    let last = end.poll(ms(220)).pop().unwrap();
    assert_eq!(seen(&last).sequence, Some(106));
    assert_eq!(other.receive(ms(230), &last), ReceivedFrame { duplicate: false, link_retransmitted: true });
}

#[test]
fn a_restarted_neighbour_is_accepted() {
    let mut other = End::new(Reliability::On, 0);
    for first in [0, 1 << 40, 5] {
        let mut end = End::new(Reliability::On, first);
        end.send(ms(0), 50);
        end.receive(ms(1), &acks(&[first]));
        for frame in end.send(ms(2), 8000) {
            assert_eq!(other.receive(ms(3), &frame), ReceivedFrame::default());
        }
    }
}

#[test]
fn acks_ride_on_what_leaves_wait_for_5_ms_and_leave_at_once_when_they_fill_a_frame() {
    let (mut end, mut other) = (End::in_use(), End::in_use());
    let frames = end.send(ms(20), 3000);
    other.receive(ms(30), &frames[0]);
    other.receive(ms(32), &frames[1]);
    assert_eq!(other.due(), ms(35));
    assert_eq!(seen(&other.send(ms(33), 50)[0]).acks, [1, 2]);
    other.receive(ms(36), &frames[2]);
    assert!(other.poll(ms(40)).is_empty());
    let idle = other.poll(ms(41));
    // Ack is 836 = 0x344.
    assert_eq!(idle, [[&[100, 12, 0xFD, 3, 0x44, 8][..], &[0, 0, 0, 0, 0, 0, 0, 3]].concat()]);
    // An LpPacket of 300 bytes has room for (300 - 4) / 12 = 24 acks. 1000 bytes go in four frames of it.
    let mut small = End::in_use();
    (small.fragmenter, other.fragmenter) = (Fragmenter::new(300, 0), Fragmenter::new(300, 0));
    let frames: Vec<_> = (0..6).flat_map(|_| small.send(ms(50), 1000)).collect();
    assert_eq!(frames.len(), 24);
    for frame in &frames {
        other.receive(ms(50), frame);
    }
    assert_eq!(seen(&other.poll(ms(50))[0]).acks, (1..25).collect::<Vec<_>>());
}

#[test]
fn link_retransmitted_data_is_marked_when_losses_exceed_noise() {
    // One transmission in eleven is lost. The mean after n is 1/11 · (1 - (511/512)ⁿ): above 0.03 from n = 205, round
    // 19.
    let mut end = End::in_use();
    let mut marked = Vec::new();
    for round in 1..=30_u64 {
        let sent: Vec<u64> = (0..10).flat_map(|_| numbers(&end.send(ms(20 * round), 50))).flatten().collect();
        end.receive(ms(20 * round + 10), &acks(&sent[1..]));
        let again = end.poll(ms(20 * round + 10));
        assert_eq!(again.len(), 1);
        marked.extend(seen(&again[0]).mark.map(|_| round));
        end.receive(ms(20 * round + 19), &acks(&[seen(&again[0]).number.unwrap()]));
    }
    assert_eq!(marked.first(), Some(&19), "{marked:?}");
    assert_eq!(end.link.counts().marks, marked.len() as u64);
    // An Interest is not.
    let number = numbers(&end.send_about(ms(800), &[5, 0], FrameContent::Interest(NameId::default())))[0].unwrap();
    let later: Vec<u64> = (0..3).flat_map(|_| numbers(&end.send(ms(800), 50))).flatten().collect();
    assert_eq!(later[0], number + 1);
    end.receive(ms(820), &acks(&later));
    assert_eq!(seen(&end.poll(ms(820))[0]).mark, None);
}

#[test]
fn what_waits_for_acks_is_bounded_and_packets_beyond_go_without() {
    let mut end = End::in_use();
    let protected = (0..2000).take_while(|_| numbers(&end.send(ms(20), 8000))[0].is_some()).count();
    // 8 MiB are 985 times 8000 + 512 bytes.
    assert_eq!((protected, end.link.bytes()), (985, 985 * 8512));
    let mut small = End::in_use();
    let protected_small = (0..9000).take_while(|_| numbers(&small.send(ms(20), 50))[0].is_some()).count();
    assert_eq!(protected_small, 8192);
    let (mut frames, header) = (Frames::default(), LpHeader::default());
    let mut other = End::in_use();
    other.link.send(ms(20), &header, &[6, 0], FrameContent::Data, 100, &mut other.fragmenter, &mut frames).unwrap();
    assert_eq!(other.link.bytes(), 0, "all links together have no room");
    end.link.abandon_all(ms(30));
    assert_eq!((end.link.bytes(), end.link.counts().given_up), (0, protected as u64));
}

/// A path that loses, copies and reorders.
struct LossyChannel {
    random: Rng,
    loss: f64,
    trouble: f64,
    on_the_way: BTreeMap<(Time, u64), Vec<u8>>,
    sent: u64,
    /// For the Sequence of each frame: transmissions, and whether one of them arrives.
    transmissions: BTreeMap<u64, (u8, bool)>,
}

impl LossyChannel {
    fn new(seed: u64, loss: f64, trouble: f64) -> LossyChannel {
        LossyChannel {
            random: Rng::derive(seed, &[]),
            loss,
            trouble,
            on_the_way: BTreeMap::new(),
            sent: 0,
            transmissions: BTreeMap::new(),
        }
    }

    fn put(&mut self, now: Time, frames: Vec<Vec<u8>>) {
        for frame in frames {
            self.sent += 1;
            let (mut lost, sequence) = (true, seen(&frame).sequence);
            let copies = if self.random.unit() < self.trouble { 2 } else { 1 };
            for _ in 0..copies {
                let late = if self.random.unit() < self.trouble { self.random.below(30) } else { 0 };
                if self.random.unit() >= self.loss {
                    let at = now + Duration::from_millis(10 + late);
                    self.on_the_way.insert((at, self.sent * 2 + copies), frame.clone());
                    lost = false;
                }
            }
            if let Some(sequence) = sequence {
                let (count, arrives) = self.transmissions.entry(sequence).or_default();
                *count += 1;
                *arrives |= !lost;
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn every_packet_arrives_once_or_is_given_up_and_counted_whatever_the_way_does(
        seed in any::<u64>(), first in any::<u64>(), loss in 0.0..0.4, trouble in 0.0..0.3,
    ) {
        let (mut end, mut other) = (End::new(Reliability::On, first), End::new(Reliability::OnRequest, !first));
        let (mut forth, mut back) = (LossyChannel::new(seed, loss, trouble), LossyChannel::new(!seed, loss, trouble));
        let mut reassembler = Reassembler::default();
        reassembler.extend_timeout(std::time::Duration::from_secs(60));
        let (mut arrived, mut protected, mut sent) = (BTreeMap::new(), BTreeMap::new(), 0_u32);
        let (mut now, mut was_in_use, mut was_abandoned) = (Time::ZERO, false, false);
        while now < ms(30_000) {
            // One packet in 3 ms for 3 s, of one to four frames.
            if sent < 1000 && now >= ms(3 * u64::from(sent)) {
                let inside = u16::try_from(300 + sent % 4 * 1300).unwrap();
                let mut packet = vec![6, 253];
                packet.extend(inside.to_be_bytes());
                packet.extend(sent.to_be_bytes());
                packet.resize(4 + usize::from(inside), 7);
                let in_use = end.link.is_in_use();
                let frames = end.send_about(now, &packet, FrameContent::Data);
                if in_use {
                    protected.insert(sent, frames.iter().map(|frame| seen(frame).sequence.unwrap()).collect::<Vec<_>>());
                }
                forth.put(now, frames);
                sent += 1;
            }
            while let Some(entry) = forth.on_the_way.first_entry().filter(|entry| entry.key().0 <= now) {
                let frame = entry.remove();
                let heard = other.receive(now, &frame);
                let view = LpPacketView::decode(&frame).unwrap();
                if heard.duplicate || view.fragment.is_none() {
                    continue;
                }
                let at = std::time::Duration::from_nanos(now.nanos());
                if let Ok(Some(whole)) = reassembler.push_again(at, 0, &view, heard.link_retransmitted) {
                    let number = u32::from_be_bytes(whole.packet[4..8].try_into().unwrap());
                    *arrived.entry(number).or_insert(0) += 1;
                }
            }
            while let Some(entry) = back.on_the_way.first_entry().filter(|entry| entry.key().0 <= now) {
                end.receive(now, &entry.remove());
            }
            forth.put(now, end.poll(now));
            back.put(now, other.poll(now));
            was_abandoned |= was_in_use && !end.link.is_in_use();
            was_in_use = end.link.is_in_use();
            now += Duration::from_millis(1);
        }
        let missing: Vec<_> = protected.iter().filter(|(number, _)| !arrived.contains_key(number)).collect();
        let lost = missing.len() as u64;
        prop_assert!(lost <= end.link.counts().given_up, "{lost} missing, {:?}", end.link.counts());
        prop_assert!(protected.keys().all(|number| arrived.get(number).is_none_or(|times| *times == 1)));
        prop_assert_eq!(end.link.bytes(), 0);
        // What is missing lost a frame, and was given up when a frame had been sent four times without an ack, unless four
        // timeouts in a row without one ended the link's use.
        for (number, sequences) in missing {
            let fates: Vec<_> = sequences.iter().map(|sequence| forth.transmissions[sequence]).collect();
            prop_assert!(fates.iter().any(|(_, arrives)| !arrives), "{number}: {fates:?}");
            prop_assert!(was_abandoned || fates.iter().any(|(count, _)| *count == 4), "{number}: {fates:?}");
        }
    }
}

// An attacker who does not see the frames must guess TxSequences, which begin with a random number.
#[test]
fn acks_for_frames_that_were_never_sent_are_counted_and_change_nothing() {
    let first = 0x0123_4567_89AB_CDEF;
    let mut end = End::new(Reliability::On, first);
    end.send(ms(0), 50);
    end.receive(ms(1), &acks(&[0, 1, first - 1, first + 1, u64::MAX]));
    assert!(!end.link.is_in_use(), "nothing was acknowledged");
    end.receive(ms(2), &acks(&[first]));
    end.send(ms(3), 50);
    let (held, before) = (end.link.bytes(), end.link.counts());
    assert!(held > 0);
    let mut random = Rng::derive(4, &[]);
    for t in 0..1000_u64 {
        let mut guesses: Vec<u64> =
            (0..50).map(|_| u64::from(random.bits()) << 32 | u64::from(random.bits())).collect();
        guesses.extend([first, first + 2, first.wrapping_neg(), u64::MAX, 0]);
        end.receive(ms(3 + t / 1000), &acks(&guesses));
    }
    let after = end.link.counts();
    assert_eq!((end.link.bytes(), after.acked, after.retransmitted), (held, before.acked, before.retransmitted));
    assert_eq!(after.strays, 5 + 55_000);
    // Acknowledged once, and then again: nothing is released twice.
    end.receive(ms(10), &acks(&[first + 1]));
    end.receive(ms(10), &acks(&[first + 1; 40]));
    assert_eq!((end.link.bytes(), end.link.counts().acked, end.link.counts().strays), (0, 2, 55_045));
}

// Every third ack comes, so that the frames between count as lost.
#[test]
fn a_neighbour_that_holds_back_acks_gets_each_frame_a_few_times_and_no_more() {
    let mut end = End::in_use();
    let (mut sent, mut frames) = (0, 0);
    for t in 0..2000 {
        let now = ms(20 + t);
        let mut left = end.send(now, 50);
        sent += 1;
        left.extend(end.poll(now));
        frames += left.len();
        let told: Vec<u64> = numbers(&left).into_iter().flatten().filter(|number| number % 3 == 0).collect();
        end.receive(now, &acks(&told));
    }
    let most = 1 + usize::from(Params::default().retransmissions);
    assert!(frames <= most * sent, "{frames} frames for {sent} packets");
    assert!(end.link.bytes() <= 8 << 20);
}
