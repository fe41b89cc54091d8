//! Packets and files that mean harm: an error, never a panic, and never a wrong file.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Time};
use ndnweir_net::object::fetch::{FetchError, SegmentFetch, SegmentFetchConfig};
use ndnweir_net::object::ranges::Ranges;
use ndnweir_net::object::trust::Verification;
use ndnweir_net::object::{Discovery, Sink, StreamSink, Trust, signer};
use ndnweir_node::FetcherConfig;
use ndnweir_wire::data::content_type;
use ndnweir_wire::signature::{DigestSha256, EcdsaP256Signer, Ed25519Signer, Signer};
use ndnweir_wire::{Component, DataBuilder, DataView, InterestBuilder, InterestView, LpHeader, NackReason, Name};
use proptest::prelude::*;

fn object() -> Name {
    "/a/v=9".parse().unwrap()
}

/// A fetch whose first window, of 16 Interests, is outstanding.
fn fetch(trust: Trust) -> SegmentFetch {
    let scheme = Scheme::named("fixed").unwrap();
    let mut layout = scheme.layout();
    let consumer = scheme.consumer(&mut layout);
    let config = SegmentFetchConfig {
        object: object(),
        hint: Vec::new(),
        had: Ranges::new(),
        last: None,
        trust,
        patience: Duration::from_millis(5000),
        fetcher: FetcherConfig::default(),
    };
    let now = Time::from_nanos(1);
    let mut fetch = SegmentFetch::new(now, config, consumer, layout);
    while fetch.poll_transmit(now).is_some() {}
    fetch
}

fn segment(number: u64, content: &[u8], last: Option<Component>, signer: &dyn Signer) -> Vec<u8> {
    let name = object().with(Component::segment(number));
    let mut data = DataBuilder::new(name.as_view()).content(content);
    if let Some(last) = &last {
        data = data.final_block_id(last.as_view());
    }
    data.sign(signer).unwrap()
}

fn give(fetch: &mut SegmentFetch, data: &[u8], sink: &mut dyn Sink) -> Result<bool, FetchError> {
    let data = DataView::decode(data).unwrap();
    fetch.handle_data(Time::from_nanos(2), &LpHeader::default(), &data, sink).map(|arrival| arrival.is_some())
}

#[test]
fn only_the_demanded_signature_is_accepted() {
    let dir = tempfile::tempdir().unwrap();
    let own = Ed25519Signer::from_seed(&[1; 32], None);
    let other = Ed25519Signer::from_seed(&[2; 32], None);
    let ecdsa = EcdsaP256Signer::from_scalar(&[3; 32], None).unwrap();
    let trusts = [Trust::Digest, Trust::Ed25519(own.verifier()), Trust::Ecdsa(Box::new(ecdsa.verifier())), Trust::Any];
    let signers: [&dyn Signer; 4] = [&DigestSha256, &own, &ecdsa, &other];
    let accepted: Vec<Vec<bool>> = trusts
        .iter()
        .map(|trust| {
            let check = |signer: &&dyn Signer| {
                let mut sink = StreamSink::new(Vec::new());
                give(&mut fetch(trust.clone()), &segment(0, b"x", None, *signer), &mut sink).unwrap()
            };
            signers.iter().map(check).collect()
        })
        .collect();
    assert_eq!(
        accepted,
        [[true, false, false, false], [false, true, false, false], [false, false, true, false], [true; 4]]
    );
    // What was accepted under one trust is not taken over under another.
    let fingerprints: std::collections::BTreeSet<String> = trusts.iter().map(Trust::fingerprint).collect();
    assert_eq!(fingerprints.len(), 4);
    assert!(signer("ed25519:/nowhere", &object()).is_err() && signer("rsa", &object()).is_err());
    assert!(Trust::read(&format!("ecdsa:{}", dir.path().display())).is_err());
}

