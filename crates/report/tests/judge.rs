//! The page of a judgement, drawn from a small criterion.

use ndnweir_lab::criteria::{self, Depth, Folder, Judgement, ReadOptions};
use ndnweir_lab::experiment::Silent;
use ndnweir_report::judge::{About, page};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

#[test]
fn a_cell_whose_optimum_is_an_estimate_says_so_on_the_page_and_a_proved_one_does_not() {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("judge-page-{}", std::process::id()));
    fs::create_dir_all(dir.join("scenarios")).unwrap();
    fs::write(dir.join("small.toml"), include_str!("../../lab/tests/criteria/small.toml")).unwrap();
    fs::write(dir.join("scenarios/small.toml"), include_str!("../../lab/tests/criteria/scenario.toml")).unwrap();
    let folder = Folder::find(Some(&dir)).unwrap();
    let options = ReadOptions { depth: Depth::Default, ..ReadOptions::default() };
    let all = criteria::read_all(&folder, &[], &options).unwrap_or_else(|problems| panic!("{problems}"));
    let mut judgement = criteria::run(&all, &["cubic".into()], &[1], &Silent, &AtomicBool::new(false)).unwrap();
    let about = About {
        dated: None,
        depth: "default",
        command: "ndnweir judge cubic",
        version: "0",
        compared_from: 1,
        folder: Path::new("out"),
    };
    let drawn = |judgement: &Judgement| page(&all, judgement, &about);
    let proved = drawn(&judgement);
    assert!(
        proved.contains("attained share of the fair rate") && !proved.contains(" est.") && !proved.contains("estimate")
    );
    let known = "7 of 9 flows <are> proved";
    let measure = &mut judgement.results[0][0].as_mut().unwrap().measures[0];
    measure.cells[0].estimate = Some(known.into());
    judgement.shown[0][0][0].estimate = Some(known.into());
    let estimated = drawn(&judgement);
    for part in [
        "Relative to an estimate of the optimum, which is not proved: small (1 of 3 cells).",
        "in one: slow: 7 of 9 flows &lt;are&gt; proved.",
        "In 1 of the cells the rate is relative to an estimate of the optimum",
    ] {
        assert!(estimated.contains(part), "{part}");
    }
    // In the list of cells the mark stands beside one value.
    let cells = estimated.split_once("<details>").unwrap().1;
    assert_eq!(cells.matches(" est.</td>").count(), 1);
    fs::remove_dir_all(dir).unwrap();
}
