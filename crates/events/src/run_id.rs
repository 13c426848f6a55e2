//! The identifier of a run.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use offered_base::{InvalidValue, Nanos, Share};

/// Maximum length in bytes; a run id is part of account names, which are short.
const LONGEST: usize = 64;

/// The identifier of a run: letters, digits and `-._`, so that it needs no escape in a URL, an account name or a file name.
///
/// The default is derived from an instant that all workers know without communication, see [`RunId::unless_given`].
/// It makes values that the server must see only once. The schedule does not depend on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RunId(Box<str>);

impl RunId {
    /// The identifier of a run that begins at this time since the Unix epoch: its nanoseconds in letters and digits. Later runs sort after
    /// earlier ones.
    pub fn of(begin: Nanos) -> Self {
        let (mut digits, mut rest) = ([b'0'; 13], begin.0);
        for digit in digits.iter_mut().rev() {
            *digit = b"0123456789abcdefghijklmnopqrstuvwxyz"[(rest % 36) as usize];
            rest /= 36;
        }
        Self(String::from_utf8_lossy(&digits).trim_start_matches('0').into())
    }

    /// The default identifier of a run that was requested at `now`. It is made from `now`. For one of several shares
    /// with a fixed start it is made from the start, the only instant that all workers know. Two such runs with the
    /// same start have the same identifier.
    pub fn unless_given(share: Share, start_at: Option<Nanos>, now: Nanos) -> Self {
        Self::of(start_at.filter(|_| share.parts() > 1).unwrap_or(now))
    }

    /// The identifier as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A hash of the identifier (FNV-1a), so that random values differ between runs with one seed.
    pub fn number(&self) -> u64 {
        self.0
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RunId {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if text.is_empty() || text.len() > LONGEST || !text.bytes().all(fits) {
            return Err(InvalidValue::new(format!(
                "`{text}` is not the id of a run; write 1 to {LONGEST} letters, digits and -._, such as release-7"
            )));
        }
        Ok(Self(text.into()))
    }
}

impl TryFrom<String> for RunId {
    type Error = InvalidValue;

    fn try_from(text: String) -> Result<Self, InvalidValue> {
        text.parse()
    }
}

impl From<RunId> for String {
    fn from(run: RunId) -> Self {
        run.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_made_from_the_start_and_needs_no_escape() {
        let at = |ns| RunId::of(Nanos(ns));
        assert_eq!((at(35).as_str(), at(36).as_str(), at(1_795_447_560_123_456_789).as_str().len()), ("z", "10", 12));
        assert!(at(1_795_447_560_123_456_789) != at(1_795_447_560_123_456_790));
        for id in [at(1_795_447_560_123_456_789).as_str(), "release-7", "a.b_c"] {
            assert_eq!(id.parse::<RunId>().unwrap().as_str(), id);
        }
        for wrong in ["", "a b", "a/b", "\u{e4}", &"x".repeat(65)] {
            assert!(wrong.parse::<RunId>().unwrap_err().to_string().contains("is not the id of a run"), "{wrong}");
        }
        assert_ne!(at(1).number(), at(2).number());
    }

    #[test]
    fn two_runs_that_begin_at_one_instant_differ_and_two_parts_of_one_do_not() {
        let id = |share: &str, now| RunId::unless_given(share.parse().unwrap(), Some(Nanos(1_000)), Nanos(now));
        assert_ne!(id("1/1", 7), id("1/1", 8));
        assert_eq!(id("1/2", 7), id("2/2", 8));
        assert_eq!(RunId::unless_given("1/2".parse().unwrap(), None, Nanos(7)), id("1/1", 7));
    }
}
