//! Routes and the next hops that follow from them.

use crate::name;
use ndnweir_core::units::Time;
use ndnweir_net::mgmt::rib::{FibChange, Rib, RibRoute};
use ndnweir_wire::Name;
use proptest::prelude::*;
use std::collections::BTreeMap;

type Fib = BTreeMap<String, BTreeMap<u64, u64>>;

fn apply(fib: &mut Fib, changes: Vec<FibChange>) {
    for change in changes {
        match change {
            FibChange::Set { prefix, face_id, cost } => {
                let known = fib.entry(prefix.to_string()).or_default().insert(face_id, cost);
                assert_ne!(known, Some(cost), "{prefix} has this next hop already");
            }
            FibChange::Remove { prefix, face_id } => {
                let hops = fib.get_mut(&prefix.to_string()).expect("a known prefix");
                assert!(hops.remove(&face_id).is_some(), "{prefix} does not have this next hop");
            }
        }
    }
    fib.retain(|_, hops| !hops.is_empty());
}

fn route(face_id: u64, cost: u64, flags: u64) -> RibRoute {
    RibRoute { face_id, origin: 0, cost, flags, expires: Time::NEVER }
}

const INHERIT: u64 = 1;
const CAPTURE: u64 = 2;

struct Rig {
    rib: Rib,
    fib: Fib,
}

impl Rig {
    fn new() -> Rig {
        Rig { rib: Rib::new(100), fib: Fib::new() }
    }

    fn add(&mut self, prefix: &str, route: RibRoute) {
        let changes = self.rib.register(name(prefix).as_view(), route).unwrap();
        apply(&mut self.fib, changes);
    }

    fn remove(&mut self, prefix: &str, face_id: u64) {
        let changes = self.rib.unregister(name(prefix).as_view(), face_id, 0);
        apply(&mut self.fib, changes);
    }

    fn hops(&self, prefix: &str) -> Vec<(u64, u64)> {
        self.fib.get(prefix).map(|hops| hops.iter().map(|(f, c)| (*f, *c)).collect()).unwrap_or_default()
    }
}

#[test]
fn a_longer_prefix_inherits_what_a_shorter_one_passes_on_but_only_if_it_has_routes_itself() {
    let mut rig = Rig::new();
    rig.add("/", route(1, 10, INHERIT));
    rig.add("/", route(2, 20, 0));
    rig.add("/a/b", route(3, 30, 0));
    assert_eq!(rig.hops("/"), [(1, 10), (2, 20)]);
    assert_eq!(rig.hops("/a/b"), [(1, 10), (3, 30)]);
    rig.remove("/a/b", 3);
    assert_eq!(rig.hops("/a/b"), []);
}

#[test]
fn the_fib_gets_own_routes_before_inherited_ones_of_the_same_cost() {
    let mut rib = Rib::new(100);
    rib.register(name("/a").as_view(), route(1, 0, INHERIT)).unwrap();
    let changes = rib.register(name("/a/b").as_view(), route(7, 0, INHERIT)).unwrap();
    let set = |face_id| FibChange::Set { prefix: name("/a/b"), face_id, cost: 0 };
    assert_eq!(changes, [set(7), set(1)]);
}

#[test]
fn a_prefix_prefers_its_own_route_over_a_face_and_then_that_of_the_longest_prefix() {
    let mut rig = Rig::new();
    rig.add("/a", route(1, 10, INHERIT));
    rig.add("/a/b", route(1, 20, INHERIT));
    rig.add("/a/b/c", route(2, 30, 0));
    assert_eq!(rig.hops("/a/b/c"), [(1, 20), (2, 30)]);
    rig.add("/a/b/c", route(1, 40, 0));
    assert_eq!(rig.hops("/a/b/c"), [(1, 40), (2, 30)]);
    rig.remove("/a/b/c", 1);
    rig.remove("/a/b", 1);
    assert_eq!(rig.hops("/a/b/c"), [(1, 10), (2, 30)]);
}

