//! Checks of responses, and extraction of values from them.

use std::borrow::Cow;

use offered_base::Nanos;
use offered_events::{Event, FailedCheck, Reason};
use offered_workload::digest;
use offered_workload::script::{self, IfMissing, Sizes, Which};
use regex::bytes::Regex;

use super::locator::{Locator, ParsedResponse, regex};
use super::value::{Text, Values};
use super::{Redactor, RequestContext, Script, SessionState};
use crate::message::Response;

/// A condition that a response must satisfy.
#[derive(Debug)]
pub(super) struct Check {
    name: String,
    test: Test,
    /// The examined part of the response, for messages.
    location: String,
}

#[derive(Debug)]
enum Test {
    Status(Vec<(u16, u16)>),
    Text(Locator, Expected),
    Size(Sizes),
    Rows(Sizes),
    Sha256(String),
}

#[derive(Debug)]
enum Expected {
    There,
    Is(Text),
    Contains(Text),
    Matches(Regex),
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

/// A response to evaluate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Received<'a> {
    pub(crate) status: u16,
    pub(crate) reply: &'a Response,
    /// The path and query that were requested, to which relative URLs in the response refer (RFC 3986, section 5.1.3).
    pub(crate) path: &'a str,
    /// The slots of values that earlier responses of a chain of redirects had.
    pub(crate) found: &'a [u16],
}

/// Why a response is not accepted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// The name of the check or extraction, and why it could not examine the response completely, if so.
    pub(crate) reason: String,
    /// Whether the evaluation ended because its time was over.
    pub(crate) out_of_time: bool,
}

/// The results of the extractions of one response.
#[derive(Debug, Default)]
struct Extracted {
    /// The slots of the values found.
    found: Vec<u16>,
    /// The name of the first extraction that could not examine the response completely, and why.
    incomplete: Option<String>,
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
            script::Test::Sha256(digest) => Test::Sha256(digest.clone()),
            script::Test::Text(find, wanted) => {
                let wanted = match wanted {
                    script::TextCondition::There => Expected::There,
                    script::TextCondition::Is(text) => Expected::Is(values.text(text)),
                    script::TextCondition::Contains(text) => Expected::Contains(values.text(text)),
                    script::TextCondition::Matches(pattern) => Expected::Matches(regex(pattern).map_err(invalid)?),
                };
                Test::Text(Locator::new(find).map_err(invalid)?, wanted)
            }
        };
        let location = match &check.test {
            script::Test::Text(find, _) => location(find),
            script::Test::Status(_) => "the status".to_owned(),
            script::Test::Size(_) => "the size of the body".to_owned(),
            script::Test::Rows(_) => "the number of rows".to_owned(),
            script::Test::Sha256(_) => "the SHA-256 digest of the body".to_owned(),
        };
        Ok(Self { name: check.name.clone(), test, location })
    }

    pub(super) fn reads_body(&self) -> bool {
        match &self.test {
            Test::Status(_) | Test::Size(_) | Test::Rows(_) => false,
            Test::Text(find, _) => find.reads_body(),
            Test::Sha256(_) => true,
        }
    }

    /// What the check requires, for messages.
    fn wanted(&self, render: impl Fn(&Text) -> Option<String>) -> String {
        let location = &self.location;
        let text = |text: &Text| render(text).unwrap_or_default();
        match &self.test {
            Test::Status(ranges) => {
                let range =
                    |(low, high): &(u16, u16)| if low == high { low.to_string() } else { format!("{low}..{high}") };
                format!("{location} is {}", ranges.iter().map(range).collect::<Vec<_>>().join(" or "))
            }
            Test::Size(Sizes { least, most: u64::MAX }) | Test::Rows(Sizes { least, most: u64::MAX }) => {
                format!("{location} is at least {least}")
            }
            Test::Size(Sizes { least, most }) | Test::Rows(Sizes { least, most }) => {
                format!("{location} is from {least} to {most}")
            }
            Test::Sha256(digest) => format!("{location} is {digest}"),
            Test::Text(_, Expected::There) => format!("{location} is there"),
            Test::Text(_, Expected::Is(wanted)) => format!("{location} is `{}`", text(wanted)),
            Test::Text(_, Expected::Contains(wanted)) => format!("{location} contains `{}`", text(wanted)),
            Test::Text(_, Expected::Matches(expression)) => format!("{location} matches `{expression}`"),
        }
    }

    /// The text found in the response; the first one of several.
    fn found(&self, response: &ParsedResponse<'_>) -> Option<String> {
        match &self.test {
            Test::Status(_) => Some(response.status.to_string()),
            Test::Size(_) => Some(response.reply.size.to_string()),
            Test::Rows(_) => Some(response.reply.rows.to_string()),
            Test::Sha256(_) => response.body().ok().map(digest),
            Test::Text(find, _) => find.texts(response).next().map(Cow::into_owned),
        }
    }

    fn passes(&self, response: &ParsedResponse<'_>, render: impl Fn(&Text) -> Option<String>) -> bool {
        match &self.test {
            Test::Status(ranges) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&response.status)),
            Test::Size(sizes) => (sizes.least..=sizes.most).contains(&response.reply.size),
            Test::Rows(rows) => (rows.least..=rows.most).contains(&response.reply.rows),
            Test::Sha256(wanted) => response.body().is_ok_and(|body| digest(body) == *wanted),
            Test::Text(find, wanted) => {
                let mut texts = find.texts(response);
                match wanted {
                    Expected::There => texts.next().is_some(),
                    Expected::Is(text) => render(text).is_some_and(|wanted| texts.any(|found| found == wanted)),
                    Expected::Contains(text) => {
                        render(text).is_some_and(|wanted| texts.any(|found| found.contains(&wanted)))
                    }
                    Expected::Matches(expression) => texts.any(|found| {
                        let found = found.as_bytes();
                        response.has_time_to_search(expression, found) && expression.is_match(found)
                    }),
                }
            }
        }
    }
}

