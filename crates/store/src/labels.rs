//! The names of requests, numbered in the order of first use.

use offered_events::Note;
use std::collections::HashMap;

/// Numbers distinct names; [`offered_events::Event::label`] holds such a number.
#[derive(Clone, Default)]
pub(crate) struct Labels {
    names: Vec<String>,
    numbers: HashMap<Box<[u8]>, u16>,
}

/// An event has two bytes for its label; further names share the last number.
const MAX_NAMES: usize = u16::MAX as usize;
const OTHERS: &str = "(other labels)";

impl Labels {
    /// The number of `name`. Bytes that are not UTF-8 are read as Latin-1 (old JMeter on Windows).
    #[inline]
    pub(crate) fn number(&mut self, name: &[u8]) -> u16 {
        match self.numbers.get(name) {
            Some(&number) => number,
            None => self.add(name),
        }
    }

    fn add(&mut self, name: &[u8]) -> u16 {
        if self.names.len() >= MAX_NAMES {
            if self.names.len() == MAX_NAMES {
                self.names.push(OTHERS.to_owned());
            }
            return u16::MAX;
        }
        let number = self.names.len() as u16;
        self.names.push(text(name));
        self.numbers.insert(name.into(), number);
        number
    }

    /// The names, by number.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// The names; adds a note if there were too many.
    pub(crate) fn into_names(self, notes: &mut Vec<Note>) -> Vec<String> {
        if self.names.len() > MAX_NAMES {
            notes.push(Note::TooManyNames { limit: MAX_NAMES as u64, other: OTHERS.to_owned() });
        }
        self.names
    }
}

/// Decodes UTF-8, or else Latin-1, in which every byte is a character.
pub(crate) fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_numbers_and_excess_names_share_one() {
        let mut labels = Labels::default();
        for i in 0..70_000u32 {
            assert_eq!(labels.number(i.to_string().as_bytes()), i.min(65_535) as u16);
        }
        assert_eq!(labels.number(b"17"), 17);
        let mut notes = Vec::new();
        assert_eq!(labels.into_names(&mut notes)[65_535], OTHERS);
        assert_eq!(notes.len(), 1);
    }

    #[test]
    fn latin_1_is_decoded() {
        assert_eq!(text(b"caf\xe9"), "café");
        assert_eq!(text("café".as_bytes()), "café");
    }
}
