//! A heap of entries, ordered by a key and a serial number.
//!
//! It is the heap of the agenda and of the disciplines that order jobs. A node has four children instead of the usual
//! two, so a thousand entries have a depth of five levels. The smallest child is computed without branches,
//! because the processor would mispredict half of them.

/// An entry of a heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// The sort key; the smallest is first.
    pub key: u64,
    /// Breaks ties: of equal keys the smallest serial is first.
    pub serial: u64,
    /// The value of the entry.
    pub value: T,
}

impl<T> Entry<T> {
    /// Key and serial as one number, which is compared without a branch.
    #[inline]
    fn place(&self) -> u128 {
        u128::from(self.key) << 64 | u128::from(self.serial)
    }

    /// Whether this entry precedes `other`.
    #[inline]
    pub fn before(&self, other: &Self) -> bool {
        self.place() < other.place()
    }
}

/// A 4-ary min-heap in one vector.
#[derive(Clone, Debug)]
pub struct Heap<T>(Vec<Entry<T>>);

/// Children of a node.
const WIDTH: usize = 4;

impl<T> Default for Heap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> Heap<T> {
    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the heap has no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All entries, in arbitrary order.
    pub fn entries(&self) -> &[Entry<T>] {
        &self.0
    }

    /// The first entry.
    #[inline]
    pub fn first(&self) -> Option<&Entry<T>> {
        self.0.first()
    }

    /// Adds an entry.
    #[inline]
    pub fn push(&mut self, key: u64, serial: u64, value: T) {
        let entry = Entry { key, serial, value };
        let mut hole = self.0.len();
        self.0.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / WIDTH;
            if !entry.before(&self.0[parent]) {
                break;
            }
            self.0[hole] = self.0[parent];
            hole = parent;
        }
        self.0[hole] = entry;
    }

    /// Removes and returns the first entry.
    #[inline]
    pub fn pop(&mut self) -> Option<Entry<T>> {
        let last = self.0.pop()?;
        let Some(first) = self.0.first().copied() else { return Some(last) };
        self.sink(last);
        Some(first)
    }

    /// Fills the hole at the top with `entry`, after moving up the entries that come before it.
    #[inline]
    fn sink(&mut self, entry: Entry<T>) {
        let entries = &mut self.0[..];
        let mut hole = 0;
        loop {
            let children = WIDTH * hole + 1;
            let smallest = match entries.get(children..children + WIDTH) {
                Some(four) => {
                    let left = usize::from(four[1].before(&four[0]));
                    let right = 2 + usize::from(four[3].before(&four[2]));
                    children + if four[right].before(&four[left]) { right } else { left }
                }
                None => {
                    match (children..entries.len()).reduce(|a, b| if entries[b].before(&entries[a]) { b } else { a }) {
                        Some(smallest) => smallest,
                        None => break,
                    }
                }
            };
            if !entries[smallest].before(&entry) {
                break;
            }
            entries[hole] = entries[smallest];
            hole = smallest;
        }
        entries[hole] = entry;
    }

    /// Moves all entries of `other` into this heap.
    pub fn append(&mut self, other: &mut Self) {
        other.0.drain(..).for_each(|Entry { key, serial, value }| self.push(key, serial, value));
    }
}

impl<T: Copy> FromIterator<Entry<T>> for Heap<T> {
    fn from_iter<I: IntoIterator<Item = Entry<T>>>(entries: I) -> Self {
        let mut heap = Self::default();
        entries.into_iter().for_each(|Entry { key, serial, value }| heap.push(key, serial, value));
        heap
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn entries_leave_in_order(steps in prop::collection::vec((0u64..9, 0u8..3), 0..200)) {
            let (mut heap, mut sorted) = (Heap::default(), Vec::new());
            for (serial, (key, step)) in (0..).zip(steps) {
                if step > 0 {
                    heap.push(key, serial, key);
                    sorted.push((key, serial));
                    sorted.sort_unstable();
                } else {
                    let first = (!sorted.is_empty()).then(|| sorted.remove(0));
                    prop_assert_eq!(heap.first().map(|e| (e.key, e.serial)), first);
                    prop_assert_eq!(heap.pop().map(|e| (e.value, e.serial)), first);
                }
                prop_assert_eq!((heap.len(), heap.is_empty()), (sorted.len(), sorted.is_empty()));
            }
            let mut other: Heap<u64> = [Entry { key: 4, serial: 1000, value: 4 }].into_iter().collect();
            other.append(&mut heap);
            sorted.push((4, 1000));
            sorted.sort_unstable();
            let all: Vec<_> = std::iter::from_fn(|| other.pop()).map(|e| (e.key, e.serial)).collect();
            prop_assert_eq!(all, sorted);
        }
    }
}
