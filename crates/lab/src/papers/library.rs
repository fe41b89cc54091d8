//! The source of papers: the binary, or a folder.

use include_dir::{Dir, include_dir};
use ndnweir_scenario::diag::suggest;
use ndnweir_scenario::{Location, Problems};
use std::io;
use std::path::{Path, PathBuf};

static SHIPPED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../papers");

/// The file that every folder of a paper contains.
pub const PUBLISHED: &str = "published.toml";
/// The page for readers.
pub const PAGE: &str = "page.md";

/// A paper's folder.
#[derive(Clone, Debug)]
pub enum Folder {
    /// Included in the binary, by name.
    Shipped(&'static str),
    /// On disk.
    Disk(PathBuf),
}

/// Names of the shipped papers, in alphabetical order.
pub fn names() -> Vec<&'static str> {
    let name = |dir: &Dir<'static>| dir.path().to_str().filter(|_| dir.get_file(dir.path().join(PUBLISHED)).is_some());
    let mut names: Vec<&str> = SHIPPED.dirs().filter_map(name).collect();
    names.sort_unstable();
    names
}

impl Folder {
    /// A shipped paper by its name, or any folder with a `published.toml`.
    ///
    /// # Errors
    /// If there is no such paper or folder; the message names the papers that exist.
    pub fn find(name: &str) -> Result<Folder, Problems> {
        if let Some(shipped) = names().into_iter().find(|n| *n == name) {
            return Ok(Folder::Shipped(shipped));
        }
        let path = Path::new(name);
        if path.join(PUBLISHED).is_file() {
            return Ok(Folder::Disk(path.to_path_buf()));
        }
        let help = format!("{}; or give the path of a folder with a {PUBLISHED}", suggest(name, "papers", names()));
        Err(Problems::one(Location::whole(name), "no paper is called this", help))
    }

    /// The paper's name, which is that of the folder.
    pub fn name(&self) -> String {
        match self {
            Folder::Shipped(name) => (*name).to_owned(),
            Folder::Disk(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                path.file_name().map_or_else(|| "paper".into(), |n| n.to_string_lossy().into_owned())
            }
        }
    }

    /// The name of a file in error messages.
    pub fn shown(&self, file: &str) -> String {
        match self {
            Folder::Shipped(name) => format!("papers/{name}/{file}"),
            Folder::Disk(path) => path.join(file).display().to_string(),
        }
    }

    /// The folder against which file names in its files are resolved.
    pub fn base(&self) -> PathBuf {
        match self {
            Folder::Shipped(_) => PathBuf::new(),
            Folder::Disk(path) => path.clone(),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// If the file does not exist or is not text.
    pub fn text(&self, file: &str) -> io::Result<String> {
        match self {
            Folder::Shipped(name) => {
                let found = SHIPPED.get_file(format!("{name}/{file}")).and_then(|f| f.contents_utf8());
                found.map(str::to_owned).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such file"))
            }
            Folder::Disk(path) => ndnweir_files::read_text(&path.join(file), ndnweir_files::SETTINGS),
        }
    }
}
