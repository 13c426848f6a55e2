//! Checks of responses, and extraction of values from them.

use std::borrow::Cow;

use offered_base::Nanos;
use offered_events::{Event, FailedCheck, MetricValue, Reason};
use offered_workload::script::{self, IfMissing, Sizes, Which};
use offered_workload::threshold::Bound;
use offered_workload::{digest, failed_checks};
use regex::bytes::Regex;

use super::locator::{Locator, ParsedResponse, regex};
use super::origin::Location;
use super::received::Received;
use super::value::{Text, Values};
use super::{Redactor, RequestContext, Script, SessionState};
use crate::message::Response;

/// A condition that a response must satisfy.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    test: Test,
    /// Whether the check passes if the condition is false.
    negated: bool,
    /// The examined part of the response, for messages.
    location: String,
}

#[derive(Debug)]
enum Test {
    Status(Vec<(u16, u16)>),
    Text(Locator, Expected),
    Size(Sizes),
    Rows(Sizes),
    Time(Bound),
    Sha256(String),
}

/// What a text must be; for [`Count`](Self::Count): what number of texts.
#[derive(Debug)]
pub(super) enum Expected {
    There,
    Is(Text),
    Contains(Text),
    Matches(Regex),
    Count(Sizes),
}

/// A value to extract from a response.
#[derive(Debug)]
pub(super) struct Extraction {
    name: String,
    slot: u16,
    locator: Locator,
    /// The examined part of the response, for messages.
    location: String,
    which: Which,
    if_missing: IfMissing,
}

/// Why a response is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// The names of the failed checks and extractions, or of the one that could not examine the response completely, and why.
    pub(crate) reason: String,
    /// Whether the evaluation ended because its time was over.
    pub(crate) out_of_time: bool,
}

/// The results of the extractions of one response.
#[derive(Debug, Default)]
struct Extracted {
    /// The slots of the values found.
    found: Vec<u16>,
    /// The name of the first extraction that could not examine the response completely, with the reason.
    incomplete: Option<String>,
}

impl Expected {
    /// Compiles a condition for a text.
    ///
    /// # Errors
    /// An invalid regular expression.
    pub(super) fn new(condition: &script::TextCondition, values: &Values) -> Result<Self, String> {
        Ok(match condition {
            script::TextCondition::There => Self::There,
            script::TextCondition::Is(text) => Self::Is(values.text(text)),
            script::TextCondition::Contains(text) => Self::Contains(values.text(text)),
            script::TextCondition::Matches(pattern) => Self::Matches(regex(pattern)?),
            script::TextCondition::Count(range) => Self::Count(*range),
        })
    }
}

