//! The text form of names: what is read and printed, what is rejected and where.

use crate::common::{hex, name};
use ndnweir_wire::uri::UriErrorKind as Kind;
use ndnweir_wire::{Component, Name};

// ndn-cxx, tests/unit/name.t.cpp, "EncodeDecode".
#[test]
fn a_name_of_many_types_has_the_bytes_of_ndn_cxx() {
    let uri = "/Emid/25042=P3/.../..../%1C%9F/\
        sha256digest=0415e3624a151850ac686c84f155f29808c0dd73819aa4a4c20be73a4d8a874c";
    let wire = hex("0737 0804456D6964 FD61D2025033 0800 08012E 08021C9F \
        01200415E3624A151850AC686C84F155F29808C0DD73819AA4A4C20BE73A4D8A874C");
    assert_eq!(name(uri).encode(), wire);
    assert_eq!(Name::decode(&wire).unwrap().to_string(), uri);
    let canonical = "/8=Emid/25042=P3/8=.../8=..../8=%1C%9F/\
        1=%04%15%E3bJ%15%18P%AChl%84%F1U%F2%98%08%C0%DDs%81%9A%A4%A4%C2%0B%E7%3AM%8A%87L";
    assert_eq!(name(canonical).encode(), wire);
}

// python-ndn 0.5.2, Name.to_bytes, but for the third component: that library reads "..." as three periods, where the
// specification says an empty value.
#[test]
fn conventional_components_have_the_bytes_of_python_ndn() {
    let uri = "/a/%00%FF/.../seg=300/v=7/off=65536/t=1/seq=0/32=meta/\
        sha256digest=abababababababababababababababababababababababababababababababab";
    let mut wire = hex("0744 080161 080200FF 0800 3202012C 360107 340400010000 380101 3A0100 20046D657461 0120");
    wire.extend([0xAB; 32]);
    assert_eq!(name(uri).encode(), wire);
    assert_eq!(Name::decode(&wire).unwrap().to_string(), uri);
}

// ndn-cxx, tests/unit/name.t.cpp, "ParseUri", and name-component.t.cpp.
#[test]
fn equivalent_texts_give_the_same_name() {
    for (text, printed) in [
        ("/", "/"),
        ("ndn:/", "/"),
        ("NDN:/", "/"),
        ("ndn://authority", "/"),
        ("ndn://authority/hello/world", "/hello/world"),
        ("ndn:/hello/world", "/hello/world"),
        ("/8=hello/8=world", "/hello/world"),
        ("/hello/world/", "/hello/world"),
        ("/.%2E.", "/..."),
        ("/%2E..%2E", "/...."),
        ("/.A.", "/.A."),
        ("/ hello\t", "/%20hello%09"),
        ("/:?#[]@", "/%3A%3F%23%5B%5D%40"),
        ("/-._~", "/-._~"),
        ("/9%3dA", "/9%3DA"),
        ("/é", "/%C3%A9"),
        ("/50=%2A", "/seg=42"),
        ("/seg=0", "/seg=0"),
        ("/v=18446744073709551615", "/v=18446744073709551615"),
        ("/50=%01%02%03", "/50=%01%02%03"),
        ("/50=%00%2A", "/50=%00%2A"),
        ("/65535=...", "/65535=..."),
        ("/22373=....", "/22373=...."),
        ("/32=a=b", "/32=a%3Db"),
    ] {
        assert_eq!(name(text).to_string(), printed, "{text}");
        assert_eq!(name(printed), name(text), "{text}");
    }
}

#[test]
fn digests_are_read_in_either_case_and_as_bytes() {
    let lower = "28bad4b5275bd392dbb670c75cf0b66f13f7942b21e80f55c0e86b374753a548";
    for (word, number) in [("sha256digest", 1), ("params-sha256", 2)] {
        let digest = name(&format!("/{word}={lower}"));
        assert_eq!(name(&format!("/{word}={}", lower.to_uppercase())), digest);
        let escaped: String = hex(lower).iter().map(|b| format!("%{b:02X}")).collect();
        assert_eq!(name(&format!("/{number}={escaped}")), digest);
    }
}

