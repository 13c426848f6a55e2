//! Templates of regular expression extractors, such as `$1$-$2$` (`RegexExtractor.initTemplate`).

use super::node::Node;
use crate::text::{self, Text};

/// A part of a template.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A text.
    Text(String),
    /// A group of the expression.
    Group(u32),
}

impl Piece {
    pub(super) fn group(&self) -> Option<u32> {
        if let Self::Group(group) = self { Some(*group) } else { None }
    }
}

/// The pieces of a template.
pub(super) fn pieces(template: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut text, mut rest) = (String::new(), template.trim());
    while let Some(start) = rest.find('$') {
        let (before, from) = rest.split_at(start);
        text.push_str(before);
        let group = from[1..].split_once('$').and_then(|(digits, behind)| {
            let only_digits = digits.bytes().all(|b| b.is_ascii_digit());
            Some((digits.parse().ok().filter(|_| only_digits)?, behind))
        });
        match group {
            Some((group, behind)) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(Piece::Group(group));
                rest = behind;
            }
            None => {
                text.push('$');
                rest = &from[1..];
            }
        }
    }
    text.push_str(rest);
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// The workload variable for a group of the extracted variable `name`.
pub(super) fn group_name(name: &str, group: u32) -> String {
    text::variable_name(&format!("{name}_g{group}"))
}

/// The value of the variable `name` of an extractor whose template is not a single group; `None` for other extractors, and for a
/// template without a group.
pub(super) fn composed(node: &Node, name: &str) -> Option<Text> {
    let pieces = pieces(node.element.text_of("RegexExtractor.template"));
    let has_group = pieces.iter().any(|piece| piece.group().is_some());
    if node.class() != "RegexExtractor" || !has_group || pieces.len() < 2 {
        return None;
    }
    let mut value = Text::default();
    for piece in &pieces {
        match piece {
            Piece::Text(text) => value.push_str(text),
            Piece::Group(group) => value.push(&Text::variable(&group_name(name, *group))),
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_split_into_texts_and_groups() {
        let text = |text: &str| Piece::Text(text.to_owned());
        for (template, expected) in [
            ("$1$", vec![Piece::Group(1)]),
            ("$1$$12$", vec![Piece::Group(1), Piece::Group(12)]),
            ("a$1$-$2$", vec![text("a"), Piece::Group(1), text("-"), Piece::Group(2)]),
            ("$x$1$", vec![text("$x"), Piece::Group(1)]),
            ("1", vec![text("1")]),
            ("$", vec![text("$")]),
            ("", vec![]),
        ] {
            assert_eq!(pieces(template), expected, "{template}");
        }
    }
}
