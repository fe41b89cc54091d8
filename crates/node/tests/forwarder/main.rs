//! The forwarder without I/O, fed with real bytes.

mod answers;
mod bench;
mod bounds;
mod hints;
mod links;
mod random;
mod repairs;
