//! Checks of the parts of a workload; the reader of workload files uses them too, to report the line.

use std::path::Path;

use super::oauth2::check_oauth2;
use crate::defaults::statuses;
use crate::prompt::{Prompt, PromptTokens, check_words_per_token};
use crate::request::check_path;
use crate::script::{
    AtEnd, Auth, Content, CsvFormat, Draw, Extraction, Feeder, Find, Objects, Order, Part, Per, Sizes, Source, Test,
    TextCondition, TraceValue, Variable, Which,
};
use crate::template::{ALWAYS, is_name};
use offered_base::InvalidValue;
use offered_distributions::Shape;

/// Checks that a variable can be written to a workload file.
pub(crate) fn check_variable(Variable { name, source, per, env }: &Variable) -> Result<(), InvalidValue> {
    check_name(name)?;
    match (source, env) {
        (Source::Constant(_), Some(_)) | (Source::Uuid | Source::Sequence(_), None) => Ok(()),
        (Source::Constant(Ok(_)) | Source::Composed(_), None) if *per == Per::Session => Ok(()),
        (Source::Constant(Ok(_)) | Source::Composed(_), None) => {
            Err(InvalidValue::new("a constant has only one value; remove `per`"))
        }
        (Source::Constant(Err(_)), None) => Err(InvalidValue::new("a constant has a value")),
        (Source::Feeder(feeder), None) => check_feeder(feeder),
        (Source::Random(draw), None) => check_draw(draw),
        (Source::Prompt(prompt), None) => check_prompt(prompt, *per),
        (Source::TraceValue(TraceValue { words_per_token, .. }), None) => {
            check_words_per_token(*words_per_token).and(check_per_request(*per))
        }
        (Source::Conversation(_), None) if *per == Per::Request => Ok(()),
        (Source::Conversation(_), None) => Err(InvalidValue::new("each request has its own messages; remove `per`")),
        (Source::Work(_), None) if *per == Per::Request => Ok(()),
        (Source::Work(_), None) => Err(InvalidValue::new("each request has its own work; remove `per`")),
        (_, Some(_)) => Err(InvalidValue::new("an environment variable has only one value; remove `per`")),
    }
}

fn check_feeder(Feeder { file, order, at_end, columns, format, .. }: &Feeder) -> Result<(), InvalidValue> {
    let is_csv = is_csv_file(file, columns.is_some())?;
    if !is_csv && *format != CsvFormat::default() {
        return Err(InvalidValue::new("separator, quotes, skip_lines and ragged need a .csv file"));
    }
    if *order == Order::Random && *at_end != AtEnd::Repeat {
        return Err(InvalidValue::new("rows in random order have no last row; remove at_end"));
    }
    if columns.as_ref().is_some_and(Vec::is_empty) {
        return Err(InvalidValue::new("expected at least one name in columns"));
    }
    Ok(())
}

fn check_prompt(prompt: &Prompt, per: Per) -> Result<(), InvalidValue> {
    prompt.check()?;
    match &prompt.tokens {
        PromptTokens::Drawn(draw) => check_draw(draw),
        PromptTokens::Trace if prompt.prefix.is_some() => {
            Err(InvalidValue::new("the trace determines which prompts share their beginning; remove `prefix`"))
        }
        PromptTokens::Trace => check_per_request(per),
    }
}

/// Checks the scope of a value that each entry of a trace has.
fn check_per_request(per: Per) -> Result<(), InvalidValue> {
    if per == Per::Request {
        Ok(())
    } else {
        Err(InvalidValue::new("each request has its own entry of the trace; remove `per`"))
    }
}

fn check_draw(Draw { distribution, shift, decimals, min }: &Draw) -> Result<(), InvalidValue> {
    // Only a uniform distribution may begin below zero; it is stored as one from zero, and shifted.
    let moved = *shift < 0.0 && shift.is_finite() && matches!(distribution.shape(), Shape::Uniform(0.0, _));
    if distribution.of_numbers().is_none() || (*shift != 0.0 && !moved) {
        return Err(InvalidValue::new("needs a distribution of plain numbers, without a unit of time"));
    }
    if min.is_some_and(|min| !min.is_finite()) {
        return Err(InvalidValue::new("min must be a finite number"));
    }
    if *decimals > 9 {
        return Err(InvalidValue::new(format!(
            "{decimals} digits after the decimal point are too many; write up to 9"
        )));
    }
    Ok(())
}

/// Checks a name that templates can use.
fn check_name(name: &str) -> Result<(), InvalidValue> {
    if ALWAYS.contains(&name) {
        return Err(InvalidValue::new(format!("{{{{{name}}}}} is built in; choose another name")));
    }
    if !is_name(name) {
        return Err(InvalidValue::new(format!("`{name}` is not a name; write letters, digits and _, such as token_2")));
    }
    Ok(())
}

