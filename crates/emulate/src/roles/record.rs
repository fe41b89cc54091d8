//! What processes record: one JSON value per line.

use ndnweir_core::units::{Duration, Time};
use ndnweir_node::{Arrival, FaceCounters, FetcherCounters};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// One record. Instants are in nanoseconds since the origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A consumer got a segment.
    Arrival {
        /// When.
        at: u64,
        /// What came.
        arrival: Arrival,
    },
    /// A consumer has its whole object.
    Completed {
        /// When.
        at: u64,
    },
    /// A consumer's counters.
    Consumer {
        /// When.
        at: u64,
        /// Totals and state.
        counters: FetcherCounters,
    },
    /// A forwarder's face.
    Face {
        /// When.
        at: u64,
        /// Its place in the task.
        face: usize,
        /// Totals and state of its egress.
        counters: Box<FaceCounters>,
        /// Packets that arrived by it.
        arrived: u64,
    },
    /// A forwarder has ended and has added up what it counted.
    Accounting {
        /// When.
        at: u64,
        /// The sum that does not hold, if one does not.
        problem: Option<String>,
    },
    /// The share of a prefix's Interests that goes to a face.
    Share {
        /// When.
        at: u64,
        /// The prefix's place in the task.
        prefix: usize,
        /// The face's place in the task.
        face: usize,
        /// From 0 to 1.
        share: f64,
    },
    /// Another next hop of a prefix has become the cheapest.
    Switch {
        /// When.
        at: u64,
        /// The prefix.
        prefix: String,
    },
}

impl Record {
    /// When.
    pub fn at(&self) -> Time {
        let (Record::Arrival { at, .. }
        | Record::Completed { at }
        | Record::Consumer { at, .. }
        | Record::Face { at, .. }
        | Record::Accounting { at, .. }
        | Record::Switch { at, .. }
        | Record::Share { at, .. }) = self;
        Time::from_nanos(*at)
    }
}

/// The instants at which counters are recorded: the same in all processes, so that the records of one instant belong
/// together, even if a process was woken late.
#[derive(Clone, Copy, Debug)]
pub struct SampleTimes {
    next: Time,
    every: Duration,
}

impl SampleTimes {
    /// Multiples of `every` since `from`, those before `now` left out.
    pub fn new(from: Time, every: Duration, now: Time) -> SampleTimes {
        let every = every.max(Duration::from_micros(100));
        let passed = now.since(from).nanos().div_ceil(every.nanos());
        SampleTimes { next: from + every * passed, every }
    }

    /// The next instant.
    pub fn next(&self) -> Time {
        self.next
    }

    /// The latest instant that has come since the last call, if one has.
    pub fn reached(&mut self, now: Time) -> Option<Time> {
        let mut reached = None;
        while self.next <= now {
            reached = Some(self.next);
            self.next += self.every;
        }
        reached
    }
}

/// A file that grows by records.
#[derive(Debug)]
pub struct Recorder {
    out: BufWriter<File>,
}

impl Recorder {
    /// A new file.
    ///
    /// # Errors
    /// The system's.
    pub fn create(path: &Path) -> io::Result<Recorder> {
        Ok(Recorder { out: BufWriter::new(File::create(path)?) })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// The system's.
    pub fn add(&mut self, record: &Record) -> io::Result<()> {
        serde_json::to_writer(&mut self.out, record)?;
        self.out.write_all(b"\n")
    }

    /// Flushes everything to the file.
    ///
    /// # Errors
    /// The system's.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads a file of records; a last line that was cut off, by a process that was killed, is left out.
///
/// # Errors
/// The system's, or a line that is not a record.
pub fn read(path: &Path) -> io::Result<Vec<Record>> {
    let mut records = Vec::new();
    let mut lines = BufReader::new(File::open(path)?).lines().peekable();
    while let Some(line) = lines.next() {
        match serde_json::from_str(&line?) {
            Ok(record) => records.push(record),
            Err(_) if lines.peek().is_none() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndnweir_core::units::Bytes;
    use ndnweir_node::Drops;

    #[test]
    fn records_come_back_as_they_were_written() {
        let drops = Drops { overflow: 1, marker: 2, loss: 3, down: 4, protocol: 5, bound: 6, shaper: 7 };
        let face = FaceCounters {
            data_bits: 1,
            sojourn_sum: u128::from(u64::MAX),
            sojourn_max: Duration::from_nanos(1_234_567),
            queue_bytes: Bytes::new(14_001),
            drops,
            ..FaceCounters::default()
        };
        let fetch = FetcherCounters {
            interests: 1,
            decreases: 9,
            window: 2.5,
            in_flight: 3,
            srtt: Duration::from_nanos(40_000_001),
            rate: Some(0.1),
            ..FetcherCounters::default()
        };
        let arrival = Arrival {
            segment: 5,
            payload: Bytes::new(1024),
            delay: Duration::from_nanos(123_456_789),
            rtt: None,
            mark: 1,
            retransmissions: 2,
            in_order: true,
            completed: false,
        };
        let records = [
            Record::Face { at: 7, face: 1, counters: Box::new(face), arrived: 4320 },
            Record::Consumer { at: 8, counters: fetch },
            Record::Arrival { at: 9, arrival },
        ];
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let mut recorder = Recorder::create(&path).unwrap();
        records.iter().for_each(|record| recorder.add(record).unwrap());
        recorder.flush().unwrap();
        assert_eq!(read(&path).unwrap(), records);
    }

    #[test]
    fn records_belong_to_the_instants_of_the_grid_however_late_they_are() {
        let ms = |n: u64| Time::ZERO + Duration::from_millis(n);
        let mut grid = SampleTimes::new(ms(30), Duration::from_millis(10), ms(5));
        assert_eq!((grid.next(), grid.reached(ms(29))), (ms(30), None));
        assert_eq!(grid.reached(ms(31)), Some(ms(30)));
        assert_eq!(grid.reached(ms(65)), Some(ms(60)), "three were missed");
        assert_eq!((grid.reached(ms(65)), grid.next()), (None, ms(70)));
        assert_eq!(
            SampleTimes::new(ms(30), Duration::from_millis(10), ms(41)).next(),
            ms(50),
            "a second life joins in"
        );
    }

    #[test]
    fn a_file_ends_where_its_writer_was_killed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let mut recorder = Recorder::create(&path).unwrap();
        for at in 0..3 {
            recorder.add(&Record::Completed { at }).unwrap();
        }
        recorder.flush().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, &text[..text.len() - 4]).unwrap();
        assert_eq!(read(&path).unwrap(), [Record::Completed { at: 0 }, Record::Completed { at: 1 }]);
        std::fs::write(&path, "nonsense\n{\"Completed\":{\"at\":1}}\n").unwrap();
        assert!(read(&path).is_err());
    }
}
