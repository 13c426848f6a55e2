//! Reads Java properties files as `JMeter` does.

use std::collections::BTreeMap;

/// Reads the properties in `text`: lines with a name and a value, separated by `=`, `:` or a blank. `#` and `!` start a
/// comment, a backslash at the end of a line continues it. If a name is repeated, the last value counts.
pub fn read_properties(text: &str) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim_start().to_owned();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        while (line.len() - line.trim_end_matches('\\').len()) % 2 == 1 {
            line.pop();
            line.push_str(lines.next().unwrap_or_default().trim_start());
        }
        let mut escaped = false;
        let end = line.find(|c: char| {
            let ends = !escaped && (['=', ':'].contains(&c) || c.is_whitespace());
            escaped = !escaped && c == '\\';
            ends
        });
        let (name, rest) = line.split_at(end.unwrap_or(line.len()));
        let rest = rest.trim_start();
        let value = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
        all.insert(unescape(name), unescape(value));
    }
    all
}

/// Resolves backslash escapes.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next() {
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('u') => {
                    let code: String = chars.by_ref().take(4).collect();
                    u32::from_str_radix(&code, 16).ok().and_then(char::from_u32).unwrap_or('\u{fffd}')
                }
                Some(other) => other,
                None => break,
            },
            c => c,
        };
        plain.push(c);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_follow_the_java_format() {
        let all = read_properties(
            "# of the test\n! too\nhost=shop.test\n port : 81\nempty\nlong = a\\\n   b\nw\\=x = \\u00e4\\t\\\\\nhost = last\n",
        );
        let expected = [("empty", ""), ("host", "last"), ("long", "ab"), ("port", "81"), ("w=x", "\u{e4}\t\\")];
        assert!(all.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected), "{all:?}");
    }
}
