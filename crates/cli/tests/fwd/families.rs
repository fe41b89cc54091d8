//! A scheme of each family across forwarders of it: an object arrives whole, and what the scheme tells arrives with it.

use crate::process::{Fwd, Running, wait_for};
use serde_json::Value;

const BYTES: usize = 1_500_000;

/// What a fetch of an object reports, and how many Data came to the consumer's forwarder over each way.
struct Fetched {
    get: Value,
    ways: Vec<u64>,
}

impl Fetched {
    fn count(&self, what: &str) -> u64 {
        self.get[what].as_u64().unwrap_or_else(|| panic!("{what}: {}", self.get))
    }

    /// How many Data carried a header field.
    fn carried(&self, field: &str) -> u64 {
        self.get["fields"][field]["data"].as_u64().unwrap_or(0)
    }

    /// What the consumer recorded last under a key, of each path or of the only one.
    fn recorded(&self, key: &str) -> Vec<f64> {
        let of = self.get["recorded"][key].as_object().unwrap_or_else(|| panic!("{key}: {}", self.get));
        of.values().map(|value| value.as_f64().unwrap()).collect()
    }
}

/// The forwarder of a scheme, which learns its neighbours later.
fn forwarder(scheme: &str) -> Fwd {
    Fwd::with_config(&base(scheme))
}

/// As published and named, but for ECP's limit, as 230 pending Interests are more than an object of 75 Data ever has, and
/// for the chance of CHoPCoP's marks, since a tenth of so few may be none.
fn base(scheme: &str) -> String {
    let scheme = match scheme {
        "ecp" => "{ base = \"ecp\", shaper = { name = \"ecp\", limit = 8 } }".to_owned(),
        "chopcop" => {
            "{ base = \"chopcop\", marker = { name = \"chopcop\", low = 0.05, probability = 1.0 } }".to_owned()
        }
        named => format!("\"{named}\""),
    };
    format!("scheme = {scheme}\ncache = 0\n[listen]\nudp = [\"127.0.0.1:0\"]\n")
}

fn uri(of: &Fwd) -> String {
    format!("udp4://{}", of.udp())
}

/// Tells a forwarder its neighbours, to which it sends at 20 Mbit/s, and which of them lead to the object.
fn connect(fwd: &Fwd, scheme: &str, to_object: &[&Fwd], others: &[&Fwd]) {
    let mut config = base(scheme);
    for neighbour in to_object.iter().chain(others) {
        config += &format!("[[face]]\nuri = \"{}\"\nrate = \"20Mbps\"\n", uri(neighbour));
    }
    for neighbour in to_object {
        config += &format!("[[route]]\nprefix = \"/t\"\nto = \"{}\"\n", uri(neighbour));
    }
    fwd.write_config(&config);
    fwd.signal("HUP");
    let known = || fwd.tool(&["face", "list"]);
    wait_for("the faces", || to_object.iter().chain(others).all(|neighbour| known().contains(&uri(neighbour))));
}

/// One Interest in 100 explores the ways: so many segments that one of their draws finds each.
const SEGMENTS: u64 = 3000;

/// A fetch through a forwarder beside the consumer and one beside the producer, which are neighbours, or with so many
/// forwarders between them side by side.
fn fetch(scheme: &str, between: usize) -> Fetched {
    let (near, far) = (forwarder(scheme), forwarder(scheme));
    let between: Vec<Fwd> = (0..between).map(|_| forwarder(scheme)).collect();
    let (mut to_far, mut to_near): (Vec<&Fwd>, Vec<&Fwd>) = (between.iter().collect(), between.iter().collect());
    for middle in &between {
        connect(middle, scheme, &[&far], &[&near]);
    }
    if between.is_empty() {
        (to_far, to_near) = (vec![&far], vec![&near]);
    }
    connect(&far, scheme, &[], &to_near);
    connect(&near, scheme, &to_far, &[]);
    let bytes: Vec<u8> = (0..BYTES).map(|i| (i % 251) as u8).collect();
    std::fs::write(far.folder().join("in"), &bytes).unwrap();
    let segment = if between.is_empty() { 8000 } else { BYTES as u64 / SEGMENTS };
    let _put = far.start_tool(&format!("put in /t --chunk {segment}"));
    wait_for("the producer", || far.tool(&["route", "list"]).contains("/t "));
    let get = format!("get /t -o out --json --quiet --timeout 50s --scheme {scheme}");
    let ended = Running::start(&mut near.command(&get)).end();
    assert_eq!(ended.code, Some(0), "{scheme}: {}", ended.stderr);
    assert!(std::fs::read(near.folder().join("out")).unwrap() == bytes, "{scheme}");
    let data = |to: &&Fwd| {
        let face: Value = serde_json::from_str(&near.tool(&["face", "show", &uri(to), "--json"])).unwrap();
        face["in"]["data"].as_u64().unwrap_or_else(|| panic!("{face}"))
    };
    Fetched { ways: to_far.iter().map(data).collect(), get: serde_json::from_slice(&ended.stdout).unwrap() }
}

