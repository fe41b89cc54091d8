//! `e2e-aqm`: routers that only tell. Data take along the queueing delay or the rate of one link of their path, and
//! consumers judge what is congestion.
//!
//! The k-th hop overwrites the mark with probability 1/k, so that at the consumer every hop is equally likely; every
//! hop counts itself in it. With probability ½ the mark says how long the packet waited that left the queue last, else
//! the rate of the bytes sent, which is measured anew once more than 10 kB were sent since the last time. Layout:
//! [`crate::shared::link_mark`].
//!
//! Source: M. Rodríguez-Pérez et al., "End-to-end Active Queue Management with Named-Data Networking", JNCA 221 (2024)
//! 103772; everything here from the authors' code, ICARUS-ICN/jaqmcc@0969a39, patch of NFD's link service. As there,
//! the delay is that of any packet that left, a packet counts for the rate when it is handed over, even if the queue
//! is full, and the first measurement gives no rate (there the clock starts at the least instant).
//!
//! Deviations: only Data are stamped, since nobody reads the mark of an Interest or NACK; sizes include the framing of
//! the link; the hop count stays at 255, where the source stops the program. A queue of unknown rate (a kernel's below
//! the forwarder) is not seen leaving, so Data pass it unstamped.

use super::{DequeueEvent, EnqueueEvent, Marker, Verdict};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Slot};
use crate::packet::{Kind, Packet};
use crate::shared::link_mark::{LinkMark, LinkReading};
use crate::units::{Bytes, Duration, Rate, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`E2eAqm`]; defaults are the authors' code.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// Part of the marks that say the delay, from 0 to 1; the others say the rate (code: 0.5).
    pub delay_share: f64,
    /// The rate is measured anew once more than this was sent since the last measurement (code: 10,000 B).
    pub refresh: Bytes,
}

impl Default for Params {
    fn default() -> Params {
        Params { delay_share: 0.5, refresh: Bytes::new(10_000) }
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct E2eAqm {
    #[state(skip)]
    params: Params,
    slots: (Slot, Slot),
    /// Drawn with the first mark.
    link: Option<u32>,
    delay: Duration,
    rate: Rate,
    sent: Bytes,
    /// When the rate was last measured and what had been sent by then.
    measured: (Option<Time>, Bytes),
}

impl Component for E2eAqm {
    const NAME: &'static str = "e2e-aqm";
    const SUMMARY: &'static str = "Data take along the delay or rate of one link of their path, for consumers to judge";
    const SOURCE: &'static str = "Rodríguez-Pérez et al., JNCA 221 (2024); ICARUS-ICN/jaqmcc@0969a39";
    const FIELDS: &'static [Field] = &[Field::LinkId, Field::LinkState];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("delay-share", params.delay_share, 0.0, 1.0)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> E2eAqm {
        E2eAqm {
            params: params.clone(),
            slots: (env.slot(Field::LinkId), env.slot(Field::LinkState)),
            link: None,
            delay: Duration::ZERO,
            rate: Rate::from_bps(0),
            sent: Bytes::ZERO,
            measured: (None, Bytes::ZERO),
        }
    }
}

impl E2eAqm {
    fn rate(&mut self, now: Time) -> Rate {
        let (since, before) = self.measured;
        let sent = self.sent - before;
        if sent > self.params.refresh {
            if let Some(elapsed) = since.map(|since| now.since(since)).filter(|&elapsed| elapsed > Duration::ZERO) {
                self.rate = Rate::from_bps((sent.get() as f64 / elapsed.secs()) as u64 * 8);
            }
            self.measured = (Some(now), self.sent);
        }
        self.rate
    }

    fn reading(&mut self, ctx: &mut Ctx<'_>) -> LinkReading {
        if ctx.rng.unit() < self.params.delay_share {
            return LinkReading::Delay(self.delay);
        }
        LinkReading::Rate(self.rate(ctx.now))
    }

    fn mark(&mut self, packet: &mut Packet, ctx: &mut Ctx<'_>) {
        let (id, state) = self.slots;
        let before = LinkMark::of_fields(packet.fields.get(id), packet.fields.get(state));
        let hops = before.map_or(0, |mark| mark.hops);
        let mark = match before {
            Some(mark) if hops > 0 && ctx.rng.unit() * (f64::from(hops) + 1.0) >= 1.0 => mark,
            _ => {
                let link = *self.link.get_or_insert_with(|| ctx.rng.bits().max(1));
                LinkMark { link, hops, reading: self.reading(ctx) }
            }
        };
        let (link, told) = LinkMark { hops: hops.saturating_add(1), ..mark }.to_fields();
        packet.fields.set(id, link);
        packet.fields.set(state, told);
    }
}

impl Marker for E2eAqm {
    fn predictable(&self) -> bool {
        true
    }

    fn on_dequeue(&mut self, event: &DequeueEvent, _: &mut Ctx<'_>) -> Verdict {
        self.delay = event.sojourn;
        Verdict::Pass
    }

    fn on_overflow(&mut self, event: &EnqueueEvent<'_>, _: &mut Ctx<'_>) {
        self.sent += event.packet.bytes();
    }

    fn stamps(&self) -> bool {
        true
    }

    fn stamp(&mut self, packet: &mut Packet, ctx: &mut Ctx<'_>) {
        if packet.kind == Kind::Data {
            self.mark(packet, ctx);
        }
        // The mark is written before the packet itself counts.
        self.sent += packet.bytes();
    }
}

#[cfg(test)]
mod tests;
