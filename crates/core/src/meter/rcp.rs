//! `rcp`: one rate for all flows of an egress link, which Data take along, the least of their path.
//!
//! Source: N. Dukkipati, N. McKeown, "Why flow-completion time is the right metric for congestion control", CCR 36(1),
//! 2006, §2: every T, R ← R·[1 + (T/d)·(α·(C − y) − β·q/d)/C], with C the capacity, y the arrival rate over the last T,
//! q the queue and d the mean of the round-trip times that packets carry; α 0.4 and β 0.226 are stable (Dukkipati,
//! "Rate Control Protocol", PhD thesis, Stanford 2007, §3). What these leave open is as in the authors' queue for ns-2
//! (`rcp.cc`, published in richardhsu/cs244-14-rcp, 8c40326): T is the smaller of 10 ms and d; R starts at 0.05·C and
//! stays between 10 B per d and C; d starts at 200 ms and moves to the mean x of a slot, weighted by size, by T/d if x
//! ≥ d, else by (R/C)·(x/d)·(T/d).
//!
//! What NDN changes: round-trip times come with Interests and count where their Data leave. Ours: R is kept for links
//! of known rate only, as the driver reports it; y is everything offered to the egress, also what is dropped; the slot
//! has a fixed length, and where d is shorter (or the meter was called late) d counts as that; a time that an Interest
//! carries counts as 10 s at most; Data of an application on this node arrive without a rate.

use super::{DataIn, DataOut, Meter, Report};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::shaper::FaceView;
use crate::shared::explicit::{lower, round_trip_of_field};
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Rcp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Gain of the spare capacity; 0.4 in the source.
    pub alpha: f64,
    /// Gain of the queue; 0.226 in the source.
    pub beta: f64,
    /// T, the time between two changes of a rate; at most 10 ms in the source.
    pub slot: Duration,
    /// The first rate, as a part of the capacity; 0.05 in the authors' code.
    pub initial_rate: f64,
    /// d before round-trip times are known; 200 ms in the authors' code.
    pub initial_rtt: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            alpha: 0.4,
            beta: 0.226,
            slot: Duration::from_millis(10),
            initial_rate: 0.05,
            initial_rtt: Duration::from_millis(200),
        }
    }
}

/// The longest round trip that counts (ours).
const LONGEST: Duration = Duration::from_millis(10_000);
/// The least bits per round trip (authors' code: 0.01 packets of 1000 B).
const LEAST_BITS: f64 = 80.0;

/// One egress link.
#[derive(Clone, Copy, Debug, ndnweir_state::Value)]
struct Link {
    /// R, in bit/s.
    rate: f64,
    /// d, in s.
    rtt: f64,
    /// Bits offered up to the last change.
    offered: u64,
    /// Sum of round-trip times in s, each times the bytes of its Data, and of these bytes, since the last change.
    times: f64,
    bytes: f64,
    /// The rate recorded last.
    recorded: f64,
}

impl Link {
    /// One change, `elapsed` s after the last one.
    fn update(&mut self, params: &Params, view: &FaceView, capacity: f64, elapsed: f64) {
        let offered = view.offered_bits.saturating_sub(self.offered) as f64 / elapsed;
        self.offered = view.offered_bits;
        if self.bytes > 0.0 {
            let mean = self.times / self.bytes;
            let slot = (elapsed / self.rtt).min(1.0);
            let gain = if mean >= self.rtt { slot } else { (self.rate / capacity).min(1.0) * (mean / self.rtt) * slot };
            self.rtt += gain * (mean - self.rtt);
            (self.times, self.bytes) = (0.0, 0.0);
        }
        let rtt = self.rtt.max(elapsed);
        let queue = view.queue.bytes.bits() as f64;
        let change = (params.alpha * (capacity - offered) - params.beta * queue / rtt) / capacity;
        let rate = self.rate * (1.0 + elapsed / rtt * change);
        let least = (LEAST_BITS / rtt).min(capacity);
        // A comparison with what is not a number is false.
        self.rate = if rate > least { rate.min(capacity) } else { least };
    }
}

/// The meter.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct Rcp {
    #[state(skip)]
    params: Params,
    explicit: Slot,
    round_trip: Slot,
    /// By face; none where the rate is unknown.
    links: Vec<Option<Link>>,
    changed: Time,
    next: Time,
}

