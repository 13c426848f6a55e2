//! Conditions on the values and the last response of a session, which select its path through a flow.

use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;

use offered_base::{InvalidValue, nearest};

use super::Request;
use super::check::parts::check_test;
use super::script::{Test, TextCondition};
use crate::template::Template;

/// A condition of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The examined subject.
    pub subject: Subject,
    /// Whether the condition is negated.
    pub negated: bool,
}

/// The subject of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Subject {
    /// A text with placeholders. If a value is missing, the condition does not hold.
    Value(Template, TextCondition),
    /// A text with placeholders that is a decimal number in this range.
    Number(Template, NumberRange),
    /// The status of the last response is in one of these ranges.
    Status(Vec<(u16, u16)>),
    /// The last response passed the check of this name.
    Check(String),
    /// The outcome of the last request was `ok`.
    Ok,
    /// Not a condition, but the weight of a branch: a text with placeholders. Anything but a number of at least 0 is
    /// the weight 0.
    Weight(Template),
    /// All of these conditions hold.
    All(Vec<Condition>),
    /// At least one of these conditions holds.
    Any(Vec<Condition>),
}

/// A range of decimal numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberRange {
    /// The lower bound.
    pub low: Bound<f64>,
    /// The upper bound.
    pub high: Bound<f64>,
}

impl NumberRange {
    /// Whether `number` is in the range.
    pub fn contains(&self, number: f64) -> bool {
        (self.low, self.high).contains(&number)
    }
}

/// `< 3.5`, `>= -1`, `= 2`, `2` or `1..2.5`; a range with two numbers includes both.
impl FromStr for NumberRange {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let wrong = || {
            InvalidValue::new(format!("`{text}` is not a range of numbers; write for example \"< 3.5\" or \"1..2.5\""))
        };
        let number = |text: &str| match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(wrong()),
        };
        let text = text.trim();
        let (low, high) = if let Some((low, high)) = text.split_once("..") {
            (Bound::Included(number(low)?), Bound::Included(number(high)?))
        } else if let Some(high) = text.strip_prefix("<=") {
            (Bound::Unbounded, Bound::Included(number(high)?))
        } else if let Some(low) = text.strip_prefix(">=") {
            (Bound::Included(number(low)?), Bound::Unbounded)
        } else if let Some(high) = text.strip_prefix('<') {
            (Bound::Unbounded, Bound::Excluded(number(high)?))
        } else if let Some(low) = text.strip_prefix('>') {
            (Bound::Excluded(number(low)?), Bound::Unbounded)
        } else {
            let exactly = number(text.strip_prefix('=').unwrap_or(text))?;
            (Bound::Included(exactly), Bound::Included(exactly))
        };
        match (low, high) {
            (Bound::Included(low), Bound::Included(high)) if low > high => Err(wrong()),
            _ => Ok(Self { low, high }),
        }
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.low, self.high) {
            (Bound::Included(low), Bound::Included(high)) if low == high => write!(f, "{low}"),
            (Bound::Included(low), Bound::Included(high)) => write!(f, "{low}..{high}"),
            (Bound::Included(low), _) => write!(f, ">= {low}"),
            (Bound::Excluded(low), _) => write!(f, "> {low}"),
            (_, Bound::Included(high)) => write!(f, "<= {high}"),
            (_, Bound::Excluded(high)) => write!(f, "< {high}"),
            (Bound::Unbounded, Bound::Unbounded) => Ok(()),
        }
    }
}

impl Condition {
    /// The templates in this condition.
    pub fn templates(&self) -> Vec<&Template> {
        match &self.subject {
            Subject::Value(value, TextCondition::Is(text) | TextCondition::Contains(text)) => vec![value, text],
            Subject::Value(value, _) | Subject::Number(value, _) | Subject::Weight(value) => vec![value],
            Subject::All(parts) | Subject::Any(parts) => parts.iter().flat_map(Self::templates).collect(),
            Subject::Status(_) | Subject::Check(_) | Subject::Ok => Vec::new(),
        }
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
            Subject::All(parts) | Subject::Any(parts) => parts.iter().try_for_each(|part| part.check(requests)),
            Subject::Value(..) | Subject::Number(..) | Subject::Ok | Subject::Weight(_) => Ok(()),
        }
    }
}
