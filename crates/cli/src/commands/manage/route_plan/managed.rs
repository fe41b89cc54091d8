//! A forwarder that speaks NFD's management protocol: planned routes have an origin of their own.

use super::{Forwarder, Held, Wanted};
use crate::commands::manage::origins::PLAN;
use crate::commands::manage::{PATIENCE, create_face};
use crate::failure::Failure;
use ndnweir_control::controller::config::ManagedConfig;
use ndnweir_net::keys;
use ndnweir_net::mgmt::ControlParameters;
use ndnweir_net::mgmt::dataset::{FaceStatus, RibEntry};
use ndnweir_net::remote::Remote;
use ndnweir_wire::Name;
use ndnweir_wire::signature::{DigestSha256, Signer};
use std::collections::BTreeMap;

pub(super) struct Managed {
    remote: Remote,
    faces: Vec<FaceStatus>,
    entries: Vec<RibEntry>,
}

impl Managed {
    pub(super) fn ask(config: &ManagedConfig) -> Result<Managed, Failure> {
        let signer: Box<dyn Signer + Send> = match &config.key {
            None => Box::new(DigestSha256),
            Some((file, name)) => keys::private(file, name.clone()).map_err(Failure::input)?,
        };
        let mut remote = Remote::connect(&config.uri, signer, PATIENCE)?;
        let faces = remote.list("faces", "list")?;
        let entries = remote.list("rib", "list")?;
        Ok(Managed { remote, faces, entries })
    }
}

impl Forwarder for Managed {
    fn faces(&self) -> BTreeMap<u64, String> {
        self.faces.iter().map(|face| (face.face_id, face.remote_uri.clone())).collect()
    }

    fn held(&self) -> Vec<Held> {
        let of = |entry: &RibEntry| {
            let planned = entry.routes.iter().filter(|route| route.origin == PLAN);
            let held = |cost, face| Held { prefix: entry.name.clone(), face, cost, planned: true };
            planned.map(|route| held(route.cost, route.face_id)).collect::<Vec<_>>()
        };
        self.entries.iter().flat_map(of).collect()
    }

    fn remove(&mut self, surplus: &[(Name, u64)]) -> Result<(), Failure> {
        for (prefix, face) in surplus {
            let parameters = ControlParameters {
                face_id: Some(*face),
                origin: Some(PLAN),
                ..ControlParameters::of_name(prefix.clone())
            };
            self.remote.command("rib", "unregister", &parameters)?;
        }
        Ok(())
    }

    /// Faces that are missing are made. Routes are not inherited by longer prefixes, whose own plan is another.
    fn add(&mut self, wanted: &[Wanted]) -> Result<(), Failure> {
        for wanted in wanted {
            let there = self.faces.iter().filter(|face| wanted.is_by(&face.remote_uri)).map(|face| face.face_id);
            let mut faces: Vec<u64> = there.collect();
            if let (true, Some(uri)) = (faces.is_empty(), wanted.uris.first()) {
                let parameters = ControlParameters { uri: Some(uri.clone()), ..ControlParameters::default() };
                let (_, face) = create_face(&mut self.remote, &parameters)?;
                let missing = || Failure::work("the forwarder does not say which face it created");
                faces.push(face.face_id.ok_or_else(missing)?);
            }
            for face in faces {
                let parameters = ControlParameters {
                    face_id: Some(face),
                    origin: Some(PLAN),
                    cost: Some(u64::from(wanted.cost)),
                    flags: Some(0),
                    ..ControlParameters::of_name(wanted.prefix.clone())
                };
                self.remote.command("rib", "register", &parameters)?;
            }
        }
        Ok(())
    }
}
