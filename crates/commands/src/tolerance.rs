//! `--tolerance` and `--strict`: the accepted generator error.

use std::str::FromStr;

use crate::failure::Failure;
use crate::input_file;

/// A percentage, written as `5%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Percent(f64);

impl Percent {
    /// As a fraction.
    pub(crate) fn fraction(self) -> f64 {
        self.0 / 100.0
    }
}

impl FromStr for Percent {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.trim().parse().ok());
        percent.filter(|percent: &f64| *percent >= 0.0 && percent.is_finite()).map(Self).ok_or_else(|| {
            "write a percentage, for example 5%; the tolerance of the CoV is --pattern-tolerance 0.05".to_owned()
        })
    }
}

/// The accepted generator error.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct Tolerance {
    /// Largest part of p50, p95 and p99 that may come from requests sent late [default: 5%]
    #[arg(long, value_name = "PERCENT", help_heading = "Generator")]
    tolerance: Option<Percent>,
    /// Accept no timing error; the same as --tolerance 0%
    #[arg(long, conflicts_with = "tolerance", help_heading = "Generator")]
    strict: bool,
}

impl Tolerance {
    /// The value for the workload file; `None` if neither flag is given.
    pub(crate) fn text(self) -> Option<String> {
        let percent = if self.strict { Some(Percent(0.0)) } else { self.tolerance };
        percent.map(|percent| format!("{}%", percent.0))
    }

    /// Writes the tolerance into the text of a workload file.
    pub(crate) fn edit(self, text: &mut String) -> Result<(), Failure> {
        let Some(tolerance) = self.text() else { return Ok(()) };
        // The workload parser reports invalid TOML with a better message.
        if let Ok(mut document) = text.parse() {
            input_file::table(&mut document, "generator")?["tolerance"] = toml_edit::value(tolerance);
            *text = document.to_string();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_percentage_and_not_a_fraction() {
        let fraction = |text: &str| text.parse().map(Percent::fraction);
        assert_eq!((fraction("5%"), fraction("0 %"), fraction("12.5%")), (Ok(0.05), Ok(0.0), Ok(0.125)));
        assert_eq!((fraction("100%"), fraction("250%")), (Ok(1.0), Ok(2.5)));
        for text in ["0.05", "5", "-1%", "inf%", "%", ""] {
            assert!(fraction(text).unwrap_err().contains("--pattern-tolerance 0.05"), "{text}");
        }
    }

    #[test]
    fn the_tolerance_is_written_into_the_workload() {
        let edited = |text: &str, strict: bool| {
            let mut text = text.to_owned();
            Tolerance { tolerance: Some(Percent(7.0)), strict }.edit(&mut text).unwrap();
            text
        };
        assert_eq!(edited("seed = 1\n", false), "seed = 1\n\n[generator]\ntolerance = \"7%\"\n");
        assert_eq!(edited("generator = { threads = 1 }\n", true), "[generator]\nthreads = 1\ntolerance = \"0%\"\n");
        assert_eq!(edited("no TOML", false), "no TOML");
    }
}
