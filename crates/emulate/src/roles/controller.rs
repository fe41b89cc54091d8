//! A controller.

use super::{Control, Ready, RoleError, ready, when_abandoned};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Whom to lead, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ControllerTask {
    /// The configuration, as `ndnweir control run` reads it.
    pub config: PathBuf,
}

pub(super) fn run(task: &ControllerTask, control: Option<Control>) -> Result<(), RoleError> {
    let control = control.ok_or_else(|| RoleError::new("this program has no controller"))?;
    // It has nothing to end: routers keep their costs.
    when_abandoned(|| std::process::exit(0));
    ready(&Ready::default())?;
    (control.controller)(&task.config).map_err(RoleError::new)
}
