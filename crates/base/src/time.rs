//! Durations, instants and rates, all exact: the numbers of every schedule.
//!
//! Durations and instants have different types: a request that takes 5 ms is not a request sent 5 ms after the start. An instant
//! is a count of nanoseconds since the start of the run, so scheduled times are absolute, not sums of rounded sleeps. A
//! rate is a ratio of two integers, so the millionth request at `31.73/s` has its exact time.

mod instant;

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

pub use instant::{Difference, Instant};

use crate::InvalidValue;

/// A duration in whole nanoseconds. A point in time is an [`Instant`].
///
/// Written `500ms`, `10s`, `1m30s`, `25m`, `1h`, `12.5s`; units are `h m s ms us ns` (and `µs`). Printing gives a text that
/// parses to the same value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Nanos(pub u64);

impl Nanos {
    /// A duration of zero.
    pub const ZERO: Self = Self(0);
    /// The longest duration, 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// A duration of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A duration of whole microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros * 1000)
    }

    /// The nearest nanosecond to `secs`; negative numbers and NaN give zero, too large ones [`Nanos::MAX`].
    #[inline]
    pub fn from_secs_f64(secs: f64) -> Self {
        Self((secs * 1e9 + 0.5) as u64)
    }

    /// This duration in seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// This duration in milliseconds.
    #[inline]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// This duration in microseconds.
    #[inline]
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// This duration minus `part`; zero if `part` is longer.
    #[inline]
    #[must_use]
    pub fn saturating_sub(self, part: Self) -> Self {
        Self(self.0.saturating_sub(part.0))
    }
}

impl Add for Nanos {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;
    /// This duration minus `part`. Panics in every build if `part` is longer, which is a bug of the caller.
    #[inline]
    fn sub(self, part: Self) -> Self {
        Self(self.0.checked_sub(part.0).expect("a part no longer than the whole"))
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

const UNITS: [(&str, u64); 7] = [
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1000),
    ("µs", 1000),
    ("ns", 1),
];

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (unit, size) in UNITS.into_iter().filter(|(unit, _)| *unit != "µs") {
            if rest >= size {
                write!(f, "{}{unit}", rest / size)?;
                rest %= size;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Nanos {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong =
            || InvalidValue::new(format!("`{text}` is not a duration; write for example 500ms, 10s, 1m30s, 25m or 1h"));
        let mut total: u64 = 0;
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(wrong());
        }
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(wrong)?;
            let (number, after) = rest.split_at(digits);
            let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
            let (unit, next) = after.split_at(end);
            let size = UNITS.iter().find(|(name, _)| *name == unit.trim()).ok_or_else(wrong)?.1;
            let (whole, places) = decimal(number).ok_or_else(wrong)?;
            let nanos = u128::from(whole) * u128::from(size) / 10u128.pow(places);
            total = u64::try_from(nanos).ok().and_then(|n| total.checked_add(n)).ok_or_else(wrong)?;
            rest = next.trim_start();
        }
        Ok(Self(total))
    }
}

/// A duration in seconds. Unlike a [`Nanos`], it keeps fractions of a nanosecond if the text is in seconds with more
/// than nine decimals.
///
/// # Errors
/// The text is not a duration.
pub fn seconds(text: &str) -> Result<f64, InvalidValue> {
    let fine = text.trim().strip_suffix('s').filter(|number| {
        number.split_once('.').is_some_and(|(_, decimals)| decimals.len() > 9)
            && number.bytes().all(|b| b.is_ascii_digit() || b == b'.')
    });
    match fine.and_then(|number| number.parse().ok()) {
        Some(seconds) => Ok(seconds),
        None => text.parse::<Nanos>().map(Nanos::as_secs_f64),
    }
}

/// The text of a duration in seconds, which [`seconds`] reads as the same number.
pub fn written_seconds(seconds: f64) -> String {
    let nanos = Nanos::from_secs_f64(seconds);
    if nanos.as_secs_f64() == seconds { nanos.to_string() } else { format!("{seconds}s") }
}

