//! Functions of `JMeter` whose value is known before anything is sent: texts made of texts, and expressions of numbers and texts.
//!
//! Sources: `org.apache.jmeter.functions` of `JMeter` 5.6, and for expressions the grammars of JEXL 3 and Groovy, of which only what
//! both mean alike is taken.

use crate::address::form;

/// A function and what it is called with, each as it stands; `None`: it is none. `\\,` is a comma that parts nothing.
pub(super) fn call(name: &str) -> Option<(&str, Vec<String>)> {
    let name = name.strip_prefix("__").map(|_| name)?;
    let Some((function, inside)) = name.strip_suffix(')').and_then(|call| call.split_once('(')) else {
        return Some((name, Vec::new()));
    };
    let (mut arguments, mut depth) = (vec![String::new()], 0usize);
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        let last = arguments.last_mut().expect("there is always one");
        match c {
            '\\' => match chars.next() {
                Some(kept @ (',' | '\\' | '$')) => last.push(kept),
                Some(other) => last.extend(['\\', other]),
                None => last.push('\\'),
            },
            ',' if depth == 0 => arguments.push(String::new()),
            c => {
                depth = match c {
                    '{' => depth + 1,
                    '}' => depth.saturating_sub(1),
                    _ => depth,
                };
                last.push(c);
            }
        }
    }
    Some((function, arguments))
}

/// What a function gives, where that does not depend on anything that is only known later.
pub(super) fn known(function: &str, arguments: &[String]) -> Option<String> {
    if arguments.iter().any(|argument| argument.contains("${")) {
        return None;
    }
    let first = arguments.first().map_or("", String::as_str);
    match function {
        "__lowercase" => Some(first.to_lowercase()),
        "__uppercase" => Some(first.to_uppercase()),
        "__changeCase" => match arguments.get(1).map_or("UPPER", |mode| mode.trim()) {
            "" | "UPPER" => Some(first.to_uppercase()),
            "LOWER" => Some(first.to_lowercase()),
            _ => None,
        },
        "__urlencode" => Some(form(first)),
        "__intSum" | "__longSum" => {
            // The last may be the name of a variable that takes the sum.
            let (last, others) = arguments.split_last()?;
            let sum: i64 = others.iter().try_fold(0i64, |sum, n| sum.checked_add(n.trim().parse().ok()?))?;
            let last = last.trim();
            let named = !last.is_empty() && last.parse::<i64>().is_err();
            Some(if named { sum } else { sum.checked_add(last.parse().unwrap_or(0))? }.to_string())
        }
        "__jexl2" | "__jexl3" | "__jexl" | "__groovy" | "__javaScript" => {
            // Commas are part of an expression, but the last argument may be the name of a variable.
            let whole = arguments.first().filter(|_| arguments[1..].iter().all(|name| name.trim().is_empty()))?;
            expression(whole)
        }
        _ => None,
    }
}

/// The value of an expression of whole numbers, texts and truths; `None` where it has anything else in it, or where the languages
/// differ about it.
pub(super) fn expression(text: &str) -> Option<String> {
    let mut rest = Rest { text: text.trim().trim_end_matches(';'), depth: 0 };
    let value = rest.either()?;
    rest.text.trim().is_empty().then(|| value.shown())
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(i64),
    Text(String),
    Truth(bool),
}

impl Value {
    fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Truth(truth) => truth.to_string(),
        }
    }

    fn truth(self) -> Option<bool> {
        if let Self::Truth(truth) = self { Some(truth) } else { None }
    }
}

/// What is still to be read of an expression, and how many brackets are open.
struct Rest<'t> {
    text: &'t str,
    depth: usize,
}

/// Brackets within one another at most.
const MAX_DEPTH: usize = 32;

