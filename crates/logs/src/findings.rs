//! Findings: what a log says about its site, as the report and the JSON document show it.

use serde::Serialize;

use crate::choose::{Evidence, Recommendation};
use crate::curve::{Curve, Point};
use crate::error::Error;
use crate::gaps::Bin;
use crate::labels::Labels;
use crate::lengths::{Geometric, Lengths, sorted};
use crate::options::{Dropped, Options};
use crate::read::Tally;
use crate::sessions::Session;
use crate::starts::{Concurrency, Starts};
use crate::think::{FITS, Think};
use crate::time;

/// What a log says about its site; serializes as the document `offered.logs/1`.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// `offered.logs/1`.
    pub schema: &'static str,
    /// Requests that count.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Lines left out, by the option that did it.
    pub left_out: Vec<(&'static str, u64)>,
    /// Clients.
    pub clients: u64,
    /// One in how many clients was followed; above 1 all counts of clients and sessions are those of the sample times this.
    pub followed_one_in: u64,
    /// The first instant, ISO 8601 in UTC.
    pub first: String,
    /// The last.
    pub last: String,
    /// tau.
    pub timeout_s: u64,
    /// Sessions at tau.
    pub sessions: u64,
    /// How long they are.
    pub requests_per_session: Lengths,
    /// The stay probability of the geometric law with that mean.
    pub stay: f64,
    /// How well that law fits.
    pub stay_fit: Geometric,
    /// The think times within sessions.
    pub think_s: Option<Think>,
    /// The curve over tau.
    pub sessions_by_timeout: Vec<Point>,
    /// When sessions start.
    pub session_starts: Starts,
    /// Sessions in progress.
    pub concurrency: Concurrency,
    /// C2 of service times where the log has them, else of bytes.
    pub scv: Option<f64>,
    /// What `scv` is of.
    pub scv_of: Option<&'static str>,
    /// Without the parts of pages, where those are in.
    pub pages_only: Option<Pages>,
    /// The system model to use.
    pub recommendation: Recommendation,
    /// Doubts.
    pub warnings: Vec<String>,
    /// The first unreadable lines, `file:line: why`.
    #[serde(skip)]
    pub complaints: Vec<String>,
    /// Requests by label, where wanted.
    #[serde(skip)]
    pub labels: Labels,
    /// The sessions in order of their starts.
    #[serde(skip)]
    pub all: Vec<Session>,
    /// The think times in cells.
    #[serde(skip)]
    pub thinks: Vec<Bin>,
    /// The first and the last instant in nanoseconds since the epoch.
    #[serde(skip)]
    pub span: (i64, i64),
}

/// What is left without the parts of pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pages {
    /// Requests.
    pub lines: u64,
    /// Sessions at the same tau.
    pub sessions: u64,
    /// Requests over sessions.
    pub requests_per_session: f64,
    /// C2, of what the whole log's is of.
    pub scv: Option<f64>,
}

