//! A real fetch over time, as a CSV file.
//!
//! Columns: `time_s` since the first segment, `window_segments`, `in_flight_interests`, `rtt_ms` (empty for a segment
//! that was requested more than once) and `received_bytes` so far. A row per segment, but at most one per millisecond.
//! Rows reach the file five times a second, so that it can be read while the fetch continues.

use crate::results::begins_with;
use ndnweir_core::units::{Bytes, Duration, Time};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The first line.
pub const HEADER: &str = "time_s,window_segments,in_flight_interests,rtt_ms,received_bytes";

/// The shortest time between two rows.
const RESOLUTION: Duration = Duration::from_millis(1);

/// How long rows may wait before they are written to the file.
const FLUSH: Duration = Duration::from_millis(200);

/// Why a trace cannot be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", .path.display())]
pub struct Error {
    path: PathBuf,
    problem: String,
}

/// Where the fetch stood when a segment arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Since the first segment.
    pub time: Duration,
    /// The congestion window, in segments.
    pub window: f64,
    /// Interests outstanding.
    pub in_flight: u32,
    /// The segment's round-trip time; none if it was requested more than once.
    pub rtt: Option<Duration>,
    /// Bytes of content received so far.
    pub received: u64,
}

/// A trace being written.
#[derive(Debug)]
pub struct FetchTrace {
    path: PathBuf,
    out: BufWriter<File>,
    began: Option<Time>,
    written: Option<Time>,
    flushed: Time,
    received: u64,
    failure: Option<io::Error>,
}

impl FetchTrace {
    /// Creates the file.
    ///
    /// # Errors
    /// [`Error`] if that is not possible.
    pub fn create(path: &Path) -> Result<FetchTrace, Error> {
        let error = |problem: io::Error| Error { path: path.into(), problem: problem.to_string() };
        let mut out = BufWriter::new(File::create(path).map_err(error)?);
        writeln!(out, "{HEADER}").map_err(error)?;
        let path = path.into();
        Ok(FetchTrace { path, out, began: None, written: None, flushed: Time::ZERO, received: 0, failure: None })
    }

    /// A segment arrived.
    pub fn record(&mut self, now: Time, payload: Bytes, rtt: Option<Duration>, window: f64, in_flight: u32) {
        self.received += payload.get();
        let began = *self.began.get_or_insert(now);
        if self.failure.is_some() || self.written.is_some_and(|written| now.since(written) < RESOLUTION) {
            return;
        }
        self.written = Some(now);
        let rtt = rtt.map_or(String::new(), |rtt| format!("{:.6}", rtt.millis()));
        let time = now.since(began).secs();
        let mut result = writeln!(self.out, "{time:.6},{window:.3},{in_flight},{rtt},{}", self.received);
        if now.since(self.flushed) >= FLUSH {
            self.flushed = now;
            result = result.and_then(|()| self.out.flush());
        }
        self.failure = result.err();
    }

    /// Completes the file.
    ///
    /// # Errors
    /// [`Error`] if any row could not be written.
    pub fn finish(mut self) -> Result<(), Error> {
        let result = self.failure.take().map_or_else(|| self.out.flush(), Err);
        result.map_err(|problem| Error { path: self.path, problem: problem.to_string() })
    }
}

/// Whether a file that begins so is a trace.
pub fn is_own(head: &[u8]) -> bool {
    begins_with(head, HEADER)
}

/// Reads a trace.
///
/// # Errors
/// [`Error`] that names the line.
pub fn read(path: &Path) -> Result<Vec<Row>, Error> {
    let error = |problem: String| Error { path: path.into(), problem };
    let text = ndnweir_files::read_text(path, ndnweir_files::RESULTS).map_err(|e| error(e.to_string()))?;
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line) != Some(HEADER) {
        return Err(error(format!("line 1: no trace of a fetch, whose first line is {HEADER}")));
    }
    let row = |(at, line): (usize, &str)| {
        read_row(line).ok_or_else(|| error(format!("line {}: not five numbers in their range", at + 1)))
    };
    let rows: Vec<Row> = lines.map(row).collect::<Result<_, _>>()?;
    let ascending = rows.windows(2).all(|pair| pair[0].time <= pair[1].time);
    if ascending { Ok(rows) } else { Err(error("its times do not ascend".into())) }
}

/// Reads a line after the first; none if it is no row.
pub fn read_row(line: &str) -> Option<Row> {
    let mut cells = line.split(',');
    let mut number = || {
        let cell = cells.next()?;
        let value = if cell.is_empty() { 0.0 } else { cell.parse().ok()? };
        (0.0..1e15).contains(&value).then_some((value, cell.is_empty()))
    };
    let (time, window, in_flight, rtt, received) = (number()?, number()?, number()?, number()?, number()?);
    if cells.next().is_some() || time.1 || window.1 {
        return None;
    }
    Some(Row {
        time: Duration::from_secs_f64(time.0),
        window: window.0,
        in_flight: in_flight.0 as u32,
        rtt: (!rtt.1).then(|| Duration::from_secs_f64(rtt.0 / 1e3)),
        received: received.0 as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_are_a_millisecond_apart() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        let mut trace = FetchTrace::create(&path).unwrap();
        let at = |us| Time::ZERO + Duration::from_micros(us);
        trace.record(at(5_000), Bytes::new(100), Some(Duration::from_micros(1500)), 2.5, 3);
        trace.record(at(5_999), Bytes::new(100), None, 9.0, 9);
        trace.record(at(6_000), Bytes::new(100), None, 4.0, 1);
        trace.finish().unwrap();
        let first = Row {
            time: Duration::ZERO,
            window: 2.5,
            in_flight: 3,
            rtt: Some(Duration::from_micros(1500)),
            received: 100,
        };
        let second = Row { time: Duration::from_millis(1), window: 4.0, in_flight: 1, rtt: None, received: 300 };
        assert_eq!(read(&path).unwrap(), [first, second]);
    }

    #[test]
    fn an_invalid_trace_is_rejected_with_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        for (text, line) in [
            ("", "line 1"),
            ("a,b", "line 1"),
            ("1,2,3,4", "line 2"),
            ("1,2,3,4,5,6", "line 2"),
            ("x,1,1,1,1", "line 2"),
            ("1,nan,1,1,1", "line 2"),
            ("1,-2,1,1,1", "line 2"),
            ("2,1,1,1,1\n1,1,1,1,1", "do not ascend"),
        ] {
            let whole = if line == "line 1" { text.to_owned() } else { format!("{HEADER}\n{text}\n") };
            std::fs::write(&path, whole).unwrap();
            let error = read(&path).unwrap_err().to_string();
            assert!(error.contains(line), "{text:?}: {error}");
        }
    }
}
