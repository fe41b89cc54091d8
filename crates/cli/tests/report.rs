//! Result folders and `ndnweir report`.

use crate::common::{self, contents, rejects, run, short, stdout};
use std::fs;
use std::path::Path;
use tempfile::tempdir;

/// Fails if a page loads anything from elsewhere: its markup names nothing, its scripts have no means to.
fn loads_nothing(page: &str) {
    let (mut markup, mut scripts) = (String::new(), String::new());
    for (i, part) in page.split("<script").enumerate() {
        let (script, after) = if i == 0 { ("", part) } else { part.split_once("</script>").unwrap() };
        // The tag itself is markup.
        let (tag, script) = if i == 0 { ("", "") } else { script.split_once('>').unwrap() };
        for text in [if i == 0 { "" } else { "<script" }, tag, after] {
            markup.push_str(text);
        }
        scripts.push_str(script);
    }
    for word in ["fetch(", "XMLHttpRequest", "import(", "WebSocket", "EventSource", "sendBeacon", "importScripts"] {
        assert!(!scripts.contains(word), "a script contains {word}");
    }
    let page = markup.as_str();
    for attribute in ["src=", "href=", "xlink:href=", "action=", "data=", "poster=", "srcset="] {
        for (at, _) in page.match_indices(attribute) {
            let value = page[at + attribute.len()..].trim_start_matches(['"', '\'']);
            let inside = value.starts_with('#') || value.starts_with("data:");
            assert!(inside, "the page refers to {}", &value[..value.len().min(60)]);
        }
    }
    for word in ["url(http", "url(//", "@import", "<link", "<iframe", "<script src"] {
        assert!(!page.contains(word), "the page contains {word}");
    }
}

#[test]
fn a_result_folder_holds_a_report_that_opens_offline_with_summary_series_and_figures() {
    let dir = tempdir().unwrap();
    short(dir.path(), "out", "--scheme pcon,cubic --seeds 2").success();
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    loads_nothing(&page);
    for word in ["<svg", "<table", "optimum", "pcon", "cubic", "ndnweir sim dumbbell"] {
        assert!(page.contains(word), "the report lacks {word}");
    }
    let files = contents(&dir.path().join("out"));
    let below = |folder: &str, ending: &str| {
        files.iter().filter(|(p, b)| p.starts_with(folder) && p.extension().unwrap() == ending && !b.is_empty()).count()
    };
    assert!(files.contains_key(Path::new("summary.json")));
    assert!(below("series", "csv") >= 3, "{:?}", files.keys());
    assert!(below("figures", "svg") >= 5, "{:?}", files.keys());
    for (path, bytes) in files.iter().filter(|(path, _)| path.starts_with("figures")) {
        loads_nothing(std::str::from_utf8(bytes).unwrap());
        assert!(bytes.starts_with(b"<svg") || bytes.starts_with(b"<?xml"), "{}", path.display());
    }
}

#[test]
fn drawing_again_gives_the_same_bytes() {
    let dir = tempdir().unwrap();
    short(dir.path(), "out", "--scheme pcon,cubic --seeds 2").success();
    let before = contents(dir.path());
    let done = run(dir.path(), "report out").success();
    assert!(stdout(&done).contains("out/report.html"));
    assert!(before == contents(dir.path()), "redrawing changed something");
    fs::remove_file(dir.path().join("out/report.html")).unwrap();
    fs::remove_dir_all(dir.path().join("out/figures")).unwrap();
    run(dir.path(), "report out").success();
    assert!(before == contents(dir.path()), "redrawing did not restore what was removed");
}

#[test]
fn a_comparison_of_two_folders_shows_both_and_leaves_them_alone() {
    let dir = tempdir().unwrap();
    short(dir.path(), "before", "--scheme cubic").success();
    short(dir.path(), "after", "--scheme cubic --set link.R1-R2.rate=5Mbps").success();
    let folders = contents(dir.path());
    let done = run(dir.path(), "report before after").success();
    assert!(stdout(&done).contains("comparison.html"));
    run(dir.path(), "report before after --out other.html").success();
    let page = fs::read_to_string(dir.path().join("comparison.html")).unwrap();
    loads_nothing(&page);
    for word in ["before", "after", "cubic", "goodput"] {
        assert!(page.contains(word), "the comparison lacks {word}");
    }
    assert_eq!(page, fs::read_to_string(dir.path().join("other.html")).unwrap());
    for page in ["comparison.html", "other.html"] {
        fs::remove_file(dir.path().join(page)).unwrap();
    }
    assert!(folders == contents(dir.path()));
}

