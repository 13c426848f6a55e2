//! Numbers as people read them on a first screen.

/// A whole number with thousands separators: `12,006`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three significant digits, with zeros at the end, so that columns align: `7.80`, `57.4`, `143`; from 1,000 on a whole number with
/// separators. Below 0.001 with an exponent; infinity is `infinite`, NaN is `-`.
pub fn short(value: f64) -> String {
    significant(value, 3)
}

/// Like [`short`], with this number of significant digits; digits before the decimal point are never dropped.
pub fn significant(value: f64, digits: usize) -> String {
    let size = value.abs();
    if value.is_nan() {
        return "-".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "infinite" } else { "-infinite" }.to_owned();
    }
    let decimals = digits.max(1) - 1;
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e15).contains(&size) {
        return format!("{value:.decimals$e}");
    }
    // Rounded first: 9.996 is 10.0, and 999.7 is 1,000.
    let rounded: f64 = format!("{size:.decimals$e}").parse().unwrap_or(size);
    let exponent = rounded.log10().floor() as i32;
    let sign = if value < 0.0 { "-" } else { "" };
    let places =
        decimals.saturating_sub(usize::try_from(exponent).unwrap_or(0)) + usize::try_from(-exponent).unwrap_or(0);
    let text = format!("{size:.places$}");
    let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(whole, part)| (whole, Some(part)));
    let whole = count(whole.parse().unwrap_or(0));
    fraction.map_or_else(|| format!("{sign}{whole}"), |fraction| format!("{sign}{whole}.{fraction}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 12_345_678].map(count), ["0", "999", "1,000", "12,345,678"]);
    }

    #[test]
    fn three_digits_and_separators() {
        for (value, text) in [
            (0.0, "0"),
            (7.8, "7.80"),
            (9.996, "10.0"),
            (57.44, "57.4"),
            (142.6, "143"),
            (999.7, "1,000"),
            (1204.0, "1,204"),
            (-1_234_567.0, "-1,234,567"),
            (0.001_234_56, "0.00123"),
            (0.5, "0.500"),
            (0.000_1, "1.00e-4"),
            (f64::INFINITY, "infinite"),
            (f64::NAN, "-"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!((significant(249.96, 5), significant(1204.56, 5)), ("249.96".to_owned(), "1,204.6".to_owned()));
    }
}
