//! The report of a paper, drawn from a small one of made-up published numbers.

use ndnweir_lab::experiment::Silent;
use ndnweir_lab::papers::{self, Folder};
use std::sync::atomic::AtomicBool;

#[test]
fn the_report_of_a_paper_stands_alone_and_is_the_same_twice() {
    let folder = Folder::find(concat!(env!("CARGO_MANIFEST_DIR"), "/../lab/tests/paper")).unwrap();
    let paper = papers::read(&folder).unwrap_or_else(|problems| panic!("{problems}"));
    let once = || {
        let results = papers::run(&paper, 3, &Silent, &AtomicBool::new(false)).unwrap();
        let judged = papers::judge(&paper, &results.runs);
        ndnweir_report::papers::page(&paper, &results, &judged, "ndnweir papers whole", "0")
    };
    let page = once();
    assert!(page == once());
    assert!(page.contains("A &lt;title&gt;") && page.contains("What is open") && page.matches("<svg").count() == 2);
    assert!(!page.contains("src=") && !page.contains("href="), "the page needs nothing beside it");
}
