//! Command lines that people copy.

/// A word as a shell reads it: quoted if it has to be.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=:@%+".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// The words of a line that [`shell_word`] made; none for others.
pub fn shell_words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut rest) = (Vec::new(), None::<String>, line);
    while let Some(first) = rest.chars().next() {
        let quoted = match first {
            ' ' => {
                words.extend(word.take());
                rest = &rest[1..];
                continue;
            }
            '\'' => rest[1..].split_once('\'')?,
            '\\' => {
                let quote = rest.get(1..2).filter(|quote| *quote == "'")?;
                (quote, &rest[2..])
            }
            _ => rest.split_at(rest.find([' ', '\'', '\\']).unwrap_or(rest.len())),
        };
        word.get_or_insert_default().push_str(quoted.0);
        rest = quoted.1;
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_is_read_as_a_shell_reads_it() {
        let line = r"ndnweir sim my.toml --set 'link.A-B.queue=1 BDP' 'it'\''s' ''";
        let words = shell_words(line).unwrap();
        assert_eq!(words, ["ndnweir", "sim", "my.toml", "--set", "link.A-B.queue=1 BDP", "it's", ""]);
        assert_eq!((shell_words("a 'b"), shell_words("a \\b")), (None, None));
    }

    proptest! {
        #[test]
        fn words_come_back(words in proptest::collection::vec(".*", 0..5)) {
            let line = words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
            prop_assert_eq!(shell_words(&line), Some(words));
        }
    }
}
