//! Published claims, each counted once, over all readings; and the summary that opens a report.

use super::model::{Headline, Paper, named};
use super::verdict::{Judged, LITERAL, PaperVerdict};
use crate::evaluation::number;
use serde::Serialize;

/// What became of a claim. It counts where it stands first: a claim that holds literally is not counted again under a
/// reading.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum ClaimOutcome {
    /// Holds as literally read, with this verdict, and nothing was fitted to it.
    Literal(PaperVerdict),
    /// Holds under these readings, none of which was fitted to it.
    Reading(Vec<String>),
    /// Holds only where something was fitted to it, under these readings, which confirms nothing.
    Fitted(Vec<String>),
    /// The spread over runs is too large for a verdict, literally or under a reading.
    Undecided,
    /// Not reproduced, with a cause or a proof that it is impossible.
    Explained(String),
    /// Not reproduced, and we do not know why.
    Unexplained,
}

impl ClaimOutcome {
    /// The outcome in words.
    pub fn text(&self) -> String {
        match self {
            ClaimOutcome::Literal(verdict) => verdict.text().into(),
            ClaimOutcome::Reading(readings) => format!("reproduced under {}", readings.join(", ")),
            ClaimOutcome::Fitted(readings) if readings.iter().all(|r| r == LITERAL) => "holds, but was fitted".into(),
            ClaimOutcome::Fitted(readings) => format!("holds where fitted ({})", readings.join(", ")),
            ClaimOutcome::Undecided => "undecided".into(),
            ClaimOutcome::Explained(_) => "not reproduced, cause known".into(),
            ClaimOutcome::Unexplained => "not reproduced".into(),
        }
    }
}

/// A claim and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Id of its entries.
    pub id: String,
    /// What became of it.
    pub outcome: ClaimOutcome,
}

/// Every claim that counts, in the order of the file.
pub fn claims(judged: &[Judged]) -> Vec<Claim> {
    let literal = judged.iter().filter(|j| j.reading == LITERAL && j.counted);
    literal.map(|j| Claim { id: j.id.clone(), outcome: outcome(judged, &j.id) }).collect()
}

fn outcome(judged: &[Judged], id: &str) -> ClaimOutcome {
    let all: Vec<&Judged> = judged.iter().filter(|j| j.id == id).collect();
    let holding = |fitted: bool| -> Vec<String> {
        let holding = all.iter().filter(|j| j.verdict.holds() && j.fitted.is_some() == fitted);
        holding.map(|j| j.reading.clone()).collect()
    };
    let (free, fitted) = (holding(false), holding(true));
    let literal = all.iter().find(|j| j.reading == LITERAL && free.contains(&j.reading));
    if let Some(literal) = literal {
        return ClaimOutcome::Literal(literal.verdict);
    }
    match all.iter().find_map(|j| j.cause.clone()) {
        _ if !free.is_empty() => ClaimOutcome::Reading(free),
        _ if !fitted.is_empty() => ClaimOutcome::Fitted(fitted),
        _ if all.iter().any(|j| j.verdict == PaperVerdict::Undecided) => ClaimOutcome::Undecided,
        Some(cause) => ClaimOutcome::Explained(cause),
        None => ClaimOutcome::Unexplained,
    }
}

/// The number of claims with each outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClaimCounts {
    /// All of them.
    pub published: usize,
    /// Reproduced as literally read.
    pub literal: usize,
    /// Reproduced under a reading.
    pub reading: usize,
    /// Hold only where something was fitted to them.
    pub fitted: usize,
    /// Undecided.
    pub undecided: usize,
    /// Not reproduced, with a cause or an impossibility shown.
    pub explained: usize,
    /// Not reproduced, without.
    pub unexplained: usize,
}

impl ClaimCounts {
    /// ClaimCounts claims.
    pub fn of(claims: &[Claim]) -> ClaimCounts {
        let mut counts = ClaimCounts { published: claims.len(), ..ClaimCounts::default() };
        for claim in claims {
            match claim.outcome {
                ClaimOutcome::Literal(_) => counts.literal += 1,
                ClaimOutcome::Reading(_) => counts.reading += 1,
                ClaimOutcome::Fitted(_) => counts.fitted += 1,
                ClaimOutcome::Undecided => counts.undecided += 1,
                ClaimOutcome::Explained(_) => counts.explained += 1,
                ClaimOutcome::Unexplained => counts.unexplained += 1,
            }
        }
        counts
    }

