//! Translates run-time conditions of if and while controllers into conditions of steps and blocks.
//!
//! Sources: `IfController.next`, `WhileController.endOfLoop`. A condition consists of comparisons of a variable with a constant, combined by
//! `&&`, `||`, `!` and parentheses, in `__jexl3`, `__groovy`, `__javaScript` or (if controllers without *Interpret Condition as Variable
//! Expression*) `JavaScript`.

use offered_workload::condition::{Condition, Subject};
use offered_workload::script::TextCondition;

use super::Reader;
use super::comparison::{Comparison, Language, Operand, comparison};
use super::functions;
use super::node::Node;
use crate::action::{Action, Decided};
use crate::boolean::{enclosed, split};
use crate::plan::ValueSource;
use crate::text::Text;

/// The variable in which JMeter stores whether the last sample was successful.
const LAST_OK: &str = "JMeterThread.last_sample_ok";

/// Maximum number of repetitions of a while controller.
const MAX_REPEATS: u32 = 100;

/// Maximum nesting depth of parentheses.
const MAX_DEPTH: usize = 16;

/// When a condition is decided.
enum Decision {
    /// Before the run.
    Known(bool),
    /// During the run.
    During(Condition),
}

impl Decision {
    fn negated(self) -> Self {
        match self {
            Self::Known(holds) => Self::Known(!holds),
            Self::During(condition) => {
                Self::During(Condition { negated: !condition.negated, subject: condition.subject })
            }
        }
    }

    /// Combines `parts` by `&&`, or if `any` by `||`.
    fn combined(parts: Vec<Self>, any: bool) -> Self {
        let mut during = Vec::new();
        for part in parts {
            match part {
                Self::Known(holds) if holds == any => return Self::Known(any),
                Self::Known(_) => {}
                Self::During(condition) => during.push(condition),
            }
        }
        match during.len() {
            0 => Self::Known(!any),
            1 => Self::During(during.remove(0)),
            _ if any => Self::During(Condition { subject: Subject::Any(during), negated: false }),
            _ => Self::During(Condition { subject: Subject::All(during), negated: false }),
        }
    }
}

