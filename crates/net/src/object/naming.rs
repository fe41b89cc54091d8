//! Names of objects, segments and metadata.
//!
//! Sources: NDN naming conventions, revision 3 (technical report NDN-0022), for version and segment components; the RDR
//! protocol (realtime data retrieval) as ndn-tools, NDNts and ndnd implement it for metadata.

use ndnweir_wire::tlv::{Reader, types};
use ndnweir_wire::{Component, DataView, Name, NameView};

/// The keyword component of RDR metadata.
pub const METADATA: &[u8] = b"metadata";

/// Why a Data packet does not give the version of an object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// The content does not begin with a name.
    #[error("metadata {0} does not begin with a name")]
    NoName(Name),
    /// The name is not that of a version of the object requested.
    #[error("metadata of {asked} names {found}, which is not a version of it")]
    NotAVersion {
        /// What was requested.
        asked: Name,
        /// What it names.
        found: Name,
    },
}

/// What to request when the version of `object` is not known.
pub fn discovery_name(object: NameView<'_>) -> Name {
    object.to_owned().with(Component::keyword(METADATA))
}

/// The name of the metadata packet of a version of `object`.
pub fn metadata_name(object: NameView<'_>, version: u64) -> Name {
    discovery_name(object).with(Component::version(version)).with(Component::segment(0))
}

/// The content of the metadata packet of a versioned name.
pub fn metadata_content(versioned: NameView<'_>) -> Vec<u8> {
    versioned.to_owned().encode()
}

/// The versioned name in a metadata packet. What follows the name (FinalBlockId, file size) is not read.
///
/// # Errors
/// [`MetadataError`].
pub fn read_metadata(asked: NameView<'_>, data: &DataView<'_>) -> Result<Name, MetadataError> {
    let no_name = || MetadataError::NoName(data.name().to_owned());
    let element = Reader::new(data.content()).expect(types::NAME).map_err(|_| no_name())?;
    let found = NameView::from_value(element.value).map_err(|_| no_name())?;
    let version = found.last().and_then(|last| last.as_version());
    if version.is_none() || found.parent() != Some(asked) {
        return Err(MetadataError::NotAVersion { asked: asked.to_owned(), found: found.to_owned() });
    }
    Ok(found.to_owned())
}

/// The number of the segment of `versioned` that `name` is; none if it is something else.
pub fn segment_of(versioned: NameView<'_>, name: NameView<'_>) -> Option<u64> {
    let rest = name.as_bytes().strip_prefix(versioned.as_bytes())?;
    let rest = NameView::from_value(rest).ok()?;
    let mut components = rest.components();
    let segment = components.next()?.as_segment()?;
    components.next().is_none().then_some(segment)
}

/// The version at the end of a name, if there is one.
pub fn version_of(name: NameView<'_>) -> Option<u64> {
    name.last().and_then(|last| last.as_version())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_wire::DataBuilder;
    use ndnweir_wire::signature::DigestSha256;

    fn name(uri: &str) -> Name {
        uri.parse().unwrap()
    }

    // Bytes by hand from the packet specification: generic 8, keyword 32 (0x20), segment 50 (0x32), version 54 (0x36).
    #[test]
    fn a_segment_name_has_these_bytes() {
        let versioned = name("/a").with(Component::version(0x0102));
        let segment = versioned.clone().with(Component::segment(3));
        assert_eq!(segment.encode(), [7, 10, 8, 1, b'a', 0x36, 2, 1, 2, 0x32, 1, 3]);
        assert_eq!(segment_of(versioned.as_view(), segment.as_view()), Some(3));
        assert_eq!(segment_of(versioned.as_view(), versioned.as_view()), None);
        assert_eq!(segment_of(versioned.as_view(), segment.with(Component::segment(3)).as_view()), None);
    }

    #[test]
    fn a_metadata_packet_has_this_name_and_this_content() {
        let requested = name("/a");
        // 3 + 10 + 3 + 3 bytes of components.
        let mut expected = vec![7, 19, 8, 1, b'a', 0x20, 8];
        expected.extend(b"metadata");
        expected.extend([0x36, 1, 9, 0x32, 1, 0]);
        assert_eq!(metadata_name(requested.as_view(), 9).encode(), expected);
        assert_eq!(metadata_content(name("/a/v=9").as_view()), [7, 6, 8, 1, b'a', 0x36, 1, 9]);
    }

    fn metadata(content: &[u8]) -> Result<Name, MetadataError> {
        let packet = metadata_name(name("/a").as_view(), 9);
        let data = DataBuilder::new(packet.as_view()).content(content).sign(&DigestSha256).unwrap();
        read_metadata(name("/a").as_view(), &DataView::decode(&data).unwrap())
    }

    #[test]
    fn metadata_may_go_on_after_the_name() {
        // FinalBlockId as ndnd adds it, and a SegmentSize of ndn6-file-server (0xf500).
        let content = [7, 6, 8, 1, b'a', 0x36, 1, 9, 0x1a, 3, 0x32, 1, 7, 0xfd, 0xf5, 0, 1, 80];
        assert_eq!(metadata(&content), Ok(name("/a/v=9")));
    }

    #[test]
    fn metadata_that_names_no_version_of_the_object_is_rejected() {
        assert!(matches!(metadata(b""), Err(MetadataError::NoName(_))));
        assert!(matches!(metadata(&[7, 9, 8]), Err(MetadataError::NoName(_))));
        for elsewhere in ["/a", "/b/v=9", "/a/b/v=9", "/v=9"] {
            let rejected = metadata(&name(elsewhere).encode());
            assert!(matches!(rejected, Err(MetadataError::NotAVersion { .. })), "{elsewhere}");
        }
    }
}
