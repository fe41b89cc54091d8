//! `b-icp`: a window per prefix and next hop, and a virtual queue for Interests for which no next hop has room.
//!
//! Stands in for B-ICP (Ye, Murray, Qiao, Lee, GLOBECOM 2017), whose law is not public. Public: routers estimate from
//! congestion signals what each interface can forward, limit the rate per interface, tell consumers through a virtual
//! queue, and end with equal use of all interfaces. Ours: the Interest goes to the next hop with the largest free share
//! (W − P)/W; W + 1/W per unmarked Data, at most once per round trip W·`beta` on a mark and W·`loss-beta` on a NACK or
//! an expired Interest; marks end here, and Data pass marks downstream as CoDel on the waiting time in the virtual
//! queue says.

use super::{Arrival, DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, Released, Strategy};
use crate::check;
use crate::component::{Component, Env};
use crate::consumer::check_window;
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::ids::{FaceId, PrefixId};
use crate::packet::{Kind, NackReason, Packet};
use crate::queue::codel::{self, Codel};
use crate::queue::{DequeueEvent, Limit, Marker, QueueView, Verdict};
use crate::shared::outstanding::Outstanding;
use crate::units::{Bytes, Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Parameters of [`BIcp`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// The first window of a next hop, in Interests (ours).
    pub initial_window: f64,
    /// Interests that may wait per prefix (ours).
    pub queue: u32,
    /// What marked Data multiply a window by; 0.875 in the AIMD consumer of the same author.
    pub beta: f64,
    /// What a NACK or an expired Interest multiplies a window by (ours).
    pub loss_beta: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { initial_window: 10.0, queue: 200, beta: 0.875, loss_beta: 0.5 }
    }
}

/// The round trip assumed before the first measurement.
const INITIAL_RTT: Duration = Duration::from_millis(100);
/// No window is larger, in Interests.
const MAX_WINDOW: f64 = 1e5;

#[derive(Clone, Debug, ndnweir_state::Value)]
struct Hop {
    face: FaceId,
    window: f64,
    pending: u32,
    rtt: Duration,
    last_cut: Option<Time>,
}

/// What retransmissions may add to the lifetime of a held Interest; ours: two default lifetimes.
const RENEWALS: Duration = Duration::from_millis(8000);

#[derive(Clone, Debug, ndnweir_state::Value)]
struct Held {
    packet: Packet,
    in_face: FaceId,
    joined: Time,
}

impl Held {
    /// When it is assumed to be no longer wanted: a retransmission extends the lifetime of the first Interest.
    fn end(&self) -> Time {
        self.joined + Duration::from_millis(u64::from(self.packet.lifetime_ms)) + RENEWALS
    }
}

#[derive(Clone, Debug, ndnweir_state::Value)]
struct Prefix {
    hops: Vec<Hop>,
    outstanding: Outstanding,
    queue: VecDeque<Held>,
    codel: Codel,
    /// Marks that Data still have to pass downstream.
    marks: u32,
}

/// The strategy.
#[derive(Clone, Debug, ndnweir_state::State)]
pub struct BIcp {
    #[state(skip)]
    params: Params,
    prefixes: Vec<Prefix>,
    fresh: Prefix,
}

impl Component for BIcp {
    const NAME: &'static str = "b-icp";
    const SUMMARY: &'static str = "a window per next hop, and a virtual queue whose delay is marked downstream";
    const SOURCE: &'static str = "stands in for B-ICP, Ye et al., GLOBECOM 2017, whose law is not public: windows, choice and \
         queue ours, beta from the author's AIMD consumer";
    const STAND_IN: bool = true;
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        check_window("initial-window", params.initial_window.min(MAX_WINDOW * 100.0))?;
        check::number("queue", params.queue.into(), 0.0, 1e4)?;
        check::factor("beta", params.beta)?;
        check::factor("loss-beta", params.loss_beta)
    }

    fn new(params: &Params, env: &mut Env<'_>) -> BIcp {
        // 5 ms and 100 ms of RFC 8289.
        let codel = Codel::new(&codel::Params { mtu: Bytes::ZERO, ..codel::Params::default() }, env);
        let fresh =
            Prefix { hops: Vec::new(), outstanding: Outstanding::default(), queue: VecDeque::new(), codel, marks: 0 };
        BIcp { params: params.clone(), prefixes: Vec::new(), fresh }
    }
}

impl Prefix {
    fn hop(&mut self, face: FaceId) -> Option<&mut Hop> {
        self.hops.iter_mut().find(|hop| hop.face == face)
    }

    /// The next hop with the largest free share, the first among equals.
    fn largest_free_share(&self, in_face: FaceId) -> Option<FaceId> {
        let free = |hop: &Hop| (hop.window - f64::from(hop.pending)) / hop.window;
        let open = self.hops.iter().filter(|hop| hop.face != in_face && f64::from(hop.pending) + 1.0 <= hop.window);
        let best = open.fold(None, |best: Option<&Hop>, hop| match best {
            Some(known) if free(known) >= free(hop) => best,
            _ => Some(hop),
        });
        best.map(|hop| hop.face)
    }

