//! `ndnweir route plan`: the routes of a scenario, shown, or installed at its forwarders.

use super::origins::PLAN;
use super::table::table;
use super::{PATIENCE, canonical, create_face};
use crate::commands::{control, print, print_json};
use crate::failure::Failure;
use crate::terminal::say;
use ndnweir_control::controller::config::{ControlConfig, RouterConfig};
use ndnweir_lab::experiment::routes;
use ndnweir_net::keys;
use ndnweir_net::mgmt::ControlParameters;
use ndnweir_net::mgmt::dataset::{FaceStatus, RibEntry};
use ndnweir_net::remote::Remote;
use ndnweir_scenario::{Routes, Scenario};
use ndnweir_wire::Name;
use ndnweir_wire::signature::{DigestSha256, Signer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A route, by names of nodes.
struct Planned {
    node: String,
    prefix: String,
    neighbour: String,
    cost: u32,
}

pub(super) struct Plan {
    /// Names of all nodes.
    nodes: BTreeSet<String>,
    routes: Vec<Planned>,
}

impl Plan {
    pub(super) fn new(scenario: &Scenario, down: &[String]) -> Result<Plan, Failure> {
        if scenario.routing.routes == Routes::None {
            let message =
                "routing.mode is \"none\", which gives no routes; choose another, e.g. --set routing.mode=planned";
            return Err(Failure::input(message));
        }
        let position = |name: &String| {
            let found = scenario.links.iter().position(|link| link.name == *name);
            found.ok_or_else(|| {
                let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).take(10).collect();
                Failure::input(format!("--down {name}: there is no such link; there are {}", names.join(", ")))
            })
        };
        let down = down.iter().map(position).collect::<Result<Vec<_>, _>>()?;
        let name = |node: usize| scenario.nodes[node].name.clone();
        let planned = routes(scenario, &down).map_err(Failure::input)?.into_iter().map(|route| Planned {
            node: name(route.node),
            prefix: route.prefix,
            neighbour: name(route.neighbour),
            cost: route.cost,
        });
        Ok(Plan { nodes: scenario.nodes.iter().map(|node| node.name.clone()).collect(), routes: planned.collect() })
    }

    pub(super) fn show(&self, as_json: bool) -> Result<(), Failure> {
        if as_json {
            let row = |route: &Planned| {
                let Planned { node, prefix, neighbour, cost } = route;
                json!({ "node": node, "prefix": prefix, "neighbour": neighbour, "cost": cost })
            };
            return print_json(&self.routes.iter().map(row).collect());
        }
        let row = |route: &Planned| {
            [route.node.clone(), route.prefix.clone(), route.neighbour.clone(), route.cost.to_string()]
        };
        let rows: Vec<_> = self.routes.iter().map(row).collect();
        print(&table(["NODE", "PREFIX", "NEIGHBOUR", "COST"], &[3], &rows))
    }

    /// Makes the forwarders' routes those of the plan. All forwarders are asked before anything changes, and what is no
    /// longer planned is removed everywhere before anything is added: old next hops alone form no loop, nor do new ones,
    /// and those that are both fit either.
    pub(super) fn install(&self, file: &Path, dry_run: bool, as_json: bool) -> Result<(), Failure> {
        let config = control::configuration(file)?;
        if let Some(router) = config.routers.iter().find(|router| !self.nodes.contains(&router.name)) {
            let name = &router.name;
            return Err(Failure::input(format!("{}: router {name} is no node of the scenario", file.display())));
        }
        let known: BTreeSet<&str> = config.routers.iter().map(|router| router.name.as_str()).collect();
        let left: BTreeSet<&str> =
            self.routes.iter().map(|route| route.node.as_str()).filter(|node| !known.contains(node)).collect();
        if !left.is_empty() {
            let names = left.into_iter().collect::<Vec<_>>().join(", ");
            say(format_args!("note: {} has no router {names}; their routes are not installed", file.display()));
        }
        let wanted = config.routers.iter().map(|router| self.wanted(&config, router)).collect::<Result<Vec<_>, _>>()?;
        let mut routers = Vec::new();
        // A router that is led over gNMI never had planned routes, and need not have any.
        let concerned =
            |(router, wanted): &(&RouterConfig, Vec<Wanted>)| router.managed.is_some() || !wanted.is_empty();
        for (router, wanted) in config.routers.iter().zip(wanted).filter(concerned) {
            let at = |failure: Failure| failure.at(&router.name);
            routers.push((router, Router::ask(router, wanted).map_err(at)?));
        }
        if !dry_run {
            for (router, forwarder) in &mut routers {
                forwarder.remove().map_err(|failure| failure.at(&router.name))?;
            }
            for (router, forwarder) in &mut routers {
                forwarder.add().map_err(|failure| failure.at(&router.name))?;
            }
        }
        report(&routers, as_json)
    }

    /// What a router should have: by prefix, URIs of the neighbour with the cost.
    fn wanted(&self, config: &ControlConfig, router: &RouterConfig) -> Result<Vec<Wanted>, Failure> {
        let wanted = |route: &Planned| {
            let neighbour = config.routers.iter().find(|other| other.name == route.neighbour);
            let uris = neighbour.map_or(&[][..], |other| other.uris.as_slice());
            if uris.is_empty() {
                return Err(Failure::input(format!(
                    "{} has a next hop {}, and nothing says where that is: give the router {} its uris",
                    router.name, route.neighbour, route.neighbour
                )));
            }
            let uri = |text: &String| Ok(canonical(text)?.to_string());
            let uris = uris.iter().map(uri).collect::<Result<_, Failure>>()?;
            let prefix = route.prefix.parse().map_err(Failure::input)?;
            Ok(Wanted { prefix, uris, cost: u64::from(route.cost) })
        };
        self.routes.iter().filter(|route| route.node == router.name).map(wanted).collect()
    }
}

