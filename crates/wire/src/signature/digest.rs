//! DigestSha256 and SignatureHmacWithSha256.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::{KeyLocator, SignError, SignatureType, Signer, Verifier, VerifyError, check_type, sha256};
use crate::name::Name;

/// SHA-256 of the signed portion: protects against accidents, proves nothing about the producer.
#[derive(Debug, Clone, Copy, Default)]
pub struct DigestSha256;

impl Signer for DigestSha256 {
    fn signature_type(&self) -> SignatureType {
        SignatureType::DIGEST_SHA256
    }

    fn sign(&self, parts: &[&[u8]]) -> Result<Vec<u8>, SignError> {
        Ok(sha256(parts).to_vec())
    }
}

impl Verifier for DigestSha256 {
    fn verify(&self, found: SignatureType, parts: &[&[u8]], signature: &[u8]) -> Result<(), VerifyError> {
        check_type(SignatureType::DIGEST_SHA256, found)?;
        if signature.len() != 32 {
            return Err(VerifyError::Malformed);
        }
        if sha256(parts) == *signature { Ok(()) } else { Err(VerifyError::Mismatch) }
    }
}

/// HMAC with SHA-256 under a shared key; both signer and verifier.
#[derive(Clone)]
pub struct HmacSha256 {
    keyed: Hmac<Sha256>,
    locator: Option<Name>,
}

impl HmacSha256 {
    /// A shared key of any length (32 bytes or more recommended: RFC 2104 section 3) and the name that identifies it.
    ///
    /// # Errors
    /// [`super::KeyError`] when the key cannot be used.
    pub fn new(key: &[u8], locator: Option<Name>) -> Result<Self, super::KeyError> {
        let keyed = Hmac::new_from_slice(key).map_err(|e| super::KeyError::malformed("HMAC key", e))?;
        Ok(Self { keyed, locator })
    }

    fn over(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        let mut mac = self.keyed.clone();
        for part in parts {
            mac.update(part);
        }
        mac
    }
}

impl core::fmt::Debug for HmacSha256 {
    /// Shows the locator, never the key.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HmacSha256").field("locator", &self.locator).finish_non_exhaustive()
    }
}

impl Signer for HmacSha256 {
    fn signature_type(&self) -> SignatureType {
        SignatureType::HMAC_WITH_SHA256
    }

    fn key_locator(&self) -> Option<KeyLocator<'_>> {
        self.locator.as_ref().map(|n| KeyLocator::Name(n.as_view()))
    }

    fn sign(&self, parts: &[&[u8]]) -> Result<Vec<u8>, SignError> {
        Ok(self.over(parts).finalize().into_bytes().to_vec())
    }
}

impl Verifier for HmacSha256 {
    fn verify(&self, found: SignatureType, parts: &[&[u8]], signature: &[u8]) -> Result<(), VerifyError> {
        check_type(SignatureType::HMAC_WITH_SHA256, found)?;
        if signature.len() != 32 {
            return Err(VerifyError::Malformed);
        }
        // Compares in constant time, so that a forger learns nothing from how long a rejection takes.
        self.over(parts).verify_slice(signature).map_err(|_| VerifyError::Mismatch)
    }
}
