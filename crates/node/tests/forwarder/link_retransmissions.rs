//! Two forwarders over a path that loses frames, which the link between them retransmits.

use super::bench::*;
use ndnweir_core::ctx::Rng;
use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_node::FaceConfig;
use ndnweir_node::forwarder::{FaceOptions, Reliability};
use ndnweir_wire::DataView;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};

/// The header field of a Data that is late.
const LINK_RETRANSMITTED: u32 = 944;
/// From one forwarder to the other, in ms.
const DELAY: u64 = 10;

struct Pair {
    /// An application sends Interests on the near one's face 0, a producer answers on the far one's; face 1 is the link
    /// between them.
    near: Bench,
    far: Bench,
    random: Rng,
    loss: f64,
    /// By arrival: whether it goes to the far one, and the frame.
    on_the_way: BTreeMap<(Time, u64), (bool, Vec<u8>)>,
    sent: u64,
    /// What the application got: how often each name, and the frames.
    got: BTreeMap<String, u32>,
    frames: Vec<Vec<u8>>,
    /// When the far one sent over the link for the first and the last time.
    busy: Option<(Time, Time)>,
}

fn link(reliability: Reliability) -> FaceOptions {
    FaceOptions { reliability, ..remote() }
}

impl Pair {
    fn new(scheme: &Value, loss: f64, far: FaceOptions) -> Pair {
        let mut near = Bench::with(scheme, |_| (), vec![local(), link(Reliability::On)]);
        let mut far = Bench::with(scheme, |_| (), vec![local(), far]);
        near.route("/a", 1);
        far.route("/a", 0);
        let random = Rng::derive(11, &[]);
        let (on_the_way, got) = (BTreeMap::new(), BTreeMap::new());
        let mut pair = Pair { near, far, random, loss: 0.0, on_the_way, sent: 0, got, frames: Vec::new(), busy: None };
        // They detect each other on a path without losses.
        pair.ask(0, "/a/first");
        pair.run(100);
        assert_eq!(pair.got.len(), 1);
        pair.loss = loss;
        pair
    }

    fn ask(&mut self, nonce: u32, name: &str) {
        self.near.receive(0, &interest(name, nonce));
    }

    fn put(&mut self, to_far: bool, frame: Vec<u8>) {
        self.sent += 1;
        if self.random.unit() >= self.loss {
            let at = self.near.now + Duration::from_millis(DELAY);
            self.on_the_way.insert((at, self.sent), (to_far, frame));
        }
    }

    /// Lets `duration` ms pass.
    fn run(&mut self, duration: u64) {
        for _ in 0..duration {
            self.near.wait(1);
            self.far.wait(1);
            let now = self.near.now;
            while let Some(entry) = self.on_the_way.first_entry().filter(|entry| entry.key().0 <= now) {
                let (to_far, frame) = entry.remove();
                if to_far { self.far.receive(1, &frame) } else { self.near.receive(1, &frame) }
            }
            for (face, frame) in self.far.take() {
                if face == 0 {
                    let name = ndnweir_wire::InterestView::decode(&open(&frame).0).unwrap().name().to_string();
                    self.far.receive(0, &data(&name, &[5; 8000], 0));
                } else {
                    self.busy = Some((self.busy.map_or(now, |busy| busy.0), now));
                    self.put(false, frame);
                }
            }
            for (face, frame) in self.near.take() {
                if face == 0 {
                    let name = DataView::decode(&open(&frame).0).unwrap().name().to_string();
                    *self.got.entry(name).or_insert(0) += 1;
                    self.frames.push(frame);
                } else {
                    self.put(true, frame);
                }
            }
        }
    }
}

#[test]
fn every_data_arrives_once_though_a_frame_in_twenty_is_lost_both_ways() {
    let mut pair = Pair::new(&json!({}), 0.05, link(Reliability::OnRequest));
    for i in 0..1000 {
        pair.ask(i, &format!("/a/seg={i}"));
        pair.run(2);
    }
    pair.run(4000);
    assert_eq!(pair.got.len(), 1001);
    assert!(pair.got.values().all(|times| *times == 1));
    let (near, far) = (pair.near.forwarder.link_counters(FaceId(1)), pair.far.forwarder.link_counters(FaceId(1)));
    // 1000 Interests were sent once, and 6000 frames of Data; one in twenty was lost. Some more are sent again for
    // lost acks.
    assert_eq!((near.interests_out, far.data_out), (1001, 1001));
    assert!((30..120).contains(&near.link.retransmitted), "{:?}", near.link);
    assert!((240..600).contains(&far.link.retransmitted), "{:?}", far.link);
    assert_eq!((near.link.given_up, far.link.given_up), (0, 0));
    for bench in [&mut pair.near, &mut pair.far] {
        assert_eq!(bench.forwarder.counters().unacknowledged_bytes, 0);
        bench.check_empty();
    }
}

#[test]
fn link_retransmitted_data_say_so_and_are_not_taken_for_delayed_ones() {
    // Every Data delayed by 5 ms or more would be marked; a repair takes 20 ms.
    let scheme = json!({ "meter": { "name": "hbhcm", "plain-ends": false, "immediate": "5ms" } });
    let mut pair = Pair::new(&scheme, 0.01, link(Reliability::OnRequest));
    for i in 0..1000 {
        pair.ask(i, &format!("/a/seg={i}"));
        pair.run(2);
    }
    pair.run(4000);
    assert_eq!(pair.got.len(), 1001);
    let headers: Vec<_> = pair.frames.iter().map(|frame| open(frame).1).collect();
    let link_retransmitted = headers.iter().filter(|header| header.extra(LINK_RETRANSMITTED).is_some()).count();
    // Of six frames and an Interest each, one in a hundred is lost.
    assert!((40..120).contains(&link_retransmitted), "{link_retransmitted}");
    assert_eq!(headers.iter().filter(|header| header.congestion_mark.is_some()).count(), 0);
}

