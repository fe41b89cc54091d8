//! The `ndnweir` command.
fn main() {}
