//! Packs come back as they were, and hostile ones are rejected with nothing left behind.

use super::*;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use tar::{EntryType, Header};

fn text(name: &str, content: &str) -> (String, Entry) {
    (name.to_owned(), Entry::Text(content.to_owned()))
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// An entry as anyone can write it: names are not checked.
fn entry(name: &str, kind: EntryType, size: u64, content: &[u8]) -> Vec<u8> {
    let mut header = Header::new_ustar();
    header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    let mut bytes = [header.as_bytes(), content].concat();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn file(name: &str, content: &str) -> Vec<u8> {
    entry(name, EntryType::Regular, content.len() as u64, content.as_bytes())
}

/// Why an archive of these bytes is not unpacked; nothing may be left.
fn rejected(bytes: &[u8]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("x.tar.gz");
    fs::write(&archive, bytes).unwrap();
    let error = unpack(&archive, &dir.path().join("x")).unwrap_err().to_string();
    let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["x.tar.gz"]);
    error
}

/// As above, of an archive with a manifest and these entries.
fn rejected_with(entries: &[Vec<u8>]) -> String {
    rejected(&gzip(&[file("x/pack.json", "{}"), entries.concat(), vec![0; 1024]].concat()))
}

#[test]
fn a_pack_comes_back_whole_and_its_bytes_depend_on_its_content_alone() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::write(at("big"), vec![7; 100_000]).unwrap();
    let long = format!("{RESULTS}/{}/{}.csv", "f".repeat(90), "x".repeat(90));
    let files = || vec![text(MANIFEST, "{}"), text(&long, "1"), (format!("{INPUTS}/big"), Entry::File(at("big")))];
    pack(&at("a.tar.gz"), "a", files()).unwrap();
    pack(&at("b.tar.gz"), "a", files().into_iter().rev().collect()).unwrap();
    assert_eq!(fs::read(at("a.tar.gz")).unwrap(), fs::read(at("b.tar.gz")).unwrap());
    unpack(&at("a.tar.gz"), &at("out")).unwrap();
    let all = files_at(&at("out"), &[""]).unwrap();
    assert_eq!(all, ["inputs/big", MANIFEST, &long]);
    assert_eq!(fs::read(at("out/inputs/big")).unwrap(), fs::read(at("big")).unwrap());
    // Neither an archive nor a folder is written over.
    assert!(pack(&at("a.tar.gz"), "a", files()).unwrap_err().to_string().contains("another file"));
    assert!(unpack(&at("a.tar.gz"), &at("out")).unwrap_err().to_string().contains("new folder"));
    assert!(at("out/pack.json").is_file() && at("a.tar.gz").is_file());
}

#[test]
fn a_path_that_is_too_long_is_an_error_and_leaves_no_archive() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("a.tar.gz");
    pack(&archive, "a", vec![text(&format!("{RESULTS}/{}", "x".repeat(300)), "")]).unwrap_err();
    assert!(!archive.exists());
}

#[test]
fn paths_that_lead_elsewhere_are_rejected() {
    for name in ["x/inputs/../../evil", "../evil", "/etc/evil", "x/inputs/../evil", "x/.."] {
        assert!(rejected_with(&[file(name, "1")]).contains("leads elsewhere"), "{name}");
    }
    for name in ["x/evil", "x/inputs", "x/inputsevil", "x/repeated/a", "y/inputs/a"] {
        assert!(rejected_with(&[file(name, "1")]).contains("does not belong"), "{name}");
    }
    assert!(rejected_with(&[file("evil", "1")]).contains("in no folder"));
}

#[test]
fn links_devices_folders_and_extensions_are_rejected() {
    let kinds = [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Fifo,
        EntryType::Char,
        EntryType::Block,
        EntryType::Directory,
        EntryType::GNULongName,
        EntryType::GNUSparse,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
    ];
    for kind in kinds {
        assert!(rejected_with(&[entry("x/inputs/a", kind, 0, &[])]).contains("is not a file"), "{kind:?}");
    }
}

#[test]
fn what_is_there_twice_or_not_at_all_is_rejected() {
    assert!(rejected_with(&[file("x/pack.json", "{}")]).contains("twice"));
    assert!(rejected(&gzip(&[file("x/README.md", ""), vec![0; 1024]].concat())).contains("no pack.json"));
    assert!(rejected_with(&[file("x/inputs/a", "1"), file("x/inputs/a/b", "1")]).contains("x/inputs/a/b"));
}

#[test]
fn an_archive_that_says_that_it_is_huge_is_rejected_before_it_is_written() {
    let huge = entry("x/results/a", EntryType::Regular, MAX_BYTES, b"");
    assert!(rejected_with(&[huge]).contains("4 GiB"));
    let overflowing = entry("x/results/a", EntryType::Regular, u64::MAX, b"");
    rejected_with(&[overflowing]);
}

#[test]
fn a_damaged_archive_is_rejected_wherever_it_is_damaged() {
    let whole = gzip(&[file("x/pack.json", "{}"), file("x/inputs/a", "content"), vec![0; 1024]].concat());
    for end in 0..whole.len() {
        rejected(&whole[..end]);
    }
    rejected(b"no archive at all");
    // The checksum at the end of the compression.
    let mut other = whole.clone();
    let at = other.len() - 8;
    other[at] ^= 1;
    rejected(&other);
}

#[test]
fn differences_name_files_and_places() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (dir.path().join("one"), dir.path().join("other"));
    for (folder, files) in
        [(&one, [("a", "12"), ("b", "1234"), ("c", "1")]), (&other, [("b", "1254"), ("c", ""), ("d", "")])]
    {
        fs::create_dir(folder).unwrap();
        for (name, text) in files {
            fs::write(folder.join(name), text).unwrap();
        }
    }
    let all = ["a", "b", "c", "d"];
    let (first, second) = (files_at(&one, &all).unwrap(), files_at(&other, &all).unwrap());
    let found = differences((&one, &first), (&other, &second)).unwrap();
    assert_eq!(found, ["a was not made", "b differs from byte 2 on", "c is of another size", "d is not in the pack"]);
    assert_eq!(differences((&one, &first), (&one, &first)).unwrap(), Vec::<String>::new());
}
