//! Sorts items by time while holding only a bounded number of them.
//!
//! Events are recorded in the order of completion, so an item is close to its sorted position. A window suffices as
//! long as fewer requests than its size are in flight. If it does not suffice (a file that is sorted by thread, or
//! several files as one), this is detected. The time range is then divided into slices, each small enough to be sorted,
//! and the slices are scanned one after another.

use std::collections::VecDeque;

/// A sort key: a time, and optionally a tie-breaker.
pub trait Rank: Ord {
    /// The time.
    fn at(&self) -> u64;
}

impl Rank for u64 {
    fn at(&self) -> u64 {
        *self
    }
}

impl<R: Ord> Rank for (u64, R) {
    fn at(&self) -> u64 {
        self.0
    }
}

/// An item with a time.
pub trait Key {
    /// The type of the sort key.
    type Rank: Rank;
    /// The sort key. Items with equal keys keep their order.
    fn rank(&self) -> Self::Rank;
    /// The time.
    fn at(&self) -> u64 {
        self.rank().at()
    }
}

impl Key for u64 {
    type Rank = Self;

    fn rank(&self) -> u64 {
        *self
    }
}

/// Number of intervals in which items are first counted if they come in arbitrary order.
const INTERVALS: u64 = 4096;

/// Number of items that are sorted at a time, small enough for the processor cache; larger if that reaches too far
/// back.
const MIN_BLOCK: usize = 1024;

/// A source of items. Each call passes every item to the given function, always in the same order.
pub type Source<'a, K, E> = dyn Fn(&mut dyn FnMut(K)) -> Result<(), E> + 'a;

/// Creates a collector with `fresh` and passes it all items of `source` in ascending order. At most `most` items are
/// held. If more than `most` items are between an item and a later item that belongs before it, `source` is called
/// several times.
///
/// # Errors
/// The errors of `source`.
pub fn ascending<K: Key, C, E>(
    source: &Source<K, E>,
    most: usize,
    fresh: impl Fn() -> C,
    add: impl Fn(&mut C, K),
) -> Result<C, E> {
    let mut all = fresh();
    if !in_window(source, most, &mut |key| add(&mut all, key))? {
        all = fresh();
        in_slices(source, first_and_last(source)?, most, &mut |key| add(&mut all, key))?;
    }
    Ok(all)
}

/// Passes all items of `source` in ascending order to `give`, each once. Because an emitted item cannot be withdrawn,
/// the source is first checked.
///
/// # Errors
/// The errors of `source`.
pub fn for_each_ascending<K: Key, E>(source: &Source<K, E>, most: usize, give: &mut dyn FnMut(K)) -> Result<(), E> {
    let instants = |give: &mut dyn FnMut(u64)| source(&mut |key| give(key.at()));
    if in_window(&instants, most, &mut |_| ())? {
        in_window(source, most, give).map(|_| ())
    } else {
        in_slices(source, first_and_last(source)?, most, give)
    }
}

/// Emits the items in order as long as the window suffices. Returns whether it sufficed for all items.
fn in_window<K: Key, E>(source: &Source<K, E>, most: usize, give: &mut dyn FnMut(K)) -> Result<bool, E> {
    let (held, block) = (VecDeque::new(), Vec::new());
    let mut window =
        Window { sorted: held, block, block_size: MIN_BLOCK.min(most), most, last_emitted: 0, out_of_order: false };
    source(&mut |key| window.push(key, give))?;
    if !window.out_of_order {
        window.merge_block();
        window.sorted.into_iter().for_each(give);
    }
    Ok(!window.out_of_order)
}

/// Items that are nearly in order.
struct Window<K> {
    /// Sorted items.
    sorted: VecDeque<K>,
    /// Items that were added after those in `sorted`, in the order of addition.
    block: Vec<K>,
    /// Number of items that are sorted into the window at a time.
    block_size: usize,
    most: usize,
    /// The last time that was emitted.
    last_emitted: u64,
    /// Whether an item came after later ones had been emitted.
    out_of_order: bool,
}

impl<K: Key> Window<K> {
    #[inline]
    fn push(&mut self, key: K, give: &mut dyn FnMut(K)) {
        self.out_of_order |= key.at() < self.last_emitted;
        if self.out_of_order {
            return;
        }
        self.block.push(key);
        if self.block.len() == self.block_size {
            self.merge_block();
            let ready = self.sorted.len().saturating_sub(self.most);
            self.last_emitted = ready.checked_sub(1).map_or(self.last_emitted, |last| self.sorted[last].at());
            self.sorted.drain(..ready).for_each(give);
        }
    }

