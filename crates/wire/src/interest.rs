//! Interest packets.
//!
//! Source: NDN packet specification v0.3, "Interest Packet", "Signed Interest" and "Parameters Digest Component".

use core::time::Duration;

use crate::data::DataView;
use crate::elements::Ordered;
use crate::error::{DecodeErrorKind as Kind, DecodeResult};
use crate::name::NameView;
use crate::signature::{SignatureInfo, Verifier, VerifyError, sha256};
use crate::tlv::{Element, Reader, is_critical, types};

pub use crate::interest_builder::InterestBuilder;

/// The value of an absent InterestLifetime (packet specification, "InterestLifetime").
pub const DEFAULT_LIFETIME: Duration = Duration::from_secs(4);

/// An Interest inside a buffer.
#[derive(Debug, Clone, Copy)]
pub struct InterestView<'a> {
    wire: &'a [u8],
    name: NameView<'a>,
    can_be_prefix: bool,
    must_be_fresh: bool,
    forwarding_hint: Option<&'a [u8]>,
    nonce: Option<([u8; 4], usize)>,
    lifetime: Option<Duration>,
    hop_limit: Option<(u8, usize)>,
    parameters: Option<Parameters<'a>>,
}

/// ApplicationParameters and what follows.
#[derive(Debug, Clone, Copy)]
struct Parameters<'a> {
    value: &'a [u8],
    /// From ApplicationParameters to the end of the Interest: what the parameters digest covers.
    portion: &'a [u8],
    /// Value of InterestSignatureInfo. It is read when requested, which keeps the view small: most nodes never read it.
    signature_info: Option<&'a [u8]>,
    /// The signature, and how much of the portion it covers.
    signature: Option<(&'a [u8], usize)>,
}

const SEQUENCE: [u32; 9] = [
    types::CAN_BE_PREFIX,
    types::MUST_BE_FRESH,
    types::FORWARDING_HINT,
    types::NONCE,
    types::INTEREST_LIFETIME,
    types::HOP_LIMIT,
    types::APPLICATION_PARAMETERS,
    types::INTEREST_SIGNATURE_INFO,
    types::INTEREST_SIGNATURE_VALUE,
];

impl<'a> InterestView<'a> {
    /// Reads a buffer that holds one Interest and nothing else, and checks its parameters digest.
    ///
    /// The signature is not checked.
    ///
    /// # Errors
    /// [`crate::DecodeError`] with the byte offset in `buf`.
    pub fn decode(buf: &'a [u8]) -> DecodeResult<Self> {
        let view = Self::decode_unchecked_digest(buf)?;
        view.verify_parameters_digest()?;
        Ok(view)
    }

    /// As [`Self::decode`] without computing the parameters digest, for nodes that only forward.
    ///
    /// # Errors
    /// As [`Self::decode`], without the digest's.
    pub fn decode_unchecked_digest(buf: &'a [u8]) -> DecodeResult<Self> {
        let mut reader = Reader::new(buf);
        let element = reader.expect(types::INTEREST)?;
        reader.finish()?;
        Self::from_element(&element)
    }

    #[inline]
    pub(crate) fn from_element(element: &Element<'a>) -> DecodeResult<Self> {
        let mut reader = element.nested();
        let name_element = reader.expect(types::NAME)?;
        let name = NameView::from_element(&name_element)?;
        if name.is_empty() {
            return Err(name_element.error(Kind::EmptyName));
        }
        let mut view = Self {
            wire: element.wire,
            name,
            can_be_prefix: false,
            must_be_fresh: false,
            forwarding_hint: None,
            nonce: None,
            lifetime: None,
            hop_limit: None,
            parameters: None,
        };
        let start = element.value_offset();
        let mut inner = Ordered::new(reader, &SEQUENCE);
        while let Some(e) = inner.next()? {
            match e.typ {
                types::CAN_BE_PREFIX => {
                    e.flag()?;
                    view.can_be_prefix = true;
                }
                types::MUST_BE_FRESH => {
                    e.flag()?;
                    view.must_be_fresh = true;
                }
                types::FORWARDING_HINT => {
                    check_forwarding_hint(&e)?;
                    view.forwarding_hint = Some(e.value);
                }
                types::NONCE => view.nonce = Some((e.array()?, e.value_offset())),
                types::INTEREST_LIFETIME => view.lifetime = Some(Duration::from_millis(e.nni()?)),
                types::HOP_LIMIT => {
                    let [hops] = e.array()?;
                    view.hop_limit = Some((hops, e.value_offset()));
                }
                types::APPLICATION_PARAMETERS => {
                    view.parameters = Some(Parameters {
                        value: e.value,
                        portion: &element.value[e.offset - start..],
                        signature_info: None,
                        signature: None,
                    });
                }
                // The signature belongs to the parameters and is non-critical: without them it means nothing.
                typ => {
                    let Some(parameters) = &mut view.parameters else {
                        continue;
                    };
                    if typ == types::INTEREST_SIGNATURE_INFO {
                        SignatureInfo::from_element(&e)?;
                        parameters.signature_info = Some(e.value);
                    } else if parameters.signature_info.is_some() {
                        let portion_start = element.value.len() - parameters.portion.len();
                        parameters.signature = Some((e.value, e.offset - start - portion_start));
                    }
                }
            }
        }
        view.check_digest_presence().map_err(|kind| name_element.error(kind))?;
        Ok(view)
    }