    fn sent(&mut self, packet: &Packet, face: FaceId, now: Time) {
        let before = self.outstanding.sent(packet, face, now);
        if let Some(hop) = before.and_then(|before| self.hop(before)) {
            hop.pending = hop.pending.saturating_sub(1);
        }
        if let Some(hop) = self.hop(face) {
            hop.pending += 1;
        }
    }

    fn cut(&mut self, face: FaceId, beta: f64, now: Time) {
        if let Some(hop) = self.hop(face)
            && hop.last_cut.is_none_or(|cut| now.since(cut) >= hop.rtt)
        {
            hop.window = (hop.window * beta).max(1.0);
            hop.last_cut = Some(now);
        }
    }

    fn expire(&mut self, beta: f64, now: Time) {
        while let Some((_, face)) = self.outstanding.expired(now) {
            if let Some(hop) = self.hop(face) {
                hop.pending = hop.pending.saturating_sub(1);
            }
            self.cut(face, beta, now);
        }
    }
}

impl BIcp {
    fn prefix(&mut self, prefix: PrefixId) -> &mut Prefix {
        if prefix.index() >= self.prefixes.len() {
            self.prefixes.resize(prefix.index() + 1, self.fresh.clone());
        }
        &mut self.prefixes[prefix.index()]
    }
}

