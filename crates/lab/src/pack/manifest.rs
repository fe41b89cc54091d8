//! What a pack says about itself.

use crate::results::Error;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of the format.
const FORMAT: u32 = 1;

/// What made the results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pack: u32,
    /// The command's words, from `ndnweir` on.
    pub command: Vec<String>,
    /// The version of the program that made the results.
    pub version: String,
    /// The program that packed them: its version and a hash of its file (see [`crate::jobs::engine`]).
    pub packed_by: String,
    /// Processor and operating system on which that ran.
    pub platform: String,
}

impl Manifest {
    /// For results of a command by the program of that version, packed by this program on this machine.
    pub fn new(command: Vec<String>, version: String, packed_by: String) -> Manifest {
        let platform = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        Manifest { pack: FORMAT, command, version, packed_by, platform }
    }

    /// The file.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads the file `text`, which is called `shown`.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn read(text: &str, shown: &Path) -> Result<Manifest, Error> {
        let damaged = |what: String| Error::Damaged {
            path: shown.display().to_string(),
            what,
            remedy: "name an archive that `ndnweir pack` of this version wrote",
        };
        let manifest: Manifest = serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
        match manifest.pack {
            FORMAT => Ok(manifest),
            other => Err(damaged(format!("a pack of format {other}, and this program reads {FORMAT}"))),
        }
    }
}
