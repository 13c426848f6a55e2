//! A part of a log, put in order of time and folded; parts merge.

use std::collections::VecDeque;

use crate::sessions::{Hit, Sessions};

/// How many lines a line may be displaced by and still find its place.
pub(crate) const WINDOW: usize = 16_384;

/// How many hits leave the window together.
const BATCH: usize = 64;

/// A fold over hits that are only nearly in order: servers log a request when it is done, or from many threads.
///
/// A hit leaves the window when at least [`WINDOW`] later ones are in it. The first hits to leave are kept aside: should another part
/// turn out to lie before this one, the end of its window is sorted in among them, so that parts merge to the fold over the
/// whole, out-of-order lines at the seams included.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    window: VecDeque<Hit>,
    head: Vec<Hit>,
    body: Sessions,
    size: usize,
    /// Room for the hits that leave together.
    batch: Vec<Hit>,
}

impl Part {
    /// An empty part, of lines displaced by at most `size`.
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

    /// The earliest `n` hits leave the window.
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

    /// Adds the part that follows.
    pub(crate) fn merge(&mut self, later: Self) {
        if later.head.len() < self.size {
            // All of it fits: as if its lines came one by one.
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

    /// The fold over all of it.
    pub(crate) fn finish(self) -> Sessions {
        let Self { window, head, body, .. } = self;
        // The head comes before the body.
        let mut all = Sessions::like(&body);
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

    /// The definition, on a list that is sorted first.
    fn sessions_of(hits: impl Iterator<Item = Hit>) -> usize {
        let mut sorted: Vec<Hit> = hits.collect();
        sorted.sort_by_key(|hit| (hit.client, hit.time));
        let new = |pair: &[Hit]| pair[0].client != pair[1].client || pair[1].time - pair[0].time > TIMEOUT;
        usize::from(!sorted.is_empty()) + sorted.windows(2).filter(|pair| new(pair)).count()
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_fold_over_the_whole_whatever_the_cuts(
            raw in proptest::collection::vec((0i64..8, 0u32..12, 0i64..6, any::<bool>()), 0..300),
            cuts in proptest::collection::vec(0usize..300, 0..6),
            right_first in any::<bool>(),
            most in prop_oneof![Just(1000usize), 1usize..12],
        ) {
            // Instants that grow, each displaced a little: a log nearly in order. Hashes with 0 to 5 zeros in front.
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
                // Merging is associative: pairs from the right or from the left.
                let at = if right_first { parts.len() - 2 } else { 0 };
                let right = parts.remove(at + 1);
                parts[at].merge(right);
            }
            let merged = parts.remove(0).finish();
            let whole = fold(&hits, size, most).finish();
            prop_assert_eq!(merged.all(), whole.all());
            prop_assert_eq!(merged.gaps(), whole.gaps());
            prop_assert_eq!((merged.clients(), merged.late(), whole.late()), (whole.clients(), 0, 0));
            prop_assert_eq!((merged.pages(), merged.one_in(), merged.hits()), (whole.pages(), whole.one_in(), whole.hits()));
            // Followed is the largest sample by zeros that is small enough, and of that everything is right.
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
    fn a_stray_line_from_the_future_spoils_nothing_but_itself() {
        let mut hits: Vec<Hit> = (0..1000).map(|time| Hit { time, client: 1, page: false }).collect();
        hits.insert(10, Hit { time: i64::MAX, client: 2, page: false });
        let folded = fold(&hits, 16, 1000).finish();
        assert_eq!((folded.all().len(), folded.late()), (2, 0));
    }
}
