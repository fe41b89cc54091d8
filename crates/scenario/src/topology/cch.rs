//! Rocketfuel ISP maps (`.cch`), one router per line:
//!
//! `uid @location [+] [bb] (neighbours) [&externals] -> <uid> <uid> ... {-external} ... =name rN`
//!
//! Lines that start with a minus are external addresses and are skipped, as are comments. Each link stands in the lines
//! of both its ends and is read once. The maps have neither rates nor delays.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{TopologyFile, TopologyLink, TopologyNode};
use crate::diag::Findings;
use crate::{Diagnostic, Location, Problems};

pub(super) fn read(source: &str, text: &str) -> Result<TopologyFile, Problems> {
    let source: Arc<str> = source.into();
    let found = Findings::default();
    let mut topology = TopologyFile::default();
    let mut index: BTreeMap<u64, usize> = BTreeMap::new();
    let mut wanted: Vec<(usize, u64, Location)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['-', '#']) {
            continue;
        }
        let place = Location::at(&source, number + 1, 1);
        match router(line) {
            Ok((uid, neighbours)) => {
                let node = topology.nodes.len();
                if index.insert(uid, node).is_some() {
                    let help = "each router has one line: delete or renumber one of the two";
                    found.error(&place, format!("router {uid} occurs twice"), help);
                    continue;
                }
                let name = format!("r{uid}");
                topology.nodes.push(TopologyNode { name, position: None, geo: None, place: place.clone() });
                wanted.extend(neighbours.into_iter().map(|n| (node, n, place.clone())));
            }
            Err(message) => found.error(
                &place,
                message,
                "a line reads: uid @location [+] [bb] (neighbours) [&externals] -> <uid> ... =name rN",
            ),
        }
    }
    // A router whose line cannot be read would also be missed as a neighbour.
    found.check()?;
    let mut seen = BTreeSet::new();
    for (a, uid, place) in wanted {
        let Some(&b) = index.get(&uid) else {
            found.error(
                &place,
                format!("neighbour <{uid}> has no line of its own"),
                "add the router, or delete the neighbour",
            );
            continue;
        };
        if a == b {
            let message = format!("self-loop at r{uid} skipped");
            topology.notes.push(Diagnostic { place, message, help: String::new() });
        } else if seen.insert((a.min(b), a.max(b))) {
            topology.links.push(TopologyLink {
                a,
                b,
                rate: None,
                delay: None,
                queue: None,
                cost: None,
                loss: None,
                place,
            });
        }
    }
    found.check()?;
    Ok(topology)
}

/// A router's uid and its neighbours' uids.
fn router(line: &str) -> Result<(u64, Vec<u64>), String> {
    let (head, tail) = line.split_once("->").ok_or("there is no \"->\" in this line")?;
    let mut head = head.split_whitespace();
    let first = head.next().ok_or("there is no uid before \"->\"")?;
    let uid = first.parse().map_err(|_| format!("\"{first}\" is not a uid (a whole number)"))?;
    if !head.next().is_some_and(|location| location.starts_with('@')) {
        return Err("the second field is not @location".into());
    }
    let mut neighbours = Vec::new();
    for field in tail.split_whitespace() {
        if field.starts_with(['{', '=']) {
            break;
        }
        let inner = field.strip_prefix('<').and_then(|f| f.strip_suffix('>'));
        let number = inner.and_then(|n| n.parse().ok());
        neighbours.push(number.ok_or_else(|| format!("\"{field}\" is not a neighbour: write <uid>"))?);
    }
    Ok((uid, neighbours))
}
