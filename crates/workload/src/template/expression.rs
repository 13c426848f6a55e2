//! Expressions in placeholders: functions and arithmetic, such as `{{base64(user.name)}}` or `{{n + 1}}`.

use std::fmt;

use super::{Name, Piece, Stamp, named};

/// An expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    /// A text, a number or a value.
    Piece(Piece),
    /// A function of values.
    Call(Function, Box<[Expression]>),
    /// An arithmetic operation on two numbers.
    Operation(Operator, Box<[Expression; 2]>),
}

offered_base::named! {
    /// A function.
    pub enum Function {
        /// Base64 with `+` and `/`.
        Base64 = "base64",
        /// Base64 with `-` and `_`, without padding.
        Base64Url = "base64_url",
        /// Percent-encodes all characters except letters, digits and `-._~`.
        Url = "url",
        /// In upper case.
        Upper = "upper",
        /// In lower case.
        Lower = "lower",
        /// The MD5 digest, in hexadecimal digits or in the encoding of the second argument.
        Md5 = "md5",
        /// The SHA-1 digest.
        Sha1 = "sha1",
        /// The SHA-256 digest.
        Sha256 = "sha256",
        /// HMAC of a key and a text with SHA-1.
        HmacSha1 = "hmac_sha1",
        /// HMAC of a key and a text with SHA-256.
        HmacSha256 = "hmac_sha256",
        /// A random whole number between two numbers, inclusive.
        Random = "random",
        /// Random letters and digits; the argument is their number.
        RandomText = "random_text",
        /// One of the arguments, with equal probabilities.
        Choice = "choice",
        /// The time in a strftime format, moved by an offset such as `+1d` or `-2h`.
        Date = "date",
        /// A W3C trace context of a new trace.
        Traceparent = "traceparent",
    }
}

offered_base::named! {
    /// An arithmetic operation.
    pub enum Operator {
        /// The sum.
        Add = "+",
        /// The difference.
        Subtract = "-",
        /// The product.
        Multiply = "*",
        /// The quotient.
        Divide = "/",
        /// The remainder.
        Remainder = "%",
    }
}

impl Function {
    /// The smallest and the largest number of its arguments.
    const fn arguments(self) -> (usize, usize) {
        match self {
            Self::Base64 | Self::Base64Url | Self::Url | Self::Upper | Self::Lower | Self::RandomText => (1, 1),
            Self::Md5 | Self::Sha1 | Self::Sha256 | Self::Date => (1, 2),
            Self::HmacSha1 | Self::HmacSha256 => (2, 3),
            Self::Random => (2, 2),
            Self::Choice => (1, usize::MAX),
            Self::Traceparent => (0, 0),
        }
    }
}

impl Expression {
    /// Parses the text between the braces of a placeholder; `None`: it is no expression.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parser = Parser { rest: text.trim() };
        let expression = parser.sum()?;
        parser.rest.is_empty().then_some(expression).filter(|whole| !matches!(whole, Self::Piece(_)))
    }

    /// The texts, numbers and values in the expression.
    pub fn pieces(&self) -> Vec<&Piece> {
        match self {
            Self::Piece(piece) => vec![piece],
            Self::Call(_, arguments) => arguments.iter().flat_map(Self::pieces).collect(),
            Self::Operation(_, both) => both.iter().flat_map(Self::pieces).collect(),
        }
    }

    fn uses_run_id(&self) -> bool {
        match self {
            Self::Piece(piece) => piece.uses_run_id(),
            Self::Call(function, arguments) => {
                matches!(function, Function::Traceparent) || arguments.iter().any(Self::uses_run_id)
            }
            Self::Operation(_, both) => both.iter().any(Self::uses_run_id),
        }
    }
}

/// As it is parsed again.
impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Piece(Piece::Text(text)) if is_number(text) => f.write_str(text),
            Self::Piece(Piece::Text(text)) if text.contains('\'') => write!(f, "\"{text}\""),
            Self::Piece(Piece::Text(text)) => write!(f, "'{text}'"),
            Self::Piece(piece) => f.write_str(piece.written().trim_start_matches('{').trim_end_matches('}')),
            Self::Call(function, arguments) => {
                write!(f, "{function}(")?;
                for (at, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if at > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
            Self::Operation(operator, both) => write!(f, "({} {operator} {})", both[0], both[1]),
        }
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let has_digits_only =
        digits.starts_with(|c: char| c.is_ascii_digit()) && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    has_digits_only && text.parse::<f64>().is_ok()
}

/// What of the text is not parsed yet.
struct Parser<'a> {
    rest: &'a str,
}

/// Expressions nested deeper are refused; the parser is recursive.
const MAX_LENGTH: usize = 1000;

impl<'a> Parser<'a> {
    /// Skips `sign`, if it is next.
    fn skip(&mut self, sign: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(sign) {
            Some(rest) => self.rest = rest.trim_start(),
            None => return false,
        }
        true
    }

