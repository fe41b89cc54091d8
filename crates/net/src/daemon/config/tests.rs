//! Valid configurations, and the errors of invalid ones.

use super::*;
use ndnweir_core::queue::Limit;
use ndnweir_core::registry::Family;

const GOOD: &str = r#"
scheme = { base = "pcon", marker = { target = "5ms" } }
cache = 1000
[listen]
unix = "/tmp/a.sock"
udp = ["0.0.0.0:6363"]
[[face]]
uri = "udp4://192.0.2.1:6363"
rate = "100Mbps"
queue = "500 packets"
reliability = false
[[route]]
prefix = "/example"
to = "udp4://192.0.2.1:6363"
cost = 10
[[strategy]]
prefix = "/video/live"
shaper = "none"
[[strategy]]
prefix = "/video"
strategy = { name = "asf", max-timeouts = 3 }
"#;

#[test]
fn a_file_says_what_it_says_and_the_rest_is_usual() {
    let mut config = Config::read("fwd.toml", GOOD).unwrap();
    config.complete().unwrap();
    assert_eq!(config.scheme.part(Family::Strategy).name, "pcon");
    assert_eq!((config.cache, config.pit), (1000, 65_536));
    let face = &config.faces[0];
    assert_eq!((face.rate, face.queue), (Some(Rate::from_mbps(100.0)), Limit::Packets(500)));
    assert_eq!(
        (face.reliability, FaceSpec::new(face.uri.clone()).reliability, config.reliability),
        (false, true, true)
    );
    assert_eq!(config.routes[0].cost, 10);
    assert_eq!(config.faces.len(), 1);
    let choices: Vec<_> = config.scheme.choices.iter().map(|c| (c.prefix.as_str(), c.strategy.name())).collect();
    assert_eq!(choices, [("/video", "asf"), ("/video/live", "asf")], "the shorter comes first");
}

#[test]
fn a_node_can_be_in_several_regions() {
    let regions = |text: &str| Config::read("fwd.toml", text).unwrap().regions;
    assert_eq!(regions(GOOD), []);
    let of = |text: &str| text.parse::<Name>().unwrap();
    assert_eq!(regions("region = [\"/net/a\", \"/b\"]"), [of("/net/a"), of("/b")]);
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_a_remedy() {
    let cases = [
        ("udp = [\"0.0.0.0:6363\"]", "udp = [\"6363\"]", "fwd.toml:6: ", "write one such as"),
        ("192.0.2.1:6363\"\nrate", "192.0.2.1:x\"\nrate", "fwd.toml:8: ", "port"),
        ("100Mbps", "100", "fwd.toml:9: ", "missing unit"),
        ("100Mbps", "0Mbps", "fwd.toml:9: ", "leave it out"),
        ("500 packets", "many packets", "fwd.toml:10: ", "\"1000 packets\""),
        ("500 packets", "100B", "fwd.toml:10: ", "10kB"),
        ("/example", "example", "fwd.toml:13: ", "/example/video"),
        ("cost = 10", "price = 10", "fwd.toml:15: ", "unknown field `price`"),
        ("\"pcon\"", "\"pcoon\"", "fwd.toml:2: ", "there are: "),
        ("\"/video\"", "\"video\"", "fwd.toml:20: ", "/example/video"),
        ("\"asf\"", "\"asff\"", "fwd.toml:19: /video: there is no strategy", "there are: "),
        ("\"/video\"", "\"/video/live\"", "fwd.toml:19: /video/live has two strategies", "delete"),
        ("shaper = \"none\"", "", "fwd.toml:16: /video/live: ", "shaper = \"none\""),
        ("shaper = \"none\"", "shapr = \"none\"", "fwd.toml:18: ", "unknown field `shapr`"),
        ("cache = 1000", "pit = 0", "fwd.toml:3: ", "from 1 to"),
        ("cache = 1000", "region = [\"/a\",\n\"b\"]", "fwd.toml:4: ", "/example/video"),
        ("reliability = false", "mark-losses = 2.0", "fwd.toml:11: ", "from 0 to 1"),
        ("[[face]]", "[[face", "fwd.toml:7: ", ""),
        ("[[face]]", "[[trust-anchor]]\nkey = \"/no/key.pem\"\n[[face]]", "fwd.toml:8: ", "/no/key.pem"),
        ("[[face]]", "[[trust-anchor]]\nkey = \"/dev/null\"\n[[face]]", "fwd.toml:8: ", "this is not a file"),
        ("cache = 1000", "max-lifetime = \"0s\"", "fwd.toml:3: ", "from 1ms to"),
        ("[listen]", "[listen]\nmax-lifetime = \"0s\"", "fwd.toml:5: ", "from 1ms to"),
        ("0.0.0.0:6363", "224.0.23.170:56363", "fwd.toml:6: ", "0.0.0.0 for all"),
        ("0.0.0.0:6363", "255.255.255.255:6363", "fwd.toml:6: ", "0.0.0.0 for all"),
        // Of this crate.
        ("[[face]]", "[[trust-anchor]]\nkey = \"Cargo.toml\"\n[[face]]", "fwd.toml:8: ", "PEM"),
    ];
    for (good, bad, place, remedy) in cases {
        let error = Config::read("fwd.toml", &GOOD.replacen(good, bad, 1)).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(remedy), "{bad}: {error}");
    }
}

