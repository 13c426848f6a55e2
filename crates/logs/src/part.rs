//! Sorts the requests of a part of a log by time and counts them; parts can be merged.

use std::collections::VecDeque;

use crate::sessions::{Hit, Sessions};

/// Maximum displacement in lines of requests that are sorted.
pub(crate) const WINDOW: usize = 16_384;

/// Number of hits that leave the window together.
const BATCH: usize = 64;

/// Accumulates hits that are nearly in order: servers log requests at completion, or from many threads.
///
/// A hit leaves the window when at least [`WINDOW`] later ones are in it. The first hits that leave are stored
/// separately: when a preceding part is merged, the end of its window is sorted into them. So merging parts gives
/// the same result as processing the whole log, including out-of-order lines at the boundaries.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    window: VecDeque<Hit>,
    head: Vec<Hit>,
    body: Sessions,
    size: usize,
    /// Reusable buffer for a batch.
    batch: Vec<Hit>,
}

impl Part {
    /// An empty part that sorts lines displaced by at most `size`.
    pub(crate) fn new(body: Sessions, size: usize) -> Self {
        Self { window: VecDeque::with_capacity(size + BATCH), head: Vec::new(), body, size, batch: Vec::new() }
    }

    /// Adds the hit of the next line.
    #[inline]
    pub(crate) fn add(&mut self, hit: Hit) {
        if self.window.back().is_none_or(|last| last.time <= hit.time) {
            self.window.push_back(hit);
        } else {
            let at = self.window.partition_point(|earlier| earlier.time <= hit.time);
            self.window.insert(at, hit);
        }
        if self.window.len() >= self.size + BATCH {
            self.leave(BATCH);
        }
    }

    /// Removes the earliest `n` hits from the window.
    fn leave(&mut self, n: usize) {
        let mut batch = std::mem::take(&mut self.batch);
        batch.extend(self.window.drain(..n));
        self.ordered(&batch);
        batch.clear();
        self.batch = batch;
    }

    fn ordered(&mut self, hits: &[Hit]) {
        let (head, body) = hits.split_at(hits.len().min(self.size - self.head.len()));
        self.head.extend_from_slice(head);
        self.body.add(body);
    }

    /// Merges the part that follows.
    pub(crate) fn merge(&mut self, later: Self) {
        if later.head.len() < self.size {
            // The part is small: add its hits one by one.
            for hit in later.head.into_iter().chain(later.window) {
                self.add(hit);
            }
            return;
        }
        let mut seam: Vec<Hit> = self.window.drain(..).chain(later.head).collect();
        seam.sort_by_key(|hit| hit.time);
        self.ordered(&seam);
        self.body.merge(later.body);
        self.window = later.window;
    }

    /// The sessions of the part.
    pub(crate) fn finish(self) -> Sessions {
        let Self { window, head, body, .. } = self;
        // The head precedes the body.
        let mut all = Sessions::empty_like(&body);
        all.add(&head);
        all.merge(body);
        all.add(&window.into_iter().collect::<Vec<_>>());
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TIMEOUT: i64 = 20;

    fn fold(hits: &[Hit], size: usize, most: usize) -> Part {
        let mut part = Part::new(Sessions::new(TIMEOUT, most), size);
        for hit in hits {
            part.add(*hit);
        }
        part
    }

    /// Reference implementation on a sorted list.
    fn sessions_of(hits: impl Iterator<Item = Hit>) -> usize {
        let mut sorted: Vec<Hit> = hits.collect();
        sorted.sort_by_key(|hit| (hit.client, hit.time));
        let new = |pair: &[Hit]| pair[0].client != pair[1].client || pair[1].time - pair[0].time > TIMEOUT;
        usize::from(!sorted.is_empty()) + sorted.windows(2).filter(|pair| new(pair)).count()
    }

    proptest! {
        #[test]
        fn merged_parts_equal_the_whole(
            raw in proptest::collection::vec((0i64..8, 0u32..12, 0i64..6, any::<bool>()), 0..300),
            cuts in proptest::collection::vec(0usize..300, 0..6),
            right_first in any::<bool>(),
            most in prop_oneof![Just(1000usize), 1usize..12],
        ) {
            // Increasing times, slightly displaced, and hashes with 0 to 5 leading zeros.
            let mut now = 0;
            let hits: Vec<Hit> = raw.iter().map(|(step, client, back, page)| {
                now += step;
                let client = u64::MAX >> (client / 2) ^ u64::from(client % 2);
                Hit { time: now - back, client, page: *page }
            }).collect();
            let size = 16;
            let displaced = |i: usize| hits[..i].iter().filter(|earlier| earlier.time > hits[i].time).count();
            prop_assume!((0..hits.len()).all(|i| displaced(i) <= size));
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(hits.len())).chain([0, hits.len()]).collect();
            cuts.sort_unstable();
            let mut parts: Vec<Part> = cuts.windows(2).map(|cut| fold(&hits[cut[0]..cut[1]], size, most)).collect();
            while parts.len() > 1 {
                // Merging is associative.
                let at = if right_first { parts.len() - 2 } else { 0 };
                let right = parts.remove(at + 1);
                parts[at].merge(right);
            }
            let merged = parts.remove(0).finish();
            let whole = fold(&hits, size, most).finish();
            prop_assert_eq!(merged.all(), whole.all());
            prop_assert_eq!(merged.gaps(), whole.gaps());
            prop_assert_eq!((merged.clients(), merged.out_of_order(), whole.out_of_order()), (whole.clients(), 0, 0));
            prop_assert_eq!((merged.pages(), merged.one_in(), merged.hits()), (whole.pages(), whole.one_in(), whole.hits()));
            // The sample is the largest one within the limit, and its figures are exact.
            let distinct = |zeros: u32| {
                let kept = hits.iter().map(|hit| hit.client).filter(|client| client.leading_zeros() >= zeros);
                kept.collect::<std::collections::HashSet<_>>().len()
            };
            let level = (0..=64).find(|zeros| distinct(*zeros) <= most).unwrap();
            prop_assert_eq!((whole.one_in(), whole.clients()), (1 << level, distinct(level)));
            let followed = hits.iter().copied().filter(|hit| hit.client.leading_zeros() >= level);
            prop_assert_eq!(whole.all().len(), sessions_of(followed.clone()));
            prop_assert_eq!(whole.all().iter().map(|s| u64::from(s.requests)).sum::<u64>(), whole.hits());
            prop_assert_eq!(whole.hits() as usize, followed.clone().count());
            let pages = followed.filter(|hit| hit.page);
            prop_assert_eq!(whole.pages(), (pages.clone().count() as u64, sessions_of(pages) as u64));
        }
    }

    #[test]
    fn a_timestamp_in_the_far_future_affects_only_its_own_line() {
        let mut hits: Vec<Hit> = (0..1000).map(|time| Hit { time, client: 1, page: false }).collect();
        hits.insert(10, Hit { time: i64::MAX, client: 2, page: false });
        let folded = fold(&hits, 16, 1000).finish();
        assert_eq!((folded.all().len(), folded.out_of_order()), (2, 0));
    }
}
