//! Criteria: those that come with the program are sound, slips are named, verdicts follow thresholds, and tables do not
//! depend on the number of threads.

use ndnweir_lab::criteria::{self, Criterion, CriterionVerdict, Depth, Folder, Jobs, Judgement, ReadOptions, text};
use ndnweir_lab::evaluation::{Measured, Runs};
use ndnweir_lab::experiment::{Silent, choose};
use ndnweir_lab::jobs::StoredResults;
use ndnweir_lab::results::Run;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

fn options(depth: Depth) -> ReadOptions {
    ReadOptions { depth, held_out: Some(1), set: Vec::new() }
}

fn shipped(depth: Depth) -> Vec<Criterion> {
    criteria::read_all(&Folder::Shipped, &[], &options(depth)).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn every_shipped_criterion_is_sound_at_every_depth_and_has_quick_cells() {
    let cells = |depth| shipped(depth).iter().map(|c| c.cells().count()).sum::<usize>();
    let (quick, default, full) = (cells(Depth::Quick), cells(Depth::Default), cells(Depth::Full));
    assert!(quick < default && default < full, "{quick} {default} {full}");
    for criterion in shipped(Depth::Quick) {
        assert!(criterion.cells().count() > 0 && !criterion.measures.is_empty(), "{}", criterion.name);
        for measure in &criterion.measures {
            assert!(measure.reason.len() > 5, "{}: {}: a threshold needs a reason", criterion.name, measure.id);
        }
    }
}

#[test]
fn the_log_of_the_shipped_criteria_gives_their_date() {
    let dated = Folder::Shipped.dated().unwrap();
    assert!(dated.len() == 10 && dated.starts_with("20"), "{dated}");
}

#[test]
fn every_scheme_can_run_in_every_cell_of_a_criterion_that_applies_to_it() {
    for criterion in shipped(Depth::Full) {
        for case in criterion.experiments.iter().flat_map(|e| &e.cases).filter(|c| !c.scenario.parts.is_empty()) {
            let network = case.scenario.network();
            for scheme in choose(&case.scenario, &["all".to_owned()]).unwrap() {
                let checked = network.check_parts(&scheme);
                let applies = criterion.not_applicable(&scheme).is_none();
                assert_eq!(applies, checked.is_ok(), "{}: {}: {checked:?}", criterion.name, scheme.name);
            }
        }
    }
}

const SMALL: &str = include_str!("criteria/small.toml");

/// A folder with one criterion on disk.
fn folder(text: &str) -> Folder {
    // Tests run side by side; none may see another's half-written file.
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("criteria-{}-{number}", std::process::id()));
    std::fs::create_dir_all(dir.join("scenarios")).unwrap();
    std::fs::write(dir.join("small.toml"), text).unwrap();
    std::fs::write(dir.join("scenarios/small.toml"), include_str!("criteria/scenario.toml")).unwrap();
    Folder::find(Some(&dir)).unwrap()
}

fn small(text: &str, depth: Depth) -> Criterion {
    let options = ReadOptions { depth, ..ReadOptions::default() };
    criteria::read(&folder(text), "small", &options).unwrap_or_else(|problems| panic!("{problems}")).unwrap()
}