#[test]
fn combinations_that_have_no_effect_are_rejected() {
    let complete = |text: String| Config::read("fwd.toml", &text).unwrap().complete().map_err(|e| e.to_string());
    let error = complete(GOOD.replace("rate = \"100Mbps\"\n", "")).unwrap_err();
    assert!(error.starts_with("fwd.toml:8: face udp4://192.0.2.1:6363: nothing waits"), "{error}");
    // One that learns its rate has a queue.
    let weir = GOOD.replace("rate = \"100Mbps\"\n", "").replace("reliability = false\n", "");
    let weir = weir.replacen("scheme = ", "scheme = \"weir\" # ", 1);
    assert_eq!(complete(weir.clone()), Ok(()));
    let told = |line: &str, uri: &str| {
        let text = weir.replacen("uri = \"udp4://192.0.2.1:6363\"\n", &format!("uri = \"{uri}\"\n{line}\n"), 1);
        complete(text.replace("to = \"udp4://192.0.2.1:6363\"", &format!("to = \"{uri}\""))).unwrap_err()
    };
    let (udp, tcp) = ("udp4://192.0.2.1:6363", "tcp4://192.0.2.1:6363");
    for (line, uri, why) in [
        ("learn-rate = true\nrate = \"1Mbps\"", udp, "it has a `rate`"),
        ("learn-rate = true\nreliability = false", udp, "link reliability tells it"),
        ("learn-rate = true", tcp, "only on UDP"),
        ("learn-rate = false", udp, "nothing waits"),
    ] {
        let error = told(line, uri);
        assert!(error.starts_with("fwd.toml:8: face ") && error.contains(why), "{error}");
    }
    // A flag may give the rate.
    let mut config = Config::read("fwd.toml", &GOOD.replace("rate = \"100Mbps\"\n", "")).unwrap();
    config.face("udp4://192.0.2.1:6363".parse().unwrap()).rate = Some(Rate::from_mbps(1.0));
    config.complete().unwrap();
    let again =
        |cost: u32| format!("[[route]]\nprefix = \"/example\"\nto = \"udp4://192.0.2.1:6363\"\ncost = {cost}\n");
    let error = complete(format!("{GOOD}{}", again(9))).unwrap_err();
    assert!(error.starts_with("fwd.toml:23: the route /example to udp4://192.0.2.1:6363 is there twice"), "{error}");
    assert!(error.contains("costs 10 and 9"), "{error}");
    assert_eq!(complete(format!("{GOOD}{}", again(10))), Ok(()));
}

