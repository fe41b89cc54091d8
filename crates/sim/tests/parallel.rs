//! A run on several threads gives the bytes of one, and tells the same in the same order.

mod twists;

use crate::keeping::{At, every_component, simulate_on, with_faults, with_other_traffic};
use ndnweir_core::component::{Env, Outside};
use ndnweir_core::consumer::Consumer;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::packet::Packet;
use ndnweir_core::registry::{AnyConsumer, ConsumerParams};
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::units::{Bytes, Duration, Rate, Time};
use ndnweir_sim::bench;
use ndnweir_sim::network::{Change, Link, LinkDirection, Network, NodeKind, Traffic};
use ndnweir_sim::observer::{
    ConsumerId, Delivery, DirectedLinkId, FlowEvent, NoObserver, NodeId, Observer, PathId, Snapshot,
};
use ndnweir_sim::{Outcome, PacketTap, RunOptions, run};
use proptest::prelude::*;
use serde_json::json;
use std::cell::RefCell;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;
use twists::twisted;

/// Hashes of all calls of an observer and a tap, in their order.
#[derive(Clone, Default)]
struct Tape(Rc<RefCell<Vec<u64>>>);

impl Tape {
    fn add(&self, what: &dyn std::fmt::Debug) {
        let mut hasher = DefaultHasher::new();
        format!("{what:?}").hash(&mut hasher);
        self.0.borrow_mut().push(hasher.finish());
    }
}

impl Observer for Tape {
    fn requested(&mut self, at: Time, consumer: ConsumerId, interest: &Packet) {
        self.add(&(at, consumer, interest));
    }
    fn delivered(&mut self, delivery: &Delivery) {
        self.add(delivery);
    }
    fn completed(&mut self, at: Time, consumer: ConsumerId) {
        self.add(&(at, consumer));
    }
    fn path(&mut self, path: PathId, links: &[DirectedLinkId]) {
        self.add(&(path, links));
    }
    fn flow(&mut self, at: Time, consumer: ConsumerId, event: FlowEvent) {
        self.add(&(at, consumer, event));
    }
    fn sample(&mut self, snapshot: &Snapshot<'_>) {
        self.add(snapshot);
    }
    fn scheme_event(&mut self, at: Time, node: NodeId, key: &'static str, id: u64, value: f64) {
        self.add(&(at, node, key, id, value));
    }
}

impl PacketTap for Tape {
    fn sent(&mut self, now: Time, waiting: Range<Time>, link: DirectedLinkId, ends: [NodeId; 2], packet: &Packet) {
        self.add(&(now, waiting, link, ends, packet));
    }
}

fn simulate(network: &Network, scheme: &Scheme, threads: usize) -> (Outcome, Vec<u64>) {
    let tape = Tape::default();
    let (mut observer, mut tap) = (tape.clone(), tape.clone());
    let (force_threads, tap) = (threads > 1, Some(&mut tap as &mut dyn PacketTap));
    let options = RunOptions { trace: true, threads, force_threads, tap, ..RunOptions::full() };
    let outcome = run(network, scheme, 3, &mut observer, options).unwrap();
    (outcome, tape.0.take())
}

/// How many windows there are if threads are forced.
fn windows(network: &Network, scheme: &Scheme) -> u64 {
    let mut windows = 0;
    let mut count = |events: &[u64]| windows += u64::from(!events.is_empty());
    let options = RunOptions { threads: 3, force_threads: true, windows: Some(&mut count), ..RunOptions::full() };
    run(network, scheme, 3, &mut NoObserver, options).unwrap();
    windows
}

/// Compares runs on several numbers of threads with one on one.
fn compare(network: &Network, scheme: &Scheme, threads: &[usize]) -> Result<(), String> {
    let one = simulate(network, scheme, 1);
    for &threads in threads {
        let several = simulate(network, scheme, threads);
        if several.0 != one.0 {
            return Err(format!("{}, {threads} threads:\n{:?}\n{:?}", scheme.name, one.0, several.0));
        }
        if let Some(place) = (0..one.1.len().max(several.1.len())).find(|&i| one.1.get(i) != several.1.get(i)) {
            return Err(format!("{}, {threads} threads: call {place} is another one", scheme.name));
        }
    }
    Ok(())
}

