//! What processes record: one JSON value per line.

use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_node::fetcher::Arrival;
use ndnweir_node::forwarder::LinkCounters;
use ndnweir_node::{FaceCounters, FetcherCounters};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

/// One record. Times are in nanoseconds since the origin, other spans too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Record {
    /// A consumer got a segment.
    Arrival {
        /// When.
        at: u64,
        /// Its number.
        segment: u64,
        /// Content bytes.
        payload: u64,
        /// Since the first Interest for it.
        delay: u64,
        /// Since its only Interest.
        rtt: Option<u64>,
        /// CongestionMark.
        mark: u8,
        /// Interests beyond the first.
        retransmissions: u32,
        /// Whether all before it were there.
        in_order: bool,
    },
    /// A consumer has its whole object.
    Completed {
        /// When.
        at: u64,
    },
    /// A consumer's counters: interests, retransmissions, segments, payload bits, duplicates, timeouts, nacks, marks,
    /// decreases; its window, what is in flight, its smoothed round-trip time.
    Consumer {
        /// When.
        at: u64,
        /// Counts in the order above.
        counts: [u64; 9],
        /// In segments.
        window: f64,
        /// Interests.
        in_flight: u32,
        /// Smoothed.
        srtt: u64,
    },
    /// A forwarder's face: Data, Interest and NACK bits, the same in packets, overflowed Data bits, marks on Data and
    /// on Interests, sum, number and maximum of sojourns, packets and bytes waiting, packets and bits offered, packets
    /// cut off; drops by cause.
    Face {
        /// When.
        at: u64,
        /// Its place in the task.
        face: usize,
        /// Counts in the order above.
        counts: [u64; 17],
        /// By cause.
        drops: [u64; 7],
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
}

impl Record {
    /// Of a segment's arrival.
    pub fn arrival(at: Time, arrival: &Arrival) -> Record {
        Record::Arrival {
            at: at.nanos(),
            segment: arrival.segment,
            payload: arrival.payload.get(),
            delay: arrival.delay.nanos(),
            rtt: arrival.rtt.map(Duration::nanos),
            mark: arrival.mark,
            retransmissions: arrival.retransmissions,
            in_order: arrival.in_order,
        }
    }

    /// Of a fetch's counters.
    pub fn consumer(at: Time, c: &FetcherCounters) -> Record {
        let counts = [
            c.interests,
            c.retransmissions,
            c.segments,
            c.payload_bits,
            c.duplicates,
            c.timeouts,
            c.nacks,
            c.marks,
            c.decreases,
        ];
        Record::Consumer { at: at.nanos(), counts, window: c.window, in_flight: c.in_flight, srtt: c.srtt.nanos() }
    }

    /// Of a face's counters.
    pub fn face(at: Time, face: usize, link: &LinkCounters, c: &FaceCounters) -> Record {
        let counts = [
            c.data_bits,
            c.interest_bits,
            c.nack_bits,
            c.data_packets,
            c.interest_packets,
            c.nack_packets,
            c.overflow_data_bits,
            c.data_marks,
            c.interest_marks,
            u64::try_from(c.sojourn_sum).unwrap_or(u64::MAX),
            c.sojourn_count,
            c.sojourn_max.nanos(),
            u64::from(c.queue_packets),
            c.queue_bytes.get(),
            c.offered_packets,
            c.offered_bits,
            c.cut,
        ];
        Record::Face { at: at.nanos(), face, counts, drops: c.drops, arrived: link.packets_in() }
    }

    /// When.
    pub fn at(&self) -> Time {
        let (Record::Arrival { at, .. }
        | Record::Completed { at }
        | Record::Consumer { at, .. }
        | Record::Face { at, .. }
        | Record::Accounting { at, .. }
        | Record::Share { at, .. }) = self;
        Time::from_nanos(*at)
    }
}

/// The counters behind [`Record::Consumer`].
pub fn fetcher_counters(counts: &[u64; 9], window: f64, in_flight: u32, srtt: u64) -> FetcherCounters {
    let [interests, retransmissions, segments, payload_bits, duplicates, timeouts, nacks, marks, decreases] = *counts;
    FetcherCounters {
        interests,
        retransmissions,
        segments,
        payload_bits,
        duplicates,
        timeouts,
        nacks,
        marks,
        decreases,
        window,
        in_flight,
        srtt: Duration::from_nanos(srtt),
        ..FetcherCounters::default()
    }
}

/// The counters behind [`Record::Face`].
pub fn face_counters(counts: &[u64; 17], drops: &[u64; 7]) -> FaceCounters {
    FaceCounters {
        data_bits: counts[0],
        interest_bits: counts[1],
        nack_bits: counts[2],
        data_packets: counts[3],
        interest_packets: counts[4],
        nack_packets: counts[5],
        overflow_data_bits: counts[6],
        data_marks: counts[7],
        interest_marks: counts[8],
        sojourn_sum: u128::from(counts[9]),
        sojourn_count: counts[10],
        sojourn_max: Duration::from_nanos(counts[11]),
        queue_packets: u32::try_from(counts[12]).unwrap_or(u32::MAX),
        queue_bytes: Bytes::new(counts[13]),
        offered_packets: counts[14],
        offered_bits: counts[15],
        cut: counts[16],
        drops: *drops,
    }
}

/// The instants at which counters are recorded: the same in all processes, so that the records of one instant belong
/// together, whoever was woken late.
#[derive(Clone, Copy, Debug)]
pub struct SampleTimes {
    next: Time,
    every: Duration,
}

impl SampleTimes {
    /// Instants `every` so often since `from`, those before `now` left out.
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

    /// Makes sure that all is in the file.
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
/// The system's, or a line that is no record.
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

    #[test]
    fn counters_come_back_as_they_were_recorded() {
        let face = FaceCounters {
            data_bits: 1,
            interest_bits: 2,
            nack_bits: 3,
            data_packets: 4,
            interest_packets: 5,
            nack_packets: 6,
            overflow_data_bits: 7,
            data_marks: 8,
            interest_marks: 9,
            sojourn_sum: 10,
            sojourn_count: 11,
            sojourn_max: Duration::from_nanos(12),
            queue_packets: 13,
            queue_bytes: Bytes::new(14),
            offered_packets: 15,
            offered_bits: 16,
            cut: 17,
            drops: [1, 2, 3, 4, 5, 6, 7],
        };
        let link = LinkCounters { interests_in: 20, data_in: 300, nacks_in: 4000, ..LinkCounters::default() };
        let Record::Face { counts, drops, arrived, .. } = Record::face(Time::ZERO, 0, &link, &face) else { panic!() };
        assert_eq!(arrived, 4320);
        assert_eq!(face_counters(&counts, &drops), face);
        let fetch =
            FetcherCounters { interests: 1, decreases: 9, window: 2.5, in_flight: 3, ..FetcherCounters::default() };
        let Record::Consumer { counts, window, in_flight, srtt, .. } = Record::consumer(Time::ZERO, &fetch) else {
            panic!()
        };
        assert_eq!(fetcher_counters(&counts, window, in_flight, srtt), fetch);
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
