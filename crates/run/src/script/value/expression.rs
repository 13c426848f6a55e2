//! Evaluating expressions in placeholders.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use jiff::fmt::strtime;
use md5::Md5;
use offered_base::{Seed, Stream};
use offered_workload::script::data;
use offered_workload::template::{self, Function, Operator, Piece, Template, in_url};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::{Fresh, MissingValue, Text, Values};
use crate::script::hashes::{hex, hmac_sha256};
use crate::script::{RequestContext, SessionState};

/// A compiled expression.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Text(Text),
    /// A function; `number` distinguishes the random numbers of each call.
    Call {
        function: Function,
        number: u16,
        arguments: Vec<Expression>,
    },
    Operation(Operator, Box<[Expression; 2]>),
}

/// The request for which an expression is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Evaluation<'a> {
    pub(super) values: &'a Values,
    /// The values that are new in the text that contains it.
    pub(super) fresh: &'a Fresh,
    pub(super) context: RequestContext,
    pub(super) state: Option<&'a SessionState>,
}

impl Expression {
    /// Compiles an expression of the workload.
    pub(super) fn new(expression: &template::Expression, values: &Values) -> Self {
        match expression {
            template::Expression::Piece(Piece::Text(text)) => Self::Text(values.text(&Template::literal(text))),
            template::Expression::Piece(piece) => Self::Text(values.text(&Template::new(&piece.written()))),
            template::Expression::Call(function, arguments) => Self::Call {
                function: *function,
                number: values.next_call(),
                arguments: arguments.iter().map(|argument| Self::new(argument, values)).collect(),
            },
            template::Expression::Operation(operator, both) => {
                Self::Operation(*operator, Box::new([Self::new(&both[0], values), Self::new(&both[1], values)]))
            }
        }
    }

    /// The value.
    ///
    /// # Errors
    /// A value is missing, or not of the kind that its function takes.
    pub(super) fn evaluate(&self, at: Evaluation<'_>) -> Result<String, MissingValue> {
        match self {
            Self::Text(text) => at.values.plain_at(at.fresh, text, at.context, at.state),
            Self::Operation(operator, both) => {
                let [left, right] = [both[0].number(at)?, both[1].number(at)?];
                let result = match operator {
                    Operator::Add => left + right,
                    Operator::Subtract => left - right,
                    Operator::Multiply => left * right,
                    Operator::Divide | Operator::Remainder if right == 0.0 => {
                        return Err(wrong("a division by zero"));
                    }
                    Operator::Divide => left / right,
                    Operator::Remainder => left % right,
                };
                Ok(result.to_string())
            }
            Self::Call { function, number, arguments } => call(*function, *number, arguments, at),
        }
    }

    fn number(&self, at: Evaluation<'_>) -> Result<f64, MissingValue> {
        let text = self.evaluate(at)?;
        let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| wrong(format!("`{text}` is not a number")))
    }

    /// A whole number between these.
    fn whole(&self, at: Evaluation<'_>, least: f64, most: f64) -> Result<i64, MissingValue> {
        let number = self.number(at)?;
        let fits = number.fract() == 0.0 && (least..=most).contains(&number);
        fits.then_some(number as i64)
            .ok_or_else(|| wrong(format!("{number} is not a whole number from {least} to {most}")))
    }
}

fn wrong(reason: impl Into<String>) -> MissingValue {
    MissingValue::Value(reason.into())
}

/// The largest number up to which all whole numbers are distinguished.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;
/// Maximum length of a random text.
const MAX_RANDOM_TEXT: f64 = 1e6;

