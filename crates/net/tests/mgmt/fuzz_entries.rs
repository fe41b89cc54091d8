//! The fuzz target's function on requests from a seeded generator. A failure names its seed.

#[path = "../../fuzz/src/management.rs"]
mod entry;

use ndnweir_core::ctx::Rng;
use ndnweir_net::mgmt::ControlParameters;
use ndnweir_wire::InterestBuilder;

/// The content of announcements for 255 ms, and for an hour between 2023 and 2026.
const ANNOUNCED: [&str; 2] =
    ["6d01ff", "6d040036ee80fd00fd26fd00fe0f323032333031303154303030303030fd00ff0f323032363131323154303633373137"];

/// The fields of some parameters, without the element around them.
fn seeds() -> Vec<Vec<u8>> {
    let of_name = ControlParameters::of_name(crate::name("/a/b"));
    let all = [
        ControlParameters {
            cost: Some(3),
            expiration_period: Some(std::time::Duration::from_secs(9)),
            ..of_name.clone()
        },
        ControlParameters { strategy: Some(crate::name("/localhost/nfd/strategy/multicast")), ..of_name.clone() },
        ControlParameters {
            uri: Some("udp4://192.0.2.9:6363".into()),
            mtu: Some(1400),
            ..ControlParameters::default()
        },
        ControlParameters { flags: Some(1), mask: Some(3), ..ControlParameters::of_face(300) },
        ControlParameters { face_id: Some(300), ..of_name.clone() },
        of_name,
    ];
    let packet = InterestBuilder::new(crate::name("/localhost/nfd/rib/register").as_view()).encode().unwrap();
    all.iter().map(|p| p.encode()[2..].to_vec()).chain([packet]).chain(ANNOUNCED.map(crate::hex)).collect()
}

#[test]
fn the_management_target_survives_mutated_requests() {
    let seeds = seeds();
    for seed in 0..5_000 {
        let mut random = Rng::derive(seed, &[]);
        let mut below = |n: usize| (u64::from(random.bits()) % n.max(1) as u64) as usize;
        let mut input = Vec::new();
        for _ in 0..below(12) {
            let mut bytes = seeds[below(seeds.len())].clone();
            for _ in 0..below(3) {
                let at = below(bytes.len());
                bytes[at] = below(256) as u8;
            }
            input.extend([below(256) as u8, below(256) as u8, bytes.len() as u8]);
            input.extend(bytes);
        }
        let survived = std::panic::catch_unwind(|| entry::management(&input));
        assert!(survived.is_ok(), "seed {seed}: {input:02x?}");
    }
}
