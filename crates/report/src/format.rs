//! Numbers as text. Every command, table and chart prints its numbers with these functions.

/// Four significant digits without trailing zeros; a whole number from 1,000 on.
///
/// Below 1e-6 and from 1e15 on with an exponent. Infinity is `infinite`, NaN is `-`.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value.is_nan() {
        return "-".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "infinite" } else { "-infinite" }.to_owned();
    }
    if size != 0.0 && !(1e-6..1e15).contains(&size) {
        return format!("{value:.3e}");
    }
    let places = if size >= 1000.0 || size == 0.0 { 0 } else { (3 - size.log10().floor() as i32).clamp(0, 9) as usize };
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// The number, or `-` where there is none.
pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), number)
}

/// A duration in seconds, in the unit that suits its size: us, ms, s, min or h.
pub fn duration(seconds: f64) -> String {
    let (scale, unit) = match seconds.abs() {
        0.0 => (1.0, "s"),
        size if size < 1e-3 => (1e6, "us"),
        size if size < 1.0 => (1e3, "ms"),
        size if size < 600.0 || size.is_infinite() => (1.0, "s"),
        size if size < 10_800.0 => (1.0 / 60.0, "min"),
        _ => (1.0 / 3600.0, "h"),
    };
    if seconds.is_infinite() { number(seconds) } else { format!("{} {unit}", number(seconds * scale)) }
}

/// A rate, as `12.5/s`.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", number(per_second))
}

/// A fraction in percent: `3.2 %` for 0.032.
pub fn percent(fraction: f64) -> String {
    format!("{} %", number(fraction * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_four_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (33.464_4, "33.46"),
            (123_456.7, "123457"),
            (999.96, "1000"),
            (0.001_234_56, "0.001235"),
            (1.0, "1"),
            (-2.5, "-2.5"),
            (1e-9, "1.000e-9"),
            (f64::NAN, "-"),
            (f64::INFINITY, "infinite"),
            (f64::NEG_INFINITY, "-infinite"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!((optional(None), optional(Some(2.0))), ("-".to_owned(), "2".to_owned()));
    }

    #[test]
    fn durations_have_the_unit_that_suits_their_size() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (12e-6, "12 us"),
            (0.0534, "53.4 ms"),
            (5.0, "5 s"),
            (599.0, "599 s"),
            (1500.0, "25 min"),
            (5.4e4, "15 h"),
            (f64::INFINITY, "infinite"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        assert_eq!((rate(0.5), percent(0.0325)), ("0.5/s".to_owned(), "3.25 %".to_owned()));
    }
}
