use super::path::{Pattern, message, text};
use super::schema::{Kind, ROOT, Schema};
use super::transaction::read;
use super::tree::{Node, Selection, Step, leaves};
use super::value::{Value, to_json};
use crate::proto::gnmi::{Encoding, Path, PathElem, SetRequest, TypedValue, Update, typed_value};
use ndnweir_net::daemon::changes::Change;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write;
use tonic::Code;

/// `/a/b[k=v]` as gNMI's message.
fn path(text: &str) -> Path {
    let elem = text.split('/').filter(|part| !part.is_empty()).map(|part| {
        let (name, key) = part.split_once('[').unwrap_or((part, ""));
        let key = key.strip_suffix(']').and_then(|key| key.split_once('='));
        let key = key.map(|(key, value)| (key.to_owned(), value.replace('|', "/"))).into_iter().collect();
        PathElem { name: name.to_owned(), key }
    });
    Path { elem: elem.collect(), ..Path::default() }
}

/// Two faces, and a prefix with two next hops of which one has a cost of a controller.
fn tree() -> Node {
    let mut root = Node::container();
    let ndn = root.child("ndn", false);
    let faces = ndn.child("faces", false).child("face", true);
    for id in [257_u64, 258] {
        let face = faces.entry(id.to_string());
        face.set("id", Value::Number(id));
        face.child("config", false).set("rate", Value::Number(1_000_000));
        let state = face.child("state", false);
        state.set("utilization", Value::Decimal(0.25));
        state.set("oper-status", Value::Name("UP"));
        state.child("counters", false).set("in-data", Value::Number(u64::MAX));
    }
    let entry = ndn.child("fib", false).child("entry", true).entry("/a".into());
    entry.set("prefix", Value::Text("/a".into()));
    for (face, cost) in [("257", 1), ("258", 2)] {
        let hop = entry.child("next-hop", true).entry(face.into());
        hop.set("face", Value::Number(face.parse().unwrap()));
        hop.child("state", false).set("cost", Value::Number(cost));
    }
    entry.child("next-hop", true).entry("257".into()).child("config", false).set("cost", Value::Number(1));
    root
}

/// The places that a path stands for.
fn found(of: &str) -> Vec<String> {
    let (tree, mut all) = (tree(), Vec::new());
    Pattern::read(None, &path(of)).unwrap().find(&tree, &mut |path, _, _| all.push(text(path)));
    all
}

#[test]
fn wildcards_stand_for_every_place_once() {
    assert_eq!(found("/ndn/faces/face[id=258]"), ["/ndn/faces/face[id=258]"]);
    let both = ["/ndn/faces/face[id=257]/state/utilization", "/ndn/faces/face[id=258]/state/utilization"];
    for same in [
        "/ndn/faces/face/state/utilization",
        "/ndn/faces/face[id=*]/state/utilization",
        "/ndn/*/*/state/utilization",
        "/.../utilization",
        "/ndn/.../.../utilization",
        "/ndnweir-router:ndn/faces/.../utilization",
    ] {
        assert_eq!(found(same), both, "{same}");
    }
    assert_eq!(found("/ndn/faces/face[id=9]"), [""; 0]);
    assert_eq!(found("/"), ["/"]);
    assert_eq!(found("/ndn/fib/entry[prefix=|a]/next-hop[face=257]/config/cost").len(), 1);
}

#[test]
fn a_path_outside_the_model_is_rejected_with_what_there_is() {
    for (wrong, reported) in [
        ("/nothing", "/ has ndn"),
        ("/ndn/faces/face/nothing", "/ndn/faces/face has id, config, state"),
        ("/ndn/pit/state/entries/more", "is a leaf"),
        ("/ndn/faces/face[name=x]", "the key is id, not name"),
        ("/ndn/pit[id=1]", "is not a list"),
        ("/.../nothing", "no path"),
        (&"/ndn".repeat(20), "more than 16 elements"),
    ] {
        let status = Pattern::read(None, &path(wrong)).unwrap_err();
        assert!(status.code() == Code::InvalidArgument && status.message().contains(reported), "{wrong}: {status}");
    }
    let origin = Path { origin: "cli".into(), ..path("/ndn") };
    assert!(Pattern::read(None, &origin).unwrap_err().message().contains("origin"));
    #[allow(deprecated, reason = "old clients may send it")]
    let element = Path { element: vec!["ndn".into()], ..Path::default() };
    assert!(Pattern::read(None, &element).unwrap_err().message().contains("elem"));
}

#[test]
fn a_prefix_and_a_path_make_one_and_messages_come_back() {
    let (prefix, rest) = (path("/ndn/faces"), path("/face[id=257]/state"));
    let whole = Pattern::read(Some(&prefix), &rest).unwrap();
    let (steps, _) = whole.exact().unwrap();
    assert_eq!(text(&steps), "/ndn/faces/face[id=257]/state");
    assert_eq!(Pattern::read(None, &message(&steps)).unwrap().exact().unwrap().0, steps);
}

