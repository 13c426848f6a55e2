//! Builds a workload that behaves like the site of a log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use offered_base::{InvalidValue, Nanos};
use offered_distributions::Distribution;
use offered_schedule::arrivals::{Batch, Process, Profile};
use offered_schedule::{Closed, Length, Opening, Sessions};
use offered_schedule::{Schedule, System};
use offered_workload::{Draft, Request, Target};
use offered_workload::{Template, Workload};

use crate::findings::Findings;
use crate::lengths::sorted;
use crate::shares::{quantile_means, round_keeping_sum};
use crate::think::{MAX_DISTANCE, ThinkTimes};

/// Maximum number of values of an empirical distribution.
const MAX_VALUES: usize = 200;
/// Maximum number of requests; the rarest ones are left out.
const MAX_REQUESTS: usize = 1000;

impl Findings {
    /// The workload of [`workload`](Self::workload) as TOML text with an introductory comment.
    ///
    /// # Errors
    /// As for [`workload`](Self::workload).
    pub fn workload_text(&self, model: System) -> Result<String, InvalidValue> {
        Ok(format!(
            "# TraceSummary by `offered logs`: {} requests in {} sessions, {} to {}.\n\
             # The log does not contain the target: change target.url.\n{}",
            self.figures.requests,
            self.figures.sessions,
            self.figures.first_time,
            self.figures.last_time,
            self.workload(model)?
        ))
    }

    /// A workload with this system model and the log's rates, session lengths, think times and requests; the target is
    /// localhost.
    ///
    /// # Errors
    /// The log does not give a valid workload.
    pub fn workload(&self, model: System) -> Result<Workload, InvalidValue> {
        let starts = &self.figures.session_starts;
        let block = Nanos::from_secs(starts.block_s);
        let poisson = |factor: f64| {
            let counts: Vec<f64> = starts.starts_per_block.iter().map(|count| f64::from(*count) * factor).collect();
            Schedule::new(Profile::counts(&counts, block)?, Process::Poisson, Batch::Single)
        };
        let sessions = match model {
            System::Open => Sessions::Open(poisson(self.figures.requests_per_session.mean)?),
            System::Closed => {
                Sessions::Closed(Closed::new(self.figures.concurrency.mean.round().max(1.0) as u64, self.think())?)
            }
            System::PartlyOpen => {
                let (length, think) = (self.length()?, self.think());
                Sessions::PartlyOpen { schedule: poisson(1.0)?, length, think, opening: Opening::Empty }
            }
        };
        Workload::new(Draft {
            target: Some(Target::new("http://127.0.0.1:8080".parse()?)),
            requests: self.requests()?,
            ..Draft::new(sessions, block * starts.starts_per_block.len() as u64)
        })
    }

    /// Session lengths: geometric if that fits, else empirical.
    ///
    /// # Errors
    /// Does not occur for logs with sessions.
    pub fn length(&self) -> Result<Length, InvalidValue> {
        if self.figures.geometric_fit.distance <= MAX_DISTANCE {
            return Length::geometric(self.figures.stay_probability);
        }
        let lengths = sorted(&self.sessions);
        let sample = lengths.iter().map(|length| (*length as f64, 1));
        let values = round_keeping_sum(&quantile_means(sample, lengths.len().min(MAX_VALUES)));
        Length::empirical(values.iter().map(|length| u32::try_from(*length).unwrap_or(u32::MAX)).collect())
    }

    /// Distribution of think times: the fitted one if it fits, else empirical.
    pub fn think(&self) -> Distribution {
        let recorded = || {
            let sample = self.think_time_bins.iter().map(|bin| (bin.mean, bin.count));
            let count = self.figures.think_time.as_ref().map_or(0, |think| think.count);
            Distribution::empirical(quantile_means(sample, (count as usize).clamp(1, MAX_VALUES))).ok()
        };
        let fitted = self
            .figures
            .think_time
            .as_ref()
            .filter(|think| ThinkTimes::fits(think))
            .and_then(|think| think.fit.clone());
        // Without sessions of several requests, or if all gaps are zero, the think time is zero.
        fitted.or_else(recorded).unwrap_or_else(|| Distribution::constant(0.0).expect("zero is a constant"))
    }

    /// Safe requests (GET and HEAD) weighted by frequency; only `/` without safe requests.
    fn requests(&self) -> Result<Vec<Request>, InvalidValue> {
        // Names that differ only in unprintable bytes are merged.
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut sendable: Vec<(&'static str, String, &str, u64)> = Vec::new();
        for (name, label) in self.labels.ranked() {
            let Some(method) = ["GET", "HEAD"].into_iter().find(|method| name.split(' ').next() == Some(method)) else {
                continue;
            };
            match known.entry(name.clone()) {
                Entry::Occupied(at) => sendable[*at.get()].3 += label.count,
                Entry::Vacant(at) if sendable.len() < MAX_REQUESTS => {
                    at.insert(sendable.len());
                    sendable.push((method, name, &label.example, label.count));
                }
                Entry::Vacant(_) => {}
            }
        }
        if sendable.is_empty() {
            return Ok(vec![Request::get("/")]);
        }
        let request = |(method, name, example, count): (&str, String, &str, u64)| {
            Ok(Request::new(method, Template::literal(example))?.named(name).with_weight(count as f64))
        };
        sendable.into_iter().map(request).collect()
    }
}
