//! Values in groups (of requests, of workers, of parts of a run), in memory that does not grow with their number.

use crate::values::{Sorted, Values, Whole};

/// Values as they come, each in its group. They are exact up to [`Values::WHOLE`] of them in all groups together; of more, groups of
/// more than a thousand are kept in cells.
#[derive(Clone, Debug)]
pub struct Groups<T = u64> {
    each: Vec<Values<T>>,
    n: usize,
}

impl<T> Default for Groups<T> {
    fn default() -> Self {
        Self { each: Vec::new(), n: 0 }
    }
}

impl<T: Whole> Groups<T> {
    /// So many take hardly more room than the cells of one power of two.
    const FEW: u64 = 1000;

    /// Takes a value of a group; groups have numbers from 0.
    #[inline]
    pub fn add(&mut self, group: usize, value: T) {
        if self.each.len() <= group {
            self.each.resize_with(group + 1, Values::default);
        }
        self.each[group].add(value);
        self.n += 1;
        if self.n > Values::WHOLE && self.each[group].is_whole() {
            self.coarsen(group);
        }
    }

    fn coarsen(&mut self, group: usize) {
        let all = self.n == Values::WHOLE + 1;
        let groups = if all { &mut self.each[..] } else { &mut self.each[group..=group] };
        groups.iter_mut().filter(|values| values.len() > Self::FEW).for_each(Values::coarsen);
    }

    /// The same in ascending order.
    pub fn sorted(self) -> SortedGroups<T> {
        let together = || {
            let mut all = Values::default();
            self.each.iter().for_each(|values| all.merge(values));
            all.sorted()
        };
        let all = (self.each.len() != 1).then(together);
        SortedGroups { all, each: self.each.into_iter().map(Values::sorted).collect() }
    }
}

/// Values in ascending order: of each group, and of all together.
#[derive(Clone, Debug)]
pub struct SortedGroups<T = u64> {
    each: Vec<Sorted<T>>,
    /// `None` where there is one group, which is all.
    all: Option<Sorted<T>>,
}

impl<T: Whole> SortedGroups<T> {
    /// Those of a group; `None` where neither it nor one behind it has any.
    pub fn of(&self, group: usize) -> Option<&Sorted<T>> {
        self.each.get(group)
    }

    /// All together.
    pub fn all(&self) -> &Sorted<T> {
        self.all.as_ref().unwrap_or_else(|| &self.each[0])
    }

    /// The same, of which nothing else is wanted.
    pub fn into_all(mut self) -> Sorted<T> {
        self.all.unwrap_or_else(|| self.each.swap_remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(groups: &Groups) -> Vec<bool> {
        groups.each.iter().map(Values::is_whole).collect()
    }

    #[test]
    fn groups_share_what_is_kept_whole() {
        let mut groups = Groups::default();
        for i in 0..Values::WHOLE as u64 {
            groups.add(if i < 900 { 0 } else { 1 + (i % 2) as usize }, i);
        }
        assert_eq!(of(&groups), [true, true, true]);
        groups.add(1, 7);
        assert_eq!(of(&groups), [true, false, false]);
        (0..2000).for_each(|i| groups.add(4, i));
        assert_eq!(of(&groups), [true, false, false, true, false]);
        let sorted = groups.sorted();
        assert_eq!((sorted.all().len(), sorted.all().min(), sorted.all().max()), (1_002_001, Some(0), Some(999_999)));
        let near = sorted.all().quantile(0.5).unwrap() as f64;
        assert!((near / 499_000.0 - 1.0).abs() < Values::ERROR + 1e-4, "{near}");
        assert_eq!(sorted.of(0).unwrap().quantile(1.0), Some(899));
        assert!(sorted.of(3).unwrap().is_empty() && sorted.of(5).is_none());
    }

    #[test]
    fn one_group_is_all() {
        let mut groups = Groups::default();
        for value in [5u64, 3, 9] {
            groups.add(0, value);
        }
        let sorted = groups.sorted();
        assert_eq!((sorted.all().min(), sorted.of(0).unwrap().max(), sorted.into_all().len()), (Some(3), Some(9), 3));
        assert!(Groups::<u64>::default().sorted().into_all().is_empty());
    }
}
