//! What else sees a run while it is simulated.

use crate::metrics::Collector;
use crate::results::Series;
use ndnweir_core::units::Time;
use ndnweir_sim::observer::{ConsumerId, Delivery, DirectedLinkId, FlowEvent, NodeId, Observer, PathId, Snapshot};
use ndnweir_sim::{Keeper, PacketTap, TakeWindow};
use ndnweir_state::State;

/// Takes the values of bins that are complete: the number of the first of them, and what is known of them
/// (`SeriesKind::{Network, Consumers, Links, Packets}`). Every bin comes once, in order; they are those that the run's
/// series have at its end.
pub type TakeBins<'a> = dyn FnMut(usize, &Series) + 'a;

/// What else sees a run while it is simulated; by default nothing.
#[derive(Default)]
pub struct Watching<'a> {
    /// Called with the fraction of simulated time that has passed.
    pub progress: Option<&'a mut dyn FnMut(f64)>,
    /// Takes values over time as they become known.
    pub bins: Option<&'a mut TakeBins<'a>>,
    /// Sees every packet.
    pub tap: Option<&'a mut dyn PacketTap>,
    /// Keeps the state of the run; there can be no tap then.
    pub keeper: Option<&'a mut dyn Keeper>,
    /// What a keeper was given: the run goes on from there.
    pub resume: Option<&'a [u8]>,
    /// How many threads may work on the run; none is one.
    pub threads: usize,
    /// They do, however little there is to do.
    pub force_threads: bool,
    /// Told when they begin and end a window (see [`ndnweir_sim::RunOptions::windows`]).
    pub windows: Option<&'a mut TakeWindow<'a>>,
}

/// The collector of a run, whose bins are given on as soon as they are complete.
pub(super) struct Watched<'a> {
    pub(super) collector: Collector,
    bins: Option<&'a mut TakeBins<'a>>,
    /// Bins that were given on.
    given: usize,
}

impl<'a> Watched<'a> {
    pub(super) fn new(collector: Collector, bins: Option<&'a mut TakeBins<'a>>) -> Watched<'a> {
        Watched { collector, bins, given: 0 }
    }
}

impl Observer for Watched<'_> {
    fn delivered(&mut self, delivery: &Delivery) {
        self.collector.delivered(delivery);
    }

    fn watches_requests(&self) -> bool {
        self.collector.watches_requests()
    }

    fn completed(&mut self, at: Time, consumer: ConsumerId) {
        self.collector.completed(at, consumer);
    }

    fn flow(&mut self, at: Time, consumer: ConsumerId, event: FlowEvent) {
        self.collector.flow(at, consumer, event);
    }

    fn path(&mut self, path: PathId, links: &[DirectedLinkId]) {
        self.collector.path(path, links);
    }

    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        self.collector.sample(snapshot);
        let complete = self.collector.complete();
        if let Some(bins) = &mut self.bins
            && complete > self.given
        {
            bins(self.given, &self.collector.part(&(self.given..complete)));
            self.given = complete;
        }
    }

    fn scheme_event(&mut self, at: Time, node: NodeId, key: &'static str, id: u64, value: f64) {
        self.collector.scheme_event(at, node, key, id, value);
    }

    /// Who watches a run that is resumed is given all of its bins again.
    fn state(&mut self) -> Option<&mut dyn State> {
        Some(&mut self.collector)
    }
}
