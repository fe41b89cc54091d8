//! SignatureEd25519 (RFC 8032 section 5.1).

use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePublicKey};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};

use super::{KeyError, KeyLocator, SignError, SignatureType, Signer, Verifier, VerifyError, check_type};
use crate::name::Name;

const PRIVATE: &str = "Ed25519 private key";
const PUBLIC: &str = "Ed25519 public key";

/// Signs with an Ed25519 private key.
#[derive(Debug, Clone)]
pub struct Ed25519Signer {
    key: SigningKey,
    locator: Option<Name>,
}

impl Ed25519Signer {
    /// A private key as its 32-byte seed, and the name under which its certificate is found.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32], locator: Option<Name>) -> Self {
        Self { key: SigningKey::from_bytes(seed), locator }
    }

    /// A private key in PKCS#8 DER.
    ///
    /// # Errors
    /// [`KeyError::Malformed`].
    pub fn from_pkcs8_der(der: &[u8], locator: Option<Name>) -> Result<Self, KeyError> {
        let key = SigningKey::from_pkcs8_der(der).map_err(|e| KeyError::malformed(PRIVATE, e))?;
        Ok(Self { key, locator })
    }

    /// A private key in PKCS#8 PEM (`BEGIN PRIVATE KEY`).
    ///
    /// # Errors
    /// [`KeyError::Malformed`].
    pub fn from_pkcs8_pem(pem: &str, locator: Option<Name>) -> Result<Self, KeyError> {
        let key = SigningKey::from_pkcs8_pem(pem).map_err(|e| KeyError::malformed(PRIVATE, e))?;
        Ok(Self { key, locator })
    }

    /// The public half.
    #[must_use]
    pub fn verifier(&self) -> Ed25519Verifier {
        Ed25519Verifier { key: self.key.verifying_key() }
    }
}

impl Signer for Ed25519Signer {
    fn signature_type(&self) -> SignatureType {
        SignatureType::ED25519
    }

    fn key_locator(&self) -> Option<KeyLocator<'_>> {
        self.locator.as_ref().map(|n| KeyLocator::Name(n.as_view()))
    }

    fn sign(&self, parts: &[&[u8]]) -> Result<Vec<u8>, SignError> {
        let signature = self.key.try_sign(&parts.concat()).map_err(|e| SignError(e.to_string()))?;
        Ok(signature.to_bytes().to_vec())
    }
}

/// Verifies with an Ed25519 public key. Keys and signatures that would verify for many messages are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ed25519Verifier {
    key: VerifyingKey,
}

impl Ed25519Verifier {
    /// A public key as its 32 bytes.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] when the bytes are no point of the curve.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_bytes(bytes).map_err(|e| KeyError::malformed(PUBLIC, e))?;
        Ok(Self { key })
    }

    /// A public key as SubjectPublicKeyInfo in DER, as NDN certificates carry it.
    ///
    /// # Errors
    /// [`KeyError::Malformed`].
    pub fn from_spki_der(der: &[u8]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_public_key_der(der).map_err(|e| KeyError::malformed(PUBLIC, e))?;
        Ok(Self { key })
    }

    /// A public key as SubjectPublicKeyInfo in PEM (`BEGIN PUBLIC KEY`).
    ///
    /// # Errors
    /// [`KeyError::Malformed`].
    pub fn from_spki_pem(pem: &str) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_public_key_pem(pem).map_err(|e| KeyError::malformed(PUBLIC, e))?;
        Ok(Self { key })
    }

    /// The key as SubjectPublicKeyInfo in DER; its SHA-256 is the KeyDigest.
    ///
    /// # Errors
    /// [`KeyError::Encode`].
    pub fn to_spki_der(&self) -> Result<Vec<u8>, KeyError> {
        let der = self.key.to_public_key_der().map_err(|e| KeyError::Encode(e.to_string()))?;
        Ok(der.as_bytes().to_vec())
    }
}

impl Verifier for Ed25519Verifier {
    fn verify(&self, found: SignatureType, parts: &[&[u8]], signature: &[u8]) -> Result<(), VerifyError> {
        check_type(SignatureType::ED25519, found)?;
        let signature = Signature::from_slice(signature).map_err(|_| VerifyError::Malformed)?;
        let joined;
        let message = match parts {
            [one] => *one,
            _ => {
                joined = parts.concat();
                joined.as_slice()
            }
        };
        self.key.verify_strict(message, &signature).map_err(|_| VerifyError::Mismatch)
    }
}
