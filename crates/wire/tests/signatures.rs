//! Signatures of every type, against packets signed by python-ndn 0.5.2 (pycryptodomex) and keys exported by it.

use core::time::Duration;

use crate::common::{self, hex, name};
use ndnweir_wire::signature::*;
use ndnweir_wire::*;

const EC_PKCS8: &str = "308187020100301306072A8648CE3D020106082A8648CE3D030107046D306B0201010420\
    0102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F20A14403420004515C3D6EB9E396B904D3FECA7F54FDCD\
    0CC1E997BF375DCA515AD0A6C3B4035F4536BE3A50F318FBF9A5475902A221502BEF0D57E08C53B2CC0A56F17D9F9354";
const EC_SPKI: &str = "3059301306072A8648CE3D020106082A8648CE3D03010703420004515C3D6EB9E396B904D3FECA7F54FDCD\
    0CC1E997BF375DCA515AD0A6C3B4035F4536BE3A50F318FBF9A5475902A221502BEF0D57E08C53B2CC0A56F17D9F9354";
const EC_PEM: &str = "-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgAQIDBAUGBwgJCgsM
DQ4PEBESExQVFhcYGRobHB0eHyChRANCAARRXD1uueOWuQTT/sp/VP3NDMHpl783
XcpRWtCmw7QDX0U2vjpQ8xj7+aVHWQKiIVAr7w1X4IxTsswKVvF9n5NU
-----END PRIVATE KEY-----
";
const EC_PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEUVw9brnjlrkE0/7Kf1T9zQzB6Ze/
N13KUVrQpsO0A19FNr46UPMY+/mlR1kCoiFQK+8NV+CMU7LMClbxfZ+TVA==
-----END PUBLIC KEY-----
";
const ED_PKCS8: &str =
    "302E020100300506032B657004220420000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F";
const ED_SPKI: &str = "302A300506032B657003210003A107BFF3CE10BE1D70DD18E74BC09967E4D6309BA50D5F1DDC8664125531B8";
const ED_PEM: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f
-----END PRIVATE KEY-----
";
const ED_PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAA6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=
-----END PUBLIC KEY-----
";

fn hmac() -> HmacSha256 {
    let key: Vec<u8> = (0..32).collect();
    HmacSha256::new(&key, Some(name("/key/hmac"))).unwrap()
}

#[test]
fn interests_without_signature_have_the_bytes_of_python_ndn() {
    let name = name("/local/ndn/prefix");
    let minimal = InterestBuilder::new(name.as_view());
    assert_eq!(minimal.encode().unwrap(), hex("0516071408056C6F63616C08036E646E0806707265666978"));
    let (first, second) = (common::name("/a/h1"), common::name("/b"));
    let full = InterestBuilder::new(name.as_view())
        .can_be_prefix(true)
        .must_be_fresh(true)
        .forwarding_hint([first.as_view(), second.as_view()])
        .nonce(0x6C21_1166_u32.to_be_bytes())
        .lifetime(Duration::from_millis(10))
        .hop_limit(1);
    assert_eq!(
        full.encode().unwrap(),
        hex("0536071408056C6F63616C08036E646E0806707265666978 2100 1200 1E0E(070708016108026831 0703080162) \
             0A046C211166 0C010A 220101")
    );
}

#[test]
fn digest_signed_interests_have_the_bytes_of_python_ndn() {
    let name = name("/local/ndn/prefix");
    let builder = InterestBuilder::new(name.as_view())
        .nonce(0x6C21_1166_u32.to_be_bytes())
        .lifetime(Duration::from_secs(4))
        .application_parameters(&[1, 2, 3, 4]);
    assert_eq!(
        builder.encode().unwrap(),
        hex("0548073608056C6F63616C08036E646E0806707265666978 \
             022047756F21FE0EE265149AA2BE3C63C538A72378E9B0A58B39C5916367D35BDA10 0A046C211166 0C020FA0 240401020304")
    );
    let signed = builder.sign(&DigestSha256, AntiReplay::default()).unwrap();
    assert_eq!(
        signed,
        hex("056F073608056C6F63616C08036E646E0806707265666978 \
             02208E6E36D7EABCDE43756140C90BDA09D500D2A577F2F533B569F0441DF0A7F9E2 0A046C211166 0C020FA0 240401020304 \
             2C031B0100 2E20EAA8F099086378951DE05FF1DEBBC118B5218B2FCAA0B51D18FABC29F54D58FF")
    );
    // Signing again changes nothing: an old parameters digest and signature are replaced.
    let view = InterestView::decode(&signed).unwrap();
    let again = InterestBuilder::from_view(&view).sign(&DigestSha256, AntiReplay::default()).unwrap();
    assert_eq!(again, signed);
}

