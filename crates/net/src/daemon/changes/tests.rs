use super::*;
use crate::daemon::{Config, RouteSpec};
use crate::face_uri::FaceUri;

/// A forwarder with two next hops for `/a`, of cost 0, and a face without a route; the numbers of these faces.
fn daemon() -> (Daemon, [u64; 3], tempfile::TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let mut config = Config { unix: Some(dir.path().join("s")), ..Config::default() };
    let uris = ["udp4://127.0.0.1:9", "udp4://127.0.0.1:10", "udp4://127.0.0.1:11"];
    let uris = uris.map(|uri| uri.parse::<FaceUri>().unwrap());
    for (at, uri) in uris.iter().enumerate() {
        config.face(uri.clone()).rate = (at == 0).then(|| Rate::from_bps(1_000_000));
        if at < 2 {
            config.routes.push(RouteSpec::new("/a".parse().unwrap(), uri.clone(), 0));
        }
    }
    let daemon = Daemon::new(config).unwrap();
    let faces = uris.map(|uri| daemon.faces.with_uri(&uri).and_then(|id| daemon.faces.number(id)).unwrap());
    (daemon, faces, dir)
}

fn costs(prefix: &str, costs: &[(u64, Option<u32>)]) -> Change {
    Change::Costs { prefix: prefix.parse().unwrap(), costs: costs.iter().copied().collect() }
}

/// By face: the cost in force, that of the routes, and that of the controller.
fn hops(daemon: &mut Daemon, prefix: &str) -> Vec<(u64, u32, Option<u32>, Option<u32>)> {
    let prefix: Name = prefix.parse().unwrap();
    let entry = daemon.fib_report().into_iter().find(|entry| entry.prefix == prefix);
    let mut hops: Vec<_> = entry.map_or(Vec::new(), |entry| entry.hops).into_iter().collect();
    hops.sort_by_key(|hop| hop.face);
    hops.iter().map(|hop| (hop.face, hop.cost, hop.route_cost, hop.configured)).collect()
}

#[test]
fn costs_change_together_and_are_given_back_to_the_routes() {
    let (mut daemon, [a, b, c], _dir) = daemon();
    daemon.apply(&[costs("/a", &[(a, Some(7)), (b, Some(3)), (c, Some(9))])]).unwrap();
    let set = [(a, 7, Some(0), Some(7)), (b, 3, Some(0), Some(3)), (c, 9, None, Some(9))];
    assert_eq!(hops(&mut daemon, "/a"), set);
    daemon.apply(&[costs("/a", &[(a, None), (c, None)])]).unwrap();
    assert_eq!(hops(&mut daemon, "/a"), [(a, 0, Some(0), None), (b, 3, Some(0), Some(3))]);
}

#[test]
fn a_transaction_with_one_wrong_change_changes_nothing() {
    let (mut daemon, [a, b, c], _dir) = daemon();
    daemon.apply(&[costs("/a", &[(b, Some(4))])]).unwrap();
    let strategy = |name: &str| Change::Strategy { prefix: "/a".parse().unwrap(), strategy: Some(name.into()) };
    let before = (hops(&mut daemon, "/a"), daemon.forwarder.choices().count(), daemon.cs.capacity);
    let good = [
        costs("/a", &[(a, Some(1)), (c, Some(2))]),
        costs("/new", &[(c, Some(2))]),
        strategy("asf"),
        Change::Cache(5),
        Change::Rate { face: a, rate: Rate::from_bps(5) },
    ];
    let wrong = [
        (costs("/a", &[(a, Some(1)), (9999, Some(1))]), Obstacle::Missing),
        (costs("/localhost/nfd", &[(a, Some(1))]), Obstacle::Forbidden),
        (costs("/localhost/x", &[(a, Some(1))]), Obstacle::Forbidden),
        (strategy("no-such"), Obstacle::Missing),
        (strategy("asf/no-such~1"), Obstacle::Invalid),
        (Change::Rate { face: b, rate: Rate::from_bps(5) }, Obstacle::Forbidden),
        (Change::Rate { face: 1, rate: Rate::from_bps(5) }, Obstacle::Missing),
        (Change::Strategy { prefix: Name::new(), strategy: None }, Obstacle::Forbidden),
    ];
    for (last, obstacle) in wrong {
        let mut all = good.to_vec();
        all.push(last.clone());
        let rejected = daemon.apply(&all).unwrap_err();
        assert_eq!((rejected.at, rejected.obstacle), (good.len(), obstacle), "{last:?}: {rejected}");
        let after = (hops(&mut daemon, "/a"), daemon.forwarder.choices().count(), daemon.cs.capacity);
        assert_eq!(after, before, "{last:?}");
        assert_eq!(
            (hops(&mut daemon, "/new"), daemon.report().faces[0].rate),
            (vec![], Some(Rate::from_bps(1_000_000)))
        );
    }
    daemon.apply(&good).unwrap();
    assert_eq!((hops(&mut daemon, "/new").len(), daemon.cs.capacity), (1, 5));
}

#[test]
fn a_next_hop_that_a_command_made_survives_a_transaction_that_fails() {
    let (mut daemon, [_, _, c], _dir) = daemon();
    let name: Name = "/by/command".parse().unwrap();
    daemon.set_next_hop(name.as_view(), c, 6).unwrap();
    let rejected = daemon.apply(&[costs("/by/command", &[(c, Some(1))]), costs("/a", &[(1, Some(1))])]);
    assert_eq!(rejected.unwrap_err().at, 1);
    assert_eq!(hops(&mut daemon, "/by/command")[0].1, 6);
}

#[test]
fn jobs_from_other_threads_run_between_packets_and_are_bounded() {
    let (mut daemon, [a, ..], _dir) = daemon();
    let handle = daemon.handle().unwrap();
    let mut taken = 0;
    while handle.post(|daemon| drop(daemon.report())).is_ok() {
        taken += 1;
    }
    assert_eq!((taken, handle.post(|_| {})), (64, Err(crate::daemon::Unreachable::Busy)));
    let (send, receive) = std::sync::mpsc::channel();
    for _ in 0..20 {
        let end = daemon.clock.now() + ndnweir_core::units::Duration::from_millis(5);
        daemon.run_until(end).unwrap();
    }
    let thread = std::thread::spawn(move || {
        handle.post(move |daemon| send.send(daemon.report().faces[0].status.face_id).unwrap())
    });
    thread.join().unwrap().unwrap();
    let end = daemon.clock.now() + ndnweir_core::units::Duration::from_millis(50);
    daemon.run_until(end).unwrap();
    assert_eq!(receive.try_recv(), Ok(a));
    drop(daemon);
}
