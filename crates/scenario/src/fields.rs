//! Typed reading of tables: quantities, defaults, unknown keys.

use std::cell::RefCell;

use ndnweir_core::units::{Bytes, Duration, Rate};

use super::diag::{Findings, Location, suggest};
use super::model::QueueLimit;
use super::tree::{Item, Quantity, Table, Value};

/// Why a value cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct ReadError {
    /// What is wrong with it.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

impl ReadError {
    fn new(message: impl Into<String>, help: impl Into<String>) -> ReadError {
        ReadError { message: message.into(), help: help.into() }
    }
}

/// A value that can be read from a tree item.
pub trait Read: Sized {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with the value, and what to write instead.
    fn read(item: &Item) -> Result<Self, ReadError>;
}

fn wrong<T>(item: &Item, want: &str) -> Result<T, ReadError> {
    match &item.value {
        Value::Unusable(what) => Err(ReadError::new(format!("{what} cannot be used here"), format!("write {want}"))),
        Value::Int(_) | Value::Float(_) if want.contains("such as \"") => {
            Err(ReadError::new("a number without a unit", format!("write {want}, in quotes and with its unit")))
        }
        _ => Err(ReadError::new(format!("expected {want}, found {}", item.kind()), format!("write {want}"))),
    }
}

macro_rules! read_quantity {
    ($type:ty, $want:literal $(, $quantity:path)?) => {
        impl Read for $type {
            fn read(item: &Item) -> Result<Self, ReadError> {
                $(
                    if let Value::Quantity($quantity(value)) = item.value {
                        return Ok(value);
                    }
                )?
                let Some(text) = item.as_text() else { return wrong(item, $want) };
                text.parse::<$type>().map_err(|error| {
                    let text = error.to_string();
                    match text.split_once(": write") {
                        Some((message, help)) => ReadError::new(message, format!("write{help}")),
                        None => ReadError::new(text, format!("write {}", $want)),
                    }
                })
            }
        }
    };
}
read_quantity!(Duration, "a time such as \"10ms\"", Quantity::Duration);
read_quantity!(Rate, "a rate such as \"10Mbps\"", Quantity::Rate);
read_quantity!(Bytes, "a size such as \"1024B\"");

impl Read for String {
    fn read(item: &Item) -> Result<Self, ReadError> {
        item.as_text().map_or_else(|| wrong(item, "a text in quotes"), |t| Ok(t.to_string()))
    }
}

impl Read for f64 {
    fn read(item: &Item) -> Result<Self, ReadError> {
        match item.value {
            Value::Float(x) if x.is_finite() => Ok(x),
            Value::Float(x) => Err(ReadError::new(format!("{x} is not a finite number"), "write a plain number")),
            Value::Int(n) => Ok(n as f64),
            _ => wrong(item, "a number"),
        }
    }
}

impl Read for bool {
    fn read(item: &Item) -> Result<Self, ReadError> {
        match item.value {
            Value::Bool(b) => Ok(b),
            _ => wrong(item, "true or false"),
        }
    }
}

impl Read for u64 {
    fn read(item: &Item) -> Result<Self, ReadError> {
        match item.value {
            Value::Int(n) => u64::try_from(n)
                .map_err(|_| ReadError::new(format!("{n} is negative"), "write a whole number from 0 up")),
            _ => wrong(item, "a whole number"),
        }
    }
}

/// `"1000 packets"`, or the bare number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packets(pub u64);

fn packets(text: &str) -> Option<Result<u64, ReadError>> {
    let head = text.trim().strip_suffix("packets").or(text.trim().strip_suffix("packet"))?;
    let digits = head.trim().replace('_', "");
    let help = "write a whole number of packets such as \"500 packets\"";
    Some(digits.parse::<u64>().map_err(|_| ReadError::new(format!("no whole number in \"{text}\""), help)))
}

impl Read for Packets {
    fn read(item: &Item) -> Result<Self, ReadError> {
        let want = "a number of packets such as \"500 packets\"";
        match &item.value {
            Value::Int(_) => u64::read(item).map(Packets),
            Value::Text(text) => match packets(text) {
                Some(count) => count.map(Packets),
                None => Err(ReadError::new(format!("missing unit \"packets\" in \"{text}\""), format!("write {want}"))),
            },
            _ => wrong(item, want),
        }
    }
}

