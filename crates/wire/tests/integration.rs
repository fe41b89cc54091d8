//! The packet format from outside, as one program.

mod common;
mod fuzz_entries;
mod malformed_packets;
mod published_link_packets;
mod published_network_packets;
mod reassembly;
mod round_trips;
mod signatures;
mod uri_form;
