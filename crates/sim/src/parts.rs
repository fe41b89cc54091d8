//! Which scheme each node and consumer uses, if they differ.

use crate::network::{Network, NetworkError, Traffic};
use ndnweir_core::ctx::Rng;
use ndnweir_core::fields::{Field, FieldLayout, Fields, Slots};
use ndnweir_core::registry::Family;
use ndnweir_core::scheme::Scheme;
use serde::Serialize;

/// Label of the random streams that draw members of parts (see [`Rng::derive`]).
const STREAM: u64 = 0x7061_7274;

/// Nodes or consumers with a scheme of their own instead of the run's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// An index into [`Network::schemes`].
    pub scheme: usize,
    /// The nodes or consumers that the part is drawn from.
    pub members: Members,
    /// The share of the members that use the scheme, in [0, 1], rounded to whole members; the run's seed selects them.
    pub share: f64,
    /// Identifies the random stream of that selection.
    pub stream: u64,
}

/// Nodes or consumers, by position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Members {
    /// Nodes: every component of the scheme but the consumer.
    Nodes(Vec<usize>),
    /// The consumer component.
    Consumers(Vec<usize>),
}

/// The scheme of each node and each consumer in one run.
#[derive(Clone, Debug)]
pub struct Placement<'a> {
    /// The run's scheme, then those of the parts.
    schemes: Vec<&'a Scheme>,
    nodes: Vec<usize>,
    consumers: Vec<usize>,
}

fn fail<T>(message: String) -> Result<T, NetworkError> {
    Err(NetworkError(message))
}

impl<'a> Placement<'a> {
    /// The placement for a seed; if several parts contain a member, the last one applies.
    pub fn new(network: &'a Network, scheme: &'a Scheme, seed: u64) -> Placement<'a> {
        let mut placement = Placement {
            schemes: std::iter::once(scheme).chain(&network.schemes).collect(),
            nodes: vec![0; network.nodes.len()],
            consumers: vec![0; network.consumers.len()],
        };
        for part in &network.parts {
            let (all, members) = match &part.members {
                Members::Nodes(members) => (&mut placement.nodes, members),
                Members::Consumers(members) => (&mut placement.consumers, members),
            };
            let mut rng = Rng::derive(seed, &[STREAM, part.stream]);
            for member in draw_share(members, part.share, &mut rng) {
                all[member] = part.scheme + 1;
            }
        }
        placement
    }

    /// The position of the node's scheme: 0 is the run's.
    pub fn of_node(&self, node: usize) -> usize {
        self.nodes[node]
    }

    /// The scheme of a node.
    pub fn node_scheme(&self, node: usize) -> &'a Scheme {
        self.schemes[self.nodes[node]]
    }

    /// The scheme that gives a consumer its component, unless the consumer has a component of its own.
    pub fn consumer_scheme(&self, consumer: usize) -> &'a Scheme {
        self.schemes[self.consumers[consumer]]
    }

    /// All schemes by position.
    pub fn schemes(&self) -> &[&'a Scheme] {
        &self.schemes
    }

    /// Whether all nodes and consumers use one scheme.
    pub fn is_uniform(&self) -> bool {
        self.schemes.len() == 1
    }

    /// The slots of all header fields.
    pub fn layout(&self) -> FieldLayout {
        let mut layout = FieldLayout::new();
        for field in self.schemes.iter().flat_map(|scheme| scheme.fields()) {
            layout.slot(field);
        }
        layout
    }

    /// By node: the slots of the header fields that its scheme uses.
    pub fn slots_by_node(&self, layout: &FieldLayout) -> Vec<Slots> {
        self.nodes.iter().map(|&scheme| layout.slots_of(&self.schemes[scheme].fields())).collect()
    }

    /// By consumer: the slots of the header fields that its scheme and its own component use.
    pub fn slots_by_consumer(&self, network: &Network, layout: &FieldLayout) -> Vec<Slots> {
        let known = |(i, &scheme): (usize, &usize)| {
            let mut fields = self.schemes[scheme].fields();
            fields.extend(fields_of_own_component(network, i));
            layout.slots_of(&fields)
        };
        self.consumers.iter().enumerate().map(known).collect()
    }
}

/// The header fields that a consumer's own component requires.
fn fields_of_own_component(network: &Network, consumer: usize) -> Vec<Field> {
    let own = match &network.consumers[consumer].traffic {
        Traffic::Fetch { consumer, .. } => consumer.as_ref(),
        Traffic::Flows(flows) => flows.consumer.as_ref(),
        Traffic::Stream { .. } | Traffic::Zipf { .. } => None,
    };
    own.map(|own| own.needs()).unwrap_or_default()
}

/// A random share of the members, all equally likely.
fn draw_share(members: &[usize], share: f64, rng: &mut Rng) -> Vec<usize> {
    let mut drawn = members.to_vec();
    let count = ((share * members.len() as f64).round() as usize).min(members.len());
    if count < drawn.len() {
        rng.shuffle_front(&mut drawn, count);
        drawn.truncate(count);
    }
    drawn
}

