//! The threshold: a metric of a run and its bound, such as `response.p99 < 250ms`.
//!
//! `[thresholds]` of a workload (metric and bound separate) and an objective (metric and bound together, several with
//! commas) use the same grammar.
//!
//! ```text
//! metric  response.p99  service.mean  lateness.max  errors.rate  throughput.rate  arrivals.rate  arrivals.cov
//!         page.p95  page.errors  objects.p95  objects.errors  checks.failed
//!         visit.p95  visit.duration.p95  visits.success  group.p95  group.duration.p95  groups.success
//!         metric.mean{rows}
//!         ttft.p95  tpot.p95  gap.p99  itl.p99  tokens.rate  goodput.rate  goodput.share
//!         response.ok.p99        of successful requests only; otherwise a failed request has an infinite response time
//!         response.p99{home}     of the requests of one name, step (flow/step) or scenario only
//!         checks.failed{NAME}    of the checks of one name; visit.p95{NAME}: of the visits of one flow; group.p95{NAME}: of one group
//!         p99, mean, max         for response.p99, ...; errors, throughput for errors.rate, throughput.rate
//! bound   < 250ms   <= 0.1%   > 90/s   >= 0.9   0.95..1.05
//! ```

use std::fmt;
use std::str::FromStr;

use offered_base::time::{Nanos, Rate};
use offered_base::{InvalidValue, nearest};

/// A metric and its bound. `Display` writes it as in an objective, without `stop`.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The metric.
    pub metric: Metric,
    /// The limit.
    pub bound: Bound,
    /// The run stops if the threshold fails this time after `skip_first` or later; `None`: it never stops the run.
    pub stop: Option<Nanos>,
}

/// A metric of a run. `Display` writes it as in a workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    /// The measured quantity.
    pub quantity: Quantity,
    /// Selects the requests with this name, step or scenario; for [`Quantity::ChecksFailed`] a check, for visits a
    /// flow. `None`: all.
    pub label: Option<String>,
}

/// The measured quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quantity {
    /// Response time (done - scheduled), in seconds; in percentiles, infinite for failed requests.
    Response(Statistic),
    /// Response time of successful requests only, in seconds.
    ResponseOk(Statistic),
    /// Service time (done - sent), in seconds; in percentiles, infinite for failed requests.
    Service(Statistic),
    /// Service time of successful requests only, in seconds.
    ServiceOk(Statistic),
    /// Lateness (sent - scheduled), in seconds.
    Lateness(Statistic),
    /// Page time, from the scheduled time of a page to the end of its last object, in seconds; in percentiles, infinite for failed
    /// pages.
    Page(Statistic),
    /// Service time of embedded objects, in seconds; in percentiles, infinite for failed objects.
    Objects(Statistic),
    /// Response time of a visit: the sum of the response times of its requests, in seconds; in percentiles, infinite for failed visits.
    Visit(Statistic),
    /// Duration of a visit, with think times, in seconds; in percentiles, infinite for failed visits.
    VisitDuration(Statistic),
    /// The fraction of visits that succeeded; visits that the end of the run cut off do not count.
    VisitsSuccess,
    /// Response time of a group: the sum of the response times of its requests, in seconds; in percentiles, infinite for failed groups.
    Group(Statistic),
    /// Duration of a group, with think times, in seconds; in percentiles, infinite for failed groups.
    GroupDuration(Statistic),
    /// The fraction of groups that succeeded; groups that visits did not finish do not count.
    GroupsSuccess,
    /// A number in responses, from `metrics` of a request.
    Metric(Statistic),
    /// The fraction of requests that failed or were not sent.
    ErrorsRate,
    /// The fraction of pages that failed or were not sent.
    PageErrors,
    /// The fraction of objects that failed.
    ObjectsErrors,
    /// The fraction of checked responses that failed a check; a label is the name of a check.
    ChecksFailed,
    /// Complete responses per second.
    ThroughputRate,
    /// Mean number of attempts of a sent request.
    AttemptsPerRequest,
    /// Sent requests per second.
    ArrivalsRate,
    /// The coefficient of variation of the gaps between requests.
    ArrivalsCov,
    /// Time to first token (arrival of the first chunk - scheduled), in seconds; in percentiles, infinite for failed requests.
    Ttft(Statistic),
    /// Time per output token after the first chunk, in seconds; in percentiles, infinite for failed requests.
    Tpot(Statistic),
    /// The gaps between the chunks of streams, in seconds.
    Gap(Statistic),
    /// The gaps between the chunks of streams with one token in each chunk, in seconds.
    Itl(Statistic),
    /// Output tokens per second.
    TokensRate,
    /// Requests per second that succeeded, in any attempt, and meet the limits of `[goodput]`, if there are any.
    GoodputRate,
    /// The fraction of requests that are counted in the goodput.
    GoodputShare,
}

