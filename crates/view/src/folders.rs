//! Result folders below the one that the page shows: what there is, and which of their files may be read.

use ndnweir_lab::results::Repeat;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Folders that are listed, and levels of folders that are looked at.
const MAX_FOLDERS: usize = 500;
const DEPTH: usize = 3;
/// Entries of folders that are looked at.
const MAX_ENTRIES: usize = 20_000;
/// A larger `summary.json` is listed without what it says, and a larger file is not served.
const MAX_SUMMARY: u64 = 64 << 20;
const MAX_FILE: u64 = 256 << 20;

/// What of `summary.json` is listed.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredSummary {
    scenario: Option<Named>,
    runs: Vec<StoredRun>,
    cases: Option<Vec<IgnoredAny>>,
    paper: Option<IgnoredAny>,
    repeat: Option<Repeat>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Named {
    name: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct StoredRun {
    scheme: String,
    seed: u64,
}

/// The result folders below `root`, the newest first.
pub fn list(root: &Path) -> Value {
    let mut found: Vec<(u64, Value)> = Vec::new();
    let mut entries = 0;
    walk(root, root, DEPTH, &mut entries, &mut found);
    found.sort_by_key(|(at, folder)| (std::cmp::Reverse(*at), folder["path"].to_string()));
    found.into_iter().map(|(_, folder)| folder).collect()
}

fn walk(root: &Path, folder: &Path, depth: usize, entries: &mut usize, found: &mut Vec<(u64, Value)>) {
    let Ok(list) = fs::read_dir(folder) else { return };
    let mut below = Vec::new();
    for entry in list.flatten() {
        *entries += 1;
        if *entries > MAX_ENTRIES || found.len() >= MAX_FOLDERS {
            return;
        }
        // Not followed if it is a link.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_folder && !hidden {
            below.push(entry.path());
        }
    }
    below.sort();
    for path in below {
        match described(root, &path) {
            Some(folder) => found.push(folder),
            None if depth > 1 => walk(root, &path, depth - 1, entries, found),
            None => {}
        }
    }
}

/// A result folder and when it was written; none if it is no such folder.
fn described(root: &Path, folder: &Path) -> Option<(u64, Value)> {
    let summary = folder.join("summary.json");
    let about = fs::symlink_metadata(&summary).ok().filter(fs::Metadata::is_file)?;
    let page = ["report.html", "judge.html"].into_iter().find(|page| folder.join(page).is_file())?;
    let path = crate::runs::relative(root, folder)?;
    let written = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default().as_secs();
    let said = read(&summary, MAX_SUMMARY).and_then(|bytes| serde_json::from_slice::<StoredSummary>(&bytes).ok());
    let said = said.unwrap_or_default();
    let mut schemes: Vec<String> = Vec::new();
    let mut seeds: Vec<u64> = Vec::new();
    for run in said.runs {
        if !schemes.contains(&run.scheme) {
            schemes.push(run.scheme);
        }
        if !seeds.contains(&run.seed) {
            seeds.push(run.seed);
        }
    }
    let emulated = said.repeat.as_ref().is_some_and(|repeat| repeat.command.starts_with("ndnweir emulate"));
    let kind = match (page, said.paper, said.cases) {
        ("judge.html", ..) => "judgement",
        (_, Some(_), _) => "paper",
        (_, _, Some(_)) => "cases",
        _ if emulated => "emulation",
        _ => "comparison",
    };
    let name = said.scenario.map(|scenario| scenario.name);
    let command = said.repeat.map(|repeat| repeat.command);
    Some((
        written,
        json!({
            "path": path, "page": page, "kind": kind, "scenario": name, "schemes": schemes, "seeds": seeds.len(),
            "written_unix": written, "command": command,
        }),
    ))
}

fn read(path: &Path, most: u64) -> Option<Vec<u8>> {
    let file = fs::File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let length = file.take(most + 1).read_to_end(&mut bytes).ok()? as u64;
    (length <= most).then_some(bytes)
}

