//! Registers a prefix with the forwarder, and renews it when the connection is new or time is up.
//!
//! Source: NFD management protocol, "RIB management" (`rib/register`) and "Control Command" with signed Interests.
//! Commands from the forwarder's own machine go to `/localhost/nfd`, those from neighbours to `/localhop/nfd`.

use crate::mgmt::{self, CommandFormat, ControlParameters, ControlResponse, Freshness, command_name, sign_command};
use crate::object::Trust;
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::signature::Signer;
use ndnweir_wire::{DataView, InterestView, Name};
use std::time::{SystemTime, UNIX_EPOCH};

/// How long to wait for an answer; the command's lifetime.
const PATIENCE: Duration = Duration::from_millis(1000);
/// From one attempt to the next, when the last was rejected by a NACK.
const PAUSE: Duration = Duration::from_millis(250);
/// Unanswered attempts after which the caller gets an error.
const ATTEMPTS: u32 = 4;
/// How long a route lasts that ends by its time only: neighbours over datagrams do not notice the end of an
/// application.
const REGISTRATION_LIFETIME: Duration = Duration::from_millis(180_000);
/// From an answer to the next renewal: a datagram link does not notice that its forwarder began again.
const RENEWAL: Duration = Duration::from_millis(60_000);

/// Why a prefix could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    /// The forwarder rejected the command.
    #[error("the forwarder does not let this application serve {prefix}: {code} {text}")]
    Rejected {
        /// The prefix.
        prefix: Name,
        /// StatusCode of the answer.
        code: u32,
        /// StatusText of the answer.
        text: String,
    },
    /// No one answered.
    #[error("the forwarder does not answer the registration of {0}")]
    Unanswered(Name),
    /// The command was returned with a NACK: there is no management behind that route.
    #[error("the forwarder takes no registrations over this connection: it has no route for {0}")]
    NotTaken(&'static str),
}

/// The prefix is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationUpdate {
    /// For the first time on this connection.
    New,
    /// It did before.
    Renewed,
}

/// The state of one prefix.
pub struct Registration {
    prefix: Name,
    signer: Box<dyn Signer>,
    /// The verifier of answers.
    trust: Option<Trust>,
    /// Where commands go.
    top: &'static str,
    /// The outstanding command, by its name.
    pending: Option<Name>,
    due: Time,
    attempts: u32,
    /// How many of the attempts were returned.
    returned: u32,
    registered: bool,
}

impl Registration {
    /// A prefix not registered yet. `signer` signs the commands: a digest is enough for the forwarder's owner on its
    /// Unix socket. `local` says whether the forwarder treats this application as one of its own machine.
    pub fn new(prefix: Name, signer: Box<dyn Signer>, local: bool) -> Registration {
        let top = if local { mgmt::LOCALHOST } else { mgmt::LOCALHOP };
        let (pending, due) = (None, Time::ZERO);
        Registration { prefix, signer, trust: None, top, pending, due, attempts: 0, returned: 0, registered: false }
    }

    /// Accepts only answers with a signature that this verifies.
    #[must_use]
    pub fn with_trust(self, trust: Option<Trust>) -> Registration {
        Registration { trust, ..self }
    }

    /// Whether the forwarder has agreed on this connection.
    pub fn is_registered(&self) -> bool {
        self.registered
    }

    /// The connection is new: the forwarder has no state of this application.
    pub fn renew(&mut self) {
        (self.pending, self.due) = (None, Time::ZERO);
        (self.attempts, self.returned, self.registered) = (0, 0, false);
    }

    /// When [`Registration::poll_transmit`] has something to send.
    pub fn poll_timeout(&self) -> Time {
        self.due
    }

    /// The command to send now, if any; `nonce` is random.
    ///
    /// # Errors
    /// [`RegistrationError::Unanswered`] or [`RegistrationError::NotTaken`] after every few attempts without an answer;
    /// trying continues.
    pub fn poll_transmit(&mut self, now: Time, nonce: u64) -> Result<Option<Vec<u8>>, RegistrationError> {
        if now < self.due {
            return Ok(None);
        }
        if self.attempts > 0 && self.attempts.is_multiple_of(ATTEMPTS) {
            let returned = std::mem::take(&mut self.returned) == self.attempts;
            self.attempts = 0;
            self.pending = None;
            return Err(match returned {
                true => RegistrationError::NotTaken(self.top),
                false => RegistrationError::Unanswered(self.prefix.clone()),
            });
        }
        let command = self.command(nonce);
        self.pending = InterestView::decode_unchecked_digest(&command).ok().map(|view| view.name().to_owned());
        self.attempts += 1;
        self.due = now + PATIENCE;
        Ok(Some(command))
    }

