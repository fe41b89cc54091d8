use super::*;
use ndnweir_core::ids::FlowId;
use ndnweir_core::packet::NackReason;

fn interest(segment: u32, nonce: u32, lifetime_ms: u32) -> Packet {
    Packet { name: NameId { flow: FlowId(1), segment }, nonce, size: 40, lifetime_ms, ..Packet::default() }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

fn insert(pit: &mut Pit, packet: &Packet, face: u16, now: Time) -> u32 {
    pit.reserve();
    let vacant = pit.find(packet.name).unwrap_err();
    pit.insert(vacant, packet, FaceId(face), now)
}

#[test]
fn an_entry_with_its_timer_is_a_cache_line() {
    assert_eq!((size_of::<Entry>(), align_of::<Entry>()), (64, 64));
    assert_eq!(size_of::<InRecord>(), 16);
    assert_eq!(size_of::<OutRecord>(), 16);
}

#[test]
fn an_entry_lives_exactly_as_long_as_its_last_downstream_is_patient() {
    let mut pit = Pit::new(10, false);
    let slot = insert(&mut pit, &interest(0, 1, 100), 0, ms(0));
    assert!(!pit.join(slot, &interest(0, 2, 200), FaceId(1), ms(50)));
    assert!(pit.join(slot, &interest(0, 3, 10), FaceId(1), ms(60)), "shortens nothing");
    assert_eq!(pit.downstream(slot, 1).1, ms(250));
    assert_eq!(pit.expire(ms(250) - Duration::from_nanos(1)), None);
    assert_eq!(pit.expire(ms(250)), Some(slot));
}

#[test]
fn a_third_downstream_and_a_second_upstream_go_to_the_side_table_and_come_back_clean() {
    let mut pit = Pit::new(10, false);
    for round in 0..3 {
        let slot = insert(&mut pit, &interest(round, 1, 100), 0, ms(0));
        assert_eq!((pit.ins(slot), pit.sent(slot).len()), (1, 0));
        for face in 1..5 {
            pit.join(slot, &interest(round, 1 + u32::from(face), 100), FaceId(face), ms(1));
            pit.record_sent(slot, FaceId(face + 10), &interest(0, 1, 4000), ms(1));
        }
        assert_eq!(pit.ins(slot), 5);
        assert_eq!(pit.sent(slot).iter().map(|r| r.face.0).collect::<Vec<_>>(), [11, 12, 13, 14]);
        pit.remove(slot);
    }
    assert_eq!(pit.spills.len(), 1, "the row is used again");
}

#[test]
fn nonces_tell_a_new_interest_from_a_duplicate_and_a_loop() {
    let mut pit = Pit::new(10, false);
    let slot = insert(&mut pit, &interest(0, 7, 100), 0, ms(0));
    pit.record_sent(slot, FaceId(1), &interest(0, 7, 4000), ms(0));
    pit.record_sent(slot, FaceId(2), &interest(0, 8, 4000), ms(0));
    assert_eq!(pit.seen(slot, 7, FaceId(0)), Seen::SameFace);
    assert_eq!(pit.seen(slot, 7, FaceId(1)), Seen::Loop);
    assert_eq!(pit.seen(slot, 8, FaceId(0)), Seen::Loop);
    assert_eq!(pit.seen(slot, 9, FaceId(0)), Seen::New);
}

#[test]
fn sending_again_by_the_same_face_renews_the_record_and_gives_back_the_former_nonce() {
    let mut pit = Pit::new(10, false);
    let slot = insert(&mut pit, &interest(0, 7, 100), 0, ms(0));
    assert_eq!(pit.record_sent(slot, FaceId(1), &interest(0, 7, 4000), ms(0)), None);
    if let Some(record) = pit.sent_to_mut(slot, FaceId(1)) {
        record.nacked = Some(NackReason::Congestion);
    }
    assert_eq!(pit.record_sent(slot, FaceId(1), &interest(0, 8, 4000), ms(3)), Some(7));
    let expected = OutRecord { sent: ms(3), nonce: 8, face: FaceId(1), nacked: None, sends: 2 };
    assert_eq!(pit.sent(slot), [expected]);
}

#[test]
fn a_million_pending_interests_take_less_than_a_hundred_bytes_each() {
    let mut pit = Pit::new(1 << 20, false);
    for i in 0..1 << 20 {
        insert(&mut pit, &interest(i, i, 2000), 0, ms(0));
    }
    let another = pit.find(interest(1 << 20, 0, 1).name).unwrap_err();
    assert_eq!(pit.rejection(another, FaceId(0), 40), Some(Rejection::Records));
    let each = pit.memory() as f64 / f64::from(1 << 20);
    assert!(each < 100.0, "{each}");
}
