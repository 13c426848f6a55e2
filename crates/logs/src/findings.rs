//! Findings: what a log says about its site, as the report and the JSON document show it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choose::{Otherwise, PaperRule, Recommendation, rule};
use crate::curve::{Curve, Point};
use crate::error::Error;
use crate::gaps::Bin;
use crate::labels::Labels;
use crate::lengths::{Geometric, Lengths, sorted};
use crate::options::{Dropped, Options, ServiceFrom};
use crate::read::Tally;
use crate::sessions::Session;
use crate::starts::{Concurrency, Starts};
use crate::think::{FITS, Think};
use crate::time;

/// What a log says about its site, in figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// Requests that count.
    pub lines: u64,
    /// Lines that could not be read.
    pub unreadable: u64,
    /// Clients.
    pub clients: u64,
    /// One in how many clients was followed; above 1 all counts of clients and sessions are those of the sample times this.
    pub followed_one_in: u64,
    /// The first instant, ISO 8601 in UTC.
    pub first: String,
    /// The last.
    pub last: String,
    /// tau: a client who is silent for longer has begun another session.
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
    /// C2 of service times, as far as the log tells or is taken to tell it.
    pub scv: Option<f64>,
    /// What `scv` is of.
    pub scv_of: Option<ServiceFrom>,
    /// C2 of bytes, whatever it may stand for.
    pub bytes_scv: Option<f64>,
    /// Without the parts of pages, where those are in.
    pub pages_only: Option<Pages>,
    /// What the rule of the paper would say.
    pub paper_rule: PaperRule,
}

/// What a log says about its site.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Its figures.
    pub figures: Figures,
    /// Lines left out, by the filter that did it.
    pub left_out: Vec<(Dropped, u64)>,
    /// The system model to use; as long as the models were not compared, partly-open.
    pub recommendation: Recommendation,
    /// What to doubt.
    pub doubts: Vec<Doubt>,
    /// The first unreadable lines, `file:line: why`.
    pub complaints: Vec<String>,
    /// Requests by label, where wanted.
    pub labels: Labels,
    /// The sessions in order of their starts.
    pub all: Vec<Session>,
    /// The think times in cells.
    pub thinks: Vec<Bin>,
    /// The first and the last instant in nanoseconds since the epoch.
    pub span: (i64, i64),
}

/// A doubt about what a log says.
#[derive(Clone, Debug, PartialEq)]
pub enum Doubt {
    /// Stamps are whole seconds.
    WholeSeconds,
    /// Lines that could not be read, and their part of all in per cent.
    Unreadable {
        /// How many.
        lines: u64,
        /// Of all, in per cent.
        percent: f64,
    },
    /// Requests too far from their place in the log to be put there.
    Late {
        /// How many.
        requests: u64,
        /// Within so many lines they would have been.
        window: usize,
    },
    /// There are too many clients to follow them all.
    Sampled {
        /// More than this.
        most: usize,
        /// One in so many is followed.
        one_in: u64,
    },
    /// There were so many labels that directories with more names than this became one.
    JoinedLabels {
        /// The limit.
        names: usize,
    },
    /// The log spans less than four timeouts.
    Short {
        /// The timeout.
        timeout_s: u64,
    },
    /// Session lengths are this far from geometric.
    NotGeometric {
        /// The largest distance of the distributions.
        distance: f64,
    },
    /// No law has both the form and the CoV of the think times.
    NoThinkLaw,
    /// All requests come from one client.
    OneClient,
    /// There are fewer sessions than [`FEWEST_SESSIONS`].
    Few {
        /// How many.
        sessions: u64,
    },
}

/// Of fewer sessions nothing is known of their lengths, of think times, or of how they begin.
const FEWEST_SESSIONS: u64 = 100;

/// What is left without the parts of pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
            let left_out = tally.dropped.iter().sum();
            return Err(Error::Empty { unreadable: tally.unreadable, left_out });
        };
        let (mut labels, complaints) = (std::mem::take(&mut tally.labels), std::mem::take(&mut tally.complaints));
        labels.settle();
        let (lines, unreadable, dropped, tick) = (tally.lines, tally.unreadable, tally.dropped, tally.tick);
        // With durations C2 is of what the paper means; sizes stand in for it only where somebody says so.
        let bytes_scv = tally.sizes.scv();
        let (scv, pages_scv) = match options.service_from {
            ServiceFrom::Durations => (tally.durations.scv(), tally.page_durations.scv()),
            ServiceFrom::Bytes => (bytes_scv, tally.page_sizes.scv()),
        };
        let sessions = tally.sessions();
        let one_in = sessions.one_in();
        let all = sessions.all();
        if all.is_empty() {
            return Err(Error::NoneFollowed);
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
        let otherwise = |timeout_s: u64, requests_per_session: f64, scv| Otherwise {
            timeout_s,
            requests_per_session,
            model: rule(requests_per_session, scv),
        };
        let other = [timeout_s / 3, timeout_s * 2].map(|tau| tau.clamp(1, crate::gaps::LONGEST));
        let paper_rule = PaperRule {
            at_timeouts: other.map(|tau| otherwise(tau, curve.at(tau).requests_per_session, scv)).to_vec(),
            pages_only: pages_only
                .filter(|pages| pages.sessions > 0)
                .map(|pages| otherwise(timeout_s, pages.requests_per_session, pages.scv)),
            ..PaperRule::of(requests_per_session.mean, scv)
        };
        let recommendation = Recommendation::by(requests_per_session.mean, &[]);
        let figures = Figures {
            lines,
            unreadable,
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
            scv,
            scv_of: scv.map(|_| options.service_from),
            bytes_scv,
            pages_only,
            paper_rule,
        };
        let mut findings = Self {
            figures,
            left_out: Dropped::ALL.iter().map(|why| (*why, dropped[*why as usize])).filter(|(_, n)| *n > 0).collect(),
            recommendation,
            doubts: Vec::new(),
            complaints,
            labels,
            all,
            thinks,
            span,
        };
        findings.doubts = findings.doubts_of(tick, sessions.late(), options.most_clients);
        Ok(findings)
    }

    fn doubts_of(&self, tick: i64, late: u64, most: usize) -> Vec<Doubt> {
        let percent = 100.0 * self.figures.unreadable as f64 / (self.figures.lines + self.figures.unreadable) as f64;
        let short = self.span.1 - self.span.0 < 4 * self.figures.timeout_s as i64 * time::SECOND;
        let no_law = self.figures.think_s.as_ref().is_some_and(|think| !think.fits());
        let joined = self.labels.joined_beyond();
        let doubts = [
            (tick >= time::SECOND).then_some(Doubt::WholeSeconds),
            (self.figures.unreadable > 0).then_some(Doubt::Unreadable { lines: self.figures.unreadable, percent }),
            (late > 0).then_some(Doubt::Late { requests: late, window: crate::part::WINDOW }),
            (self.figures.followed_one_in > 1).then_some(Doubt::Sampled { most, one_in: self.figures.followed_one_in }),
            joined.map(|names| Doubt::JoinedLabels { names }),
            short.then_some(Doubt::Short { timeout_s: self.figures.timeout_s }),
            (self.figures.stay_fit.distance > FITS)
                .then_some(Doubt::NotGeometric { distance: self.figures.stay_fit.distance }),
            no_law.then_some(Doubt::NoThinkLaw),
            (self.figures.clients == 1).then_some(Doubt::OneClient),
            (self.figures.sessions < FEWEST_SESSIONS).then_some(Doubt::Few { sessions: self.figures.sessions }),
        ];
        doubts.into_iter().flatten().collect()
    }
}
