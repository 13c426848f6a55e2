//! Expressions of `\set` and `\if`, evaluated as in `pgbench.c`.

mod parse;

use std::fmt;

/// Maximum size of an expression; repeated self-assignment grows exponentially.
pub(super) const MAX_EXPRESSION_PARTS: usize = 1_000;

/// A pgbench value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

/// The text that pgbench substitutes into a statement (`getVariable`): numbers have fifteen digits.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Boolean(truth) => write!(f, "{truth}"),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Double(number) => f.write_str(&fifteen_digits(*number)),
        }
    }
}

/// C's `%.15g`.
fn fifteen_digits(number: f64) -> String {
    if !number.is_finite() {
        return format!("{number}").to_lowercase();
    }
    let scientific = format!("{number:.14e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let short = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if (-4..15).contains(&exponent) {
        short(&format!("{number:.*}", usize::try_from(14 - exponent).unwrap_or(0)))
    } else {
        format!("{}e{}{:02}", short(digits), if exponent < 0 { '-' } else { '+' }, exponent.abs())
    }
}

impl Value {
    /// Parses the value of `-D` (`makeVariableValue`).
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let lower = text.to_lowercase();
        let begins = |word: &str| !lower.is_empty() && word.starts_with(&lower);
        match () {
            () if lower == "null" => Ok(Self::Null),
            () if begins("true") || begins("yes") || lower == "on" => Ok(Self::Boolean(true)),
            () if begins("false") || begins("no") || lower == "off" || lower == "of" => Ok(Self::Boolean(false)),
            () => {
                let whole = text.trim().parse().map(Self::Integer).ok();
                let number = whole.or_else(|| text.trim().parse().map(Self::Double).ok());
                number.ok_or_else(|| format!("`{text}` is not a number"))
            }
        }
    }

    /// Whether a condition with this value is true.
    pub(super) fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(truth) => truth,
            Self::Integer(number) => number != 0,
            Self::Double(number) => number != 0.0,
        }
    }

    fn boolean(self) -> Result<bool, String> {
        match self {
            Self::Boolean(truth) => Ok(truth),
            other => Err(format!("{other} is not a boolean")),
        }
    }

    fn double(self) -> Result<f64, String> {
        match self {
            Self::Double(number) => Ok(number),
            Self::Integer(number) => Ok(number as f64),
            other => Err(format!("{other} is not a number")),
        }
    }

    pub(super) fn integer(self) -> Result<i64, String> {
        match self {
            Self::Integer(number) => Ok(number),
            Self::Double(number) => {
                let rounded = number.round_ties_even();
                let fits = (-9.223_372_036_854_776e18..9.223_372_036_854_776e18).contains(&rounded);
                if fits { Ok(rounded as i64) } else { Err(format!("{self} is not a 64-bit integer")) }
            }
            other => Err(format!("{other} is not a number")),
        }
    }
}

/// An expression. The values of `Draw` and `Extracted` are only known at run time.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expression {
    Value(Value),
    /// A variable, by name.
    Variable(String),
    /// An operator or function, by pgbench's name.
    Call(&'static str, Vec<Expression>),
    /// A random number, by the index of the draw.
    Draw(usize),
    /// A value from a query result: variable name and index among the values of that name, starting at 0.
    Extracted(String, usize),
    /// Client number.
    ClientId,
    /// A text set with `-D`.
    Text(String),
}

