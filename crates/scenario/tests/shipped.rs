//! The shipped scenarios say what their headers promise.

use std::path::Path;

use ndnweir_core::units::{Duration, Rate};
use ndnweir_scenario::{self as scenario, QueueLimit, Routes, Scenario, Source, Traffic, find, load, shipped};

fn get(name: &str) -> Scenario {
    load(name, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn scenarios_folder() -> String {
    format!("{}/../../scenarios", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn every_shipped_scenario_is_valid_and_has_a_position_for_every_node() {
    for entry in shipped() {
        let scenario = get(entry.name);
        assert_eq!(scenario.name, entry.name);
        assert!(!scenario.about.is_empty(), "{}", entry.name);
        assert!(entry.text.starts_with("# "), "{} has a header", entry.name);
        for node in &scenario.nodes {
            assert!(node.position.is_some(), "{}: {} has no position", entry.name, node.name);
        }
        for consumer in &scenario.consumers {
            assert!(!consumer.producers.is_empty());
        }
    }
}

#[test]
fn every_file_in_the_scenarios_folder_is_shipped_and_reads_the_same_from_disk() {
    let mut files: Vec<String> = std::fs::read_dir(scenarios_folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".toml"))
        .collect();
    files.sort();
    let mut names: Vec<String> = shipped().iter().map(|s| format!("{}.toml", s.name)).collect();
    names.sort();
    assert_eq!(files, names);
    for entry in shipped() {
        let mut disk = get(&format!("{}/{}.toml", scenarios_folder(), entry.name));
        let embedded = get(entry.name);
        disk.source = embedded.source.clone();
        disk.notes.clear();
        disk.schemes.iter_mut().zip(&embedded.schemes).for_each(|(disk, own)| disk.place = own.place.clone());
        assert_eq!(Scenario { notes: vec![], ..embedded }, disk);
    }
}

#[test]
fn the_dumbbell_is_the_one_of_the_reference_runs() {
    let s = get("dumbbell");
    assert_eq!((s.nodes.len(), s.links.len(), s.consumers.len()), (6, 5, 2));
    for link in &s.links {
        for direction in [&link.forward, &link.backward] {
            assert_eq!(direction.rate, Some(Rate::from_mbps(10.0)));
            assert_eq!(direction.delay, Duration::from_millis(10));
            assert_eq!(direction.limit, QueueLimit::Packets(100));
        }
    }
    assert_eq!(s.run.duration, Duration::from_millis(60_000));
    assert_eq!(s.run.data_on_wire(s.producers[0].payload).get(), 1066);
    assert_eq!(s.run.interest_on_wire().get(), 32);
    assert_ne!(s.consumers[0].prefix, s.consumers[1].prefix);
}

#[test]
fn the_linear_scenario_fetches_fifteen_thousand_data_over_a_round_trip_of_forty_milliseconds() {
    let s = get("linear");
    assert_eq!(s.consumers[0].traffic, Traffic::Fetch { segments: Some(15_000), consumer: None });
    let one_way: u64 = s.links.iter().map(|l| l.forward.delay.nanos()).sum();
    assert_eq!(2 * one_way, Duration::from_millis(40).nanos());
}

#[test]
fn abilene_has_the_links_of_the_data_set_with_delays_of_light_in_fibre() {
    let s = get("abilene");
    assert_eq!((s.nodes.len(), s.links.len()), (11, 14));
    assert_eq!((s.producers.len(), s.consumers.len()), (3, 10));
    let link = &s.links[s.link("New_York-Chicago").unwrap()];
    // OC-192 at 1/1000; 1144 km by the haversine formula at 199 862 km/s.
    assert_eq!(link.forward.rate, Some(Rate::from_bps(9_953_280)));
    assert!((link.forward.delay.millis() - 5.73).abs() < 0.02, "{}", link.forward.delay);
    assert_eq!(s.routing.routes, Routes::LoopFree);
}

#[test]
fn geant_has_forty_nodes_and_keeps_stated_rates_apart_from_assumed_ones() {
    let s = get("geant");
    assert_eq!((s.nodes.len(), s.links.len()), (40, 61));
    let rate = |name: &str| s.links[s.link(name).unwrap()].forward.rate;
    assert_eq!(rate("BG-MK"), Some(Rate::from_bps(155_000)));
    assert_eq!(rate("DK-IS"), Some(Rate::from_mbps(10.0)));
    assert_eq!(rate("NL-BE"), Some(Rate::from_mbps(10.0)));
    let ua = &s.links[s.link("PL-UA").unwrap()];
    assert_eq!(ua.forward.delay, Duration::from_millis(5));
}

#[test]
fn the_star_spreads_a_hundred_hosts() {
    let s = get("star-100");
    assert_eq!(s.consumers.len(), 100);
    assert_eq!(s.nodes.iter().filter(|n| n.kind.is_host()).count(), 100);
}

#[test]
fn a_bare_ndnsim_topology_runs_with_a_demand_of_its_own() {
    let s = get(&format!("{}/topologies/example-ndnsim.txt", scenarios_folder()));
    assert_eq!((s.nodes.len(), s.links.len()), (6, 6));
    assert_eq!(s.name, "example-ndnsim");
    assert!(!s.consumers.is_empty() && !s.producers.is_empty());
    assert_eq!(s.links[s.link("D-A").unwrap()].cost, 2);
}

#[test]
fn bare_graphml_and_rocketfuel_files_run_too() {
    let s = get(&format!("{}/topologies/geant.graphml", scenarios_folder()));
    assert_eq!(s.nodes.len(), 40);
    assert!(s.notes.iter().any(|n| n.message.contains("22 links have no rate")), "{:?}", s.notes);
    let folder = std::env::temp_dir().join(format!("ndnweir-cch-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("small.cch");
    let text = "1 @San+Jose,+CA bb (2) &1 -> <2> <3> {-1} =a.b.c r0\n2 @X + (2) -> <1> <3> =x r0\n3 @Y (2) -> <1> <2> =y! r1\n-1 =1.2.3.4 r1\n";
    std::fs::write(&path, text).unwrap();
    let s = get(path.to_str().unwrap());
    assert_eq!((s.nodes.len(), s.links.len()), (3, 3));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_gravity_demand_depends_on_its_seed_alone() {
    let of = |set: &[&str]| {
        let s = load("geant", set).unwrap();
        s.consumers.iter().map(|c| (c.node, c.prefix.clone())).collect::<Vec<_>>()
    };
    assert_eq!(of(&[]), of(&["demand.seed=1", "run.duration=99s"]));
    assert_ne!(of(&[]), of(&["demand.seed=2"]));
    let s = get("geant");
    let degree = |n: usize| s.adjacency()[n].len();
    assert!(s.producers.iter().all(|p| degree(p.node) >= 5));
    assert!(s.consumers.iter().all(|c| s.producers.iter().all(|p| p.node != c.node)));
}

#[test]
fn unknown_names_get_a_suggestion() {
    let error = find("dumbell").unwrap_err().to_string();
    assert!(error.contains("did you mean \"dumbbell\"?"), "{error}");
    let error = find("no-such-thing").unwrap_err().to_string();
    assert!(error.contains("parking-lot") && error.contains(".toml"), "{error}");
    let error = find("no/such/file.toml").unwrap_err().to_string();
    assert!(error.starts_with("no/such/file.toml: cannot read the file"), "{error}");
    let _ = scenario::MAX_EVENTS;
}

#[test]
fn schemes_and_single_components_are_looked_up_in_the_registry() {
    let first = |text: &str| {
        let source = Source::from_text("x.toml", &format!("{}\n{text}", shipped()[0].text), Path::new("")).unwrap();
        source.validate().map_err(|problems| problems.list[0].clone())
    };
    assert!(first("[scheme.mine]\nconsumer = \"fixed\"\n").is_ok());
    let lines = shipped()[0].text.lines().count();
    let error = first("[scheme.mine]\nconsumer = \"fixxed\"\n").unwrap_err();
    assert_eq!(error.place.line, lines + 3, "{error}");
    let error = first("[scheme.mine]\nmarker = { name = \"droptail\", depth = 3 }\n").unwrap_err();
    assert_eq!(error.place.line, lines + 3, "{error}");
    let error = first("[[event]]\nat = \"1s\"\naction = \"link-down\"\nlink = \"R2-R3\"\n").unwrap_err();
    assert!(error.help.contains("R1-R2"), "{error}");
}

#[test]
fn a_scenario_sums_itself_up() {
    assert!(shipped().iter().all(|s| s.summary().ends_with('.')));
}
