//! `ndnweir get`.

use super::outputs::{IsOwn, Outputs};
use super::print_json;
use super::transfer::{connect, download, name, waiter};
use crate::failure::Failure;
use crate::terminal::say;
use crate::transfer_args::GetArgs;
use crate::transfer_progress::Fetched;
use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_lab::fetch_trace::{self, FetchTrace};
use ndnweir_lab::metrics::Histogram;
use ndnweir_lab::qlog::{self, QlogWriter};
use ndnweir_net::client::SessionEvent;
use ndnweir_net::clock::Clock;
use ndnweir_net::object::signals::Signals;
use ndnweir_net::object::trust::Verification;
use ndnweir_net::object::{FileSink, SinkError, StreamSink, Trust, partial_files};
use ndnweir_net::transfer::download::{MAX_EARLY, Opener, run as run_download};
use ndnweir_net::transfer::{Download, DownloadError, DownloadObserver, FinishedDownload, OpenedSink};
use ndnweir_node::FetcherCounters;
use ndnweir_node::fetcher::Arrival;
use ndnweir_wire::Name;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, IsTerminal, stdout};
use std::path::{Path, PathBuf};

pub fn run(args: &GetArgs) -> Result<(), Failure> {
    let mut config = download(&args.fetch, name(&args.name)?)?;
    let output = target(args)?;
    apart(args, output)?;
    let trace = args.trace.as_deref().map(FetchTrace::create).transpose();
    let trace = trace.map_err(|e| Failure::Input(format!("--trace: {e}")))?;
    let qlog = args.qlog.as_deref().map(|path| create_qlog(path, &args.name)).transpose()?;
    if output.is_none() {
        config.fetcher.max_window = MAX_EARLY;
    }
    let mut waiter = waiter()?;
    let session = connect(&args.client, &waiter, 0)?;
    config.fetcher.trace = args.json;
    let scheme = config.scheme.name.clone();
    let mut download =
        Download::new(session, config.clone(), opener(output.map(Path::to_owned), args, config.trust.clone()));
    let mut seen = Progress::new(args.quiet, trace, qlog);
    let result = run_download(&mut download, &Clock::new(), &mut waiter, &mut seen);
    seen.bar.done();
    if let Some(trace) = seen.trace.take() {
        trace.finish().map_err(|e| Failure::Work(format!("--trace: {e}")))?;
    }
    if let (Some(qlog), Some(path)) = (seen.qlog.take(), &args.qlog) {
        qlog.finish().map_err(|e| Failure::Work(format!("--qlog {}: {e}", path.display())))?;
    }
    let finished = match result {
        Ok(Some(finished)) => finished,
        Ok(None) if output.is_some() => {
            return Err(Failure::Work("interrupted; the same command continues from here".into()));
        }
        Ok(None) => return Err(Failure::Work("interrupted".into())),
        Err(error) => return Err(failure(&error)),
    };
    let mut statistics = seen.statistics(&finished, &scheme);
    for (key, value) in signals(download.signals()) {
        statistics[key] = value;
    }
    if let Some(warning) = warning(&finished).filter(|_| !args.quiet) {
        say(warning);
    }
    match (args.json, args.quiet) {
        (true, _) => print_json(&statistics),
        (false, true) => Ok(()),
        (false, false) => {
            say(sentence(&statistics));
            Ok(())
        }
    }
}

/// What an earlier fetch left and cannot be continued is bad input, a reader that closed the stream is no error, all
/// else is failed work.
fn failure(error: &DownloadError) -> Failure {
    match error.sink() {
        Some(SinkError::Resume(error)) => Failure::input(error),
        Some(SinkError::Stream(error)) if error.kind() == ErrorKind::BrokenPipe => Failure::Closed,
        Some(sink) if sink.is_out_of_space() => {
            Failure::Work(format!("{error}; with more room the same command continues from here"))
        }
        _ => Failure::work(error),
    }
}

