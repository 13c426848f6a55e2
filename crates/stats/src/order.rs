//! Order: what has an instant, in the order of its instants, without holding more than a bounded part of it.
//!
//! Events are recorded in the order of their ends, so an instant stands near its place: a window is enough where no more launches
//! than that are under way at a time. Where it is not enough (a file sorted by thread, several files as one), that is noticed, and
//! the time is cut into slices that are gone through one after another, each of them small enough to be sorted.

use std::collections::VecDeque;

/// What something is ordered by: an instant, and perhaps what parts those of one instant.
pub trait Rank: Ord {
    /// The instant.
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

/// Something that has an instant.
pub trait Key {
    /// What it is ordered by.
    type Rank: Rank;
    /// Its place; of two with the same rank that comes first which was given first.
    fn rank(&self) -> Self::Rank;
    /// Its instant.
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

/// Where they come in any order, the time is first counted in so many cells.
const CELLS: u64 = 4096;

/// So many keys are put in order at a time, which fit into the processor's cache; more where so few reach too far back.
const BLOCK: usize = 1024;

/// Where keys come from: gives each of them, as often as it is asked, in the same order.
pub type Source<'a, K, E> = dyn Fn(&mut dyn FnMut(K)) -> Result<(), E> + 'a;

/// What `fresh` makes, after `add` has given it all keys of `source` in ascending order. At most `most` keys may come between one and
/// another that ought to come before it, or else `source` is asked more than once; so many are held.
///
/// # Errors
/// Those of `source`.
pub fn ascending<K: Key, C, E>(
    source: &Source<K, E>,
    most: usize,
    fresh: impl Fn() -> C,
    add: impl Fn(&mut C, K),
) -> Result<C, E> {
    let mut all = fresh();
    if !within(source, most, &mut |key| add(&mut all, key))? {
        all = fresh();
        slices(source, ends(source)?, most, &mut |key| add(&mut all, key))?;
    }
    Ok(all)
}

/// Gives all keys of `source` in ascending order, each once: what was given cannot be taken back, so they are first looked through.
///
/// # Errors
/// Those of `source`.
pub fn each<K: Key, E>(source: &Source<K, E>, most: usize, give: &mut dyn FnMut(K)) -> Result<(), E> {
    let instants = |give: &mut dyn FnMut(u64)| source(&mut |key| give(key.at()));
    if within(&instants, most, &mut |_| ())? {
        within(source, most, give).map(|_| ())
    } else {
        slices(source, ends(source)?, most, give)
    }
}

/// Gives the keys in order as long as a window is enough; whether it was.
fn within<K: Key, E>(source: &Source<K, E>, most: usize, give: &mut dyn FnMut(K)) -> Result<bool, E> {
    let (held, block) = (VecDeque::new(), Vec::new());
    let mut window = Window { held, block, full: BLOCK.min(most), most, given: 0, strayed: false };
    source(&mut |key| window.push(key, give))?;
    if !window.strayed {
        window.settle();
        window.held.into_iter().for_each(give);
    }
    Ok(!window.strayed)
}

/// Keys that are nearly in order.
struct Window<K> {
    /// In order.
    held: VecDeque<K>,
    /// As they came after those.
    block: Vec<K>,
    /// So many are put behind what is held.
    full: usize,
    most: usize,
    /// The last instant that was given out.
    given: u64,
    /// Whether a key came after its place had been given out.
    strayed: bool,
}

impl<K: Key> Window<K> {
    #[inline]
    fn push(&mut self, key: K, give: &mut dyn FnMut(K)) {
        self.strayed |= key.at() < self.given;
        if self.strayed {
            return;
        }
        self.block.push(key);
        if self.block.len() == self.full {
            self.settle();
            let ready = self.held.len().saturating_sub(self.most);
            self.given = ready.checked_sub(1).map_or(self.given, |last| self.held[last].at());
            self.held.drain(..ready).for_each(give);
        }
    }

    /// Puts the block behind what is held, and those that it overlaps with into one order with it.
    fn settle(&mut self) {
        self.block.sort_by_key(Key::rank);
        let Some(first) = self.block.first().map(Key::rank) else { return };
        let overlaps = self.held.iter().rev().take_while(|key| key.rank() > first).count();
        if overlaps > self.full {
            self.full = self.most.min(2 * self.full);
        }
        let mut behind = self.held.split_off(self.held.len() - overlaps).into_iter().peekable();
        for key in self.block.drain(..) {
            while let Some(before) = behind.next_if(|before| before.rank() <= key.rank()) {
                self.held.push_back(before);
            }
            self.held.push_back(key);
        }
        self.held.extend(behind);
    }
}

/// The first and the last instant.
fn ends<K: Key, E>(source: &Source<K, E>) -> Result<(u64, u64), E> {
    let (mut first, mut last) = (u64::MAX, 0);
    source(&mut |key| (first, last) = (first.min(key.at()), last.max(key.at())))?;
    Ok((first.min(last), last))
}

/// Gives out the keys from `first` to `last`, slice by slice; more than fit of a single instant as they come.
fn slices<K: Key, E>(
    source: &Source<K, E>,
    (first, last): (u64, u64),
    most: usize,
    give: &mut dyn FnMut(K),
) -> Result<(), E> {
    let width = ((last - first) / CELLS).saturating_add(1);
    let mut cells = vec![0usize; CELLS as usize];
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
            slices(source, (begin, end), most, give)?;
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
        each(&source, most, &mut |key| once.push(key)).unwrap();
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
        fn what_is_nearly_in_order_is_gone_through_once(steps in prop::collection::vec((0u64..50, 0u64..50), 1..300)) {
            // Each is late by less than 50, and in 50 there are at most 51.
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