#[test]
fn json_is_that_of_rfc_7951_and_holds_what_is_selected() {
    let tree = tree();
    let Node::Container(top) = &tree else { panic!() };
    let ndn = ROOT.child("ndn").unwrap().1;
    let Node::Container(parts) = &top["ndn"] else { panic!() };
    let faces = |selection, ietf| to_json(&parts["faces"], ndn.child("faces").unwrap().1, selection, ietf, true);
    let whole = faces(Selection::All, true).unwrap();
    let first = &whole["ndnweir-router:face"][0];
    assert_eq!(first["id"], "257");
    assert_eq!(first["state"]["utilization"], "0.25");
    assert_eq!(first["state"]["counters"]["in-data"], "18446744073709551615");
    let config = faces(Selection::Config, true).unwrap();
    assert_eq!(config["ndnweir-router:face"][1], json!({ "id": "258", "config": { "rate": "1000000" } }));
    assert_eq!(faces(Selection::State, false).unwrap()["face"][0]["state"]["utilization"], json!(0.25));
    let fib = to_json(&parts["fib"], ndn.child("fib").unwrap().1, Selection::Config, true, true).unwrap();
    let hops = &fib["ndnweir-router:entry"][0]["next-hop"];
    assert_eq!(*hops, json!([{ "face": "257", "config": { "cost": 1 } }]), "the other hop has no configuration");
}

fn update(at: &str, value: typed_value::Value) -> Update {
    Update { path: Some(path(at)), val: Some(TypedValue { value: Some(value) }), ..Update::default() }
}

fn ietf(value: serde_json::Value) -> typed_value::Value {
    typed_value::Value::JsonIetfVal(value.to_string().into_bytes())
}

fn costs(prefix: &str, costs: &[(u64, Option<u32>)]) -> Change {
    Change::Costs { prefix: prefix.parse().unwrap(), costs: costs.iter().copied().collect::<BTreeMap<_, _>>() }
}

#[test]
fn the_costs_of_a_prefix_become_one_change_however_they_are_written() {
    let leaf = |face: u64, cost| {
        let at = format!("/ndn/fib/entry[prefix=|a]/next-hop[face={face}]/config/cost");
        update(&at, typed_value::Value::UintVal(cost))
    };
    let wanted = [costs("/a", &[(257, Some(9)), (258, Some(3))])];
    let read = |request: &SetRequest| read(request, &tree()).map(|transaction| transaction.changes);
    let leaves = SetRequest { update: vec![leaf(258, 3), leaf(257, 9)], ..SetRequest::default() };
    assert_eq!(read(&leaves).unwrap(), wanted);
    let hops = json!([{ "face": "257", "config": { "cost": 9 } }, { "face": 258, "config": { "cost": 3 } }]);
    let whole = update("/ndn/fib", ietf(json!({ "ndnweir-router:entry": [{ "prefix": "/a", "next-hop": hops }] })));
    assert_eq!(read(&SetRequest { update: vec![whole], ..SetRequest::default() }).unwrap(), wanted);
    let last = SetRequest { update: vec![leaf(257, 1), leaf(257, 9), leaf(258, 3)], ..SetRequest::default() };
    assert_eq!(read(&last).unwrap(), wanted, "the last word counts");
}

#[test]
fn deletions_come_first_and_a_replacement_takes_away_what_it_does_not_name() {
    let read = |request: &SetRequest| read(request, &tree()).map(|transaction| transaction.changes);
    let delete = SetRequest { delete: vec![path("/ndn/fib/entry[prefix=|a]")], ..SetRequest::default() };
    assert_eq!(read(&delete).unwrap(), [costs("/a", &[(257, None)])], "only 257 has a cost that was set");
    let at = "/ndn/fib/entry[prefix=|a]/next-hop[face=257]/config/cost";
    let again = SetRequest { update: vec![update(at, typed_value::Value::UintVal(7))], ..delete };
    assert_eq!(read(&again).unwrap(), [costs("/a", &[(257, Some(7))])]);
    let hops = json!({ "next-hop": [{ "face": "258", "config": { "cost": 4 } }] });
    let replace = vec![update("/ndn/fib/entry[prefix=|a]", ietf(hops))];
    let replace = SetRequest { replace, ..SetRequest::default() };
    assert_eq!(read(&replace).unwrap(), [costs("/a", &[(257, None), (258, Some(4))])]);
    let gone = SetRequest { delete: vec![path("/ndn/fib/entry[prefix=|none]")], ..SetRequest::default() };
    assert_eq!(read(&gone).unwrap(), [], "what is not there is deleted already");
}

