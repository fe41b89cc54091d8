//! Reports end to end on made-up observations.

mod report_synthetic;

use ndnweir_lab::report;
use ndnweir_lab::results::{self, Keep};
use report_synthetic::{comparison, dumbbell};
use std::path::PathBuf;

#[test]
#[ignore = "draws example reports into $REPORT_GALLERY to be looked at"]
fn gallery() {
    let Some(root) = std::env::var_os("REPORT_GALLERY").map(PathBuf::from) else { return };
    let three = ["aimd", "cubic", "pcon"];
    let eight = ["fixed", "aimd", "bic", "cubic", "pcon", "pcon-ndnsim", "hbhcm", "ndnsieve"];
    let cases = [
        ("small", comparison(dumbbell(2, false), &three, 1)),
        ("paths", comparison(dumbbell(3, true), &three, 3)),
        ("large", comparison(dumbbell(20, true), &eight, 5)),
        ("one", comparison(dumbbell(1, false), &["pcon"], 1)),
    ];
    for (name, case) in &cases {
        println!("{}", results::table(case));
        report::write(case, &root.join(name), Keep::First).unwrap();
    }
    let page = report::compare(&cases[0].1, &cases[1].1, ("small", "paths"));
    std::fs::write(root.join("compare.html"), page).unwrap();
}
