//! The workload that behaves like a log: a TOML text that `offered` runs, simulates and plans.

use std::fmt::Write as _;

use offered_model::{Law, Nanos};

use crate::choose::Model;
use crate::findings::Findings;
use crate::labels::Label;
use crate::lengths::sorted;
use crate::shares::{equal_shares, whole};
use crate::think::{FITS, Think};

/// Values of an empirical law or of empirical lengths, written at most.
const VALUES: usize = 200;
/// Labels written at most; the rarest beyond are left out.
const LABELS: usize = 1000;

impl Findings {
    /// A workload of this system model with this log's rates, lengths, think times and requests.
    pub fn workload(&self, model: Model) -> String {
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
            Model::Open => format!("open = {{ rate = {} }}", profile(self.requests_per_session.mean)),
            Model::Closed => {
                let users = self.concurrency.mean.round().max(1.0);
                format!("closed = {{ users = {users}, think = {think} }}")
            }
            Model::PartlyOpen => {
                format!("partly_open = {{ rate = {}, {}, think = {think} }}", profile(1.0), self.length())
            }
        };
        let _ = writeln!(text, "{arrivals}\n\n[target]\nurl = \"http://127.0.0.1:8080\"   # where to send it");
        text.push_str(&self.requests());
        text
    }

    /// How long sessions are, as a workload writes it: geometric where that fits, else as recorded.
    pub fn length(&self) -> String {
        if self.stay_fit.distance <= FITS {
            return format!("stay = {}", self.stay);
        }
        let lengths = sorted(&self.all);
        let sample = lengths.iter().map(|length| (*length as f64, 1));
        let values = whole(&equal_shares(sample, lengths.len().min(VALUES)));
        let values: Vec<String> = values.iter().map(u64::to_string).collect();
        format!("length = {{ empirical = [{}] }}", values.join(", "))
    }

    /// The law of think times for a workload: the fitted one where it fits, else the recorded ones.
    pub fn think(&self) -> Law {
        let recorded = || {
            let sample = self.thinks.iter().map(|bin| (bin.mean, bin.count));
            let count = self.think_s.as_ref().map_or(0, |think| think.count);
            Law::empirical(equal_shares(sample, (count as usize).clamp(1, VALUES))).ok()
        };
        let fitted = self.think_s.as_ref().filter(|think| Think::fits(think)).and_then(|think| think.fit.clone());
        // Without sessions of two requests, or with all of their gaps zero, nobody thinks.
        fitted.or_else(recorded).unwrap_or_else(|| Law::constant(0.0).expect("zero is a constant"))
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
