//! The settings of the run and of routing.

use ndnweir_core::units::{Bytes, Duration, Time};

use super::diag::{Findings, Location};
use super::fields::{Fields, Packets, Probability};
use super::model::{CachedMarks, Control, InterestMarks, PlanFor, Routes, Routing, Run};
use super::tree::Table;

/// `[run]`, `[routing]` and `[control]`.
pub(super) struct Settings {
    pub run: Run,
    pub routing: Routing,
    pub cost: CostModel,
    pub control: Control,
    /// Default content of each Data.
    pub payload: Bytes,
    /// Default content store of nodes.
    pub cache: u64,
}

/// Default costs of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CostModel {
    /// 1 per link.
    Hops,
    /// The propagation delay in microseconds, at least 1.
    Delay,
}

const HOUR: Duration = Duration::from_millis(3_600_000);
/// Most cached packets of one node.
const MAX_CACHE: u64 = 1_000_000_000;
/// Largest content of a Data: the packet format allows 8800 bytes for a whole packet.
const MAX_PAYLOAD: Bytes = Bytes::new(8_000);

/// A time within bounds.
fn within(low: Duration, high: Duration) -> impl Fn(&Duration) -> Result<(), String> {
    move |&t| match t {
        t if t < low => Err(format!("{t} is less than {low}")),
        t if t > high => Err(format!("{t} is more than {high}")),
        _ => Ok(()),
    }
}

pub(super) const JITTER_HELP: &str = "write a time from \"0ms\" to \"1h\"";

pub(super) fn jitter_check(jitter: &Duration) -> Result<(), String> {
    within(Duration::ZERO, HOUR)(jitter)
}

pub(super) fn payload_check(&bytes: &Bytes) -> Result<(), String> {
    match bytes {
        Bytes::ZERO => Err("a Data without content measures nothing".into()),
        b if b > MAX_PAYLOAD => Err(format!("{b} does not fit into a Data packet")),
        _ => Ok(()),
    }
}

pub(super) fn cache_check(&Packets(n): &Packets) -> Result<(), String> {
    if n <= MAX_CACHE { Ok(()) } else { Err(format!("{n} packets is absurd")) }
}