/// A next hop that a forwarder should have.
struct Wanted {
    prefix: Name,
    /// Where the neighbour is.
    uris: Vec<String>,
    cost: u64,
}

/// A forwarder with what is to change there.
struct Router {
    remote: Remote,
    wanted: Vec<Wanted>,
    faces: Vec<FaceStatus>,
    /// Routes that are no longer planned.
    surplus: Vec<(Name, u64)>,
    /// Planned routes that are there already.
    kept: usize,
}

impl Router {
    fn ask(config: &RouterConfig, wanted: Vec<Wanted>) -> Result<Router, Failure> {
        let Some(managed) = &config.managed else {
            let remedy = "write management = \"unix:///run/nfd/nfd.sock\" instead of address";
            return Err(Failure::input(format!("gNMI sets costs of routes and makes none: {remedy}")));
        };
        let signer: Box<dyn Signer + Send> = match &managed.key {
            None => Box::new(DigestSha256),
            Some((file, name)) => keys::private(file, name.clone()).map_err(Failure::input)?,
        };
        let mut remote = Remote::connect(&managed.uri, signer, PATIENCE)?;
        let faces: Vec<FaceStatus> = remote.list("faces", "list")?;
        let entries: Vec<RibEntry> = remote.list("rib", "list")?;
        // The URI by which a face leads to a neighbour, and all costs that are wanted there.
        let to: BTreeMap<u64, &str> = faces.iter().map(|face| (face.face_id, face.remote_uri.as_str())).collect();
        let costs = |prefix: &Name, face: u64| {
            let leads = |wanted: &&Wanted| {
                wanted.prefix == *prefix && to.get(&face).is_some_and(|to| wanted.uris.iter().any(|uri| uri == to))
            };
            wanted.iter().find(leads).map(|wanted| wanted.cost)
        };
        let (mut surplus, mut kept) = (Vec::new(), 0);
        for entry in &entries {
            for route in entry.routes.iter().filter(|route| route.origin == PLAN) {
                match costs(&entry.name, route.face_id) {
                    Some(cost) => kept += usize::from(cost == route.cost),
                    None => surplus.push((entry.name.clone(), route.face_id)),
                }
            }
        }
        Ok(Router { remote, wanted, faces, surplus, kept })
    }

    fn remove(&mut self) -> Result<(), Failure> {
        for (prefix, face) in &self.surplus {
            let parameters = ControlParameters {
                face_id: Some(*face),
                origin: Some(PLAN),
                ..ControlParameters::of_name(prefix.clone())
            };
            self.remote.command("rib", "unregister", &parameters)?;
        }
        Ok(())
    }

    /// Sets all planned routes. They are not inherited by longer prefixes, whose own plan is another.
    fn add(&mut self) -> Result<(), Failure> {
        for Wanted { prefix, uris, cost } in &self.wanted {
            let there = self.faces.iter().filter(|face| uris.contains(&face.remote_uri)).map(|face| face.face_id);
            let mut faces: Vec<u64> = there.collect();
            if let (true, Some(uri)) = (faces.is_empty(), uris.first()) {
                let parameters = ControlParameters { uri: Some(uri.clone()), ..ControlParameters::default() };
                let (_, face) = create_face(&mut self.remote, &parameters)?;
                let missing = || Failure::work("the forwarder does not say which face it created");
                faces.push(face.face_id.ok_or_else(missing)?);
            }
            for face in faces {
                let parameters = ControlParameters {
                    face_id: Some(face),
                    origin: Some(PLAN),
                    cost: Some(*cost),
                    flags: Some(0),
                    ..ControlParameters::of_name(prefix.clone())
                };
                self.remote.command("rib", "register", &parameters)?;
            }
        }
        Ok(())
    }
}

fn report(routers: &[(&RouterConfig, Router)], as_json: bool) -> Result<(), Failure> {
    let counts = |router: &Router| (router.wanted.len(), router.kept, router.surplus.len());
    if as_json {
        let row = |(config, router): &(&RouterConfig, Router)| {
            let (planned, kept, removed) = counts(router);
            json!({ "router": config.name, "planned": planned, "already_there": kept, "removed": removed })
        };
        return print_json(&Value::from_iter(routers.iter().map(row)));
    }
    let row = |(config, router): &(&RouterConfig, Router)| {
        let (planned, kept, removed) = counts(router);
        [config.name.clone(), planned.to_string(), kept.to_string(), removed.to_string()]
    };
    let rows: Vec<_> = routers.iter().map(row).collect();
    print(&table(["ROUTER", "PLANNED", "THERE BEFORE", "REMOVED"], &[1, 2, 3], &rows))
}