/// A file of a result folder with its media type, if `path` names one that pages may show.
///
/// `path` is what came with the request, decoded: nothing in it is believed.
pub fn file(root: &Path, path: &str) -> Option<(&'static str, Vec<u8>)> {
    let path = PathBuf::from(path);
    let plain = |part: Component<'_>| match part {
        Component::Normal(name) => name.to_str().is_some_and(|name| !name.starts_with('.')),
        _ => false,
    };
    if path.components().count() < 2 || !path.components().all(plain) {
        return None;
    }
    let media_type = match path.extension()?.to_str()? {
        "html" => "text/html; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "csv" => "text/csv; charset=utf-8",
        "txt" => "text/plain; charset=utf-8",
        _ => return None,
    };
    // Links lead nowhere else.
    let (root, file) = (fs::canonicalize(root).ok()?, fs::canonicalize(root.join(&path)).ok()?);
    let inside = file.starts_with(&root);
    let folder = file.ancestors().skip(1).take(5).take_while(|folder| folder.starts_with(&root));
    let of_results = folder.into_iter().any(|folder| folder != root && folder.join("summary.json").is_file());
    if !inside || !of_results {
        return None;
    }
    read(&file, MAX_FILE).map(|bytes| (media_type, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn folders_are_listed_with_what_they_say_and_damaged_ones_without() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let summary = r#"{"scenario":{"name":"<b>x"},"runs":[{"scheme":"a","seed":1},{"scheme":"a","seed":2},{"scheme":"b","seed":1}]}"#;
        put(&root.join("one/summary.json"), summary);
        put(&root.join("one/report.html"), "");
        put(&root.join("papers/two/summary.json"), "{ not json");
        put(&root.join("papers/two/report.html"), "");
        put(&root.join("judge/summary.json"), "{}");
        put(&root.join("judge/judge.html"), "");
        put(&root.join(".hidden/summary.json"), "{}");
        put(&root.join(".hidden/report.html"), "");
        put(&root.join("no-results/report.html"), "");
        let all = list(root);
        let find = |path: &str| all.as_array().unwrap().iter().find(|f| f["path"] == path).cloned();
        assert_eq!(all.as_array().unwrap().len(), 3, "{all}");
        let one = find("one").unwrap();
        assert_eq!((&one["scenario"], &one["schemes"], &one["seeds"]), (&json!("<b>x"), &json!(["a", "b"]), &json!(2)));
        assert_eq!(find("judge").unwrap()["kind"], "judgement");
        assert_eq!(find("papers/two").unwrap()["kind"], "comparison");
    }

    #[test]
    fn only_files_of_result_folders_are_read() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("results");
        put(&root.join("one/summary.json"), "{}");
        put(&root.join("one/report.html"), "page");
        put(&root.join("one/figures/a.svg"), "svg");
        put(&root.join("one/.secret.json"), "s");
        put(&root.join("one/key.pem"), "s");
        put(&root.join("top.html"), "s");
        put(&root.join("other/notes.txt"), "s");
        put(&dir.path().join("outside.html"), "s");
        put(&dir.path().join("elsewhere/summary.json"), "{}");
        put(&dir.path().join("elsewhere/report.html"), "s");
        std::os::unix::fs::symlink(dir.path().join("elsewhere"), root.join("link")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("one/passwd.txt")).unwrap();
        assert_eq!(file(&root, "one/report.html"), Some(("text/html; charset=utf-8", b"page".to_vec())));
        assert_eq!(file(&root, "one/figures/a.svg").map(|f| f.0), Some("image/svg+xml"));
        for path in [
            "../outside.html",
            "one/../../outside.html",
            "/etc/passwd",
            "one/.secret.json",
            "one/key.pem",
            "top.html",
            "other/notes.txt",
            "link/report.html",
            "one/passwd.txt",
            "",
            "one",
            "one/none.html",
            "./one/report.html",
            "one//../../outside.html",
            "..%2foutside.html",
            "one/report.html\0",
        ] {
            assert_eq!(file(&root, path), None, "{path}");
        }
        assert!(list(&root).as_array().unwrap().iter().all(|f| f["path"] != "link"));
    }
}
