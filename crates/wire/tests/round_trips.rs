//! What is encoded is decoded to the same, and encoded again to the same bytes.

use crate::common::strategies;
use ndnweir_wire::signature::{AntiReplay, DigestSha256, Ed25519Signer, HmacSha256, VerifyError};
use ndnweir_wire::tlv::{self, Reader};
use ndnweir_wire::*;
use proptest::prelude::*;

proptest! {
    #[test]
    fn numbers_round_trip_in_their_shortest_form(n: u64) {
        let mut out = Vec::new();
        tlv::write_var_number(&mut out, n);
        prop_assert_eq!(out.len(), tlv::var_number_len(n));
        let mut element = Vec::new();
        tlv::write_nni_element(&mut element, 12, n);
        prop_assert_eq!(element.len(), tlv::element_len(12, tlv::nni_len(n)));
        let decoded = Reader::new(&element).element().unwrap();
        prop_assert_eq!(decoded.nni().unwrap(), n);
    }

    #[test]
    fn names_round_trip_through_bytes_and_text(name in strategies::name()) {
        prop_assert_eq!(&Name::decode(&name.encode()).unwrap(), &name);
        let text = name.to_string();
        prop_assert_eq!(&text.parse::<Name>().unwrap(), &name, "{}", text);
        prop_assert_eq!(&format!("ndn:{text}").parse::<Name>().unwrap(), &name);
        let collected: Name = name.as_view().components().collect();
        prop_assert_eq!(&collected, &name);
    }

    #[test]
    fn comparing_bytes_is_the_canonical_order(a in strategies::name(), b in strategies::name()) {
        let by_component = a.as_view().components().cmp(b.as_view().components());
        prop_assert_eq!(a.cmp(&b), by_component);
    }

    #[test]
    fn a_prefix_in_bytes_is_a_prefix_in_components(a in strategies::name(), b in strategies::name(), n in 0_usize..7) {
        let prefix = a.as_view().prefix(n);
        prop_assert!(prefix.is_prefix_of(a.as_view()));
        prop_assert_eq!(prefix.len(), n.min(a.len()));
        let by_component = a.len() <= b.len()
            && a.as_view().components().zip(b.as_view().components()).all(|(x, y)| x == y);
        prop_assert_eq!(a.as_view().is_prefix_of(b.as_view()), by_component);
    }

    #[test]
    fn popping_undoes_pushing(name in strategies::name(), component in strategies::component()) {
        let mut longer = name.clone().with(component.clone());
        prop_assert_eq!(longer.as_view().last().unwrap(), component.as_view());
        prop_assert!(longer.pop());
        prop_assert_eq!(longer, name);
    }

    #[test]
    fn interests_round_trip(parts in strategies::interest()) {
        let wire = parts.builder().encode().unwrap();
        let view = InterestView::decode(&wire).unwrap();
        prop_assert_eq!(view.wire(), &wire[..]);
        prop_assert!(parts.name.as_view().is_prefix_of(view.name()));
        prop_assert_eq!(view.name().len(), parts.name.len() + usize::from(parts.parameters.is_some()));
        prop_assert_eq!(view.can_be_prefix(), parts.can_be_prefix);
        prop_assert_eq!(view.must_be_fresh(), parts.must_be_fresh);
        prop_assert_eq!(view.forwarding_hint().map(|n| n.to_owned()).collect::<Vec<_>>(), parts.hint.clone());
        prop_assert_eq!(view.nonce(), parts.nonce);
        prop_assert_eq!(view.lifetime(), parts.lifetime);
        prop_assert_eq!(view.hop_limit(), parts.hop_limit);
        prop_assert_eq!(view.application_parameters(), parts.parameters.as_deref());
        prop_assert_eq!(view.hop_limit_offset().map(|at| wire[at]), parts.hop_limit);
        prop_assert_eq!(view.nonce_offset().map(|at| &wire[at..at + 4]), parts.nonce.as_ref().map(|n| &n[..]));
        prop_assert_eq!(InterestBuilder::from_view(&view).encode().unwrap(), wire);
    }

    #[test]
    fn signed_interests_verify_and_any_changed_byte_of_the_signed_portion_does_not(
        parts in strategies::interest(), nonce: [u8; 8], at: prop::sample::Index, flip in 1_u8..,
    ) {
        let key = HmacSha256::new(b"secret", Some("/key".parse().unwrap())).unwrap();
        let replay = AntiReplay { nonce: Some(&nonce), time: None, seq_num: Some(7) };
        let mut wire = parts.builder().sign(&key, replay).unwrap();
        let view = InterestView::decode(&wire).unwrap();
        prop_assert_eq!(view.verify(&key), Ok(()));
        prop_assert_eq!(view.signature_info().unwrap().anti_replay, replay);
        prop_assert_eq!(InterestBuilder::from_view(&view).encode().unwrap(), wire.clone());
        let wrong = matches!(view.verify(&DigestSha256), Err(VerifyError::WrongType { .. }));
        prop_assert!(wrong);
        let portion = view.parameters_portion().unwrap().len();
        let target = wire.len() - portion + at.index(portion);
        wire[target] ^= flip;
        prop_assert!(InterestView::decode(&wire).map_or(true, |v| v.verify(&key).is_err()));
    }

    #[test]
    fn data_round_trip(parts in strategies::data()) {
        let wire = parts.encode();
        let view = DataView::decode(&wire).unwrap();
        prop_assert_eq!(view.wire(), &wire[..]);
        prop_assert_eq!(view.name(), parts.name.as_view());
        prop_assert_eq!(view.content_type(), parts.content_type.unwrap_or(0));
        prop_assert_eq!(view.freshness_period(), parts.freshness.unwrap_or_default());
        prop_assert_eq!(view.final_block_id().map(|c| c.to_owned()), parts.final_block.clone());
        prop_assert_eq!(view.content(), parts.content.as_deref().unwrap_or_default());
        prop_assert_eq!(view.signature_info().anti_replay.time, parts.signature_time);
        prop_assert_eq!(view.verify(&DigestSha256), Ok(()));
        let again = DataBuilder::from_view(&view);
        prop_assert_eq!(&again.encode_with(&view.signature_info(), view.signature_value()), &wire);
        prop_assert_eq!(&again.sign(&DigestSha256).unwrap(), &wire);
        prop_assert_eq!(view.full_name().len(), parts.name.len() + 1);
    }

    #[test]
    fn a_changed_byte_of_data_is_noticed(parts in strategies::data(), at: prop::sample::Index, flip in 1_u8..) {
        let signer = Ed25519Signer::from_seed(&[7; 32], None);
        let mut wire = parts.builder().sign(&signer).unwrap();
        let target = at.index(wire.len());
        wire[target] ^= flip;
        prop_assert!(DataView::decode(&wire).map_or(true, |v| v.verify(&signer.verifier()).is_err()));
    }

    #[test]
    fn link_headers_round_trip(header in strategies::header(), fragment in prop::option::of(prop::collection::vec(any::<u8>(), 0..300))) {
        let wire = header.encode(fragment.as_deref());
        let view = LpPacketView::decode(&wire).unwrap();
        prop_assert_eq!(view.fragment, fragment.as_deref());
        prop_assert_eq!(&view.to_header(), &header);
        prop_assert_eq!(view.to_header().encode(fragment.as_deref()), wire.clone());
        for field in header.extras.iter() {
            prop_assert_eq!(view.extra(field.typ()), Some(field.value()));
        }
        prop_assert!(!view.is_bare());
    }

    #[test]
    fn an_interest_matches_the_data_it_names(parts in strategies::data(), cut in 0_usize..6) {
        let wire = parts.encode();
        let data = DataView::decode(&wire).unwrap();
        for (name, can_be_prefix, expected) in [
            (data.name().to_owned(), false, true),
            (data.full_name(), false, true),
            (data.name().prefix(cut).to_owned(), true, true),
            (data.name().prefix(cut).to_owned(), false, cut >= parts.name.len()),
            (data.name().to_owned().with(Component::implicit_digest(&[0; 32])), true, false),
        ] {
            if name.is_empty() { continue; }
            let interest = InterestBuilder::new(name.as_view()).can_be_prefix(can_be_prefix).encode();
            // A name that happens to hold a parameters digest cannot be requested without parameters.
            let Ok(interest) = interest else { continue };
            prop_assert_eq!(InterestView::decode(&interest).unwrap().matches(&data), expected);
        }
    }
}
