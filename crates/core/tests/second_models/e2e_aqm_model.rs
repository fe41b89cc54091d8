//! End-to-end AQM as its authors' code has it (ICARUS-ICN/jaqmcc@0969a39: `consumer-src.cc` and the patch of the link
//! service), and both parts beside the components. Where the code tosses a coin, the component's toss is taken over,
//! and how often each side came up is compared at the end.

use crate::bench::{Bench, queue};
use crate::{MS, near};
use ndnweir_core::consumer::{Congestion, CongestionEvent, Consumer, DataEvent, Flight};
use ndnweir_core::fields::Field::{LinkId, LinkState};
use ndnweir_core::ids::FlowId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::queue::{DequeueEvent, EnqueueEvent, Marker};
use ndnweir_core::registry::{AnyConsumer, AnyMarker};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use serde_json::json;
use std::collections::BTreeMap;

const PAYLOAD: f64 = 1040.0;

/// Times in s, rates in B/s.
#[derive(Default)]
struct Router {
    rate: f64,
    delay: f64,
    next: Option<f64>,
    count: u8,
}

#[derive(PartialEq)]
enum Judgement {
    Grow,
    Cut,
    /// A cut with this probability.
    Due(f64),
}

struct ConsumerModel {
    window: f64,
    threshold: f64,
    routers: BTreeMap<u32, Router>,
    /// Whether a count of 8 bits began again.
    wrapped: bool,
}

impl ConsumerModel {
    fn judge(&mut self, now: f64, id: u32, mark: u32, rtt: f64) -> Judgement {
        let router = self.routers.entry(id).or_default();
        if mark & 0x80_0000 != 0 {
            router.rate = (u64::from((mark & 0x7f_ff00) >> 8) << (mark & 0xff)) as f64;
        } else {
            router.delay = f64::from(mark & 0x7f_ffff) / 1e6;
        }
        if router.rate == 0.0 {
            return Judgement::Grow;
        }
        if router.delay * router.rate > 100.0 * PAYLOAD && self.window < self.threshold {
            return Judgement::Cut;
        }
        if router.delay <= 0.005 {
            (router.next, router.count) = (None, 0);
            return Judgement::Grow;
        }
        match router.next {
            None => router.next = Some(now + 0.1),
            Some(next) if now > next => {
                router.count = router.count.wrapping_add(1);
                self.wrapped |= router.count == 0;
                router.next = Some(next + 0.1 / (f64::from(router.count) + 1.0).sqrt());
                return Judgement::Due(self.window * PAYLOAD / rtt / router.rate);
            }
            Some(_) => {}
        }
        Judgement::Grow
    }

    fn grow(&mut self) {
        self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
    }

    fn cut(&mut self) {
        self.threshold = self.window * 0.5;
        self.window = self.threshold.max(1.0);
    }
}

#[test]
fn e2e_aqm_consumers_agree_with_their_authors_code_over_links_that_fill_drain_and_fall_silent() {
    let mut bench = Bench::new(AnyConsumer::build, "e2e-aqm", &json!({}), &[LinkId, LinkState]);
    let mut model = ConsumerModel { window: 1.0, threshold: 1e7, routers: BTreeMap::new(), wrapped: false };
    let (mut expected, mut variance, mut cuts, mut certain) = (0.0, 0.0, 0.0, 0);
    for n in 0..120_000_u64 {
        bench.now += 50_000 + bench.dice.below(400_000);
        let rtt = 20 * MS + bench.dice.below(30 * MS);
        let flight = Flight { in_flight: 5, next_segment: n + 9, srtt: Duration::from_nanos(rtt), ..Flight::default() };
        let (sent, segment) = (Time::from_nanos(bench.now.saturating_sub(rtt)), n);
        // 12 links, whose rate is known after a while and 0 for one of them; the delays rise and fall over seconds, and
        // for one link they stay high, so that more than 256 cuts fall due.
        let id = 1 + bench.dice.below(12) as u32;
        let phase = bench.now / MS % (900 * u64::from(id));
        let high = id == 3 || phase > 450 * u64::from(id);
        let state = if n % 2 == 0 {
            let micros = if high { 5001 + bench.dice.below(90_000) } else { bench.dice.below(5001) };
            micros as u32
        } else {
            let mantissa = if id == 7 { 0 } else { 20_000 + bench.dice.below(12_767) as u32 };
            0x80_0000 | mantissa << 8 | 6
        };
        let mark = state | 3 << 24;
        let fields = bench.fields(&[(LinkId, id), (LinkState, mark)]);
        if n % 30_011 == 30_010 {
            let event = CongestionEvent { kind: Congestion::Timeout, segment, sent, fields: &fields, flight };
            bench.with(|consumer, ctx| consumer.on_congestion(&event, ctx));
            model.cut();
        } else {
            let (before, size) = (bench.component.window(), Bytes::new(1100));
            let rtt = Some(Duration::from_nanos(rtt));
            let event = DataEvent { segment, sent, rtt, mark: 0, size, fields: &fields, flight };
            bench.with(|consumer, ctx| consumer.on_data(&event, ctx));
            match model.judge(bench.now as f64 / 1e9, id, mark, flight.srtt.secs()) {
                Judgement::Grow => model.grow(),
                Judgement::Cut => {
                    certain += 1;
                    model.cut();
                }
                Judgement::Due(guilt) => {
                    let guilt = guilt.min(1.0);
                    (expected, variance) = (expected + guilt, variance + guilt * (1.0 - guilt));
                    // At a window of 1 a cut changes nothing but the threshold, and growth shows.
                    if bench.component.window() <= before {
                        cuts += 1.0;
                        model.cut();
                    } else {
                        model.grow();
                    }
                }
            }
        }
        let window = bench.component.window();
        assert!(near(window, model.window, 1e-9), "Data {n}: {window} instead of {}", model.window);
    }
    assert!(certain > 0 && cuts > 20.0, "{certain} and {cuts} cuts");
    let deviation = (cuts - expected) / variance.sqrt();
    assert!(deviation.abs() < 4.0, "{cuts} cuts instead of {expected}, {deviation} standard deviations");
    assert!(model.wrapped, "one link was to be above its target for more than 256 cuts");
}

