//! A run that goes on from its kept state is the run that was never interrupted.

use crate::common::Digest;
use crate::properties::networks::{networks, schemes};
use ndnweir_core::component::{Env, Outside};
use ndnweir_core::consumer::Consumer;
use ndnweir_core::fields::FieldLayout;
use ndnweir_core::registry::{AnyConsumer, AnyMeter, AnyPlanner, AnyShaper, ConsumerParams};
use ndnweir_core::scheme::{ComponentChoice, Scheme};
use ndnweir_core::units::{Duration, Rate, Time};
use ndnweir_sim::bench::{self, RandomNetwork};
use ndnweir_sim::flows::{Arrivals, Catalogue, FlowSizes, Flows};
use ndnweir_sim::network::{
    Change, CrossFlow, CrossKind, LinkDirection, Network, NodeKind, Retry, SharedMedium, Traffic,
};
use ndnweir_sim::observer::Observer;
use ndnweir_sim::tcp::Algorithm;
use ndnweir_sim::{Keeper, Outcome, RunOptions, run};
use proptest::prelude::*;
use serde_json::json;

/// Keeps the state at these of the moments at which it is asked.
pub struct At {
    moments: Vec<u64>,
    every: u64,
    pub asked: u64,
    pub kept: Vec<Vec<u8>>,
}

impl At {
    pub fn new(moments: &[u64]) -> At {
        At { moments: moments.to_vec(), every: 1, asked: 0, kept: Vec::new() }
    }

    /// Is not asked by one thread, but only between windows.
    pub fn of_windows(moments: &[u64]) -> At {
        At { every: 1 << 40, ..At::new(moments) }
    }
}

impl Keeper for At {
    fn asked_every(&self) -> u64 {
        self.every
    }

    fn wants(&mut self, _: bool) -> bool {
        self.asked += 1;
        self.moments.contains(&self.asked)
    }

    fn keep(&mut self, _: Time, state: Vec<u8>) {
        self.kept.push(state);
    }
}

fn simulate(
    network: &Network,
    scheme: &Scheme,
    keeper: Option<&mut At>,
    resume: Option<&[u8]>,
) -> Result<(Outcome, u64), String> {
    simulate_on(1, network, scheme, keeper, resume)
}

/// On so many threads.
pub fn simulate_on(
    threads: usize,
    network: &Network,
    scheme: &Scheme,
    keeper: Option<&mut At>,
    resume: Option<&[u8]>,
) -> Result<(Outcome, u64), String> {
    let mut digest = Digest::default();
    let keeper = keeper.map(|keeper| keeper as &mut dyn Keeper);
    let options = RunOptions { threads, force_threads: threads > 1, ..RunOptions::full() };
    let options = RunOptions { trace: true, keeper, resume, ..options };
    let outcome = run(network, scheme, 3, &mut digest, options).map_err(|error| error.to_string())?;
    Ok((outcome, digest.get()))
}

/// Compares a run with one that went on from its state after this part of the events, and the states of both half-way from
/// there to the end.
fn compare(network: &Network, scheme: &Scheme, part: f64) -> Result<(), String> {
    let whole = simulate(network, scheme, None, None)?;
    let moment = 1 + (whole.0.events.saturating_sub(1) as f64 * part) as u64;
    let left = (whole.0.events - moment) / 2;
    let mut keeper = At::new(&[moment, moment + left]);
    let watched = simulate(network, scheme, Some(&mut keeper), None)?;
    let differs = |what: &str| Err(format!("{}, moment {moment}: {what}", scheme.name));
    if watched != whole {
        return differs("a run whose state is kept is another one");
    }
    let [state, after] = match &keeper.kept[..] {
        [state] => [state, state],
        [state, after] => [state, after],
        _ => return differs("it was not kept"),
    };
    // It begins with the event at hand.
    let mut later = At::new(&[1 + left]);
    let resumed = simulate(network, scheme, Some(&mut later), Some(state))?;
    if resumed != whole {
        return differs("the resumed run is another one");
    }
    if later.kept.first() != Some(after) {
        return differs("the later states differ");
    }
    Ok(())
}

