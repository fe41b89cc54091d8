//! The documentation pages of schemes, included in the binary so that `explain` needs no files.

use include_dir::{Dir, include_dir};

static SCHEMES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs/schemes");

/// The page of a scheme or component, as Markdown.
pub fn scheme(name: &str) -> Option<&'static str> {
    SCHEMES.get_file(format!("{name}.md"))?.contents_utf8()
}
