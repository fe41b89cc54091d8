//! Subscribe: once, polls, samples, changes, and subscribers that ask for too much or read too little.

use crate::support::{Agent, Client, cost, path, set};
use ndnweir_control::proto::gnmi::subscribe_response::Response;
use ndnweir_control::proto::gnmi::subscription_list::Mode;
use ndnweir_control::proto::gnmi::{
    Encoding, GetRequest, Notification, Path, Poll, SubscribeRequest, SubscribeResponse, Subscription,
    SubscriptionList, SubscriptionMode, subscribe_request::Request, typed_value,
};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, Streaming};

const MS: u64 = 1_000_000;
const COSTS: &str = "/ndn/fib/entry/next-hop/state/cost";
const RATES: &str = "/ndn/faces/face/state/rate";

fn of(text: &str, mode: SubscriptionMode, sample_interval: u64) -> Subscription {
    Subscription { path: Some(path(text)), mode: mode.into(), sample_interval, ..Subscription::default() }
}

fn list(mode: Mode, subscription: Vec<Subscription>) -> SubscriptionList {
    let encoding = Encoding::Proto.into();
    SubscriptionList { mode: mode.into(), subscription, encoding, ..SubscriptionList::default() }
}

pub struct Subscriber {
    requests: mpsc::Sender<SubscribeRequest>,
    answers: Streaming<SubscribeResponse>,
}

impl Subscriber {
    async fn new(client: &mut Client, list: SubscriptionList) -> Result<Subscriber, Status> {
        let (requests, stream) = mpsc::channel(8);
        let request = SubscribeRequest { request: Some(Request::Subscribe(list)), ..SubscribeRequest::default() };
        requests.send(request).await.unwrap();
        let answers = client.subscribe(ReceiverStream::new(stream)).await?.into_inner();
        Ok(Subscriber { requests, answers })
    }

    /// One that asks for the costs of next hops when it polls.
    pub async fn polling(client: &mut Client) -> Subscriber {
        let list = list(Mode::Poll, vec![of(COSTS, SubscriptionMode::TargetDefined, 0)]);
        Subscriber::new(client, list).await.unwrap()
    }

    /// Asks once more; what is reported.
    pub async fn poll(&mut self) -> Result<Vec<Notification>, Status> {
        let request = SubscribeRequest { request: Some(Request::Poll(Poll {})), ..SubscribeRequest::default() };
        self.requests.send(request).await.unwrap();
        self.all().await
    }

    async fn next(&mut self) -> Result<Option<Response>, Status> {
        let answer = tokio::time::timeout(Duration::from_secs(10), self.answers.message()).await;
        Ok(answer.expect("an answer in time")?.and_then(|answer| answer.response))
    }

    /// What comes until all present values are reported.
    pub async fn all(&mut self) -> Result<Vec<Notification>, Status> {
        let mut reported = Vec::new();
        loop {
            match self.next().await? {
                Some(Response::Update(notification)) => reported.push(notification),
                Some(Response::SyncResponse(true)) => return Ok(reported),
                other => panic!("{other:?}"),
            }
        }
    }

    async fn notification(&mut self) -> Notification {
        match self.next().await.unwrap() {
            Some(Response::Update(notification)) => notification,
            other => panic!("{other:?}"),
        }
    }
}

fn numbers(notifications: &[Notification]) -> Vec<u64> {
    let updates = notifications.iter().flat_map(|notification| &notification.update);
    let values = updates.map(|update| match update.val.as_ref().unwrap().value {
        Some(typed_value::Value::UintVal(number)) => number,
        ref other => panic!("{other:?}"),
    });
    values.collect()
}

#[tokio::test]
async fn once_tells_all_and_ends() {
    let agent = Agent::start();
    let mut client = agent.client().await;
    let once = list(Mode::Once, vec![of(RATES, SubscriptionMode::TargetDefined, 0)]);
    let mut subscriber = Subscriber::new(&mut client, once).await.unwrap();
    assert_eq!(numbers(&subscriber.all().await.unwrap()), [10_000_000; 2]);
    assert_eq!(subscriber.next().await.unwrap(), None);
}

#[tokio::test]
async fn each_poll_is_answered_with_all_values() {
    let agent = Agent::start();
    let mut client = agent.client().await;
    let mut subscriber = Subscriber::polling(&mut client).await;
    assert_eq!(numbers(&subscriber.all().await.unwrap()), [0, 0]);
    client.set(set(vec![cost(agent.faces()[0], 4)])).await.unwrap();
    assert_eq!(numbers(&subscriber.poll().await.unwrap()), [4, 0]);
}

