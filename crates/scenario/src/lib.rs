//! Scenario files: what network, what traffic, what changes, for how long.
//!
//! [`load`] takes the name of a shipped scenario or the path of a file (TOML, or a bare topology file) and gives a
//! validated [`Scenario`] or the list of everything that is wrong with it. The format is described in
//! `docs/scenario-format.md`.
//!
//! It handles what users may write and where they wrote it, and reads schemes with the registry. It does not run
//! anything: routes are the simulator's; there are no statistics and no pictures.
//!
//! [`diag`], [`fields`] and [`tree`] read any TOML file of users; papers use them too.

mod bdp;
mod component_files;
mod cross;
pub mod diag;
mod direction;
mod expand;
pub mod fields;
mod files_read;
mod flow_sizes;
mod flows;
mod gravity;
mod impairments;
mod media;
mod model;
mod mtu;
mod network;
mod order;
mod overrides;
mod parts;
mod player;
mod reach;
mod schemes;
mod settings;
mod shipped;
mod simulated;
mod source;
pub mod topology;
mod traces;
mod traffic;
pub mod tree;

pub use component_files::component_file;
pub use diag::{Diagnostic, Location, Problems};
pub use direction::{DELAY_HELP, LAG_HELP, RATE_HELP, delay_check, lag_check, rate_check};
pub use files_read::{ELSEWHERE, is_here};
pub use model::*;
pub use order::compare as compare_names;
pub use shipped::{Shipped, shipped};
pub use source::{Source, apply_overrides, find, find_here, load};

/// Most consumers, and most producers, a scenario may have.
pub const MAX_APPLICATIONS: usize = 20_000;
/// Most events a scenario may have.
pub const MAX_EVENTS: usize = 100_000;

/// Whether `name` can name a node, link, producer, consumer or scheme: letters, digits, `_`, `-`, `.` and `+`, 1 to 64
/// of them.
pub fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= 64
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'))
}

/// Names a random stream by the name of what draws from it (FNV-1a), so that it does not depend on what else there is.
fn name_key(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// What is wrong with an NDN URI prefix, if anything.
fn prefix_error(prefix: &str) -> Option<String> {
    let Some(rest) = prefix.strip_prefix('/') else {
        return Some(format!("\"{prefix}\" does not start with /"));
    };
    if prefix.len() > 1024 {
        return Some("the prefix is longer than 1024 characters".into());
    }
    if rest.is_empty() {
        return None;
    }
    for component in rest.split('/') {
        if component.is_empty() {
            return Some(format!("\"{prefix}\" has an empty component"));
        }
        if let Some(bad) = component.chars().find(|c| !c.is_ascii_graphic() || matches!(c, '?' | '#' | '"')) {
            return Some(format!("\"{prefix}\" contains {bad:?}"));
        }
        let escaped = component
            .split('%')
            .skip(1)
            .all(|after| after.as_bytes().get(..2).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)));
        if !escaped {
            return Some(format!("\"{prefix}\" has a % without two hexadecimal digits"));
        }
        if component.chars().all(|c| c == '.') && component.len() < 4 {
            return Some(format!("\"{prefix}\" has a component of dots only"));
        }
    }
    None
}

/// Whether `name` is `prefix` or below it.
fn is_under(prefix: &str, name: &str) -> bool {
    let prefix = prefix.trim_end_matches('/');
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_match_by_component() {
        assert!(is_under("/", "/a"));
        assert!(is_under("/a", "/a"));
        assert!(is_under("/a", "/a/b"));
        assert!(!is_under("/a", "/ab"));
    }

    #[test]
    fn malformed_prefixes_are_distinguished_from_valid_ones() {
        for good in ["/", "/a", "/a/b%20c", "/v=1/8=x"] {
            assert_eq!(prefix_error(good), None);
        }
        for bad in ["", "a", "/a//b", "/a b", "/a%2", "/..", "/a/"] {
            assert!(prefix_error(bad).is_some(), "{bad}");
        }
    }
}
