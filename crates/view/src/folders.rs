//! Result folders below the one that the page shows: what there is, and which of their files may be read.

use ndnweir_lab::results::Repeat;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
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
/// Bytes of all `summary.json` that a listing reads; of further folders it does not say what they hold.
const MAX_SUMMARIES: u64 = 1 << 30;
/// Schemes of a folder that are listed.
const MAX_SCHEMES: usize = 256;

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
    let mut left = Left { entries: MAX_ENTRIES, bytes: MAX_SUMMARIES };
    walk(root, root, DEPTH, &mut left, &mut found);
    found.sort_by_key(|(at, folder)| (std::cmp::Reverse(*at), folder["path"].to_string()));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// What a listing may still look at.
struct Left {
    entries: usize,
    bytes: u64,
}

fn walk(root: &Path, folder: &Path, depth: usize, left: &mut Left, found: &mut Vec<(u64, Value)>) {
    let Ok(list) = fs::read_dir(folder) else { return };
    let mut below = Vec::new();
    for entry in list.flatten() {
        if left.entries == 0 || found.len() >= MAX_FOLDERS {
            return;
        }
        left.entries -= 1;
        // Not followed if it is a link.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if is_folder && !hidden {
            below.push(entry.path());
        }
    }
    below.sort();
    for path in below {
        match described(root, &path, &mut left.bytes) {
            Some(folder) => found.push(folder),
            None if depth > 1 => walk(root, &path, depth - 1, left, found),
            None => {}
        }
    }
}

/// A result folder and when it was written; none if it is no such folder.
fn described(root: &Path, folder: &Path, left: &mut u64) -> Option<(u64, Value)> {
    let summary = folder.join("summary.json");
    let about = fs::symlink_metadata(&summary).ok().filter(fs::Metadata::is_file)?;
    let page = ["report.html", "judge.html"].into_iter().find(|page| folder.join(page).is_file())?;
    let path = crate::runs::relative(root, folder)?;
    let written = about.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok()).unwrap_or_default().as_secs();
    let bytes = ndnweir_files::read(&summary, MAX_SUMMARY.min(*left)).unwrap_or_default();
    *left -= bytes.len() as u64;
    let said = serde_json::from_slice::<StoredSummary>(&bytes).unwrap_or_default();
    // Sets, as somebody else's file may name millions.
    let seeds: HashSet<u64> = said.runs.iter().map(|run| run.seed).collect();
    let mut schemes: Vec<&str> = Vec::new();
    let mut known = HashSet::new();
    for StoredRun { scheme, .. } in &said.runs {
        if schemes.len() < MAX_SCHEMES && known.insert(scheme.as_str()) {
            schemes.push(scheme);
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
    // Opening a pipe would wait for who writes it.
    ndnweir_files::read(&file, MAX_FILE).ok().map(|bytes| (media_type, bytes))
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

    // A hundred thousand names compared with each other take minutes; a set of them a fraction of a second.
    #[test]
    fn a_summary_that_names_very_many_schemes_and_seeds_does_not_hold_up_the_list() {
        let dir = tempfile::tempdir().unwrap();
        let runs: Vec<Value> = (0..100_000).map(|i| json!({ "scheme": format!("s{i}"), "seed": i })).collect();
        put(&dir.path().join("many/summary.json"), &json!({ "runs": runs }).to_string());
        put(&dir.path().join("many/report.html"), "");
        let (say, said) = std::sync::mpsc::channel();
        let root = dir.path().to_owned();
        std::thread::spawn(move || say.send(list(&root)));
        let all = said.recv_timeout(std::time::Duration::from_secs(20)).expect("the list within 20 s");
        let schemes = all[0]["schemes"].as_array().unwrap();
        assert_eq!((schemes.len(), &schemes[1], &all[0]["seeds"]), (MAX_SCHEMES, &json!("s1"), &json!(100_000)));
    }

    #[test]
    fn what_folders_say_beyond_the_bytes_that_a_listing_reads_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("one/summary.json"), r#"{"runs":[{"scheme":"a","seed":1}]}"#);
        put(&dir.path().join("one/report.html"), "");
        let schemes =
            |mut left| described(dir.path(), &dir.path().join("one"), &mut left).unwrap().1["schemes"].clone();
        assert_eq!((schemes(34), schemes(33)), (json!(["a"]), json!([])));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_in_a_result_folder_is_no_file_and_nobody_waits_for_it() {
        let dir = tempfile::tempdir().unwrap();
        put(&dir.path().join("one/summary.json"), "{}");
        put(&dir.path().join("one/report.html"), "");
        let pipe = dir.path().join("one/pipe.svg");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (say, said) = std::sync::mpsc::channel();
        let root = dir.path().to_owned();
        std::thread::spawn(move || say.send(file(&root, "one/pipe.svg")));
        assert_eq!(said.recv_timeout(std::time::Duration::from_secs(20)).expect("an answer within 20 s"), None);
    }
}
