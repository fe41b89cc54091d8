//! `dpccp`: marks every packet that joins a queue which has not been empty for a while.
//!
//! Source: zzhang154/ndnSIM-2.9-raw (228240f83), the DPCCP mark of its link service, a third party's: a packet that
//! finds others waiting 12 ms or more after the first that did is marked; one that finds none ends it. The queue there
//! is that of the device, without the packet in transmission, as here.

use super::{EnqueueEvent, Marker, Verdict};
use crate::component::{Component, Env};
use crate::ctx::Ctx;
use crate::error::SchemeError;
use crate::units::{Duration, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of [`Dpccp`]; from that link service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Params {
    /// How long the queue may be in use without a pause before packets are marked.
    pub interval: Duration,
}

impl Default for Params {
    fn default() -> Params {
        Params { interval: Duration::from_millis(12) }
    }
}

/// The marker.
#[derive(Clone, Debug, ndnweir_state::Value)]
pub struct Dpccp {
    interval: Duration,
    /// When the first mark is due; none while the queue is empty.
    due: Option<Time>,
}

impl Component for Dpccp {
    const NAME: &'static str = "dpccp";
    const SUMMARY: &'static str = "DPCCP's mark: on every packet while the queue has not been empty for 12 ms";
    const SOURCE: &'static str = "zzhang154/ndnSIM-2.9-raw, third-party simulator of DPCCP (Ye et al., ToN 2021)";
    type Params = Params;

    fn check(params: &Params) -> Result<(), SchemeError> {
        super::check_interval(params.interval)
    }

    fn new(params: &Params, _: &mut Env<'_>) -> Dpccp {
        Dpccp { interval: params.interval, due: None }
    }
}

impl Marker for Dpccp {
    fn predictable(&self) -> bool {
        true
    }

    fn watches_departures(&self) -> bool {
        false
    }

    fn on_enqueue(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) -> Verdict {
        if event.queue.packets == 0 {
            self.due = None;
            return Verdict::Pass;
        }
        let due = *self.due.get_or_insert(ctx.now + self.interval);
        if ctx.now >= due { Verdict::Mark(1) } else { Verdict::Pass }
    }

    /// The link service marks before the device drops: the mark is lost with the packet.
    fn on_overflow(&mut self, event: &EnqueueEvent<'_>, ctx: &mut Ctx<'_>) {
        self.on_enqueue(event, ctx);
    }
}

#[cfg(test)]
mod tests {
    use super::super::harness::{Bench, ms};
    use super::*;
    use serde_json::json;

    // In use from 5 on: due at 17. Empty at 20; in use again from 21: due at 33.
    #[test]
    fn packets_are_marked_once_the_queue_was_in_use_for_twelve_milliseconds() {
        let mut bench: Bench<Dpccp> = Bench::new(&json!({}));
        let bytes = |t| if t < 5 || t == 20 { 0 } else { 1250 };
        let marked: Vec<u64> = (0..36).filter(|&t| bench.enqueue(ms(t), bytes(t)) == Verdict::Mark(1)).collect();
        assert_eq!(marked, [17, 18, 19, 33, 34, 35]);
    }
}
