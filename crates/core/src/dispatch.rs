//! The families' enums as implementations of their traits: each method is forwarded to the component.

use crate::consumer::{CongestionEvent, Consumer, DataEvent, Flight, SentEvent, Timer};
use crate::ctx::Ctx;
use crate::fields::Fields;
use crate::ids::{FaceId, FlowId, PrefixId};
use crate::meter::{DataIn, DataOut, InterestOut, Meter, Report};
use crate::packet::Packet;
use crate::planner::{Message, Order, Planner, PlannerCounters};
use crate::queue::{DequeueEvent, Discipline, EnqueueEvent, Limit, Marker, Queued, Verdict};
use crate::registry::*;
use crate::shaper::{Admission, Answer, FaceView, ReleaseEvent, ShapeEvent, Shaper};
use crate::strategy::{
    DataReturn, ForwardingDecision, InterestArrival, NackReturn, NextHop, Released, Strategy, TimeoutEvent,
};
use crate::units::{Bytes, Duration, Rate, Time};

/// Implements a trait for its family's enum by forwarding every listed method. A method that is not listed is an error:
/// it would silently keep its default for every component.
macro_rules! forward {
    ($trait:ident for $enum:ident by $each:ident {
        $($(#[$meta:meta])* fn $name:ident($($receiver:tt)+) $(-> $ret:ty)? [$($arg:ident),*];)*
    }) => {
        #[deny(clippy::missing_trait_methods, reason = "every hook of a component must be reached")]
        impl $trait for $enum {
            $($(#[$meta])* #[inline] fn $name($($receiver)+) $(-> $ret)? {
                forward!(@call $each $name ($($receiver)+) [$($arg),*])
            })*
        }
    };
    (@call $each:ident $name:ident (&mut $self:ident $($rest:tt)*) [$($arg:ident),*]) => {
        $each!($self, inner => inner.$name($($arg),*))
    };
    (@call $each:ident $name:ident (&$self:ident $($rest:tt)*) [$($arg:ident),*]) => {
        $each!($self, inner => inner.$name($($arg),*))
    };
}

forward!(Consumer for AnyConsumer by each_consumer {
    fn on_data(&mut self, event: &DataEvent<'_>, ctx: &mut Ctx<'_>) [event, ctx];
    fn on_congestion(&mut self, event: &CongestionEvent<'_>, ctx: &mut Ctx<'_>) [event, ctx];
    fn window(&self) -> f64 [];
    fn on_link(&mut self, rate: Option<Rate>) [rate];
    fn may_send(&self, flight: &Flight) -> bool [flight];
    fn watches_sending(&self) -> bool [];
    fn on_sent(&mut self, event: &SentEvent, ctx: &mut Ctx<'_>) [event, ctx];
    fn pacing(&self, flight: &Flight) -> Option<Duration> [flight];
    fn timer(&self) -> Timer [];
    fn retransmission_timeout(&self) -> Option<Duration> [];
    fn retransmits_on_nack(&self) -> bool [];
    fn ends_gap(&self) -> bool [];
    fn on_rest(&mut self, segments: Option<u64>) [segments];
    fn stamp(&mut self, segment: u64, fields: &mut Fields) [segment, fields];
    fn next_wake(&self) -> Time [];
    fn on_wake(&mut self, ctx: &mut Ctx<'_>) [ctx];
    fn decreases(&self) -> u64 [];
});

impl AnyConsumer {
    /// Whether [`Consumer::retransmission_timeout`] may give one: it is asked for twice per Data.
    pub fn may_have_timeout(&self) -> bool {
        matches!(self, AnyConsumer::Cctcp(_) | AnyConsumer::Icp(_) | AnyConsumer::Raaqm(_) | AnyConsumer::Custom(_))
    }
}

forward!(Marker for AnyMarker by each_marker {
    fn predictable(&self) -> bool [];
    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict [event, ctx];
    fn rests(&self) -> Option<Bytes> [];
    fn watches_departures(&self) -> bool [];
    fn on_dequeue(&mut self, event: &DequeueEvent, ctx: &mut Ctx<'_>) -> Verdict [event, ctx];
    fn on_idle(&mut self, ctx: &mut Ctx<'_>) [ctx];
    fn on_overflow(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) [event, ctx];
    fn stamps(&self) -> bool [];
    fn stamp(&mut self, packet: &mut Packet, ctx: &mut Ctx<'_>) [packet, ctx];
});

forward!(Discipline for AnyDiscipline by each_discipline {
    fn enqueue(&mut self, packet: Packet, limit: Limit, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) [packet, limit, dropped, ctx];
    fn dequeue(&mut self, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) -> Option<Queued> [dropped, ctx];
    fn packets(&self) -> u32 [];
    fn bytes(&self) -> Bytes [];
    fn backlog(&self, flow: FlowId) -> (u32, Bytes) [flow];
    fn credit(&self, flow: FlowId) -> Option<Bytes> [flow];
    fn charge(&mut self, flow: FlowId, bytes: Bytes) [flow, bytes];
    fn is_fifo(&self) -> bool [];
    fn rests_quietly(&self) -> bool [];
    fn pass(&mut self, flow: FlowId, size: Bytes, ctx: &mut Ctx<'_>) -> bool [flow, size, ctx];
});

forward!(Shaper for AnyShaper by each_shaper {
    fn is_none(&self) -> bool [];
    fn admit(&mut self, event: &ShapeEvent<'_>, ctx: &mut Ctx<'_>) -> Admission [event, ctx];
    fn next_held(&self) -> Option<(FaceId, FlowId)> [];
    fn release(&mut self, event: &ReleaseEvent, ctx: &mut Ctx<'_>) -> Option<Packet> [event, ctx];
    fn discard(&mut self) -> Option<Packet> [];
    fn charge(&self) -> Bytes [];
    fn on_answer(&mut self, answer: &Answer<'_>, ctx: &mut Ctx<'_>) [answer, ctx];
    fn stamp(&self, flow: FlowId, fields: &mut Fields) [flow, fields];
    fn next_wake(&self) -> Time [];
    fn held(&self) -> u32 [];
});

forward!(Strategy for AnyStrategy by each_strategy {
    fn on_interest(&mut self, event: &mut InterestArrival<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) [event, choice, ctx];
    fn takes_cheapest(&self) -> bool [];
    fn watches_data(&self) -> bool [];
    fn on_data(&mut self, event: &DataReturn<'_>, ctx: &mut Ctx<'_>) [event, ctx];
    fn marks_itself(&self) -> bool [];
    fn propagate_mark(&mut self, event: &DataReturn<'_>, downstream: FaceId, ctx: &mut Ctx<'_>) -> u8 [event, downstream, ctx];
    fn on_nack(&mut self, event: &mut NackReturn<'_>, choice: &mut ForwardingDecision, ctx: &mut Ctx<'_>) [event, choice, ctx];
    fn on_timeout(&mut self, event: &TimeoutEvent<'_>, ctx: &mut Ctx<'_>) [event, ctx];
    fn on_late(&mut self, packet: &Packet, face: FaceId, prefix: PrefixId, ctx: &mut Ctx<'_>) [packet, face, prefix, ctx];
    fn on_rejection(&mut self, packet: &Packet, prefix: PrefixId, face: FaceId, ctx: &mut Ctx<'_>) [packet, prefix, face, ctx];
    fn on_face(&mut self, face: FaceId, local: bool, up: bool) [face, local, up];
    fn stamp_data(&mut self, event: &DataReturn<'_>, fields: &mut Fields) [event, fields];
    fn sends_pending_to_new_hops(&self) -> bool [];
    fn rejects_loops(&self) -> bool [];
    fn on_next_hops(&mut self, prefix: PrefixId, hops: &[NextHop], ctx: &mut Ctx<'_>) [prefix, hops, ctx];
    fn shares(&self, prefix: PrefixId, hops: &[NextHop], out: &mut Vec<f64>) [prefix, hops, out];
    fn release(&mut self, ctx: &mut Ctx<'_>) -> Option<Released> [ctx];
    fn wakes(&self) -> bool [];
    fn next_wake(&self) -> Time [];
});

forward!(Meter for AnyMeter by each_meter {
    fn is_none(&self) -> bool [];
    fn counts_flows(&self) -> bool [];
    fn on_interest_out(&mut self, event: &mut InterestOut<'_>, ctx: &mut Ctx<'_>) [event, ctx];
    fn on_data_in(&mut self, event: &mut DataIn<'_>, ctx: &mut Ctx<'_>) [event, ctx];
    fn on_data_out(&mut self, event: &mut DataOut<'_>, ctx: &mut Ctx<'_>) [event, ctx];
    fn next_wake(&self) -> Time [];
    fn on_period(&mut self, faces: &[FaceView], reports: &mut Vec<Report>, ctx: &mut Ctx<'_>) [faces, reports, ctx];
});

forward!(Planner for AnyPlanner by each_planner {
    fn is_none(&self) -> bool [];
    fn elect(&mut self, election: u64) [election];
    fn on_message(&mut self, message: &Message, orders: &mut Vec<Order>, ctx: &mut Ctx<'_>) [message, orders, ctx];
    fn next_wake(&self) -> Time [];
    fn on_wake(&mut self, orders: &mut Vec<Order>, ctx: &mut Ctx<'_>) [orders, ctx];
    fn tally(&self) -> PlannerCounters [];
});
