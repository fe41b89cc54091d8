//! A router that is asked and changed once, over gNMI, by a command that ends.

use super::config::TlsConfig;
use super::mirror::Mirror;
use super::session::{MAX_MESSAGE, PATIENCE, cost_of, cost_update, endpoint, path, reason, tls};
use crate::proto::gnmi::g_nmi_client::GNmiClient;
use crate::proto::gnmi::{Encoding, GetRequest, Path, SetRequest, Update};
use ndnweir_wire::Name;
use tokio::runtime::Runtime;
use tonic::transport::Channel;

/// Leaves of one Set: what a router takes in a request of 4 MiB, with prefixes of 400 bytes.
const LEAVES: usize = 8192;

/// A connection to one router.
#[derive(Debug)]
pub struct Once {
    runtime: Runtime,
    client: GNmiClient<Channel>,
}

impl Once {
    /// Connects to a router, given as host and port.
    ///
    /// # Errors
    /// Why it cannot be reached, for people.
    pub fn connect(address: &str, config: Option<&TlsConfig>) -> Result<Once, String> {
        let secured = config.map(tls).transpose()?;
        let endpoint = endpoint(address, secured.as_ref())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let channel = runtime.block_on(endpoint.connect()).map_err(|error| reason(&error))?;
        let client = GNmiClient::new(channel).max_decoding_message_size(MAX_MESSAGE);
        Ok(Once { runtime, client })
    }

    /// Its faces, and its next hops with what was set for them.
    ///
    /// # Errors
    /// What the router says, for people.
    pub fn read(&mut self) -> Result<Mirror, String> {
        let leaves = [
            "/ndn/faces/face/state/remote-uri",
            "/ndn/fib/entry/next-hop/config/cost",
            "/ndn/fib/entry/next-hop/state/cost",
            "/ndn/fib/entry/next-hop/state/route-cost",
        ];
        let path = leaves.map(path).to_vec();
        let mut request =
            tonic::Request::new(GetRequest { path, encoding: Encoding::Proto.into(), ..GetRequest::default() });
        request.set_timeout(PATIENCE);
        let answer = self.runtime.block_on(self.client.get(request)).map_err(|status| status.message().to_owned())?;
        let mut mirror = Mirror::default();
        for notification in &answer.into_inner().notification {
            mirror.take(notification);
        }
        Ok(mirror)
    }

    /// Takes away what was set for next hops: one that no route makes ends.
    ///
    /// # Errors
    /// What the router says, for people. What went before, in parts of some thousands, stays.
    pub fn unset(&mut self, hops: &[(Name, u64)]) -> Result<(), String> {
        let paths: Vec<Path> = hops.iter().map(|(prefix, face)| cost_of(prefix, *face)).collect();
        paths
            .chunks(LEAVES)
            .try_for_each(|part| self.set(SetRequest { delete: part.to_vec(), ..SetRequest::default() }))
    }

    /// Sets costs of next hops, which makes those that are none yet.
    ///
    /// # Errors
    /// As [`Once::unset`].
    pub fn set_costs(&mut self, hops: &[(Name, u64, u32)]) -> Result<(), String> {
        let updates: Vec<Update> = hops.iter().map(|(prefix, face, cost)| cost_update(prefix, *face, *cost)).collect();
        updates
            .chunks(LEAVES)
            .try_for_each(|part| self.set(SetRequest { update: part.to_vec(), ..SetRequest::default() }))
    }

    fn set(&mut self, request: SetRequest) -> Result<(), String> {
        let mut request = tonic::Request::new(request);
        request.set_timeout(PATIENCE);
        let answer = self.runtime.block_on(self.client.set(request));
        answer.map(drop).map_err(|status| status.message().to_owned())
    }
}