/// The file to write; none is standard output. Checks before the work that a file can be put there.
fn target(args: &GetArgs) -> Result<Option<&Path>, Failure> {
    let rejected = |path: &Path, why: &str| Err(Failure::Input(format!("-o {}: {why}", path.display())));
    let Some(path) = args.output.as_deref() else {
        return match stdout().is_terminal() {
            true => Err(Failure::Input(
                "standard output is a terminal: name a file with -o FILE, or give -o - to see the bytes here".into(),
            )),
            false => Ok(None),
        };
    };
    if path == Path::new("-") {
        return match args.json || args.restart {
            true => rejected(path, "--json and --restart need a file"),
            false => Ok(None),
        };
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if path.is_dir() || path.as_os_str().is_empty() {
        return rejected(path, "name a file");
    }
    // The finished file replaces the target, which must not happen to a device.
    if path.exists() && !path.is_file() {
        return rejected(path, "not a regular file; leave out -o and send standard output there");
    }
    match folder.is_none_or(Path::is_dir) {
        true => Ok(Some(path)),
        false => rejected(path, "there is no such folder"),
    }
}

/// Checks that what is written on the way does not replace the object, its parts or a key.
fn apart(args: &GetArgs, output: Option<&Path>) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    if let Some(path) = output {
        outputs.add("-o", path)?;
        partial_files(path).iter().try_for_each(|part| outputs.add("-o", part))?;
    }
    let files: [(_, _, IsOwn); 2] =
        [("--trace", &args.trace, fetch_trace::is_own), ("--qlog", &args.qlog, qlog::is_own)];
    for (option, path, is_own) in files {
        path.as_deref().map_or(Ok(()), |path| outputs.add_over(option, path, is_own))?;
    }
    let key = args.fetch.trust.split_once(':').map(|(_, file)| PathBuf::from(file));
    outputs.not(&key.into_iter().collect::<Vec<_>>())?;
    outputs.only_over()
}

fn opener(path: Option<PathBuf>, args: &GetArgs, trust: Trust) -> Opener {
    let (restart, quiet) = (args.restart, args.quiet);
    let Some(path) = path else {
        return Box::new(|_| Ok(OpenedSink::empty(Box::new(StreamSink::new(BufWriter::new(stdout()))))));
    };
    Box::new(move |object: &Name| {
        let sink = FileSink::open(&path, object, &trust, restart)?;
        let (had, stored, last) = (sink.received().clone(), sink.stored_bytes(), sink.last_segment());
        let damaged = sink.changed_segments().count();
        if damaged > 0 && !quiet {
            let path = path.display();
            say(format_args!("warning: {path}.part: {damaged} segments are not as they came and are fetched again"));
        }
        let unread = sink.unread_records();
        if unread > 0 && !quiet {
            let path = path.display();
            say(format_args!(
                "warning: {path}.part.state: damaged in {unread} places; segments that were recorded there alone are \
                 fetched again"
            ));
        }
        Ok(OpenedSink { sink: Box::new(sink), had, stored, last })
    })
}

/// Reports that no signature with a key was checked.
fn warning(finished: &FinishedDownload) -> Option<&'static str> {
    match finished.checked {
        Verification::Signer => None,
        Verification::Digest => Some(
            "warning: only digests were checked, which anyone can make; --trust ed25519:PUBFILE or ecdsa:PUBFILE \
             checks who made this",
        ),
        Verification::Nothing => Some(
            "warning: the signatures were not checked, for want of a key; --trust ed25519:PUBFILE or ecdsa:PUBFILE \
             checks who made this",
        ),
    }
}

/// Content bytes of a segment before the first has come: what `ndnweir put` takes.
const LIKELY_SEGMENT: Bytes = Bytes::new(8000);

fn create_qlog(path: &Path, name: &str) -> Result<QlogWriter<BufWriter<File>>, Failure> {
    let file = File::create(path).map_err(|e| Failure::Input(format!("--qlog {}: {e}", path.display())))?;
    Ok(QlogWriter::new(BufWriter::new(file), &format!("ndnweir get {name}"), [(name.to_owned(), LIKELY_SEGMENT)]))
}

/// Gathers what is shown.
struct Progress {
    bar: Fetched,
    quiet: bool,
    trace: Option<FetchTrace>,
    qlog: Option<QlogWriter<BufWriter<File>>>,
    object: String,
    stored: u64,
    rtt: Histogram,
    delay: Histogram,
}

