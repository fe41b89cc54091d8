use super::*;
use crate::ctx::{Rng, Trace};
use crate::fields::FieldLayout;

struct Bench {
    consumer: Mircc,
    rng: Rng,
    trace: Trace,
    segment: u64,
}

/// An Interest that left: when in µs, its label and class.
type Sent = (u64, u32, u32);

impl Bench {
    fn new(params: Params) -> Bench {
        let consumer = Mircc::new(&params, &mut Env { layout: &mut FieldLayout::new() });
        Bench { consumer, rng: Rng::derive(1, &[]), trace: Trace::default(), segment: 0 }
    }

    /// Sends what is due up to `until` µs.
    fn run(&mut self, until: u64) -> Vec<Sent> {
        let mut sent = Vec::new();
        loop {
            let at = self.consumer.next().0.max(self.consumer.now);
            if at.nanos() > until * 1000 {
                return sent;
            }
            let mut fields = Fields::default();
            self.consumer.stamp(self.segment, &mut fields);
            let flight = Flight::default();
            let event = SentEvent { segment: self.segment, retransmission: false, flight };
            let mut ctx = Ctx { now: at, rng: &mut self.rng, trace: &mut self.trace };
            self.consumer.on_sent(&event, &mut ctx);
            self.segment += 1;
            sent.push((at.nanos() / 1000, fields.get(self.consumer.label), fields.get(self.consumer.class)));
        }
    }

    /// A Data of 1250 B for `segment` by the path `label`, with rates in kbit/s.
    fn data(&mut self, us: u64, segment: u64, label: u32, rates: [u32; 2]) {
        let mut fields = Fields::default();
        fields.set(self.consumer.label, label);
        fields.set(self.consumer.explicit, rates[0]);
        if let Some(slot) = self.consumer.second {
            fields.set(slot, rates[1]);
        }
        let (size, flight, sent) = (Bytes::new(1250), Flight::default(), Time::ZERO);
        let event = DataEvent { segment, sent, rtt: None, mark: 0, size, fields: &fields, flight };
        let now = Time::ZERO + Duration::from_micros(us);
        self.consumer.on_data(&event, &mut Ctx { now, rng: &mut self.rng, trace: &mut self.trace });
    }
}

/// How many of these are of the class and lead over the path.
fn count(sent: &[Sent], guide: u32, class: u32) -> usize {
    sent.iter().filter(|(_, label, of)| (*label, *of) == (guide, class)).count()
}

#[test]
fn without_a_path_only_probes_leave_each_with_a_label_of_its_own() {
    let mut bench = Bench::new(Params::default());
    let sent = bench.run(450_000);
    assert_eq!(sent.iter().map(|sent| sent.0).collect::<Vec<_>>(), [0, 100_000, 200_000, 300_000, 400_000]);
    let labels: std::collections::BTreeSet<u32> = sent.iter().map(|sent| sent.1).collect();
    assert_eq!(labels.len(), 5);
    assert!(sent.iter().all(|sent| sent.2 == PRIMARY));
}

// Paths of 6 and 2 Mbit/s: primary at 6·6/8 = 4.5 and 2·6/8 = 1.5 Mbit/s, secondary at 3 and 1 Mbit/s as told. In 900
// ms of Data of 10 000 bit: 405, 135, 270 and 90, each give or take the one that is under way; 9 probes of other
// labels.
#[test]
fn each_path_gets_its_part_of_the_best_rate_and_all_of_its_secondary_rate() {
    let mut bench = Bench::new(Params::default());
    let probes = bench.run(100_000);
    bench.data(100_000, 0, 71, [6000, 3000]);
    bench.data(100_000, 1, 72, [2000, 1000]);
    // The first rates of the first path were computed without the second one.
    bench.data(100_000, 0, 71, [6000, 3000]);
    let sent = bench.run(1_000_000);
    let guides = [probes[0].1, probes[1].1];
    let counts = guides.map(|guide| [count(&sent, guide, PRIMARY), count(&sent, guide, SECONDARY)]);
    for (counted, expected) in counts.into_iter().flatten().zip([405, 270, 135, 90]) {
        assert!(usize::abs_diff(counted, expected) <= 1, "{counts:?}");
    }
    let others = sent.len() - counts.into_iter().flatten().sum::<usize>();
    assert_eq!(others, 9);
}

#[test]
fn with_one_class_there_is_no_secondary_traffic() {
    let mut bench = Bench::new(Params { dual: false, ..Params::default() });
    bench.run(50_000);
    bench.data(50_000, 0, 9, [8000, 8000]);
    let sent = bench.run(1_050_000);
    assert!(sent.iter().all(|sent| sent.2 == PRIMARY));
    assert!((800..=811).contains(&sent.len()), "{}", sent.len());
}

#[test]
fn a_path_that_brings_nothing_is_forgotten_and_no_more_than_sixteen_are_known() {
    let mut bench = Bench::new(Params::default());
    bench.run(0);
    bench.data(1000, 0, 9, [1000, 0]);
    bench.run(2_500_000);
    assert!(bench.consumer.paths.is_empty());
    for (at, label) in (2_600_000..).step_by(100_000).zip(100..140) {
        bench.run(at);
        let (probe, _) = *bench.consumer.probes.back().unwrap();
        bench.data(at, probe, label, [1000, 1000]);
    }
    assert_eq!(bench.consumer.paths.len(), MAX_PATHS);
    // 4.3 Tbit/s would be 2.3 ns between Interests.
    bench.data(7_000_000, 0, 139, [u32::MAX, u32::MAX]);
    let place = bench.consumer.paths.iter().position(|path| path.label == 139).unwrap();
    assert_eq!(bench.consumer.gap(place, true), Duration::from_nanos(10));
}
