//! What a subscriber asks for, checked.

use crate::model::path::Pattern;
use crate::model::{Answer, MODEL};
use crate::proto::gnmi::{Encoding, ModelData, Subscription, SubscriptionList, SubscriptionMode};
use std::time::Duration;
use tonic::Status;

/// Subscriptions of one stream.
const MAX_SUBSCRIPTIONS: usize = 128;
/// The shortest time between samples, and between looks for changes.
pub(super) const SHORTEST: Duration = Duration::from_millis(100);
/// Between samples where the agent chooses.
const USUAL: Duration = Duration::from_secs(10);

/// When values of a subscription are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Each `every`; only those that changed if `redundant` is false.
    Sample { every: Duration, redundant: bool },
    /// When they change.
    Change,
}

/// One subscription.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    pub(super) pattern: Pattern,
    pub(super) when: When,
    /// All values are reported that often, changed or not.
    pub(super) heartbeat: Option<Duration>,
}

/// Checks the encoding and the models that a request asks for.
pub(super) fn encoding(number: i32, models: &[ModelData]) -> Answer<Encoding> {
    if let Some(other) = models.iter().find(|model| model.name != MODEL.0) {
        return Err(Status::unimplemented(format!("model {:?}: there is {} alone", other.name, MODEL.0)));
    }
    match Encoding::try_from(number) {
        Ok(encoding @ (Encoding::Json | Encoding::JsonIetf | Encoding::Proto)) => Ok(encoding),
        Ok(other) => {
            let name = other.as_str_name();
            Err(Status::unimplemented(format!("encoding {name}: use JSON_IETF, PROTO or JSON")))
        }
        Err(_) => Err(Status::invalid_argument(format!("there is no encoding {number}"))),
    }
}

fn wish(list: &SubscriptionList, subscription: &Subscription) -> Answer<Wish> {
    let path = subscription.path.clone().unwrap_or_default();
    let pattern = Pattern::read(list.prefix.as_ref(), &path)?;
    let time = |what: &str, nanos: u64, otherwise: Option<Duration>| match nanos {
        0 => Ok(otherwise),
        nanos if Duration::from_nanos(nanos) < SHORTEST => {
            let shortest = SHORTEST.as_nanos();
            let text = format!("{}: {what} {nanos} ns: the least is {shortest} ns", pattern.text());
            Err(Status::invalid_argument(text))
        }
        nanos => Ok(Some(Duration::from_nanos(nanos))),
    };
    let redundant = !subscription.suppress_redundant;
    let every = |usual| time("sample_interval", subscription.sample_interval, Some(usual));
    let when = match SubscriptionMode::try_from(subscription.mode) {
        Ok(SubscriptionMode::OnChange) => When::Change,
        // Of 0 the shortest is meant.
        Ok(SubscriptionMode::Sample) => When::Sample { every: every(SHORTEST)?.unwrap_or(SHORTEST), redundant },
        Ok(SubscriptionMode::TargetDefined) => When::Sample { every: every(USUAL)?.unwrap_or(USUAL), redundant },
        Err(_) => return Err(Status::invalid_argument(format!("there is no mode {}", subscription.mode))),
    };
    let heartbeat = time("heartbeat_interval", subscription.heartbeat_interval, None)?;
    Ok(Wish { pattern, when, heartbeat })
}

/// All subscriptions of a list.
pub(super) fn wishes(list: &SubscriptionList) -> Answer<Vec<Wish>> {
    if list.subscription.is_empty() {
        return Err(Status::invalid_argument("there is no subscription in the list"));
    }
    if list.subscription.len() > MAX_SUBSCRIPTIONS {
        let text = format!("a stream may have {MAX_SUBSCRIPTIONS} subscriptions: use wildcards");
        return Err(Status::resource_exhausted(text));
    }
    list.subscription.iter().map(|subscription| wish(list, subscription)).collect()
}
