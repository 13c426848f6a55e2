//! Splits boolean expressions of JEXL, Groovy and JavaScript into comparisons of a variable with a constant.

use offered_workload::script::TextCondition;

use crate::boolean::{enclosed, split};
use crate::text::Text;

/// Languages of conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Jexl,
    Groovy,
    JavaScript,
}

/// Functions that evaluate an expression.
const EVALUATORS: [(&str, Language); 5] = [
    ("__jexl3", Language::Jexl),
    ("__jexl2", Language::Jexl),
    ("__jexl", Language::Jexl),
    ("__groovy", Language::Groovy),
    ("__javaScript", Language::JavaScript),
];

impl Language {
    /// The language and the expression of a call such as `${__jexl3(EXPRESSION)}`.
    pub(super) fn of_call(text: &str) -> Option<(Self, &str)> {
        let call = text.strip_prefix("${")?.strip_suffix('}')?.trim();
        let (function, inner) = call.split_once('(')?;
        let inner = inner.strip_suffix(')')?.trim().trim_end_matches(',').trim_end();
        let language = EVALUATORS.iter().find(|(name, _)| *name == function)?.1;
        Some((language, inner))
    }

    /// How alternatives are separated.
    pub(super) const fn or_signs(self) -> &'static [&'static str] {
        match self {
            Self::Jexl => &["||", " or "],
            _ => &["||"],
        }
    }

    /// How conditions that must all hold are separated.
    pub(super) const fn and_signs(self) -> &'static [&'static str] {
        match self {
            Self::Jexl => &["&&", " and "],
            _ => &["&&"],
        }
    }
}

/// One side of a comparison.
#[derive(Debug, PartialEq)]
pub(super) enum Operand {
    /// A variable of the plan, and whether it is compared as text.
    Variable(String, bool),
    /// A constant, and whether it is a text in quotes.
    Constant(String, bool),
}

/// A comparison with a variable.
#[derive(Debug, PartialEq)]
pub(super) struct Comparison {
    pub(super) variable: Operand,
    /// A condition for its text, or a sign other than `!=` with the other side.
    pub(super) test: Result<TextCondition, (&'static str, Operand)>,
    pub(super) negated: bool,
}

/// Reads a comparison of a variable with a constant.
pub(super) fn comparison(text: &str, language: Language) -> Option<Comparison> {
    // Each sign with its word in JEXL, and the sign that has the sides the other way round.
    const SIGNS: [(&str, &str, &str); 6] = [
        ("==", " eq ", "=="),
        ("!=", " ne ", "!="),
        (">=", " ge ", "<="),
        ("<=", " le ", ">="),
        (">", " gt ", "<"),
        ("<", " lt ", ">"),
    ];
    let spellings = if language == Language::Jexl { 2 } else { 1 };
    for (sign, word, reversed) in SIGNS {
        let parts = split(text, &[sign, word][..spellings]);
        let Some([left, right]) = parts.and_then(|parts| <[&str; 2]>::try_from(parts).ok()) else { continue };
        let (variable, sign, constant) = match (operand(left)?, operand(right)?) {
            (variable @ Operand::Variable(..), constant) => (variable, sign, constant),
            (constant, variable) => (variable, reversed, constant),
        };
        let negated = sign == "!=";
        let sign = if negated { "==" } else { sign };
        return Some(Comparison { variable, test: Err((sign, constant)), negated });
    }
    method(text)
}

/// Reads a call of a method of a text, such as `vars.get("a").contains("b")`.
fn method(text: &str) -> Option<Comparison> {
    let call = text.strip_suffix(')')?;
    let open = call.rfind('(')?;
    let (callee, argument) = (&call[..open], call[open + 1..].trim());
    let (variable, name) = callee.rsplit_once('.')?;
    let variable = operand(variable)?;
    if !matches!(variable, Operand::Variable(_, true)) {
        return None;
    }
    let of_text = |test| Some(Comparison { variable, test, negated: false });
    if name == "isEmpty" && argument.is_empty() {
        return of_text(Ok(TextCondition::Is(Text::from("").template())));
    }
    let Operand::Constant(wanted, true) = operand(argument)? else { return None };
    let escaped = regex::escape(&wanted);
    match name {
        "equals" => of_text(Err(("==", Operand::Constant(wanted, true)))),
        "contains" => of_text(Ok(TextCondition::Contains(Text::from(wanted).template()))),
        "startsWith" => of_text(Ok(TextCondition::Matches(format!("^{escaped}")))),
        "endsWith" => of_text(Ok(TextCondition::Matches(format!("{escaped}$")))),
        "equalsIgnoreCase" => of_text(Ok(TextCondition::Matches(format!("^(?i:{escaped})$")))),
        _ => None,
    }
}

/// Reads one side of a comparison.
pub(super) fn operand(text: &str) -> Option<Operand> {
    let text = text.trim();
    let text = enclosed(text).map_or(text, str::trim);
    let unquoted = |text: &str| {
        let quote = text.chars().next().filter(|quote| ['"', '\''].contains(quote))?;
        let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inside.contains([quote, '\\'])).then(|| inside.to_owned())
    };
    let variable = |text: &str| {
        let name = text.strip_prefix("${")?.strip_suffix('}')?;
        (!name.contains(['$', '(', '{'])).then(|| name.to_owned())
    };
    if let Some(inner) = as_number(text) {
        let Operand::Variable(name, _) = operand(inner)? else { return None };
        return Some(Operand::Variable(name, false));
    }
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
            let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'.';
            (!text.is_empty() && text.bytes().all(plain)).then(|| Operand::Constant(text.to_owned(), false))
        }
    }
}

