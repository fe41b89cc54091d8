//! Parameters of a component in a file of their own: the key `file` in the component's table.

use std::path::Path;

use ndnweir_core::registry::Family;

use super::diag::{Findings, Location, Problems};
use super::source::{Base, read_text};
use super::tree::{self, Item, Table, Value};

/// Longest file of parameters, in bytes.
const MAX_FILE: usize = 1 << 20;

/// What the files are called in messages.
const WHAT: &str = "file of parameters";

/// Puts the parameters that files have in place of the keys `file` of components of schemes and consumers.
pub(super) fn insert(root: &mut Table, base: &Base, found: &Findings) {
    let schemes = root.get_mut("scheme").and_then(Item::as_table_mut);
    for scheme in schemes.into_iter().flat_map(|table| &mut table.entries) {
        let Some(scheme) = scheme.item.as_table_mut() else { continue };
        for family in Family::ALL {
            component(scheme.get_mut(family.key()), base, found);
        }
    }
    if let Some(Item { value: Value::List(consumers), .. }) = root.get_mut("consumer") {
        for consumer in consumers {
            component(consumer.as_table_mut().and_then(|table| table.get_mut("component")), base, found);
        }
    }
}

fn component(item: Option<&mut Item>, base: &Base, found: &Findings) {
    let Some(table) = item.and_then(Item::as_table_mut) else { return };
    let Some(item) = table.get("file").cloned() else { return };
    table.remove("file");
    let Some(file) = item.as_text() else {
        found.error(&item.at, format!("file is {}, not a path", item.kind()), "write file = \"policy.toml\"");
        return;
    };
    let given = item.at.source.starts_with("--set ");
    let here = base.of_command_line();
    let read = if given { &here } else { base }.read(file, WHAT, &item.at);
    match read.and_then(|(shown, text)| parameters(&shown, &text)) {
        Ok(parameters) => {
            for entry in parameters.entries {
                // What stands beside the file is as it is written there.
                if table.get(&entry.key).is_none() {
                    table.entries.push(entry);
                }
            }
        }
        Err(problems) => found.add(problems),
    }
}

fn parameters(shown: &str, text: &str) -> Result<Table, Problems> {
    if text.len() > MAX_FILE {
        let message = format!("the file has {} bytes, a {WHAT} has at most {MAX_FILE}", text.len());
        return Err(Problems::one(Location::whole(shown), message, "give a file with parameters of one component"));
    }
    let table = tree::parse(shown, text)?;
    match table.entries.iter().find(|entry| entry.key == "file") {
        Some(entry) => {
            let message = "a file of parameters names no other file";
            Err(Problems::one(entry.key_at.clone(), message, "delete this line"))
        }
        None => Ok(table),
    }
}

/// The parameters of a component in a file, as a scheme takes them; with `name` if the file names the component.
///
/// # Errors
/// If the file cannot be read, is too long or is not TOML.
pub fn component_file(path: &str) -> Result<serde_json::Value, Problems> {
    let table = parameters(path, &read_text(Path::new(path), path)?)?;
    let item = Item { at: Location::whole(path), value: Value::Table(table) };
    item.to_json().map_err(|(at, message)| Problems::one(at, message, "write numbers, texts, lists and tables"))
}

#[cfg(test)]
mod tests {
    use super::component_file;
    use crate::Source;
    use ndnweir_core::registry::Family;

    const POLICY: &str =
        "name = \"policy\"\ninterval = \"50ms\"\n[[layers]]\nweights = [[0, 0, 0, 0, 0, 0, 0, 0.1]]\nbias = [0.25]\n";