impl Component for Rcp {
    const NAME: &'static str = "rcp";
    const SUMMARY: &'static str = "writes each link's one rate for all flows into Data (RCP)";
    const SOURCE: &'static str = "Dukkipati, McKeown, CCR 2006; Dukkipati's thesis; authors' ns-2 queue for what these \
         leave open; where times come from and what the arrival rate counts: ours";
    const FIELDS: &'static [Field] = &[Field::ExplicitRate, Field::RoundTrip];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("alpha", params.alpha, 0.0, 10.0)?;
        check::number("beta", params.beta, 0.0, 10.0)?;
        check::number("initial-rate", params.initial_rate, 1e-6, 1.0)?;
        check::least("initial-rtt", params.initial_rtt, Duration::from_millis(1))?;
        check::least("slot", params.slot, Duration::from_millis(1))
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Rcp {
        let (explicit, round_trip) = (env.slot(Field::ExplicitRate), env.slot(Field::RoundTrip));
        let (links, changed, next) = (Vec::new(), Time::ZERO, Time::ZERO);
        Rcp { params: params.clone(), explicit, round_trip, links, changed, next }
    }
}

impl Rcp {
    fn update(&mut self, view: &FaceView, elapsed: f64, ctx: &mut Ctx<'_>) {
        let Some(place) = self.links.get_mut(view.face.index()) else { return };
        let Some(capacity) = view.rate.filter(|rate| rate.bps() > 0 && !view.local) else {
            *place = None;
            return;
        };
        let capacity = capacity.bps() as f64;
        let (rate, rtt) = (self.params.initial_rate * capacity, self.params.initial_rtt.secs());
        let fresh = Link { rate, rtt, offered: view.offered_bits, times: 0.0, bytes: 0.0, recorded: 0.0 };
        let is_known = place.is_some();
        let link = place.get_or_insert(fresh);
        if is_known && elapsed > 0.0 {
            link.update(&self.params, view, capacity, elapsed);
        }
        if ctx.trace.is_on() && (link.rate - link.recorded).abs() > 0.01 * link.recorded {
            link.recorded = link.rate;
            ctx.trace.record(ctx.now, "link-rate", u64::from(view.face.0), link.rate);
        }
    }
}

impl Meter for Rcp {
    fn on_data_in(&mut self, event: &mut DataIn<'_>, _: &mut Ctx<'_>) {
        if event.local {
            event.packet.fields.set(self.explicit, 0);
        }
    }

    fn on_data_out(&mut self, event: &mut DataOut<'_>, _: &mut Ctx<'_>) {
        let Some(Some(link)) = self.links.get_mut(event.face.index()) else { return };
        let told = event.interest_fields.get(self.round_trip);
        if told > 0 {
            let bytes = f64::from(event.packet.size);
            link.times += (round_trip_of_field(told)).min(LONGEST.secs()) * bytes;
            link.bytes += bytes;
        }
        if event.from_cache {
            event.packet.fields.set(self.explicit, 0);
        }
        lower(&mut event.packet.fields, self.explicit, link.rate);
    }

    fn next_wake(&self) -> Time {
        self.next
    }

