//! The trace that `ndnweir get --trace FILE` writes, read while it grows.

use crate::feed::Feed;
use crate::stream::number;
use ndnweir_lab::fetch_trace::{HEADER, Row, read_row};
use serde_json::json;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::time::Duration;

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_millis(250);
/// Bytes that are read at a time; a longer line is no trace's.
const CHUNK: usize = 1 << 20;

/// Reads what is new until the program ends.
pub async fn watch(path: &Path, feed: &Feed) {
    let mut tail = Tail::default();
    let mut failure = String::new();
    loop {
        match tail.read(path) {
            Ok(rows) => {
                failure.clear();
                if let Some(event) = tail.summarise(&rows) {
                    feed.push(&event);
                }
            }
            // Said once.
            Err(error) if error.to_string() != failure => {
                failure = error.to_string();
                feed.push(&json!({ "kind": "trouble", "message": failure }));
            }
            Err(_) => {}
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

/// A file that grows.
#[derive(Default)]
struct Tail {
    read: u64,
    /// The beginning of a line.
    rest: Vec<u8>,
    headed: bool,
    /// The latest row.
    last: Option<Row>,
}

impl Tail {
    /// The rows that are new.
    fn read(&mut self, path: &Path) -> io::Result<Vec<Row>> {
        let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, format!("{}: {what}", path.display()));
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        // Asked by name, since opening a pipe waits for a writer, and nobody would be served meanwhile.
        let about = std::fs::metadata(path).map_err(named)?;
        if !about.is_file() {
            return Err(wrong("no file".into()));
        }
        let mut file = File::open(path).map_err(named)?;
        if about.len() < self.read {
            // Another fetch has begun.
            *self = Tail::default();
        }
        file.seek(SeekFrom::Start(self.read))?;
        self.read += file.take(CHUNK as u64).read_to_end(&mut self.rest)? as u64;
        let Some(end) = self.rest.iter().rposition(|byte| *byte == b'\n') else {
            let long = self.rest.len() >= CHUNK;
            return if long { Err(wrong("a line without an end".into())) } else { Ok(Vec::new()) };
        };
        let complete: Vec<u8> = self.rest.drain(..=end).collect();
        let text = String::from_utf8(complete).map_err(|_| wrong("no text".into()))?;
        let mut lines = text.lines();
        if !self.headed {
            if lines.next() != Some(HEADER) {
                return Err(wrong(format!("no trace of a fetch, whose first line is {HEADER}")));
            }
            self.headed = true;
        }
        lines.map(|line| read_row(line).ok_or_else(|| wrong(format!("no row: {line:.100}")))).collect()
    }

    /// Rows as one point of the charts: means, and the goodput since the row before them.
    fn summarise(&mut self, rows: &[Row]) -> Option<serde_json::Value> {
        let last = *rows.last()?;
        let before = self.last.replace(last);
        let mean = |values: Vec<f64>| {
            if values.is_empty() { f64::NAN } else { values.iter().sum::<f64>() / values.len() as f64 }
        };
        let seconds = last.time.secs() - before.map_or(0.0, |row| row.time.secs());
        let bits = last.received.saturating_sub(before.map_or(0, |row| row.received)) as f64 * 8.0;
        Some(json!({
            "kind": "point",
            "at": number(last.time.secs()),
            "goodput_mbps": number(if seconds > 0.0 { bits / seconds / 1e6 } else { f64::NAN }),
            "rtt_ms": number(mean(rows.iter().filter_map(|row| row.rtt).map(|rtt| rtt.millis()).collect())),
            "window": number(mean(rows.iter().map(|row| row.window).collect())),
            "in_flight": number(mean(rows.iter().map(|row| f64::from(row.in_flight)).collect())),
            "received_bytes": last.received,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_trace_is_followed_as_it_grows_and_begins_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.csv");
        let mut tail = Tail::default();
        assert!(tail.read(&path).unwrap_err().to_string().contains("t.csv"));
        let mut file = File::create(&path).unwrap();
        write!(file, "{HEADER}\n0.1,2,1,10,1000\n0.2,4,3,,2").unwrap();
        let rows = tail.read(&path).unwrap();
        assert_eq!((rows.len(), rows[0].window), (1, 2.0));
        // 1000 bytes in the first 100 ms.
        assert_eq!(tail.summarise(&rows).unwrap()["goodput_mbps"], json!(0.08));
        assert!(tail.read(&path).unwrap().is_empty());
        writeln!(file, "1000\n0.3,6,5,30,41000").unwrap();
        let rows = tail.read(&path).unwrap();
        let point = tail.summarise(&rows).unwrap();
        // 40 000 bytes in 200 ms; of two rows one has a round trip.
        assert_eq!(
            (&point["goodput_mbps"], &point["window"], &point["rtt_ms"]),
            (&json!(1.6), &json!(5.0), &json!(30.0))
        );
        std::fs::write(&path, format!("{HEADER}\n")).unwrap();
        assert!(tail.read(&path).unwrap().is_empty() && tail.last.is_none());
        std::fs::write(&path, "something else\n").unwrap();
        assert!(Tail::default().read(&path).unwrap_err().to_string().contains("no trace"));
        std::fs::write(&path, format!("{HEADER}\nx,y\n")).unwrap();
        assert!(Tail::default().read(&path).unwrap_err().to_string().contains("no row: x,y"));
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_is_no_trace_and_nobody_waits_for_who_writes_it() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("t.csv");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let (say, said) = std::sync::mpsc::channel();
        std::thread::spawn(move || say.send(Tail::default().read(&pipe).unwrap_err().to_string()));
        let error = said.recv_timeout(Duration::from_secs(20)).expect("an error within 20 s");
        assert!(error.contains("t.csv: no file"), "{error}");
    }
}
