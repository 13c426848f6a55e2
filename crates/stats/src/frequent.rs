//! The most frequent items.

/// The most frequent items with their counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequent<T> {
    /// The most frequent items, in descending order of their counts, then ascending.
    pub top: Vec<(T, u64)>,
    /// The number of other items, and the sum of their counts.
    pub other: (usize, u64),
}

/// The `most` most frequent items of `counts`, and the number of the other items.
pub fn frequent<T: Ord>(counts: impl IntoIterator<Item = (T, u64)>, most: usize) -> Frequent<T> {
    let mut top: Vec<_> = counts.into_iter().collect();
    top.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest = top.split_off(top.len().min(most));
    Frequent { top, other: (rest.len(), rest.iter().map(|(_, n)| n).sum()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_lost() {
        let found = frequent([(5, 1), (1, 2), (4, 1), (2, 2), (3, 1)], 3);
        assert_eq!(found, Frequent { top: vec![(1, 2), (2, 2), (3, 1)], other: (2, 2) });
        assert_eq!(frequent([(7, 1)], 3).other, (0, 0));
    }
}
