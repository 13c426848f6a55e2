//! Conditions of if and while controllers that only a run decides, as conditions of steps.
//!
//! Sources: `IfController.next`, `WhileController.endOfLoop`. A condition is a comparison of a variable with a constant, in `__jexl3`,
//! `__groovy`, `__javaScript` or (if controllers without *Interpret Condition as Variable Expression*) `JavaScript`.

use offered_workload::Template;
use offered_workload::condition::{Condition, Subject};
use offered_workload::script::TextCondition;

use super::Reader;
use super::node::Node;
use crate::chain::Action;
use crate::plan::ValueSource;
use crate::text::Text;

/// Functions that evaluate an expression.
const EVALUATORS: [&str; 5] = ["__jexl3", "__jexl2", "__jexl", "__groovy", "__javaScript"];

/// The variable in which JMeter stores whether the last sample was successful.
const LAST_OK: &str = "JMeterThread.last_sample_ok";

/// Maximum number of repetitions of a while controller.
const MAX_REPEATS: u32 = 100;

/// One side of a comparison.
enum Operand {
    /// A variable of the plan, and whether it is compared as text.
    Variable(String, bool),
    /// A constant, and whether it is a text in quotes.
    Constant(String, bool),
}

impl<'e> Reader<'e, '_> {
    /// An if controller whose condition is decided during the run; `None` if it cannot be translated.
    pub(super) fn conditional(&mut self, node: &Node<'e>, action: &Action) -> Option<Action> {
        let text = node.element.text_of("IfController.condition");
        let condition = self.condition(text, node.element.text_of("IfController.useExpression") == "true")?;
        let evaluates_all = node.element.text_of("IfController.evaluateAll") == "true";
        // Steps have conditions, pauses do not.
        if self.in_condition || evaluates_all || action.requests().is_empty() {
            return None;
        }
        // JMeter decides once, so that responses of the children may not change the value.
        let sets = |name: &str| {
            action.requests().iter().any(|request| self.requests[*request].extract.iter().any(|one| one.name == name))
        };
        let depends = match &condition.subject {
            Subject::Value(text, _) => text.names().any(|name| sets(&name.variable)),
            _ => action.requests().len() > 1,
        };
        (!depends).then(|| Action::If(condition, Box::new(action.clone())))
    }

    /// A while controller around one request.
    pub(super) fn repeated(&mut self, node: &Node<'e>, actions: &[Action]) -> Option<Action> {
        let [Action::Request(request, before)] = actions else { return None };
        let text = node.element.text_of("WhileController.condition").trim();
        let last = text.is_empty() || text.eq_ignore_ascii_case("LAST");
        let goes_on = match expression(text) {
            _ if last => Condition { subject: Subject::Ok, negated: false },
            Some(_) => self.condition(text, true)?,
            // Unlike in an if controller, anything but `false` goes on.
            None => self.word(text, "false", true)?,
        };
        let until = Condition { negated: !goes_on.negated, ..goes_on.clone() };
        let first = if self.in_condition && !text.is_empty() { "; the first is always sent" } else { "" };
        self.note(
            node,
            format!("repeats its request while a condition holds; here at most {MAX_REPEATS} times, with the same wait after each and the last{first}"),
        );
        let action = Action::Until(until, MAX_REPEATS, *request, before.clone());
        // The condition is also examined before the first request, unless it is empty.
        Some(match text.is_empty() || self.in_condition {
            true => action,
            false => Action::If(goes_on, Box::new(action)),
        })
    }

    /// Whether a condition holds before the first request of a thread (`JMeterThread.initRun`), as far as it is known.
    pub(super) fn holds_at_start(&self, condition: &Condition) -> bool {
        let (text, wanted) = match &condition.subject {
            Subject::Value(text, TextCondition::Is(wanted)) => (text, wanted),
            subject => return *subject == Subject::Ok && !condition.negated,
        };
        let name = text.names().next().map(|name| name.variable.to_string());
        let initial = self.variables.definitions.iter().find(|variable| Some(&variable.name) == name.as_ref());
        match initial.map(|variable| &variable.value) {
            Some(ValueSource::Constant(value)) => (wanted.text() == Some(value.as_str())) != condition.negated,
            _ => false,
        }
    }

    /// Translates a condition that compares a variable with a constant.
    fn condition(&mut self, text: &str, is_expression: bool) -> Option<Condition> {
        let text = text.trim();
        let Some(inner) = (if is_expression { expression(text) } else { Some(text) }) else {
            // Anything but `true` is false.
            return self.word(text, "true", false);
        };
        if inner.contains("&&") || inner.contains("||") {
            return None;
        }
        let (left, sign, right) = comparison(inner)?;
        let (Operand::Variable(name, as_text), Operand::Constant(value, quoted)) = (operand(left)?, operand(right)?)
        else {
            return None;
        };
        let negated = sign == "!=";
        if name == LAST_OK {
            return (value == "true" && ["==", "!="].contains(&sign))
                .then_some(Condition { subject: Subject::Ok, negated });
        }
        match sign {
            "==" | "!=" if as_text && quoted => {
                self.compared(&name, TextCondition::Is(Text::from(value).template()), negated)
            }
            // Two texts are ordered by their letters, and for Groovy a text never equals a number.
            _ if as_text && quoted => None,
            _ if as_text != quoted && text.starts_with("${__groovy(") => None,
            _ => {
                let sign = if negated || sign == "==" { "=" } else { sign };
                let range = format!("{sign} {value}").parse().ok()?;
                self.compared(&name, TextCondition::Count(range), negated)
            }
        }
    }

    /// The condition that the value of the variable `${name}` is this word, in any case.
    fn word(&mut self, text: &str, word: &str, negated: bool) -> Option<Condition> {
        match text.strip_prefix("${")?.strip_suffix('}')? {
            LAST_OK => Some(Condition { subject: Subject::Ok, negated: false }),
            name => self.compared(name, TextCondition::Matches(format!("^(?i:{word})$")), negated),
        }
    }

    /// A condition on a variable with a value of the run.
    fn compared(&mut self, name: &str, condition: TextCondition, negated: bool) -> Option<Condition> {
        let (value, unknown) = self.variables.resolve(&format!("${{{name}}}"));
        // A variable without a value has a placeholder after its first use.
        let has_value = !value.variable_names().any(|name| self.variables.missing_value(name).is_some());
        let is_variable = unknown.is_empty() && value.as_literal().is_none() && has_value;
        let value: Template = value.template();
        is_variable.then_some(Condition { subject: Subject::Value(value, condition), negated })
    }
}

