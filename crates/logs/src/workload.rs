//! The workload that behaves like a log: one that `offered` runs, simulates and plans.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use offered_model::arrivals::{Batch, Process, Profile};
use offered_model::workload::{Closed, Draft, Length, Opening, Request, Sessions, Target};
use offered_model::{Law, Nanos, Schedule, System, Template, Workload, Wrong};

use crate::findings::Findings;
use crate::lengths::sorted;
use crate::shares::{equal_shares, whole};
use crate::think::{FITS, Think};

/// Values of an empirical law or of empirical lengths, written at most.
const VALUES: usize = 200;
/// Labels written at most; the rarest beyond are left out.
const LABELS: usize = 1000;

impl Findings {
    /// The text of [`workload`](Self::workload), with what a reader must know above it.
    ///
    /// # Errors
    /// As there.
    pub fn workload_text(&self, model: System) -> Result<String, Wrong> {
        Ok(format!(
            "# Written by `offered logs`: {} requests in {} sessions, {} to {}.\n\
             # Where to send it is not in the log: change target.url.\n{}",
            self.figures.lines,
            self.figures.sessions,
            self.figures.first,
            self.figures.last,
            self.workload(model)?
        ))
    }

    /// A workload of this system model with this log's rates, lengths, think times and requests, to a server on this machine.
    ///
    /// # Errors
    /// A log without anything that can be asked again.
    pub fn workload(&self, model: System) -> Result<Workload, Wrong> {
        let starts = &self.figures.session_starts;
        let block = Nanos::from_secs(starts.block_s);
        let poisson = |factor: f64| {
            let counts: Vec<f64> = starts.profile.iter().map(|count| f64::from(*count) * factor).collect();
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
            ..Draft::new(sessions, block * starts.profile.len() as u64)
        })
    }

    /// How long sessions are: geometric where that fits, else as recorded.
    ///
    /// # Errors
    /// None that a log with sessions can bring about.
    pub fn length(&self) -> Result<Length, Wrong> {
        if self.figures.stay_fit.distance <= FITS {
            return Length::geometric(self.figures.stay);
        }
        let lengths = sorted(&self.all);
        let sample = lengths.iter().map(|length| (*length as f64, 1));
        let values = whole(&equal_shares(sample, lengths.len().min(VALUES)));
        Length::empirical(values.iter().map(|length| u32::try_from(*length).unwrap_or(u32::MAX)).collect())
    }

    /// The law of think times for a workload: the fitted one where it fits, else the recorded ones.
    pub fn think(&self) -> Law {
        let recorded = || {
            let sample = self.thinks.iter().map(|bin| (bin.mean, bin.count));
            let count = self.figures.think_s.as_ref().map_or(0, |think| think.count);
            Law::empirical(equal_shares(sample, (count as usize).clamp(1, VALUES))).ok()
        };
        let fitted =
            self.figures.think_s.as_ref().filter(|think| Think::fits(think)).and_then(|think| think.fit.clone());
        // Without sessions of two requests, or with all of their gaps zero, nobody thinks.
        fitted.or_else(recorded).unwrap_or_else(|| Law::constant(0.0).expect("zero is a constant"))
    }

    /// What can be asked again without changing anything, by how often it was; where nothing can, `/`.
    fn requests(&self) -> Result<Vec<Request>, Wrong> {
        // Names that differ in what cannot be printed are one.
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut sendable: Vec<(&'static str, String, &str, u64)> = Vec::new();
        for (name, label) in self.labels.ranked() {
            let Some(method) = ["GET", "HEAD"].into_iter().find(|method| name.split(' ').next() == Some(method)) else {
                continue;
            };
            match known.entry(name.clone()) {
                Entry::Occupied(at) => sendable[*at.get()].3 += label.count,
                Entry::Vacant(at) if sendable.len() < LABELS => {
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
