//! Consumers of kind `flows`: the arrivals and the sizes of their flows.

use super::diag::{Location, Problems};
use super::fields::{Fields, Packets, Read, ReadError, RequestRate};
use super::flow_sizes::{pairs, sizes};
use super::model::Traffic;
use super::network::Network;
use super::player;
use super::settings::Settings;
use super::source::Base;
use super::tree::{Item, Value};
use ndnweir_core::registry::ConsumerParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::{Bytes, Duration};
use ndnweir_sim::flows::{Arrivals, Catalogue, FlowSizes, Flows, MAX_ACTIVE};
use ndnweir_sim::player::{Player, Video};

/// Maximum number of flows that the consumers of a scenario may be expected to have in one run.
const MAX_FLOWS: f64 = 1e6;
/// Maximum of the number of flows times the number of nodes, since each node stores every name.
const MAX_FLOWS_TIMES_NODES: f64 = 2e8;
/// Largest size of a flow.
pub(super) const MAX_SIZE: f64 = 1e12;
pub(super) const SIZES: &str =
    "\"web-search\", \"100kB\", or { kind = \"pareto\", shape = 1.2, least = \"1kB\", most = \"10MB\" }";

/// The keys that only these consumers have.
pub(super) const KEYS: &[&str] =
    &["arrivals", "rate", "load", "link", "trace", "sizes", "most-active", "size-classes", "catalogue", "exponent"];
/// The same of players.
pub(super) const PLAYER_KEYS: &[&str] = &["chunk", "ladder", "rule", "buffer", "play-at", "live", "length"];

/// The context in which a consumer of flows is read.
pub(super) struct FlowContext<'a> {
    pub settings: &'a Settings,
    pub network: &'a Network,
    pub base: &'a Base,
    pub found: &'a super::diag::Findings,
    /// Content bytes of a Data that the consumer receives.
    pub payload: Bytes,
    /// How long it is active.
    pub active: Duration,
    pub name: &'a str,
}

/// A share of a link's rate; it may exceed 100 %.
struct LoadShare(f64);

impl Read for LoadShare {
    fn read(item: &Item) -> Result<Self, ReadError> {
        let text = item.as_text().and_then(|text| text.trim().strip_suffix('%'));
        match text.and_then(|text| text.trim().parse::<f64>().ok()) {
            Some(percent) if percent > 0.0 && percent <= 1000.0 => Ok(LoadShare(percent / 100.0)),
            _ => Err(ReadError {
                message: "not a share of a link's rate".into(),
                help: "write a share above \"0%\" and up to \"1000%\", such as \"60%\"".into(),
            }),
        }
    }
}

/// A list of pairs, or of sizes.
pub(super) struct ItemList(pub Vec<Item>);

impl Read for ItemList {
    fn read(item: &Item) -> Result<Self, ReadError> {
        match &item.value {
            Value::List(items) => Ok(ItemList(items.clone())),
            _ => Err(ReadError {
                message: format!("expected a list, found {}", item.kind()),
                help: "write a list in square brackets".into(),
            }),
        }
    }
}

pub(super) fn size_check(&bytes: &Bytes) -> Result<(), String> {
    match bytes.get() {
        0 => Err("a flow without a byte asks for nothing".into()),
        n if n as f64 > MAX_SIZE => Err(format!("{bytes} is no size of a flow")),
        _ => Ok(()),
    }
}

