//! `[[cross]]`: traffic that is not NDN and shares links with it.

use std::collections::BTreeMap;

use ndnweir_core::units::{Bytes, Duration, Rate};
use ndnweir_sim::network::CrossKind;
use ndnweir_sim::tcp::Algorithm;

use super::diag::{Findings, Location};
use super::direction::{RATE_HELP, rate_check};
use super::fields::{Fields, Packets};
use super::model::CrossTraffic;
use super::network::{self, Network};
use super::settings::Settings;
use super::tree::{Item, Table, Value};

const PATH: &str = "write path = [\"A\", \"B\"] with places that links join one after the other";
const SIZE: &str = "write a size from \"20B\" to \"65535B\"";
const PERIOD: &str = "write a time from \"1us\" to \"1h\"";

/// An IPv4 packet as Ethernet carries it.
const DATAGRAM: Bytes = Bytes::new(1500);
/// IPv4 and TCP headers with the timestamp option.
const ACK: Bytes = Bytes::new(52);
/// IPv4 and UDP headers; of QUIC a short header of 11 B, an ACK frame of one range, and the tag of its encryption.
const QUIC_ACK: Bytes = Bytes::new(28 + 11 + 7 + 16);

/// What a kind sends.
#[derive(Clone, Copy)]
enum Kind {
    Poisson,
    OnOff,
    Nada,
    Transfer(Algorithm),
}

const KINDS: [(&str, Kind); 7] = [
    ("poisson", Kind::Poisson),
    ("on-off", Kind::OnOff),
    ("nada", Kind::Nada),
    ("tcp", Kind::Transfer(Algorithm::Cubic)),
    ("tcp-reno", Kind::Transfer(Algorithm::Reno)),
    ("tcp-bbr-v1", Kind::Transfer(Algorithm::BbrV1)),
    ("quic-reno", Kind::Transfer(Algorithm::QuicReno)),
];

pub(super) fn read(root: &Table, settings: &Settings, network: &Network, found: &Findings) -> Vec<CrossTraffic> {
    let mut seen: BTreeMap<String, Location> = BTreeMap::new();
    let mut list = Vec::new();
    for item in root.list("cross") {
        let Some(table) = item.as_table() else { continue };
        let f = Fields::new(table, "this cross traffic", &item.at, found);
        let name = network::name(&f, "pieces of cross traffic", &seen, found);
        let path = path(&f, network, found);
        let kind = kind(&f);
        let size = size(&f, "size").unwrap_or(DATAGRAM);
        let start = f.get::<Duration>("start").unwrap_or(Duration::ZERO);
        if start >= settings.run.duration {
            f.error("start", format!("start: {start} is not within the run"), "write a time before run.duration");
        }
        let stop = f.get::<Duration>("stop");
        if stop.is_some_and(|stop| stop <= start) {
            f.error("stop", "stop: it stops before it starts", "write a time after start");
        }
        f.finish();
        let Some(name) = name else { continue };
        seen.insert(name.clone(), item.at.clone());
        if let (Some(path), Some(kind)) = (path, kind) {
            list.push(CrossTraffic { name, path, kind, size, start, stop });
        }
    }
    list
}

/// What it sends.
fn kind(f: &Fields<'_>) -> Option<CrossKind> {
    f.required::<String>("kind", "\"poisson\"")?;
    let Some(kind) = f.word("kind", &KINDS) else {
        f.mark_known(&["rate", "on", "off", "packets", "ack"]);
        return None;
    };
    let rate = || -> Option<Rate> {
        f.required::<Rate>("rate", "\"5Mbps\"")?;
        f.checked("rate", RATE_HELP, rate_check)
    };
    match kind {
        Kind::Poisson => Some(CrossKind::Poisson { rate: rate()? }),
        Kind::OnOff => {
            let (rate, on, off) = (rate(), period(f, "on"), period(f, "off"));
            Some(CrossKind::OnOff { rate: rate?, on: on?, off: off? })
        }
        Kind::Nada => Some(CrossKind::Nada { rate: rate()? }),
        Kind::Transfer(algorithm) => {
            let help = "write a number of segments such as \"1000 packets\"";
            let segments = f.checked("packets", help, |&Packets(n)| match u32::try_from(n) {
                Ok(1..) => Ok(()),
                _ => Err(format!("{n} segments cannot be sent")),
            });
            let usual = if algorithm == Algorithm::QuicReno { QUIC_ACK } else { ACK };
            let ack = size(f, "ack").unwrap_or(usual);
            let segments = segments.map(|Packets(n)| n as u32);
            Some(CrossKind::Tcp { algorithm, segments, ack: ack.get() as u32 })
        }
    }
}

fn period(f: &Fields<'_>, key: &'static str) -> Option<Duration> {
    f.required::<Duration>(key, "\"1s\"")?;
    f.checked(key, PERIOD, |&mean: &Duration| {
        let fits = mean >= Duration::from_micros(1) && mean <= Duration::from_millis(3_600_000);
        if fits { Ok(()) } else { Err(format!("{mean} is out of range")) }
    })
}

fn size(f: &Fields<'_>, key: &'static str) -> Option<Bytes> {
    f.checked(key, SIZE, |&size: &Bytes| {
        let fits = size >= Bytes::new(20) && size <= Bytes::new(65_535);
        if fits { Ok(()) } else { Err(format!("{size} is no datagram")) }
    })
}

/// The places that it passes, each joined with the next by a link that has no marker.
fn path(f: &Fields<'_>, network: &Network, found: &Findings) -> Option<Vec<usize>> {
    let Some(item) = f.item("path") else {
        f.missing("path", "[\"A\", \"B\"]");
        return None;
    };
    let names: Option<Vec<(&str, &Location)>> = match &item.value {
        Value::List(items) if items.len() >= 2 => items.iter().map(|i: &Item| Some((i.as_text()?, &i.at))).collect(),
        _ => None,
    };
    let Some(names) = names else {
        found.error(&item.at, "path is not a list of two places or more", PATH);
        return None;
    };
    let places: Vec<Option<usize>> =
        names.iter().map(|(name, at)| network::node_index(name, at, network, found)).collect();
    let places: Vec<usize> = places.into_iter().collect::<Option<_>>()?;
    let mut used = Vec::new();
    for (pair, named) in places.windows(2).zip(names.windows(2)) {
        let [(from, _), (to, at)] = [named[0], named[1]];
        let ends = |a, b| (a, b) == (pair[0], pair[1]) || (b, a) == (pair[0], pair[1]);
        let Some(link) = network.links.iter().position(|link| ends(link.a, link.b)) else {
            if !network.partial {
                found.error(at, format!("path: no link joins {from} and {to}"), PATH);
            }
            return None;
        };
        if used.contains(&link) {
            found.error(at, format!("path: it crosses the link of {from} and {to} twice"), PATH);
            return None;
        }
        used.push(link);
        let directions = [&network.links[link].forward, &network.links[link].backward];
        if directions.iter().any(|direction| direction.has_own_queue()) {
            let what = if directions.iter().any(|d| d.marker.is_some()) { "marker" } else { "discipline" };
            let message = format!(
                "path: link {} has a {what}, and queues of links that other traffic crosses lie below NDN",
                network.links[link].name
            );
            found.error(at, message, format!("delete the link's {what}, or lead the traffic elsewhere"));
            return None;
        }
    }
    Some(places)
}
