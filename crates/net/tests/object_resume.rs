//! The files of an interrupted fetch, and forged ones: they are used only if they are valid.

use ndnweir_net::object::trust::Verification;
use ndnweir_net::object::{FileSink, Sink, SinkError, Trust};
use ndnweir_wire::signature::{DigestSha256, EcdsaP256Signer, Ed25519Signer, Signer};
use ndnweir_wire::{Component, DataBuilder, DataView, Name};
use proptest::prelude::*;
use std::os::unix::fs::symlink;
use std::path::Path;

fn object() -> Name {
    "/a/v=9".parse().unwrap()
}

fn segment(number: u64, content: &[u8], signer: &dyn Signer) -> Vec<u8> {
    let name = object().with(Component::segment(number));
    let last = Component::segment(9);
    DataBuilder::new(name.as_view()).final_block_id(last.as_view()).content(content).sign(signer).unwrap()
}

fn open(target: &Path, trust: &Trust) -> Result<FileSink, String> {
    FileSink::open(target, &object(), trust, false).map_err(|e| e.to_string())
}

fn store(sink: &mut FileSink, numbers: &[u64], trust: &Trust, signer: &dyn Signer) {
    for number in numbers {
        let content: &[u8] = if *number == 9 { b"end" } else { b"0123" };
        let packet = segment(*number, content, signer);
        let data = DataView::decode(&packet).unwrap();
        sink.put_packet(*number, &data, trust.check(&data).unwrap(), Some(9)).unwrap();
    }
}

fn store_partial(target: &Path, numbers: &[u64], trust: &Trust, signer: &dyn Signer) {
    let mut sink = Box::new(FileSink::open(target, &object(), trust, false).unwrap());
    store(&mut sink, numbers, trust, signer);
    sink.save_partial().unwrap();
}

fn ranges(sink: &FileSink) -> Vec<(u64, u64)> {
    sink.received().iter().collect()
}

/// Every trust with a signer that it accepts.
fn trusts() -> Vec<(Trust, Box<dyn Signer>)> {
    let own = Ed25519Signer::from_seed(&[1; 32], None);
    let unknown = Ed25519Signer::from_seed(&[2; 32], None);
    let ecdsa = EcdsaP256Signer::from_scalar(&[3; 32], None).unwrap();
    vec![
        (Trust::Any, Box::new(DigestSha256)),
        (Trust::Any, Box::new(unknown)),
        (Trust::Digest, Box::new(DigestSha256)),
        (Trust::Ed25519(own.verifier()), Box::new(own)),
        (Trust::Ecdsa(Box::new(ecdsa.verifier())), Box::new(ecdsa)),
    ]
}

#[test]
fn bytes_that_changed_on_the_disk_are_fetched_again_whatever_the_signatures() {
    for (trust, signer) in trusts() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("f");
        store_partial(&target, &[0, 2, 3, 9], &trust, &*signer);
        let sink = open(&target, &trust).unwrap();
        assert_eq!(ranges(&sink), [(0, 1), (2, 4), (9, 10)], "{}", trust.fingerprint());
        assert_eq!((sink.stored_bytes(), sink.last_segment(), sink.changed_segments().count()), (15, Some(9), 0));
        drop(sink);
        let mut part = std::fs::read(dir.path().join("f.part")).unwrap();
        part[9] ^= 1;
        std::fs::write(dir.path().join("f.part"), part).unwrap();
        let mut sink = open(&target, &trust).unwrap();
        assert_eq!((ranges(&sink), sink.changed_segments().count()), (vec![(0, 1), (3, 4), (9, 10)], 1));
        store(&mut sink, &[1, 2, 4, 5, 6, 7, 8], &trust, &*signer);
        Box::new(sink).finish().unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), [&b"0123".repeat(9)[..], b"end"].concat());
        let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left, ["f"]);
    }
}

