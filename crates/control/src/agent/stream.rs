//! Answers on their way to a subscriber.

use crate::model::Answer;
use crate::proto::gnmi::{Notification, SubscribeResponse, subscribe_response::Response};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tonic::Status;

/// Batches that may wait for the network.
const WAITING: usize = 2;
/// For how long a subscriber may take nothing.
const PATIENCE: Duration = Duration::from_secs(30);

/// Messages that belong together.
type Batch = Vec<Answer<SubscribeResponse>>;

/// A place among the streams, which are bounded.
pub(super) struct Place(Arc<AtomicUsize>);

impl Place {
    pub(super) fn take(taken: &Arc<AtomicUsize>, most: usize) -> Answer<Place> {
        let before = taken.fetch_add(1, Ordering::Relaxed);
        let place = Place(Arc::clone(taken));
        match before < most {
            true => Ok(place),
            false => Err(Status::resource_exhausted(format!("{most} streams are open already"))),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The end that the network reads.
pub struct Responses {
    waiting: mpsc::Receiver<Batch>,
    batch: std::vec::IntoIter<Answer<SubscribeResponse>>,
}

/// The end that is written.
pub(super) struct Sender(mpsc::Sender<Batch>);

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// It is on its way.
    Yes,
    /// The subscriber has not read enough; it was not sent.
    Behind,
    /// There is no subscriber any more.
    Gone,
}

/// A new pair of ends.
pub(super) fn pair() -> (Sender, Responses) {
    let (send, waiting) = mpsc::channel(WAITING);
    (Sender(send), Responses { waiting, batch: Vec::new().into_iter() })
}

fn response(response: Response) -> Answer<SubscribeResponse> {
    Ok(SubscribeResponse { response: Some(response), ..SubscribeResponse::default() })
}

/// Notifications, and whether all present values are then reported.
pub(super) fn batch(notifications: Vec<Notification>, synchronised: bool) -> Batch {
    let updates = notifications.into_iter().map(Response::Update);
    updates.chain(synchronised.then_some(Response::SyncResponse(true))).map(response).collect()
}

impl Sender {
    /// Sends if there is room.
    pub(super) fn offer(&self, batch: Batch) -> Sent {
        if batch.is_empty() {
            return Sent::Yes;
        }
        match self.0.try_send(batch) {
            Ok(()) => Sent::Yes,
            Err(mpsc::error::TrySendError::Full(_)) => Sent::Behind,
            Err(mpsc::error::TrySendError::Closed(_)) => Sent::Gone,
        }
    }

    /// Sends once there is room; a subscriber that takes nothing is given up.
    pub(super) async fn send(&self, batch: Batch) -> Sent {
        match tokio::time::timeout(PATIENCE, self.0.send(batch)).await {
            Ok(Ok(())) => Sent::Yes,
            Ok(Err(_)) | Err(_) => Sent::Gone,
        }
    }

    /// Ends the stream with a reason.
    pub(super) async fn fail(&self, status: Status) {
        self.send(vec![Err(status)]).await;
    }

    /// Returns when there is no subscriber any more.
    pub(super) async fn closed(&self) {
        self.0.closed().await;
    }
}

impl Stream for Responses {
    type Item = Answer<SubscribeResponse>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(next) = self.batch.next() {
                return Poll::Ready(Some(next));
            }
            match self.waiting.poll_recv(cx) {
                Poll::Ready(Some(batch)) => self.batch = batch.into_iter(),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
