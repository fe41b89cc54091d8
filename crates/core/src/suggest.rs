//! What someone probably meant who wrote a name that does not exist.

use crate::error::SchemeError;

/// Longest word worth comparing, in characters.
const LONGEST: usize = 256;

/// The name nearest to `wrong`, if one is near enough to be meant: insertions, deletions, replacements and swaps of
/// neighbours count one each; case and `_` for `-` count nothing.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if wrong.chars().count() > LONGEST / 4 {
        return None;
    }
    let fold = |s: &str| s.to_lowercase().replace('_', "-");
    let wrong = fold(wrong);
    names
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (strsim::osa_distance(&wrong, &fold(name)), name))
        .filter(|(distance, name)| *distance <= allowed(name.chars().count().min(wrong.chars().count())))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The one of `names` that `wrong` is but for `_` where it has `-`: keys are in kebab-case, and once were not.
pub fn corrected_spelling<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let kebab = wrong.replace('_', "-");
    names.into_iter().find(|&name| name == kebab && name != wrong)
}

/// How many slips are believable in a word of this length: none in single letters, one in short words.
fn allowed(length: usize) -> usize {
    if length < 2 { 0 } else { (length / 3).max(1) }
}

/// `there is no WHAT called "WRONG" (did you mean "NAME"?); there are: …`, with the question where a name is near.
pub fn unknown(what: &str, wrong: &str, names: &[&str]) -> SchemeError {
    let meant = nearest(wrong, names.iter().copied()).map(|name| format!(" (did you mean {name:?}?)"));
    let message = format!("there is no {what} called {wrong:?}{}", meant.unwrap_or_default());
    SchemeError::new(message, format!("there are: {}", names.join(", ")))
}

/// The message of a deserializer, such as ``unknown field `beat`, expected one of `beta`, `floor` ``, with what was
/// probably meant, and what there is.
pub fn with_suggestion(message: &str) -> (String, String) {
    let unknown = ["unknown field `", "unknown variant `"].iter().find_map(|start| message.split_once(start));
    let Some((wrong, known)) = unknown.and_then(|(_, rest)| rest.split_once("`, expected ")) else {
        return (message.into(), String::new());
    };
    let quoted = known.split('`').skip(1).step_by(2);
    if let Some(name) = corrected_spelling(wrong, quoted.clone()) {
        return (format!("`{wrong}` is written `{name}`"), String::new());
    }
    let what = message.split_once(", expected ").map_or(message, |(what, _)| what);
    let meant = nearest(wrong, quoted).map(|name| format!(" (did you mean `{name}`?)"));
    (format!("{what}{}", meant.unwrap_or_default()), format!("expected {known}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_the_name_that_was_meant() {
        assert_eq!(nearest("dealy", ["delay", "rate"]), Some("delay"));
        assert_eq!(nearest("warm_up", ["warm-up", "duration"]), Some("warm-up"));
        assert_eq!(nearest("colour", ["delay", "rate"]), None);
        assert_eq!(nearest("", ["a", "bc"]), None);
    }

    #[test]
    fn a_name_that_does_not_exist_is_answered_with_what_was_meant_and_what_there_is() {
        let text = unknown("scheme", "pocn", &["bic", "pcon"]).to_string();
        assert_eq!(text, "there is no scheme called \"pocn\" (did you mean \"pcon\"?); there are: bic, pcon");
        assert_eq!(unknown("scheme", "x", &["bic"]).to_string(), "there is no scheme called \"x\"; there are: bic");
    }

    #[test]
    fn a_slip_in_a_parameter_is_answered_with_the_parameter_that_was_meant() {
        let (text, there) = with_suggestion("unknown field `beat`, expected one of `floor`, `beta`");
        assert_eq!(text, "unknown field `beat` (did you mean `beta`?)");
        assert_eq!(there, "expected one of `floor`, `beta`");
        assert_eq!(with_suggestion("unknown field `x`, expected one of `floor`, `beta`").0, "unknown field `x`");
        for other in ["invalid type: map", "unknown field `x`"] {
            assert_eq!(with_suggestion(other), (other.into(), String::new()));
        }
    }

    #[test]
    fn a_key_with_underscores_is_answered_with_how_it_is_written() {
        let (text, _) = with_suggestion("unknown field `max_increment`, expected one of `increment`, `max-increment`");
        assert_eq!(text, "`max_increment` is written `max-increment`");
        assert_eq!(corrected_spelling("max-increment", ["max-increment"]), None);
        assert_eq!(corrected_spelling("max_incremen", ["max-increment"]), None);
    }
}
