use super::*;
use ndnweir_lab::results::tables::{Column, Values};

/// A case, a scheme, a seed.
type Row = (Vec<usize>, usize, i64);

/// A table of runs: buffers × rates × schemes × seeds.
fn table(keys: &[(&str, &[&str])], schemes: &[&str], seeds: i64, value: impl Fn(&[usize], usize, i64) -> f64) -> Table {
    let mut cases = vec![Vec::new()];
    for (_, values) in keys {
        let extended =
            cases.iter().flat_map(|case: &Vec<usize>| (0..values.len()).map(move |v| [&case[..], &[v]].concat()));
        cases = extended.collect();
    }
    let mut rows = Vec::new();
    for case in &cases {
        for scheme in 0..schemes.len() {
            rows.extend((1..=seeds).map(|seed| (case.clone(), scheme, seed)));
        }
    }
    let text = |name: &str, of: &dyn Fn(&Row) -> String| Column {
        name: name.to_owned(),
        values: Values::Text(rows.iter().map(|row| Some(of(row))).collect()),
    };
    let mut columns = vec![text("experiment", &|_| "it".into()), text("case", &|_| String::new())];
    columns.push(text("scheme", &|row| schemes[row.1].to_owned()));
    columns.push(Column { name: "seed".into(), values: Values::Int(rows.iter().map(|row| Some(row.2)).collect()) });
    for (k, (name, values)) in keys.iter().enumerate() {
        columns.push(text(name, &|row| values[row.0[k]].to_owned()));
    }
    columns.push(text("event_hash", &|_| "0".into()));
    let values = rows.iter().map(|(case, scheme, seed)| Some(value(case, *scheme, *seed))).collect();
    columns.push(Column { name: "goodput_mbps".into(), values: Values::Float(values) });
    Table { name: "runs".into(), columns }
}

const QUEUE: (&str, &[&str]) = ("link.R1-R2.queue", &["0.25 BDP", "1 BDP", "4 BDP"]);
const DELAY: (&str, &[&str]) = ("link.R1-R2.delay", &["10ms", "50ms"]);

#[test]
fn means_have_the_confidence_interval_of_students_t() {
    // 1, 2, 3: mean 2, standard deviation 1, t(2) = 4.3027, 4.3027 / √3 = 2.48417.
    let runs = table(&[QUEUE], &["bic"], 3, |_, _, seed| seed as f64);
    let experiments = experiments(&runs).unwrap();
    let mean = experiments[0].cells("goodput_mbps").of(&[1], 0).unwrap();
    assert_eq!((mean.mean, mean.seeds), (2.0, 3));
    assert!((mean.half.unwrap() - 2.484_17).abs() < 1e-4);
    let one = table(&[QUEUE], &["bic"], 1, |_, _, _| 5.0);
    assert_eq!(super::experiments(&one).unwrap()[0].cells("goodput_mbps").of(&[2], 0).unwrap().half, None);
}

#[test]
fn one_key_gives_curves_two_keys_give_maps_too_and_none_gives_neither() {
    let ids = |runs: &Table| sweep_figures(runs).unwrap().into_iter().map(|f| f.id).collect::<Vec<_>>();
    let value = |case: &[usize], scheme: usize, _: i64| (case.iter().sum::<usize>() + scheme) as f64;
    assert_eq!(ids(&table(&[QUEUE], &["bic", "pcon"], 2, value)), ["curve-0-goodput_mbps"]);
    let both = table(&[QUEUE, DELAY], &["bic", "pcon"], 2, value);
    assert_eq!(ids(&both), ["curve-0-goodput_mbps", "map-0-goodput_mbps"]);
    assert!(ids(&table(&[], &["bic", "pcon"], 2, value)).is_empty());
    let page = sweep_page("buffers <&>", &both, "1").unwrap();
    assert!(page.contains("buffers &lt;&amp;&gt;") && page.contains("link.R1-R2.delay = 50ms") && page.contains("± 0"));
}

#[test]
fn a_band_lies_around_its_line_and_one_seed_has_none() {
    let draw =
        |seeds| sweep_figures(&table(&[QUEUE], &["bic"], seeds, |_, _, seed| 5.0 + seed as f64)).unwrap().remove(0);
    assert!(draw(4).body.contains("class=\"b0\""));
    assert!(!draw(1).body.contains("class=\"b0\""));
}

#[test]
fn many_panels_are_bounded_and_the_caption_says_so() {
    let values: Vec<String> = (0..60).map(|i| format!("{i}ms")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let runs = table(&[QUEUE, ("link.A-B.delay", &values)], &["bic"], 1, |_, _, _| 1.0);
    let figures = sweep_figures(&runs).unwrap();
    assert!(figures[0].caption.contains("36 more panels"), "{}", figures[0].caption);
}

#[test]
fn values_that_are_not_finite_or_missing_leave_gaps() {
    let runs =
        table(&[QUEUE, DELAY], &["a", "b"], 2, |case, scheme, _| if case[0] == scheme { f64::NAN } else { 1e300 });
    assert!(sweep_page("gaps", &runs, "1").unwrap().len() < 200_000);
    assert!(sweep_page("nothing", &table(&[QUEUE], &["a"], 2, |_, _, _| f64::NAN), "1").is_ok());
}

#[test]
fn other_tables_are_rejected() {
    let other =
        Table { name: "x".into(), columns: vec![Column { name: "a".into(), values: Values::Int(vec![Some(1)]) }] };
    assert!(sweep_page("x", &other, "1").unwrap_err().to_string().contains("not a table of a sweep's runs"));
    let empty = table(&[QUEUE], &[], 1, |_, _, _| 0.0);
    assert!(sweep_page("x", &empty, "1").unwrap_err().to_string().contains("no rows"));
}

#[test]
fn a_share_of_an_estimate_of_the_optimum_says_so_and_one_of_a_proved_optimum_does_not() {
    let mut runs = table(&[QUEUE], &["bic"], 2, |case, _, _| 0.5 + case[0] as f64);
    let goodput = runs.columns.last_mut().unwrap();
    goodput.name = "attained".into();
    let page = |runs: &Table| sweep_page("x", runs, "1").unwrap();
    // A table of an earlier version has no such column.
    assert!(page(&runs).contains("<td>1.50 ± 0</td>") && !page(&runs).contains("Estimates."));
    let known = |row: usize| (row < 2).then(|| "7 of 9 <flows>".to_owned());
    let rows = runs.len();
    runs.columns.push(Column { name: "optimum_estimate".into(), values: Values::Text((0..rows).map(known).collect()) });
    let found = page(&runs);
    assert!(found.contains("In 1 of 3 cases") && found.contains("7 of 9 &lt;flows&gt;."));
    assert!(found.contains("<td>0.500 ± 0 est.</td>") && found.contains("<td>1.50 ± 0</td>"));
    runs.columns.last_mut().unwrap().values = Values::Text(vec![None; rows]);
    assert!(!page(&runs).contains("Estimates.") && !page(&runs).contains(" est.</td>"));
}
