//! Links that share a medium in scenario files.

use ndnweir_core::units::{Duration, Rate};
use ndnweir_scenario::{Scenario, Source};
use std::path::Path;

fn read(more: &str) -> Result<Scenario, String> {
    let text = format!(
        r#"[[node]]
names = ["A", "B", "C"]
[[link]]
ends = ["B", "A"]
delay = "1ms"
[[link]]
name = "radio"
ends = ["A", "C"]
delay = "2ms"
[[producer]]
name = "P"
node = "A"
prefix = "/p"
[[consumer]]
name = "C"
node = "B"
prefix = "/p"
{more}
"#
    );
    let source = Source::from_text("x.toml", &text, Path::new(".")).map_err(|problems| problems.to_string())?;
    source.validate().map_err(|problems| problems.to_string())
}

const MEDIUM: &str = "[[medium]]\nname = \"air\"\nlinks = [\"A-B\", \"radio\"]\nrate = \"20Mbps\"\n";

#[test]
fn links_of_a_medium_have_its_rate_and_are_found_by_name_or_ends() {
    let scenario = read(&format!("{MEDIUM}gap = \"100us\"")).unwrap();
    let medium = &scenario.media[0];
    assert_eq!((medium.links.as_slice(), medium.gap), (&[0, 1][..], Duration::from_micros(100)));
    let rates = scenario.links.iter().flat_map(|link| [link.forward.rate, link.backward.rate]);
    assert!(rates.into_iter().all(|rate| rate == Some(Rate::from_mbps(20.0))));
    scenario.network().check().unwrap();
}

#[test]
fn errors_in_a_medium_are_reported_with_line_and_remedy() {
    for (text, line, message, help) in [
        (
            MEDIUM.replace("\"radio\"", "\"radio\", \"radoi\""),
            20,
            "there is no link \"radoi\"",
            "did you mean \"radio\"",
        ),
        (MEDIUM.replace("\"A-B\"", "\"C-A\""), 20, "is in medium \"air\" already", "delete it"),
        (MEDIUM.replace("[\"A-B\", \"radio\"]", "\"radio\""), 20, "not a list of names", "write links = "),
        (MEDIUM.replace("rate", "rat"), 18, "has no rate", "add rate"),
        (format!("{MEDIUM}gap = \"2s\""), 22, "before each frame is too long", "from \"0us\""),
        (format!("{MEDIUM}{MEDIUM}"), 23, "two media are called \"air\"", "rename"),
        (
            format!("{MEDIUM}[[event]]\nat = \"1s\"\naction = \"link-rate\"\nlink = \"A-B\"\nrate = \"1Mbps\""),
            25,
            "whose rate does not change",
            "delete the event",
        ),
    ] {
        let said = read(&text).unwrap_err();
        assert!(
            said.contains(&format!("x.toml:{line}:")) && said.contains(message) && said.contains(help),
            "{text}: {said}"
        );
    }
    let text = "[[node]]\nnames = [\"A\", \"B\"]\n[[link]]\nends = [\"A\", \"B\"]\ndelay = \"1ms\"\nmarker = \"codel\"
forward = { rate = \"1Mbps\" }
[[medium]]
name = \"air\"
links = [\"A-B\"]
rate = \"5Mbps\"";
    let said = Source::from_text("x.toml", text, Path::new("."));
    let said = said.unwrap().validate().unwrap_err().to_string();
    assert!(said.contains("x.toml:6:") && said.contains("mark nothing"), "{said}");
    assert!(said.contains("x.toml:7:") && said.contains("shares a medium, which has the rate"), "{said}");
}
