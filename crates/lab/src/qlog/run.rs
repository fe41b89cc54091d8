//! A simulated run as qlog.

use super::QlogWriter;
use crate::experiment::Experiment;
use crate::trace::Error;
use ndnweir_core::packet::Packet;
use ndnweir_core::units::Time;
use ndnweir_scenario::Traffic;
use ndnweir_sim::RunOptions;
use ndnweir_sim::observer::{ConsumerId, Delivery, Observer, Snapshot};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Runs the experiment's first scheme with its first seed again and writes what its consumers see to `path`. Those whose
/// flows come and go are left out: qlog has no place for many connections of one.
///
/// # Errors
/// See [`Error`].
pub fn write(experiment: &Experiment, path: &Path, stop: &AtomicBool) -> Result<(), Error> {
    let (Some(scheme), Some(&seed)) = (experiment.schemes.first(), experiment.seeds.first()) else {
        return Ok(());
    };
    let failed = |source| Error::Write { path: path.to_owned(), source };
    let scenario = &experiment.scenario;
    let mut shown = Vec::new();
    let mut numbers = Vec::new();
    for consumer in &scenario.consumers {
        let one = !matches!(consumer.traffic, Traffic::Flows(_));
        numbers.push(one.then_some(shown.len()));
        let producer = consumer.producers.first().and_then(|at| scenario.producers.get(*at));
        if let (true, Some(producer)) = (one, producer) {
            shown.push((consumer.name.clone(), producer.payload));
        }
    }
    let file = BufWriter::new(File::create(path).map_err(failed)?);
    let title = format!("{}, {}, seed {seed}", scenario.name, scheme.name);
    let mut consumers = Consumers { writer: QlogWriter::new(file, &title, shown), numbers };
    let options = RunOptions { stop: Some(stop), ..RunOptions::full() };
    ndnweir_sim::run(&scenario.network(), scheme, seed, &mut consumers, options)
        .map_err(crate::experiment::Error::from)?;
    consumers.writer.finish().map_err(failed)?;
    Ok(())
}

struct Consumers<W: Write> {
    writer: QlogWriter<W>,
    /// By consumer of the scenario: its number in the file.
    numbers: Vec<Option<usize>>,
}

impl<W: Write> Consumers<W> {
    fn number(&self, consumer: ConsumerId) -> Option<usize> {
        self.numbers.get(consumer.0 as usize).copied().flatten()
    }
}

impl<W: Write> Observer for Consumers<W> {
    fn requested(&mut self, at: Time, consumer: ConsumerId, interest: &Packet) {
        if let Some(number) = self.number(consumer) {
            self.writer.requested(at, number, interest.name.segment.into(), interest.size.into());
        }
    }

    fn delivered(&mut self, delivery: &Delivery) {
        if let Some(number) = self.number(delivery.consumer) {
            self.writer.arrived(delivery.at, number, &delivery.arrival);
        }
    }

    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        for (consumer, counters) in snapshot.consumers.iter().enumerate() {
            if let Some(number) = self.number(ConsumerId(consumer as u32)) {
                self.writer.state(snapshot.at, number, counters);
            }
        }
    }
}
