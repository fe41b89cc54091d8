//! Asks the forwarder to send Interests for a prefix here, and asks again when the connection is new or time is up.
//!
//! Source: NFD management protocol, "RIB management" (`rib/register`) and "Control Command" with signed Interests.

use ndnweir_core::units::{Span, Time};
use ndnweir_wire::signature::{AntiReplay, DigestSha256};
use ndnweir_wire::tlv::{self, Reader};
use ndnweir_wire::{Component, DataView, InterestBuilder, InterestView, Name};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long an answer is waited for; the command's lifetime.
const PATIENCE: Span = Span::from_millis(1000);
/// From one attempt to the next, when the last was refused by a NACK.
const PAUSE: Span = Span::from_millis(250);
/// Unanswered attempts after which the caller is told.
const ATTEMPTS: u32 = 4;
/// From an answer to the next asking: a datagram link does not notice that its forwarder began anew.
const RENEWAL: Span = Span::from_millis(60_000);

/// Why a prefix could not be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistrationError {
    /// The forwarder said no.
    #[error("the forwarder does not let this application serve {prefix}: {code} {text}")]
    Refused {
        /// The prefix.
        prefix: Name,
        /// StatusCode of the answer.
        code: u64,
        /// StatusText of the answer.
        text: String,
    },
    /// Nobody answered.
    #[error("the forwarder does not answer the registration of {0}")]
    Unanswered(Name),
}

/// The state of one prefix.
#[derive(Clone, Debug)]
pub struct Registration {
    prefix: Name,
    /// The command that is out, by its name.
    pending: Option<Name>,
    due: Time,
    attempts: u32,
    registered: bool,
}

impl Registration {
    /// A prefix not registered yet.
    pub fn new(prefix: Name) -> Registration {
        Registration { prefix, pending: None, due: Time::ZERO, attempts: 0, registered: false }
    }

    /// Whether the forwarder has agreed on this connection.
    pub fn is_registered(&self) -> bool {
        self.registered
    }

    /// The connection is new: the forwarder knows nothing of this application.
    pub fn renew(&mut self) {
        *self = Registration::new(std::mem::take(&mut self.prefix));
    }

    /// When [`Registration::poll_transmit`] has something to send.
    pub fn poll_timeout(&self) -> Time {
        self.due
    }

    /// The command to send now, if any; `nonce` is random.
    ///
    /// # Errors
    /// [`RegistrationError::Unanswered`] after every few attempts without an answer; trying goes on.
    pub fn poll_transmit(&mut self, now: Time, nonce: u64) -> Result<Option<Vec<u8>>, RegistrationError> {
        if now < self.due {
            return Ok(None);
        }
        if self.attempts > 0 && self.attempts.is_multiple_of(ATTEMPTS) {
            self.attempts = 0;
            self.pending = None;
            return Err(RegistrationError::Unanswered(self.prefix.clone()));
        }
        let command = self.command(nonce);
        self.pending = InterestView::decode_unchecked_digest(&command).ok().map(|view| view.name().to_owned());
        self.attempts += 1;
        self.due = now + PATIENCE;
        Ok(Some(command))
    }

    /// Takes a Data packet; none if it is no answer to the command that is out.
    pub fn handle_data(&mut self, now: Time, data: &DataView<'_>) -> Option<Result<(), RegistrationError>> {
        self.pending.take_if(|pending| pending.as_view() == data.name())?;
        self.attempts = 0;
        self.due = now + RENEWAL;
        self.registered = false;
        let (code, text) = read_response(data.content()).unwrap_or((0, "the answer is malformed".into()));
        if code == 200 {
            self.registered = true;
            return Some(Ok(()));
        }
        Some(Err(RegistrationError::Refused { prefix: self.prefix.clone(), code, text }))
    }

    /// Takes a returned Interest; false if it is not the command that is out.
    pub fn handle_nack(&mut self, now: Time, interest: &InterestView<'_>) -> bool {
        let own = self.pending.take_if(|pending| pending.as_view() == interest.name()).is_some();
        if own {
            self.due = now + PAUSE;
        }
        own
    }

    fn command(&self, nonce: u64) -> Vec<u8> {
        let mut parameters = Vec::new();
        self.prefix.as_view().write(&mut parameters);
        let mut wrapped = Vec::new();
        tlv::write_element(&mut wrapped, CONTROL_PARAMETERS, &parameters);
        let mut name = Name::new();
        for part in ["localhost", "nfd", "rib", "register"] {
            name.push(Component::generic(part).as_view());
        }
        name.push(Component::generic(wrapped).as_view());
        let nonce = nonce.to_be_bytes();
        let time = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let anti_replay = AntiReplay { nonce: Some(&nonce), time, seq_num: None };
        let [a, b, c, d, ..] = nonce;
        let builder = InterestBuilder::new(name.as_view())
            .must_be_fresh(true)
            .nonce([a, b, c, d])
            .lifetime(Duration::from_nanos(PATIENCE.nanos()));
        // A digest over a name that is not empty always succeeds.
        builder.sign(&DigestSha256, anti_replay).unwrap_or_default()
    }
}

const CONTROL_PARAMETERS: u32 = 104;
const CONTROL_RESPONSE: u32 = 101;
const STATUS_CODE: u32 = 102;
const STATUS_TEXT: u32 = 103;

/// StatusCode and StatusText of a ControlResponse.
fn read_response(content: &[u8]) -> Option<(u64, String)> {
    let mut inner = Reader::new(content).expect(CONTROL_RESPONSE).ok()?.nested();
    let code = inner.expect(STATUS_CODE).ok()?.nni().ok()?;
    let text = inner.expect(STATUS_TEXT).ok()?.value;
    Some((code, String::from_utf8_lossy(text).into_owned()))
}