#[tokio::test]
async fn samples_come_at_their_interval_and_redundant_ones_can_be_left_out() {
    let agent = Agent::start();
    let mut client = agent.client().await;
    let sampled = list(Mode::Stream, vec![of(RATES, SubscriptionMode::Sample, 200 * MS)]);
    let mut subscriber = Subscriber::new(&mut client, sampled).await.unwrap();
    assert_eq!(subscriber.all().await.unwrap().len(), 2);
    let start = Instant::now();
    for _ in 0..5 * 2 {
        assert_eq!(numbers(&[subscriber.notification().await]), [10_000_000]);
    }
    let took = start.elapsed();
    assert!(took > Duration::from_millis(700), "five samples of two faces came in {took:?}");
    let quiet = Subscription { suppress_redundant: true, ..of(COSTS, SubscriptionMode::Sample, 100 * MS) };
    let mut subscriber = Subscriber::new(&mut client, list(Mode::Stream, vec![quiet])).await.unwrap();
    subscriber.all().await.unwrap();
    client.set(set(vec![cost(agent.faces()[1], 6)])).await.unwrap();
    assert_eq!(numbers(&[subscriber.notification().await]), [6], "the other cost has not changed");
}

#[tokio::test]
async fn changes_come_when_they_happen_all_again_at_a_heartbeat_and_what_ends_is_deleted() {
    let agent = Agent::start();
    let [a, b] = agent.faces();
    let mut client = agent.client().await;
    let beats = Subscription { heartbeat_interval: 700 * MS, ..of(COSTS, SubscriptionMode::OnChange, 0) };
    let mut subscriber = Subscriber::new(&mut client, list(Mode::Stream, vec![beats])).await.unwrap();
    subscriber.all().await.unwrap();
    client.set(set(vec![cost(a, 8), cost(b, 9)])).await.unwrap();
    let reported = subscriber.notification().await;
    assert_eq!(
        numbers(std::slice::from_ref(&reported)),
        [8, 9],
        "costs of a prefix are reported together: {reported:?}"
    );
    assert_eq!(numbers(&[subscriber.notification().await]), [8, 9], "the heartbeat");
    agent.ask(move |daemon| {
        use ndnweir_net::mgmt::ManagedForwarder;
        daemon.destroy_face(a).unwrap();
    });
    loop {
        let reported = subscriber.notification().await;
        if !reported.delete.is_empty() {
            let gone = &reported.delete[0].elem[0];
            assert_eq!((gone.name.as_str(), gone.key["face"].as_str()), ("next-hop", a.to_string().as_str()));
            break;
        }
    }
}

#[tokio::test]
async fn with_updates_only_present_values_are_not_told() {
    let agent = Agent::start();
    let mut client = agent.client().await;
    let changes = vec![of(COSTS, SubscriptionMode::OnChange, 0)];
    let only = SubscriptionList { updates_only: true, ..list(Mode::Stream, changes) };
    let mut subscriber = Subscriber::new(&mut client, only).await.unwrap();
    assert_eq!(subscriber.all().await.unwrap(), []);
    client.set(set(vec![cost(agent.faces()[0], 2)])).await.unwrap();
    assert_eq!(numbers(&[subscriber.notification().await]), [2]);
}

#[tokio::test]
async fn a_state_that_is_reported_whole_is_atomic() {
    let agent = Agent::start();
    let mut client = agent.client().await;
    let once = list(Mode::Once, vec![of("/ndn/faces/face/state", SubscriptionMode::TargetDefined, 0)]);
    let whole = Subscriber::new(&mut client, once).await.unwrap().all().await.unwrap();
    assert!(whole.len() == 2 && whole.iter().all(|notification| notification.atomic));
    let once = list(Mode::Once, vec![of(RATES, SubscriptionMode::TargetDefined, 0)]);
    let part = Subscriber::new(&mut client, once).await.unwrap().all().await.unwrap();
    assert!(part.iter().all(|notification| !notification.atomic), "others would be deleted by it");
}

