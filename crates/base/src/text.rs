//! Text from outside, made safe to read: in a terminal, a report or a file.

use std::borrow::Cow;

/// Whether a reader cannot see this character. This applies to control characters, and to those that Unicode calls
/// default-ignorable (zero width, writing direction, tags; `Default_Ignorable_Code_Point` of Unicode 16, UAX #44), line
/// and paragraph separators. Variation selectors of emoji count as readable.
pub fn is_unreadable(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
                | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// The text in one line, with unreadable characters as escapes: `\n`, `\u{1b}`, `\u{202e}`. Text from outside can then
/// neither move the cursor nor hide or reorder other text.
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, is_unreadable)
}

/// Like [`visible`], but line ends and tabs stay.
pub fn visible_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| !matches!(c, '\n' | '\t') && is_unreadable(c))
}

fn escaped(text: &str, is_escaped: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_escaped) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if !is_escaped(c) => safe.push(c),
            '\n' | '\r' | '\t' => safe.extend(c.escape_default()),
            c => safe.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unreadable_characters_are_escaped() {
        for (text, safe) in [
            ("\u{1b}]0;title\u{7}", "\\u{1b}]0;title\\u{7}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("GET /a\u{202e}gpj.exe", "GET /a\\u{202e}gpj.exe"),
            ("ho\u{200b}me", "ho\\u{200b}me"),
            ("a\r\nb\tc\u{2028}d", "a\\r\\nb\\tc\\u{2028}d"),
            ("\u{e0041}\u{feff}\u{3164}", "\\u{e0041}\\u{feff}\\u{3164}"),
        ] {
            assert_eq!(visible(text), safe);
        }
        assert_eq!(visible_lines("a\n\tb\r\u{1b}"), "a\n\tb\\r\\u{1b}");
    }

    #[test]
    fn readable_text_stays() {
        for text in ["", "GET /", "naïve café", "e\u{301}", "日本語", "العربية", "❤\u{fe0f} 👍🏽", "a\u{a0}b", "\\u{1b}"]
        {
            assert!(matches!(visible(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }
}
