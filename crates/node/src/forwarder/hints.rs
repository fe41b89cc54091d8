//! ForwardingHint: Interests that are forwarded by a delegation instead of their name.
//!
//! Source: NDN packet specification v0.3, "ForwardingHint"; NFD developer's guide, "Interest processing path".
//!
//! - An Interest with a hint goes by the route to the first delegation that has one; the default route counts as one,
//!   so that in the consumer's region the first delegation decides.
//! - Once a delegation is a prefix of one of this node's regions, the producer's region is reached: the hint is taken
//!   off and the name decides from there on.
//! - Interests for one name with different hints are pending apart (NFD holds them together, and all follow the first
//!   one's hint, which lets anyone misdirect the Interests of others). A Data answers those that were sent to where it
//!   comes from, and the content store knows no hints.
//!
//! Ours: [`MAX_DELEGATIONS`] names of a hint are considered. A name under `/localhost` never leaves this node, so a
//! hint is removed; a delegation under `/localhost` is skipped.

use super::Forwarder;
use super::routes::{elements, is_localhost};
use ndnweir_core::ids::PrefixId;
use ndnweir_wire::interest::delegations;
use ndnweir_wire::{InterestView, Name};

/// How many delegations of a hint count.
pub const MAX_DELEGATIONS: usize = 8;

impl Forwarder {
    /// Sets the regions of this node: an Interest with a delegation that is a prefix of one of them has reached its
    /// producer's region.
    pub fn set_regions(&mut self, regions: Vec<Name>) {
        self.regions = regions;
    }

    /// Whether this Interest is forwarded by its name, in spite of its hint.
    pub(super) fn hint_ends_here(&self, interest: &InterestView<'_>) -> bool {
        let value = interest.forwarding_hint_value();
        if value.is_empty() {
            return false;
        }
        let mut delegations = delegations(value).take(MAX_DELEGATIONS);
        is_localhost(interest.name())
            || delegations.any(|name| self.regions.iter().any(|region| name.is_prefix_of(region.as_view())))
    }

    /// The prefix whose routes an Interest with this hint takes.
    pub(super) fn towards(&self, hint: &[u8]) -> Option<PrefixId> {
        let mut outside = delegations(hint).take(MAX_DELEGATIONS).filter(|name| !is_localhost(*name));
        outside.find_map(|name| self.tree.longest(&elements(name)))
    }
}
