//! Packets that other implementations publish as test vectors, byte for byte.

use core::time::Duration;

use crate::common::{hex, name};
use ndnweir_wire::signature::{
    AntiReplay, DigestSha256, KeyLocator, SignError, SignatureInfo, SignatureType, Signer, VerifyError,
};
use ndnweir_wire::*;

/// Checks that an Interest has these bytes when built, and survives decoding and encoding.
fn same_interest(builder: &InterestBuilder<'_>, wire: &str) {
    let wire = hex(wire);
    assert_eq!(builder.encode().unwrap(), wire);
    let view = InterestView::decode(&wire).unwrap();
    assert_eq!(InterestBuilder::from_view(&view).encode().unwrap(), wire);
}

// ndn-cxx, tests/unit/interest.t.cpp, "Encode/Basic".
#[test]
fn a_basic_interest_has_the_bytes_of_ndn_cxx() {
    let name = name("/local/ndn/prefix");
    let builder = InterestBuilder::new(name.as_view()).nonce([1, 2, 3, 4]);
    same_interest(&builder, "051C 0714 08056C6F63616C 08036E646E 0806707265666978 0A0401020304");
}

// ndn-cxx, tests/unit/interest.t.cpp, "Encode/WithParameters" and "Encode/Full".
#[test]
fn interests_with_parameters_have_the_bytes_of_ndn_cxx() {
    let name = name("/local/ndn/prefix");
    let hint = self::name("/H");
    let builder = InterestBuilder::new(name.as_view()).nonce([0, 0, 0, 1]);
    let digest = "FF9100E04EAADCF30674D98026A051BA25F56B69BFA026DCCCD72C6EA0F7315A";
    let parameters = hex("C0C1C2C3");
    same_interest(
        &builder.application_parameters(&parameters),
        &format!("0544 0736 08056C6F63616C 08036E646E 0806707265666978 0220{digest} 0A0400000001 2404C0C1C2C3"),
    );
    let full = InterestBuilder::new(name.as_view())
        .can_be_prefix(true)
        .must_be_fresh(true)
        .forwarding_hint([hint.as_view()])
        .nonce([0x4C, 0x1E, 0xCB, 0x4A])
        .lifetime(Duration::from_millis(30_369))
        .hop_limit(220)
        .application_parameters(&parameters);
    let wire = format!(
        "0556 0736 08056C6F63616C 08036E646E 0806707265666978 0220{digest} 2100 1200 1E05(0703080148) \
         0A044C1ECB4A 0C0276A1 2201DC 2404C0C1C2C3"
    );
    same_interest(&full, &wire);
    assert_eq!(
        InterestView::decode(&hex(&wire)).unwrap().name().to_string(),
        format!("/local/ndn/prefix/params-sha256={}", digest.to_lowercase())
    );
}

/// ndn-cxx, tests/unit/interest.t.cpp, "Encode/Signed".
const SIGNED: &str = "0577 0736 08056C6F63616C 08036E646E 0806707265666978 \
    02206F29586053EE9FCCD8A422122925287C0A18435F4074C40ABB0D5B30E4AA6220 1200 0A044C1ECB4A 2404C0C1C2C3 \
    2C0D 1B0100 26080102030405060708 2E2012471AE0F8723AC1156C370A38711EBEBF2817DE9B2DD94E9B7E62F117B876C1";

/// Gives the published value, which is not a digest of anything in the packet.
struct PublishedSignature;

impl Signer for PublishedSignature {
    fn signature_type(&self) -> SignatureType {
        SignatureType::DIGEST_SHA256
    }

    fn sign(&self, _: &[&[u8]]) -> Result<Vec<u8>, SignError> {
        Ok(hex("12471AE0F8723AC1156C370A38711EBEBF2817DE9B2DD94E9B7E62F117B876C1"))
    }
}

#[test]
fn a_signed_interest_has_the_bytes_of_ndn_cxx() {
    let wire = hex(SIGNED);
    let view = InterestView::decode(&wire).unwrap();
    assert_eq!(view.verify(&DigestSha256), Err(VerifyError::Mismatch));
    assert_eq!(view.signature_info().unwrap().signature_type, SignatureType::DIGEST_SHA256);
    let (name, parameters, nonce) = (name("/local/ndn/prefix"), hex("C0C1C2C3"), hex("0102030405060708"));
    let replay = AntiReplay { nonce: Some(&nonce), ..AntiReplay::default() };
    let built = InterestBuilder::new(name.as_view())
        .must_be_fresh(true)
        .nonce([0x4C, 0x1E, 0xCB, 0x4A])
        .application_parameters(&parameters)
        .sign(&PublishedSignature, replay)
        .unwrap();
    assert_eq!(built, wire);
}

