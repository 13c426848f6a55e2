//! Builds a workload that behaves like the site of a log.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use offered_base::{InvalidValue, Nanos};
use offered_distributions::Distribution;
use offered_schedule::arrivals::{Batch, Process, Profile};
use offered_schedule::{Length, Opening, Sessions};
use offered_schedule::{Schedule, System};
use offered_workload::{Draft, Request, Target};
use offered_workload::{Template, Workload};

use crate::findings::Findings;
use crate::lengths::sorted;
use crate::shares::{quantile_means, round_keeping_sum};
use crate::think::{MAX_DISTANCE, ThinkTimes};
use crate::time::SECOND;

/// Maximum number of values of an empirical distribution.
const MAX_VALUES: usize = 200;
/// Maximum number of requests; the rarest ones are left out.
const MAX_REQUESTS: usize = 1000;

impl Findings {
    /// A workload of [`workload`](Self::workload) as TOML text with an introductory comment.
    pub fn workload_text(&self, workload: &Workload) -> String {
        let model = workload.sessions().system().unwrap_or(System::Open);
        let server = workload.server().map_or_else(String::new, |server| {
            let closed = match model {
                System::Closed => {
                    " and the think time of the users depends on this model: with another server the rate is users / (think + response time)"
                }
                System::Open | System::PartlyOpen => "",
            };
            format!(
                "# [server] is the model with which `offered logs` compared the system models, not the site's server.\n\
                 # `simulate`, `plan solve` and a dry run use it{closed}.\n\
                 # Its discipline here: {}. Delete it if a report should not compare the site with it.\n",
                server.discipline()
            )
        });
        format!(
            "# Written by `offered logs`: {} requests in {} sessions, {} to {}, as {} system.\n\
             # The log does not contain the target: change target.url.\n\
             {server}# With this seed a dry run has the rate of the log.\n{workload}",
            self.figures.requests,
            self.figures.sessions,
            self.figures.first_time,
            self.figures.last_time,
            match model {
                System::Open => "an open",
                System::Closed => "a closed",
                System::PartlyOpen => "a partly-open",
            }
        )
    }

    /// A workload with the sessions and the modelled server of `system`, the log's requests and duration, and the log's rate of
    /// arrivals over time, times `factor`; the target is localhost.
    ///
    /// # Errors
    /// The log does not give a valid workload.
    pub fn workload(&self, system: &Workload, factor: f64) -> Result<Workload, InvalidValue> {
        let (from, to) = self.span;
        let duration = Nanos(to.saturating_sub(from).max(SECOND) as u64);
        let sessions = match system.sessions() {
            Sessions::Open(_) => Sessions::Open(self.arrivals(self.requests_per_block(), factor, duration)?),
            Sessions::PartlyOpen { length, think, .. } => {
                let starts = self.figures.session_starts.starts_per_block.iter().map(|count| f64::from(*count));
                Sessions::PartlyOpen {
                    schedule: self.arrivals(starts.collect(), factor, duration)?,
                    length: length.clone(),
                    think: think.clone(),
                    opening: Opening::Empty,
                }
            }
            others @ (Sessions::Closed(_) | Sessions::Replay(_) | Sessions::Scenarios(_)) => others.clone(),
        };
        Workload::new(Draft {
            target: Some(Target::new("http://127.0.0.1:8080".parse()?)),
            server: system.server().cloned(),
            requests: self.requests()?,
            ..Draft::new(sessions, duration)
        })
    }

    /// Poisson arrivals with `factor` times these expected numbers in each block of the session starts.
    fn arrivals(&self, mut counts: Vec<f64>, factor: f64, duration: Nanos) -> Result<Schedule, InvalidValue> {
        let block = Nanos::from_secs(self.figures.session_starts.block_s);
        // The end cuts off the last block. A short rest counts with the block before.
        let part = duration.0.saturating_sub(block.0 * (counts.len() as u64 - 1));
        if part < block.0 / 10 && counts.len() > 1 {
            let rest = counts.pop().unwrap_or(0.0);
            if let Some(last) = counts.last_mut() {
                *last += rest;
            }
        } else if let Some(last) = counts.last_mut() {
            *last *= block.0 as f64 / part.max(1) as f64;
        }
        for count in &mut counts {
            *count *= factor;
        }
        Schedule::new(Profile::counts(&counts, block)?, Process::Poisson, Batch::Single)
    }

    /// Number of requests in each block. The requests of a session are spread evenly over its duration.
    fn requests_per_block(&self) -> Vec<f64> {
        let starts = &self.figures.session_starts;
        let block = (starts.block_s as i64 * SECOND) as f64;
        let mut counts = vec![0.0; starts.starts_per_block.len()];
        let last = counts.len() - 1;
        for session in &self.sessions {
            let requests = f64::from(session.requests) * self.figures.sampled_one_in as f64;
            let at = |time: i64| time.saturating_sub(self.span.0).max(0) as f64 / block;
            let (from, to) = (at(session.start), at(session.end));
            let (first, end) = ((from as usize).min(last), (to as usize).min(last));
            if first == end {
                counts[first] += requests;
                continue;
            }
            for (place, count) in counts.iter_mut().enumerate().take(end + 1).skip(first) {
                let inside = to.min(place as f64 + 1.0) - from.max(place as f64);
                *count += requests * inside / (to - from);
            }
        }
        counts
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

    /// Distribution of think times: the fitted distribution if it is close enough, otherwise the empirical one.
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
