//! A share: the part of a run that one worker sends.

use std::fmt;
use std::str::FromStr;

use crate::InvalidValue;

/// The share of worker `index` (from 0) of `count`: every `count`-th arrival, or every `count`-th user, of the whole run.
///
/// Each worker computes its share from the workload alone, without a coordinator. All shares together are exactly
/// the whole run. Shares nest: [`Share::part`] divides the share of a machine between its threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    index: u64,
    count: u64,
}

impl Share {
    /// The whole run.
    pub const ALL: Self = Self { index: 0, count: 1 };

    /// The share of worker `index` (from 0) of `count`.
    ///
    /// # Errors
    /// No workers, or an index that is not below their count.
    pub fn new(index: u64, count: u64) -> Result<Self, InvalidValue> {
        if index < count {
            Ok(Self { index, count })
        } else {
            Err(InvalidValue::new(format!("share {} of {count} does not exist", index + 1)))
        }
    }

    /// Part `index` (from 0) of `parts` of this share.
    #[must_use]
    pub fn part(self, index: u64, parts: u64) -> Self {
        assert!(index < parts, "a part that exists");
        Self { index: self.index + self.count * index, count: self.count * parts }
    }

    /// The number of this share, from 0.
    pub fn index(self) -> u64 {
        self.index
    }

    /// The number of shares of the run.
    pub fn parts(self) -> u64 {
        self.count
    }

    /// Whether session number `session` of the whole run belongs to this share.
    #[inline]
    pub fn has(self, session: u64) -> bool {
        // A division takes longer than everything else an arrival costs.
        self.count == 1 || session % self.count == self.index
    }

    /// The sessions below `total` that belong to this share, in order.
    pub fn of(self, total: u64) -> impl Iterator<Item = u64> {
        (self.index..total).step_by(self.count as usize)
    }

    /// The number of sessions below `total` that belong to this share.
    pub fn number_of(self, total: u64) -> u64 {
        total.saturating_sub(self.index).div_ceil(self.count)
    }

    /// This share as a fraction of the run, in (0, 1].
    pub fn fraction(self) -> f64 {
        1.0 / self.count as f64
    }

    /// The part of `n` requests of `users` users that belongs to the users of this share. All users make equally many requests; the first
    /// `n % users` of them make one more. A share without users makes none.
    pub fn of_users(self, n: u64, users: u64) -> u64 {
        self.number_of(users) * (n / users) + self.number_of(n % users)
    }
}

/// As people count: the second of eight is `2/8`.
impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index + 1, self.count)
    }
}

impl FromStr for Share {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = || {
            InvalidValue::new(format!("`{text}` is not a share; write for example 2/8 for the second of eight workers"))
        };
        let (index, count) = text.split_once('/').ok_or_else(wrong)?;
        let (index, count): (u64, u64) = (index.parse().map_err(|_| wrong())?, count.parse().map_err(|_| wrong())?);
        Self::new(index.checked_sub(1).ok_or_else(wrong)?, count).map_err(|_| wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_nest_and_cover_everything_once() {
        let mut seen = vec![0; 100];
        for machine in 0..3 {
            for thread in 0..4 {
                let share = Share::new(machine, 3).unwrap().part(thread, 4);
                share.of(100).for_each(|session| seen[session as usize] += 1);
                assert!((0..100).filter(|s| share.has(*s)).eq(share.of(100)));
                assert!([0, 5, 99, 100].into_iter().all(|n| share.number_of(n) == share.of(n).count() as u64));
            }
        }
        assert!(seen.iter().all(|n| *n == 1));
    }

    #[test]
    fn written_as_people_count() {
        assert_eq!("2/8".parse::<Share>().unwrap(), Share::new(1, 8).unwrap());
        assert_eq!("2/8".parse::<Share>().unwrap().to_string(), "2/8");
        for text in ["0/8", "9/8", "2", "a/b", "1/0", "-1/2"] {
            assert!(text.parse::<Share>().unwrap_err().to_string().contains("not a share"), "{text}");
        }
    }
}
