//! Texts with variables in them, as requests have them.

use offered_model::Template;

/// A text with variables in it: what is sent as it stands, and what a workload puts in.
///
/// What is literal is literal: a name in braces in it is no variable, and is written so that it stays none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Variable(String),
}

impl From<&str> for Text {
    fn from(literal: &str) -> Self {
        let mut text = Self::default();
        text.push_str(literal);
        text
    }
}

impl From<String> for Text {
    fn from(literal: String) -> Self {
        Self::from(literal.as_str())
    }
}

impl Text {
    /// The value of `name`: a variable, or a column of one after a point.
    pub fn variable(name: &str) -> Self {
        Self(vec![Piece::Variable(name.to_owned())])
    }

    /// Adds what is sent as it stands.
    pub fn push_str(&mut self, literal: &str) {
        match self.0.last_mut() {
            _ if literal.is_empty() => {}
            Some(Piece::Literal(before)) => before.push_str(literal),
            _ => self.0.push(Piece::Literal(literal.to_owned())),
        }
    }

    /// Adds another.
    pub fn push(&mut self, other: &Self) {
        for piece in &other.0 {
            match piece {
                Piece::Literal(literal) => self.push_str(literal),
                Piece::Variable(name) => self.0.push(Piece::Variable(name.clone())),
            }
        }
    }

    /// With what is literal in another way; the variables stay.
    pub(crate) fn map_literals(&self, way: impl Fn(&str) -> String) -> Self {
        let mut mapped = Self::default();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => mapped.push_str(&way(literal)),
                Piece::Variable(name) => mapped.0.push(Piece::Variable(name.clone())),
            }
        }
        mapped
    }

    /// The names in it.
    pub(crate) fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Variable(name) => Some(name.as_str()),
            Piece::Literal(_) => None,
        })
    }

    /// What is literal, where there are no variables.
    pub fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Literal(literal)] => Some(literal),
            _ => None,
        }
    }

    /// What is literal, with values in their places; or the name of one that there is none for.
    pub(crate) fn substitute(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<String, &str> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => filled.push_str(literal),
                Piece::Variable(name) => filled.push_str(&value(name).ok_or(name.as_str())?),
            }
        }
        Ok(filled)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of these stands in what is literal.
    pub(crate) fn literal_contains(&self, what: impl Fn(char) -> bool) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Literal(literal) if literal.contains(&what)))
    }

    /// What is literal before the first variable.
    pub(crate) fn leading_literal(&self) -> &str {
        if let Some(Piece::Literal(literal)) = self.0.first() { literal } else { "" }
    }

    /// Without the first bytes of what it begins with.
    pub(crate) fn skip_bytes(&self, bytes: usize) -> Self {
        let mut rest = Self::from(&self.leading_literal()[bytes..]);
        rest.push(&Self(self.0[usize::from(!self.leading_literal().is_empty())..].to_vec()));
        rest
    }

    /// Without the first piece: what is literal up to a variable, or a variable.
    pub(crate) fn skip_piece(&self) -> Self {
        Self(self.0.get(1..).unwrap_or_default().to_vec())
    }

    /// Before and after the first of these in what is literal.
    pub(crate) fn split_once(&self, at: char) -> Option<(Self, Self)> {
        let mut before = Self::default();
        for (number, piece) in self.0.iter().enumerate() {
            match piece {
                Piece::Literal(literal) => {
                    let Some((first, second)) = literal.split_once(at) else {
                        before.push_str(literal);
                        continue;
                    };
                    before.push_str(first);
                    let mut after = Self::from(second);
                    after.push(&Self(self.0[number + 1..].to_vec()));
                    return Some((before, after));
                }
                Piece::Variable(name) => before.0.push(Piece::Variable(name.clone())),
            }
        }
        None
    }

    /// As a workload has it.
    pub fn template(&self) -> Template {
        Template::new(&self.to_source())
    }

    /// As a workload has it where it is a body: values stand as they are, and so do single braces, whatever is in them.
    pub(crate) fn body_template(&self) -> Template {
        let value = |name: &str| match name {
            "session" | "sequence" => format!("{{{{{name}}}}}"),
            _ => format!("{{{{{name}|raw}}}}"),
        };
        Template::new(&self.render(|literal| literal.replace("{{", "{{'{{'}}"), value))
    }

    /// As a workload writes it.
    pub fn to_source(&self) -> String {
        self.render(|literal| Template::literal(literal).written().to_owned(), |name| format!("{{{{{name}}}}}"))
    }

    fn render(&self, literal: impl Fn(&str) -> String, value: impl Fn(&str) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Literal(text) => literal(text),
            Piece::Variable(name) => value(name),
        };
        self.0.iter().map(piece).collect()
    }

    /// As a person reads it in a list.
    pub fn to_display(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Literal(literal) => literal.clone(),
            Piece::Variable(name) => format!("{{{{{name}}}}}"),
        };
        self.0.iter().map(piece).collect()
    }
}

/// A name as a workload's variable may have it, made of another: letters, digits and `_`.
pub(crate) fn variable_name(wanted: &str) -> String {
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
        let written = |literal: &str| Text::from(literal).to_source();
        assert_eq!(written("{\"a\": {}}"), "{\"a\": {}}");
        assert_eq!(written("{a} {1} {{a}}"), "{{'{'}}a} {1} {{'{{'}}a}}");
        let mut text = Text::from("{x}=");
        text.push(&Text::variable("user.name"));
        assert_eq!(text.to_source(), "{{'{'}}x}={{user.name}}");
        assert_eq!(text.map_literals(|literal| literal.replace('=', "%3D")).to_source(), "{{'{'}}x}%3D{{user.name}}");
        text.push_str("{{y}}");
        text.push(&Text::variable("session"));
        assert_eq!(text.body_template().to_string(), "{x}={{user.name|raw}}{{'{{'}}y}}{{session}}");
    }

    #[test]
    fn names_are_fit_for_variables() {
        for (wanted, fit) in [("a-b", "a_b"), ("1x", "_1x"), ("", "value"), ("session", "session_"), ("ä", "_")] {
            assert_eq!(variable_name(wanted), fit);
        }
    }
}
