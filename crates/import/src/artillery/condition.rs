//! Conditions of `ifTrue` (expressions of the package filtrex).

use offered_workload::condition::{Condition, Subject};
use offered_workload::script::TextCondition;

use super::values::Values;
use crate::boolean::{enclosed, split};
use crate::text::Text;

/// Maximum nesting depth of parentheses.
const MAX_DEPTH: usize = 16;

/// Translates an expression; `None` if it is more than comparisons of values of the run with constants.
pub(super) fn read(text: &str, values: &mut Values) -> Option<Condition> {
    expression(text, values, MAX_DEPTH)
}

fn expression(text: &str, values: &mut Values, depth: usize) -> Option<Condition> {
    let (text, depth) = (text.trim(), depth.checked_sub(1)?);
    for (sign, subject) in [(" or ", Subject::Any as fn(Vec<Condition>) -> Subject), (" and ", Subject::All)] {
        if let Some(parts) = split(text, &[sign]) {
            let parts: Option<Vec<Condition>> = parts.into_iter().map(|part| expression(part, values, depth)).collect();
            return Some(Condition { subject: subject(parts?), negated: false });
        }
    }
    if let Some(inner) = enclosed(text) {
        return expression(inner, values, depth);
    }
    if let Some(inner) = text.strip_prefix("not ").or_else(|| text.strip_prefix("not(").map(|_| &text[3..])) {
        let condition = expression(inner, values, depth)?;
        return Some(Condition { negated: !condition.negated, ..condition });
    }
    for sign in ["==", "!=", ">=", "<=", ">", "<"] {
        let Some([left, right]) = split(text, &[sign]).and_then(|parts| <[&str; 2]>::try_from(parts).ok()) else {
            continue;
        };
        return comparison(left.trim(), sign, right.trim(), values);
    }
    // A name alone holds if its value is neither empty nor 0.
    let value = values.run_value(text)?.template();
    let is_false = TextCondition::Matches("^(|0|false|null|undefined)$".to_owned());
    Some(Condition { subject: Subject::Value(value, is_false), negated: true })
}

fn comparison(left: &str, sign: &str, right: &str, values: &mut Values) -> Option<Condition> {
    let value = values.run_value(left.trim_matches('\''))?.template();
    let negated = sign == "!=";
    let quoted = right.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
    let subject = match quoted {
        Some(text) if ["==", "!="].contains(&sign) && !text.contains(['"', '\\']) => {
            Subject::Value(value, TextCondition::Is(Text::from(text).template()))
        }
        Some(_) => return None,
        None => {
            let sign = if ["==", "!="].contains(&sign) { "=" } else { sign };
            Subject::Number(value, format!("{sign} {right}").parse().ok()?)
        }
    };
    Some(Condition { subject, negated })
}
