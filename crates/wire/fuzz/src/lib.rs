//! What the fuzz targets do with their input. `tests/fuzz_entries.rs` of the crate runs the same functions on a
//! seeded generator, so that they are also run where no nightly compiler is.

use core::time::Duration;

use ndnweir_wire::interest::delegations;
use ndnweir_wire::lp::{Fragmenter, LpHeader, LpPacketView, Reassembler, ReassemblerConfig};
use ndnweir_wire::signature::{DigestSha256, Signer};
use ndnweir_wire::{DataBuilder, DataView, InterestBuilder, InterestView, Name, NameView, PacketView, frame_len};

/// Decodes anything; what decodes must encode to an equal packet, and encoding must be stable.
pub fn packet(input: &[u8]) {
    let whole = LpPacketView::decode(input);
    if whole.is_ok() {
        assert_eq!(frame_len(input), Ok(Some(input.len() as u64)));
    }
    // Each name is two bytes at least.
    assert!(delegations(input).count() <= input.len() / 2);
    if let Ok(name) = NameView::decode(input) {
        name_is_stable(name);
    }
    let Ok(view) = whole else { return };
    let header = view.to_header();
    let encoded = if view.is_bare() { header.wrap(input) } else { header.encode(view.fragment) };
    let again = LpPacketView::decode(&encoded).expect("what was encoded decodes");
    assert_eq!(again.to_header(), header);
    assert_eq!(again.fragment, view.fragment);
    assert_eq!(again.is_bare(), view.is_bare());
    assert!(encoded.len() <= input.len(), "the shortest form is never longer");
    match view.fragment.map(PacketView::decode) {
        Some(Ok(PacketView::Interest(interest))) => interest_is_stable(&interest),
        Some(Ok(PacketView::Data(data))) => data_is_stable(&data),
        _ => {}
    }
}

fn name_is_stable(name: NameView<'_>) {
    let text = name.to_string();
    assert_eq!(text.parse::<Name>().expect("printed names parse").as_view(), name, "{text}");
    assert_eq!(name.components().collect::<Name>().as_view(), name);
    assert_eq!(Name::decode(&name.to_owned().encode()).expect("encoded names decode").as_view(), name);
}

fn interest_is_stable(view: &InterestView<'_>) {
    name_is_stable(view.name());
    let encoded = InterestBuilder::from_view(view).encode().expect("decoded Interests encode");
    let again = InterestView::decode(&encoded).expect("encoded Interests decode");
    let plain =
        |name: NameView<'_>| -> Name { name.components().filter(|c| c.as_parameters_digest().is_none()).collect() };
    assert_eq!(plain(again.name()), plain(view.name()));
    if view.verify_parameters_digest().is_ok() {
        assert_eq!(again.name(), view.name());
        assert_eq!(again.verify(&DigestSha256), view.verify(&DigestSha256));
    }
    assert_eq!(again.can_be_prefix(), view.can_be_prefix());
    assert_eq!(again.must_be_fresh(), view.must_be_fresh());
    assert!(again.forwarding_hint().eq(view.forwarding_hint()));
    assert_eq!(again.nonce(), view.nonce());
    assert_eq!(again.lifetime(), view.lifetime());
    assert_eq!(again.hop_limit(), view.hop_limit());
    assert_eq!(again.parameters_portion(), view.parameters_portion());
    assert_eq!(again.signature_info(), view.signature_info());
    assert_eq!(again.signature_value(), view.signature_value());
    assert_eq!(again.is_signed(), again.signed_portion().is_some());
    assert_eq!(InterestBuilder::from_view(&again).encode().as_deref(), Ok(&encoded[..]));
    if let Some(at) = view.hop_limit_offset() {
        // The offset counts from the start of the Interest here, because that is what was decoded.
        assert_eq!(view.wire().get(at).copied(), view.hop_limit());
    }
    if view.is_signed() {
        let info = view.signature_info().expect("signed Interests say how");
        let signed = InterestBuilder::from_view(view).sign(&DigestSha256, info.anti_replay);
        let signed = signed.expect("digests sign");
        let signed = InterestView::decode(&signed).expect("signed Interests decode");
        assert_eq!(signed.verify(&DigestSha256), Ok(()));
    }
}

