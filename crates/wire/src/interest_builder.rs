//! Encoding of Interests.

use core::time::Duration;
use std::borrow::Cow;

use crate::data::millis;
use crate::error::EncodeError;
use crate::interest::InterestView;
use crate::name::NameView;
use crate::signature::{AntiReplay, SignatureInfo, Signer, sha256};
use crate::tlv::{self, types};

/// Builds an Interest; borrows name and parameters until it is encoded.
#[derive(Debug, Clone)]
pub struct InterestBuilder<'a> {
    name: NameView<'a>,
    can_be_prefix: bool,
    must_be_fresh: bool,
    forwarding_hint: Vec<u8>,
    nonce: Option<[u8; 4]>,
    lifetime: Option<Duration>,
    hop_limit: Option<u8>,
    parameters: Option<&'a [u8]>,
    /// ApplicationParameters and all that follows, when taken from an existing packet.
    portion: Option<&'a [u8]>,
}

impl<'a> InterestBuilder<'a> {
    /// An Interest with this name and nothing else.
    ///
    /// A forwarder adds a Nonce when there is none; a consumer should give one.
    #[must_use]
    pub const fn new(name: NameView<'a>) -> Self {
        Self {
            name,
            can_be_prefix: false,
            must_be_fresh: false,
            forwarding_hint: Vec::new(),
            nonce: None,
            lifetime: None,
            hop_limit: None,
            parameters: None,
            portion: None,
        }
    }

    /// The recognised elements of an existing Interest. Parameters, signature and all else that the parameters digest
    /// covers are kept to the byte.
    #[must_use]
    pub fn from_view(view: &InterestView<'a>) -> Self {
        Self {
            can_be_prefix: view.can_be_prefix(),
            must_be_fresh: view.must_be_fresh(),
            nonce: view.nonce(),
            lifetime: view.lifetime(),
            hop_limit: view.hop_limit(),
            parameters: view.application_parameters(),
            portion: view.parameters_portion(),
            ..Self::new(view.name())
        }
        .forwarding_hint(view.forwarding_hint())
    }

    /// Sets CanBePrefix.
    #[must_use]
    pub const fn can_be_prefix(mut self, on: bool) -> Self {
        self.can_be_prefix = on;
        self
    }

    /// Sets MustBeFresh.
    #[must_use]
    pub const fn must_be_fresh(mut self, on: bool) -> Self {
        self.must_be_fresh = on;
        self
    }

