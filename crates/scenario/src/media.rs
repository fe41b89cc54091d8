//! `[[medium]]`: links that share one half-duplex medium.

use std::collections::BTreeMap;

use ndnweir_core::units::{Duration, Rate};

use super::diag::{Findings, Location};
use super::direction::{RATE_HELP, rate_check};
use super::fields::Fields;
use super::model::Medium;
use super::network::{self, Network};
use super::tree::{Item, Table, Value};

/// A medium as it is written: its links by name.
struct Written {
    name: String,
    rate: Rate,
    gap: Duration,
    links: Vec<(String, Location)>,
}

/// All media of a file.
pub(super) struct Media {
    list: Vec<Written>,
}

const LINKS: &str = "write links = [\"A-B\", \"A-C\"]";

impl Media {
    pub(super) fn read(root: &Table, found: &Findings) -> Media {
        let mut seen = BTreeMap::new();
        let mut list = Vec::new();
        for item in root.list("medium") {
            let Some(table) = item.as_table() else { continue };
            let f = Fields::new(table, "this medium", &item.at, found);
            let name = network::name(&f, "media", &seen, found);
            if table.get("rate").is_none() {
                f.missing("rate", "\"20Mbps\"");
            }
            let rate = f.checked("rate", RATE_HELP, rate_check);
            let gap = f.checked("gap", "write a time from \"0us\" to \"1s\"", |gap: &Duration| {
                if *gap <= Duration::from_millis(1000) {
                    Ok(())
                } else {
                    Err(format!("{gap} before each frame is too long"))
                }
            });
            let links = links(&f, found);
            f.finish();
            let Some(name) = name else { continue };
            seen.insert(name.clone(), item.at.clone());
            if let (Some(rate), Some(links)) = (rate, links) {
                list.push(Written { name, rate, gap: gap.unwrap_or(Duration::ZERO), links });
            }
        }
        Media { list }
    }

    /// The rate of the medium that has a link by one of these names.
    pub(super) fn rate_of(&self, names: &[String]) -> Option<Rate> {
        let has = |medium: &&Written| medium.links.iter().any(|(link, _)| names.contains(link));
        self.list.iter().find(has).map(|medium| medium.rate)
    }

    /// The media with the links that there are.
    pub(super) fn resolve(self, network: &Network, found: &Findings) -> Vec<Medium> {
        let mut taken: BTreeMap<usize, String> = BTreeMap::new();
        let mut media = Vec::new();
        for Written { name, rate, gap, links } in self.list {
            let mut indices = Vec::new();
            for (link, at) in links {
                let Some(index) = network.link_called(&link) else {
                    network.no_link(&link, &at, found);
                    continue;
                };
                match taken.insert(index, name.clone()) {
                    Some(first) => {
                        let message = format!("link \"{link}\" is in medium \"{first}\" already");
                        found.error(&at, message, "a link is in one medium, once: delete it here or there");
                    }
                    None => indices.push(index),
                }
            }
            media.push(Medium { name, rate, gap, links: indices });
        }
        media
    }
}

/// The key `links`: names, at least one.
fn links(f: &Fields<'_>, found: &Findings) -> Option<Vec<(String, Location)>> {
    let Some(item) = f.item("links") else {
        f.missing("links", "[\"A-B\", \"A-C\"]");
        return None;
    };
    let names: Option<Vec<(String, Location)>> = match &item.value {
        Value::List(items) if !items.is_empty() => {
            items.iter().map(|item| Some((item.as_text()?.to_owned(), item.at.clone()))).collect()
        }
        _ => None,
    };
    if names.is_none() {
        found.error(&item.at, "links is not a list of names of links", LINKS);
    }
    names
}

/// Reports what a link in a medium cannot say itself.
pub(super) fn reject_excluded_keys(table: &Table, found: &Findings) {
    let directions = ["forward", "backward"].into_iter().filter_map(|way| table.get(way).and_then(Item::as_table));
    for table in std::iter::once(table).chain(directions) {
        for key in ["rate", "trace", "marker", "discipline", "mark-after"] {
            let Some(item) = table.get(key) else { continue };
            let message = match key {
                "marker" => "marker: the queues of a shared medium lie below NDN and mark nothing".to_owned(),
                "mark-after" => "mark-after: the queues of a shared medium mark nothing".to_owned(),
                "discipline" => "discipline: the queues of a shared medium lie below NDN and are drop-tail".to_owned(),
                _ => format!("{key}: the link shares a medium, which has the rate"),
            };
            found.error(&item.at, message, format!("delete {key}, or take the link out of the medium"));
        }
    }
}
