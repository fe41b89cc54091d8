//! Impairments of links that take more than a number: losses in bursts, retransmissions below.

use ndnweir_core::units::Duration;
use ndnweir_sim::network::{Arq, BurstLoss};

use super::diag::{Findings, Location};
use super::fields::{Fields, Probability};
use super::tree::{Table, Value};

const BURST: &str = "{ to-bad = \"1%\", to-good = \"20%\" }";
const ARQ: &str = "{ attempts = 4, slot = \"8ms\", loss = \"10%\" }";

/// The longest delay of all attempts together, as of jitter.
const LONGEST: Duration = Duration::from_millis(2_000);

/// The table at a key; anything else there is reported.
fn table<'a>(f: &Fields<'a>, key: &'static str, example: &str, found: &Findings) -> Option<(&'a Table, &'a Location)> {
    let item = f.item(key)?;
    if let Value::Table(table) = &item.value {
        return Some((table, &item.at));
    }
    found.error(&item.at, format!("{key} is {}, not a table", item.kind()), format!("write {key} = {example}"));
    None
}

/// `burst-loss`: the chain of Gilbert and Elliott.
pub(super) fn burst_loss(f: &Fields<'_>, found: &Findings) -> Option<BurstLoss> {
    let (table, at) = table(f, "burst-loss", BURST, found)?;
    let f = Fields::new(table, "burst-loss", at, found);
    let to_bad = f.required::<Probability>("to-bad", "\"1%\"");
    let to_good = f.required::<Probability>("to-good", "\"20%\"");
    let loss_bad = f.get::<Probability>("loss-bad").map_or(1.0, |p| p.0);
    let loss_good = f.get::<Probability>("loss-good").map_or(0.0, |p| p.0);
    let (to_bad, to_good) = (to_bad.map(|p| p.0), to_good.map(|p| p.0));
    if to_good == Some(0.0) && to_bad.is_some_and(|p| p > 0.0) && loss_bad == 1.0 {
        let message = "burst-loss: with to-good = 0 the link turns bad once and carries nothing from then on";
        f.error("to-good", message, "write a probability above 0, or loss-bad below 1");
    }
    f.finish();
    Some(BurstLoss { to_bad: to_bad?, to_good: to_good?, loss_bad, loss_good })
}

/// `arq`: retransmissions of the link layer.
pub(super) fn arq(f: &Fields<'_>, found: &Findings) -> Option<Arq> {
    let (table, at) = table(f, "arq", ARQ, found)?;
    let f = Fields::new(table, "arq", at, found);
    if table.get("attempts").is_none() {
        f.missing("attempts", "4");
    }
    let attempts = f.checked("attempts", "write a whole number from 1 to 100", |n: &u64| {
        if (1..=100).contains(n) { Ok(()) } else { Err(format!("{n} is not a number of attempts")) }
    });
    let slot = f.required::<Duration>("slot", "\"8ms\"");
    let loss = f.required::<Probability>("loss", "\"10%\"").map(|p| p.0);
    let in_order = f.get("in-order").unwrap_or(true);
    let arq = Arq { attempts: attempts.unwrap_or(1) as u32, slot: slot.unwrap_or_default(), loss: 0.0, in_order };
    if arq.longest() > LONGEST {
        let message = format!("arq: {} attempts of {} take {}", arq.attempts, arq.slot, arq.longest());
        f.error(
            "slot",
            message,
            format!("write fewer attempts or a shorter slot, so that they take {LONGEST} at most"),
        );
    }
    f.finish();
    attempts.and(slot)?;
    Some(Arq { loss: loss?, ..arq })
}
