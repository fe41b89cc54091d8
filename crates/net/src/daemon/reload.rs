//! A configuration that is read again: checked before anything changes, applied, and taken back if that fails.

use super::config::{ConfigError, FaceSpec};
use super::faces::Transport;
use super::{Config, Daemon, RunError};
use crate::address;
use crate::face_uri::FaceUri;
use crate::mgmt::MAX_PREFIX_COMPONENTS;
use crate::mgmt::dataset::Persistency;
use ndnweir_core::registry::StrategyParams;
use ndnweir_core::scheme::ComponentChoice;
use ndnweir_core::units::Time;
use ndnweir_node::forwarder::MAX_HOPS;
use ndnweir_wire::{Component, Name};
use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;

/// Where the hosts of faces are.
pub(super) type Peers = HashMap<FaceUri, SocketAddr>;

/// A configuration that is not in force.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// Nothing has changed.
    #[error("{0}; the configuration stays as it was")]
    Rejected(RunError),
    /// It failed while it was applied, and some of what it was before could not be restored.
    #[error("{error}; what it was before is not restored entirely: {left}")]
    Partly {
        /// Why it failed.
        error: RunError,
        /// What is not as it was.
        left: String,
    },
}

/// Finds the host of a face that is to be made.
///
/// # Errors
/// If the name does not resolve.
pub(super) fn resolve(face: &FaceSpec, peers: &mut Peers) -> Result<(), RunError> {
    let failed = |error| RunError::Socket { what: face.to_string(), error, remedy: "" };
    let peer = address::of(&face.uri).map_err(failed)?;
    peers.extend(peer.map(|peer| (face.uri.clone(), peer)));
    Ok(())
}

/// Checks what the forwarder would say to the faces and routes of a configuration, with the hosts of its faces. There
/// may be so many prefixes with routes.
///
/// # Errors
/// What is wrong, with its place.
pub(super) fn check(config: &Config, peers: &Peers, own: &[Name], prefixes: usize) -> Result<(), ConfigError> {
    if let Some(error) = &config.unknown_user {
        return Err(error.clone());
    }
    let mut known: HashMap<SocketAddr, &FaceSpec> = HashMap::new();
    for face in config.faces.iter().filter(|face| matches!(face.uri, FaceUri::Udp(..))) {
        let other = peers.get(&face.uri).and_then(|peer| known.insert(*peer, face));
        if let Some(FaceSpec { uri: other, .. }) = other {
            return Err(face.at.error(format!("the faces {other} and {} lead to the same place", face.uri)));
        }
    }
    let localhost = Name::new().with(Component::generic("localhost"));
    let is_local = |uri: &FaceUri| match uri {
        FaceUri::Unix(_) => true,
        FaceUri::Udp(..) => false,
        FaceUri::Tcp(..) => peers.get(uri).is_some_and(|peer| peer.ip().is_loopback()),
    };
    let mut hops: BTreeMap<&Name, usize> = own.iter().map(|name| (name, 1)).collect();
    for route in &config.routes {
        let prefix = route.prefix.as_view();
        let why = if prefix.len() > MAX_PREFIX_COMPONENTS {
            format!("a prefix cannot have more than {MAX_PREFIX_COMPONENTS} components")
        } else if own.iter().any(|own| own.as_view().is_prefix_of(prefix)) {
            "names under this prefix belong to the forwarder's management".to_owned()
        } else if localhost.as_view().is_prefix_of(prefix) && !is_local(&route.to) {
            "names under /localhost may not leave this node".to_owned()
        } else {
            let count = hops.entry(&route.prefix).or_default();
            *count += 1;
            match (*count > MAX_HOPS, hops.len() > prefixes) {
                (true, _) => format!("a prefix has {MAX_HOPS} next hops at most"),
                (_, true) => format!("there may be {prefixes} prefixes with routes: raise `prefixes`"),
                _ => continue,
            }
        };
        return Err(route.at.error(format!("route {}: {why}", route.prefix)));
    }
    Ok(())
}

/// Strategies of prefixes, and whether they are shaped.
type Choices = Vec<(Name, ComponentChoice<StrategyParams>, bool)>;