/// Reads the traffic of such a consumer; errors are reported.
pub(super) fn read(
    f: &Fields<'_>,
    consumer: Option<ComponentChoice<ConsumerParams>>,
    context: &FlowContext<'_>,
) -> Option<Traffic> {
    let check = |&Packets(n): &Packets| {
        let fits = (1..=u64::from(MAX_ACTIVE)).contains(&n);
        if fits { Ok(()) } else { Err(format!("{n} flows at once cannot be")) }
    };
    let help = format!("write a whole number from 1 to {MAX_ACTIVE}");
    let max_active = f.checked("most-active", &help, check).map_or(1000, |Packets(n)| n as u32);
    let payload = context.payload.get() as u32;
    let arrivals = arrivals(f, payload, context)?;
    let stream = super::name_key(context.name);
    let catalogue = if f.has("catalogue") || f.has("exponent") { Some(catalogue(f)?) } else { None };
    if let (Some(_), Arrivals::Player(Player { video: Video::Live, .. })) = (catalogue, &arrivals) {
        f.error("catalogue", "catalogue: live video is one", "delete catalogue and exponent, or live");
        return None;
    }
    let of_one_size = matches!(arrivals, Arrivals::Drawn { sizes: FlowSizes::Fixed(_), .. } | Arrivals::Player(_));
    if catalogue.is_some() && !of_one_size {
        let message = "catalogue: an object that is fetched again has the same size, and here sizes differ";
        f.error("catalogue", message, "write one size for all, such as sizes = \"100kB\"");
        return None;
    }
    let flows = Flows { arrivals, max_active, payload, catalogue, consumer, stream };
    count(f, flows.expected(context.active), context)?;
    Some(Traffic::Flows(Box::new(flows)))
}

/// Objects that are requested again and again, with Zipf's law.
pub(super) fn catalogue(f: &Fields<'_>) -> Option<Catalogue> {
    if f.item("catalogue").is_none() {
        f.missing("catalogue", "10000");
    }
    let objects = f.checked::<u64>("catalogue", "write a number of objects from 1 to 50000000", |&n| {
        let fits = (1..=50_000_000).contains(&n);
        if fits { Ok(()) } else { Err(format!("a catalogue of {n} objects makes no sense")) }
    });
    let exponent = f.checked::<f64>("exponent", "write a number from 0 to 10", |x| {
        if (0.0..=10.0).contains(x) { Ok(()) } else { Err(format!("{x} is not a Zipf exponent")) }
    });
    Some(Catalogue { objects: objects? as u32, exponent: exponent.unwrap_or(0.8) })
}

/// Reports an error if there are more flows than a run can have.
fn count(f: &Fields<'_>, flows: f64, context: &FlowContext<'_>) -> Option<()> {
    let most = MAX_FLOWS.min((MAX_FLOWS_TIMES_NODES / context.network.nodes.len().max(1) as f64).floor());
    if flows <= most {
        return Some(());
    }
    let key = ["rate", "load", "trace", "chunk"].into_iter().find(|key| f.has(key)).unwrap_or("rate");
    let message = format!("{key}: about {flows:.0} flows arrive, in a network of this size at most {most:.0} can");
    f.error(key, message, "let fewer arrive, or shorten the run");
    None
}

fn arrivals(f: &Fields<'_>, payload: u32, context: &FlowContext<'_>) -> Option<Arrivals> {
    #[derive(Clone, Copy, PartialEq)]
    enum Kind {
        Poisson,
        Constant,
        Trace,
        Player,
    }
    let kinds =
        [("poisson", Kind::Poisson), ("constant", Kind::Constant), ("trace", Kind::Trace), ("player", Kind::Player)];
    let kind = match (f.item("arrivals").is_some(), f.word("arrivals", &kinds)) {
        (false, _) => Kind::Poisson,
        (true, Some(kind)) => kind,
        (true, None) => {
            f.mark_known(KEYS);
            f.mark_known(PLAYER_KEYS);
            return None;
        }
    };
    if kind == Kind::Player {
        return player::read(f, context).map(Arrivals::Player);
    }
    if kind == Kind::Trace {
        let file = f.required::<String>("trace", "\"flows.csv\"")?;
        return trace(&file, &f.place("trace"), context).map(Arrivals::Trace);
    }
    let sizes = match f.item("sizes") {
        Some(item) => sizes(item, context),
        None => {
            f.missing("sizes", SIZES);
            None
        }
    };
    let mean = sizes.as_ref().map_or(1.0, |sizes| sizes.mean_segments(payload));
    let per_second = match (f.has("rate"), f.has("load")) {
        (true, true) => {
            f.mark_known(&["rate", "load", "link"]);
            f.error("load", "load: the rate is given, too", "delete one of the two");
            None
        }
        (_, true) => {
            let LoadShare(share) = f.get("load").unwrap_or(LoadShare(f64::NAN));
            let bits = mean * context.settings.run.data_on_wire(Bytes::new(payload.into())).get() as f64 * 8.0;
            link_rate(f, context).map(|bps| share * bps / bits)
        }
        _ => match f.required::<RequestRate>("rate", "\"20/s\", or load = \"60%\" and link = \"A-B\"") {
            Some(RequestRate::PerSecond(flows)) => Some(flows),
            Some(RequestRate::Bits(rate)) => Some(rate.bps() as f64 / (mean * f64::from(payload) * 8.0)),
            None => None,
        },
    };
    let per_second = per_second.filter(|flows| flows.is_finite() && *flows > 0.0)?;
    let gap = Duration::from_secs_f64(1.0 / per_second).max(Duration::from_nanos(1));
    Some(Arrivals::Drawn { gap, poisson: kind == Kind::Poisson, sizes: sizes? })
}

