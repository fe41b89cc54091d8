//! Data packets.
//!
//! Source: NDN packet specification v0.3, "Data Packet".

use core::convert::Infallible;
use core::time::Duration;

use crate::component::{Component, ComponentView};
use crate::elements::Ordered;
use crate::error::{DecodeErrorKind as Kind, DecodeResult, EncodeError};
use crate::name::{Name, NameView};
use crate::signature::{SignatureInfo, SignatureType, Signer, ValidityPeriod, Verifier, VerifyError, sha256};
use crate::tlv::{self, Element, Reader, types};

/// Numbers of the ContentType element.
pub mod content_type {
    /// Payload identified by the name; the value of an absent element.
    pub const BLOB: u64 = 0;
    /// List of delegations.
    pub const LINK: u64 = 1;
    /// Public key (certificate).
    pub const KEY: u64 = 2;
    /// Application-level negative answer.
    pub const NACK: u64 = 3;
    /// Announcement of a prefix (NFD wiki, `PrefixAnnouncement`).
    pub const PREFIX_ANNOUNCEMENT: u64 = 5;
}

/// MetaInfo. Its unrecognised non-critical sub-elements are not kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetaInfo<'a> {
    /// ContentType; absent means [`content_type::BLOB`].
    pub content_type: Option<u64>,
    /// FreshnessPeriod, in whole milliseconds on the wire; absent means never fresh.
    pub freshness_period: Option<Duration>,
    /// FinalBlockId: the last component of the name of the last segment.
    pub final_block_id: Option<ComponentView<'a>>,
}

impl<'a> MetaInfo<'a> {
    fn from_element(element: &Element<'a>) -> DecodeResult<Self> {
        const SEQUENCE: [u32; 3] = [types::CONTENT_TYPE, types::FRESHNESS_PERIOD, types::FINAL_BLOCK_ID];
        let mut meta = Self::default();
        let mut inner = Ordered::new(element.nested(), &SEQUENCE);
        while let Some(e) = inner.next()? {
            match e.typ {
                types::CONTENT_TYPE => meta.content_type = Some(e.nni()?),
                types::FRESHNESS_PERIOD => meta.freshness_period = Some(Duration::from_millis(e.nni()?)),
                _ => {
                    let mut component = e.nested();
                    if component.is_empty() {
                        return Err(e.bad_length());
                    }
                    meta.final_block_id = Some(ComponentView::from_element(&component.element()?)?);
                    component.finish()?;
                }
            }
        }
        Ok(meta)
    }

    fn write(&self, out: &mut Vec<u8>) {
        let millis = self.freshness_period.map(millis);
        let nni_element = |typ, n| tlv::element_len(typ, tlv::nni_len(n));
        let block = self.final_block_id.map(|c| (c, c.wire_len()));
        let len = self.content_type.map_or(0, |n| nni_element(types::CONTENT_TYPE, n))
            + millis.map_or(0, |n| nni_element(types::FRESHNESS_PERIOD, n))
            + block.map_or(0, |(_, len)| tlv::element_len(types::FINAL_BLOCK_ID, len));
        tlv::write_head(out, types::META_INFO, len);
        if let Some(number) = self.content_type {
            tlv::write_nni_element(out, types::CONTENT_TYPE, number);
        }
        if let Some(number) = millis {
            tlv::write_nni_element(out, types::FRESHNESS_PERIOD, number);
        }
        if let Some((component, len)) = block {
            tlv::write_head(out, types::FINAL_BLOCK_ID, len);
            component.write(out);
        }
    }
}

/// Whole milliseconds, as the packet format counts time.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A Data packet inside a buffer.
#[derive(Debug, Clone, Copy)]
pub struct DataView<'a> {
    wire: &'a [u8],
    name: NameView<'a>,
    meta_info: Option<MetaInfo<'a>>,
    content: Option<&'a [u8]>,
    /// Type of the signature and value of SignatureInfo, which is read when requested: that keeps the view small.
    signature: (SignatureType, &'a [u8]),
    signature_value: &'a [u8],
    signed_portion: &'a [u8],
}

const SEQUENCE: [u32; 4] = [types::META_INFO, types::CONTENT, types::SIGNATURE_INFO, types::SIGNATURE_VALUE];