/// All named schemes, and one for every component that they might leave out.
pub fn every_component() -> Vec<Scheme> {
    let mut all = schemes();
    let mut add = |key: &str, name: &str| {
        all.push(Scheme::resolve(name, &json!({ "consumer": "cubic", key: name })).unwrap());
    };
    AnyConsumer::ALL.iter().for_each(|info| add("consumer", info.name));
    AnyShaper::ALL.iter().for_each(|info| add("shaper", info.name));
    AnyMeter::ALL.iter().for_each(|info| add("meter", info.name));
    AnyPlanner::ALL.iter().for_each(|info| add("planner", info.name));
    all
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn at(millis: u64) -> Time {
    Time::ZERO + ms(millis)
}

/// Eight nodes that cache, with fetches, flows that come and go and a catalogue; a node crashes, a link fails and another
/// changes, and a planner gives way to another.
pub fn with_faults() -> Network {
    let of = RandomNetwork { nodes: 8, links: 14, rate: Rate::from_mbps(8.0), flows: 5, prefixes: 3 };
    let mut network = bench::random(of, ms(1200));
    network.nodes = vec![NodeKind::Ndn { cache: 20 }; 8];
    let flows = Flows {
        arrivals: Arrivals::Drawn { gap: ms(40), poisson: true, sizes: FlowSizes::Fixed(20_000) },
        max_active: 4,
        payload: 1000,
        catalogue: Some(Catalogue { objects: 9, exponent: 0.8 }),
        consumer: None,
        stream: 1,
    };
    let node = (network.producers[1].node + 1) % 8;
    network.consumers.push(bench::consumer(node, 1, Traffic::Flows(Box::new(flows))));
    let (gap, retry) = (ms(5), Retry::Lifetime(2));
    let zipf = Traffic::Zipf { gap, poisson: true, objects: 50, exponent: 0.9, retry };
    network.consumers.push(bench::consumer(node, 1, zipf));
    let (direction, link) = (LinkDirection::Both, 3);
    network.changes = vec![
        (at(250), Change::LinkDown { link: 1 }),
        (at(300), Change::Crash { node: 2 }),
        (at(400), Change::Rate { link, direction, rate: Rate::from_mbps(3.0) }),
        (at(500), Change::Restart { node: 2 }),
        (at(600), Change::LinkUp { link: 1 }),
        (at(650), Change::Delay { link, direction, delay: ms(9) }),
        (at(700), Change::Loss { link, direction, loss: 0.05 }),
    ];
    network.routing.reaction = Some(ms(30));
    network.control.fails = Some(at(350));
    network.control.stand_by = Some(at(450));
    network.control.returns = Some(at(800));
    network
}

/// Links that share a medium, and datagrams that are not NDN on others.
pub fn with_other_traffic() -> Network {
    let mut network = bench::dumbbell(Rate::from_mbps(10.0), ms(5), 30, ms(1500));
    network.sampling = ms(50);
    network.media.push(SharedMedium { rate: Rate::from_mbps(10.0), gap: Duration::from_micros(50), links: vec![3, 4] });
    let tcp = |algorithm| CrossKind::Tcp { algorithm, segments: Some(2000), ack: 40 };
    let rate = Rate::from_mbps(2.0);
    let kinds = [
        CrossKind::Poisson { rate },
        CrossKind::OnOff { rate, on: ms(100), off: ms(50) },
        CrossKind::Nada { rate },
        tcp(Algorithm::Cubic),
        tcp(Algorithm::BbrV1),
    ];
    let flow = |kind| CrossFlow { path: vec![4], kind, size: 1000, start: at(20), stop: None };
    network.cross = kinds.into_iter().map(flow).collect();
    network
}

#[test]
fn every_scheme_and_component_resumes_in_a_network_with_faults() {
    let network = with_faults();
    for scheme in every_component() {
        if let Err(error) = compare(&network, &scheme, 0.5) {
            panic!("{error}");
        }
    }
}

#[test]
fn traffic_below_ndn_resumes() {
    for part in [0.1, 0.5, 0.9] {
        assert_eq!(compare(&with_other_traffic(), &Scheme::named("cubic").unwrap(), part), Ok(()));
    }
}

#[test]
fn a_state_that_was_cut_or_is_of_another_scheme_is_rejected() {
    let (network, scheme) = (with_faults(), Scheme::named("hobhis").unwrap());
    let mut keeper = At::new(&[3000]);
    simulate(&network, &scheme, Some(&mut keeper), None).unwrap();
    let state = &keeper.kept[0];
    for length in (0..state.len()).step_by(state.len() / 200) {
        let error = simulate(&network, &scheme, None, Some(&state[..length])).unwrap_err();
        assert!(error.contains("cannot be resumed"), "{error}");
    }
    let error = simulate(&network, &Scheme::named("cubic").unwrap(), None, Some(state)).unwrap_err();
    assert!(error.contains("cannot be resumed"), "{error}");
}

#[test]
fn what_nobody_knows_the_state_of_is_refused_at_the_start() {
    #[derive(Default)]
    struct Mine;
    impl Observer for Mine {}
    let network = with_faults();
    let mut keeper = At::new(&[]);
    let options = RunOptions { keeper: Some(&mut keeper), ..RunOptions::full() };
    let error = run(&network, &Scheme::named("cubic").unwrap(), 1, &mut Mine, options).unwrap_err();
    assert!(error.to_string().contains("nobody knows that of what observes the run"), "{error}");
    let mut scheme = Scheme::named("cubic").unwrap();
    let make = || -> Box<dyn Consumer + Send> {
        let mut layout = FieldLayout::default();
        Box::new(AnyConsumer::build("aimd", &json!({}), &mut Env { layout: &mut layout }).unwrap())
    };
    scheme.parts.consumer = ComponentChoice::of(ConsumerParams::Custom(Outside::new("mine", make)));
    simulate(&network, &scheme, None, None).unwrap();
    let error = simulate(&network, &scheme, Some(&mut At::new(&[])), None).unwrap_err();
    assert!(error.contains("Consumer that was made outside the registry"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn random_networks_with_faults_resume_at_random_moments(
        network in networks(), scheme in any::<prop::sample::Index>(), part in 0.0..1.0f64,
    ) {
        let schemes = every_component();
        let compared = compare(&network, scheme.get(&schemes), part);
        prop_assert!(compared.is_ok(), "{}", compared.unwrap_err());
    }
}
