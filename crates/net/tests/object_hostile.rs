//! Packets and files that mean harm: an error, never a panic, and never a wrong file.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Span, Time};
use ndnweir_net::object::fetch::{FetchError, SegmentFetch, SegmentFetchConfig};
use ndnweir_net::object::ranges::Ranges;
use ndnweir_net::object::{Discovery, FileSink, Sink, SinkError, StreamSink, Trust, signer};
use ndnweir_node::FetcherConfig;
use ndnweir_wire::data::content_type;
use ndnweir_wire::signature::{DigestSha256, EcdsaP256Signer, Ed25519Signer, Signer};
use ndnweir_wire::{Component, DataBuilder, DataView, InterestView, LpHeader, NackReason, Name};
use proptest::prelude::*;
use std::path::Path;

fn object() -> Name {
    "/a/v=9".parse().unwrap()
}

/// A fetch whose first window, of 16 Interests, is out.
fn fetch(trust: Trust) -> SegmentFetch {
    let scheme = Scheme::named("fixed").unwrap();
    let mut layout = scheme.layout();
    let consumer = scheme.consumer(&mut layout).unwrap();
    let config = SegmentFetchConfig {
        object: object(),
        hint: Vec::new(),
        had: Ranges::new(),
        last: None,
        trust,
        patience: Span::from_millis(5000),
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
                match give(&mut fetch(trust.clone()), &segment(0, b"x", None, *signer), &mut sink) {
                    Ok(arrived) => arrived,
                    Err(FetchError::Untrusted { .. }) => false,
                    Err(error) => panic!("{error}"),
                }
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

#[test]
fn a_changed_byte_is_found_out_even_when_any_signer_will_do() {
    let mut data = segment(0, b"content", None, &DigestSha256);
    let at = data.windows(7).position(|w| w == b"content").unwrap();
    data[at] ^= 1;
    let mut sink = StreamSink::new(Vec::new());
    assert!(matches!(give(&mut fetch(Trust::Any), &data, &mut sink), Err(FetchError::Untrusted { .. })));
}

#[test]
fn last_segments_that_cannot_be_or_change_are_refused() {
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
fn an_application_level_refusal_ends_the_fetch() {
    let name = object().with(Component::segment(0));
    let data = DataBuilder::new(name.as_view()).content_type(content_type::NACK).sign(&DigestSha256).unwrap();
    let result = give(&mut fetch(Trust::Any), &data, &mut StreamSink::new(Vec::new()));
    assert!(matches!(result, Err(FetchError::Refused(_))));
}

#[test]
fn a_fetch_that_gets_nothing_but_refusals_ends_and_says_so() {
    let mut fetch = fetch(Trust::Any);
    let name = object().with(Component::segment(0));
    let interest = ndnweir_wire::InterestBuilder::new(name.as_view()).encode().unwrap();
    let header = LpHeader { nack: Some(NackReason::NoRoute), ..LpHeader::default() };
    fetch.handle_nack(Time::from_nanos(5), &header, &InterestView::decode(&interest).unwrap());
    let end = Time::from_nanos(1) + Span::from_millis(5000);
    assert!(fetch.poll_timeout() <= end);
    let error = fetch.handle_timeout(end).unwrap_err().to_string();
    assert_eq!(error, "no segment of /a/v=9 arrived for 5s: there is no route to it");
}

fn open(target: &Path) -> Result<FileSink, String> {
    FileSink::open(target, &object(), "any", false).map_err(|e| e.to_string())
}

fn keep(target: &Path, object: &Name, trust: &str, segments: &[u64]) {
    let mut sink = Box::new(FileSink::open(target, object, trust, false).unwrap());
    for number in segments {
        sink.put(*number, b"0123", Some(9)).unwrap();
    }
    sink.keep().unwrap();
}

#[test]
fn what_another_fetch_left_is_continued_only_if_version_and_trust_are_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("f");
    keep(&target, &object(), "any", &[0, 2, 3]);
    assert_eq!(open(&target).unwrap().received().iter().collect::<Vec<_>>(), [(0, 1), (2, 4)]);
    for (name, trust) in [("/a/v=8", "any"), ("/b/v=9", "any"), ("/a/v=9", "digest")] {
        let refused = FileSink::open(&target, &name.parse().unwrap(), trust, false).unwrap_err();
        assert!(refused.to_string().contains("--restart"), "{refused}");
    }
    let anew = FileSink::open(&target, &"/a/v=8".parse().unwrap(), "digest", true).unwrap();
    assert_eq!((anew.received().count(), std::fs::metadata(dir.path().join("f.part")).unwrap().len()), (0, 0));
    // The first still has the file.
    assert!(open(&target).unwrap_err().contains("another fetch"));
}

#[test]
fn a_file_that_lost_content_since_is_not_continued() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("f");
    keep(&target, &object(), "any", &[0, 2]);
    std::fs::File::options().write(true).open(dir.path().join("f.part")).unwrap().set_len(11).unwrap();
    assert!(open(&target).unwrap_err().contains("more than the 11 bytes"));
}

#[test]
fn an_incomplete_file_is_never_finished() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("f");
    std::fs::write(&target, "before").unwrap();
    for segments in [&[][..], &[0, 1], &[9], &[0, 9]] {
        let mut sink = Box::new(FileSink::open(&target, &object(), "any", true).unwrap());
        for number in segments {
            sink.put(*number, b"0123", Some(9)).unwrap();
        }
        assert!(matches!(sink.finish(), Err(SinkError::Resume(_))), "{segments:?}");
        assert_eq!(std::fs::read(&target).unwrap(), b"before");
    }
}