#[test]
fn link_retransmissions_take_their_time_from_the_rate_of_a_face() {
    let node = FaceConfig::link(Rate::from_mbps(8.0), Limit::Packets(1000));
    let far = FaceOptions { node, ..link(Reliability::OnRequest) };
    let mut pair = Pair::new(&json!({}), 0.1, far);
    let before = pair.far.forwarder.link_counters(FaceId(1)).bytes_out;
    pair.busy = None;
    for i in 0..200 {
        pair.ask(i, &format!("/a/seg={i}"));
    }
    pair.run(6000);
    assert_eq!(pair.got.len(), 201);
    let counters = pair.far.forwarder.link_counters(FaceId(1));
    let (first, last) = pair.busy.unwrap();
    // 8 Mbit/s are 1 MB/s, and 200 Data of 8 kB take 1.7 s without link retransmissions.
    let (seconds, bytes) = (last.since(first).secs(), (counters.bytes_out - before) as f64);
    assert!(counters.link.retransmitted >= 100, "{:?}", counters.link);
    assert!(bytes > 1_750_000.0 && bytes <= 1.01 * 1e6 * seconds, "{bytes} bytes in {seconds} s");
}

#[test]
fn a_neighbour_without_reliability_gets_unchanged_frames_except_for_probes() {
    let mut pair = Pair::new(&json!({}), 0.0, link(Reliability::Off));
    for i in 0..100 {
        pair.ask(i, &format!("/a/seg={i}"));
        pair.run(5);
    }
    pair.run(100);
    assert_eq!(pair.got.len(), 101);
    let (near, far) = (pair.near.forwarder.link_counters(FaceId(1)), pair.far.forwarder.link_counters(FaceId(1)));
    assert_eq!((near.link, far.link), Default::default());
    assert_eq!(pair.near.forwarder.reliability(FaceId(1)), (Reliability::On, false));
    let mut off = Pair::new(&json!({}), 0.0, link(Reliability::Off));
    off.near.forwarder.set_reliability(off.near.now, FaceId(1), Reliability::Off);
    let before = off.near.forwarder.link_counters(FaceId(1)).bytes_out;
    for i in 0..100 {
        off.ask(i, &format!("/a/seg={i}"));
        off.run(5);
    }
    off.run(100);
    let plain = off.near.forwarder.link_counters(FaceId(1)).bytes_out - before;
    // Pair::new takes 100 ms and the Interests 500: no second ask, so the bytes are the same.
    let asked_once = near.bytes_out - before;
    assert_eq!(asked_once, plain);
}

// A Data of 1000 B is asked for each ms, and the link takes 2 ms for each: the face is told nothing, learns some 4.3 Mbit/s
// from its neighbour's acks, and sends at that, so that what is too much waits in its own queue and not below it.
#[test]
fn a_face_that_is_told_no_rate_learns_that_of_its_link_and_queues_by_itself() {
    let learning = || {
        let node = FaceConfig { local: false, limit: Limit::Packets(100), framing: bytes(28), ..FaceConfig::local() };
        FaceOptions { node, reliability: Reliability::On, learns_rate: true, ..remote() }
    };
    let mut near = Bench::new(vec![local(), learning()]);
    let mut far = Bench::new(vec![local(), learning()]);
    near.route("/a", 1);
    far.route("/a", 0);
    let (mut link, mut free) = (VecDeque::new(), ms(0));
    let mut longest = Duration::ZERO;
    for t in 0..4000 {
        (near.now, far.now) = (ms(t), ms(t));
        near.wait_us(0);
        far.wait_us(0);
        near.receive(0, &interest(&format!("/a/seg={t}"), t as u32));
        for (face, frame) in near.take() {
            if face == 1 {
                far.receive(1, &frame);
            }
        }
        let (asked, mut left): (Vec<_>, Vec<_>) = far.take().into_iter().partition(|(face, _)| *face == 0);
        for (_, frame) in asked {
            let (packet, _) = open(&frame);
            let name = ndnweir_wire::InterestView::decode(&packet).unwrap().name().to_string();
            far.receive(0, &data(&name, &[0; 900], 0));
        }
        left.extend(far.take());
        for (_, frame) in left {
            free = free.max(ms(t)) + Duration::from_millis(if frame.len() > 500 { 2 } else { 0 });
            link.push_back((free, frame));
        }
        while let Some((_, frame)) = link.pop_front_if(|(came, _)| *came <= ms(t)) {
            near.receive(1, &frame);
        }
        if t >= 2000 {
            longest = longest.max(free.since(ms(t)));
        }
    }
    let rate = far.forwarder.learned_rate(FaceId(1)).expect("a rate").mbps();
    assert!((4.0..4.9).contains(&rate), "{rate} Mbit/s");
    assert!(longest <= Duration::from_millis(16), "{longest:?} below the face");
    let (_, egress) = far.forwarder.face_counters(ms(4000), FaceId(1));
    assert!(egress.queue_packets > 50, "{} packets in the face's own queue", egress.queue_packets);
    assert_eq!(near.forwarder.learned_rate(FaceId(1)), None, "Interests fill nothing");
}
