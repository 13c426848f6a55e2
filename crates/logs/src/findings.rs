//! Results of a log analysis, for the report and the JSON document.

use serde::{Deserialize, Serialize};

use crate::choose::{PaperRule, Recommendation, RuleResult, model_by_rule};
use crate::curve::{Curve, Point};
use crate::error::Error;
use crate::gaps::Bin;
use crate::labels::Labels;
use crate::lengths::{GeometricFit, SessionLengths, sorted};
use crate::options::{Exclusion, Options, ServiceSource};
use crate::read::Tally;
use crate::sessions::Session;
use crate::starts::{Concurrency, SessionStarts};
use crate::think::{MAX_DISTANCE, ThinkTimes};
use crate::time;

/// Figures of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Number of requests, without excluded ones.
    pub requests: u64,
    /// Number of lines that could not be parsed.
    pub unreadable_lines: u64,
    /// Number of clients.
    pub clients: u64,
    /// One in this number of clients was sampled. Above 1, counts of clients and sessions are multiplied by this
    /// number.
    pub sampled_one_in: u64,
    /// Time of the first request, ISO 8601 in UTC.
    pub first_time: String,
    /// Time of the last request, ISO 8601 in UTC.
    pub last_time: String,
    /// Session timeout tau in seconds: a longer pause of a client starts a new session.
    pub timeout_s: u64,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of requests per session.
    pub requests_per_session: SessionLengths,
    /// Stay probability of the geometric distribution with the same mean.
    pub stay_probability: f64,
    /// Fit of that geometric distribution.
    pub geometric_fit: GeometricFit,
    /// Think times within sessions; `null` if all sessions have one request.
    pub think_time: Option<ThinkTimes>,
    /// Number of sessions at other timeouts.
    pub sessions_by_timeout: Vec<Point>,
    /// Session starts.
    pub session_starts: SessionStarts,
    /// Concurrent sessions.
    pub concurrency: Concurrency,
    /// Squared coefficient of variation of the service times, measured from `scv_source`; `null` if unknown.
    pub scv: Option<f64>,
    /// Source of `scv`.
    pub scv_source: Option<ServiceSource>,
    /// Squared coefficient of variation of the response sizes.
    pub bytes_scv: Option<f64>,
    /// Figures without page assets; `null` if assets are excluded anyway.
    pub pages_only: Option<PagesOnly>,
    /// Result of the rule of Schroeder et al. (2006).
    pub paper_rule: PaperRule,
}

/// Results of a log analysis.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The figures of the log: requests, sessions, gaps and think times.
    pub figures: Figures,
    /// Number of excluded lines, by filter.
    pub excluded: Vec<(Exclusion, u64)>,
    /// Recommended system model; partly-open until the models have been compared.
    pub recommendation: Recommendation,
    /// Warnings.
    pub warnings: Vec<LogWarning>,
    /// The first lines that could not be parsed, as `file:line: reason`.
    pub parse_errors: Vec<String>,
    /// Requests by label; empty unless labels were requested.
    pub labels: Labels,
    /// Sessions in order of their starts.
    pub sessions: Vec<Session>,
    /// Histogram of the think times.
    pub think_time_bins: Vec<Bin>,
    /// Times of the first and the last request in nanoseconds since the epoch.
    pub span: (i64, i64),
}

/// A warning about a log.
#[derive(Clone, Debug, PartialEq)]
pub enum LogWarning {
    /// Timestamps are whole seconds.
    WholeSeconds,
    /// Some lines could not be parsed.
    Unreadable {
        /// Number of lines.
        lines: u64,
        /// Percentage of all lines.
        percent: f64,
    },
    /// Some requests are too far out of order to be sorted.
    OutOfOrder {
        /// Number of requests.
        requests: u64,
        /// Number of lines within which requests are sorted.
        window: usize,
    },
    /// There are too many clients, so a sample is analysed.
    Sampled {
        /// Maximum number of clients.
        max_clients: usize,
        /// One in this number of clients is sampled.
        one_in: u64,
    },
    /// There were too many labels, so names in large directories were joined.
    JoinedLabels {
        /// Number of names above which a directory's names are joined.
        names: usize,
    },
    /// The log spans less than four timeouts.
    Short {
        /// Session timeout in seconds.
        timeout_s: u64,
    },
    /// Session lengths are not geometric.
    NotGeometric {
        /// Maximum distance of the distribution functions.
        distance: f64,
    },
    /// No distribution fits the think times in form and CoV.
    NoThinkDistribution,
    /// All requests come from one client.
    OneClient,
    /// There are fewer sessions than [`FEWEST_SESSIONS`].
    FewSessions {
        /// Number of sessions.
        sessions: u64,
    },
}

/// Minimum number of sessions for reliable estimates.
const FEWEST_SESSIONS: u64 = 100;

/// Figures without page assets (images, styles, scripts).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PagesOnly {
    /// Number of requests.
    pub requests: u64,
    /// Number of sessions with the same timeout.
    pub sessions: u64,
    /// Mean number of requests per session.
    pub requests_per_session: f64,
    /// Squared coefficient of variation of service times, from the same source as for the whole log.
    pub scv: Option<f64>,
}

