//! Publisher and fetch joined by a link in memory that loses, doubles, delays and reorders.

use ndnweir_core::ctx::Rng;
use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Time};
use ndnweir_net::object::fetch::{SegmentFetch, SegmentFetchConfig};
use ndnweir_net::object::publisher::{Answer, Publisher, PublisherConfig};
use ndnweir_net::object::ranges::Ranges;
use ndnweir_net::object::{FileSink, Sink, StreamSink, Trust};
use ndnweir_node::FetcherConfig;
use ndnweir_wire::signature::DigestSha256;
use ndnweir_wire::{Component, DataView, InterestView, LpHeader, Name};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// What the link does.
#[derive(Clone, Copy, Debug)]
struct Link {
    seed: u64,
    /// Of 100 packets, in each direction.
    lost: u64,
    /// Of 100 Data.
    doubled: u64,
    /// The longest delay beyond 10 ms, in ms.
    jitter: u64,
}

fn contents(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 131 + i / 251) as u8).collect()
}

fn published(content: &[u8], chunk: usize) -> Publisher<Vec<u8>> {
    let config = PublisherConfig { chunk, cache: 4, ..PublisherConfig::new("/a/b".parse().unwrap(), 77) };
    Publisher::new(config, content.to_vec(), Box::new(DigestSha256)).unwrap()
}

fn object() -> Name {
    "/a/b".parse::<Name>().unwrap().with(Component::version(77))
}

/// Fetches until the object is complete or `until` segments have arrived.
fn fetch(
    publisher: &mut Publisher<Vec<u8>>,
    link: Link,
    scheme: &str,
    (had, last): (Ranges, Option<u64>),
    sink: &mut dyn Sink,
    until: u64,
) -> bool {
    let scheme = Scheme::named(scheme).unwrap();
    let mut layout = scheme.layout();
    let consumer = scheme.consumer(&mut layout);
    let fetcher = FetcherConfig { loss: Some(Default::default()), seed: link.seed, ..FetcherConfig::default() };
    let patience = Duration::from_millis(600_000);
    let config =
        SegmentFetchConfig { object: object(), hint: Vec::new(), had, last, trust: Trust::Digest, patience, fetcher };
    let mut now = Time::from_nanos(1);
    let mut fetch = SegmentFetch::new(now, config, consumer, layout);
    let mut rng = Rng::derive(link.seed, &[]);
    // By arrival time and a running number; true for Interests.
    let mut air: BTreeMap<(Time, u64), (bool, Vec<u8>)> = BTreeMap::new();
    let mut number = 0;
    let mut arrived = 0;
    while !fetch.is_complete() && arrived < until {
        let mut put = |air: &mut BTreeMap<_, _>, now: Time, interest: bool, packet: &[u8]| {
            let copies = if !interest && rng.below(100) < link.doubled { 2 } else { 1 };
            for _ in 0..copies {
                if rng.below(100) >= link.lost {
                    number += 1;
                    let delay = Duration::from_millis(10) + Duration::from_micros(rng.below(1 + link.jitter * 1000));
                    air.insert((now + delay, number), (interest, packet.to_vec()));
                }
            }
        };
        while let Some((_, interest)) = fetch.poll_transmit(now) {
            put(&mut air, now, true, &interest);
        }
        let next = air.first_key_value().map_or(Time::NEVER, |(at, _)| at.0);
        let timer = fetch.poll_timeout();
        now = now.max(next.min(timer));
        assert_ne!(now, Time::NEVER, "the fetch waits for nothing");
        if timer <= now {
            fetch.handle_timeout(now).unwrap();
        }
        while let Some(entry) = air.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                (true, interest) => match publisher.answer(&InterestView::decode(&interest).unwrap()).unwrap() {
                    Answer::Data(data) => put(&mut air, now, false, data),
                    Answer::Beyond | Answer::Nothing => {}
                },
                (false, data) => {
                    let data = DataView::decode(&data).unwrap();
                    arrived += u64::from(fetch.handle_data(now, &LpHeader::default(), &data, sink).unwrap().is_some());
                }
            }
        }
    }
    fetch.is_complete()
}

fn links() -> impl Strategy<Value = Link> {
    (any::<u64>(), 0u64..25, 0u64..20, 0u64..30).prop_map(|(seed, lost, doubled, jitter)| Link {
        seed,
        lost,
        doubled,
        jitter,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_arrives_in_order_is_what_was_published(
        link in links(),
        len in 0usize..40_000,
        chunk in 100usize..900,
        scheme in prop::sample::select(vec!["fixed", "cubic", "icp"]),
    ) {
        let content = contents(len);
        let mut publisher = published(&content, chunk);
        let mut stream = Vec::new();
        let mut sink = Box::new(StreamSink::new(&mut stream));
        prop_assert!(fetch(&mut publisher, link, scheme, (Ranges::new(), None), &mut *sink, u64::MAX));
        sink.finish().unwrap();
        prop_assert_eq!(stream, content);
    }

    #[test]
    fn a_file_fetched_in_pieces_is_what_was_published_and_no_segment_is_fetched_twice(
        link in links(),
        len in 0usize..40_000,
        chunk in 100usize..900,
        pieces in prop::collection::vec(0u64..60, 0..5),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("file");
        let content = contents(len);
        let mut publisher = published(&content, chunk);
        let mut stored = 0;
        for until in pieces.into_iter().chain([u64::MAX]) {
            let mut sink = Box::new(FileSink::open(&target, &object(), &Trust::Digest, false).unwrap());
            // What came before its place was known is lost at an interruption.
            prop_assert!(sink.received().count() + 1 >= stored);
            let had = (sink.received().clone(), sink.last_segment());
            let complete = fetch(&mut publisher, link, "fixed", had, &mut *sink, until);
            stored = sink.received().count();
            prop_assert!(!target.exists());
            if complete {
                sink.finish().unwrap();
                break;
            }
            sink.save_partial().unwrap();
        }
        prop_assert_eq!(std::fs::read(&target).unwrap(), content);
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        prop_assert_eq!(left, ["file"]);
    }
}

#[test]
fn every_consumer_brings_an_object_over_a_lossy_link() {
    let content = contents(20_000);
    for scheme in Scheme::names() {
        let link = Link { seed: 3, lost: 5, doubled: 2, jitter: 1 };
        let mut publisher = published(&content, 400);
        let mut stream = Vec::new();
        let mut sink = StreamSink::new(&mut stream);
        assert!(fetch(&mut publisher, link, scheme, (Ranges::new(), None), &mut sink, u64::MAX), "{scheme}");
        drop(sink);
        assert_eq!(stream, content, "{scheme}");
    }
}
