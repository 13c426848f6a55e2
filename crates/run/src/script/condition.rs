//! Conditions of flows, decided by the values and the last response of a session.

use offered_events::{Event, Outcome};
use offered_workload::condition::{self, Subject};
use offered_workload::failed_checks;
use offered_workload::script::{Sizes, TextCondition};
use regex::bytes::Regex;

use super::locator::regex;
use super::value::{Text, Values};
use super::{RequestContext, Script, SessionState};

/// A compiled condition.
#[derive(Debug)]
pub(super) struct Condition {
    subject: CompiledSubject,
    negated: bool,
}

#[derive(Debug)]
enum CompiledSubject {
    Value(Text, Expected),
    Status(Vec<(u16, u16)>),
    Check(String),
    Ok,
}

#[derive(Debug)]
enum Expected {
    There,
    Is(Text),
    Contains(Text),
    Matches(Regex),
    Number(Sizes),
}

impl Condition {
    /// Compiles a condition of the workload.
    ///
    /// # Errors
    /// An invalid regular expression.
    pub(super) fn new(condition: &condition::Condition, values: &Values) -> Result<Self, String> {
        let subject = match &condition.subject {
            Subject::Value(value, wanted) => {
                let expected = match wanted {
                    TextCondition::There => Expected::There,
                    TextCondition::Is(text) => Expected::Is(values.text(text)),
                    TextCondition::Contains(text) => Expected::Contains(values.text(text)),
                    TextCondition::Matches(pattern) => Expected::Matches(regex(pattern)?),
                    TextCondition::Count(range) => Expected::Number(*range),
                };
                CompiledSubject::Value(values.text(value), expected)
            }
            Subject::Status(ranges) => CompiledSubject::Status(ranges.clone()),
            Subject::Check(name) => CompiledSubject::Check(name.clone()),
            Subject::Ok => CompiledSubject::Ok,
        };
        Ok(Self { subject, negated: condition.negated })
    }
}

impl Script {
    /// Whether condition `number` holds for a session whose last request, `context`, ended with `event`.
    pub(crate) fn holds(
        &self,
        number: u16,
        event: &Event,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> bool {
        let Condition { subject, negated } = &self.conditions[usize::from(number)];
        let render = |text: &Text| self.values.plain(text, context, state).ok();
        let is_fulfilled = match subject {
            CompiledSubject::Ok => event.outcome == Outcome::Ok,
            CompiledSubject::Status(ranges) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&event.status)),
            CompiledSubject::Check(name) => self.passed(name, event),
            CompiledSubject::Value(value, expected) => render(value).is_some_and(|value| match expected {
                Expected::There => true,
                Expected::Is(text) => render(text).is_some_and(|wanted| value == wanted),
                Expected::Contains(text) => render(text).is_some_and(|wanted| value.contains(&wanted)),
                Expected::Matches(expression) => expression.is_match(value.as_bytes()),
                Expected::Number(range) => value.trim().parse().is_ok_and(|number| range.contains(number)),
            }),
        };
        is_fulfilled != *negated
    }

    /// Whether the response of `event` passed the check of this name. One of another request, or without a response, did not.
    fn passed(&self, name: &str, event: &Event) -> bool {
        let checks = &self.requests[usize::from(event.label)].checks;
        let names: Vec<&str> = checks.iter().map(super::checks::Check::name).collect();
        let has_failed = || failed_checks::indexes(&event.why(), &names).any(|index| names[index] == name);
        names.contains(&name) && event.outcome.is_response() && !(event.outcome == Outcome::CheckFailed && has_failed())
    }
}
