//! Values of the standard library's types, and of hash maps.

use crate::{Damaged, Reader, Value, Writer};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

macro_rules! unsigned {
    ($($type:ty)*) => {$(
        impl Value for $type {
            #[inline]
            fn write(&self, to: &mut Writer) {
                to.number(*self as u64);
            }

            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<$type, Damaged> {
                <$type>::try_from(from.number()?).map_err(|_| from.damaged())
            }
        }
    )*};
}
unsigned!(u16 u32 u64 usize);

macro_rules! signed {
    ($($type:ty)*) => {$(
        impl Value for $type {
            fn write(&self, to: &mut Writer) {
                let number = *self as i64;
                to.number(((number << 1) ^ (number >> 63)) as u64);
            }

            fn read(from: &mut Reader<'_>) -> Result<$type, Damaged> {
                let number = from.number()?;
                let number = (number >> 1) as i64 ^ -((number & 1) as i64);
                <$type>::try_from(number).map_err(|_| from.damaged())
            }
        }
    )*};
}
signed!(i8 i16 i32 i64 isize);

macro_rules! fixed {
    ($($type:ty)*) => {$(
        impl Value for $type {
            #[inline]
            fn write(&self, to: &mut Writer) {
                to.raw(&self.to_le_bytes());
            }

            #[inline]
            fn read(from: &mut Reader<'_>) -> Result<$type, Damaged> {
                let bytes = from.raw(size_of::<$type>())?.try_into().map_err(|_| from.damaged())?;
                Ok(<$type>::from_le_bytes(bytes))
            }
        }
    )*};
}
fixed!(u8 u128 i128 f32 f64);

impl Value for bool {
    #[inline]
    fn write(&self, to: &mut Writer) {
        to.raw(&[u8::from(*self)]);
    }

    #[inline]
    fn read(from: &mut Reader<'_>) -> Result<bool, Damaged> {
        match from.raw(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(from.damaged()),
        }
    }
}