impl Progress {
    fn new(quiet: bool, trace: Option<FetchTrace>, qlog: Option<QlogWriter<BufWriter<File>>>) -> Progress {
        let (rtt, delay) = (Histogram::new(), Histogram::new());
        Progress { bar: Fetched::new(quiet), quiet, trace, qlog, object: String::new(), stored: 0, rtt, delay }
    }

    fn statistics(&self, finished: &FinishedDownload, scheme: &str) -> Value {
        let counters = &finished.counters;
        let duration = finished.ended.since(finished.started);
        json!({
            "object": self.object,
            "scheme": scheme,
            "bytes": counters.payload_bits / 8,
            "resumed_bytes": self.stored,
            "duration_s": duration.secs(),
            "goodput_mbps": goodput(counters.payload_bits, duration),
            "segments": counters.segments,
            "interests": counters.interests,
            "retransmissions": counters.retransmissions,
            "timeouts": counters.timeouts,
            "losses": counters.losses,
            "false_losses": counters.false_losses,
            "nacks": counters.nacks,
            "marks": counters.marks,
            "duplicates": counters.duplicates,
            "rejected": finished.rejected,
            "checked": match finished.checked {
                Verification::Signer => "signer",
                Verification::Digest => "digest",
                Verification::Nothing => "nothing",
            },
            "decreases": counters.decreases,
            "window": counters.window,
            "rtt_ms": self.rtt.distribution(),
            "delay_ms": self.delay.distribution(),
        })
    }
}

/// The header fields that came and what the consumer recorded, by name and number.
fn signals(signals: &Signals) -> [(&'static str, Value); 2] {
    let (mut fields, mut recorded) = (json!({}), json!({}));
    for (name, seen) in &signals.fields {
        fields[name] = json!({ "data": seen.data, "latest": seen.latest });
    }
    for ((key, id), value) in &signals.recorded {
        recorded[key][id.to_string()] = json!(value);
    }
    [("fields", fields), ("recorded", recorded)]
}

/// Megabits per second; 0 when no time passed.
fn goodput(bits: u64, duration: Duration) -> f64 {
    if duration == Duration::ZERO { 0.0 } else { bits as f64 / duration.secs() / 1e6 }
}

impl DownloadObserver for Progress {
    fn found(&mut self, _now: Time, object: &Name, stored: u64) {
        self.object = object.to_string();
        self.stored = stored;
        self.bar.begin(&self.object, stored);
        if stored > 0 && !self.quiet {
            self.bar.print_line(&format!("going on with {stored} bytes of {}", self.object));
        }
    }

    fn arrived(&mut self, now: Time, arrival: &Arrival, last: Option<u64>, counters: &FetcherCounters) {
        self.delay.record(arrival.delay);
        if let Some(rtt) = arrival.rtt {
            self.rtt.record(rtt);
        }
        if let Some(trace) = &mut self.trace {
            trace.record(now, arrival.payload, arrival.rtt, counters.window, counters.in_flight);
        }
        if let Some(qlog) = &mut self.qlog {
            qlog.arrived(now, 0, arrival);
            qlog.state(now, 0, counters);
        }
        self.bar.advance(now, arrival.payload.get(), last, counters);
    }

    fn requested(&mut self, now: Time, segment: u64, bytes: u64) {
        if let Some(qlog) = &mut self.qlog {
            qlog.requested(now, 0, segment, bytes);
        }
    }

    fn waited(&mut self, now: Time) {
        self.bar.wait(now);
    }

    fn connection(&mut self, event: &SessionEvent) {
        if let SessionEvent::Lost(error) = event {
            self.bar.print_line(&format!("warning: connection lost ({error}); trying again"));
        }
    }
}

fn sentence(statistics: &Value) -> String {
    let number = |key: &str| statistics[key].as_f64().unwrap_or_default();
    let object = statistics["object"].as_str().unwrap_or_default();
    let median = statistics["rtt_ms"]["p50"].as_f64();
    let rtt = median.map_or(String::new(), |ms| format!(", round trip {ms:.3} ms"));
    format!(
        "{object}: {} bytes in {:.3} s, {:.1} Mbit/s{rtt}, {} of {} Interests retransmitted, {} marks",
        number("bytes"),
        number("duration_s"),
        number("goodput_mbps"),
        number("retransmissions"),
        number("interests"),
        number("marks"),
    )
}
