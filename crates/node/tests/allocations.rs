//! After warm-up a packet costs no allocation.
#![allow(unsafe_code, reason = "counting allocations takes an allocator")]

mod common;

use common::*;
use ndnweir_core::ids::{FaceId, PrefixId};
use ndnweir_core::packet::{NackReason, Packet};
use ndnweir_core::units::{Duration, Rate};
use ndnweir_node::FaceConfig;
use serde_json::json;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Traffic of every kind: aggregation, retransmission to a second hop, NACKs, timeouts, overflow, cache hits.
fn allocations(force_events: bool, cache: usize, marker: &str) -> u64 {
    let setup = Setup { scheme: json!({ "marker": marker }), force_events, cache, pit_limit: 5000, ..Setup::default() };
    let face = FaceConfig { rate: Some(Rate::from_mbps(100.0)), ..link(50) };
    let mut node = setup.node(&vec![face; 4]);
    node.set_route(ms(0), PrefixId(0), &[hop(1, 1), hop(2, 2)]);
    let (mut now, mut packets, mut before) = (ms(0), 0u64, 0);
    for i in 0..60_000u32 {
        if i == 30_000 {
            before = ALLOCATIONS.load(Ordering::Relaxed);
        }
        now += Duration::from_micros(105);
        while node.poll_timeout() <= now {
            node.handle_timeout(now);
        }
        let mut give = |face: u16, packet: Packet| {
            node.handle(now, FaceId(face), packet);
            while node.poll_transmit().is_some() {
                packets += 1;
            }
        };
        give(0, Packet { lifetime_ms: 200, ..interest(i, i) });
        if i % 3 == 0 {
            give(3, Packet { lifetime_ms: 200, ..interest(i, i + 1_000_000) });
        }
        if let Some(i) = i.checked_sub(200) {
            match i % 16 {
                0 => {}
                1 => give(0, Packet { lifetime_ms: 200, ..interest(i, i + 2_000_000) }),
                2 => give(1, nack(i, i, NackReason::Congestion)),
                3 => give(0, interest(i.saturating_sub(10), i + 3_000_000)),
                _ => give(1, data(i)),
            }
        }
        if let Some(i) = i.checked_sub(400).filter(|i| i % 16 == 1) {
            give(2, data(i));
        }
    }
    let counters = node.counters();
    assert!(counters.pit_expired > 1000 && counters.rejected > 1000 && counters.aggregated > 1000 && packets > 100_000);
    assert!(cache == 0 || counters.hits > 100);
    ALLOCATIONS.load(Ordering::Relaxed) - before
}

#[test]
fn no_packet_allocates_after_warm_up() {
    for force_events in [false, true] {
        for cache in [0, 100, 20_000] {
            assert_eq!(allocations(force_events, cache, "droptail"), 0, "events {force_events}, cache {cache}");
        }
    }
    for marker in ndnweir_core::registry::AnyMarker::ALL {
        assert_eq!(allocations(false, 0, marker.name), 0, "{}", marker.name);
    }
}