impl Value for String {
    fn write(&self, to: &mut Writer) {
        to.length(self.len());
        to.raw(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<String, Damaged> {
        let length = from.length()?;
        let bytes = from.raw(length)?.to_vec();
        String::from_utf8(bytes).map_err(|_| from.damaged())
    }
}

impl Value for Cow<'static, str> {
    fn write(&self, to: &mut Writer) {
        to.length(self.len());
        to.raw(self.as_bytes());
    }

    fn read(from: &mut Reader<'_>) -> Result<Cow<'static, str>, Damaged> {
        String::read(from).map(Cow::Owned)
    }
}

impl<T: Value> Value for Option<T> {
    fn write(&self, to: &mut Writer) {
        self.is_some().write(to);
        if let Some(value) = self {
            value.write(to);
        }
    }

    fn read(from: &mut Reader<'_>) -> Result<Option<T>, Damaged> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

macro_rules! holder {
    ($($holder:ident)*) => {$(
        impl<T: Value> Value for $holder<T> {
            fn write(&self, to: &mut Writer) {
                (**self).write(to);
            }

            fn read(from: &mut Reader<'_>) -> Result<$holder<T>, Damaged> {
                T::read(from).map($holder::new)
            }
        }
    )*};
}
holder!(Box Arc);

/// A list, in its order.
macro_rules! list {
    ($($list:ty, $($bound:path)|*;)*) => {$(
        impl<T: Value $(+ $bound)*> Value for $list {
            fn write(&self, to: &mut Writer) {
                to.length(self.len());
                self.iter().for_each(|item| item.write(to));
            }

            fn read(from: &mut Reader<'_>) -> Result<$list, Damaged> {
                let length = from.length()?;
                (0..length).map(|_| T::read(from)).collect()
            }
        }
    )*};
}
list! {
    Vec<T>,;
    VecDeque<T>,;
    Box<[T]>,;
    Arc<[T]>,;
    BTreeSet<T>, Ord;
}

/// In the order of its array, which is a heap already and therefore stays as it is when it is read.
impl<T: Value + Ord> Value for BinaryHeap<T> {
    fn write(&self, to: &mut Writer) {
        to.length(self.len());
        self.iter().for_each(|item| item.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<BinaryHeap<T>, Damaged> {
        Vec::read(from).map(BinaryHeap::from)
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    fn write(&self, to: &mut Writer) {
        self.iter().for_each(|item| item.write(to));
    }

    fn read(from: &mut Reader<'_>) -> Result<[T; N], Damaged> {
        let items = (0..N).map(|_| T::read(from)).collect::<Result<Vec<T>, Damaged>>()?;
        items.try_into().map_err(|_| from.damaged())
    }
}

impl<K: Value + Ord, V: Value> Value for BTreeMap<K, V> {
    fn write(&self, to: &mut Writer) {
        to.length(self.len());
        self.iter().for_each(|(key, value)| {
            key.write(to);
            value.write(to);
        });
    }

    fn read(from: &mut Reader<'_>) -> Result<BTreeMap<K, V>, Damaged> {
        let length = from.length()?;
        (0..length).map(|_| Ok((K::read(from)?, V::read(from)?))).collect()
    }
}

macro_rules! hash_map {
    ($($map:ty;)*) => {$(
        impl<K: Value + Ord + Hash, V: Value, S: BuildHasher + Default> Value for $map {
            fn write(&self, to: &mut Writer) {
                let mut entries: Vec<(&K, &V)> = self.iter().collect();
                entries.sort_unstable_by_key(|entry| entry.0);
                to.length(entries.len());
                for (key, value) in entries {
                    key.write(to);
                    value.write(to);
                }
            }

            fn read(from: &mut Reader<'_>) -> Result<$map, Damaged> {
                let length = from.length()?;
                (0..length).map(|_| Ok((K::read(from)?, V::read(from)?))).collect()
            }
        }
    )*};
}
hash_map! {
    hashbrown::HashMap<K, V, S>;
    std::collections::HashMap<K, V, S>;
}

macro_rules! hash_set {
    ($($set:ty;)*) => {$(
        impl<T: Value + Ord + Hash, S: BuildHasher + Default> Value for $set {
            fn write(&self, to: &mut Writer) {
                let mut items: Vec<&T> = self.iter().collect();
                items.sort_unstable();
                to.length(items.len());
                items.into_iter().for_each(|item| item.write(to));
            }

            fn read(from: &mut Reader<'_>) -> Result<$set, Damaged> {
                let length = from.length()?;
                (0..length).map(|_| T::read(from)).collect()
            }
        }
    )*};
}
hash_set! {
    hashbrown::HashSet<T, S>;
    std::collections::HashSet<T, S>;
}

macro_rules! tuple {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Value),*> Value for ($($name,)*) {
            #[allow(non_snake_case, reason = "types and values of a tuple have the same names here")]
            fn write(&self, to: &mut Writer) {
                let ($($name,)*) = self;
                $($name.write(to);)*
            }

            fn read(from: &mut Reader<'_>) -> Result<($($name,)*), Damaged> {
                Ok(($($name::read(from)?,)*))
            }
        }
    )*};
}
tuple! {
    A B;
    A B C;
    A B C D;
    A B C D E;
}

impl<T: Value> Value for Range<T> {
    fn write(&self, to: &mut Writer) {
        self.start.write(to);
        self.end.write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<Range<T>, Damaged> {
        Ok(T::read(from)?..T::read(from)?)
    }
}

impl<T: Value> Value for RangeInclusive<T> {
    fn write(&self, to: &mut Writer) {
        self.start().write(to);
        self.end().write(to);
    }

    fn read(from: &mut Reader<'_>) -> Result<RangeInclusive<T>, Damaged> {
        Ok(T::read(from)?..=T::read(from)?)
    }
}
