//! Errors of decoding and encoding packets.

use thiserror::Error;

/// Result of decoding.
pub type DecodeResult<T> = Result<T, DecodeError>;

/// A malformed packet: what is wrong, and at which byte of the buffer handed to the decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("{kind} (at byte {offset})")]
pub struct DecodeError {
    /// Byte offset, from the start of the buffer handed to the decoder, of the element or number at fault.
    pub offset: usize,
    /// What is wrong there.
    pub kind: DecodeErrorKind,
}

impl DecodeError {
    pub(crate) const fn new(offset: usize, kind: DecodeErrorKind) -> Self {
        Self { offset, kind }
    }
}

/// The ways in which a packet can be malformed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// The buffer ends before the number or value does.
    #[error("input ends early: {missing} more byte(s) needed")]
    Truncated {
        /// How many bytes are missing, at least.
        missing: u64,
    },
    /// A type or length number is not in its shortest form.
    #[error("type or length number not in its shortest form")]
    NonMinimalNumber,
    /// Type number outside `1..=4294967295`.
    #[error("TLV-TYPE {0} outside 1..=4294967295")]
    TypeOutOfRange(u64),
    /// Bytes follow the packet.
    #[error("{0} byte(s) follow the packet")]
    TrailingBytes(usize),
    /// Another element was required here.
    #[error("expected element of type {expected}, found type {found}")]
    UnexpectedType {
        /// Type required at this place.
        expected: u32,
        /// Type found.
        found: u32,
    },
    /// Not the type of any packet this crate reads (Interest, Data or LpPacket).
    #[error("type {0} is not Interest, Data or LpPacket")]
    NotAPacket(u32),
    /// A required element is absent.
    #[error("required element of type {0} is missing")]
    Missing(u32),
    /// An unknown element whose type says that it must not be ignored.
    #[error("unrecognised critical element of type {0}")]
    UnknownCritical(u32),
    /// A recognised critical element repeated or out of its order.
    #[error("element of type {0} is repeated or out of order")]
    OutOfOrder(u32),
    /// The value's length does not fit the element.
    #[error("element of type {typ} cannot have a value of {len} byte(s)")]
    BadLength {
        /// Type of the element.
        typ: u32,
        /// Length of its value in bytes.
        len: usize,
    },
    /// Name component type outside `1..=65535`.
    #[error("name component type {0} outside 1..=65535")]
    ComponentType(u32),
    /// An Interest's name has no components.
    #[error("the name of an Interest must not be empty")]
    EmptyName,
    /// More than one ParametersSha256DigestComponent in an Interest's name.
    #[error("the name has more than one parameters digest component")]
    RepeatedParametersDigest,
    /// ApplicationParameters without ParametersSha256DigestComponent.
    #[error("an Interest with parameters must have a parameters digest component")]
    MissingParametersDigest,
    /// ParametersSha256DigestComponent without ApplicationParameters.
    #[error("an Interest without parameters must not have a parameters digest component")]
    UnexpectedParametersDigest,
    /// The parameters digest is not the digest of the parameters.
    #[error("the parameters digest component does not match the parameters")]
    ParametersDigestMismatch,
    /// An NDNLPv2 header field that is neither known nor ignorable.
    #[error("unknown link header field of type {0} cannot be ignored")]
    UnknownLpField(u32),
}

/// Why a packet cannot be encoded.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// An Interest needs a name of at least one component.
    #[error("the name of an Interest must not be empty")]
    EmptyName,
    /// More than one ParametersSha256DigestComponent in an Interest's name.
    #[error("the name has more than one parameters digest component")]
    RepeatedParametersDigest,
    /// A ParametersSha256DigestComponent in the name of an Interest that has no parameters.
    #[error("an Interest without parameters must not have a parameters digest component")]
    UnexpectedParametersDigest,
    /// A SignatureNonce without bytes would protect against nothing.
    #[error("a signature nonce must not be empty")]
    EmptySignatureNonce,
    /// A PIT token must have 1 to 32 bytes.
    #[error("a PIT token has 1 to 32 bytes, not {0}")]
    PitTokenLength(usize),
    /// A header field of our own must have an ignorable type that NDNLPv2 does not assign.
    #[error("type {0} is not free for a header field: 800 to 959, divisible by 4, and not assigned by NDNLPv2")]
    HeaderFieldType(u32),
    /// Name component type outside `1..=65535`.
    #[error("name component type {0} outside 1..=65535")]
    ComponentType(u32),
    /// A digest component must have 32 bytes.
    #[error("a digest component has 32 bytes, not {0}")]
    DigestLength(usize),
    /// The signer failed.
    #[error("signing failed: {0}")]
    Sign(#[from] crate::signature::SignError),
}
