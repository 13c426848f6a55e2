//! Splits boolean expressions and limits of other tools.

/// Splits `text` at these signs where they are outside of quotes, parentheses and braces; `None` if there is none.
pub(crate) fn split<'t>(text: &'t str, signs: &[&str]) -> Option<Vec<&'t str>> {
    let (mut parts, mut from) = (Vec::new(), 0);
    let mut skip_to = 0;
    for at in outside(text) {
        if at < skip_to {
            continue;
        }
        if let Some(sign) = signs.iter().find(|sign| text[at..].starts_with(**sign)) {
            parts.push(&text[from..at]);
            from = at + sign.len();
            skip_to = from;
        }
    }
    parts.push(&text[from..]);
    (parts.len() > 1).then_some(parts)
}

/// The text between the parentheses that enclose all of it.
pub(crate) fn enclosed(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    // Nothing is outside but the two parentheses.
    outside(text).eq([0]).then_some(inner)
}

/// The parts of a limit such as `p(95) < 250`: what is limited, the sign and the number.
pub(crate) fn limit(text: &str) -> Option<(&str, &'static str, f64)> {
    let sign = ["<=", ">=", "<", ">"].into_iter().find(|sign| text.contains(sign))?;
    let (limited, number) = text.split_once(sign)?;
    Some((limited.trim(), sign, number.trim().parse().ok()?))
}

/// The positions of characters outside of quotes, parentheses and braces. The opening character of an outermost pair is
/// included.
fn outside(text: &str) -> impl Iterator<Item = usize> {
    let (mut quote, mut depth) = (None, 0usize);
    text.char_indices().filter_map(move |(at, c)| {
        let before = depth;
        match (quote, c) {
            (Some(open), c) => {
                if c == open {
                    quote = None;
                }
                return None;
            }
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '{' | '[') => depth += 1,
            (None, ')' | '}' | ']') => {
                depth = depth.saturating_sub(1);
                return None;
            }
            _ => {}
        }
        (before == 0).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_split_outside_of_quotes_and_parentheses() {
        assert_eq!(split("a && b&&c", &["&&"]), Some(vec!["a ", " b", "c"]));
        assert_eq!(split("\"&&\" == '&&'", &["&&"]), None);
        assert_eq!(split("(a || b) && ${x||y}", &["||"]), None);
        assert_eq!(enclosed("(a) || (b)"), None);
        assert_eq!(enclosed("((a) || (b))"), Some("(a) || (b)"));
        assert_eq!(enclosed("()"), Some(""));
    }

    #[test]
    fn limits_are_split_at_their_sign() {
        assert_eq!(limit("p(95) <= 2.5"), Some(("p(95)", "<=", 2.5)));
        assert_eq!(limit("rate>9"), Some(("rate", ">", 9.0)));
        assert_eq!(limit("rate == 9"), None);
    }
}
