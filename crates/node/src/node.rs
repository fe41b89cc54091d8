//! The node: its faces, tables and pipelines.

use crate::config::{FaceConfig, NodeConfig, Transmit};
use crate::counters::{FaceCounters, NodeCounters};
use ndnweir_core::ctx::TraceEvent;
use ndnweir_core::ids::{FaceId, FlowId, PrefixId};
use ndnweir_core::meter::Report;
use ndnweir_core::packet::Packet;
use ndnweir_core::planner::Order;
use ndnweir_core::strategy::NextHop;
use ndnweir_core::units::{Rate, Time};

/// One NDN node.
pub struct Node {
    trace: ndnweir_core::ctx::Trace,
}

#[allow(unused_variables, reason = "the API before its implementation")]
impl Node {
    /// A node without faces and routes.
    ///
    /// # Errors
    /// If a component of the scheme cannot be built.
    pub fn new(config: NodeConfig<'_>) -> Result<Node, String> {
        Ok(Node { trace: ndnweir_core::ctx::Trace::new(config.trace) })
    }

    /// Adds a face; the first is number 0.
    ///
    /// # Errors
    /// If there are too many, or the marker cannot be built.
    pub fn add_face(&mut self, config: FaceConfig) -> Result<FaceId, String> {
        todo!()
    }

    /// Replaces the next hops of a prefix.
    pub fn set_route(&mut self, now: Time, prefix: PrefixId, hops: &[NextHop]) {
        todo!()
    }

    /// Says which prefix a flow's names match longest.
    pub fn bind_flow(&mut self, flow: FlowId, prefix: Option<PrefixId>) {
        todo!()
    }

    /// A packet has arrived on a face.
    pub fn handle(&mut self, now: Time, face: FaceId, packet: Packet) {
        todo!()
    }

    /// The next packet that leaves; call until none after every call that takes the time.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        todo!()
    }

    /// When [`Node::handle_timeout`] is wanted: perhaps early, never late; [`Time::NEVER`] if not at all.
    pub fn poll_timeout(&self) -> Time {
        todo!()
    }

    /// The time of [`Node::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Time) {
        todo!()
    }

    /// Changes the rate of a face. Pushes the new (start, end) of the latest Transmits of that face, oldest first: all
    /// that had not left completely.
    pub fn set_rate(&mut self, now: Time, face: FaceId, rate: Option<Rate>, departures: &mut Vec<(Time, Time)>) {
        todo!()
    }

    /// Takes a face down or up. Down empties its queue; returns how many of the latest Transmits of that face never
    /// left completely.
    pub fn set_up(&mut self, now: Time, face: FaceId, up: bool) -> usize {
        todo!()
    }

    /// The node loses its PIT, content store, queues and the state of its components; the FIB stays. Returns, for each
    /// face by number, how many of its latest Transmits never left completely.
    pub fn crash(&mut self, now: Time) -> Vec<usize> {
        todo!()
    }

    /// The totals of a face's egress and the state of its queue at `now`.
    pub fn face_counters(&mut self, now: Time, face: FaceId) -> FaceCounters {
        todo!()
    }

    /// The node's totals.
    pub fn counters(&self) -> NodeCounters {
        todo!()
    }

    /// Pushes the share of a prefix's Interests that each next hop gets; nothing if the strategy does not split.
    pub fn shares(&self, prefix: PrefixId, out: &mut Vec<(FaceId, f64)>) {
        todo!()
    }

    /// Takes what the components recorded since the last call.
    pub fn drain_trace(&mut self) -> impl Iterator<Item = TraceEvent> + '_ {
        self.trace.drain()
    }

    /// Takes what the meter wants the planner to hear.
    pub fn drain_reports(&mut self) -> impl Iterator<Item = Report> + '_ {
        std::iter::empty()
    }

    /// Carries out an order of the planner to this node.
    pub fn apply_order(&mut self, now: Time, order: &Order) {
        todo!()
    }
}