/// The text that a Groovy or Java conversion to a number is applied to.
fn as_number(text: &str) -> Option<&str> {
    const AFTER: [&str; 11] = [
        ".toInteger()",
        ".toLong()",
        ".toDouble()",
        ".toFloat()",
        ".toBigDecimal()",
        " as Integer",
        " as int",
        " as Long",
        " as long",
        " as Double",
        " as double",
    ];
    const BEFORE: [&str; 6] = [
        "Integer.parseInt(",
        "Integer.valueOf(",
        "Long.parseLong(",
        "Long.valueOf(",
        "Double.parseDouble(",
        "Double.valueOf(",
    ];
    let before = BEFORE.iter().find_map(|function| text.strip_prefix(function)?.strip_suffix(')'));
    before.or_else(|| AFTER.iter().find_map(|method| text.strip_suffix(method)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_languages_are_found() {
        assert_eq!(Language::of_call("${__jexl3(\"${a}\" == \"b\",)}"), Some((Language::Jexl, "\"${a}\" == \"b\"")));
        assert_eq!(Language::of_call("${__P(a)}"), None);
    }

    #[test]
    fn comparisons_are_split_at_their_sign() {
        let read = |text, language| {
            let Comparison { variable, test, negated } = comparison(text, language)?;
            Some((variable, test.err()?, negated))
        };
        let variable = |as_text| Operand::Variable("n".to_owned(), as_text);
        let constant = |text: &str, quoted| Operand::Constant(text.to_owned(), quoted);
        assert_eq!(
            read("${n} >= 3.5", Language::Groovy),
            Some((variable(false), (">=", constant("3.5", false)), false))
        );
        assert_eq!(read("3 < ${n}", Language::Jexl), Some((variable(false), (">", constant("3", false)), false)));
        assert_eq!(
            read("\"${n}\" ne 'x>=y'", Language::Jexl),
            Some((variable(true), ("==", constant("x>=y", true)), true))
        );
        assert_eq!(read("\"${n}\" ne 'x'", Language::Groovy), None);
        assert_eq!(
            read("vars.get('n').toInteger() == 3", Language::Groovy),
            Some((variable(false), ("==", constant("3", false)), false))
        );
        assert_eq!(
            read("vars.get('n').equals(\"a\")", Language::Groovy),
            Some((variable(true), ("==", constant("a", true)), false))
        );
        for (text, expression) in [
            ("vars.get(\"n\").startsWith('a.')", "^a\\."),
            ("\"${n}\".endsWith('a')", "a$"),
            ("vars.get('n').equalsIgnoreCase('a')", "^(?i:a)$"),
        ] {
            let test = comparison(text, Language::Groovy).and_then(|one| one.test.ok());
            assert_eq!(test, Some(TextCondition::Matches(expression.to_owned())), "{text}");
        }
        assert_eq!(comparison("${n}.contains('a')", Language::Groovy), None);
    }

    #[test]
    fn operands_are_variables_or_constants() {
        let both = |text| match operand(text) {
            Some(Operand::Variable(name, as_text)) => format!("variable {name} {as_text}"),
            Some(Operand::Constant(value, quoted)) => format!("constant {value} {quoted}"),
            None => "none".to_owned(),
        };
        for (text, read) in [
            ("\"${a}\"", "variable a true"),
            ("${a}", "variable a false"),
            ("vars.get('a')", "variable a true"),
            ("(vars.get('a') as int)", "variable a false"),
            ("Integer.parseInt(vars.get('a'))", "variable a false"),
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
