//! Notifications from values.

use super::forwarder::Snapshot;
use crate::model::path::{Pattern, message};
use crate::model::schema::{Kind, ROOT, Schema};
use crate::model::tree::{Node, Selection, Step, leaves};
use crate::model::value::{Value, to_json};
use crate::proto::gnmi::{Encoding, Notification, Path, TypedValue, Update, typed_value};
use std::collections::BTreeMap;

/// Leaves with their values.
pub(super) type Leaves<'a> = BTreeMap<Vec<Step>, &'a Value>;

pub(super) fn nanos(at: std::time::Duration) -> i64 {
    i64::try_from(at.as_nanos()).unwrap_or(i64::MAX)
}

/// The kind of a leaf.
fn kind(path: &[Step]) -> Option<Kind> {
    let schema = path.iter().try_fold(&ROOT, |schema, step| schema.child(step.name).map(|(_, child)| child))?;
    match schema {
        Schema::Leaf(kind, _) => Some(*kind),
        _ => None,
    }
}

/// The leaves that a pattern stands for.
pub(super) fn select<'a>(snapshot: &'a Snapshot, pattern: &Pattern, selection: Selection) -> Leaves<'a> {
    let mut found = Leaves::new();
    pattern.find(&snapshot.tree, &mut |path, node, schema| {
        leaves(node, schema, selection, &mut path.to_vec(), &mut |leaf, value| {
            found.insert(leaf.to_vec(), value);
        });
    });
    found
}

/// How many leaves a pattern stands for.
pub(super) fn count(snapshot: &Snapshot, pattern: &Pattern, selection: Selection) -> usize {
    let mut count = 0;
    pattern.find(&snapshot.tree, &mut |path, node, schema| {
        leaves(node, schema, selection, &mut path.to_vec(), &mut |_, _| count += 1);
    });
    count
}

/// Whether the values below are reported together: states, and the next hops of a prefix, whose costs change together.
fn is_home(step: &Step) -> bool {
    matches!(step.name, "state" | "config" | "entry")
}

/// The container that values are reported together with, or the parent.
fn home(path: &[Step]) -> usize {
    let named = path.iter().position(is_home);
    named.map_or(path.len() - 1, |at| at + 1).min(path.len() - 1)
}

/// How many leaves a container has.
fn size(snapshot: &Snapshot, home: &[Step]) -> usize {
    let (mut node, mut schema) = (&snapshot.tree, &ROOT);
    for step in home {
        let (Node::Container(children), Some((_, below))) = (node, schema.child(step.name)) else { return 0 };
        let next = match (children.get(step.name), &step.key) {
            (Some(Node::List(entries)), Some((_, key))) => entries.get(key),
            (next, _) => next,
        };
        let Some(next) = next else { return 0 };
        (node, schema) = (next, below);
    }
    let mut count = 0;
    leaves(node, schema, Selection::All, &mut home.to_vec(), &mut |_, _| count += 1);
    count
}

/// Notifications of leaves and of paths that are gone, one for each container. One that holds a whole container is
/// atomic, so that what belongs together is from one instant.
pub(super) fn notifications(
    snapshot: &Snapshot,
    leaves: &Leaves<'_>,
    gone: &[Vec<Step>],
    encoding: Encoding,
    duplicates: u32,
    target: &str,
) -> Vec<Notification> {
    let mut homes: BTreeMap<&[Step], (Vec<Update>, Vec<Path>)> = BTreeMap::new();
    for (path, value) in leaves {
        let Some(kind) = kind(path) else { continue };
        let (home, rest) = path.split_at(home(path));
        let val = Some(value.typed(kind, encoding));
        homes.entry(home).or_default().0.push(Update {
            path: Some(message(rest)),
            val,
            duplicates,
            ..Update::default()
        });
    }
    for path in gone {
        let (home, rest) = path.split_at(home(path));
        homes.entry(home).or_default().1.push(message(rest));
    }
    let reported = homes.into_iter().map(|(home, (update, delete))| {
        let grouped = home.last().is_some_and(is_home);
        let atomic = grouped && delete.is_empty() && update.len() == size(snapshot, home);
        let prefix = Path { target: target.to_owned(), ..message(home) };
        Notification { timestamp: nanos(snapshot.at), prefix: Some(prefix), update, delete, atomic }
    });
    reported.collect()
}

/// A node with all below it as one update of a Get.
pub(super) fn subtree(
    path: &[Step],
    node: &Node,
    schema: &Schema,
    selection: Selection,
    encoding: Encoding,
) -> Option<Update> {
    let ietf = encoding == Encoding::JsonIetf;
    let json = to_json(node, schema, selection, ietf, true)?.to_string().into_bytes();
    let value = if ietf { typed_value::Value::JsonIetfVal(json) } else { typed_value::Value::JsonVal(json) };
    Some(Update { path: Some(message(path)), val: Some(TypedValue { value: Some(value) }), ..Update::default() })
}
