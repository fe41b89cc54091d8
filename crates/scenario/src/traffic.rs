//! Producers, consumers and events.

use std::collections::BTreeMap;

use ndnweir_core::registry::ConsumerParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::{Bytes, Duration};
use ndnweir_sim::flows::Catalogue;

use super::diag::{Findings, Location, suggest};
use super::fields::{Fields, Packets, Probability, RequestRate};
use super::flows;
use super::model::{Change, Consumer, Event, LinkDirection, NodeKind, Producer, Retry, Traffic};
use super::network::{self, Network};
use super::order::compare;
use super::player;
use super::reach::Reach;
use super::settings::{self, Settings};
use super::source::Base;
use super::tree::Table;
use super::{MAX_APPLICATIONS, MAX_EVENTS, is_under, prefix_error};

/// Limit on the objects of all consumers' catalogues together: 800 MB of tables.
const MAX_TABLES: u64 = 100_000_000;

/// What runs on the network, and what happens to it.
#[derive(Default)]
pub(super) struct Applications {
    pub producers: Vec<Producer>,
    pub consumers: Vec<Consumer>,
    pub events: Vec<Event>,
}

pub(super) fn read(
    root: &Table,
    settings: &Settings,
    network: &Network,
    base: &Base,
    whole: &Location,
    found: &Findings,
) -> Applications {
    for key in ["producer", "consumer"] {
        let items = root.list(key);
        if items.is_empty() && root.get(key).is_none() && root.get("demand").is_none() {
            let help = format!("add [[{key}]] tables, or [demand] with model = \"gravity\"");
            found.error(whole, format!("the scenario has no {key}s"), help);
        }
        if let Some(item) = items.get(MAX_APPLICATIONS) {
            found.error(&item.at, format!("more than {MAX_APPLICATIONS} {key}s"), "use fewer");
        }
    }
    let mut applications =
        Applications { producers: producers(root, settings, network, found), ..Applications::default() };
    let reader = ConsumerReader {
        settings,
        network,
        found,
        reach: Reach::new(network),
        producers: &applications.producers,
        base,
        bad_producers: root.list("producer").len() != applications.producers.len(),
    };
    let mut seen = BTreeMap::new();
    let mut consumers = Vec::new();
    for item in root.list("consumer").iter().take(MAX_APPLICATIONS) {
        let Some(table) = item.as_table() else { continue };
        let f = Fields::new(table, "this consumer", &item.at, found);
        let name = network::name(&f, "consumers", &seen, found);
        if let Some(name) = &name {
            seen.insert(name.clone(), item.at.clone());
        }
        consumers.extend(reader.read(f, name));
    }
    check_catalogues(root, &consumers, found);
    player::check_names(root, &consumers, found);
    applications.consumers = consumers;
    applications.events = events(root, settings, network, found);
    applications
}

/// Each consumer of a catalogue has a table of its objects.
fn check_catalogues(root: &Table, consumers: &[Consumer], found: &Findings) {
    let objects = |consumer: &Consumer| match &consumer.traffic {
        Traffic::Zipf { objects, .. } => u64::from(*objects),
        Traffic::Flows(flows) => flows.catalogue.map_or(0, |catalogue| catalogue.objects.into()),
        _ => 0,
    };
    let all: u64 = consumers.iter().map(objects).sum();
    let with = root.list("consumer").iter().find_map(|item| item.as_table()?.get("catalogue"));
    if let Some(first) = with.filter(|_| all > MAX_TABLES) {
        let message = format!("catalogue: all consumers together have {all} objects in their tables, of 8 bytes each");
        found.error(
            &first.at,
            message,
            format!("let them have {MAX_TABLES} together at most: fewer objects or consumers"),
        );
    }
}

