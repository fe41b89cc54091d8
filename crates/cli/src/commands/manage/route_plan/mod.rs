//! `ndnweir route plan`: the routes of a scenario, shown, or installed at its forwarders.

mod gnmi;
mod managed;

use super::canonical;
use super::table::table;
use crate::commands::{control, print, print_json};
use crate::failure::Failure;
use crate::terminal::say;
use ndnweir_control::controller::config::{ControlConfig, RouterConfig};
use ndnweir_lab::experiment::routes;
use ndnweir_scenario::{Routes, Scenario};
use ndnweir_wire::Name;
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
        for (router, wanted) in config.routers.iter().zip(wanted) {
            let at = |failure: Failure| failure.at(&router.name);
            routers.push((router, Router::ask(&config, router, wanted).map_err(at)?));
        }
        if !dry_run {
            for (config, Router { forwarder, surplus, .. }) in &mut routers {
                forwarder.remove(surplus).map_err(|failure| failure.at(&config.name))?;
            }
            for (config, Router { forwarder, wanted, .. }) in &mut routers {
                forwarder.add(wanted).map_err(|failure| failure.at(&config.name))?;
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
            Ok(Wanted { prefix, uris, cost: route.cost })
        };
        self.routes.iter().filter(|route| route.node == router.name).map(wanted).collect()
    }
}

/// A next hop that a forwarder should have.
struct Wanted {
    prefix: Name,
    /// Where the neighbour is.
    uris: Vec<String>,
    cost: u32,
}

impl Wanted {
    /// Whether a face to there leads to the neighbour.
    fn is_by(&self, uri: &str) -> bool {
        self.uris.iter().any(|known| known == uri)
    }
}

/// A next hop that a forwarder has.
struct Held {
    prefix: Name,
    face: u64,
    cost: u64,
    /// Of an earlier plan, so that it goes where it is not wanted.
    planned: bool,
}

/// How a forwarder takes routes.
trait Forwarder {
    /// Where its faces lead, by number.
    fn faces(&self) -> BTreeMap<u64, String>;

    fn held(&self) -> Vec<Held>;

    fn remove(&mut self, surplus: &[(Name, u64)]) -> Result<(), Failure>;

    fn add(&mut self, wanted: &[Wanted]) -> Result<(), Failure>;
}

/// A forwarder with what is to change there.
struct Router {
    forwarder: Box<dyn Forwarder>,
    wanted: Vec<Wanted>,
    /// Routes that are no longer planned.
    surplus: Vec<(Name, u64)>,
    /// Planned routes that are there already.
    kept: usize,
}

impl Router {
    fn ask(config: &ControlConfig, router: &RouterConfig, wanted: Vec<Wanted>) -> Result<Router, Failure> {
        let forwarder: Box<dyn Forwarder> = match &router.managed {
            Some(managed) => Box::new(managed::Managed::ask(managed)?),
            None => Box::new(gnmi::Gnmi::ask(&router.address, config.tls.as_ref(), &wanted)?),
        };
        let to = forwarder.faces();
        let cost = |prefix: &Name, face: u64| {
            let leads = |wanted: &&Wanted| wanted.prefix == *prefix && to.get(&face).is_some_and(|to| wanted.is_by(to));
            wanted.iter().find(leads).map(|wanted| u64::from(wanted.cost))
        };
        let (mut surplus, mut kept) = (Vec::new(), 0);
        for held in forwarder.held() {
            match cost(&held.prefix, held.face) {
                Some(cost) => kept += usize::from(cost == held.cost),
                None if held.planned => surplus.push((held.prefix, held.face)),
                None => {}
            }
        }
        Ok(Router { forwarder, wanted, surplus, kept })
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
