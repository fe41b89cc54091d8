//! What consumers send, receive and think, as qlog (draft-ietf-quic-qlog-main-schema-02, `0.3`), for qvis.
//!
//! The file is a sequence of JSON texts (RFC 7464), written while the run or fetch goes on. Every event belongs to a
//! `group_id`, the consumer. Each thing is there twice: in NDN's terms (`ndn:interest_sent`, `ndn:data_received`,
//! `ndn:interest_lost`), and as the event of QUIC (draft-ietf-quic-qlog-quic-events-02) that comes nearest, which is what
//! qvis draws: an Interest is a packet that carries the Data that it requests, the Data is its acknowledgement, and the window
//! is in bytes of content. docs/packet-traces.md has the table.

mod run;

pub use run::write;

use ndnweir_core::units::{Bytes, Duration, Time};
use ndnweir_node::FetcherCounters;
use ndnweir_node::fetcher::Arrival;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Segments of a consumer whose Interests are remembered, as many as a fetch may have outstanding; the oldest are
/// forgotten.
const MAX_OUTSTANDING: usize = 1 << 17;

/// How the description of a file begins.
const DESCRIPTION: &str = "Consumers of Named Data Networking, written by ndnweir.";

/// Whether a file that begins so was written here.
pub fn is_own(head: &[u8]) -> bool {
    head.starts_with(b"\x1e{") && head.windows(DESCRIPTION.len()).any(|part| part == DESCRIPTION.as_bytes())
}

/// Writes events.
#[derive(Debug)]
pub struct QlogWriter<W: Write> {
    out: W,
    consumers: Vec<LoggedConsumer>,
    result: io::Result<()>,
}

/// What is remembered of a consumer.
#[derive(Debug)]
struct LoggedConsumer {
    name: String,
    /// By segment that is awaited: the number of its latest Interest.
    outstanding: BTreeMap<u64, u64>,
    /// The number of the next Interest.
    next: u64,
    /// Content bytes of the latest Data: what an Interest is taken to request.
    payload: u64,
    least_rtt: Option<Duration>,
    latest_rtt: Option<Duration>,
}

impl<W: Write> QlogWriter<W> {
    /// Begins the file. Of each consumer its name, and the content bytes of a segment, as far as they are known before
    /// the first Data.
    pub fn new(out: W, title: &str, consumers: impl IntoIterator<Item = (String, Bytes)>) -> QlogWriter<W> {
        let consumer = |(name, payload): (String, Bytes)| LoggedConsumer {
            name,
            outstanding: BTreeMap::new(),
            next: 0,
            payload: payload.get().max(1),
            least_rtt: None,
            latest_rtt: None,
        };
        let consumers = consumers.into_iter().map(consumer).collect();
        let mut writer = QlogWriter { out, consumers, result: Ok(()) };
        writer.put(&json!({
            "qlog_version": "0.3",
            "qlog_format": "JSON-SEQ",
            "title": title,
            "description": format!(
                "{DESCRIPTION} Events of the category ndn are its own; those of transport and recovery stand for them \
                 in QUIC's terms."
            ),
            "trace": {
                "title": title,
                "vantage_point": { "name": "consumers", "type": "client" },
                "common_fields": {
                    "time_format": "relative", "reference_time": 0.0, "protocol_type": ["NDN", "QUIC"],
                },
            },
        }));
        writer
    }

    /// A record of RFC 7464.
    fn put(&mut self, record: &Value) {
        if self.result.is_ok() {
            self.result = writeln!(self.out, "\x1e{record}");
        }
    }

    fn event(&mut self, at: Time, consumer: usize, name: &str, data: Value) {
        let Some(LoggedConsumer { name: group, .. }) = self.consumers.get(consumer) else { return };
        let event = json!({ "time": at.nanos() as f64 / 1e6, "name": name, "group_id": group, "data": data });
        self.put(&event);
    }