fn call(function: Function, number: u16, arguments: &[Expression], at: Evaluation<'_>) -> Result<String, MissingValue> {
    let argument = |index: usize| arguments[index].evaluate(at);
    let random = |seed: Seed| data(seed, number, at.context.session, at.context.step);
    // The numbers of variables and of functions are counted apart.
    let stream = || random(Seed(at.values.seed().0 ^ 0x6675_6e63_7469_6f6e));
    Ok(match function {
        Function::Base64 => STANDARD.encode(argument(0)?),
        Function::Base64Url => URL_SAFE_NO_PAD.encode(argument(0)?),
        Function::Url => in_url("?=", &argument(0)?),
        Function::Upper => argument(0)?.to_uppercase(),
        Function::Lower => argument(0)?.to_lowercase(),
        Function::Md5 => encoded(&Md5::digest(argument(0)?), arguments.get(1), at)?,
        Function::Sha1 => encoded(&Sha1::digest(argument(0)?), arguments.get(1), at)?,
        Function::Sha256 => encoded(&Sha256::digest(argument(0)?), arguments.get(1), at)?,
        Function::HmacSha1 => {
            let mut mac = Hmac::<Sha1>::new_from_slice(argument(0)?.as_bytes()).expect("a key of any length");
            mac.update(argument(1)?.as_bytes());
            encoded(&mac.finalize().into_bytes(), arguments.get(2), at)?
        }
        Function::HmacSha256 => encoded(&hmac_sha256(argument(0)?.as_bytes(), &argument(1)?), arguments.get(2), at)?,
        Function::Random => {
            let [low, high] =
                [arguments[0].whole(at, -MAX_WHOLE, MAX_WHOLE)?, arguments[1].whole(at, -MAX_WHOLE, MAX_WHOLE)?];
            if low > high {
                return Err(wrong(format!("random({low}, {high}) is an empty range")));
            }
            (low + stream().below((high - low) as u64 + 1) as i64).to_string()
        }
        Function::RandomText => {
            let length = arguments[0].whole(at, 0.0, MAX_RANDOM_TEXT)?;
            let mut stream = stream();
            at.fresh.unique(|| (0..length).map(|_| letter(&mut stream)).collect())
        }
        Function::Choice => argument(stream().below(arguments.len() as u64) as usize)?,
        Function::Date => date(at, &argument(0)?, arguments.get(1).map(|offset| offset.evaluate(at)).transpose()?)?,
        Function::Traceparent => at.fresh.unique(|| {
            // Unique over all runs, like a uuid.
            let mut stream = random(Seed(at.values.seed().0 ^ at.values.run_number() ^ 0x7472_6163_6570_6172));
            let mut words = || stream.below(1 << 32);
            let trace = format!("{:08x}{:08x}{:08x}{:08x}", words(), words(), words(), words() | 1);
            format!("00-{trace}-{:08x}{:08x}-01", words(), words() | 1)
        }),
    })
}

fn letter(stream: &mut Stream) -> char {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    char::from(LETTERS[stream.below(LETTERS.len() as u64) as usize])
}

/// Bytes as hexadecimal digits, or in the encoding of the argument.
fn encoded(bytes: &[u8], encoding: Option<&Expression>, at: Evaluation<'_>) -> Result<String, MissingValue> {
    let encoding = encoding.map_or(Ok("hex".to_owned()), |encoding| encoding.evaluate(at))?;
    Ok(match encoding.as_str() {
        "hex" => hex(bytes),
        "base64" => STANDARD.encode(bytes),
        "base64_url" => URL_SAFE_NO_PAD.encode(bytes),
        other => return Err(wrong(format!("`{other}` is not an encoding; write 'hex', 'base64' or 'base64_url'"))),
    })
}

/// The time in a format, moved by an offset such as `+1d` or `-2h`.
fn date(at: Evaluation<'_>, format: &str, offset: Option<String>) -> Result<String, MissingValue> {
    let now = at.fresh.now();
    let offset = offset.unwrap_or_default();
    let seconds = offset_seconds(&offset)
        .ok_or_else(|| wrong(format!("`{offset}` is not an offset; write for example '+1d', '-2h' or '+90s'")))?;
    let invalid = |reason: jiff::Error| wrong(format!("date: {reason}"));
    let (whole, nanos) = ((now.0 / 1_000_000_000) as i64, (now.0 % 1_000_000_000) as i32);
    let instant = Timestamp::new(whole.saturating_add(seconds), nanos).map_err(invalid)?;
    match format {
        "unix" => Ok(instant.as_second().to_string()),
        "unix_ms" => Ok(instant.as_millisecond().to_string()),
        "iso" => strtime::format("%Y-%m-%dT%H:%M:%S.%3fZ", instant).map_err(invalid),
        format => strtime::format(format, instant).map_err(invalid),
    }
}

/// The seconds of an offset such as `+1d` or `-2h`; 0 for an empty text.
fn offset_seconds(offset: &str) -> Option<i64> {
    let offset = offset.trim();
    if offset.is_empty() {
        return Some(0);
    }
    let unit = match offset.chars().next_back()? {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return None,
    };
    offset[..offset.len() - 1].parse::<i64>().ok()?.checked_mul(unit)
}