    /// The characters at the start that satisfy the condition.
    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let (taken, rest) = self.rest.split_at(self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn sum(&mut self) -> Option<Expression> {
        let product = Self::product;
        self.operations(&[Operator::Add, Operator::Subtract], product)
    }

    fn product(&mut self) -> Option<Expression> {
        let atom = Self::atom;
        self.operations(&[Operator::Multiply, Operator::Divide, Operator::Remainder], atom)
    }

    fn operations(
        &mut self,
        operators: &[Operator],
        operand: impl Fn(&mut Self) -> Option<Expression>,
    ) -> Option<Expression> {
        let mut left = operand(self)?;
        while let Some(operator) = operators.iter().copied().find(|operator| self.skip(operator.name())) {
            left = Expression::Operation(operator, Box::new([left, operand(self)?]));
        }
        Some(left)
    }

    fn atom(&mut self) -> Option<Expression> {
        self.rest = self.rest.trim_start();
        if self.rest.len() > MAX_LENGTH {
            return None;
        }
        let text = |text: &str| Some(Expression::Piece(Piece::Text(text.into())));
        match self.rest.chars().next()? {
            quote @ ('\'' | '"') => {
                let (inside, rest) = self.rest[1..].split_once(quote)?;
                self.rest = rest;
                text(inside)
            }
            '(' => {
                self.skip("(");
                let inner = self.sum()?;
                self.skip(")").then_some(inner)
            }
            '0'..='9' | '-' => {
                let sign = if self.skip("-") { "-" } else { "" };
                let number = format!("{sign}{}", self.take(|c| c.is_ascii_digit() || c == '.'));
                if is_number(&number) { text(&number) } else { None }
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let name = self.take(|c| c.is_ascii_alphanumeric() || c == '_');
                if self.skip("(") {
                    return self.call(Function::from_name(name)?);
                }
                let column = match self.rest.strip_prefix('.') {
                    Some(rest) => {
                        self.rest = rest;
                        format!(".{}", self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'))
                    }
                    None => String::new(),
                };
                let piece = if name == "now" { Piece::Now(Stamp::Iso) } else { named(&format!("{name}{column}")) };
                Some(Expression::Piece(piece))
            }
            _ => None,
        }
    }

    fn call(&mut self, function: Function) -> Option<Expression> {
        let mut arguments = Vec::new();
        while !self.skip(")") {
            if !arguments.is_empty() && !self.skip(",") {
                return None;
            }
            arguments.push(self.sum()?);
        }
        let (least, most) = function.arguments();
        (least..=most).contains(&arguments.len()).then(|| Expression::Call(function, arguments.into()))
    }
}

impl Piece {
    /// The names of values in it.
    pub(crate) fn names(&self) -> Vec<&Name> {
        match self {
            Self::Value(name) => vec![name],
            Self::Expression(expression, _) => expression.pieces().into_iter().flat_map(Self::names).collect(),
            _ => Vec::new(),
        }
    }

    /// Whether its value depends on the run id. The trace context of a request is unique over all runs.
    pub(crate) fn uses_run_id(&self) -> bool {
        match self {
            Self::Run => true,
            Self::Expression(expression, _) => expression.uses_run_id(),
            _ => false,
        }
    }

    /// The pieces: the texts, numbers and values of an expression.
    pub fn atoms(&self) -> Vec<&Self> {
        match self {
            Self::Expression(expression, _) => expression.pieces(),
            atom => vec![atom],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Template;
    use proptest::prelude::*;

    #[test]
    fn expressions_are_parsed_and_written() {
        for (text, written) in [
            ("base64(user.name)", "base64(user.name)"),
            ("hmac_sha256( 'k\"' , token )", "hmac_sha256('k\"', token)"),
            ("n + 2 * m.a-b", "(n + (2 * m.a-b))"),
            ("(n + 2) * 3 % 7", "(((n + 2) * 3) % 7)"),
            ("choice(\"it's\", 1.5, session)", "choice(\"it's\", 1.5, session)"),
            ("traceparent()", "traceparent()"),
            ("random(-5, n - -2)", "random(-5, (n - -2))"),
            ("url(base64(run))", "url(base64(run))"),
            ("md5('127.0.0.1')", "md5('127.0.0.1')"),
        ] {
            let expression = Expression::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(expression.to_string(), written);
            assert_eq!(Expression::parse(written), Some(expression), "{written}");
        }
        for text in ["name", "'text'", "user.name", "nothing(1)", "base64()", "base64(1, 2)", "n +", "(n", "n 1", ""] {
            assert_eq!(Expression::parse(text), None, "{text}");
        }
        assert_eq!(Expression::parse(&"(".repeat(100_000)), None);
    }

    #[test]
    fn the_names_of_an_expression_are_those_of_its_template() {
        let template = Template::new("a {{sha256(token + 1)|raw}} {{now|unix}}");
        assert_eq!(template.names().map(ToString::to_string).collect::<Vec<_>>(), ["{{token}}"]);
        assert!(!template.is_plain() && template.as_str() == "a {{sha256(token + 1)|raw}} {{now|unix}}");
    }

    #[test]
    fn expressions_with_the_run_id_or_a_trace_context_differ_between_runs() {
        let uses = |text: &str| Template::new(text).pieces()[0].uses_run_id();
        assert!(uses("{{run}}") && uses("{{upper(run)}}") && uses("{{traceparent()}}"));
        assert!(!uses("{{random(1, 9)}}") && !uses("{{session + 1}}") && !uses("run"));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[a-z0-9(),+*/%'\" .|-]{0,60}") {
            if let Some(expression) = Expression::parse(&text) {
                prop_assert_eq!(Expression::parse(&expression.to_string()), Some(expression));
            }
        }
    }
}
