//! A router's notifications, as the events that a planner needs.
//!
//! Everything here comes from a router: whatever it sends, nothing panics and the tables are bounded.

use crate::proto::gnmi::{Notification, Path, TypedValue, typed_value};
use ndnweir_wire::Name;
use std::collections::{BTreeMap, BTreeSet};

/// Faces and next hops of one router at most; what it reports beyond them is left out.
const MAX_FACES: usize = 4096;
const MAX_HOPS: usize = 65_536;
/// Bytes of a prefix.
const MAX_PREFIX: usize = 8192;
/// Listening addresses, and bytes of each.
const MAX_LISTEN: usize = 64;
const MAX_URI: usize = 1024;

/// A face as far as a planner needs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaceView {
    /// Where it leads.
    pub remote: Option<String>,
    /// In bit/s; none as fast as the router's system takes.
    pub rate: Option<u64>,
    /// Whether it is up.
    pub up: bool,
    /// Whether it stays on the router's machine, as to an application.
    pub local: bool,
    /// Arriving bits over capacity.
    pub utilization: Option<f64>,
    /// Queue length over its limit.
    pub occupancy: Option<f64>,
    /// Signals since the router's start.
    pub signals: u64,
}

/// A next hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopView {
    /// The cost in force.
    pub cost: Option<u32>,
    /// That of the router's routes.
    pub route_cost: Option<u32>,
    /// What was set over gNMI, where that is asked for.
    pub configured: Option<u32>,
    /// Data that come by it, in bit/s.
    pub rate: Option<u64>,
}

/// What a notification has changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    /// Where neighbours reach the router.
    Listen,
    /// A face is new, gone, or another; by its number.
    Face(u64),
    /// Utilisation and occupancy of a face were measured.
    Sample(u64),
    /// A face's utilisation is above the threshold.
    Signal(u64),
    /// Next hops of a prefix, or their costs.
    Entry(Name),
    /// Data rates of a prefix.
    Rates(Name),
}

/// What is known of one router.
#[derive(Clone, Debug, Default)]
pub struct Mirror {
    /// URIs by which neighbours reach it.
    pub listen: Vec<String>,
    /// By number.
    pub faces: BTreeMap<u64, FaceView>,
    /// By prefix and number of the face.
    pub fib: BTreeMap<Name, BTreeMap<u64, HopView>>,
    hops: usize,
}

/// A step of a path: name, and the value of its key.
type Step<'a> = (&'a str, Option<&'a str>);

fn steps<'a>(prefix: Option<&'a Path>, path: Option<&'a Path>) -> Vec<Step<'a>> {
    let all = prefix.into_iter().chain(path).flat_map(|path| &path.elem);
    all.map(|elem| (elem.name.as_str(), elem.key.values().next().map(String::as_str))).collect()
}