/// Sends what the fetch may request by `now`: number of the segment, nonce and MustBeFresh of each Interest.
fn transmitted(fetch: &mut SegmentFetch, now: Time) -> Vec<(u64, [u8; 4], bool)> {
    fetch.handle_timeout(now).unwrap();
    std::iter::from_fn(|| fetch.poll_transmit(now))
        .map(|(_, wire)| {
            let interest = InterestView::decode(&wire).unwrap();
            let segment = interest.name().last().unwrap().as_segment().unwrap();
            (segment, interest.nonce().unwrap(), interest.must_be_fresh())
        })
        .collect()
}

#[test]
fn a_forged_segment_is_requested_again_past_caches_and_the_valid_one_is_stored() {
    let mut changed = segment(0, b"content", None, &DigestSha256);
    let at = changed.windows(7).position(|w| w == b"content").unwrap();
    changed[at] ^= 1;
    let own = Ed25519Signer::from_seed(&[1; 32], None);
    let other = Ed25519Signer::from_seed(&[2; 32], None);
    let cases: [(Trust, Vec<u8>, &dyn Signer); 3] = [
        (Trust::Any, changed, &DigestSha256),
        (Trust::Ed25519(own.verifier()), segment(0, b"forged!", None, &other), &own),
        (Trust::Ed25519(own.verifier()), segment(0, b"forged!", None, &DigestSha256), &own),
    ];
    for (trust, forged, signer) in cases {
        let (mut stream, mut fetch) = (Vec::new(), fetch(trust));
        let mut sink = StreamSink::new(&mut stream);
        let window = fetch.counters().window;
        let mut nonces = std::collections::BTreeSet::new();
        for round in 1..=3_u64 {
            assert!(!give(&mut fetch, &forged, &mut sink).unwrap());
            // More than was requested: nothing is counted.
            assert!(!give(&mut fetch, &forged, &mut sink).unwrap());
            assert_eq!(fetch.rejections(), round);
            assert_eq!(transmitted(&mut fetch, Time::from_nanos(3)), [], "no pause");
            let again = transmitted(&mut fetch, Time::from_nanos(3) + Duration::from_millis(50));
            let [(0, nonce, true)] = again[..] else { panic!("{again:?}") };
            assert!(nonces.insert(nonce));
        }
        assert!(give(&mut fetch, &segment(0, b"content", None, signer), &mut sink).unwrap());
        // Forged packets must not slow a fetch down.
        assert_eq!((fetch.counters().window, fetch.counters().losses), (window, 0));
        drop(sink);
        assert_eq!(stream, b"content");
    }
}

#[test]
fn a_fetch_for_which_only_forged_segments_come_ends_soon_and_names_segment_digest_and_remedy() {
    let own = Ed25519Signer::from_seed(&[1; 32], None);
    let forged = segment(3, b"forged", None, &DigestSha256);
    let (mut fetch, mut sink) = (fetch(Trust::Ed25519(own.verifier())), StreamSink::new(Vec::new()));
    let mut now = Time::from_nanos(2);
    let mut given = 0;
    let error = loop {
        let data = DataView::decode(&forged).unwrap();
        match fetch.handle_data(now, &LpHeader::default(), &data, &mut sink) {
            Ok(arrived) => assert!(arrived.is_none()),
            Err(error) => break error.to_string(),
        }
        given += 1;
        assert!(given < 10_000, "it requests forever");
        now += Duration::from_millis(5);
        transmitted(&mut fetch, now);
    };
    assert!(now.since(Time::ZERO) < Duration::from_millis(5000), "{now:?}");
    let digest = DataView::decode(&forged).unwrap().implicit_digest();
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    for part in ["/a/v=9/seg=3 is not signed as demanded", &digest, "cs erase /a/v=9/seg=3", "--trust"] {
        assert!(error.contains(part), "{part:?} is not in {error}");
    }
}