/// A statistic of a sample of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// The arithmetic mean.
    Mean,
    /// The maximum.
    Max,
    /// A percentile, above 0 and below 100.
    Percentile(f64),
}

/// The limit of a quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Less than this limit.
    Below(Limit),
    /// At most this limit.
    AtMost(Limit),
    /// More than this limit.
    Above(Limit),
    /// At least this limit.
    AtLeast(Limit),
    /// Between these limits, inclusive; the first is not above the second.
    Within(Limit, Limit),
}

/// A number and its text in the workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The number, in the unit of the quantity: seconds, per second, or a fraction.
    pub number: f64,
    /// With its unit.
    text: String,
}

/// Several thresholds that must all pass: `p99 < 250ms, errors < 0.1%`.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective(Vec<Threshold>);

/// The unit of a quantity and of its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds, written as durations.
    Seconds,
    /// A fraction of 1, written with `%` or without.
    Fraction,
    /// Per second, written as rates.
    PerSecond,
    /// A plain number.
    Number,
}

impl Threshold {
    /// Parses the metric and the bound of a workload file.
    ///
    /// # Errors
    /// An unknown metric, or an invalid bound for it.
    pub fn new(metric: &str, bound: &str) -> Result<Self, InvalidValue> {
        let metric: Metric = metric.parse()?;
        let bound = Bound::parse(bound, metric.quantity)?;
        Ok(Self { metric, bound, stop: None })
    }

    /// Makes the threshold stop the run if it fails at the time `after`, from the end of `skip_first`, or later.
    #[must_use]
    pub fn stopping(self, after: Nanos) -> Self {
        Self { stop: Some(after), ..self }
    }
}

impl FromStr for Threshold {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let sign = outside_braces(text).find(|(_, c)| "<>=".contains(*c)).map(|(at, _)| at);
        let (metric, bound) = text.split_at(sign.ok_or_else(|| {
            InvalidValue::new(format!(
                "`{text}` has no bound; write for example p99 < 250ms or arrivals.cov = 0.95..1.05"
            ))
        })?);
        Self::new(metric, bound)
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bound {
            Bound::Within(..) => write!(f, "{} = {}", self.metric, self.bound),
            _ => write!(f, "{} {}", self.metric, self.bound),
        }
    }
}

/// The characters of `text` outside of `{` and `}`, with their positions.
fn outside_braces(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut inside = false;
    text.char_indices().filter(move |(_, c)| {
        inside = (inside || *c == '{') && *c != '}';
        !inside
    })
}

impl Quantity {
    const NAMES: [&'static str; 28] = [
        "response.p99",
        "response.mean",
        "service.p99",
        "lateness.p99",
        "page.p95",
        "page.errors",
        "objects.p95",
        "objects.errors",
        "visit.p95",
        "visit.duration.p95",
        "visits.success",
        "group.p95",
        "group.duration.p95",
        "groups.success",
        "metric.mean",
        "errors.rate",
        "checks.failed",
        "throughput.rate",
        "goodput.rate",
        "attempts.per_request",
        "arrivals.rate",
        "arrivals.cov",
        "ttft.p95",
        "tpot.p95",
        "gap.p99",
        "itl.p99",
        "tokens.rate",
        "goodput.share",
    ];

    /// Whether the quantity is measured from streamed responses.
    pub fn is_of_streams(self) -> bool {
        matches!(self, Self::Ttft(_) | Self::Tpot(_) | Self::Gap(_) | Self::Itl(_) | Self::TokensRate)
    }

    /// Whether the quantity is measured from visits.
    pub fn is_of_visits(self) -> bool {
        matches!(self, Self::Visit(_) | Self::VisitDuration(_) | Self::VisitsSuccess)
    }

