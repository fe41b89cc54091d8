//! The fuzz target of the fetch, with a seeded generator as the forwarder. A failure names its seed.

#[path = "../fuzz/src/object.rs"]
mod entry;

use ndnweir_core::ctx::Rng;

#[test]
fn the_target_of_the_fetch_survives_random_forwarders() {
    for seed in 0..3_000 {
        let mut random = Rng::derive(seed, &[]);
        let mut below = |n: usize| (u64::from(random.bits()) % n.max(1) as u64) as usize;
        let mut input = vec![below(4) as u8];
        for _ in 0..below(60) {
            let len = if below(8) == 0 { below(256) } else { below(7) };
            // Segments of the object more often than its number of segments would have it.
            let arg = if below(3) == 0 { below(256) } else { below(20) };
            input.extend([below(256) as u8, arg as u8, len as u8]);
            input.extend((0..len).map(|_| below(256) as u8));
        }
        let survived = std::panic::catch_unwind(|| entry::object_fetch(&input));
        assert!(survived.is_ok(), "seed {seed}: {input:02x?}");
    }
}
