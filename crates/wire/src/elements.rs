//! The order and evolvability rules that all elements with named sub-elements share.

use crate::error::{DecodeErrorKind as Kind, DecodeResult};
use crate::tlv::{Element, Reader, is_critical};

/// Walks the sub-elements of one element whose recognised types must come in the order of `sequence`.
///
/// Packet specification, "Considerations for Evolvability": an unrecognised element, or a recognised one out of order
/// or repeated, is an error when its type is critical and is skipped otherwise.
pub(crate) struct Ordered<'a> {
    reader: Reader<'a>,
    sequence: &'static [u32],
    next: usize,
}

impl<'a> Ordered<'a> {
    pub(crate) fn new(reader: Reader<'a>, sequence: &'static [u32]) -> Self {
        Self { reader, sequence, next: 0 }
    }

    /// The next recognised element in order; `None` at the end.
    pub(crate) fn next(&mut self) -> DecodeResult<Option<Element<'a>>> {
        while !self.reader.is_empty() {
            let element = self.reader.element()?;
            let known = self.sequence.iter().position(|t| *t == element.typ);
            match known {
                Some(at) if at >= self.next => {
                    self.next = at + 1;
                    return Ok(Some(element));
                }
                _ if !is_critical(element.typ) => {}
                Some(_) => return Err(element.error(Kind::OutOfOrder(element.typ))),
                None => return Err(element.error(Kind::UnknownCritical(element.typ))),
            }
        }
        Ok(None)
    }
}