impl<'a> DataView<'a> {
    /// Reads a buffer that holds one Data packet and nothing else. The signature is not checked.
    ///
    /// # Errors
    /// [`crate::DecodeError`] with the byte offset in `buf`.
    pub fn decode(buf: &'a [u8]) -> DecodeResult<Self> {
        let mut reader = Reader::new(buf);
        let element = reader.expect(types::DATA)?;
        reader.finish()?;
        Self::from_element(&element)
    }

    #[inline]
    pub(crate) fn from_element(element: &Element<'a>) -> DecodeResult<Self> {
        let mut reader = element.nested();
        let name = NameView::from_element(&reader.expect(types::NAME)?)?;
        let (mut meta_info, mut content, mut signature_info, mut value) = (None, None, None, None);
        let mut inner = Ordered::new(reader, &SEQUENCE);
        while let Some(e) = inner.next()? {
            match e.typ {
                types::META_INFO => meta_info = Some(MetaInfo::from_element(&e)?),
                types::CONTENT => content = Some(e.value),
                types::SIGNATURE_INFO => {
                    let info = SignatureInfo::from_element(&e)?;
                    signature_info = Some((info.signature_type, e.value));
                }
                _ => value = Some((e.value, e.offset - element.value_offset())),
            }
        }
        let missing = |typ| element.error(Kind::Missing(typ));
        let signature = signature_info.ok_or_else(|| missing(types::SIGNATURE_INFO))?;
        let (signature_value, end) = value.ok_or_else(|| missing(types::SIGNATURE_VALUE))?;
        Ok(Self {
            wire: element.wire,
            name,
            meta_info,
            content,
            signature,
            signature_value,
            signed_portion: &element.value[..end],
        })
    }

    /// The whole packet.
    #[must_use]
    pub const fn wire(&self) -> &'a [u8] {
        self.wire
    }

    /// Name, without the implicit digest.
    #[must_use]
    pub const fn name(&self) -> NameView<'a> {
        self.name
    }

    /// MetaInfo as it stands in the packet.
    #[must_use]
    pub const fn meta_info(&self) -> Option<MetaInfo<'a>> {
        self.meta_info
    }

    /// ContentType; [`content_type::BLOB`] when absent.
    #[must_use]
    pub fn content_type(&self) -> u64 {
        self.meta_info.and_then(|m| m.content_type).unwrap_or(content_type::BLOB)
    }

    /// FreshnessPeriod; zero when absent, for both mean "not fresh".
    #[must_use]
    pub fn freshness_period(&self) -> Duration {
        self.meta_info.and_then(|m| m.freshness_period).unwrap_or_default()
    }

    /// FinalBlockId.
    #[must_use]
    pub fn final_block_id(&self) -> Option<ComponentView<'a>> {
        self.meta_info.and_then(|m| m.final_block_id)
    }

    /// Content; empty when absent.
    #[must_use]
    pub fn content(&self) -> &'a [u8] {
        self.content.unwrap_or_default()
    }

    /// SignatureInfo.
    #[must_use]
    pub fn signature_info(&self) -> SignatureInfo<'a> {
        let (typ, value) = self.signature;
        SignatureInfo::from_accepted(value).unwrap_or(SignatureInfo::new(typ))
    }

    /// SignatureValue.
    #[must_use]
    pub const fn signature_value(&self) -> &'a [u8] {
        self.signature_value
    }

    /// The bytes that the signature covers.
    #[must_use]
    pub const fn signed_portion(&self) -> &'a [u8] {
        self.signed_portion
    }

    /// SHA-256 of the whole packet, the value of the implicit digest component (computed at each call).
    #[must_use]
    pub fn implicit_digest(&self) -> [u8; 32] {
        sha256(&[self.wire])
    }

    /// Name with the implicit digest component.
    #[must_use]
    pub fn full_name(&self) -> Name {
        self.name.to_owned().with(Component::implicit_digest(&self.implicit_digest()))
    }

    /// Checks the signature.
    ///
    /// # Errors
    /// [`VerifyError`] unless it is of the verifier's type and correct.
    pub fn verify(&self, verifier: &(impl Verifier + ?Sized)) -> Result<(), VerifyError> {
        verifier.verify(self.signature.0, &[self.signed_portion], self.signature_value)
    }
}