/// Compares a run with one that was kept on some threads, at this part of the moments at which that is possible, and went
/// on from there on others. `at` makes who keeps it.
fn compare_resumed(
    network: &Network,
    scheme: &Scheme,
    [kept, resumed]: [usize; 2],
    part: f64,
    at: fn(&[u64]) -> At,
) -> Result<u64, String> {
    let whole = simulate_on(1, network, scheme, None, None)?;
    let differs = |what| Err(format!("{}, {kept} threads and {resumed}, {part}: {what}", scheme.name));
    let mut keeper = at(&[]);
    if simulate_on(kept, network, scheme, Some(&mut keeper), None)? != whole {
        return differs("a run that might be kept is another one");
    }
    let moments = keeper.asked;
    if moments == 0 {
        return Ok(0);
    }
    let mut keeper = at(&[1 + ((moments - 1) as f64 * part) as u64]);
    if simulate_on(kept, network, scheme, Some(&mut keeper), None)? != whole {
        return differs("a run that is kept is another one");
    }
    let [state] = &keeper.kept[..] else { return differs("it was not kept once") };
    if simulate_on(resumed, network, scheme, Some(&mut at(&[5, 10])), Some(state))? != whole {
        return differs("the resumed run is another one");
    }
    Ok(moments)
}

#[test]
fn every_scheme_and_component_goes_on_from_what_was_kept_between_windows_on_any_number_of_threads() {
    let network = with_faults();
    let threads = [[2, 1], [2, 2], [3, 5]];
    for (scheme, threads) in every_component().iter().zip(threads.iter().cycle()) {
        let moments = compare_resumed(&network, scheme, *threads, 0.6, At::of_windows);
        assert!(moments.as_ref().is_ok_and(|moments| *moments > 0), "{moments:?}");
    }
}

#[test]
fn every_scheme_and_component_does_the_same_on_several_threads_in_a_network_with_faults() {
    let network = with_faults();
    for (scheme, threads) in every_component().iter().zip([2, 3, 5].iter().cycle()) {
        if let Err(error) = compare(&network, scheme, &[*threads]) {
            panic!("{error}");
        }
    }
}

#[test]
fn what_cannot_be_divided_runs_on_one_thread() {
    let cubic = Scheme::named("cubic").unwrap();
    assert_eq!(compare(&with_other_traffic(), &cubic, &[2]), Ok(()));
    assert_eq!(windows(&with_other_traffic(), &cubic), 0);
    let mut no_time = bench::grid(3, Duration::from_millis(2), Duration::from_millis(300));
    no_time.links.iter_mut().flat_map(Link::directions_mut).for_each(|direction| direction.delay = Duration::ZERO);
    assert_eq!(compare(&no_time, &cubic, &[2]), Ok(()));
    assert_eq!(windows(&no_time, &cubic), 0);
    let mut fragments = with_faults();
    assert!(windows(&fragments, &cubic) > 100);
    fragments.links[0].mtu = Some(Bytes::new(500));
    assert_eq!(windows(&fragments, &cubic), 0);
    let mut outside = cubic.clone();
    let make = || -> Box<dyn Consumer + Send> {
        let mut layout = FieldLayout::default();
        Box::new(AnyConsumer::build("aimd", &json!({}), &mut Env { layout: &mut layout }).unwrap())
    };
    outside.parts.consumer = ComponentChoice::of(ConsumerParams::Custom(Outside::new("mine", make)));
    assert_eq!(windows(&with_faults(), &outside), 0);
}