    fn check_digest_presence(&self) -> Result<(), Kind> {
        let digests = self.name.components().filter(|c| c.as_parameters_digest().is_some()).count();
        match (digests, self.parameters.is_some()) {
            (2.., _) => Err(Kind::RepeatedParametersDigest),
            (0, true) => Err(Kind::MissingParametersDigest),
            (1, false) => Err(Kind::UnexpectedParametersDigest),
            _ => Ok(()),
        }
    }

    /// Checks that the parameters digest component is the digest of the parameters; true of an Interest without both.
    ///
    /// # Errors
    /// [`Kind::ParametersDigestMismatch`], with the offset of the name.
    pub fn verify_parameters_digest(&self) -> DecodeResult<()> {
        let Some(parameters) = &self.parameters else {
            return Ok(());
        };
        let expected = sha256(&[parameters.portion]);
        let found = self.name.components().find_map(|c| c.as_parameters_digest());
        if found == Some(&expected) {
            return Ok(());
        }
        let mut reader = Reader::new(self.wire);
        let offset = reader.element().map_or(0, |e| e.value_offset());
        Err(crate::DecodeError::new(offset, Kind::ParametersDigestMismatch))
    }

    /// The whole packet.
    #[must_use]
    pub const fn wire(&self) -> &'a [u8] {
        self.wire
    }

    /// Name; never empty.
    #[must_use]
    pub const fn name(&self) -> NameView<'a> {
        self.name
    }

    /// CanBePrefix.
    #[must_use]
    pub const fn can_be_prefix(&self) -> bool {
        self.can_be_prefix
    }

    /// MustBeFresh.
    #[must_use]
    pub const fn must_be_fresh(&self) -> bool {
        self.must_be_fresh
    }

    /// The names in ForwardingHint, in order; none when it is absent.
    pub fn forwarding_hint(&self) -> impl Iterator<Item = NameView<'a>> + use<'a> {
        delegations(self.forwarding_hint_value())
    }

    /// The value of ForwardingHint; empty when it is absent, never otherwise. [`delegations`] reads it.
    #[must_use]
    pub fn forwarding_hint_value(&self) -> &'a [u8] {
        self.forwarding_hint.unwrap_or_default()
    }

    /// Nonce.
    #[must_use]
    pub fn nonce(&self) -> Option<[u8; 4]> {
        self.nonce.map(|(nonce, _)| nonce)
    }

    /// InterestLifetime as it stands in the packet.
    #[must_use]
    pub const fn lifetime(&self) -> Option<Duration> {
        self.lifetime
    }

    /// InterestLifetime; [`DEFAULT_LIFETIME`] when absent.
    #[must_use]
    pub fn lifetime_or_default(&self) -> Duration {
        self.lifetime.unwrap_or(DEFAULT_LIFETIME)
    }

    /// HopLimit.
    #[must_use]
    pub fn hop_limit(&self) -> Option<u8> {
        self.hop_limit.map(|(hops, _)| hops)
    }

    /// Where in the decoded buffer the 4 bytes of the Nonce are, so that a forwarder can change them in place.
    #[must_use]
    pub fn nonce_offset(&self) -> Option<usize> {
        self.nonce.map(|(_, at)| at)
    }

    /// Where in the decoded buffer the byte of the HopLimit is, so that a forwarder can lower it in place.
    #[must_use]
    pub fn hop_limit_offset(&self) -> Option<usize> {
        self.hop_limit.map(|(_, at)| at)
    }

    /// Value of ApplicationParameters.
    #[must_use]
    pub fn application_parameters(&self) -> Option<&'a [u8]> {
        self.parameters.map(|p| p.value)
    }

    /// From ApplicationParameters to the end of the Interest, which the parameters digest covers.
    #[must_use]
    pub fn parameters_portion(&self) -> Option<&'a [u8]> {
        self.parameters.map(|p| p.portion)
    }

    /// InterestSignatureInfo.
    #[must_use]
    pub fn signature_info(&self) -> Option<SignatureInfo<'a>> {
        SignatureInfo::from_accepted(self.parameters?.signature_info?)
    }

    /// Value of InterestSignatureValue.
    #[must_use]
    pub fn signature_value(&self) -> Option<&'a [u8]> {
        self.parameters.and_then(|p| p.signature).map(|(value, _)| value)
    }

    /// Whether the Interest carries a signature.
    #[must_use]
    pub fn is_signed(&self) -> bool {
        self.signature_value().is_some()
    }

    /// The two runs of bytes that the signature covers: the components before the parameters digest, and the elements
    /// from ApplicationParameters up to the signature value. `None` when the Interest is not signed.
    #[must_use]
    pub fn signed_portion(&self) -> Option<[&'a [u8]; 2]> {
        let parameters = self.parameters?;
        let (_, end) = parameters.signature?;
        let before = self.name.components().take_while(|c| c.as_parameters_digest().is_none()).count();
        Some([self.name.prefix(before).as_bytes(), &parameters.portion[..end]])
    }

    /// Checks the parameters digest and the signature. Replays are for the caller to recognise, from
    /// [`SignatureInfo::anti_replay`].
    ///
    /// # Errors
    /// [`VerifyError`] unless the Interest is signed in the verifier's way and correctly.
    pub fn verify(&self, verifier: &(impl Verifier + ?Sized)) -> Result<(), VerifyError> {
        let parameters = self.parameters.ok_or(VerifyError::NotSigned)?;
        let info = self.signature_info().ok_or(VerifyError::NotSigned)?;
        let (value, _) = parameters.signature.ok_or(VerifyError::NotSigned)?;
        let portion = self.signed_portion().ok_or(VerifyError::NotSigned)?;
        let digest_last = self.name.last().is_some_and(|c| c.as_parameters_digest().is_some());
        if !digest_last || self.verify_parameters_digest().is_err() {
            return Err(VerifyError::ParametersDigest);
        }
        verifier.verify(info.signature_type, &portion, value)
    }

    /// Whether this Data answers this Interest by name (packet specification, "CanBePrefix"). Freshness is not
    /// considered, because it depends on how long the Data has been stored.
    #[must_use]
    pub fn matches(&self, data: &DataView<'_>) -> bool {
        if self.name == data.name() {
            return true;
        }
        if self.name.is_prefix_of(data.name()) {
            return self.can_be_prefix;
        }
        // What is left is the full name, where hashing the Data is only necessary if all else matches.
        let Some(digest) = self.name.last().and_then(|c| c.as_implicit_digest()) else {
            return false;
        };
        self.name.parent() == Some(data.name()) && *digest == data.implicit_digest()
    }
}

/// The names in the value of a ForwardingHint, in order, up to the first that is malformed. A value that comes from a
/// decoded Interest has none such.
pub fn delegations(value: &[u8]) -> impl Iterator<Item = NameView<'_>> {
    let mut reader = Reader::new(value);
    core::iter::from_fn(move || {
        loop {
            let element = reader.element().ok()?;
            if element.typ == types::NAME {
                return NameView::from_element(&element).ok();
            }
        }
    })
}

fn check_forwarding_hint(element: &Element<'_>) -> DecodeResult<()> {
    let mut names = 0_usize;
    let mut reader = element.nested();
    while !reader.is_empty() {
        let e = reader.element()?;
        if e.typ == types::NAME {
            NameView::from_element(&e)?;
            names += 1;
        } else if is_critical(e.typ) {
            return Err(e.error(Kind::UnknownCritical(e.typ)));
        }
    }
    if names == 0 { Err(element.error(Kind::Missing(types::NAME))) } else { Ok(()) }
}
