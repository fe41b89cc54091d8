//! Experiments with several cases: a scenario and every combination of varied values.

use super::lists::texts;
use ndnweir_core::scheme::Scheme;
use ndnweir_scenario::diag::Findings;
use ndnweir_scenario::fields::Fields;
use ndnweir_scenario::tree::{Item, Value};
use ndnweir_scenario::{Location, Problems, Scenario, Source, apply_overrides};

/// Maximum number of cases of one experiment; more would take too long.
pub const MAX_CASES: usize = 64;

/// A scenario with schemes, possibly in several cases.
#[derive(Clone, Debug)]
pub struct ExperimentGrid {
    /// Name in the file.
    pub id: String,
    /// A description for the reader.
    pub about: String,
    /// The cases; a single one without a name if nothing varies.
    pub cases: Vec<Case>,
    /// The schemes that are compared; empty if the file does not select them.
    pub schemes: Vec<Scheme>,
    /// Keys of scheme events that expressions need.
    pub events: Vec<String>,
}

/// A case of an experiment.
#[derive(Clone, Debug)]
pub struct Case {
    /// The values that were varied, e.g. `100 packets`.
    pub name: String,
    /// The scenario file, by its name relative to the evaluation's file, or the name of a shipped scenario.
    pub file: String,
    /// The overrides that turn the scenario of the file into this case.
    pub set: Vec<String>,
    /// The scenario that is run.
    pub scenario: Scenario,
}

/// Values that several keys take together.
#[derive(Clone, Debug)]
pub struct Variation(Vec<Combination>);

/// A case before its scenario is read.
#[derive(Clone, Debug, Default)]
pub struct Combination {
    /// The text of the values.
    pub name: String,
    /// The overrides for these values.
    pub set: Vec<String>,
    /// Where these are written, in the same order; empty for those of a command line.
    pub places: Vec<Location>,
    /// The position in `tiers` of the key that contains the values; of several keys, the largest position.
    pub tier: usize,
}

/// Reads `vary = [{ key = "link.A-B.queue", values = ["10 packets", "20 packets"] }]`. Several keys take the same
/// value, or each its own if a value is a list; if the list has one element more, its first element is the name of the
/// case. `tiers` are the keys that may contain values.
pub fn variations(item: &Item, found: &Findings, tiers: &[&'static str]) -> Vec<Variation> {
    let Value::List(items) = &item.value else {
        found.error(
            &item.at,
            "vary is not a list of tables",
            "write vary = [{ key = \"link.A-B.queue\", values = [\"100 packets\"] }]",
        );
        return Vec::new();
    };
    let one = |item: &Item| {
        let table = item.as_table()?;
        let f = Fields::new(table, "vary", &item.at, found);
        let keys = f.item("key").map(|item| texts(item, found)).unwrap_or_default();
        let keys: Vec<String> = keys.into_iter().map(|k| k.0).collect();
        if keys.is_empty() {
            f.missing("key", "\"link.A-B.queue\"");
        }
        let under = |(tier, key): (usize, &&'static str)| {
            f.item(key).map(|item| values(item, &keys, tier, found)).unwrap_or_default()
        };
        let values: Vec<Combination> = tiers.iter().enumerate().flat_map(under).collect();
        if values.is_empty() {
            f.missing(tiers[0], "[\"100 packets\", \"200 packets\"]");
        }
        f.finish();
        Some(Variation(values))
    };
    items.iter().filter_map(one).collect()
}

/// Why a text is not a variation; the messages end with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariationError {
    /// There is no `=` between key and values.
    #[error("\"{0}\" has no =; write KEY=V1,V2, such as \"link.R1-R2.queue=0.5 BDP,1 BDP\"")]
    NoValues(String),
    /// The key or one of the values is empty.
    #[error("\"{0}\" has an empty key or value; write KEY=V1,V2, such as \"link.R1-R2.queue=0.5 BDP,1 BDP\"")]
    Empty(String),
}

/// Reads `KEY=V1,V2,…`, as a command line gives it; commas within brackets or quotes do not separate values.
///
/// # Errors
/// If there is no `=`, or the key or a value is empty.
pub fn variation(text: &str) -> Result<Variation, VariationError> {
    let (key, list) = text.split_once('=').ok_or_else(|| VariationError::NoValues(text.into()))?;
    let (mut values, mut value, mut depth, mut quoted) = (Vec::new(), String::new(), 0u32, false);
    for c in list.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            ',' if !quoted && depth == 0 => {
                values.push(std::mem::take(&mut value));
                continue;
            }
            _ => {}
        }
        value.push(c);
    }
    values.push(value);
    let key = key.trim();
    if key.is_empty() || values.iter().any(|value| value.trim().is_empty()) {
        return Err(VariationError::Empty(text.into()));
    }
    let one = |value: &String| {
        let name = value.trim().to_owned();
        Combination { set: vec![format!("{key}={name}")], name, ..Combination::default() }
    };
    Ok(Variation(values.iter().map(one).collect()))
}