impl Findings {
    /// Computes the results from `tally`, which was read with `options` and the session timeout `timeout_s`.
    ///
    /// # Errors
    /// The tally contains no request, or no client is in the sample.
    pub fn of(mut tally: Tally, options: &Options, timeout_s: u64) -> Result<Self, Error> {
        let Some(span) = tally.span else {
            let excluded = tally.excluded.iter().sum();
            return Err(Error::Empty { unreadable: tally.unreadable_lines, excluded });
        };
        let (mut labels, parse_errors) = (std::mem::take(&mut tally.labels), std::mem::take(&mut tally.parse_errors));
        labels.limit();
        let (requests, unreadable_lines, counts, tick) =
            (tally.requests, tally.unreadable_lines, tally.excluded, tally.tick);
        // The paper's C2 is that of durations; sizes replace them only on request.
        let bytes_scv = tally.sizes.scv();
        let (scv, pages_scv) = match options.service_source {
            ServiceSource::Durations => (tally.durations.scv(), tally.page_durations.scv()),
            ServiceSource::Bytes => (bytes_scv, tally.page_sizes.scv()),
        };
        let sessions = tally.sessions();
        let one_in = sessions.one_in();
        let all = sessions.all();
        if all.is_empty() {
            return Err(Error::NoSampledClient);
        }
        let lengths = sorted(&all);
        let curve = Curve::new(&sessions);
        let think_time_bins = sessions.gaps().within(timeout_s);
        let think = ThinkTimes::of(&think_time_bins, tick as f64 / 1e9);
        let requests_per_session = SessionLengths::of(&lengths);
        let geometric_fit = GeometricFit::of(&lengths);
        let session_starts = SessionStarts::of(&all, span, tick, one_in);
        let concurrency = Concurrency::of(&all, span, one_in);
        let pages_only = (!options.filters.pages_only).then(|| {
            let (pages, sessions) = sessions.pages();
            let requests_per_session = pages as f64 / sessions.max(1) as f64;
            PagesOnly { requests: pages * one_in, sessions: sessions * one_in, requests_per_session, scv: pages_scv }
        });
        let paper_rule = PaperRule {
            at_timeouts: rule_at_other_timeouts(timeout_s, &curve, scv),
            pages_only: pages_only
                .filter(|pages| pages.sessions > 0)
                .map(|pages| rule_result(timeout_s, pages.requests_per_session, pages.scv)),
            ..PaperRule::of(requests_per_session.mean, scv)
        };
        let recommendation = Recommendation::by(requests_per_session.mean, &[]);
        let figures = Figures {
            requests,
            unreadable_lines,
            clients: sessions.clients() as u64 * one_in,
            sampled_one_in: one_in,
            first_time: time::text(span.0),
            last_time: time::text(span.1),
            timeout_s,
            sessions: all.len() as u64 * one_in,
            stay_probability: geometric_fit.stay_probability,
            requests_per_session,
            geometric_fit,
            think_time: think,
            sessions_by_timeout: curve.points(),
            session_starts,
            concurrency,
            scv,
            scv_source: scv.map(|_| options.service_source),
            bytes_scv,
            pages_only,
            paper_rule,
        };
        let mut findings = Self {
            figures,
            excluded: Exclusion::ALL.iter().map(|why| (*why, counts[*why as usize])).filter(|(_, n)| *n > 0).collect(),
            recommendation,
            warnings: Vec::new(),
            parse_errors,
            labels,
            sessions: all,
            think_time_bins,
            span,
        };
        findings.warnings = findings.find_warnings(tick, sessions.out_of_order(), options.max_clients);
        Ok(findings)
    }

    fn find_warnings(&self, tick: i64, out_of_order: u64, max_clients: usize) -> Vec<LogWarning> {
        let percent = 100.0 * self.figures.unreadable_lines as f64
            / (self.figures.requests + self.figures.unreadable_lines) as f64;
        let short = self.span.1 - self.span.0 < 4 * self.figures.timeout_s as i64 * time::SECOND;
        let no_distribution = self.figures.think_time.as_ref().is_some_and(|think| !think.fits());
        let joined = self.labels.joined_above();
        let warnings = [
            (tick >= time::SECOND).then_some(LogWarning::WholeSeconds),
            (self.figures.unreadable_lines > 0)
                .then_some(LogWarning::Unreadable { lines: self.figures.unreadable_lines, percent }),
            (out_of_order > 0)
                .then_some(LogWarning::OutOfOrder { requests: out_of_order, window: crate::part::WINDOW }),
            (self.figures.sampled_one_in > 1)
                .then_some(LogWarning::Sampled { max_clients, one_in: self.figures.sampled_one_in }),
            joined.map(|names| LogWarning::JoinedLabels { names }),
            short.then_some(LogWarning::Short { timeout_s: self.figures.timeout_s }),
            (self.figures.geometric_fit.distance > MAX_DISTANCE)
                .then_some(LogWarning::NotGeometric { distance: self.figures.geometric_fit.distance }),
            no_distribution.then_some(LogWarning::NoThinkDistribution),
            (self.figures.clients == 1).then_some(LogWarning::OneClient),
            (self.figures.sessions < FEWEST_SESSIONS)
                .then_some(LogWarning::FewSessions { sessions: self.figures.sessions }),
        ];
        warnings.into_iter().flatten().collect()
    }
}

/// The rule for a session timeout, with the mean number of requests per session that it gives.
fn rule_result(timeout_s: u64, requests_per_session: f64, scv: Option<f64>) -> RuleResult {
    RuleResult { timeout_s, requests_per_session, model: model_by_rule(requests_per_session, scv) }
}

/// The rule for a third and for twice the session timeout.
fn rule_at_other_timeouts(timeout_s: u64, curve: &Curve, scv: Option<f64>) -> Vec<RuleResult> {
    let timeouts = [timeout_s / 3, timeout_s * 2].map(|tau| tau.clamp(1, crate::gaps::LONGEST));
    timeouts.map(|tau| rule_result(tau, curve.at(tau).requests_per_session, scv)).to_vec()
}