#[test]
fn hmac_signed_packets_have_the_bytes_of_python_ndn() {
    let name = name("/local/ndn/prefix");
    let interest =
        InterestBuilder::new(name.as_view()).nonce([0, 0, 0, 1]).sign(&hmac(), AntiReplay::default()).unwrap();
    assert_eq!(
        interest,
        hex("0576073608056C6F63616C08036E646E0806707265666978 \
             022006B5AD15212D405348BD04927647A49E8CF79B65E491513E13BECD5575B0CFCC 0A0400000001 2400 \
             2C121B01041C0D070B08036B65790804686D6163 \
             2E20096783977666F36171DD39EC7ED06C8443261AA834EF449E27576C734A4E1CEC")
    );
    let content = [0; 300];
    let data = DataBuilder::new(name.as_view())
        .content_type(0)
        .freshness_period(Duration::from_millis(65_536))
        .content(&content)
        .sign(&hmac())
        .unwrap();
    let mut expected = hex("06FD0187 071408056C6F63616C08036E646E0806707265666978 1409180100190400010000 15FD012C");
    expected.extend(content);
    expected.extend(hex("16121B01041C0D070B08036B65790804686D6163 \
         17207BD99BBF5C98203C593821E5CAA91D738ACD357C0092104469BCF6CB65A527FF"));
    assert_eq!(data, expected);
    assert_eq!(DataView::decode(&data).unwrap().verify(&hmac()), Ok(()));
    let other = HmacSha256::new(b"another key", None).unwrap();
    assert_eq!(DataView::decode(&data).unwrap().verify(&other), Err(VerifyError::Mismatch));
}

#[test]
fn digest_signed_data_have_the_bytes_of_python_ndn() {
    let short = name("/d");
    let minimal = DataBuilder::new(short.as_view()).content_type(0);
    assert_eq!(
        minimal.sign(&DigestSha256).unwrap(),
        hex("0631 0703080164 1403180100 16031B0100 \
             17204B473C705793149D84028D849BCAAC881497FE44BDDFA96307370EABA7746588")
    );
    let (long, last) = (name("/local/ndn/prefix/seg=7"), Component::segment(300));
    let full = DataBuilder::new(long.as_view())
        .content_type(0)
        .freshness_period(Duration::from_secs(1))
        .final_block_id(last.as_view())
        .content(b"hello");
    assert_eq!(
        full.sign(&DigestSha256).unwrap(),
        hex("0656 0717 08056C6F63616C 08036E646E 0806707265666978 320107 140D 180100 190203E8 1A04 3202012C \
             150568656C6C6F 16031B0100 1720FED152EB154C67F6C1298259EBF3B1D50212ABE0073F7F3BC6441FBDD9991EC8")
    );
}

#[test]
fn ecdsa_verifies_what_python_ndn_signed_and_rejects_changes() {
    let key = EcdsaP256Verifier::from_spki_der(&hex(EC_SPKI)).unwrap();
    let mut data = hex("0669070408026563 1403180100 150178 16101B01031C0B070908036B657908026563 1747 \
        3045022100F775789B50FB6A75D234FC6BF28E30EB5BD549BBFCCDF6CCDF81B2CC5D0C7A5902204A069A4F8EA99B706919DBF3CC82FC4E\
        4D8044B4BA7E0A40C9C697DB0A96AE2B");
    assert_eq!(DataView::decode(&data).unwrap().verify(&key), Ok(()));
    let interest = hex("0591 0726080265630220A9FE1E9157BFC0CADD921BB0E058744E4FAD45D735D4F75C7BDDDED166EB7666 \
        0A0400000001 0C020FA0 240170 2C101B01031C0B070908036B657908026563 2E48 \
        3046022100C800B173228E052E0D98A55D09A7963807425BB5CFD88AF76823F4570E1D4129022100F0D4151447A2CA10ABD6B877C23324\
        C53880284422E7754E45701DADB54BF946");
    assert_eq!(InterestView::decode(&interest).unwrap().verify(&key), Ok(()));
    data[15] ^= 1;
    assert_eq!(DataView::decode(&data).unwrap().verify(&key), Err(VerifyError::Mismatch));
    data[15] ^= 1;
    let last = data.len() - 1;
    data[last] ^= 1;
    assert_eq!(DataView::decode(&data).unwrap().verify(&key), Err(VerifyError::Mismatch));
}

