//! Asks the processor for memory ahead of its use.
//!
//! A load of which nothing depends yet is not the same: it waits in the processor's queue, and what comes after it cannot
//! retire before it has its value. An instruction that only asks retires at once. Nothing that a program computes depends
//! on it. On other processors than those of x86-64 nothing is done.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for all cache lines of a value, or of as many values as a slice has: it will be read or written soon.
#[inline(always)]
pub fn prefetch<T: ?Sized>(place: &T) {
    prefetch_first(place, size_of_val(place));
}

/// [`prefetch`] of so many bytes of a value, or all if it has fewer.
#[inline(always)]
pub fn prefetch_first<T: ?Sized>(place: &T, bytes: usize) {
    let first = std::ptr::from_ref(place).cast::<u8>();
    let bytes = size_of_val(place).min(bytes);
    let mut at = 0;
    while at < bytes {
        ask(first.wrapping_add(at));
        at += LINE;
    }
    // What does not begin with a line may end in one more.
    if align_of_val(place) < LINE && bytes > align_of_val(place) {
        ask(first.wrapping_add(bytes - 1));
    }
}

/// Asks for the place of what is pushed next, if that is there.
#[inline(always)]
#[expect(clippy::ptr_arg, reason = "behind a slice there is no such place")]
pub fn prefetch_next<T>(list: &Vec<T>) {
    ask(list.as_ptr().wrapping_add(list.len()).cast::<u8>());
}

/// Asks for the cache line of an address, which need not be one of anything.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(unsafe_code, reason = "the instruction has no safe wrapper")]
fn ask(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: the instruction reads nothing that a program sees and never faults, whatever the address is; every x86-64
    // processor has it.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast::<i8>()) }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ask(_: *const u8) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_every_size_may_be_asked_for_and_are_as_before() {
        let mut numbers = vec![7_u64; 1000];
        prefetch(&numbers[999]);
        prefetch(&numbers[..]);
        prefetch(&numbers[1000..]);
        prefetch(&());
        prefetch("");
        prefetch(&[0_u8; 65]);
        prefetch_first(&numbers[..], 100);
        prefetch_first(&numbers[..], usize::MAX);
        prefetch_next(&numbers);
        prefetch_next(&Vec::<u64>::new());
        numbers[0] = 8;
        prefetch(&numbers);
        assert!(numbers[0] == 8 && numbers[1..].iter().all(|number| *number == 7));
    }

    #[test]
    fn what_is_no_place_may_be_asked_for() {
        ask(std::ptr::null());
        ask(std::ptr::without_provenance(usize::MAX));
    }
}
