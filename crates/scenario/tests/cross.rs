//! Traffic that is not NDN in scenario files.

use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_scenario::{Scenario, Source, apply_overrides};
use ndnweir_sim::network::CrossKind;
use ndnweir_sim::tcp::Algorithm;
use std::path::Path;

const HEAD: &str = r#"[link-defaults]
rate = "10Mbps"
delay = "1ms"
[[node]]
names = ["C", "A", "B"]
[[link]]
ends = ["C", "A"]
[[link]]
ends = ["B", "A"]
[[producer]]
name = "P"
node = "B"
prefix = "/p"
[[consumer]]
name = "C"
node = "C"
prefix = "/p"
"#;

fn read(more: &str) -> Result<Scenario, String> {
    let text = format!("{HEAD}{more}\n");
    let source = Source::from_text("x.toml", &text, Path::new(".")).map_err(|problems| problems.to_string())?;
    source.validate().map_err(|problems| problems.to_string())
}

const POISSON: &str = "[[cross]]\nname = \"web\"\npath = [\"C\", \"A\", \"B\"]\nkind = \"poisson\"\nrate = \"2Mbps\"\n";

#[test]
fn a_way_by_places_becomes_directed_links_in_the_order_of_names() {
    let scenario = read(POISSON).unwrap();
    let flow = &scenario.network().cross[0];
    // Links are A-B and A-C: C to A is the second one's way back, A to B the first one's way forth.
    assert_eq!((flow.path.as_slice(), flow.size, flow.stop), (&[3, 0][..], 1500, None));
    assert_eq!(flow.kind, CrossKind::Poisson { rate: Rate::from_mbps(2.0) });
    scenario.network().check().unwrap();
    let on_off =
        POISSON.replace("\"poisson\"", "\"on-off\"\non = \"1s\"\noff = \"500ms\"\nstart = \"2s\"\nstop = \"9s\"");
    let flow = &read(&on_off).unwrap().network().cross[0];
    let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
    assert_eq!((flow.start, flow.stop), (at(2000), Some(at(9000))));
    let media = read(&POISSON.replace("poisson", "nada")).unwrap().network().cross[0].kind;
    assert_eq!(media, CrossKind::Nada { rate: Rate::from_mbps(2.0) });
    let tcp = POISSON.replace("\"poisson\"\nrate = \"2Mbps\"", "\"tcp\"\npackets = \"100 packets\"");
    let kind = read(&tcp).unwrap().network().cross[0].kind;
    assert_eq!(kind, CrossKind::Tcp { algorithm: Algorithm::Cubic, segments: Some(100), ack: 52 });
    for (kind, algorithm, ack) in [
        ("tcp-reno", Algorithm::Reno, 52),
        ("tcp-bbr-v1", Algorithm::BbrV1, 52),
        ("quic-reno", Algorithm::QuicReno, 62),
    ] {
        let text = POISSON.replace("\"poisson\"\nrate = \"2Mbps\"", &format!("\"{kind}\""));
        let kind = read(&text).unwrap().network().cross[0].kind;
        assert_eq!(kind, CrossKind::Tcp { algorithm, segments: None, ack });
    }
}

#[test]
fn an_override_changes_cross_traffic_by_its_name() {
    let tcp = POISSON.replace("\"poisson\"\nrate = \"2Mbps\"", "\"tcp\"");
    let set = |key: &str| {
        let mut source = Source::from_text("x.toml", &format!("{HEAD}{tcp}"), Path::new(".")).unwrap();
        apply_overrides(&mut source, &[key]).unwrap();
        source.validate().map_err(|problems| problems.to_string())
    };
    let kind = set("cross.web.kind=quic-reno").unwrap().network().cross[0].kind;
    assert_eq!(kind, CrossKind::Tcp { algorithm: Algorithm::QuicReno, segments: None, ack: 62 });
    assert!(set("cross.wen.kind=tcp").unwrap_err().contains("no cross is called \"wen\""));
}

#[test]
fn errors_in_cross_traffic_are_reported_with_line_and_remedy() {
    for (from, to, line, message, help) in [
        ("\"web\"", "\"w b\"", 19, "not a valid name", "letters"),
        ("\"C\", \"A\", \"B\"", "\"C\", \"B\"", 20, "no link joins C and B", "write path"),
        ("\"C\", \"A\", \"B\"", "\"C\", \"A\", \"C\"", 20, "twice", "write path"),
        ("\"C\", \"A\", \"B\"", "\"C\"", 20, "two places or more", "write path"),
        ("\"C\", \"A\", \"B\"", "\"C\", \"D\"", 20, "there is no node \"D\"", "nodes: "),
        ("\"poisson\"", "\"poison\"", 21, "is not known", "did you mean \"poisson\""),
        ("\"poisson\"", "\"tcp-bbr\"", 21, "is not known", "tcp-bbr-v1"),
        ("\"poisson\"", "\"quic\"", 21, "is not known", "quic-reno"),
        ("\"poisson\"\nrate = \"2Mbps\"", "\"nada\"", 18, "has no rate", "add rate"),
        ("\"poisson\"", "\"quic-reno\"", 22, "unknown key \"rate\"", ""),
        ("\"poisson\"", "\"on-off\"", 18, "has no on", "add on"),
        ("\"poisson\"", "\"tcp\"", 22, "unknown key \"rate\"", ""),
        ("\"2Mbps\"", "\"0Mbps\"", 22, "zero", "from \"1kbps\""),
        ("\"2Mbps\"", "\"2Mbps\"\nsize = \"9B\"", 23, "9B is no datagram", "from \"20B\""),
        ("\"2Mbps\"", "\"2Mbps\"\nstart = \"99s\"", 23, "not within the run", "before run.duration"),
        ("\"2Mbps\"", "\"2Mbps\"\nstop = \"0s\"", 23, "before it starts", "after start"),
    ] {
        let said = read(&POISSON.replace(from, to)).unwrap_err();
        assert!(
            said.contains(&format!("x.toml:{line}:")) && said.contains(message) && said.contains(help),
            "{to}: {said}"
        );
    }
    let said =
        read(&format!("[[link]]\nends = [\"C\", \"B\"]\nmarker = \"codel\"\n{}", POISSON.replace("\"A\", ", "")));
    let said = said.unwrap_err();
    assert!(said.contains("has a marker") && said.contains("delete the link's marker"), "{said}");
    let own = format!("[[link]]\nends = [\"C\", \"B\"]\ndiscipline = \"drr\"\n{}", POISSON.replace("\"A\", ", ""));
    let said = read(&own).unwrap_err();
    assert!(said.contains("has a discipline") && said.contains("delete the link's discipline"), "{said}");
}
