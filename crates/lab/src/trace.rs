//! Packets of a run as a pcapng file.

use crate::experiment::{self, Experiment, Inputs, Watching};
use crate::results::{LinkInfo, ScenarioInfo};
use ndnweir_core::units::Rate;
use ndnweir_sim::observer::NodeId;
use ndnweir_sim::pcap::{Encoder, NameTable, PcapWriter};
use ndnweir_sim::pcapng::{Capture, Interface};
use ndnweir_wire::Name;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Why there is no packet trace.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file could not be written.
    #[error("{}: {source}; check that the folder exists and the disk has room", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The run failed.
    #[error(transparent)]
    Run(#[from] experiment::Error),
}

/// Runs the experiment's first scheme with its first seed again and writes every packet put on a link to `path`.
///
/// # Errors
/// See [`Error`].
pub fn write(experiment: &Experiment, path: &Path, stop: &AtomicBool) -> Result<(), Error> {
    let (Some(scheme), Some(&seed)) = (experiment.schemes.first(), experiment.seeds.first()) else {
        return Ok(());
    };
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let inputs = Inputs::new(&experiment.scenario);
    let encoder = Encoder::new(names(experiment, &inputs.network), &scheme.layout());
    let file = File::create(path).map_err(failed)?;
    let mut writer = PcapWriter::new(BufWriter::new(file), encoder, &capture(&inputs.info)).map_err(failed)?;
    experiment.run_one(&inputs, scheme, seed, stop, Watching { tap: Some(&mut writer), ..Watching::default() })?;
    writer.finish().map_err(failed)?;
    Ok(())
}

/// Whether a file that begins so is one that [`write`] wrote.
pub fn is_own(head: &[u8]) -> bool {
    // Kind and length of the section's head, byte order, version, the section's length and the head of the option with
    // the writer's name come first.
    head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) && head.get(28..).is_some_and(|writer| writer.starts_with(b"ndnweir "))
}

/// Nodes and link directions under the names that they have in results.
fn capture(scenario: &ScenarioInfo) -> Capture {
    let node = |name: &str| NodeId(scenario.nodes.iter().position(|n| n.name == name).unwrap_or_default() as u32);
    let interface = |link: &LinkInfo| Interface {
        name: link.name.clone(),
        description: format!("from {} to {}, {} ms, queue of {}", link.from, link.to, link.delay_ms, link.queue),
        from: node(&link.from),
        rate: Some(Rate::from_mbps(link.rate_mbps)),
    };
    Capture {
        nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(),
        interfaces: scenario.links.iter().map(interface).collect(),
    }
}

/// The names behind the run's flows: each consumer's prefix, or its catalogue's.
pub(crate) fn names(experiment: &Experiment, network: &ndnweir_sim::Network) -> NameTable {
    let prefixes = experiment.scenario.prefixes();
    let objects = experiment.scenario.objects();
    let name = |flow: &ndnweir_sim::network::NameGroup| {
        let text = match flow.catalogue {
            true => prefixes.get(flow.prefix as usize),
            false => objects.get(flow.object as usize),
        };
        text.and_then(|text| text.parse::<Name>().ok()).unwrap_or_default()
    };
    NameTable::new(network.flows().iter().map(name).collect())
}
