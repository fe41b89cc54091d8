//! Lists of NFD's management as notifications of the model.
//!
//! Everything here comes from a forwarder, or from whoever answered before it: nothing panics, and no more is kept than
//! the latest lists have. The controller's mirror bounds what is used of them.

use crate::proto::gnmi::{Notification, Path, PathElem, TypedValue, Update, typed_value::Value};
use ndnweir_core::units::Rate;
use ndnweir_net::mgmt::dataset::{FaceCounters, FaceStatus, FibEntry, RibEntry, Scope};
use ndnweir_wire::Name;
use std::collections::BTreeMap;
use std::time::Duration;

/// NFD's lists are fresh, and repeated by caches, for a second: one requested so soon after a command may be older.
const LIST_AGE: Duration = Duration::from_millis(1100);
/// Bytes of UDP and IP around a packet, which forwarders do not count: over IPv4 and over IPv6.
const HEADERS: [u64; 2] = [28, 48];

/// What a forwarder lists.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// When it was requested, since 1970.
    pub at: Duration,
    /// The name of the version of the list of faces; the same name is the same list.
    pub version: Option<Name>,
    /// `faces/list`.
    pub faces: Vec<FaceStatus>,
    /// `fib/list`.
    pub fib: Vec<FibEntry>,
    /// `rib/list`.
    pub rib: Vec<RibEntry>,
}

/// Where a leaf is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Face(u64),
    Hop(Name, u64),
}

