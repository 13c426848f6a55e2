//! The Standard Workload Format: jobs that users gave to a parallel machine. A job is a request for its processors at the instant it
//! was submitted, and brings its run time as work.

use std::io::Write as _;

use offered_model::swf::Job;

use crate::entry::Entry;
use crate::time::SECOND;

/// The fields that may tell users apart, by their place.
pub(crate) const FIELDS: [(&str, usize); 5] =
    [("user", 11), ("group", 12), ("executable", 13), ("queue", 14), ("partition", 15)];

/// What a reader of jobs remembers between lines.
#[derive(Clone, Debug, Default)]
pub struct Swf {
    /// When the log's time is 0: its `UnixStartTime`, in seconds.
    start: i64,
    /// The place of the field that was asked for.
    user: Option<usize>,
    /// Room for a path.
    path: Vec<u8>,
}

impl Swf {
    /// Of jobs whose users the field at this place tells apart; the user's by default.
    pub(crate) fn new(user: Option<usize>) -> Self {
        Self { user, ..Self::default() }
    }

    pub(crate) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Result<Option<Entry<'a>>, &'static str> {
        let line = std::str::from_utf8(line).map_err(|_| "it is no text")?;
        if let Some(head) = line.strip_prefix(';') {
            if let Some(start) = head.trim().strip_prefix("UnixStartTime:") {
                self.start = start.trim().parse().unwrap_or(0);
            }
            return Ok(None);
        }
        let Some(job) = Job::parse(line)? else { return Ok(None) };
        let since = job.submit.ok_or("its submit time is not known")?;
        let nanos = |seconds: f64| (seconds * SECOND as f64).round();
        let time = nanos(since) + self.start as f64 * SECOND as f64;
        if time >= i64::MAX as f64 {
            return Err("its submit time is beyond all clocks");
        }
        self.path.clear();
        let written = match job.processors() {
            Some(processors) => write!(self.path, "/processors-{processors}"),
            None => write!(self.path, "/processors-unknown"),
        };
        written.expect("a vector takes every byte");
        Ok(Some(Entry {
            time: self.start.saturating_mul(SECOND).saturating_add(nanos(since) as i64),
            client: job.fields[11].as_bytes(),
            user: self.user.map_or("", |field| job.fields[field]).as_bytes(),
            method: b"GET",
            target: &self.path,
            duration: job.run.map(|run| nanos(run) as u64),
            ..Entry::default()
        }))
    }
}
