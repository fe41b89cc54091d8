//! A forwarder's metrics, read once a second: what its faces carry, how long their queues are, what they mark and drop.

use crate::feed::Feed;
use crate::stream::number;
use axum::body::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

const INTERVAL: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes of a page of metrics.
const MAX_PAGE: usize = 8 << 20;
/// Faces that are shown: those that carry most.
const MAX_FACES: usize = 64;

/// Reads until the program ends.
pub async fn watch(address: &str, feed: &Feed) {
    let began = Instant::now();
    let mut before: Option<(f64, ReadMetrics)> = None;
    let mut failure = String::new();
    loop {
        match timeout(PATIENCE, get(address)).await.unwrap_or_else(|_| Err("no answer in time".into())) {
            Ok(text) => {
                failure.clear();
                let (now, counters) = (began.elapsed().as_secs_f64(), ReadMetrics::read(&text));
                if let Some((then, earlier)) = &before {
                    feed.push(&counters.event(earlier, now, now - then));
                }
                before = Some((now, counters));
            }
            Err(problem) => {
                before = None;
                if problem != failure {
                    feed.push(&json!({ "kind": "trouble", "message": format!("{address}: {problem}") }));
                    failure = problem;
                }
            }
        }
        sleep(INTERVAL).await;
    }
}

async fn get(address: &str) -> Result<String, String> {
    let words = |error: &dyn std::error::Error| error.to_string();
    let stream = TcpStream::connect(address).await.map_err(|e| words(&e))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(|e| words(&e))?;
    let task = tokio::spawn(connection);
    let request = hyper::Request::get("/metrics").header("host", address).body(Empty::<Bytes>::new());
    let answer = async {
        let response = sender.send_request(request.map_err(|e| words(&e))?).await.map_err(|e| words(&e))?;
        if response.status() != 200 {
            return Err(format!("answered {}", response.status()));
        }
        let body = Limited::new(response.into_body(), MAX_PAGE).collect().await.map_err(|e| e.to_string())?;
        String::from_utf8(body.to_bytes().to_vec()).map_err(|_| "no text".into())
    };
    let answer = answer.await;
    task.abort();
    answer
}

/// What the page of metrics says: of the forwarder, and of faces by number.
#[derive(Debug, Default)]
struct ReadMetrics {
    pit: f64,
    cs: f64,
    faces: BTreeMap<u64, ReadFace>,
}

/// Running totals of a face, and its queue.
#[derive(Clone, Debug, Default)]
struct ReadFace {
    uri: String,
    bytes_in: f64,
    bytes_out: f64,
    interests: f64,
    data: f64,
    nacks: f64,
    marks: f64,
    drops: f64,
    queue: f64,
}

