//! ndnSIM's annotated topology files: a `router` section (`name comment y x`), then a `link` section
//! (`from to bandwidth metric delay queue error-model`, only the two ends required), each keyword alone on its line.
//!
//! As in ndnSIM, everything before `router` is ignored, a link whose reverse was already given is skipped, and y grows
//! downward on the screen (so it is negated here, where y grows upward). The queue column is a number of packets, or a
//! class with `MaxPackets=`; of error models, `ns3::RateErrorModel` with `ErrorUnit=ERROR_UNIT_PACKET` is read.

use std::collections::BTreeMap;
use std::sync::Arc;

use ndnweir_core::units::{Duration, Rate};

use super::{TopologyFile, TopologyLink, TopologyNode};
use crate::diag::Findings;
use crate::{Location, Problems, QueueLimit};

pub(super) fn read(source: &str, text: &str) -> Result<TopologyFile, Problems> {
    let source: Arc<str> = source.into();
    let mut reader = NdnsimReader::default();
    let mut section = "";
    for (number, raw) in text.lines().enumerate() {
        let line = raw.trim();
        let place = Location::at(&source, number + 1, 1 + raw.chars().take_while(|c| c.is_whitespace()).count());
        match (section, line) {
            ("", "router") => section = "router",
            ("", "link") => {
                let help = "write a line \"router\" and the nodes before the line \"link\"";
                reader.found.error(&place, "the link section comes before the router section", help);
                section = "link";
            }
            ("router", "link") => section = "link",
            ("", _) | (_, "") => {}
            _ if line.starts_with('#') => {}
            ("router", _) => reader.node(line, place),
            _ => reader.link(line, place),
        }
    }
    if section != "link" {
        let missing = if section.is_empty() { "router" } else { "link" };
        let place = Location::at(&source, text.lines().count().max(1), 1);
        let help = "an ndnSIM topology has a line \"router\", the nodes, a line \"link\", the links";
        reader.found.error(&place, format!("there is no \"{missing}\" section"), help);
    }
    reader.found.check()?;
    Ok(reader.topology)
}

#[derive(Default)]
struct NdnsimReader {
    topology: TopologyFile,
    index: BTreeMap<String, usize>,
    /// Ends in the order given → how often (a second one in the same order is an error, in reverse order it is
    /// skipped).
    seen: BTreeMap<(usize, usize), ()>,
    found: Findings,
}

impl NdnsimReader {
    fn node(&mut self, line: &str, place: Location) {
        let mut fields = line.split_whitespace();
        let Some(name) = fields.next() else { return };
        if !crate::is_name(name) {
            let help = "use letters, digits, '_', '-', '.' and '+', at most 64";
            self.found.error(&place, format!("\"{name}\" is not a node name"), help);
            return;
        }
        let _comment = fields.next();
        let mut coordinate = || match fields.next().map(|f| (f, f.parse::<f64>())) {
            None => Ok(None),
            Some((_, Ok(x))) if x.is_finite() => Ok(Some(x)),
            Some((field, _)) => Err(format!("\"{field}\" is not a coordinate")),
        };
        let (y, x) = match (coordinate(), coordinate()) {
            (Ok(y), Ok(x)) => (y, x),
            (Err(message), _) | (_, Err(message)) => {
                self.found.error(&place, message, "a node line reads: name comment y x");
                (None, None)
            }
        };
        // (0, 0) means "no position" to ndnSIM, which then draws the node anywhere.
        let position = x.zip(y).filter(|&(x, y)| x != 0.0 || y != 0.0).map(|(x, y)| (x, -y));
        if self.index.insert(name.to_string(), self.topology.nodes.len()).is_some() {
            self.found.error(&place, format!("node \"{name}\" occurs twice"), "delete or rename one of the two");
            return;
        }
        self.topology.nodes.push(TopologyNode { name: name.to_string(), position, geo: None, place });
    }

    fn link(&mut self, line: &str, place: Location) {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let found = &self.found;
        let &[from, to, ..] = fields.as_slice() else {
            found.error(&place, "a link needs two ends", "a link line reads: from to bandwidth metric delay queue");
            return;
        };
        let end = |name: &str| {
            let known = self.index.get(name).copied();
            if known.is_none() {
                let help = found.suggest(name, "nodes", self.index.keys().map(String::as_str));
                found.error(&place, format!("\"{name}\" is not a node of the router section"), help);
            }
            known
        };
        let (Some(a), Some(b)) = (end(from), end(to)) else { return };
        if a == b {
            found.error(&place, format!("the link joins {from} to itself"), "name two different nodes");
            return;
        }
        if self.seen.contains_key(&(b, a)) {
            return;
        }
        if self.seen.insert((a, b), ()).is_some() {
            found.error(&place, format!("the link {from} {to} occurs twice"), "delete one of the two lines");
            return;
        }
        let rate = column(&fields, 2, data_rate, found, &place);
        let cost = column(&fields, 3, metric, found, &place);
        let delay = column(&fields, 4, |f| f.parse::<Duration>().map_err(|e| e.to_string()), found, &place);
        let queue = column(&fields, 5, max_packets, found, &place);
        let loss = column(&fields, 6, error_model, found, &place);
        self.topology.links.push(TopologyLink { a, b, rate, delay, queue, cost, loss, place });
    }
}

