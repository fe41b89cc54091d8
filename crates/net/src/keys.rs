//! Key files of commands and their answers, whichever of the two algorithms they are for.

use crate::object::Trust;
use ndnweir_wire::Name;
use ndnweir_wire::signature::{EcdsaP256Signer, EcdsaP256Verifier, Ed25519Signer, Ed25519Verifier, Signer};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}

/// A private key, whose KeyLocator is `name`.
///
/// # Errors
/// A sentence that names the file.
pub fn private(file: &Path, name: Name) -> Result<Box<dyn Signer + Send + Sync>, String> {
    let pem = read(file)?;
    if let Ok(signer) = Ed25519Signer::from_pkcs8_pem(&pem, Some(name.clone())) {
        return Ok(Box::new(signer));
    }
    match EcdsaP256Signer::from_pkcs8_pem(&pem, Some(name)) {
        Ok(signer) => Ok(Box::new(signer)),
        Err(_) => Err(format!("{}: no Ed25519 or P-256 private key in PKCS#8 PEM (BEGIN PRIVATE KEY)", file.display())),
    }
}

/// A public key, as what is trusted.
///
/// # Errors
/// A sentence that names the file.
pub fn public(file: &Path) -> Result<Trust, String> {
    let pem = read(file)?;
    if let Ok(key) = Ed25519Verifier::from_spki_pem(&pem) {
        return Ok(Trust::Ed25519(key));
    }
    match EcdsaP256Verifier::from_spki_pem(&pem) {
        Ok(key) => Ok(Trust::Ecdsa(Box::new(key))),
        Err(_) => Err(format!("{}: no Ed25519 or P-256 public key in PEM (BEGIN PUBLIC KEY)", file.display())),
    }
}

/// What to say about a private key that every user of the machine can read or change.
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