#[test]
fn what_cannot_be_set_is_rejected_with_its_path() {
    let cost = "/ndn/fib/entry[prefix=|a]/next-hop[face=257]/config/cost";
    for (at, value, reported) in [
        (cost, ietf(json!("x")), "whole number"),
        (cost, ietf(json!(-1)), "whole number"),
        (cost, ietf(json!(4_294_967_296_u64)), "4294967295"),
        (cost, typed_value::Value::BoolVal(true), "kind of value"),
        (cost, typed_value::Value::JsonIetfVal(b"{".to_vec()), "not JSON"),
        ("/ndn/fib/entry[prefix=|a]/next-hop[face=x]/config/cost", ietf(json!(1)), "no such face"),
        ("/ndn/fib/entry[prefix=a b%]/next-hop[face=257]/config/cost", ietf(json!(1)), "entry"),
        ("/ndn/faces/face[id=257]/state/utilization", ietf(json!("1")), "state"),
        ("/ndn/faces/face[id=257]/config/rate", ietf(json!("0")), "above 0"),
        ("/ndn/faces/face[id=257]", ietf(json!({ "id": "258" })), "the key is 257"),
        ("/ndn/faces/face[id=257]", ietf(json!({ "name": 1 })), "there is no name"),
        ("/ndn/faces/face", ietf(json!({})), "without wildcards"),
        ("/ndn/faces", ietf(json!([1])), "an object"),
        ("/ndn/faces", ietf(json!({ "face": [{}] })), "has no id"),
        ("/ndn/faces", typed_value::Value::UintVal(1), "JSON is needed"),
    ] {
        let request = SetRequest { update: vec![update(at, value)], ..SetRequest::default() };
        let status = read(&request, &tree()).unwrap_err();
        assert!(status.message().contains(reported), "{at}: {status}");
    }
    let state = SetRequest { delete: vec![path("/ndn/pit/state/entries")], ..SetRequest::default() };
    assert_eq!(read(&state, &tree()).unwrap_err().code(), Code::InvalidArgument);
    let rate = SetRequest { delete: vec![path("/ndn/faces/face[id=257]/config/rate")], ..SetRequest::default() };
    assert!(read(&rate, &tree()).unwrap_err().message().contains("keeps a rate"));
    let union = SetRequest { union_replace: vec![Update::default()], ..SetRequest::default() };
    assert_eq!(read(&union, &tree()).unwrap_err().code(), Code::Unimplemented);
}

#[test]
fn values_are_written_in_each_encoding() {
    let typed = |value: &Value, kind, encoding| value.typed(kind, encoding).value.unwrap();
    let json = |bytes: &str| typed_value::Value::JsonIetfVal(bytes.as_bytes().to_vec());
    assert_eq!(typed(&Value::Number(5), Kind::Count, Encoding::JsonIetf), json("\"5\""));
    assert_eq!(typed(&Value::Number(5), Kind::Number, Encoding::JsonIetf), json("5"));
    assert_eq!(typed(&Value::Number(5), Kind::Count, Encoding::Proto), typed_value::Value::UintVal(5));
    assert_eq!(typed(&Value::Decimal(1e300), Kind::Decimal, Encoding::Proto), typed_value::Value::DoubleVal(9e12));
    assert_eq!(typed(&Value::Decimal(0.1234567), Kind::Decimal, Encoding::JsonIetf), json("\"0.123457\""));
}

/// A line for each leaf: its path, its kind, and whether it can be set.
fn listed(schema: &Schema, at: &str, out: &mut String) {
    for (name, child) in schema.children() {
        let key = child.key().map_or(String::new(), |key| format!("[{key}]"));
        let here = format!("{at}/{name}{key}");
        if let Schema::Leaf(kind, config) = child {
            let kind = match kind {
                Kind::Text => "string".into(),
                Kind::Texts => "string*".into(),
                Kind::Number => "uint32".into(),
                Kind::Count => "uint64".into(),
                Kind::Decimal => "decimal64".into(),
                Kind::Enum(names) => names.join("|"),
            };
            let mode = match config {
                _ if schema.key() == Some(name) => "key",
                true => "rw",
                false => "ro",
            };
            writeln!(out, "{here} {kind} {mode}").unwrap();
        }
        listed(child, &here, out);
    }
}

#[test]
fn the_model_of_this_program_is_the_one_that_is_compared_with_yang() {
    let mut lines = String::new();
    listed(&ROOT, "", &mut lines);
    assert_eq!(lines, include_str!("../../tests/model.txt"), "scripts/check-yang compares this file with the modules");
}

#[test]
fn every_leaf_of_a_tree_is_visited_with_its_path() {
    let (tree, mut all) = (tree(), Vec::new());
    leaves(&tree, &ROOT, Selection::All, &mut Vec::<Step>::new(), &mut |path, _| all.push(text(path)));
    assert_eq!(all.len(), 2 * 5 + 1 + 2 * 2 + 1);
    assert!(all.contains(&"/ndn/fib/entry[prefix=/a]/next-hop[face=258]/state/cost".to_owned()), "{all:?}");
}
