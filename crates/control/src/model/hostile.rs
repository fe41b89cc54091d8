//! Whatever a client writes, a call ends with an answer or a status: nothing panics, and what is accepted is of the model.

use super::path::Pattern;
use super::schema::ROOT;
use super::transaction::read;
use super::tree::{Node, Selection, leaves};
use super::value::Value;
use crate::controller::mirror::Mirror;
use crate::proto::gnmi::{Notification, Path, PathElem, SetRequest, TypedValue, Update, typed_value};
use ndnweir_net::daemon::changes::Change;
use proptest::prelude::*;

/// Names of the model, wildcards, names of the module, and nonsense.
fn name() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "ndn",
        "faces",
        "face",
        "fib",
        "entry",
        "next-hop",
        "config",
        "state",
        "cost",
        "rate",
        "name",
        "strategies",
        "strategy",
        "content-store",
        "capacity",
        "*",
        "...",
        "ndnweir-router:ndn",
        "ndnweir-router:",
        "utilization",
    ];
    prop_oneof![9 => proptest::sample::select(KNOWN).prop_map(str::to_owned), 1 => ".{0,9}"]
}

fn keys() -> impl Strategy<Value = std::collections::HashMap<String, String>> {
    let key = prop_oneof!["id", "prefix", "face", ".{0,4}"];
    let value = prop_oneof!["257", "/a", "\\*", "18446744073709551616", ".{0,20}", "[/%a-f0-9]{0,40}"];
    proptest::collection::hash_map(key, value, 0..3)
}

fn path() -> impl Strategy<Value = Path> {
    let elem = (name(), keys()).prop_map(|(name, key)| PathElem { name, key });
    let shape = proptest::collection::vec(elem, 0..8).prop_map(|elem| Path { elem, ..Path::default() });
    // Paths that exist but for one part come nearer to what lies behind.
    let cost = (keys(), keys()).prop_map(|(entry, hop)| {
        let parts = [("ndn", None), ("fib", None), ("entry", Some(entry)), ("next-hop", Some(hop)), ("config", None)];
        let elem = parts.into_iter().chain([("cost", None)]);
        let elem = elem.map(|(name, key)| PathElem { name: name.into(), key: key.unwrap_or_default() }).collect();
        Path { elem, ..Path::default() }
    });
    prop_oneof![3 => shape, 1 => cost]
}

fn json() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop_oneof!["[0-9]{1,25}", "-?[0-9.e]{1,9}", "\"[a-z0-9/-]{0,9}\"", "null", "true", "[{\\[]{1,200}"];
    let object = (name(), leaf.clone()).prop_map(|(name, value)| format!("{{\"{name}\":{value}}}"));
    let list = (name(), leaf.clone()).prop_map(|(name, key)| {
        format!("{{\"{name}\":[{{\"id\":{key},\"prefix\":{key},\"face\":{key},\"config\":{{\"cost\":{key}}}}}]}}")
    });
    prop_oneof![leaf, object, list].prop_map(String::into_bytes)
}

fn value() -> impl Strategy<Value = typed_value::Value> {
    use typed_value::Value as V;
    prop_oneof![
        json().prop_map(V::JsonIetfVal),
        json().prop_map(V::JsonVal),
        any::<u64>().prop_map(V::UintVal),
        any::<i64>().prop_map(V::IntVal),
        any::<f64>().prop_map(V::DoubleVal),
        ".{0,20}".prop_map(V::StringVal),
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(V::BytesVal),
    ]
}

fn updates() -> impl Strategy<Value = Vec<Update>> {
    let update = (path(), value()).prop_map(|(path, value)| {
        let val = Some(TypedValue { value: Some(value) });
        Update { path: Some(path), val, ..Update::default() }
    });
    proptest::collection::vec(update, 0..4)
}

/// A face and a prefix.
fn tree() -> Node {
    let mut root = Node::container();
    let ndn = root.child("ndn", false);
    let face = ndn.child("faces", false).child("face", true).entry("257".into());
    face.set("id", Value::Number(257));
    face.child("config", false).set("rate", Value::Number(1));
    let hop = ndn.child("fib", false).child("entry", true).entry("/a".into()).child("next-hop", true);
    hop.entry("257".into()).child("config", false).set("cost", Value::Number(1));
    root
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn any_path_is_rejected_or_stands_for_places_of_the_model(prefix in path(), rest in path()) {
        let tree = tree();
        if let Ok(pattern) = Pattern::read(Some(&prefix), &rest) {
            let mut found = Vec::new();
            pattern.find(&tree, &mut |at, node, schema| {
                leaves(node, schema, Selection::All, &mut at.to_vec(), &mut |leaf, _| found.push(leaf.to_vec()));
            });
            for leaf in found {
                let end = leaf.iter().try_fold(&ROOT, |schema, step| schema.child(step.name).map(|(_, child)| child));
                prop_assert!(end.is_some_and(|schema| schema.children().is_empty()));
            }
        }
    }

    #[test]
    fn any_set_is_rejected_or_becomes_changes_within_their_limits(
        (prefix, delete) in (path(), proptest::collection::vec(path(), 0..3)),
        (replace, update) in (updates(), updates()),
    ) {
        let prefix = Some(prefix).filter(|prefix| prefix.elem.len() % 2 == 0);
        let request = SetRequest { prefix, delete, replace, update, ..SetRequest::default() };
        if let Ok(transaction) = read(&request, &tree()) {
            prop_assert_eq!(transaction.changes.len(), transaction.about.len());
            for change in transaction.changes {
                match change {
                    Change::Rate { rate, .. } => prop_assert!(rate.bps() > 0),
                    Change::Costs { costs, .. } => prop_assert!(!costs.is_empty()),
                    Change::Strategy { .. } | Change::Cache(_) => {}
                }
            }
        }
    }

    #[test]
    fn whatever_a_router_tells_a_controller_takes(
        prefix in path(), update in updates(), delete in proptest::collection::vec(path(), 0..3),
    ) {
        let mut mirror = Mirror::default();
        for _ in 0..2 {
            let prefix = Some(prefix.clone());
            let reported = Notification { prefix, update: update.clone(), delete: delete.clone(), ..Notification::default() };
            mirror.take(&reported);
        }
        let hops = mirror.fib.values().map(std::collections::BTreeMap::len).sum::<usize>();
        prop_assert!(hops <= update.len() && mirror.faces.len() <= update.len());
    }
}