    /// Sorts the block into the window.
    fn merge_block(&mut self) {
        self.block.sort_by_key(Key::rank);
        let Some(first) = self.block.first().map(Key::rank) else { return };
        let overlaps = self.sorted.iter().rev().take_while(|key| key.rank() > first).count();
        if overlaps > self.block_size {
            self.block_size = self.most.min(2 * self.block_size);
        }
        let mut behind = self.sorted.split_off(self.sorted.len() - overlaps).into_iter().peekable();
        for key in self.block.drain(..) {
            while let Some(before) = behind.next_if(|before| before.rank() <= key.rank()) {
                self.sorted.push_back(before);
            }
            self.sorted.push_back(key);
        }
        self.sorted.extend(behind);
    }
}

/// The first and the last time.
fn first_and_last<K: Key, E>(source: &Source<K, E>) -> Result<(u64, u64), E> {
    let (mut first, mut last) = (u64::MAX, 0);
    source(&mut |key| (first, last) = (first.min(key.at()), last.max(key.at())))?;
    Ok((first.min(last), last))
}

/// Emits the items from `first` to `last` by slices. If more items than fit have the same time, they are emitted in
/// their original order.
fn in_slices<K: Key, E>(
    source: &Source<K, E>,
    (first, last): (u64, u64),
    most: usize,
    give: &mut dyn FnMut(K),
) -> Result<(), E> {
    let width = ((last - first) / INTERVALS).saturating_add(1);
    let mut cells = vec![0usize; INTERVALS as usize];
    source(&mut |key| {
        if (first..=last).contains(&key.at()) {
            cells[((key.at() - first) / width) as usize] += 1;
        }
    })?;
    let mut from = 0;
    while from < cells.len() {
        let (mut to, mut keys) = (from + 1, cells[from]);
        while to < cells.len() && keys + cells[to] <= 2 * most {
            keys += cells[to];
            to += 1;
        }
        let at = |cell: usize| u128::from(first) + cell as u128 * u128::from(width);
        let [begin, end] = [at(from), at(to) - 1].map(|at| at.min(last.into()) as u64);
        from = to;
        let inside = |key: &K| (begin..=end).contains(&key.at());
        if keys == 0 {
            continue;
        }
        if keys <= 2 * most {
            let mut slice = Vec::with_capacity(keys);
            source(&mut |key| slice.extend(Some(key).filter(inside)))?;
            slice.sort_by_key(Key::rank);
            slice.into_iter().for_each(&mut *give);
        } else if begin == end {
            source(&mut |key| Some(key).filter(inside).into_iter().for_each(&mut *give))?;
        } else {
            in_slices(source, (begin, end), most, give)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(keys: &[u64], most: usize) -> (Vec<u64>, usize) {
        let played = std::cell::Cell::new(0);
        let source = |give: &mut dyn FnMut(u64)| {
            played.set(played.get() + 1);
            keys.iter().copied().for_each(give);
            Ok::<(), ()>(())
        };
        let found = ascending(&source, most, Vec::new, Vec::push).unwrap();
        let times = played.get();
        let mut once = Vec::new();
        for_each_ascending(&source, most, &mut |key| once.push(key)).unwrap();
        assert_eq!(found, once);
        (found, times)
    }

    proptest! {
        #[test]
        fn any_order_becomes_the_right_one(keys in prop::collection::vec(0u64..100_000, 1..300), most in 1usize..40) {
            let mut right = keys.clone();
            right.sort_unstable();
            prop_assert_eq!(sorted(&keys, most).0, right);
        }

        #[test]
        fn a_nearly_sorted_source_is_scanned_once(steps in prop::collection::vec((0u64..50, 0u64..50), 1..300)) {
            // Each item is late by less than 50, so at most 51 items are out of order together.
            let keys: Vec<u64> = (0u64..).zip(&steps).map(|(i, (late, _))| i + late).collect();
            let (found, played) = sorted(&keys, 51);
            prop_assert!(found.is_sorted() && found.len() == keys.len());
            prop_assert_eq!(played, 1);
        }
    }

    #[test]
    fn one_instant_for_all_needs_no_order() {
        let keys = [vec![7; 100], vec![3], vec![u64::MAX, 0]].concat();
        let (found, _) = sorted(&keys, 5);
        assert_eq!((found.len(), found[0], found[1], found[102]), (103, 0, 3, u64::MAX));
    }
}
