use super::*;
use crate::proto::gnmi::{PathElem, ScalarArray, Update};

/// `/a/b[v]` as gNMI's message; `|` in a key is a slash.
pub(crate) fn path(text: &str) -> Path {
    let elem = text.split('/').filter(|part| !part.is_empty()).map(|part| {
        let (name, key) = part.split_once('[').unwrap_or((part, ""));
        let key = key.strip_suffix(']').map(|key| ("key".to_owned(), key.replace('|', "/"))).into_iter().collect();
        PathElem { name: name.to_owned(), key }
    });
    Path { elem: elem.collect(), ..Path::default() }
}

/// A notification of leaves below a place.
pub(crate) fn notification(place: &str, leaves: &[(&str, typed_value::Value)]) -> Notification {
    let update = leaves.iter().map(|(at, value)| {
        let val = Some(TypedValue { value: Some(value.clone()) });
        Update { path: Some(path(at)), val, ..Update::default() }
    });
    Notification { prefix: Some(path(place)), update: update.collect(), ..Notification::default() }
}

pub(crate) fn text_value(text: &str) -> typed_value::Value {
    typed_value::Value::StringVal(text.into())
}

fn uint(number: u64) -> typed_value::Value {
    typed_value::Value::UintVal(number)
}

#[test]
fn samples_are_reported_before_signals_and_a_signal_once() {
    let mut mirror = Mirror::default();
    let double = typed_value::Value::DoubleVal;
    let face = "/ndn/faces/face[7]/state";
    let reported = mirror
        .take(&notification(face, &[("signals", uint(3)), ("utilization", double(0.9)), ("occupancy", double(0.1))]));
    assert_eq!(reported, [Event::Sample(7), Event::Signal(7)]);
    assert_eq!(mirror.take(&notification(face, &[("signals", uint(3))])), []);
    assert_eq!(mirror.take(&notification(face, &[("signals", uint(5))])), [Event::Signal(7)], "two in one period");
    assert_eq!(mirror.take(&notification(face, &[("signals", uint(0))])), [], "the router has begun anew");
}

#[test]
fn next_hops_come_and_go_with_their_costs() {
    let mut mirror = Mirror::default();
    let name: Name = "/a/b".parse().unwrap();
    let entry = "/ndn/fib/entry[|a|b]";
    let hops = [("next-hop[7]/state/cost", uint(1)), ("next-hop[8]/state/cost", uint(2))];
    assert_eq!(mirror.take(&notification(entry, &hops)), [Event::Entry(name.clone())]);
    assert_eq!(mirror.fib[&name][&8].cost, Some(2));
    let rate = notification(entry, &[("next-hop[8]/state/data-rate", uint(9))]);
    assert_eq!(mirror.take(&rate), [Event::Rates(name.clone())]);
    let gone = |face: u64| Notification {
        prefix: Some(path(entry)),
        delete: vec![
            path(&format!("next-hop[{face}]/state/cost")),
            path(&format!("next-hop[{face}]/state/route-cost")),
        ],
        ..Notification::default()
    };
    mirror.take(&gone(7));
    assert_eq!(mirror.fib[&name].len(), 1);
    mirror.take(&gone(8));
    assert_eq!((mirror.fib.len(), mirror.hops), (0, 0));
}

#[test]
fn a_face_ends_with_its_uri() {
    let mut mirror = Mirror::default();
    let face = "/ndn/faces/face[7]/state";
    assert_eq!(mirror.take(&notification(face, &[("remote-uri", text_value("udp4://x"))])), [Event::Face(7)]);
    let gone = Notification { prefix: Some(path(face)), delete: vec![path("remote-uri")], ..Notification::default() };
    assert_eq!(mirror.take(&gone), [Event::Face(7)]);
    assert!(mirror.faces.is_empty());
}

#[test]
fn what_a_router_sends_is_bounded_and_nonsense_is_left_out() {
    let mut mirror = Mirror::default();
    for id in 0..2 * MAX_FACES {
        mirror.take(&notification(&format!("/ndn/faces/face[{id}]/state"), &[("remote-uri", text_value("udp4://x"))]));
    }
    assert_eq!(mirror.faces.len(), MAX_FACES);
    for face in 0..MAX_HOPS as u64 + 100 {
        mirror.hop(
            &"/a".parse().unwrap(),
            face,
            "cost",
            Some(&TypedValue { value: Some(uint(1)) }),
            &mut BTreeSet::new(),
        );
    }
    assert_eq!(mirror.hops, MAX_HOPS);
    let double = typed_value::Value::DoubleVal;
    for wrong in [double(f64::NAN), double(-1.0), double(f64::INFINITY), text_value("1")] {
        mirror.take(&notification("/ndn/faces/face[7]/state", &[("utilization", wrong)]));
        assert_eq!(mirror.faces[&7].utilization, None);
    }
    for place in
        ["/", "/ndn/faces/face[x]/state", "/ndn/faces/face/state", "/ndn/fib/entry[no slash]/next-hop[1]/state"]
    {
        assert_eq!(
            mirror.take(&notification(place, &[("cost", uint(1)), ("remote-uri", text_value("x"))])),
            [],
            "{place}"
        );
    }
    let long = "x".repeat(MAX_URI + 1);
    let element = vec![TypedValue { value: Some(text_value(&long)) }; 2];
    let list = typed_value::Value::LeaflistVal(ScalarArray { element });
    mirror.take(&notification("/ndn/router/state", &[("listen", list)]));
    assert!(mirror.listen.is_empty());
}
