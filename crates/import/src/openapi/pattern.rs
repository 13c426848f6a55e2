//! Regular expressions of descriptions, and texts that match them.
//!
//! The dialect is that of ECMA-262 as far as the crate `fancy-regex` has it: with look-around and back-references.

use regex_syntax::Parser;
use regex_syntax::hir::{Class, Hir, HirKind};

/// Maximum length of a text in bytes.
const MAX_BYTES: usize = 10_000;
/// Maximum size of a compiled part of a pattern in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// Maximum number of steps back in one comparison.
const MAX_STEPS_BACK: usize = 10_000;
/// Maximum length in bytes of a pattern with look-around for which texts are generated.
const MAX_LOOK_AROUND_BYTES: usize = 1_000;
/// Preferred characters of a class.
const PREFERRED: [char; 6] = ['a', 'A', '1', '0', '-', '_'];

/// A compiled pattern.
pub(super) struct Pattern(fancy_regex::Regex);

impl Pattern {
    /// The compiled pattern; `None` if it is not supported.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let mut builder = fancy_regex::RegexBuilder::new(pattern);
        builder.backtrack_limit(MAX_STEPS_BACK).delegate_size_limit(MAX_COMPILED_BYTES).build().ok().map(Self)
    }

    /// Whether the pattern matches within `text`; `None` if that takes too long.
    pub(super) fn matches(&self, text: &str) -> Option<bool> {
        self.0.is_match(text).ok()
    }
}

/// Texts that may match `pattern`, in which open repetitions have `more` times more than needed. All match if the pattern has no
/// look-around; none is known if the pattern is not supported or a text would be too long.
pub(super) fn candidates(pattern: &str, more: u32) -> Vec<String> {
    if let Some(text) = matching_text(pattern, more) {
        return vec![text];
    }
    let Some((rest, looked_for)) = without_look_around(pattern) else { return Vec::new() };
    let Some(text) = matching_text(&rest, more) else { return Vec::new() };
    // `^(?=.*[a-z])(?=.*\d).{8,}$` needs the texts of its look-around somewhere in that of the rest.
    let needed: String = looked_for.iter().filter_map(|pattern| matching_text(pattern, 0)).collect();
    let over = needed.chars().chain(text.chars().skip(needed.chars().count())).collect();
    vec![over, format!("{needed}{text}"), format!("{text}{needed}"), text]
}

/// `pattern` without its look-around, and the patterns of its positive look-around.
fn without_look_around(pattern: &str) -> Option<(String, Vec<&str>)> {
    if pattern.len() > MAX_LOOK_AROUND_BYTES {
        return None;
    }
    let (mut rest, mut looked_for, mut at) = (String::new(), Vec::new(), 0);
    while at < pattern.len() {
        let mut end = end_of_part(pattern, at)?;
        let part = &pattern[at..end];
        if let Some(inside) = part.strip_prefix("(?=").or_else(|| part.strip_prefix("(?<=")) {
            looked_for.push(&inside[..inside.len() - 1]);
        } else if !part.starts_with("(?!") && !part.starts_with("(?<!") {
            if part.starts_with('(') {
                // The group may contain look-around.
                end = at + 1;
            }
            rest.push_str(&pattern[at..end]);
        }
        at = end;
    }
    Some((rest, looked_for))
}

/// Where the part of `pattern` ends that begins at `at`: an escape, a class, a group or a character. `None` if it does not end.
fn end_of_part(pattern: &str, at: usize) -> Option<usize> {
    let mut characters = pattern[at..].chars();
    let first = characters.next()?;
    let mut end = at + first.len_utf8();
    match first {
        '\\' => end += characters.next()?.len_utf8(),
        '(' => {
            while !pattern[end..].starts_with(')') {
                end = end_of_part(pattern, end)?;
            }
            end += 1;
        }
        '[' => {
            while !pattern[end..].starts_with(']') {
                let is_escape = pattern[end..].starts_with('\\');
                end = if is_escape {
                    end_of_part(pattern, end)?
                } else {
                    end + pattern[end..].chars().next()?.len_utf8()
                };
            }
            end += 1;
        }
        _ => {}
    }
    Some(end)
}

