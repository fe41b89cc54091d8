//! What the target of the fetch does with its input.

use ndnweir_core::scheme::Scheme;
use ndnweir_core::units::{Duration, Time};
use ndnweir_net::object::fetch::{SegmentFetch, SegmentFetchConfig};
use ndnweir_net::object::ranges::Ranges;
use ndnweir_net::object::{Discovery, Sink, SinkError, Trust};
use ndnweir_node::FetcherConfig;
use ndnweir_wire::signature::{DigestSha256, Ed25519Signer, Signer};
use ndnweir_wire::{Component, DataBuilder, DataView, InterestBuilder, InterestView, LpHeader, NackReason, Name};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// Segments of the object, of which the last is shorter.
const SEGMENTS: u64 = 20;
/// Interests that the consumer keeps pending.
const WINDOW: u32 = 16;

static SIGNER: LazyLock<Ed25519Signer> = LazyLock::new(|| Ed25519Signer::from_seed(&[7; 32], None));
static HONEST: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| (0..SEGMENTS).map(|i| segment(i, &content(i), i == SEGMENTS - 1, &*SIGNER)).collect());

fn object() -> Name {
    "/a/v=9".parse().expect("a name")
}

fn content(segment: u64) -> Vec<u8> {
    vec![segment as u8; if segment == SEGMENTS - 1 { 3 } else { 50 }]
}

fn segment(number: u64, content: &[u8], last: bool, signer: &dyn Signer) -> Vec<u8> {
    let component = Component::segment(number);
    let name = object().with(component.clone());
    let data = DataBuilder::new(name.as_view()).content(content);
    let data = if last { data.final_block_id(component.as_view()) } else { data };
    data.sign(signer).expect("signs")
}

/// Checks what is stored: each segment once, none beyond the last, and of the right content if it must be signed.
struct CheckedSink {
    signed: bool,
    stored: BTreeSet<u64>,
}

impl Sink for CheckedSink {
    fn put(&mut self, segment: u64, bytes: &[u8], last: Option<u64>) -> Result<(), SinkError> {
        assert!(self.stored.insert(segment), "segment {segment} is stored twice");
        assert!(last.is_none_or(|last| segment <= last));
        if self.signed {
            assert_eq!(bytes, content(segment));
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), SinkError> {
        Ok(())
    }

    fn save_partial(self: Box<Self>) -> Result<(), SinkError> {
        Ok(())
    }
}

/// Reads the input as what a forwarder sends to a fetch: segments unchanged, changed or forged, any bytes, NACKs,
/// silence, a lost connection. It must not panic; under a key nothing else than the object is stored, each segment
/// once; and no more is requested than the window allows.
pub fn object_fetch(input: &[u8]) {
    let [setup, rest @ ..] = input else { return };
    let signed = setup & 1 == 1;
    let trust = if signed { Trust::Ed25519(SIGNER.verifier()) } else { Trust::Any };
    let mut now = Time::from_nanos(1);
    let mut discovery = Discovery::new("/a".parse().expect("a name"), trust.clone(), Duration::from_millis(3000));
    let scheme = Scheme::named("fixed").expect("a scheme");
    let mut layout = scheme.layout();
    let consumer = scheme.consumer(&mut layout);
    let (had, patience) = (Ranges::new(), Duration::from_millis(3000));
    let fetcher = FetcherConfig { loss: (setup & 2 != 0).then(Default::default), ..FetcherConfig::default() };
    let config = SegmentFetchConfig { object: object(), had, last: None, hint: Vec::new(), trust, patience, fetcher };
    let mut fetch = SegmentFetch::new(now, config, consumer, layout);
    let mut sink = CheckedSink { signed, stored: BTreeSet::new() };
    let mut nonces = BTreeMap::new();
    let mut rest = rest;
    while let [op, arg, len, tail @ ..] = rest {
        let (bytes, tail) = tail.split_at(usize::from(*len).min(tail.len()));
        rest = tail;
        let number = u64::from(*arg);
        let honest = || HONEST[usize::from(*arg) % HONEST.len()].clone();
        let data = match op & 7 {
            0 => honest(),
            1 => {
                let mut data = honest();
                for change in bytes.chunks_exact(2) {
                    let at = usize::from(change[0]) % data.len();
                    data[at] ^= change[1];
                }
                data
            }
            2 => segment(number, bytes, op & 8 != 0, &DigestSha256),
            3 => bytes.to_vec(),
            4 => {
                let name = object().with(Component::segment(number));
                let nonce = nonces.get(&number).copied().unwrap_or_default();
                let interest = InterestBuilder::new(name.as_view()).nonce(nonce).encode().expect("encodes");
                let interest = InterestView::decode(&interest).expect("decodes");
                let reasons = [NackReason::NoRoute, NackReason::Congestion, NackReason::Duplicate];
                let header = LpHeader { nack: Some(reasons[bytes.len() % 3]), ..LpHeader::default() };
                fetch.handle_nack(now, &header, &interest);
                discovery.handle_nack(&header, &interest);
                Vec::new()
            }
            5 => {
                now += Duration::from_millis(10 * number);
                let discovered = discovery.poll_transmit(now, 1).is_ok();
                if (fetch.poll_timeout() <= now && fetch.handle_timeout(now).is_err()) || !discovered {
                    return;
                }
                Vec::new()
            }
            6 => {
                fetch.pause(now);
                now += Duration::from_millis(number);
                fetch.resume(now);
                discovery.restart();
                Vec::new()
            }
            _ => {
                // The result of a search, from any sender.
                let name: Name =
                    ["/a/32=metadata/v=1/seg=0", "/a/v=3/seg=0", "/a", "/b"][bytes.len() % 4].parse().expect("a name");
                DataBuilder::new(name.as_view()).content(bytes).sign(&DigestSha256).expect("signs")
            }
        };
        if let Ok(data) = DataView::decode(&data) {
            let _ = discovery.handle_data(now, &data);
            if fetch.handle_data(now, &LpHeader::default(), &data, &mut sink).is_err() {
                return;
            }
        }
        let mut asked = 0;
        while let Some((_, interest)) = fetch.poll_transmit(now) {
            let interest = InterestView::decode(&interest).expect("an Interest");
            let segment = interest.name().last().and_then(|last| last.as_segment());
            nonces.extend(segment.zip(interest.nonce()));
            asked += 1;
            assert!(asked <= 4 * WINDOW, "it sends without end");
        }
        assert!(fetch.counters().in_flight <= WINDOW, "{} Interests in flight", fetch.counters().in_flight);
        if fetch.is_complete() {
            assert!(!signed || sink.stored.len() as u64 == SEGMENTS);
            return;
        }
    }
}
