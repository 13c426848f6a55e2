//! Parser of pgbench expressions, following `exprscan.l` and `exprparse.y`.

use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

use super::{Expression, MAX_EXPRESSION_PARTS, Value};

/// Maximum nesting depth.
const MAX_DEPTH: usize = 100;

/// Maximum number of arguments of a function (`MAX_FARGS`).
const MAX_ARGUMENTS: usize = 16;

/// Functions with their minimum and maximum number of arguments.
const FUNCTIONS: [(&str, usize, usize); 22] = [
    ("mod", 2, 2),
    ("abs", 1, 1),
    ("least", 1, MAX_ARGUMENTS),
    ("greatest", 1, MAX_ARGUMENTS),
    ("debug", 1, 1),
    ("pi", 0, 0),
    ("sqrt", 1, 1),
    ("ln", 1, 1),
    ("exp", 1, 1),
    ("int", 1, 1),
    ("double", 1, 1),
    ("random", 2, 2),
    ("random_gaussian", 3, 3),
    ("random_exponential", 3, 3),
    ("random_zipfian", 3, 3),
    ("pow", 2, 2),
    ("power", 2, 2),
    ("hash", 1, 2),
    ("hash_murmur2", 1, 2),
    ("hash_fnv1a", 1, 2),
    ("permute", 2, 3),
    ("case", 3, usize::MAX),
];

