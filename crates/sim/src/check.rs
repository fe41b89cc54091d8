//! Whether a [`Network`] can be simulated.

use crate::flows::{Arrivals, Catalogue, MAX_ACTIVE};
use crate::groups::Groups;
use crate::network::{Change, Control, Direction, Link, Network, NetworkError, NodeKind, Routes, Traffic};
use crate::{below, mtu};
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Duration, Rate};

/// The most places, links, prefixes or applications a run can have (sources of events are numbered in 32 bits, faces
/// of a node in 16).
const MAX_COUNT: usize = 1 << 24;
/// The most applications and neighbours one node can have.
const MAX_FACES: usize = 60_000;
/// The longest run: about 39 hours, well within what a schedule can hold.
const LONGEST_RUN: Duration = Duration::from_nanos(1 << 47);
/// The longest delay or lifetime: about 146 years, so that no sum overflows.
const LONGEST: Duration = Duration::from_nanos(1 << 62);
/// The largest extra delay: it is stored in 32 bits of nanoseconds.
const LONGEST_JITTER: Duration = Duration::from_nanos(u32::MAX as u64);
/// The most objects of a catalogue: their weights are tabulated.
const MAX_OBJECTS: u32 = 50_000_000;
/// The largest packet: NDN's practical limit is 8800 bytes, jumbo experiments stay below this.
const LARGEST_PACKET: u32 = 1 << 20;

fn fail<T>(message: String) -> Result<T, NetworkError> {
    Err(NetworkError(message))
}

impl Network {
    /// Finds what cannot be simulated.
    ///
    /// # Errors
    /// A sentence on the first thing that is wrong, with the index of the item.
    pub fn check(&self) -> Result<(), NetworkError> {
        for (what, count) in [
            ("nodes", self.nodes.len()),
            ("links", self.links.len()),
            ("consumers", self.consumers.len()),
            ("producers", self.producers.len()),
            ("prefixes", self.prefixes as usize),
        ] {
            if count > MAX_COUNT {
                return fail(format!("{count} {what}: at most {MAX_COUNT} can be simulated"));
            }
        }
        if self.duration == Duration::ZERO || self.duration > LONGEST_RUN {
            return fail(format!("duration {}: give more than zero and at most {LONGEST_RUN}", self.duration));
        }
        if self.start_jitter > LONGEST || self.control.delay > LONGEST {
            return fail(format!("start jitter and control delay must be at most {LONGEST}"));
        }
        self.check_control()?;
        if self.pit_limit == 0 {
            return fail("a PIT limit of zero forwards nothing: give at least 1".into());
        }
        match self.routing.routes {
            Routes::KShortest(0) => return fail("0 shortest paths: give at least 1".into()),
            Routes::KShortest(_) | Routes::Shortest | Routes::LoopFree | Routes::Planned(_) | Routes::None => {}
        }
        self.check_links()?;
        self.check_overlay()?;
        self.check_applications()?;
        self.check_faces()?;
        self.check_instant()?;
        mtu::check(self)?;
        below::check(self)?;
        self.changes.iter().enumerate().try_for_each(|(i, (_, change))| self.check_change(i, change))
    }