#[test]
fn slips_in_criteria_name_file_line_and_remedy() {
    for (from, to, line, part) in [
        ("strength = \"advice\"", "strength = \"must\"", 3, "\"must\" is not known"),
        ("question =", "qestion =", 4, "unknown key \"qestion\""),
        ("scenario = \"small.toml\"\nvary", "scenario = \"smal.toml\"\nvary", 9, "No such file"),
        ("scenario = \"small.toml\"\nvary", "scenario = \"dumbell\"\nvary", 9, "did you mean \"dumbbell\""),
        ("\"8 packets\"]]", "\"8 packets\", \"9\"]]", 10, "4 values for 2 keys"),
        ("link.*.marker=droptail", "link.X.marker=droptail", 0, "no link is called \"X\""),
        ("metric = \"attained\"", "metric = \"attaned\"", 22, "did you mean \"attained\""),
        ("experiment = \"one\"\nmetric = \"ratio", "experiment = \"on\"\nmetric = \"ratio", 33, "no experiment \"on\""),
        ("queueing_ms@tail", "queueing_ms@tial", 34, "no experiment \"tial\""),
        ("pass = 0.5\nweak = 1", "pass = 1\nweak = 0.5", 39, "wrong order"),
        ("[\"multicast\"]", "[\"multicats\"]", 45, "there is no strategy \"multicats\""),
        ("id = \"queue\"", "id = \"rate\"", 30, "\"rate\" is there twice"),
        ("better = \"less\"", "beter = \"less\"", 37, "unknown key \"beter\""),
    ] {
        assert!(SMALL.contains(from), "{from}");
        let options = options(Depth::Full);
        let problems =
            criteria::read(&folder(&SMALL.replacen(from, to, 1)), "small", &options).unwrap_err().to_string();
        assert!(problems.contains(part), "{to}: {problems}");
        assert!(line == 0 || problems.contains(&format!("small.toml:{line}:")), "{to} in line {line}: {problems}");
        assert!(problems.contains("help: "), "{problems}");
    }
}

#[test]
fn missing_files_are_reported_before_anything_runs() {
    let none = criteria::read_all(&Folder::Shipped, &["bufferblot".into()], &options(Depth::Quick)).unwrap_err();
    assert!(none.to_string().contains("did you mean \"bufferbloat\""), "{none}");
    let empty = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-criteria");
    std::fs::create_dir_all(&empty).unwrap();
    assert!(Folder::find(Some(&empty)).unwrap_err().to_string().contains("no criterion"));
    let drawn = criteria::read(&Folder::Shipped, "held-out", &ReadOptions::default()).unwrap();
    assert!(drawn.is_none(), "without a seed nothing is drawn");
}

#[test]
fn deeper_cells_are_left_out_and_named_cases_keep_their_names() {
    assert_eq!(small(SMALL, Depth::Quick).cells().count(), 2);
    let all = small(SMALL, Depth::Default);
    let names: Vec<&str> = all.experiments[0].cases.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["slow", "fast"]);
    assert_eq!(all.experiments[0].cases[1].set, ["link.C-P.rate=2Mbps", "link.C-P.queue=9 packets"]);
}

/// Verdicts of the small criterion for made-up values of its two cells, one list for each measure, and those without
/// marks.
fn verdicts(attained: [&[f64]; 2], queueing: [f64; 2]) -> Vec<(CriterionVerdict, usize)> {
    let criterion = small(SMALL, Depth::Default);
    let made = |case: usize, seed: usize, scalars: &[(&str, f64)]| Measured {
        case,
        run: Run { scheme: "s".into(), seed: seed as u64, ..Run::default() },
        scalars: scalars.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect(),
        ..Measured::default()
    };
    let mut one = Vec::new();
    for (case, values) in attained.into_iter().enumerate() {
        let runs = values.iter().enumerate();
        one.extend(runs.map(|(seed, x)| made(case, seed, &[("attained", *x), ("queueing_ms", queueing[case])])));
    }
    let tail = (0..2).map(|seed| made(0, seed, &[("queueing_ms", 10.0)])).collect();
    let result = criterion.judge(&Runs(vec![one, tail]), "s");
    result.measures.iter().map(|m| (m.cell().verdict, m.decided)).collect()
}