fn number(value: Option<&TypedValue>) -> Option<u64> {
    match value?.value.as_ref()? {
        typed_value::Value::UintVal(number) => Some(*number),
        typed_value::Value::IntVal(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn text(value: Option<&TypedValue>) -> Option<&str> {
    match value?.value.as_ref()? {
        typed_value::Value::StringVal(text) if text.len() <= MAX_URI => Some(text),
        _ => None,
    }
}

fn fraction(value: Option<&TypedValue>) -> Option<f64> {
    let fraction = match value?.value.as_ref()? {
        typed_value::Value::DoubleVal(value) => *value,
        typed_value::Value::UintVal(value) => *value as f64,
        _ => return None,
    };
    // What no router can measure would poison costs.
    (0.0..=1e6).contains(&fraction).then_some(fraction)
}

impl Mirror {
    /// Takes a notification; what it changed, each once, samples before signals.
    pub fn take(&mut self, notification: &Notification) -> Vec<Event> {
        let mut events = BTreeSet::new();
        let prefix = notification.prefix.as_ref();
        for path in &notification.delete {
            self.leaf(&steps(prefix, Some(path)), None, &mut events);
        }
        for update in &notification.update {
            let value = update.val.as_ref();
            if value.is_some() {
                self.leaf(&steps(prefix, update.path.as_ref()), value, &mut events);
            }
        }
        events.into_iter().collect()
    }

    fn leaf(&mut self, path: &[Step<'_>], value: Option<&TypedValue>, events: &mut BTreeSet<Event>) {
        match path {
            [("ndn", _), ("router", _), ("state", _), ("listen", _)] => {
                let list = value.and_then(|value| value.value.as_ref());
                let Some(typed_value::Value::LeaflistVal(list)) = list else { return };
                let texts = list.element.iter().filter_map(|element| text(Some(element)).map(str::to_owned));
                self.listen = texts.take(MAX_LISTEN).collect();
                events.insert(Event::Listen);
            }
            [("ndn", _), ("faces", _), ("face", Some(id)), ("state", _), (leaf, _)] => {
                let Ok(id) = id.parse() else { return };
                self.face(id, leaf, value, events);
            }
            [("ndn", _), ("fib", _), ("entry", Some(name)), ("next-hop", Some(face)), (part, _), (leaf, _)] => {
                let leaf = match (*part, *leaf) {
                    ("config", "cost") => "configured",
                    ("state", leaf) => leaf,
                    _ => return,
                };
                let Ok(face) = face.parse() else { return };
                if name.len() <= MAX_PREFIX
                    && let Ok(name) = name.parse::<Name>()
                {
                    self.hop(&name, face, leaf, value, events);
                }
            }
            _ => {}
        }
    }

    fn face(&mut self, id: u64, leaf: &str, value: Option<&TypedValue>, events: &mut BTreeSet<Event>) {
        if leaf == "remote-uri" && value.is_none() {
            if self.faces.remove(&id).is_some() {
                events.insert(Event::Face(id));
            }
            return;
        }
        if value.is_none() || (self.faces.len() >= MAX_FACES && !self.faces.contains_key(&id)) {
            return;
        }
        let face = self.faces.entry(id).or_default();
        let before = face.clone();
        match leaf {
            "remote-uri" => face.remote = text(value).map(str::to_owned),
            "rate" => face.rate = number(value),
            "oper-status" => face.up = text(value) == Some("UP"),
            "scope" => face.local = text(value) == Some("LOCAL"),
            "utilization" => {
                face.utilization = fraction(value);
                events.insert(Event::Sample(id));
            }
            "occupancy" => {
                face.occupancy = fraction(value);
                events.insert(Event::Sample(id));
            }
            "signals" => {
                let signals = number(value).unwrap_or(0);
                if signals > face.signals {
                    events.insert(Event::Signal(id));
                }
                face.signals = signals;
                return;
            }
            _ => return,
        }
        if *face != before && !matches!(leaf, "utilization" | "occupancy") {
            events.insert(Event::Face(id));
        }
    }

    fn hop(&mut self, name: &Name, face: u64, leaf: &str, value: Option<&TypedValue>, events: &mut BTreeSet<Event>) {
        let known = self.fib.get(name).is_some_and(|hops| hops.contains_key(&face));
        if leaf == "cost" && value.is_none() {
            if let Some(hops) = self.fib.get_mut(name) {
                self.hops -= usize::from(hops.remove(&face).is_some());
                if hops.is_empty() {
                    self.fib.remove(name);
                }
            }
            events.insert(Event::Entry(name.clone()));
            return;
        }
        if !known
            && (value.is_none()
                || self.hops >= MAX_HOPS
                || !matches!(leaf, "cost" | "route-cost" | "configured" | "data-rate"))
        {
            return;
        }
        self.hops += usize::from(!known);
        let hop = self.fib.entry(name.clone()).or_default().entry(face).or_default();
        let cost = || number(value).map(|cost| u32::try_from(cost).unwrap_or(u32::MAX));
        match leaf {
            "cost" => hop.cost = cost(),
            "route-cost" => hop.route_cost = cost(),
            "configured" => {
                hop.configured = cost();
                return;
            }
            "data-rate" => {
                hop.rate = number(value);
                events.insert(Event::Rates(name.clone()));
                return;
            }
            _ => return,
        }
        events.insert(Event::Entry(name.clone()));
    }
}

#[cfg(test)]
pub(crate) mod tests;