#[test]
fn ecdsa_signatures_are_der_and_verify() {
    let signer = EcdsaP256Signer::from_pkcs8_der(&hex(EC_PKCS8), Some(name("/key/ec"))).unwrap();
    let from_pem = EcdsaP256Signer::from_pkcs8_pem(EC_PEM, None).unwrap();
    assert_eq!(signer.verifier(), from_pem.verifier());
    let scalar = EcdsaP256Signer::from_scalar(&core::array::from_fn(|i| i as u8 + 1), None).unwrap();
    assert_eq!(signer.verifier(), scalar.verifier());
    assert_eq!(signer.verifier().to_spki_der().unwrap(), hex(EC_SPKI));
    assert_eq!(EcdsaP256Verifier::from_spki_pem(EC_PUBLIC_PEM).unwrap(), signer.verifier());
    assert_eq!(EcdsaP256Verifier::from_sec1(&hex(EC_SPKI)[26..]).unwrap(), signer.verifier());

    let name = name("/ec");
    let data = DataBuilder::new(name.as_view()).content(b"x").sign(&signer).unwrap();
    let view = DataView::decode(&data).unwrap();
    assert_eq!(view.signature_value()[0], 0x30);
    assert_eq!(view.verify(&signer.verifier()), Ok(()));
    assert_eq!(DataBuilder::new(name.as_view()).content(b"x").sign(&signer).unwrap(), data);
    let interest = InterestBuilder::new(name.as_view()).sign(&signer, AntiReplay::default()).unwrap();
    assert_eq!(InterestView::decode(&interest).unwrap().verify(&signer.verifier()), Ok(()));
}

#[test]
fn ed25519_packets_have_the_bytes_of_python_ndn() {
    let signer = Ed25519Signer::from_pkcs8_der(&hex(ED_PKCS8), Some(name("/key/ed"))).unwrap();
    let ed = name("/ed");
    let data = DataBuilder::new(ed.as_view()).content_type(0).content(b"x").sign(&signer).unwrap();
    assert_eq!(
        data,
        hex("0662070408026564 1403180100 150178 16101B01051C0B070908036B657908026564 1740 \
             3B37101FECF667F5AB6181D71B135B238F852CB71CF50B698C0E33B3917FCA35B3BB8EA39900B7B7FE08478AB204B1810EDE935DEFED2\
             FA2A7AD4003E08F0F05")
    );
    let interest = InterestBuilder::new(ed.as_view())
        .nonce([0, 0, 0, 1])
        .lifetime(Duration::from_secs(4))
        .application_parameters(b"p")
        .sign(&signer, AntiReplay::default())
        .unwrap();
    assert_eq!(
        interest,
        hex("0589 0726080265640220F60BAD389F0DDD8358DFAA3F496770AC34C802B796E795A6546AD75764FCD96A 0A0400000001 \
             0C020FA0 240170 2C101B01051C0B070908036B657908026564 2E40 \
             F4D72B062AC6F8CFCDF05C14DF80C21374776E140626154BD6BFCF94FF2A49C2203D67B10E7728D4293C99A573E76E3707A950DC36C84A\
             EEC062A267A5E88C0A")
    );
    let key = Ed25519Verifier::from_spki_der(&hex(ED_SPKI)).unwrap();
    assert_eq!(DataView::decode(&data).unwrap().verify(&key), Ok(()));
    assert_eq!(InterestView::decode(&interest).unwrap().verify(&key), Ok(()));
    assert_eq!(key, Ed25519Verifier::from_spki_pem(ED_PUBLIC_PEM).unwrap());
    assert_eq!(key, Ed25519Signer::from_pkcs8_pem(ED_PEM, None).unwrap().verifier());
    assert_eq!(key.to_spki_der().unwrap(), hex(ED_SPKI));
}

