//! What commands that run scenarios read and check before they start.

use crate::failure::Failure;
use ndnweir_core::scheme::Scheme;
use ndnweir_scenario::{self as scenario, Scenario};
#[cfg(any(feature = "network", feature = "pack"))]
use std::path::Path;
use std::path::PathBuf;

/// Checks, before the work, that a scenario can be simulated under these schemes.
pub(super) fn check(scenario: &Scenario, schemes: &[Scheme]) -> Result<(), Failure> {
    let network = scenario.network();
    network.check().map_err(Failure::input)?;
    schemes.iter().try_for_each(|scheme| network.check_parts(scheme)).map_err(Failure::input)
}

/// The seeds from the first on.
pub(super) fn seeds(first: u64, count: u32) -> Result<Vec<u64>, Failure> {
    let last = first.checked_add(u64::from(count).saturating_sub(1)).ok_or_else(|| {
        let most = u64::MAX - u64::from(count) + 1;
        Failure::Input(format!("--seed {first}: {count} seeds from there on do not exist; give at most {most}"))
    })?;
    Ok((first..=last).collect())
}

/// Names the schemes that were changed on the command line and do not run.
pub(super) fn changed_but_not_run(scenario: &Scenario, schemes: &[Scheme]) -> Vec<String> {
    let idle = scenario.compositions.iter().filter(|own| own.place.source.starts_with("--set "));
    let idle = idle.filter(|own| !schemes.iter().any(|scheme| scheme.name == own.name));
    idle.map(|own| format!("{}: scheme {} is not run; name it with --scheme", own.place, own.name)).collect()
}

/// The text of a file that people write, which is named on the command line.
#[cfg(any(feature = "network", feature = "pack"))]
pub(super) fn settings(path: &Path) -> Result<String, Failure> {
    ndnweir_files::read_text(path, ndnweir_files::SETTINGS)
        .map_err(|error| Failure::Input(format!("{}: {error}; check its path", path.display())))
}

/// Loads a scenario and checks that its schemes exist.
pub(super) fn load(name: &str, overrides: &[String]) -> Result<Scenario, Failure> {
    Ok(load_with_files(name, overrides)?.0)
}

/// As [`load`], with the files that were read.
pub(super) fn load_with_files(name: &str, overrides: &[String]) -> Result<(Scenario, Vec<PathBuf>), Failure> {
    let mut source = scenario::find(name).map_err(Failure::input)?;
    if let Some(vary) = source.vary() {
        let message = format!("{}: the scenario has several cases, and this runs one", vary.at);
        return Err(Failure::Input(format!("{message}; delete [[vary]] from a copy of the file")));
    }
    scenario::apply_overrides(&mut source, overrides).map_err(Failure::input)?;
    let scenario = source.validate().map_err(Failure::input)?;
    Ok((scenario, source.files()))
}
