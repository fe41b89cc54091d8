//! The command line that repeats a run.

use super::{Repeat, shell_word};
use ndnweir_core::scheme::Scheme;

/// What a command line says about a run.
#[derive(Clone, Copy, Debug)]
pub struct RunWords<'a> {
    /// The subcommand, as `sim`.
    pub command: &'a str,
    /// The scenario, as the user named it.
    pub scenario: &'a str,
    /// The schemes.
    pub schemes: &'a [Scheme],
    /// The number of seeds.
    pub seeds: u32,
    /// The first of them.
    pub seed: u64,
    /// What is set, `KEY=VALUE`.
    pub overrides: &'a [String],
}

impl RunWords<'_> {
    /// The words, quoted for a shell, with `more` before what is set.
    pub fn words(&self, more: &[String]) -> Vec<String> {
        let names: Vec<&str> = self.schemes.iter().map(|s| s.name.as_str()).collect();
        let mut words = vec!["ndnweir".to_string(), self.command.into(), shell_word(self.scenario)];
        words.extend(["--scheme".into(), shell_word(&names.join(","))]);
        words.extend(["--seeds".into(), self.seeds.to_string(), "--seed".into(), self.seed.to_string()]);
        words.extend_from_slice(more);
        words.extend(self.overrides.iter().flat_map(|change| ["--set".into(), shell_word(change)]));
        words
    }

    /// The command that gives the same numbers again.
    pub fn repeat(&self, more: &[String]) -> Repeat {
        Repeat {
            command: self.words(more).join(" "),
            version: env!("CARGO_PKG_VERSION").into(),
            notes: stand_ins(self.schemes).into_iter().collect(),
        }
    }
}

/// Which of the schemes take the place of one whose law is not public, in a sentence.
pub fn stand_ins(schemes: &[Scheme]) -> Option<String> {
    let names: Vec<&str> = schemes.iter().filter(|s| s.is_stand_in()).map(|s| s.name.as_str()).collect();
    (!names.is_empty()).then(|| format!("Stand-ins (the original law is not public): {}", names.join(", ")))
}
