//! `ndnweir pack` and `ndnweir repeat` as an author and a reviewer run them.

use crate::common::{contents, rejects, repository, run, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;
use tempfile::tempdir;

/// A scenario of files beside it, run into the folder `mine`.
fn results(dir: &Path) {
    let topology = repository("scenarios/topologies/example-ndnsim.txt");
    fs::create_dir(dir.join("nets")).unwrap();
    fs::copy(topology, dir.join("nets/net.txt")).unwrap();
    let text = "[topology]\nfile = \"nets/net.txt\"\n[demand]\nmodel = \"gravity\"\n[run]\nduration = \"1s\"\n";
    fs::write(dir.join("mine.toml"), text).unwrap();
    run(dir, "sim mine.toml --scheme bic,aimd --seeds 2 --set run.sample=100ms --out mine").success();
}

fn tar(dir: &Path, words: &[&str]) -> String {
    let done = Command::new("tar").args(words).current_dir(dir).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn a_run_is_packed_with_all_its_files_and_repeated_elsewhere_to_the_byte() {
    let (author, reviewer) = (tempdir().unwrap(), tempdir().unwrap());
    results(author.path());
    let said = stdout(&run(author.path(), "pack mine").success());
    assert!(said.contains("ndnweir repeat mine.tar.gz"), "{said}");
    run(author.path(), "pack mine -o again/mine.tar.gz").code(2);
    fs::create_dir(author.path().join("again")).unwrap();
    run(author.path(), "pack mine -o again/mine.tar.gz").success();
    let archive = fs::read(author.path().join("mine.tar.gz")).unwrap();
    assert!(archive == fs::read(author.path().join("again/mine.tar.gz")).unwrap(), "the same pack, other bytes");

    // Any tar unpacks it, and what is in it is what the README says.
    fs::write(reviewer.path().join("mine.tar.gz"), &archive).unwrap();
    let listed = tar(reviewer.path(), &["tzf", "mine.tar.gz"]);
    for name in
        ["README.md", "pack.json", "Cargo.lock", "inputs/mine.toml", "inputs/nets/net.txt", "results/summary.json"]
    {
        assert!(listed.lines().any(|line| line == format!("mine/{name}")), "{name}: {listed}");
    }
    let said = stdout(&run(reviewer.path(), "repeat mine.tar.gz --threads 1").success());
    let files = contents(&author.path().join("mine")).len();
    assert!(said.contains(&format!("{files} files came out as they are")), "{said}");
    assert!(said.contains("ndnweir sim mine.toml --scheme bic,aimd") && !said.contains("note:"), "{said}");
    assert!(contents(&author.path().join("mine")) == contents(&reviewer.path().join("mine/repeated")));
    // Nothing is unpacked over it.
    rejects(reviewer.path(), &["repeat", "mine.tar.gz"], &["mine", "new folder"]);
}

#[test]
fn results_that_do_not_come_out_again_are_named() {
    let dir = tempdir().unwrap();
    results(dir.path());
    let summary = dir.path().join("mine/summary.json");
    let text = fs::read_to_string(&summary).unwrap();
    let better = text.replacen("\"seed\": 1", "\"seed\": 9", 1);
    assert_ne!(text, better);
    fs::write(&summary, better).unwrap();
    run(dir.path(), "pack mine -o p.tar.gz").success();
    let said = stderr(&run(dir.path(), "repeat p.tar.gz").code(1));
    assert!(said.contains("summary.json differs from byte") && !said.contains("report.html"), "{said}");
}

#[test]
fn a_sweep_is_packed_with_its_plan_and_its_tables_come_out_again() {
    let dir = tempdir().unwrap();
    let plan = "schemes = [\"bic\"]\nseeds = 2\n[[experiment]]\nid = \"b\"\nscenario = \"own.toml\"\nset = [\"run.duration=1s\"]\n\
                vary = [{ key = \"link.R1-R2.queue\", values = [\"20 packets\", \"1 BDP\"] }]\n";
    fs::create_dir(dir.path().join("scenarios")).unwrap();
    fs::copy(repository("scenarios/dumbbell.toml"), dir.path().join("scenarios/own.toml")).unwrap();
    fs::write(dir.path().join("plan.toml"), plan).unwrap();
    run(dir.path(), "sweep plan.toml --out done --shard 1/2 --scheme aimd").success();
    rejects(dir.path(), &["pack", "done"], &["not merged", "--merge"]);
    run(dir.path(), "sweep plan.toml --out done --scheme aimd").success();
    run(dir.path(), "pack done").success();
    let said = stdout(&run(dir.path(), "repeat done.tar.gz --out check").success());
    assert!(said.contains("3 files came out") && said.contains("--scheme aimd"), "{said}");
    assert!(dir.path().join("check/inputs/scenarios/own.toml").is_file());
    // A plan that has changed since is not packed as that of the results.
    fs::write(dir.path().join("plan.toml"), plan.replace("1s", "2s")).unwrap();
    rejects(dir.path(), &["pack", "done", "-o", "other.tar.gz"], &["plan.toml has changed"]);
}

#[test]
fn what_cannot_be_repeated_is_not_packed() {
    let dir = tempdir().unwrap();
    rejects(dir.path(), &["pack", "nothing"], &["nothing", "summary.json"]);
    results(dir.path());
    rejects(dir.path(), &["pack", "mine", "-o", "mine.zip"], &["mine.zip", ".tar.gz"]);
    let summary = dir.path().join("mine/summary.json");
    let document: Value = serde_json::from_slice(&fs::read(&summary).unwrap()).unwrap();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut changed = document.clone();
        change(&mut changed);
        fs::write(&summary, changed.to_string()).unwrap();
    };
    with(&|document| document["partial"] = json!(true));
    rejects(dir.path(), &["pack", "mine"], &["interrupted"]);
    with(&|document| document["repeat"]["command"] = json!(""));
    rejects(dir.path(), &["pack", "mine"], &["no command"]);
    with(&|document| document["repeat"]["command"] = json!("ndnweir emulate dumbbell"));
    rejects(dir.path(), &["pack", "mine"], &["ndnweir sim", "ndnweir sweep"]);
    with(&|document| document["repeat"]["command"] = json!("ndnweir sim ../mine.toml"));
    fs::create_dir(dir.path().join("below")).unwrap();
    rejects(&dir.path().join("below"), &["pack", "../mine"], &["../mine.toml", "copy it there"]);
}

#[test]
#[cfg(unix)]
fn links_in_a_result_folder_are_not_followed() {
    let dir = tempdir().unwrap();
    results(dir.path());
    fs::write(dir.path().join("secret"), "").unwrap();
    std::os::unix::fs::symlink("../../secret", dir.path().join("mine/series/link")).unwrap();
    rejects(dir.path(), &["pack", "mine"], &["mine/series/link", "neither a file nor a folder"]);
}

/// A pack whose command was exchanged by someone.
fn forged(dir: &Path, command: &[&str]) {
    forged_with(dir, command, &[]);
}

/// As [`forged`], with more input files.
fn forged_with(dir: &Path, command: &[&str], inputs: &[(&str, &str)]) {
    fs::create_dir_all(dir.join("forged")).unwrap();
    tar(dir, &["xzf", "mine.tar.gz"]);
    let path = dir.join("mine/pack.json");
    let mut manifest: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    manifest["command"] = json!(command);
    fs::write(&path, manifest.to_string()).unwrap();
    for (name, text) in inputs {
        fs::write(dir.join("mine/inputs").join(name), text).unwrap();
    }
    let files: Vec<String> =
        contents(&dir.join("mine")).keys().map(|name| format!("mine/{}", name.display())).collect();
    let mut words = vec!["czf", "forged.tar.gz", "--format=ustar"];
    words.extend(files.iter().map(String::as_str));
    tar(dir, &words);
    fs::remove_dir_all(dir.join("mine")).unwrap();
}

#[test]
fn a_forged_command_runs_nothing_else_and_writes_nowhere_else() {
    let (author, dir) = (tempdir().unwrap(), tempdir().unwrap());
    results(author.path());
    run(author.path(), "pack mine").success();
    fs::copy(author.path().join("mine.tar.gz"), dir.path().join("mine.tar.gz")).unwrap();
    let outside = dir.path().join("outside");
    let there = outside.to_str().unwrap();
    // Options that write elsewhere have no effect: the run is that of the rest.
    let command = ["ndnweir", "sim", "mine.toml", "--scheme", "bic,aimd", "--seeds", "2", "--set", "run.sample=100ms"];
    forged(dir.path(), &[&command[..], &["--out", there, "--trace", there, "--force"]].concat());
    run(dir.path(), "repeat forged.tar.gz --out same").success();
    assert!(!outside.exists());
    let others: [(&[&str], &str); 4] = [
        (&["ndnweir", "report", there], "only results of"),
        (&["ndnweir", "sim", "/etc/hostname.toml"], "outside of it"),
        (&["ndnweir", "sim", "mine.toml", "--set", "topology.file=../../mine.tar.gz.txt"], "mine.tar.gz.txt"),
        (&["sh", "-c", "true"], "does not know the command"),
    ];
    for (number, (words, why)) in others.into_iter().enumerate() {
        forged(dir.path(), words);
        fs::copy(author.path().join("nets/net.txt"), dir.path().join("mine.tar.gz.txt")).unwrap();
        let said = stderr(&run(dir.path(), &format!("repeat forged.tar.gz --out f{number}")).code(2));
        assert!(said.contains(why), "{words:?}: {said}");
        assert!(!outside.exists() && !dir.path().join(format!("f{number}/repeated")).exists());
    }
}

#[test]
fn no_word_of_a_file_outside_of_a_pack_is_shown_whatever_in_it_names_the_file() {
    let (author, dir) = (tempdir().unwrap(), tempdir().unwrap());
    results(author.path());
    run(author.path(), "pack mine").success();
    fs::copy(author.path().join("mine.tar.gz"), dir.path().join("mine.tar.gz")).unwrap();
    // Each kind of file has errors that would show this line.
    let secret = dir.path().join("secret.txt");
    fs::write(&secret, "sesame opens = the = door\n").unwrap();
    let secret = secret.to_str().unwrap();
    let up = "../../secret.txt";
    let link = |trace: &str| {
        format!(
            "[[node]]\nname = \"C\"\n[[node]]\nname = \"P\"\n[[link]]\nends = [\"C\", \"P\"]\n{trace}\ndelay = \"1ms\"\n\
             [[producer]]\nname = \"P\"\nnode = \"P\"\nprefix = \"/a\"\n\
             [[consumer]]\nname = \"C\"\nnode = \"C\"\nprefix = \"/a\"\n"
        )
    };
    let rate = link("rate = \"10Mbps\"");
    let component = format!("{rate}[scheme.x]\nbase = \"bic\"\nconsumer = {{ file = \"{secret}\" }}\n");
    let plan = |scenario: &str| format!("[[experiment]]\nid = \"a\"\nscenario = \"{scenario}\"\n");
    let inputs = [
        ("rate.toml", rate.clone()),
        ("trace.toml", link(&format!("trace = \"{secret}\""))),
        ("up.toml", link(&format!("trace = \"{up}\""))),
        ("component.toml", component),
        ("topology.toml", format!("[topology]\nfile = \"{secret}\"\n[demand]\nmodel = \"gravity\"\n")),
        ("plan.toml", plan(secret)),
        ("plan-trace.toml", plan("trace.toml")),
    ];
    let inputs: Vec<(&str, &str)> = inputs.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let set =
        |what: &str, file: &str| ["sim".into(), "rate.toml".into(), "--set".into(), format!("{what}={file}")].to_vec();
    let word = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<String>>();
    let commands = [
        set("scheme.bic.consumer.file", secret),
        set("scheme.bic.consumer.file", up),
        set("link.C-P.trace", secret),
        word(&["sim", "rate.toml", "--vary", &format!("scheme.bic.consumer.file={secret},{up}")]),
        word(&["sim", "trace.toml"]),
        word(&["sim", "up.toml"]),
        word(&["sim", "component.toml"]),
        word(&["sim", "topology.toml"]),
        word(&["sim", secret]),
        word(&["sweep", "plan.toml"]),
        word(&["sweep", "plan-trace.toml"]),
        word(&["sweep", secret]),
    ];
    for (number, words) in commands.iter().enumerate() {
        let words: Vec<&str> = ["ndnweir"].into_iter().chain(words.iter().map(String::as_str)).collect();
        forged_with(dir.path(), &words, &inputs);
        let said = stderr(&run(dir.path(), &format!("repeat forged.tar.gz --out s{number}")).code(2));
        assert!(said.contains("outside of"), "{words:?}: {said}");
        assert!(!said.contains("sesame") && !said.contains("opens") && !said.contains("line"), "{words:?}: {said}");
        assert!(!said.contains("secret.txt:1"), "{words:?}: {said}");
    }
}

#[test]
fn what_is_no_pack_and_what_cannot_be_packed_is_answered_with_what_could_be() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("notes"), "mine").unwrap();
    let rejected = |line: &str, words: &[&str]| rejects(dir.path(), &line.split(' ').collect::<Vec<_>>(), words);
    rejected("repeat nowhere", &["nowhere: no file", "name an archive of `ndnweir pack`"]);
    rejected(
        "repeat notes",
        &["notes: its name does not end in .tar.gz", "name an archive of `ndnweir pack`", "--out"],
    );
    rejected("pack nowhere", &["nowhere: no results of a run", "name a folder that `ndnweir sim` or"]);
}