fn node_of(f: &Fields<'_>, network: &Network, found: &Findings) -> Option<usize> {
    let name = f.required::<String>("node", "\"NODE\"")?;
    let node = network::node_index(&name, &f.place("node"), network, found)?;
    if network.nodes[node].kind == NodeKind::Switch {
        f.error("node", format!("{name} is a switch and runs no applications"), "name a router or a host");
        return None;
    }
    Some(node)
}

fn prefix_of(f: &Fields<'_>) -> Option<String> {
    let prefix = f.required::<String>("prefix", "\"/name\"")?;
    match prefix_error(&prefix) {
        None => Some(prefix),
        Some(message) => {
            f.error("prefix", format!("prefix: {message}"), "write an NDN name such as \"/video/a\"");
            None
        }
    }
}

fn producers(root: &Table, settings: &Settings, network: &Network, found: &Findings) -> Vec<Producer> {
    let mut seen = BTreeMap::new();
    let mut places: BTreeMap<(usize, String), Location> = BTreeMap::new();
    let mut producers = Vec::new();
    for item in root.list("producer").iter().take(MAX_APPLICATIONS) {
        let Some(table) = item.as_table() else { continue };
        let f = Fields::new(table, "this producer", &item.at, found);
        let name = network::name(&f, "producers", &seen, found);
        let node = node_of(&f, network, found);
        let prefix = prefix_of(&f);
        let payload = f
            .checked("payload", "write a size from \"1B\" to \"8000B\"", settings::payload_check)
            .unwrap_or(settings.payload);
        let day = Duration::from_millis(86_400_000);
        let freshness = f.checked("freshness", "write a time up to \"1440min\"", |&t: &Duration| {
            if t <= day { Ok(()) } else { Err(format!("{t} is more than a day")) }
        });
        f.finish();
        let (Some(name), Some(node), Some(prefix)) = (name, node, prefix) else { continue };
        seen.insert(name.clone(), item.at.clone());
        if let Some(first) = places.insert((node, prefix.clone()), item.at.clone()) {
            let message = format!("two producers on {} answer {prefix}", network.nodes[node].name);
            found.error(&item.at, message, format!("the first is at {first}: delete one of the two"));
        }
        let freshness = freshness.unwrap_or(day);
        producers.push(Producer { name, node, prefix, payload, freshness });
    }
    queues_hold_data(&producers, settings, network, found);
    producers
}

/// Queues counted in bytes were checked against the default payload; producers may have a larger one.
fn queues_hold_data(producers: &[Producer], settings: &Settings, network: &Network, found: &Findings) {
    let largest = producers.iter().map(|p| p.payload).max().unwrap_or(Bytes::ZERO);
    if largest <= settings.payload {
        return;
    }
    let wire = settings.run.data_on_wire(largest);
    for (link, place) in network.links.iter().zip(&network.link_places) {
        for direction in [&link.forward, &link.backward] {
            if let super::QueueLimit::Bytes(bytes) = direction.limit
                && bytes < wire
            {
                let message = format!("queue: {bytes} has no room for one Data of {wire}");
                found.error(place, message, "write a larger queue, or count it in packets");
            }
        }
    }
}

const DEADLINE_HELP: &str = "write a time from \"1us\" to \"1h\"";

fn deadline_check(deadline: &Duration) -> Result<(), String> {
    let fits = (Duration::from_micros(1)..=Duration::from_millis(3_600_000)).contains(deadline);
    if fits { Ok(()) } else { Err(format!("{deadline} is no sensible deadline")) }
}

struct ConsumerReader<'a> {
    settings: &'a Settings,
    network: &'a Network,
    found: &'a Findings,
    reach: Reach,
    producers: &'a [Producer],
    base: &'a Base,
    /// Some producers could not be read: do not report their consumers.
    bad_producers: bool,
}

