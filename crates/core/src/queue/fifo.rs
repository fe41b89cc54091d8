//! `fifo`: first in, first out; a full queue drops what arrives.

use super::{Discipline, Limit, QueueView, Queued};
use crate::component::{Component, Env, NoParams};
use crate::ctx::Ctx;
use crate::ids::FlowId;
use crate::packet::{Kind, Packet};
use crate::units::Bytes;
use std::collections::VecDeque;

/// The plain queue.
#[derive(Clone, Debug, Default, ndnweir_state::Value)]
pub struct Fifo {
    queue: VecDeque<Queued>,
    bytes: Bytes,
}

impl Component for Fifo {
    const NAME: &'static str = "fifo";
    const SUMMARY: &'static str = "first in, first out; a full queue drops what arrives";
    const SOURCE: &'static str = "the plain queue of every router";
    type Params = NoParams;

    fn new(_: &NoParams, _: &mut Env<'_>) -> Fifo {
        Fifo::default()
    }
}

impl Discipline for Fifo {
    fn enqueue(&mut self, packet: Packet, limit: Limit, dropped: &mut Vec<Packet>, ctx: &mut Ctx<'_>) {
        let view = QueueView { packets: self.packets(), bytes: self.bytes, limit, rate: None };
        if view.fits(packet.bytes()) {
            self.bytes += packet.bytes();
            self.queue.push_back(Queued::new(packet, ctx));
        } else {
            dropped.push(packet);
        }
    }

    fn dequeue(&mut self, _: &mut Vec<Packet>, _: &mut Ctx<'_>) -> Option<Queued> {
        let first = self.queue.pop_front()?;
        self.bytes = self.bytes - first.packet.bytes();
        Some(first)
    }

    fn packets(&self) -> u32 {
        self.queue.len() as u32
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }

    fn backlog(&self, flow: FlowId) -> (u32, Bytes) {
        let own = self.queue.iter().filter(|q| q.packet.kind == Kind::Data && q.packet.name.flow == flow);
        own.fold((0, Bytes::ZERO), |(n, bytes), q| (n + 1, bytes + q.packet.bytes()))
    }

    fn is_fifo(&self) -> bool {
        true
    }
}
