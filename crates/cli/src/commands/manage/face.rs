//! `ndnweir face`.

use super::table::{pairs, table};
use super::{FaceWord, canonical, connect, create_face};
use crate::commands::{print, print_json};
use crate::failure::Failure;
use crate::manage_args::{FaceAction, FaceArgs, Persistency as Wanted};
use ndnweir_core::plain;
use ndnweir_net::mgmt::dataset::{ChannelStatus, FaceStatus, Persistency};
use ndnweir_net::mgmt::{ControlParameters, face_flags};
use ndnweir_net::remote::Remote;
use serde_json::{Value, json};

pub fn run(args: &FaceArgs) -> Result<(), Failure> {
    let as_json = args.remote.json;
    match &args.action {
        FaceAction::List => {
            let faces: Vec<FaceStatus> = connect(&args.remote)?.list("faces", "list")?;
            if as_json { print_json(&Value::from_iter(faces.iter().map(document))) } else { print(&list(&faces)) }
        }
        FaceAction::Channels => {
            let channels: Vec<ChannelStatus> = connect(&args.remote)?.list("faces", "channels")?;
            let uris = channels.into_iter().map(|channel| channel.local_uri);
            if as_json {
                print_json(&uris.map(|uri| json!({ "local_uri": uri })).collect())
            } else {
                print(&uris.map(|uri| format!("{}\n", plain::line(&uri))).collect::<String>())
            }
        }
        FaceAction::Show { face } => {
            let word = FaceWord::parse(face)?;
            let face = word.get(&mut connect(&args.remote)?)?;
            if as_json { print_json(&document(&face)) } else { print(&show(&face)) }
        }
        FaceAction::Create { uri, local, persistency, mtu, reliability } => {
            let parameters = ControlParameters {
                uri: Some(canonical(uri)?.to_string()),
                local_uri: local.as_deref().map(canonical).transpose()?.map(|uri| uri.to_string()),
                face_persistency: persistency.map(number),
                mtu: *mtu,
                flags: reliability.map(|on| if on { face_flags::LP_RELIABILITY } else { 0 }),
                mask: reliability.map(|_| face_flags::LP_RELIABILITY),
                ..ControlParameters::default()
            };
            create(&mut connect(&args.remote)?, &parameters, as_json)
        }
        FaceAction::Destroy { face } => {
            let word = FaceWord::parse(face)?;
            let mut forwarder = connect(&args.remote)?;
            let face = word.get(&mut forwarder)?;
            forwarder.command("faces", "destroy", &ControlParameters::of_face(face.face_id))?;
            if as_json {
                return print_json(&json!({ "face": face.face_id, "remote_uri": face.remote_uri }));
            }
            print(&format!("Destroyed face {} to {}.\n", face.face_id, plain::line(&face.remote_uri)))
        }
    }
}

fn number(persistency: Wanted) -> u64 {
    match persistency {
        Wanted::Persistent => Persistency::Persistent.number(),
        Wanted::Permanent => Persistency::Permanent.number(),
    }
}

/// Makes a face as it is asked for: one that is there already is changed where it differs.
fn create(forwarder: &mut Remote, asked: &ControlParameters, as_json: bool) -> Result<(), Failure> {
    let persistent = Some(Persistency::Persistent.number());
    let request = ControlParameters { face_persistency: asked.face_persistency.or(persistent), ..asked.clone() };
    let (created, mut face) = create_face(forwarder, &request)?;
    let update = if created { None } else { difference(asked, &face) };
    let changed = update.is_some();
    if let Some(update) = update {
        let now = forwarder.command("faces", "update", &update)?;
        face.mtu = now.mtu.or(face.mtu);
    }
    let id = face.face_id.unwrap_or_default();
    let uri = face.uri.or_else(|| asked.uri.clone()).unwrap_or_default();
    if as_json {
        return print_json(&json!({
            "face": id, "remote_uri": uri, "local_uri": face.local_uri, "mtu": face.mtu, "created": created,
            "changed": changed,
        }));
    }
    let what = match (created, changed) {
        (true, _) => "Created",
        (false, true) => "Changed",
        (false, false) => "There is already",
    };
    print(&format!("{what} face {id} to {}.\n", plain::line(&uri)))
}

