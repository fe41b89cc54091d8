//! Who makes a route.

use crate::failure::Failure;

/// Origins that have a name (NFD wiki, `RibMgmt`), and that of `route plan`, which is ours.
const ORIGINS: [(&str, u64); 8] = [
    ("app", 0),
    ("autoreg", 64),
    ("client", 65),
    ("autoconf", 66),
    ("nlsr", 128),
    ("prefixann", 129),
    ("plan", PLAN),
    ("static", 255),
];
/// The origin of planned routes.
pub const PLAN: u64 = 200;

/// The number of an origin: one with a name, or itself a number.
pub fn origin_of(text: &str) -> Result<u64, Failure> {
    let named = ORIGINS.iter().find(|(name, _)| *name == text).map(|(_, number)| *number);
    named.or_else(|| text.parse().ok()).ok_or_else(|| {
        let names: Vec<&str> = ORIGINS.iter().map(|(name, _)| *name).collect();
        Failure::input(format!("`{text}` is not an origin; there are {} and numbers", names.join(", ")))
    })
}

/// The name of an origin, or its number.
pub fn origin_text(number: u64) -> String {
    let named = ORIGINS.iter().find(|(_, n)| *n == number);
    named.map_or_else(|| number.to_string(), |(name, _)| (*name).to_owned())
}