/// A number with all its digits; a whole number without a decimal point.
pub fn written_number(number: f64) -> String {
    if number.fract() == 0.0 && number.abs() < 1e15 { format!("{number}") } else { format!("{number:?}") }
}

/// Parses a rate, zero included, and returns the nearest number per second: 31.73 for `31.73/s`.
///
/// # Errors
/// The text is not a rate.
pub fn per_second(text: &str) -> Result<f64, InvalidValue> {
    let plain = |number: &str| number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let parts = text.split_once('/').map(|(number, unit)| (number.trim(), unit.trim()));
    let unit = |unit| [("s", 1.0), ("m", 60.0), ("h", 3600.0)].into_iter().find(|(name, _)| *name == unit);
    let read = parts.filter(|(number, _)| plain(number)).and_then(|(number, per)| {
        let (_, seconds) = unit(per)?;
        Some(number.parse::<f64>().ok()? / seconds)
    });
    match read {
        Some(rate) => Ok(rate),
        None => text.parse::<Rate>().map(Rate::per_sec),
    }
}

/// The digits of a number as one integer, and the number of decimals: `(3173, 2)` for `"31.73"`.
fn decimal(text: &str) -> Option<(u64, u32)> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction = fraction.trim_end_matches('0');
    if (whole.is_empty() && fraction.is_empty()) || fraction.len() > 12 {
        return None;
    }
    let digits = format!("{whole}{fraction}");
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((digits.parse().ok()?, fraction.len() as u32))
}

/// A rate: `count` events per `per` nanoseconds, as a ratio of integers in lowest terms.
///
/// Written `100/s`, `6000/m`, `0.5/s`, `31.73/s`, `90/h`, `1/7s`; always positive. The printed text parses to the same value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rate {
    count: u64,
    per: u64,
}

impl Rate {
    /// `count` requests per `per`.
    ///
    /// # Errors
    /// A count or a duration of zero, or more than one request per nanosecond, which is the resolution of instants.
    pub fn new(count: u64, per: Nanos) -> Result<Self, InvalidValue> {
        if count == 0 || per == Nanos::ZERO {
            return Err(InvalidValue::new("a rate must be above zero, for example 100/s"));
        }
        if count > per.0 {
            return Err(InvalidValue::new(
                "a rate is at most 1000000000/s, because times have a resolution of one nanosecond",
            ));
        }
        let divisor = gcd(count, per.0);
        Ok(Self { count: count / divisor, per: per.0 / divisor })
    }

    /// The nearest rate to `per_sec` requests per second, to twelve significant digits.
    ///
    /// # Errors
    /// Anything that is not a finite number above zero.
    pub fn from_per_sec(per_sec: f64) -> Result<Self, InvalidValue> {
        if !(per_sec.is_finite() && per_sec > 0.0) {
            return Err(InvalidValue::new(format!("a rate must be a number above zero, not {per_sec}")));
        }
        let places = (11.0 - libm::floor(libm::log10(per_sec))).clamp(0.0, 9.0);
        let scale = libm::pow(10.0, places);
        Self::new(libm::round(per_sec * scale) as u64, Nanos::from_secs(scale as u64))
    }

    /// Requests per second.
    pub fn per_sec(self) -> f64 {
        self.count as f64 / self.per as f64 * 1e9
    }

