//! Consumers whose flows come and go: what is read, and what is said about what cannot be.

use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_scenario::{Problems, Scenario, Source, Traffic};
use ndnweir_sim::flows::{Arrivals, FlowSizes, Flows};
use ndnweir_sim::player::{BitrateRule, Player, Video};
use std::path::Path;

const NETWORK: &str = r#"[run]
duration = "10s"
[[node]]
names = ["A", "B"]
[[link]]
ends = ["A", "B"]
rate = "10Mbps"
delay = "10ms"
backward = { rate = "20Mbps" }
[[producer]]
name = "P"
node = "B"
prefix = "/p"
[[consumer]]
name = "C"
node = "A"
prefix = "/p"
kind = "flows"
"#;

fn read(text: &str) -> Result<Scenario, Problems> {
    Source::from_text("x.toml", &format!("{NETWORK}{text}"), Path::new(env!("CARGO_MANIFEST_DIR")))?.validate()
}

fn flows(text: &str) -> Flows {
    let scenario = read(text).unwrap_or_else(|problems| panic!("{problems}"));
    match &scenario.consumers[0].traffic {
        Traffic::Flows(flows) => (**flows).clone(),
        other => panic!("{other:?}"),
    }
}

fn drawn(text: &str) -> (f64, bool, FlowSizes) {
    match flows(text).arrivals {
        Arrivals::Drawn { gap, poisson, sizes } => (1.0 / gap.secs(), poisson, sizes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn rates_may_be_given_as_flows_as_bits_or_as_a_share_of_a_link() {
    let (rate, poisson, sizes) = drawn("rate = \"20/s\"\nsizes = \"10240B\"");
    assert!((rate - 20.0).abs() < 1e-6 && poisson);
    assert_eq!(sizes, FlowSizes::Fixed(10_240));
    // Ten Data with 1024 B of content each.
    let (rate, poisson, _) = drawn("rate = \"81920bps\"\nsizes = \"10240B\"\narrivals = \"constant\"");
    assert!((rate - 1.0).abs() < 1e-6 && !poisson);
    // Ten Data of 1066 B on the wire take 8.528 ms at 10 Mbit/s, 4.264 ms in the other direction.
    let (rate, ..) = drawn("load = \"50%\"\nlink = \"A-B\"\nsizes = \"10240B\"");
    assert!((rate * 8.528e-3 - 0.5).abs() < 1e-6, "{rate}");
    let (rate, ..) = drawn("load = \"150%\"\nlink = \"B-A\"\nsizes = \"10240B\"");
    assert!((rate * 4.264e-3 - 1.5).abs() < 1e-6, "{rate}");
}

#[test]
fn every_distribution_of_sizes_can_be_written() {
    let sizes = |text: &str| drawn(&format!("rate = \"1/s\"\nsizes = {text}")).2;
    let mean = |text: &str| sizes(text).mean();
    assert_eq!(sizes("{ kind = \"fixed\", bytes = \"5kB\" }"), FlowSizes::Fixed(5000));
    assert!((mean("\"web-search\"") - 1.711e6).abs() < 1e3);
    assert!((mean("\"data-mining\"") - 12.66e6).abs() < 1e4);
    assert!(mean("{ kind = \"web-search\", cut-off = \"1MB\" }") < 0.5e6);
    let pareto = FlowSizes::Pareto { shape: 1.2, least: 1e3, most: 1e6 };
    assert_eq!(sizes("{ kind = \"pareto\", shape = 1.2, least = \"1kB\", most = \"1MB\" }"), pareto);
    let log_normal = FlowSizes::LogNormal { median: 20e3, sigma: 1.5, most: 1e6 };
    assert_eq!(sizes("{ kind = \"log-normal\", median = \"20kB\", sigma = 1.5, cut-off = \"1MB\" }"), log_normal);
    assert_eq!(mean("{ kind = \"table\", points = [[\"0B\", 0], [\"10kB\", 0.5], [\"30kB\", 1]] }"), 12_500.0);
    assert_eq!(mean("{ kind = \"table\", file = \"tests/sizes.csv\" }"), 12_500.0);
}

#[test]
fn a_trace_gives_times_and_sizes() {
    let flows = flows("arrivals = \"trace\"\ntrace = \"tests/flows.csv\"\nmost-active = 7");
    let ms = Duration::from_millis;
    assert_eq!(flows.arrivals, Arrivals::Trace(vec![(ms(0), 1000), (ms(500), 20_000), (ms(500), 1)]));
    assert_eq!((flows.max_active, flows.payload), (7, 1024));
}

#[test]
fn flows_have_streams_by_name_and_classes_of_size() {
    let one = read("rate = \"1/s\"\nsizes = \"1kB\"").unwrap();
    assert_eq!(one.consumers[0].size_classes, [Bytes::new(100_000), Bytes::new(10_000_000)]);
    let other = read("rate = \"1/s\"\nsizes = \"1kB\"\nsize-classes = [\"2kB\", \"1MB\"]").unwrap();
    assert_eq!(other.consumers[0].size_classes, [Bytes::new(2_000), Bytes::new(1_000_000)]);
    let renamed = NETWORK.replace("name = \"C\"", "name = \"D\"");
    let text = format!("{renamed}rate = \"1/s\"\nsizes = \"1kB\"");
    let renamed = Source::from_text("x.toml", &text, Path::new("")).unwrap().validate().unwrap();
    let stream = |scenario: &Scenario| match &scenario.consumers[0].traffic {
        Traffic::Flows(flows) => flows.stream,
        _ => 0,
    };
    assert_eq!(stream(&one), stream(&other));
    assert_ne!(stream(&one), stream(&renamed));
}

#[test]
fn impossible_flows_are_reported_with_line_and_remedy() {
    let sizes = "sizes = \"10kB\"\n";
    for (text, line, message, help) in [
        ("rate = \"1/s\"\n", 14, "this consumer has no sizes", "web-search"),
        (sizes, 14, "this consumer has no rate", "load"),
        ("rate = \"1/s\"\nsizes = \"web-serch\"", 20, "neither a size nor a table", "web-search"),
        ("rate = \"1/s\"\nsizes = 5", 20, "sizes are", "web-search"),
        (
            "rate = \"1/s\"\nsizes = { kind = \"pareto\", shape = 0, least = \"1kB\", most = \"1MB\" }",
            20,
            "shape",
            "0.01",
        ),
        (
            "rate = \"1/s\"\nsizes = { kind = \"pareto\", shape = 1, least = \"9MB\", most = \"1MB\" }",
            20,
            "least",
            "smaller",
        ),
        ("rate = \"1/s\"\nsizes = { kind = \"log-normal\", median = \"1kB\" }", 20, "no sigma", "sigma = 1.5"),
        ("rate = \"1/s\"\nsizes = { kind = \"exp\" }", 20, "\"exp\" is not known", "pareto"),
        ("rate = \"1/s\"\nsizes = { kind = \"table\", points = [[\"1kB\", 0.5]] }", 20, "no distribution", "rise"),
        ("rate = \"1/s\"\nsizes = { kind = \"table\", points = [[\"1kB\"]] }", 20, "no size with a share", "10kB"),
        ("rate = \"1/s\"\nsizes = { kind = \"table\", file = \"tests/none.csv\" }", 20, "cannot read", "folder"),
        ("rate = \"1/s\"\nsizes = { kind = \"web-search\", cut-of = \"1MB\" }", 20, "cut-of", "cut-off"),
        ("load = \"60%\"\nsizes = \"10kB\"", 14, "no link", "A-B"),
        ("load = \"60%\"\nlink = \"A-C\"\nsizes = \"10kB\"", 20, "no link \"A-C\"", "A-B"),
        ("load = 0.6\nlink = \"A-B\"\nsizes = \"10kB\"", 19, "not a share", "60%"),
        ("load = \"0%\"\nlink = \"A-B\"\nsizes = \"10kB\"", 19, "not a share", "60%"),
        ("load = \"6%\"\nrate = \"1/s\"\nlink = \"A-B\"\nsizes = \"10kB\"", 19, "the rate is given", "delete"),
        ("rate = \"1/s\"\nlink = \"A-B\"\nsizes = \"10kB\"", 20, "unknown key \"link\"", ""),
        ("rate = \"1000000/s\"\nsizes = \"10kB\"", 19, "about 10000000 flows", "fewer"),
        ("rate = \"1/s\"\nmost-active = 0\nsizes = \"10kB\"", 20, "0 flows at once", "10000"),
        ("rate = \"1/s\"\nsizes = \"10kB\"\nsize-classes = [\"1MB\", \"1kB\"]", 21, "do not divide", "rising"),
        ("rate = \"1/s\"\nsizes = \"10kB\"\npackets = 5", 21, "unknown key \"packets\"", ""),
        ("rate = \"1/s\"\nsizes = \"web-search\"\ncatalogue = 50", 21, "here sizes differ", "one size"),
        ("rate = \"1/s\"\nsizes = \"10kB\"\ncatalogue = 0", 21, "0 objects", "1 to"),
        ("rate = \"1/s\"\nsizes = \"10kB\"\nexponent = 1.0", 14, "no catalogue", "10000"),
        ("rate = \"1/s\"\nsizes = \"10kB\"\ncatalogue = 9\nexponent = -1.0", 22, "Zipf", "0 to 10"),
        ("arrivals = \"sometimes\"", 19, "\"sometimes\" is not known", "poisson"),
        ("arrivals = \"trace\"", 14, "no trace", "flows.csv"),
        ("arrivals = \"trace\"\ntrace = \"none.csv\"", 20, "cannot read", "folder"),
    ] {
        let problems = read(text).err().unwrap_or_else(|| panic!("{text}: accepted"));
        let [problem] = &problems.list[..] else { panic!("{text}: {problems}") };
        assert!(problem.message.contains(message), "{text}: {problem}");
        assert!(problem.help.contains(help) && !problem.help.is_empty(), "{text}: {problem}");
        assert_eq!(problem.place.line, line, "{text}: {problem}");
    }
}

#[test]
fn a_bad_line_of_a_trace_is_named() {
    for (text, line, message) in [
        ("0.1 100\n0.2 x\n", 2, "is not a time in seconds and a size"),
        ("# only this\n", 0, "has no flow"),
        ("2 100\n\n1 100\n", 3, "before the one above"),
        ("1 0\n", 1, "no size of a flow"),
        ("1 2 3\n", 1, "is not a time"),
    ] {
        let folder = std::env::temp_dir().join(format!("ndnweir-trace-{}-{line}-{}", std::process::id(), text.len()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("t.csv"), text).unwrap();
        let whole = format!("{NETWORK}arrivals = \"trace\"\ntrace = \"t.csv\"");
        let problems = Source::from_text("x.toml", &whole, &folder).unwrap().validate().unwrap_err();
        std::fs::remove_dir_all(&folder).unwrap();
        let [problem] = &problems.list[..] else { panic!("{text}: {problems}") };
        assert!(problem.message.contains(message) && !problem.help.is_empty(), "{text}: {problem}");
        assert!(problem.place.source.ends_with("t.csv") && problem.place.line == line, "{text}: {problem}");
    }
}

const PLAYER: &str = "arrivals = \"player\"\nladder = [\"1Mbps\", \"2Mbps\"]\nrule = \"bba-0\"\n";

fn player(text: &str) -> Player {
    match flows(&format!("{PLAYER}{text}")).arrivals {
        Arrivals::Player(player) => player,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_player_has_a_ladder_a_rule_and_times_that_fit() {
    let s = |s: u64| Duration::from_millis(1000 * s);
    let usual = player("");
    assert_eq!((usual.chunk, usual.play_at, usual.buffer), (s(2), s(4), s(20)));
    assert_eq!((usual.rule, usual.video), (BitrateRule::Bba0, Video::OnDemand { chunks: None }));
    assert_eq!(usual.ladder, [1.0, 2.0].map(Rate::from_mbps));
    let live = player("live = true\nchunk = \"1s\"");
    assert_eq!((live.video, live.play_at, live.buffer), (Video::Live, s(3), s(3)));
    // Two chunks and a half are three.
    assert_eq!(player("length = \"5s\"").video, Video::OnDemand { chunks: Some(3) });
    assert_eq!(flows(&format!("{PLAYER}catalogue = 7")).catalogue.unwrap().objects, 7);
}

#[test]
fn what_is_no_player_is_rejected_with_its_line_and_a_remedy() {
    let error = |text: &str| read(text).unwrap_err().to_string();
    for (text, what, remedy) in [
        ("arrivals = \"player\"\nrule = \"bba-0\"", "has no ladder", "add ladder = [\"400kbps\""),
        ("arrivals = \"player\"\nladder = [\"1Mbps\"]", "has no rule", "\"festive\", or \"bba-0\""),
        ("arrivals = \"player\"\nrule = \"best\"\nladder = [\"1Mbps\"]", "x.toml:20:", "festive"),
        ("arrivals = \"player\"\nrule = \"bba-0\"\nladder = [\"2Mbps\", \"1Mbps\"]", "x.toml:21:", "rising bitrates"),
        ("arrivals = \"player\"\nrule = \"bba-0\"\nladder = [\"2parsecs\"]", "x.toml:21:", "\"1kbps\" to \"1Gbps\""),
        (&format!("{PLAYER}buffer = \"3s\""), "x.toml:22:", "write a longer buffer"),
        (&format!("{PLAYER}chunk = \"1ms\""), "x.toml:22:", "write a time from \"100ms\""),
        (&format!("{PLAYER}live = true\nlength = \"9s\""), "live video has no end", "delete length"),
        (&format!("{PLAYER}live = true\ncatalogue = 9"), "live video is one", "delete catalogue"),
        (&format!("{PLAYER}sizes = \"1kB\""), "unknown key \"sizes\"", "keys here"),
    ] {
        let error = error(text);
        assert!(error.contains(what) && error.contains(remedy), "{text}\n{error}");
    }
}

#[test]
fn players_that_share_names_have_the_same_chunks() {
    let other = |text: &str| {
        format!(
            "{PLAYER}live = true\n[[consumer]]\nname = \"D\"\nnode = \"A\"\nprefix = \"/p\"\nkind = \"flows\"\n{text}"
        )
    };
    assert!(read(&other(&format!("{PLAYER}live = true\nbuffer = \"9s\"").replace("bba-0", "festive"))).is_ok());
    assert!(read(&other(PLAYER)).is_ok(), "on demand without a catalogue names are new");
    for differs in
        [format!("{PLAYER}live = true\nchunk = \"1s\""), "rate = \"1/s\"\nsizes = \"1kB\"\ncatalogue = 5".to_owned()]
    {
        let error = read(&other(&differs)).unwrap_err().to_string();
        assert!(error.contains("C and D share the names under /p") && error.contains("x.toml:23:"), "{error}");
    }
}
