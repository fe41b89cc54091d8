//! Values of header fields that are more than a number.

use core::ops::Deref;

use super::{is_assigned, is_ignorable};
use crate::error::EncodeError;

/// Opaque bytes that a node attaches to an Interest and gets back with its answer: 1 to 32 (NDNLPv2, "PIT Token").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PitToken {
    len: u8,
    bytes: [u8; 32],
}

impl PitToken {
    /// A token of 1 to 32 bytes.
    ///
    /// # Errors
    /// [`EncodeError::PitTokenLength`].
    pub fn new(token: &[u8]) -> Result<Self, EncodeError> {
        let mut bytes = [0; 32];
        match bytes.get_mut(..token.len()) {
            Some(slot) if !token.is_empty() => slot.copy_from_slice(token),
            _ => return Err(EncodeError::PitTokenLength(token.len())),
        }
        Ok(Self { len: token.len() as u8, bytes })
    }

    /// The token.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// A header field by type and bytes. Up to 8 bytes are held without allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraField {
    typ: u32,
    value: ExtraValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ExtraValue {
    Short { len: u8, bytes: [u8; 8] },
    Long(Box<[u8]>),
}

impl ExtraField {
    fn new(typ: u32, value: &[u8]) -> Self {
        let mut bytes = [0; 8];
        let value = match bytes.get_mut(..value.len()) {
            Some(slot) => {
                slot.copy_from_slice(value);
                ExtraValue::Short { len: value.len() as u8, bytes }
            }
            None => ExtraValue::Long(value.into()),
        };
        Self { typ, value }
    }

    /// TLV-TYPE.
    #[must_use]
    pub const fn typ(&self) -> u32 {
        self.typ
    }

    /// TLV-VALUE.
    #[must_use]
    pub fn value(&self) -> &[u8] {
        match &self.value {
            ExtraValue::Short { len, bytes } => &bytes[..usize::from(*len)],
            ExtraValue::Long(bytes) => bytes,
        }
    }
}

/// Header fields by type and bytes, ascending by type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtraFields(Vec<ExtraField>);

impl ExtraFields {
    /// Sets the field of this type, replacing any that is there.
    ///
    /// # Errors
    /// [`EncodeError::HeaderFieldType`] unless the type is ignorable and not assigned by NDNLPv2.
    pub fn set(&mut self, typ: u32, value: &[u8]) -> Result<(), EncodeError> {
        if !is_ignorable(typ) || is_assigned(typ) {
            return Err(EncodeError::HeaderFieldType(typ));
        }
        self.remove(typ);
        self.insert(typ, value);
        Ok(())
    }

    /// Removes the fields of this type; `false` when there was none.
    pub fn remove(&mut self, typ: u32) -> bool {
        let before = self.0.len();
        self.0.retain(|e| e.typ != typ);
        self.0.len() != before
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// The value of the first field of this type.
    #[must_use]
    pub fn get(&self, typ: u32) -> Option<&[u8]> {
        self.0.iter().find(|e| e.typ == typ).map(ExtraField::value)
    }

    /// Adds a field after those of its type, for a decoder that has checked the type.
    pub(super) fn insert(&mut self, typ: u32, value: &[u8]) {
        let at = self.0.partition_point(|e| e.typ <= typ);
        self.0.insert(at, ExtraField::new(typ, value));
    }
}

impl Deref for ExtraFields {
    type Target = [ExtraField];

    fn deref(&self) -> &[ExtraField] {
        &self.0
    }
}