#[test]
fn segments_of_differing_size_have_no_place_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = FileSink::open(&dir.path().join("f"), &object(), "any", false).unwrap();
    sink.put(0, b"0123", Some(9)).unwrap();
    for (number, content) in [(1, &b"012"[..]), (2, b"01234"), (9, b"01234")] {
        assert!(matches!(sink.put(number, content, None), Err(SinkError::Uneven { .. })), "{number}");
    }
}

const STATE: &str = concat!(
    r#"{"format":"ndnweir partial object 1","object":"/a/v=9","trust":"any","#,
    r#""segment_size":4,"last":9,"length":null,"received":[[0,1],[2,4]]}"#
);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_state_file_of_any_content_is_understood_or_refused(
        start in 0usize..140, end in 0usize..140, middle in "[0-9\\[\\],:\"a-z{}]{0,12}", len in 0u64..60,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("f");
        let (start, end) = (start.min(STATE.len()), end.max(start).min(STATE.len()));
        std::fs::write(dir.path().join("f.part.state"), [&STATE[..start], &middle, &STATE[end..]].concat()).unwrap();
        std::fs::File::create(dir.path().join("f.part")).unwrap().set_len(len).unwrap();
        match open(&target) {
            Ok(sink) => prop_assert!(sink.stored_bytes() <= len),
            Err(error) => prop_assert!(error.contains("--restart"), "{}", error),
        }
    }

    #[test]
    fn metadata_of_any_content_is_understood_or_refused(
        content in prop::collection::vec(any::<u8>(), 0..40), tail in prop::sample::select(vec!["", "/v=9", "/v=9/seg=0"]),
    ) {
        for content in [content.clone(), [&[7, content.len() as u8], &content[..]].concat()] {
            let name: Name = format!("/a/32=metadata{tail}").parse().unwrap();
            let data = DataBuilder::new(name.as_view()).content(&content).sign(&DigestSha256).unwrap();
            let mut discovery = Discovery::new("/a".parse().unwrap(), Trust::Any, Span::from_millis(1000));
            if let Ok(Some(found)) = discovery.handle_data(&DataView::decode(&data).unwrap()) {
                let ndnweir_net::object::Found::Object(object) = found else { panic!("{found:?}") };
                prop_assert!(object.to_string().starts_with("/a/v="));
            }
        }
    }

    #[test]
    fn segments_with_any_header_and_number_are_taken_or_refused(
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