    fn on_period(&mut self, faces: &[FaceView], _: &mut Vec<Report>, ctx: &mut Ctx<'_>) {
        let elapsed = ctx.now.since(self.changed).secs();
        (self.changed, self.next) = (ctx.now, ctx.now + self.params.slot);
        let top = faces.iter().map(|view| view.face.index() + 1).max().unwrap_or(0);
        self.links.resize(top.max(self.links.len()), None);
        for view in faces {
            self.update(view, elapsed, ctx);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ctx::{Rng, Trace};
    use crate::fields::{FieldLayout, Fields};
    use crate::ids::{FaceId, PrefixId};
    use crate::packet::{Kind, Packet};
    use crate::queue::{Limit, QueueView};
    use crate::units::{Bytes, Rate};

    struct Bench {
        meter: Rcp,
        rng: Rng,
        trace: Trace,
    }

    impl Bench {
        fn new(params: Params) -> Bench {
            let meter = Rcp::new(&params, &mut Env { layout: &mut FieldLayout::new() });
            Bench { meter, rng: Rng::derive(0, &[]), trace: Trace::default() }
        }

        /// One period, with what was offered since the start and what waits, at a link of `mbps`.
        fn period(&mut self, ms: u64, mbps: f64, offered_bits: u64, waiting: u64) {
            let rate = Some(Rate::from_mbps(mbps));
            let queue = QueueView { packets: 1, bytes: Bytes::new(waiting), limit: Limit::Packets(100), rate };
            let (face, sent_bits) = (FaceId(0), offered_bits);
            let view =
                FaceView { face, local: false, rate, open: false, return_rate: rate, queue, sent_bits, offered_bits };
            let now = Time::ZERO + Duration::from_millis(ms);
            let mut ctx = Ctx { now, rng: &mut self.rng, trace: &mut self.trace };
            self.meter.on_period(&[view], &mut Vec::new(), &mut ctx);
        }

        /// The rate in kbit/s that a Data carries on, which came with `explicit`; its Interest told `round_trip` µs.
        fn data(&mut self, explicit: u32, round_trip: u32) -> u32 {
            let mut interest_fields = Fields::default();
            interest_fields.set(self.meter.round_trip, round_trip);
            let mut packet = Packet { kind: Kind::Data, size: 1000, ..Packet::default() };
            packet.fields.set(self.meter.explicit, explicit);
            let mut event = DataOut {
                packet: &mut packet,
                prefix: PrefixId(0),
                face: FaceId(0),
                interest_arrival: Time::ZERO,
                retransmitted: false,
                interest_fields: &interest_fields,
                from_cache: false,
                flows: 1,
            };
            let mut ctx = Ctx { now: Time::ZERO, rng: &mut self.rng, trace: &mut self.trace };
            self.meter.on_data_out(&mut event, &mut ctx);
            packet.fields.get(self.meter.explicit)
        }
    }

    // C = 10 Mbit/s, d = 200 ms, T = 10 ms; R = 500 kbit/s at first.
    // 10 ms later, nothing offered: R·(1 + 0.05·0.4) = 510 kbit/s.
    // 20 ms: 150 000 bit in 10 ms are 15 Mbit/s, 25 000 B wait: α·(C − y)/C = −0.2, β·q/d/C = 0.226·200 000/0.2/10⁷ =
    // 0.0226: R·(1 − 0.05·0.2226) = 510·0.98887 = 504.3237 kbit/s.
    #[test]
    fn the_rate_follows_spare_capacity_and_queue() {
        let mut bench = Bench::new(Params::default());
        assert_eq!(bench.data(0, 0), 0, "no rate before the link is known");
        bench.period(0, 10.0, 0, 0);
        assert_eq!(bench.data(0, 0), 500);
        assert_eq!(bench.data(300, 0), 300, "the least of the path stays");
        bench.period(10, 10.0, 0, 0);
        assert_eq!(bench.data(0, 0), 510);
        bench.period(20, 10.0, 150_000, 25_000);
        assert_eq!(bench.data(0, 0), 504);
    }

    // A slot's mean of 100 and 300 ms is 200 ms; of 600 and 200 ms 400 ms ≥ d: d = 200 + (10/200)·200 = 210 ms. Then
    // 105 ms < d: the gain is R/C · 0.5 · 10/210; with R/C = 0.05 · 1.02² · … both slots idle: R = 0.05·1.02·(1 +
    // 10/210·0.4).
    #[test]
    fn the_mean_round_trip_rises_faster_than_it_falls() {
        let mut bench = Bench::new(Params::default());
        bench.period(0, 10.0, 0, 0);
        bench.data(0, 100_000);
        bench.data(0, 300_000);
        bench.period(10, 10.0, 0, 0);
        let rtt = |bench: &Bench| bench.meter.links[0].unwrap().rtt;
        assert_eq!(rtt(&bench), 0.2);
        bench.data(0, 600_000);
        bench.data(0, 200_000);
        bench.period(20, 10.0, 0, 0);
        assert!((rtt(&bench) - 0.21).abs() < 1e-12);
        bench.data(0, 105_000);
        bench.period(30, 10.0, 0, 0);
        let share = 0.05 * 1.02 * (1.0 + 0.4 * 10.0 / 210.0);
        assert!((rtt(&bench) - (0.21 - share * 0.5 * (10.0 / 210.0) * 0.105)).abs() < 1e-12);
        // A lie of 71 minutes counts as 10 s.
        bench.data(0, u32::MAX);
        bench.period(40, 10.0, 0, 0);
        assert!(rtt(&bench) < 0.7);
    }

    #[test]
    fn rates_stay_within_the_link_and_above_nothing() {
        let mut bench = Bench::new(Params { initial_rate: 1.0, ..Params::default() });
        bench.period(0, 10.0, 0, 0);
        bench.period(10, 10.0, 0, 0);
        assert_eq!(bench.data(0, 0), 10_000);
        for slot in 2..500 {
            bench.period(10 * slot, 10.0, 10_000_000 * slot, 1 << 40);
        }
        assert_eq!(bench.data(0, 0), 1, "80 bit per 200 ms are less than the field's unit");
        for slot in 500..5000 {
            bench.period(10 * slot, 10.0, 10_000_000 * 499, 0);
        }
        assert_eq!(bench.data(0, 0), 10_000);
    }
}
