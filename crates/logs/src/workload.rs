//! The workload that behaves like a log: a TOML text that `offered` runs, simulates and plans.

use std::fmt::Write as _;

use offered_model::{Law, Nanos};

use crate::findings::Findings;
use crate::labels::Label;
use crate::lengths::sorted;
use crate::think::{FITS, equal_shares};

/// Values of an empirical law or of empirical lengths, written at most.
const VALUES: usize = 200;
/// Labels written at most; the rarest beyond are left out.
const LABELS: usize = 1000;

impl Findings {
    /// A workload of system model `model` (`open`, `partly-open` or `closed`) with this log's rates, lengths, think times and
    /// requests.
    pub fn workload(&self, model: &str) -> String {
        let starts = &self.session_starts;
        let block = Nanos::from_secs(starts.block_s);
        let duration = block * starts.profile.len() as u64;
        let profile = |factor: f64| {
            let counts: Vec<String> =
                starts.profile.iter().map(|count| format!("{}", f64::from(*count) * factor)).collect();
            format!("{{ counts = [{}], interval = \"{block}\" }}", counts.join(", "))
        };
        let mut text = format!(
            "# Written by `offered logs`: {} requests in {} sessions, {} to {}.\nseed = 1\nduration = \"{duration}\"\n\n[arrivals]\n",
            self.lines, self.sessions, self.first, self.last
        );
        let think = self.think();
        let arrivals = match model {
            "open" => format!("open = {{ rate = {} }}", profile(self.requests_per_session.mean)),
            "closed" => {
                let users = self.concurrency.mean.round().max(1.0);
                format!("closed = {{ users = {users}, think = {think} }}")
            }
            _ => format!("partly_open = {{ rate = {}, {}, think = {think} }}", profile(1.0), self.length()),
        };
        let _ = writeln!(text, "{arrivals}\n\n[target]\nurl = \"http://127.0.0.1:8080\"   # where to send it");
        text.push_str(&self.requests());
        text
    }

    /// A geometric length where it fits, else the recorded ones (or as many of them as say the same).
    fn length(&self) -> String {
        if self.stay_fit.distance <= FITS {
            return format!("stay = {}", self.stay);
        }
        let lengths = sorted(&self.all);
        let n = lengths.len().min(VALUES);
        let at = |i: usize| lengths[(2 * i + 1) * lengths.len() / (2 * n)].to_string();
        format!("length = {{ empirical = [{}] }}", (0..n).map(at).collect::<Vec<_>>().join(", "))
    }

    /// The fitted law, or the quantiles where none fits.
    fn think(&self) -> Law {
        let fitted = self.think_s.as_ref().filter(|think| think.law_distance.is_some_and(|distance| distance <= FITS));
        let fitted = fitted.and_then(|think| think.fit.clone());
        let quantiles = || Law::empirical(equal_shares(&self.thinks, VALUES)).ok();
        let nothing = || Law::constant(0.0).expect("zero is a constant");
        // A median of zero and a few long pauses leave quantiles that are all zero: then the mean decides.
        let mean = || Law::exponential(self.think_s.as_ref()?.mean).ok();
        fitted.or_else(quantiles).or_else(mean).unwrap_or_else(nothing)
    }

    fn requests(&self) -> String {
        let sendable = |name: &str| ["GET ", "HEAD "].iter().any(|method| name.starts_with(method));
        let ranked: Vec<(String, &Label)> =
            self.labels.ranked().into_iter().filter(|(name, _)| sendable(name)).take(LABELS).collect();
        let mut text = String::new();
        for (name, label) in ranked {
            let method = if name.starts_with("GET") { "get" } else { "head" };
            let _ = write!(
                text,
                "\n[[request]]\nname = \"{name}\"\n{method} = \"{}\"\nweight = {}\n",
                label.example, label.count
            );
        }
        text
    }
}
