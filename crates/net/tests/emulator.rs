//! The link emulator with real sockets. What depends on the machine's speed is asserted with wide margins only.

use ndnweir_core::packet::Kind;
use ndnweir_core::queue::Limit;
use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_net::emulator::{
    EmulatedChange, EmulatedDirection, EmulatedEvent, EmulatedNetwork, Emulator, End, ProcessPair, Running,
};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Instant;

fn process() -> UdpSocket {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    socket
}

fn joined(a: &UdpSocket, b: &UdpSocket, direction: EmulatedDirection, events: &[EmulatedEvent]) -> Running {
    let network = EmulatedNetwork::link(direction, [a.local_addr().ok(), b.local_addr().ok()], [0, 0]);
    Emulator::bind(Ipv4Addr::LOCALHOST, &network, 1).unwrap().start(events).unwrap()
}

fn receive(socket: &UdpSocket) -> Option<Vec<u8>> {
    let mut buffer = [0; 2000];
    socket.recv(&mut buffer).ok().map(|len| buffer[..len].to_vec())
}

#[test]
fn datagrams_cross_both_ways_in_order_and_after_the_delay() {
    let (a, b) = (process(), process());
    let direction = EmulatedDirection { delay: Duration::from_millis(20), ..EmulatedDirection::default() };
    let running = joined(&a, &b, direction, &[]);
    for (from, to, end) in [(&a, &b, End::A), (&b, &a, End::B)] {
        let sent = Instant::now();
        for byte in 0..50 {
            from.send_to(&[byte; 700], running.address(0, end)).unwrap();
        }
        for byte in 0..50 {
            assert_eq!(receive(to).unwrap(), vec![byte; 700]);
        }
        assert!(sent.elapsed() >= std::time::Duration::from_millis(20));
    }
    running.stop().unwrap();
}

#[test]
fn a_burst_drains_at_the_rate_of_the_link_and_what_does_not_fit_is_dropped() {
    let (a, b) = (process(), process());
    // 1 Mbit/s: 1000 bytes take 8 ms; 10 of them wait and one is on the wire.
    let direction = EmulatedDirection {
        rate: Some(Rate::from_mbps(1.0)),
        limit: Limit::Packets(10),
        ..EmulatedDirection::default()
    };
    let running = joined(&a, &b, direction, &[]);
    let sent = Instant::now();
    for byte in 0..30 {
        a.send_to(&[byte; 1000], running.address(0, End::A)).unwrap();
    }
    let mut got = 0;
    while receive(&b).is_some() {
        got += 1;
        if got == 11 {
            assert!(sent.elapsed() >= std::time::Duration::from_millis(85), "{:?}", sent.elapsed());
        }
    }
    assert!((11..=14).contains(&got), "{got}: more only if sending took long");
    let counters = running.counters(0, End::A);
    assert_eq!(counters.queue.data_packets + counters.queue.drops.total(), 30);
    running.stop().unwrap();
}

#[test]
fn a_link_goes_down_and_up_at_its_events() {
    let (a, b) = (process(), process());
    let at = |ms, change| EmulatedEvent { at: Duration::from_millis(ms), link: 0, change };
    let events = [at(400, EmulatedChange::Up), at(0, EmulatedChange::Down)];
    let running = joined(&a, &b, EmulatedDirection::default(), &events);
    std::thread::sleep(std::time::Duration::from_millis(100));
    a.send_to(b"lost", running.address(0, End::A)).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    a.send_to(b"kept", running.address(0, End::A)).unwrap();
    assert_eq!(receive(&b).unwrap(), b"kept");
}

#[test]
fn a_on_demand_peer_does_not_get_onto_a_link_and_an_unknown_process_is_learned() {
    let (a, b, on_demand_peer) = (process(), process(), process());
    let network = EmulatedNetwork::link(EmulatedDirection::default(), [None, b.local_addr().ok()], [0, 0]);
    let running = Emulator::bind(Ipv4Addr::LOCALHOST, &network, 1).unwrap().start(&[]).unwrap();
    a.send_to(b"first", running.address(0, End::A)).unwrap();
    assert_eq!(receive(&b).unwrap(), b"first");
    on_demand_peer.send_to(b"unknown", running.address(0, End::A)).unwrap();
    b.send_to(b"back", running.address(0, End::B)).unwrap();
    assert_eq!(receive(&a).unwrap(), b"back");
    assert_eq!(receive(&b), None);
    assert_eq!(running.end_counters(0, End::A).on_demand_peers, 1);
}

