//! Hashes of what runs depend on.

use ndnweir_core::scheme::Scheme;
use ndnweir_scenario::Scenario;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// SHA-256 in hexadecimal digits.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// A hash of all in a scenario that a run depends on: not its name, description and file, and not the schemes that it
/// offers, of which a run has one.
pub fn scenario_hash(scenario: &Scenario) -> String {
    let mut read = json!(scenario);
    if let Some(keys) = read.as_object_mut() {
        for key in ["name", "about", "source", "notes", "schemes", "compositions"] {
            keys.remove(key);
        }
    }
    hash(read.to_string().as_bytes())
}

/// A hash of a scheme with all its parameters.
pub fn scheme_hash(scheme: &Scheme) -> String {
    hash(json!(scheme).to_string().as_bytes())
}