#[test]
fn an_invalid_name_is_rejected_with_its_place() {
    let cases = [
        ("", 0, Kind::NotAbsolute),
        ("hello", 0, Kind::NotAbsolute),
        ("ndn:hello", 4, Kind::NotAbsolute),
        ("http://x/y", 0, Kind::NotAbsolute),
        ("/hello//world", 7, Kind::Empty),
        ("//", 1, Kind::Empty),
        ("/a/8=", 5, Kind::Empty),
        ("/a/.", 3, Kind::Periods),
        ("/a/../b", 3, Kind::Periods),
        ("/32=..", 4, Kind::Periods),
        ("/a%2", 2, Kind::Percent),
        ("/a%zz", 2, Kind::Percent),
        ("/%+1", 1, Kind::Percent),
        ("ndn:/a/0=A", 7, Kind::Type),
        ("/65536=A", 1, Kind::Type),
        ("/4294967296=A", 1, Kind::Type),
        ("/-1=A", 1, Kind::Type),
        ("/=A", 1, Kind::Type),
        ("/09=A", 1, Kind::Type),
        ("/+9=A", 1, Kind::Type),
        ("/9 =A", 1, Kind::Type),
        ("/SEG=1", 1, Kind::Type),
        ("/seg=", 5, Kind::Number),
        ("/seg=00", 5, Kind::Number),
        ("/seg=-1", 5, Kind::Number),
        ("/t=9.3", 3, Kind::Number),
        ("/off=0xAF", 5, Kind::Number),
        ("/seq=18446744073709551616", 5, Kind::Number),
        ("/sha256digest=a791806951f25c4d", 14, Kind::Digest),
        ("/params-sha256=foo", 15, Kind::Digest),
        ("/1=short", 3, Kind::Digest),
    ];
    for (text, offset, kind) in cases {
        let error = text.parse::<Name>().unwrap_err();
        assert_eq!((error.offset, error.kind), (offset, kind), "{text}");
    }
}

#[test]
fn a_component_is_read_alone() {
    assert_eq!("seg=7".parse::<Component>().unwrap(), Component::segment(7));
    assert_eq!("32=metadata".parse::<Component>().unwrap(), Component::keyword("metadata"));
    assert!("".parse::<Component>().is_err());
}

#[test]
fn numbers_are_read_only_from_components_of_their_type() {
    let all = name("/seg=1/off=2/v=3/t=4/seq=5/50=%01%02%03");
    let numbers: Vec<_> = all
        .as_view()
        .components()
        .map(|c| [c.as_segment(), c.as_byte_offset(), c.as_version(), c.as_timestamp(), c.as_sequence_num()])
        .collect();
    for (i, row) in numbers.iter().enumerate() {
        for (j, number) in row.iter().enumerate() {
            assert_eq!(*number, (i == j && i < 5).then_some(i as u64 + 1));
        }
    }
}

#[test]
fn names_order_by_type_then_length_then_bytes() {
    let sorted = [
        "/",
        "/sha256digest=0000000000000000000000000000000000000000000000000000000000000000",
        "/3=...",
        "/a",
        "/a/a",
        "/b",
        "/aa",
        "/32=a",
        "/300=...",
    ];
    for pair in sorted.windows(2) {
        assert!(name(pair[0]) < name(pair[1]), "{pair:?}");
    }
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_name_or_an_error(text: String) {
        if let Ok(name) = text.parse::<Name>() {
            proptest::prop_assert_eq!(name.to_string().parse::<Name>().unwrap(), name);
        }
    }

    #[test]
    fn texts_of_telling_characters_are_names_or_errors(text in "(ndn:)?[/.=%0-9a-f]{0,24}") {
        if let Ok(name) = text.parse::<Name>() {
            proptest::prop_assert_eq!(name.to_string().parse::<Name>().unwrap(), name);
        }
    }
}