// ndn-cxx, tests/unit/interest.t.cpp, "Encode/SignedApplicationElements": elements of type 510 and 512 around the
// signature count for the parameters digest.
#[test]
fn unknown_elements_after_the_parameters_are_kept_to_the_byte() {
    let wire = hex("058F 0736 08056C6F63616C 08036E646E 0806707265666978 \
        0220BC3630A4D65E0DB5483DFA0D28B3312FCAC1D441EC8961D4175E61751778108E 1200 0A044C1ECB4A 2404C0C1C2C3 \
        FD01FE081020304050607080 2C0D 1B0100 26080102030405060708 \
        2E2012471AE0F8723AC1156C370A38711EBEBF2817DE9B2DD94E9B7E62F117B876C1 FD0200081122334455667788");
    let view = InterestView::decode(&wire).unwrap();
    assert!(view.is_signed());
    assert_eq!(view.verify(&DigestSha256), Err(VerifyError::Mismatch));
    assert_eq!(InterestBuilder::from_view(&view).encode().unwrap(), wire);
}

// ndn-cxx, tests/unit/interest.t.cpp, "Decode/FullWithParameters", with the forwarding hint in today's form.
#[test]
fn non_critical_unknown_elements_are_ignored_between_known_ones() {
    let wire = hex("0555 0725(080149 0220F16DB273F40436A852063F864D5072B01EAD53151F5A688EA1560492BEBEDD05) \
        FC00 2100 FC00 1200 FC00 1E05(0703080148) FC00 0A044ACB1E4C FC00 0C0276A1 FC00 2201D6 FC00 2404C0C1C2C3 FC00");
    let view = InterestView::decode(&wire).unwrap();
    assert!(view.can_be_prefix() && view.must_be_fresh());
    assert_eq!(view.forwarding_hint().map(|n| n.to_string()).collect::<Vec<_>>(), ["/H"]);
    assert_eq!(view.nonce(), Some([0x4A, 0xCB, 0x1E, 0x4C]));
    assert_eq!(view.lifetime(), Some(Duration::from_millis(30_369)));
    assert_eq!(view.hop_limit(), Some(214));
    assert_eq!(view.application_parameters(), Some(&hex("C0C1C2C3")[..]));
    // Encoding again keeps only what the parameters digest covers.
    let expected = hex("0547 0725(080149 0220F16DB273F40436A852063F864D5072B01EAD53151F5A688EA1560492BEBEDD05) \
        2100 1200 1E05(0703080148) 0A044ACB1E4C 0C0276A1 2201D6 2404C0C1C2C3 FC00");
    assert_eq!(InterestBuilder::from_view(&view).encode().unwrap(), expected);
}

// ndn-cxx, tests/unit/interest.t.cpp, "Decode/NonCriticalElementOutOfOrder".
#[test]
fn non_critical_repeated_elements_are_ignored() {
    let digest = "0220FF9100E04EAADCF30674D98026A051BA25F56B69BFA026DCCCD72C6EA0F7315A";
    // The digests published there cover only ApplicationParameters, so they are not checked here.
    let first = hex(&format!("0536 0725(080149 {digest}) 2201D6 2200 2404C0C1C2C3 22020101"));
    let second = hex(&format!("0541 0725(080149 {digest}) 2100 1200 0A044ACB1E4C 0C0276A1 2201D6 2404C0C1C2C3 2401EE"));
    for wire in [first, second] {
        let view = InterestView::decode_unchecked_digest(&wire).unwrap();
        assert_eq!(view.hop_limit(), Some(214));
        assert_eq!(view.application_parameters(), Some(&hex("C0C1C2C3")[..]));
    }
}

// ndn-cxx, tests/unit/interest.t.cpp, "LargeLifetime".
#[test]
fn the_largest_lifetime_is_kept() {
    let wire = hex("0515 0703(080149) 0A04957C6554 0C08FFFFFFFFFFFFFFFF");
    let view = InterestView::decode(&wire).unwrap();
    assert_eq!(view.lifetime(), Some(Duration::from_millis(u64::MAX)));
    assert_eq!(InterestBuilder::from_view(&view).encode().unwrap(), wire);
}

