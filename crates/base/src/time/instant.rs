//! Instants, and differences of two instants.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use super::Nanos;

/// An instant: whole nanoseconds since the start of the run. (In a file of another tool: since its clock's own origin, most
/// often the Unix epoch.)
///
/// A duration is a [`Nanos`]. An instant plus a duration is an instant; the difference of two instants is a
/// [`Difference`], whose sign distinguishes early from late.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(pub u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// The latest instant, 584 years after the start.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `secs` seconds after the start.
    pub const fn from_secs(secs: u64) -> Self {
        Self(Nanos::from_secs(secs).0)
    }

    /// The instant `millis` milliseconds after the start.
    pub const fn from_millis(millis: u64) -> Self {
        Self(Nanos::from_millis(millis).0)
    }

    /// The instant nearest to `secs` after the start; negative numbers and NaN give the start, too large ones
    /// [`Instant::MAX`].
    #[inline]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(Nanos::from_secs_f64(secs).0)
    }

    /// The seconds from the start to this instant.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        Nanos(self.0).as_secs_f64()
    }

    /// The duration from this instant to `later`; zero if `later` has passed.
    #[inline]
    #[must_use]
    pub fn until(self, later: Self) -> Nanos {
        Nanos(later.0.saturating_sub(self.0))
    }

    /// The instant `by` before this one, but not before the start.
    #[inline]
    #[must_use]
    pub fn earlier(self, by: Nanos) -> Self {
        Self(self.0.saturating_sub(by.0))
    }
}

impl Add<Nanos> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, length: Nanos) -> Self {
        Self(self.0.saturating_add(length.0))
    }
}

impl AddAssign<Nanos> for Instant {
    #[inline]
    fn add_assign(&mut self, length: Nanos) {
        *self = *self + length;
    }
}

impl Sub for Instant {
    type Output = Difference;
    #[inline]
    fn sub(self, other: Self) -> Difference {
        Difference(if self >= other {
            i64::try_from(self.0 - other.0).unwrap_or(i64::MAX)
        } else {
            0i64.saturating_sub_unsigned(other.0 - self.0)
        })
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Nanos(self.0).fmt(f)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The signed difference of two instants, in nanoseconds; negative if the first is earlier. At most 292 years.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Difference(pub i64);

impl Difference {
    /// This difference in seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This difference in milliseconds.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// This difference in microseconds.
    #[inline]
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// This difference as a duration; zero if it is negative.
    #[inline]
    #[must_use]
    pub fn positive(self) -> Nanos {
        Nanos(self.0.max(0) as u64)
    }
}

impl From<Nanos> for Difference {
    #[inline]
    fn from(length: Nanos) -> Self {
        Self(i64::try_from(length.0).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.0 < 0 { "-" } else { "" }, Nanos(self.0.unsigned_abs()))
    }
}

impl fmt::Debug for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_difference_to_a_later_instant_is_negative() {
        let (five, eight) = (Instant::from_millis(5), Instant::from_millis(8));
        assert_eq!((eight - five).to_string(), "3ms");
        assert_eq!((five - eight).to_string(), "-3ms");
        assert_eq!(((five - eight).as_millis_f64(), (five - eight).positive()), (-3.0, Nanos::ZERO));
        assert_eq!((five.until(eight), eight.until(five)), (Nanos::from_millis(3), Nanos::ZERO));
        assert_eq!((Instant::MAX - five, five - Instant::MAX), (Difference(i64::MAX), Difference(i64::MIN)));
    }

    proptest! {
        #[test]
        fn a_length_later_and_back(at in 0..u64::MAX / 4, length in 0..u64::MAX / 4) {
            let (at, length) = (Instant(at), Nanos(length));
            prop_assert_eq!((at + length) - at, Difference::from(length));
            prop_assert_eq!(at - (at + length), Difference(-(length.0 as i64)));
            prop_assert_eq!((at.until(at + length), (at + length).earlier(length)), (length, at));
        }
    }
}
