//! SignatureSha256WithEcdsa on NIST P-256; the signature value is a DER Ecdsa-Sig-Value (RFC 3279 section 2.2.3).

use p256::ecdsa::signature::{MultipartSigner, MultipartVerifier};
use p256::ecdsa::{DerSignature, SigningKey, VerifyingKey};
use p256::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePublicKey};

use super::{KeyError, KeyLocator, SignError, SignatureType, Signer, Verifier, VerifyError, check_type};
use crate::name::Name;

const PRIVATE: &str = "P-256 private key";
const PUBLIC: &str = "P-256 public key";

/// Signs with a P-256 private key; the same bytes always get the same signature (RFC 6979).
#[derive(Debug, Clone)]
pub struct EcdsaP256Signer {
    key: SigningKey,
    locator: Option<Name>,
}

impl EcdsaP256Signer {
    /// A private key as 32 big-endian bytes, and the name under which its certificate is found.
    ///
    /// # Errors
    /// [`KeyError::Malformed`] when the number is 0 or not below the order of the group.
    pub fn from_scalar(scalar: &[u8; 32], locator: Option<Name>) -> Result<Self, KeyError> {
        let key = SigningKey::from_slice(scalar).map_err(|e| KeyError::malformed(PRIVATE, e))?;
        Ok(Self { key, locator })
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
    pub fn verifier(&self) -> EcdsaP256Verifier {
        EcdsaP256Verifier { key: *self.key.verifying_key() }
    }
}

impl Signer for EcdsaP256Signer {
    fn signature_type(&self) -> SignatureType {
        SignatureType::SHA256_WITH_ECDSA
    }

    fn key_locator(&self) -> Option<KeyLocator<'_>> {
        self.locator.as_ref().map(|n| KeyLocator::Name(n.as_view()))
    }

    fn sign(&self, parts: &[&[u8]]) -> Result<Vec<u8>, SignError> {
        let signature: p256::ecdsa::Signature =
            self.key.try_multipart_sign(parts).map_err(|e| SignError(e.to_string()))?;
        Ok(signature.to_der().as_bytes().to_vec())
    }
}

/// Verifies with a P-256 public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EcdsaP256Verifier {
    key: VerifyingKey,
}

impl EcdsaP256Verifier {
    /// A public key as a SEC1 point, compressed (33 bytes) or not (65 bytes).
    ///
    /// # Errors
    /// [`KeyError::Malformed`] when the bytes are no point of the curve.
    pub fn from_sec1(point: &[u8]) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_sec1_bytes(point).map_err(|e| KeyError::malformed(PUBLIC, e))?;
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

impl Verifier for EcdsaP256Verifier {
    fn verify(&self, found: SignatureType, parts: &[&[u8]], signature: &[u8]) -> Result<(), VerifyError> {
        check_type(SignatureType::SHA256_WITH_ECDSA, found)?;
        let signature = DerSignature::try_from(signature).map_err(|_| VerifyError::Malformed)?;
        self.key.multipart_verify(parts, &signature).map_err(|_| VerifyError::Mismatch)
    }
}
