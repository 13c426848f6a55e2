//! Evaluates `JMeter` functions whose value is known before the run: text functions and constant expressions.
//!
//! Sources: `org.apache.jmeter.functions` of `JMeter` 5.6, and for expressions the grammars of JEXL 3 and Groovy; only
//! constructs with the same meaning in both are evaluated.

use crate::address::form_encode;

/// Splits a call such as `__name(a,b)` into function and arguments; `None` if it is not a call. `\\,` is a literal
/// comma.
pub(super) fn parse_call(name: &str) -> Option<(&str, Vec<String>)> {
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

/// The value of a function call; `None` if it depends on run-time values.
pub(super) fn evaluate(function: &str, arguments: &[String]) -> Option<String> {
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
        "__urlencode" => Some(form_encode(first)),
        "__intSum" | "__longSum" => {
            // The last argument may be the name of a variable that stores the sum.
            let (last, others) = arguments.split_last()?;
            let sum: i64 = others.iter().try_fold(0i64, |sum, n| sum.checked_add(n.trim().parse().ok()?))?;
            let last = last.trim();
            let named = !last.is_empty() && last.parse::<i64>().is_err();
            Some(if named { sum } else { sum.checked_add(last.parse().unwrap_or(0))? }.to_string())
        }
        "__jexl2" | "__jexl3" | "__jexl" | "__groovy" | "__javaScript" => {
            // Further arguments name variables that store the result.
            let whole = arguments.first().filter(|_| arguments[1..].iter().all(|name| name.trim().is_empty()))?;
            evaluate_expression(whole)
        }
        _ => None,
    }
}

/// The value of an expression of integers, strings and booleans; `None` if it contains anything else or its value
/// differs between the script languages.
pub(super) fn evaluate_expression(text: &str) -> Option<String> {
    let mut rest = ExpressionReader { text: text.trim().trim_end_matches(';'), depth: 0 };
    let value = rest.disjunction()?;
    rest.text.trim().is_empty().then(|| value.to_display())
}

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Number(i64),
    Text(String),
    Boolean(bool),
}

impl Value {
    fn to_display(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
            Self::Boolean(boolean) => boolean.to_string(),
        }
    }

    fn boolean(self) -> Option<bool> {
        if let Self::Boolean(boolean) = self { Some(boolean) } else { None }
    }
}

/// Recursive-descent parser: the remaining text and the nesting depth.
struct ExpressionReader<'t> {
    text: &'t str,
    depth: usize,
}

/// Maximum nesting depth.
const MAX_DEPTH: usize = 32;

impl ExpressionReader<'_> {
    /// Skips `sign` if it is next; returns whether it was.
    fn accept(&mut self, sign: &str) -> bool {
        let text = self.text.trim_start();
        let rest = text.strip_prefix(sign);
        if let Some(rest) = rest {
            self.text = rest;
        }
        rest.is_some()
    }

    fn disjunction(&mut self) -> Option<Value> {
        let mut value = self.conjunction()?;
        while self.accept("||") {
            let other = self.conjunction()?;
            value = Value::Boolean(value.boolean()? | other.boolean()?);
        }
        Some(value)
    }

    fn conjunction(&mut self) -> Option<Value> {
        let mut value = self.comparison()?;
        while self.accept("&&") {
            let other = self.comparison()?;
            value = Value::Boolean(value.boolean()? & other.boolean()?);
        }
        Some(value)
    }

    fn comparison(&mut self) -> Option<Value> {
        let left = self.sum()?;
        let sign = ["==", "!=", "<=", ">=", "<", ">"].into_iter().find(|sign| self.accept(sign));
        let Some(sign) = sign else { return Some(left) };
        let right = self.sum()?;
        let order = match (&left, &right) {
            (Value::Number(left), Value::Number(right)) => left.cmp(right),
            (Value::Text(left), Value::Text(right)) => left.cmp(right),
            (Value::Boolean(left), Value::Boolean(right)) if ["==", "!="].contains(&sign) => left.cmp(right),
            // The languages differ for mixed types.
            _ => return None,
        };
        Some(Value::Boolean(match sign {
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
            value = if self.accept("+") {
                match (value, self.product()?) {
                    (Value::Number(left), Value::Number(right)) => Value::Number(left.checked_add(right)?),
                    (Value::Text(left), Value::Text(right)) => Value::Text(left + &right),
                    _ => return None,
                }
            } else if self.accept("-") {
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
        let mut value = self.factor()?;
        while let Some(sign) = ["*", "/", "%"].into_iter().find(|sign| self.accept(sign)) {
            let (Value::Number(left), Value::Number(right)) = (value, self.factor()?) else { return None };
            value = Value::Number(match sign {
                "*" => left.checked_mul(right)?,
                "%" => left.checked_rem(right)?,
                // Integer division truncates only in one of the languages.
                _ if left.checked_rem(right)? == 0 => left / right,
                _ => return None,
            });
        }
        Some(value)
    }

    fn factor(&mut self) -> Option<Value> {
        if self.depth == MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let value = self.operand();
        self.depth -= 1;
        value
    }

    fn operand(&mut self) -> Option<Value> {
        if self.accept("(") {
            let value = self.disjunction()?;
            return self.accept(")").then_some(value);
        }
        if self.accept("!") {
            return Some(Value::Boolean(!self.factor()?.boolean()?));
        }
        if self.accept("-") {
            let Value::Number(number) = self.factor()? else { return None };
            return Some(Value::Number(number.checked_neg()?));
        }
        let text = self.text.trim_start();
        let quote = text.chars().next()?;
        if ['"', '\''].contains(&quote) {
            let (inside, rest) = text[1..].split_once(quote)?;
            // Escapes and Groovy interpolation are not evaluated.
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
            "true" | "false" => Some(Value::Boolean(word == "true")),
            // A leading zero marks an octal number.
            _ if word.len() > 1 && word.starts_with('0') => None,
            _ => word.parse().ok().map(Value::Number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_expressions_are_evaluated() {
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
            assert_eq!(evaluate_expression(text).as_deref(), Some(value), "{text}");
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
            assert_eq!(evaluate_expression(text), None, "{text}");
        }
        assert_eq!(evaluate_expression(&"(".repeat(100_000)), None);
    }

    #[test]
    fn arguments_are_separated_by_unescaped_commas() {
        assert_eq!(parse_call("__P(a, b)"), Some(("__P", vec!["a".to_owned(), " b".to_owned()])));
        assert_eq!(parse_call("__lowercase(A\\,B)"), Some(("__lowercase", vec!["A,B".to_owned()])));
        assert_eq!(parse_call("__threadNum"), Some(("__threadNum", Vec::new())));
        assert_eq!(parse_call("user"), None);
        let known = |name: &str| parse_call(name).and_then(|(function, arguments)| evaluate(function, &arguments));
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