#[test]
fn a_made_up_state_counts_for_nothing_under_a_key() {
    let own = Ed25519Signer::from_seed(&[1; 32], None);
    let trust = Trust::Ed25519(own.verifier());
    let dir = tempfile::tempdir().unwrap();
    let (target, forged) = (dir.path().join("f"), dir.path().join("forged"));
    // Segments signed with a digest, and with another key, under the header of a valid state file.
    store_partial(&target, &[], &trust, &own);
    let head = std::fs::read(dir.path().join("f.part.state")).unwrap();
    for signer in [&DigestSha256 as &dyn Signer, &Ed25519Signer::from_seed(&[2; 32], None)] {
        store_partial(&forged, &[0, 1, 2, 9], &Trust::Any, signer);
        let state = std::fs::read(dir.path().join("forged.part.state")).unwrap();
        let records = state.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        std::fs::write(dir.path().join("f.part.state"), [&head, &state[records..]].concat()).unwrap();
        std::fs::copy(dir.path().join("forged.part"), dir.path().join("f.part")).unwrap();
        let sink = open(&target, &trust).unwrap();
        assert_eq!((ranges(&sink), sink.last_segment()), (vec![], None));
        std::fs::remove_file(dir.path().join("forged.part.state")).unwrap();
    }
    // That of a former version of this program only lists the segments.
    let said = concat!(
        r#"{"format":"ndnweir partial object 1","object":"/a/v=9","trust":"any","#,
        r#""segment_size":4,"last":9,"length":null,"received":[[0,9]]}"#
    );
    std::fs::write(dir.path().join("f.part.state"), said).unwrap();
    assert!(open(&target, &trust).unwrap_err().contains("--restart"));
}

#[test]
fn what_another_fetch_left_is_continued_only_if_version_and_trust_are_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("f");
    store_partial(&target, &[0, 2, 3], &Trust::Any, &DigestSha256);
    for (name, trust) in [("/a/v=8", Trust::Any), ("/b/v=9", Trust::Any), ("/a/v=9", Trust::Digest)] {
        let rejected = FileSink::open(&target, &name.parse().unwrap(), &trust, false).unwrap_err();
        assert!(rejected.to_string().contains("--restart"), "{rejected}");
    }
    let anew = FileSink::open(&target, &"/a/v=8".parse().unwrap(), &Trust::Digest, true).unwrap();
    assert_eq!((anew.received().count(), std::fs::metadata(dir.path().join("f.part")).unwrap().len()), (0, 0));
    // The first still has the file.
    assert!(open(&target, &Trust::Any).unwrap_err().contains("another fetch"));
}

#[test]
fn what_the_file_lost_at_its_end_is_fetched_again() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("f");
    store_partial(&target, &[0, 2], &Trust::Any, &DigestSha256);
    std::fs::File::options().write(true).open(dir.path().join("f.part")).unwrap().set_len(11).unwrap();
    assert_eq!(ranges(&open(&target, &Trust::Any).unwrap()), [(0, 1)]);
}

#[test]
fn neither_links_nor_files_of_others_nor_pipes_are_written_to() {
    for ending in [".part", ".part.state"] {
        let dir = tempfile::tempdir().unwrap();
        let (target, victim) = (dir.path().join("f"), dir.path().join("thesis"));
        let place = dir.path().join(format!("f{ending}"));
        let rejected = |what: &str| {
            for restart in [false, true] {
                let error = FileSink::open(&target, &object(), &Trust::Any, restart).unwrap_err().to_string();
                assert!(error.contains(what) && error.contains("remove it") && error.contains(ending), "{error}");
            }
        };
        std::fs::write(&victim, "years of work").unwrap();
        symlink(&victim, &place).unwrap();
        rejected("symbolic link");
        std::fs::remove_file(&place).unwrap();
        std::fs::hard_link(&victim, &place).unwrap();
        rejected("hard link");
        std::fs::remove_file(&place).unwrap();
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "years of work");
        // Not by a program: a child shares the locks of files that other tests have open.
        nix::unistd::mkfifo(&place, nix::sys::stat::Mode::S_IRWXU).unwrap();
        rejected("not a regular file");
        std::fs::remove_file(&place).unwrap();
        // Only root can give files away.
        std::fs::write(&place, "").unwrap();
        if std::os::unix::fs::chown(&place, Some(12345), None).is_ok() {
            rejected("belongs to another user");
        }
    }
}

#[test]
fn an_incomplete_file_is_never_finished() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("f");
    std::fs::write(&target, "before").unwrap();
    for segments in [&[][..], &[0, 1], &[9], &[0, 9]] {
        let mut sink = Box::new(FileSink::open(&target, &object(), &Trust::Any, true).unwrap());
        store(&mut sink, segments, &Trust::Any, &DigestSha256);
        assert!(matches!(sink.finish(), Err(SinkError::Resume(_))), "{segments:?}");
        assert_eq!(std::fs::read(&target).unwrap(), b"before");
    }
}

#[test]
fn segments_of_differing_size_have_no_place_in_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut sink = open(&dir.path().join("f"), &Trust::Any).unwrap();
    sink.put(0, b"0123", Some(9)).unwrap();
    for (number, content) in [(1, &b"012"[..]), (2, b"01234"), (9, b"01234")] {
        assert!(matches!(sink.put(number, content, None), Err(SinkError::Uneven { .. })), "{number}");
    }
}

