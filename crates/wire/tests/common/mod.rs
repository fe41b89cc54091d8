//! Shared by the integration tests.

pub mod strategies;

use ndnweir_wire::Name;

/// Bytes from hexadecimal digits; white space and parentheses only group them.
pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .chars()
        .filter(|c| !c.is_whitespace() && !"()".contains(*c))
        .map(|c| u8::try_from(c.to_digit(16).expect("hexadecimal digit")).expect("below 16"))
        .collect();
    assert!(digits.len().is_multiple_of(2), "odd number of digits");
    digits.chunks_exact(2).map(|d| d[0] << 4 | d[1]).collect()
}

pub fn name(uri: &str) -> Name {
    uri.parse().expect("valid name")
}
