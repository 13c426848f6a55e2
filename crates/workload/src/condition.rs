//! Conditions on the values and the last response of a session, by which it takes its way through a flow.

use offered_base::{InvalidValue, nearest};

use super::Request;
use super::check::parts::check_test;
use super::script::{Test, TextCondition};
use crate::template::Template;

/// A condition of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// What is examined.
    pub subject: Subject,
    /// Whether it holds where the subject does not fulfil it.
    pub negated: bool,
}

/// What a condition examines.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A text with placeholders; a number of matches is the text as a whole number. A text with a missing value fulfils nothing.
    Value(Template, TextCondition),
    /// The status of the last response is in one of these ranges.
    Status(Vec<(u16, u16)>),
    /// The last response passed the check of this name.
    Check(String),
    /// The outcome of the last request was `ok`.
    Ok,
    /// No condition, but the weight of a branch: a text with placeholders. What is not a number of at least 0 is the weight 0.
    Weight(Template),
}

impl Condition {
    /// The templates that it contains.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let (value, other) = match &self.subject {
            Subject::Value(value, TextCondition::Is(text) | TextCondition::Contains(text)) => (Some(value), Some(text)),
            Subject::Value(value, _) | Subject::Weight(value) => (Some(value), None),
            _ => (None, None),
        };
        value.into_iter().chain(other)
    }

    /// Checks its ranges, and that its check exists.
    ///
    /// # Errors
    /// An invalid range, or an unknown check.
    pub(crate) fn check(&self, requests: &[Request]) -> Result<(), InvalidValue> {
        match &self.subject {
            Subject::Status(ranges) => check_test(&Test::Status(ranges.clone())),
            Subject::Check(name) => {
                let known: Vec<&str> =
                    requests.iter().flat_map(Request::checks).map(|check| check.name.as_str()).collect();
                if known.contains(&&**name) {
                    return Ok(());
                }
                Err(InvalidValue::new(format!("no check is named `{name}`{}", nearest(name, &known))))
            }
            Subject::Value(..) | Subject::Ok | Subject::Weight(_) => Ok(()),
        }
    }
}