impl Expression {
    /// Number of parts.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Call(_, arguments) => 1 + arguments.iter().map(Self::size).sum::<usize>(),
            _ => 1,
        }
    }

    /// Replaces draws that can have only one value (`only`), and evaluates what has become constant.
    pub(super) fn simplified(&self, only: &dyn Fn(usize) -> Option<i64>) -> Result<Self, String> {
        match self {
            Self::Draw(draw) => Ok(only(*draw).map_or(Self::Draw(*draw), |number| Self::Value(Value::Integer(number)))),
            Self::Call(name, arguments) => {
                let arguments = arguments.iter().map(|argument| argument.simplified(only)).collect::<Result<_, _>>()?;
                let call = Self::Call(name, arguments);
                Ok(if call.draws().is_empty() && !call.needs_runtime() {
                    Self::Value(call.value(&|_| 0)?)
                } else {
                    call
                })
            }
            other => Ok(other.clone()),
        }
    }

    /// Indices of the draws in the expression, without duplicates.
    pub(super) fn draws(&self) -> Vec<usize> {
        let mut draws = match self {
            Self::Draw(draw) => vec![*draw],
            Self::Call(_, arguments) => arguments.iter().flat_map(Self::draws).collect(),
            _ => Vec::new(),
        };
        draws.sort_unstable();
        draws.dedup();
        draws
    }

    /// Whether the expression contains a query result or the client number.
    pub(super) fn needs_runtime(&self) -> bool {
        match self {
            Self::Extracted(..) | Self::ClientId => true,
            Self::Call(_, arguments) => arguments.iter().any(Self::needs_runtime),
            _ => false,
        }
    }

    /// Evaluates the expression; `draw` returns the random numbers.
    pub(super) fn value(&self, draw: &dyn Fn(usize) -> i64) -> Result<Value, String> {
        match self {
            Self::Value(value) => Ok(*value),
            Self::Text(text) => Value::parse(text),
            Self::Draw(number) => Ok(Value::Integer(draw(*number))),
            Self::ClientId => Err("the client number is only known at run time".to_owned()),
            Self::Variable(name) | Self::Extracted(name, _) => Err(format!("`:{name}` is only known at run time")),
            Self::Call("case", arguments) => {
                let mut arguments = arguments.iter();
                while let (Some(first), second) = (arguments.next(), arguments.next()) {
                    match second {
                        None => return first.value(draw),
                        Some(then) if first.value(draw)?.is_true() => return then.value(draw),
                        Some(_) => {}
                    }
                }
                Ok(Value::Null)
            }
            Self::Call(name @ ("and" | "or"), arguments) => {
                let mut last = Value::Null;
                for argument in arguments {
                    last = argument.value(draw)?;
                    if last == Value::Null || last.boolean()? == (*name == "or") {
                        break;
                    }
                }
                Ok(last)
            }
            Self::Call(name, arguments) => {
                let values = arguments.iter().map(|argument| argument.value(draw)).collect::<Result<Vec<_>, _>>()?;
                apply(name, &values)
            }
        }
    }
}

