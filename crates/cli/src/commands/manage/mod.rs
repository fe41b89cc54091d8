//! The commands that manage a forwarder: `route`, `face`, `status`, `strategy`, `cs`.

pub mod cs;
pub mod face;
mod origins;
pub mod route;
#[cfg(feature = "gnmi")]
mod route_plan;
pub mod status;
pub mod strategy;
mod table;

use crate::commands::key::{command_signer, forwarder_key};
use crate::failure::Failure;
use crate::manage_args::RemoteArgs;
use crate::terminal::say;
use ndnweir_core::plain;
use ndnweir_net::client::transport;
use ndnweir_net::face_uri::FaceUri;
use ndnweir_net::mgmt::dataset::FaceStatus;
use ndnweir_net::mgmt::{ControlParameters, ControlResponse};
use ndnweir_net::remote::{self, Remote, RemoteError};
use std::time::Duration;

/// How long each answer is waited for.
const PATIENCE: Duration = Duration::from_secs(4);

impl From<RemoteError> for Failure {
    fn from(error: RemoteError) -> Failure {
        let remedy = match &error {
            RemoteError::Rejected(response) if response.code == 403 => {
                "\nhelp: run this as the user that the forwarder runs as, or sign with a key that it trusts (--key)"
            }
            _ => "",
        };
        // What a forwarder says is one line, whatever is in it.
        Failure::work(format!("{}{remedy}", plain::line(&error.to_string())))
    }
}

/// How old a requested list may be: NFD's lists are fresh, and repeated by caches, for a second.
const LIST_AGE: Duration = Duration::from_millis(1100);

/// Connects as the arguments say.
fn connect(args: &RemoteArgs) -> Result<Remote, Failure> {
    let uri = transport(args.transport.as_deref()).map_err(Failure::input)?;
    let key = forwarder_key(&args.key)?;
    let unverified = key.is_none();
    let remote = Remote::connect(&uri, command_signer(&args.key)?, PATIENCE)?.with_trust(key);
    if unverified {
        say("unverified: nothing shows that the forwarder made these answers; --forwarder-key FILE checks it");
    }
    Ok(remote)
}

/// What a user calls a face.
enum FaceWord {
    Id(u64),
    Uri(FaceUri),
    /// As the list shows what nobody can make: the forwarder's own face, and streams that others have opened.
    Listed(String),
}

impl FaceWord {
    fn parse(text: &str) -> Result<FaceWord, Failure> {
        match text.parse::<u64>() {
            Ok(0) => Err(Failure::input("0 is not a face's number; `ndnweir face list` shows them")),
            Ok(id) => Ok(FaceWord::Id(id)),
            Err(_) if !text.contains("://") => {
                Err(Failure::input(format!("`{text}` is neither a face's number nor a URI such as udp4://HOST:PORT")))
            }
            Err(_) if ["internal://", "fd://"].iter().any(|scheme| text.starts_with(scheme)) => {
                Ok(FaceWord::Listed(text.to_owned()))
            }
            Err(_) => Ok(FaceWord::Uri(canonical(text)?)),
        }
    }

    /// The face, if there is one.
    fn find(&self, forwarder: &mut Remote) -> Result<Option<FaceStatus>, Failure> {
        let faces: Vec<FaceStatus> = forwarder.list("faces", "list")?;
        let is_it = |face: &FaceStatus| match self {
            FaceWord::Id(id) => face.face_id == *id,
            FaceWord::Uri(uri) => face.remote_uri == uri.to_string(),
            FaceWord::Listed(uri) => face.remote_uri == *uri,
        };
        Ok(faces.into_iter().find(is_it))
    }

    /// The face, which must be there.
    fn get(&self, forwarder: &mut Remote) -> Result<FaceStatus, Failure> {
        let none = || match self {
            FaceWord::Id(id) => format!("there is no face {id}; `ndnweir face list` shows them"),
            FaceWord::Uri(uri) => format!("there is no face to {uri}; `ndnweir face list` shows them"),
            FaceWord::Listed(uri) => format!("there is no face to {uri}; `ndnweir face list` shows them"),
        };
        if let Some(face) = self.find(forwarder)? {
            return Ok(face);
        }
        // It may have just been made: the list may be older.
        std::thread::sleep(LIST_AGE);
        self.find(forwarder)?.ok_or_else(|| Failure::work(none()))
    }
}

/// Makes a face. An existing face is a success, too; whether it is new is returned with it.
fn create_face(forwarder: &mut Remote, parameters: &ControlParameters) -> Result<(bool, ControlParameters), Failure> {
    match forwarder.command("faces", "create", parameters) {
        Ok(face) => Ok((true, face)),
        // An existing face is a success, too; a rejection without a face is a failure.
        Err(RemoteError::Rejected(ControlResponse { code: 409, body: Some(face), .. })) if face.face_id.is_some() => {
            Ok((false, *face))
        }
        Err(error) => Err(error.into()),
    }
}

/// A URI with an address for its host.
fn canonical(text: &str) -> Result<FaceUri, Failure> {
    let uri: FaceUri = text.parse().map_err(Failure::input)?;
    remote::canonical(&uri).map_err(|error| Failure::work(format!("{text}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_forwarder_says_of_a_rejected_command_is_one_line() {
        let response = ControlResponse { code: 403, text: "no \x1b[2J\r\nerror: \u{202e}".into(), body: None };
        let text = Failure::from(RemoteError::Rejected(response)).to_string();
        assert!(text.starts_with("no \\u{1b}[2J\\u{d}\\u{a}error: \\u{202e} (403)\nhelp: run this as"), "{text:?}");
    }
}
