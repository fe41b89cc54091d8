//! Keyed hashes, for tables whose keys are chosen by on-demand peers.
//!
//! An attacker who knows a table's hash function can choose names that all collide, so that each lookup visits all of
//! them. A forwarder therefore draws a [`HashKey`] when it starts. Simulators and tests have a fixed one; no result
//! depends on it, since no table with such a hash is ever iterated.
//!
//! - **Names**: SipHash-1-3 (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012), whose purpose
//!   this is, as W. So, A. Narayanan and D. Oran chose for the tables of an NDN router ("Named Data Networking on a
//!   Router: Fast and DoS-resistant Forwarding with Hash Tables", ANCS 2013). Hashes that fold products, such as
//!   foldhash and wyhash, are faster and do not protect against an attacker who measures response times.
//! - **Numbers**: multiply-add-shift (M. Dietzfelbinger, "Universal hashing and k-wise independent random variables via
//!   integer arithmetic without primes", 1996): of any two numbers chosen without knowing the key the chance to collide
//!   is that of two random values. It costs two multiplications, for every packet, in the simulator too.

use siphasher::sip::SipHasher13;
use std::hash::{BuildHasher, Hasher};

/// The secret of a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashKey([u64; 2]);

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HashKey(secret)")
    }
}

impl HashKey {
    /// For simulators and tests: it is public.
    pub const FIXED: HashKey = HashKey([0x9e37_79b9_7f4a_7c15, 0xd6e8_feb8_6659_fd93]);

    /// A key of 128 random bits.
    pub const fn new(random: [u64; 2]) -> HashKey {
        HashKey(random)
    }

    /// A hasher for the bytes of names.
    #[inline]
    pub(crate) fn names(self) -> SipHasher13 {
        SipHasher13::new_with_keys(self.0[0], self.0[1])
    }

    /// A hash of numbers; those with other labels are independent of it.
    pub(crate) fn numbers(self, label: u32) -> NumberHash {
        let draw = |part: u32| {
            let mut hasher = self.names();
            hasher.write_u32(label);
            hasher.write_u32(part);
            hasher.finish()
        };
        NumberHash { multiplier: [draw(1) | 1, draw(0)], addend: [draw(3), draw(2)] }
    }
}

/// A hash of 64-bit numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NumberHash {
    /// Of both the low half first: two numbers take less room beside others than one that must lie at 16 bytes.
    multiplier: [u64; 2],
    addend: [u64; 2],
}

impl NumberHash {
    /// 64 bits.
    #[inline(always)]
    pub(crate) fn of(&self, number: u64) -> u64 {
        let low = u128::from(self.multiplier[0]) * u128::from(number) + u128::from(self.addend[0]);
        let high = self.multiplier[1].wrapping_mul(number).wrapping_add(self.addend[1]);
        ((low >> 64) as u64).wrapping_add(high)
    }
}

impl Default for NumberHash {
    fn default() -> NumberHash {
        HashKey::FIXED.numbers(0)
    }
}

impl BuildHasher for NumberHash {
    type Hasher = NumberHasher;

    #[inline]
    fn build_hasher(&self) -> NumberHasher {
        NumberHasher { hash: *self, state: 0 }
    }
}

/// Hashes keys of one number or a few.
pub(crate) struct NumberHasher {
    hash: NumberHash,
    state: u64,
}

impl Hasher for NumberHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    #[inline]
    fn write_u64(&mut self, number: u64) {
        self.state = self.hash.of(self.state ^ number);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_any_pattern_spread_under_every_key() {
        for key in 0..50 {
            let hash = HashKey::new([key, 7]).numbers(1);
            for stride in [1, 8, 1 << 20, 1 << 29, 1 << 40] {
                let mut load = [0_u32; 256];
                (0..2560).for_each(|i| load[hash.of(i * stride) as usize & 255] += 1);
                let most = load.iter().max().copied().unwrap_or(0);
                assert!(most <= 100, "key {key}, stride {stride}: {most} of 2560 in one of 256 places");
            }
        }
    }

    #[test]
    fn a_key_does_not_show_in_messages() {
        assert_eq!(format!("{:?}", HashKey::new([1, 2])), "HashKey(secret)");
    }
}
