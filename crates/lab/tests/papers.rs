//! The shipped papers resolve, and every published figure of the plan is an entry.

use ndnweir_lab::evaluation::{Measured, Runs};
use ndnweir_lab::papers::model::StatementKind;
use ndnweir_lab::papers::{self, Folder, Judged, Paper, PaperVerdict, library};
use ndnweir_lab::results::Run;
use ndnweir_lab::text_table::TableStyle;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn shipped(name: &str) -> Paper {
    Folder::find(name).and_then(|folder| papers::read(&folder)).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_shipped_paper_is_valid_and_has_a_page_figures_and_entries() {
    let names = library::names();
    assert!(
        ["hbhcm-paqm", "nack-once", "ndnsieve", "packet-pair", "resource-pooling"].iter().all(|n| names.contains(n)),
        "{names:?}"
    );
    for name in names {
        let paper = shipped(name);
        assert!(!paper.entries.is_empty() && !paper.figures.is_empty(), "{name}");
        assert!(paper.page.len() > 1000, "{name}: its page says too little");
        for entry in &paper.entries {
            if let StatementKind::Number { reason, .. } = &entry.kind {
                assert!(!reason.is_empty(), "{}: a tolerance needs a reason", entry.id);
            }
        }
    }
}

/// Ids that must be there whatever their verdict: the targets of the plan, one line for each table, figure or section.
#[test]
fn every_published_figure_of_the_papers_is_an_entry() {
    let schemes = ["pcon-ndnsim", "rp-a", "rp-ab", "rp-abc"];
    let mut pooling: Vec<String> = Vec::new();
    for row in ["c1", "c2", "c3", "total", "jain"] {
        pooling.extend(schemes.iter().map(|s| format!("table1.{row}.{s}")));
    }
    for share in ["r1-r4", "r1-r5"] {
        pooling.extend(["rp-ab", "rp-abc"].iter().map(|s| format!("fig4.{share}.{s}")));
    }
    pooling.extend(["convergence", "fig5.equal", "fig5.path.c1.r8", "table1.jain.order"].map(String::from));
    let mut pair: Vec<String> = Vec::new();
    for (mark, methods) in
        [("", ["pp", "aimd-codel", "cubic-codel", "bic-codel"]), (".nfd", ["pp-nfd", "aimd", "cubic", "bic"])]
    {
        for flow in ["mouse", "elephant"] {
            pair.extend(methods.iter().map(|m| format!("table1.{flow}{mark}.{m}")));
            pair.push(format!("table1.{flow}{mark}.fastest"));
        }
    }
    pair.extend(["fig2.20000", "estimate.below.40", "jump.marks.alone", "jump.drops.alone"].map(String::from));
    let mut hop: Vec<String> = Vec::new();
    for scheme in ["hbhcm", "omcc-rf"] {
        hop.extend(["s1.utilisation", "s1.queue", "s1.jain.alone"].map(|id| format!("{id}.{scheme}")));
    }
    hop.extend(
        [
            "s1.utilisation.pcon",
            "s1.queue.pcon",
            "s1.jain.alone.pcon",
            "s1.jain.best",
            "s2.queue",
            "s2.rate",
            "s2.peak",
            "s2.dips",
            "s3.rate.active",
            "s3.rate.inactive",
            "s3.queue.pcon",
            "s3.queue.same",
            "s3.queue.active",
            "s4.rate",
            "s4.jain",
            "s4.queue",
        ]
        .map(String::from),
    );
    let mut nack: Vec<String> = Vec::new();
    for (table, plain, once) in [("table1", 5, 11), ("table2", 10, 12)] {
        for what in ["start", "nacks"] {
            nack.extend(
                (1..=4).flat_map(|n| [format!("{table}.plain.{what}.{n}"), format!("{table}.once.{what}.{n}")]),
            );
        }
        nack.extend([format!("{table}.plain.start.{plain}"), format!("{table}.once.start.{once}")]);
    }
    for kind in ["plain", "once"] {
        nack.extend((1..=9).map(|rate| format!("figure8.{kind}.{rate}")));
    }
    let both = ["rate.1", "rate.5", "used.1", "used.5", "two.rate", "two.used", "first.rate.1", "first.rate.5"];
    let dumbbells = ["n1.total", "n1.used", "n1.con1", "n1.con2", "n2.total", "n2.used"];
    let sides = ["mirrored.left", "mirrored.right", "turned.left", "turned.right"];
    for scheme in ["stateful-consumer", "nack-once-consumer"] {
        nack.extend(both.iter().chain(&dumbbells).chain(&sides).map(|id| format!("{id}.{scheme}")));
    }
    nack.extend(["hold", "n1.congestion.first", "n1.fair", "n2.fair", "n4.fair", "n4.order"].map(String::from));
    let papers = [("resource-pooling", pooling), ("packet-pair", pair), ("hbhcm-paqm", hop), ("nack-once", nack)];
    for (paper, wanted) in papers {
        let entries = shipped(paper).entries;
        let missing: Vec<_> = wanted.iter().filter(|id| !entries.iter().any(|e| e.id == **id)).collect();
        assert!(missing.is_empty(), "{paper}: no entry for {missing:?}");
    }
}

/// Table 1, Table I and the numbers of the text, as printed.
#[test]
fn published_numbers_are_those_the_papers_print() {
    let published = |paper: &Paper, prefix: &str| -> Vec<f64> {
        let of = paper.entries.iter().filter(|e| e.id.starts_with(prefix));
        of.filter_map(|e| if let StatementKind::Number { published, .. } = e.kind { Some(published) } else { None })
            .collect()
    };
    let pair = shipped("packet-pair");
    assert_eq!(published(&pair, "table1.mouse."), [8.71, 14.82, 19.58, 11.27, 8.71, 14.82, 19.58, 11.27]);
    assert_eq!(published(&pair, "table1.elephant."), [47.53, 50.55, 47.65, 47.73, 47.53, 50.55, 47.65, 47.73]);
    let pooling = shipped("resource-pooling");
    for (row, numbers) in [
        ("c1", [12.1, 11.5, 11.5, 11.7]),
        ("c2", [8.4, 9.4, 9.8, 10.6]),
        ("c3", [12.4, 11.9, 11.9, 11.7]),
        ("total", [32.9, 32.8, 33.2, 34.0]),
        ("jain", [0.973, 0.990, 0.993, 0.998]),
    ] {
        assert_eq!(published(&pooling, &format!("table1.{row}.")), numbers);
    }
    assert_eq!(published(&pooling, "fig4."), [0.698, 0.727, 0.302, 0.273]);
    let nack = shipped("nack-once");
    assert_eq!(published(&nack, "table1.plain.nacks"), [11.0, 4.0, 4.0, 4.0, 4.0]);
    assert_eq!(published(&nack, "table1.once.start"), [0.08, 1.35, 2.23, 3.09, 9.15]);
    assert_eq!(published(&nack, "table2.once.nacks"), [35.0, 1.0, 1.0, 1.0]);
    assert_eq!(published(&nack, "table2.plain.start"), [0.03, 4.05, 4.74, 5.42, 9.50]);
    assert_eq!(published(&nack, "rate."), [274.0, 465.0, 73.0, 93.0]);
    assert_eq!(published(&nack, "two.rate"), [102.0, 180.0]);
    assert_eq!(published(&nack, "n1.total"), [669.0, 1116.0]);
    assert_eq!(published(&nack, "n2.total"), [643.0, 1137.0]);
    assert_eq!(published(&nack, "mirrored."), [60.2, 81.7, 67.1, 89.8]);
    let hop = shipped("hbhcm-paqm");
    assert_eq!(published(&hop, "s1.utilisation"), [96.4, 94.6, 92.5]);
    assert_eq!(published(&hop, "s1.queue"), [7.8, 4.5, 5.9]);
    assert_eq!(published(&hop, "s2.queue"), [4.9]);
    let sieve = shipped("ndnsieve");
    // ndnSieve literal and calibrated, PCON in both variants, the stand-ins for CoopCon and FleCom.
    let row = |n: f64, p: f64, c: f64, f: f64| vec![n, n, p, p, c, f];
    assert_eq!(published(&sieve, "table4.c1."), row(1.88, 13.19, 19.68, 6.92));
    assert_eq!(published(&sieve, "table4.c2."), row(1.88, 13.09, 19.77, 6.94));
    assert_eq!(published(&sieve, "table5."), row(1.0, 0.93, 0.98, 1.0).repeat(2));
    assert_eq!(published(&sieve, "table6."), row(6.90, 9.78, 13.89, 5.24));
    assert_eq!(published(&sieve, "table7."), [0.87, 0.87, 0.84, 0.84, 0.89].repeat(2));
    assert_eq!(published(&sieve, "table8.c1."), row(3.03, 31.24, 55.78, 21.02));
    assert_eq!(published(&sieve, "table8.c2."), row(37.39, 31.69, 45.56, 17.20));
    assert_eq!(published(&sieve, "table8.c3."), row(61.35, 18.81, 31.44, 23.52));
    assert_eq!(published(&sieve, "s1.gain."), [33.55; 4]);
    assert_eq!(published(&sieve, "s2.gain."), [33.55; 4]);
    assert_eq!((published(&sieve, "s2.switch"), published(&sieve, "s3.switch")), (vec![1.0; 2], vec![4.1; 2]));
}

/// A small paper; reports are drawn from it too.
const PUBLISHED: &str = include_str!("paper/published.toml");

/// A paper's folder on disk.
fn folder(name: &str, published: &str) -> Folder {
    // Tests run side by side; none may see another's half-written file.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{number}"));
    std::fs::create_dir_all(&dir).unwrap();
    std::fs::write(dir.join("published.toml"), published).unwrap();
    std::fs::write(dir.join("s.toml"), include_str!("paper/s.toml")).unwrap();
    std::fs::write(dir.join("page.md"), include_str!("paper/page.md")).unwrap();
    Folder::find(dir.to_str().unwrap()).unwrap()
}

#[test]
fn slips_in_published_files_name_file_line_and_remedy() {
    for (i, (from, to, line, part)) in [
        ("goodput_mbps\"\nunit", "goodput_mpbs\"\nunit", 16, "did you mean \"goodput_mbps\""),
        (
            "schemes = [\"cubic\", \"pcon\"]\npublished",
            "schemes = [\"cubik\", \"pcon\"]\npublished",
            18,
            "did you mean \"cubic\"",
        ),
        ("[9.5, 5]", "[9.5]", 18, "2 schemes and 1 published"),
        ("tolerance = 0.2", "tolerance = \"wide\"", 20, "not a tolerance"),
        ("ordering = \"o\"", "ordering = \"oo\"", 19, "there is no ordering \"oo\""),
        ("consumers.C1.goodput_mbps\"\ncheck", "consumers.C2.goodput_mbps\"\ncheck", 39, "no consumer \"C2\""),
        ("check = \"steady\"", "check = \"stable\"", 40, "\"stable\" is not known"),
        ("rule = \"descending\"", "rul = \"descending\"", 31, "unknown key \"rul\""),
        ("[\"cubic\", \"pcon\"]\nvary", "[\"kubic\"]\nvary", 8, "no scheme called \"kubic\""),
        ("link.R-P.queue", "link.R-Q.queue", 0, "no link is called \"R-Q\""),
        ("metric = \"goodput_mbps\"\nunit", "metric = \"mean(goodput_mbps)\"\nunit", 16, "function of a series"),
    ]
    .into_iter()
    .enumerate()
    {
        let whole = PUBLISHED;
        assert!(whole.contains(from), "{from}");
        let problems =
            papers::read(&folder(&format!("slip{i}"), &whole.replacen(from, to, 1))).unwrap_err().to_string();
        assert!(problems.contains(part), "{to}: {problems}");
        assert!(line == 0 || problems.contains(&format!("published.toml:{line}:")), "{to} in line {line}: {problems}");
        assert!(problems.contains("help: "), "{problems}");
    }
}

#[test]
fn a_paper_runs_twice_with_the_same_document() {
    let folder = folder("whole", PUBLISHED);
    let paper = papers::read(&folder).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(papers::count(&paper, 3), 12);
    let once = || {
        let results = papers::run(&paper, 3, &ndnweir_lab::experiment::Silent, &AtomicBool::new(false)).unwrap();
        let judged = papers::judge(&paper, &results.runs);
        (
            papers::text::json(&paper, &judged, "ndnweir papers x", "0").to_string(),
            papers::text::table(&judged, TableStyle::default()),
        )
    };
    let (json, table) = once();
    assert_eq!((json.clone(), table.clone()), once());
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let first = &value["entries"][0];
    let keys =
        ["id", "where", "scheme", "metric", "unit", "published", "mean", "sd", "n", "tolerance", "verdict", "note"];
    assert!(keys.iter().all(|k| first.get(k).is_some()) && first.as_object().unwrap().len() == keys.len(), "{first}");
    // Two cases with three seeds each.
    assert_eq!(first["n"], 6);
    assert!(table.contains("±0.200") && table.contains("Table 1"), "{table}");
}

/// Verdicts of the test paper for made-up goodputs of cubic and pcon, one number for each seed.
fn verdicts(cubic: &[f64], pcon: &[f64]) -> Vec<Judged> {
    let paper = papers::read(&folder("verdicts", PUBLISHED)).unwrap_or_else(|p| panic!("{p}"));
    let made = |scheme: &str, values: &[f64]| -> Vec<Measured> {
        let each = values.iter().enumerate().map(|(i, v)| Measured {
            case: 0,
            run: Run { scheme: scheme.into(), seed: i as u64 + 1, ..Run::default() },
            scalars: BTreeMap::from([("goodput_mbps".to_owned(), *v)]),
            ..Measured::default()
        });
        each.collect()
    };
    let runs = made("cubic", cubic).into_iter().chain(made("pcon", pcon)).collect();
    papers::judge(&paper, &Runs(vec![runs]))
}

#[test]
fn a_number_is_reproduced_within_its_tolerance_or_two_standard_errors() {
    use PaperVerdict::{NotReproduced, OrderingHolds, Reproduced};
    let of = |cubic: &[f64]| verdicts(cubic, &[5.0; 4])[0].verdict;
    // Published 9.5, tolerance 0.2.
    assert_eq!(of(&[9.3, 9.3, 9.3, 9.3]), Reproduced);
    assert_eq!(of(&[9.7]), Reproduced);
    // 0.3 off; standard deviation 0.4, four runs: two standard errors are 0.4.
    assert_eq!(of(&[8.854, 9.546, 8.854, 9.546]), Reproduced);
    // The same mean and spread over sixteen runs: two standard errors are 0.18. The order still holds.
    let many: Vec<f64> = [8.854, 9.546].into_iter().cycle().take(16).collect();
    assert_eq!(verdicts(&many, &[5.0; 16])[0].verdict, OrderingHolds);
    assert_eq!(verdicts(&[4.0; 4], &[5.0; 4])[0].verdict, NotReproduced);
}

#[test]
fn an_ordering_holds_only_beyond_two_standard_errors_of_its_margin() {
    let of = |cubic: &[f64], pcon: &[f64]| verdicts(cubic, pcon)[2].clone();
    let clear = of(&[9.0, 9.1, 9.2], &[8.0, 8.1, 8.3]);
    assert_eq!((clear.verdict, clear.n, clear.published), (PaperVerdict::OrderingHolds, 3, None));
    // By hand: margins 1.0, 1.0, 0.9.
    assert!((clear.mean.unwrap() - 2.9 / 3.0).abs() < 1e-12);
    let noisy = of(&[9.0, 7.0, 9.2], &[8.0, 8.1, 8.1]);
    assert_eq!(noisy.verdict, PaperVerdict::NotReproduced);
    assert!(noisy.note.contains("within two standard errors"), "{}", noisy.note);
    assert_eq!(of(&[7.0; 3], &[8.0; 3]).verdict, PaperVerdict::NotReproduced);
}

#[test]
fn what_could_not_be_measured_is_not_reproduced_and_says_so() {
    let judged = verdicts(&[], &[]);
    for entry in judged {
        assert_eq!((entry.verdict, entry.n, entry.mean), (PaperVerdict::NotReproduced, 0, None));
        assert!(entry.note.contains("not measured"), "{}", entry.note);
    }
}
