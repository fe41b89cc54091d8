//! `ndnweir judge` as a user runs it: what it prints and what it leaves.

use crate::common::{contents, rejects, run, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use tempfile::tempdir;

const QUICK: &str = "judge cubic --only constrained --quick --seeds 2 --out out";

#[test]
fn a_judged_scheme_leaves_a_page_a_table_and_a_document_and_each_cell_can_be_repeated() {
    let dir = tempdir().unwrap();
    let table = stdout(&run(dir.path(), QUICK).success());
    assert!(table.contains("Constrained nodes") && table.contains("out/judge.html"), "{table}");
    let files: Vec<PathBuf> = contents(&dir.path().join("out")).into_keys().collect();
    let wanted = ["judge.html", "judge.txt", "scenarios/constrained.toml", "summary.json"];
    assert_eq!(files, wanted.map(PathBuf::from));
    let page = fs::read_to_string(dir.path().join("out/judge.html")).unwrap();
    assert!(!page.contains("http://") || page.matches("http://").count() == page.matches("http://www.w3.org").count());
    let start = page.find("ndnweir sim ").expect("a command for each cell");
    let command = page[start..].split('<').next().unwrap().trim_start_matches("ndnweir ");
    assert_eq!(command, "sim out/scenarios/constrained.toml --scheme cubic --seeds 2 --seed 1");
    run(dir.path(), &format!("{command} --out again")).success();
    let value: Value = serde_json::from_str(&fs::read_to_string(dir.path().join("out/summary.json")).unwrap()).unwrap();
    let cell = &value["criteria"][0]["results"][0]["measures"][0]["cells"][0];
    let repeated: Value =
        serde_json::from_str(&fs::read_to_string(dir.path().join("again/summary.json")).unwrap()).unwrap();
    let completion = repeated["aggregates"][0]["metrics"]["consumers.C1.completion_s"]["mean"].as_f64().unwrap();
    let judged = cell["mean"].as_f64().unwrap();
    assert!((completion / 8.58 - judged).abs() < 1e-6, "{completion} s is not {judged} times 8.58 s");
}

#[test]
fn json_is_the_document_that_is_stored_and_does_not_depend_on_threads() {
    let dir = tempdir().unwrap();
    let printed = stdout(&run(dir.path(), &format!("{QUICK} --json --threads 1")).success());
    let stored = fs::read_to_string(dir.path().join("out/summary.json")).unwrap();
    assert_eq!(printed, stored);
    let again = run(dir.path(), &format!("{QUICK} --json --threads 2")).success();
    assert_eq!(printed, stdout(&again));
}

#[test]
fn the_list_names_every_criterion_with_its_cost_and_runs_nothing() {
    let dir = tempdir().unwrap();
    let list = stdout(&run(dir.path(), "judge --list --quick").success());
    for name in ["congestion-collapse", "tunnels", "multipath", "held-out"] {
        assert!(list.contains(name), "{name} is missing:\n{list}");
    }
    assert!(list.contains("million packet-hops"), "{list}");
    assert!(contents(dir.path()).is_empty());
}

#[test]
fn bad_input_is_reported_with_a_remedy_and_leaves_nothing() {
    let dir = tempdir().unwrap();
    fs::create_dir(dir.path().join("empty")).unwrap();
    for (line, part) in [
        ("judge cubik", "did you mean"),
        ("judge cubic --only bufferblot", "did you mean \"bufferbloat\""),
        ("judge cubic --against pcom", "did you mean"),
        ("judge cubic --criteria empty", "no criterion in this folder"),
        ("judge cubic --criteria nowhere", "name a folder with criteria"),
        ("judge cubic --set link.R1-R2.rate=5Mbps", "change schemes alone"),
        ("judge cubic --set scheme.x.marker=codle", "codle"),
        ("judge cubic --only held-out", "--held-out SEED"),
        ("judge", "required"),
        ("judge cubic --jobs kept --shard 3/2", "1/4"),
        ("judge cubic --shard 1/2", "--jobs"),
        ("judge --run-plan nowhere.json", "--plan FILE"),
        ("judge cubic --run-plan nowhere.json", "cannot be used with"),
    ] {
        let said = stderr(&run(dir.path(), line).code(2));
        assert!(said.contains(part), "{line}: {said}");
    }
    assert!(contents(dir.path()).is_empty());
}

#[test]
fn a_plan_without_an_end_or_a_beginning_is_said_to_be_so() {
    let dir = tempdir().unwrap();
    for (text, says) in
        [("", "the file is empty"), (" \n", "the file is empty"), ("{\n\"judge_plan\": 2,", "in line 2")]
    {
        fs::write(dir.path().join("plan.json"), text).unwrap();
        let remedy = "name a file that `ndnweir judge SCHEME --plan FILE` wrote";
        rejects(dir.path(), &["judge", "--run-plan", "plan.json"], &["plan.json: ", says, remedy]);
    }
}

#[test]
fn a_folder_for_jobs_that_cannot_be_made_is_known_before_the_work() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    // An hour's work, of which nothing would be stored.
    for more in [&[][..], &["--shard", "1/2"]] {
        let all = ["judge", "all", "--full", "--jobs", "file"];
        rejects(dir.path(), &[&all[..], more].concat(), &["file: ", "name a folder"]);
    }
}