#[test]
fn unusable_keys_are_errors() {
    assert!(EcdsaP256Signer::from_scalar(&[0; 32], None).is_err());
    assert!(EcdsaP256Signer::from_scalar(&[0xFF; 32], None).is_err());
    assert!(EcdsaP256Signer::from_pkcs8_der(&hex(ED_PKCS8), None).is_err());
    assert!(EcdsaP256Signer::from_pkcs8_pem("no key", None).is_err());
    assert!(EcdsaP256Verifier::from_sec1(&[4; 65]).is_err());
    assert!(EcdsaP256Verifier::from_spki_der(&hex(ED_SPKI)).is_err());
    assert!(EcdsaP256Verifier::from_spki_pem(ED_PUBLIC_PEM).is_err());
    assert!(Ed25519Signer::from_pkcs8_der(&hex(EC_PKCS8), None).is_err());
    assert!(Ed25519Signer::from_pkcs8_pem(EC_PEM, None).is_err());
    assert!(Ed25519Verifier::from_spki_der(&hex(EC_SPKI)).is_err());
    assert!(Ed25519Verifier::from_spki_pem("").is_err());
    let not_a_point = (0..=255).find(|b| Ed25519Verifier::from_bytes(&[*b; 32]).is_err());
    assert!(not_a_point.is_some());
}

#[test]
fn signature_values_of_the_wrong_form_are_malformed() {
    let name = name("/d");
    let builder = DataBuilder::new(name.as_view());
    let ec = EcdsaP256Verifier::from_spki_der(&hex(EC_SPKI)).unwrap();
    let ed = Ed25519Verifier::from_spki_der(&hex(ED_SPKI)).unwrap();
    let hmac = hmac();
    let verifiers: [(&dyn Verifier, SignatureType); 4] = [
        (&DigestSha256, SignatureType::DIGEST_SHA256),
        (&hmac, SignatureType::HMAC_WITH_SHA256),
        (&ec, SignatureType::SHA256_WITH_ECDSA),
        (&ed, SignatureType::ED25519),
    ];
    for (verifier, typ) in verifiers {
        for value in [&[][..], &[0x30; 31], &[0; 80]] {
            let wire = builder.encode_with(&SignatureInfo::new(typ), value);
            assert_eq!(DataView::decode(&wire).unwrap().verify(verifier), Err(VerifyError::Malformed), "{typ}");
        }
    }
}

#[test]
fn an_unsigned_interest_does_not_verify() {
    let name = name("/i");
    let plain = InterestBuilder::new(name.as_view()).encode().unwrap();
    let with_parameters = InterestBuilder::new(name.as_view()).application_parameters(b"p").encode().unwrap();
    for wire in [plain, with_parameters] {
        let view = InterestView::decode(&wire).unwrap();
        assert!(!view.is_signed() && view.signed_portion().is_none());
        assert_eq!(view.verify(&DigestSha256), Err(VerifyError::NotSigned));
    }
}

#[test]
fn a_signed_interest_needs_the_parameters_digest_at_the_end_of_its_name() {
    let name = name("/i");
    let signed = InterestBuilder::new(name.as_view()).sign(&DigestSha256, AntiReplay::default()).unwrap();
    let view = InterestView::decode(&signed).unwrap();
    let moved = view.name().to_owned().with(Component::segment(1));
    let portion = view.parameters_portion().unwrap();
    let mut body = moved.encode();
    body.extend(portion);
    let mut wire = Vec::new();
    tlv::write_element(&mut wire, tlv::types::INTEREST, &body);
    let view = InterestView::decode(&wire).unwrap();
    assert!(view.is_signed());
    assert_eq!(view.verify(&DigestSha256), Err(VerifyError::ParametersDigest));
}

#[test]
fn certificates_keep_their_validity_period() {
    let name = name("/site/KEY/1/self/v=1");
    let validity = ValidityPeriod { not_before: *b"20181030T000000", not_after: *b"20181124T235959" };
    let signer = Ed25519Signer::from_seed(&[1; 32], Some(common::name("/site/KEY/1")));
    let content = signer.verifier().to_spki_der().unwrap();
    let wire = DataBuilder::new(name.as_view())
        .content_type(data::content_type::KEY)
        .freshness_period(Duration::from_secs(3600))
        .content(&content)
        .validity(validity)
        .sign(&signer)
        .unwrap();
    let view = DataView::decode(&wire).unwrap();
    assert_eq!(view.signature_info().validity, Some(validity));
    let key = Ed25519Verifier::from_spki_der(view.content()).unwrap();
    assert_eq!(view.verify(&key), Ok(()));
    // ndn-cxx, tests/unit/prefix-announcement.t.cpp: the same period as an element.
    let element = hex("FD00FD26 FD00FE0F323031383130333054303030303030 FD00FF0F323031383131323454323335393539");
    assert!(wire.windows(element.len()).any(|w| w == element));
}
