//! Parts that several schemes share; each exists once.

pub mod bucket;
pub mod bunch;
pub mod delivery;
pub mod draw;
pub mod explicit;
pub mod extreme;
pub mod flow_table;
pub mod flows;
pub mod gap;
pub mod grant;
pub mod guard;
pub mod level;
pub mod link_mark;
pub(crate) mod monitor;
pub mod noise;
pub mod once;
pub mod outstanding;
pub mod pacer;
pub mod paths;
pub mod rate;
pub mod round_trips;
pub mod rtt;
pub mod sizes;
pub mod slow_start;
pub mod suppression;
pub mod utilisation;
