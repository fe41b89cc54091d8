//! The source of criteria: the binary, or a folder.

use include_dir::{Dir, include_dir};
use ndnweir_scenario::{Location, Problems};
use std::io;
use std::path::{Path, PathBuf};

static SHIPPED: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../judge");

/// The folder of scenario files, in the folder of the criteria.
pub const SCENARIOS: &str = "scenarios";
/// The dated log of changes.
const LOG: &str = "LOG.md";

/// A folder of criteria.
#[derive(Clone, Debug)]
pub enum Folder {
    /// Included in the binary.
    Shipped,
    /// On disk.
    Disk(PathBuf),
}

impl Folder {
    /// The shipped criteria, or those of a folder.
    ///
    /// # Errors
    /// If it is not a folder or contains no criteria.
    pub fn find(path: Option<&Path>) -> Result<Folder, Problems> {
        let folder = path.map_or(Folder::Shipped, |path| Folder::Disk(path.to_path_buf()));
        let wrong = |what: String| {
            let shown = path.map(|p| p.display().to_string()).unwrap_or_default();
            Problems::one(Location::whole(&shown), what, "name a folder with criteria, one in each NAME.toml")
        };
        match folder.names() {
            Ok(names) if names.is_empty() => Err(wrong("there is no criterion in this folder".into())),
            Ok(_) => Ok(folder),
            Err(error) => Err(wrong(error.to_string())),
        }
    }

    /// Names of the criteria, in alphabetical order.
    ///
    /// # Errors
    /// The system's error, if the folder cannot be read.
    pub fn names(&self) -> io::Result<Vec<String>> {
        let name = |path: &Path| {
            let toml = path.extension().is_some_and(|e| e == "toml");
            path.file_stem().filter(|_| toml).map(|stem| stem.to_string_lossy().into_owned())
        };
        let mut names: Vec<String> = match self {
            Folder::Shipped => SHIPPED.files().filter_map(|f| name(f.path())).collect(),
            Folder::Disk(path) => std::fs::read_dir(path)?.flatten().filter_map(|e| name(&e.path())).collect(),
        };
        names.sort_unstable();
        Ok(names)
    }

    /// The name of a file in error messages.
    pub fn shown(&self, file: &str) -> String {
        match self {
            Folder::Shipped => format!("judge/{file}"),
            Folder::Disk(path) => path.join(file).display().to_string(),
        }
    }

    /// The folder against which file names in its scenarios are resolved.
    pub fn base(&self) -> PathBuf {
        match self {
            Folder::Shipped => PathBuf::new(),
            Folder::Disk(path) => path.join(SCENARIOS),
        }
    }

    /// The text of a file.
    ///
    /// # Errors
    /// If the file does not exist or is not text.
    pub fn text(&self, file: &str) -> io::Result<String> {
        match self {
            Folder::Shipped => {
                let found = SHIPPED.get_file(file).and_then(|f| f.contents_utf8());
                found.map(str::to_owned).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such file"))
            }
            Folder::Disk(path) => ndnweir_files::read_text(&path.join(file), ndnweir_files::SETTINGS),
        }
    }

    /// The date of the last change in the log, which is the first cell of its last row; `None` if there is no log.
    pub fn dated(&self) -> Option<String> {
        let text = self.text(LOG).ok()?;
        let last = text.lines().rev().find(|line| line.starts_with("| "))?;
        last.split('|').nth(1).map(|date| date.trim().to_owned()).filter(|date| date.starts_with(char::is_numeric))
    }
}