    /// Whether the quantity is measured from groups.
    pub fn is_of_groups(self) -> bool {
        matches!(self, Self::Group(_) | Self::GroupDuration(_) | Self::GroupsSuccess)
    }

    /// The percentile, above 0 and below 100; `None` for other statistics.
    pub fn percentile(self) -> Option<f64> {
        match self {
            Self::Response(Statistic::Percentile(p))
            | Self::ResponseOk(Statistic::Percentile(p))
            | Self::Service(Statistic::Percentile(p))
            | Self::ServiceOk(Statistic::Percentile(p))
            | Self::Lateness(Statistic::Percentile(p))
            | Self::Page(Statistic::Percentile(p))
            | Self::Objects(Statistic::Percentile(p))
            | Self::Visit(Statistic::Percentile(p))
            | Self::VisitDuration(Statistic::Percentile(p))
            | Self::Group(Statistic::Percentile(p))
            | Self::Metric(Statistic::Percentile(p))
            | Self::GroupDuration(Statistic::Percentile(p))
            | Self::Ttft(Statistic::Percentile(p))
            | Self::Tpot(Statistic::Percentile(p))
            | Self::Gap(Statistic::Percentile(p))
            | Self::Itl(Statistic::Percentile(p)) => Some(p),
            _ => None,
        }
    }

    /// The unit.
    pub fn unit(self) -> Unit {
        match self {
            Self::Response(_)
            | Self::ResponseOk(_)
            | Self::Service(_)
            | Self::ServiceOk(_)
            | Self::Lateness(_)
            | Self::Page(_)
            | Self::Objects(_)
            | Self::Visit(_)
            | Self::VisitDuration(_)
            | Self::Group(_)
            | Self::GroupDuration(_)
            | Self::Ttft(_)
            | Self::Tpot(_)
            | Self::Gap(_)
            | Self::Itl(_) => Unit::Seconds,
            Self::ErrorsRate
            | Self::PageErrors
            | Self::ObjectsErrors
            | Self::VisitsSuccess
            | Self::GroupsSuccess
            | Self::ChecksFailed
            | Self::GoodputShare => Unit::Fraction,
            Self::ThroughputRate | Self::ArrivalsRate | Self::TokensRate | Self::GoodputRate => Unit::PerSecond,
            Self::ArrivalsCov | Self::AttemptsPerRequest | Self::Metric(_) => Unit::Number,
        }
    }
}