impl Check {
    /// Compiles a check of the workload.
    ///
    /// # Errors
    /// An invalid regular expression, JSON path or CSS selector.
    pub(super) fn new(check: &script::Check, values: &Values) -> Result<Self, String> {
        let invalid = |reason| format!("check `{}`: {reason}", check.name);
        let test = match &check.test {
            script::Test::Status(ranges) => Test::Status(ranges.clone()),
            script::Test::Size(sizes) => Test::Size(*sizes),
            script::Test::Rows(rows) => Test::Rows(*rows),
            script::Test::Time(bound) => Test::Time(bound.clone()),
            script::Test::Sha256(digest) => Test::Sha256(digest.clone()),
            script::Test::Text(find, wanted) => {
                let wanted = Expected::new(wanted, values).map_err(invalid)?;
                Test::Text(Locator::new(find).map_err(invalid)?, wanted)
            }
        };
        let location = match &check.test {
            script::Test::Text(find, _) => location(find),
            script::Test::Status(_) => "the status".to_owned(),
            script::Test::Size(_) => "the size of the body".to_owned(),
            script::Test::Rows(_) => "the number of rows".to_owned(),
            script::Test::Time(_) => "the service time".to_owned(),
            script::Test::Sha256(_) => "the SHA-256 digest of the body".to_owned(),
        };
        Ok(Self { name: check.name.clone(), test, negated: check.negated, location })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn reads_body(&self) -> bool {
        match &self.test {
            Test::Status(_) | Test::Size(_) | Test::Rows(_) | Test::Time(_) => false,
            Test::Text(find, _) => find.reads_body(),
            Test::Sha256(_) => true,
        }
    }

    /// What the check requires, for messages.
    fn wanted(&self, render: impl Fn(&Text) -> Option<String>) -> String {
        let text = |text: &Text| render(text).unwrap_or_default();
        let (verb, wanted) = match &self.test {
            Test::Status(ranges) => {
                let range =
                    |(low, high): &(u16, u16)| if low == high { low.to_string() } else { format!("{low}..{high}") };
                ("is", ranges.iter().map(range).collect::<Vec<_>>().join(" or "))
            }
            Test::Size(sizes) | Test::Rows(sizes) => ("is", range(*sizes)),
            Test::Time(bound) => ("is", bound.to_string()),
            Test::Sha256(digest) => ("is", digest.clone()),
            Test::Text(_, Expected::There) => ("is", "there".to_owned()),
            Test::Text(_, Expected::Is(wanted)) => ("is", format!("`{}`", text(wanted))),
            Test::Text(_, Expected::Contains(wanted)) => ("contains", format!("`{}`", text(wanted))),
            Test::Text(_, Expected::Matches(expression)) => ("matches", format!("`{expression}`")),
            Test::Text(_, Expected::Count(number)) => ("has a number of matches that is", range(*number)),
        };
        let not = match (self.negated, verb) {
            (false, _) => "",
            (true, "is") => " not",
            (true, _) => " (not wanted:)",
        };
        format!("{} {verb}{not} {wanted}", self.location)
    }

    /// The text found in the response; if there are several, the first one.
    fn found(&self, response: &ParsedResponse<'_>) -> Option<String> {
        let Received { status, reply, service, .. } = response.received;
        match &self.test {
            Test::Status(_) => Some(status.to_string()),
            Test::Size(_) => Some(reply.size.to_string()),
            Test::Rows(_) => Some(reply.rows.to_string()),
            Test::Time(_) => Some(service.to_string()),
            Test::Sha256(_) => response.body().ok().map(digest),
            Test::Text(find, Expected::Count(_)) => Some(find.texts(response).count().to_string()),
            Test::Text(find, _) => find.texts(response).next().map(Cow::into_owned),
        }
    }

    fn passes(&self, response: &ParsedResponse<'_>, render: impl Fn(&Text) -> Option<String>) -> bool {
        self.holds(response, render) == Some(!self.negated)
    }

    /// Whether the condition is true; `None` if a value that it needs is missing.
    fn holds(&self, response: &ParsedResponse<'_>, render: impl Fn(&Text) -> Option<String>) -> Option<bool> {
        let Received { status, reply, service, .. } = response.received;
        Some(match &self.test {
            Test::Status(ranges) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&status)),
            Test::Size(sizes) => sizes.contains(reply.size),
            Test::Rows(rows) => rows.contains(reply.rows),
            Test::Time(bound) => bound.holds(service.as_secs_f64()),
            Test::Sha256(wanted) => digest(response.body().ok()?) == *wanted,
            Test::Text(find, wanted) => {
                let mut texts = find.texts(response);
                match wanted {
                    Expected::There => texts.next().is_some(),
                    Expected::Is(text) => {
                        let wanted = render(text)?;
                        texts.any(|found| found == wanted)
                    }
                    Expected::Contains(text) => {
                        let wanted = render(text)?;
                        texts.any(|found| found.contains(&wanted))
                    }
                    Expected::Matches(expression) => texts.any(|found| {
                        let found = found.as_bytes();
                        response.has_time_to_search(expression, found) && expression.is_match(found)
                    }),
                    Expected::Count(number) => number.contains(texts.count() as u64),
                }
            }
        })
    }
}

