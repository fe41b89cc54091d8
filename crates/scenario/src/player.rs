//! Consumers of kind `flows` that play videos.

use super::diag::{Findings, Location};
use super::fields::{Fields, Read as _};
use super::flows::{FlowContext, ItemList};
use super::model::{Consumer, Traffic};
use super::tree::{Item, Table};
use ndnweir_core::units::{Duration, Rate};
use ndnweir_sim::flows::Arrivals;
use ndnweir_sim::player::{BitrateRule, MAX_BITRATES, MAX_CHUNKS, Player, Video};

const LADDER: &str = "[\"400kbps\", \"800kbps\", \"1600kbps\"]";
const LONGEST: Duration = Duration::from_millis(3_600_000);

/// Reads a player; errors are reported.
pub(super) fn read(f: &Fields<'_>, context: &FlowContext<'_>) -> Option<Player> {
    let time = |key: &'static str| {
        f.checked(key, "write a time from \"100ms\" to \"60min\"", |&time: &Duration| {
            let fits = (Duration::from_millis(100)..=LONGEST).contains(&time);
            if fits { Ok(()) } else { Err(format!("{time} is not a sensible time for a player")) }
        })
    };
    let chunk = time("chunk").unwrap_or(Duration::from_millis(2_000));
    let ladder = ladder(f, context.found);
    if !f.has("rule") {
        f.missing("rule", "\"festive\", or \"bba-0\"");
    }
    let rule = f.word("rule", &[("festive", BitrateRule::Festive), ("bba-0", BitrateRule::Bba0)]);
    let live = f.get::<bool>("live").unwrap_or(false);
    let play_at = time("play-at").unwrap_or(chunk * if live { 3 } else { 2 });
    let usual = if live { play_at } else { Duration::from_millis(20_000).max(play_at) };
    let buffer = time("buffer").unwrap_or(usual);
    if buffer < play_at.max(chunk) {
        let message = format!("buffer: {buffer} has no room for a chunk of {chunk}, or for {play_at} to play at");
        f.error("buffer", message, "write a longer buffer, or shorter chunk or play-at");
        return None;
    }
    let length = time("length");
    let video = match (live, length) {
        (true, Some(_)) => {
            f.error("length", "length: live video has no end", "delete length, or live; stop ends the consumer");
            return None;
        }
        (true, None) => Video::Live,
        (false, length) => {
            Video::OnDemand { chunks: length.map(|length| length.nanos().div_ceil(chunk.nanos()) as u32) }
        }
    };
    let most = context.settings.run.duration.nanos() / chunk.nanos();
    if most >= MAX_CHUNKS {
        f.error("chunk", format!("chunk: {most} chunks are too many"), "write a longer chunk, or shorten the run");
        return None;
    }
    Some(Player { chunk, ladder: ladder?, rule: rule?, buffer, play_at, video })
}

fn ladder(f: &Fields<'_>, found: &Findings) -> Option<Vec<Rate>> {
    if !f.has("ladder") {
        f.missing("ladder", LADDER);
        return None;
    }
    let ItemList(items) = f.get("ladder")?;
    let rates: Option<Vec<Rate>> = items.iter().map(|item| rate(item, found)).collect();
    let rates = rates?;
    let rise = rates.windows(2).all(|pair| pair[0] < pair[1]);
    if rates.is_empty() || rates.len() > MAX_BITRATES || !rise {
        f.error("ladder", "ladder: these are not 1 to 64 rising bitrates", format!("write some, such as {LADDER}"));
        return None;
    }
    Some(rates)
}

fn rate(item: &Item, found: &Findings) -> Option<Rate> {
    let most = Rate::from_mbps(1000.0);
    match Rate::read(item) {
        Ok(rate) if rate.bps() >= 1000 && rate <= most => Some(rate),
        _ => {
            found.error(&item.at, "ladder: not the bitrate of a video", "write a rate from \"1kbps\" to \"1Gbps\"");
            None
        }
    }
}

/// Players of one prefix share the names of chunks, by place in the ladder: they must mean the same.
pub(super) fn check_names(root: &Table, consumers: &[Consumer], found: &Findings) {
    let with_names = |consumer: &Consumer| match &consumer.traffic {
        Traffic::Flows(flows) => match &flows.arrivals {
            Arrivals::Player(Player { chunk, ladder, video, .. })
                if *video == Video::Live || flows.catalogue.is_some() =>
            {
                Some(Some((*chunk, ladder.clone(), *video)))
            }
            _ => flows.catalogue.map(|_| None),
        },
        _ => None,
    };
    let place = |name: &str| -> Location {
        let of = |item: &Item| item.as_table().is_some_and(|t| t.get("name").and_then(Item::as_text) == Some(name));
        let item = root.list("consumer").iter().find(|item| of(item));
        item.map_or_else(|| Location::whole(name), |item| item.at.clone())
    };
    for (i, consumer) in consumers.iter().enumerate() {
        let Some(own) = with_names(consumer) else { continue };
        let earlier = consumers[..i].iter().filter(|other| other.prefix == consumer.prefix);
        let differs = |other: &&Consumer| with_names(other).is_some_and(|theirs| theirs != own);
        if let Some(other) = earlier.into_iter().find(differs) {
            let message = format!(
                "{} and {} share the names under {}, and their chunks or objects differ",
                other.name, consumer.name, consumer.prefix
            );
            let help = "give both the same chunk, ladder, length and live, or prefixes of their own";
            found.error(&place(&consumer.name), message, help);
        }
    }
}
