//! Trust in what is fetched, and signers of what is published.

use ndnweir_wire::signature::{
    DigestSha256, EcdsaP256Signer, EcdsaP256Verifier, Ed25519Signer, Ed25519Verifier, KeyError, SignatureType, Signer,
    Verifier, VerifyError, sha256,
};
use ndnweir_wire::{Component, DataView, Name};
use std::path::{Path, PathBuf};

/// What a successful check shows about a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verification {
    /// Nothing: it is signed with a key that is not trusted.
    #[default]
    Nothing,
    /// It is unchanged; its producer is unknown.
    Digest,
    /// It was made by the holder of the key.
    Signer,
}

/// Why a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// The text is none of the forms.
    #[error("`{0}` is not understood; write {1}")]
    Form(String, &'static str),
    /// The file cannot be read.
    #[error("{}: {problem}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: std::io::Error,
    },
    /// The file holds no such key.
    #[error("{}: {problem}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: KeyError,
    },
}

const SIGN_FORMS: &str = "digest, ed25519:KEYFILE or ecdsa:KEYFILE (private keys in PKCS#8 PEM)";
const TRUST_FORMS: &str = "any, digest, ed25519:PUBFILE or ecdsa:PUBFILE (public keys in PEM)";

/// Reads a key file with `parse`.
fn read<T>(path: &str, parse: impl Fn(&str) -> Result<T, KeyError>) -> Result<T, KeyFileError> {
    let path = Path::new(path);
    let text = ndnweir_files::read_text(path, ndnweir_files::SETTINGS);
    let text = text.map_err(|problem| KeyFileError::File { path: path.into(), problem })?;
    parse(&text).map_err(|problem| KeyFileError::Key { path: path.into(), problem })
}

/// The signer that `text` describes: `digest`, `ed25519:KEYFILE` or `ecdsa:KEYFILE`.
///
/// The key locator is `/owner/KEY/ID`, with the first 8 bytes of the public key's SHA-256 as ID.
///
/// # Errors
/// [`KeyFileError`].
pub fn signer(text: &str, owner: &Name) -> Result<Box<dyn Signer + Send>, KeyFileError> {
    let locator = |spki: Vec<u8>| {
        let digest = sha256(&[&spki]);
        let id = Component::generic(&digest[..8]);
        Some(owner.clone().with(Component::generic("KEY")).with(id))
    };
    match text.split_once(':') {
        None if text == "digest" => Ok(Box::new(DigestSha256)),
        Some(("ed25519", path)) => read(path, |pem| {
            let spki = Ed25519Signer::from_pkcs8_pem(pem, None)?.verifier().to_spki_der()?;
            Ok(Box::new(Ed25519Signer::from_pkcs8_pem(pem, locator(spki))?) as Box<dyn Signer + Send>)
        }),
        Some(("ecdsa", path)) => read(path, |pem| {
            let spki = EcdsaP256Signer::from_pkcs8_pem(pem, None)?.verifier().to_spki_der()?;
            Ok(Box::new(EcdsaP256Signer::from_pkcs8_pem(pem, locator(spki))?) as Box<dyn Signer + Send>)
        }),
        _ => Err(KeyFileError::Form(text.into(), SIGN_FORMS)),
    }
}

/// Which signatures are accepted.
#[derive(Clone, Debug, Default)]
pub enum Trust {
    /// Any. A digest is checked all the same, since that needs no key; other signatures are not.
    #[default]
    Any,
    /// DigestSha256: the packet is unchanged; its producer is unknown.
    Digest,
    /// This Ed25519 key.
    Ed25519(Ed25519Verifier),
    /// This ECDSA P-256 key.
    Ecdsa(Box<EcdsaP256Verifier>),
}

impl Trust {
    /// Reads `any`, `digest`, `ed25519:PUBFILE` or `ecdsa:PUBFILE`.
    ///
    /// # Errors
    /// [`KeyFileError`].
    pub fn read(text: &str) -> Result<Trust, KeyFileError> {
        match text.split_once(':') {
            None if text == "any" => Ok(Trust::Any),
            None if text == "digest" => Ok(Trust::Digest),
            Some(("ed25519", path)) => read(path, Ed25519Verifier::from_spki_pem).map(Trust::Ed25519),
            Some(("ecdsa", path)) => read(path, EcdsaP256Verifier::from_spki_pem).map(|v| Trust::Ecdsa(Box::new(v))),
            _ => Err(KeyFileError::Form(text.into(), TRUST_FORMS)),
        }
    }

    /// Checks a packet's signature, and says what that shows.
    ///
    /// # Errors
    /// [`VerifyError`] if it is not accepted.
    pub fn check(&self, data: &DataView<'_>) -> Result<Verification, VerifyError> {
        match self {
            Trust::Any if data.signature_info().signature_type != SignatureType::DIGEST_SHA256 => {
                Ok(Verification::Nothing)
            }
            Trust::Any | Trust::Digest => data.verify(&DigestSha256).map(|()| Verification::Digest),
            Trust::Ed25519(key) => data.verify(key as &dyn Verifier).map(|()| Verification::Signer),
            Trust::Ecdsa(key) => data.verify(&**key as &dyn Verifier).map(|()| Verification::Signer),
        }
    }

    /// What is known at least of all that is accepted.
    pub fn weakest(&self) -> Verification {
        match self {
            Trust::Any => Verification::Nothing,
            Trust::Digest => Verification::Digest,
            Trust::Ed25519(_) | Trust::Ecdsa(_) => Verification::Signer,
        }
    }

    /// Whether what is accepted is known to be from one signer. If not, anyone on the path may have made it.
    pub fn proves_signer(&self) -> bool {
        matches!(self, Trust::Ed25519(_) | Trust::Ecdsa(_))
    }

    /// A text that is the same for the same trust, to keep with what was accepted under it.
    pub fn fingerprint(&self) -> String {
        let hex = |spki: Result<Vec<u8>, KeyError>| {
            let digest = sha256(&[&spki.unwrap_or_default()]);
            digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        };
        match self {
            Trust::Any => "any".into(),
            Trust::Digest => "digest".into(),
            Trust::Ed25519(key) => format!("ed25519:{}", hex(key.to_spki_der())),
            Trust::Ecdsa(key) => format!("ecdsa:{}", hex(key.to_spki_der())),
        }
    }
}
