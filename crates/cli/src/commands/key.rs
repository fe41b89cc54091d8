//! The key that commands to a forwarder are signed with.

use crate::failure::Failure;
use crate::manage_args::KeyArgs;
use ndnweir_wire::signature::{DigestSha256, EcdsaP256Signer, Ed25519Signer, Signer};

/// What signs commands: the key, or a digest without one.
pub fn command_signer(args: &KeyArgs) -> Result<Box<dyn Signer + Send>, Failure> {
    let Some(file) = &args.key else { return Ok(Box::new(DigestSha256)) };
    let name = args.key_name.clone().unwrap_or_default();
    let fail = |what: String| Failure::input(format!("{}: {what}", file.display()));
    let pem = std::fs::read_to_string(file).map_err(|error| fail(error.to_string()))?;
    if let Ok(signer) = Ed25519Signer::from_pkcs8_pem(&pem, Some(name.clone())) {
        return Ok(Box::new(signer));
    }
    match EcdsaP256Signer::from_pkcs8_pem(&pem, Some(name)) {
        Ok(signer) => Ok(Box::new(signer)),
        Err(_) => Err(fail("no Ed25519 or P-256 private key in PKCS#8 PEM (BEGIN PRIVATE KEY)".to_owned())),
    }
}