    /// LoggedConsumer `consumer`, in the order in which they were given, sends an Interest of `bytes` for a segment. The
    /// Interest before it for the same segment is then taken for lost.
    pub fn requested(&mut self, at: Time, consumer: usize, segment: u64, bytes: u64) {
        let Some(of) = self.consumers.get_mut(consumer) else { return };
        let (number, payload) = (of.next, of.payload);
        of.next += 1;
        let lost = of.outstanding.insert(segment, number);
        if of.outstanding.len() > MAX_OUTSTANDING {
            of.outstanding.pop_first();
        }
        if let Some(lost) = lost {
            self.event(at, consumer, "ndn:interest_lost", json!({ "segment": segment, "interest_number": lost }));
            self.event(at, consumer, "recovery:packet_lost", json!({ "header": header(lost) }));
        }
        let own =
            json!({ "segment": segment, "interest_number": number, "bytes": bytes, "retransmission": lost.is_some() });
        self.event(at, consumer, "ndn:interest_sent", own);
        let stream = json!({
            "frame_type": "stream", "stream_id": 0, "offset": segment.saturating_mul(payload), "length": payload,
        });
        let packet = json!({ "header": header(number), "raw": { "length": payload }, "frames": [stream] });
        self.event(at, consumer, "transport:packet_sent", packet);
    }

    /// The segment of an arrival came.
    pub fn arrived(&mut self, at: Time, consumer: usize, arrival: &Arrival) {
        let Some(of) = self.consumers.get_mut(consumer) else { return };
        let payload = arrival.payload.get();
        of.payload = payload.max(1);
        if let Some(rtt) = arrival.rtt {
            of.latest_rtt = Some(rtt);
            of.least_rtt = Some(of.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        let number = of.outstanding.remove(&arrival.segment);
        let mut own = json!({
            "segment": arrival.segment, "payload_bytes": payload, "delay_ms": arrival.delay.millis(),
            "congestion_mark": arrival.mark, "retransmissions": arrival.retransmissions,
        });
        if let Some(rtt) = arrival.rtt {
            own["rtt_ms"] = json!(rtt.millis());
        }
        self.event(at, consumer, "ndn:data_received", own);
        let mut ack = json!({ "frame_type": "ack" });
        if let Some(number) = number {
            ack["acked_ranges"] = json!([[number, number]]);
        }
        if arrival.mark > 0 {
            ack["ce"] = json!(1);
        }
        // What the other end sends has numbers of its own: those of the segments.
        let packet = json!({ "header": header(arrival.segment), "raw": { "length": payload }, "frames": [ack] });
        self.event(at, consumer, "transport:packet_received", packet);
    }

    /// Where a consumer stands.
    pub fn state(&mut self, at: Time, consumer: usize, counters: &FetcherCounters) {
        let Some(of) = self.consumers.get(consumer) else { return };
        let payload = of.payload as f64;
        let bytes = |segments: f64| (segments * payload).round() as u64;
        let mut metrics = json!({
            "bytes_in_flight": bytes(f64::from(counters.in_flight)), "packets_in_flight": counters.in_flight,
        });
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                metrics[key] = value;
            }
        };
        // A window that is not bounded is none.
        let window = counters.window.is_finite() && counters.window < 1e9;
        put("congestion_window", window.then(|| json!(bytes(counters.window))));
        put("smoothed_rtt", (counters.srtt > Duration::ZERO).then(|| json!(counters.srtt.millis())));
        put("latest_rtt", of.latest_rtt.map(|rtt| json!(rtt.millis())));
        put("min_rtt", of.least_rtt.map(|rtt| json!(rtt.millis())));
        let rate = counters.rate.filter(|rate| rate.is_finite() && *rate < 1e9);
        put("pacing_rate", rate.map(|rate| json!(bytes(rate * 8.0))));
        self.event(at, consumer, "recovery:metrics_updated", metrics);
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If any event could not be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.result?;
        self.out.flush()?;
        Ok(self.out)
    }
}