#[test]
fn a_changed_byte_of_the_state_costs_the_segments_of_its_record_alone_and_is_reported() {
    let numbers = [0, 1, 2, 9, 5, 7];
    // Records of the others differ from these in the length of a signature alone.
    for (trust, signer) in trusts().into_iter().take(3) {
        let dir = tempfile::tempdir().unwrap();
        let (target, path) = (dir.path().join("f"), dir.path().join("f.part.state"));
        store_partial(&target, &numbers, &trust, &*signer);
        let (state, part) = (std::fs::read(&path).unwrap(), std::fs::read(dir.path().join("f.part")).unwrap());
        let records = state.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for (at, changed) in (0..state.len()).flat_map(|at| [1, 0x20, 0xff].map(|changed| (at, changed))) {
            let mut state = state.clone();
            state[at] ^= changed;
            std::fs::write(&path, state).unwrap();
            std::fs::write(dir.path().join("f.part"), &part).unwrap();
            let shown = format!("{} byte {at} ^ {changed}", trust.fingerprint());
            match open(&target, &trust) {
                Ok(sink) => {
                    assert!(at >= records, "{shown}");
                    let left = sink.received().count();
                    let reported = sink.changed_segments().count() + sink.unread_records();
                    assert!(left >= 5 && (left == 6 || reported > 0), "{shown}: {left} left, {reported} reported");
                }
                // What the first line says is not guessed.
                Err(error) => assert!(at < records && error.contains("--restart"), "{shown}: {error}"),
            }
        }
    }
}

#[test]
fn the_records_behind_a_part_of_the_state_that_was_lost_are_still_read() {
    let dir = tempfile::tempdir().unwrap();
    let (target, path) = (dir.path().join("f"), dir.path().join("f.part.state"));
    let (trust, signer) = (Trust::Digest, DigestSha256);
    store_partial(&target, &[0, 1, 2, 3, 4, 5, 6, 7, 8], &trust, &signer);
    let mut state = std::fs::read(&path).unwrap();
    let records = state.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let each = (state.len() - records) / 9;
    // From the middle of the third to the middle of the fifth.
    state[records + 5 * each / 2..records + 9 * each / 2].fill(0);
    std::fs::write(&path, state).unwrap();
    let mut sink = open(&target, &trust).unwrap();
    assert_eq!((ranges(&sink), sink.changed_segments().count()), (vec![(0, 2), (5, 9)], 0));
    assert!(sink.unread_records() > 0);
    store(&mut sink, &[2, 3], &trust, &signer);
    Box::new(sink).save_partial().unwrap();
    let mut sink = open(&target, &trust).unwrap();
    assert_eq!(ranges(&sink), [(0, 4), (5, 9)]);
    store(&mut sink, &[4, 9], &trust, &signer);
    Box::new(sink).finish().unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), [&b"0123".repeat(9)[..], b"end"].concat());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_state_file_of_any_content_is_rejected_or_counts_for_no_more_than_is_right(
        start in 0usize..400, end in 0usize..400, middle in prop::collection::vec(any::<u8>(), 0..12), len in 0u64..20,
    ) {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("f");
        store_partial(&target, &[0, 2, 9], &Trust::Digest, &DigestSha256);
        let state = std::fs::read(dir.path().join("f.part.state")).unwrap();
        let (start, end) = (start.min(state.len()), end.max(start).min(state.len()));
        std::fs::write(dir.path().join("f.part.state"), [&state[..start], &middle, &state[end..]].concat()).unwrap();
        std::fs::File::options().write(true).open(dir.path().join("f.part")).unwrap().set_len(len).unwrap();
        match open(&target, &Trust::Digest) {
            Ok(sink) => {
                prop_assert!(sink.stored_bytes() <= len);
                prop_assert!([0, 2, 9].iter().filter(|n| sink.received().contains(**n)).count() as u64 == sink.received().count());
            }
            Err(error) => prop_assert!(error.contains("--restart"), "{}", error),
        }
    }
}

#[test]
fn a_packet_without_content_is_kept_as_well() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("f");
    let name = object().with(Component::segment(0));
    let last = Component::segment(0);
    let packet = DataBuilder::new(name.as_view()).final_block_id(last.as_view()).sign(&DigestSha256).unwrap();
    let mut sink = Box::new(open(&target, &Trust::Any).unwrap());
    sink.put_packet(0, &DataView::decode(&packet).unwrap(), Verification::Digest, Some(0)).unwrap();
    sink.save_partial().unwrap();
    let sink = Box::new(open(&target, &Trust::Any).unwrap());
    assert_eq!(ranges(&sink), [(0, 1)]);
    sink.finish().unwrap();
    assert_eq!(std::fs::read(&target).unwrap(), b"");
}