    /// Replaces ForwardingHint; no names, no element.
    #[must_use]
    pub fn forwarding_hint<'n>(mut self, names: impl IntoIterator<Item = NameView<'n>>) -> Self {
        self.forwarding_hint.clear();
        for name in names {
            name.write(&mut self.forwarding_hint);
        }
        self
    }

    /// Sets the Nonce.
    #[must_use]
    pub const fn nonce(mut self, nonce: [u8; 4]) -> Self {
        self.nonce = Some(nonce);
        self
    }

    /// Sets InterestLifetime, cut to whole milliseconds.
    #[must_use]
    pub const fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = Some(lifetime);
        self
    }

    /// Sets HopLimit.
    #[must_use]
    pub const fn hop_limit(mut self, hops: u8) -> Self {
        self.hop_limit = Some(hops);
        self
    }

    /// Sets ApplicationParameters, dropping any signature taken over from an existing Interest.
    #[must_use]
    pub const fn application_parameters(mut self, value: &'a [u8]) -> Self {
        self.parameters = Some(value);
        self.portion = None;
        self
    }

    /// Encodes. With parameters, their digest replaces the digest component of the name, or is appended to it.
    ///
    /// # Errors
    /// [`EncodeError::EmptyName`], [`EncodeError::RepeatedParametersDigest`],
    /// [`EncodeError::UnexpectedParametersDigest`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        let portion: Cow<'_, [u8]> = match (self.portion, self.parameters) {
            (Some(portion), _) => portion.into(),
            (None, Some(value)) => {
                let mut out = Vec::with_capacity(value.len() + 10);
                tlv::write_element(&mut out, types::APPLICATION_PARAMETERS, value);
                out.into()
            }
            (None, None) => Cow::Borrowed(&[]),
        };
        self.assemble(self.name, &portion)
    }

    /// Signs and encodes (packet specification, "Construction of Signed Interests"): parameters digest components are
    /// taken out of the name, empty ApplicationParameters are added when there are none, and the digest of parameters
    /// and signature becomes the last component.
    ///
    /// # Errors
    /// As [`Self::encode`], [`EncodeError::EmptySignatureNonce`] and [`EncodeError::Sign`].
    pub fn sign(&self, signer: &(impl Signer + ?Sized), anti_replay: AntiReplay<'_>) -> Result<Vec<u8>, EncodeError> {
        if anti_replay.nonce.is_some_and(<[u8]>::is_empty) {
            return Err(EncodeError::EmptySignatureNonce);
        }
        let name: crate::Name = self.name.components().filter(|c| c.as_parameters_digest().is_none()).collect();
        let mut portion = Vec::new();
        let parameters = self.parameters.unwrap_or_default();
        tlv::write_element(&mut portion, types::APPLICATION_PARAMETERS, parameters);
        let mut info = SignatureInfo::new(signer.signature_type());
        info.key_locator = signer.key_locator();
        info.anti_replay = anti_replay;
        info.write(&mut portion, types::INTEREST_SIGNATURE_INFO);
        let value = signer.sign(&[name.as_bytes(), &portion])?;
        tlv::write_element(&mut portion, types::INTEREST_SIGNATURE_VALUE, &value);
        self.assemble(name.as_view(), &portion)
    }

    fn assemble(&self, name: NameView<'_>, portion: &[u8]) -> Result<Vec<u8>, EncodeError> {
        let digests = name.components().filter(|c| c.as_parameters_digest().is_some()).count();
        match digests {
            2.. => return Err(EncodeError::RepeatedParametersDigest),
            1 if portion.is_empty() => return Err(EncodeError::UnexpectedParametersDigest),
            _ => {}
        }
        if name.is_empty() && portion.is_empty() {
            return Err(EncodeError::EmptyName);
        }
        let guess = name.wire_len() + self.forwarding_hint.len() + portion.len() + 24;
        let mut out = Vec::with_capacity(guess + 64);
        tlv::write_nested(&mut out, types::INTEREST, guess, |out| {
            if portion.is_empty() {
                name.write(out);
            } else {
                write_name_with_digest(out, name, &sha256(&[portion]));
            }
            self.write_guiders(out);
            out.extend_from_slice(portion);
            Ok(())
        })
        .map(|()| out)
    }

    fn write_guiders(&self, out: &mut Vec<u8>) {
        if self.can_be_prefix {
            tlv::write_element(out, types::CAN_BE_PREFIX, &[]);
        }
        if self.must_be_fresh {
            tlv::write_element(out, types::MUST_BE_FRESH, &[]);
        }
        if !self.forwarding_hint.is_empty() {
            tlv::write_element(out, types::FORWARDING_HINT, &self.forwarding_hint);
        }
        if let Some(nonce) = &self.nonce {
            tlv::write_element(out, types::NONCE, nonce);
        }
        if let Some(lifetime) = self.lifetime {
            tlv::write_nni_element(out, types::INTEREST_LIFETIME, millis(lifetime));
        }
        if let Some(hops) = self.hop_limit {
            tlv::write_element(out, types::HOP_LIMIT, &[hops]);
        }
    }
}

fn write_name_with_digest(out: &mut Vec<u8>, name: NameView<'_>, digest: &[u8; 32]) {
    let write_digest = |out: &mut Vec<u8>| tlv::write_element(out, types::PARAMETERS_SHA256_DIGEST_COMPONENT, digest);
    let before = name.components().take_while(|c| c.as_parameters_digest().is_none());
    let before: usize = before.map(|c| c.wire_len()).sum();
    let digest_len = tlv::element_len(types::PARAMETERS_SHA256_DIGEST_COMPONENT, digest.len());
    let (head, tail) = name.as_bytes().split_at(before);
    let tail = tail.get(digest_len..).unwrap_or_default();
    tlv::write_head(out, types::NAME, head.len() + digest_len + tail.len());
    out.extend_from_slice(head);
    write_digest(out);
    out.extend_from_slice(tail);
}