#[test]
fn settings_that_let_nobody_do_something_are_warned_of() {
    let warned = |text: &str, of: &str| {
        let mut config = Config::read("fwd.toml", &format!("{text}{GOOD}")).unwrap();
        config.complete().unwrap();
        config.warnings.iter().any(|warning| warning.contains(of))
    };
    assert!(warned("localhop = true\n", "[[trust-anchor]]") && !warned("", "[[trust-anchor]]"));
    let gnmi = |accept: &str| {
        format!("gnmi = {{ listen = \"192.0.2.1:9339\", certificate = \"a\", key = \"b\", clients = \"c\"{accept} }}\n")
    };
    assert!(warned(&gnmi(""), "accept = [") && !warned("", "accept = ["));
    assert!(!warned(&gnmi(&format!(", accept = [\"{}\"]", "0a".repeat(32))), "accept = ["));
}

#[test]
fn a_scheme_is_what_its_name_says_and_neighbours_that_are_taken_for_producers_are_warned_of() {
    let hbhcm = scheme(&serde_json::json!("hbhcm")).unwrap();
    assert_eq!(hbhcm, Scheme::named("hbhcm").unwrap());
    let warned = |scheme: Scheme| {
        let mut config = Config { scheme, unix: Some("/tmp/a.sock".into()), ..Config::default() };
        config.complete().unwrap();
        config.warnings.iter().any(|text| text.contains("plain-ends = false"))
    };
    assert!(warned(hbhcm));
    let warns = |plain_ends: bool| {
        scheme(&serde_json::json!({ "meter": { "name": "hbhcm", "plain-ends": plain_ends } })).unwrap()
    };
    assert!(!warned(warns(true)) && !warned(warns(false)) && !warned(Config::default().scheme));
}

#[test]
fn the_examples_of_the_documentation_are_right() {
    for example in include_str!("../../../../../docs/deploy.md").split("```toml\n").skip(1) {
        let example = example.split("```").next().unwrap();
        assert!(!Config::read("docs/deploy.md", example).unwrap().routes.is_empty());
    }
    let page = include_str!("../../../../../docs/forwarder.md");
    let example = page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let config = Config::read("docs/forwarder.md", example).unwrap();
    assert_eq!((config.udp.len(), config.faces.len(), config.routes.len()), (2, 1, 1));
}

/// Lines such as `#rate = ...` are settings that are commented out, `# Text` is text.
#[test]
fn the_installed_example_is_right_as_it_is_and_with_all_that_is_commented_out() {
    let example = include_str!("../../../../../packaging/fwd.toml");
    let mut config = Config::read("fwd.toml", example).unwrap();
    config.complete().unwrap();
    let usual = Config::default();
    assert_eq!((config.cache, config.pit, config.memory), (usual.cache, usual.pit, usual.memory));
    assert_eq!((config.udp.len(), config.faces.len(), config.metrics), (2, 0, None));
    let Scheme { name, summary, .. } = usual.scheme.clone();
    assert_eq!(Scheme { name, summary, ..config.scheme.clone() }, usual.scheme, "the service has the default scheme");
    let key = tempfile::NamedTempFile::new().unwrap();
    let pem = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA/2wgnCbgr+45IOi35fYrw1bzEWvQ4UqHa6oLYnXNjpE=\n-----END PUBLIC KEY-----\n";
    std::fs::write(key.path(), pem).unwrap();
    let all = example
        .replace("scheme = { base = \"weir\", strategy = { dearer = false } }\n", "")
        .replace("/etc/ndnweir/operator.pub", key.path().to_str().unwrap());
    let uncommented = |line: &str| match line.strip_prefix('#') {
        Some(setting) if !setting.starts_with(' ') => setting.to_owned(),
        _ => line.to_owned(),
    };
    let all: Vec<String> = all.lines().map(uncommented).collect();
    let mut config = Config::read("fwd.toml", &all.join("\n")).unwrap();
    config.complete().unwrap();
    assert_eq!((config.faces.len(), config.routes.len(), config.tcp.len()), (1, 1, 1));
    assert_eq!((config.authority.trust_anchors.len(), config.mtu), (1, usual.mtu));
    assert_eq!((config.max_peers, config.idle, config.fragments), (usual.max_peers, usual.idle, usual.fragments));
    assert_eq!(config.allow_local, [Allowed::Group("ndn".into())]);
    let shares = (Some(config.max_peers / 8), Some(config.max_peers / 4));
    let limits = Limits { per_address: None, per_user: None, ..config.limits };
    assert_eq!(((config.limits.per_address, config.limits.per_user), limits), (shares, usual.limits));
}