    /// The instant of request number `index` (from 0) of a perfectly even stream, to the nanosecond, without drift.
    #[inline]
    pub fn instant(self, index: u64) -> Instant {
        let nanos = u128::from(index) * u128::from(self.per) / u128::from(self.count);
        Instant(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Exact in the first unit that makes it a decimal number, which is how people write rates.
        for (unit, nanos) in [("s", 1_000_000_000u128), ("m", 60_000_000_000), ("h", 3_600_000_000_000)] {
            for places in 0..=9 {
                let scaled = u128::from(self.count) * nanos * 10u128.pow(places);
                if scaled.is_multiple_of(u128::from(self.per)) {
                    let (digits, one) = (scaled / u128::from(self.per), 10u128.pow(places));
                    return match places {
                        0 => write!(f, "{digits}/{unit}"),
                        _ => write!(f, "{}.{:0width$}/{unit}", digits / one, digits % one, width = places as usize),
                    };
                }
            }
        }
        write!(f, "{}/{}", self.count, Nanos(self.per))
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl FromStr for Rate {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = || InvalidValue::new(format!("`{text}` is not a rate; write for example 100/s, 6000/m or 0.5/s"));
        let (number, unit) = text.split_once('/').ok_or_else(wrong)?;
        let per: Nanos = match unit.trim() {
            "s" | "sec" | "second" => Nanos::from_secs(1),
            "m" | "min" | "minute" => Nanos::from_secs(60),
            "h" | "hour" => Nanos::from_secs(3600),
            other => other.parse().ok().filter(|per| *per > Nanos::ZERO).ok_or_else(wrong)?,
        };
        let (digits, places) = decimal(number.trim()).ok_or_else(wrong)?;
        if digits == 0 {
            return Err(InvalidValue::new("the rate must be above zero, for example 100/s"));
        }
        let per_nanos = 10u64.checked_pow(places).and_then(|p| p.checked_mul(per.0)).ok_or_else(wrong)?;
        Self::new(digits, Nanos(per_nanos))
    }
}

/// A duration in ns as text for people: two digits and a unit.
pub fn span(ns: f64) -> String {
    match ns {
        _ if ns < 1e6 => format!("{:.0} us", ns / 1e3),
        _ if ns < 1e7 => format!("{:.1} ms", ns / 1e6),
        _ if ns < 1e9 => format!("{:.0} ms", ns / 1e6),
        _ if ns < 1e11 => format!("{:.1} s", ns / 1e9),
        _ => format!("{:.0} s", ns / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn durations_are_written_as_people_write_them() {
        for (text, nanos) in [
            ("500ms", 500_000_000),
            ("10s", 10_000_000_000),
            ("1m30s", 90_000_000_000),
            ("25m", 1_500_000_000_000),
            ("1h", 3_600_000_000_000),
            ("12.5s", 12_500_000_000),
            ("0s", 0),
            ("3us", 3000),
            ("3µs", 3000),
            ("7ns", 7),
        ] {
            assert_eq!(text.parse::<Nanos>().unwrap(), Nanos(nanos), "{text}");
        }
        for text in ["", "5", "s", "5x", "-1s", "1.2.3s", "nan", "99999999999h", "1e3s"] {
            let error = text.parse::<Nanos>().unwrap_err().to_string();
            assert!(error.contains("not a duration"), "{text}: {error}");
        }
    }

    #[test]
    fn rates_are_exact_fractions() {
        assert_eq!("6000/m".parse::<Rate>().unwrap(), "100/s".parse::<Rate>().unwrap());
        assert_eq!("31.73/s".parse::<Rate>().unwrap().instant(3173), Instant::from_secs(100));
        assert_eq!("0.5/s".parse::<Rate>().unwrap().instant(3), Instant::from_secs(6));
        // A third of a millisecond cannot be a whole number of nanoseconds; a million launches later it has not drifted.
        assert_eq!("3000/s".parse::<Rate>().unwrap().instant(3_000_000), Instant::from_secs(1000));
        for text in ["0/s", "-1/s", "NaN/s", "inf/s", "100", "100/x", "/s", "1e3/s"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_duration_parses_to_itself(nanos: u64) {
            prop_assert_eq!(Nanos(nanos).to_string().parse::<Nanos>().unwrap(), Nanos(nanos));
        }

        #[test]
        fn a_printed_rate_parses_to_itself(digits in 1u64..1_000_000_000, places in 0u32..9) {
            let rate = Rate::new(digits, Nanos(10u64.pow(places) * 1_000_000_000)).unwrap();
            prop_assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
        }
    }
}
