//! The receiver of a transfer, and when it acknowledges.

use super::{Ack, Segment};
use ndnweir_core::units::{Duration, Time};
use std::collections::BTreeSet;

/// When segments are acknowledged. One above a gap, one that closes it and one that is there already are acknowledged
/// at once (RFC 5681 §4.2, RFC 9000 §13.2.1; the latter asks for it only where a gap appears, but an [`Ack`] names one
/// segment).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ndnweir_state::Value)]
pub struct Rule {
    /// Segments in order of which the last is acknowledged at once.
    pub every: u32,
    /// How long fewer wait for more.
    pub delay: Duration,
    /// Acknowledgements at the beginning, and after a segment that came twice, that wait for nothing.
    pub quick: u32,
}

impl Rule {
    /// TCP as in Linux 6 (`net/ipv4/tcp_input.c`): more than one full segment (RFC 1122 §4.2.3.2), 40 ms
    /// (`TCP_DELACK_MIN`; RFC 1122 has 0.5 s at most), and 16 single ones (`TCP_MAX_QUICKACKS`).
    pub const TCP: Rule = Rule { every: 2, delay: Duration::from_millis(40), quick: 16 };
    /// QUIC: two packets (RFC 9000 §13.2.2), and the max_ack_delay of 25 ms that holds where none is announced (§18.2).
    pub const QUIC: Rule = Rule { every: 2, delay: Duration::from_millis(25), quick: 0 };
}

/// The receiving end of a transfer.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Receiver {
    rule: Rule,
    /// The number of segments.
    total: u32,
    next: u32,
    above: BTreeSet<u32>,
    /// What the last acknowledgement said of `next`.
    acked: u32,
    /// Acknowledgements that wait for nothing.
    quick: u32,
    /// The last segment that is not acknowledged, and until when that may stay so.
    waiting: Option<(Segment, Time)>,
}

impl Receiver {
    /// The receiver of `total` segments.
    pub fn new(rule: Rule, total: u32) -> Receiver {
        Receiver { rule, total, next: 0, above: BTreeSet::new(), acked: 0, quick: rule.quick, waiting: None }
    }

    /// Handles a segment; returns the acknowledgement to send at once, and whether the segment is new.
    pub fn segment(&mut self, now: Time, segment: Segment) -> (Option<Ack>, bool) {
        let number = segment.number;
        let had_gap = !self.above.is_empty();
        let fresh = number >= self.next && self.above.insert(number);
        while self.above.remove(&self.next) {
            self.next += 1;
        }
        if !fresh {
            self.quick = self.rule.quick;
        }
        // The last segment of a transfer is pushed to the application, which reads it.
        let is_urgent = had_gap || !fresh || !self.above.is_empty() || self.quick > 0 || self.next >= self.total;
        if is_urgent || self.next - self.acked >= self.rule.every {
            return (Some(self.acknowledge(segment)), fresh);
        }
        let until = self.waiting.map_or(now + self.rule.delay, |(_, until)| until);
        self.waiting = Some((segment, until));
        (None, fresh)
    }

    fn acknowledge(&mut self, Segment { number, transmission }: Segment) -> Ack {
        (self.acked, self.waiting) = (self.next, None);
        self.quick = self.quick.saturating_sub(1);
        Ack { next: self.next, segment: number, transmission }
    }

    /// When [`Receiver::handle_timeout`] is to be called.
    pub fn poll_timeout(&self) -> Time {
        self.waiting.map_or(Time::NEVER, |(_, until)| until)
    }

    /// The acknowledgement that has waited long enough.
    pub fn handle_timeout(&mut self, now: Time) -> Option<Ack> {
        let (segment, until) = self.waiting?;
        (now >= until).then(|| self.acknowledge(segment))
    }

    /// All segments below this number have arrived.
    pub fn next(&self) -> u32 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Time {
        Time::ZERO + Duration::from_millis(n)
    }

