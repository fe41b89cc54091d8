//! A forwarder managed from outside: commands and datasets over a connection, one request after the other.
//!
//! For tools, which wait for each answer. Applications that fetch and serve objects have their own event loop.

use crate::address;
use crate::client::{ConnectError, Connection, Waiter};
use crate::clock::Clock;
use crate::face_uri::FaceUri;
use crate::mgmt::dataset::{ForwarderStatus, Item, decode_all};
use crate::mgmt::fetch::{DatasetError, DatasetFetch};
use crate::mgmt::{
    CodecError, CommandFormat, ControlParameters, ControlResponse, Freshness, LOCALHOST, command_name, sign_command,
};
use crate::object::Trust;
use ndnweir_core::units::{Duration, Time};
use ndnweir_wire::signature::{Signer, sha256};
use ndnweir_wire::{Component, DataView, InterestView, LpHeader, Name, PacketView};
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// Why a request to a forwarder failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The connection could not be made.
    #[error("{0}")]
    Connect(#[from] ConnectError),
    /// The system has no room for one more poll.
    #[error("cannot wait for packets: {0}")]
    Wait(io::Error),
    /// The connection ended.
    #[error("the connection to the forwarder was lost: {0}")]
    Lost(#[from] io::Error),
    /// Nothing came in time.
    #[error("the forwarder did not answer {what} within {} s; it may not know the request", .patience.as_secs_f64())]
    NoAnswer {
        /// Module and verb.
        what: String,
        /// How long it was waited for.
        patience: std::time::Duration,
    },
    /// Only answers came that the forwarder's key did not sign.
    #[error(
        "no answer to {0} was signed with the forwarder's key: either another process answered, or --forwarder-key \
         (NDNWEIR_FORWARDER_KEY) names another forwarder's key"
    )]
    Unverified(String),
    /// A Nack came.
    #[error("no management answers at the other end: the forwarder has no route for {0}")]
    Nack(String),
    /// The forwarder rejected the command.
    #[error("{} ({})", .0.text, .0.code)]
    Rejected(ControlResponse),
    /// A dataset that could not be fetched.
    #[error("{0}")]
    Fetch(#[from] DatasetError),
    /// An answer that is none.
    #[error("the forwarder's answer cannot be read: {0}")]
    Malformed(#[from] CodecError),
    /// The command could not be signed.
    #[error("{0}")]
    Encode(#[from] ndnweir_wire::EncodeError),
}

/// A connection to a forwarder.
pub struct Remote {
    link: Connection,
    waiter: Waiter,
    clock: Clock,
    signer: Box<dyn Signer + Send>,
    trust: Option<Trust>,
    patience: std::time::Duration,
    random: RandomState,
    requests: u64,
}

impl Remote {
    /// Connects to a forwarder; `signer` signs the commands, `patience` is how long each answer is waited for.
    ///
    /// # Errors
    /// [`RemoteError::Connect`] and [`RemoteError::Wait`].
    pub fn connect(
        uri: &FaceUri,
        signer: Box<dyn Signer + Send>,
        patience: std::time::Duration,
    ) -> Result<Remote, RemoteError> {
        let (waiter, random) = (Waiter::new().map_err(RemoteError::Wait)?, RandomState::new());
        let link = Connection::connect(uri, &waiter, 0, random.hash_one(0))?;
        Ok(Remote { link, waiter, clock: Clock::new(), signer, trust: None, patience, random, requests: 0 })
    }

    /// Accepts only answers with a signature that this verifies.
    #[must_use]
    pub fn with_trust(self, trust: Option<Trust>) -> Remote {
        Remote { trust, ..self }
    }

    /// Sends a command and waits for its answer.
    ///
    /// # Errors
    /// [`RemoteError::Rejected`] when the forwarder did not do it; the others when there was no valid answer.
    pub fn command(
        &mut self,
        module: &str,
        verb: &str,
        parameters: &ControlParameters,
    ) -> Result<ControlParameters, RemoteError> {
        let name = command_name(nfd().as_view(), module, verb, parameters);
        let freshness = Freshness { time: unix_time(), nonce: self.nonce() };
        let format = CommandFormat::SignedInterest;
        let interest = sign_command(name.as_view(), format, self.signer.as_ref(), freshness, self.patience)?;
        let data = self.exchange(&interest, &format!("{module}/{verb}"))?;
        let response = DataView::decode(&data).map_err(CodecError::from)?;
        let response = ControlResponse::decode(response.content())?;
        if !response.is_ok() {
            return Err(RemoteError::Rejected(response));
        }
        Ok(response.body.map(|body| *body).unwrap_or_default())
    }

    /// The bytes of a dataset, and the name of their version.
    fn dataset(&mut self, module: &str, verb: &str) -> Result<(Option<Name>, Vec<u8>), RemoteError> {
        let name = nfd().with(Component::generic(module)).with(Component::generic(verb));
        let mut fetch = DatasetFetch::new(name.as_view());
        loop {
            let [a, b, c, d, ..] = self.nonce();
            let interest = fetch.interest([a, b, c, d], self.patience)?;
            let data = self.exchange(&interest, &format!("{module}/{verb}"))?;
            let data = DataView::decode(&data).map_err(CodecError::from)?;
            if let Some(content) = fetch.take(&data)? {
                return Ok((fetch.version().cloned(), content));
            }
        }
    }

    /// The items of a dataset.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn list<T: Item>(&mut self, module: &str, verb: &str) -> Result<Vec<T>, RemoteError> {
        Ok(self.versioned_list(module, verb)?.1)
    }

    /// The items of a dataset, and the name of its version: the same name is the same list, repeated by a cache.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn versioned_list<T: Item>(&mut self, module: &str, verb: &str) -> Result<(Option<Name>, Vec<T>), RemoteError> {
        let (version, content) = self.dataset(module, verb)?;
        Ok((version, decode_all(&content)?))
    }

    /// The dataset `status/general`.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn status(&mut self) -> Result<ForwarderStatus, RemoteError> {
        Ok(ForwarderStatus::decode(&self.dataset("status", "general")?.1)?)
    }

    /// Sends an Interest and waits for the Data that answers it. Other packets are ignored.
    fn exchange(&mut self, interest: &[u8], what: &str) -> Result<Vec<u8>, RemoteError> {
        let view = InterestView::decode_unchecked_digest(interest).map_err(CodecError::from)?;
        self.link.send(&LpHeader::default(), interest);
        let end = self.clock.now() + Duration::from_nanos(u64::try_from(self.patience.as_nanos()).unwrap_or(u64::MAX));
        let mut forged = false;
        loop {
            self.link.flush()?;
            let now = self.clock.now();
            if now >= end && forged {
                return Err(RemoteError::Unverified(what.to_owned()));
            }
            if now >= end || self.waiter.stopped() {
                return Err(RemoteError::NoAnswer { what: what.to_owned(), patience: self.patience });
            }
            self.waiter.wait(self.clock.until(end)).map_err(RemoteError::Wait)?;
            let trust = self.trust.as_ref();
            let (answer, wrong) = receive(&mut self.link, now, &view, trust)?;
            // The right answer may come after a forged one.
            forged |= wrong;
            if let Some(answer) = answer {
                return answer.ok_or_else(|| RemoteError::Nack(what.to_owned()));
            }
        }
    }

    fn nonce(&mut self) -> [u8; 8] {
        self.requests += 1;
        let random = self.random.hash_one((self.requests, unix_time().as_nanos()));
        let [a, b, c, d, e, f, g, h, ..] = sha256(&[&random.to_be_bytes()]);
        [a, b, c, d, e, f, g, h]
    }
}

