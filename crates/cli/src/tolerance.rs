//! `--tolerance` and `--strict`: how much of a run's figures may be the generator's own doing.

use std::str::FromStr;

use crate::exit::Failure;
use crate::file;

/// A share of a figure as it is written: `5%`.
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
            "write a share of p50, p95 and p99, as 5%; how far a CoV may be from the one meant is --pattern-tolerance 0.05"
                .to_owned()
        })
    }
}

/// How much of a run's figures may be the generator's own doing.
#[derive(clap::Args, Clone, Copy, Default)]
pub(crate) struct Tolerance {
    /// Believe a run whose launches left otherwise than meant as long as no more than so much of its p50, p95 and p99 can be
    /// the generator's doing [default: the workload's, else 5%]
    #[arg(long, value_name = "PERCENT", help_heading = "Generator")]
    tolerance: Option<Percent>,
    /// Believe only launches that left as meant, whatever they did to the times; the same as --tolerance 0%
    #[arg(long, conflicts_with = "tolerance", help_heading = "Generator")]
    strict: bool,
}

impl Tolerance {
    /// As it is written in a workload, where one is given.
    pub(crate) fn text(self) -> Option<String> {
        let percent = if self.strict { Some(Percent(0.0)) } else { self.tolerance };
        percent.map(|percent| format!("{}%", percent.0))
    }

    /// The text of a workload file with this tolerance.
    pub(crate) fn edit(self, text: &mut String) -> Result<(), Failure> {
        let Some(tolerance) = self.text() else { return Ok(()) };
        // What is no TOML is told by the reader of workloads, in better words.
        if let Ok(mut document) = text.parse() {
            file::table(&mut document, "generator")?["tolerance"] = toml_edit::value(tolerance);
            *text = document.to_string();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tolerance_is_a_percentage_and_never_mistaken_for_another() {
        let fraction = |text: &str| text.parse().map(Percent::fraction);
        assert_eq!((fraction("5%"), fraction("0 %"), fraction("12.5%")), (Ok(0.05), Ok(0.0), Ok(0.125)));
        assert_eq!((fraction("100%"), fraction("250%")), (Ok(1.0), Ok(2.5)));
        for text in ["0.05", "5", "-1%", "inf%", "%", ""] {
            assert!(fraction(text).unwrap_err().contains("--pattern-tolerance 0.05"), "{text}");
        }
    }

    #[test]
    fn a_workload_is_edited_where_it_says_so() {
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