    /// The counts in words, each with its number.
    pub fn parts(&self) -> [(usize, &'static str); 7] {
        [
            (self.published, "claims published"),
            (self.literal, "reproduced as literally read"),
            (self.reading, "reproduced under a reading"),
            (self.fitted, "hold only where fitted"),
            (self.undecided, "undecided"),
            (self.explained, "not reproduced, with a cause or an impossibility shown"),
            (self.unexplained, "not reproduced, cause unknown"),
        ]
    }

    /// One line.
    pub fn text(&self) -> String {
        self.parts().map(|(n, what)| format!("{n} {what}")).join(", ")
    }
}

/// For each reading, the literal one first, the number of claims judged under it, of those that hold without having been
/// fitted, and of those that hold though the literal reading does not.
pub fn by_reading(paper: &Paper, judged: &[Judged]) -> Vec<(String, usize, usize, usize)> {
    let ids = std::iter::once(LITERAL).chain(paper.readings.iter().map(|r| r.id.as_str()));
    let free = |j: &&Judged| j.verdict.holds() && j.fitted.is_none();
    let literally = |id: &str| judged.iter().filter(free).any(|j| j.id == id && j.reading == LITERAL);
    let row = |id: &str| {
        let under = || judged.iter().filter(|j| j.counted && j.reading == id);
        let gained = under().filter(free).filter(|j| !literally(&j.id)).count();
        (id.to_owned(), under().count(), under().filter(free).count(), gained)
    };
    ids.map(row).collect()
}

/// A line of the summary: claim, published, ours, verdict, why.
pub type SummaryLine = [String; 5];

/// Headings of a [`SummaryLine`].
pub const SUMMARY_HEADINGS: [&str; 5] = ["claim", "published", "ours", "verdict", "why"];

/// The summary that opens the report.
pub fn summary(paper: &Paper, judged: &[Judged]) -> Vec<SummaryLine> {
    let claims = claims(judged);
    paper.headlines.iter().map(|h| line(h, judged, &claims)).collect()
}

fn line(headline: &Headline, judged: &[Judged], claims: &[Claim]) -> SummaryLine {
    let of = |id: &str| headline.entries.iter().any(|p| named(p, id));
    let literal: Vec<&Judged> = judged.iter().filter(|j| j.reading == LITERAL && of(&j.id)).collect();
    let ours: Vec<String> = literal.iter().take(4).map(|j| measured(j)).collect();
    let outcomes: Vec<ClaimOutcome> = claims.iter().filter(|c| of(&c.id)).map(|c| c.outcome.clone()).collect();
    let verdict = match outcomes.as_slice() {
        [] => literal.first().map_or("not measured".into(), |j| format!("{}, not counted", j.verdict.text())),
        [one] => one.text(),
        many => {
            let mut texts: Vec<(String, usize)> = Vec::new();
            for outcome in many {
                let text = outcome.text();
                match texts.iter_mut().find(|t| t.0 == text) {
                    Some(found) => found.1 += 1,
                    None => texts.push((text, 1)),
                }
            }
            let parts: Vec<String> = texts.iter().map(|(text, n)| format!("{n} {text}")).collect();
            if let [(text, _)] = texts.as_slice() { text.clone() } else { parts.join("; ") }
        }
    };
    let more = if literal.len() > ours.len() { "; …" } else { "" };
    let ours = format!("{}{more}", ours.join("; "));
    [headline.claim.clone(), headline.published.clone(), ours, verdict, headline.why.clone()]
}

/// What was measured as literally read, in a few words.
fn measured(j: &Judged) -> String {
    let half = j.half_width.filter(|h| *h > 0.0).map(|h| format!(" ± {}", number(h))).unwrap_or_default();
    match (j.mean, j.published) {
        (None, _) => "not measured".into(),
        (Some(mean), Some(_)) => format!("{} {}{half} {}", j.scheme, number(mean), j.unit).trim_end().to_owned(),
        (Some(mean), None) if j.unit == "of runs" => format!("{} in {:.0} % of runs", j.scheme, 100.0 * mean),
        // The note ends with the values that were compared.
        (Some(_), None) => {
            format!("{} {}", j.note.rsplit("; ").next().unwrap_or_default(), j.unit).trim_end().to_owned()
        }
    }
}