impl FromStr for Quantity {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let unknown = || {
            let known = Self::NAMES;
            let hint = nearest(text, &known);
            let list = known.join(", ");
            InvalidValue::new(format!(
                "unknown metric `{text}`{hint}; known metrics: {list}, and mean, max or any percentile of a time"
            ))
        };
        match text {
            "errors" | "errors.rate" => return Ok(Self::ErrorsRate),
            "page.errors" => return Ok(Self::PageErrors),
            "objects.errors" => return Ok(Self::ObjectsErrors),
            "visits.success" => return Ok(Self::VisitsSuccess),
            "groups.success" => return Ok(Self::GroupsSuccess),
            "checks.failed" => return Ok(Self::ChecksFailed),
            "throughput" | "throughput.rate" => return Ok(Self::ThroughputRate),
            "goodput" | "goodput.rate" => return Ok(Self::GoodputRate),
            "attempts.per_request" => return Ok(Self::AttemptsPerRequest),
            "arrivals.rate" => return Ok(Self::ArrivalsRate),
            "arrivals.cov" => return Ok(Self::ArrivalsCov),
            "tokens.rate" => return Ok(Self::TokensRate),
            "goodput.share" => return Ok(Self::GoodputShare),
            _ => {}
        }
        let times = [
            ("response.ok.", Self::ResponseOk as fn(Statistic) -> Self),
            ("response.", Self::Response),
            ("service.ok.", Self::ServiceOk),
            ("service.", Self::Service),
            ("lateness.", Self::Lateness),
            ("page.", Self::Page),
            ("objects.", Self::Objects),
            ("visit.duration.", Self::VisitDuration),
            ("visit.", Self::Visit),
            ("metric.", Self::Metric),
            ("group.duration.", Self::GroupDuration),
            ("group.", Self::Group),
            ("ttft.", Self::Ttft),
            ("tpot.", Self::Tpot),
            ("gap.", Self::Gap),
            ("itl.", Self::Itl),
            ("", Self::Response),
        ];
        let found = times.iter().find_map(|(name, of)| Some((text.strip_prefix(name)?, of)));
        let (statistic, of) = found.ok_or_else(unknown)?;
        Statistic::read(statistic).map(of).ok_or_else(unknown)
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(statistic) => write!(f, "response.{statistic}"),
            Self::ResponseOk(statistic) => write!(f, "response.ok.{statistic}"),
            Self::ServiceOk(statistic) => write!(f, "service.ok.{statistic}"),
            Self::Service(statistic) => write!(f, "service.{statistic}"),
            Self::Lateness(statistic) => write!(f, "lateness.{statistic}"),
            Self::Page(statistic) => write!(f, "page.{statistic}"),
            Self::Objects(statistic) => write!(f, "objects.{statistic}"),
            Self::Visit(statistic) => write!(f, "visit.{statistic}"),
            Self::VisitDuration(statistic) => write!(f, "visit.duration.{statistic}"),
            Self::VisitsSuccess => f.write_str("visits.success"),
            Self::Group(statistic) => write!(f, "group.{statistic}"),
            Self::GroupDuration(statistic) => write!(f, "group.duration.{statistic}"),
            Self::GroupsSuccess => f.write_str("groups.success"),
            Self::Metric(statistic) => write!(f, "metric.{statistic}"),
            Self::ErrorsRate => f.write_str("errors.rate"),
            Self::PageErrors => f.write_str("page.errors"),
            Self::ObjectsErrors => f.write_str("objects.errors"),
            Self::ChecksFailed => f.write_str("checks.failed"),
            Self::ThroughputRate => f.write_str("throughput.rate"),
            Self::GoodputRate => f.write_str("goodput.rate"),
            Self::AttemptsPerRequest => f.write_str("attempts.per_request"),
            Self::ArrivalsRate => f.write_str("arrivals.rate"),
            Self::ArrivalsCov => f.write_str("arrivals.cov"),
            Self::Ttft(statistic) => write!(f, "ttft.{statistic}"),
            Self::Tpot(statistic) => write!(f, "tpot.{statistic}"),
            Self::Gap(statistic) => write!(f, "gap.{statistic}"),
            Self::Itl(statistic) => write!(f, "itl.{statistic}"),
            Self::TokensRate => f.write_str("tokens.rate"),
            Self::GoodputShare => f.write_str("goodput.share"),
        }
    }
}

impl Statistic {
    fn read(text: &str) -> Option<Self> {
        match text {
            "mean" => Some(Self::Mean),
            "max" => Some(Self::Max),
            _ => {
                let digits = text.strip_prefix('p').filter(|p| p.bytes().all(|b| b.is_ascii_digit() || b == b'.'))?;
                digits.parse().ok().filter(|p| *p > 0.0 && *p < 100.0).map(Self::Percentile)
            }
        }
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.write_str("mean"),
            Self::Max => f.write_str("max"),
            Self::Percentile(p) => write!(f, "p{p}"),
        }
    }
}

impl FromStr for Metric {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let text = text.trim();
        let Some((quantity, label)) = text.split_once('{') else {
            return Ok(Self { quantity: text.parse()?, label: None });
        };
        let label = label.strip_suffix('}').filter(|label| !label.is_empty() && !label.contains(['{', '}']));
        let label = label.ok_or_else(|| {
            InvalidValue::new(format!("`{text}` does not name a request; write for example response.p99{{home}}"))
        })?;
        Ok(Self { quantity: quantity.trim().parse()?, label: Some(label.to_owned()) })
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.quantity.fmt(f)?;
        self.label.as_ref().map_or(Ok(()), |label| write!(f, "{{{label}}}"))
    }
}

impl Bound {
    /// Parses a bound of a time.
    ///
    /// # Errors
    /// Another text than `< 250ms`, `<= 250ms`, `> 1ms`, `>= 1ms` or `1ms..250ms`.
    pub(crate) fn of_time(text: &str) -> Result<Self, InvalidValue> {
        Self::parse(text, Quantity::Service(Statistic::Max))
    }

