//! Texts with variables in them, as requests have them.

use offered_model::Template;

/// A text with variables in it: what is sent as it stands, and what a workload puts in.
///
/// What is said is said: a name in braces in it is no variable, and is written so that it stays none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Said(String),
    Value(String),
}

impl From<&str> for Text {
    fn from(said: &str) -> Self {
        let mut text = Self::default();
        text.say(said);
        text
    }
}

impl From<String> for Text {
    fn from(said: String) -> Self {
        Self::from(said.as_str())
    }
}

impl Text {
    /// The value of `name`: a variable, or a column of one after a point.
    pub fn value(name: &str) -> Self {
        Self(vec![Piece::Value(name.to_owned())])
    }

    /// Adds what is sent as it stands.
    pub fn say(&mut self, said: &str) {
        match self.0.last_mut() {
            _ if said.is_empty() => {}
            Some(Piece::Said(before)) => before.push_str(said),
            _ => self.0.push(Piece::Said(said.to_owned())),
        }
    }

    /// Adds another.
    pub fn push(&mut self, other: &Self) {
        for piece in &other.0 {
            match piece {
                Piece::Said(said) => self.say(said),
                Piece::Value(name) => self.0.push(Piece::Value(name.clone())),
            }
        }
    }

    /// With what is said in another way; the variables stay.
    pub(crate) fn map(&self, way: impl Fn(&str) -> String) -> Self {
        let mut mapped = Self::default();
        for piece in &self.0 {
            match piece {
                Piece::Said(said) => mapped.say(&way(said)),
                Piece::Value(name) => mapped.0.push(Piece::Value(name.clone())),
            }
        }
        mapped
    }

    /// The names in it.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(name) => Some(name.as_str()),
            Piece::Said(_) => None,
        })
    }

    /// What is said, where there are no variables.
    pub fn said(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Said(said)] => Some(said),
            _ => None,
        }
    }

    /// What is said, with values in their places; or the name of one that there is none for.
    pub(crate) fn filled(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<String, &str> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Said(said) => filled.push_str(said),
                Piece::Value(name) => filled.push_str(&value(name).ok_or(name.as_str())?),
            }
        }
        Ok(filled)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of these stands in what is said.
    pub(crate) fn says_any(&self, what: impl Fn(char) -> bool) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Said(said) if said.contains(&what)))
    }

    /// What is said before the first variable.
    pub(crate) fn begins(&self) -> &str {
        if let Some(Piece::Said(said)) = self.0.first() { said } else { "" }
    }

    /// Without the first bytes of what it begins with.
    pub(crate) fn after(&self, bytes: usize) -> Self {
        let mut rest = Self::from(&self.begins()[bytes..]);
        rest.push(&Self(self.0[usize::from(!self.begins().is_empty())..].to_vec()));
        rest
    }

    /// Without the first piece: what is said up to a variable, or a variable.
    pub(crate) fn without_first(&self) -> Self {
        Self(self.0.get(1..).unwrap_or_default().to_vec())
    }

    /// Before and after the first of these in what is said.
    pub(crate) fn split_once(&self, at: char) -> Option<(Self, Self)> {
        let mut before = Self::default();
        for (number, piece) in self.0.iter().enumerate() {
            match piece {
                Piece::Said(said) => {
                    let Some((first, second)) = said.split_once(at) else {
                        before.say(said);
                        continue;
                    };
                    before.say(first);
                    let mut after = Self::from(second);
                    after.push(&Self(self.0[number + 1..].to_vec()));
                    return Some((before, after));
                }
                Piece::Value(name) => before.0.push(Piece::Value(name.clone())),
            }
        }
        None
    }

    /// As a workload has it.
    pub fn template(&self) -> Template {
        Template::new(&self.written())
    }

    /// As a workload has it where it is a body: values stand as they are, and so do single braces, whatever is in them.
    pub(crate) fn body_template(&self) -> Template {
        let value = |name: &str| match name {
            "session" | "sequence" => format!("{{{{{name}}}}}"),
            _ => format!("{{{{{name}|raw}}}}"),
        };
        Template::new(&self.written_with(|said| said.replace("{{", "{{'{{'}}"), value))
    }

    /// As a workload writes it.
    pub fn written(&self) -> String {
        self.written_with(|said| Template::literal(said).written().to_owned(), |name| format!("{{{{{name}}}}}"))
    }

    fn written_with(&self, said: impl Fn(&str) -> String, value: impl Fn(&str) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Said(text) => said(text),
            Piece::Value(name) => value(name),
        };
        self.0.iter().map(piece).collect()
    }

    /// As a person reads it in a list.
    pub fn shown(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Said(said) => said.clone(),
            Piece::Value(name) => format!("{{{{{name}}}}}"),
        };
        self.0.iter().map(piece).collect()
    }
}

/// A name as a workload's variable may have it, made of another: letters, digits and `_`.
pub(crate) fn name(wanted: &str) -> String {
    let fit = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = wanted.chars().take(100).map(fit).collect();
    match name.as_str() {
        "" => "value".to_owned(),
        "session" | "sequence" | "run" | "now" => format!("{name}_"),
        _ if name.starts_with(|c: char| c.is_ascii_digit()) => format!("_{name}"),
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_stays_said() {
        let written = |said: &str| Text::from(said).written();
        assert_eq!(written("{\"a\": {}}"), "{\"a\": {}}");
        assert_eq!(written("{a} {1} {{a}}"), "{{'{'}}a} {1} {{'{{'}}a}}");
        let mut text = Text::from("{x}=");
        text.push(&Text::value("user.name"));
        assert_eq!(text.written(), "{{'{'}}x}={{user.name}}");
        assert_eq!(text.map(|said| said.replace('=', "%3D")).written(), "{{'{'}}x}%3D{{user.name}}");
        text.say("{{y}}");
        text.push(&Text::value("session"));
        assert_eq!(text.body_template().to_string(), "{x}={{user.name|raw}}{{'{{'}}y}}{{session}}");
    }

    #[test]
    fn names_are_fit_for_variables() {
        for (wanted, fit) in [("a-b", "a_b"), ("1x", "_1x"), ("", "value"), ("session", "session_"), ("ä", "_")] {
            assert_eq!(name(wanted), fit);
        }
    }
}
