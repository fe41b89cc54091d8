//! Command Interests: a verb and ControlParameters in the name, signed in one of two formats.
//!
//! | format | where time, nonce and signature are | source |
//! |---|---|---|
//! | [`CommandFormat::SignedInterest`] | InterestSignatureInfo and ApplicationParameters | NDN packet specification v0.3, "Signed Interest" |
//! | [`CommandFormat::NameSuffix`] | four name components: timestamp, nonce, SignatureInfo, SignatureValue | NFD wiki, "Command Interest"; older libraries still send it |

use super::parameters::ControlParameters;
use ndnweir_wire::error::EncodeError;
use ndnweir_wire::signature::{AntiReplay, KeyLocator, SignatureInfo, Signer, Verifier, VerifyError};
use ndnweir_wire::tlv::{self, Reader};
use ndnweir_wire::{Component, ComponentView, InterestBuilder, InterestView, Name, NameView};
use std::time::Duration;

/// The prefix of commands that a forwarder accepts only from its own machine.
pub const LOCALHOST: &str = "/localhost/nfd";

/// The prefix of RIB commands that a forwarder accepts from its neighbours.
pub const LOCALHOP: &str = "/localhop/nfd";

/// How many components the older format appends.
const SUFFIX: usize = 4;

/// How a command is signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandFormat {
    /// A signed Interest of the packet specification v0.3.
    #[default]
    SignedInterest,
    /// Timestamp, nonce and signature as name components.
    NameSuffix,
}

/// What makes a command unique, so that it cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Time since the Unix epoch; whole milliseconds on the wire.
    pub time: Duration,
    /// A random number, from which the Interest's own Nonce is taken too.
    pub nonce: [u8; 8],
}

/// The unsigned name of a command: `/localhost/nfd/MODULE/VERB/PARAMETERS`.
#[must_use]
pub fn command_name(top: NameView<'_>, module: &str, verb: &str, parameters: &ControlParameters) -> Name {
    top.to_owned().with(Component::generic(module)).with(Component::generic(verb)).with(parameters.to_component())
}

/// Signs a command and encodes it as an Interest with MustBeFresh and this lifetime.
///
/// # Errors
/// [`EncodeError::Sign`] when the signer fails.
pub fn sign_command(
    name: NameView<'_>,
    format: CommandFormat,
    signer: &(impl Signer + ?Sized),
    freshness: Freshness,
    lifetime: Duration,
) -> Result<Vec<u8>, EncodeError> {
    let [a, b, c, d, ..] = freshness.nonce;
    let interest = |name| InterestBuilder::new(name).must_be_fresh(true).nonce([a, b, c, d]).lifetime(lifetime);
    match format {
        CommandFormat::SignedInterest => {
            let anti_replay = AntiReplay { nonce: Some(&freshness.nonce), time: Some(freshness.time), seq_num: None };
            interest(name).sign(signer, anti_replay)
        }
        CommandFormat::NameSuffix => interest(with_suffix(name, signer, freshness)?.as_view()).encode(),
    }
}

fn with_suffix(name: NameView<'_>, signer: &(impl Signer + ?Sized), freshness: Freshness) -> Result<Name, EncodeError> {
    let mut time = Vec::new();
    tlv::write_nni(&mut time, u64::try_from(freshness.time.as_millis()).unwrap_or(u64::MAX));
    let mut info = SignatureInfo::new(signer.signature_type());
    info.key_locator = signer.key_locator();
    let mut info_wire = Vec::new();
    info.write(&mut info_wire, tlv::types::SIGNATURE_INFO);
    let name = name
        .to_owned()
        .with(Component::generic(time))
        .with(Component::generic(freshness.nonce))
        .with(Component::generic(info_wire));
    let signature = signer.sign(&[name.as_bytes()])?;
    let mut value = Vec::new();
    tlv::write_element(&mut value, tlv::types::SIGNATURE_VALUE, &signature);
    Ok(name.with(Component::generic(value)))
}

/// A signed command inside a buffer. Its signature has not been checked.
#[derive(Clone, Copy, Debug)]
pub struct SignedCommand<'a> {
    interest: InterestView<'a>,
    format: CommandFormat,
    name: NameView<'a>,
    info: SignatureInfo<'a>,
    /// In the older format: the signed part of the name, and the signature.
    suffix: Option<(NameView<'a>, &'a [u8])>,
}

impl<'a> SignedCommand<'a> {
    /// Finds the signature of an Interest, in either format; none when it has no well-formed one.
    #[must_use]
    pub fn find(interest: &InterestView<'a>) -> Option<SignedCommand<'a>> {
        let name = interest.name();
        if interest.is_signed() {
            name.last()?.as_parameters_digest()?;
            return Some(SignedCommand {
                interest: *interest,
                format: CommandFormat::SignedInterest,
                name: name.parent()?,
                info: interest.signature_info()?,
                suffix: None,
            });
        }
        let unsigned = name.len().checked_sub(SUFFIX)?;
        let component = |at: usize| name.get(unsigned + at).filter(ComponentView::is_generic);
        let time = tlv::read_nni(component(0)?.value())?;
        let nonce = component(1)?.value();
        let element = |at: usize, typ| {
            let mut reader = Reader::new(component(at)?.value());
            let element = reader.expect(typ).ok()?;
            reader.finish().ok().map(|()| element)
        };
        let mut info = SignatureInfo::from_element(&element(2, tlv::types::SIGNATURE_INFO)?).ok()?;
        let value = element(3, tlv::types::SIGNATURE_VALUE)?.value;
        info.anti_replay = AntiReplay { nonce: Some(nonce), time: Some(Duration::from_millis(time)), seq_num: None };
        Some(SignedCommand {
            interest: *interest,
            format: CommandFormat::NameSuffix,
            name: name.prefix(unsigned),
            info,
            suffix: Some((name.parent()?, value)),
        })
    }

    /// How it is signed.
    #[must_use]
    pub fn format(&self) -> CommandFormat {
        self.format
    }

    /// The name without what the signature added.
    #[must_use]
    pub fn name(&self) -> NameView<'a> {
        self.name
    }

    /// SignatureInfo. Time and nonce of the older format are in it as well.
    #[must_use]
    pub fn info(&self) -> SignatureInfo<'a> {
        self.info
    }

    /// The signer's KeyLocator.
    #[must_use]
    pub fn key_locator(&self) -> Option<KeyLocator<'a>> {
        self.info.key_locator
    }

    /// The bytes of the signature.
    #[must_use]
    pub fn signature(&self) -> &'a [u8] {
        self.suffix.map_or_else(|| self.interest.signature_value().unwrap_or_default(), |(_, value)| value)
    }

    /// Checks the signature.
    ///
    /// # Errors
    /// [`VerifyError`] unless it is of the verifier's type and correct.
    pub fn verify(&self, verifier: &(impl Verifier + ?Sized)) -> Result<(), VerifyError> {
        match self.suffix {
            None => self.interest.verify(verifier),
            Some((signed, value)) => verifier.verify(self.info.signature_type, &[signed.as_bytes()], value),
        }
    }

    /// Checks what can be checked without a key: in the newer format, that the parameters digest is right.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.interest.verify_parameters_digest().is_ok()
    }
}
