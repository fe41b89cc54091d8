//! Names, borrowed and owned.
//!
//! A name is kept as the value of its Name element. Type and length numbers are in their shortest form, so comparing
//! these bytes is the canonical order, and a prefix in bytes is a prefix in components (packet specification, "Name",
//! "Canonical Order").

use core::borrow::Borrow;
use core::fmt;

use crate::component::{Component, ComponentView};
use crate::error::{DecodeError, DecodeResult};
use crate::tlv::{self, Element, Reader, types};

/// A name inside a buffer: checked once, then read without copying.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NameView<'a> {
    value: &'a [u8],
}

impl<'a> NameView<'a> {
    /// Reads a whole Name element.
    ///
    /// # Errors
    /// Any [`DecodeError`] of the element, its components, or bytes after it.
    pub fn decode(buf: &'a [u8]) -> DecodeResult<Self> {
        let mut reader = Reader::new(buf);
        let element = reader.expect(types::NAME)?;
        reader.finish()?;
        Self::from_element(&element)
    }

    /// Reads the value of a Name element: components one after the other.
    ///
    /// # Errors
    /// Any [`DecodeError`] of a component.
    pub fn from_value(value: &'a [u8]) -> DecodeResult<Self> {
        check(Reader::new(value))?;
        Ok(Self { value })
    }

    pub(crate) fn from_element(element: &Element<'a>) -> DecodeResult<Self> {
        check(element.nested())?;
        Ok(Self { value: element.value })
    }

    /// The value of the Name element. Equal names have equal bytes, so these can serve as a key.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.value
    }

    /// Number of components (walks the name).
    #[must_use]
    pub fn len(&self) -> usize {
        self.components().count()
    }

    /// Whether the name has no components.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// The components in order.
    #[must_use]
    pub const fn components(&self) -> Components<'a> {
        Components { reader: Reader::new(self.value) }
    }

    /// The component at this index, from 0.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<ComponentView<'a>> {
        self.components().nth(index)
    }

    /// The last component.
    #[must_use]
    pub fn last(&self) -> Option<ComponentView<'a>> {
        self.components().last()
    }

    /// The first `count` components; the whole name when it has fewer.
    #[must_use]
    pub fn prefix(&self, count: usize) -> NameView<'a> {
        let mut components = self.components();
        for _ in 0..count {
            if components.next().is_none() {
                break;
            }
        }
        NameView { value: &self.value[..components.reader.offset()] }
    }

    /// The name without its last component; `None` for the empty name.
    #[must_use]
    pub fn parent(&self) -> Option<NameView<'a>> {
        let last = self.last()?;
        Some(NameView { value: &self.value[..self.value.len() - last.wire_len()] })
    }

    /// Whether every component of `self` is at the same place in `other`; a name is a prefix of itself.
    #[must_use]
    pub fn is_prefix_of(&self, other: NameView<'_>) -> bool {
        other.value.starts_with(self.value)
    }

    /// Number of bytes of the Name element.
    #[must_use]
    pub const fn wire_len(&self) -> usize {
        tlv::element_len(types::NAME, self.value.len())
    }

    /// Appends the Name element.
    pub fn write(&self, out: &mut Vec<u8>) {
        tlv::write_element(out, types::NAME, self.value);
    }

    /// A copy that owns its bytes.
    #[must_use]
    pub fn to_owned(&self) -> Name {
        Name { value: self.value.to_vec() }
    }
}

fn check(mut reader: Reader<'_>) -> DecodeResult<()> {
    while !reader.is_empty() {
        ComponentView::from_element(&reader.element()?)?;
    }
    Ok(())
}

impl fmt::Display for NameView<'_> {
    /// The URI form without the scheme, such as `/video/seg=7` (see [`crate::uri`]).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::uri::format_name(self, f)
    }
}

impl fmt::Debug for NameView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl<'a> IntoIterator for NameView<'a> {
    type Item = ComponentView<'a>;
    type IntoIter = Components<'a>;

    fn into_iter(self) -> Components<'a> {
        self.components()
    }
}

/// The components of a name in order.
#[derive(Debug, Clone)]
pub struct Components<'a> {
    reader: Reader<'a>,
}

impl<'a> Iterator for Components<'a> {
    type Item = ComponentView<'a>;

    #[inline]
    fn next(&mut self) -> Option<ComponentView<'a>> {
        // The bytes were checked when the name was made, so an error cannot occur; ending is the safe answer.
        let element = self.reader.element().ok()?;
        ComponentView::from_element(&element).ok()
    }
}

/// A name that owns its bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Name {
    value: Vec<u8>,
}

impl Name {
    /// The empty name, `/`.
    #[must_use]
    pub const fn new() -> Self {
        Self { value: Vec::new() }
    }

    /// Reads a whole Name element.
    ///
    /// # Errors
    /// As [`NameView::decode`].
    pub fn decode(buf: &[u8]) -> Result<Self, DecodeError> {
        NameView::decode(buf).map(|n| n.to_owned())
    }

    /// The same name, borrowed.
    #[must_use]
    pub fn as_view(&self) -> NameView<'_> {
        NameView { value: &self.value }
    }

    /// The value of the Name element.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.value
    }

    /// Number of components (walks the name).
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_view().len()
    }

    /// Whether the name has no components.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Appends a component.
    pub fn push(&mut self, component: ComponentView<'_>) -> &mut Self {
        component.write(&mut self.value);
        self
    }

    /// The name with one more component.
    #[must_use]
    pub fn with(mut self, component: Component) -> Self {
        self.push(component.as_view());
        self
    }

    /// Removes the last component; `false` when there is none.
    pub fn pop(&mut self) -> bool {
        match self.as_view().parent() {
            Some(parent) => {
                let len = parent.value.len();
                self.value.truncate(len);
                true
            }
            None => false,
        }
    }

    /// Appends all components of another name.
    pub fn extend_from(&mut self, other: NameView<'_>) -> &mut Self {
        self.value.extend_from_slice(other.value);
        self
    }

    /// The Name element.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.as_view().wire_len());
        self.as_view().write(&mut out);
        out
    }
}

/// Lets a map keyed by [`Name`] be searched with [`NameView::as_bytes`].
impl Borrow<[u8]> for Name {
    fn borrow(&self) -> &[u8] {
        &self.value
    }
}

impl From<NameView<'_>> for Name {
    fn from(view: NameView<'_>) -> Self {
        view.to_owned()
    }
}

impl<'a> FromIterator<ComponentView<'a>> for Name {
    fn from_iter<I: IntoIterator<Item = ComponentView<'a>>>(components: I) -> Self {
        let mut name = Name::new();
        for component in components {
            name.push(component);
        }
        name
    }
}

impl fmt::Display for Name {
    /// The URI form without the scheme, such as `/video/seg=7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_view().fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::str::FromStr for Name {
    type Err = crate::uri::UriError;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        crate::uri::parse_name(s)
    }
}