/// At least half of the answers carried the field: an answer from before the first measurement has none.
fn hears(scheme: &str, field: &str) -> Fetched {
    let fetched = fetch(scheme, 0);
    assert!(2 * fetched.carried(field) >= fetched.count("segments"), "{scheme}: {}", fetched.get);
    fetched
}

#[test]
fn explicit_rates_of_forwarders_reach_the_consumer_which_follows_them() {
    for (scheme, key) in [("rcp", "rate"), ("mircc-single", "primary-rate"), ("qsccp", "rate"), ("dscpc", "rate")] {
        let fetched = hears(scheme, "explicit-rate");
        // No router grants more than its link, whatever the unit.
        let rate = fetched.recorded(key)[0];
        assert!((1e4..22e6).contains(&rate), "{scheme}: {rate} bit/s, {}", fetched.get);
    }
    hears("mircc", "secondary-rate");
}

#[test]
fn rates_and_windows_by_delay_fetch_over_forwarders_that_tell_nothing() {
    for scheme in ["bbr-v1", "bbr", "copa"] {
        let fetched = fetch(scheme, 0);
        assert_eq!((fetched.count("marks"), &fetched.get["fields"]), (0, &serde_json::json!({})), "{scheme}");
    }
}

#[test]
fn labels_of_forwarders_tell_a_consumer_its_paths() {
    let keys = [("dpccp", "path-rate"), ("mpcc", "path-rate-mbps")];
    let windows = ["ptp", "lia", "olia", "balia"].map(|scheme| (scheme, "path-window"));
    for (scheme, key) in keys.into_iter().chain(windows) {
        let fetched = fetch(scheme, 2);
        assert!(fetched.recorded(key).len() >= 2, "{scheme}: {}", fetched.get);
        assert!(2 * fetched.carried("path-label") >= fetched.count("segments"), "{scheme}: {}", fetched.get);
        assert!(fetched.ways.iter().all(|data| *data > 0), "{scheme}: {:?}", fetched.ways);
    }
}

#[test]
fn a_queue_of_low_latency_marks_what_asks_for_it() {
    let fetched = fetch("prague", 0);
    assert!(fetched.count("marks") > 0 && fetched.count("decreases") > 0, "{}", fetched.get);
}

#[test]
fn early_receiver_driven_and_hop_by_hop_schemes_fetch_and_hear() {
    for scheme in ["ictp", "cctcp"] {
        fetch(scheme, 0);
    }
    let fetched = fetch("ecp", 0);
    assert!(fetched.carried("congestion-level") > 0 && fetched.count("nacks") > 0, "{}", fetched.get);
    assert!(fetch("chopcop", 0).count("marks") > 0);
}

#[test]
fn packet_pairs_and_trains_start_a_fetch_over_one_way_and_over_two() {
    for scheme in ["packet-pair", "packet-train"] {
        fetch(scheme, 0);
        assert!(fetch(scheme, 2).ways.iter().sum::<u64>() > 0);
    }
}

#[test]
fn delay_and_rate_of_links_reach_a_consumer_that_runs_codel() {
    hears("e2e-aqm", "link-state");
}
