//! What goes between a node, its links and its applications.

use super::apps::App;
use super::flows::FlowSet;
use super::process::{EgressLink, KnownFields, Local, Net};
use super::sink::Sink;
use crate::schedule::{Due, EventRank, Schedule};
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::Time;
use ndnweir_node::{Node, Server};

/// A node at work, and what is around it.
pub(super) struct Here<'a> {
    pub(super) number: u32,
    pub(super) node: &'a mut Node,
    pub(super) egress_links: &'a [EgressLink],
    pub(super) locals: &'a Vec<Local>,
    pub(super) due: &'a mut Time,
    pub(super) source: u32,
}

/// The applications, to be lent beside the network and a node.
pub(super) struct Applications<'a> {
    pub(super) apps: &'a mut Vec<App>,
    pub(super) servers: &'a mut Vec<Server>,
    /// Those that may have something to send.
    pub(super) eager: &'a mut Vec<u32>,
    pub(super) known: &'a Option<KnownFields>,
}

impl Applications<'_> {
    /// Moves packets between a node, its links and its applications until nothing moves.
    #[inline(always)]
    pub(super) fn exchange<S: Sink>(&mut self, now: Time, net: &mut Net<S>, here: Here<'_>) {
        let Here { number, node, egress_links, locals, due, source } = here;
        loop {
            while let Some(transmit) = node.next_transmit() {
                let face = transmit.face.index();
                if let Some(&egress_link) = egress_links.get(face) {
                    net.transmit(now, egress_link, transmit);
                    continue;
                }
                match locals[face - egress_links.len()] {
                    Local::Server(server) => {
                        if transmit.packet.kind == Kind::Interest {
                            let face = transmit.face;
                            let mut data = self.servers[server as usize].answer(now, &transmit.packet);
                            data.tag = 0;
                            node.receive(now, face, &mut data);
                        }
                    }
                    Local::App(app) => self.deliver(now, net, app, &mut transmit.packet),
                }
            }
            let Some(consumer) = self.eager.pop() else { break };
            let app = &mut self.apps[consumer as usize];
            while let Some(mut interest) = app.poll_transmit(now) {
                net.sink.requested(now, consumer, &interest);
                if let Some(known) = self.known {
                    interest.fields.keep(known.nodes[number as usize]);
                }
                node.receive(now, FaceId(app.face), &mut interest);
            }
            net.schedule.set(app.source, Due::new(app.due().max(now), EventRank::APPLICATION));
        }
        net.note_timeout(now, node, due, source);
    }

    /// A packet reaches a consumer.
    #[inline(always)]
    fn deliver<S: Sink>(&mut self, now: Time, net: &mut Net<S>, number: u32, packet: &mut Packet) {
        let app = &mut self.apps[number as usize];
        if let Some(known) = self.known {
            packet.fields.keep(known.apps[number as usize]);
        }
        if let Some(arrival) = app.handle(now, packet) {
            net.sink.delivered(now, number, packet.tag, arrival);
            if let Some(ended) = app.flow_set().and_then(FlowSet::take_ended) {
                net.sink.flow(now, number, ended);
            }
        }
        if !self.eager.contains(&number) {
            self.eager.push(number);
        }
    }
}
