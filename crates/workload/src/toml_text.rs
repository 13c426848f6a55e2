//! Strings and keys of TOML in which every character is visible: unreadable characters (see [`is_unreadable`]) are
//! written as escapes.

use offered_base::is_unreadable;
use toml_writer::{ToTomlKey, ToTomlValue, TomlKeyBuilder, TomlStringBuilder};

/// The text as a TOML string.
pub(crate) fn toml_text(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    match text.contains(is_hidden) {
        true => escaped(&TomlStringBuilder::new(text).as_basic().to_toml_value()),
        false => text.to_toml_value(),
    }
}

/// The text as a TOML key, quoted if necessary.
pub(crate) fn toml_key(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    match text.contains(is_hidden) {
        true => escaped(&TomlKeyBuilder::new(text).as_basic().to_toml_key()),
        false => text.to_toml_key(),
    }
}

/// Whether TOML would write an unreadable character as it is.
fn is_hidden(c: char) -> bool {
    !c.is_ascii() && is_unreadable(c)
}

/// A basic string with further escapes.
fn escaped(basic: &str) -> String {
    let escape = |c: char| match u32::from(c) {
        _ if !is_hidden(c) => c.to_string(),
        code @ ..=0xffff => format!("\\u{code:04X}"),
        code => format!("\\U{code:08X}"),
    };
    basic.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    #[test]
    fn unreadable_characters_are_written_as_escapes_and_read_back() {
        for text in ["a\u{202e}b", "\u{e0041}\"'\\", "\u{9b}2J\n\u{1b}", "plain 'text'", "é\t", ""] {
            let document = format!("{} = {}", toml_key(text), toml_text(text));
            assert!(!document.contains(is_hidden), "{document}");
            let read = DeTable::parse(&document).unwrap();
            let (key, value) = read.get_ref().iter().next().unwrap();
            assert_eq!((key.get_ref().as_ref(), value.get_ref().as_str()), (text, Some(text)), "{document}");
        }
        assert_eq!(toml_text("a\u{202e}b"), "\"a\\u202Eb\"");
    }
}