impl ReadMetrics {
    /// Lines that are none of these are left out.
    fn read(text: &str) -> ReadMetrics {
        let mut found = ReadMetrics::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let Some((name, labels, value)) = parse(line) else { continue };
            match name {
                "ndnweir_pit_entries" => found.pit = value,
                "ndnweir_cs_packets" => found.cs = value,
                _ => {}
            }
            let Some(number) = labels.get("face").and_then(|text| text.parse::<u64>().ok()) else { continue };
            let face = found.faces.entry(number).or_default();
            if let Some(uri) = labels.get("uri") {
                face.uri = uri.chars().take(200).collect();
            }
            let label = |key: &str| labels.get(key).map_or("", String::as_str);
            match (name, label("direction"), label("type")) {
                ("ndnweir_face_bytes_total", "in", _) => face.bytes_in = value,
                ("ndnweir_face_bytes_total", "out", _) => face.bytes_out = value,
                ("ndnweir_face_packets_total", _, "interest") => face.interests += value,
                ("ndnweir_face_packets_total", _, "data") => face.data += value,
                ("ndnweir_face_packets_total", _, "nack") => face.nacks += value,
                ("ndnweir_face_marks_total", ..) => face.marks += value,
                ("ndnweir_face_drops_total", ..) => face.drops += value,
                ("ndnweir_face_queue_packets", ..) => face.queue = value,
                _ => {}
            }
        }
        found
    }

    /// Rates since an earlier reading, `seconds` ago; faces that carried most come first.
    fn event(&self, earlier: &ReadMetrics, at: f64, seconds: f64) -> Value {
        let mut faces: Vec<(f64, Value)> = Vec::new();
        for (id, face) in &self.faces {
            // One that is new has no rates yet.
            let before = earlier.faces.get(id).unwrap_or(face);
            let rate = |of: fn(&ReadFace) -> f64| (of(face) - of(before)).max(0.0) / seconds.max(1e-3);
            let (inward, outward) = (rate(|f| f.bytes_in) * 8e-6, rate(|f| f.bytes_out) * 8e-6);
            let shown = json!({
                "face": id, "uri": face.uri, "in_mbps": number(inward), "out_mbps": number(outward),
                "interests": number(rate(|f| f.interests)), "data": number(rate(|f| f.data)),
                "nacks": number(rate(|f| f.nacks)), "marks": number(rate(|f| f.marks)),
                "drops": number(rate(|f| f.drops)), "queue": number(face.queue),
            });
            faces.push((face.bytes_in + face.bytes_out, shown));
        }
        faces.sort_by(|a, b| b.0.total_cmp(&a.0));
        let in_all = faces.len();
        let faces: Vec<Value> = faces.into_iter().take(MAX_FACES).map(|(_, face)| face).collect();
        json!({
            "kind": "faces", "at": number(at), "pit": number(self.pit), "cs": number(self.cs),
            "faces_in_all": in_all, "faces": faces,
        })
    }
}

/// A line of Prometheus' text format: name, labels, value.
fn parse(line: &str) -> Option<(&str, BTreeMap<&str, String>, f64)> {
    let (head, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok().filter(|value: &f64| value.is_finite())?;
    let Some((name, mut rest)) = head.split_once('{') else { return Some((head, BTreeMap::new(), value)) };
    let mut labels = BTreeMap::new();
    while let Some((key, after)) = rest.split_once("=\"") {
        let mut text = String::new();
        let mut characters = after.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => match characters.next()?.1 {
                    'n' => text.push('\n'),
                    other => text.push(other),
                },
                (_, other) => text.push(other),
            }
        };
        labels.insert(key.trim_start_matches(','), text);
        rest = &after[end + 1..];
    }
    Some((name, labels, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_differences_and_hostile_lines_are_left_out() {
        let page = |bytes: u64, marks: u64, queue: u64| {
            ReadMetrics::read(&format!(
                "# HELP x y\nndnweir_pit_entries 7\nndnweir_cs_packets 9\n\
                 ndnweir_face_bytes_total{{face=\"261\",uri=\"udp4://a\\\"b\\n\",direction=\"in\"}} {bytes}\n\
                 ndnweir_face_bytes_total{{face=\"262\",uri=\"u\",direction=\"out\"}} 5\n\
                 ndnweir_face_marks_total{{face=\"261\",uri=\"u\",queue=\"egress\"}} {marks}\n\
                 ndnweir_face_marks_total{{face=\"261\",uri=\"u\",queue=\"kernel\"}} 1\n\
                 ndnweir_face_queue_packets{{face=\"261\",uri=\"<b>\"}} {queue}\n\
                 ndnweir_face_queue_packets{{face=\"x\"}} 1\nndnweir_face_queue_packets{{face=\"3 NaN\n{{ 1\n=\" \n"
            ))
        };
        let event = page(2_500_000, 11, 4).event(&page(0, 1, 9), 3.0, 2.0);
        let first = &event["faces"][0];
        assert_eq!((&event["pit"], &event["faces_in_all"], &first["face"]), (&json!(7.0), &json!(2), &json!(261)));
        // 2.5 MB in two seconds; ten more marks.
        assert_eq!((&first["in_mbps"], &first["marks"], &first["queue"]), (&json!(10.0), &json!(5.0), &json!(4.0)));
        assert_eq!(first["uri"], "<b>");
        assert_eq!(parse("a{b=\"c\\\"d\",e=\"f\"} 1").unwrap().1["b"], "c\"d");
        assert_eq!(parse("a{b=\"c} 1"), None);
    }
}