    fn check_control(&self) -> Result<(), NetworkError> {
        let Control { loss, fails, stand_by, returns, .. } = self.control;
        if !(0.0..=1.0).contains(&loss) {
            return fail(format!("control loss {loss} is not a probability"));
        }
        for (what, at) in [("stand-by takes over", stand_by), ("planner returns", returns)] {
            if at.is_some_and(|at| fails.is_none_or(|fails| at <= fails)) {
                return fail(format!("the {what} before the planner has failed"));
            }
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), NetworkError> {
        for (i, link) in self.links.iter().enumerate() {
            if link.a >= self.nodes.len() || link.b >= self.nodes.len() {
                return fail(format!("link {i} ends at a node that does not exist"));
            }
            if link.a == link.b {
                return fail(format!("link {i} joins node {} to itself", link.a));
            }
            if link.cost == 0 {
                return fail(format!("link {i} has cost 0: give at least 1, or routes may loop"));
            }
            check_direction(i, &link.forward)?;
            check_direction(i, &link.backward)?;
            self.check_switch_ports(i, link)?;
        }
        Ok(())
    }

    fn check_switch_ports(&self, i: usize, link: &Link) -> Result<(), NetworkError> {
        let from_switch = [(link.a, &link.forward), (link.b, &link.backward)];
        for (from, direction) in from_switch {
            if self.nodes[from] == NodeKind::Switch && direction.has_own_queue() {
                return fail(format!("link {i} has a marker or discipline at switch {from}: switches have neither"));
            }
        }
        Ok(())
    }

    fn check_overlay(&self) -> Result<(), NetworkError> {
        for &(a, b) in self.overlay.iter().flatten() {
            if a == b || !self.is_ndn(a) || !self.is_ndn(b) {
                return fail(format!("overlay pair {a}, {b}: give two different NDN nodes"));
            }
        }
        Ok(())
    }

    fn is_ndn(&self, node: usize) -> bool {
        self.nodes.get(node).is_some_and(|kind| kind.cache().is_some())
    }

    fn check_applications(&self) -> Result<(), NetworkError> {
        for (i, producer) in self.producers.iter().enumerate() {
            if !self.is_ndn(producer.node) {
                return fail(format!("producer {i} is not on an NDN node"));
            }
            if producer.prefix >= self.prefixes {
                return fail(format!("producer {i} serves prefix {}, which does not exist", producer.prefix));
            }
            if producer.size == 0 || producer.size > LARGEST_PACKET || producer.payload > producer.size {
                return fail(format!(
                    "producer {i}: Data of {} bytes with {} bytes of content; sizes go from 1 to {LARGEST_PACKET}",
                    producer.size, producer.payload
                ));
            }
        }
        for (i, consumer) in self.consumers.iter().enumerate() {
            if !self.is_ndn(consumer.node) {
                return fail(format!("consumer {i} is not on an NDN node"));
            }
            if consumer.prefix >= self.prefixes {
                return fail(format!("consumer {i} requests prefix {}, which does not exist", consumer.prefix));
            }
            if consumer.interest_size == 0 || consumer.interest_size > LARGEST_PACKET {
                return fail(format!("consumer {i}: Interests of {} bytes", consumer.interest_size));
            }
            if consumer.lifetime < Duration::from_millis(1)
                || consumer.lifetime > Duration::from_millis(u32::MAX.into())
            {
                return fail(format!("consumer {i}: an Interest lifetime of {}", consumer.lifetime));
            }
            if consumer.start_jitter > Some(LONGEST) {
                return fail(format!("consumer {i}: a start jitter of more than {LONGEST}"));
            }
            check_traffic(i, &consumer.traffic)?;
        }
        Ok(())
    }

    /// A fetch whose round trip takes no time at all would fetch forever in one instant.
    fn check_instant(&self) -> Result<(), NetworkError> {
        let mut groups = Groups::new(self.nodes.len());
        for (i, link) in self.links.iter().enumerate() {
            let becomes_zero = |which: usize| {
                self.changes.iter().any(|&(_, change)| match change {
                    Change::Delay { link, direction, delay: Duration::ZERO } => {
                        link == i && direction.directions()[which]
                    }
                    _ => false,
                })
            };
            let instant = |which: usize| {
                let direction = link.directions()[which];
                direction.rate.is_none() && (direction.delay == Duration::ZERO || becomes_zero(which))
            };
            if instant(0) && instant(1) {
                groups.join(link.a, link.b);
            }
        }
        for (i, consumer) in self.consumers.iter().enumerate() {
            let here = groups.of(consumer.node);
            let mut producers = self.producers.iter().filter(|p| p.prefix == consumer.prefix);
            if matches!(consumer.traffic, Traffic::Fetch { .. } | Traffic::Flows(_))
                && producers.any(|p| groups.of(p.node) == here)
            {
                return fail(format!(
                    "consumer {i} on node {} fetches from a producer that no delay and no rate separates from it: \
                     put a link between them",
                    consumer.node
                ));
            }
        }
        Ok(())
    }

    fn check_faces(&self) -> Result<(), NetworkError> {
        let mut faces = vec![0usize; self.nodes.len()];
        let ends = self.links.iter().flat_map(|link| [link.a, link.b]);
        let apps = self.consumers.iter().map(|c| c.node).chain(self.producers.iter().map(|p| p.node));
        let overlay = self.overlay.iter().flatten().flat_map(|&(a, b)| [a, b]);
        for node in ends.chain(apps).chain(overlay) {
            faces[node] += 1;
        }
        match faces.iter().position(|&n| n > MAX_FACES) {
            Some(node) => fail(format!("node {node} has {} faces: at most {MAX_FACES} are possible", faces[node])),
            None => Ok(()),
        }
    }

    fn check_change(&self, i: usize, change: &Change) -> Result<(), NetworkError> {
        let (link, node) = match *change {
            Change::LinkDown { link } | Change::LinkUp { link } => (Some(link), None),
            Change::Rate { link, rate, .. } => {
                if rate == Rate::ZERO {
                    return fail(format!("change {i}: rate zero; take the link down instead"));
                }
                (Some(link), None)
            }
            Change::Delay { link, delay, .. } => {
                if delay > LONGEST {
                    return fail(format!("change {i}: a delay of {delay}"));
                }
                (Some(link), None)
            }
            Change::Loss { link, loss, .. } => {
                check_probability(loss).map_err(|e| NetworkError(format!("change {i}: loss {e}")))?;
                (Some(link), None)
            }
            Change::Crash { node } | Change::Restart { node } => (None, Some(node)),
        };
        if link.is_some_and(|link| link >= self.links.len()) {
            return fail(format!("change {i} names a link that does not exist"));
        }
        if node.is_some_and(|node| !self.is_ndn(node)) {
            return fail(format!("change {i} names no NDN node"));
        }
        Ok(())
    }
}

fn check_probability(p: f64) -> Result<(), String> {
    if (0.0..=1.0).contains(&p) { Ok(()) } else { Err(format!("probability {p}: give 0 to 1")) }
}

fn check_direction(i: usize, direction: &Direction) -> Result<(), NetworkError> {
    if let Some(trace) = &direction.trace
        && direction.rate != Some(trace.mean())
    {
        return fail(format!("link {i} has a trace and another rate: its rate is {}", trace.mean()));
    }
    if direction.rate == Some(Rate::ZERO) {
        return fail(format!("link {i} has rate zero"));
    }
    if direction.delay > LONGEST {
        return fail(format!("link {i} has a delay of {}", direction.delay));
    }
    if matches!(direction.limit, Limit::Packets(0) | Limit::Bytes(Bytes::ZERO)) {
        return fail(format!("link {i} has a queue of zero: give at least one packet"));
    }
    if direction.framing.get() > u64::from(LARGEST_PACKET) {
        return fail(format!("link {i} adds {} bytes to each packet", direction.framing.get()));
    }
    let impairment = &direction.impairment;
    for (what, p) in [("loss", impairment.loss), ("duplicate", impairment.duplicate), ("reorder", impairment.reorder)] {
        check_probability(p).map_err(|e| NetworkError(format!("link {i}: {what} {e}")))?;
    }
    if let Some(burst) = impairment.burst {
        let all = [burst.to_bad, burst.to_good, burst.loss_bad, burst.loss_good];
        all.into_iter()
            .try_for_each(check_probability)
            .map_err(|e| NetworkError(format!("link {i}: burst loss {e}")))?;
    }
    if let Some(arq) = impairment.arq {
        check_probability(arq.loss).map_err(|e| NetworkError(format!("link {i}: loss of an attempt {e}")))?;
        if !(1..=100).contains(&arq.attempts) {
            return fail(format!("link {i} makes {} attempts: give 1 to 100", arq.attempts));
        }
    }
    if impairment.longest_delay() > LONGEST_JITTER {
        return fail(format!("link {i}: all extra delays together exceed {LONGEST_JITTER}"));
    }
    Ok(())
}

fn check_flows(i: usize, flows: &crate::flows::Flows) -> Result<(), NetworkError> {
    if flows.max_active == 0 || flows.max_active > MAX_ACTIVE || flows.payload == 0 {
        return fail(format!(
            "consumer {i}: {} flows at once with {} bytes in a Data; give 1 to {MAX_ACTIVE}, and at least a byte",
            flows.max_active, flows.payload
        ));
    }
    if let Some(Catalogue { objects, exponent }) = flows.catalogue {
        check_catalogue(i, objects, exponent)?;
    }
    match &flows.arrivals {
        Arrivals::Drawn { gap: Duration::ZERO, .. } => {
            fail(format!("consumer {i} has flows without any time between them: give more than zero"))
        }
        Arrivals::Drawn { sizes, .. } if !sizes.is_sound() => {
            fail(format!("consumer {i}: {sizes:?} is no distribution of sizes"))
        }
        Arrivals::Trace(trace) if !trace.is_sorted_by_key(|flow| flow.0) => {
            fail(format!("consumer {i}: the times of its flows fall"))
        }
        Arrivals::Player(player) => match player.fault() {
            Some(fault) => fail(format!("consumer {i} is no player: {fault}")),
            None => Ok(()),
        },
        Arrivals::Drawn { .. } | Arrivals::Trace(_) => Ok(()),
    }
}

fn check_catalogue(i: usize, objects: u32, exponent: f64) -> Result<(), NetworkError> {
    if objects == 0 || objects > MAX_OBJECTS || !(0.0..=100.0).contains(&exponent) {
        return fail(format!(
            "consumer {i}: a catalogue of {objects} objects with Zipf exponent {exponent}; \
             give 1 to {MAX_OBJECTS} objects and an exponent of 0 to 100"
        ));
    }
    Ok(())
}

fn check_traffic(i: usize, traffic: &Traffic) -> Result<(), NetworkError> {
    match *traffic {
        Traffic::Flows(ref flows) => check_flows(i, flows),
        Traffic::Fetch { segments: Some(0), .. } | Traffic::Stream { segments: Some(0), .. } => {
            fail(format!("consumer {i} requests an object of 0 segments: give at least 1"))
        }
        Traffic::Stream { gap: Duration::ZERO, .. } | Traffic::Zipf { gap: Duration::ZERO, .. } => {
            fail(format!("consumer {i} sends Interests without any gap: give more than zero"))
        }
        Traffic::Fetch { segments: Some(n), .. } | Traffic::Stream { segments: Some(n), .. }
            if n >= u64::from(u32::MAX) =>
        {
            fail(format!("consumer {i} requests {n} segments: at most {} have numbers", u32::MAX - 1))
        }
        Traffic::Zipf { objects, exponent, .. } => check_catalogue(i, objects, exponent),
        _ => Ok(()),
    }
}
