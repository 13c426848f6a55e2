//! Evaluation of the conditions of flows, from the values and the last response of a session.

use offered_events::{Event, Outcome};
use offered_workload::condition::{self, NumberRange, Subject};
use offered_workload::failed_checks;

use super::checks::{Check, Expected};
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
    Number(Text, NumberRange),
    Status(Vec<(u16, u16)>),
    Check(String),
    Ok,
    Weight(Text),
    All(Vec<Condition>),
    Any(Vec<Condition>),
}

impl Condition {
    /// Compiles a condition of the workload.
    ///
    /// # Errors
    /// An invalid regular expression.
    pub(super) fn new(condition: &condition::Condition, values: &Values) -> Result<Self, String> {
        let several = |parts: &[condition::Condition]| {
            parts.iter().map(|part| Self::new(part, values)).collect::<Result<Vec<_>, String>>()
        };
        let subject = match &condition.subject {
            Subject::Value(value, wanted) => CompiledSubject::Value(values.text(value), Expected::new(wanted, values)?),
            Subject::Number(value, range) => CompiledSubject::Number(values.text(value), *range),
            Subject::Status(ranges) => CompiledSubject::Status(ranges.clone()),
            Subject::Check(name) => CompiledSubject::Check(name.clone()),
            Subject::Ok => CompiledSubject::Ok,
            Subject::Weight(value) => CompiledSubject::Weight(values.text(value)),
            Subject::All(parts) => CompiledSubject::All(several(parts)?),
            Subject::Any(parts) => CompiledSubject::Any(several(parts)?),
        };
        Ok(Self { subject, negated: condition.negated })
    }
}

impl Script {
    /// The value of condition `number` for a session whose last request, `context`, ended with `event`: 1 if it holds and otherwise 0; or the
    /// weight of a branch.
    pub(crate) fn decide(
        &self,
        number: u16,
        event: &Event,
        context: RequestContext,
        state: Option<&SessionState>,
    ) -> f64 {
        let condition = &self.conditions[usize::from(number)];
        let render = |text: &Text| self.values.plain(text, context, state).ok();
        if let CompiledSubject::Weight(value) = &condition.subject {
            let weight = render(value).and_then(|text| text.trim().parse().ok());
            return weight.filter(|weight: &f64| weight.is_finite() && *weight >= 0.0).unwrap_or(0.0);
        }
        f64::from(u8::from(self.holds(condition, event, &render)))
    }

    /// Whether a condition holds after `event`; `render` is the value of a text, `None` if it has none.
    fn holds(&self, condition: &Condition, event: &Event, render: &dyn Fn(&Text) -> Option<String>) -> bool {
        let Condition { subject, negated } = condition;
        let is_fulfilled = match subject {
            CompiledSubject::All(parts) => parts.iter().all(|part| self.holds(part, event, render)),
            CompiledSubject::Any(parts) => parts.iter().any(|part| self.holds(part, event, render)),
            CompiledSubject::Weight(_) => false,
            CompiledSubject::Ok => event.outcome == Outcome::Ok,
            CompiledSubject::Status(ranges) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&event.status)),
            CompiledSubject::Number(value, range) => {
                render(value).and_then(|text| text.trim().parse().ok()).is_some_and(|number| range.contains(number))
            }
            CompiledSubject::Check(name) => self.passed(name, event),
            CompiledSubject::Value(value, expected) => render(value).is_some_and(|value| match expected {
                Expected::There => true,
                Expected::Is(text) => render(text).is_some_and(|wanted| value == wanted),
                Expected::Contains(text) => render(text).is_some_and(|wanted| value.contains(&wanted)),
                Expected::Matches(expression) => expression.is_match(value.as_bytes()),
                // A text has no number of matches.
                Expected::Count(_) => false,
            }),
        };
        is_fulfilled != *negated
    }

    /// Whether the response of `event` passed the check of this name. False without a response, and if the request has
    /// no such check.
    fn passed(&self, name: &str, event: &Event) -> bool {
        let checks = &self.requests[usize::from(event.label)].checks;
        let names: Vec<&str> = checks.iter().map(Check::name).collect();
        let has_failed = || failed_checks::indexes(&event.why(), &names).any(|index| names[index] == name);
        names.contains(&name) && event.outcome.is_response() && !(event.outcome == Outcome::CheckFailed && has_failed())
    }
}