#[test]
fn a_captured_prefix_inherits_nothing_and_shields_longer_ones() {
    let mut rig = Rig::new();
    rig.add("/a", route(1, 10, INHERIT));
    rig.add("/a/b", route(2, 20, INHERIT));
    rig.add("/a/b/c", route(3, 30, 0));
    assert_eq!(rig.hops("/a/b/c"), [(1, 10), (2, 20), (3, 30)]);
    rig.add("/a/b", route(2, 20, INHERIT | CAPTURE));
    assert_eq!(rig.hops("/a/b"), [(2, 20)]);
    assert_eq!(rig.hops("/a/b/c"), [(2, 20), (3, 30)]);
    rig.remove("/a/b", 2);
    assert_eq!(rig.hops("/a/b/c"), [(1, 10), (3, 30)]);
}

#[test]
fn of_several_routes_over_one_face_the_cheapest_counts() {
    let mut rig = Rig::new();
    rig.add("/a", route(1, 10, 0));
    rig.add("/a", RibRoute { origin: 65, ..route(1, 5, 0) });
    assert_eq!(rig.hops("/a"), [(1, 5)]);
    let changes = rig.rib.unregister(name("/a").as_view(), 1, 65);
    apply(&mut rig.fib, changes);
    assert_eq!(rig.hops("/a"), [(1, 10)]);
}

#[test]
fn a_route_ends_at_its_time_unless_it_was_renewed() {
    let mut rig = Rig::new();
    let at = Time::from_nanos;
    rig.add("/a", RibRoute { expires: at(10), ..route(1, 1, 0) });
    rig.add("/b", RibRoute { expires: at(20), ..route(1, 1, 0) });
    rig.add("/a", RibRoute { expires: at(30), ..route(1, 1, 0) });
    assert_eq!(rig.rib.next_end(), at(20));
    let changes = rig.rib.expire(at(29));
    apply(&mut rig.fib, changes);
    assert_eq!((rig.hops("/a"), rig.hops("/b")), (vec![(1, 1)], vec![]));
    let changes = rig.rib.expire(at(30));
    apply(&mut rig.fib, changes);
    assert_eq!((rig.fib.len(), rig.rib.len(), rig.rib.next_end()), (0, 0, Time::NEVER));
}

#[test]
fn a_full_rib_takes_no_new_route_but_changes_those_it_has() {
    let mut rib = Rib::new(1);
    assert!(rib.register(name("/a").as_view(), route(1, 1, 0)).is_ok());
    assert!(rib.register(name("/a").as_view(), route(2, 1, 0)).is_err());
    assert!(rib.register(name("/a").as_view(), route(1, 9, 0)).is_ok());
    assert_eq!(rib.len(), 1);
}

#[test]
fn when_a_face_is_removed_each_prefix_is_updated_once_at_any_depth() {
    let mut rib = Rib::new(1000);
    let mut deep = Name::new();
    for _ in 0..30 {
        deep = deep.with(ndnweir_wire::Component::generic("a"));
        rib.register(deep.as_view(), route(1, 1, INHERIT)).unwrap();
    }
    for i in 0..100 {
        let leaf = deep.clone().with(ndnweir_wire::Component::segment(i));
        rib.register(leaf.as_view(), route(2, 1, 0)).unwrap();
    }
    let changes = rib.remove_face(1);
    assert!(changes.iter().all(|change| matches!(change, FibChange::Remove { face_id: 1, .. })));
    assert_eq!((changes.len(), rib.len()), (130, 100));
}

#[derive(Clone, Debug)]
enum Step {
    Add { prefix: String, face: u64, origin: u64, cost: u64, flags: u64, expires: Option<u64> },
    Remove { prefix: String, face: u64, origin: u64 },
    FaceGone(u64),
    Expire(u64),
}

fn prefix() -> impl Strategy<Value = String> {
    prop::collection::vec("[ab]{1,2}", 0..4).prop_map(|parts| format!("/{}", parts.join("/")))
}