    /// Takes a Data packet; none if it does not answer the outstanding command.
    pub fn handle_data(
        &mut self,
        now: Time,
        data: &DataView<'_>,
    ) -> Option<Result<RegistrationUpdate, RegistrationError>> {
        if self.trust.as_ref().is_some_and(|trust| trust.check(data).is_err()) {
            return None;
        }
        self.pending.take_if(|pending| pending.as_view() == data.name())?;
        (self.attempts, self.returned) = (0, 0);
        self.due = now + RENEWAL;
        let malformed = |_| ControlResponse::new(0, "the answer is malformed");
        let response = ControlResponse::decode(data.content()).unwrap_or_else(malformed);
        let before = std::mem::replace(&mut self.registered, response.is_ok());
        if self.registered {
            return Some(Ok(if before { RegistrationUpdate::Renewed } else { RegistrationUpdate::New }));
        }
        let (prefix, code, text) = (self.prefix.clone(), response.code, response.text);
        Some(Err(RegistrationError::Rejected { prefix, code, text }))
    }

    /// Takes a returned Interest; false if it is not the outstanding command.
    pub fn handle_nack(&mut self, now: Time, interest: &InterestView<'_>) -> bool {
        let own = self.pending.take_if(|pending| pending.as_view() == interest.name()).is_some();
        if own {
            self.due = now + PAUSE;
            self.returned += 1;
        }
        own
    }

    fn command(&self, nonce: u64) -> Vec<u8> {
        let expires =
            (self.top == mgmt::LOCALHOP).then_some(std::time::Duration::from_nanos(REGISTRATION_LIFETIME.nanos()));
        let parameters =
            ControlParameters { expiration_period: expires, ..ControlParameters::of_name(self.prefix.clone()) };
        let top: Name = self.top.parse().unwrap_or_default();
        let name = command_name(top.as_view(), "rib", "register", &parameters);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let freshness = Freshness { time, nonce: nonce.to_be_bytes() };
        let lifetime = std::time::Duration::from_nanos(PATIENCE.nanos());
        let format = CommandFormat::SignedInterest;
        // A signature over a name that is not empty always succeeds.
        sign_command(name.as_view(), format, self.signer.as_ref(), freshness, lifetime).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_wire::DataBuilder;
    use ndnweir_wire::signature::{DigestSha256, Ed25519Signer};

    /// Lets a registration send at `now`, and gives it the answer that this signs.
    fn agree(registration: &mut Registration, now: Time, signer: &dyn Signer) -> Option<RegistrationUpdate> {
        let command = registration.poll_transmit(now, now.nanos()).unwrap()?;
        let command = InterestView::decode_unchecked_digest(&command).unwrap();
        let content = ControlResponse::ok(ControlParameters::default()).encode();
        let answer = DataBuilder::new(command.name()).content(&content).sign(signer).unwrap();
        registration.handle_data(now, &DataView::decode(&answer).unwrap()).map(Result::unwrap)
    }

    #[test]
    fn a_renewed_registration_is_not_reported_as_new_but_one_made_again_is() {
        let mut registration = Registration::new("/a".parse().unwrap(), Box::new(DigestSha256), false);
        let at = |seconds: u64| Time::ZERO + Duration::from_millis(seconds * 1000);
        assert_eq!(agree(&mut registration, at(0), &DigestSha256), Some(RegistrationUpdate::New));
        assert_eq!(agree(&mut registration, at(1), &DigestSha256), None, "nothing is due");
        assert_eq!(agree(&mut registration, at(60), &DigestSha256), Some(RegistrationUpdate::Renewed));
        registration.renew();
        assert_eq!(agree(&mut registration, at(61), &DigestSha256), Some(RegistrationUpdate::New));
    }

    #[test]
    fn only_the_forwarders_key_may_agree_where_it_is_known() {
        let own = Ed25519Signer::from_seed(&[1; 32], None);
        let registration = Registration::new("/a".parse().unwrap(), Box::new(DigestSha256), true);
        let mut registration = registration.with_trust(Some(Trust::Ed25519(own.verifier())));
        assert_eq!(agree(&mut registration, Time::ZERO, &DigestSha256), None);
        assert!(!registration.is_registered());
        assert_eq!(agree(&mut registration, Time::ZERO + PATIENCE, &own), Some(RegistrationUpdate::New));
    }
}