fn data_is_stable(view: &DataView<'_>) {
    name_is_stable(view.name());
    let builder = DataBuilder::from_view(view);
    let encoded = builder.encode_with(&view.signature_info(), view.signature_value());
    let again = DataView::decode(&encoded).expect("encoded Data decode");
    assert_eq!(again.name(), view.name());
    assert_eq!(again.meta_info(), view.meta_info());
    assert_eq!(again.content(), view.content());
    assert_eq!(again.signature_info(), view.signature_info());
    assert_eq!(again.signature_value(), view.signature_value());
    let twice = DataBuilder::from_view(&again).encode_with(&again.signature_info(), again.signature_value());
    assert_eq!(twice, encoded);
    assert!(view.wire().len() >= encoded.len());
    let signed = builder.sign(&DigestSha256).expect("digests sign");
    let signed = DataView::decode(&signed).expect("signed Data decode");
    assert_eq!(signed.verify(&DigestSha256), Ok(()));
    assert_eq!(signed.signature_info().signature_type, DigestSha256.signature_type());
}

/// Reads the input as packets to send and a schedule in which their fragments arrive, or do not: what comes out must
/// be a packet that was sent, and the bounds must hold throughout. Sender 1 sends whatever the input says.
pub fn reassembly(input: &[u8]) {
    let [limits, mtu, first_sequence, schedule @ ..] = input else {
        return;
    };
    let config = ReassemblerConfig {
        max_partials: 1 + usize::from(limits & 3),
        max_bytes: 400 + 60 * usize::from(limits >> 2),
        max_fragments: 12,
        max_packet: 600,
        timeout: Duration::from_millis(20),
    };
    let mut reassembler = Reassembler::new(config);
    let mut fragmenter = Fragmenter::new(50 + usize::from(*mtu), u64::from(*first_sequence).wrapping_sub(4));
    let mut sent: Vec<Vec<u8>> = Vec::new();
    let mut air: Vec<Vec<u8>> = Vec::new();
    let mut now = Duration::ZERO;
    let mut rest = schedule;
    while let [op, arg, tail @ ..] = rest {
        rest = tail;
        match op & 3 {
            0 => {
                // The mark says which packet it is, however many there are.
                let packet = vec![sent.len() as u8; 1 + 3 * usize::from(*arg)];
                let header = LpHeader { congestion_mark: Some(sent.len() as u64), ..LpHeader::default() };
                if let Ok(fragments) = fragmenter.fragment(&header, &packet) {
                    assert!(fragments.iter().all(|f| f.len() <= fragmenter.mtu()));
                    air.extend(fragments);
                }
                sent.push(packet);
            }
            1 if !air.is_empty() => {
                let at = usize::from(*arg) % air.len();
                // Some arrive twice.
                let fragment = if op & 4 == 0 { air.swap_remove(at) } else { air[at].clone() };
                let view = LpPacketView::decode(&fragment).expect("fragments decode");
                if let Ok(Some(done)) = reassembler.push(now, 0, &view) {
                    let id = usize::try_from(done.header.congestion_mark.expect("kept")).expect("small");
                    assert_eq!(done.packet, sent[id]);
                    assert_eq!(done.header.sequence, None);
                }
            }
            2 => now += Duration::from_millis(u64::from(*arg)),
            _ => {
                let (raw, after) = rest.split_at(usize::from(*arg).min(rest.len()));
                rest = after;
                if let Ok(view) = LpPacketView::decode(raw) {
                    let _ = reassembler.push(now, 1, &view);
                }
            }
        }
        assert!(reassembler.partials() <= config.max_partials);
        assert!(reassembler.bytes() <= config.max_bytes);
        if op & 8 != 0 {
            reassembler.expire(now);
            assert!(reassembler.next_deadline().is_none_or(|d| d > now));
        }
    }
    reassembler.expire(now + Duration::from_secs(1));
    assert_eq!((reassembler.partials(), reassembler.bytes()), (0, 0));
}