impl Findings {
    /// What `tally`, read with `options` and sessions that end after `timeout_s`, says.
    ///
    /// # Errors
    /// A tally without a request that counts.
    pub fn of(mut tally: Tally, options: &Options, timeout_s: u64) -> Result<Self, Error> {
        let Some(span) = tally.span else {
            let left_out: u64 = tally.dropped.iter().sum();
            return Err(Error::Empty(format!(
                "{} lines could not be read, {left_out} were left out",
                tally.unreadable
            )));
        };
        let (mut labels, complaints) = (std::mem::take(&mut tally.labels), std::mem::take(&mut tally.complaints));
        labels.settle();
        let (lines, unreadable, dropped, tick) = (tally.lines, tally.unreadable, tally.dropped, tally.tick);
        // With durations C2 is of what the paper means; sizes stand in for it.
        let scv = tally.durations.scv().map(|scv| (scv, "service times"));
        let scv = scv.or_else(|| Some((tally.sizes.scv()?, "bytes, standing in for service times")));
        let pages_scv = tally.page_durations.scv().or_else(|| tally.page_sizes.scv());
        let sessions = tally.sessions();
        let one_in = sessions.one_in();
        let all = sessions.all();
        if all.is_empty() {
            return Err(Error::Empty("--max-clients is so small that none was followed".to_owned()));
        }
        let lengths = sorted(&all);
        let curve = Curve::new(&sessions);
        let thinks = sessions.gaps().within(timeout_s);
        let think = Think::of(&thinks, tick as f64 / 1e9);
        let requests_per_session = Lengths::of(&lengths);
        let stay_fit = Geometric::of(&lengths);
        let session_starts = Starts::of(&all, span, tick, one_in);
        let concurrency = Concurrency::of(&all, span, one_in);
        let pages_only = (!options.filters.pages_only).then(|| {
            let (pages, sessions) = sessions.pages();
            let requests_per_session = pages as f64 / sessions.max(1) as f64;
            Pages { lines: pages * one_in, sessions: sessions * one_in, requests_per_session, scv: pages_scv }
        });
        let other = [timeout_s / 3, timeout_s * 2].map(|tau| tau.clamp(1, crate::gaps::LONGEST));
        let recommendation = Recommendation::of(&Evidence {
            requests_per_session: requests_per_session.mean,
            at_timeouts: other.map(|tau| (tau, curve.at(tau).requests_per_session)).to_vec(),
            pages_only: pages_only
                .filter(|pages| pages.sessions > 0)
                .map(|pages| (pages.requests_per_session, pages.scv)),
            scv,
            peak: concurrency.peak,
        });
        let mut findings = Self {
            schema: "offered.logs/1",
            lines,
            unreadable,
            left_out: Dropped::ALL
                .iter()
                .map(|(why, name)| (*name, dropped[*why as usize]))
                .filter(|(_, n)| *n > 0)
                .collect(),
            clients: sessions.clients() as u64 * one_in,
            followed_one_in: one_in,
            first: time::text(span.0),
            last: time::text(span.1),
            timeout_s,
            sessions: all.len() as u64 * one_in,
            stay: stay_fit.stay,
            requests_per_session,
            stay_fit,
            think_s: think,
            sessions_by_timeout: curve.points(),
            session_starts,
            concurrency,
            scv: scv.map(|(scv, _)| scv),
            scv_of: scv.map(|(_, of)| of),
            pages_only,
            recommendation,
            warnings: Vec::new(),
            complaints,
            labels,
            all,
            thinks,
            span,
        };
        findings.warnings = findings.doubts(tick, sessions.late(), options.most_clients);
        Ok(findings)
    }

    fn doubts(&self, tick: i64, late: u64, most: usize) -> Vec<String> {
        let mut doubts = Vec::new();
        if tick >= time::SECOND {
            doubts.push("stamps are whole seconds: gaps are right to within a second, and order and bunches within one are lost; log milliseconds to see them".to_owned());
        }
        if self.unreadable > 0 {
            let share = 100.0 * self.unreadable as f64 / (self.lines + self.unreadable) as f64;
            doubts.push(format!(
                "{} lines could not be read ({share:.1} %); name the format with --format if it was mistaken",
                self.unreadable
            ));
        }
        if late > 0 {
            doubts.push(format!("{late} requests stand more than {} lines from their place and count as simultaneous with their client's latest; sort the log by time", crate::part::WINDOW));
        }
        if self.followed_one_in > 1 {
            doubts.push(format!(
                "there are more than {most} clients: one in {one_in} was followed, and the counts of clients and sessions are those of this sample times {one_in}, the dispersion of starts nearer to Poisson than the site's; raise --max-clients, or leave scanners out with --path or --no-robots",
                one_in = self.followed_one_in
            ));
        }
        if let Some(names) = self.labels.joined_beyond() {
            doubts.push(format!("there were more than 65535 labels: of directories with more than {names} names all became :any; group URLs with --label REGEX=NAME"));
        }
        if self.span.1 - self.span.0 < 4 * self.timeout_s as i64 * time::SECOND {
            doubts.push(format!("the log spans less than four timeouts of {} s: sessions cut off at its ends count as whole and bias their length; use a longer log", self.timeout_s));
        }
        if self.stay_fit.distance > FITS {
            doubts.push(format!("session lengths are not geometric (distance {:.2}): one stay probability does not describe them; a workload gets the recorded lengths", self.stay_fit.distance));
        }
        if self.think_s.as_ref().is_some_and(|think| !think.fits()) {
            doubts.push("no law has both the form and the CoV of the think times; a workload gets the recorded ones, averaged over 200 equal shares".to_owned());
        }
        doubts
    }
}
