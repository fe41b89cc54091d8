//! GraphML, as the Internet Topology Zoo writes it (<https://topology-zoo.org>).
//!
//! Read: node `label`, `Latitude`, `Longitude` (or `x`, `y`); edge `LinkSpeedRaw` (bit/s), or `LinkSpeed` with
//! `LinkSpeedUnits`, or an `OC-n` in `LinkType`/`LinkLabel` (n × 51.84 Mbit/s); and, in files written by hand, edge
//! attributes `rate` and `delay` with units in the text. Zoo files have parallel edges and a few self-loops: the former
//! are merged (their rates add up), the latter skipped, each with a note.

use std::collections::{BTreeMap, BTreeSet};

use ndnweir_core::units::{Duration, Rate};
use roxmltree::{Document, Error, Node, ParsingOptions};

use super::{TopologyFile, TopologyLink, TopologyNode, clean_name};
use crate::diag::Findings;
use crate::tree::Lines;
use crate::{Diagnostic, Location, Problems};

/// OC-1, the base rate of SONET, in bit/s (ANSI T1.105).
const OC1: f64 = 51_840_000.0;

/// Most attributes of an element; of what a topology needs there are five.
const MAX_ATTRIBUTES: usize = 256;

/// Where the first element with too many attributes begins: a `<` stands for itself nowhere else.
fn crowded_tag(text: &str) -> Option<usize> {
    let crowded = |tag: &str| tag.bytes().filter(|byte| *byte == b'=').nth(MAX_ATTRIBUTES).is_some();
    let mut at = 0;
    text.split('<').find_map(|tag| {
        let start = at;
        at += tag.len() + 1;
        crowded(tag).then_some(start.saturating_sub(1))
    })
}

struct GraphmlReader<'a> {
    lines: Lines<'a>,
    /// (what it belongs to, key id) → attribute name in lower case.
    keys: BTreeMap<String, String>,
    found: Findings,
}

pub(super) fn read(source: &str, text: &str) -> Result<TopologyFile, Problems> {
    let source: std::sync::Arc<str> = source.into();
    // The parser compares each attribute of an element with all before it.
    if let Some(at) = crowded_tag(text) {
        let message = format!("an element with more than {MAX_ATTRIBUTES} attributes");
        return Err(Problems::one(Lines::new(&source, text).place(at), message, "delete what is no topology"));
    }
    // A document type is ignored, never fetched. One that declares entities could make a small file a large document.
    let allow_dtd = !text.contains("<!ENTITY");
    let options = ParsingOptions { nodes_limit: 4_000_000, allow_dtd, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        // The parser gives no place for a file that ends too early: that is its last line.
        let place = match error {
            Error::UnexpectedEndOfStream | Error::UnclosedRootNode | Error::NoRootNode => {
                Lines::new(&source, text).place(text.trim_end().len())
            }
            Error::DtdDetected => {
                let place = Lines::new(&source, text).place(text.find("<!ENTITY").unwrap_or(0));
                let help = "write what they stand for in their place, and delete the declarations";
                return Problems::one(place, "entities of its own are not read", help);
            }
            _ => Location::at(&source, error.pos().row as usize, error.pos().col as usize),
        };
        Problems::one(place, format!("not valid XML: {error}"), "the file may be cut off or damaged: fetch it again")
    })?;
    let mut reader =
        GraphmlReader { lines: Lines::new(&source, text), keys: BTreeMap::new(), found: Findings::default() };
    let root = document.root_element();
    if root.tag_name().name() != "graphml" {
        let message = format!("this is <{}>, not GraphML", root.tag_name().name());
        return Err(Problems::one(reader.place(root), message, "give a file whose outermost element is <graphml>"));
    }
    for key in root.children().filter(|n| n.has_tag_name_local("key")) {
        if let (Some(id), Some(name)) = (key.attribute("id"), key.attribute("attr.name")) {
            reader.keys.insert(id.to_string(), name.to_lowercase());
        }
    }
    let graphs: Vec<_> = root.children().filter(|n| n.has_tag_name_local("graph")).collect();
    let &[graph] = graphs.as_slice() else {
        let message = format!("the file has {} <graph> elements", graphs.len());
        return Err(Problems::one(reader.place(root), message, "give a file with exactly one <graph>"));
    };
    let mut topology = TopologyFile::default();
    let ids = reader.nodes(graph, &mut topology);
    reader.edges(graph, &ids, &mut topology);
    reader.found.check()?;
    Ok(topology)
}

/// Tag names without regard to the namespace, which hand-written files often leave out.
trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}
impl LocalName for Node<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

