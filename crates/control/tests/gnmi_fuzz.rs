//! The fuzz target of gNMI's messages on messages that a seeded generator has damaged. A failure names its seed.

#[path = "../fuzz/src/gnmi.rs"]
mod entry;

use ndnweir_control::proto::gnmi::{
    GetRequest, Notification, Path, PathElem, SetRequest, TypedValue, Update, typed_value,
};
use ndnweir_core::ctx::Rng;
use prost::Message;

fn path(text: &str) -> Path {
    let elem = text.split('/').map(|part| {
        let (name, key) = part.split_once('[').unwrap_or((part, ""));
        let key = key.trim_end_matches(']').split_once('=').map(|(key, value)| (key.into(), value.replace('|', "/")));
        PathElem { name: name.into(), key: key.into_iter().collect() }
    });
    Path { elem: elem.collect(), ..Path::default() }
}

/// Messages that mean something, by the number that the target knows them by.
fn messages() -> Vec<Vec<u8>> {
    use typed_value::Value as V;
    let update = |text: &str, value| Update {
        path: Some(path(text)),
        val: Some(TypedValue { value: Some(value) }),
        ..Update::default()
    };
    let cost = "ndn/fib/entry[prefix=|a]/next-hop[face=257]/config/cost";
    let json = br#"{"next-hop":[{"face":"257","config":{"cost":"5"}}]}"#;
    let set = SetRequest {
        delete: vec![path("ndn/content-store/config/capacity")],
        replace: vec![update("ndn/fib/entry[prefix=|a]", V::JsonIetfVal(json.to_vec()))],
        update: vec![update(cost, V::UintVal(7)), update("ndn/faces/face[id=*]/config/rate", V::StringVal("9".into()))],
        ..SetRequest::default()
    };
    let get =
        GetRequest { prefix: Some(path("ndn")), path: vec![path("..."), path("fib/*/*")], ..GetRequest::default() };
    let state = "ndn/fib/entry[prefix=|a]/next-hop[face=257]/state/cost";
    let face = "ndn/faces/face[id=257]/state";
    let told = Notification {
        update: vec![
            update(state, V::UintVal(7)),
            update(&format!("{face}/remote-uri"), V::StringVal("udp4://192.0.2.1:6363".into())),
            update(&format!("{face}/utilization"), V::DoubleVal(0.9)),
        ],
        delete: vec![path(state)],
        ..Notification::default()
    };
    let all = [set.encode_to_vec(), get.encode_to_vec(), told.encode_to_vec(), json.to_vec()];
    all.into_iter().zip(0..).map(|(bytes, kind)| [&[kind], bytes.as_slice()].concat()).collect()
}

#[test]
fn the_gnmi_target_survives_damaged_messages() {
    let messages = messages();
    for seed in 0..20_000 {
        let mut random = Rng::derive(seed, &[]);
        let mut below = |n: usize| (u64::from(random.bits()) % n.max(1) as u64) as usize;
        let mut input = messages[below(messages.len())].clone();
        for _ in 0..below(6) {
            let at = 1 + below(input.len() - 1);
            match below(4) {
                0 => input[at] = below(256) as u8,
                1 => drop(input.remove(at)),
                2 => input.insert(at, below(256) as u8),
                _ => {
                    let piece = input[at..(at + below(20)).min(input.len())].to_vec();
                    input.extend(piece);
                }
            }
        }
        let survived = std::panic::catch_unwind(|| entry::gnmi(&input));
        assert!(survived.is_ok(), "seed {seed}: {input:02x?}");
    }
}

/// Damage must leave enough whole to get somewhere.
#[test]
fn undamaged_messages_are_of_the_model() {
    for message in messages() {
        entry::gnmi(&message);
    }
    let set = SetRequest::decode(&messages()[0][1..]).unwrap();
    assert_eq!((set.delete.len(), set.replace.len(), set.update.len()), (1, 1, 2));
}
