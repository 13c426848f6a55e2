//! The error of an invalid value.

/// An invalid value. Its message is one line: the value, what was expected, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidValue(String);

impl InvalidValue {
    /// An error whose message is this line.
    pub fn new(line: impl Into<String>) -> Self {
        Self(line.into())
    }

    /// `name` is not one of `names`; suggests the nearest of them.
    #[doc(hidden)]
    pub fn no_name(name: &str, names: &[&str]) -> Self {
        Self(format!("`{name}` is not one of {}{}", names.join(", "), nearest(name, names)))
    }
}

/// Beginnings of messages whose subject is the key or file before them.
const VERBS: [&str; 15] = [
    "must ",
    "cannot be ",
    "needs ",
    "has ",
    "is ",
    "are ",
    "does ",
    "belongs ",
    "combines ",
    "ends ",
    "exists ",
    "have ",
    "holds ",
    "listens ",
    "submits ",
];

/// A message about a key, a flag or a file: `subject must be ...` if the message begins with a verb, else
/// `subject: message`. The subject `-` is standard input.
pub fn sentence(subject: &str, message: &str) -> String {
    let subject = if subject == "-" { "standard input" } else { subject };
    let between = if VERBS.iter().any(|verb| message.starts_with(verb)) { " " } else { ": " };
    format!("{subject}{between}{message}")
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
