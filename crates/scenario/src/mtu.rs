//! What links carry whole.

use ndnweir_core::units::Bytes;

use super::diag::{Diagnostic, Findings, Location};
use super::fields::Fields;
use super::model::{Link, Run};
use super::network::Network;

/// What most links between forwarders carry whole: that of Ethernet (IEEE 802.3). Links that do not say are compared
/// with it, and carry everything whole all the same.
const ETHERNET_MTU: Bytes = Bytes::new(1500);

/// Bytes by which a packet of a run with growing sizes may exceed the scenario's size.
const GROWTH: Bytes = Bytes::new(2);

/// The key `mtu`.
pub(super) fn read(f: &Fields<'_>) -> Option<Bytes> {
    f.checked("mtu", "write a size from \"64B\" to \"1MB\"", |&bytes: &Bytes| {
        let fits = bytes >= Bytes::new(64) && bytes <= Bytes::new(1_000_000);
        if fits { Ok(()) } else { Err(format!("{bytes} is not an MTU")) }
    })
}

/// Notes the links on which routers would send Data of `payload` in fragments and the simulator does not; reports those
/// that could not carry them at all.
pub(super) fn check(network: &Network, run: &Run, payload: Bytes, whole: &Location, found: &Findings) {
    let largest = run.data_on_wire(payload);
    for (link, place) in network.links.iter().zip(&network.link_places) {
        let Some(mtu) = link.mtu else { continue };
        let most = (payload + run.data_overhead).max(run.interest_size) + GROWTH;
        let frame = Bytes::new(mtu.get().saturating_sub(run.framing.get()));
        let size = u32::try_from(most.get()).unwrap_or(u32::MAX);
        if ndnweir_sim::frames_of(size, frame).is_none() {
            let message = format!("mtu: {mtu} cannot carry packets of {most}, in however many fragments");
            found.error(place, message, "write a larger mtu, or a smaller payload");
        }
    }
    let whole_links: Vec<&Link> = network.links.iter().filter(|link| link.mtu.is_none()).collect();
    let Some(first) = whole_links.first().filter(|_| largest > ETHERNET_MTU) else { return };
    let more = match whole_links.len() {
        1 => String::new(),
        n => format!(" and {} more links", n - 1),
    };
    let message = format!(
        "Data of {largest} exceed the {ETHERNET_MTU} that Ethernet carries; link {}{more} without an mtu: \
         they travel whole",
        first.name
    );
    let help = "write mtu = \"1500B\" for the fragments that a router would send, or a smaller payload".into();
    found.add_notes(vec![Diagnostic { place: whole.clone(), message, help }]);
}
