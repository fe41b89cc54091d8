//! A publisher's answers to the bytes of other implementations' Interests.

use ndnweir_core::units::{Duration, Time};
use ndnweir_net::object::publisher::{Answer, Publisher, PublisherConfig, PublisherError};
use ndnweir_net::object::{Discovered, Discovery, DiscoveryError, Trust};
use ndnweir_wire::signature::{DigestSha256, sha256};
use ndnweir_wire::{DataBuilder, DataView, InterestBuilder, InterestView, LpHeader, NackReason, Name};

fn publisher() -> Publisher<Vec<u8>> {
    let config = PublisherConfig { chunk: 4, ..PublisherConfig::new("/a".parse().unwrap(), 9) };
    Publisher::new(config, b"0123456789".to_vec(), Box::new(DigestSha256)).unwrap()
}

fn ask(publisher: &mut Publisher<Vec<u8>>, name: &str, by_prefix: bool) -> Option<Vec<u8>> {
    let name: Name = name.parse().unwrap();
    let interest = InterestBuilder::new(name.as_view()).can_be_prefix(by_prefix).must_be_fresh(by_prefix);
    let interest = interest.encode().unwrap();
    match publisher.answer(&InterestView::decode(&interest).unwrap()).unwrap() {
        Answer::Data(data) => Some(data.to_vec()),
        Answer::Beyond | Answer::Nothing => None,
    }
}

/// A Data packet by hand: name, MetaInfo, Content, DigestSha256.
fn by_hand(name: &[u8], meta_info: &[u8], content: &[u8]) -> Vec<u8> {
    let mut signed = Vec::new();
    for (typ, value) in [(7, name), (0x14, meta_info), (0x15, content), (0x16, &[0x1b, 1, 0])] {
        signed.extend([typ, value.len() as u8]);
        signed.extend(value);
    }
    let digest = sha256(&[&signed]);
    signed.extend([0x17, 32]);
    signed.extend(digest);
    let mut data = vec![6, signed.len() as u8];
    data.extend(signed);
    data
}

// Freshness 10 s = 0x2710 ms, FinalBlockId is segment 2.
const META_INFO: [u8; 9] = [0x19, 2, 0x27, 0x10, 0x1a, 3, 0x32, 1, 2];

#[test]
fn segments_have_these_bytes() {
    let mut publisher = publisher();
    let name = |segment| [8, 1, b'a', 0x36, 1, 9, 0x32, 1, segment];
    assert_eq!(ask(&mut publisher, "/a/v=9/seg=0", false), Some(by_hand(&name(0), &META_INFO, b"0123")));
    assert_eq!(ask(&mut publisher, "/a/v=9/seg=2", false), Some(by_hand(&name(2), &META_INFO, b"89")));
}

#[test]
fn metadata_has_these_bytes() {
    let mut publisher = publisher();
    let mut name = vec![8, 1, b'a', 0x20, 8];
    name.extend(b"metadata");
    name.extend([0x36, 1, 9, 0x32, 1, 0]);
    // Freshness 1 s, FinalBlockId is segment 0.
    let meta_info = [0x19, 2, 3, 0xe8, 0x1a, 3, 0x32, 1, 0];
    let expected = by_hand(&name, &meta_info, &[7, 6, 8, 1, b'a', 0x36, 1, 9]);
    // ndn-tools, NDNts and ndnd send the first form.
    for (asked, by_prefix) in
        [("/a/32=metadata", true), ("/a/32=metadata/v=9", true), ("/a/32=metadata/v=9/seg=0", false)]
    {
        assert_eq!(ask(&mut publisher, asked, by_prefix).as_ref(), Some(&expected), "{asked}");
    }
    assert_eq!(ask(&mut publisher, "/a/32=metadata", false), None);
    assert_eq!(ask(&mut publisher, "/a/32=metadata/v=8", true), None);
}

#[test]
fn an_interest_for_a_prefix_gets_the_first_segment_and_one_for_a_digest_the_packet_with_it() {
    let mut publisher = publisher();
    let first = ask(&mut publisher, "/a/v=9/seg=0", false).unwrap();
    for asked in ["/a", "/a/v=9", "/a/v=9/seg=0"] {
        assert_eq!(ask(&mut publisher, asked, true), Some(first.clone()), "{asked}");
    }
    let full = DataView::decode(&first).unwrap().full_name().to_string();
    assert_eq!(ask(&mut publisher, &full, false), Some(first));
    let wrong = format!("/a/v=9/seg=1/sha256digest={}", "0".repeat(64));
    for other in ["/a", "/a/v=9", "/a/v=8/seg=0", "/a/v=9/seg=0/x", "/b", &wrong] {
        assert_eq!(ask(&mut publisher, other, false), None, "{other}");
    }
}

#[test]
fn beyond_the_last_segment_nothing_exists() {
    let mut publisher = publisher();
    let name: Name = "/a/v=9/seg=3".parse().unwrap();
    let interest = InterestBuilder::new(name.as_view()).encode().unwrap();
    assert_eq!(publisher.answer(&InterestView::decode(&interest).unwrap()).unwrap(), Answer::Beyond);
}