impl ConsumerReader<'_> {
    fn read(&self, f: Fields<'_>, name: Option<String>) -> Option<Consumer> {
        let duration = self.settings.run.duration;
        let node = node_of(&f, self.network, self.found);
        let prefix = prefix_of(&f);
        let start = f
            .checked("start", "start within the run, or lengthen run.duration", |&t: &Duration| {
                if t < duration { Ok(()) } else { Err(format!("{t} is not before the end of the run ({duration})")) }
            })
            .unwrap_or(Duration::ZERO);
        let start_jitter = f.checked("start-jitter", settings::JITTER_HELP, settings::jitter_check);
        let stop = f.checked("stop", "stop after the start", |&t: &Duration| {
            if t > start { Ok(()) } else { Err(format!("{t} is not after the start ({start})")) }
        });
        let lifetime = f
            .checked("lifetime", "write a time from \"1ms\" to \"60min\"", |&t: &Duration| {
                let fits = t >= Duration::from_millis(1) && t <= Duration::from_millis(3_600_000);
                if fits { Ok(()) } else { Err(format!("{t} is not a sensible Interest lifetime")) }
            })
            .unwrap_or(Duration::from_millis(2_000));
        // Read by `parts`.
        f.item("scheme");
        let component = f.item("component").and_then(|item| network::component(item, self.found));
        let producers = match (node, &prefix) {
            (Some(node), Some(prefix)) => self.producers_for(&f, node, prefix),
            _ => None,
        };
        let answering = producers.iter().flatten().map(|&p| &self.producers[p]);
        let first = answering.min_by(|a, b| compare(&a.name, &b.name));
        let payload = first.map(|producer| producer.payload);
        let active = stop.unwrap_or(duration).min(duration) - start.min(duration);
        let payload = payload.unwrap_or(self.settings.payload);
        let context = flows::FlowContext {
            settings: self.settings,
            network: self.network,
            base: self.base,
            found: self.found,
            payload,
            active,
            name: name.as_deref().unwrap_or_default(),
        };
        let traffic = self.traffic(&f, payload, component, &context);
        let deadline = match traffic {
            Some(Traffic::Stream { .. } | Traffic::Zipf { .. }) => f.checked("deadline", DEADLINE_HELP, deadline_check),
            _ => None,
        };
        let size_classes = match traffic {
            Some(Traffic::Flows(_)) => flows::classes(&f, self.found),
            _ => Vec::new(),
        };
        f.finish();
        Some(Consumer {
            name: name?,
            node: node?,
            prefix: prefix?,
            start,
            start_jitter,
            stop,
            traffic: traffic?,
            lifetime,
            deadline,
            size_classes,
            producers: producers?,
        })
    }

    fn producers_for(&self, f: &Fields<'_>, node: usize, prefix: &str) -> Option<Vec<usize>> {
        let answers: Vec<usize> =
            (0..self.producers.len()).filter(|&p| is_under(&self.producers[p].prefix, prefix)).collect();
        if answers.is_empty() {
            if !self.bad_producers {
                let help = suggest(prefix, "prefixes", self.producers.iter().map(|p| p.prefix.as_str()));
                f.error("prefix", format!("no producer answers {prefix}"), help);
            }
            return None;
        }
        if let Some(&local) = answers.iter().find(|&&p| self.producers[p].node == node) {
            let message = format!("producer {} of {prefix} sits on the same node", self.producers[local].name);
            f.error("node", message, "nothing would cross a link: move one of the two to another node");
            return None;
        }
        let reached: Vec<usize> =
            answers.iter().copied().filter(|&p| self.reach.can(node, self.producers[p].node)).collect();
        if reached.is_empty() {
            if self.network.partial {
                return None;
            }
            let names: Vec<&str> =
                answers.iter().map(|&p| self.network.nodes[self.producers[p].node].name.as_str()).collect();
            let from = &self.network.nodes[node].name;
            let message = format!("{prefix} cannot be reached: no path from {from} to {}", names.join(", "));
            f.error("prefix", message, "add the missing link (or overlay pair)");
            return None;
        }
        Some(reached)
    }

    fn traffic(
        &self,
        f: &Fields<'_>,
        payload: Bytes,
        consumer: Option<ComponentChoice<ConsumerParams>>,
        context: &flows::FlowContext<'_>,
    ) -> Option<Traffic> {
        #[derive(Clone, Copy, PartialEq)]
        enum Kind {
            Fetch,
            Object,
            Stream,
            Zipf,
            Flows,
        }
        let kinds = [
            ("fetch", Kind::Fetch),
            ("object", Kind::Object),
            ("stream", Kind::Stream),
            ("zipf", Kind::Zipf),
            ("flows", Kind::Flows),
        ];
        let kind = match (f.item("kind"), f.word("kind", &kinds)) {
            (None, _) => Kind::Fetch,
            (Some(_), Some(kind)) => kind,
            (Some(_), None) => {
                f.mark_known(&["packets", "retries", "deadline"]);
                f.mark_known(flows::KEYS);
                f.mark_known(flows::PLAYER_KEYS);
                return None;
            }
        };
        let words = [("constant", false), ("poisson", true)];
        let count = |key: &'static str, example: &str| {
            if f.item(key).is_none() {
                f.missing(key, example);
            }
            let help = format!("write a number of packets such as {example}");
            let check = |&Packets(n): &Packets| match n {
                0 => Err("an object of zero packets is empty".into()),
                n if n > 4_000_000_000 => Err(format!("{n} packets is absurd")),
                _ => Ok(()),
            };
            f.checked(key, &help, check).map(|Packets(n)| n)
        };
        let retries = || {
            let check = |&n: &u64| if n <= 1_000 { Ok(()) } else { Err(format!("{n} retries make no sense")) };
            match f.checked("retries", "write a whole number from 0 to 1000", check).unwrap_or(0) as u32 {
                0 => Retry::Never,
                n => Retry::Lifetime(n),
            }
        };
        let gap = || {
            let per_second = |rate: &RequestRate| match *rate {
                RequestRate::PerSecond(n) => n,
                RequestRate::Bits(rate) => rate.packets_per_second(payload),
            };
            if f.item("rate").is_none() {
                f.missing("rate", "\"1000/s\"");
            }
            // Time has whole nanoseconds.
            let check = |rate: &RequestRate| match per_second(rate) {
                n if n > 1e9 => Err(format!("{n:.0} Interests in a second are absurd")),
                _ => Ok(()),
            };
            let rate = f.checked("rate", "write at most 1e9 Interests in a second, such as \"1000/s\"", check);
            rate.map(|rate| Duration::from_secs_f64(1.0 / per_second(&rate)))
        };
        match kind {
            Kind::Flows => {
                let flows = flows::read(f, consumer, context);
                if flows.is_none() {
                    f.mark_known(flows::KEYS);
                    f.mark_known(flows::PLAYER_KEYS);
                }
                flows
            }
            Kind::Fetch => Some(Traffic::Fetch { segments: None, consumer }),
            Kind::Object => Some(Traffic::Fetch { segments: Some(count("packets", "\"15000 packets\"")?), consumer }),
            Kind::Stream => {
                let segments = f.item("packets").and_then(|_| count("packets", "\"15000 packets\""));
                let retry = retries();
                Some(Traffic::Stream { gap: gap()?, segments, retry })
            }
            Kind::Zipf => {
                let poisson = f.word("arrivals", &words).unwrap_or(true);
                let catalogue = flows::catalogue(f);
                let retry = retries();
                let (gap, Catalogue { objects, exponent }) = (gap()?, catalogue?);
                Some(Traffic::Zipf { gap, poisson, objects, exponent, retry })
            }
        }
    }
}