    /// Parses the bound of a quantity; `=` before a range is optional.
    fn parse(text: &str, quantity: Quantity) -> Result<Self, InvalidValue> {
        let limit = |text: &str| Limit::parse(text, quantity);
        let text = text.trim();
        for (sign, of) in
            [("<=", Self::AtMost as fn(Limit) -> Self), ("<", Self::Below), (">=", Self::AtLeast), (">", Self::Above)]
        {
            if let Some(rest) = text.strip_prefix(sign) {
                return Ok(of(limit(rest)?));
            }
        }
        let range = text.strip_prefix('=').unwrap_or(text);
        let (low, high) = range.split_once("..").ok_or_else(|| {
            let example = quantity.unit().example();
            InvalidValue::new(format!(
                "`{text}` is not a bound; write < {example}, <=, > or >=, or a range as in 0.95..1.05"
            ))
        })?;
        let (low, high) = (limit(low)?, limit(high)?);
        if low.number > high.number {
            return Err(InvalidValue::new(format!("`{text}` is an empty range; write the smaller number first")));
        }
        Ok(Self::Within(low, high))
    }

    /// The excess of `figure` over the bound, in the unit of the figure; negative if the threshold passes with a margin.
    pub fn excess(&self, figure: f64) -> f64 {
        match self {
            Self::Below(limit) | Self::AtMost(limit) => figure - limit.number,
            Self::Above(limit) | Self::AtLeast(limit) => limit.number - figure,
            Self::Within(low, high) => (low.number - figure).max(figure - high.number),
        }
    }

    /// Whether `figure` is within the bound.
    pub fn holds(&self, figure: f64) -> bool {
        match self {
            Self::Below(limit) => figure < limit.number,
            Self::AtMost(limit) => figure <= limit.number,
            Self::Above(limit) => figure > limit.number,
            Self::AtLeast(limit) => figure >= limit.number,
            Self::Within(low, high) => (low.number..=high.number).contains(&figure),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Below(limit) => write!(f, "< {}", limit.text),
            Self::AtMost(limit) => write!(f, "<= {}", limit.text),
            Self::Above(limit) => write!(f, "> {}", limit.text),
            Self::AtLeast(limit) => write!(f, ">= {}", limit.text),
            Self::Within(low, high) => write!(f, "{}..{}", low.text, high.text),
        }
    }
}

impl Unit {
    fn example(self) -> &'static str {
        match self {
            Self::Seconds => "250ms",
            Self::Fraction => "0.1%",
            Self::PerSecond => "90/s",
            Self::Number => "1.05",
        }
    }
}

impl Limit {
    fn parse(text: &str, quantity: Quantity) -> Result<Self, InvalidValue> {
        let (text, unit) = (text.trim(), quantity.unit());
        let plain = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
        let number = match unit {
            Unit::Seconds => text.parse::<Nanos>().ok().map(Nanos::as_secs_f64),
            Unit::PerSecond => text.parse::<Rate>().ok().map(Rate::per_sec),
            Unit::Number => plain(text),
            Unit::Fraction => match text.strip_suffix('%') {
                Some(percent) => plain(percent).map(|percent| percent / 100.0),
                None => plain(text),
            },
        };
        let number = number.ok_or_else(|| {
            // A number without its unit is the most likely mistake.
            InvalidValue::new(match (plain(text), unit) {
                (Some(_), Unit::Seconds) => format!("`{text}` has no unit; write for example {text}ms"),
                (Some(_), Unit::PerSecond) => format!("`{text}` has no unit; write for example {text}/s"),
                _ => format!("`{text}` is not a limit for {quantity}; write for example {}", unit.example()),
            })
        })?;
        Ok(Self { number, text: text.to_owned() })
    }
}

impl Objective {
    /// The thresholds; at least one.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.0
    }
}

impl FromStr for Objective {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let mut from = 0;
        let mut parts = Vec::new();
        for (at, _) in outside_braces(text).filter(|(_, c)| *c == ',') {
            parts.push(&text[from..at]);
            from = at + 1;
        }
        parts.push(&text[from..]);
        parts.into_iter().map(|part| part.trim().parse()).collect::<Result<_, InvalidValue>>().map(Self)
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, threshold) in self.0.iter().enumerate() {
            write!(f, "{}{threshold}", if place > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
