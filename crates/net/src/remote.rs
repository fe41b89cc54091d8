//! A forwarder managed from outside: commands and datasets over a connection, one request after the other.
//!
//! For tools, which wait for each answer. Applications that fetch and serve objects have their own event loop.

use crate::face_uri::{FaceUri, IpFamily};
use crate::framing::{Deframer, FramingError};
use crate::mgmt::dataset::{ForwarderStatus, Item, decode_all};
use crate::mgmt::fetch::{DatasetFetch, FetchError};
use crate::mgmt::{
    CommandFormat, ControlParameters, ControlResponse, Freshness, LOCALHOST, command_name, sign_command,
};
use ndnweir_wire::signature::{Signer, sha256};
use ndnweir_wire::{Component, DataView, InterestView, LpPacketView, Name, PacketView};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Why a forwarder could not be asked, or did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// There is no connection to be had.
    #[error("no forwarder can be reached at {uri}: {source}")]
    Connect {
        /// Where.
        uri: String,
        /// Why.
        source: io::Error,
    },
    /// Not a kind of connection for management.
    #[error("{0} cannot be used to manage a forwarder; use unix:///PATH or tcp4://ADDRESS:PORT")]
    Unsupported(String),
    /// The connection ended.
    #[error("the connection to the forwarder was lost: {0}")]
    Lost(#[from] io::Error),
    /// What came is no NDN.
    #[error("what answers is no NDN forwarder: {0}")]
    Framing(#[from] FramingError),
    /// Nothing came in time.
    #[error("the forwarder did not answer {what} within {} s; it may not know the request", .patience.as_secs_f64())]
    NoAnswer {
        /// Module and verb.
        what: String,
        /// How long it was waited for.
        patience: Duration,
    },
    /// A Nack came.
    #[error("nobody manages the forwarder at the other end: it has no route for {0}")]
    Nack(String),
    /// The forwarder said no.
    #[error("{} ({})", .0.text, .0.code)]
    Refused(ControlResponse),
    /// A dataset that could not be had.
    #[error("{0}")]
    Fetch(#[from] FetchError),
    /// An answer that is none.
    #[error("the forwarder's answer is {0}")]
    Malformed(#[from] crate::mgmt::CodecError),
    /// The command could not be signed.
    #[error("{0}")]
    Encode(#[from] ndnweir_wire::EncodeError),
}

trait Stream: Read + Write + Send {
    fn patience(&self, time: Duration) -> io::Result<()>;
}

impl Stream for UnixStream {
    fn patience(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

impl Stream for TcpStream {
    fn patience(&self, time: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(time))
    }
}

/// A connection to a forwarder.
pub struct Remote {
    stream: Box<dyn Stream>,
    deframer: Deframer,
    signer: Box<dyn Signer + Send>,
    patience: Duration,
    random: RandomState,
    requests: u64,
}

impl Remote {
    /// Connects to a forwarder; `signer` signs the commands, `patience` is how long each answer is waited for.
    ///
    /// # Errors
    /// [`RemoteError::Connect`] and [`RemoteError::Unsupported`].
    pub fn connect(uri: &FaceUri, signer: Box<dyn Signer + Send>, patience: Duration) -> Result<Remote, RemoteError> {
        let fail = |source| RemoteError::Connect { uri: uri.to_string(), source };
        let stream: Box<dyn Stream> = match uri {
            FaceUri::Unix(path) => Box::new(UnixStream::connect(path).map_err(fail)?),
            FaceUri::Tcp(_, host, port) => Box::new(TcpStream::connect((host.as_str(), *port)).map_err(fail)?),
            FaceUri::Udp(..) => return Err(RemoteError::Unsupported(uri.to_string())),
        };
        let (deframer, random) = (Deframer::new(), RandomState::new());
        Ok(Remote { stream, deframer, signer, patience, random, requests: 0 })
    }

    /// Does a command.
    ///
    /// # Errors
    /// [`RemoteError::Refused`] when the forwarder did not do it; the others when it was not understood.
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
        let response = DataView::decode(&data).map_err(crate::mgmt::CodecError::from)?;
        let response = ControlResponse::decode(response.content())?;
        if !response.is_ok() {
            return Err(RemoteError::Refused(response));
        }
        Ok(response.body.map(|body| *body).unwrap_or_default())
    }

    /// The bytes of a dataset.
    fn dataset(&mut self, module: &str, verb: &str) -> Result<Vec<u8>, RemoteError> {
        let name = nfd().with(Component::generic(module)).with(Component::generic(verb));
        let mut fetch = DatasetFetch::new(name.as_view());
        loop {
            let [a, b, c, d, ..] = self.nonce();
            let interest = fetch.interest([a, b, c, d], self.patience)?;
            let data = self.exchange(&interest, &format!("{module}/{verb}"))?;
            let data = DataView::decode(&data).map_err(crate::mgmt::CodecError::from)?;
            if let Some(content) = fetch.take(&data)? {
                return Ok(content);
            }
        }
    }

    /// The items of a dataset.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn list<T: Item>(&mut self, module: &str, verb: &str) -> Result<Vec<T>, RemoteError> {
        Ok(decode_all(&self.dataset(module, verb)?)?)
    }

    /// The dataset `status/general`.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn status(&mut self) -> Result<ForwarderStatus, RemoteError> {
        Ok(ForwarderStatus::decode(&self.dataset("status", "general")?)?)
    }

    /// Sends an Interest and waits for the Data that answers it. Whatever else arrives is let pass.
    fn exchange(&mut self, interest: &[u8], what: &str) -> Result<Vec<u8>, RemoteError> {
        let view = InterestView::decode_unchecked_digest(interest).map_err(crate::mgmt::CodecError::from)?;
        self.stream.write_all(interest)?;
        let no_answer = || RemoteError::NoAnswer { what: what.to_owned(), patience: self.patience };
        let end = Instant::now() + self.patience;
        let mut buffer = vec![0; 1 << 16];
        loop {
            while let Some(frame) = self.deframer.next_frame()? {
                let Some((packet, nacked)) = unwrap(frame) else { continue };
                match PacketView::decode(packet) {
                    Ok(PacketView::Data(data)) if view.matches(&data) => return Ok(packet.to_vec()),
                    Ok(PacketView::Interest(own)) if nacked && own.name() == view.name() => {
                        return Err(RemoteError::Nack(what.to_owned()));
                    }
                    _ => {}
                }
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(no_answer());
            }
            self.stream.patience(left)?;
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                Ok(len) => self.deframer.push(&buffer[..len]),
                Err(error) if is_timeout(&error) => return Err(no_answer()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
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

/// The same place with an address for its host, as forwarders demand it of a face to be made.
///
/// # Errors
/// When the host is unknown, or has no address of the family asked for.
pub fn canonical(uri: &FaceUri) -> io::Result<FaceUri> {
    let (family, host, port) = match uri {
        FaceUri::Unix(_) => return Ok(uri.clone()),
        FaceUri::Udp(family, host, port) | FaceUri::Tcp(family, host, port) => (*family, host.as_str(), *port),
    };
    let fits = |address: &SocketAddr| match family {
        IpFamily::Any => true,
        IpFamily::V4 => address.is_ipv4(),
        IpFamily::V6 => address.is_ipv6(),
    };
    let none = || io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address of this family"));
    let address = (host, port).to_socket_addrs()?.find(fits).ok_or_else(none)?;
    let family = if address.is_ipv4() { IpFamily::V4 } else { IpFamily::V6 };
    let host = address.ip().to_string();
    Ok(match uri {
        FaceUri::Udp(..) => FaceUri::Udp(family, host, port),
        _ => FaceUri::Tcp(family, host, port),
    })
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// The network-layer packet in a frame, and whether it is a Nack; none when there is none or only a part of one, which
/// streams do not need.
fn unwrap(frame: &[u8]) -> Option<(&[u8], bool)> {
    let view = LpPacketView::decode(frame).ok()?;
    view.fragment.filter(|_| !view.is_fragmented()).map(|packet| (packet, view.nack.is_some()))
}

fn nfd() -> Name {
    LOCALHOST.split('/').filter(|part| !part.is_empty()).map(Component::generic).fold(Name::new(), Name::with)
}

fn unix_time() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