#[test]
fn an_empty_object_is_one_empty_segment() {
    let config = PublisherConfig::new("/a".parse().unwrap(), 9);
    let mut publisher = Publisher::new(config, Vec::new(), Box::new(DigestSha256)).unwrap();
    let first = ask(&mut publisher, "/a/v=9/seg=0", false).unwrap();
    assert!(DataView::decode(&first).unwrap().content().is_empty());
    assert_eq!(publisher.last_segment(), 0);
}

#[test]
fn a_chunk_that_makes_packets_too_large_is_rejected_with_one_that_fits() {
    let build = |chunk| {
        let config = PublisherConfig { chunk, ..PublisherConfig::new("/a".parse().unwrap(), 9) };
        Publisher::new(config, vec![7; 20_000], Box::new(DigestSha256)).map(|_| ())
    };
    let Err(PublisherError::TooLarge { fitting, .. }) = build(8799) else { panic!("accepted") };
    assert!(build(fitting).is_ok() && build(fitting + 1).is_err());
}

#[test]
fn memory_does_not_grow_with_the_object() {
    let config = PublisherConfig { chunk: 10, cache: 3, ..PublisherConfig::new("/a".parse().unwrap(), 9) };
    let mut publisher = Publisher::new(config, vec![7; 1000], Box::new(DigestSha256)).unwrap();
    for _ in 0..2 {
        for segment in 0..100 {
            assert!(ask(&mut publisher, &format!("/a/v=9/seg={segment}"), false).is_some());
        }
    }
    // Nothing was left in memory of what was requested 100 segments before; the last three were.
    assert_eq!(publisher.segments_read(), 200);
    assert!(ask(&mut publisher, "/a/v=9/seg=97", false).is_some());
    assert_eq!(publisher.segments_read(), 200);
}

fn discovery() -> Discovery {
    Discovery::new("/a".parse().unwrap(), Trust::Digest, Duration::from_millis(9000))
}

fn found(name: &str, content: &[u8]) -> Option<Discovered> {
    let name: Name = name.parse().unwrap();
    let data = DataBuilder::new(name.as_view()).content(content).sign(&DigestSha256).unwrap();
    discovery().handle_data(Time::ZERO, &DataView::decode(&data).unwrap()).unwrap_or_default()
}

#[test]
fn discovery_asks_for_metadata_twice_and_then_for_any_data_too() {
    let mut discovery = discovery();
    let mut asked = |ms| {
        let now = Time::ZERO + Duration::from_millis(ms);
        std::iter::from_fn(|| discovery.poll_transmit(now, 5).unwrap())
            .map(|interest| {
                InterestView::decode(&interest).map(|i| (i.name().to_string(), i.can_be_prefix(), i.must_be_fresh()))
            })
            .map(Result::unwrap)
            .collect::<Vec<_>>()
    };
    let metadata = ("/a/32=metadata".to_owned(), true, true);
    let once = std::slice::from_ref(&metadata);
    assert_eq!(asked(0), once);
    assert_eq!(asked(499), []);
    assert_eq!(asked(500), once);
    assert_eq!(asked(1500), [("/a".to_owned(), true, true), metadata.clone()]);
    // There are no fresh Data: stale ones are accepted, in turn.
    let stale = [("/a".to_owned(), true, false), ("/a/32=metadata".to_owned(), true, false)];
    assert_eq!(asked(3500), stale);
    assert_eq!(asked(5500), [("/a".to_owned(), true, true), metadata.clone()]);
    assert_eq!(asked(7500), stale);
    let end = Time::ZERO + Duration::from_millis(9000);
    assert!(matches!(discovery.poll_transmit(end, 5), Err(DiscoveryError::Unanswered { .. })));
}

#[test]
fn discovery_ends_soon_when_every_interest_is_sent_back_for_want_of_a_route() {
    let header = LpHeader { nack: Some(NackReason::NoRoute), ..LpHeader::default() };
    // The one whose producer comes up between continues.
    for up_at in [None, Some(2)] {
        let mut discovery = discovery();
        let (mut now, mut round) = (Time::ZERO, 0);
        let error = loop {
            match discovery.poll_transmit(now, 5) {
                Ok(Some(interest)) if up_at != Some(round) => {
                    discovery.handle_nack(&header, &InterestView::decode(&interest).unwrap());
                }
                Ok(Some(_)) => {}
                Ok(None) => {
                    (now, round) = (now.max(discovery.poll_timeout()), round + 1);
                }
                Err(error) => break error,
            }
        };
        assert!(matches!(error, DiscoveryError::NoRoute(_)), "{error}");
        let soon = now < Time::ZERO + Duration::from_millis(2000);
        assert_eq!(soon, up_at.is_none(), "{now:?}");
    }
}

#[test]
fn discovery_understands_metadata_segments_and_single_packets() {
    let object = |name: &str| Some(Discovered::Object(name.parse().unwrap()));
    assert_eq!(found("/a/32=metadata/v=9/seg=0", &[7, 6, 8, 1, b'a', 0x36, 1, 9]), object("/a/v=9"));
    assert_eq!(found("/a/v=9/seg=4", b"x"), object("/a/v=9"));
    assert_eq!(found("/a/seg=4", b"x"), object("/a"));
    assert_eq!(found("/a", b"x"), Some(Discovered::Whole(b"x".to_vec())));
    for other in ["/b/v=9/seg=0", "/a/x/seg=0", "/a/v=9", "/a/32=metadata/v=9/seg=0", "/a/x/v=9/seg=0"] {
        assert_eq!(found(other, b"x"), None, "{other}");
    }
}
