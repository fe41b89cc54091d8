use super::*;
use std::collections::{BTreeMap, BinaryHeap, HashMap, VecDeque};
use std::fmt::Debug;

fn bytes(item: &dyn State) -> Vec<u8> {
    let mut to = Writer::default();
    item.save(&mut to);
    assert_eq!(to.refused(), None);
    to.into_bytes()
}

/// Reads it back, and rejects everything that is shorter or longer.
fn returns<T: Value + PartialEq + Debug>(value: T) {
    let mut bytes = bytes(&value);
    let mut from = Reader::new(&bytes);
    assert_eq!(T::read(&mut from).unwrap(), value);
    from.end().unwrap();
    for length in 0..bytes.len() {
        assert!(T::read(&mut Reader::new(&bytes[..length])).is_err(), "{value:?} from {length} bytes");
    }
    bytes.push(0);
    let mut from = Reader::new(&bytes);
    T::read(&mut from).unwrap();
    assert!(from.end().is_err());
}

#[test]
fn values_come_back_and_are_not_read_from_fewer_bytes() {
    for number in [0, 1, 127, 128, 16_383, 16_384, u64::MAX >> 1, u64::MAX] {
        returns(number);
        returns(number as i64);
        returns(-(number as i64 >> 1));
        returns(u128::from(number) << 60);
        returns(number as u32);
        returns(number as u8);
    }
    returns((0.1 + 0.2, -0.0f64, f32::MIN_POSITIVE));
    returns((String::from("µ"), true, Some(7u16), None::<u16>));
    returns(vec![vec![1u32], vec![], vec![2, 3]]);
    returns(VecDeque::from([1i16, -1]));
    returns([[1u8; 3]; 2]);
    returns(BTreeMap::from([(1u8, 'x' as u32), (2, 3)]));
    returns(HashMap::<u32, bool>::from_iter([(5, true), (4, false)]));
    returns((3u64..5, 3u64..=5));
    let heap = BinaryHeap::from([3u8, 9, 1]);
    assert_eq!(BinaryHeap::<u8>::read(&mut Reader::new(&bytes(&heap))).unwrap().into_vec(), heap.into_vec());
}

#[test]
fn undefined_numbers_keep_their_bits_and_maps_are_written_in_order() {
    let nan = f64::from_bits(0x7ff8_0000_0000_1234);
    assert_eq!(f64::read(&mut Reader::new(&bytes(&nan))).unwrap().to_bits(), nan.to_bits());
    let map: HashMap<u32, u8> = (0..100).map(|key| (99 - key, 1)).collect();
    assert_eq!(bytes(&map), bytes(&map.into_iter().collect::<BTreeMap<u32, u8>>()));
}

#[test]
fn lengths_that_the_bytes_cannot_hold_are_rejected_before_anything_is_taken() {
    let mut to = Writer::default();
    to.number(1 << 40);
    let bytes = to.into_bytes();
    assert!(Vec::<u64>::read(&mut Reader::new(&bytes)).is_err());
    assert!(String::read(&mut Reader::new(&bytes)).is_err());
    assert!(Reader::new(&[0xff; 10]).number().is_err(), "more than 64 bits");
    assert!(u8::read(&mut Reader::new(&[])).is_err());
    assert!(bool::read(&mut Reader::new(&[2])).is_err());
}

#[derive(Debug, PartialEq, Value)]
enum Shape {
    Point,
    Circle(f64),
    Box { width: u8, height: u8 },
}

#[derive(Debug, PartialEq, State)]
struct Built {
    #[state(skip)]
    fixed: &'static str,
    shape: Shape,
    #[state(each)]
    each: Vec<u8>,
    #[state(perhaps)]
    perhaps: Option<Shape>,
    #[state(flat)]
    flat: Vec<Option<Box<u8>>>,
    #[state(each, inner)]
    boxed: Option<Box<u8>>,
}

fn built(shape: Shape, each: &[u8]) -> Built {
    let shape_too = Some(Shape::Point);
    Built {
        fixed: "a",
        shape,
        each: each.to_vec(),
        perhaps: shape_too,
        flat: vec![None, Some(Box::new(1))],
        boxed: None,
    }
}

#[test]
fn what_is_built_takes_up_its_state_and_keeps_what_never_changes() {
    for shape in [Shape::Point, Shape::Circle(1.5), Shape::Box { width: 2, height: 3 }] {
        let mut one = built(shape, &[1, 2]);
        (one.perhaps, one.flat[1]) = (None, Some(Box::new(9)));
        let mut other = Built { fixed: "b", ..built(Shape::Point, &[0, 0]) };
        other.load(&mut Reader::new(&bytes(&one))).unwrap();
        assert_eq!(other.fixed, "b");
        other.fixed = "a";
        assert_eq!(other, one);
    }
    let state = bytes(&built(Shape::Point, &[1, 2]));
    assert!(built(Shape::Point, &[1]).load(&mut Reader::new(&state)).is_err(), "another number of items");
    let mut gone = Built { perhaps: None, ..built(Shape::Point, &[1, 2]) };
    assert!(gone.load(&mut Reader::new(&state)).is_err(), "what was not built");
    let mut unknown = bytes(&Shape::Point);
    unknown[0] = 3;
    assert!(Shape::read(&mut Reader::new(&unknown)).is_err(), "no such variant");
}

#[test]
fn what_nobody_knows_the_state_of_is_named() {
    let mut to = Writer::default();
    to.refuse("a");
    to.refuse("b");
    assert_eq!(to.refused(), Some("a"));
}
