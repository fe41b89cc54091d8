//! Which schemes a comparison runs.

use crate::scenario::Scenario;
use ndnweir_core::scheme::Scheme;
use serde_json::Value;

/// Run when neither the command line nor the scenario names a scheme.
const DEFAULT: &[&str] = &["pcon-ndnsim", "cubic"];

/// Checks a composition of a scenario file, or with null the name of a scheme that comes with the product; hand it to the
/// scenario loader.
///
/// # Errors
/// A sentence that names the remedy.
pub fn scheme_check(name: &str, composition: &Value) -> Result<(), String> {
    let found = if composition.is_null() { Scheme::named(name) } else { Scheme::resolve(name, composition) };
    found.map(|_| ())
}

/// Every scheme a scenario can run: those that come with the product, then its own.
pub fn available(scenario: &Scenario) -> Vec<String> {
    let own = scenario.compositions.iter().map(|c| c.name.clone());
    let mut names: Vec<String> = Scheme::names().map(str::to_owned).chain(own).collect();
    names.dedup();
    names
}

/// Finds the schemes called `names` among the scenario's own and the product's; "all" is every one of them, and no
/// name at all is the scenario's list.
///
/// # Errors
/// A sentence that names what is unknown and what there is.
pub fn choose(scenario: &Scenario, names: &[String]) -> Result<Vec<Scheme>, String> {
    let mut wanted: Vec<String> = Vec::new();
    let listed = || scenario.schemes.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let asked = match names {
        [] if scenario.schemes.is_empty() => DEFAULT.iter().map(|&name| name.to_owned()).collect(),
        [] => listed(),
        names => names.to_vec(),
    };
    for name in asked {
        let found = if name == "all" { available(scenario) } else { vec![name] };
        for name in found {
            if !wanted.contains(&name) {
                wanted.push(name);
            }
        }
    }
    let mut schemes: Vec<Scheme> = wanted.iter().map(|name| find(scenario, name)).collect::<Result<_, _>>()?;
    if let Some(marks) = scenario.run.interest_marks {
        schemes.iter_mut().for_each(|scheme| scheme.interest_marks = marks);
    }
    Ok(schemes)
}

fn find(scenario: &Scenario, name: &str) -> Result<Scheme, String> {
    if let Some(own) = scenario.composition(name) {
        return Scheme::resolve(name, &own.families);
    }
    Scheme::named(name)
        .map_err(|_| format!("there is no scheme called {name:?}; there are: {}", available(scenario).join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenarios_list_may_name_schemes_that_come_with_the_product() {
        assert_eq!(scheme_check("cubic", &Value::Null), Ok(()));
        assert!(scheme_check("cubid", &Value::Null).unwrap_err().contains("cubid"));
    }
}