fn header(number: u64) -> Value {
    json!({ "packet_type": "1RTT", "packet_number": number })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn arrival(segment: u64, rtt: Option<u64>, mark: u8) -> Arrival {
        Arrival {
            segment,
            payload: Bytes::new(1000),
            delay: Duration::from_millis(60),
            rtt: rtt.map(Duration::from_millis),
            mark,
            retransmissions: u32::from(rtt.is_none()),
            in_order: true,
            completed: false,
        }
    }

    fn events(writer: QlogWriter<Vec<u8>>) -> Vec<Value> {
        let text = String::from_utf8(writer.finish().unwrap()).unwrap();
        let records = text.split('\x1e').skip(1).map(|r| serde_json::from_str(r).unwrap());
        records.collect()
    }

    #[test]
    fn an_interest_that_is_sent_again_loses_the_earlier_one_and_its_data_acknowledge_the_later() {
        let mut writer = QlogWriter::new(Vec::new(), "test", [("C1".to_owned(), Bytes::new(800))]);
        writer.requested(at(1), 0, 7, 30);
        writer.requested(at(300), 0, 7, 30);
        writer.arrived(at(360), 0, &arrival(7, None, 1));
        writer.requested(at(361), 0, 8, 30);
        writer.arrived(at(421), 0, &arrival(8, Some(60), 0));
        let counters =
            FetcherCounters { window: 2.5, in_flight: 1, srtt: Duration::from_millis(60), ..Default::default() };
        writer.state(at(421), 0, &counters);
        writer.requested(at(421), 5, 1, 30);
        let all = events(writer);
        let names: Vec<&str> = all[1..].iter().map(|e| e["name"].as_str().unwrap()).collect();
        let expected = [
            "ndn:interest_sent",
            "transport:packet_sent",
            "ndn:interest_lost",
            "recovery:packet_lost",
            "ndn:interest_sent",
            "transport:packet_sent",
            "ndn:data_received",
            "transport:packet_received",
            "ndn:interest_sent",
            "transport:packet_sent",
            "ndn:data_received",
            "transport:packet_received",
            "recovery:metrics_updated",
        ];
        assert_eq!(names, expected);
        assert_eq!(all[4]["data"]["header"]["packet_number"], 0);
        let received = &all[8]["data"];
        assert_eq!(received["frames"][0], json!({"frame_type": "ack", "acked_ranges": [[1, 1]], "ce": 1}));
        // The first Data says how large segments are.
        assert_eq!((&all[2]["data"]["raw"]["length"], &all[10]["data"]["raw"]["length"]), (&json!(800), &json!(1000)));
        assert_eq!(all[10]["data"]["frames"][0]["offset"], 8000);
        let metrics = json!({
            "bytes_in_flight": 1000, "packets_in_flight": 1, "congestion_window": 2500, "smoothed_rtt": 60.0,
            "latest_rtt": 60.0, "min_rtt": 60.0,
        });
        assert_eq!((&all[13]["data"], &all[13]["group_id"], &all[13]["time"]), (&metrics, &json!("C1"), &json!(421.0)));
    }

    #[test]
    fn what_is_remembered_is_bounded_and_a_full_disk_is_an_error() {
        let mut writer = QlogWriter::new(io::sink(), "test", [("C1".to_owned(), Bytes::new(1))]);
        (0..MAX_OUTSTANDING as u64 + 10).for_each(|segment| writer.requested(at(1), 0, segment, 30));
        assert_eq!(writer.consumers[0].outstanding.len(), MAX_OUTSTANDING);
        let mut disk = [0u8; 10];
        let mut writer = QlogWriter::new(&mut disk[..], "test", [("C1".to_owned(), Bytes::new(1))]);
        writer.requested(at(1), 0, 1, 30);
        assert!(writer.finish().is_err());
    }
}
