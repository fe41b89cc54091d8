//! Consumers that are shown apart where there are many.

use ndnweir_lab::results::ConsumerInfo;

/// Kinds of consumers shown apart at most.
const KINDS: usize = 3;

/// Consumers that a band should not mix: by whether they are long-lived, fetch one object or have flows that come and
/// go, else by their names without the number at the end. All together, without a name, if that gives more than a few.
pub fn kinds(consumers: &[ConsumerInfo]) -> Vec<(String, Vec<&str>)> {
    let kind = |c: &ConsumerInfo| match (&c.flows, c.long_lived) {
        (Some(_), _) => "flows".to_owned(),
        (None, true) => "long-lived".to_owned(),
        (None, false) => "one object each".to_owned(),
    };
    let stem = |c: &ConsumerInfo| c.name.trim_end_matches(|x: char| x.is_ascii_digit() || x == '-').to_owned();
    let by = |of: &dyn Fn(&ConsumerInfo) -> String| {
        let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
        for consumer in consumers {
            let key = of(consumer);
            match groups.iter_mut().find(|g| g.0 == key) {
                Some(group) => group.1.push(&consumer.name),
                None => groups.push((key, vec![&consumer.name])),
            }
        }
        groups
    };
    [by(&kind), by(&stem)]
        .into_iter()
        .find(|groups| (2..=KINDS).contains(&groups.len()))
        .unwrap_or_else(|| vec![(String::new(), consumers.iter().map(|c| c.name.as_str()).collect())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unequal_consumers_are_apart_by_kind_or_by_name_and_equal_ones_are_not() {
        let one = |name: String, long_lived| ConsumerInfo { name, long_lived, ..ConsumerInfo::default() };
        let sizes = |list: &[ConsumerInfo]| -> Vec<(String, usize)> {
            kinds(list).into_iter().map(|(kind, names)| (kind, names.len())).collect()
        };
        let named: Vec<ConsumerInfo> =
            (0..6).map(|i| one(format!("{}{i}", if i < 2 { "near" } else { "far" }), true)).collect();
        assert_eq!(sizes(&named), [("near".to_owned(), 2), ("far".to_owned(), 4)]);
        let kinds: Vec<ConsumerInfo> = (0..6).map(|i| one(format!("C{i}"), i > 0)).collect();
        assert_eq!(sizes(&kinds), [("one object each".to_owned(), 1), ("long-lived".to_owned(), 5)]);
        let equal: Vec<ConsumerInfo> = (0..6).map(|i| one(format!("C{i}"), true)).collect();
        assert_eq!(sizes(&equal), [(String::new(), 6)]);
    }
}