/// The rate, in bit/s, of the link that a load refers to, in the direction in which it is named.
fn link_rate(f: &Fields<'_>, context: &FlowContext<'_>) -> Option<f64> {
    let network = context.network;
    let name = f.required::<String>("link", "\"A-B\"")?;
    let Some((link, is_reversed)) = network.directed_link(&name) else {
        network.no_link(&name, &f.place("link"), context.found);
        return None;
    };
    let link = &network.links[link];
    let direction = if is_reversed { &link.backward } else { &link.forward };
    direction.rate.map(|rate| rate.bps() as f64)
}

fn trace(file: &str, at: &Location, context: &FlowContext<'_>) -> Option<Vec<(Duration, u64)>> {
    let read = || -> Result<Vec<(Duration, u64)>, Problems> {
        let (shown, text) = context.base.read(file, "trace", at)?;
        let flows = pairs(&text, &shown, "a time in seconds and a size in bytes")?;
        let wrong = |line: usize, message: &str, help: &str| {
            Err(Problems::one(Location::at(&shown.as_str().into(), line, 1), message, help))
        };
        if flows.is_empty() {
            return wrong(0, "the trace has no flow", "write a time in seconds and a size in bytes in each line");
        }
        let mut last = 0.0;
        for &(line, at, bytes) in &flows {
            if at < last {
                return wrong(line, "this flow comes before the one above", "sort the lines by time");
            }
            if at > 86_400.0 || !(1.0..=MAX_SIZE).contains(&bytes) {
                return wrong(line, "no time within a day or no size of a flow", "write times in s and sizes in bytes");
            }
            last = at;
        }
        Ok(flows.into_iter().map(|(_, at, bytes)| (Duration::from_secs_f64(at), bytes as u64)).collect())
    };
    read().map_err(|problems| context.found.add(problems)).ok()
}

/// The boundaries between size classes of flows, in rising order; slowdowns are reported by class.
pub(super) fn classes(f: &Fields<'_>, found: &super::diag::Findings) -> Vec<Bytes> {
    // The boundaries of pFabric (Alizadeh et al., SIGCOMM 2013).
    let usual = || [100_000, 10_000_000].map(Bytes::new).to_vec();
    if !f.has("size-classes") {
        return usual();
    }
    let Some(ItemList(items)) = f.get("size-classes") else { return usual() };
    let read: Option<Vec<Bytes>> = items.iter().map(|item| Bytes::read(item).ok()).collect();
    match read {
        Some(list) if list.len() <= 8 && list.windows(2).all(|pair| pair[0] < pair[1]) => list,
        _ => {
            let help = "write at most 8 rising sizes, such as [\"100kB\", \"10MB\"]";
            found.error(&f.place("size-classes"), "size-classes: these do not divide sizes", help);
            usual()
        }
    }
}
