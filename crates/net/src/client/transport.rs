//! Where the forwarder of this machine's applications is.
//!
//! In this order, as ndn-cxx has it: the command line, the environment variable `NDN_CLIENT_TRANSPORT`, the line
//! `transport=…` of `client.conf` in `~/.ndn`, `/usr/local/etc/ndn` or `/etc/ndn`, and [`DEFAULT_SOCKET`].

use crate::face_uri::{DEFAULT_SOCKET, FaceUri, FaceUriError};
use std::path::{Path, PathBuf};

/// The environment variable that names the transport.
pub const VARIABLE: &str = "NDN_CLIENT_TRANSPORT";

/// A transport that cannot be understood, and where it was written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct TransportError {
    place: String,
    problem: FaceUriError,
}

/// The transport to use: the `option` of the command line, or what the environment and the files of this machine say.
///
/// # Errors
/// [`TransportError`] if the first of them that is present is not a face URI.
pub fn transport(option: Option<&str>) -> Result<FaceUri, TransportError> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".ndn"));
    let folders: Vec<PathBuf> = home.into_iter().chain(["/usr/local/etc/ndn".into(), "/etc/ndn".into()]).collect();
    choose(option, std::env::var(VARIABLE).ok().as_deref(), &folders)
}

fn choose(option: Option<&str>, variable: Option<&str>, folders: &[PathBuf]) -> Result<FaceUri, TransportError> {
    let read = |place: String, text: &str| text.parse().map_err(|problem| TransportError { place, problem });
    if let Some(text) = option {
        return read("--transport".into(), text);
    }
    if let Some(text) = variable.filter(|text| !text.is_empty()) {
        return read(VARIABLE.into(), text);
    }
    for folder in folders {
        let file = folder.join("client.conf");
        if let Some(text) = read_file(&file) {
            return read(file.display().to_string(), &text);
        }
    }
    Ok(FaceUri::Unix(DEFAULT_SOCKET.into()))
}

/// The transport set in a file; none if it cannot be read or has none.
fn read_file(path: &Path) -> Option<String> {
    let text = ndnweir_files::read_text(path, ndnweir_files::SETTINGS).ok()?;
    let mut values = text.lines().filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "transport").then(|| value.trim().to_owned())
    });
    values.next_back().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unix(path: &str) -> FaceUri {
        FaceUri::Unix(path.into())
    }

    #[test]
    fn the_command_line_goes_before_the_environment_and_that_before_files() {
        let dir = tempfile::tempdir().unwrap();
        let conf = "; a comment\n;transport=unix:///no\n  transport = unix:///file.sock \npib=sqlite3\n";
        std::fs::write(dir.path().join("client.conf"), conf).unwrap();
        let folders = [dir.path().join("none"), dir.path().to_owned()];
        let choose = |option, variable| choose(option, variable, &folders).unwrap();
        assert_eq!(choose(Some("unix:///a"), Some("unix:///b")), unix("/a"));
        assert_eq!(choose(None, Some("unix:///b")), unix("/b"));
        assert_eq!(choose(None, Some("")), unix("/file.sock"));
        assert_eq!(super::choose(None, None, &[]).unwrap(), unix(DEFAULT_SOCKET));
    }

    #[test]
    fn an_error_says_where_the_transport_was_written() {
        let error = choose(None, Some("ether://x"), &[]).unwrap_err().to_string();
        assert!(error.starts_with("NDN_CLIENT_TRANSPORT: `ether://x`"), "{error}");
    }
}
