//! Texts with variables, used for paths, headers and bodies of requests.

use offered_workload::Template;

/// A sequence of literal text and variables.
///
/// Literal text stays literal: braces in it are escaped when a workload is written, so they never become variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Variable(String),
    /// The source of an expression, and the variables in it.
    Expression(String, Vec<String>),
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
    /// A text that is the value of a variable; `name.column` selects a column of a data file.
    pub fn variable(name: &str) -> Self {
        Self(vec![Piece::Variable(name.to_owned())])
    }

    /// A text that is the result of an expression in a placeholder; `names` are the variables in it.
    pub(crate) fn expression(source: String, names: Vec<String>) -> Self {
        Self(vec![Piece::Expression(source, names)])
    }

    /// Appends literal text.
    pub fn push_str(&mut self, literal: &str) {
        match self.0.last_mut() {
            _ if literal.is_empty() => {}
            Some(Piece::Literal(before)) => before.push_str(literal),
            _ => self.0.push(Piece::Literal(literal.to_owned())),
        }
    }

    /// Appends another text.
    pub fn push(&mut self, other: &Self) {
        for piece in &other.0 {
            match piece {
                Piece::Literal(literal) => self.push_str(literal),
                piece => self.0.push(piece.clone()),
            }
        }
    }

    /// Applies `way` to the literal parts; variables stay.
    pub(crate) fn map_literals(&self, way: impl Fn(&str) -> String) -> Self {
        let mut mapped = Self::default();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => mapped.push_str(&way(literal)),
                piece => mapped.0.push(piece.clone()),
            }
        }
        mapped
    }

    /// The text without the line breaks at its end, as a shell substitutes the output of a command.
    pub(crate) fn without_final_line_breaks(mut self) -> Self {
        if let Some(Piece::Literal(last)) = self.0.last_mut() {
            last.truncate(last.trim_end_matches('\n').len());
        }
        self
    }

    /// Names of the variables, in order.
    pub(crate) fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .flat_map(|piece| match piece {
                Piece::Variable(name) => std::slice::from_ref(name),
                Piece::Expression(_, names) => names.as_slice(),
                Piece::Literal(_) => &[],
            })
            .map(String::as_str)
    }

    /// The literal parts, in order.
    pub(crate) fn literal_parts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Literal(literal) => Some(literal.as_str()),
            Piece::Variable(_) | Piece::Expression(..) => None,
        })
    }

    /// The literal text; `None` if there are variables.
    pub fn as_literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Piece::Literal(literal)] => Some(literal),
            _ => None,
        }
    }

    /// Replaces all variables by their values.
    ///
    /// # Errors
    /// The name of the first variable without a value.
    pub(crate) fn substitute(&self, value: &dyn Fn(&str) -> Option<String>) -> Result<String, &str> {
        let mut filled = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Literal(literal) => filled.push_str(literal),
                Piece::Variable(name) => filled.push_str(&value(name).ok_or(name.as_str())?),
                Piece::Expression(source, _) => return Err(source),
            }
        }
        Ok(filled)
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a literal part contains a character that satisfies `what`.
    pub(crate) fn literal_contains(&self, what: impl Fn(char) -> bool) -> bool {
        self.0.iter().any(|piece| matches!(piece, Piece::Literal(literal) if literal.contains(&what)))
    }

    /// The literal text before the first variable.
    pub(crate) fn leading_literal(&self) -> &str {
        if let Some(Piece::Literal(literal)) = self.0.first() { literal } else { "" }
    }

    /// The text without the first `bytes` bytes of its leading literal.
    pub(crate) fn skip_bytes(&self, bytes: usize) -> Self {
        let mut rest = Self::from(&self.leading_literal()[bytes..]);
        rest.push(&Self(self.0[usize::from(!self.leading_literal().is_empty())..].to_vec()));
        rest
    }

    /// The text without its first piece, which is a literal or a variable.
    pub(crate) fn skip_piece(&self) -> Self {
        Self(self.0.get(1..).unwrap_or_default().to_vec())
    }

    /// Splits at the first occurrence of a character in the literal parts.
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
                piece => before.0.push(piece.clone()),
            }
        }
        None
    }

    /// The template for a workload.
    pub fn template(&self) -> Template {
        Template::new(&self.to_source())
    }

    /// The template for a request body: values are inserted without escaping, and single braces stay as they are.
    pub(crate) fn body_template(&self) -> Template {
        let value = |name: &str| {
            if is_built_in(name) { format!("{{{{{name}}}}}") } else { format!("{{{{{name}|raw}}}}") }
        };
        Template::new(&self.render(|literal| literal.replace("{{", "{{'{{'}}"), value))
    }

    /// The template's source text in a workload file.
    pub fn to_source(&self) -> String {
        self.render(|literal| Template::literal(literal).written().to_owned(), |name| format!("{{{{{name}}}}}"))
    }

    fn render(&self, literal: impl Fn(&str) -> String, value: impl Fn(&str) -> String) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Literal(text) => literal(text),
            Piece::Variable(name) | Piece::Expression(name, _) => value(name),
        };
        self.0.iter().map(piece).collect()
    }

    /// The text for messages: variables as `{{name}}`, literals unescaped.
    pub fn to_display(&self) -> String {
        let piece = |piece: &Piece| match piece {
            Piece::Literal(literal) => literal.clone(),
            Piece::Variable(name) | Piece::Expression(name, _) => format!("{{{{{name}}}}}"),
        };
        self.0.iter().map(piece).collect()
    }
}

/// Whether a name is that of a number of the session or the request, or of its time, with or without a format.
pub(crate) fn is_built_in(name: &str) -> bool {
    name.split('|').next().is_some_and(|name| ["session", "sequence", "now"].contains(&name))
}

/// Converts a name to a valid variable name: letters, digits and `_`, not one of the built-in names.
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

/// The last part of a path of Unix or Windows.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_braces_are_escaped() {
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
    fn names_become_valid_variable_names() {
        for (wanted, fit) in [("a-b", "a_b"), ("1x", "_1x"), ("", "value"), ("session", "session_"), ("ä", "_")] {
            assert_eq!(variable_name(wanted), fit);
        }
    }
}