#[test]
fn a_fetch_says_what_the_signatures_showed_at_least() {
    let own = Ed25519Signer::from_seed(&[1; 32], None);
    let any = [(&DigestSha256 as &dyn Signer, Verification::Digest), (&own, Verification::Nothing)];
    let cases = any.map(|(signer, shown)| (Trust::Any, signer, shown));
    let cases = cases.into_iter().chain([(Trust::Ed25519(own.verifier()), &own as &dyn Signer, Verification::Signer)]);
    for (trust, signer, shown) in cases {
        let (mut fetch, mut sink) = (fetch(trust), StreamSink::new(Vec::new()));
        assert!(give(&mut fetch, &segment(0, b"x", None, signer), &mut sink).unwrap());
        assert_eq!(fetch.checked(), shown);
    }
}

#[test]
fn a_search_with_only_forged_metadata_repeats_and_ends_with_their_digest() {
    let own = Ed25519Signer::from_seed(&[1; 32], None);
    let name: Name = "/a/32=metadata/v=9/seg=0".parse().unwrap();
    let content = object().encode();
    let signed = |signer: &dyn Signer| DataBuilder::new(name.as_view()).content(&content).sign(signer).unwrap();
    let (forged, good) = (signed(&DigestSha256), signed(&own));
    let search =
        || Discovery::new("/a".parse().unwrap(), Trust::Ed25519(own.verifier()), Duration::from_millis(15_000));
    let mut now = Time::from_nanos(1);
    let mut discovery = search();
    assert!(discovery.poll_transmit(now, 1).unwrap().is_some());
    assert_eq!(discovery.handle_data(now, &DataView::decode(&forged).unwrap()), Ok(None));
    let found = discovery.handle_data(now, &DataView::decode(&good).unwrap());
    assert_eq!(found, Ok(Some(ndnweir_net::object::Discovered::Object(object()))));
    let mut discovery = search();
    let error = loop {
        while discovery.poll_transmit(now, 1).unwrap().is_some() {}
        if let Err(error) = discovery.handle_data(now, &DataView::decode(&forged).unwrap()) {
            break error.to_string();
        }
        now = discovery.poll_timeout();
        assert!(now < Time::ZERO + Duration::from_millis(14_000));
    };
    assert!(error.contains("/a/32=metadata/v=9/seg=0 is not signed") && error.contains("sha256digest="), "{error}");
}

#[test]
fn last_segments_that_cannot_be_or_change_are_rejected() {
    let last = |number| Some(Component::segment(number));
    for wrong in [Some(Component::generic("3")), Some(Component::version(3)), last(u64::from(u32::MAX)), last(u64::MAX)]
    {
        let mut sink = StreamSink::new(Vec::new());
        let data = segment(0, b"x", wrong, &DigestSha256);
        assert!(matches!(give(&mut fetch(Trust::Any), &data, &mut sink), Err(FetchError::FinalBlock { .. })));
    }
    let (mut fetch, mut sink) = (fetch(Trust::Any), StreamSink::new(Vec::new()));
    assert!(give(&mut fetch, &segment(0, b"x", last(3), &DigestSha256), &mut sink).unwrap());
    let changed = segment(1, b"x", last(4), &DigestSha256);
    assert!(matches!(give(&mut fetch, &changed, &mut sink), Err(FetchError::FinalBlock { known: Some(3), .. })));
}

#[test]
fn an_application_level_rejection_ends_the_fetch() {
    let name = object().with(Component::segment(0));
    let data = DataBuilder::new(name.as_view()).content_type(content_type::NACK).sign(&DigestSha256).unwrap();
    let result = give(&mut fetch(Trust::Any), &data, &mut StreamSink::new(Vec::new()));
    assert!(matches!(result, Err(FetchError::Rejected(_))));
}

