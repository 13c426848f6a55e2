//! The most frequent of many.

/// How often things were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frequent<T> {
    /// The most frequent first, each with how often it was there; of those as frequent the smallest first.
    pub top: Vec<(T, u64)>,
    /// How many others there are, and how often they were there together.
    pub rest: (usize, u64),
}

/// The `most` most frequent of things that were there so often, and what is left of them.
pub fn frequent<T: Ord>(counts: impl IntoIterator<Item = (T, u64)>, most: usize) -> Frequent<T> {
    let mut top: Vec<_> = counts.into_iter().collect();
    top.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let rest = top.split_off(top.len().min(most));
    Frequent { top, rest: (rest.len(), rest.iter().map(|(_, n)| n).sum()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_lost() {
        let found = frequent([(5, 1), (1, 2), (4, 1), (2, 2), (3, 1)], 3);
        assert_eq!(found, Frequent { top: vec![(1, 2), (2, 2), (3, 1)], rest: (2, 2) });
        assert_eq!(frequent([(7, 1)], 3).rest, (0, 0));
    }
}