impl Rest<'_> {
    /// Whether this stands here; then it is behind us.
    fn takes(&mut self, sign: &str) -> bool {
        let text = self.text.trim_start();
        let rest = text.strip_prefix(sign);
        if let Some(rest) = rest {
            self.text = rest;
        }
        rest.is_some()
    }

    fn either(&mut self) -> Option<Value> {
        let mut value = self.both()?;
        while self.takes("||") {
            let other = self.both()?;
            value = Value::Truth(value.truth()? | other.truth()?);
        }
        Some(value)
    }

    fn both(&mut self) -> Option<Value> {
        let mut value = self.compared()?;
        while self.takes("&&") {
            let other = self.compared()?;
            value = Value::Truth(value.truth()? & other.truth()?);
        }
        Some(value)
    }

    fn compared(&mut self) -> Option<Value> {
        let left = self.sum()?;
        let sign = ["==", "!=", "<=", ">=", "<", ">"].into_iter().find(|sign| self.takes(sign));
        let Some(sign) = sign else { return Some(left) };
        let right = self.sum()?;
        let order = match (&left, &right) {
            (Value::Number(left), Value::Number(right)) => left.cmp(right),
            (Value::Text(left), Value::Text(right)) => left.cmp(right),
            (Value::Truth(left), Value::Truth(right)) if ["==", "!="].contains(&sign) => left.cmp(right),
            // Here each language has rules of its own.
            _ => return None,
        };
        Some(Value::Truth(match sign {
            "==" => order.is_eq(),
            "!=" => order.is_ne(),
            "<=" => order.is_le(),
            ">=" => order.is_ge(),
            "<" => order.is_lt(),
            _ => order.is_gt(),
        }))
    }

    fn sum(&mut self) -> Option<Value> {
        let mut value = self.product()?;
        loop {
            value = if self.takes("+") {
                match (value, self.product()?) {
                    (Value::Number(left), Value::Number(right)) => Value::Number(left.checked_add(right)?),
                    (Value::Text(left), Value::Text(right)) => Value::Text(left + &right),
                    _ => return None,
                }
            } else if self.takes("-") {
                match (value, self.product()?) {
                    (Value::Number(left), Value::Number(right)) => Value::Number(left.checked_sub(right)?),
                    _ => return None,
                }
            } else {
                return Some(value);
            };
        }
    }

    fn product(&mut self) -> Option<Value> {
        let mut value = self.one()?;
        while let Some(sign) = ["*", "/", "%"].into_iter().find(|sign| self.takes(sign)) {
            let (Value::Number(left), Value::Number(right)) = (value, self.one()?) else { return None };
            value = Value::Number(match sign {
                "*" => left.checked_mul(right)?,
                "%" => left.checked_rem(right)?,
                // One language cuts off what is left over, the other does not.
                _ if left.checked_rem(right)? == 0 => left / right,
                _ => return None,
            });
        }
        Some(value)
    }

    fn one(&mut self) -> Option<Value> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Option<Value> {
        if self.takes("(") {
            let value = self.either()?;
            return self.takes(")").then_some(value);
        }
        if self.takes("!") {
            return Some(Value::Truth(!self.one()?.truth()?));
        }
        if self.takes("-") {
            let Value::Number(number) = self.one()? else { return None };
            return Some(Value::Number(number.checked_neg()?));
        }
        let text = self.text.trim_start();
        let quote = text.chars().next()?;
        if ['"', '\''].contains(&quote) {
            let (inside, rest) = text[1..].split_once(quote)?;
            // What is escaped, or put in by Groovy, is left to them.
            if inside.contains(['\\', '$']) {
                return None;
            }
            self.text = rest;
            return Some(Value::Text(inside.to_owned()));
        }
        let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.')).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        self.text = rest;
        match word {
            "true" | "false" => Some(Value::Truth(word == "true")),
            // A leading zero would be an octal number.
            _ if word.len() > 1 && word.starts_with('0') => None,
            _ => word.parse().ok().map(Value::Number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_that_all_languages_mean_alike_have_a_value() {
        for (text, value) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * -3", "-9"),
            ("7 % 4 - 1", "2"),
            ("12 / 4", "3"),
            ("'a' + \"b\"", "ab"),
            ("3 > 2 && !(1 == 2)", "true"),
            ("\"yes\" == \"no\" || 'a' != 'b'", "true"),
            ("true;", "true"),
        ] {
            assert_eq!(expression(text).as_deref(), Some(value), "{text}");
        }
        for text in [
            "7 / 2",
            "1 / 0",
            "'1' == 1",
            "'a' + 1",
            "vars.get('x')",
            "1 +",
            "010",
            "1.5 + 1",
            "\"$x\"",
            "9223372036854775807 + 1",
            "",
            "1 2",
        ] {
            assert_eq!(expression(text), None, "{text}");
        }
        assert_eq!(expression(&"(".repeat(100_000)), None);
    }

    #[test]
    fn arguments_are_parted_by_commas_that_are_not_escaped() {
        assert_eq!(call("__P(a, b)"), Some(("__P", vec!["a".to_owned(), " b".to_owned()])));
        assert_eq!(call("__lowercase(A\\,B)"), Some(("__lowercase", vec!["A,B".to_owned()])));
        assert_eq!(call("__threadNum"), Some(("__threadNum", Vec::new())));
        assert_eq!(call("user"), None);
        let known = |name: &str| call(name).and_then(|(function, arguments)| known(function, &arguments));
        assert_eq!(known("__lowercase(A\\,B)").as_deref(), Some("a,b"));
        assert_eq!(known("__changeCase(ab,UPPER,)").as_deref(), Some("AB"));
        assert_eq!(known("__intSum(1,2,3)").as_deref(), Some("6"));
        assert_eq!(known("__intSum(1,2,total)").as_deref(), Some("3"));
        assert_eq!(known("__urlencode(a b&c)").as_deref(), Some("a+b%26c"));
        assert_eq!(known("__jexl3(1 + 1,)").as_deref(), Some("2"));
        assert_eq!(known("__jexl3(${n} + 1)"), None);
        assert_eq!(known("__time()"), None);
    }
}