impl GraphmlReader<'_> {
    fn place(&self, node: Node<'_, '_>) -> Location {
        self.lines.place(node.range().start)
    }

    /// The `<data>` of an element by attribute name, with the element it stands in.
    fn data<'n>(&self, node: Node<'n, 'n>) -> BTreeMap<&str, (String, Node<'n, 'n>)> {
        let mut data = BTreeMap::new();
        for child in node.children().filter(|n| n.has_tag_name_local("data")) {
            let name = child.attribute("key").and_then(|id| self.keys.get(id));
            if let (Some(name), Some(text)) = (name, child.text()) {
                data.entry(name.as_str()).or_insert((text.trim().to_string(), child));
            }
        }
        data
    }

    fn number(&self, data: &BTreeMap<&str, (String, Node<'_, '_>)>, key: &str, range: f64) -> Option<f64> {
        let (text, node) = data.get(key)?;
        match text.parse::<f64>() {
            Ok(x) if x.is_finite() && x.abs() <= range => Some(x),
            _ => {
                let message = format!("{key} is \"{text}\", not a number within ±{range}");
                self.found.error(&self.place(*node), message, "write a plain number, or delete this line");
                None
            }
        }
    }

    fn nodes(&self, graph: Node<'_, '_>, topology: &mut TopologyFile) -> BTreeMap<String, usize> {
        let mut ids = BTreeMap::new();
        let mut names = BTreeSet::new();
        for node in graph.children().filter(|n| n.has_tag_name_local("node")) {
            let place = self.place(node);
            let Some(id) = node.attribute("id") else {
                self.found.error(&place, "a <node> without an id", "write <node id=\"...\">");
                continue;
            };
            if ids.insert(id.to_string(), topology.nodes.len()).is_some() {
                self.found.error(&place, format!("node id \"{id}\" occurs twice"), "give each node its own id");
                continue;
            }
            let data = self.data(node);
            let label = data.get("label").or(data.get("name")).map_or("", |d| d.0.as_str());
            let mut name = match clean_name(label) {
                name if name.is_empty() => format!("n{}", clean_name(id)),
                name => name,
            };
            // Zoo labels repeat ("None", or one city twice): the id makes them distinct, or the place in the file where ids
            // are alike in the letters that a name may have.
            if !names.insert(name.clone()) {
                name = format!("{name}.{}", clean_name(id));
                while !names.insert(name.clone()) {
                    name = format!("{name}.{}", topology.nodes.len());
                }
            }
            let latitude = self.number(&data, "latitude", 90.0);
            let longitude = self.number(&data, "longitude", 360.0);
            let x = self.number(&data, "x", 1e9);
            let y = self.number(&data, "y", 1e9);
            let geo = latitude.zip(longitude);
            let position = geo.map(|(lat, lon)| (lon, lat)).or(x.zip(y));
            topology.nodes.push(TopologyNode { name, position, geo, place });
        }
        ids
    }

    fn edges(&self, graph: Node<'_, '_>, ids: &BTreeMap<String, usize>, topology: &mut TopologyFile) {
        let mut seen: BTreeMap<(usize, usize), usize> = BTreeMap::new();
        for edge in graph.children().filter(|n| n.has_tag_name_local("edge")) {
            let place = self.place(edge);
            let end = |which: &str| {
                let Some(id) = edge.attribute(which) else {
                    let help = "write <edge source=\"...\" target=\"...\">";
                    self.found.error(&place, format!("an <edge> without a {which}"), help);
                    return None;
                };
                let known = ids.get(id).copied();
                if known.is_none() {
                    let help = self.found.suggest(id, "node ids", ids.keys().map(String::as_str));
                    self.found.error(&place, format!("{which} \"{id}\" is not a node of this graph"), help);
                }
                known
            };
            let (Some(a), Some(b)) = (end("source"), end("target")) else { continue };
            let note = |message: String| Diagnostic { place: place.clone(), message, help: String::new() };
            let name = |i: usize| topology.nodes.get(i).map_or("?", |n| n.name.as_str());
            if a == b {
                topology.notes.push(note(format!("self-loop at {} skipped", name(a))));
                continue;
            }
            let data = self.data(edge);
            let (rate, delay) = (self.rate(&data, &place), self.delay(&data));
            if let Some(&earlier) = seen.get(&(a.min(b), a.max(b))) {
                topology.notes.push(note(format!("parallel link {}-{} merged with the first", name(a), name(b))));
                let link: &mut TopologyLink = &mut topology.links[earlier];
                link.rate = match (link.rate, rate) {
                    (Some(x), Some(y)) => Some(Rate::from_bps(x.bps().saturating_add(y.bps()))),
                    (x, y) => x.or(y),
                };
                continue;
            }
            seen.insert((a.min(b), a.max(b)), topology.links.len());
            topology.links.push(TopologyLink { a, b, rate, delay, queue: None, cost: None, loss: None, place });
        }
    }

    fn rate(&self, data: &BTreeMap<&str, (String, Node<'_, '_>)>, place: &Location) -> Option<Rate> {
        for key in ["rate", "bandwidth", "capacity"] {
            if let Some((text, node)) = data.get(key) {
                match text.parse::<Rate>() {
                    Ok(rate) if rate > Rate::ZERO => return Some(rate),
                    Ok(_) => self.found.error(&self.place(*node), "the rate is zero", "write a rate above zero"),
                    Err(error) => {
                        self.found.error(&self.place(*node), error.to_string(), "write a rate such as 10Mbps")
                    }
                }
                return None;
            }
        }
        let unit = match data.get("linkspeedunits").map(|d| d.0.as_str()) {
            Some("K") => Some(1e3),
            Some("M") => Some(1e6),
            Some("G") => Some(1e9),
            Some("T") => Some(1e12),
            _ => None,
        };
        // LinkSpeed is a free text in the Zoo ("<10", "2.5+"): only clean numbers count.
        let spoken = data.get("linkspeed").and_then(|d| d.0.parse::<f64>().ok()).zip(unit).map(|(x, u)| x * u);
        let raw = self.number(data, "linkspeedraw", 1e15);
        let carrier = ["linktype", "linklabel"].iter().find_map(|key| optical_carrier(&data.get(key)?.0));
        let bps = raw.or(spoken).or(carrier)?;
        if bps < 1.0 {
            self.found.error(place, format!("the link's rate is {bps} bit/s"), "write a rate above zero");
            return None;
        }
        Some(Rate::from_mbps(bps / 1e6))
    }

    fn delay(&self, data: &BTreeMap<&str, (String, Node<'_, '_>)>) -> Option<Duration> {
        let (text, node) = data.get("delay").or(data.get("latency"))?;
        match text.parse::<Duration>() {
            Ok(delay) => Some(delay),
            Err(error) => {
                self.found.error(&self.place(*node), error.to_string(), "write a delay such as 10ms");
                None
            }
        }
    }
}