/// A text that matches `pattern`, in which open repetitions have `more` times more than needed. `None` if the pattern has look-around
/// or is not supported, or the text would be too long.
fn matching_text(pattern: &str, more: u32) -> Option<String> {
    let mut text = String::new();
    write(&Parser::new().parse(pattern).ok()?, more, &mut text)?;
    Some(text)
}

fn write(hir: &Hir, more: u32, text: &mut String) -> Option<()> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => text.push_str(std::str::from_utf8(&literal.0).ok()?),
        HirKind::Class(class) => text.push(character(class)?),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            for _ in 0..repetition.min.saturating_add(more).min(most) {
                let before = text.len();
                write(&repetition.sub, more, text)?;
                if text.len() == before {
                    // Further passes would add nothing either.
                    break;
                }
            }
        }
        HirKind::Capture(capture) => write(&capture.sub, more, text)?,
        HirKind::Concat(parts) => parts.iter().try_for_each(|part| write(part, more, text))?,
        HirKind::Alternation(parts) => write(parts.first()?, more, text)?,
    }
    (text.len() <= MAX_BYTES).then_some(())
}

fn character(class: &Class) -> Option<char> {
    let ranges: Vec<(char, char)> = match class {
        Class::Unicode(class) => class.iter().map(|range| (range.start(), range.end())).collect(),
        Class::Bytes(class) => class.iter().map(|range| (range.start().into(), range.end().into())).collect(),
    };
    let has = |c: &char| ranges.iter().any(|(start, end)| (start..=end).contains(&c));
    // The first visible character, or else the first one.
    let visible = ranges.iter().find_map(|(start, end)| (*end > ' ').then_some((*start).max('!')));
    PREFERRED.into_iter().find(has).or(visible).or(ranges.first().map(|(start, _)| *start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_match_their_pattern() {
        for (pattern, text) in [
            ("^[0-9a-fA-F]+$", Some("a")),
            (r"^-?\d{1,19}$", Some("1")),
            ("^ssh-(rsa|dss) |^ecdsa", Some("ssh-rsa ")),
            ("^[A-Z]{2}[0-9]{2}$", Some("AA11")),
            ("[^a-zA-Z0-9_-]", Some("!")),
            ("^(?=.*[a-z])x$", None),
            ("(a{100}){1000}", None),
        ] {
            assert_eq!(matching_text(pattern, 0).as_deref(), text, "{pattern}");
            let matches = |text: &str| Pattern::new(pattern).unwrap().matches(text) == Some(true);
            assert!(text.is_none_or(matches), "{pattern}");
        }
        assert_eq!(matching_text(r"^\w*$", 3).as_deref(), Some("aaa"));
        assert_eq!(matching_text("^x{1,2}y?$", 3).as_deref(), Some("xxy"));
        let many_empty = "((((y?){1000}){1000}){1000}){1000}";
        assert_eq!(matching_text(many_empty, 0).as_deref(), Some(""));
    }

    #[test]
    fn look_around_is_supported() {
        for (pattern, more, text) in [
            (r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\d)[A-Za-z\d]{8,}$", 0, "aA1aaaaa"),
            (r"^(?=.*[!#])(?!.*\s).{3,5}$", 0, "!aa"),
            (r"^[a-z](?:(?!--|__)[a-z_-])+$", 2, "aaaa"),
            (r"^(?=[^)]*\))[(x)]+$", 1, ")("),
            ("(?=.*[A-Z])", 0, "A"),
            ("/(?=.*[a-z])(?=.*[A-Z])/", 0, "//aA"),
            (r"^(?:(?=.*[a-z])|(?=.*\d))\w{2}$", 0, "a1"),
            (r"(?<=\$)\d+", 0, "$1"),
            (r"^(?!a)\w$", 0, ""),
        ] {
            let compiled = Pattern::new(pattern).unwrap();
            let found = candidates(pattern, more).into_iter().find(|text| compiled.matches(text) == Some(true));
            assert_eq!(found.as_deref().unwrap_or_default(), text, "{pattern}");
        }
        assert!(candidates(&"(?=".repeat(1_000), 0).is_empty());
        assert!(candidates(r"(?=[\", 0).is_empty());
        assert!(candidates("(?=[a", 0).is_empty());
        assert!(Pattern::new("(?<=a*)(").is_none());
    }
}
