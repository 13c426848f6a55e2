//! Shares as percentages, for people.

/// `5 %`, `0.5 %`: a limit as it was set.
pub(crate) fn plain_percent(share: f64) -> String {
    format!("{} %", (share * 1e6).round() / 1e4)
}

/// Two digits: `0.43 %`, `4.3 %`, `43 %`.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 1.0 => format!("{percent:.2} %"),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}
