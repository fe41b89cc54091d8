//! `rate-aimd`: sends at a rate that grows per Data and is cut by congestion NACKs.
//!
//! The consumer of Stateful Forwarding as the NACK paper describes it (JIP 26, 2018, §4.1.1): at most L = C/S Interests
//! per second, r = L at first; r + 1 packet/s per Data, r / 2 per congestion NACK; with `law.once` at most one cut per
//! congestion (§3). C is the rate of the host's link as the driver reports it, S the size of the Data received.
//!
//! Where the source is silent (ours): the instant of the next Interest is fixed when one is sent, 1/r later, and a
//! later change of r does not move it, so that the first Interest at a reduced rate (T_send of §3) is the second after
//! the cut: the paper's numbers for 1, 4 and 7 Mbit/s need that; Duplicate and NoRoute NACKs, marks and timeouts leave
//! r alone; S is that of the shaper.

use super::{Congestion, CongestionEvent, Consumer, DataEvent, Flight, MAX_WINDOW, SentEvent, Timer};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::packet::NackReason;
use crate::shared::grant::Grant;
use crate::shared::once::State;
use crate::shared::rate::{Law, MAX_RATE, Rated};
use crate::shared::sizes::SizeEstimate;
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`RateAimd`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// C, the rate at which the first link brings Data; none takes the host's link, or 10 Mbit/s if that is unknown.
    pub link: Option<Rate>,
    /// S before the first Data, in bytes on the wire; 1250 in the source.
    pub data_size: Bytes,
    /// How the rate moves.
    pub law: Law,
    /// Whether the rate is also at most the last tolerance rate that came with a Data or NACK, as HoBHIS of 2014 needs;
    /// it counts for 2 s, or 4 packets at that rate, and until the next answer, so that silence does not lift it; a
    /// NACK that brings one does not halve (ours).
    pub tolerance: bool,
    /// The retransmission timer.
    pub timer: Timer,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            link: None,
            data_size: Bytes::new(1250),
            law: Law::default(),
            tolerance: false,
            timer: Timer::default(),
        }
    }
}

/// The link's rate where it is unknown.
const UNKNOWN_LINK: Rate = Rate::from_bps(10_000_000);

/// The consumer.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct RateAimd {
    #[state(skip)]
    params: Params,
    link: Rate,
    size: SizeEstimate,
    rated: Rated,
    cuts: u64,
    /// Where packets carry the tolerance rate, if the consumer obeys it.
    slot: Option<Slot>,
    /// The last one received.
    granted: Grant,
    /// The limit that it was at the last event, in packets/s.
    tolerated: f64,
    /// Whether the next Interest got its instant before the last cut, so that it does not leave at the reduced rate.
    due_before_cut: bool,
}

impl Component for RateAimd {
    const NAME: &'static str = "rate-aimd";
    const SUMMARY: &'static str = "sends at a rate: +1 packet/s per Data, halved by congestion NACKs";
    const SOURCE: &'static str = "Stateful Forwarding's consumer as JIP 26 (2018) §4.1.1 gives it, with its §3 as an option; \
         pacing between changes of rate: ours";
    const FIELDS: &'static [Field] = &[Field::ToleranceRate];
    type Params = Params;

    fn needs(params: &Params) -> Vec<Field> {
        if params.tolerance { Self::FIELDS.to_vec() } else { Vec::new() }
    }

    fn check(params: &Params) -> Result<(), SchemeError> {
        if params.link == Some(Rate::ZERO) {
            let help = "give a rate such as \"10Mbps\", or leave it out";
            return Err(SchemeError::value("link", 0, "would never send", help));
        }
        check::data_size("data-size", params.data_size)?;
        params.law.check()?;
        params.timer.check()
    }

    fn new(params: &Params, env: &mut Env<'_>) -> RateAimd {
        let link = params.link.unwrap_or(UNKNOWN_LINK);
        let size = SizeEstimate::new(params.data_size);
        let rated = Rated::new(0.0);
        let slot = params.tolerance.then(|| env.slot(Field::ToleranceRate));
        let params = params.clone();
        let (granted, tolerated, due_before_cut) = (Grant::NONE, f64::INFINITY, false);
        let mut consumer = RateAimd { params, link, size, rated, cuts: 0, slot, granted, tolerated, due_before_cut };
        consumer.rated.follow(consumer.limit());
        consumer
    }
}

impl RateAimd {
    /// L, in packets/s.
    fn limit(&self) -> f64 {
        (self.link.bps() as f64 / (8.0 * self.size.bytes())).max(self.params.law.floor)
    }

    /// r, in packets/s.
    pub fn rate(&self) -> f64 {
        self.rated.rate()
    }

