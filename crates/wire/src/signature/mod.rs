//! Signatures of Data and Interests: the signature elements, and how to sign and verify.
//!
//! Source: NDN packet specification v0.3, "Signature" and "Signed Interest".
//!
//! A [`Signer`] or [`Verifier`] sees only the signed portion, as one or two slices, so packets are never copied to be
//! signed. Keys are given as bytes, DER or PEM; drawing a random key is for the caller, who owns the randomness.

mod digest;
mod ecdsa;
mod ed25519;
mod info;

use core::fmt;

use sha2::{Digest, Sha256};
use thiserror::Error;

pub use digest::{DigestSha256, HmacSha256};
pub use ecdsa::{EcdsaP256Signer, EcdsaP256Verifier};
pub use ed25519::{Ed25519Signer, Ed25519Verifier};
pub use info::{AntiReplay, KeyLocator, SignatureInfo, ValidityPeriod};

/// Number in the SignatureType element.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SignatureType(pub u64);

impl SignatureType {
    /// SHA-256 of the signed portion: integrity only.
    pub const DIGEST_SHA256: Self = Self(0);
    /// RSA over SHA-256. Decoded, but this crate neither signs nor verifies it.
    pub const SHA256_WITH_RSA: Self = Self(1);
    /// ECDSA over SHA-256, value in DER.
    pub const SHA256_WITH_ECDSA: Self = Self(3);
    /// HMAC with SHA-256.
    pub const HMAC_WITH_SHA256: Self = Self(4);
    /// Ed25519.
    pub const ED25519: Self = Self(5);
}

impl fmt::Display for SignatureType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::DIGEST_SHA256 => f.write_str("DigestSha256"),
            Self::SHA256_WITH_RSA => f.write_str("SignatureSha256WithRsa"),
            Self::SHA256_WITH_ECDSA => f.write_str("SignatureSha256WithEcdsa"),
            Self::HMAC_WITH_SHA256 => f.write_str("SignatureHmacWithSha256"),
            Self::ED25519 => f.write_str("SignatureEd25519"),
            Self(other) => write!(f, "signature type {other}"),
        }
    }
}

/// Makes signatures of one type with one key.
pub trait Signer {
    /// Number for the SignatureType element.
    fn signature_type(&self) -> SignatureType;

    /// Where the key is to be found; required by the specification for all but [`SignatureType::DIGEST_SHA256`].
    fn key_locator(&self) -> Option<KeyLocator<'_>> {
        None
    }

    /// Signs the concatenation of `parts`.
    ///
    /// # Errors
    /// [`SignError`] when the key cannot sign.
    fn sign(&self, parts: &[&[u8]]) -> Result<Vec<u8>, SignError>;
}

/// Checks signatures of one type with one key.
pub trait Verifier {
    /// Checks `signature`, of type `found`, over the concatenation of `parts`.
    ///
    /// # Errors
    /// [`VerifyError`] unless the signature is of this verifier's type and correct.
    fn verify(&self, found: SignatureType, parts: &[&[u8]], signature: &[u8]) -> Result<(), VerifyError>;
}

/// A key that could not make a signature.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the key cannot sign: {0}")]
pub struct SignError(pub String);

/// Why a signature was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The packet carries no signature.
    #[error("the packet is not signed")]
    NotSigned,
    /// A signed Interest whose name does not end with the digest of its parameters.
    #[error("the name of a signed Interest must end with the digest of its parameters")]
    ParametersDigest,
    /// The packet is signed in another way than the verifier checks.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What the verifier checks.
        expected: SignatureType,
        /// The packet's value.
        found: SignatureType,
    },
    /// The signature value does not have the form of its type.
    #[error("the signature value is malformed")]
    Malformed,
    /// The signature does not belong to these bytes and this key.
    #[error("the signature does not match")]
    Mismatch,
}

/// Why a key could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The bytes are not a key of this kind.
    #[error("not a valid {kind}: {reason}")]
    Malformed {
        /// What was expected.
        kind: &'static str,
        /// What the parser found wrong.
        reason: String,
    },
    /// The key could not be written in the requested form.
    #[error("cannot encode the key: {0}")]
    Encode(String),
}

impl KeyError {
    pub(crate) fn malformed(kind: &'static str, reason: impl fmt::Display) -> Self {
        Self::Malformed { kind, reason: reason.to_string() }
    }
}

pub(crate) fn check_type(expected: SignatureType, found: SignatureType) -> Result<(), VerifyError> {
    if expected == found { Ok(()) } else { Err(VerifyError::WrongType { expected, found }) }
}

/// SHA-256 of the concatenation of `parts`.
#[must_use]
pub fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().into()
}