/// What makes a face that is there as it is asked for; none if it is so.
fn difference(asked: &ControlParameters, there: &ControlParameters) -> Option<ControlParameters> {
    // One that nobody asked for before stays from now on, as `nfdc` has it.
    let on_demand = there.face_persistency == Some(Persistency::OnDemand.number());
    let lasting = asked.face_persistency.or_else(|| on_demand.then(|| Persistency::Persistent.number()));
    let differing = |asked: Option<u64>, there: Option<u64>| asked.filter(|asked| there != Some(*asked));
    let flags = asked.mask.filter(|mask| (asked.flags.unwrap_or(0) ^ there.flags.unwrap_or(0)) & mask != 0);
    let update = ControlParameters {
        face_persistency: differing(lasting, there.face_persistency),
        mtu: differing(asked.mtu, there.mtu),
        mask: flags,
        flags: flags.and(asked.flags),
        ..ControlParameters::default()
    };
    (update != ControlParameters::default()).then_some(ControlParameters { face_id: there.face_id, ..update })
}

fn list(faces: &[FaceStatus]) -> String {
    let row = |face: &FaceStatus| {
        let c = &face.counters;
        [
            face.face_id.to_string(),
            face.remote_uri.clone(),
            face.local_uri.clone(),
            face.persistency.text().to_owned(),
            face.mtu.map_or("-".to_owned(), |mtu| mtu.to_string()),
            format!("{}/{}", c.in_interests, c.out_interests),
            format!("{}/{}", c.in_data, c.out_data),
            format!("{}/{}", c.in_nacks, c.out_nacks),
            format!("{}/{}", c.in_bytes, c.out_bytes),
        ]
    };
    let heading = ["FACE", "TO", "FROM", "PERSISTENCY", "MTU", "INTERESTS", "DATA", "NACKS", "BYTES IN/OUT"];
    let rows: Vec<_> = faces.iter().map(row).collect();
    table(heading, &[0, 4, 5, 6, 7, 8], &rows)
}

fn show(face: &FaceStatus) -> String {
    let c = &face.counters;
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    pairs(&[
        ("face", face.face_id.to_string()),
        ("to", face.remote_uri.clone()),
        ("from", face.local_uri.clone()),
        ("scope", face.scope.text().to_owned()),
        ("persistency", face.persistency.text().to_owned()),
        ("link", face.link_type.text().to_owned()),
        ("expires", face.expiration_period.map_or("never".to_owned(), |period| format!("{} s", period.as_secs()))),
        ("mtu", or_dash(face.mtu.map(|mtu| format!("{mtu} B")))),
        ("marking interval", or_dash(face.base_congestion_marking_interval.map(|time| format!("{time:?}")))),
        ("marking threshold", or_dash(face.default_congestion_threshold.map(|bytes| format!("{bytes} B")))),
        ("flags", or_dash(Some(flags(face.flags).join(", ")).filter(|text| !text.is_empty()))),
        (
            "reliability",
            format!(
                "{} frames acknowledged, {} sent again, {} packets given up",
                c.acknowledged_frames, c.retransmitted_frames, c.given_up_packets
            ),
        ),
        ("in", format!("{} Interests, {} Data, {} Nacks, {} B", c.in_interests, c.in_data, c.in_nacks, c.in_bytes)),
        (
            "out",
            format!("{} Interests, {} Data, {} Nacks, {} B", c.out_interests, c.out_data, c.out_nacks, c.out_bytes),
        ),
    ])
}

fn flags(bits: u64) -> Vec<&'static str> {
    let all = [
        (face_flags::LOCAL_FIELDS, "local-fields"),
        (face_flags::LP_RELIABILITY, "reliability"),
        (face_flags::CONGESTION_MARKING, "congestion-marking"),
    ];
    all.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, text)| *text).collect()
}

fn document(face: &FaceStatus) -> Value {
    let c = &face.counters;
    json!({
        "face": face.face_id, "remote_uri": face.remote_uri, "local_uri": face.local_uri,
        "scope": face.scope.text(), "persistency": face.persistency.text(), "link_type": face.link_type.text(),
        "expires_seconds": face.expiration_period.map(|period| period.as_secs_f64()),
        "mtu": face.mtu,
        "marking_interval_seconds": face.base_congestion_marking_interval.map(|time| time.as_secs_f64()),
        "marking_threshold_bytes": face.default_congestion_threshold,
        "flags": flags(face.flags),
        "reliability": {
            "acknowledged_frames": c.acknowledged_frames, "retransmitted_frames": c.retransmitted_frames,
            "given_up_packets": c.given_up_packets,
        },
        "in": { "interests": c.in_interests, "data": c.in_data, "nacks": c.in_nacks, "bytes": c.in_bytes },
        "out": { "interests": c.out_interests, "data": c.out_data, "nacks": c.out_nacks, "bytes": c.out_bytes },
    })
}