    const SCENARIO: &str = "
[[node]]
name = \"C\"
[[node]]
name = \"P\"
[[link]]
ends = [\"C\", \"P\"]
rate = \"10Mbps\"
delay = \"1ms\"
[[producer]]
name = \"P\"
node = \"P\"
prefix = \"/a\"
[[consumer]]
name = \"C\"
node = \"C\"
prefix = \"/a\"
[scheme.learnt]
";

    fn scenario(name: &str, policy: &str, scheme: &str, set: &[&str]) -> Result<crate::Scenario, crate::Problems> {
        let folder = std::env::temp_dir().join(format!("ndnweir-component-file-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("policy.toml"), policy).unwrap();
        let mut source = Source::from_text("it.toml", &format!("{SCENARIO}{scheme}\n"), &folder)?;
        let set: Vec<String> = set.iter().map(|text| text.replace("FOLDER", &folder.display().to_string())).collect();
        crate::apply_overrides(&mut source, &set)?;
        let scenario = source.validate();
        std::fs::remove_dir_all(&folder).unwrap();
        scenario
    }

    fn params(scenario: &crate::Scenario) -> String {
        let part = scenario.compositions[0].scheme.part(Family::Consumer);
        format!("{} {}", part.name, serde_json::to_string(part.params).unwrap())
    }

    #[test]
    fn a_component_takes_name_and_parameters_from_a_file_and_what_stands_beside_it_wins() {
        let read = scenario("plain", POLICY, "consumer = { file = \"policy.toml\" }", &[]).unwrap();
        let layers = r#""layers":[{"bias":[0.25],"weights":[[0,0,0,0,0,0,0,0.1]]}]"#;
        assert_eq!(params(&read), format!(r#"policy {{"interval":"50ms",{layers}}}"#));
        let scheme = "base = \"aimd\"\nconsumer = { file = \"policy.toml\", interval = \"1s\" }";
        let read = scenario("beside", POLICY, scheme, &[]).unwrap();
        assert_eq!(params(&read), format!(r#"policy {{"interval":"1s",{layers}}}"#));
    }

    #[test]
    fn a_file_named_on_the_command_line_is_found_from_where_the_command_is_given() {
        let set = ["scheme.learnt.consumer.file=FOLDER/policy.toml"];
        let read = scenario("set", POLICY, "base = \"plain\"", &set).unwrap();
        assert!(params(&read).starts_with("policy "));
    }

    #[test]
    fn a_file_named_on_the_command_line_is_one_of_those_read_also_for_a_scenario_that_comes_with_the_program() {
        let path = std::env::temp_dir().join(format!("ndnweir-component-file-{}-read.toml", std::process::id()));
        std::fs::write(&path, POLICY).unwrap();
        let mut source = crate::find("dumbbell").unwrap();
        let set = ["scheme.learnt.base=plain".into(), format!("scheme.learnt.consumer.file={}", path.display())];
        crate::apply_overrides(&mut source, &set).unwrap();
        let read = source.validate();
        std::fs::remove_file(&path).unwrap();
        read.unwrap();
        assert_eq!(source.files(), [path]);
    }

    #[test]
    fn errors_in_a_file_of_parameters_name_the_file_and_the_line() {
        let with = "consumer = { file = \"policy.toml\" }";
        let long = format!("{POLICY}# {}\n", "x".repeat(1 << 20));
        let cases = [
            ("syntax", "name = \"policy\"\nlayers = [[", "policy.toml:2"),
            ("rows", "name = \"policy\"\n[[layers]]\nweights = [[1]]\nbias = [0]\n", "row 1 has 1 weights"),
            ("nan", "name = \"policy\"\n[[layers]]\nweights = [[nan]]\nbias = [0]\n", "policy.toml:3"),
            ("unknown", "name = \"policy\"\nlayer = 3\n", "layers"),
            ("deep", "name = \"policy\"\nfile = \"policy.toml\"\n", "names no other file"),
            ("long", &long, "at most 1048576"),
            ("nameless", "interval = \"1s\"\n", "it has no name"),
        ];
        for (name, policy, words) in cases {
            let error = match scenario(name, policy, with, &[]) {
                Err(problems) => problems.to_string(),
                Ok(read) => panic!("{name}: {}", params(&read)),
            };
            assert!(error.contains(words), "{name}: {error}");
        }
        let missing = scenario("missing", POLICY, "consumer = { file = \"other.toml\" }", &[]).unwrap_err().to_string();
        assert!(missing.contains("other.toml") && missing.contains("relative to the folder"), "{missing}");
        let number = scenario("number", POLICY, "consumer = { file = 3 }", &[]).unwrap_err().to_string();
        assert!(number.contains("not a path"), "{number}");
    }

    #[test]
    fn a_file_of_parameters_is_read_alone_for_programs_without_a_scenario() {
        let path = std::env::temp_dir().join(format!("ndnweir-component-file-{}.toml", std::process::id()));
        std::fs::write(&path, POLICY).unwrap();
        let read = component_file(&path.display().to_string()).unwrap();
        assert_eq!(read["name"], "policy");
        assert_eq!(read["layers"][0]["bias"][0], 0.25);
        std::fs::remove_file(&path).unwrap();
        assert!(component_file("no/such/file.toml").unwrap_err().to_string().contains("no/such/file.toml"));
    }
}
