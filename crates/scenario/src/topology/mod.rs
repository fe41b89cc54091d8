//! Readers for topology files: GraphML (Topology Zoo), Rocketfuel `.cch` maps, ndnSIM's annotated topology files.
//!
//! A reader only returns what the file contains; defaults for the rest (rates, delays, queues) come from the scenario.

mod cch;
mod graphml;
mod ndnsim;

use ndnweir_core::units::{Duration, Rate};

use crate::{Diagnostic, Location, Problems, QueueLimit};

/// Most nodes a topology or scenario may have.
pub const MAX_NODES: usize = 100_000;
/// Most links a topology or scenario may have.
pub const MAX_LINKS: usize = 1_000_000;
/// Longest topology file, in bytes.
pub const MAX_FILE: usize = 64 << 20;

/// The content of a topology file.
#[derive(Clone, Debug, Default)]
pub struct TopologyFile {
    /// Nodes, in the order of the file; names are unique.
    pub nodes: Vec<TopologyNode>,
    /// Links, in the order of the file; no self-links, no two between the same nodes.
    pub links: Vec<TopologyLink>,
    /// What was read differently than written (parallel links merged, and so on).
    pub notes: Vec<Diagnostic>,
}

/// One node of a topology file.
#[derive(Clone, Debug)]
pub struct TopologyNode {
    /// Name, made unique and free of blanks.
    pub name: String,
    /// Position for drawing: x to the right, y up.
    pub position: Option<(f64, f64)>,
    /// Latitude and longitude in degrees, where the file has them.
    pub geo: Option<(f64, f64)>,
    /// Where it was read.
    pub place: Location,
}

/// One link of a topology file; what the file leaves open is `None`.
#[derive(Clone, Debug)]
pub struct TopologyLink {
    /// Index of one end in [`TopologyFile::nodes`].
    pub a: usize,
    /// Index of the other end.
    pub b: usize,
    /// Rate, both directions.
    pub rate: Option<Rate>,
    /// Propagation delay, both directions.
    pub delay: Option<Duration>,
    /// Queue limit, both directions.
    pub queue: Option<QueueLimit>,
    /// Routing cost, both directions.
    pub cost: Option<u64>,
    /// Probability that a packet is lost, both directions.
    pub loss: Option<f64>,
    /// Where it was read.
    pub place: Location,
}

/// The formats the readers know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GraphML as the Internet Topology Zoo writes it.
    GraphMl,
    /// Rocketfuel ISP map (`uid @location ... -> <neighbour> ...`).
    Cch,
    /// ndnSIM's annotated topology (`router` and `link` sections).
    NdnSim,
}

impl Format {
    /// The format a file name's ending stands for.
    pub fn of(path: &str) -> Option<Format> {
        let ending = path.rsplit_once('.')?.1.to_ascii_lowercase();
        match ending.as_str() {
            "graphml" | "xml" => Some(Format::GraphMl),
            "cch" => Some(Format::Cch),
            "txt" => Some(Format::NdnSim),
            _ => None,
        }
    }
}

/// Reads a topology file's text; errors call the file `source`.
///
/// # Errors
/// Everything wrong with the file, with lines: bad syntax, unknown ends, self-links, unreadable quantities, absurd
/// sizes.
pub fn read(format: Format, source: &str, text: &str) -> Result<TopologyFile, Problems> {
    if text.len() > MAX_FILE {
        let message = format!("the file has {} bytes, more than {MAX_FILE}", text.len());
        return Err(Problems::one(Location::whole(source), message, "use a smaller topology"));
    }
    let topology = match format {
        Format::GraphMl => graphml::read(source, text),
        Format::Cch => cch::read(source, text),
        Format::NdnSim => ndnsim::read(source, text),
    }?;
    if topology.links.is_empty() {
        let message = "the topology has no links";
        return Err(Problems::one(Location::whole(source), message, "use a topology with at least one link"));
    }
    for (count, limit, what) in [(topology.nodes.len(), MAX_NODES, "nodes"), (topology.links.len(), MAX_LINKS, "links")]
    {
        if count > limit {
            let message = format!("the topology has {count} {what}, more than {limit}");
            return Err(Problems::one(Location::whole(source), message, "use a smaller topology"));
        }
    }
    Ok(topology)
}

impl TopologyFile {
    /// The great-circle distance of a link's ends, in metres, where both have coordinates.
    pub fn distance(&self, link: &TopologyLink) -> Option<f64> {
        Some(great_circle(self.nodes.get(link.a)?.geo?, self.nodes.get(link.b)?.geo?))
    }
}

/// Distance over the surface of a sphere of the Earth's mean radius (haversine formula), in metres.
pub fn great_circle(from: (f64, f64), to: (f64, f64)) -> f64 {
    /// Mean radius (2a + b) / 3 of the WGS 84 ellipsoid, in metres.
    const EARTH: f64 = 6_371_008.8;
    let (lat1, lat2) = (from.0.to_radians(), to.0.to_radians());
    let (dlat, dlon) = (lat2 - lat1, (to.1 - from.1).to_radians());
    let sin = |x: f64| libm::sin(x / 2.0) * libm::sin(x / 2.0);
    let h = sin(dlat) + libm::cos(lat1) * libm::cos(lat2) * sin(dlon);
    2.0 * EARTH * libm::asin(libm::sqrt(h.clamp(0.0, 1.0)))
}

/// Time light needs in fibre (two thirds of its speed in vacuum) over `metres`, at least 10 µs for two ends in one
/// place.
pub fn fibre_delay(metres: f64) -> Duration {
    const LIGHT_IN_VACUUM: f64 = 299_792_458.0;
    Duration::from_secs_f64(metres / (LIGHT_IN_VACUUM * 2.0 / 3.0)).max(Duration::from_micros(10))
}

/// Makes a name out of a label: blanks and signs become `_`.
fn clean_name(label: &str) -> String {
    let mut name = String::new();
    for c in label.trim().chars().take(64) {
        if c.is_alphanumeric() || matches!(c, '.' | '+') {
            name.push(c);
        } else if !name.ends_with('_') && !name.is_empty() {
            name.push('_');
        }
    }
    name.trim_end_matches('_').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_of_the_equator_is_ten_thousand_kilometres() {
        let quarter = great_circle((0.0, 0.0), (0.0, 90.0));
        assert!((quarter - 10_007_557.0).abs() < 1.0, "{quarter}");
    }

    #[test]
    fn light_takes_five_milliseconds_for_a_thousand_kilometres_of_fibre() {
        assert!((fibre_delay(1e6).millis() - 5.0035).abs() < 1e-3);
        assert_eq!(fibre_delay(0.0), Duration::from_micros(10));
        assert_eq!(fibre_delay(f64::NAN), Duration::from_micros(10));
    }

    #[test]
    fn labels_become_names_without_blanks() {
        assert_eq!(clean_name("  New York, NY "), "New_York_NY");
        assert_eq!(clean_name("***"), "");
    }
}