fn events(root: &Table, settings: &Settings, network: &Network, found: &Findings) -> Vec<Event> {
    let items = root.list("event");
    if let Some(item) = items.get(MAX_EVENTS) {
        found.error(&item.at, format!("more than {MAX_EVENTS} events"), "use fewer");
    }
    let mut events = Vec::new();
    let mut seen = BTreeMap::new();
    for item in items.iter().take(MAX_EVENTS) {
        let Some(table) = item.as_table() else { continue };
        let f = Fields::new(table, "this event", &item.at, found);
        f.mark_known(&["name"]);
        if table.get("name").is_some() {
            let name = network::name(&f, "events", &seen, found);
            seen.extend(name.map(|name| (name, item.at.clone())));
        }
        let at = f.required::<Duration>("at", "\"10s\"");
        let duration = settings.run.duration;
        if at.is_some_and(|t| t >= duration) {
            let message = format!("at: the event comes at or after the end of the run ({duration})");
            f.error("at", message, "move it into the run, or lengthen run.duration");
        }
        let change = change(&f, network, found);
        f.finish();
        if let (Some(at), Some(change)) = (at, change) {
            events.push(Event { at, change });
        }
    }
    events.sort_by_key(|e| e.at);
    events
}

fn change(f: &Fields<'_>, network: &Network, found: &Findings) -> Option<Change> {
    let actions = [
        ("link-down", 0),
        ("link-up", 1),
        ("link-rate", 2),
        ("link-delay", 3),
        ("link-loss", 4),
        ("node-crash", 5),
        ("node-restart", 6),
    ];
    f.renamed("way", "direction");
    f.required::<String>("action", "\"link-down\"")?;
    let Some(action) = f.word("action", &actions) else {
        f.mark_known(&["link", "node", "rate", "delay", "loss", "direction"]);
        return None;
    };
    if action >= 5 {
        let name = f.required::<String>("node", "\"NODE\"")?;
        let node = network::node_index(&name, &f.place("node"), network, found)?;
        if network.nodes[node].kind == NodeKind::Switch {
            f.error("node", format!("{name} is a switch"), "only NDN nodes crash; take a switch's links down instead");
            return None;
        }
        return Some(if action == 5 { Change::Crash { node } } else { Change::Restart { node } });
    }
    let name = f.required::<String>("link", "\"A-B\"")?;
    let Some((link, is_reversed)) = network.directed_link(&name) else {
        network.no_link(&name, &f.place("link"), found);
        f.mark_known(&["rate", "delay", "loss", "direction"]);
        return None;
    };
    let mut direction = LinkDirection::Both;
    if action >= 2 {
        let directions =
            [("both", LinkDirection::Both), ("forward", LinkDirection::Forward), ("backward", LinkDirection::Backward)];
        direction = match (f.word("direction", &directions).unwrap_or(LinkDirection::Both), is_reversed) {
            (LinkDirection::Forward, true) => LinkDirection::Backward,
            (LinkDirection::Backward, true) => LinkDirection::Forward,
            (direction, _) => direction,
        };
    }
    match action {
        0 => Some(Change::LinkDown { link }),
        1 => Some(Change::LinkUp { link }),
        2 => {
            f.required::<ndnweir_core::units::Rate>("rate", "\"5Mbps\"")?;
            let rate = f.checked("rate", super::direction::RATE_HELP, super::direction::rate_check)?;
            if network.media.iter().any(|medium| medium.links.contains(&link)) {
                f.error(
                    "link",
                    format!("link \"{name}\" shares a medium, whose rate does not change"),
                    "delete the event",
                );
                return None;
            }
            Some(Change::Rate { link, direction, rate })
        }
        3 => {
            f.required::<Duration>("delay", "\"20ms\"")?;
            let delay = f.checked("delay", super::direction::DELAY_HELP, super::direction::delay_check)?;
            Some(Change::Delay { link, direction, delay })
        }
        _ => {
            let Probability(loss) = f.required::<Probability>("loss", "\"1%\"")?;
            Some(Change::Loss { link, direction, loss })
        }
    }
}