fn values(item: &Item, keys: &[String], tier: usize, found: &Findings) -> Vec<Combination> {
    let list = match &item.value {
        Value::List(items) => items.as_slice(),
        _ => std::slice::from_ref(item),
    };
    let one = |item: &Item| {
        let own = matches!(item.value, Value::List(_));
        let (values, places): (Vec<String>, Vec<Location>) = texts(item, found).into_iter().unzip();
        let name = values.first()?.clone();
        let named = usize::from(own && values.len() == keys.len() + 1);
        if own && values.len() != keys.len() + named {
            let message = format!("{} values for {} keys", values.len(), keys.len());
            found.error(&item.at, message, "write one for each key, before them a name if you like, or one for all");
            return None;
        }
        let value = |i: usize| if own { i + named } else { 0 };
        let set = keys.iter().enumerate().map(|(i, key)| format!("{key}={}", values[value(i)])).collect();
        let places = (0..keys.len()).map(|i| places[value(i)].clone()).collect();
        Some(Combination { name, set, places, tier })
    };
    list.iter().filter_map(one).collect()
}

/// Every combination of values; a single one without a name if nothing varies.
pub fn combinations(variations: &[Variation]) -> Vec<Combination> {
    let mut all = vec![Combination::default()];
    for Variation(values) in variations {
        let with = |before: &Combination| {
            let before = before.clone();
            values.iter().map(move |value| Combination {
                name: match before.name.as_str() {
                    "" => value.name.clone(),
                    name => format!("{name}, {}", value.name),
                },
                set: before.set.iter().chain(&value.set).cloned().collect(),
                places: before.places.iter().chain(&value.places).cloned().collect(),
                tier: before.tier.max(value.tier),
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

/// Why it cannot be said what varies.
#[derive(Debug)]
pub enum VaryError {
    /// What the scenario says.
    Scenario(Problems),
    /// What a text says.
    Text(VariationError),
    /// There are more than [`MAX_CASES`] cases: so many.
    TooMany(usize),
    /// Two cases have this name: a value is there twice.
    Twice(String),
}

/// The combinations of what `texts` say, each as for [`variation`], else of what the scenario's own `[[vary]]` says; none
/// if nothing varies.
///
/// # Errors
/// [`VaryError`].
pub fn varied(source: &Source, texts: &[String]) -> Result<Option<Vec<Combination>>, VaryError> {
    let varied = match (texts, source.vary()) {
        ([], None) => return Ok(None),
        ([], Some(item)) => {
            let found = Findings::default();
            let varied = variations(item, &found, &["values"]);
            found.check().map_err(VaryError::Scenario)?;
            varied
        }
        (texts, _) => texts.iter().map(|text| variation(text)).collect::<Result<_, _>>().map_err(VaryError::Text)?,
    };
    let all = combinations(&varied);
    if all.len() > MAX_CASES {
        return Err(VaryError::TooMany(all.len()));
    }
    let twice = all.iter().enumerate().find(|(i, case)| all[..*i].iter().any(|other| other.name == case.name));
    if let Some((_, case)) = twice {
        return Err(VaryError::Twice(case.name.clone()));
    }
    Ok(Some(all))
}

/// The cases of the scenario in `file`: changed by `set`, then by each combination.
///
/// # Errors
/// The errors of the first case that cannot be read.
pub fn cases(
    source: &Source,
    file: &str,
    set: &[String],
    combinations: Vec<Combination>,
) -> Result<Vec<Case>, Problems> {
    let one = |Combination { name, set: more, places, .. }: Combination| {
        let written: Vec<(String, Location)> = more.iter().cloned().zip(places).collect();
        let set: Vec<String> = set.iter().cloned().chain(more).collect();
        let mut source = source.clone();
        let scenario = apply_overrides(&mut source, &set).and_then(|()| source.validate());
        Ok(Case { name, file: file.to_owned(), set, scenario: scenario.map_err(|p| placed(p, &written))? })
    };
    combinations.into_iter().map(one).collect()
}

/// The same problems; those of overrides that a file has are where it has them, not on a command line.
pub fn placed(mut problems: Problems, written: &[(String, Location)]) -> Problems {
    for problem in &mut problems.list {
        let Some(text) = problem.place.source.strip_prefix("--set ").map(str::to_owned) else { continue };
        if let Some((_, at)) = written.iter().find(|(known, _)| *known == text) {
            problem.message = format!("{text}: {}", problem.message);
            problem.place = at.clone();
        }
    }
    problems
}

/// Reports an error if an experiment has more than [`MAX_CASES`] cases.
pub fn check_count(id: &str, cases: usize, at: &Location, found: &Findings) {
    if cases > MAX_CASES {
        found.error(at, format!("experiment {id} has {cases} cases"), format!("at most {MAX_CASES}"));
    }
}