impl Daemon {
    /// Applies the faces, routes, strategies, regions and users of another configuration. Everything else stays as it
    /// is until the next start; the names of settings of which that is true.
    ///
    /// # Errors
    /// If the configuration cannot be used; then nothing has changed, unless the error says so.
    pub fn reload(&mut self, mut config: Config) -> Result<Vec<&'static str>, ReloadError> {
        let peers = self.prepare(&mut config).map_err(ReloadError::Rejected)?;
        let (now, kept) = (self.clock.now(), self.config.kept_until_restart(&config));
        let strategies = self.choices();
        let faces = config.faces.iter().chain(&self.config.faces).map(|face| &face.uri);
        let faces: Vec<FaceUri> = faces.filter(|uri| self.faces.with_uri(uri).is_some()).cloned().collect();
        if let Err(error) = self.take_over(now, &config, &peers) {
            let left = self.take_back(now, &config, &strategies, &faces);
            return Err(match left.is_empty() {
                true => ReloadError::Rejected(error),
                false => ReloadError::Partly { error, left: left.join(", ") },
            });
        }
        tracing::info!(faces = config.faces.len(), routes = config.routes.len(), "configuration read again");
        self.users.forget();
        self.config.scheme.choices = config.scheme.choices;
        self.config.scheme.parts.strategy = config.scheme.parts.strategy;
        (self.config.faces, self.config.routes) = (config.faces, config.routes);
        (self.config.regions, self.config.allow_local) = (config.regions, config.allow_local);
        Ok(kept)
    }

    /// Whether the face to a URI is to be made: it is not there, or has other settings.
    fn is_changed(&self, face: &FaceSpec) -> bool {
        let old = self.config.faces.iter().find(|old| old.uri == face.uri);
        self.faces.with_uri(&face.uri).is_none() || old.is_some_and(|old| old != face)
    }

    /// Checks all that can be checked before anything changes.
    fn prepare(&mut self, config: &mut Config) -> Result<Peers, RunError> {
        config.complete()?;
        self.check_strategies(&config.scheme)?;
        let mut peers = Peers::new();
        for face in &config.faces {
            if self.is_changed(face) {
                resolve(face, &mut peers)?;
                continue;
            }
            let link = self.faces.with_uri(&face.uri).and_then(|id| self.faces.get(id));
            let peer = link.and_then(|link| match &link.transport {
                Transport::Udp { peer, .. } => Some(*peer),
                // Where it leads does not matter, only whether that is this machine.
                _ => link.local.then_some(SocketAddr::from(([127, 0, 0, 1], 0))),
            });
            peers.extend(peer.map(|peer| (face.uri.clone(), peer)));
        }
        let own = self.with_management(|management, _| management.prefixes()).unwrap_or_default();
        check(config, &peers, &own, self.config.prefixes)?;
        for face in config.faces.iter().filter(|face| matches!(face.uri, FaceUri::Udp(..))) {
            if let Some(peer) = peers.get(&face.uri) {
                self.ports.port_for(*peer).map_err(|error| RunError::socket(face.to_string(), error))?;
            }
        }
        Ok(peers)
    }

    /// New faces come first, and faces that end last: what can fail leaves nothing to be made again.
    fn take_over(&mut self, now: Time, new: &Config, peers: &Peers) -> Result<(), RunError> {
        self.take_over_strategies(now, &new.scheme)?;
        let (old_faces, old_routes) = (self.config.faces.clone(), self.config.routes.clone());
        let ending: Vec<&FaceSpec> = old_faces.iter().filter(|face| !new.faces.contains(face)).collect();
        for face in &new.faces {
            if self.faces.with_uri(&face.uri).is_none() && !self.leads_where(&ending, peers.get(&face.uri)) {
                self.add_configured(face, peers)?;
            }
        }
        for route in old_routes.iter().filter(|route| !new.routes.contains(route)) {
            self.remove_configured_route(route);
        }
        for route in &new.routes {
            if self.faces.with_uri(&route.to).is_some() {
                self.add_configured_route(route)?;
            }
        }
        for face in ending {
            if let Some(id) = self.faces.with_uri(&face.uri) {
                self.close(now, id, "no longer configured");
            }
        }
        // Those with other settings, or another word for the same host.
        for face in &new.faces {
            if self.faces.with_uri(&face.uri).is_none() {
                self.add_configured(face, peers)?;
                for route in new.routes.iter().filter(|route| route.to == face.uri) {
                    self.add_configured_route(route)?;
                }
            }
        }
        for face in &new.faces {
            if let Some(id) = self.faces.with_uri(&face.uri) {
                self.adopt(id, Persistency::Permanent);
            }
        }
        self.forwarder.set_regions(new.regions.clone());
        Ok(())
    }

    /// Whether one of some faces leads to a UDP peer.
    fn leads_where(&self, faces: &[&FaceSpec], to: Option<&SocketAddr>) -> bool {
        faces.iter().any(|face| {
            let link = self.faces.with_uri(&face.uri).and_then(|id| self.faces.get(id));
            link.is_some_and(|link| matches!(&link.transport, Transport::Udp { peer, .. } if Some(peer) == to))
        })
    }

    fn choices(&self) -> Choices {
        let choices = self.forwarder.choices();
        choices.map(|(name, chosen)| (name.to_owned(), chosen.strategy.clone(), chosen.shaped)).collect()
    }

    /// Undoes what another configuration has changed before it failed, with the strategies and faces that there were;
    /// what could not be undone.
    fn take_back(&mut self, now: Time, new: &Config, strategies: &Choices, before: &[FaceUri]) -> Vec<String> {
        let mut left = Vec::new();
        let present = self.choices();
        for (prefix, ..) in present.iter().filter(|(prefix, ..)| strategies.iter().all(|old| old.0 != *prefix)) {
            self.forwarder.unset_strategy(prefix.as_view());
        }
        for (prefix, strategy, shaped) in strategies.iter().filter(|choice| !present.contains(choice)) {
            if let Err(why) = self.forwarder.choose(now, prefix.as_view(), strategy, Some(*shaped)) {
                left.push(format!("the strategy of {prefix} ({why})"));
            }
        }
        let (faces, routes) = (self.config.faces.clone(), self.config.routes.clone());
        for route in new.routes.iter().filter(|route| !routes.contains(route)) {
            self.remove_configured_route(route);
        }
        for face in new.faces.iter().filter(|face| !before.contains(&face.uri)) {
            if let Some(id) = self.faces.with_uri(&face.uri) {
                self.close(now, id, "its configuration is taken back");
            }
        }
        for face in faces.iter().filter(|face| before.contains(&face.uri)) {
            if self.faces.with_uri(&face.uri).is_some() {
                continue;
            }
            let mut peers = Peers::new();
            let made = resolve(face, &mut peers).and_then(|()| self.add_configured(face, &peers));
            left.push(match made {
                Ok(_) => format!("the face {} is a new one", face.uri),
                Err(why) => why.to_string(),
            });
        }
        for route in routes.iter().filter(|route| before.contains(&route.to)) {
            if let Err(why) = self.add_configured_route(route) {
                left.push(why.to_string());
            }
        }
        left
    }
}

#[cfg(test)]
mod tests;