    /// A segment each ms: what is acknowledged at once, if anything.
    fn run(receiver: &mut Receiver, numbers: impl IntoIterator<Item = u32>) -> Vec<Option<u32>> {
        let numbers = numbers.into_iter().enumerate();
        let one = |(at, number)| receiver.segment(ms(at as u64), Segment { number, transmission: 1 }).0;
        numbers.map(one).map(|ack| ack.map(|ack| ack.next)).collect()
    }

    #[test]
    fn segments_are_acknowledged_up_to_the_first_gap_and_counted_once() {
        let mut receiver = Receiver::new(Rule::TCP, u32::MAX);
        let mut next = |number| {
            let (ack, fresh) = receiver.segment(Time::ZERO, Segment { number, transmission: 1 });
            let ack = ack.unwrap();
            (ack.next, ack.segment, fresh)
        };
        assert_eq!(
            [0, 2, 3, 2, 1, 0].map(&mut next),
            [(1, 0, true), (1, 2, true), (1, 3, true), (1, 2, false), (4, 1, true), (4, 0, false)]
        );
    }

    // 16 single ones, then 17 and 18, 19 and 20.
    #[test]
    fn tcp_acknowledges_the_first_sixteen_segments_one_by_one_and_then_every_second() {
        let mut receiver = Receiver::new(Rule::TCP, u32::MAX);
        let acks = run(&mut receiver, 0..21);
        assert_eq!(acks[..16], (1..=16).map(Some).collect::<Vec<_>>());
        assert_eq!(acks[16..], [None, Some(18), None, Some(20), None]);
    }

    // 20 arrives at 20 ms, and 40 ms later nothing has come; then the pairs begin anew.
    #[test]
    fn a_single_segment_waits_forty_milliseconds_for_another() {
        let mut receiver = Receiver::new(Rule::TCP, u32::MAX);
        run(&mut receiver, 0..21);
        assert_eq!((receiver.poll_timeout(), receiver.handle_timeout(ms(59))), (ms(60), None));
        assert_eq!(receiver.handle_timeout(ms(60)), Some(Ack { next: 21, segment: 20, transmission: 1 }));
        assert_eq!((receiver.poll_timeout(), receiver.handle_timeout(ms(60))), (Time::NEVER, None));
        assert_eq!(run(&mut receiver, [21, 22]), [None, Some(23)]);
    }

    // 16 waits as 18 shows that 17 is missing; 17 closes the gap, 19 and 20 are a pair again.
    #[test]
    fn above_a_gap_and_where_it_closes_every_segment_is_acknowledged_at_once() {
        let mut receiver = Receiver::new(Rule::TCP, u32::MAX);
        run(&mut receiver, 0..16);
        assert_eq!(run(&mut receiver, [16, 18, 19, 17, 20, 21]), [None, Some(17), Some(17), Some(20), None, Some(22)]);
    }

    // The second 5 begins the sixteen anew, and is the first of them.
    #[test]
    fn after_a_segment_that_came_twice_sixteen_acknowledgements_wait_for_nothing() {
        let mut receiver = Receiver::new(Rule::TCP, u32::MAX);
        run(&mut receiver, 0..18);
        let acks = run(&mut receiver, std::iter::once(5).chain(18..35));
        assert_eq!((acks.iter().flatten().count(), acks.last()), (17, Some(&Some(35))));
        assert_eq!(acks[16], None, "33 waits for 34");
    }

    #[test]
    fn quic_acknowledges_every_second_packet_from_the_first_on_or_after_25_ms() {
        let mut receiver = Receiver::new(Rule::QUIC, u32::MAX);
        assert_eq!(run(&mut receiver, 0..5), [None, Some(2), None, Some(4), None]);
        assert_eq!(receiver.poll_timeout(), ms(4 + 25));
    }

    #[test]
    fn the_last_segment_of_a_transfer_waits_for_nothing() {
        let mut receiver = Receiver::new(Rule::QUIC, 3);
        assert_eq!(run(&mut receiver, 0..3), [None, Some(2), Some(3)]);
        assert_eq!(receiver.poll_timeout(), Time::NEVER);
    }
}
