//! Finds the newest version of an object.
//!
//! First by RDR metadata. If that stays unanswered, also by an Interest for any fresh Data under the name, for producers
//! that publish no metadata; ours is that both are asked from the third attempt on.

use super::naming::{self, MetadataError};
use super::trust::Trust;
use ndnweir_core::units::{Span, Time};
use ndnweir_wire::data::content_type;
use ndnweir_wire::signature::VerifyError;
use ndnweir_wire::{DataView, InterestBuilder, InterestView, LpHeader, NackReason, Name, NameView};
use std::time::Duration;

/// From the first Interest to the second; it doubles, up to the longest.
const FIRST_WAIT: Span = Span::from_millis(500);
const LONGEST_WAIT: Span = Span::from_millis(2000);
/// InterestLifetime.
const LIFETIME: Duration = Duration::from_secs(4);
/// Attempts that ask for metadata only.
const METADATA_ONLY: u32 = 2;

/// Why the version is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// Nobody answered.
    #[error("nothing answers to {name} within {waited}{}", if *.refused { ": there is no route to it" } else { "" })]
    Unanswered {
        /// The object.
        name: Name,
        /// How long was waited.
        waited: Span,
        /// Whether the network said that it knows no route.
        refused: bool,
    },
    /// The answer is not signed as demanded.
    #[error("{name} is not signed as demanded: {problem}")]
    Untrusted {
        /// The packet.
        name: Name,
        /// What is wrong.
        problem: VerifyError,
    },
    /// The metadata makes no sense.
    #[error("{0}")]
    Metadata(#[from] MetadataError),
    /// What is published under the name is no segmented object.
    #[error("{0} is no segment of an object")]
    NotAnObject(Name),
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
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
    patience: Span,
    started: Option<Time>,
    due: Time,
    wait: Span,
    attempts: u32,
    queued: Vec<Name>,
    refused: bool,
}

impl Discovery {
    /// A search for `name` that is given up after `patience`.
    pub fn new(name: Name, trust: Trust, patience: Span) -> Discovery {
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
            refused: false,
        }
    }

    /// Sends Interests towards these places: their ForwardingHint.
    #[must_use]
    pub fn towards(self, hint: Vec<Name>) -> Discovery {
        Discovery { hint, ..self }
    }

    /// What needs no search: a name that ends in a version is an object's.
    pub fn already_found(name: NameView<'_>) -> Option<Found> {
        naming::version_of(name).map(|_| Found::Object(name.to_owned()))
    }

    /// When [`Discovery::poll_transmit`] wants to be called.
    pub fn poll_timeout(&self) -> Time {
        let end = self.started.map_or(Time::NEVER, |started| started + self.patience);
        if self.queued.is_empty() { self.due.min(end) } else { Time::ZERO }
    }

    /// The next Interest to send now, if any; `nonce` is random.
    ///
    /// # Errors
    /// [`DiscoveryError::Unanswered`] when patience has come to its end.
    pub fn poll_transmit(&mut self, now: Time, nonce: u32) -> Result<Option<Vec<u8>>, DiscoveryError> {
        let started = *self.started.get_or_insert(now);
        if now >= started + self.patience {
            let (name, refused) = (self.name.clone(), self.refused);
            return Err(DiscoveryError::Unanswered { name, waited: self.patience, refused });
        }
        if now >= self.due {
            self.due = now + self.wait;
            self.wait = (self.wait * 2).min(LONGEST_WAIT);
            self.attempts += 1;
            self.queued = vec![self.metadata.clone()];
            if self.attempts > METADATA_ONLY {
                self.queued.push(self.name.clone());
            }
        }
        let Some(name) = self.queued.pop() else { return Ok(None) };
        let interest = InterestBuilder::new(name.as_view())
            .can_be_prefix(true)
            .must_be_fresh(true)
            .forwarding_hint(self.hint.iter().map(Name::as_view))
            .nonce(nonce.to_be_bytes())
            .lifetime(LIFETIME);
        // A name without parameters that is not empty always encodes.
        Ok(interest.encode().ok())
    }

    /// Takes a Data packet; none if it answers nothing that was asked.
    ///
    /// # Errors
    /// [`DiscoveryError`] if the answer is no good.
    pub fn handle_data(&mut self, data: &DataView<'_>) -> Result<Option<Found>, DiscoveryError> {
        if !self.name.as_view().is_prefix_of(data.name()) {
            return Ok(None);
        }
        if data.content_type() == content_type::NACK {
            // The producer answers, but has no metadata: go on by the name alone.
            self.attempts = self.attempts.max(METADATA_ONLY);
            return Ok(None);
        }
        let untrusted = |problem| DiscoveryError::Untrusted { name: data.name().to_owned(), problem };
        self.trust.check(data).map_err(untrusted)?;
        if self.metadata.as_view().is_prefix_of(data.name()) {
            return Ok(Some(Found::Object(naming::read_metadata(self.name.as_view(), data)?)));
        }
        if data.name() == self.name.as_view() {
            return Ok(Some(Found::Whole(data.content().to_vec())));
        }
        let prefix = data.name().parent().filter(|_| data.name().last().is_some_and(|c| c.as_segment().is_some()));
        let below = prefix.map(|prefix| prefix.len() - self.name.len());
        match prefix {
            Some(prefix) if below == Some(0) || (below == Some(1) && naming::version_of(prefix).is_some()) => {
                Ok(Some(Found::Object(prefix.to_owned())))
            }
            _ => Err(DiscoveryError::NotAnObject(data.name().to_owned())),
        }
    }

    /// Takes a returned Interest; the next attempt follows when it is due.
    pub fn handle_nack(&mut self, header: &LpHeader, interest: &InterestView<'_>) {
        let no_route = header.nack == Some(NackReason::NoRoute);
        self.refused |= no_route && interest.name() == self.metadata.as_view();
    }

    /// The connection is new: what was asked is forgotten there.
    pub fn restart(&mut self) {
        (self.due, self.wait) = (Time::ZERO, FIRST_WAIT);
    }
}
