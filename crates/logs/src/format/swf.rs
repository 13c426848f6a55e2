//! Reads job logs in the Standard Workload Format. A job is a request at its submit time with its run time as work; the
//! number of processors is its path.

use std::io::Write as _;

use crate::swf::Job;

use crate::entry::Entry;
use crate::time::SECOND;

/// Fields that can identify users, with their indices.
pub(crate) const FIELDS: [(&str, usize); 5] =
    [("user", 11), ("group", 12), ("executable", 13), ("queue", 14), ("partition", 15)];

/// Parser state.
#[derive(Clone, Debug, Default)]
pub struct Swf {
    /// `UnixStartTime` of the log in seconds.
    start: i64,
    /// Index of the field that identifies users.
    user: Option<usize>,
    /// Buffer for the path.
    path: Vec<u8>,
}

impl Swf {
    /// Creates a parser; `user` is the index of the field that identifies users.
    pub(crate) fn new(user: Option<usize>) -> Self {
        Self { user, ..Self::default() }
    }

    pub(crate) fn parse<'a>(&'a mut self, line: &'a [u8]) -> Result<Option<Entry<'a>>, &'static str> {
        let line = std::str::from_utf8(line).map_err(|_| "the line is not UTF-8")?;
        if let Some(head) = line.strip_prefix(';') {
            if let Some(start) = head.trim().strip_prefix("UnixStartTime:") {
                self.start = start.trim().parse().unwrap_or(0);
            }
            return Ok(None);
        }
        let Some(job) = Job::parse(line)? else { return Ok(None) };
        let since = job.submit.ok_or("the submit time is unknown")?;
        let nanos = |seconds: f64| (seconds * SECOND as f64).round();
        let time = nanos(since) + self.start as f64 * SECOND as f64;
        if time >= i64::MAX as f64 {
            return Err("the submit time is out of range");
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
