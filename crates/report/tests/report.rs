//! Reports end to end on made-up observations.

use crate::report_synthetic::{comparison, dumbbell};
use ndnweir_lab::results::{self, Comparison, NewFolder, SeriesOf, Sort};
use ndnweir_lab::text_table::TableStyle;
use ndnweir_report as report;
use std::path::{Path, PathBuf};

#[test]
#[ignore = "draws example reports into $REPORT_GALLERY to be looked at"]
fn gallery() {
    let Some(root) = std::env::var_os("REPORT_GALLERY").map(PathBuf::from) else {
        return;
    };
    let three = ["aimd", "cubic", "pcon"];
    let eight = ["fixed", "aimd", "bic", "cubic", "pcon", "pcon-ndnsim", "hbhcm", "ndnsieve"];
    let cases = [
        ("small", comparison(dumbbell(2, false), &three, 1)),
        ("paths", comparison(dumbbell(3, true), &three, 3)),
        ("large", comparison(dumbbell(20, true), &eight, 5)),
        ("one", comparison(dumbbell(1, false), &["pcon"], 1)),
    ];
    for (name, case) in &cases {
        println!("{}", results::table(case, Sort::Given, TableStyle::default()));
        report::write(case, &root.join(name), SeriesOf::First).unwrap();
    }
    let page = report::compare(&cases[0].1, &cases[1].1, ("small", "paths"));
    std::fs::write(root.join("compare.html"), page).unwrap();
}

fn small() -> Comparison {
    comparison(dumbbell(2, false), &["aimd", "pcon"], 2)
}