pub(super) fn read(root: &Table, whole: &Location, found: &Findings) -> Settings {
    let empty = Table::default();
    let section = |key: &str| match root.get(key) {
        Some(item) => (item.as_table().unwrap_or(&empty), item.at.clone()),
        None => (&empty, whole.clone()),
    };
    let (table, at) = section("run");
    let f = Fields::new(table, "[run]", &at, found);
    let help = "write a time from \"1ms\" to \"24h\"";
    let duration = f.checked("duration", help, within(Duration::from_millis(1), HOUR * 24)).unwrap_or(HOUR / 60);
    let warm_up = f.get("warm-up").unwrap_or(Duration::ZERO);
    if warm_up >= duration {
        let message = format!("warm-up: {warm_up} is not shorter than the run ({duration})");
        f.error("warm-up", message, "averages need time after the warm-up: shorten it or lengthen the run");
    }
    let sample = f
        .checked("sample", "write a time from \"100us\" to \"1h\"", within(Duration::from_micros(100), HOUR))
        .unwrap_or(Duration::from_millis(100));
    if duration.nanos() / sample.nanos().max(1) > 1_000_000 {
        let message = format!("sample: {duration} at one point per {sample} is more than a million points");
        f.error("sample", message, "sample less often, or shorten the run");
    }
    let start_jitter = f.checked("start-jitter", JITTER_HELP, jitter_check).unwrap_or(Duration::from_millis(5));
    let payload =
        f.checked("payload", "write a size from \"1B\" to \"8000B\"", payload_check).unwrap_or(Bytes::new(1024));
    let cache = f.checked("cache", "write a number of packets such as \"1000 packets\"", cache_check);
    let size = |key, default, least: u64| {
        let check = |&b: &Bytes| {
            if b.get() < least {
                Err(format!("{b} is less than {least}B"))
            } else if b > MAX_PAYLOAD {
                Err(format!("{b} is more than {MAX_PAYLOAD}"))
            } else {
                Ok(())
            }
        };
        f.checked(key, "write a size such as \"40B\"", check).unwrap_or(Bytes::new(default))
    };
    // Wire sizes of ndnSIM 2.8: 1064 B of Data for 1024 B of content, Interests of 30 B, 2 B of framing per link.
    let (data_overhead, interest_size, framing) =
        (size("data-overhead", 40, 0), size("interest-size", 30, 1), size("framing", 2, 0));
    let growing_sizes = f.word("sizes", &[("constant", false), ("growing", true)]).unwrap_or(false);
    let marks = [("ignore", InterestMarks::Ignore), ("copy", InterestMarks::Copy), ("own", InterestMarks::Own)];
    let interest_marks = f.word("interest-marks", &marks);
    let cached_marks = f.word("cached-marks", &[("strip", CachedMarks::Strip), ("replay", CachedMarks::Replay)]);
    let pit_limit = f
        .checked::<Packets>("pit-limit", "write a number of packets such as \"1000000 packets\"", |&Packets(n)| {
            if (1..=1_000_000_000).contains(&n) { Ok(()) } else { Err(format!("{n} pending Interests make no sense")) }
        })
        .map_or(1 << 20, |Packets(n)| n as usize);
    f.item("schemes");
    f.finish();

    let (table, at) = section("routing");
    let f = Fields::new(table, "[routing]", &at, found);
    let k = f.checked::<u64>("k", "write a whole number from 1 to 64", |&k| {
        if (1..=64).contains(&k) { Ok(()) } else { Err(format!("{k} paths make no sense")) }
    });
    let paths = k.unwrap_or(2) as u32;
    let plan_for = f.word("plan-for", &[("consumers", PlanFor::Consumers), ("every-node", PlanFor::EveryNode)]);
    let modes = [
        ("shortest", Routes::Shortest),
        ("k-shortest", Routes::KShortest(paths)),
        ("all", Routes::LoopFree),
        ("planned", Routes::Planned(plan_for.unwrap_or(PlanFor::Consumers))),
        ("none", Routes::None),
    ];
    let mode = f.word("mode", &modes).unwrap_or(Routes::Shortest);
    if k.is_some() && !matches!(mode, Routes::KShortest(_)) {
        f.error("k", "k: only mode = \"k-shortest\" takes it", "delete k, or write mode = \"k-shortest\"");
    }
    if plan_for.is_some() && !matches!(mode, Routes::Planned(_)) {
        let help = "delete plan-for, or write mode = \"planned\"";
        f.error("plan-for", "plan-for: only mode = \"planned\" takes it", help);
    }
    let cost = f.word("cost", &[("hops", CostModel::Hops), ("delay", CostModel::Delay)]).unwrap_or(CostModel::Hops);
    let reaction = match f.item("reaction") {
        Some(item) if item.as_text() == Some("never") => None,
        None => Some(Duration::from_millis(200)),
        Some(_) => f.checked("reaction", "write a time up to \"1h\", or \"never\"", within(Duration::ZERO, HOUR)),
    };
    f.finish();
    let run = Run {
        duration,
        warm_up,
        sample,
        start_jitter,
        data_overhead,
        interest_size,
        framing,
        growing_sizes,
        interest_marks,
        cached_marks,
        pit_limit,
    };
    let control = control(root, whole, duration, found);
    Settings {
        run,
        control,
        routing: Routing { routes: mode, reaction },
        cost,
        payload,
        cache: cache.map_or(0, |Packets(n)| n),
    }
}

fn control(root: &Table, whole: &Location, duration: Duration, found: &Findings) -> Control {
    let empty = Table::default();
    let (table, at) = match root.get("control") {
        Some(item) => (item.as_table().unwrap_or(&empty), item.at.clone()),
        None => (&empty, whole.clone()),
    };
    let f = Fields::new(table, "[control]", &at, found);
    let delay = f
        .checked("delay", "write a time up to \"1h\"", within(Duration::ZERO, HOUR))
        .unwrap_or(Duration::from_millis(10));
    let loss = f.get::<Probability>("loss").map_or(0.0, |Probability(loss)| loss);
    let before_the_end =
        |&t: &Duration| if t < duration { Ok(()) } else { Err(format!("{t} is not before the end of the run")) };
    let help = "write a time before the end of the run such as \"10s\"";
    let fails = f.checked("fails", help, before_the_end);
    let later = |key: &'static str| {
        let at: Option<Duration> = f.checked(key, help, before_the_end);
        if at.is_some_and(|at| fails.is_none_or(|fails| at <= fails)) {
            f.error(
                key,
                format!("{key}: only a planner that has failed is followed by another"),
                "give fails, and a later time here",
            );
        }
        at
    };
    let (stand_by, returns) = (later("stand-by"), later("returns"));
    f.finish();
    let at = |duration: Option<Duration>| duration.map(|duration| Time::ZERO + duration);
    Control { delay, loss, fails: at(fails), stand_by: at(stand_by), returns: at(returns) }
}
