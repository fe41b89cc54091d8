use super::*;
use foldhash::fast::FixedState;
use std::hash::BuildHasher;

/// Bytes of a name whose hash was 0 under the seed that every forwarder once had, whatever six of them are: eight equal
/// the hash's second constant, so that its product is 0.
fn colliding(number: u32) -> Vec<u8> {
    let number = number.to_le_bytes();
    [&[8, 14][..], &number, &[0; 2], &0x3f84_d5b5_b547_0917_u64.to_le_bytes()].concat()
}

fn random(number: u32) -> Vec<u8> {
    let drawn = HashKey::new([1, 2]).numbers(3).of(number.into()).to_le_bytes();
    [&[8, 14][..], &number.to_le_bytes(), &[0; 2], &drawn].concat()
}

/// Names that all these are compared with while they come in and are looked up again.
fn probes(names: impl Fn(u32) -> Vec<u8>, count: u32, key: HashKey) -> u64 {
    let mut table = Names::new(count as usize, key);
    let mut sum = 0;
    for number in (0..count).chain(0..count) {
        let bytes = names(number);
        let split = table.split(NameView::from_value(&bytes).unwrap());
        table.find(split);
        sum += u64::from(table.probes.get());
        assert!(table.intern(split).is_some());
    }
    sum
}

#[test]
fn names_that_collided_under_the_former_seed_cost_as_much_as_any_others() {
    let former = |number| {
        let mut hasher = FixedState::with_seed(0x6e64_6e77).build_hasher();
        hasher.write_u8(Form::Whole as u8);
        hasher.write(&colliding(number));
        hasher.finish()
    };
    assert!((0..1000).all(|number| former(number) == former(0)), "these are the names of the attack");
    for key in [HashKey::FIXED, HashKey::new([7, 8])] {
        let (chosen, any) = (probes(colliding, 20_000, key), probes(random, 20_000, key));
        assert!(2 * chosen <= 3 * any, "{chosen} probes, {any} for random names");
    }
}

#[test]
fn a_new_name_is_rejected_after_more_collisions_than_occur_by_chance() {
    let mut table = Names::new(1000, HashKey::FIXED);
    let mut taken = 0;
    for number in 0..500 {
        let bytes = colliding(number);
        // As if the key were known.
        let split = Split { hash: 5, ..table.split(NameView::from_value(&bytes).unwrap()) };
        taken += u32::from(table.intern(split).is_some());
        assert!(table.probes.get() <= MAX_PROBES + 1);
    }
    assert_eq!(taken, MAX_PROBES + 1);
}

#[test]
fn no_part_of_a_name_can_stand_for_part_of_a_hint() {
    let table = Names::new(10, HashKey::FIXED);
    let bytes = [8, 1, 65, 8, 1, 66];
    let hash = |name: &[u8], hint: &[u8]| hash(table.key, Form::Whole as u8, name, hint);
    assert_ne!(hash(&bytes, &[]), hash(&bytes[..3], &bytes[3..]));
}