#[test]
fn an_error_of_a_scheme_or_of_a_scenario_is_reported_without_what_follows_from_it() {
    let dir = tempdir().unwrap();
    for set in ["scheme.mine.base=pconn", "scheme.pcon.consumer.beeta=1"] {
        let said = stderr(&run(dir.path(), &format!("judge pcon --set {set}")).code(2));
        assert!(said.starts_with(&format!("error: --set {set}: ")) && said.lines().count() == 2, "{said}");
    }
    let criterion = "title = \"A\"\nsection = \"5\"\nstrength = \"MUST\"\nquestion = \"?\"\n\n[[experiment]]\nid = \"one\"\n\
                     about = \"x\"\nscenario = \"none.toml\"\n";
    fs::create_dir(dir.path().join("mine")).unwrap();
    fs::write(dir.path().join("mine/a.toml"), criterion).unwrap();
    let said = stderr(&run(dir.path(), "judge pcon --criteria mine").code(2));
    assert!(said.starts_with("error: mine/a.toml:9:12: scenarios/none.toml: ") && said.lines().count() == 2, "{said}");
}

const FOUR: &str = "judge cubic --against bic --only constrained,starvation --quick --seeds 2";

#[test]
fn a_plan_that_is_done_in_parts_gives_what_the_command_gives_at_once() {
    let dir = tempdir().unwrap();
    let go = |line: &str| stdout(&run(dir.path(), line).success());
    let whole = go(&format!("{FOUR} --json --out whole"));
    go(&format!("{FOUR} --plan plan.json"));
    let plan: Value = serde_json::from_str(&fs::read_to_string(dir.path().join("plan.json")).unwrap()).unwrap();
    let listed = go(&format!("{FOUR} --list-jobs"));
    let keys: Vec<&str> = plan["jobs"].as_array().unwrap().iter().map(|job| job["key"].as_str().unwrap()).collect();
    assert_eq!(keys, listed.lines().map(|line| line.split(' ').next().unwrap()).collect::<Vec<_>>());
    // Eight cells, two schemes, two seeds.
    assert_eq!(keys.iter().collect::<std::collections::BTreeSet<_>>().len(), 32, "{listed}");
    let part = go("judge --run-plan plan.json --jobs kept --shard 2/2");
    let kept = || contents(&dir.path().join("kept")).into_keys().collect::<Vec<_>>();
    let count = kept().len();
    assert!((1..32).contains(&count) && part.contains(&format!("{count} jobs kept")), "{count}: {part}");
    assert_eq!(go("judge --run-plan plan.json --jobs kept --json --out parts"), whole);
    assert_eq!(kept().len(), 32);
    // All are taken from the folder now; what is damaged or another job's is named.
    assert_eq!(go(&format!("{FOUR} --jobs kept --json --out again")), whole);
    fs::write(dir.path().join("kept").join(&kept()[0]), "{").unwrap();
    let said = stderr(&run(dir.path(), &format!("{FOUR} --jobs kept --out damaged")).code(1));
    assert!(said.contains(&kept()[0].display().to_string()) && said.contains("delete it"), "{said}");
    fs::copy(dir.path().join("kept").join(&kept()[1]), dir.path().join("kept").join(&kept()[0])).unwrap();
    let said = stderr(&run(dir.path(), &format!("{FOUR} --jobs kept --out damaged")).code(1));
    assert!(said.contains(&kept()[0].display().to_string()) && said.contains("the result of job"), "{said}");
    assert!(!dir.path().join("damaged").exists());
}

#[test]
fn a_plan_of_another_build_or_of_other_criteria_is_rejected() {
    let dir = tempdir().unwrap();
    run(dir.path(), &format!("{FOUR} --plan plan.json")).success();
    // The same command writes it again, but nothing else.
    run(dir.path(), &format!("{FOUR} --plan plan.json")).success();
    fs::write(dir.path().join("keep.toml"), "mine").unwrap();
    let said = stderr(&run(dir.path(), &format!("{FOUR} --plan keep.toml")).code(2));
    assert!(said.contains("--plan keep.toml: holds something else; name another file"), "{said}");
    assert_eq!(fs::read_to_string(dir.path().join("keep.toml")).unwrap(), "mine");
    let text = fs::read_to_string(dir.path().join("plan.json")).unwrap();
    let plan: Value = serde_json::from_str(&text).unwrap();
    let (engine, key) = (plan["engine"].as_str().unwrap(), plan["jobs"][0]["key"].as_str().unwrap());
    for (from, to, part) in [
        (key, "0", "criteria or scenarios are not"),
        (engine, "0.0.0 x", "another build"),
        ("\"judge_plan\": 2", "\"judge_plan\": 9", "format 9"),
        ("\"quick\"", "\"quickly\"", "quickly"),
    ] {
        // Another engine comes with other keys.
        let wrong = text.replace(from, to).replace(if from == engine { key } else { "\n\n" }, "0");
        fs::write(dir.path().join("wrong.json"), wrong).unwrap();
        let said = stderr(&run(dir.path(), "judge --run-plan wrong.json --out out").code(2));
        assert!(said.contains(part) && said.contains("wrong.json"), "{to}: {said}");
    }
    let seeds = format!("\"seeds\": {}", plan["options"]["seeds"]);
    for (from, to, part) in [
        (seeds.as_str(), "\"seeds\": 4000000000", "4000000000 seeds; there may be 1 to 10000"),
        ("\"criteria\": null", "\"criteria\": \"nowhere\"", "nowhere"),
        ("\"set\": []", "\"set\": [\"run.duration=1s\"]", "--set run.duration=1s"),
    ] {
        let wrong = text.replace(from, to);
        assert!(wrong != text, "{from}");
        fs::write(dir.path().join("wrong.json"), wrong).unwrap();
        let said = stderr(&run(dir.path(), "judge --run-plan wrong.json --out out").code(2));
        assert!(said.starts_with("error: wrong.json: ") && said.contains(part), "{to}: {said}");
    }
    assert!(!dir.path().join("out").exists());
}
