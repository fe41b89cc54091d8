//! The choice of the schemes that a comparison runs.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::suggest;
use ndnweir_scenario::Scenario;

/// The schemes that are run if neither the command line nor the scenario names or composes a scheme.
const DEFAULT: &[&str] = &["pcon-ndnsim", "cubic"];

/// Why schemes cannot be chosen: the error and the available names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// An empty name.
    #[error("an empty name is not a scheme; name one or more with commas between, or \"all\"; there are: {there}")]
    Empty {
        /// The available names.
        there: String,
    },
    /// An unknown name.
    #[error("{0}")]
    Unknown(String),
}

/// Every scheme a scenario can run: the shipped ones, then its own.
pub fn available(scenario: &Scenario) -> Vec<String> {
    let own = scenario.compositions.iter().map(|c| c.name.clone());
    let own = own.filter(|name| !Scheme::names().any(|known| known == name));
    Scheme::names().map(str::to_owned).chain(own).collect()
}

/// Finds the schemes called `names` among the scenario's own and the shipped ones. "all" selects every one of them; no
/// names select the scenario's list.
///
/// # Errors
/// [`ChoiceError`], for the first name that is unknown or invalid.
pub fn choose(scenario: &Scenario, names: &[String]) -> Result<Vec<Scheme>, ChoiceError> {
    let mut wanted: Vec<String> = Vec::new();
    let listed = || scenario.schemes.iter().map(|s| s.name.clone()).collect::<Vec<_>>();
    let chosen = match names {
        [] if !scenario.schemes.is_empty() => listed(),
        // A scenario that composes schemes but lists none runs the composed ones.
        [] if !scenario.compositions.is_empty() => scenario.compositions.iter().map(|c| c.name.clone()).collect(),
        [] => DEFAULT.iter().map(|&name| name.to_owned()).collect(),
        names => names.to_vec(),
    };
    for name in chosen {
        if name.is_empty() {
            return Err(ChoiceError::Empty { there: available(scenario).join(", ") });
        }
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
    if let Some(marks) = scenario.run.cached_marks {
        schemes.iter_mut().for_each(|scheme| scheme.cached_marks = marks);
    }
    Ok(schemes)
}

fn find(scenario: &Scenario, name: &str) -> Result<Scheme, ChoiceError> {
    if let Some(own) = scenario.composition(name) {
        return Ok(own.scheme.clone());
    }
    let known = available(scenario);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    Scheme::named(name).map_err(|_| ChoiceError::Unknown(suggest::unknown("scheme", name, &known).to_string()))
}