#[test]
fn e2e_aqm_routers_agree_with_their_authors_code_on_what_they_stamp_and_how_often() {
    let mut bench = Bench::new(AnyMarker::build, "e2e-aqm", &json!({}), &[LinkId, LinkState]);
    let (link, state) = (bench.slot(LinkId), bench.slot(LinkState));
    let rate = Rate::from_mbps(10.0);
    let (mut own, mut delay) = (None, 0_u64);
    // As the code: bytes, bytes at the last measurement and its time, the rate.
    let (mut bytes, mut last_bytes, mut last_time, mut told) = (0_u64, 0_u64, None::<u64>, 0_u64);
    let mut stamped = BTreeMap::<u32, [f64; 3]>::new();
    let mut seen_rates = std::collections::BTreeSet::new();
    for n in 0..60_000_u64 {
        bench.now += 1 + bench.dice.below([2_000_000, 200_000, 8_000][n as usize / 5000 % 3]);
        let kind = if bench.dice.below(10) == 0 { Kind::Interest } else { Kind::Data };
        let size = if kind == Kind::Data { 300 + bench.dice.below(8000) } else { 40 };
        let mut packet = Packet { kind, size: size as u32, ..Packet::default() };
        let hops = bench.dice.below(6) as u32;
        let before = if hops == 0 { (0, 0) } else { (77, hops << 24 | 1234) };
        packet.fields.set(link, before.0);
        packet.fields.set(state, before.1);
        let event = EnqueueEvent { packet: &packet, queue: queue(3, 3000, rate) };
        bench.with(|marker, ctx| marker.on_enqueue(&event, ctx));
        bench.with(|marker, ctx| marker.stamp(&mut packet, ctx));
        if kind == Kind::Data {
            let (id, mark) = (packet.fields.get(link), packet.fields.get(state));
            assert_eq!(mark >> 24, hops + 1, "a hop more");
            let count = stamped.entry(hops).or_default();
            count[0] += 1.0;
            if id == before.0 {
                assert_eq!(mark & 0xff_ffff, before.1 & 0xff_ffff, "what another hop told stays");
            } else {
                assert_eq!(*own.get_or_insert(id), id, "one number per link");
                count[1] += 1.0;
                if mark & 0x80_0000 == 0 {
                    assert_eq!(u64::from(mark & 0x7f_ffff), delay.min((1 << 23) - 1), "packet {n}");
                } else {
                    count[2] += 1.0;
                    if bytes - last_bytes > 10_000 {
                        // The first time since the clock's least value gives 0 there.
                        let seconds = last_time.map_or(f64::INFINITY, |last| (bench.now - last) as f64 / 1e9);
                        told = ((bytes - last_bytes) as f64 / seconds) as u64;
                        (last_bytes, last_time) = (bytes, Some(bench.now));
                    }
                    let exponent = ((told as f64).log2() - 15.0).ceil().max(0.0) as u32;
                    assert_eq!(mark & 0xff, exponent, "packet {n}: {told}");
                    assert_eq!(u64::from(mark & 0x7f_ff00) >> 8, told >> exponent, "packet {n}: {told}");
                    seen_rates.insert(exponent);
                }
            }
        }
        bytes += size;
        if bench.dice.below(3) > 0 {
            delay = bench.dice.below(30_000);
            let sojourn = Duration::from_micros(delay);
            let event =
                DequeueEvent { kind, flow: FlowId(0), size: Bytes::new(size), sojourn, queue: queue(2, 2000, rate) };
            bench.with(|marker, ctx| marker.on_dequeue(&event, ctx));
        }
    }
    assert!(seen_rates.len() > 4, "{seen_rates:?}");
    for (hops, [all, own, rates]) in stamped {
        let chance = 1.0 / (f64::from(hops) + 1.0);
        let spread = 4.0 * (all * chance * (1.0 - chance)).sqrt();
        assert!((own - all * chance).abs() <= spread, "after {hops} hops {own} of {all}");
        assert!((rates - own / 2.0).abs() <= 2.0 * own.sqrt(), "{rates} rates of {own}");
    }
}
