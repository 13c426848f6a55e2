//! Translates functions of run-time values into expressions in placeholders: arithmetic and concatenated texts.
//!
//! Sources: `org.apache.jmeter.functions`; `JexlArithmetic.add` of JEXL 3, which adds texts that are numbers, unlike Groovy.

use super::comparison::{Language, Operand, operand};
use super::variables::{Variables, closing_brace};
use crate::text::Text;

/// Maximum nesting depth of parentheses.
const MAX_DEPTH: usize = 16;

/// A part of an expression.
enum Computed {
    /// The source of an arithmetic expression, and the variables in it.
    Number(String, Vec<String>),
    Text(Text),
}

impl Computed {
    fn into_text(self) -> Text {
        match self {
            Self::Text(text) => text,
            // A lone number or variable is no expression.
            Self::Number(source, names) => match &names[..] {
                [] => Text::from(source),
                [name] if *name == source => Text::variable(name),
                _ => Text::expression(source, names),
            },
        }
    }
}

impl Variables<'_> {
    /// The text for the call of a function with arguments that have values during the run; `None` if it is not translated.
    pub(super) fn computed(&mut self, function: &str, arguments: &[String]) -> Option<Text> {
        // Further arguments name variables that store the result.
        let is_named = |from: usize| arguments.iter().skip(from).any(|name| !name.trim().is_empty());
        let first = arguments.first()?;
        match function {
            "__uppercase" | "__lowercase" if !is_named(1) => self.cased(first, function == "__uppercase"),
            "__changeCase" if !is_named(2) => match arguments.get(1).map_or("UPPER", |mode| mode.trim()) {
                mode @ ("" | "UPPER" | "LOWER") => self.cased(first, mode != "LOWER"),
                _ => None,
            },
            "__intSum" | "__longSum" => {
                let terms: Vec<&str> =
                    arguments.iter().map(|term| term.trim()).filter(|term| !term.is_empty()).collect();
                self.expression(&terms.join(" + "), Language::Jexl)
            }
            "__digest" if !is_named(2) => {
                let digest = match first.trim() {
                    "MD5" => "md5",
                    "SHA-1" => "sha1",
                    "SHA-256" => "sha256",
                    _ => return None,
                };
                let name = self.one_variable(arguments.get(1)?.trim())?;
                Some(Text::expression(format!("{digest}({name})"), vec![name]))
            }
            "__groovy" if !is_named(1) => self.groovy_call(first).or_else(|| self.expression(first, Language::Groovy)),
            "__jexl" | "__jexl2" | "__jexl3" if !is_named(1) => self.expression(first, Language::Jexl),
            "__javaScript" if !is_named(1) => self.expression(first, Language::JavaScript),
            _ => None,
        }
    }

    /// Java calls for which JMeter has a function with the same result.
    fn groovy_call(&mut self, text: &str) -> Option<Text> {
        let function = match text.trim().trim_end_matches(';') {
            "UUID.randomUUID()" | "UUID.randomUUID().toString()" | "java.util.UUID.randomUUID().toString()" => "__UUID",
            "System.currentTimeMillis()" | "new Date().getTime()" | "new Date().time" => "__time",
            _ => return None,
        };
        Some(self.resolve(&format!("${{{function}}}")).0)
    }

    fn cased(&mut self, text: &str, upper: bool) -> Option<Text> {
        let name = self.one_variable(text)?;
        Some(Text::expression(format!("{}({name})", if upper { "upper" } else { "lower" }), vec![name]))
    }

    /// The name of the variable in the workload, if `text` consists of one variable with a run-time value.
    fn one_variable(&mut self, text: &str) -> Option<String> {
        let (value, unknown) = self.resolve(text);
        let name = value.variable_names().next()?.to_owned();
        let is_known = unknown.is_empty() && self.missing_value(&name).is_none();
        // A time with a format is no operand of an expression.
        (is_known && value == Text::variable(&name) && !name.contains('|')).then_some(name)
    }

    /// The text of an expression of numbers, texts and variables with `+`, `-` and `*`.
    fn expression(&mut self, text: &str, language: Language) -> Option<Text> {
        let mut rest = text.trim().trim_end_matches(';');
        let value = self.sum(&mut rest, language, MAX_DEPTH)?;
        rest.trim().is_empty().then(|| value.into_text())
    }

    fn sum(&mut self, rest: &mut &str, language: Language, depth: usize) -> Option<Computed> {
        let mut value = self.product(rest, language, depth)?;
        loop {
            *rest = rest.trim_start();
            let Some(sign) = rest.chars().next().filter(|sign| ['+', '-'].contains(sign)) else { return Some(value) };
            *rest = &rest[1..];
            let other = self.product(rest, language, depth)?;
            value = match (value, other) {
                (Computed::Number(left, names), Computed::Number(right, others)) => {
                    let right = if sign == '-' && right.contains([' ']) { format!("({right})") } else { right };
                    Computed::Number(format!("{left} {sign} {right}"), [names, others].concat())
                }
                (Computed::Text(mut left), Computed::Text(right)) if sign == '+' => {
                    left.push(&right);
                    Computed::Text(left)
                }
                (left, right) if sign == '+' && language != Language::Jexl => {
                    let mut left = left.into_text();
                    left.push(&right.into_text());
                    Computed::Text(left)
                }
                _ => return None,
            };
        }
    }

    fn product(&mut self, rest: &mut &str, language: Language, depth: usize) -> Option<Computed> {
        let mut value = self.factor(rest, language, depth)?;
        loop {
            *rest = rest.trim_start();
            if !rest.starts_with('*') || rest.starts_with("**") {
                return Some(value);
            }
            *rest = &rest[1..];
            let (Computed::Number(left, names), Computed::Number(right, others)) =
                (value, self.factor(rest, language, depth)?)
            else {
                return None;
            };
            value = Computed::Number(format!("{left} * {right}"), [names, others].concat());
        }
    }

    fn factor(&mut self, rest: &mut &str, language: Language, depth: usize) -> Option<Computed> {
        let depth = depth.checked_sub(1)?;
        *rest = rest.trim_start();
        if let Some(mut positive) = rest.strip_prefix('-') {
            let Computed::Number(source, names) = self.factor(&mut positive, language, depth)? else { return None };
            *rest = positive;
            return Some(Computed::Number(format!("(0 - {source})"), names));
        }
        let end = operand_end(rest)?;
        let (own, behind) = rest.split_at(end);
        if operand(own).is_none()
            && let Some(mut inner) = own.strip_prefix('(').and_then(|own| own.strip_suffix(')'))
        {
            let value = self.sum(&mut inner, language, depth)?;
            *rest = behind;
            return inner.trim().is_empty().then_some(match value {
                Computed::Number(source, names) => Computed::Number(format!("({source})"), names),
                text @ Computed::Text(_) => text,
            });
        }
        *rest = behind;
        for (method, upper) in [(".toUpperCase()", true), (".toLowerCase()", false)] {
            if let Some(text) = own.strip_suffix(method) {
                let Operand::Variable(name, true) = operand(text)? else { return None };
                return self.cased(&format!("${{{name}}}"), upper).map(Computed::Text);
            }
        }
        self.operand(own.trim_end_matches(".toString()"))
    }

    fn operand(&mut self, text: &str) -> Option<Computed> {
        match operand(text) {
            Some(Operand::Variable(name, as_text)) => {
                let whole = format!("${{{name}}}");
                if as_text {
                    return self.known_text(&whole).map(Computed::Text);
                }
                let value = self.known_text(&whole)?;
                match value.as_literal().map(str::trim) {
                    Some(number) => number.parse::<f64>().ok().map(|_| Computed::Number(number.to_owned(), Vec::new())),
                    None => self.one_variable(&whole).map(|name| Computed::Number(name.clone(), vec![name])),
                }
            }
            Some(Operand::Constant(text, true)) => Some(Computed::Text(Text::from(text))),
            Some(Operand::Constant(number, false)) => {
                // A leading zero marks an octal number.
                let is_plain = number.parse::<f64>().is_ok() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
                let is_decimal = number.len() == 1 || !number.starts_with('0') || number.starts_with("0.");
                (is_plain && is_decimal).then(|| Computed::Number(number, Vec::new()))
            }
            // A text in double quotes with variables in it.
            None => {
                let inside = text.strip_prefix('"')?.strip_suffix('"')?;
                let plain = !inside.contains(['"', '\\']);
                plain.then(|| self.known_text(inside).map(Computed::Text))?
            }
        }
    }

    /// The text with its variables, if all of them have a value.
    fn known_text(&mut self, text: &str) -> Option<Text> {
        let (value, unknown) = self.resolve(text);
        let is_known = unknown.is_empty() && value.variable_names().all(|name| self.missing_value(name).is_none());
        is_known.then_some(value)
    }
}

/// The end of the operand at the start of `text`, including the calls that follow it.
fn operand_end(text: &str) -> Option<usize> {
    let mut at = match text.chars().next()? {
        quote @ ('"' | '\'') => 1 + text[1..].find(quote)? + 1,
        '$' => closing_brace(text)? + 1,
        '(' => closing_parenthesis(text)?,
        _ => 0,
    };
    loop {
        let rest = &text[at..];
        let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "._".contains(c))).unwrap_or(rest.len());
        at += word;
        if word == 0 || !text[at..].starts_with('(') {
            return (at > 0).then_some(at);
        }
        at += closing_parenthesis(&text[at..])?;
    }
}

/// The end of the parenthesis that `text` begins with, outside of quotes.
fn closing_parenthesis(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0usize, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') if depth == 1 => return Some(at + 1),
            (None, ')') => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    None
}
