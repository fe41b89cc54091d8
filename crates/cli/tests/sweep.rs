//! `ndnweir sweep` as a user runs it.

use crate::common::{contents, rejects, run, stderr, stdout};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::tempdir;

const PLAN: &str = "about = \"Buffers.\"
schemes = [\"bic\", \"cubic\"]
seeds = 2
[[experiment]]
id = \"buffers\"
scenario = \"dumbbell\"
set = [\"run.duration=2s\"]
vary = [{ key = \"link.R1-R2.queue\", values = [\"20 packets\", \"1 BDP\"] }]
";

fn tables(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let parquet = |path: &PathBuf| path.extension().is_some_and(|e| e == "parquet");
    contents(folder).into_iter().filter(|(path, _)| parquet(path)).collect()
}

fn keys(dir: &Path, more: &str) -> Vec<String> {
    let list = stdout(&run(dir, &format!("sweep plan.toml --list {more}")).success());
    list.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn tables_are_the_same_whoever_ran_the_parts_in_whatever_order() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    run(dir.path(), "sweep plan.toml --out whole").success();
    let whole = tables(&dir.path().join("whole"));
    let names: Vec<&str> = whole.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, ["consumers.parquet", "links.parquet", "runs.parquet"]);

    run(dir.path(), "sweep plan.toml --out parts --shard 2/3 --threads 1").success();
    run(dir.path(), "sweep plan.toml --out parts --shard 1/3").success();
    let said = stderr(&run(dir.path(), "sweep plan.toml --out parts --merge").code(1));
    assert!(said.contains("runs are missing") && said.contains("without --merge"), "{said}");
    // The rest one by one, by key; one of them is done already.
    for key in keys(dir.path(), "").iter().rev() {
        run(dir.path(), &format!("sweep plan.toml --out parts --run {}", &key[..16])).success();
    }
    let status = stdout(&run(dir.path(), "sweep plan.toml --out parts --status").success());
    assert!(status.contains("8 of 8 runs stored, about 100.0 %"), "{status}");
    assert!(tables(&dir.path().join("parts")).is_empty());
    run(dir.path(), "sweep plan.toml --out parts --merge").success();
    assert!(whole == tables(&dir.path().join("parts")));
}

/// The rows of each table that a merge writes, all of whose files are there.
fn rows(dir: &Path, command: &str) -> BTreeMap<String, u64> {
    let document: Value = serde_json::from_str(&stdout(&run(dir, command).success())).unwrap();
    for file in document["files"].as_array().unwrap() {
        assert!(fs::read(dir.join(file.as_str().unwrap())).unwrap().starts_with(b"PAR1"), "{file}");
    }
    let table = |table: &Value| (table["table"].as_str().unwrap().to_owned(), table["rows"].as_u64().unwrap());
    document["tables"].as_array().unwrap().iter().map(table).collect()
}

#[test]
fn a_part_has_tables_of_its_own_as_soon_as_its_runs_are_stored_and_all_parts_have_the_rows_of_the_whole() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    run(dir.path(), "sweep plan.toml --out parts --shard 1/3").success();
    let said = stderr(&run(dir.path(), "sweep plan.toml --out parts --merge --shard 2/3").code(1));
    assert!(said.contains("runs are missing"), "{said}");
    let mut sum = rows(dir.path(), "sweep plan.toml --out parts --merge --shard 1/3 --json");
    let first = tables(&dir.path().join("parts"));
    let names: Vec<&str> = first.keys().map(|path| path.to_str().unwrap()).collect();
    assert_eq!(names, ["consumers.1-of-3.parquet", "links.1-of-3.parquet", "runs.1-of-3.parquet"]);
    for part in [2, 3] {
        run(dir.path(), &format!("sweep plan.toml --out parts --shard {part}/3")).success();
        for (table, more) in rows(dir.path(), &format!("sweep plan.toml --out parts --merge --shard {part}/3 --json")) {
            *sum.get_mut(&table).unwrap() += more;
        }
    }
    assert_eq!(sum, rows(dir.path(), "sweep plan.toml --out parts --merge --json"));
    // What others stored meanwhile changes nothing.
    run(dir.path(), "sweep plan.toml --out parts --merge --shard 1/3").success();
    let after = tables(&dir.path().join("parts"));
    assert!(first.iter().all(|(path, bytes)| after[path] == *bytes));
}

#[test]
fn the_runs_of_a_part_are_listed_and_together_the_parts_have_each_run_once() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    let all = keys(dir.path(), "");
    let parts: Vec<Vec<String>> = (1..=3).map(|part| keys(dir.path(), &format!("--shard {part}/3"))).collect();
    assert!(parts.iter().all(|part| part.len() < all.len()));
    let sorted = |mut keys: Vec<String>| {
        keys.sort();
        keys
    };
    assert_eq!(sorted(parts.concat()), sorted(all.clone()));
    assert_eq!(keys(dir.path(), &format!("--run {}", all[3])), all[3..4]);
    assert!(!dir.path().join("results").exists());
}

#[test]
fn a_sweep_is_drawn_with_its_tables_and_again_by_report() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    let said = stdout(&run(dir.path(), "sweep plan.toml --out out").success());
    assert!(said.contains("report: out/report.html"), "{said}");
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("Goodput (Mbit/s) over link.R1-R2.queue") && page.contains("20 packets"));
    assert!(dir.path().join("out/figures/curve-0-goodput_mbps.svg").is_file());
    fs::remove_file(dir.path().join("out/report.html")).unwrap();
    run(dir.path(), "report out").success();
    assert!(page == fs::read_to_string(dir.path().join("out/report.html")).unwrap());
    run(dir.path(), "report out/runs.parquet --out else.html").success();
    assert!(page == fs::read_to_string(dir.path().join("else.html")).unwrap());
    for out in ["out/runs.parquet", "out/sweep.json", "plan.toml"] {
        rejects(dir.path(), &["report", "out", "--out", out], &[out, "holds something else; name another file"]);
    }
    rejects(dir.path(), &["report", "out/consumers.parquet"], &["consumers.parquet"]);
    fs::write(dir.path().join("out/runs.parquet"), "PAR1").unwrap();
    rejects(dir.path(), &["report", "out"], &["runs.parquet"]);
    fs::remove_file(dir.path().join("out/runs.parquet")).unwrap();
    rejects(dir.path(), &["report", "out"], &["runs.parquet", "--merge"]);
}

