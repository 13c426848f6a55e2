//! Numbers and times in text, parsed from bytes without allocation.
//!
//! jiff computes calendar days. The digits are parsed here, because result files contain forms that its parsers refuse (a zone after a
//! space, 24:00:00, JMeter's month before the day), and because the resolution of a timestamp matters.

use jiff::civil::{self, Date};
use offered_base::{Instant, Nanos};

const EPOCH: Date = civil::date(1970, 1, 1);

/// Parses digits only; spaces around them are allowed.
#[inline]
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    let text = text.trim_ascii();
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    let mut number = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
    }
    Some(number)
}

/// Like [`whole`], with an optional sign.
pub(super) fn signed(text: &[u8]) -> Option<i64> {
    let digits = text.trim_ascii_start();
    let (negative, digits) = digits.strip_prefix(b"-").map_or((false, digits), |digits| (true, digits));
    let number = i64::try_from(whole(digits)?).ok()?;
    Some(if negative { -number } else { number })
}

/// A decimal number of `unit`s in nanoseconds, exact without exponent; `None` if negative.
pub(super) fn nanos(text: &[u8], unit: Nanos) -> Option<Nanos> {
    let text = text.trim_ascii();
    let (integer, fraction) = match text.iter().position(|&byte| byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &text[text.len()..]),
    };
    let plain = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit);
    if (integer.is_empty() && fraction.is_empty()) || !plain(integer) || !plain(fraction) {
        // Exponents, and a sign, which neither times nor durations have.
        let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
        return from_f64(number, unit);
    }
    let integer = if integer.is_empty() { 0 } else { whole(integer)? };
    let fraction = &fraction[..fraction.len().min(15)];
    let part = if fraction.is_empty() { 0 } else { whole(fraction)? };
    let scale = 10u128.pow(fraction.len() as u32);
    let part = (u128::from(part) * u128::from(unit.0) + scale / 2) / scale;
    let nanos = u128::from(integer) * u128::from(unit.0) + part;
    u64::try_from(nanos).ok().map(Nanos)
}

/// The time that many `unit`s after the origin of the clock.
pub(super) fn instant(text: &[u8], unit: Nanos) -> Option<Instant> {
    nanos(text, unit).map(|since| Instant::ZERO + since)
}

/// `number` units; `None` if that is not a duration.
pub(super) fn from_f64(number: f64, unit: Nanos) -> Option<Nanos> {
    let nanos = number * unit.0 as f64;
    (nanos >= 0.0 && nanos < u64::MAX as f64).then_some(Nanos((nanos + 0.5) as u64))
}

/// The resolution of a decimal number in this notation: one unit, divided by ten for every decimal.
pub(super) fn tick(text: &[u8], unit: Nanos) -> Nanos {
    let decimals = text.iter().position(|&byte| byte == b'.').map_or(0, |point| text.len() - point - 1);
    Nanos((unit.0 / 10u64.pow(decimals.min(9) as u32)).max(1))
}

/// A date and time as a time since the Unix epoch, with its resolution.
///
/// Year first (`2026-11-20T14:47:29.635317206Z`, `2026/11/20 14:47:29,635`) or, as in JMeter, month first with a short
/// year (`11/20/26 14:47:29`). Without a zone it counts as UTC, which shifts all times of a file equally.
pub(super) fn date_time(text: &[u8]) -> Option<(Instant, Nanos)> {
    let mut scan = Scan(text.trim_ascii());
    let (first, digits) = scan.number(4)?;
    scan.one_of(b"-/.")?;
    let second = scan.number(2)?.0;
    scan.one_of(b"-/.")?;
    let (third, _) = scan.number(4)?;
    let (year, month, day) = if digits == 4 {
        (first, second, third)
    } else {
        (if third < 100 { 2000 + third } else { third }, first, second)
    };
    scan.one_of(b"T ")?;
    clock(scan, day_of(year, month, day)?)
}

/// The part after the date: `14:47:29.635Z`.
fn clock(mut scan: Scan, day: u64) -> Option<(Instant, Nanos)> {
    let hour = scan.number(2)?.0;
    scan.one_of(b":")?;
    let minute = scan.number(2)?.0;
    scan.one_of(b":")?;
    let second = scan.number(2)?.0;
    let (mut fraction, mut tick) = (0, 1_000_000_000);
    if scan.one_of(b".,").is_some() {
        let (number, digits) = scan.number(9)?;
        tick = 10u64.pow(9 - digits as u32);
        fraction = number * tick;
    }
    if hour > 24 || minute > 59 || second > 60 {
        return None;
    }
    let local = (day + hour * 3600 + minute * 60 + second) * 1_000_000_000 + fraction;
    let at = i128::from(local) - i128::from(scan.zone()?) * 1_000_000_000;
    Some((Instant(u64::try_from(at).ok()?), Nanos(tick)))
}