/// A range of numbers, for messages.
fn range(Sizes { least, most }: Sizes) -> String {
    match most {
        u64::MAX => format!("at least {least}"),
        _ => format!("from {least} to {most}"),
    }
}

/// The examined part of a response, for messages.
fn location(find: &script::Find) -> String {
    match find {
        script::Find::Body => "the body".to_owned(),
        script::Find::Header(name) => format!("the header {name}"),
        script::Find::Column(name) => format!("the column {name}"),
        script::Find::Cookie(name) => format!("the cookie {name}"),
        script::Find::Url => "the URL".to_owned(),
        script::Find::Matched { of, pattern, group: 0 } => format!("regex {pattern} in {}", location(of)),
        script::Find::Matched { of, pattern, group } => format!("group {group} of regex {pattern} in {}", location(of)),
        script::Find::Json(path) => format!("json {path}"),
        script::Find::Regex { pattern, group: 0 } => format!("regex {pattern}"),
        script::Find::Regex { pattern, group } => format!("group {group} of regex {pattern}"),
        script::Find::Css { selector, attribute: None } => format!("css {selector}"),
        script::Find::Css { selector, attribute: Some(attribute) } => format!("{attribute} of css {selector}"),
    }
}

impl Extraction {
    /// Compiles an extraction of the workload.
    ///
    /// # Errors
    /// An invalid regular expression, JSON path or CSS selector.
    pub(super) fn new(extraction: &script::Extraction, values: &Values) -> Result<Self, String> {
        let script::Extraction { name, find, which, if_missing } = extraction;
        let locator = Locator::new(find).map_err(|reason| format!("extract `{name}`: {reason}"))?;
        Ok(Self {
            name: name.clone(),
            slot: values.slot(name),
            locator: match if_missing {
                IfMissing::Default(default) => locator.with_null(default),
                _ => locator,
            },
            location: location(find),
            which: which.clone(),
            if_missing: if_missing.clone(),
        })
    }

    pub(super) fn reads_body(&self) -> bool {
        self.locator.reads_body()
    }

    /// The extracted value; `None` without a match. `pick` chooses one of this number of matches.
    fn value(&self, response: &ParsedResponse<'_>, pick: impl Fn(usize) -> usize) -> Option<String> {
        let mut texts = self.locator.texts(response);
        let found = match &self.which {
            Which::Nth(nth) => texts.nth(*nth as usize - 1),
            Which::Last => texts.last(),
            Which::Random => {
                // All texts together may be larger than the response by far.
                let all = texts.count();
                (all > 0).then(|| self.locator.texts(response).nth(pick(all))).flatten()
            }
            Which::Count => Some(Cow::Owned(texts.count().to_string())),
            Which::All(separator) => {
                let mut all = texts.next()?.into_owned();
                for text in texts {
                    if all.len() + separator.len() + text.len() > MAX_JOINED_BYTES {
                        response.give_up("all matches together are larger than 1 MB");
                        return None;
                    }
                    all.push_str(separator);
                    all.push_str(&text);
                }
                Some(Cow::Owned(all))
            }
        };
        found.map(Cow::into_owned)
    }

    /// The name under which a failed extraction is reported as a check.
    fn check(&self) -> String {
        format!("extract {}", self.name)
    }
}

impl Script {
    /// Whether a check of request `label` tests the status. If so, a status of 400 or above is not a failure in itself.
    pub(crate) fn checks_status(&self, label: u16) -> bool {
        self.requests[usize::from(label)].checks.iter().any(|check| matches!(check.test, Test::Status(_)))
    }

    /// Stores in `state` the values extracted from a redirect response; returns their slots. A value is from the last
    /// response of a chain that has it.
    pub(crate) fn extract_from_redirect(
        &self,
        label: u16,
        context: RequestContext,
        received: Received<'_>,
        state: &mut SessionState,
        time_left: &dyn Fn() -> Nanos,
    ) -> Vec<u16> {
        let response = ParsedResponse::new(received, &self.origins.get(received.target).url, time_left);
        self.extract(label, context, &response, state).found
    }

