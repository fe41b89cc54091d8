//! How a command ends when it does not succeed.

use crate::terminal::say_error;
use std::fmt::Display;
use std::process::ExitCode;

/// Why a command failed; decides the exit status.
#[derive(Debug)]
pub enum Failure {
    /// The user's input is wrong; nothing was written. Exit status 2.
    Input(String),
    /// The work itself failed, or was interrupted. Exit status 1.
    Work(String),
    /// Standard output was closed by the reader (`| head`); nothing to say.
    Closed,
}

impl Failure {
    /// Bad input.
    pub fn input(error: impl Display) -> Failure {
        Failure::Input(error.to_string())
    }

    /// Failed work.
    pub fn work(error: impl Display) -> Failure {
        Failure::Work(error.to_string())
    }

    /// The same, with where it happened.
    #[cfg(feature = "gnmi")]
    #[must_use]
    pub fn at(self, place: &str) -> Failure {
        match self {
            Failure::Input(message) => Failure::Input(format!("{place}: {message}")),
            Failure::Work(message) => Failure::Work(format!("{place}: {message}")),
            Failure::Closed => Failure::Closed,
        }
    }

    /// Prints the message on standard error and gives the exit status.
    pub fn report(self) -> ExitCode {
        match self {
            Failure::Input(message) => {
                say_error(&message);
                ExitCode::from(2)
            }
            Failure::Work(message) => {
                say_error(&message);
                ExitCode::from(1)
            }
            Failure::Closed => ExitCode::SUCCESS,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Input(message) | Failure::Work(message) => f.write_str(message),
            Failure::Closed => f.write_str("closed"),
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Failure::Closed,
            _ => Failure::work(error),
        }
    }
}