/// ndn-cxx, tests/unit/data.t.cpp, DATA1 (signed with a 1024-bit RSA key).
const DATA1: &str = "06C5 0714 08056C6F63616C 08036E646E 0806707265666978 1404(19022710) 1508(5355434345535321) \
    161B(1B0101 1C16(0714 080474657374 08036B6579 08076C6F6361746F72)) 1780 \
    2FD6F16E806F10BEB16F3E31ECE3B9EA83304003FCA013D9B3C625162DA65841696256D8B36A387656EA61B232701CB6 \
    4D101DDC928E52A58A1DD9965EC0620BCF3A9D7FCABEA14171857A8B5DA964D666B4E98D0C2843EEA664E855F61C190B \
    EF99251EDC78B3A7AA0D145830E5376A6DDB56ACA3FC907AB8669C0EF6B764D1";

#[test]
fn a_data_packet_has_the_bytes_and_the_full_name_of_ndn_cxx() {
    let wire = hex(DATA1);
    let view = DataView::decode(&wire).unwrap();
    assert_eq!(view.content(), b"SUCCESS!");
    assert_eq!(view.freshness_period(), Duration::from_secs(10));
    let locator = name("/test/key/locator");
    let info = view.signature_info();
    assert_eq!(info.signature_type, SignatureType::SHA256_WITH_RSA);
    assert_eq!(info.key_locator, Some(KeyLocator::Name(locator.as_view())));
    assert_eq!(
        view.full_name().to_string(),
        "/local/ndn/prefix/sha256digest=28bad4b5275bd392dbb670c75cf0b66f13f7942b21e80f55c0e86b374753a548"
    );
    assert!(matches!(view.verify(&DigestSha256), Err(VerifyError::WrongType { .. })));
    let (name, content) = (name("/local/ndn/prefix"), b"SUCCESS!");
    let built = DataBuilder::new(name.as_view())
        .freshness_period(Duration::from_secs(10))
        .content(content)
        .encode_with(&info, view.signature_value());
    assert_eq!(built, wire);
}

// ndn-cxx, tests/unit/data.t.cpp, "Encode/Minimal", "Decode/Minimal", "Decode/UnrecognizedNonCriticalElements" and
// "ExtractSignedRanges".
#[test]
fn minimal_data_packets_have_the_bytes_of_ndn_cxx() {
    let empty = Name::new();
    let info = SignatureInfo::new(SignatureType::DIGEST_SHA256);
    let built = DataBuilder::new(empty.as_view()).meta_info(MetaInfo::default()).encode_with(&info, &[]);
    assert_eq!(built, hex("060B 0700 1400 16031B0100 1700"));

    let digest = "1720612A79399E60304A9F701C1ECAC7956BF2F1B046E6C6F0D6C29B3FE3A29BAD76";
    let minimal = hex(&format!("062C 0703(080144) 1603(1B0100) {digest}"));
    let view = DataView::decode(&minimal).unwrap();
    assert!(view.meta_info().is_none() && view.content().is_empty());
    let name = name("/D");
    let again = DataBuilder::new(name.as_view()).encode_with(&info, view.signature_value());
    assert_eq!(again, minimal);

    let padded = hex(&format!("063A 0703(080144) FC00 1400 FC00 1500 FC00 1603(1B0100) FC00 {digest} FC00"));
    let view = DataView::decode(&padded).unwrap();
    let again = DataBuilder::from_view(&view).encode_with(&view.signature_info(), view.signature_value());
    assert_eq!(again, hex(&format!("0630 0703(080144) 1400 1500 1603(1B0100) {digest}")));

    let trailer = hex("060B 0700 1603(1B0100) 1700 AA00");
    assert_eq!(DataView::decode(&trailer).unwrap().signed_portion(), hex("0700 16031B0100"));
}

// ndn-cxx, tests/unit/meta-info.t.cpp, "EncodeDecode" and "FreshnessPeriodOverflow".
#[test]
fn meta_info_has_the_bytes_of_ndn_cxx() {
    let name = name("/D");
    for meta in ["140C 180101 190266B2 1A03080141", "1405 1A03DD0141", "140D 180102 1908FFFFFFFFFFFFFFFF"] {
        let meta = hex(meta);
        let mut packet = vec![6, 5 + meta.len() as u8 + 7];
        packet.extend(hex("0703080144"));
        packet.extend(&meta);
        packet.extend(hex("16031B0100 1700"));
        let view = DataView::decode(&packet).unwrap();
        let again = DataBuilder::new(name.as_view()).meta_info(view.meta_info().unwrap());
        assert_eq!(again.encode_with(&view.signature_info(), &[]), packet);
    }
}