/// The rate of "OC-192c" and the like, in bit/s.
fn optical_carrier(label: &str) -> Option<f64> {
    let rest = label.trim().strip_prefix("OC")?.trim_start_matches([' ', '-']);
    let digits: String = rest.chars().take_while(char::is_ascii_digit).take(5).collect();
    digits.parse::<f64>().ok().filter(|n| *n >= 1.0).map(|n| n * OC1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: &str = "<graphml><key id='r' for='edge' attr.name='rate'/><graph><node id='a'/><node id='b'/>\
        <edge source='a' target='b'><data key='r'>5Mbps</data></edge></graph></graphml>";

    #[test]
    fn a_document_type_is_passed_over() {
        for head in [
            "<!DOCTYPE graphml SYSTEM \"http://graphml.graphdrawing.org/dtds/1.0rc/graphml.dtd\">",
            "<!DOCTYPE graphml [ <!ELEMENT node ANY> <!ATTLIST node id CDATA #REQUIRED> ]>",
        ] {
            let topology = read("x.graphml", &format!("<?xml version='1.0'?>\n{head}\n{GRAPH}"));
            let topology = topology.unwrap_or_else(|e| panic!("{e}"));
            assert_eq!((topology.nodes.len(), topology.links[0].rate), (2, Some(Rate::from_mbps(5.0))));
        }
    }

    #[test]
    fn an_element_with_thousands_of_attributes_is_rejected_before_they_are_compared() {
        let attributes: String = (0..300).map(|i| format!(" a{i}='1'")).collect();
        let graph = GRAPH.replace("<graph>", &format!("\n<graph{attributes}>"));
        let error = read("x.graphml", &graph).unwrap_err().to_string();
        assert!(error.starts_with("x.graphml:2:1: an element with more than 256 attributes"), "{error}");
    }

    #[test]
    fn nodes_whose_labels_and_ids_are_alike_get_names_of_their_own() {
        let node = |i: usize| format!("<node id='1{}'><data key='l'>a</data></node>", "!".repeat(i));
        let nodes: String = (0..40).map(node).collect();
        let graph = "<graphml><key id='l' for='node' attr.name='label'/><graph>".to_owned()
            + &nodes
            + "<edge source='1' target='1!'/></graph></graphml>";
        let topology = read("x.graphml", &graph).unwrap_or_else(|e| panic!("{e}"));
        let names: BTreeSet<&str> = topology.nodes.iter().map(|node| node.name.as_str()).collect();
        assert_eq!(names.len(), 40);
        assert!(names.iter().all(|name| name.len() < 10), "{names:?}");
        assert_eq!([&topology.nodes[1].name, &topology.nodes[2].name], ["a.1", "a.1.2"]);
    }

    #[test]
    fn declared_entities_are_rejected_with_their_line_before_they_grow() {
        let head = "<!DOCTYPE graphml [\n<!ENTITY a \"aaaaaaaaaa\">\n<!ENTITY b \"&a;&a;&a;&a;&a;&a;&a;&a;\">\n]>";
        let error = read("x.graphml", &format!("{head}\n{GRAPH}")).unwrap_err().to_string();
        assert!(error.starts_with("x.graphml:2:1: entities of its own"), "{error}");
    }
}
