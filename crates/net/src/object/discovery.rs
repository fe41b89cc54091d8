//! Finds the newest version of an object.
//!
//! First by RDR metadata. If that stays unanswered, also by an Interest for any fresh Data under the name, for
//! producers that publish no metadata; ours is that both are sent from the third attempt on, and that from the fourth
//! on every second attempt accepts Data that are not fresh, too: some producers give none of their Data a freshness
//! period.

use super::fetch::{MAX_REJECTED, Untrusted};
use super::naming::{self, MetadataError};
use super::trust::Trust;
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::data::content_type;
use ndnweir_wire::{DataView, InterestBuilder, InterestView, LpHeader, NackReason, Name, NameView};

/// From the first Interest to the second; it doubles, up to the longest.
const FIRST_WAIT: Duration = Duration::from_millis(500);
const LONGEST_WAIT: Duration = Duration::from_millis(2000);
/// InterestLifetime.
const LIFETIME: std::time::Duration = std::time::Duration::from_secs(4);
/// Attempts that request metadata only.
const METADATA_ONLY: u32 = 2;
/// Attempts that request fresh Data only.
const FRESH_ONLY: u32 = 3;
/// After this many rounds in which every Interest was returned with NoRoute, no more are sent. A producer that is about
/// to register gets more than a second.
const MAX_REJECTED_ROUNDS: u32 = 3;

