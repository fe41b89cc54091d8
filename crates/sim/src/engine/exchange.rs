//! What goes between a node, its links and its applications.

use super::apps::App;
use super::process::{EgressLink, KnownFields, Local, Net};
use super::sink::Sink;
use ndnweir_core::ids::FaceId;
use ndnweir_core::packet::{Kind, Packet};
use ndnweir_core::units::Time;
use ndnweir_node::{Node, Server, Transmit};

/// A node at work, and what is around it.
pub(super) struct Here<'a> {
    pub(super) number: u32,
    pub(super) node: &'a mut Node,
    pub(super) egress_links: &'a [EgressLink],
    pub(super) locals: &'a Vec<Local>,
}

impl Here<'_> {
    /// An application sends a packet to the node, which may send it on.
    #[inline(always)]
    fn receive<S: Sink>(&mut self, now: Time, net: &mut Net<S>, face: FaceId, packet: &mut Packet) {
        let departure = self.node.forward(now, face, packet);
        if !departure.is_some() {
            return;
        }
        match self.egress_links.get(departure.face.index()) {
            Some(&by) if self.node.is_drained() => net.depart(now, by, packet, self.node, departure),
            _ => self.node.collect(now, departure, packet),
        }
    }
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
    pub(super) fn exchange<S: Sink>(&mut self, now: Time, net: &mut Net<S>, here: &mut Here<'_>) {
        loop {
            while let Some(transmit) = here.node.next_transmit() {
                if let Some(&by) = here.egress_links.get(transmit.face.index()) {
                    net.transmit(now, by, transmit);
                } else {
                    let Transmit { face, mut packet, .. } = *transmit;
                    self.serve(now, net, here, face, &mut packet);
                }
            }
            let Some(consumer) = self.eager.pop() else { break };
            let app = &mut self.apps[consumer as usize];
            while let Some(mut interest) = app.poll_transmit(now) {
                net.sink.requested(now, consumer, &interest);
                if let Some(known) = self.known {
                    interest.fields.keep(known.nodes[here.number as usize]);
                }
                here.receive(now, net, FaceId(app.face), &mut interest);
            }
            net.schedule_app(now, app);
        }
    }

    /// A packet reaches an application.
    #[inline(always)]
    pub(super) fn serve<S: Sink>(
        &mut self,
        now: Time,
        net: &mut Net<S>,
        here: &mut Here<'_>,
        face: FaceId,
        packet: &mut Packet,
    ) {
        match here.locals[face.index() - here.egress_links.len()] {
            Local::Server(server) if packet.kind == Kind::Interest => {
                let mut data = self.servers[server as usize].answer(now, packet);
                data.tag = 0;
                here.receive(now, net, face, &mut data);
            }
            Local::Server(_) => {}
            Local::App(app) => self.deliver(now, net, app, packet),
        }
    }

    #[inline(always)]
    fn deliver<S: Sink>(&mut self, now: Time, net: &mut Net<S>, number: u32, packet: &mut Packet) {
        let app = &mut self.apps[number as usize];
        if let Some(known) = self.known {
            packet.fields.keep(known.apps[number as usize]);
        }
        if let Some(arrival) = app.handle(now, packet) {
            net.sink.delivered(now, number, packet.tag, arrival);
            if let Some(set) = app.flow_set()
                && let Some(ended) = set.take_ended()
            {
                net.sink.flow(now, number, ended);
                set.take_video_events().into_iter().for_each(|event| net.sink.flow(now, number, event));
            }
        }
        if self.eager.is_empty() || !self.eager.contains(&number) {
            self.eager.push(number);
        }
    }
}
