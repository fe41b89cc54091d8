//! What can be emulated, and the inputs of a comparable simulation.

use crate::plan::plans;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Bytes, Duration};
use ndnweir_net::emulator::UDP_FRAMING;
use ndnweir_scenario::{Change, Direction, Link, NodeKind, Routes, Scenario, Traffic};
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataBuilder, InterestBuilder, Name};

/// What cannot be emulated, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsuitable {
    /// Consumers request different objects under one prefix.
    #[error(
        "consumers {one} and {other} ask for {prefix} as objects of different lengths or kinds: one producer publishes \
         one object; give one of them another prefix"
    )]
    Objects {
        /// A consumer.
        one: String,
        /// Another.
        other: String,
        /// Their prefix.
        prefix: String,
    },
    /// A consumer's flows come and go.
    #[error(
        "consumer {0} has kind \"flows\": an emulated consumer is a process that asks for one object; simulate this, or \
         give it kind \"object\""
    )]
    Flows(String),
    /// Parts have other schemes.
    #[error("parts of the network have schemes of their own: emulated nodes all run the run's scheme; simulate this")]
    Parts,
    /// A link fails that joins two switches.
    #[error("link {0} between switches fails: emulated switches know one way only; simulate this")]
    SwitchLink(String),
    /// There are no routes.
    #[error("routing.mode is \"none\": forwarders get routes when they start; choose another mode")]
    NoRoutes,
    /// Other traffic shares links.
    #[error("cross traffic {0}: models of other traffic have no packets to send; simulate this")]
    Cross(String),
    /// Links share a medium.
    #[error("the links of medium {0} share one transmitter: emulated links have one each; simulate this")]
    Medium(String),
    /// The queue of a link with a trace is a forwarder's.
    #[error(
        "link {0} follows a trace: an emulated forwarder sends at a rate; simulate it, or put a switch where the trace \
         begins"
    )]
    Trace(String),
    /// A link changes signals, marks by its own queue, or has a discipline of its own.
    #[error(
        "link {0} changes marks or header fields, or has a discipline of its own: emulated links read no NDN packets, \
         and emulated forwarders have their scheme's discipline on all faces; simulate this"
    )]
    Signals(String),
    /// A link is too narrow for a forwarder's faces.
    #[error("link {link}: mtu {mtu} leaves less than the 256 bytes that a forwarder's face needs; write 284B or more")]
    Mtu {
        /// The link.
        link: String,
        /// Its MTU.
        mtu: Bytes,
    },
    /// A scheme plans, and the program has no controller.
    #[error(
        "scheme {scheme}: this command was built without the feature gnmi, by which a controller leads forwarders; build \
         it with --features gnmi, or simulate this"
    )]
    Planner {
        /// The scheme.
        scheme: String,
    },
    /// Messages of a controller get lost.
    #[error("control.loss: gNMI goes over TCP, which repeats what is lost; set control.loss=0, or simulate this")]
    ControlLoss,
}

/// The smallest MTU of a forwarder's face.
const LEAST_DATAGRAM: Bytes = Bytes::new(256);

/// Whether a scenario can be emulated.
///
/// # Errors
/// [`Unsuitable`].
pub fn check(scenario: &Scenario) -> Result<(), Unsuitable> {
    if !scenario.parts.is_empty() {
        return Err(Unsuitable::Parts);
    }
    if let Some(consumer) = scenario.consumers.iter().find(|consumer| matches!(consumer.traffic, Traffic::Flows(_))) {
        return Err(Unsuitable::Flows(consumer.name.clone()));
    }
    for (i, consumer) in scenario.consumers.iter().enumerate() {
        let other = scenario.consumers[..i]
            .iter()
            .find(|other| other.prefix == consumer.prefix && !agree(&other.traffic, &consumer.traffic));
        if let Some(other) = other {
            let (one, other, prefix) = (other.name.clone(), consumer.name.clone(), consumer.prefix.clone());
            return Err(Unsuitable::Objects { one, other, prefix });
        }
    }
    let is_switch = |node: usize| scenario.nodes[node].kind == NodeKind::Switch;
    let between_switches = |change: &Change| match *change {
        Change::LinkDown { link } => Some(&scenario.links[link]).filter(|link| is_switch(link.a) && is_switch(link.b)),
        _ => None,
    };
    if let Some(link) = scenario.events.iter().find_map(|event| between_switches(&event.change)) {
        return Err(Unsuitable::SwitchLink(link.name.clone()));
    }
    if let Some(traffic) = scenario.cross.first() {
        return Err(Unsuitable::Cross(traffic.name.clone()));
    }
    if let Some(medium) = scenario.media.first() {
        return Err(Unsuitable::Medium(medium.name.clone()));
    }
    let traced = |link: &&Link| {
        let ends = [(link.a, &link.forward), (link.b, &link.backward)];
        ends.into_iter().any(|(from, direction)| direction.trace.is_some() && !is_switch(from))
    };
    if let Some(link) = scenario.links.iter().find(traced) {
        return Err(Unsuitable::Trace(link.name.clone()));
    }
    let changes = |link: &&Link| {
        let own = |d: &Direction| d.discipline.is_some() || !d.signals.is_none() || d.mark_after.is_some();
        [&link.forward, &link.backward].into_iter().any(own)
    };
    if let Some(link) = scenario.links.iter().find(changes) {
        return Err(Unsuitable::Signals(link.name.clone()));
    }
    let narrow = |mtu: &Bytes| *mtu < LEAST_DATAGRAM + UDP_FRAMING;
    if let Some((link, mtu)) = scenario.links.iter().find_map(|link| link.mtu.filter(narrow).map(|mtu| (link, mtu))) {
        return Err(Unsuitable::Mtu { link: link.name.clone(), mtu });
    }
    if scenario.routing.routes == Routes::None {
        return Err(Unsuitable::NoRoutes);
    }
    Ok(())
}