    /// Extracts the values from the response to request `label`, and stores them in `state`.
    fn extract(
        &self,
        label: u16,
        context: RequestContext,
        response: &ParsedResponse<'_>,
        state: &mut SessionState,
    ) -> Extracted {
        let mut extracted = Extracted::default();
        for extraction in &self.requests[usize::from(label)].extract {
            let found = extraction.value(response, |all| self.values.pick(extraction.slot, context, all));
            if let (None, Some(reason)) = (&extracted.incomplete, response.incomplete()) {
                extracted.incomplete = Some(format!("{}: {reason}", extraction.check()));
            }
            if let Some(found) = found {
                state.set(extraction.slot, Some(found));
                if self.url_slots.contains(&extraction.slot) {
                    let Received { target, path, .. } = response.received;
                    state.bases.insert(extraction.slot, Location { target, path: path.to_owned() });
                }
                extracted.found.push(extraction.slot);
            }
        }
        extracted
    }

    /// Evaluates the response to request `label`: stores extracted values in `state` and runs all checks.
    ///
    /// # Errors
    /// The names of the checks that failed, and of the extractions that found nothing; or the name of the check
    /// or extraction that could not examine the response completely, and why, for example because `time_left`
    /// returned zero.
    pub(crate) fn evaluate(
        &self,
        label: u16,
        context: RequestContext,
        received: Received<'_>,
        state: &mut SessionState,
        time_left: &dyn Fn() -> Nanos,
    ) -> Result<(), Rejection> {
        let request = &self.requests[usize::from(label)];
        let response = ParsedResponse::new(received, &self.origins.get(received.target).url, time_left);
        // Extraction comes first, because checks may use the extracted values.
        let Extracted { found, mut incomplete } = self.extract(label, context, &response, state);
        let mut missing = Vec::new();
        for extraction in &request.extract {
            if !found.contains(&extraction.slot) && !received.found.contains(&extraction.slot) {
                let value = match &extraction.if_missing {
                    IfMissing::KeepPrevious => continue,
                    IfMissing::NotMeasured => None,
                    IfMissing::Default(value) => Some(value.clone()),
                    IfMissing::Fail => {
                        missing.push(extraction.check());
                        None
                    }
                };
                state.set(extraction.slot, value);
            }
        }
        let render = |text: &Text| self.values.plain(text, context, Some(state)).ok();
        let mut failed: Vec<&str> = Vec::new();
        for check in &request.checks {
            if incomplete.is_none() && !check.passes(&response, render) {
                failed.push(&check.name);
            }
            let reason = |reason| format!("{}: {reason}", check.name);
            incomplete = incomplete.or_else(|| response.incomplete().map(reason));
        }
        for submitted in &request.forms {
            let submitted_request = &self.requests[usize::from(*submitted)];
            if let Some(form) = &submitted_request.form {
                state.forms.insert(*submitted, form.query.read(&response));
                let reason = |reason| format!("form of `{}`: {reason}", submitted_request.name);
                incomplete = incomplete.or_else(|| response.incomplete().map(reason));
            }
        }
        failed.extend(missing.iter().map(String::as_str));
        let undecoded = || response.body().err().filter(|_| request.reads_body).map(str::to_owned);
        let failed = || (!failed.is_empty()).then(|| failed_checks::join(failed));
        match incomplete.or_else(undecoded).or_else(failed) {
            Some(reason) => Err(Rejection { reason, out_of_time: response.is_out_of_time() }),
            None => Ok(()),
        }
    }

    /// The metrics of the response to request `label`, which was evaluated last; `None` if the request has none.
    pub(crate) fn metrics(&self, label: u16, state: &SessionState) -> Option<Box<[MetricValue]>> {
        let all = self.requests[usize::from(label)].extract.iter();
        let measured = all.filter(|extraction| extraction.if_missing == IfMissing::NotMeasured);
        let number = |extraction: &Extraction| state.value(extraction.slot)?.trim().parse().ok();
        let values: Box<[MetricValue]> = measured.map(|extraction| MetricValue::new(number(extraction))).collect();
        (!values.is_empty()).then_some(values)
    }