/// Whether a data file is CSV and not JSON lines: by the extension before `.gz`; with `columns`, a file with any
/// extension except `.jsonl` is CSV.
fn is_csv_file(file: &str, has_columns: bool) -> Result<bool, InvalidValue> {
    let name = Path::new(file.strip_suffix(".gz").unwrap_or(file));
    let ends_in = |kind| name.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(kind));
    match ends_in("jsonl") {
        true => Ok(false),
        false if has_columns || ends_in("csv") => Ok(true),
        false => Err(InvalidValue::new(
            "expected a name that ends in .csv or .jsonl; with `columns`, files with other names are read as CSV",
        )),
    }
}

/// Name and password are joined by a colon; OAuth 2.0 has the values of its grant.
pub(crate) fn check_auth(auth: &Auth) -> Result<(), InvalidValue> {
    match auth {
        Auth::Basic(text) | Auth::Digest(text) if !text.as_str().contains(':') && text.is_plain() => {
            Err(InvalidValue::new("has no colon; write for example \"user:password\""))
        }
        Auth::OAuth2(oauth2) => check_oauth2(oauth2),
        _ => Ok(()),
    }
}

/// Checks that a test of a response can both pass and fail.
pub(crate) fn check_test(test: &Test) -> Result<(), InvalidValue> {
    match test {
        Test::Status(ranges) if ranges.is_empty() => Err(InvalidValue::new("expected at least one status")),
        Test::Status(ranges) => ranges.iter().try_for_each(|(low, high)| {
            if (100..=999).contains(low) && (*low..=999).contains(high) {
                return Ok(());
            }
            let said = statuses((*low, *high));
            Err(InvalidValue::new(format!(
                "`{said}` is not a status; write a number from 100 to 999, a class or a range, such as 200, \"2xx\" or 200..299"
            )))
        }),
        Test::Text(Find::Body | Find::Url, TextCondition::There | TextCondition::Count(_)) => {
            Err(InvalidValue::new("the expected value is missing; add is, contains or matches"))
        }
        Test::Size(Sizes { least, most })
        | Test::Rows(Sizes { least, most })
        | Test::Text(_, TextCondition::Count(Sizes { least, most }))
            if least > most =>
        {
            Err(InvalidValue::new(format!("the range {least}..{most} is empty; write the smaller number first")))
        }
        Test::Sha256(digest)
            if digest.len() != 64 || !digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) =>
        {
            Err(InvalidValue::new("a SHA-256 digest is 64 hexadecimal digits, as `sha256sum FILE` prints them"))
        }
        _ => Ok(()),
    }
}

/// Checks that an extraction names a valid part of a response.
pub(crate) fn check_extraction(Extraction { name, find, which, .. }: &Extraction) -> Result<(), InvalidValue> {
    check_name(name)?;
    if *which == Which::Nth(0) {
        return Err(InvalidValue::new("nth must be at least 1"));
    }
    if *find == Find::Body {
        return Err(InvalidValue::new("the body cannot be extracted as a whole; write for example regex = \"(?s).*\""));
    }
    Ok(())
}

/// Checks the embedded objects of a page.
pub(crate) fn check_objects(Objects { paths, connections, .. }: &Objects) -> Result<(), InvalidValue> {
    paths.iter().try_for_each(check_path)?;
    if !(1..=1000).contains(&paths.len()) || !(1..=64).contains(connections) {
        return Err(InvalidValue::new("a page has between 1 and 1000 objects, over 1 to 64 connections"));
    }
    Ok(())
}

/// Checks that the names of a part can be quoted in its header, and that its content has the stated kind.
pub(crate) fn check_part(part: &Part) -> Result<(), InvalidValue> {
    for text in [Some(&*part.name), part.file_name(), part.media_type.as_deref()].into_iter().flatten() {
        if text.chars().any(|c| c.is_control() || c == '"') {
            return Err(InvalidValue::new(format!("`{text}` has a quote or a control character")));
        }
    }
    match (&part.file, &part.content) {
        (Some(_), content) => check_content(part.raw, content),
        (None, Ok(Content::Text(_))) if !part.raw => Ok(()),
        (None, _) => Err(InvalidValue::new(format!("the part `{}` is neither a file nor a value", part.name))),
    }
}

/// Checks that the content of a file is bytes if `raw`, otherwise a template.
pub(super) fn check_content(raw: bool, content: &Result<Content, String>) -> Result<(), InvalidValue> {
    match content {
        Ok(Content::Text(_)) if raw => Err(InvalidValue::new("a raw file has no placeholders")),
        Ok(Content::Raw(_)) if !raw => Err(InvalidValue::new("a file with placeholders must be a text")),
        _ => Ok(()),
    }
}
