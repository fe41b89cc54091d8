//! The fuzz target of the forwarder on frames from a seeded generator. A failure names its seed.

#[path = "../fuzz/src/forwarder.rs"]
mod entry;

use ndnweir_core::ctx::Rng;

#[test]
fn the_forwarder_target_survives_random_operations() {
    for seed in 0..4_000 {
        let mut random = Rng::derive(seed, &[]);
        let mut below = |n: usize| (u64::from(random.bits()) % n.max(1) as u64) as usize;
        let mut input = vec![below(256) as u8];
        for _ in 0..below(80) {
            let len = if below(8) == 0 { below(256) } else { below(12) };
            input.extend([below(256) as u8, below(256) as u8, len as u8]);
            input.extend((0..len).map(|_| below(256) as u8));
        }
        let survived = std::panic::catch_unwind(|| entry::forwarder(&input));
        assert!(survived.is_ok(), "seed {seed}: {input:02x?}");
    }
}
