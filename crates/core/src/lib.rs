//! The schemes of NDN congestion control as small I/O-free components.
//!
//! Seven families, one trait each; a [`scheme::Scheme`] names one component of every family. The [`registry`] lists
//! them. Time, randomness and the recorder are arguments (see [`ctx::Ctx`]): nothing here reads a clock, spawns a
//! thread or keeps global state.
//!
//! ```
//! use ndnweir_core::consumer::Consumer;
//! use ndnweir_core::registry::Family;
//! use ndnweir_core::scheme::Scheme;
//! use serde_json::json;
//!
//! // PCON's marks and forwarding under CUBIC with a gentler cut; the other families keep what PCON names.
//! let table = json!({ "base": "pcon", "consumer": { "name": "cubic", "beta": 0.8 } });
//! let scheme = Scheme::resolve("gentle", &table)?;
//! assert_eq!(scheme.part(Family::Marker).name, "codel-pcon");
//!
//! // Each fetch builds a consumer of its own; the layout says which header fields packets of the run carry.
//! let mut layout = scheme.layout();
//! let consumer = scheme.consumer(&mut layout);
//! assert_eq!(consumer.window(), 1.0);
//!
//! // An error names the remedy.
//! let wrong = Scheme::resolve("wrong", &json!({ "consumer": "qubic" })).unwrap_err();
//! assert!(wrong.to_string().contains("cubic"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It contains schemes, units and the table of header fields, and nothing about packet bytes, sockets, clocks or the
//! network around a node.

mod check;
pub mod component;
pub mod conformance;
pub mod consumer;
pub mod ctx;
mod dispatch;
pub mod error;
mod family;
pub mod fields;
pub mod ids;
pub mod meter;
pub mod packet;
pub mod plain;
pub mod planner;
pub mod queue;
pub mod registry;
pub mod scheme;
pub mod shaper;
pub mod shared;
pub mod strategy;
pub mod suggest;
pub mod units;