const QUEUE: &str = "a queue such as \"500 packets\" or \"64KiB\"";

impl Read for QueueLimit {
    fn read(item: &Item) -> Result<Self, ReadError> {
        if let Value::Quantity(Quantity::Queue(limit)) = item.value {
            return sensible(limit);
        }
        let Some(text) = item.as_text() else { return wrong(item, QUEUE) };
        match packets(text) {
            Some(Err(error)) => Err(error),
            Some(Ok(n)) => match u32::try_from(n) {
                Ok(n) => sensible(QueueLimit::Packets(n)),
                Err(_) => Err(too_many(n)),
            },
            None => match text.parse::<Bytes>() {
                Ok(bytes) => sensible(QueueLimit::Bytes(bytes)),
                Err(error) => {
                    let message = error.to_string();
                    let message = message.split(": write").next().unwrap_or_default();
                    Err(ReadError::new(message, format!("write {QUEUE}")))
                }
            },
        }
    }
}

fn too_many(packets: u64) -> ReadError {
    ReadError::new(format!("a queue of {packets} packets is absurd"), "write at most \"100000000 packets\"")
}

/// A limit that admits at least one packet and fits into memory.
fn sensible(limit: QueueLimit) -> Result<QueueLimit, ReadError> {
    match limit {
        QueueLimit::Packets(0) => {
            Err(ReadError::new("a queue of zero packets passes nothing", "write at least \"1 packets\""))
        }
        QueueLimit::Packets(n) if n > 100_000_000 => Err(too_many(n.into())),
        QueueLimit::Bytes(Bytes::ZERO) => {
            Err(ReadError::new("a queue of zero bytes passes nothing", format!("write {QUEUE}")))
        }
        QueueLimit::Bytes(bytes) if bytes > Bytes::new(1 << 40) => {
            Err(ReadError::new(format!("a queue of {bytes} is absurd"), "write at most \"1024GiB\""))
        }
        limit => Ok(limit),
    }
}

/// `"1%"` or `0.01`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probability(pub f64);

impl Read for Probability {
    fn read(item: &Item) -> Result<Self, ReadError> {
        let help = "write a probability from \"0%\" to \"100%\", or from 0 to 1";
        let value = match &item.value {
            Value::Float(x) => *x,
            Value::Int(n) => *n as f64,
            Value::Text(text) => match text.trim().strip_suffix('%') {
                Some(number) => number.trim().parse::<f64>().unwrap_or(f64::NAN) / 100.0,
                None => return Err(ReadError::new(format!("no probability in \"{text}\""), help)),
            },
            _ => return wrong(item, "a probability such as \"1%\""),
        };
        if (0.0..=1.0).contains(&value) {
            Ok(Probability(value))
        } else {
            let written = item.as_text().map_or_else(|| value.to_string(), |t| format!("\"{t}\""));
            Err(ReadError::new(format!("{written} is not a probability"), help))
        }
    }
}

/// `"1000/s"` (requests), or `"5Mbps"` (payload bits).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RequestRate {
    PerSecond(f64),
    Bits(Rate),
}

impl Read for RequestRate {
    fn read(item: &Item) -> Result<Self, ReadError> {
        let want = "a request rate such as \"1000/s\" or \"5Mbps\" of payload";
        let Some(text) = item.as_text() else { return wrong(item, want) };
        match text.trim().strip_suffix("/s").map(|n| n.trim().parse::<f64>()) {
            Some(Ok(n)) if n > 0.0 && n <= 1e9 => Ok(RequestRate::PerSecond(n)),
            Some(_) => Err(ReadError::new(
                format!("\"{text}\" is not a rate from above zero to 1e9/s"),
                format!("write {want}"),
            )),
            None => match Rate::read(item) {
                Ok(Rate::ZERO) => Err(ReadError::new("the request rate is zero", format!("write {want}"))),
                Ok(rate) => Ok(RequestRate::Bits(rate)),
                Err(ReadError { message, .. }) => Err(ReadError::new(message, format!("write {want}"))),
            },
        }
    }
}