/// The value of column `i`, if the line has that many.
fn column<T>(
    fields: &[&str],
    i: usize,
    parse: fn(&str) -> Result<T, String>,
    found: &Findings,
    place: &Location,
) -> Option<T> {
    match parse(fields.get(i)?) {
        Ok(value) => Some(value),
        Err(message) => {
            let help = "a link line reads: from to bandwidth metric delay queue, such as R1 R2 10Mbps 1 10ms 100";
            found.error(place, message, help);
            None
        }
    }
}

/// A rate in ns-3's spelling: `10Mbps`, `10Mb/s`, and `10MBps` or `10MB/s` for bytes.
fn data_rate(text: &str) -> Result<Rate, String> {
    let bits = text.replace("b/s", "bps").replace("B/s", "Bps");
    let rate = match bits.strip_suffix("Bps") {
        Some(head) => format!("{head}bps").parse::<Rate>().map(|r| Rate::from_bps(r.bps().saturating_mul(8))),
        None => bits.parse::<Rate>(),
    };
    match rate {
        Ok(Rate::ZERO) => Err("the bandwidth is zero".into()),
        Ok(rate) => Ok(rate),
        Err(error) => Err(error.to_string()),
    }
}

fn metric(text: &str) -> Result<u64, String> {
    match text.parse::<u16>() {
        Ok(metric) if metric > 0 => Ok(u64::from(metric)),
        _ => Err(format!("\"{text}\" is not a metric: write a whole number from 1 to 65535")),
    }
}

fn max_packets(text: &str) -> Result<QueueLimit, String> {
    let attribute = text.split(',').find_map(|part| part.trim_matches('"').strip_prefix("MaxPackets="));
    let number = attribute.unwrap_or(text).trim_end_matches('p');
    match number.parse::<u32>() {
        Ok(packets) if packets > 0 => Ok(QueueLimit::Packets(packets)),
        _ => Err(format!("\"{text}\" is not a queue length: write a number of packets above zero")),
    }
}

fn error_model(text: &str) -> Result<f64, String> {
    let mut parts = text.split(',').map(|part| part.trim_matches('"'));
    let attribute =
        |name: &str| text.split(',').find_map(|part| part.trim_matches('"').strip_prefix(name)?.strip_prefix('='));
    let rate = attribute("ErrorRate").and_then(|r| r.parse::<f64>().ok()).filter(|p| (0.0..=1.0).contains(p));
    match (parts.next(), attribute("ErrorUnit"), rate) {
        (Some("ns3::RateErrorModel"), Some("ERROR_UNIT_PACKET"), Some(rate)) => Ok(rate),
        _ => Err(format!(
            "cannot read the error model \"{text}\": only ns3::RateErrorModel,ErrorUnit=ERROR_UNIT_PACKET,ErrorRate=P is known"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# ignored\nrouter\n# node comment y x\nA NA 1 2\nB NA 3 4\nlink\nA B 10Mbps 2 5ms 20\nB A 1Mbps\n";

    #[test]
    fn columns_are_read_and_the_reverse_link_is_skipped() {
        let topology = read("t.txt", TEXT).unwrap();
        assert_eq!(topology.links.len(), 1);
        let link = &topology.links[0];
        assert_eq!(link.rate, Some(Rate::from_mbps(10.0)));
        assert_eq!((link.cost, link.delay), (Some(2), Some(Duration::from_millis(5))));
        assert_eq!(link.queue, Some(QueueLimit::Packets(20)));
        assert_eq!(topology.nodes[0].position, Some((2.0, -1.0)));
    }

    #[test]
    fn ns3_spells_rates_and_error_models_in_its_own_way() {
        assert_eq!(data_rate("10Mb/s"), Ok(Rate::from_mbps(10.0)));
        assert_eq!(data_rate("1MBps"), Ok(Rate::from_mbps(8.0)));
        let model = "ns3::RateErrorModel,ErrorUnit=ERROR_UNIT_PACKET,ErrorRate=0.01";
        assert_eq!(error_model(model), Ok(0.01));
        assert!(error_model("0.01").is_err());
        assert_eq!(max_packets("ns3::DropTailQueue,MaxPackets=50"), Ok(QueueLimit::Packets(50)));
    }
}
