//! `ndnweir emulate` with its real processes. What depends on the machine's speed is asserted with wide margins only.

mod common;

use common::{ndnweir, run};
use serde_json::Value;
use tempfile::tempdir;

#[test]
fn an_emulated_dumbbell_is_set_beside_the_simulated_one() {
    let folder = tempdir().unwrap();
    let line = "emulate dumbbell --scheme bic --set run.duration=4s --set run.warm-up=1s --out out --json";
    let done = run(folder.path(), line).success();
    let document: Value = serde_json::from_slice(&done.get_output().stdout).unwrap();
    let row = &document["agreement"][0];
    assert_eq!(row["scheme"], "bic");
    let value = |what: &str, which: &str| row[what][which].as_f64().unwrap();
    assert!(value("utilization", "emulated") > 0.5 * value("utilization", "simulated"), "{row}");
    // Not faster than light: the round trip takes 60 ms and the packets' time on the links.
    assert!(value("delay_ms", "emulated") > 60.0, "{row}");
    let schemes: Vec<&str> =
        document["comparison"]["runs"].as_array().unwrap().iter().map(|r| r["scheme"].as_str().unwrap()).collect();
    assert_eq!(schemes, ["bic", "bic emulated"]);
    assert!(folder.path().join("out/report.html").exists());
}

#[test]
fn what_cannot_be_emulated_is_refused_with_a_remedy_before_anything_starts() {
    for (change, wanted) in [
        ("consumer.C1.kind=stream --set consumer.C1.rate=100/s", "no fetch"),
        ("link.R1-R2.marker=nfd", "a marker of its own"),
        ("routing.mode=none", "choose another mode"),
    ] {
        let folder = tempdir().unwrap();
        let done = run(folder.path(), &format!("emulate dumbbell --set {change}")).code(2);
        let error = String::from_utf8_lossy(&done.get_output().stderr).into_owned();
        assert!(error.contains(wanted), "{change}: {error}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_process_without_a_task_says_so_and_ends() {
    let folder = tempdir().unwrap();
    let done = ndnweir(folder.path()).arg("emulation-role").write_stdin("nonsense\n").assert().code(1);
    assert!(String::from_utf8_lossy(&done.get_output().stderr).contains("expected"));
}
