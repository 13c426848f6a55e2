//! Order: what has an instant, in the order of its instants, without holding more than a bounded part of it.
//!
//! Events are recorded in the order of their ends, so an instant stands near its place: a window of a million is enough where no
//! more launches than that are under way at a time. Where it is not enough (a file sorted by thread, several files as one), that is
//! noticed, and the time is cut into slices that are gone through one after another, each of them small enough to be sorted.

use std::io;

/// Something that has an instant.
pub(crate) trait Key: Copy {
    /// Its instant.
    fn at(&self) -> u64;
}

impl Key for u64 {
    fn at(&self) -> u64 {
        *self
    }
}

/// So many may come between a key and one that ought to come before it; twice as many are held.
const WINDOW: usize = 1_000_000;
/// Where they come in any order, the time is first counted in so many cells.
const CELLS: u64 = 4096;

/// Where keys come from: gives each of them, as often as it is asked, in the same order.
pub(crate) type Source<'a, K> = dyn Fn(&mut dyn FnMut(K)) -> io::Result<()> + 'a;

/// What `fresh` makes, after `add` has given it all keys of `source` in ascending order; they lie between `first` and `last`.
pub(crate) fn ascending<K: Key, C>(
    source: &Source<K>,
    (first, last): (u64, u64),
    fresh: impl Fn() -> C,
    add: impl Fn(&mut C, K),
) -> io::Result<C> {
    within(source, (first, last), WINDOW, fresh, add)
}

fn within<K: Key, C>(
    source: &Source<K>,
    (first, last): (u64, u64),
    most: usize,
    fresh: impl Fn() -> C,
    add: impl Fn(&mut C, K),
) -> io::Result<C> {
    let mut all = fresh();
    let mut window = Window { held: Vec::new(), most, given: 0, strayed: false };
    source(&mut |key| window.push(key, &mut |key| add(&mut all, key)))?;
    if !window.strayed {
        window.give(window.held.len(), &mut |key| add(&mut all, key));
        return Ok(all);
    }
    drop(window);
    all = fresh();
    slices(source, first, last, most, &mut |key| add(&mut all, key))?;
    Ok(all)
}

/// Keys that are nearly in order.
struct Window<K> {
    held: Vec<K>,
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
        self.held.push(key);
        if self.held.len() == 2 * self.most {
            self.give(self.most, give);
        }
    }

    fn give(&mut self, keys: usize, give: &mut dyn FnMut(K)) {
        // Those that stayed are in order already, which this sort makes use of.
        self.held.sort_by_key(Key::at);
        self.given = self.held[..keys].last().map_or(0, Key::at);
        self.held.drain(..keys).for_each(give);
    }
}

/// Gives out the keys from `first` to `last`, slice by slice.
fn slices<K: Key>(source: &Source<K>, first: u64, last: u64, most: usize, give: &mut dyn FnMut(K)) -> io::Result<()> {
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
            slice.sort_by_key(Key::at);
            slice.into_iter().for_each(&mut *give);
        } else if begin == end {
            source(&mut |key| Some(key).filter(inside).into_iter().for_each(&mut *give))?;
        } else {
            slices(source, begin, end, most, give)?;
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
            Ok(())
        };
        let (first, last) = (keys.iter().min().unwrap(), keys.iter().max().unwrap());
        (within(&source, (*first, *last), most, Vec::new, Vec::push).unwrap(), played.get())
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