/// The examined part of a response, for messages.
fn location(find: &script::Find) -> String {
    match find {
        script::Find::Body => "the body".to_owned(),
        script::Find::Header(name) => format!("the header {name}"),
        script::Find::Column(name) => format!("the column {name}"),
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
        Ok(Self {
            name: name.clone(),
            slot: values.slot(name),
            locator: Locator::new(find).map_err(|reason| format!("extract `{name}`: {reason}"))?,
            location: location(find),
            which: *which,
            if_missing: if_missing.clone(),
        })
    }

    pub(super) fn reads_body(&self) -> bool {
        self.locator.reads_body()
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
        let response = ParsedResponse::new(received.status, received.reply, time_left);
        self.extract(label, context, &response, received.path, state).found
    }

    /// Stores in `state` the values that the response to request `label` has.
    fn extract(
        &self,
        label: u16,
        context: RequestContext,
        response: &ParsedResponse<'_>,
        path: &str,
        state: &mut SessionState,
    ) -> Extracted {
        let mut extracted = Extracted::default();
        for extraction in &self.requests[usize::from(label)].extract {
            let texts = || extraction.locator.texts(response);
            let found = match extraction.which {
                Which::Nth(nth) => texts().nth(nth as usize - 1),
                Which::Random => {
                    // All texts together may be larger than the response by far.
                    let all = texts().count();
                    (all > 0).then(|| texts().nth(self.values.pick(extraction.slot, context, all))).flatten()
                }
            };
            if let (None, Some(reason)) = (&extracted.incomplete, response.incomplete()) {
                extracted.incomplete = Some(format!("{}: {reason}", extraction.check()));
            }
            if let Some(found) = found {
                state.set(extraction.slot, Some(found.into_owned()));
                if self.url_slots.contains(&extraction.slot) {
                    state.bases.insert(extraction.slot, path.into());
                }
                extracted.found.push(extraction.slot);
            }
        }
        extracted
    }

    /// Evaluates the response to request `label`: stores extracted values in `state` and runs the checks.
    ///
    /// # Errors
    /// The name of the first check that failed, or of the first extraction that found nothing; or the name of the check
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
        let response = ParsedResponse::new(received.status, received.reply, time_left);
        let incomplete_in = |name: &str| response.incomplete().map(|reason| format!("{name}: {reason}"));
        // Extraction comes first, because checks may use the extracted values.
        let Extracted { found, mut incomplete } = self.extract(label, context, &response, received.path, state);
        let mut failed = None;
        for extraction in &request.extract {
            if !found.contains(&extraction.slot) && !received.found.contains(&extraction.slot) {
                let value = match &extraction.if_missing {
                    IfMissing::KeepPrevious => continue,
                    IfMissing::Default(value) => Some(value.clone()),
                    IfMissing::Fail => {
                        failed.get_or_insert_with(|| extraction.check());
                        None
                    }
                };
                state.set(extraction.slot, value);
            }
        }
        let render = |text: &Text| self.values.plain(text, context, Some(state)).ok();
        let mut failed_check = None;
        for check in &request.checks {
            let passes = incomplete.is_none() && check.passes(&response, render);
            incomplete = incomplete.or_else(|| incomplete_in(&check.name));
            if !passes {
                failed_check = Some(check.name.clone());
                break;
            }
        }
        let undecoded = || response.body().err().filter(|_| request.reads_body).map(str::to_owned);
        match incomplete.or_else(undecoded).or(failed_check).or(failed) {
            Some(reason) => Err(Rejection { reason, out_of_time: response.is_out_of_time() }),
            None => Ok(()),
        }
    }

    /// Describes, for display, the values extracted from the response to a request and what the failed check
    /// expected and found. If the redirect of the response was `followed`, only the values in these slots are from it.
    pub(crate) fn explain_failure(
        &self,
        context: RequestContext,
        (status, reply): (u16, &Response),
        state: Option<&SessionState>,
        failed: Option<&str>,
        followed: Option<&[u16]>,
        time_left: &dyn Fn() -> Nanos,
    ) -> (Vec<(String, Option<String>)>, Option<FailedCheck>) {
        let request = &self.requests[usize::from(context.label)];
        let value = |extraction: &Extraction| state.and_then(|state| state.value(extraction.slot)).map(str::to_owned);
        let own = request.extract.iter().filter(|e| followed.is_none_or(|slots| slots.contains(&e.slot)));
        let extracted = own.map(|extraction| (extraction.name.clone(), value(extraction))).collect();
        let response = ParsedResponse::new(status, reply, time_left);
        let render = |text: &Text| self.values.plain(text, context, state).ok();
        let failed = failed.and_then(|name| {
            let failed_check =
                request.checks.iter().find(|check| check.name == name && !check.passes(&response, render));
            let failed_check = failed_check.map(|check| (check.wanted(render), check.found(&response)));
            let missing = || request.extract.iter().find(|extraction| extraction.check() == name);
            let missing = || missing().map(|extraction| (format!("{} is there", extraction.location), None));
            let (wanted, found) = failed_check.or_else(missing)?;
            Some(FailedCheck { check: name.to_owned(), expected: wanted, found: found.map(|found| truncated(&found)) })
        });
        (extracted, failed)
    }

    /// The body of a response, decompressed if possible.
    pub(crate) fn decoded_body(reply: &Response) -> Cow<'_, [u8]> {
        let response = ParsedResponse::new(0, reply, &|| Nanos::MAX);
        response.body().map_or(Cow::Borrowed(&*reply.body), |body| Cow::Owned(body.to_vec()))
    }

    /// A redactor that hides the secret values of this request, and those that the session has extracted.
    pub(crate) fn redactor(&self, context: RequestContext, state: Option<&SessionState>) -> Redactor<'_> {
        let values = self.values.secret(context);
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

/// Maximum number of characters shown of a text that failed a check.
const MAX_SHOWN_CHARS: usize = 500;

fn truncated(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{} ...", &text[..end]),
        None => text.to_owned(),
    }
}
