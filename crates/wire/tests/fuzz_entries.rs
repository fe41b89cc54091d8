//! The fuzz targets' functions on mutated valid packets from a seeded generator. A failure names its seed.

#[path = "../fuzz/src/lib.rs"]
mod entries;

use crate::common::{hex, name, strategies};
use ndnweir_wire::lp::LpHeader;
use ndnweir_wire::signature::{AntiReplay, DigestSha256, Ed25519Signer};
use ndnweir_wire::{Component, InterestBuilder};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// SplitMix64 (Steele, Lea and Flood, 2014): enough to choose what to change.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Packets that show every element, and some arbitrary ones.
fn seeds() -> Vec<Vec<u8>> {
    let mut runner = TestRunner::deterministic();
    let (signer, nonce) = (Ed25519Signer::from_seed(&[3; 32], Some(name("/key"))), [1; 8]);
    let signed_name = name("/a/b");
    let replay = AntiReplay { nonce: Some(&nonce), time: Some(core::time::Duration::from_secs(9)), seq_num: Some(1) };
    let mut seeds = vec![
        hex("05 1C 0714 08056C6F63616C 08036E646E 0806707265666978 0A0401020304"),
        hex("0678 0718 08036E6574 08076578616D706C65 20025041 360101 320100 1403(180105) \
             1530 6D040036EE80 FD00FD26 FD00FE0F323031383130333054303030303030 FD00FF0F323031383131323454323335393539 \
             1603(1B0100) 17200000000000000000000000000000000000000000000000000000000000000000"),
        hex("6423 620401020304 FD0320 05 FD03210132 FD03400101 500D 050B070308016E0A0400000001"),
        InterestBuilder::new(signed_name.as_view()).sign(&signer, replay).unwrap(),
        InterestBuilder::new(signed_name.as_view()).application_parameters(b"x").sign(&DigestSha256, replay).unwrap(),
        signed_name.with(Component::parameters_digest(&[1; 32])).encode(),
    ];
    for _ in 0..40 {
        let interest = strategies::interest().new_tree(&mut runner).unwrap().current();
        let data = strategies::data().new_tree(&mut runner).unwrap().current();
        let header: LpHeader = strategies::header().new_tree(&mut runner).unwrap().current();
        let (interest, data) = (interest.builder().encode().unwrap(), data.encode());
        seeds.push(header.encode(Some(&interest)));
        seeds.push(header.encode(Some(&data)));
        seeds.extend([interest, data]);
    }
    seeds
}

fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].clone();
    for _ in 0..random.below(5) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, random.next() as u8),
            2 if !bytes.is_empty() => {
                bytes.remove(at);
            }
            3 => {
                let other = &seeds[random.below(seeds.len())];
                let from = random.below(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    // Small numbers are what types and lengths are made of.
                    *byte = if random.below(2) == 0 { random.below(48) as u8 } else { random.next() as u8 };
                }
            }
        }
    }
    bytes
}

/// Inputs with which a target once failed: `fuzz/seeds/TARGET-WHAT`.
#[test]
fn the_targets_survive_what_once_failed() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let input = std::fs::read(&path).unwrap();
        match path.file_name().and_then(|name| name.to_str()?.split('-').next()) {
            Some("packet") => entries::packet(&input),
            Some("reassembly") => entries::reassembly(&input),
            _ => panic!("{} names no target", path.display()),
        }
        count += 1;
    }
    assert!(count > 0);
}

#[test]
fn the_packet_target_survives_mutated_packets() {
    let seeds = seeds();
    seeds.iter().for_each(|seed| entries::packet(seed));
    for seed in 0..30_000 {
        let input = mutate(&mut Random(seed), &seeds);
        let survived = std::panic::catch_unwind(|| entries::packet(&input));
        assert!(survived.is_ok(), "seed {seed}: {input:02x?}");
    }
}

#[test]
fn the_reassembly_target_survives_random_schedules() {
    let seeds = seeds();
    for seed in 0..10_000 {
        let mut random = Random(seed);
        let mut input: Vec<u8> = (0..random.below(200)).map(|_| random.next() as u8).collect();
        // Some raw packets for the unknown peer to send.
        let raw = mutate(&mut random, &seeds);
        input.extend([3, raw.len().min(255) as u8]);
        input.extend(raw);
        let survived = std::panic::catch_unwind(|| entries::reassembly(&input));
        assert!(survived.is_ok(), "seed {seed}: {input:02x?}");
    }
}
