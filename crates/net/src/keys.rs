//! Key files of commands and their answers, whichever of the two algorithms they are for.

use crate::object::Trust;
use ndnweir_wire::Name;
use ndnweir_wire::signature::{EcdsaP256Signer, EcdsaP256Verifier, Ed25519Signer, Ed25519Verifier, Signer};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Why there is no key; names the file.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read.
    #[error("{}: {error}", file.display())]
    Unreadable {
        /// Which.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The file holds no private key.
    #[error("{}: no Ed25519 or P-256 private key in PKCS#8 PEM (BEGIN PRIVATE KEY)", .0.display())]
    NotPrivate(PathBuf),
    /// The file holds no public key.
    #[error("{}: no Ed25519 or P-256 public key in PEM (BEGIN PUBLIC KEY)", .0.display())]
    NotPublic(PathBuf),
}

fn read(file: &Path) -> Result<String, KeyError> {
    ndnweir_files::read_text(file, ndnweir_files::SETTINGS)
        .map_err(|error| KeyError::Unreadable { file: file.to_owned(), error })
}

/// A private key, whose KeyLocator is `name`.
///
/// # Errors
/// [`KeyError`].
pub fn private(file: &Path, name: Name) -> Result<Box<dyn Signer + Send + Sync>, KeyError> {
    let pem = read(file)?;
    if let Ok(signer) = Ed25519Signer::from_pkcs8_pem(&pem, Some(name.clone())) {
        return Ok(Box::new(signer));
    }
    match EcdsaP256Signer::from_pkcs8_pem(&pem, Some(name)) {
        Ok(signer) => Ok(Box::new(signer)),
        Err(_) => Err(KeyError::NotPrivate(file.to_owned())),
    }
}

/// A public key, as a trust anchor.
///
/// # Errors
/// [`KeyError`].
pub fn public(file: &Path) -> Result<Trust, KeyError> {
    let pem = read(file)?;
    if let Ok(key) = Ed25519Verifier::from_spki_pem(&pem) {
        return Ok(Trust::Ed25519(key));
    }
    match EcdsaP256Verifier::from_spki_pem(&pem) {
        Ok(key) => Ok(Trust::Ecdsa(Box::new(key))),
        Err(_) => Err(KeyError::NotPublic(file.to_owned())),
    }
}

/// The warning about a private key that every user of the machine can read or change.
pub fn exposed(file: &Path) -> Option<String> {
    let mode = std::fs::metadata(file).ok()?.mode();
    let path = file.display();
    (mode & 0o007 != 0).then(|| {
        format!(
            "{path} is a private key that every user of this machine can use (mode {:o}): chmod 600 {path}",
            mode & 0o777
        )
    })
}
