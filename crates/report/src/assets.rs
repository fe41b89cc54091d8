//! What pages of other crates share with reports: style sheets, colours of schemes, the plotting library.

pub use super::families::group;
pub use super::style::{BASE as BASE_SCRIPT, page_css};
use super::style::{LIBRARY, LIBRARY_CSS, LIBRARY_LICENCE};

/// The plotting library with its licence.
pub fn plotting_script() -> String {
    format!("/*\n{}\n*/\n{LIBRARY}", LIBRARY_LICENCE.trim())
}

/// Its style sheet.
pub fn plotting_css() -> &'static str {
    LIBRARY_CSS
}
