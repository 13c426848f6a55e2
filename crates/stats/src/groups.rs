//! Values by group (request label, worker, part of a run), in memory that does not grow with their number.

use crate::values::{Integer, Sorted, Values};

/// Collects values by group. Values are exact up to [`Values::EXACT_LIMIT`] values in all groups together. Above this
/// limit, groups of more than a thousand values become histograms.
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

impl<T: Integer> Groups<T> {
    /// This number of values takes little more memory than the histogram bins of one power of two.
    const SMALL_GROUP: u64 = 1000;

    /// Adds a value to a group; groups are numbered from 0.
    #[inline]
    pub fn add(&mut self, group: usize, value: T) {
        if self.each.len() <= group {
            self.each.resize_with(group + 1, Values::default);
        }
        self.each[group].add(value);
        self.n += 1;
        if self.n > Values::EXACT_LIMIT && self.each[group].is_exact() {
            self.coarsen(group);
        }
    }

    fn coarsen(&mut self, group: usize) {
        let all = self.n == Values::EXACT_LIMIT + 1;
        let groups = if all { &mut self.each[..] } else { &mut self.each[group..=group] };
        groups.iter_mut().filter(|values| values.len() > Self::SMALL_GROUP).for_each(Values::use_cells);
    }

    /// The values in ascending order.
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

/// Values in ascending order, by group and in total.
#[derive(Clone, Debug)]
pub struct SortedGroups<T = u64> {
    each: Vec<Sorted<T>>,
    /// `None` if there is only one group.
    all: Option<Sorted<T>>,
}

impl<T: Integer> SortedGroups<T> {
    /// The values of a group; `None` if neither this group nor any group with a higher number has values.
    pub fn group(&self, group: usize) -> Option<&Sorted<T>> {
        self.each.get(group)
    }

    /// The values of all groups.
    pub fn all(&self) -> &Sorted<T> {
        self.all.as_ref().unwrap_or_else(|| &self.each[0])
    }

    /// Converts the collector into the values of all groups.
    pub fn into_all(mut self) -> Sorted<T> {
        self.all.unwrap_or_else(|| self.each.swap_remove(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(groups: &Groups) -> Vec<bool> {
        groups.each.iter().map(Values::is_exact).collect()
    }

    #[test]
    fn groups_share_the_limit_of_exact_values() {
        let mut groups = Groups::default();
        for i in 0..Values::EXACT_LIMIT as u64 {
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
        assert_eq!(sorted.group(0).unwrap().quantile(1.0), Some(899));
        assert!(sorted.group(3).unwrap().is_empty() && sorted.group(5).is_none());
    }

    #[test]
    fn one_group_is_all() {
        let mut groups = Groups::default();
        for value in [5u64, 3, 9] {
            groups.add(0, value);
        }
        let sorted = groups.sorted();
        assert_eq!(
            (sorted.all().min(), sorted.group(0).unwrap().max(), sorted.into_all().len()),
            (Some(3), Some(9), 3)
        );
        assert!(Groups::<u64>::default().sorted().into_all().is_empty());
    }
}
