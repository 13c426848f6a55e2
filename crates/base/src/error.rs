//! The error of an invalid value.

/// An invalid value. Its message is one line: the value, what was expected, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidValue(String);

impl InvalidValue {
    /// An error with this line as its message.
    pub fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }

    /// `name` is not one of `names`; suggests the nearest of them.
    #[doc(hidden)]
    pub fn no_name(name: &str, names: &[&str]) -> Self {
        Self(format!("`{name}` is not one of {}{}", names.join(", "), nearest(name, names)))
    }
}

/// ` (did you mean ...?)` if one of `known` is spelled almost like `word`, otherwise an empty text.
pub fn nearest(word: &str, known: &[&str]) -> String {
    known
        .iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .map_or_else(String::new, |(_, name)| format!(" (did you mean `{name}`?)"))
}
