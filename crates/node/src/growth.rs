//! How tables grow: by a quarter at a time. Of the many tables of a large network some ten per cent of the memory is then
//! unused, not the third that doubling leaves, for five copies of each entry instead of two. A table that is itself large
//! doubles: what it does not use yet are pages that it has not touched, which are no memory.

use std::collections::VecDeque;

/// Bytes of a table that is large: some of the largest pages. Ours.
const LARGE: usize = 4 << 20;

/// How many more places a table of so many entries gets.
pub const fn step(entries: usize) -> usize {
    if entries < 16 { 4 } else { entries / 4 }
}

/// Makes room for one more entry.
#[inline(always)]
pub fn grow<T>(table: &mut Vec<T>) {
    if table.len() == table.capacity() {
        grow_now(table);
    }
}

#[cold]
#[inline(never)]
fn grow_now<T>(table: &mut Vec<T>) {
    let is_large = size_of_val(&table[..]) >= LARGE;
    table.reserve_exact(if is_large { table.len() } else { step(table.len()) });
}

/// Makes room for one more entry.
#[inline(always)]
pub fn grow_queue<T>(queue: &mut VecDeque<T>) {
    if queue.len() == queue.capacity() {
        grow_queue_now(queue);
    }
}

#[cold]
#[inline(never)]
fn grow_queue_now<T>(queue: &mut VecDeque<T>) {
    queue.reserve_exact(step(queue.len()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quarter_at_most_is_to_spare_beyond_the_first_sixteen() {
        let (mut table, mut queue) = (Vec::new(), VecDeque::new());
        for entry in 0..100_000_u32 {
            grow(&mut table);
            table.push(entry);
            grow_queue(&mut queue);
            queue.push_back(entry);
            for capacity in [table.capacity(), queue.capacity()] {
                assert!(capacity <= table.len() + (table.len() / 4).max(4), "{capacity} for {}", table.len());
            }
        }
    }
}
