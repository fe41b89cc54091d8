//! Congestion levels: periodically a router computes one from the delay of each of its queues, and Data take the
//! largest of their path along.
//!
//! The part that the stand-ins `coopcon` and `flecom` share; how a level follows from the delay is theirs
//! ([`LevelLaw`]). All ours: evaluation at fixed times; a queue's delay is what waits over the rate of the link (as in
//! PIE, RFC 8033, with a known rate), so an interface of unknown rate has no level; utilisation is bits sent over the
//! last `WINDOW`.

use super::{DataIn, DataOut, Meter, Report};
use crate::check;
use crate::component::Env;
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::shaper::FaceView;
use crate::shared::level::to_field;
use crate::units::{Duration, Time};

/// How a level follows from the delays of one queue.
pub trait LevelLaw {
    /// One evaluation: the delay in s and the time since the last one in s; the level, from 0 to 1.
    fn evaluate(&mut self, delay: f64, elapsed: f64) -> f64;
}

/// Time over which utilisation is measured.
const WINDOW: Duration = Duration::from_millis(100);

/// One interface.
#[derive(Clone, Debug, ndnweir_state::Value)]
struct Interface<L> {
    law: L,
    level: u32,
    severe: bool,
    path_use: u32,
    /// Bits sent when the present window began, and when that was.
    window: (u64, Time),
}

/// The meter.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Levels<L> {
    fresh: L,
    period: Duration,
    /// Occupancy above which Data are marked as well.
    severe: Option<f64>,
    level: Slot,
    path_use: Option<Slot>,
    interfaces: Vec<Option<Interface<L>>>,
    evaluated: Time,
    next: Time,
}

impl<L: LevelLaw + Clone> Levels<L> {
    /// Evaluates once per `period`; each interface starts with the law `fresh`.
    pub fn new(fresh: L, period: Duration, severe: Option<f64>, env: &mut Env<'_>) -> Levels<L> {
        let (level, path_use) = (env.slot(Field::CongestionLevel), env.carried(Field::PathUse));
        let (interfaces, evaluated, next) = (Vec::new(), Time::ZERO, Time::ZERO);
        Levels { fresh, period, severe, level, path_use, interfaces, evaluated, next }
    }

    fn evaluate(&mut self, view: &FaceView, now: Time, elapsed: f64, ctx: &mut Ctx<'_>) {
        let Some(rate) = view.rate.filter(|rate| rate.bps() > 0 && !view.local) else { return };
        let Some(place) = self.interfaces.get_mut(view.face.index()) else { return };
        let law = &self.fresh;
        let interface = place.get_or_insert_with(|| Interface {
            law: law.clone(),
            level: 0,
            severe: false,
            path_use: 0,
            window: (view.sent_bits, now),
        });
        let delay = view.queue.bytes.bits() as f64 / rate.bps() as f64;
        let before = interface.level;
        interface.level = to_field(interface.law.evaluate(delay, elapsed));
        interface.severe = self.severe.is_some_and(|limit| view.queue.occupancy() > limit);
        let (bits, since) = interface.window;
        if now >= since + WINDOW {
            let possible = rate.bps() as f64 * now.since(since).secs();
            interface.path_use = to_field(view.sent_bits.saturating_sub(bits) as f64 / possible);
            interface.window = (view.sent_bits, now);
        }
        if (before > 0) != (interface.level > 0) {
            let level = crate::shared::level::of_field(interface.level);
            ctx.trace.record(now, "level", u64::from(view.face.0), level);
        }
    }
}

/// Checks the time between two evaluations.
///
/// # Errors
/// A sentence that names the parameter, its value and a valid one.
pub fn check_period(period: Duration) -> Result<(), SchemeError> {
    check::least("period", period, Duration::from_millis(1))
}

fn raise(fields: &mut Fields, slot: Slot, value: u32, afresh: bool) {
    let before = if afresh { 0 } else { fields.get(slot) };
    fields.set(slot, before.max(value));
}