impl Network {
    /// Checks whether the parts and a scheme can run together.
    ///
    /// # Errors
    /// A sentence that names the scheme and the remedy.
    pub fn check_parts(&self, scheme: &Scheme) -> Result<(), NetworkError> {
        self.check_fields_fit(scheme)?;
        if self.parts.is_empty() {
            return Ok(());
        }
        for part in &self.parts {
            let (all, members) = match &part.members {
                Members::Nodes(members) => (self.nodes.len(), members),
                Members::Consumers(members) => (self.consumers.len(), members),
            };
            let is_sound = (0.0..=1.0).contains(&part.share) && part.scheme < self.schemes.len();
            if !is_sound || members.iter().any(|&member| member >= all) {
                return fail(format!("{part:?} has a member, a share or a scheme that does not exist"));
            }
        }
        let all: Vec<&Scheme> = std::iter::once(scheme).chain(&self.schemes).collect();
        for scheme in &all {
            let planner = scheme.part(Family::Planner).name;
            if planner != Family::Planner.default_component() {
                return fail(format!(
                    "scheme {} has the planner {planner}, which speaks with every node, but parts of the network run \
                     other schemes: leave out either",
                    scheme.name
                ));
            }
        }
        let discovers = |scheme: &&&Scheme| scheme.fields().contains(&Field::Discovery);
        if let (Some(one), Some(other)) = (all.iter().find(discovers), all.iter().find(|s| !discovers(s))) {
            return fail(format!(
                "scheme {} finds routes by flooding, which nodes of scheme {} would not answer: give all parts one \
                 that does, or none",
                one.name, other.name
            ));
        }
        self.check_consumers_get_their_fields(scheme)
    }

    /// Rejects more header fields than a packet has room for: those of all schemes, and of what consumers and links have
    /// of their own.
    fn check_fields_fit(&self, scheme: &Scheme) -> Result<(), NetworkError> {
        let all: Vec<&Scheme> = std::iter::once(scheme).chain(&self.schemes).collect();
        let directions = self.links.iter().flat_map(|link| link.directions());
        let of_links = directions.flat_map(|direction| {
            let marker = direction.marker.iter().flat_map(|marker| marker.needs());
            marker.chain(direction.discipline.iter().flat_map(|discipline| discipline.needs()))
        });
        let of_schemes = all.iter().flat_map(|scheme| scheme.fields());
        let mut fields: Vec<Field> = Vec::new();
        for field in of_schemes.chain(self.consumer_fields()).chain(of_links) {
            if !fields.contains(&field) {
                fields.push(field);
            }
        }
        if fields.len() > Fields::SLOTS {
            let names: Vec<&str> = all.iter().map(|scheme| scheme.name.as_str()).collect();
            return fail(format!(
                "schemes {} and what consumers and links have of their own together need {} header fields, a run \
                 carries {}: mix fewer",
                names.join(", "),
                fields.len(),
                Fields::SLOTS
            ));
        }
        Ok(())
    }

    fn consumer_fields(&self) -> impl Iterator<Item = Field> + '_ {
        (0..self.consumers.len()).flat_map(|consumer| fields_of_own_component(self, consumer))
    }

    /// Rejects a consumer that depends on header fields if its own node drops all of them. Parts with a share below 1
    /// are not checked: the effect of random draws is what a user wants to measure.
    fn check_consumers_get_their_fields(&self, scheme: &Scheme) -> Result<(), NetworkError> {
        if self.parts.iter().any(|part| part.share < 1.0) {
            return Ok(());
        }
        let placement = Placement::new(self, scheme, 0);
        for (i, consumer) in self.consumers.iter().enumerate() {
            if !matches!(consumer.traffic, Traffic::Fetch { consumer: None, .. }) {
                continue;
            }
            let needs = placement.consumer_scheme(i).parts.consumer.needs();
            let node = placement.node_scheme(consumer.node);
            let known = node.fields();
            if !needs.is_empty() && !needs.iter().any(|field| known.contains(field)) {
                let names: Vec<&str> = needs.iter().map(|field| field.info().name).collect();
                return fail(format!(
                    "consumer {i} has the consumer of scheme {}, which needs the header field {}, and its node drops \
                     that, since scheme {} does not know it: give the node a scheme that does",
                    placement.consumer_scheme(i).name,
                    names.join(", "),
                    node.name
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::units::Duration;

    #[test]
    fn a_share_is_drawn_by_the_seed_and_every_member_can_be_in_it() {
        let members: Vec<usize> = (10..20).collect();
        let draw = |seed| draw_share(&members, 0.3, &mut Rng::derive(seed, &[1]));
        assert_eq!(draw(1), draw(1));
        assert_eq!(draw(1).len(), 3);
        let mut seen: Vec<usize> = (0..200).flat_map(draw).collect();
        seen.sort_unstable();
        let counts: Vec<usize> = members.iter().map(|m| seen.iter().filter(|s| *s == m).count()).collect();
        assert!(counts.iter().all(|n| (30..=90).contains(n)), "{counts:?}");
        assert_eq!(draw_share(&members, 1.0, &mut Rng::derive(1, &[1])), members);
        assert!(draw_share(&members, 0.0, &mut Rng::derive(1, &[1])).is_empty());
    }
    #[test]
    fn a_links_own_marker_whose_fields_have_no_room_beside_those_of_the_scheme_is_rejected_without_any_part() {
        let marker = |scheme: &str| Scheme::named(scheme).unwrap().parts.marker;
        let with = |marker| {
            let rate = ndnweir_core::units::Rate::from_mbps(10.0);
            let mut network = crate::bench::dumbbell(rate, Duration::from_millis(5), 30, Duration::from_millis(100));
            network.links[0].forward.marker = Some(marker);
            network
        };
        let weir = Scheme::named("weir").unwrap();
        assert_eq!(with(marker("cubic")).check_parts(&weir), Ok(()));
        let error = with(marker("e2e-aqm")).check_parts(&weir).unwrap_err().to_string();
        assert!(error.starts_with("schemes weir and what consumers and links have of their own"), "{error}");
    }
}
