//! On-demand peers that say of arrivals what suits them.

use super::bench::*;
use ndnweir_core::ids::FaceId;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::Time;
use ndnweir_node::FaceConfig;
use ndnweir_node::forwarder::FaceOptions;
use ndnweir_node::forwarder::reliability::Reliability;
use ndnweir_wire::{LpHeader, LpPacketView};
use std::collections::VecDeque;

/// Field 940: when a frame came, and how many had by then.
const ARRIVED: u32 = 940;
const PEERS: u16 = 30;

fn liar(address: u128) -> FaceOptions {
    let node = FaceConfig { local: false, limit: Limit::Bytes(bytes(1 << 20)), ..FaceConfig::local() };
    FaceOptions { node, reliability: Reliability::OnRequest, learns_rate: true, ..on_demand_peer(address) }
}

/// What a peer has been sent.
#[derive(Clone, Copy, Default)]
struct Peer {
    frames: u32,
    sequence: u64,
}

/// A peer acknowledges frames, and asks for a Data, by a clock that runs `fast` times too fast; it begins again each half
/// second, before it is taken for another one.
fn answer(bench: &mut Bench, face: u16, peer: &mut Peer, acks: Vec<u64>, wanted: &str, fast: u64) {
    peer.frames += acks.len() as u32;
    peer.sequence += 1;
    let micros = bench.now.nanos() / 1000;
    let clock = (micros + micros % 500_000 * (fast - 1)) as u32;
    let mut header =
        LpHeader { acks, sequence: Some(peer.sequence), tx_sequence: Some(peer.sequence), ..LpHeader::default() };
    header.set_extra(ARRIVED, &(u64::from(clock) << 32 | u64::from(peer.frames)).to_be_bytes()).unwrap();
    let frame = header.encode(Some(&interest(wanted, peer.sequence as u32)));
    bench.receive(face, &frame);
}

#[test]
fn on_demand_peers_that_say_their_links_are_slow_leave_memory_for_a_fetch() {
    const MEMORY: u64 = 16 << 20;
    let faces = [local(), local()].into_iter().chain((0..u128::from(PEERS)).map(liar)).collect();
    let mut bench = Bench::with(&serde_json::json!({}), |config| config.memory = bytes(MEMORY), faces);
    bench.route("/a", 1);
    let mut peers = [Peer::default(); PEERS as usize];
    // Acks under way, so that more than one frame is unacknowledged.
    let mut under_way: VecDeque<Vec<Vec<u64>>> = (0..5).map(|_| vec![Vec::new(); peers.len()]).collect();
    for t in 0..2000_u64 {
        let now = Time::from_nanos(t * 1_000_000);
        bench.wait((now.since(bench.now).nanos() / 1_000_000).max(1));
        // What the producer is asked for it answers, and what peers are sent they acknowledge.
        let mut acks = vec![Vec::new(); peers.len()];
        let mut left = bench.take();
        while !left.is_empty() {
            for (face, frame) in std::mem::take(&mut left) {
                if face == 1 {
                    let wanted = ndnweir_wire::InterestView::decode(&open(&frame).0).unwrap().name().to_string();
                    bench.receive(1, &data(&wanted, &[1; 1000], 0));
                } else if face > 1 {
                    acks[usize::from(face) - 2].extend(LpPacketView::decode(&frame).unwrap().tx_sequence);
                }
            }
            left = bench.take();
        }
        under_way.push_back(acks);
        for (at, acks) in under_way.pop_front().into_iter().flatten().enumerate() {
            let face = at as u16 + 2;
            answer(&mut bench, face, &mut peers[at], acks, &format!("/a/x/{at}/{t}"), 20);
        }
    }
    let queued: u64 =
        (2..PEERS + 2).map(|face| bench.forwarder.face_counters(bench.now, FaceId(face)).1.queue_bytes.get()).sum();
    let learned = (2..PEERS + 2).filter(|face| bench.forwarder.learned_rate(FaceId(*face)).is_some()).count();
    assert!(learned > 0, "some have a queue");
    assert!(queued <= MEMORY / 8, "{queued} bytes wait for peers");
    // A fetch beside it, whose Data find room.
    for i in 0..200 {
        bench.receive(0, &interest(&format!("/a/file/seg={i}"), i));
        bench.receive(1, &data(&format!("/a/file/seg={i}"), &[1; 4000], 0));
    }
    assert_eq!(bench.take().iter().filter(|(face, _)| *face == 0).count(), 200);
}
