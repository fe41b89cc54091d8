//! The Unix socket for applications: its path in the file system is created and removed.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The socket and its place.
pub(super) struct UnixPlace {
    listener: UnixListener,
    path: PathBuf,
    /// Device and inode, to leave alone what others put there since.
    file: (u64, u64),
}

impl UnixPlace {
    /// A socket at `path`, in place of one that a dead process left; anything else at the path stays, and folders are
    /// not made.
    ///
    /// # Errors
    /// Why there is none, and what can be done.
    pub(super) fn open(path: &Path) -> Result<UnixPlace, (io::Error, &'static str)> {
        let listener = match UnixListener::bind(path) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
                remove_stale(path)?;
                UnixListener::bind(path).map_err(explained)?
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Err((e, " (make its folder first)")),
            other => other.map_err(explained)?,
        };
        let plain = |e| (e, "");
        listener.set_nonblocking(true).map_err(plain)?;
        // Applications of every user may use it, as with NFD; the management decides who may give commands.
        fs::set_permissions(path, Permissions::from_mode(0o666)).map_err(plain)?;
        let file = id_of(path).map_err(plain)?;
        Ok(UnixPlace { listener, path: path.to_owned(), file })
    }

    pub(super) fn listener(&self) -> &UnixListener {
        &self.listener
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for UnixPlace {
    fn drop(&mut self) {
        if id_of(&self.path).is_ok_and(|file| file == self.file) {
            // Another process may have removed it; then there is nothing to do.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn explained(error: io::Error) -> (io::Error, &'static str) {
    let remedy = super::remedy(&error);
    (error, remedy)
}

fn id_of(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|file| (file.dev(), file.ino()))
}

/// Removes a socket that is not listened on.
fn remove_stale(path: &Path) -> Result<(), (io::Error, &'static str)> {
    let file = fs::symlink_metadata(path).map_err(|e| (e, ""))?;
    if !file.file_type().is_socket() {
        let error = io::Error::new(io::ErrorKind::AlreadyExists, "there is something that is not a socket");
        return Err((error, " (give another path, or move it away)"));
    }
    match UnixStream::connect(path) {
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(|e| (e, "")),
        _ => Err(explained(io::ErrorKind::AddrInUse.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_stale_socket_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        drop(UnixListener::bind(&path).unwrap());
        let place = UnixPlace::open(&path).unwrap();
        assert!(UnixPlace::open(&path).is_err_and(|(_, remedy)| remedy.contains("another forwarder")));
        assert!(UnixStream::connect(place.path()).is_ok());
        drop(place);
        assert!(!path.exists());
    }

    #[test]
    fn files_folders_and_links_stay_and_no_folder_is_made() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("thesis"), "years of work").unwrap();
        fs::create_dir(at("folder")).unwrap();
        std::os::unix::fs::symlink(at("thesis"), at("link")).unwrap();
        drop(UnixListener::bind(at("stale")).unwrap());
        std::os::unix::fs::symlink(at("stale"), at("link-to-stale")).unwrap();
        for name in ["thesis", "folder", "link", "link-to-stale"] {
            let (error, remedy) = UnixPlace::open(&at(name)).err().unwrap();
            assert!(error.to_string().contains("not a socket") && remedy.contains("another path"), "{name}: {error}");
            assert!(fs::symlink_metadata(at(name)).is_ok());
        }
        assert_eq!(fs::read(at("thesis")).unwrap(), b"years of work");
        assert!(UnixPlace::open(&at("new/s")).is_err_and(|(_, remedy)| remedy.contains("folder")));
        assert!(!at("new").exists());
    }

    #[test]
    fn what_others_put_in_its_place_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let place = UnixPlace::open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "mine").unwrap();
        drop(place);
        assert_eq!(fs::read(&path).unwrap(), b"mine");
    }
}
