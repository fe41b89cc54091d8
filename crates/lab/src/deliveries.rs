//! Every Data of a run as a line of CSV: its delay, hop count and path. It grows with the traffic, so it is written
//! only when requested, while the run continues.

use crate::experiment::{Experiment, describe};
use crate::results::{begins_with, number_text, quoted};
use crate::trace::Error;
use ndnweir_sim::RunOptions;
use ndnweir_sim::observer::{Arrival, Delivery, DirectedLinkId, Observer, PathId};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The columns.
pub const HEADER: &str = "time_s,consumer,node,segment,delay_ms,rtt_ms,retransmissions,hops,mark,path";

/// Whether a file that begins so is one that [`write`] wrote.
pub fn is_own(head: &[u8]) -> bool {
    begins_with(head, HEADER)
}

/// Writes a line for each delivery.
struct Lines<W: Write> {
    out: W,
    /// By consumer: its name and node, as fields.
    consumers: Vec<String>,
    /// By directed link: the names of its ends.
    links: Vec<(String, String)>,
    /// Hop count and nodes, as fields.
    paths: BTreeMap<PathId, (usize, String)>,
    result: io::Result<()>,
}

impl<W: Write> Observer for Lines<W> {
    fn path(&mut self, path: PathId, links: &[DirectedLinkId]) {
        let ends: Vec<&(String, String)> = links.iter().filter_map(|link| self.links.get(link.0 as usize)).collect();
        let nodes = ends.first().map(|(from, _)| from).into_iter().chain(ends.iter().map(|(_, to)| to));
        let nodes: Vec<&str> = nodes.map(String::as_str).collect();
        self.paths.insert(path, (links.len(), quoted(&nodes.join(">"))));
    }

    fn delivered(&mut self, d: &Delivery) {
        if self.result.is_err() {
            return;
        }
        let consumer = self.consumers.get(d.consumer.0 as usize).map_or(",", String::as_str);
        let Arrival { segment, delay, rtt, retransmissions, mark, .. } = d.arrival;
        let rtt = rtt.map_or(String::new(), |rtt| number_text(rtt.millis(), 9));
        let (at, delay) = (number_text(d.at.secs(), 12), number_text(delay.millis(), 9));
        let (hops, path) =
            self.paths.get(&d.path).map_or_else(Default::default, |(n, path)| (n.to_string(), &path[..]));
        let out = &mut self.out;
        self.result = writeln!(out, "{at},{consumer},{segment},{delay},{rtt},{retransmissions},{hops},{mark},{path}");
    }
}

/// Runs the experiment's first scheme with its first seed again and writes a line for every Data to `path`.
///
/// # Errors
/// See [`Error`].
pub fn write(experiment: &Experiment, path: &Path, stop: &AtomicBool) -> Result<(), Error> {
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let file = BufWriter::new(File::create(path).map_err(failed)?);
    lines(experiment, file, stop)?.map_err(failed)
}

/// The same to any output; the inner error is that of writing.
fn lines(experiment: &Experiment, mut out: impl Write, stop: &AtomicBool) -> Result<io::Result<()>, Error> {
    let (Some(scheme), Some(&seed)) = (experiment.schemes.first(), experiment.seeds.first()) else {
        return Ok(Ok(()));
    };
    if let Err(error) = writeln!(out, "{HEADER}") {
        return Ok(Err(error));
    }
    let scenario = describe(&experiment.scenario);
    let consumers = scenario.consumers.iter().map(|c| format!("{},{}", quoted(&c.name), quoted(&c.node)));
    let mut lines = Lines {
        out,
        consumers: consumers.collect(),
        links: scenario.links.iter().map(|l| (l.from.clone(), l.to.clone())).collect(),
        paths: BTreeMap::new(),
        result: Ok(()),
    };
    let network = experiment.scenario.network();
    let options = RunOptions { stop: Some(stop), ..RunOptions::full() };
    ndnweir_sim::run(&network, scheme, seed, &mut lines, options).map_err(crate::experiment::Error::from)?;
    let Lines { mut out, result, .. } = lines;
    Ok(result.and_then(|()| out.flush()))
}