impl<L: LevelLaw + Clone> Meter for Levels<L> {
    fn on_data_in(&mut self, event: &mut DataIn<'_>, _: &mut Ctx<'_>) {
        if event.local {
            event.packet.fields.set(self.level, 0);
            if let Some(slot) = self.path_use {
                event.packet.fields.set(slot, 0);
            }
        }
    }

    fn on_data_out(&mut self, event: &mut DataOut<'_>, _: &mut Ctx<'_>) {
        let Some(Some(interface)) = self.interfaces.get(event.face.index()) else { return };
        let packet = &mut *event.packet;
        raise(&mut packet.fields, self.level, interface.level, event.from_cache);
        if let Some(slot) = self.path_use {
            raise(&mut packet.fields, slot, interface.path_use, event.from_cache);
        }
        if interface.severe {
            packet.mark = packet.mark.max(1);
        }
    }

    fn next_wake(&self) -> Time {
        self.next
    }

    fn on_period(&mut self, faces: &[FaceView], _: &mut Vec<Report>, ctx: &mut Ctx<'_>) {
        let now = ctx.now;
        let elapsed = now.since(self.evaluated).secs();
        (self.evaluated, self.next) = (now, now + self.period);
        let top = faces.iter().map(|view| view.face.index() + 1).max().unwrap_or(0);
        self.interfaces.resize_with(top.max(self.interfaces.len()), || None);
        for view in faces {
            self.evaluate(view, now, elapsed, ctx);
        }
    }
}

#[cfg(test)]
pub(super) mod test_support {
    //! One interface of 10 Mbit/s, evaluated by hand.

    use super::*;
    use crate::component::{Component, parse_params};
    use crate::ctx::{Rng, Trace};
    use crate::fields::FieldLayout;
    use crate::ids::{FaceId, PrefixId};
    use crate::packet::{Kind, Packet};
    use crate::queue::{Limit, QueueView};
    use crate::shared::level::of_field;
    use crate::units::{Bytes, Rate};

    /// The level and mark that Data take after each of these evaluations, given as (ms, packets of 1250 B waiting, bits
    /// sent); a packet at 10 Mbit/s takes 1 ms. The third value is the utilisation.
    pub(in super::super) fn evaluations<M: Component + Meter>(
        params: &serde_json::Value,
        evaluations: &[(u64, u32, u64)],
    ) -> Vec<(f64, u8, f64)> {
        let mut layout = FieldLayout::new();
        let path_use = layout.slot(Field::PathUse).unwrap();
        let mut meter = M::new(&parse_params::<M>(params).unwrap(), &mut Env { layout: &mut layout });
        let level = layout.slot(Field::CongestionLevel).unwrap();
        let (mut rng, mut trace) = (Rng::derive(0, &[]), Trace::default());
        let mut out = Vec::new();
        for &(ms, packets, sent_bits) in evaluations {
            let mut ctx = Ctx { now: Time::ZERO + Duration::from_millis(ms), rng: &mut rng, trace: &mut trace };
            let (rate, bytes) = (Some(Rate::from_mbps(10.0)), Bytes::new(u64::from(packets) * 1250));
            let queue = QueueView { packets, bytes, limit: Limit::Packets(100), rate };
            let (face, local, offered_bits) = (FaceId(0), false, sent_bits);
            let view = FaceView { face, local, rate, open: false, return_rate: rate, queue, sent_bits, offered_bits };
            meter.on_period(&[view], &mut Vec::new(), &mut ctx);
            let mut packet = Packet { kind: Kind::Data, ..Packet::default() };
            let mut event = DataOut {
                packet: &mut packet,
                prefix: PrefixId(0),
                face: FaceId(0),
                interest_arrival: Time::ZERO,
                retransmitted: false,
                interest_fields: Fields::NONE,
                from_cache: false,
                flows: 1,
            };
            meter.on_data_out(&mut event, &mut ctx);
            out.push((of_field(packet.fields.get(level)), packet.mark, of_field(packet.fields.get(path_use))));
        }
        out
    }
}