fn temp(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("ndnweir-report-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

fn entries(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Bytes of all files below a folder.
fn contents_size(dir: &Path) -> u64 {
    let below = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        if entry.path().is_dir() { contents_size(&entry.path()) } else { entry.metadata().unwrap().len() }
    };
    std::fs::read_dir(dir).unwrap().map(below).sum()
}

#[test]
fn the_json_document_has_the_promised_shape_and_is_the_same_every_time() {
    let json = small().to_summary();
    assert!(json == small().to_summary());
    let v: serde_json::Value = serde_json::from_str(&json).unwrap();
    let run = &v["runs"][0];
    for key in ["scheme", "seed", "consumers", "jain", "loss_mbps", "links"] {
        assert!(!run[key].is_null(), "{key}");
    }
    for key in ["mean", "sd", "p50", "p99", "max"] {
        assert!(run["consumers"][0]["delay_ms"][key].is_number(), "{key}");
    }
    assert!(run["consumers"][0]["name"].is_string() && run["consumers"][0]["goodput_mbps"].is_number());
    assert!(run["links"][0]["utilization"].is_number() && run["links"][0]["queue_ms"].is_number());
    assert!(v["scenario"].is_object() && v["optimum"]["total_mbps"].is_number());
    assert!(v["repeat"].is_object() && v["scenario"]["events"].is_array() && v["scenario"]["notes"].is_array());
    let goodput = &v["aggregates"][0]["metrics"]["goodput_mbps"];
    assert!(goodput["mean"].is_number() && goodput["sd"].is_number() && goodput["n"] == 2);
}

#[test]
fn a_written_folder_reads_back_and_redraws_to_the_same_bytes() {
    let root = temp("roundtrip");
    let dir = root.join("out");
    report::write(&small(), &dir, SeriesOf::All).unwrap();
    assert_eq!(entries(&dir), ["figures", "report.html", "series", "summary.json"]);
    let back = results::read(&dir).unwrap();
    assert_eq!(back.to_summary(), std::fs::read_to_string(dir.join("summary.json")).unwrap());
    assert_eq!(back.runs.len(), 4);
    assert!(back.runs.iter().all(|r| r.series.len() == 120));
    let page = std::fs::read(dir.join("report.html")).unwrap();
    std::fs::remove_file(dir.join("report.html")).unwrap();
    report::redraw(&dir).unwrap();
    assert!(std::fs::read(dir.join("report.html")).unwrap() == page);
    assert_eq!(entries(&root), ["out"]);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn a_folder_is_replaced_whole_and_a_foreign_one_is_left_alone() {
    let root = temp("atomic");
    let dir = root.join("out");
    results::write_folder(&dir, &[("summary.json".into(), b"{}".to_vec()), ("series/old.csv".into(), vec![])]).unwrap();
    std::fs::write(dir.join("notes.txt"), "mine").unwrap();
    results::write_folder(&dir, &[("summary.json".into(), b"{1}".to_vec())]).unwrap();
    assert_eq!(entries(&dir), ["notes.txt", "summary.json"]);
    std::fs::remove_file(dir.join("summary.json")).unwrap();
    let error = results::write_folder(&dir, &[]).unwrap_err().to_string();
    assert!(error.contains("not a result folder"), "{error}");
    assert_eq!(entries(&dir), ["notes.txt"]);
    // Files that cannot be written do not prevent the others, as long as there is a summary.
    let files = |names: [&str; 3]| names.map(|name| (name.to_owned(), b"{}".to_vec()));
    let error = results::write_folder(&dir.join("new"), &files(["summary.json", "a", "a/b"])).unwrap_err().to_string();
    assert!(error.contains("a/b") && error.contains("1 of 3 files"), "{error}");
    assert_eq!(entries(&dir.join("new")), ["a", "summary.json"]);
    std::fs::remove_dir_all(dir.join("new")).unwrap();
    // A file that cannot be written leaves nothing behind.
    let bad = [("a".to_owned(), vec![1]), ("a/b".to_owned(), vec![1])];
    assert!(results::write_folder(&root.join("new"), &bad).is_err());
    assert_eq!(entries(&root), ["out"]);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn damaged_files_are_rejected_with_file_fault_and_remedy() {
    let root = temp("damaged");
    let dir = root.join("out");
    report::write(&small(), &dir, SeriesOf::First).unwrap();
    let summary = std::fs::read_to_string(dir.join("summary.json")).unwrap();
    let csv = std::fs::read_to_string(dir.join("series/links.csv")).unwrap();
    let check = |file: &str, text: &str, expected: &str| {
        std::fs::write(dir.join(file), text).unwrap();
        let error = results::read(&dir).unwrap_err().to_string();
        assert!(error.contains(file) && error.contains(expected) && error.contains("; "), "{error}");
    };
    check("summary.json", "", "EOF");
    check("summary.json", &summary[..summary.len() / 2], "line");
    check("summary.json", "{}", "no \"format\"");
    check("summary.json", "{\"format\": 99}", "newer");
    check("summary.json", &summary.replacen("\"seed\": 1", "\"seed\": -1", 1), "line");
    std::fs::write(dir.join("summary.json"), &summary).unwrap();
    check("series/links.csv", "a,b\n", "columns");
    check("series/links.csv", &csv.replacen("aimd,1,0,", "aimd,1,7,", 1), "line 2: time 7");
    check("series/links.csv", &csv.replacen("aimd,1,0,", "nobody,1,0,", 1), "no run of \"nobody\"");
    check("series/links.csv", &csv[..csv.len() - 4].replacen("aimd,1,0,", "aimd,one,0,", 1), "seed \"one\"");
    check("series/links.csv", &(csv.clone() + "pcon"), "fields");
    std::fs::write(dir.join("series/links.csv"), [0xff, 0xfe]).unwrap();
    assert!(results::read(&dir).unwrap_err().to_string().contains("UTF-8"));
    std::fs::remove_file(dir.join("series/links.csv")).unwrap();
    report::redraw(&dir).unwrap();
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn truncated_documents_are_errors_and_never_panics() {
    let summary = comparison(dumbbell(1, false), &["pcon"], 1).to_summary();
    for end in (0..summary.len() - 2).step_by(97).filter(|e| summary.is_char_boundary(*e)) {
        assert!(results::parse_document(&summary[..end], "summary.json").is_err());
    }
}

#[test]
fn equal_runs_of_different_seeds_are_reported_as_zero_spread() {
    let mut case = small();
    assert!(results::zero_spread(&case).is_empty());
    let copy = case.runs[0].clone();
    case.runs[1] = results::Run { seed: 2, ..copy };
    let found = results::zero_spread(&case);
    assert_eq!((found.len(), found[0].scheme.as_str(), found[0].seeds), (1, "aimd", 2));
    assert!(report::page(&case).contains("No spread"));
}

#[test]
fn the_page_refers_to_nothing_outside_and_escapes_names() {
    let mut scenario = dumbbell(2, true);
    scenario.name = "<script>alert(1)</script> & \"co\"".into();
    scenario.description = "a <b> \u{1} c".into();
    let mut case = comparison(scenario, &["<i>x", "a,\"b\""], 1);
    case.repeat.command = "ndnweir sim '<x>'".into();
    case.partial = true;
    let page = report::page(&case);
    for outside in ["src=", "href=\"http", "url(", "@import", "<link", "<script>alert", "<i>x", "\u{1}"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("Partial.") && page.contains("How to repeat") && page.contains("&lt;script&gt;"));
    for figure in report::figures(&case) {
        let svg = figure.standalone();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", figure.id);
        assert_eq!(svg.matches("<g ").count(), svg.matches("</g>").count(), "{}", figure.id);
    }
    let root = temp("names");
    report::write(&case, &root.join("out"), SeriesOf::All).unwrap();
    assert_eq!(results::read(&root.join("out")).unwrap().schemes(), ["<i>x", "a,\"b\""]);
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn missing_parts_leave_their_figures_out() {
    assert!(report::page(&Comparison::default()).contains("How to repeat"));
    assert!(results::table(&Comparison::default(), Sort::Goodput, TableStyle::default()).starts_with("scheme"));
    let mut case = small();
    case.runs.iter_mut().for_each(|r| r.series = results::Series::default());
    case.optimum = ndnweir_lab::optimum::Optimum::undefined("routers cache Data");
    let page = report::page(&case);
    assert!(page.contains("routers cache Data") && page.contains("id=\"glance\"") && !page.contains("id=\"window\""));
    assert!(
        results::table(&case, Sort::Goodput, TableStyle::default()).contains("optimum undefined: routers cache Data")
    );
    let mut empty = case.clone();
    empty.runs.iter_mut().for_each(|r| {
        r.consumers.clear();
        r.links.clear();
        r.delay_ms = None;
        r.jain = None;
    });
    empty.scenario.nodes.clear();
    report::page(&empty);
}

#[test]
fn a_hundred_consumers_and_twelve_schemes_stay_a_small_page() {
    let mut scenario = dumbbell(100, false);
    scenario.duration_s = 20.0;
    let names: Vec<String> = (0..13).map(|i| format!("scheme-{i}")).collect();
    let case = comparison(scenario, &names.iter().map(String::as_str).collect::<Vec<_>>(), 1);
    let page = report::page(&case);
    assert!(page.len() < 3_000_000, "{}", page.len());
    assert_eq!(case.optimum.consumers.len(), 100);
}

#[test]
fn two_folders_are_compared_scheme_by_scheme() {
    let (a, mut b) = (small(), small());
    b.scenario.links[4].rate_mbps = 20.0;
    b.runs.retain(|r| r.scheme == "pcon");
    let page = report::compare(&a, &b, ("before", "after"));
    for text in
        ["before and after", "pcon · before", "pcon · after", "What was run differs", "difference", "rate of R1"]
    {
        assert!(page.contains(text), "{text}");
    }
    let same = report::compare(&a, &a, ("x", "y"));
    assert!(same.contains("Both ran the same scenario") && same.contains(">0 of "));
    // Both runs of a scheme have one colour, that of the second scheme for the last two.
    let own = same.matches(" .s2{color:#d55e00} .s3{color:#d55e00}").count();
    assert_eq!(own, 1);
}

#[test]
fn a_comparison_begins_with_the_largest_difference_beyond_chance() {
    let (a, mut b) = (small(), small());
    for (run, loss) in b.runs.iter_mut().filter(|r| r.scheme == "pcon").zip([90.0, 91.0]) {
        run.loss_mbps = loss;
    }
    let page = report::compare(&a, &b, ("before", "after"));
    let (first, figures) = (page.find("pcon: loss (Mbit/s)").unwrap(), page.find("id=\"glance\"").unwrap());
    assert!(first < figures && page.contains(">1 of ") && page.contains("→ 90.5"));
    b.runs.retain(|r| r.seed == a.runs[0].seed);
    assert!(report::compare(&b, &b, ("x", "y")).contains("With one seed"));
}

#[test]
fn tables_show_the_routed_and_the_physical_optimum_and_judge_by_the_routed() {
    let mut case = small();
    let physical = ndnweir_lab::optimum::Physical { total_mbps: 77.25, jain: Some(0.875), consumers: Vec::new() };
    case.optimum.physical = Some(physical);
    let table = results::table(&case, Sort::Given, TableStyle::default());
    let row = |name: &str| table.lines().find(|l| l.starts_with(name)).unwrap_or_default();
    let routed = format!("{:.2}", case.optimum.total_mbps.unwrap());
    assert!(row("optimum routed").contains(&routed) && table.contains("attained") && table.contains("worst flow"));
    assert!(row("optimum physical").contains("77.25") && row("optimum physical").contains("0.875"));
    let page = report::page(&case);
    assert!(page.contains("<em>optimum routed</em>") && page.contains("<em>optimum physical</em>"));
    assert!(page.contains(", 77.25 over any paths"));
    case.optimum.undefined = Some("nodes cache Data".into());
    case.optimum.total_mbps = None;
    case.optimum.physical = None;
    assert!(!results::table(&case, Sort::Given, TableStyle::default()).contains("attained"));
}

#[test]
fn the_terminal_table_is_aligned_and_shows_the_spread() {
    let table = results::table(&small(), Sort::Given, TableStyle::default());
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].contains("goodput Mbit/s") && lines[0].contains("retransmitted"));
    assert!(lines[2].starts_with("aimd") && lines[2].contains(" ± ") && lines[4].starts_with("optimum"));
    assert_eq!(lines[2].chars().count(), lines[0].chars().count());
}

#[test]
fn rows_are_sorted_as_requested_and_undefined_values_come_last() {
    let mut case = small();
    let order = |case: &Comparison, sort| -> Vec<String> {
        let table = results::table(case, sort, TableStyle::default());
        table.lines().skip(2).take(2).map(|l| l.split_whitespace().next().unwrap().to_owned()).collect()
    };
    case.runs.iter_mut().filter(|r| r.scheme == "aimd").for_each(|r| (r.goodput_mbps, r.jain) = (1.0, None));
    case.runs.iter_mut().filter(|r| r.scheme == "pcon").for_each(|r| (r.goodput_mbps, r.jain) = (9.0, Some(0.5)));
    assert_eq!(order(&case, Sort::Goodput), ["pcon", "aimd"]);
    assert_eq!(order(&case, Sort::Jain), ["pcon", "aimd"]);
    assert_eq!(order(&case, Sort::Name), ["aimd", "pcon"]);
    assert_eq!(order(&case, Sort::Given), ["aimd", "pcon"]);
}

#[test]
fn events_are_marked_in_every_figure_over_time_and_listed() {
    let mut case = small();
    let event = |at_s: f64, text: &str| results::EventInfo {
        at_s,
        what: "link-down".into(),
        target: "R1-R2".into(),
        text: text.into(),
    };
    case.scenario.events = vec![event(20.0, "link R1-R2 <fails>"), event(20.01, "at once"), event(40.0, "another")];
    let page = report::page(&case);
    let over_time = page.matches(">time (s)</text>").count();
    assert!(over_time >= 4, "{over_time}");
    let marks = page.matches("class=\"event\"").count();
    let panels = page.matches("20 s: link R1-R2 &lt;fails&gt;").count();
    assert!(panels >= over_time && marks == 2 * panels, "{marks} lines in {panels} panels of {over_time} figures");
    assert!(page.contains("id=\"events\"") && page.contains("<td class=\"t\">at once</td>"));
    assert!(!report::page(&small()).contains("class=\"event\""));
}

/// A ring of nodes with a consumer on each, one scheme, and numbers that take many digits.
fn ring(nodes: usize, bins: usize) -> Comparison {
    let name = |i: usize| format!("N{}", i % nodes);
    let mut case = Comparison::default();
    let scenario = &mut case.scenario;
    scenario.bin_s = 0.1;
    scenario.nodes = (0..nodes).map(|i| results::NodeInfo { name: name(i), ..Default::default() }).collect();
    let directions = (0..nodes).flat_map(|i| [(name(i), name(i + 1)), (name(i + 1), name(i))]);
    scenario.links = directions
        .map(|(from, to)| results::LinkInfo {
            name: format!("{from}>{to}"),
            from,
            to,
            rate_mbps: 100.0,
            ..Default::default()
        })
        .collect();
    scenario.consumers = (0..nodes)
        .map(|i| results::ConsumerInfo { name: format!("C{i}"), node: name(i), long_lived: true, ..Default::default() })
        .collect();
    let mut run = results::Run { scheme: "aimd".into(), seed: 1, ..Default::default() };
    let third = |i: usize| (i + 1) as f64 / 3.0;
    let links = scenario.links.iter().enumerate();
    run.links = links
        .map(|(i, l)| results::LinkRun {
            name: l.name.clone(),
            utilization: 1.0 / third(i + 9),
            queue_ms: third(i),
            ..Default::default()
        })
        .collect();
    run.nodes = (scenario.nodes.iter().zip(1..))
        .map(|(node, interests)| results::NodeRun { name: node.name.clone(), interests, ..Default::default() })
        .collect();
    let subjects = |kind: results::SeriesKind| -> Vec<String> {
        use results::SeriesKind::{Links, Network, Nodes, Packets};
        match kind {
            Network => vec![String::new()],
            Links | Packets => scenario.links.iter().map(|l| l.name.clone()).collect(),
            Nodes => scenario.nodes.iter().map(|n| n.name.clone()).collect(),
            _ => scenario.consumers.iter().map(|c| c.name.clone()).collect(),
        }
    };
    run.series.bin_s = 0.1;
    for kind in results::SeriesKind::ALL {
        let columns = vec![(0..bins).map(third).collect::<Vec<f64>>(); kind.metrics().len()];
        let rows = subjects(kind).into_iter().map(|subject| results::Rows {
            key: kind.keys().iter().map(|_| subject.clone()).collect(),
            columns: columns.clone(),
        });
        run.series.tables[kind as usize] = rows.collect();
    }
    case.runs.push(run);
    case
}

#[test]
fn a_folder_of_1_200_consumers_has_less_than_10_mb_and_every_link_in_its_summary() {
    let mut case = ring(1200, 100);
    let root = temp("large");
    let dir = root.join("out");
    let size = |case: &Comparison| {
        let mut folder = NewFolder::begin(&root.join("stored")).unwrap();
        results::store(case, SeriesOf::First, "", &mut folder);
        folder.finish().unwrap();
        contents_size(&root.join("stored"))
    };
    let whole = size(&case);
    case.thin_series();
    report::write(&case, &dir, SeriesOf::First).unwrap();
    assert_eq!(entries(&dir), ["figures", "report.html", "series", "summary", "summary.json"]);
    let page = std::fs::read_to_string(dir.join("report.html")).unwrap();
    let total = size(&case) + 2 * page.len() as u64;
    assert!(whole > 30_000_000 && total < 10_000_000, "{total} of {whole}");
    let back = results::read(&dir).unwrap();
    assert_eq!((back.runs[0].links.len(), back.runs[0].nodes.len()), (2400, 1200));
    assert!(
        page.contains("Not drawn: 1200 nodes and 1200 links") && page.contains("series hold 300 of 1200 consumers")
    );
    assert!(page.contains("300 of 1200 consumers: light band") && page.contains("944 more are in the summaries"));
    assert!(page.matches("<tr>").count() < 2 * 256 + 50);
    assert!(!dir.join("figures/topology.svg").exists());
    report::redraw(&dir).unwrap();
    assert!(std::fs::read_to_string(dir.join("report.html")).unwrap() == page);
    // An older folder's files do not stay beside new results.
    report::write(&small(), &dir, SeriesOf::First).unwrap();
    assert_eq!(entries(&dir), ["figures", "report.html", "series", "summary.json"]);
    std::fs::remove_dir_all(root).unwrap();
}