/// Why the version is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// No one answered.
    #[error("nothing answers to {name} within {waited}")]
    Unanswered {
        /// The object.
        name: Name,
        /// How long was waited.
        waited: Duration,
    },
    /// The answers are not signed as demanded, in all attempts.
    #[error("{0}")]
    Untrusted(Box<Untrusted>),
    /// Every Interest is returned with NoRoute.
    #[error("there is no route to {0}: every Interest for it was sent back")]
    NoRoute(Name),
    /// The metadata makes no sense.
    #[error("{0}")]
    Metadata(#[from] MetadataError),
    /// What is published under the name is not a segmented object.
    #[error("{0} is not a segment of an object")]
    NotAnObject(Name),
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Discovered {
    /// The name that the segments' numbers are appended to.
    Object(Name),
    /// The object is one packet of just this name; its content.
    Whole(Vec<u8>),
}

/// The search for one object.
#[derive(Clone, Debug)]
pub struct Discovery {
    name: Name,
    metadata: Name,
    hint: Vec<Name>,
    trust: Trust,
    patience: Duration,
    started: Option<Time>,
    due: Time,
    wait: Duration,
    attempts: u32,
    queued: Vec<Name>,
    /// Attempts in a row of which every Interest was returned.
    nacked_rounds: u32,
    /// Nonces of this round's Interests that are outstanding.
    open: Vec<u32>,
    rejected: Option<Box<Untrusted>>,
}

impl Discovery {
    /// A search for `name` that is given up after `patience`.
    pub fn new(name: Name, trust: Trust, patience: Duration) -> Discovery {
        Discovery {
            metadata: naming::discovery_name(name.as_view()),
            name,
            hint: Vec::new(),
            trust,
            patience,
            started: None,
            due: Time::ZERO,
            wait: FIRST_WAIT,
            attempts: 0,
            queued: Vec::new(),
            nacked_rounds: 0,
            open: Vec::new(),
            rejected: None,
        }
    }

    /// Sets the ForwardingHint of Interests.
    #[must_use]
    pub fn with_hint(self, hint: Vec<Name>) -> Discovery {
        Discovery { hint, ..self }
    }

    /// Without a search: a name that ends in a version is an object's.
    pub fn from_versioned_name(name: NameView<'_>) -> Option<Discovered> {
        naming::version_of(name).map(|_| Discovered::Object(name.to_owned()))
    }

    /// When [`Discovery::poll_transmit`] must be called.
    pub fn poll_timeout(&self) -> Time {
        let end = self.started.map_or(Time::NEVER, |started| started + self.patience);
        if self.queued.is_empty() && self.nacked_rounds < MAX_REJECTED_ROUNDS { self.due.min(end) } else { Time::ZERO }
    }

    /// The next Interest to send now, if any; `nonce` is random.
    ///
    /// # Errors
    /// [`DiscoveryError`] when the time is over, or there is no route.
    pub fn poll_transmit(&mut self, now: Time, nonce: u32) -> Result<Option<Vec<u8>>, DiscoveryError> {
        let started = *self.started.get_or_insert(now);
        if now >= started + self.patience {
            return Err(match self.rejected.take() {
                Some(rejected) => DiscoveryError::Untrusted(rejected),
                None if self.nacked_rounds > 0 => DiscoveryError::NoRoute(self.name.clone()),
                None => DiscoveryError::Unanswered { name: self.name.clone(), waited: self.patience },
            });
        }
        if self.nacked_rounds >= MAX_REJECTED_ROUNDS {
            return Err(DiscoveryError::NoRoute(self.name.clone()));
        }
        if now >= self.due {
            if !self.open.is_empty() {
                self.nacked_rounds = 0;
            }
            self.due = now + self.wait;
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
            self.attempts += 1;
            self.queued = vec![self.metadata.clone()];
            if self.attempts > METADATA_ONLY {
                self.queued.push(self.name.clone());
            }
            self.open.clear();
        }
        let Some(name) = self.queued.pop() else { return Ok(None) };
        self.open.push(nonce);
        let interest = InterestBuilder::new(name.as_view())
            .can_be_prefix(true)
            .must_be_fresh(self.attempts <= FRESH_ONLY || self.attempts % 2 == 1)
            .forwarding_hint(self.hint.iter().map(Name::as_view))
            .nonce(nonce.to_be_bytes())
            .lifetime(LIFETIME);
        // A name without parameters that is not empty always encodes.
        Ok(interest.encode().ok())
    }

    /// Takes a Data packet; none if it answers no Interest that was sent.
    ///
    /// # Errors
    /// [`DiscoveryError`] if the answer is no good.
    pub fn handle_data(&mut self, now: Time, data: &DataView<'_>) -> Result<Option<Discovered>, DiscoveryError> {
        if !self.name.as_view().is_prefix_of(data.name()) {
            return Ok(None);
        }
        if data.content_type() == content_type::NACK {
            // The producer answers, but has no metadata: continue with the name alone.
            self.attempts = self.attempts.max(METADATA_ONLY);
            return Ok(None);
        }
        if let Err(problem) = self.trust.check(data) {
            let count = 1 + self.rejected.as_ref().map_or(0, |rejected| rejected.count);
            let rejected = Box::new(Untrusted::new(data, problem, count));
            if count >= MAX_REJECTED {
                return Err(DiscoveryError::Untrusted(rejected));
            }
            self.due = self.due.min(now + rejected.pause());
            self.rejected = Some(rejected);
            return Ok(None);
        }
        if self.metadata.as_view().is_prefix_of(data.name()) {
            return Ok(Some(Discovered::Object(naming::read_metadata(self.name.as_view(), data)?)));
        }
        if data.name() == self.name.as_view() {
            return Ok(Some(Discovered::Whole(data.content().to_vec())));
        }
        let prefix = data.name().parent().filter(|_| data.name().last().is_some_and(|c| c.as_segment().is_some()));
        let below = prefix.map(|prefix| prefix.len() - self.name.len());
        match prefix {
            Some(prefix) if below == Some(0) || (below == Some(1) && naming::version_of(prefix).is_some()) => {
                Ok(Some(Discovered::Object(prefix.to_owned())))
            }
            _ => Err(DiscoveryError::NotAnObject(data.name().to_owned())),
        }
    }

    /// Takes a returned Interest; the next attempt follows when it is due. One with a nonce that was not sent is
    /// ignored.
    pub fn handle_nack(&mut self, header: &LpHeader, interest: &InterestView<'_>) {
        let own = interest.name() == self.metadata.as_view() || interest.name() == self.name.as_view();
        let nonce = interest.nonce().map(u32::from_be_bytes);
        let sent = self.open.iter().position(|open| Some(*open) == nonce);
        let (Some(at), true, Some(NackReason::NoRoute)) = (sent, own, header.nack) else { return };
        self.open.remove(at);
        if self.open.is_empty() && self.queued.is_empty() {
            self.nacked_rounds += 1;
        }
    }

    /// The connection is new: Interests sent on the old one are lost.
    pub fn restart(&mut self) {
        (self.due, self.wait, self.nacked_rounds) = (Time::ZERO, FIRST_WAIT, 0);
    }
}
