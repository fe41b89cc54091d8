//! Small numbers that stand for names and faces.
//!
//! A node interns names at ingress (see `ndnweir-node`), so schemes never see components or bytes.

/// A face of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct FaceId(pub u16);

impl FaceId {
    /// No face.
    pub const NONE: FaceId = FaceId(u16::MAX);

    /// As an index into per-face tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A FIB prefix of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct PrefixId(pub u32);

impl PrefixId {
    /// As an index into per-prefix tables.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A flow: one content, that is, a name without its last component (the segment).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct FlowId(pub u32);

/// An interned name: the flow and the segment within it.
///
/// A name that does not end in a segment number below 2³² is a flow of its own with the segment [`NameId::WHOLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, ndnweir_state::Value)]
pub struct NameId {
    /// The name without its last component.
    pub flow: FlowId,
    /// The last component.
    pub segment: u32,
}

impl NameId {
    /// The segment of a name that has none.
    pub const WHOLE: u32 = u32::MAX;

    /// Both parts in one word, for hashing.
    pub const fn key(self) -> u64 {
        (self.flow.0 as u64) << 32 | self.segment as u64
    }
}
