//! The key that commands to a forwarder are signed with, and the public key of the forwarder.

use crate::failure::Failure;
use crate::manage_args::KeyArgs;
use crate::terminal::say;
use ndnweir_net::keys;
use ndnweir_net::object::Trust;
use ndnweir_wire::signature::{DigestSha256, Signer};
use std::path::{Path, PathBuf};

/// Names the forwarder's public key where no option does.
pub const VARIABLE: &str = "NDNWEIR_FORWARDER_KEY";

/// What signs commands: the key, or a digest without one.
pub fn command_signer(args: &KeyArgs) -> Result<Box<dyn Signer + Send>, Failure> {
    let Some(file) = &args.key else { return Ok(Box::new(DigestSha256)) };
    let signer = keys::private(file, args.key_name.clone().unwrap_or_default()).map_err(Failure::input)?;
    warn_if_exposed(file);
    Ok(signer)
}

/// The key that must have signed the forwarder's answers; none where none was given.
pub fn forwarder_key(args: &KeyArgs) -> Result<Option<Trust>, Failure> {
    let named = args.forwarder_key.clone().or_else(|| std::env::var_os(VARIABLE).map(PathBuf::from));
    let named = named.filter(|file| !file.as_os_str().is_empty());
    named.map(|file| keys::public(&file).map_err(|e| Failure::Input(format!("--forwarder-key: {e}")))).transpose()
}

/// Reports that others can use a private key.
pub fn warn_if_exposed(file: &Path) {
    if let Some(warning) = keys::exposed(file) {
        say(format_args!("warning: {warning}"));
    }
}
