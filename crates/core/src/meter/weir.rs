//! `weir`: one level for all flows of a link, counted from the pace that packets state.
//!
//! Source: ours. Interests carry the pace of their consumer, so that a link can count flows without a table, each by the
//! part of it that passes: bits over pace. Flows that another link holds count by their rate, as in A. Charny, D. Clark,
//! R. Jain, "Congestion control with explicit rate indication", ICC 1995; packets that state their flow's rate are those
//! of I. Stoica, S. Shenker, H. Zhang, "Core-Stateless Fair Queueing", SIGCOMM 1998. The law is on the page `weir`.
//! A level is for both directions of a flow: Data get it where they leave, and from the link that their Interests took
//! where they arrive.
//! Links of unknown rate have no level: what waits on them is measured as by [`super::hbhcm`], and marked.

mod flow_set;
mod level;
mod link;
mod parts;

use super::hbhcm::{self, HbHcm};
use super::ndnsieve::{self, NdnSieve};
use super::{DataIn, DataOut, InterestOut, Meter, Report};
use crate::check;
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::fields::{Field, Fields, Slot};
use crate::ids::FlowId;
use crate::shaper::FaceView;
use crate::shared::explicit::{end_of_field, lower, of_field, round_trip_of_field, to_field};
use crate::shared::weir::{OPEN, Slots, UNKNOWN};
use crate::units::{Duration, Time};
use level::Said;
use link::{CODEL, Egress, Link};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Weir`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The part of a link's capacity that flows get.
    pub utilization: f64,
    /// The part of the queue that is given back per round trip.
    pub drain: f64,
    /// The part of the capacity that flows get whatever waits.
    pub least: f64,
    /// How far below the level a flow's pace still counts as held by this link.
    pub tolerance: f64,
    /// How much of the spare capacity flows may take per round trip that are below their equal part or bound elsewhere.
    pub growth: f64,
    /// The spare capacity that flows below the level find at least, over the load: they grow on a full link too.
    pub catch_up: f64,
    /// Time between two changes of a level.
    pub slot: Duration,
    /// The least time constant of what is counted.
    pub smoothing: Duration,
    /// The same, in round trips.
    pub round_trips: f64,
    /// What is reported to a planner, as [`super::ndnsieve`] does; nothing without.
    pub reports: Option<ndnsieve::Params>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            utilization: 0.99,
            drain: 0.25,
            least: 0.05,
            tolerance: 0.1,
            growth: 0.5,
            catch_up: 0.5,
            slot: Duration::from_millis(10),
            smoothing: Duration::from_millis(100),
            round_trips: 1.0,
            reports: None,
        }
    }
}

/// The meter.
#[derive(ndnweir_state::State)]
pub struct Weir {
    #[state(skip)]
    params: Params,
    slots: Slots,
    /// Marks Data for what waits on links of unknown rate, as `measured` does.
    delay: HbHcm,
    /// By face.
    links: Vec<Egress>,
    changed: Time,
    next: Time,
    /// Reports to a planner.
    #[state(each, inner)]
    reports: Option<Box<NdnSieve>>,
}

impl Component for Weir {
    const NAME: &'static str = "weir";
    const SUMMARY: &'static str = "writes each link's level into Data: the total rate that a flow over it may have";
    const SOURCE: &'static str = "ours, after Charny, Clark, Jain, ICC 1995, and Stoica, Shenker, Zhang, SIGCOMM 1998";
    const FIELDS: &'static [Field] =
        &[Field::ExplicitRate, Field::SecondaryRate, Field::RoundTrip, Field::HopRtt, Field::PathLabel];
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check::number("utilization", params.utilization, 0.01, 1.0)?;
        check::number("drain", params.drain, 0.0, 10.0)?;
        check::number("least", params.least, 1e-6, 1.0)?;
        check::number("tolerance", params.tolerance, 0.001, 0.5)?;
        check::number("growth", params.growth, 0.0, 10.0)?;
        check::number("catch-up", params.catch_up, 0.0, 8.0)?;
        check::number("round-trips", params.round_trips, 0.0, 1000.0)?;
        check::least("smoothing", params.smoothing, Duration::from_millis(1))?;
        check::least("slot", params.slot, Duration::from_millis(1))?;
        params.reports.as_ref().map_or(Ok(()), NdnSieve::check)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> Weir {
        let (links, changed, next) = (Vec::new(), Time::ZERO, Time::ZERO);
        let delay = HbHcm::new(&hbhcm::Params::deployed(), env);
        let reports = params.reports.as_ref().map(|params| Box::new(NdnSieve::new(params, env)));
        Weir { params: params.clone(), slots: Slots::new(env), delay, links, changed, next, reports }
    }
}

/// Adds a link to the soft least of the levels on a path: (Σ 1/level²)^(−½). What says [`UNKNOWN`] stays.
#[inline(always)]
fn soften(fields: &mut Fields, slot: Slot, level: f64) {
    let there = fields.get(slot);
    if there == UNKNOWN {
        return;
    }
    let there = of_field(there).map_or(0.0, |there| 1.0 / (there * there));
    fields.set(slot, to_field(1.0 / (there + 1.0 / (level * level)).sqrt()).max(UNKNOWN + 1));
}

/// Counts a packet that leaves by a link, of the flow whose Interest carries `told`; what that says.
#[inline(always)]
fn count(slots: Slots, tolerance: f64, link: &mut Link, packet: (FlowId, u32), told: &Fields) -> Said {
    let time = told.get(slots.round_trip);
    let said = Said { pace: of_field(told.get(slots.rate)), rtt: round_trip_of_field(time), left: end_of_field(time) };
    link.level.count(packet.0, f64::from(packet.1) * 8.0, &said, tolerance);
    said
}

/// Measures the hop that a Data came over, where its rate is not as stated, or where so much is lost that there may be a
/// narrower link below it.
#[inline(always)]
fn measure(delay: &mut HbHcm, link: &mut Link, tells: bool, event: &mut DataIn<'_>, ctx: &mut Ctx<'_>) {
    if tells {
        link.answered(event.retransmitted, ctx.now);
    }
    // From a neighbour that does not say what waits for its link, a queue of its own is not told from one below.
    if (tells && link.is_lossy()) || !link.is_trusted() {
        let before = event.packet.mark;
        delay.on_data_in(event, ctx);
        if event.packet.mark > before {
            link.distrust();
        }
    } else if tells {
        delay.learn_base(event, ctx.now);
    }
}

impl Weir {
    /// A Data arrives by another face than a link of stated or learned rate.
    #[inline(never)]
    fn on_data_in_by_other(&mut self, tells: bool, event: &mut DataIn<'_>, ctx: &mut Ctx<'_>) {
        let (is_unknown, is_open) = match self.links.get(event.face.index()) {
            Some(Egress::Unknown) => (true, false),
            Some(Egress::Open(_)) => (false, true),
            _ => (false, false),
        };
        // What waits below such a link is seen by its delay, as no level tells of it.
        if is_unknown || is_open {
            self.delay.on_data_in(event, ctx);
        } else if tells {
            self.delay.learn_base(event, ctx.now);
        }
        if !tells || is_unknown {
            event.packet.fields.set(self.slots.soft, UNKNOWN);
        }
    }

    fn update(&mut self, view: &FaceView, elapsed: f64, ctx: &mut Ctx<'_>) {
        let Some(place) = self.links.get_mut(view.face.index()) else { return };
        place.update(view, elapsed, &self.params);
        let Some(link) = place.known() else { return };
        let level = &mut link.level;
        if ctx.trace.is_on() && (level.level - level.recorded).abs() > 0.01 * level.recorded {
            level.recorded = level.level;
            ctx.trace.record(ctx.now, "link-rate", u64::from(view.face.0), level.level);
        }
    }
}

impl Meter for Weir {
    fn counts_flows(&self) -> bool {
        false
    }

    fn on_interest_out(&mut self, event: &mut InterestOut<'_>, ctx: &mut Ctx<'_>) {
        let (link, is_known) = match self.links.get_mut(event.face.index()) {
            None | Some(Egress::Local | Egress::Unknown) => return,
            Some(Egress::Open(link)) => (link, false),
            Some(Egress::Known(link)) => (link, true),
        };
        let packet = (event.packet.name.flow, event.packet.size);
        count(self.slots, self.params.tolerance, link, packet, &event.packet.fields);
        if is_known {
            link.asked(ctx.now);
        }
    }

    fn on_data_in(&mut self, event: &mut DataIn<'_>, ctx: &mut Ctx<'_>) {
        if let Some(reports) = &mut self.reports {
            reports.on_data_in(event, ctx);
        }
        let (rate, soft) = (self.slots.rate, self.slots.soft);
        if event.local {
            event.packet.fields.set(rate, 0);
            event.packet.fields.set(soft, 0);
            return;
        }
        // Or the neighbour writes no levels.
        let tells = event.packet.fields.get(rate) > 0;
        let Some(Egress::Known(link)) = self.links.get_mut(event.face.index()) else {
            return self.on_data_in_by_other(tells, event, ctx);
        };
        measure(&mut self.delay, link, tells, event, ctx);
        if !tells || !link.is_trusted() {
            event.packet.fields.set(soft, UNKNOWN);
        }
        if link.is_trusted() {
            // The Interests of this flow load the other direction.
            let (told, level) = (link.level.told(), link.level.of_interests());
            lower(&mut event.packet.fields, rate, told);
            soften(&mut event.packet.fields, soft, level);
        }
    }

    fn on_data_out(&mut self, event: &mut DataOut<'_>, ctx: &mut Ctx<'_>) {
        self.delay.on_data_out(event, ctx);
        let (rate, soft) = (self.slots.rate, self.slots.soft);
        if event.from_cache {
            event.packet.fields.set(rate, 0);
            event.packet.fields.set(soft, 0);
        }
        let packet = (event.packet.name.flow, event.packet.size);
        let link = match self.links.get_mut(event.face.index()) {
            None | Some(Egress::Local) => return,
            Some(Egress::Unknown) => return event.packet.fields.set(soft, UNKNOWN),
            Some(Egress::Open(link)) => {
                count(self.slots, self.params.tolerance, link, packet, event.interest_fields);
                if event.packet.fields.get(rate) == 0 {
                    event.packet.fields.set(rate, OPEN);
                }
                return;
            }
            Some(Egress::Known(link)) => &mut **link,
        };
        let since = ctx.now.since(self.changed);
        // Before it is counted.
        let waits = link.is_learned || link.wait(since) >= CODEL.target;
        let said = count(self.slots, self.params.tolerance, link, packet, event.interest_fields);
        if !link.is_trusted() {
            event.packet.fields.set(soft, UNKNOWN);
            if link.marks(since, ctx.now) {
                event.packet.mark = event.packet.mark.max(1);
            }
        } else if let Some(pace) = said.pace {
            let grant = link.level.grant(packet.0, pace, said.rtt, link.capacity, &self.params);
            lower(&mut event.packet.fields, rate, grant);
            soften(&mut event.packet.fields, soft, link.level.level);
            if waits {
                self.delay.tell_nothing(event.packet);
            }
        }
    }

    fn next_wake(&self) -> Time {
        self.reports.as_ref().map_or(self.next, |reports| self.next.min(reports.next_wake()))
    }

    fn on_period(&mut self, faces: &[FaceView], reports: &mut Vec<Report>, ctx: &mut Ctx<'_>) {
        if let Some(own) = self.reports.as_mut().filter(|own| own.next_wake() <= ctx.now) {
            own.on_period(faces, reports, ctx);
        }
        if ctx.now < self.next {
            return;
        }
        let elapsed = ctx.now.since(self.changed).secs();
        (self.changed, self.next) = (ctx.now, ctx.now + self.params.slot);
        let top = faces.iter().map(|view| view.face.index() + 1).max().unwrap_or(0);
        self.links.resize(top.max(self.links.len()), Egress::default());
        for view in faces {
            self.update(view, elapsed, ctx);
        }
    }
}

#[cfg(test)]
mod tests;