#[test]
fn a_fetch_that_gets_only_rejections_ends_and_reports_it() {
    let mut fetch = fetch(Trust::Any);
    let returned = |segment, nonce: [u8; 4]| {
        let name = object().with(Component::segment(segment));
        InterestBuilder::new(name.as_view()).nonce(nonce).encode().unwrap()
    };
    let header = LpHeader { nack: Some(NackReason::NoRoute), ..LpHeader::default() };
    // A producer rejects what is behind its last segment: that has no effect on the others.
    let out = transmitted(&mut fetch, Time::from_nanos(1) + Duration::from_millis(1400));
    let nonce = |of: u64| out.iter().find(|(segment, ..)| *segment == of).unwrap().1;
    let now = Time::from_nanos(2) + Duration::from_millis(1400);
    fetch.handle_nack(now, &header, &InterestView::decode(&returned(7, nonce(7))).unwrap());
    fetch.handle_timeout(Time::from_nanos(1) + Duration::from_millis(1500)).unwrap();
    fetch.handle_nack(now, &header, &InterestView::decode(&returned(0, nonce(0))).unwrap());
    // Long before the patience of 5 s ends.
    let end = Time::from_nanos(1) + Duration::from_millis(1500);
    assert!(fetch.poll_timeout() <= end);
    // A timer ends a little later, which is not shown.
    let error = fetch.handle_timeout(end + Duration::from_nanos(74_539)).unwrap_err().to_string();
    assert_eq!(error, "no segment of /a/v=9 arrived for 1500ms: there is no route to it");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn metadata_of_any_content_is_understood_or_rejected(
        content in prop::collection::vec(any::<u8>(), 0..40), tail in prop::sample::select(vec!["", "/v=9", "/v=9/seg=0"]),
    ) {
        for content in [content.clone(), [&[7, content.len() as u8], &content[..]].concat()] {
            let name: Name = format!("/a/32=metadata{tail}").parse().unwrap();
            let data = DataBuilder::new(name.as_view()).content(&content).sign(&DigestSha256).unwrap();
            let mut discovery = Discovery::new("/a".parse().unwrap(), Trust::Any, Duration::from_millis(1000));
            if let Ok(Some(found)) = discovery.handle_data(Time::ZERO, &DataView::decode(&data).unwrap()) {
                let ndnweir_net::object::Discovered::Object(object) = found else { panic!("{found:?}") };
                prop_assert!(object.to_string().starts_with("/a/v="));
            }
        }
    }

    #[test]
    fn segments_with_any_header_and_number_are_taken_or_rejected(
        number in prop_oneof![0u64..20, any::<u64>()], mark in any::<u64>(), last in prop_oneof![0u64..20, any::<u64>()],
    ) {
        let data = segment(number, b"0123", Some(Component::segment(last)), &DigestSha256);
        let mut header = LpHeader { congestion_mark: Some(mark), ..LpHeader::default() };
        header.set_extra_number(904, mark).unwrap();
        let mut sink = StreamSink::new(Vec::new());
        let result = fetch(Trust::Any).handle_data(Time::from_nanos(9), &header, &DataView::decode(&data).unwrap(), &mut sink);
        if let Ok(Some(arrival)) = result {
            prop_assert!(arrival.segment < 16 && last < u64::from(u32::MAX));
        }
    }
}

#[test]
fn a_nack_with_another_nonce_than_was_sent_last_neither_ends_nor_slows_a_fetch() {
    let now = Time::from_nanos(2);
    let (mut fetch, mut sink) = (fetch(Trust::Any), StreamSink::new(Vec::new()));
    let before = (fetch.counters().window, fetch.poll_timeout());
    let header = LpHeader { nack: Some(NackReason::NoRoute), ..LpHeader::default() };
    for number in 0..5000_u32 {
        let name = object().with(Component::segment(u64::from(number % 16)));
        let forged = InterestBuilder::new(name.as_view()).nonce(number.to_be_bytes()).encode().unwrap();
        fetch.handle_nack(now, &header, &InterestView::decode(&forged).unwrap());
    }
    assert_eq!(((fetch.counters().window, fetch.poll_timeout()), fetch.counters().nacks), (before, 0));
    assert!(give(&mut fetch, &segment(0, b"x", None, &DigestSha256), &mut sink).unwrap());
}