#[test]
fn two_pairs_share_the_queue_of_a_link_between_switches() {
    // a0 and a1 send over links of their own, then both over link 2, whose queue holds 4, to b0 and b1.
    let processes: Vec<UdpSocket> = (0..4).map(|_| process()).collect();
    let near = EmulatedDirection { delay: Duration::from_millis(5), ..EmulatedDirection::default() };
    let shared = EmulatedDirection { rate: Some(Rate::from_mbps(1.0)), limit: Limit::Packets(4), ..near.clone() };
    let both = |direction: &EmulatedDirection| [direction.clone(), direction.clone()];
    let pair = |pair: usize| ProcessPair {
        processes: [processes[pair].local_addr().ok(), processes[2 + pair].local_addr().ok()],
        ports: [0; 2],
        routes: [vec![2 * pair, 4], vec![5, 2 * pair + 1]],
    };
    let network = EmulatedNetwork {
        links: vec![both(&near), both(&near), both(&shared)],
        pairs: vec![pair(0), pair(1)],
        kind: |datagram| if datagram[0] == 0 { Kind::Interest } else { Kind::Data },
    };
    let running = Emulator::bind(Ipv4Addr::LOCALHOST, &network, 1).unwrap().start(&[]).unwrap();
    let sent = Instant::now();
    for byte in 0..10 {
        for (pair, process) in processes[..2].iter().enumerate() {
            process.send_to(&[byte; 500], running.address(pair, End::A)).unwrap();
        }
    }
    let mut got = [0, 0];
    for (pair, got) in got.iter_mut().enumerate() {
        while let Some(datagram) = receive(&processes[2 + pair]) {
            assert_eq!(datagram.len(), 500);
            *got += 1;
        }
    }
    // 10 ms of delay, 4 ms for each on the shared link; more than five pass only if sending took long.
    assert!(sent.elapsed() >= std::time::Duration::from_millis(30));
    let counters = running.counters(2, End::A);
    counters.queue.check().unwrap();
    let total: u64 = got.iter().sum();
    assert!((5..20).contains(&total), "{got:?}");
    assert_eq!(counters.queue.data_packets + counters.queue.interest_packets, total);
    assert_eq!(counters.queue.drops.total(), 20 - total);
    assert!(counters.queue.interest_packets >= 1);
    let delivered = |pair| running.end_counters(pair, End::B).delivered;
    assert_eq!([delivered(0), delivered(1)], got);
}

#[test]
fn framing_counts_on_the_link_and_an_event_without_a_link_is_rejected() {
    let direction = EmulatedDirection { framing: Bytes::new(28), ..EmulatedDirection::default() };
    let (a, b) = (process(), process());
    let running = joined(&a, &b, direction, &[]);
    a.send_to(&[1; 100], running.address(0, End::A)).unwrap();
    receive(&b).unwrap();
    let deadline = Instant::now() + std::time::Duration::from_secs(5);
    while running.counters(0, End::A).queue.data_bits != 128 * 8 {
        assert!(Instant::now() < deadline);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let network = EmulatedNetwork::link(EmulatedDirection::default(), [None, None], [0, 0]);
    let event = EmulatedEvent { at: Duration::ZERO, link: 3, change: EmulatedChange::Down };
    assert!(Emulator::bind(Ipv4Addr::LOCALHOST, &network, 1).unwrap().start(&[event]).is_err());
    let pair = ProcessPair { processes: [None; 2], ports: [0; 2], routes: [vec![0, 2], vec![1]] };
    let network = EmulatedNetwork { pairs: vec![pair], ..network };
    assert!(Emulator::bind(Ipv4Addr::LOCALHOST, &network, 1).is_err());
}