impl Strategy for BIcp {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let (now, most, beta) = (ctx.now, self.params.queue as usize, self.params.loss_beta);
        let (waits, empty) = (event.pending(now), event.eligible().next().is_none());
        let prefix = self.prefix(event.prefix);
        prefix.expire(beta, now);
        let held = prefix.queue.iter().any(|held| held.packet.name == event.packet.name);
        if held || (event.arrival == Arrival::Joining && waits) {
            return;
        }
        if empty {
            if event.arrival == Arrival::New {
                choice.reject(NackReason::NoRoute);
            }
            return;
        }
        let same =
            prefix.outstanding.face(event.packet.name).filter(|face| event.eligible().any(|hop| hop.face == *face));
        match same.or_else(|| prefix.largest_free_share(event.in_face)) {
            Some(face) => {
                prefix.sent(event.packet, face, now);
                choice.send(face);
            }
            None if prefix.queue.len() < most => {
                prefix.queue.push_back(Held { packet: *event.packet, in_face: event.in_face, joined: now });
                choice.hold();
            }
            None if event.arrival == Arrival::New => choice.reject(NackReason::Congestion),
            None => {}
        }
    }

    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) {
        let (now, params) = (ctx.now, self.params.clone());
        let prefix = self.prefix(event.prefix);
        prefix.expire(params.loss_beta, now);
        let Some(face) = prefix.outstanding.answered(event.packet.name) else { return };
        if let Some(hop) = prefix.hop(face) {
            hop.pending = hop.pending.saturating_sub(1);
            if face == event.face {
                hop.rtt = event.rtt.unwrap_or(hop.rtt);
                if event.packet.mark == 0 {
                    hop.window = (hop.window + 1.0 / hop.window).min(MAX_WINDOW);
                }
            }
        }
        if event.packet.mark > 0 {
            prefix.cut(event.face, params.beta, now);
        }
        if ctx.trace.is_on()
            && let Some(hop) = prefix.hop(face)
        {
            ctx.trace.record(now, "window", face.0.into(), hop.window);
        }
    }

    /// Marks end here; the virtual queue's continue.
    fn marks_itself(&self) -> bool {
        true
    }

    fn propagate_mark(&mut self, event: &DataReturn<'_>, _: FaceId, _: &mut Ctx<'_>) -> u8 {
        let prefix = self.prefix(event.prefix);
        let mark = prefix.marks.min(1);
        prefix.marks -= mark;
        mark as u8
    }

    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) {
        let beta = self.params.loss_beta;
        let prefix = self.prefix(event.prefix);
        if prefix.outstanding.face(event.packet.name) == Some(event.face) {
            prefix.outstanding.answered(event.packet.name);
            if let Some(hop) = prefix.hop(event.face) {
                hop.pending = hop.pending.saturating_sub(1);
            }
        }
        if event.packet.reason == NackReason::Congestion {
            prefix.cut(event.face, beta, ctx.now);
        }
        super::process_nack(event, choice);
    }

    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], _: &mut Ctx<'_>) {
        let initial = self.params.initial_window.min(MAX_WINDOW);
        let prefix = self.prefix(prefix);
        let old = std::mem::take(&mut prefix.hops);
        let state = |hop: &NextHop| {
            let known = old.iter().find(|known| known.face == hop.face).cloned();
            known.unwrap_or(Hop { face: hop.face, window: initial, pending: 0, rtt: INITIAL_RTT, last_cut: None })
        };
        prefix.hops = hops.iter().map(state).collect();
    }

    fn release(&mut self, ctx: &mut Ctx<'_>) -> Option<Released> {
        let (now, beta) = (ctx.now, self.params.loss_beta);
        for prefix in self.prefixes.iter_mut().filter(|prefix| !prefix.queue.is_empty()) {
            prefix.expire(beta, now);
            let found = prefix.queue.iter().map(|held| prefix.largest_free_share(held.in_face)).enumerate();
            let Some((place, Some(face))) = found.into_iter().find(|(_, face)| face.is_some()) else {
                // One that is no longer pending is returned to the node, which discards it.
                match prefix.queue.front() {
                    Some(oldest) if oldest.end() <= now => {}
                    _ => continue,
                }
                let released = |held: Held| Released { packet: held.packet, face: FaceId::NONE, held: true };
                return prefix.queue.pop_front().map(released);
            };
            let Some(held) = prefix.queue.remove(place) else { continue };
            prefix.sent(&held.packet, face, now);
            let packets = prefix.queue.len() as u32;
            let (bytes, limit) = (Bytes::new(u64::from(packets) * 40), Limit::Packets(self.params.queue));
            let event = DequeueEvent {
                kind: Kind::Interest,
                flow: held.packet.name.flow,
                size: held.packet.bytes(),
                sojourn: now.since(held.joined),
                queue: QueueView { packets, bytes, limit, rate: None },
            };
            if prefix.codel.on_dequeue(&event, ctx) != Verdict::Pass {
                prefix.marks = prefix.marks.saturating_add(1);
            }
            return Some(Released { packet: held.packet, face, held: true });
        }
        None
    }

    fn next_wake(&self) -> Time {
        let waiting = self.prefixes.iter().filter(|prefix| !prefix.queue.is_empty());
        let wake = |prefix: &Prefix| {
            let end = prefix.queue.front().map_or(Time::NEVER, Held::end);
            end.min(prefix.outstanding.next_deadline())
        };
        waiting.map(wake).min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strategy::harness::Bench;
    use serde_json::json;

    fn hop(face: u16, window: f64, pending: u32) -> Hop {
        Hop { face: FaceId(face), window, pending, rtt: INITIAL_RTT, last_cut: None }
    }

    #[test]
    fn the_largest_free_share_is_taken_and_a_full_hop_never() {
        let mut bench = Bench::<BIcp>::new(&json!({}), &[(1, 1), (2, 2)]);
        // Free: 4/8 and 3/4.
        bench.strategy.prefixes[0].hops = vec![hop(1, 8.0, 4), hop(2, 4.0, 1)];
        assert_eq!(bench.strategy.prefixes[0].largest_free_share(FaceId(0)), Some(FaceId(2)));
        assert_eq!(bench.strategy.prefixes[0].largest_free_share(FaceId(2)), Some(FaceId(1)));
        bench.strategy.prefixes[0].hops = vec![hop(1, 8.0, 8), hop(2, 4.5, 4)];
        assert_eq!(bench.strategy.prefixes[0].largest_free_share(FaceId(0)), None);
    }

    #[test]
    fn what_no_hop_has_room_for_waits_and_what_the_queue_has_no_room_for_is_rejected() {
        let mut bench = Bench::<BIcp>::new(&json!({ "initial-window": 1.0, "queue": 1 }), &[(1, 1)]);
        bench.strategy.prefixes[0].hops[0].pending = 1;
        assert!(bench.choice(0, 0, Arrival::New, &[]).is_held());
        bench.strategy.prefixes[0].queue[0].packet.name.segment = 9;
        assert_eq!(bench.choice(1, 0, Arrival::New, &[]).rejection(), Some(NackReason::Congestion));
    }

    #[test]
    fn marks_cut_once_per_round_trip_and_end_here() {
        let mut prefix = BIcp::new(&Params::default(), &mut Env { layout: &mut Default::default() }).fresh;
        prefix.hops = vec![hop(1, 16.0, 0)];
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        for (now, window) in [(0, 14.0), (99, 14.0), (100, 12.25)] {
            prefix.cut(FaceId(1), 0.875, at(now));
            assert_eq!(prefix.hops[0].window, window);
        }
    }

    #[test]
    fn unmarked_data_open_the_window_by_its_inverse() {
        let mut bench = Bench::<BIcp>::new(&json!({}), &[(1, 1)]);
        assert_eq!(bench.interest(0, 0, Arrival::New, &[]), [1]);
        assert_eq!(bench.strategy.prefixes[0].hops[0].pending, 1);
        bench.data(FaceId(1), 0, false);
        let hop = &bench.strategy.prefixes[0].hops[0];
        assert_eq!((hop.window, hop.pending), (10.1, 0));
    }
}
