//! The server and the terminal from outside, as one program.

mod server;
#[cfg(target_os = "linux")]
mod terminal;
