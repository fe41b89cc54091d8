//! The memory that requests and their answers may take, all together: bytes of requests that are not complete, values that
//! wait for whoever asked, and those that subscribers are remembered to know.

use crate::model::Answer;
use http_body::{Frame, SizeHint};
use std::convert::Infallible;
use std::future::Future as _;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::Sleep;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Bytes, Service, http};
use tonic::server::NamedService;

/// Bytes of all requests and answers.
const ROOM: usize = 512 << 20;
/// One may have this part of what is left.
const SHARE: usize = 4;
/// What a value counts that waits or is remembered, in bytes; measured on paths of four steps.
pub(super) const LEAF: usize = 600;
/// For how long a request may be incomplete, and an answer not taken.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of an answer that are given to the network at a time; it keeps what it was given until the client reads.
const PIECE: usize = 16 << 10;

/// What is left for requests and answers.
#[derive(Clone)]
pub(super) struct Room(Arc<Mutex<usize>>);

impl Room {
    pub(super) fn new() -> Room {
        Room(Arc::new(Mutex::new(ROOM)))
    }

    fn left(&self) -> MutexGuard<'_, usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one request and its answer hold, until both are gone.
pub(super) struct Account {
    room: Room,
    held: Mutex<usize>,
    /// The answer; none once it was given up.
    answer: Mutex<Option<Body>>,
}

impl Account {
    fn new(room: &Room) -> Arc<Account> {
        Arc::new(Account { room: room.clone(), held: Mutex::new(0), answer: Mutex::new(None) })
    }

    /// Takes room for so many bytes.
    pub(super) fn take(&self, bytes: usize) -> Answer<()> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let mut left = self.room.left();
        if held.saturating_add(bytes) > (*left + *held) / SHARE {
            return Err(Status::resource_exhausted("too much at a time: ask for less, or read what was asked for"));
        }
        *left -= bytes;
        *held += bytes;
        Ok(())
    }

    fn answer(&self) -> MutexGuard<'_, Option<Body>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the answer up if it is not taken in time.
    pub(super) fn give_up_late(self: &Arc<Account>, patience: Duration) -> JoinHandle<()> {
        // It is not to be kept for that.
        let account = Arc::downgrade(self);
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            let late = account.upgrade().map(|account| account.answer().take());
            drop(late);
        })
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        let held = std::mem::take(self.held.get_mut().unwrap_or_else(PoisonError::into_inner));
        *self.room.left() += held;
    }
}

/// A request on its way.
struct Incoming {
    body: Body,
    account: Arc<Account>,
    /// When it must be complete.
    late: Option<Pin<Box<Sleep>>>,
}

impl http_body::Body for Incoming {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        if self.late.as_mut().is_some_and(|late| late.as_mut().poll(cx).is_ready()) {
            return Poll::Ready(Some(Err(Status::deadline_exceeded("the request did not come in time"))));
        }
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(cx));
        // A subscriber's requests are short, and read one after the other.
        if let (Some(Ok(frame)), true) = (&frame, self.late.is_some()) {
            self.account.take(frame.data_ref().map_or(0, Bytes::len))?;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}

/// An answer on its way.
struct Outgoing {
    account: Arc<Account>,
    /// What is left of the frame at hand.
    rest: Bytes,
    /// Gives it up.
    late: Option<JoinHandle<()>>,
}

impl http_body::Body for Outgoing {
    type Data = Bytes;
    type Error = Status;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
        let account = Arc::clone(&self.account);
        let mut answer = account.answer();
        let Some(body) = answer.as_mut() else {
            self.rest = Bytes::new();
            return Poll::Ready(Some(Err(Status::deadline_exceeded("the answer was not read in time"))));
        };
        while self.rest.is_empty() {
            match std::task::ready!(Pin::new(&mut *body).poll_frame(cx)).transpose()?.map(Frame::into_data) {
                None => return Poll::Ready(None),
                Some(Err(trailers)) => return Poll::Ready(Some(Ok(trailers))),
                Some(Ok(data)) => self.rest = data,
            }
        }
        let piece = self.rest.len().min(PIECE);
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.account.answer().as_ref().is_some_and(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        // Nobody reads it any more.
        let answer = self.account.answer().take();
        drop(answer);
        self.late.take().into_iter().for_each(|late| late.abort());
    }
}

/// A service whose requests and answers have an [`Account`], among their extensions.
#[derive(Clone)]
pub(super) struct Bounded<S> {
    pub(super) service: S,
    pub(super) room: Room,
}

impl<S: NamedService> NamedService for Bounded<S> {
    const NAME: &'static str = S::NAME;
}

impl<S> Service<http::Request<Body>> for Bounded<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let account = Account::new(&self.room);
        let (mut parts, body) = request.into_parts();
        // Subscribers are given up where they are served.
        let at_once = !parts.uri.path().ends_with("/Subscribe");
        parts.extensions.insert(Arc::clone(&account));
        let late = at_once.then(|| Box::pin(tokio::time::sleep(PATIENCE)));
        let body = Body::new(Incoming { body, account: Arc::clone(&account), late });
        let answered = self.service.call(http::Request::from_parts(parts, body));
        Box::pin(async move {
            let (parts, body) = answered.await?.into_parts();
            *account.answer() = Some(body);
            let late = at_once.then(|| account.give_up_late(PATIENCE));
            let body = Body::new(Outgoing { account, rest: Bytes::new(), late });
            Ok(http::Response::from_parts(parts, body))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;

    #[test]
    fn one_request_has_a_quarter_of_what_is_left_and_gives_it_back() {
        let room = Room::new();
        let first = Account::new(&room);
        first.take(ROOM / 4).unwrap();
        assert!(first.take(1).is_err());
        let mut others: Vec<Arc<Account>> = Vec::new();
        for _ in 0..100 {
            let other = Account::new(&room);
            if other.take(4 << 20).is_ok() {
                others.push(other);
            }
        }
        assert!((60..96).contains(&others.len()), "{}", others.len());
        Account::new(&room).take(1 << 20).unwrap();
        drop((first, others));
        assert_eq!(*room.left(), ROOM);
    }

    #[tokio::test]
    async fn an_answer_that_nobody_reads_is_given_up_and_one_that_is_read_comes_in_pieces() {
        let room = Room::new();
        for read in [true, false] {
            let account = Account::new(&room);
            account.take(1000).unwrap();
            let whole = Bytes::from(vec![7; PIECE + 1]);
            *account.answer() = Some(Body::new(Once(Some(whole))));
            let late = account.give_up_late(if read { PATIENCE } else { Duration::from_millis(100) });
            let mut body = Outgoing { account, rest: Bytes::new(), late: None };
            let mut next = async || std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await;
            assert_eq!(next().await.unwrap().unwrap().into_data().unwrap().len(), PIECE);
            if read {
                assert_eq!(next().await.unwrap().unwrap().into_data().unwrap().len(), 1);
                assert!(next().await.is_none());
                late.abort();
            } else {
                late.await.unwrap();
                assert_eq!(next().await.unwrap().unwrap_err().code(), tonic::Code::DeadlineExceeded);
            }
        }
        assert_eq!(*room.left(), ROOM);
    }

    struct Once(Option<Bytes>);

    impl http_body::Body for Once {
        type Data = Bytes;
        type Error = Status;

        fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Status>>> {
            Poll::Ready(self.0.take().map(|all| Ok(Frame::data(all))))
        }
    }
}