type Leaves = BTreeMap<(Place, &'static str), Value>;

/// Bits that a face had sent, and when.
#[derive(Clone, Copy, Debug)]
struct Sent {
    bits: u64,
    at: Duration,
}

/// What is known of one forwarder.
#[derive(Clone, Debug)]
pub struct View {
    rates: BTreeMap<String, Rate>,
    /// The utilisation above which a face signals.
    threshold: f64,
    version: Option<Name>,
    sent: BTreeMap<u64, Sent>,
    signals: BTreeMap<u64, u64>,
    /// The costs that next hops without a route had first.
    first: BTreeMap<(Name, u64), u64>,
    /// By prefix: when its costs were ordered last.
    ordered: BTreeMap<Name, Duration>,
    leaves: Leaves,
}

fn elem(name: &str, key: Option<(&str, String)>) -> PathElem {
    PathElem { name: name.into(), key: key.into_iter().map(|(key, value)| (key.into(), value)).collect() }
}

fn path(place: &Place, leaf: &str) -> Path {
    let mut elem: Vec<PathElem> = match place {
        Place::Face(id) => vec![elem("ndn", None), elem("faces", None), elem("face", Some(("id", id.to_string())))],
        Place::Hop(prefix, face) => vec![
            elem("ndn", None),
            elem("fib", None),
            elem("entry", Some(("prefix", prefix.to_string()))),
            elem("next-hop", Some(("face", face.to_string()))),
        ],
    };
    elem.extend(["state", leaf].map(|name| PathElem { name: name.into(), ..PathElem::default() }));
    Path { elem, ..Path::default() }
}

/// Bits that a face has sent, headers below NDN included where it is known what they are.
fn bits(face: &FaceStatus) -> u64 {
    let FaceCounters { out_interests, out_data, out_nacks, out_bytes, .. } = face.counters;
    let headers = match face.remote_uri.split("://").next() {
        Some("udp4") => HEADERS[0],
        Some("udp6") => HEADERS[1],
        _ => 0,
    };
    let packets = out_interests.saturating_add(out_data).saturating_add(out_nacks);
    out_bytes.saturating_add(packets.saturating_mul(headers)).saturating_mul(8)
}

impl View {
    /// Of a forwarder whose faces to these remote URIs have links of these capacities; a face whose link is used by more
    /// than `threshold` signals.
    pub fn new(rates: BTreeMap<String, Rate>, threshold: f64) -> View {
        View {
            rates,
            threshold,
            version: None,
            sent: BTreeMap::new(),
            signals: BTreeMap::new(),
            first: BTreeMap::new(),
            ordered: BTreeMap::new(),
            leaves: Leaves::new(),
        }
    }

    /// Takes the lists of one instant; what is new in them.
    pub fn take(&mut self, lists: Lists) -> Notification {
        // A list that a cache repeats says nothing of the time since.
        let counted = lists.version.is_none() || lists.version != self.version;
        self.version.clone_from(&lists.version);
        let (mut leaves, mut samples) = (Leaves::new(), Vec::new());
        for face in &lists.faces {
            let measured = counted.then(|| self.measure(face, lists.at)).flatten();
            self.face(face, measured, &mut leaves);
            samples.extend(measured.map(|_| face.face_id));
        }
        let there = |id: &u64| leaves.contains_key(&(Place::Face(*id), "remote-uri"));
        self.sent.retain(|id, _| there(id));
        self.signals.retain(|id, _| there(id));
        self.ordered.retain(|_, at| lists.at < *at + LIST_AGE);
        self.hops(&lists, &mut leaves);
        let sampled = |(place, leaf): &(Place, &'static str)| {
            *leaf == "utilization" && matches!(place, Place::Face(id) if samples.contains(id))
        };
        let news = leaves.iter().filter(|(at, value)| sampled(at) || self.leaves.get(*at) != Some(value));
        let update = news.map(|((place, leaf), value)| Update {
            path: Some(path(place, leaf)),
            val: Some(TypedValue { value: Some(value.clone()) }),
            ..Update::default()
        });
        let gone = self.leaves.keys().filter(|at| !leaves.contains_key(*at));
        let (update, delete) = (update.collect(), gone.map(|(place, leaf)| path(place, leaf)).collect());
        let timestamp = super::nanos(lists.at);
        self.leaves = leaves;
        Notification { timestamp, update, delete, ..Notification::default() }
    }

    /// The utilisation of a face's link since it was last counted: bits sent over what the link could carry.
    fn measure(&mut self, face: &FaceStatus, at: Duration) -> Option<f64> {
        let now = Sent { bits: bits(face), at };
        let before = self.sent.insert(face.face_id, now)?;
        let rate = self.rates.get(&face.remote_uri)?;
        let seconds = now.at.checked_sub(before.at)?.as_secs_f64();
        // A counter that is lower than before began anew.
        let sent = now.bits.checked_sub(before.bits)?;
        (seconds > 0.0).then(|| sent as f64 / (rate.bps() as f64 * seconds))
    }

    fn face(&mut self, face: &FaceStatus, measured: Option<f64>, leaves: &mut Leaves) {
        let place = Place::Face(face.face_id);
        let mut put = |leaf, value| drop(leaves.insert((place.clone(), leaf), value));
        let text = |text: &str| Value::StringVal(text.into());
        put("remote-uri", text(&face.remote_uri));
        // It lists no face that is down.
        put("oper-status", text("UP"));
        put("scope", text(if face.scope == Scope::Local { "LOCAL" } else { "NON_LOCAL" }));
        let Some(rate) = self.rates.get(&face.remote_uri) else { return };
        put("rate", Value::UintVal(rate.bps()));
        let signals = self.signals.entry(face.face_id).or_default();
        *signals += u64::from(measured.is_some_and(|measured| measured > self.threshold));
        put("signals", Value::UintVal(*signals));
        let last = self.leaves.get(&(place.clone(), "utilization")).cloned();
        if let Some(utilization) = measured.map(Value::DoubleVal).or(last) {
            put("utilization", utilization);
        }
    }

    /// Next hops with the costs in force and those that routes give them.
    fn hops(&mut self, lists: &Lists, leaves: &mut Leaves) {
        let mut routes: BTreeMap<(&Name, u64), u64> = BTreeMap::new();
        for entry in &lists.rib {
            for route in &entry.routes {
                let cost = routes.entry((&entry.name, route.face_id)).or_insert(u64::MAX);
                *cost = route.cost.min(*cost);
            }
        }
        let mut first = BTreeMap::new();
        for entry in &lists.fib {
            for hop in &entry.next_hops {
                let at = (entry.name.clone(), hop.face_id);
                // One that no route of the prefix explains, but an inherited one or none, has the cost it had first.
                let route_cost = routes.get(&(&entry.name, hop.face_id)).copied().unwrap_or_else(|| {
                    let cost = self.first.get(&at).copied().unwrap_or(hop.cost);
                    first.insert(at.clone(), cost);
                    cost
                });
                let place = Place::Hop(at.0, at.1);
                let ordered = self.ordered.contains_key(&entry.name);
                let known = self.leaves.get(&(place.clone(), "cost")).filter(|_| ordered).cloned();
                leaves.insert((place.clone(), "cost"), known.unwrap_or(Value::UintVal(hop.cost)));
                leaves.insert((place, "route-cost"), Value::UintVal(route_cost));
            }
        }
        self.first = first;
    }

    /// The costs in force of a prefix's next hops; none if it has none.
    pub fn in_force(&self, prefix: &Name) -> Option<BTreeMap<u64, u32>> {
        let from = (Place::Hop(prefix.clone(), 0), "");
        let hops = self.leaves.range(from..).map_while(|((place, leaf), value)| match (place, value) {
            (Place::Hop(name, face), Value::UintVal(cost)) if name == prefix => Some((*face, *leaf, *cost)),
            _ => None,
        });
        let costs = hops.filter(|(_, leaf, _)| *leaf == "cost");
        let costs: BTreeMap<u64, u32> =
            costs.map(|(face, _, cost)| (face, u32::try_from(cost).unwrap_or(u32::MAX))).collect();
        (!costs.is_empty()).then_some(costs)
    }

    /// Costs were ordered: they are in force, or none is known to be, if the order ended half-way.
    pub fn ordered(&mut self, prefix: &Name, costs: Option<&BTreeMap<u64, u32>>, at: Duration) {
        let Some(costs) = costs else { return };
        for (face, cost) in costs {
            self.leaves.insert((Place::Hop(prefix.clone(), *face), "cost"), Value::UintVal((*cost).into()));
        }
        self.ordered.insert(prefix.clone(), at);
    }
}