/// The time in an access log, `01/Aug/1995:02:00:00 -0400`, in whole seconds.
pub(super) fn log_time(text: &[u8]) -> Option<Instant> {
    const MONTHS: &[u8] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut scan = Scan(text);
    let day = scan.number(2)?.0;
    scan.one_of(b"/")?;
    let month = MONTHS.chunks(3).position(|name| scan.0.starts_with(name))? as u64 + 1;
    scan.0 = &scan.0[3..];
    scan.one_of(b"/")?;
    let year = scan.number(4)?.0;
    scan.one_of(b":")?;
    clock(scan, day_of(year, month, day)?).map(|(at, _)| at)
}

/// Seconds from 1970-01-01 to the start of this day; `None` for earlier days, after the year 2499, or for an invalid date.
fn day_of(year: u64, month: u64, day: u64) -> Option<u64> {
    let year = i16::try_from(year).ok().filter(|year| *year < 2500)?;
    let date = Date::new(year, month.try_into().ok()?, day.try_into().ok()?).ok()?;
    u64::try_from(date.duration_since(EPOCH).as_secs()).ok()
}

struct Scan<'a>(&'a [u8]);

impl Scan<'_> {
    /// A number of at most `most` digits, and the number of its digits.
    fn number(&mut self, most: usize) -> Option<(u64, usize)> {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number = whole(&self.0[..digits.min(most)])?;
        self.0 = &self.0[digits..];
        Some((number, digits.min(most)))
    }

    fn one_of(&mut self, letters: &[u8]) -> Option<()> {
        let (first, rest) = self.0.split_first()?;
        letters.contains(first).then(|| self.0 = rest)
    }

    /// Seconds east of Greenwich: `Z`, ` UTC`, `+01:00`, ` -0400`, or nothing; must be the end of the text.
    fn zone(mut self) -> Option<i64> {
        self.0 = self.0.trim_ascii();
        let sign = match self.0 {
            b"" | b"Z" | b"UTC" => return Some(0),
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => return None,
        };
        self.0 = &self.0[1..];
        let digits: Vec<u8> = self.0.iter().copied().filter(|&byte| byte != b':').collect();
        let number = whole(&digits).filter(|_| digits.len() == 4)? as i64;
        Some(sign * (number / 100 * 3600 + number % 100 * 60))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Nanos = Nanos::from_secs(1);

    #[test]
    fn numbers_are_exact() {
        assert_eq!(nanos(b"1795186050.719066047", S), Some(Nanos(1_795_186_050_719_066_047)));
        assert_eq!(nanos(b"0.1096", S), Some(Nanos(109_600_000)));
        assert_eq!(nanos(b"0.875159", Nanos::from_millis(1)), Some(Nanos(875_159)));
        assert_eq!(nanos(b"1.2e-3", S), Some(Nanos(1_200_000)));
        for text in [&b""[..], b".", b"-1", b"nan", b"inf", b"1e40", b"1.2.3", b"99999999999999999999"] {
            assert_eq!(nanos(text, S), None, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!((tick(b"0.1096", S), tick(b"17", S)), (Nanos(100_000), S));
        assert_eq!(whole(b"18446744073709551616"), None);
    }

    #[test]
    fn dates_are_read_as_tools_write_them() {
        // Made with Python: int(datetime.fromisoformat(...).timestamp()).
        let at = Instant::from_secs(1_795_186_049);
        let ms = Nanos::from_millis;
        for (text, expected) in [
            ("2026-11-20T14:47:29.635317206Z", (at + Nanos(635_317_206), Nanos(1))),
            ("2026-11-20T15:47:29.6+01:00", (at + ms(600), ms(100))),
            ("2026/11/20 14:47:29.635", (at + ms(635), ms(1))),
            ("2026/11/20 14:47:29", (at, S)),
            ("2026-11-20 14:47:29,635", (at + ms(635), ms(1))),
            ("11/20/26 14:47:29", (at, S)),
        ] {
            assert_eq!(date_time(text.as_bytes()), Some(expected), "{text}");
        }
        for text in [
            "",
            "2026",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-11-20T14:47",
            "2026-11-20T14:47:29Q",
            "20-11",
        ] {
            assert_eq!(date_time(text.as_bytes()), None, "{text}");
        }
        assert_eq!(log_time(b"01/Aug/1995:02:00:00 -0400"), Some(Instant::from_secs(807_256_800)));
        assert_eq!(day_of(2000, 2, 29), Some(11_016 * 86_400));
    }
}
