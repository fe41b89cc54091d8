//! Many downloads at once, each over a connection of its own, in one thread.

use super::download::{Download, DownloadError, DownloadObserver, FinishedDownload};
use crate::client::Waiter;
use crate::clock::Clock;
use ndnweir_core::units::{Duration, Time};

/// How a download ended.
#[derive(Debug)]
pub struct FinishedFetch {
    /// Its number, from 0 in the order of their beginnings.
    pub number: u32,
    /// Totals and times, as far as it got.
    pub finished: FinishedDownload,
    /// Why it failed, if it did.
    pub error: Option<DownloadError>,
}

/// How often to check whether the user wants to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Runs `total` downloads, `at_once` of them at a time; `begin` makes the one with a number, whose connection has the
/// given key in the waiter. Stops early when the waiter is stopped.
///
/// # Errors
/// If one cannot begin, or waiting fails; downloads that fail later are passed to `ended`.
pub fn load<E: From<std::io::Error>>(
    (total, at_once): (u32, usize),
    clock: &Clock,
    waiter: &mut Waiter,
    begin: &mut dyn FnMut(u32, usize, &Waiter) -> Result<Download, E>,
    watch: &mut dyn DownloadObserver,
    ended: &mut dyn FnMut(FinishedFetch),
) -> Result<(), E> {
    let mut places: Vec<Option<(u32, Download)>> = Vec::new();
    places.resize_with(at_once.clamp(1, total.max(1) as usize), || None);
    let mut next = 0;
    let mut ready = vec![true; places.len()];
    while !waiter.stopped() {
        let now = clock.now();
        let mut due = Time::NEVER;
        for (key, place) in places.iter_mut().enumerate() {
            if place.is_none() && next < total {
                *place = Some((next, begin(next, key, waiter)?));
                next += 1;
                ready[key] = true;
            }
            let Some((number, download)) = place else { continue };
            if ready[key] || download.poll_timeout() <= now {
                let turn = download.step(clock, waiter, watch);
                if !matches!(turn, Ok(false)) {
                    ended(FinishedFetch { number: *number, finished: *download.finished(), error: turn.err() });
                    *place = None;
                    due = now;
                    continue;
                }
            }
            due = due.min(download.poll_timeout());
        }
        if next == total && places.iter().all(Option::is_none) {
            return Ok(());
        }
        waiter.wait(clock.until(due.min(now + POLL_INTERVAL)))?;
        ready.fill(false);
        for key in waiter.ready() {
            if let Some(ready) = ready.get_mut(key) {
                *ready = true;
            }
        }
    }
    Ok(())
}
