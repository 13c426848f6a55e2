//! Files of Java properties: `name = value` lines, as `JMeter` reads them.

use std::collections::BTreeMap;

/// The properties of `text`, the content of a file: a name and a value parted by `=`, `:` or a blank; `#` and `!` begin a remark, a
/// backslash at the end of a line goes on in the next. The last of a name counts.
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

/// Without the backslashes that keep what is behind them.
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
    fn lines_are_read_as_java_reads_them() {
        let all = read_properties(
            "# of the test\n! too\nhost=shop.test\n port : 81\nempty\nlong = a\\\n   b\nw\\=x = \\u00e4\\t\\\\\nhost = last\n",
        );
        let expected = [("empty", ""), ("host", "last"), ("long", "ab"), ("port", "81"), ("w=x", "\u{e4}\t\\")];
        assert!(all.iter().map(|(name, value)| (name.as_str(), value.as_str())).eq(expected), "{all:?}");
    }
}
