//! The state of a simulation as bytes, and back.
//!
//! A [`Value`] is written and read whole. A [`State`] is built first, from what the bytes belong to (a scenario, a scheme
//! and a seed), and then takes up its state, so that what never changes is not kept. Every value is a state.
//!
//! Numbers are written in as few bytes as they need (seven bits each, least significant first), floating-point numbers
//! bit for bit; hash maps in the order of their keys. Nothing says what a byte means: who reads must be built as who
//! wrote was. Damage is an error and never allocates more than in proportion to the bytes that are there.

// The derives name it so, in its own tests too.
#[cfg(test)]
extern crate self as ndnweir_state;

mod values;

pub use ndnweir_state_derive::{State, Value};

/// A state that does not fit what takes it up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the state does not fit: byte {at} of {of} is not what was expected")]
pub struct Damaged {
    /// The byte at which this was found.
    pub at: usize,
    /// The number of bytes.
    pub of: usize,
}

/// Written and read whole.
pub trait Value: Sized {
    /// Appends its bytes.
    fn write(&self, to: &mut Writer);

    /// Reads what [`Value::write`] wrote.
    ///
    /// # Errors
    /// If the bytes are no such value.
    fn read(from: &mut Reader<'_>) -> Result<Self, Damaged>;
}

/// Built first, and then takes up its state.
pub trait State {
    /// Appends its state.
    fn save(&self, to: &mut Writer);

    /// Takes up what [`State::save`] wrote of one that was built alike.
    ///
    /// # Errors
    /// If the bytes are no such state; it is then of no use.
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged>;
}

impl<T: Value> State for T {
    #[inline]
    fn save(&self, to: &mut Writer) {
        self.write(to);
    }

    #[inline]
    fn load(&mut self, from: &mut Reader<'_>) -> Result<(), Damaged> {
        *self = T::read(from)?;
        Ok(())
    }
}

/// Appends the states of items, with their number.
pub fn save_each<'a, T: State + 'a>(items: impl ExactSizeIterator<Item = &'a T>, to: &mut Writer) {
    to.length(items.len());
    items.for_each(|item| item.save(to));
}

/// Gives each of as many items its state.
///
/// # Errors
/// If there were not as many, or the states do not fit.
pub fn load_each<'a, T: State + 'a>(
    items: impl ExactSizeIterator<Item = &'a mut T>,
    from: &mut Reader<'_>,
) -> Result<(), Damaged> {
    if from.number()? != items.len() as u64 {
        return Err(from.damaged());
    }
    items.into_iter().try_for_each(|item| item.load(from))
}

/// Appends the state of what may have gone since it was built.
pub fn save_perhaps<T: State>(item: Option<&T>, to: &mut Writer) {
    item.is_some().write(to);
    item.into_iter().for_each(|item| item.save(to));
}

/// Gives what was built its state, or removes it.
///
/// # Errors
/// If it was not built, or the state does not fit.
pub fn load_perhaps<T: State>(item: &mut Option<T>, from: &mut Reader<'_>) -> Result<(), Damaged> {
    match (bool::read(from)?, &mut *item) {
        (true, Some(item)) => item.load(from),
        (true, None) => Err(from.damaged()),
        (false, _) => {
            *item = None;
            Ok(())
        }
    }
}

/// Gathers bytes.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    refused: Option<String>,
}

impl Writer {
    /// There is something whose state nobody knows; what was written is of no use.
    pub fn refuse(&mut self, what: impl Into<String>) {
        self.refused.get_or_insert(what.into());
    }

    /// The first thing whose state nobody knows.
    pub fn refused(&self) -> Option<&str> {
        self.refused.as_deref()
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// A number in as few bytes as it needs.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// The number of a variant.
    pub fn tag(&mut self, tag: u32) {
        self.number(tag.into());
    }

    /// The length of what follows.
    pub fn length(&mut self, length: usize) {
        self.number(length as u64);
    }

    /// These bytes.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }
}

/// Reads what a [`Writer`] gathered.
#[derive(Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes, at: 0 }
    }

    /// That what was read last is not what was expected.
    #[cold]
    pub fn damaged(&self) -> Damaged {
        Damaged { at: self.at, of: self.bytes.len() }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// If something is left.
    pub fn end(&self) -> Result<(), Damaged> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.damaged()) }
    }

    /// All bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.at = self.bytes.len();
        rest
    }

    /// The next bytes.
    ///
    /// # Errors
    /// If there are not as many.
    pub fn raw(&mut self, count: usize) -> Result<&'a [u8], Damaged> {
        let end = self.at.checked_add(count).filter(|&end| end <= self.bytes.len()).ok_or_else(|| self.damaged())?;
        let bytes = &self.bytes[self.at..end];
        self.at = end;
        Ok(bytes)
    }

    /// See [`Writer::number`].
    ///
    /// # Errors
    /// If it does not fit 64 bits, or the bytes end.
    pub fn number(&mut self) -> Result<u64, Damaged> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = u64::from(self.raw(1)?[0]);
            let bits = byte & 0x7f;
            if bits << shift >> shift != bits {
                return Err(self.damaged());
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(self.damaged())
    }

    /// The number of a variant.
    ///
    /// # Errors
    /// As [`Reader::number`].
    pub fn tag(&mut self) -> Result<u32, Damaged> {
        u32::try_from(self.number()?).map_err(|_| self.damaged())
    }

    /// The variant that is there already.
    ///
    /// # Errors
    /// If it is another.
    pub fn expect_tag(&mut self, tag: u32) -> Result<(), Damaged> {
        if self.tag()? == tag { Ok(()) } else { Err(self.damaged()) }
    }

    /// A length of what takes at least a byte each.
    ///
    /// # Errors
    /// If fewer bytes are left.
    pub fn length(&mut self) -> Result<usize, Damaged> {
        let length = usize::try_from(self.number()?).map_err(|_| self.damaged())?;
        if length <= self.bytes.len() - self.at { Ok(length) } else { Err(self.damaged()) }
    }
}

#[cfg(test)]
mod tests;