/// Builds a Data packet; borrows name and content until it is encoded.
#[derive(Debug, Clone, Copy)]
pub struct DataBuilder<'a> {
    name: NameView<'a>,
    meta_info: Option<MetaInfo<'a>>,
    content: Option<&'a [u8]>,
    signature_time: Option<Duration>,
    validity: Option<ValidityPeriod>,
}

impl<'a> DataBuilder<'a> {
    /// A packet with this name, neither MetaInfo nor Content.
    #[must_use]
    pub const fn new(name: NameView<'a>) -> Self {
        Self { name, meta_info: None, content: None, signature_time: None, validity: None }
    }

    /// The recognised elements of an existing packet, to be signed again or with the signature it has.
    #[must_use]
    pub fn from_view(view: &DataView<'a>) -> Self {
        let info = view.signature_info();
        Self {
            name: view.name,
            meta_info: view.meta_info,
            content: view.content,
            signature_time: info.anti_replay.time,
            validity: info.validity,
        }
    }

    /// MetaInfo as given, even when it is empty.
    #[must_use]
    pub const fn meta_info(mut self, meta_info: MetaInfo<'a>) -> Self {
        self.meta_info = Some(meta_info);
        self
    }

    /// ContentType (see [`content_type`]).
    #[must_use]
    pub fn content_type(mut self, number: u64) -> Self {
        self.meta_info.get_or_insert_default().content_type = Some(number);
        self
    }

    /// FreshnessPeriod, cut to whole milliseconds.
    #[must_use]
    pub fn freshness_period(mut self, period: Duration) -> Self {
        self.meta_info.get_or_insert_default().freshness_period = Some(period);
        self
    }

    /// FinalBlockId.
    #[must_use]
    pub fn final_block_id(mut self, component: ComponentView<'a>) -> Self {
        self.meta_info.get_or_insert_default().final_block_id = Some(component);
        self
    }

    /// Content.
    #[must_use]
    pub const fn content(mut self, content: &'a [u8]) -> Self {
        self.content = Some(content);
        self
    }

    /// SignatureTime, since the Unix epoch, cut to whole milliseconds.
    #[must_use]
    pub const fn signature_time(mut self, since_epoch: Duration) -> Self {
        self.signature_time = Some(since_epoch);
        self
    }

    /// ValidityPeriod, for certificates.
    #[must_use]
    pub const fn validity(mut self, validity: ValidityPeriod) -> Self {
        self.validity = Some(validity);
        self
    }

    /// Signs and encodes.
    ///
    /// # Errors
    /// [`EncodeError::Sign`] when the signer fails.
    pub fn sign(&self, signer: &(impl Signer + ?Sized)) -> Result<Vec<u8>, EncodeError> {
        let mut info = SignatureInfo::new(signer.signature_type());
        info.key_locator = signer.key_locator();
        info.anti_replay.time = self.signature_time;
        info.validity = self.validity;
        self.encode(&info, |portion| signer.sign(&[portion]).map_err(EncodeError::from))
    }

    /// Encodes with a signature made elsewhere.
    #[must_use]
    pub fn encode_with(&self, info: &SignatureInfo<'_>, value: &[u8]) -> Vec<u8> {
        match self.encode(info, |_| Ok::<_, Infallible>(value.to_vec())) {
            Ok(out) => out,
        }
    }

    fn encode<E>(
        &self,
        info: &SignatureInfo<'_>,
        sign: impl FnOnce(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<Vec<u8>, E> {
        let content_len = self.content.map_or(0, |c| tlv::element_len(types::CONTENT, c.len()));
        // A guess; it only decides how many bytes are kept free for the outer length.
        let guess = self.name.wire_len() + content_len + 128;
        let mut out = Vec::with_capacity(guess + 64);
        tlv::write_nested(&mut out, types::DATA, guess, |out| {
            let start = out.len();
            self.name.write(out);
            if let Some(meta_info) = &self.meta_info {
                meta_info.write(out);
            }
            if let Some(content) = self.content {
                tlv::write_element(out, types::CONTENT, content);
            }
            info.write(out, types::SIGNATURE_INFO);
            let value = sign(&out[start..])?;
            tlv::write_element(out, types::SIGNATURE_VALUE, &value);
            Ok(())
        })
        .map(|()| out)
    }
}
