//! A forwarder that serves gNMI: planned routes are next hops with a cost that was set and that no route makes.

use super::{Forwarder, Held, Wanted};
use crate::failure::Failure;
use ndnweir_control::controller::config::TlsConfig;
use ndnweir_control::controller::mirror::{FaceView, Mirror};
use ndnweir_control::controller::once::Once;
use ndnweir_wire::Name;
use std::collections::BTreeMap;

pub(super) struct Gnmi {
    router: Once,
    mirror: Mirror,
}

impl Gnmi {
    /// Asks a forwarder, which must have a face to each neighbour.
    pub(super) fn ask(address: &str, tls: Option<&TlsConfig>, wanted: &[Wanted]) -> Result<Gnmi, Failure> {
        let failed = |why: String| Failure::work(format!("{address}: {why}"));
        let mut router = Once::connect(address, tls).map_err(failed)?;
        let mirror = router.read().map_err(failed)?;
        let gnmi = Gnmi { router, mirror };
        match wanted.iter().find(|wanted| gnmi.to(wanted).next().is_none()) {
            None => Ok(gnmi),
            Some(missing) => Err(Failure::input(format!(
                "no face leads to {}, and gNMI makes none: write it as a [[face]] of the forwarder's configuration",
                missing.uris.join(" or ")
            ))),
        }
    }

    /// The faces that lead to a neighbour.
    fn to<'a>(&'a self, wanted: &'a Wanted) -> impl Iterator<Item = u64> + 'a {
        let leads = |face: &FaceView| face.remote.as_ref().is_some_and(|to| wanted.is_by(to));
        self.mirror.faces.iter().filter(move |(_, face)| leads(face)).map(|(&number, _)| number)
    }
}

impl Forwarder for Gnmi {
    fn faces(&self) -> BTreeMap<u64, String> {
        let to = self.mirror.faces.iter();
        to.filter_map(|(&number, face)| Some((number, face.remote.clone()?))).collect()
    }

    fn held(&self) -> Vec<Held> {
        let hops =
            self.mirror.fib.iter().flat_map(|(prefix, hops)| hops.iter().map(move |(face, hop)| (prefix, face, hop)));
        let configured = hops.filter_map(|(prefix, &face, hop)| {
            let (cost, planned) = (u64::from(hop.configured?), hop.route_cost.is_none());
            Some(Held { prefix: prefix.clone(), face, cost, planned })
        });
        configured.collect()
    }

    fn remove(&mut self, surplus: &[(Name, u64)]) -> Result<(), Failure> {
        self.router.unset(surplus).map_err(Failure::work)
    }

    fn add(&mut self, wanted: &[Wanted]) -> Result<(), Failure> {
        let hops: Vec<(Name, u64, u32)> = wanted
            .iter()
            .flat_map(|wanted| self.to(wanted).map(|face| (wanted.prefix.clone(), face, wanted.cost)))
            .collect();
        self.router.set_costs(&hops).map_err(Failure::work)
    }
}