#[tokio::test]
async fn what_cannot_be_subscribed_to_is_rejected_and_the_agent_goes_on() {
    let agent = Agent::start();
    let mut client = agent.client().await;
    let fast = of(RATES, SubscriptionMode::Sample, 1);
    let huge = format!("/ndn/fib/entry[prefix={}]", "x".repeat(5 << 20));
    let many = vec![of("/", SubscriptionMode::Sample, 100 * MS); 10_000];
    let unknown = Subscription { mode: 77, ..Subscription::default() };
    for (list, code) in [
        (list(Mode::Stream, vec![]), Code::InvalidArgument),
        (list(Mode::Stream, vec![fast]), Code::InvalidArgument),
        (list(Mode::Stream, vec![of("/", SubscriptionMode::Sample, 1)]), Code::InvalidArgument),
        (list(Mode::Stream, vec![of(&huge, SubscriptionMode::OnChange, 0)]), Code::OutOfRange),
        (list(Mode::Stream, many), Code::ResourceExhausted),
        (list(Mode::Stream, vec![unknown]), Code::InvalidArgument),
        (list(Mode::Once, vec![of("/ndn/nothing", SubscriptionMode::Sample, 0)]), Code::InvalidArgument),
        (
            SubscriptionList {
                encoding: Encoding::Bytes.into(),
                ..list(Mode::Once, vec![of("/", SubscriptionMode::Sample, 0)])
            },
            Code::Unimplemented,
        ),
        (
            SubscriptionList { mode: 9, ..list(Mode::Once, vec![of("/", SubscriptionMode::Sample, 0)]) },
            Code::InvalidArgument,
        ),
    ] {
        let mut subscriber = Subscriber::new(&mut client, list).await.unwrap();
        assert_eq!(subscriber.next().await.unwrap_err().code(), code);
    }
    let (requests, stream) = mpsc::channel(1);
    let poll = SubscribeRequest { request: Some(Request::Poll(Poll {})), ..SubscribeRequest::default() };
    requests.send(poll).await.unwrap();
    let mut answers = client.subscribe(ReceiverStream::new(stream)).await.unwrap().into_inner();
    assert_eq!(answers.message().await.unwrap_err().code(), Code::InvalidArgument, "a poll of nothing");
}

#[tokio::test]
async fn all_values_a_hundred_times_over_are_too_much_for_one_stream_or_get_and_once_they_are_not() {
    let agent = Agent::wide(3000);
    let mut client = agent.client().await;
    for (times, expected) in [(1, None), (128, Some(Code::ResourceExhausted))] {
        let root = || of("/", SubscriptionMode::Sample, 10_000 * MS);
        let all = list(Mode::Stream, (0..times).map(|_| root()).collect());
        let mut subscriber = Subscriber::new(&mut client, all).await.unwrap();
        assert_eq!(subscriber.next().await.err().map(|status| status.code()), expected);
        let get = GetRequest { path: vec![Path::default(); times], ..GetRequest::default() };
        let got = client.get(get).await.err();
        assert_eq!(got.map(|status| status.code()), expected);
    }
}

#[tokio::test]
async fn streams_are_bounded_and_the_forwarder_is_not_delayed_by_those_who_do_not_read() {
    let agent = Agent::start();
    let (mut open, mut rejected) = (Vec::new(), 0);
    for _ in 0..4 {
        let mut client = agent.client().await;
        for _ in 0..50 {
            let all = list(Mode::Stream, vec![of("/", SubscriptionMode::Sample, 100 * MS)]);
            let subscribed = tokio::time::timeout(Duration::from_secs(5), Subscriber::new(&mut client, all)).await;
            match subscribed {
                Ok(Ok(subscriber)) => open.push(subscriber),
                Ok(Err(status)) => {
                    assert_eq!(status.code(), Code::ResourceExhausted);
                    rejected += 1;
                }
                Err(_) => panic!("no answer"),
            }
        }
    }
    assert_eq!((open.len(), rejected), (128, 72));
    tokio::time::sleep(Duration::from_secs(1)).await;
    let start = Instant::now();
    for _ in 0..100 {
        agent.ask(|daemon| daemon.node_counters());
    }
    // Each waits for the test's forwarder to wake up, once per millisecond; nobody waits for a subscriber.
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    drop(open);
    let mut client = agent.client().await;
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let once = list(Mode::Once, vec![of(RATES, SubscriptionMode::Sample, 0)]);
        match Subscriber::new(&mut client, once).await {
            Ok(mut subscriber) => break assert_eq!(subscriber.all().await.unwrap().len(), 2),
            Err(status) => assert!(Instant::now() < deadline, "{status}"),
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
