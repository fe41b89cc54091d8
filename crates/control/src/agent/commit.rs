//! Commits that are taken back unless they are confirmed.
//!
//! Source: OpenConfig, gNMI commit confirmed 0.1.0, section 3.2.

use crate::model::Answer;
use crate::proto::gnmi_ext::{Commit, commit::Action};
use ndnweir_net::daemon::changes::Change;
use std::time::Duration;
use tokio::time::Instant;
use tonic::Status;

/// How long a commit waits for its confirmation if it does not say.
const DEFAULT: Duration = Duration::from_secs(600);
/// The longest it may wait.
const LONGEST: Duration = Duration::from_secs(86_400);

/// A commit that is neither confirmed nor cancelled.
#[derive(Debug)]
pub(super) struct Pending {
    id: String,
    pub(super) until: Instant,
    pub(super) back: Vec<Change>,
}

/// What a Set is to a commit.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// None: its changes stay.
    Plain,
    /// Its changes need to be confirmed in time.
    Begin(String, Duration),
    /// The changes stay.
    Confirm,
    /// They are taken back.
    Cancel,
    /// There is another time to confirm.
    Extend(Duration),
}

fn duration(of: Option<&prost_types::Duration>) -> Answer<Option<Duration>> {
    let Some(of) = of else { return Ok(None) };
    let duration = Duration::try_from(*of).ok().filter(|duration| !duration.is_zero() && *duration <= LONGEST);
    let wrong = || Status::invalid_argument("rollback_duration must be above 0 and at most a day");
    duration.map(Some).ok_or_else(wrong)
}

/// Reads what a Set is to the commit under way, if there is one.
pub(super) fn step(commit: Option<&Commit>, pending: Option<&Pending>) -> Answer<Step> {
    let Some(commit) = commit else {
        return match pending {
            Some(_) => Err(Status::failed_precondition("a commit waits for its confirmation")),
            None => Ok(Step::Plain),
        };
    };
    if commit.id.is_empty() {
        return Err(Status::invalid_argument("commit has no id"));
    }
    let ours = || match pending {
        None => Err(Status::failed_precondition("no commit waits for its confirmation")),
        Some(pending) if pending.id != commit.id => {
            Err(Status::invalid_argument("another commit waits for its confirmation"))
        }
        Some(_) => Ok(()),
    };
    match &commit.action {
        Some(Action::Commit(_)) if pending.is_some() => {
            Err(Status::failed_precondition("a commit waits for its confirmation"))
        }
        Some(Action::Commit(request)) => {
            let wait = duration(request.rollback_duration.as_ref())?.unwrap_or(DEFAULT);
            Ok(Step::Begin(commit.id.clone(), wait))
        }
        Some(Action::Confirm(_)) => ours().map(|()| Step::Confirm),
        Some(Action::Cancel(_)) => ours().map(|()| Step::Cancel),
        Some(Action::SetRollbackDuration(request)) => {
            ours()?;
            let wait = duration(request.rollback_duration.as_ref())?;
            wait.map(Step::Extend).ok_or_else(|| Status::invalid_argument("rollback_duration is missing"))
        }
        None => Err(Status::invalid_argument("commit has no action")),
    }
}

impl Pending {
    pub(super) fn new(id: String, wait: Duration, back: Vec<Change>) -> Pending {
        Pending { id, until: Instant::now() + wait, back }
    }

    pub(super) fn is(&self, id: &str) -> bool {
        self.id == id
    }
}
