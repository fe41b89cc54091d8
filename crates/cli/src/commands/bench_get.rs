//! `ndnweir bench get`.

use super::transfer::{connect, download, name, waiter};
use super::{print, print_json};
use crate::failure::Failure;
use crate::transfer_args::BenchGetArgs;
use ndnweir_core::units::{Duration, Time};
use ndnweir_lab::metrics::{Histogram, jain};
use ndnweir_net::clock::Clock;
use ndnweir_net::face::sockets;
use ndnweir_net::object::sink::NullSink;
use ndnweir_net::transfer::{Download, DownloadObserver, FinishedFetch, OpenedSink, load};
use ndnweir_node::FetcherCounters;
use ndnweir_node::fetcher::Arrival;
use serde_json::{Value, json};

/// Descriptors in addition to those of connections.
const SPARE_DESCRIPTORS: usize = 32;

pub fn run(args: &BenchGetArgs) -> Result<(), Failure> {
    let names = args.names.iter().map(|text| name(text)).collect::<Result<Vec<_>, _>>()?;
    let config = download(&args.fetch, names[0].clone())?;
    if !sockets::allow_descriptors(usize::from(args.at_once) + SPARE_DESCRIPTORS) {
        let at_once = args.at_once;
        return Err(Failure::Input(format!("--at-once {at_once}: more than there may be open files; see `ulimit -n`")));
    }
    let mut waiter = waiter()?;
    let mut begin = |number: u32, key: usize, waiter: &ndnweir_net::client::Waiter| {
        let mut config = config.clone();
        config.name = names[number as usize % names.len()].clone();
        config.fetcher.number = number;
        let session = connect(&args.client, waiter, key)?;
        Ok::<_, Failure>(Download::new(session, config, Box::new(|_| Ok(OpenedSink::empty(Box::new(NullSink))))))
    };
    let (clock, mut rtt, mut totals) = (Clock::new(), Rtt(Histogram::new()), Totals::default());
    let started = clock.now();
    let extent = (args.fetches, usize::from(args.at_once));
    load(extent, &clock, &mut waiter, &mut begin, &mut rtt, &mut |ended| totals.add(ended))?;
    let statistics = totals.statistics(clock.now().since(started), &rtt.0, &config.scheme.name);
    match args.json {
        true => print_json(&statistics)?,
        false => print(&text(&statistics))?,
    }
    match (totals.complete, totals.failures.first()) {
        (_, Some(error)) => {
            let failed = totals.failures.len();
            Err(Failure::Work(format!("{failed} of {} fetches failed, the first with: {error}", args.fetches)))
        }
        (complete, None) if complete < args.fetches => Err(Failure::Work("interrupted".into())),
        _ => Ok(()),
    }
}

struct Rtt(Histogram);

impl DownloadObserver for Rtt {
    fn arrived(&mut self, _now: Time, arrival: &Arrival, _last: Option<u64>, _counters: &FetcherCounters) {
        if let Some(rtt) = arrival.rtt {
            self.0.record(rtt);
        }
    }
}

/// Sums over fetches.
#[derive(Default)]
struct Totals {
    complete: u32,
    failures: Vec<String>,
    sum: FetcherCounters,
    goodputs: Vec<f64>,
    durations: Histogram,
}

impl Totals {
    fn add(&mut self, ended: FinishedFetch) {
        let counters = &ended.finished.counters;
        self.sum.payload_bits += counters.payload_bits;
        self.sum.segments += counters.segments;
        self.sum.interests += counters.interests;
        self.sum.retransmissions += counters.retransmissions;
        self.sum.timeouts += counters.timeouts;
        self.sum.losses += counters.losses;
        self.sum.nacks += counters.nacks;
        self.sum.marks += counters.marks;
        if let Some(error) = ended.error {
            self.failures.push(error.to_string());
            return;
        }
        self.complete += 1;
        let duration = ended.finished.ended.since(ended.finished.started);
        self.durations.record(duration);
        if duration > Duration::ZERO {
            self.goodputs.push(counters.payload_bits as f64 / duration.secs() / 1e6);
        }
    }

    fn statistics(&self, elapsed: Duration, rtt: &Histogram, scheme: &str) -> Value {
        json!({
            "scheme": scheme,
            "complete": self.complete,
            "failed": self.failures.len(),
            "duration_s": elapsed.secs(),
            "bytes": self.sum.payload_bits / 8,
            "goodput_mbps": self.sum.payload_bits as f64 / elapsed.secs().max(1e-9) / 1e6,
            "fetches_per_s": f64::from(self.complete) / elapsed.secs().max(1e-9),
            "segments": self.sum.segments,
            "interests": self.sum.interests,
            "retransmissions": self.sum.retransmissions,
            "timeouts": self.sum.timeouts,
            "losses": self.sum.losses,
            "nacks": self.sum.nacks,
            "marks": self.sum.marks,
            "jain": jain(&self.goodputs),
            "rtt_ms": rtt.distribution(),
            "completion_ms": self.durations.distribution(),
        })
    }
}

fn text(s: &Value) -> String {
    let number = |value: &Value| value.as_f64().map_or("-".to_owned(), |v| format!("{v:.3}"));
    let spread = |of: &Value| {
        let [p50, p90, p99, max] = ["p50", "p90", "p99", "max"].map(|key| number(&of[key]));
        format!("median {p50} ms, 90 % {p90} ms, 99 % {p99} ms, longest {max} ms")
    };
    format!(
        "fetches      {} complete, {} failed in {} s, {} per s\n\
         goodput      {} Mbit/s together, {} bytes; Jain index {}\n\
         round trip   {}\n\
         completion   {}\n\
         Interests    {}, of these {} again; {} losses, {} timeouts, {} NACKs, {} marks\n",
        s["complete"],
        s["failed"],
        number(&s["duration_s"]),
        number(&s["fetches_per_s"]),
        number(&s["goodput_mbps"]),
        s["bytes"],
        number(&s["jain"]),
        spread(&s["rtt_ms"]),
        spread(&s["completion_ms"]),
        s["interests"],
        s["retransmissions"],
        s["losses"],
        s["timeouts"],
        s["nacks"],
        s["marks"],
    )
}