/// Reads the keys of one table and reports the ones no one requested.
#[derive(Debug)]
pub struct Fields<'a> {
    table: &'a Table,
    /// What the table is, for messages: `[run]`, `this link`.
    what: String,
    /// Where the table starts, for missing keys.
    pub at: Location,
    known: RefCell<Vec<&'static str>>,
    renamed: RefCell<Vec<(&'static str, &'static str)>>,
    found: &'a Findings,
}

impl<'a> Fields<'a> {
    /// The keys of `table`, which stands at `at` and is called `what` in messages.
    pub fn new(table: &'a Table, what: impl Into<String>, at: &Location, found: &'a Findings) -> Fields<'a> {
        let (known, renamed) = (RefCell::default(), RefCell::default());
        Fields { table, what: what.into(), at: at.clone(), known, renamed, found }
    }
    /// Whether there is something at `key`, which then counts as known.
    pub(crate) fn has(&self, key: &'static str) -> bool {
        self.item(key).is_some()
    }
    /// The item at `key`, which then counts as known.
    pub fn item(&self, key: &'static str) -> Option<&'a Item> {
        self.known.borrow_mut().push(key);
        self.table.get(key)
    }
    /// The value at `key`; absent or wrong (then reported) gives `None`.
    pub fn get<T: Read>(&self, key: &'static str) -> Option<T> {
        let item = self.item(key)?;
        match T::read(item) {
            Ok(value) => Some(value),
            Err(ReadError { message, help }) => {
                self.found.error(&item.at, format!("{key}: {message}"), help);
                None
            }
        }
    }
    /// Like [`Fields::get`], and the value must satisfy `check`; its message says what is wrong with the value.
    pub(crate) fn checked<T: Read>(
        &self,
        key: &'static str,
        help: &str,
        check: impl Fn(&T) -> Result<(), String>,
    ) -> Option<T> {
        let value = self.get::<T>(key)?;
        match check(&value) {
            Ok(()) => Some(value),
            Err(message) => {
                self.found.error(&self.place(key), format!("{key}: {message}"), help);
                None
            }
        }
    }
    /// The value at `key`, reported if absent.
    pub fn required<T: Read>(&self, key: &'static str, example: &str) -> Option<T> {
        if self.table.get(key).is_none() {
            self.missing(key, example);
        }
        self.get(key)
    }
    /// Counts keys as known that were not read because something before them failed.
    pub(crate) fn mark_known(&self, keys: &[&'static str]) {
        self.known.borrow_mut().extend(keys);
    }
    /// Reports the present name of a key that was renamed from `old`.
    pub(crate) fn renamed(&self, old: &'static str, new: &'static str) {
        self.renamed.borrow_mut().push((old, new));
    }
    /// Reports that `key` is missing.
    pub fn missing(&self, key: &'static str, example: &str) {
        self.known.borrow_mut().push(key);
        self.found.error(&self.at, format!("{} has no {key}", self.what), format!("add {key} = {example}"));
    }
    /// One of the given words.
    pub fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let text = self.get::<String>(key)?;
        let known = words.iter().find(|(word, _)| *word == text).map(|(_, value)| *value);
        if known.is_none() {
            let help = suggest(&text, "choices", words.iter().map(|(word, _)| *word));
            self.found.error(&self.place(key), format!("{key}: \"{text}\" is not known"), help);
        }
        known
    }
    /// Where the value at `key` stands; the table's place if absent.
    pub fn place(&self, key: &str) -> Location {
        self.table.get(key).map_or(&self.at, |item| &item.at).clone()
    }
    /// Reports an error at the value of `key`.
    pub fn error(&self, key: &str, message: impl Into<String>, help: impl Into<String>) {
        self.found.error(&self.place(key), message, help);
    }
    /// Reports every key that was never requested.
    pub fn finish(self) {
        let mut known = self.known.into_inner();
        let mut seen = std::collections::BTreeSet::new();
        known.retain(|key| seen.insert(*key));
        for entry in &self.table.entries {
            if !known.contains(&entry.key.as_str()) {
                let renamed = self.renamed.borrow().iter().find(|(old, _)| *old == entry.key).map(|(_, new)| *new);
                let help = match renamed {
                    Some(new) => format!("it is now called \"{new}\""),
                    None => suggest(&entry.key, "keys here", known.iter().copied()),
                };
                let message = format!("unknown key \"{}\" in {}", entry.key, self.what);
                self.found.error(&entry.key_at, message, help);
            }
        }
    }
}
