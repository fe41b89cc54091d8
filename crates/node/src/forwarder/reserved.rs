//! Prefixes reserved for one face, such as that of the management of this node.

use super::Forwarder;
use ndnweir_core::ids::FaceId;
use ndnweir_wire::{Name, NameView};

impl Forwarder {
    /// Reserves a prefix for a face: Interests under it are forwarded to that face only, Data under it are accepted
    /// from that face only, and none of them is cached. With [`FaceId::NONE`] no face has it.
    pub fn reserve(&mut self, prefix: Name, face: FaceId) {
        self.reserved.retain(|(known, _)| *known != prefix);
        self.reserved.push((prefix, face));
    }

    /// The face for which the names are reserved; none where they are not.
    pub(super) fn owner_of(&self, name: NameView<'_>) -> Option<FaceId> {
        self.reserved.iter().find(|(prefix, _)| prefix.as_view().is_prefix_of(name)).map(|(_, face)| *face)
    }
}
