//! Compiles Apache's `LogFormat` strings (`mod_log_config`).

use super::pattern::{Field, Pattern};

/// Compiles a string such as `%h %l %u %t "%r" %>s %b`; `\"` is a quote, as in the configuration file.
pub(crate) fn compile(format: &str, user: Option<&str>) -> Result<Pattern, String> {
    let format = format.replace("\\\"", "\"").replace("\\t", "\t");
    let mut pattern = Pattern::default();
    let mut rest = format.as_str();
    while let Some((literal, directive)) = rest.split_once('%') {
        if !literal.is_empty() {
            pattern.literal(literal.as_bytes());
        }
        // %[!status,...][<>][{argument}]letter
        let directive = directive.trim_start_matches(|c: char| c.is_ascii_digit() || "!,<>".contains(c));
        let (argument, directive) = match directive.strip_prefix('{') {
            Some(braced) => braced.split_once('}').ok_or_else(|| format!("`%{directive}` has no closing }}"))?,
            None => ("", directive),
        };
        let letter = directive.chars().next().ok_or("the format ends in %")?;
        rest = &directive[letter.len_utf8()..];
        if letter == '%' {
            pattern.literal(b"%");
            continue;
        }
        let asked = user.is_some_and(|name| name == argument || name == format!("%{letter}"));
        add(&mut pattern, letter, argument, asked)?;
    }
    if !rest.is_empty() {
        pattern.literal(rest.as_bytes());
    }
    pattern.checked(user)
}

fn add(pattern: &mut Pattern, letter: char, argument: &str, asked: bool) -> Result<(), String> {
    let field = match (letter, argument) {
        ('t', "") => {
            pattern.literal(b"[");
            pattern.field(Field::Time, asked);
            pattern.literal(b"]");
            return Ok(());
        }
        ('t', "sec" | "msec" | "usec" | "begin:sec" | "begin:msec" | "begin:usec") => Field::Time,
        ('t', other) => return Err(format!("time format `{other}` is not supported; use %t or %{{usec}}t")),
        ('h' | 'a', _) => Field::Client,
        ('r', _) => Field::Request,
        ('m', _) => Field::Method,
        ('U', _) => Field::Target,
        ('s', _) => Field::Status,
        ('b' | 'B' | 'O', _) => Field::Bytes,
        ('D', _) | ('T', "us") => Field::Duration(1000),
        ('T', "ms") => Field::Duration(1_000_000),
        ('T', _) => Field::Duration(1_000_000_000),
        ('i', name) if name.eq_ignore_ascii_case("user-agent") => Field::Agent,
        ('i', name) if name.eq_ignore_ascii_case("x-forwarded-for") => Field::Client,
        _ => Field::Ignored,
    };
    pattern.field(field, asked);
    Ok(())
}