    /// Reads the tolerance rate of a Data or NACK. Whether it has one.
    fn take_tolerance_rate(&mut self, fields: &Fields, now: Time) -> bool {
        let received = self.slot.is_some_and(|slot| self.granted.receive(fields.get(slot), now));
        self.tolerated = self.granted.at(now);
        received
    }

    fn record(&self, before: State, ctx: &mut Ctx<'_>) {
        if ctx.trace.is_on() {
            ctx.trace.record(ctx.now, "rate", 0, self.rated.rate());
            let state = self.rated.state();
            if state != before {
                ctx.trace.record(ctx.now, "state", 0, state.number());
            }
        }
    }
}

impl Consumer for RateAimd {
    fn on_link(&mut self, rate: Option<Rate>) {
        if let (None, Some(rate)) = (self.params.link, rate.filter(|rate| *rate > Rate::ZERO)) {
            self.link = rate;
            self.rated.follow(self.limit());
        }
    }

    fn on_sent(&mut self, _: &SentEvent, ctx: &mut Ctx<'_>) {
        if std::mem::take(&mut self.due_before_cut) {
            return;
        }
        let before = self.rated.state();
        self.rated.on_sent(ctx.now);
        if self.rated.state() != before {
            self.record(before, ctx);
        }
    }

    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) {
        self.take_tolerance_rate(event.fields, ctx.now);
        self.size.sample(event.size);
        let (limit, before) = (self.limit(), self.rated.state());
        if self.rated.on_data(&self.params.law, event.sent, limit) {
            self.record(before, ctx);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) {
        // Neither a timeout nor a loss is an answer: the rate may not rise by them.
        let Congestion::Nack { reason, .. } = event.kind else { return };
        // A NACK that carries the tolerated rate makes halving unnecessary.
        if self.take_tolerance_rate(event.fields, ctx.now) || reason != NackReason::Congestion {
            return;
        }
        let before = self.rated.state();
        if self.rated.on_nack(&self.params.law, event.sent) {
            self.cuts += 1;
            self.due_before_cut = true;
            self.record(before, ctx);
        }
    }

    /// The rate is the only limit; what is outstanding is bounded by rate × timeout.
    fn window(&self) -> f64 {
        MAX_WINDOW
    }

    fn pacing(&self, _: &Flight) -> Option<Duration> {
        Some(Duration::from_secs_f64(1.0 / self.rated.rate().min(self.tolerated).min(MAX_RATE)))
    }

    fn timer(&self) -> Timer {
        self.params.timer
    }

    fn decreases(&self) -> u64 {
        self.cuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::component::parse_params;
    use crate::ctx::{Rng, Trace};
    use crate::fields::{FieldLayout, Fields};
    use serde_json::{Value, json};

    struct Bench {
        consumer: RateAimd,
        rng: Rng,
        trace: Trace,
    }

    fn ms(t: u64) -> Time {
        Time::ZERO + Duration::from_millis(t)
    }

    impl Bench {
        fn new(params: Value) -> Bench {
            let params = parse_params::<RateAimd>(&params).unwrap();
            let consumer = RateAimd::new(&params, &mut Env { layout: &mut FieldLayout::new() });
            Bench { consumer, rng: Rng::derive(1, &[]), trace: Trace::new(true) }
        }

        fn with(&mut self, now: Time, act: impl FnOnce(&mut RateAimd, &mut Ctx<'_>)) -> f64 {
            act(&mut self.consumer, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
            self.consumer.rate()
        }

        fn data(&mut self, now: Time, sent: Time) -> f64 {
            let (fields, flight) = (Fields::default(), Flight::default());
            let (size, rtt) = (Bytes::new(1250), Some(now.since(sent)));
            let event = DataEvent { segment: 0, sent, rtt, mark: 0, size, fields: &fields, flight };
            self.with(now, |consumer, ctx| consumer.on_data(&event, ctx))
        }

        fn nack(&mut self, now: Time, sent: Time, reason: NackReason) -> f64 {
            let (fields, flight) = (Fields::default(), Flight::default());
            let kind = Congestion::Nack { reason, marked: false };
            let event = CongestionEvent { kind, segment: 0, sent, fields: &fields, flight };
            self.with(now, |consumer, ctx| consumer.on_congestion(&event, ctx))
        }

        fn sent(&mut self, now: Time) -> f64 {
            let event = SentEvent { segment: 0, retransmission: false, flight: Flight::default() };
            self.with(now, |consumer, ctx| consumer.on_sent(&event, ctx))
        }
    }

    #[test]
    fn the_rate_starts_at_the_limit_of_the_hosts_link() {
        // 10 Mbit/s over 1250 B are 1000 packets/s, 8 Mbit/s are 800.
        let mut bench = Bench::new(json!({}));
        assert_eq!(bench.consumer.rate(), 1000.0);
        bench.consumer.on_link(Some(Rate::from_mbps(8.0)));
        assert_eq!(bench.consumer.pacing(&Flight::default()), Some(Duration::from_micros(1250)));
        assert_eq!(bench.data(ms(1), ms(0)), 800.0);
        let mut bench = Bench::new(json!({ "link": "5Mbps" }));
        bench.consumer.on_link(Some(Rate::from_mbps(8.0)));
        assert_eq!(bench.consumer.rate(), 500.0);
    }

    #[test]
    fn every_congestion_nack_halves_and_every_data_adds_one() {
        let mut bench = Bench::new(json!({}));
        assert_eq!(bench.nack(ms(10), ms(0), NackReason::Congestion), 500.0);
        assert_eq!(bench.nack(ms(11), ms(1), NackReason::Congestion), 250.0);
        assert_eq!(bench.nack(ms(12), ms(1), NackReason::Duplicate), 250.0);
        assert_eq!(bench.nack(ms(12), ms(1), NackReason::NoRoute), 250.0);
        assert_eq!(bench.data(ms(13), ms(2)), 251.0);
        assert_eq!(bench.consumer.decreases(), 2);
    }

    #[test]
    fn with_one_cut_per_congestion_the_answers_to_older_interests_change_nothing() {
        let mut bench = Bench::new(json!({ "law": { "once": true } }));
        assert_eq!(bench.nack(ms(10), ms(0), NackReason::Congestion), 500.0);
        assert_eq!(bench.nack(ms(11), ms(1), NackReason::Congestion), 500.0);
        // The Interest of 11.5 ms was due before the cut; the one of 12 ms is the first at the reduced rate.
        bench.sent(Time::from_nanos(11_500_000));
        bench.sent(ms(12));
        assert_eq!(bench.data(ms(15), ms(5)), 500.0);
        assert_eq!(bench.data(ms(32), ms(12)), 501.0);
        assert_eq!(bench.data(ms(33), ms(13)), 502.0);
        // Normal → Congestion → Check → Normal is recorded.
        let states: Vec<f64> = bench.trace.drain().filter(|e| e.key == "state").map(|e| e.value).collect();
        assert_eq!(states, [1.0, 2.0, 0.0]);
    }

    #[test]
    fn a_consumer_that_obeys_tolerance_rates_keeps_to_the_last_one_without_losing_its_own_rate() {
        let with_tolerance = |rate: u32| {
            let mut fields = Fields::default();
            fields.set(FieldLayout::new().slot(Field::ToleranceRate).unwrap(), rate);
            fields
        };
        let gap_after = |params: Value, rates: &[u32]| {
            let mut bench = Bench::new(params);
            for rate in rates {
                let (fields, flight) = (with_tolerance(*rate), Flight::default());
                let (size, rtt) = (Bytes::new(1250), Some(Duration::from_millis(1)));
                let event = DataEvent { segment: 0, sent: ms(0), rtt, mark: 0, size, fields: &fields, flight };
                bench.with(ms(1), |consumer, ctx| consumer.on_data(&event, ctx));
            }
            bench.consumer.pacing(&Flight::default()).unwrap()
        };
        // L = 1000/s. Data without a rate leave the last one in force.
        let obeying = || json!({ "tolerance": true });
        assert_eq!(gap_after(obeying(), &[250, 0]), Duration::from_millis(4));
        assert_eq!(gap_after(obeying(), &[250, 5000]), Duration::from_millis(1));
        assert_eq!(gap_after(json!({}), &[250]), Duration::from_millis(1));
        // A NACK carries a rate as well, and then does not halve. A rate expires if answers come that do not renew it;
        // where nothing comes, the rate may not rise (RFC 9743, section 5.2).
        let mut bench = Bench::new(obeying());
        let (fields, kind) = (with_tolerance(100), Congestion::Nack { reason: NackReason::Congestion, marked: false });
        let event = CongestionEvent { kind, segment: 0, sent: ms(0), fields: &fields, flight: Flight::default() };
        assert_eq!(bench.with(ms(1), |consumer, ctx| consumer.on_congestion(&event, ctx)), 1000.0);
        assert_eq!(bench.consumer.pacing(&Flight::default()), Some(Duration::from_millis(10)));
        bench.data(ms(2000), ms(1999));
        assert_eq!(bench.consumer.pacing(&Flight::default()), Some(Duration::from_millis(10)));
        bench.sent(ms(60_000));
        for kind in [Congestion::Timeout, Congestion::Loss] {
            let silence = CongestionEvent { kind, fields: &Fields::default(), ..event };
            bench.with(ms(60_000), |consumer, ctx| consumer.on_congestion(&silence, ctx));
        }
        assert_eq!(bench.consumer.pacing(&Flight::default()), Some(Duration::from_millis(10)));
        bench.data(ms(60_001), ms(60_000));
        assert_eq!(bench.consumer.pacing(&Flight::default()), Some(Duration::from_millis(1)));
    }
}