fn step() -> impl Strategy<Value = Step> {
    let add = (prefix(), 1u64..4, 0u64..2, 0u64..5, 0u64..4, prop::option::of(0u64..50)).prop_map(
        |(prefix, face, origin, cost, flags, expires)| Step::Add { prefix, face, origin, cost, flags, expires },
    );
    let remove = (prefix(), 1u64..4, 0u64..2).prop_map(|(prefix, face, origin)| Step::Remove { prefix, face, origin });
    prop_oneof![6 => add, 3 => remove, 1 => (1u64..4).prop_map(Step::FaceGone), 1 => (0u64..50).prop_map(Step::Expire)]
}

/// The rules of the protocol read literally: all routes in a flat list, every next hop recomputed.
#[derive(Default)]
struct Model {
    routes: Vec<(String, RibRoute)>,
}

impl Model {
    fn ancestors(prefix: &str) -> Vec<String> {
        let parts: Vec<&str> = prefix.split('/').filter(|part| !part.is_empty()).collect();
        (0..parts.len()).rev().map(|n| format!("/{}", parts[..n].join("/"))).collect()
    }

    fn at<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a RibRoute> + 'a {
        self.routes.iter().filter(move |(p, _)| p == prefix).map(|(_, route)| route)
    }

    fn fib(&self) -> Fib {
        let mut fib = Fib::new();
        for (prefix, _) in &self.routes {
            let mut hops = BTreeMap::new();
            for face in 1..4 {
                let mut levels = vec![(prefix.clone(), true)];
                levels.extend(Model::ancestors(prefix).into_iter().map(|p| (p, false)));
                for (level, own) in levels {
                    let usable = |r: &&RibRoute| r.face_id == face && (own || r.flags & INHERIT != 0);
                    if let Some(cost) = self.at(&level).filter(usable).map(|r| r.cost).min() {
                        hops.insert(face, cost);
                        break;
                    }
                    if self.at(&level).any(|r| r.flags & CAPTURE != 0) {
                        break;
                    }
                }
            }
            fib.insert(prefix.clone(), hops);
        }
        fib
    }
}

proptest! {
    #[test]
    fn after_any_changes_the_next_hops_are_those_of_the_rules(steps in prop::collection::vec(step(), 1..60)) {
        let mut rib = Rib::new(1000);
        let (mut fib, mut model) = (Fib::new(), Model::default());
        for step in steps {
            let changes = match step {
                Step::Add { prefix, face, origin, cost, flags, expires } => {
                    let expires = expires.map_or(Time::NEVER, Time::from_nanos);
                    let route = RibRoute { face_id: face, origin, cost, flags, expires };
                    model.routes.retain(|(p, r)| (p.as_str(), r.face_id, r.origin) != (&prefix, face, origin));
                    model.routes.push((prefix.clone(), route));
                    rib.register(name(&prefix).as_view(), route).unwrap()
                }
                Step::Remove { prefix, face, origin } => {
                    model.routes.retain(|(p, r)| (p.as_str(), r.face_id, r.origin) != (&prefix, face, origin));
                    rib.unregister(name(&prefix).as_view(), face, origin)
                }
                Step::FaceGone(face) => {
                    model.routes.retain(|(_, r)| r.face_id != face);
                    rib.remove_face(face)
                }
                Step::Expire(at) => {
                    model.routes.retain(|(_, r)| r.expires > Time::from_nanos(at));
                    rib.expire(Time::from_nanos(at))
                }
            };
            apply(&mut fib, changes);
            prop_assert_eq!(&fib, &model.fib());
            prop_assert_eq!(rib.len(), model.routes.len());
            let listed: Vec<Name> = rib.list(Time::ZERO).into_iter().map(|entry| entry.name).collect();
            prop_assert!(listed.iter().all(|n| model.at(&n.to_string()).next().is_some()));
        }
    }
}