impl Expression {
    /// Parses `text`.
    ///
    /// # Errors
    /// A message that says what is wrong.
    pub(in crate::pgbench) fn parse(text: &str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        if tokens.len() > MAX_EXPRESSION_PARTS {
            return Err(format!("more than {MAX_EXPRESSION_PARTS} tokens in one expression"));
        }
        let mut parser = Parser { tokens, at: 0, deep: 0 };
        let expression = parser.either()?;
        match parser.peek() {
            None => Ok(expression),
            Some(token) => Err(format!("`{token}` is not expected here")),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// An operator, bracket or keyword, in lower case.
    Sign(&'static str),
    Value(Value),
    Variable(String),
    Function(String),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sign(sign) => f.write_str(sign),
            Self::Value(value) => write!(f, "{value}"),
            Self::Variable(name) => write!(f, ":{name}"),
            Self::Function(name) => f.write_str(name),
        }
    }
}

/// Operators, longest first.
const SIGNS: [&str; 20] =
    ["<=", ">=", "<>", "!=", "<<", ">>", "+", "-", "*", "/", "%", "=", "<", ">", "|", "&", "#", "~", "(", ")"];
const WORDS: [&str; 11] = ["and", "or", "not", "is", "isnull", "notnull", "case", "when", "then", "else", "end"];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim();
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    while let Some(first) = rest.chars().next() {
        let length = if let Some(sign) = SIGNS.iter().chain([&","]).find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(if *sign == "!=" { "<>" } else { sign }));
            sign.len()
        } else if first == ':' {
            let name: String = rest[1..].chars().take_while(|c| named(*c)).collect();
            let length = 1 + name.len();
            tokens.push(Token::Variable(name));
            length
        } else if first.is_ascii_digit() || first == '.' {
            let length = number_length(rest);
            let number = &rest[..length];
            let value = match number.bytes().all(|b| b.is_ascii_digit()) {
                true => number.parse().map(Value::Integer).ok(),
                false => number.parse().map(Value::Double).ok(),
            };
            tokens.push(Token::Value(value.ok_or_else(|| format!("`{number}` is not a 64-bit number"))?));
            length
        } else if named(first) {
            let word: String = rest.chars().take_while(|c| named(*c)).collect();
            let small = word.to_lowercase();
            tokens.push(match small.as_str() {
                "null" => Token::Value(Value::Null),
                "true" => Token::Value(Value::Boolean(true)),
                "false" => Token::Value(Value::Boolean(false)),
                _ => match WORDS.iter().find(|known| **known == small) {
                    Some(known) => Token::Sign(known),
                    None => Token::Function(small),
                },
            });
            word.len()
        } else {
            return Err(format!("`{first}` is not expected here"));
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// Length in bytes of the number at the start of the text.
fn number_length(text: &str) -> usize {
    let digits = |rest: &mut Peekable<Chars<'_>>| {
        let mut count = 0;
        while rest.next_if(char::is_ascii_digit).is_some() {
            count += 1;
        }
        count
    };
    let mut rest = text.chars().peekable();
    let mut length = digits(&mut rest);
    if rest.next_if_eq(&'.').is_some() {
        length += 1 + digits(&mut rest);
    }
    if rest.next_if(|c| ['e', 'E'].contains(c)).is_some() {
        let sign = usize::from(rest.next_if(|c| ['+', '-'].contains(c)).is_some());
        let exponent = digits(&mut rest);
        length += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    length
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    deep: usize,
}

/// Precedence from low to high: `or`, `and`, `not`, `is`, comparisons, bit operators, sums, products, signs.
impl Parser {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn next_if(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        match self.peek() {
            Some(Token::Sign(sign)) if signs.contains(sign) => {
                let sign = *sign;
                self.at += 1;
                Some(sign)
            }
            _ => None,
        }
    }

    fn need(&mut self, sign: &'static str) -> Result<(), String> {
        match self.next_if(&[sign]) {
            Some(_) => Ok(()),
            None => Err(self.lacks(&format!("`{sign}`"))),
        }
    }

    fn lacks(&self, expected: &str) -> String {
        match self.peek() {
            Some(token) => format!("expected {expected} before `{token}`"),
            None => format!("expected {expected} at the end"),
        }
    }

    fn either(&mut self) -> Result<Expression, String> {
        self.deeper(|parser| parser.sides(&["or"], |parser| parser.sides(&["and"], Self::not)))
    }

    fn deeper(&mut self, inside: impl Fn(&mut Self) -> Result<Expression, String>) -> Result<Expression, String> {
        self.deep += 1;
        if self.deep > MAX_DEPTH {
            return Err(format!("expressions are nested deeper than {MAX_DEPTH} levels"));
        }
        let all = inside(self);
        self.deep -= 1;
        all
    }

    /// Operands of left-associative operators of one precedence.
    fn sides(
        &mut self,
        signs: &[&'static str],
        side: impl Fn(&mut Self) -> Result<Expression, String>,
    ) -> Result<Expression, String> {
        let mut left = side(self)?;
        while let Some(sign) = self.next_if(signs) {
            let right = side(self)?;
            left = Expression::Call(if sign == "%" { "mod" } else { sign }, vec![left, right]);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression, String> {
        let mut nots = 0;
        while self.next_if(&["not"]).is_some() {
            nots += 1;
        }
        let inside = self.is()?;
        Ok((0..nots).fold(inside, |inside, _| Expression::Call("not", vec![inside])))
    }

    fn is(&mut self) -> Result<Expression, String> {
        let left = self.compared()?;
        let null = Expression::Value(Value::Null);
        let (not, operand) = match self.next_if(&["is", "isnull", "notnull"]) {
            None => return Ok(left),
            Some("isnull") => (false, null),
            Some("notnull") => (true, null),
            Some(_) => {
                let not = self.next_if(&["not"]).is_some();
                match self.peek() {
                    Some(Token::Value(value @ (Value::Null | Value::Boolean(_)))) => {
                        let value = *value;
                        self.at += 1;
                        (not, Expression::Value(value))
                    }
                    _ => return Err(self.lacks("null, true or false")),
                }
            }
        };
        let is = Expression::Call("is", vec![left, operand]);
        Ok(if not { Expression::Call("not", vec![is]) } else { is })
    }

    fn compared(&mut self) -> Result<Expression, String> {
        let left = self.bits()?;
        let Some(sign) = self.next_if(&["<", ">", "=", "<=", ">=", "<>"]) else { return Ok(left) };
        let right = self.bits()?;
        Ok(match sign {
            ">" => Expression::Call("<", vec![right, left]),
            ">=" => Expression::Call("<=", vec![right, left]),
            sign => Expression::Call(sign, vec![left, right]),
        })
    }

    fn bits(&mut self) -> Result<Expression, String> {
        self.sides(&["|", "#", "&", "<<", ">>"], Self::sum)
    }

    fn sum(&mut self) -> Result<Expression, String> {
        self.sides(&["+", "-"], |parser| parser.sides(&["*", "/", "%"], Self::signed))
    }

    fn signed(&mut self) -> Result<Expression, String> {
        self.deeper(|parser| {
            Ok(match parser.next_if(&["+", "-", "~"]) {
                None => parser.one()?,
                Some("-") => Expression::Call("-", vec![Expression::Value(Value::Integer(0)), parser.signed()?]),
                // pgbench's grammar gives `~` the precedence of the bit operators.
                Some("~") => Expression::Call("#", vec![Expression::Value(Value::Integer(-1)), parser.sum()?]),
                Some(_) => parser.signed()?,
            })
        })
    }

    fn one(&mut self) -> Result<Expression, String> {
        let Some(token) = self.peek().cloned() else { return Err(self.lacks("a value")) };
        let lacks = self.lacks("a value");
        self.at += 1;
        match token {
            Token::Value(value) => Ok(Expression::Value(value)),
            Token::Variable(name) if !name.is_empty() => Ok(Expression::Variable(name)),
            Token::Sign("(") => {
                let inside = self.either()?;
                self.need(")")?;
                Ok(inside)
            }
            Token::Sign("case") => self.case(),
            Token::Function(name) => self.function(&name),
            _ => Err(lacks),
        }
    }

    fn case(&mut self) -> Result<Expression, String> {
        let mut arguments = Vec::new();
        while self.next_if(&["when"]).is_some() {
            arguments.push(self.either()?);
            self.need("then")?;
            arguments.push(self.either()?);
        }
        if arguments.is_empty() {
            return Err(self.lacks("`when`"));
        }
        let otherwise = self.next_if(&["else"]).is_some();
        arguments.push(if otherwise { self.either()? } else { Expression::Value(Value::Null) });
        self.need("end")?;
        Ok(Expression::Call("case", arguments))
    }

    fn function(&mut self, name: &str) -> Result<Expression, String> {
        let known = FUNCTIONS.iter().find(|(known, ..)| *known == name && name != "case");
        let (name, least, most) = *known.ok_or_else(|| format!("pgbench has no function `{name}`"))?;
        self.need("(")?;
        let mut arguments = Vec::new();
        if self.next_if(&[")"]).is_none() {
            loop {
                arguments.push(self.either()?);
                match self.next_if(&[",", ")"]) {
                    Some(",") => {}
                    Some(_) => break,
                    None => return Err(self.lacks("`)`")),
                }
            }
        }
        match (least..=most).contains(&arguments.len()) {
            true => Ok(Expression::Call(name, arguments)),
            false => Err(format!("`{name}` does not take {} arguments", arguments.len())),
        }
    }
}