// ndn-cxx, tests/unit/signature-info.t.cpp, "EncodeDecode" (InterestSignatureInfo with all elements).
#[test]
fn all_elements_of_a_signature_info_are_read() {
    let info = "2C33 1B0101 1C16(0714 080474657374 08036B6579 08076C6F6361746F72) 26080102030405060708 \
        2808000001723D770000 2A021020";
    let portion = hex(&format!("2400 {info} 2E00"));
    let mut wire = hex("055F 0722 0220");
    wire.extend(signature::sha256(&[&portion]));
    wire.extend(&portion);
    wire[1] = u8::try_from(wire.len() - 2).unwrap();
    let view = InterestView::decode(&wire).unwrap();
    let info = view.signature_info().unwrap();
    assert_eq!(info.anti_replay.nonce, Some(&[1, 2, 3, 4, 5, 6, 7, 8][..]));
    assert_eq!(info.anti_replay.time, Some(Duration::from_millis(1_590_169_108_480)));
    assert_eq!(info.anti_replay.seq_num, Some(0x1020));
}

// ndn-cxx, tests/unit/prefix-announcement.t.cpp, makePrefixAnnData, and tests/unit/key-locator.t.cpp, "TypeKeyDigest".
#[test]
fn announcements_and_key_digests_are_read() {
    let wire = hex("0678 0718 08036E6574 08076578616D706C65 20025041 360101 320100 1403(180105) \
        1530 6D040036EE80 FD00FD26 FD00FE0F323031383130333054303030303030 FD00FF0F323031383131323454323335393539 \
        1603(1B0100) 17200000000000000000000000000000000000000000000000000000000000000000");
    let view = DataView::decode(&wire).unwrap();
    assert_eq!(view.name().to_string(), "/net/example/32=PA/v=1/seg=0");
    assert_eq!(view.content_type(), 5);
    assert_eq!(view.verify(&DigestSha256), Err(VerifyError::Mismatch));

    let digest = hex("123456789ABCDEF12345");
    let mut info = SignatureInfo::new(SignatureType::SHA256_WITH_ECDSA);
    info.key_locator = Some(KeyLocator::Digest(&digest));
    let name = name("/D");
    let built = DataBuilder::new(name.as_view()).encode_with(&info, &[]);
    assert_eq!(built, hex("061A 0703(080144) 1611(1B0103 1C0C1D0A123456789ABCDEF12345) 1700"));
    assert_eq!(DataView::decode(&built).unwrap().signature_info(), info);
}

// ndnd, std/ndn/spec_2022/spec_test.go, TestMakeDataBasic and TestMakeDataMetaInfo.
#[test]
fn data_packets_have_the_bytes_of_ndnd() {
    let time = Duration::from_millis(1_704_067_200_000);
    let prefix = name("/local/ndn/prefix");
    let basic = DataBuilder::new(prefix.as_view()).content_type(0).signature_time(time);
    assert_eq!(
        basic.sign(&DigestSha256).unwrap(),
        hex("064C 0714 08056C6F63616C 08036E646E 0806707265666978 1403180100 160D 1B0100 28080000018CC251F400 \
             1720 2A173FD669DC42D0F6471D0BB693D47BDD77C62404000E4EB7075C804B2B4F86")
    );
    let single = name("/E");
    let bare = DataBuilder::new(single.as_view()).meta_info(MetaInfo::default()).content(&[]).signature_time(time);
    assert_eq!(
        bare.sign(&DigestSha256).unwrap(),
        hex("063A 0703080145 1400 1500 160D 1B0100 28080000018CC251F400 \
             1720 F7B2D57151CB8D6FE2C616ADEE9195C9D00F3C422754709F750375BAE2E91E30")
    );
    let (typed, last) = (name("/local/ndn/prefix/37=%00"), Component::sequence_num(2));
    let with_meta = DataBuilder::new(typed.as_view())
        .content_type(0)
        .freshness_period(Duration::from_secs(1))
        .final_block_id(last.as_view())
        .signature_time(time);
    let wire = with_meta.sign(&DigestSha256).unwrap();
    assert_eq!(
        wire,
        hex("0658 0717 08056C6F63616C 08036E646E 0806707265666978 250100 140C 180100 190203E8 1A03 3A0102 \
             160D 1B0100 28080000018CC251F400 \
             1720 A9768A28B35EF81CCE2AA8F214818C51CCB849C6D6A7997A884A4B7581C45B4E")
    );
    assert_eq!(DataView::decode(&wire).unwrap().verify(&DigestSha256), Ok(()));
}
