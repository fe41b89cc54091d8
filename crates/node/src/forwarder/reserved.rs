//! Prefixes that belong to one face: the management of this node, and nobody who only says so.

use super::Forwarder;
use ndnweir_core::ids::FaceId;
use ndnweir_wire::{Name, NameView};

impl Forwarder {
    /// Gives a prefix to a face: Interests under it go there and to no other, Data under it come from there and from no
    /// other, and none of them is cached. [`FaceId::NONE`] gives it to nobody.
    pub fn reserve(&mut self, prefix: Name, face: FaceId) {
        self.reserved.retain(|(known, _)| *known != prefix);
        self.reserved.push((prefix, face));
    }

    /// The face to which the names under a reserved prefix belong; none where anybody may have them.
    pub(super) fn owner_of(&self, name: NameView<'_>) -> Option<FaceId> {
        self.reserved.iter().find(|(prefix, _)| prefix.as_view().is_prefix_of(name)).map(|(_, face)| *face)
    }
}