#[test]
fn a_tap_is_shown_the_path_of_a_packet_that_was_under_way_when_the_threads_ended() {
    // A link between processes that takes no time ends them: Data are then between the producer and that link.
    let ends = [(0, 1), (1, 2), (2, 3)];
    let delay = Duration::from_millis(10);
    let mut network = Network {
        nodes: vec![NodeKind::Ndn { cache: 0 }; 4],
        links: ends.iter().map(|&(a, b)| bench::link(a, b, Rate::from_mbps(5.0), delay, 50)).collect(),
        prefixes: 1,
        producers: vec![bench::producer(3, 0)],
        consumers: vec![bench::consumer(0, 0, Traffic::Fetch { segments: None, consumer: None })],
        ..Network::default()
    };
    let none = Change::Delay { link: 0, direction: LinkDirection::Both, delay: Duration::ZERO };
    network.changes = vec![(Time::ZERO + Duration::from_millis(500), none)];
    let cubic = Scheme::named("cubic").unwrap();
    assert!(windows(&network, &cubic) > 30);
    assert_eq!(compare(&network, &cubic, &[2]), Ok(()));
}

#[test]
fn a_grid_in_which_everything_happens_at_once_does_the_same_on_several_threads() {
    let network = bench::grid(5, Duration::from_millis(1), Duration::from_millis(700));
    assert_eq!(compare(&network, &Scheme::named("fixed").unwrap(), &[2, 3, 5]), Ok(()));
}

#[test]
fn packets_of_one_link_and_instant_that_left_in_another_order_than_they_joined_arrive_once() {
    // Jitter that does not reorder lets packets arrive together, and a discipline with a queue for each flow sends one
    // first that joined last: in its turn the later one has the lower key.
    let mut network = bench::grid(4, Duration::from_millis(2), Duration::from_millis(900));
    for direction in network.links.iter_mut().flat_map(Link::directions_mut) {
        direction.impairment.jitter = Duration::from_millis(7);
        direction.rate = Some(Rate::from_mbps(5.0));
    }
    assert_eq!(compare(&network, &Scheme::named("hr-icp").unwrap(), &[2, 3, 5]), Ok(()));
}

#[test]
fn a_burst_that_goes_along_a_chain_is_worked_on_at_several_nodes_at_once() {
    // All Interests are on one link at a time; only who is ahead of the others has anything to do beside them.
    let (network, scheme) = bench::pipe(40_000, 1);
    let mut busiest = 0;
    let mut all = 0;
    let mut count = |events: &[u64]| {
        all += events.iter().sum::<u64>();
        busiest += events.iter().max().copied().unwrap_or_default();
    };
    let options = RunOptions { threads: 2, windows: Some(&mut count), ..RunOptions::full() };
    let several = run(&network, &scheme, 3, &mut NoObserver, options).unwrap();
    let one = run(&network, &scheme, 3, &mut NoObserver, RunOptions { threads: 1, ..RunOptions::full() }).unwrap();
    assert_eq!(several, one);
    assert!(all * 10 > several.events * 9, "{all} of {} events are in windows", several.events);
    assert!(busiest * 10 < all * 4, "{busiest} of {all} events are those of the busiest process of a window");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_networks_with_faults_do_the_same_on_several_threads((network, scheme) in twisted(), threads in 2..9usize) {
        // A few have a loop of links that take no time.
        prop_assume!(network.check().and_then(|()| network.check_parts(&scheme)).is_ok());
        let compared = compare(&network, &scheme, &[2, threads]);
        prop_assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }

    #[test]
    fn random_networks_with_faults_are_kept_and_resumed_on_any_number_of_threads(
        (network, scheme) in twisted(), kept in 1..6usize, resumed in 1..6usize, part in 0.0..1.0f64,
    ) {
        prop_assume!(network.check().and_then(|()| network.check_parts(&scheme)).is_ok());
        let compared = compare_resumed(&network, &scheme, [kept, resumed], part, At::new);
        prop_assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }
}