#[test]
fn a_value_relative_to_an_estimate_of_the_optimum_says_so_and_one_relative_to_a_proved_optimum_does_not() {
    let criterion = small(SMALL, Depth::Default);
    let judged = |known: Option<&str>| {
        let made = |case: usize, known: Option<&str>| Measured {
            case,
            run: Run { scheme: "s".into(), seed: 1, ..Run::default() },
            scalars: BTreeMap::from([("attained".into(), 0.8), ("queueing_ms".into(), 4.0)]),
            estimate: known.map(String::from),
            ..Measured::default()
        };
        // The optimum of the second case is proved in any case.
        let runs = Runs(vec![vec![made(0, known), made(1, None)], vec![made(0, known)]]);
        let result = vec![Some(criterion.judge(&runs, "s"))];
        let judgement =
            Judgement { schemes: vec!["s".into()], seeds: vec![1], results: vec![result], ..Judgement::default() };
        let criteria = std::slice::from_ref(&criterion);
        let document = text::json(criteria, &judgement, "x", "0");
        (text::document(criteria, &judgement, "head"), document["criteria"][0]["results"][0]["measures"].clone())
    };
    let (text, measures) = judged(Some("7 of 9 flows are proved"));
    let lead = "Relative to an estimate of the optimum, which is not proved: small (1 of 3 cells).";
    assert!(text.contains("0.800 est.") && text.contains("in one: slow: 7 of 9 flows are proved"), "{text}");
    assert!(text.contains(lead) && !text.contains("in one: fast"), "{text}");
    assert_eq!(measures[0]["cells"][0]["estimate"], "7 of 9 flows are proved");
    // The other case has a proof, and the other measure reads no optimum.
    for cell in [&measures[0]["cells"][1], &measures[1]["cells"][0]] {
        assert!(cell["mean"].is_number() && cell.get("estimate").is_none(), "{cell}");
    }
    let (text, measures) = judged(None);
    assert!(!text.contains("est.") && !text.contains("estimate"), "{text}");
    assert!(!measures.to_string().contains("estimate"), "{measures}");
}

#[test]
fn the_worst_cell_decides_or_the_median_where_the_measure_says_so() {
    use CriterionVerdict::{Fail, Pass, Weak};
    // Means over seeds; thresholds 0.9 and 0.5 upwards, 0.5 and 1 downwards. Of two cells the median is the worse.
    assert_eq!(verdicts([&[0.9, 0.9], &[0.95, 0.95]], [4.0, 5.0]), [(Pass, 0), (Pass, 1)]);
    assert_eq!(verdicts([&[1.0, 1.0], &[0.7, 0.9]], [5.1, 4.0]), [(Weak, 1), (Weak, 0)]);
    assert_eq!(verdicts([&[0.4, 0.5], &[1.0, 1.0]], [4.0, 11.0]), [(Fail, 0), (Fail, 1)]);
    // What no run defines is a failure.
    assert_eq!(verdicts([&[], &[1.0]], [4.0, 4.0])[0], (Fail, 0));
}

fn judged(criteria: &[Criterion], schemes: &[&str], seeds: &[u64]) -> Judgement {
    let names: Vec<String> = schemes.iter().map(|s| (*s).to_owned()).collect();
    criteria::run(criteria, &names, seeds, &Silent, &AtomicBool::new(false)).unwrap()
}

fn table(criteria: &[Criterion], judgement: &Judgement) -> String {
    text::document(criteria, judgement, "")
}

#[test]
fn one_thread_and_two_give_the_same_table_and_document() {
    let criteria = [small(SMALL, Depth::Default)];
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let judgement = pool.install(|| judged(&criteria, &["pcon", "cubic"], &[1, 2]));
        (table(&criteria, &judgement), text::json(&criteria, &judgement, "x", "0").to_string())
    };
    let (one, two) = (with(1), with(2));
    assert_eq!(one, two);
    assert!(one.0.contains("attained share") && one.0.contains("one: slow"), "{}", one.0);
}

#[test]
fn a_scheme_that_a_criterion_does_not_apply_to_gets_the_reason() {
    let criteria = [small(&SMALL.replace("multicast", "best-route"), Depth::Quick)];
    let judgement = judged(&criteria, &["cubic"], &[1]);
    let result = judgement.results[0][0].as_ref().unwrap();
    assert_eq!((result.verdict, judgement.packet_hops[0]), (CriterionVerdict::NotApplicable, 0));
    assert!(table(&criteria, &judgement).contains("it asks everybody"));
}

