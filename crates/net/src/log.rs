//! Logs on standard error.

use std::io::Write;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, registry};

/// The environment variable that sets which messages are shown, as `info`, `debug` or `ndnweir_net::daemon=trace`.
pub const VARIABLE: &str = "NDNWEIR_LOG";

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Starts to write messages of level `info` and above, or as [`VARIABLE`] says.
pub fn start() {
    let level = std::env::var(VARIABLE).unwrap_or_default();
    let filter = filter(&level).unwrap_or_else(|problem| {
        // Where standard error takes nothing there is no log either.
        let _ = writeln!(std::io::stderr(), "warning: {VARIABLE}={level}: {problem}; going on with info");
        Targets::new().with_default(LevelFilter::INFO)
    });
    // An error of writing would be written to the same place, and end the program if that fails.
    let lines = layer().with_writer(std::io::stderr).with_target(false).log_internal_errors(false);
    let logger = registry().with(lines.with_filter(filter));
    // A process that has a logger already keeps it.
    let _ = logger.try_init();
}

/// What a text configures. A word that is not a level would be taken for a module, which silences all others.
fn filter(text: &str) -> Result<Targets, String> {
    let is_level = |word: &str| LEVELS.iter().any(|level| word.eq_ignore_ascii_case(level));
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    for word in words.clone() {
        let (part, level) = word.rsplit_once('=').map_or((None, word), |(part, level)| (Some(part), level));
        if !is_level(level) {
            return Err(format!("{level:?} is not a level: write one of {}", LEVELS.join(", ")));
        }
        if part.is_some_and(|part| !part.starts_with("ndnweir")) {
            return Err(format!(
                "no part of the program is called {:?}: all begin with ndnweir",
                part.unwrap_or_default()
            ));
        }
    }
    let words: Vec<&str> = words.collect();
    let text = if words.is_empty() { "info".to_owned() } else { words.join(",") };
    text.parse::<Targets>().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_level_is_rejected_and_not_taken_for_a_part_of_the_program() {
        for right in ["", "info", "WARN", "debug,ndnweir_net::daemon=trace", " error , "] {
            assert!(filter(right).is_ok(), "{right}");
        }
        for (wrong, says) in
            [("debgu", "\"debgu\" is not a level"), ("ndnweir_net=loud", "trace"), ("net=info", "ndnweir")]
        {
            let problem = filter(wrong).map(|_| ()).unwrap_err();
            assert!(problem.contains(says), "{problem}");
        }
    }
}