#[test]
fn what_is_stored_is_not_run_again_and_what_is_lost_is() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    run(dir.path(), "sweep plan.toml --out out").success();
    let before = contents(&dir.path().join("out"));
    let runs = dir.path().join("out/runs");
    let lost = runs.join(format!("{}.json", keys(dir.path(), "")[3]));
    fs::remove_file(&lost).unwrap();
    let kept = runs.join(format!("{}.json", keys(dir.path(), "")[0]));
    let written = fs::metadata(&kept).unwrap().modified().unwrap();
    run(dir.path(), "sweep plan.toml --out out").success();
    assert!(before == contents(&dir.path().join("out")));
    assert_eq!(fs::metadata(&kept).unwrap().modified().unwrap(), written);
    // A damaged file is named, with what to do.
    fs::write(&lost, "{").unwrap();
    let said = stderr(&run(dir.path(), "sweep plan.toml --out out").code(1));
    assert!(said.contains(lost.file_name().unwrap().to_str().unwrap()) && said.contains("delete it"), "{said}");
    let status = stdout(&run(dir.path(), "sweep plan.toml --out out --status").success());
    assert!(status.contains("7 of 8") && status.contains("damaged"), "{status}");
}

#[test]
fn results_of_another_plan_or_program_are_not_mixed_in() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    run(dir.path(), "sweep plan.toml --out out --shard 1/8").success();
    rejects(dir.path(), &["sweep", "plan.toml", "--out", "out", "--seeds", "3"], &["another plan", "another folder"]);
    let file = dir.path().join("out/sweep.json");
    let text = fs::read_to_string(&file).unwrap();
    let at = text.find("\"engine\": \"").unwrap() + 11;
    fs::write(&file, format!("{}9{}", &text[..at], &text[at + 1..])).unwrap();
    rejects(dir.path(), &["sweep", "plan.toml", "--out", "out"], &["another build", "not mixed"]);
    fs::create_dir(dir.path().join("mine")).unwrap();
    fs::write(dir.path().join("mine/thesis"), "x").unwrap();
    rejects(dir.path(), &["sweep", "plan.toml", "--out", "mine"], &["not a result folder"]);
}

#[test]
fn bad_plans_and_keys_are_rejected_with_line_and_remedy() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("plan.toml"), PLAN).unwrap();
    fs::write(dir.path().join("bad.toml"), PLAN.replace("cubic", "cubik").replace("1 BDP", "1 BPD")).unwrap();
    rejects(dir.path(), &["sweep", "bad.toml"], &["1 BPD"]);
    rejects(dir.path(), &["sweep", "nowhere.toml"], &["nowhere.toml", "plan file"]);
    rejects(dir.path(), &["sweep", "plan.toml", "--scheme", "bik"], &["did you mean"]);
    rejects(dir.path(), &["sweep", "plan.toml", "--run", "zz"], &["--list"]);
    rejects(dir.path(), &["sweep", "plan.toml", "--set", "run.duration=2"], &["run.duration"]);
}