#[test]
fn wrong_kinds_are_reported_in_plain_words() {
    let error = Config::read("fwd.toml", "cache = \"much\"\n").unwrap_err().to_string();
    assert!(error.starts_with("fwd.toml:1: ") && error.contains("expected a whole number"), "{error}");
    let error = Config::read("fwd.toml", "listen = 5\n").unwrap_err().to_string();
    assert!(error.contains("expected a table for ") && !error.contains("struct"), "{error}");
}

#[test]
fn keys_with_underscores_are_rejected_with_how_they_are_written() {
    for (text, written) in [
        ("pit = 5\nmax_lifetime = \"1s\"", "`max_lifetime` is written `max-lifetime`"),
        ("\n[listen]\nmax_peers = 5", "`max_peers` is written `max-peers`"),
        (
            "\nscheme = { meter = { name = \"hbhcm\", noise_window = \"1s\" } }",
            "`noise_window` is written `noise-window`",
        ),
        (
            "\n[[strategy]]\nprefix = \"/a\"\nstrategy = { name = \"asf\", max_timeouts = 2 }",
            "`max_timeouts` is written `max-timeouts`",
        ),
    ] {
        let error = Config::read("fwd.toml", text).unwrap_err().to_string();
        assert!(error.starts_with("fwd.toml:") && error.contains(written), "{error}");
        assert!(!error.starts_with("fwd.toml:1:"), "{error}");
    }
}

#[test]
fn a_forwarder_that_listens_nowhere_is_rejected() {
    let error = Config::default().complete().unwrap_err().to_string();
    assert!(error.contains("--unix PATH"), "{error}");
}

#[test]
fn without_a_word_about_schemes_it_is_weir_over_the_cheapest_next_hops() {
    let usual = Config::default().scheme;
    let of = |family| usual.part(family).name;
    assert_eq!((of(Family::Meter), of(Family::Discipline)), ("weir", "fq-codel"));
    let strategy = usual.part(Family::Strategy);
    assert_eq!((strategy.name, &strategy.params["dearer"]), ("weir", &Value::Bool(false)));
}

#[test]
fn there_may_be_as_many_routes_as_prefixes() {
    let routes = |text: &str| Config::read("fwd.toml", text).unwrap().authority.max_routes;
    assert_eq!((routes(""), routes("prefixes = 1000000")), (65_536, 1_000_000));
}

#[test]
fn a_key_for_answers_is_read_and_a_warning_given_where_all_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let key = dir.path().join("key.pem");
    let text = format!("answer-key = {:?}", key.display().to_string());
    std::fs::write(&key, "no key").unwrap();
    let error = Config::read("fwd.toml", &text).unwrap_err().to_string();
    assert!(error.starts_with("fwd.toml:1: ") && error.contains("BEGIN PRIVATE KEY"), "{error}");
    std::fs::write(&key, KEY).unwrap();
    for (mode, warned) in [(0o600, false), (0o640, false), (0o644, true)] {
        std::fs::set_permissions(&key, PermissionsExt::from_mode(mode)).unwrap();
        let config = Config::read("fwd.toml", &text).unwrap();
        assert_eq!(
            config.warnings.iter().any(|w| w.contains("chmod 600") && w.contains("key.pem")),
            warned,
            "{mode:o}"
        );
        assert_ne!(config.authority.signer.0.signature_type(), ndnweir_wire::signature::SignatureType::DIGEST_SHA256);
    }
}

/// An Ed25519 key made for this test with OpenSSL.
const KEY: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