    /// The values extracted from the response to request `label`, by name, for display. If the redirect of the response was
    /// `followed`, only the values in these slots are from it.
    pub(crate) fn extracted(
        &self,
        label: u16,
        state: Option<&SessionState>,
        followed: Option<&[u16]>,
    ) -> Vec<(String, Option<String>)> {
        let value = |extraction: &Extraction| state.and_then(|state| state.value(extraction.slot)).map(str::to_owned);
        let own = self.requests[usize::from(label)].extract.iter();
        let own = own.filter(|extraction| followed.is_none_or(|slots| slots.contains(&extraction.slot)));
        own.map(|extraction| (extraction.name.clone(), value(extraction))).collect()
    }

    /// What the checks in `reason`, which the response to a request failed, expected and found.
    pub(crate) fn failures(
        &self,
        context: RequestContext,
        received: Received<'_>,
        state: Option<&SessionState>,
        reason: &str,
        time_left: &dyn Fn() -> Nanos,
    ) -> Vec<FailedCheck> {
        let request = &self.requests[usize::from(context.label)];
        let response = ParsedResponse::new(received, &self.origins.get(received.target).url, time_left);
        let render = |text: &Text| self.values.plain(text, context, state).ok();
        let checks = request.checks.iter().map(|check| check.name.clone());
        let names: Vec<String> = checks.chain(request.extract.iter().map(Extraction::check)).collect();
        let failure = |index: usize| {
            let (expected, found) = match request.checks.get(index) {
                Some(check) if check.passes(&response, render) => return None,
                Some(check) => (check.wanted(render), check.found(&response)),
                None => (format!("{} is there", request.extract[index - request.checks.len()].location), None),
            };
            let found = found.map(|found| truncated(&found));
            Some(FailedCheck { check: names[index].clone(), expected, found })
        };
        failed_checks::indexes(reason, &names).filter_map(failure).collect()
    }

    /// The body of a response, decompressed if possible.
    pub(crate) fn decoded_body(reply: &Response) -> Cow<'_, [u8]> {
        let received = Received { status: 0, reply, service: Nanos::ZERO, path: "", target: 0, found: &[] };
        let response = ParsedResponse::new(received, "", &|| Nanos::MAX);
        response.body().map_or(Cow::Borrowed(&*reply.body), |body| Cow::Owned(body.to_vec()))
    }

    /// A redactor that hides the secret values of this request, and those that the session has extracted.
    pub(crate) fn redactor(&self, context: RequestContext, state: Option<&SessionState>) -> Redactor<'_> {
        let values = self.values.secret(context, state);
        let extracted = state.into_iter().flat_map(|state| self.values.secret_extractions(state)).map(Cow::Borrowed);
        let values: Vec<Cow<'_, str>> = values.into_iter().chain(extracted).collect();
        Redactor::new(self.values.secret_names(), values.iter().map(|value| &**value))
    }

    /// Hides secrets in the reason of a failure that quotes the workload or a response.
    pub(crate) fn redact_reason(&self, event: &mut Event, context: RequestContext, state: Option<&SessionState>) {
        if let Some(reason @ (Reason::Other(Cow::Owned(_)) | Reason::NotHttp(_) | Reason::Sql(..))) = &event.error {
            let redacted = self.redactor(context, state).redact(&reason.text());
            event.error = Some(redacted.into());
        }
    }

    /// Whether the extracted value of this name is a secret.
    pub(crate) fn is_secret_extraction(&self, name: &str) -> bool {
        self.values.is_secret_extraction(name)
    }
}

/// Maximum size of all matches of an extraction, joined.
const MAX_JOINED_BYTES: usize = 1 << 20;
/// Maximum number of characters shown of a text that failed a check.
const MAX_SHOWN_CHARS: usize = 500;

fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}