/// Whether consumers of one prefix can be served by one object.
fn agree(one: &Traffic, other: &Traffic) -> bool {
    let length = |traffic: &Traffic| match *traffic {
        Traffic::Fetch { segments, .. } => Some(segments),
        // Streams take what there is.
        Traffic::Stream { .. } | Traffic::Zipf { .. } | Traffic::Flows(_) => None,
    };
    let is_catalogue = |traffic: &Traffic| matches!(traffic, Traffic::Zipf { .. });
    let lengths = length(one).zip(length(other));
    is_catalogue(one) == is_catalogue(other) && lengths.is_none_or(|(one, other)| one == other)
}

/// Whether a scheme can be emulated, by a program that has a controller or not.
///
/// # Errors
/// [`Unsuitable::Planner`] and [`Unsuitable::ControlLoss`].
pub fn check_scheme(scenario: &Scenario, scheme: &Scheme, has_controller: bool) -> Result<(), Unsuitable> {
    match plans(scheme) {
        true if !has_controller => Err(Unsuitable::Planner { scheme: scheme.name.clone() }),
        true if scenario.control.loss > 0.0 => Err(Unsuitable::ControlLoss),
        _ => Ok(()),
    }
}

/// The scenario with the sizes that real packets have, and without rerouting, which emulated nodes do not do: the input
/// of a comparable simulation.
pub fn comparable(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    let object = scenario.consumers.first().map_or("/object", |consumer| consumer.prefix.as_str());
    let segment = |object: &str| -> Option<Name> {
        let name: Name = object.parse().ok()?;
        Some(name.with(Component::version(1)).with(Component::segment(1000)))
    };
    let payload = scenario.producers.first().map_or(1024, |producer| producer.payload.get() as usize);
    let sizes = segment(object).and_then(|name| {
        let last = Component::segment(u64::from(u32::MAX) - 2);
        let data = DataBuilder::new(name.as_view())
            .freshness_period(std::time::Duration::from_secs(1))
            .final_block_id(last.as_view())
            .content(&vec![0; payload])
            .sign(&DigestSha256)
            .ok()?;
        let lifetime = std::time::Duration::from_secs(2);
        let interest = InterestBuilder::new(name.as_view()).nonce([0; 4]).lifetime(lifetime).encode().ok()?;
        Some((data.len() - payload, interest.len()))
    });
    if let Some((overhead, interest)) = sizes {
        scenario.run.data_overhead = Bytes::new(overhead as u64);
        scenario.run.interest_size = Bytes::new(interest as u64);
    }
    scenario.set_framing(UDP_FRAMING);
    scenario.run.growing_sizes = true;
    scenario.routing.reaction = None;
    scenario
}

/// The scenario with packets that arrive up to `noise` late, at random, on links without jitter of their own: real
/// processes are never exact, and an exact simulation may synchronise flows, with few outcomes over many seeds.
pub fn noisy(scenario: &Scenario, noise: Duration) -> Scenario {
    let mut scenario = scenario.clone();
    for direction in scenario.links.iter_mut().flat_map(|link| [&mut link.forward, &mut link.backward]) {
        if direction.impairment.jitter == Duration::ZERO {
            direction.impairment.jitter = noise;
        }
    }
    scenario
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_scenario::{Source, load};

    #[test]
    fn what_emulated_links_cannot_do_is_rejected_with_a_reason() {
        let rejected = |scenario: &Scenario| check(scenario).unwrap_err().to_string();
        let of = |name: &str, set: &[&str]| load(name, set).unwrap();
        assert!(rejected(&of("cellular", &[])).contains("link B-C follows a trace"));
        assert!(rejected(&of("dumbbell", &["link.R1-R2.mtu=200B"])).contains("write 284B or more"));
        check(&of("dumbbell", &["link.R1-R2.mtu=284B"])).unwrap();
        for (name, own) in
            [("dumbbell", "marks=clear"), ("dumbbell", "backward.fields=least"), ("dumbbell", "discipline=drr")]
        {
            let problem = rejected(&of(name, &[&format!("link.R1-R2.{own}")]));
            assert!(problem.contains("link R1-R2 changes marks") && problem.contains("simulate this"), "{problem}");
        }
        for (more, reason) in [
            ("[[medium]]\nname = \"air\"\nlinks = [\"A-B\"]\nrate = \"9Mbps\"", "medium air share one transmitter"),
            (
                "[link-defaults]\nrate = \"9Mbps\"\n[[cross]]\nname = \"x\"\npath = [\"A\", \"B\"]\nkind = \"tcp\"",
                "cross traffic x",
            ),
        ] {
            let text = format!(
                "[[node]]\nnames = [\"A\", \"B\"]\n[[link]]\nends = [\"A\", \"B\"]\ndelay = \"1ms\"\n\
                 [[producer]]\nname = \"P\"\nnode = \"A\"\nprefix = \"/p\"\n\
                 [[consumer]]\nname = \"C\"\nnode = \"B\"\nprefix = \"/p\"\n{more}\n"
            );
            let source = Source::from_text("x.toml", &text, std::path::Path::new("")).unwrap();
            let problem = rejected(&source.validate().unwrap());
            assert!(problem.contains(reason) && problem.contains("simulate this"), "{problem}");
        }
    }
}
