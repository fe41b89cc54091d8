//! The state of a run that is under way: given to a keeper from time to time, and taken up again.

use super::Engine;
use crate::network::NetworkError;
use ndnweir_core::units::Time;
use ndnweir_state::{Reader, State, Writer};
use std::sync::atomic::Ordering;

/// Keeps the state of a run.
pub trait Keeper {
    /// After how many events it is asked; the next power of two counts.
    fn asked_every(&self) -> u64 {
        1024
    }

    /// Whether it takes the state now, before the next event; `stopping` says that the run ends here, before its time.
    fn wants(&mut self, stopping: bool) -> bool;

    /// The state of a run that has come to `at`, for [`super::RunOptions::resume`].
    fn keep(&mut self, at: Time, state: Vec<u8>);
}

impl Engine<'_, '_> {
    /// Before some of the events: whether the run is to be stopped.
    #[cold]
    #[inline(never)]
    pub(super) fn pause(&mut self) -> bool {
        if self.asks_keeper() {
            // The event at hand has been counted and not handled: who resumes counts it again.
            self.process.events -= 1;
            self.keep();
            self.process.events += 1;
        }
        self.stopped
    }

    /// Looks whether the run is to be stopped, and whether its state is to be kept now.
    pub(super) fn asks_keeper(&mut self) -> bool {
        self.stopped = self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed));
        let stopped = self.stopped;
        self.keeper.as_mut().is_some_and(|keeper| keeper.wants(stopped))
    }

    /// Gives the state to the keeper. It must be between two events, with all of the network in the engine's hands.
    pub(super) fn keep(&mut self) {
        let state = self.write_state();
        if let Some(keeper) = &mut self.keeper {
            keeper.keep(self.process.now, state.into_bytes());
        }
    }

    fn write_state(&mut self) -> Writer {
        let mut to = Writer::default();
        self.save(&mut to);
        match self.process.net.sink.observer.state() {
            Some(observer) => observer.save(&mut to),
            None => to.refuse("what observes the run"),
        }
        if let Some(tap) = &mut self.process.net.sink.tap {
            match tap.state() {
                Some(tap) => tap.save(&mut to),
                None => to.refuse("what records every packet"),
            }
        }
        to
    }

    /// Whether all that the run consists of can be kept, if there is a keeper.
    pub(super) fn check_keeping(&mut self) -> Result<(), NetworkError> {
        if self.keeper.is_none() {
            return Ok(());
        }
        match self.write_state().refused() {
            Some(what) => Err(NetworkError(format!("the state of a run cannot be kept: nobody knows that of {what}"))),
            None => Ok(()),
        }
    }

    /// Takes up the state of a run.
    pub(super) fn resume(&mut self, state: &[u8]) -> Result<(), NetworkError> {
        let mut from = Reader::new(state);
        let mut take = || {
            self.load(&mut from)?;
            let mut nodes = self.process.places.iter_mut().filter_map(|place| place.node.as_mut());
            if !nodes.all(|node| node.is_sound()) {
                return Err(from.damaged());
            }
            self.share_flows();
            self.process.net.sink.observer.state().map_or(Ok(()), |observer| observer.load(&mut from))?;
            self.process.net.sink.tap.as_mut().and_then(|tap| tap.state()).map_or(Ok(()), |tap| tap.load(&mut from))?;
            from.end()
        };
        take().map_err(|damaged| NetworkError(format!("the run cannot be resumed: {damaged}")))
    }
}