/// The expression that a function such as `${__jexl3(EXPRESSION)}` evaluates.
fn expression(text: &str) -> Option<&str> {
    let call = text.strip_prefix("${")?.strip_suffix('}')?.trim();
    let (function, inner) = call.split_once('(')?;
    let inner = inner.strip_suffix(')')?.trim().trim_end_matches(',').trim_end();
    EVALUATORS.contains(&function).then_some(inner)
}

/// The two sides of a comparison and the sign between them.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    if let Some((left, right)) = text.split_once(".equals(") {
        return Some((left, "==", right.trim_end().strip_suffix(')')?));
    }
    for sign in ["==", "!=", ">=", "<=", ">", "<"] {
        if let Some((left, right)) = text.split_once(sign) {
            return Some((left, sign, right));
        }
    }
    None
}

fn operand(text: &str) -> Option<Operand> {
    let text = text.trim().trim_end_matches(';');
    let unquoted = |text: &str| {
        let quote = text.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains([quote, '\\'])).then(|| inside.to_owned())
    };
    let variable = |text: &str| {
        let name = text.strip_prefix("${")?.strip_suffix('}')?;
        (!name.contains(['$', '(', '{'])).then(|| name.to_owned())
    };
    if let Some(name) = text.strip_prefix("vars.get(").and_then(|call| call.strip_suffix(')')) {
        return Some(Operand::Variable(unquoted(name.trim())?, true));
    }
    if let Some(name) = variable(text) {
        return Some(Operand::Variable(name, false));
    }
    match unquoted(text) {
        Some(inside) => Some(match variable(&inside) {
            Some(name) => Operand::Variable(name, true),
            None if inside.contains("${") => return None,
            None => Operand::Constant(inside, true),
        }),
        None => {
            let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
            plain.then(|| Operand::Constant(text.to_owned(), false))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_split_at_their_sign() {
        assert_eq!(expression("${__jexl3(\"${a}\" == \"b\",)}"), Some("\"${a}\" == \"b\""));
        assert_eq!(expression("${__P(a)}"), None);
        assert_eq!(comparison("${n} >= 3").map(|(_, sign, right)| (sign, right.trim())), Some((">=", "3")));
        let both = |text| match operand(text) {
            Some(Operand::Variable(name, as_text)) => format!("variable {name} {as_text}"),
            Some(Operand::Constant(value, quoted)) => format!("constant {value} {quoted}"),
            None => "none".to_owned(),
        };
        for (text, read) in [
            ("\"${a}\"", "variable a true"),
            ("${a}", "variable a false"),
            ("vars.get('a')", "variable a true"),
            ("'b c'", "constant b c true"),
            ("-3", "constant -3 false"),
            ("\"x${a}\"", "none"),
            ("f(x)", "none"),
            ("", "none"),
        ] {
            assert_eq!(both(text), read, "{text}");
        }
    }
}