impl<'e> Reader<'e, '_> {
    /// An if controller whose condition is decided during the run; `None` if it cannot be translated.
    pub(super) fn conditional(&mut self, node: &Node<'e>, action: &Action) -> Option<Action> {
        let text = node.element.text_of("IfController.condition");
        let is_expression = node.element.text_of("IfController.useExpression") == "true";
        let condition = match self.decision(text, is_expression)? {
            Decision::Known(true) => return Some(action.clone()),
            Decision::Known(false) => return Some(Action::Sequence(Vec::new())),
            Decision::During(condition) => condition,
        };
        // Steps have conditions, pauses do not.
        if action.requests().is_empty() {
            return None;
        }
        let evaluates_all = node.element.text_of("IfController.evaluateAll") == "true";
        let decided = if evaluates_all { Decided::EachTime } else { Decided::Once };
        // JMeter decides once, a choice in it makes each step decide again: then responses may not change the value.
        let changes = || self.is_changed_by(&condition, action) || examines_response(&condition);
        if decided == Decided::Once && !action.is_straight() && action.requests().len() > 1 && changes() {
            return None;
        }
        Some(Action::If(condition, decided, Box::new(action.clone())))
    }

    /// Whether a response of a request in `action` sets a value that the condition examines.
    fn is_changed_by(&self, condition: &Condition, action: &Action) -> bool {
        let sets = |name: &str| {
            action.requests().iter().any(|request| self.requests[*request].extract.iter().any(|one| one.name == name))
        };
        condition.templates().iter().any(|text| text.names().any(|name| sets(&name.variable)))
    }

    /// A while controller whose children follow each other in one order.
    pub(super) fn repeated(&mut self, node: &Node<'e>, actions: &[Action]) -> Option<Action> {
        let body = Action::Sequence(actions.to_vec());
        if body.requests().is_empty() || !body.is_straight() {
            return None;
        }
        let text = node.element.text_of("WhileController.condition").trim();
        let last = text.is_empty() || text.eq_ignore_ascii_case("LAST");
        let goes_on = match Language::of_call(text) {
            _ if last => Condition { subject: Subject::Ok, negated: false },
            Some(_) => match self.decision(text, true)? {
                Decision::Known(false) => return Some(Action::Sequence(Vec::new())),
                Decision::Known(true) => return None,
                Decision::During(condition) => condition,
            },
            // Unlike in an if controller, anything but `false` goes on.
            None => self.word(text, "false", true)?,
        };
        // What nothing in the loop changes would never end it: in JMeter a script or a counter does.
        if !examines_response(&goes_on) && !self.is_changed_by(&goes_on, &body) {
            return None;
        }
        self.note(
            node,
            format!("repeats its children while a condition holds; here at most {MAX_REPEATS} times, with the same wait after every repetition"),
        );
        let until = Condition { negated: !goes_on.negated, ..goes_on.clone() };
        let action = Action::Until(until, MAX_REPEATS, Box::new(body));
        // The condition is also examined before the first request, unless it is empty.
        Some(if text.is_empty() { action } else { Action::If(goes_on, Decided::Once, Box::new(action)) })
    }

    /// Whether a condition holds before the first request of a thread (`JMeterThread.initRun`), as far as it is known.
    pub(super) fn holds_at_start(&self, condition: &Condition) -> bool {
        self.at_start(condition) == Some(true)
    }

    fn at_start(&self, condition: &Condition) -> Option<bool> {
        let initial = |text: &offered_workload::Template| {
            let name = text.names().next()?.variable.to_string();
            let variable = self.variables.definitions.iter().find(|variable| variable.name == name)?;
            if let ValueSource::Constant(value) = &variable.value { Some(value.clone()) } else { None }
        };
        let parts = |parts: &[Condition]| parts.iter().map(|part| self.at_start(part)).collect::<Option<Vec<bool>>>();
        let holds = match &condition.subject {
            Subject::Ok => true,
            Subject::All(all) => parts(all)?.into_iter().all(|holds| holds),
            Subject::Any(any) => parts(any)?.into_iter().any(|holds| holds),
            Subject::Value(text, TextCondition::Is(wanted)) => initial(text)? == wanted.text()?,
            Subject::Value(text, TextCondition::Contains(wanted)) => initial(text)?.contains(wanted.text()?),
            Subject::Number(text, range) => range.contains(initial(text)?.trim().parse().ok()?),
            _ => return None,
        };
        Some(holds != condition.negated)
    }

    /// Translates the condition of a controller.
    fn decision(&mut self, text: &str, is_expression: bool) -> Option<Decision> {
        let text = text.trim();
        match Language::of_call(text) {
            Some((language, inner)) if is_expression => self.boolean(inner, language, MAX_DEPTH),
            // Anything but `true` is false.
            _ if is_expression => self.word(text, "true", false).map(Decision::During),
            _ => self.boolean(text, Language::JavaScript, MAX_DEPTH),
        }
    }

    /// Translates a boolean expression.
    fn boolean(&mut self, text: &str, language: Language, depth: usize) -> Option<Decision> {
        let text = text.trim().trim_end_matches(';').trim_end();
        let depth = depth.checked_sub(1)?;
        for (any, signs) in [(true, language.or_signs()), (false, language.and_signs())] {
            if let Some(parts) = split(text, signs) {
                let parts = parts.into_iter().map(|part| self.boolean(part, language, depth));
                return Some(Decision::combined(parts.collect::<Option<_>>()?, any));
            }
        }
        if let Some(inner) = enclosed(text) {
            return self.boolean(inner, language, depth);
        }
        if let Some(inner) = text.strip_prefix('!') {
            return self.boolean(inner, language, depth).map(Decision::negated);
        }
        if let Some(name) = text.strip_prefix("${").and_then(|text| text.strip_suffix('}'))
            && !name.contains(['$', '(', '{'])
            && !matches!(self.variables.resolve(text).0.as_literal(), Some("true" | "false"))
        {
            return self.word(text, "true", false).map(Decision::During);
        }
        let compared = comparison(text, language);
        if let Some(condition) = compared.and_then(|compared| self.compared(compared, language)) {
            return Some(Decision::During(condition));
        }
        let (value, unknown) = self.variables.resolve(text);
        let constant = value.as_literal().filter(|_| unknown.is_empty())?;
        Some(Decision::Known(functions::evaluate_expression(constant)? == "true"))
    }

    /// The condition for a comparison; `None` if its variable has a value before the run, or if the languages compare
    /// such values differently.
    fn compared(&mut self, compared: Comparison, language: Language) -> Option<Condition> {
        let Comparison { variable, test, negated } = compared;
        let Operand::Variable(name, as_text) = variable else { return None };
        let (name, sign, value, quoted) = match test {
            Ok(condition) => return self.value(&name, condition, negated),
            Err((sign, Operand::Constant(value, quoted))) => (name, sign, value, quoted),
            Err(_) => return None,
        };
        if name == LAST_OK {
            return (value == "true" && sign == "==").then_some(Condition { subject: Subject::Ok, negated });
        }
        match sign {
            "==" if as_text && quoted => self.value(&name, TextCondition::Is(Text::from(value).template()), negated),
            "==" if !as_text && !quoted && ["true", "false"].contains(&value.as_str()) => {
                self.value(&name, TextCondition::Is(Text::from(value).template()), negated)
            }
            // Two texts are ordered by their letters, and for Groovy a text never equals a number.
            _ if as_text && quoted => None,
            _ if as_text != quoted && language == Language::Groovy => None,
            _ => {
                let sign = if sign == "==" { "=" } else { sign };
                let range = format!("{sign} {value}").parse().ok()?;
                let value = self.run_value(&name)?;
                Some(Condition { subject: Subject::Number(value.template(), range), negated })
            }
        }
    }

    /// The condition that the value of the variable `${name}` is this word, in any case.
    fn word(&mut self, text: &str, word: &str, negated: bool) -> Option<Condition> {
        match text.strip_prefix("${")?.strip_suffix('}')? {
            LAST_OK => Some(Condition { subject: Subject::Ok, negated: false }),
            name => self.value(name, TextCondition::Matches(format!("^(?i:{word})$")), negated),
        }
    }

    /// A condition on a variable with a run-time value.
    fn value(&mut self, name: &str, condition: TextCondition, negated: bool) -> Option<Condition> {
        Some(Condition { subject: Subject::Value(self.run_value(name)?.template(), condition), negated })
    }

    /// The variable `${name}`, if it has a run-time value.
    fn run_value(&mut self, name: &str) -> Option<Text> {
        let (value, unknown) = self.variables.resolve(&format!("${{{name}}}"));
        // A variable without a value has a placeholder after its first use.
        let has_value = !value.variable_names().any(|name| self.variables.missing_value(name).is_some());
        (unknown.is_empty() && value.as_literal().is_none() && has_value).then_some(value)
    }
}

/// Whether the condition depends on the last response, and not only on values.
fn examines_response(condition: &Condition) -> bool {
    match &condition.subject {
        Subject::All(parts) | Subject::Any(parts) => parts.iter().any(examines_response),
        subject => *subject == Subject::Ok,
    }
}
