//! Rates that both ends of a link learn.

use super::*;

/// Data of 1000 B every ms for a second, over a link that takes 2 ms for each, so 4.2 Mbit/s with all headers; the acks
/// come back at once. What the sender has learned, and whether any ack told of an arrival.
fn overload(sender: Params, receiver: Params) -> (ReliableLink, bool) {
    let (mut near, mut far) = (End::with(sender, Reliability::On, 0), End::with(receiver, Reliability::On, 0));
    let (mut link, mut told) = (std::collections::VecDeque::new(), false);
    let mut free = Time::ZERO;
    for t in 0..2000 {
        let now = ms(t);
        if t < 1000 {
            for frame in near.send(now, 1000) {
                free = free.max(now) + Duration::from_millis(2);
                link.push_back((free, frame));
            }
        }
        while let Some((_, frame)) = link.pop_front_if(|(came, _)| *came <= now) {
            far.receive(now, &frame);
            for ack in far.send(now, 20) {
                told |= LpPacketView::decode(&ack).unwrap().extra(ARRIVED).is_some();
                near.receive(now, &ack);
            }
        }
        near.poll(now);
    }
    (near.link, told)
}

#[test]
fn a_sender_learns_the_rate_of_its_link_where_both_ends_learn() {
    let learns = Params { learns_rate: true, framing: Bytes::new(28), ..Params::default() };
    let (link, told) = overload(learns, learns);
    assert!(told && link.learns_rate());
    // 1000 B of Data, 28 of UDP and IP, and some 40 of NDNLPv2 in 2 ms.
    let rate = link.learned_rate().expect("a rate").mbps();
    assert!((rate / 4.27 - 1.0).abs() < 0.21, "{rate}: the rate, or less while the queue is drained");
    for (sender, receiver) in [(learns, Params::default()), (Params::default(), learns)] {
        let (link, told) = overload(sender, receiver);
        assert_eq!((link.learned_rate(), link.learns_rate(), told), (None, false, receiver.learns_rate));
    }
}

#[test]
fn a_link_whose_neighbour_falls_silent_has_no_learned_rate_any_more() {
    let learns = Params { learns_rate: true, ..Params::default() };
    let (mut link, _) = overload(learns, learns);
    assert!(link.learned_rate().is_some());
    link.abandon_all(ms(2000));
    assert_eq!((link.learned_rate(), link.learns_rate()), (None, false));
}
