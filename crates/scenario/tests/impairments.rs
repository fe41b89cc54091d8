//! Losses in bursts and retransmissions of links in scenario files.

use ndnweir_core::units::Duration;
use ndnweir_scenario::{Scenario, Source};
use ndnweir_sim::network::{Arq, BurstLoss, FieldChange, MarkChange, SignalChange};
use std::path::Path;

fn read(link: &str) -> Result<Scenario, String> {
    let text = format!(
        r#"name = "one-link"
[link-defaults]
rate = "10Mbps"
delay = "5ms"
[[node]]
names = ["C", "P"]
[[link]]
ends = ["C", "P"]
{link}
[[producer]]
name = "P"
node = "P"
prefix = "/p"
[[consumer]]
name = "C"
node = "C"
prefix = "/p"
"#
    );
    let source = Source::from_text("one-link", &text, Path::new(".")).map_err(|problems| problems.to_string())?;
    source.validate().map_err(|problems| problems.to_string())
}

#[test]
fn both_models_are_read_with_their_defaults_and_for_one_direction() {
    let scenario = read(
        "burst-loss = { to-bad = \"1%\", to-good = 0.25 }\nforward = { arq = { attempts = 4, slot = \"8ms\", loss = 0.1 } }",
    );
    let link = &scenario.unwrap().links[0];
    let burst = BurstLoss { to_bad: 0.01, to_good: 0.25, loss_bad: 1.0, loss_good: 0.0 };
    let arq = Arq { attempts: 4, slot: Duration::from_millis(8), loss: 0.1, in_order: true };
    assert_eq!((link.forward.impairment.burst, link.forward.impairment.arq), (Some(burst), Some(arq)));
    assert_eq!((link.backward.impairment.burst, link.backward.impairment.arq), (Some(burst), None));
}

#[test]
fn links_change_signals_and_have_disciplines_by_direction() {
    let scenario = read("marks = \"set\"\ndiscipline = \"drr\"\nforward = { marks = \"clear\", fields = \"least\" }");
    let link = scenario.unwrap().links.remove(0);
    let signals = |marks, fields| SignalChange { marks, fields };
    assert_eq!(link.forward.signals, signals(MarkChange::Clear, FieldChange::Least));
    assert_eq!(link.backward.signals, signals(MarkChange::Set, FieldChange::Keep));
    assert!([link.forward, link.backward].iter().all(|d| d.discipline.as_ref().is_some_and(|d| d.name() == "drr")));
}

#[test]
fn errors_are_reported_with_line_and_remedy() {
    for (link, message, remedy) in [
        ("marks = \"cleared\"", "\"cleared\" is not known", "keep, clear, set"),
        ("fields = \"most\"", "\"most\" is not known", "largest"),
        ("discipline = \"drrr\"", "\"drrr\"", "did you mean \"drr\""),
        ("burst-loss = 0.1", "not a table", "to-bad = "),
        ("burst-loss = { to-bad = 0.1 }", "has no to-good", "add to-good"),
        ("burst-loss = { to-bad = 1.1, to-good = 0.5 }", "1.1 is not a probability", "from 0 to 1"),
        ("burst-loss = { to-bad = 0.1, to-good = 0 }", "carries nothing from then on", "above 0"),
        ("burst-loss = { to-bad = 0.1, to-good = 0.5, loss-bda = 1 }", "unknown key", "loss-bad"),
        ("arq = true", "not a table", "attempts = 4"),
        ("arq = { slot = \"8ms\", loss = 0.1 }", "has no attempts", "add attempts"),
        ("arq = { attempts = 0, slot = \"8ms\", loss = 0.1 }", "0 is not a number of attempts", "from 1 to 100"),
        ("arq = { attempts = 100, slot = \"1s\", loss = 0.1 }", "100 attempts", "shorter slot"),
        ("arq = { attempts = 4, slot = \"8ms\" }", "has no loss", "add loss"),
    ] {
        let said = read(link).unwrap_err();
        assert!(said.contains(message) && said.contains(remedy), "{link}: {said}");
        assert!(said.contains(":9"), "{link}: {said}");
    }
}