#[test]
fn a_page_takes_the_place_of_nothing_but_a_page() {
    let dir = tempdir().unwrap();
    short(dir.path(), "a", "--scheme cubic").success();
    fs::write(dir.path().join("keep.toml"), "mine").unwrap();
    fs::write(dir.path().join("mine.html"), "<!doctype html>\n<p>mine").unwrap();
    fs::write(dir.path().join("empty.html"), "").unwrap();
    for out in ["a/summary.json", "a/report.html", "a/../a/series/links.csv"] {
        rejects(dir.path(), &["report", "a", "a", "-o", out], &[out, "results in a have this name", "name another"]);
    }
    for out in ["keep.toml", "mine.html"] {
        rejects(dir.path(), &["report", "a", "a", "-o", out], &[out, "holds something else; name another file"]);
    }
    rejects(dir.path(), &["report", "a", "a", "-o", "nowhere/page.html"], &["check that the folder exists"]);
    for out in ["page.html", "page.html", "empty.html"] {
        run(dir.path(), &format!("report a a -o {out}")).success();
    }
}

#[test]
fn damaged_folders_are_rejected_with_the_name_of_the_file_and_left_alone() {
    let dir = tempdir().unwrap();
    short(dir.path(), "out", "--scheme cubic").success();
    let summary = dir.path().join("out/summary.json");
    let whole = fs::read_to_string(&summary).unwrap();
    let newer = whole.replacen("\"format\": 1", "\"format\": 999", 1);
    assert_ne!(newer, whole);
    for (text, says) in [
        (&whole[..whole.len() / 2], "line"),
        ("", "line 1"),
        ("{}", "not a summary"),
        ("[1, 2", "line 1"),
        (&newer, "newer"),
    ] {
        fs::write(&summary, text).unwrap();
        rejects(dir.path(), &["report", "out"], &["summary.json", says, ";"]);
        rejects(dir.path(), &["report", "out", "out", "--out", "x.html"], &["summary.json", says]);
    }
    fs::write(&summary, &whole).unwrap();
    let series = fs::read_dir(dir.path().join("out/series")).unwrap().next().unwrap().unwrap().path();
    let name = series.file_name().unwrap().to_str().unwrap();
    for bytes in [&b"no,such,table\n1,2\n"[..], b"\xff\xfe\x00"] {
        fs::write(&series, bytes).unwrap();
        rejects(dir.path(), &["report", "out"], &[name]);
    }
}

#[test]
fn folders_that_hold_no_results_are_rejected() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("notes.txt"), "mine").unwrap();
    rejects(
        dir.path(),
        &["report", "nowhere"],
        &["nowhere: there is no such folder or file", "ndnweir sim", "--trace"],
    );
    rejects(dir.path(), &["report", "-"], &["-: standard input is not read", "name a folder", "--trace"]);
    rejects(dir.path(), &["report", "nowhere", "-"], &["nowhere: there is no such folder or file"]);
    rejects(dir.path(), &["report", "notes.txt", "-"], &["-: standard input is not read"]);
    rejects(dir.path(), &["report", "."], &["summary.json: there is no such file", "ndnweir sim"]);
    rejects(dir.path(), &["report", "notes.txt"], &["notes.txt"]);
    rejects(dir.path(), &["report"], &["DIR"]);
    rejects(dir.path(), &["report", "a", "b", "c"], &["c"]);
    rejects(dir.path(), &["report", "a", "--out", "x.html"], &["--out", "two folders"]);
}

#[test]
fn a_folder_with_other_things_in_it_is_not_taken_for_results() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("thesis")).unwrap();
    fs::write(dir.path().join("thesis/chapter.tex"), "years of work").unwrap();
    fs::write(dir.path().join("plain-file"), "mine").unwrap();
    for foreign in ["thesis", "plain-file"] {
        let args = ["sim", "dumbbell", "--set", "run.duration=1s", "--scheme", "aimd", "--out", foreign];
        rejects(dir.path(), &args, &[foreign, "name a"]);
    }
}

#[test]
fn older_results_are_replaced_by_force_and_what_the_user_put_beside_them_stays() {
    let dir = tempdir().unwrap();
    short(dir.path(), "out", "--scheme cubic,pcon").success();
    fs::write(dir.path().join("out/notes.md"), "mine").unwrap();
    short(dir.path(), "out", "--scheme aimd --force").success();
    assert_eq!(fs::read_to_string(dir.path().join("out/notes.md")).unwrap(), "mine");
    assert_eq!(common::summary(&dir.path().join("out"))["runs"].as_array().unwrap().len(), 1);
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["out"], "nothing temporary is left");
}

#[test]
fn an_empty_folder_may_be_filled() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    short(dir.path(), "empty", "--scheme aimd").success();
    assert!(dir.path().join("empty/report.html").is_file());
}