/// A change of behaviour shows here: three schemes in four criteria that take little time, one seed.
#[test]
fn the_smoke_subset_gives_the_table_that_is_pinned() {
    let only = ["constrained", "data-centre", "starvation", "reordering"].map(String::from);
    let criteria = criteria::read_all(&Folder::Shipped, &only, &options(Depth::Quick)).unwrap();
    let judgement = judged(&criteria, &["pcon", "bic", "hobhis"], &[1]);
    let table = table(&criteria, &judgement);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/criteria/smoke.txt");
    if std::env::var_os("PIN_TABLES").is_some() {
        std::fs::write(&path, &table).unwrap();
    }
    let pinned = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(table == pinned, "not as pinned in {}; with PIN_TABLES=1 it is written again:\n{table}", path.display());
}

/// Stored results of a folder, and all files in it with their bytes.
fn in_folder(name: &str) -> (StoredResults, PathBuf) {
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    (StoredResults::new(&dir), dir)
}

fn bytes(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap);
    entries.map(|e| (e.file_name().into_string().unwrap(), std::fs::read(e.path()).unwrap())).collect()
}

#[test]
fn whoever_ran_the_jobs_the_verdicts_are_the_same_and_a_changed_threshold_runs_nothing_again() {
    let (names, seeds, stop) = (["pcon".to_owned(), "cubic".into()], [1, 2], AtomicBool::new(false));
    let criteria = [small(SMALL, Depth::Default)];
    let at_once = judged(&criteria, &["pcon", "cubic"], &seeds);
    let jobs = Jobs::new(&criteria, &names, &seeds, "this").unwrap();
    // Two cells and one, two schemes, two seeds.
    assert_eq!(jobs.len(), 12);
    let ((one, first), (two, second)) = (in_folder("jobs-one"), in_folder("jobs-two"));
    for part in 0..3 {
        let mine = jobs.part(part, 3);
        assert_eq!(jobs.store(&mine, &one, &Silent, &stop).unwrap(), mine.len());
    }
    let stored = jobs.run(Some(&one), &Silent, &stop).unwrap();
    let fresh = jobs.run(Some(&two), &Silent, &stop).unwrap();
    let text = |j: &Judgement| (table(&criteria, j), text::json(&criteria, j, "x", "0").to_string());
    assert_eq!(text(&stored), text(&at_once));
    assert_eq!((&stored.shown, &stored.packet_hops), (&fresh.shown, &fresh.packet_hops));
    assert_eq!(bytes(&first), bytes(&second));
    let stricter = [small(&SMALL.replace("pass = 0.9", "pass = 0.95"), Depth::Default)];
    let again = Jobs::new(&stricter, &names, &seeds, "this").unwrap();
    assert_eq!(again.list(), jobs.list());
    // Another measure reads other values: its runs are repeated, and the values of both are stored.
    let other = SMALL.replace("metric = \"attained\"", "metric = \"consumers.C.marks\"");
    let changed = [small(&other, Depth::Default)];
    let jobs = Jobs::new(&changed, &names, &seeds, "this").unwrap();
    jobs.run(Some(&one), &Silent, &stop).unwrap();
    let grown = bytes(&first);
    assert!(grown.keys().eq(bytes(&second).keys()) && grown != bytes(&second));
    assert_eq!(
        text(&Jobs::new(&criteria, &names, &seeds, "this").unwrap().run(Some(&one), &Silent, &stop).unwrap()),
        text(&at_once)
    );
    assert_eq!(bytes(&first), grown);
    assert!(
        Jobs::new(&criteria, &names, &seeds, "that").unwrap().list().iter().all(|job| !grown.contains_key(&job.key))
    );
}

#[test]
fn criteria_with_the_same_cell_share_its_run() {
    let one = small(SMALL, Depth::Default);
    let mut two = small(&SMALL.replace("ratio(queueing_ms, queueing_ms@tail)", "consumers.C.marks"), Depth::Default);
    two.name = "other".into();
    let both = [one.clone(), two.clone()];
    let shared = judged(&both, &["pcon"], &[1]);
    assert_eq!(Jobs::new(&both, &["pcon".into()], &[1], "").unwrap().len(), 3);
    let apart = [judged(&[one], &["pcon"], &[1]), judged(&[two], &["pcon"], &[1])];
    assert_eq!(shared.results, [apart[0].results[0].clone(), apart[1].results[0].clone()]);
}
