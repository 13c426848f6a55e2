//! Numbers for people: a handful of digits, with a unit that suits the size.

/// With four significant digits, or as many as the whole part has.
pub(super) fn figure(x: f64) -> String {
    if x.is_infinite() {
        return "infinite".to_owned();
    }
    let whole = if x == 0.0 { 1 } else { x.abs().log10().floor() as i32 + 1 };
    format!("{x:.*}", (4 - whole).clamp(0, 6) as usize)
}

/// A time in the unit that suits it.
pub(super) fn time(seconds: f64) -> String {
    match seconds {
        0.0 => "0 s".to_owned(),
        f64::INFINITY => "infinite".to_owned(),
        s if s >= 1.0 => format!("{} s", figure(s)),
        s if s >= 1e-3 => format!("{} ms", figure(s * 1e3)),
        s => format!("{} us", figure(s * 1e6)),
    }
}

/// A rate.
pub(super) fn rate(per_second: f64) -> String {
    format!("{}/s", figure(per_second))
}

/// A share in percent.
pub(super) fn percent(share: f64) -> String {
    format!("{} %", figure(share * 100.0))
}
