//! A subscriber is served: once, at each poll, or as a stream of samples and changes.

use super::encode::{Leaves, count, notifications, select};
use super::forwarder::{Access, Snapshot};
use super::plan::{SHORTEST, When, Wish, encoding, wishes};
use super::room::{Account, LEAF};
use super::stream::{Sender, Sent, batch};
use crate::model::Answer;
use crate::model::tree::{Selection, Step};
use crate::model::value::Value;
use crate::proto::gnmi::{
    Encoding, SubscribeRequest, SubscriptionList, subscribe_request::Request, subscription_list::Mode,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};
use tonic::{Status, Streaming};

/// For how long a subscriber may be behind before it is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A subscription of a stream, and what its subscriber knows.
struct Active {
    wish: Wish,
    known: BTreeMap<Vec<Step>, Value>,
    next: Instant,
    beat: Option<Instant>,
    /// Samples that could not be sent since the last that was.
    missed: u32,
}

/// How a list is reported.
struct Form {
    encoding: Encoding,
    target: String,
    updates_only: bool,
}

impl Active {
    fn new(wish: Wish, now: Instant) -> Active {
        let beat = wish.heartbeat.map(|every| now + every);
        let next = now + wish.every();
        Active { wish, known: BTreeMap::new(), next, beat, missed: 0 }
    }

    fn learn(&mut self, leaves: &Leaves<'_>) {
        self.known = leaves.iter().map(|(path, value)| (path.clone(), (*value).clone())).collect();
    }

    /// When it is due next.
    fn due(&self) -> Instant {
        self.beat.map_or(self.next, |beat| beat.min(self.next))
    }

    /// Tells what is due.
    fn report(&mut self, now: Instant, snapshot: &Snapshot, form: &Form, sender: &Sender) -> Sent {
        let beats = self.beat.is_some_and(|beat| beat <= now);
        let leaves = select(snapshot, &self.wish.pattern, Selection::All);
        let all = beats || matches!(self.wish.when, When::Sample { redundant: true, .. });
        let changed = |(path, value): &(&Vec<Step>, &&Value)| all || self.known.get(*path) != Some(**value);
        let reported: Leaves<'_> = leaves.iter().filter(changed).map(|(path, value)| (path.clone(), *value)).collect();
        let gone: Vec<Vec<Step>> = self.known.keys().filter(|path| !leaves.contains_key(*path)).cloned().collect();
        let messages = notifications(snapshot, &reported, &gone, form.encoding, self.missed, &form.target);
        let empty = messages.is_empty();
        let sent = sender.offer(batch(messages, false));
        match sent {
            Sent::Yes if !empty => {
                self.missed = 0;
                self.learn(&leaves);
            }
            Sent::Behind => self.missed = self.missed.saturating_add(1),
            Sent::Yes | Sent::Gone => {}
        }
        while self.next <= now {
            self.next += self.wish.every();
        }
        if let (Some(beat), Some(every)) = (&mut self.beat, self.wish.heartbeat) {
            while *beat <= now {
                *beat += every;
            }
        }
        sent
    }
}

impl Wish {
    fn every(&self) -> Duration {
        match self.when {
            When::Sample { every, .. } => every,
            When::Change => SHORTEST,
        }
    }
}

/// Sends all present values, each once, and that they are all.
async fn report_all(wishes: &[Wish], snapshot: &Snapshot, form: &Form, sender: &Sender) -> Sent {
    let mut leaves = Leaves::new();
    for wish in wishes {
        leaves.append(&mut select(snapshot, &wish.pattern, Selection::All));
    }
    if form.updates_only {
        leaves.clear();
    }
    let messages = notifications(snapshot, &leaves, &[], form.encoding, 0, &form.target);
    sender.send(batch(messages, true)).await
}

/// The first message of a stream: what is wanted.
async fn first(requests: &mut Streaming<SubscribeRequest>) -> Answer<Option<SubscriptionList>> {
    let Some(request) = requests.message().await? else { return Ok(None) };
    match request.request {
        Some(Request::Subscribe(list)) => Ok(Some(list)),
        _ => Err(Status::invalid_argument("the first message must hold a subscription list")),
    }
}

/// Serves a subscriber until it leaves.
pub(super) async fn serve(
    mut requests: Streaming<SubscribeRequest>,
    access: Arc<Access>,
    sender: Sender,
    account: &Account,
) {
    if let Err(status) = run(&mut requests, &access, &sender, account).await {
        sender.fail(status).await;
    }
}

async fn run(
    requests: &mut Streaming<SubscribeRequest>,
    access: &Access,
    sender: &Sender,
    account: &Account,
) -> Answer<()> {
    let Some(list) = first(requests).await? else { return Ok(()) };
    let wishes = wishes(&list)?;
    let target = list.prefix.as_ref().map_or(String::new(), |prefix| prefix.target.clone());
    let form = Form { encoding: encoding(list.encoding, &list.use_models)?, target, updates_only: list.updates_only };
    let mode = Mode::try_from(list.mode).map_err(|_| Status::invalid_argument("there is no such mode of a list"))?;
    // What waits for the subscriber, and what it is remembered to know.
    let snapshot = access.read(true).await?;
    for wish in &wishes {
        account.take(LEAF * count(&snapshot, &wish.pattern, Selection::All))?;
        tokio::task::yield_now().await;
    }
    drop(snapshot);
    if mode == Mode::Stream {
        return stream(requests, wishes, &form, access, sender).await;
    }
    loop {
        let snapshot = access.read(true).await?;
        if report_all(&wishes, &snapshot, &form, sender).await == Sent::Gone || mode == Mode::Once {
            return Ok(());
        }
        match requests.message().await?.map(|request| request.request) {
            None => return Ok(()),
            Some(Some(Request::Poll(_))) => {}
            Some(_) => return Err(Status::invalid_argument("only Poll may follow in this mode")),
        }
    }
}

async fn stream(
    requests: &mut Streaming<SubscribeRequest>,
    wishes: Vec<Wish>,
    form: &Form,
    access: &Access,
    sender: &Sender,
) -> Answer<()> {
    let snapshot = access.read(true).await?;
    if report_all(&wishes, &snapshot, form, sender).await == Sent::Gone {
        return Ok(());
    }
    let start = Instant::now();
    let mut active: Vec<Active> = wishes.into_iter().map(|wish| Active::new(wish, start)).collect();
    for subscription in &mut active {
        let leaves = select(&snapshot, &subscription.wish.pattern, Selection::All);
        subscription.learn(&leaves);
    }
    let mut kept_up = start;
    let mut half_closed = false;
    loop {
        let due = active.iter().map(Active::due).min().unwrap_or(start);
        tokio::select! {
            () = sleep_until(due) => {}
            () = sender.closed() => return Ok(()),
            request = requests.message(), if !half_closed => {
                match request? {
                    // The client may close its side and go on listening.
                    None => half_closed = true,
                    Some(_) => return Err(Status::invalid_argument("nothing may follow a streamed list")),
                }
                continue;
            }
        }
        let snapshot = access.read(true).await?;
        let now = Instant::now();
        for subscription in active.iter_mut().filter(|subscription| subscription.due() <= now) {
            match subscription.report(now, &snapshot, form, sender) {
                Sent::Gone => return Ok(()),
                Sent::Yes => kept_up = now,
                Sent::Behind => {}
            }
        }
        if now - kept_up > PATIENCE {
            return Err(Status::resource_exhausted("the subscriber has read nothing for too long"));
        }
    }
}