/// Applies a function, or an operator that evaluates all its operands.
fn apply(name: &str, values: &[Value]) -> Result<Value, String> {
    if values.contains(&Value::Null) && !["is", "debug"].contains(&name) {
        return Ok(Value::Null);
    }
    let out_of_range = || format!("`{name}` overflows 64 bits");
    let whole = |at: usize| values[at].integer();
    let double = |at: usize| values[at].double();
    let doubles = values.iter().any(|value| matches!(value, Value::Double(_)));
    Ok(match name {
        "+" | "-" | "*" | "/" | "=" | "<>" | "<" | "<=" if doubles => {
            let (left, right) = (double(0)?, double(1)?);
            match name {
                "+" => Value::Double(left + right),
                "-" => Value::Double(left - right),
                "*" => Value::Double(left * right),
                "/" => Value::Double(left / right),
                #[expect(clippy::float_cmp, reason = "as pgbench compares them")]
                "=" => Value::Boolean(left == right),
                #[expect(clippy::float_cmp, reason = "as pgbench compares them")]
                "<>" => Value::Boolean(left != right),
                "<" => Value::Boolean(left < right),
                _ => Value::Boolean(left <= right),
            }
        }
        "/" | "mod" if whole(1)? == 0 => return Err("division by zero".to_owned()),
        "+" => Value::Integer(whole(0)?.checked_add(whole(1)?).ok_or_else(out_of_range)?),
        "-" => Value::Integer(whole(0)?.checked_sub(whole(1)?).ok_or_else(out_of_range)?),
        "*" => Value::Integer(whole(0)?.checked_mul(whole(1)?).ok_or_else(out_of_range)?),
        "/" => Value::Integer(whole(0)?.checked_div(whole(1)?).ok_or_else(out_of_range)?),
        "mod" => Value::Integer(whole(0)?.wrapping_rem(whole(1)?)),
        "=" => Value::Boolean(whole(0)? == whole(1)?),
        "<>" => Value::Boolean(whole(0)? != whole(1)?),
        "<" => Value::Boolean(whole(0)? < whole(1)?),
        "<=" => Value::Boolean(whole(0)? <= whole(1)?),
        "&" => Value::Integer(whole(0)? & whole(1)?),
        "|" => Value::Integer(whole(0)? | whole(1)?),
        "#" => Value::Integer(whole(0)? ^ whole(1)?),
        "<<" | ">>" => {
            let by = u32::try_from(whole(1)?).ok().filter(|by| *by < 64).ok_or_else(out_of_range)?;
            Value::Integer(if name == "<<" { whole(0)? << by } else { whole(0)? >> by })
        }
        "not" => Value::Boolean(!values[0].boolean()?),
        "is" => Value::Boolean(match (values[0], values[1]) {
            (Value::Null, Value::Null) => true,
            (Value::Boolean(one), Value::Boolean(other)) => one == other,
            _ => false,
        }),
        "pi" => Value::Double(std::f64::consts::PI),
        "abs" => match values[0] {
            Value::Double(number) => Value::Double(number.abs()),
            other => Value::Integer(other.integer()?.checked_abs().ok_or_else(out_of_range)?),
        },
        "debug" => values[0],
        "double" => Value::Double(double(0)?),
        "sqrt" => Value::Double(double(0)?.sqrt()),
        "ln" => Value::Double(libm::log(double(0)?)),
        "exp" => Value::Double(libm::exp(double(0)?)),
        "int" => Value::Integer(whole(0)?),
        "pow" | "power" => Value::Double(libm::pow(double(0)?, double(1)?)),
        "least" | "greatest" => {
            let largest = name == "greatest";
            if doubles {
                let all = values.iter().map(|value| value.double()).collect::<Result<Vec<_>, _>>()?;
                Value::Double(all.into_iter().reduce(if largest { f64::max } else { f64::min }).unwrap_or(0.0))
            } else {
                let all = values.iter().map(|value| value.integer()).collect::<Result<Vec<_>, _>>()?;
                Value::Integer(if largest { all.iter().max() } else { all.iter().min() }.copied().unwrap_or(0))
            }
        }
        _ => return Err(format!("`{name}` is not supported in workloads")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<String, String> {
        Expression::parse(text)?.value(&|_| 0).map(|value| value.to_string())
    }

    /// Expected values are from pgbench 15.18 (`\set x debug(...)`).
    #[test]
    fn expressions_have_the_values_of_pgbench() {
        for (text, expected) in [
            ("1 + 2 * 3", "7"),
            ("(1 + 2) * 3", "9"),
            ("-7 / 2", "-3"),
            ("-7 % 3", "-1"),
            ("7 - 2 - 1", "4"),
            ("1 << 3 + 1", "16"),
            ("5 & 3 | 8", "9"),
            ("~1", "-2"),
            ("~1 + 2", "-4"),
            ("-2 * 3", "-6"),
            ("1 # 3", "2"),
            ("2 < 3 and not 3 <= 2", "true"),
            ("1 = 2 or 1 <> 2", "true"),
            ("null + 1", "NULL"),
            ("null is null", "true"),
            ("1 is not null", "true"),
            ("1 isnull", "false"),
            ("1 is true", "false"),
            ("1 / 2.0", "0.5"),
            ("1e3", "1000"),
            ("1.5e20", "1.5e+20"),
            ("0.00001", "1e-05"),
            ("2.0 / 3", "0.666666666666667"),
            ("int(2.5)", "2"),
            ("int(3.5)", "4"),
            ("double(5)", "5"),
            ("greatest(1, 2.5, 2)", "2.5"),
            ("least(3, 2)", "2"),
            ("abs(-17)", "17"),
            ("mod(54, 32)", "22"),
            ("pow(2, 10)", "1024"),
            ("sqrt(2.0)", "1.4142135623731"),
            ("case when 0 then 1 when 2 then 3 else 4 end", "3"),
            ("case when false then 1 end", "NULL"),
            ("debug(5432.1)", "5432.1"),
            ("1 > 0 or 1 / 0 = 1", "true"),
        ] {
            assert_eq!(value(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn invalid_expressions_have_messages() {
        for (text, why) in [
            ("", "expected a value at the end"),
            ("1 +", "expected a value at the end"),
            ("(1", "expected `)` at the end"),
            ("1 2", "`2` is not expected here"),
            ("1 / 0", "division by zero"),
            ("9223372036854775807 + 1", "overflows 64 bits"),
            ("99999999999999999999", "not a 64-bit number"),
            ("not 1", "not a boolean"),
            ("nothing(1)", "no function `nothing`"),
            ("random(1)", "does not take 1 arguments"),
            ("1 ! 2", "`!` is not expected here"),
            ("hash(1)", "`hash` is not supported"),
            (&"(".repeat(1000), "nested deeper"),
        ] {
            let error = value(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