/// The same place with an address for its host, as forwarders require it for a new face.
///
/// # Errors
/// When the host is unknown, or has no address of the family requested.
pub fn canonical(uri: &FaceUri) -> io::Result<FaceUri> {
    let (family, host, port) = match uri {
        FaceUri::Unix(_) => return Ok(uri.clone()),
        FaceUri::Udp(family, host, port) | FaceUri::Tcp(family, host, port) => (*family, host.as_str(), *port),
    };
    let address = address::first(family, host, port)?;
    Ok(match uri {
        FaceUri::Udp(..) => FaceUri::udp(address),
        _ => FaceUri::tcp(address),
    })
}

/// The answer to an Interest among what has arrived, if it has (the Data, or none for a Nack), and whether there was
/// one that is not to be trusted.
fn receive(
    link: &mut Connection,
    now: Time,
    asked: &InterestView<'_>,
    trust: Option<&Trust>,
) -> io::Result<(Option<Option<Vec<u8>>>, bool)> {
    let (mut answer, mut forged) = (None, false);
    link.receive(now, |header, packet| match PacketView::decode(packet) {
        Ok(PacketView::Data(data)) if asked.matches(&data) => match trust.is_none_or(|t| t.check(&data).is_ok()) {
            true => answer = Some(Some(packet.to_vec())),
            false => forged = true,
        },
        Ok(PacketView::Interest(own)) if header.nack.is_some() && own.name() == asked.name() => {
            answer.get_or_insert(None);
        }
        _ => {}
    })?;
    Ok((answer, forged))
}

fn nfd() -> Name {
    LOCALHOST.split('/').filter(|part| !part.is_empty()).map(Component::generic).fold(Name::new(), Name::with)
}

fn unix_time() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
