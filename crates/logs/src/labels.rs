//! Labels: URLs grouped so that a person can read them and a workload can name them.
//!
//! The rule: the query goes; a segment of the path that is a number, a UUID, or a long mix with digits becomes `:id` (its
//! extension stays). A user's own rules come first.

use std::collections::HashMap;

use regex::bytes::Regex;

/// The user's own rules, in order: paths that match get the name; those that match none go by the rule above.
#[derive(Clone, Debug, Default)]
pub struct Rules(Vec<(Regex, String)>);

impl Rules {
    /// Adds a rule written `REGEX=NAME`; the name follows the last `=`.
    ///
    /// # Errors
    /// A text without `=`, or a regular expression that is none.
    pub fn add(&mut self, text: &str) -> Result<(), offered_model::Wrong> {
        let wrong =
            || offered_model::Wrong::new(format!("`{text}` is no rule; write for example ^/shop/.*=/shop/:page"));
        let (regex, name) = text.rsplit_once('=').filter(|(_, name)| !name.is_empty()).ok_or_else(wrong)?;
        self.0.push((crate::options::pattern(regex)?, name.to_owned()));
        Ok(())
    }
}

/// Distinct labels counted; what comes after is counted together.
const MOST: usize = 65_535;

/// Bytes of a label that are kept: what bounds the memory when targets are a megabyte long.
const LONGEST: usize = 500;

/// How often each label was asked for.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    counts: HashMap<Box<[u8]>, Label>,
    others: u64,
}

/// A group of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// How many requests fell into it.
    pub count: u64,
    /// The first of their targets, as it can be sent.
    pub example: String,
}

impl Labels {
    /// Counts a request; `room` is scratch space.
    pub(crate) fn add(&mut self, rules: &Rules, method: &[u8], target: &[u8], room: &mut Vec<u8>) {
        room.clear();
        room.extend_from_slice(method);
        room.push(b' ');
        group(rules, target, room);
        room.truncate(LONGEST);
        if let Some(label) = self.counts.get_mut(room.as_slice()) {
            label.count += 1;
        } else if self.counts.len() < MOST {
            let label = Label { count: 1, example: sendable(target) };
            self.counts.insert(room.as_slice().into(), label);
        } else {
            self.others += 1;
        }
    }

    /// Adds the counts of a later part.
    pub(crate) fn merge(&mut self, later: Self) {
        self.others += later.others;
        for (name, label) in later.counts {
            if let Some(known) = self.counts.get_mut(&name) {
                known.count += label.count;
            } else if self.counts.len() < MOST {
                self.counts.insert(name, label);
            } else {
                self.others += label.count;
            }
        }
    }

    /// The labels by falling count, then by name: method and path in a text that is safe to show.
    pub fn ranked(&self) -> Vec<(String, &Label)> {
        let mut ranked: Vec<_> = self.counts.iter().map(|(name, label)| (printable(name), label)).collect();
        ranked.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(&b.0)));
        ranked
    }

    /// Requests of labels beyond the most that are counted.
    pub fn others(&self) -> u64 {
        self.others
    }
}

fn group(rules: &Rules, target: &[u8], out: &mut Vec<u8>) {
    let path = &target[..memchr::memchr2(b'?', b'#', target).unwrap_or(target.len())];
    if let Some((_, name)) = rules.0.iter().find(|(pattern, _)| pattern.is_match(target)) {
        out.extend_from_slice(name.as_bytes());
        return;
    }
    for (i, segment) in path.split(|b| *b == b'/').enumerate() {
        if i > 0 {
            out.push(b'/');
        }
        let stem = memchr::memrchr(b'.', segment).filter(|dot| *dot > 0).unwrap_or(segment.len());
        if is_id(&segment[..stem]) {
            out.extend_from_slice(b":id");
            out.extend_from_slice(&segment[stem..]);
        } else {
            out.extend_from_slice(segment);
        }
    }
}

/// A number; or at least eight hexadecimal digits (dashes allowed) with a decimal one among them; or sixteen letters, digits,
/// dashes or underscores and more with at least four digits.
fn is_id(segment: &[u8]) -> bool {
    let digits = segment.iter().filter(|b| b.is_ascii_digit()).count();
    let of = |allowed: fn(&u8) -> bool| segment.iter().all(allowed);
    digits > 0
        && (digits == segment.len()
            || (segment.len() >= 8 && of(|b| b.is_ascii_hexdigit() || *b == b'-'))
            || (segment.len() >= 16 && digits >= 4 && of(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))))
}

/// `bytes` with everything percent-encoded that is not plainly printable in a terminal, a page, a TOML text or a request line,
/// and cut at 2,000 bytes.
pub(crate) fn printable(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes.iter().take(2000) {
        match byte {
            b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | 0..b' ' | 0x7f.. => {
                text.push_str(&format!("%{byte:02X}"));
            }
            _ => text.push(char::from(*byte)),
        }
    }
    text
}

/// `target` as it can stand in a request line: printable, without blanks, with a slash first.
pub(crate) fn sendable(target: &[u8]) -> String {
    let text = printable(target).replace(' ', "%20");
    let text = text.split('#').next().unwrap_or("");
    if text.starts_with('/') { text.to_owned() } else { format!("/{text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(rules: &Rules, target: &str) -> String {
        let mut out = Vec::new();
        group(rules, target.as_bytes(), &mut out);
        printable(&out)
    }

    #[test]
    fn numbers_and_ids_are_one_label_and_words_stay() {
        for (target, expected) in [
            ("/article/1234?x=1", "/article/:id"),
            ("/img/0042.png", "/img/:id.png"),
            ("/o/550e8400-e29b-41d4-a716-446655440000/edit", "/o/:id/edit"),
            ("/commit/deadbeef1", "/commit/:id"),
            ("/t/sess_9f8a7b6c5d4e3f2a1b", "/t/:id"),
            ("/deadbeef/facade", "/deadbeef/facade"),
            ("/apollo-13/mission.html", "/apollo-13/mission.html"),
            ("/v2/shuttle/sts-71/", "/v2/shuttle/sts-71/"),
            ("/", "/"),
            ("/<script>\u{1b}[2J", "/%3Cscript%3E%1B[2J"),
        ] {
            assert_eq!(label(&Rules::default(), target), expected);
        }
        let mut rules = Rules::default();
        rules.add("^/apollo=/apollo/*").unwrap();
        assert!(rules.add("nothing").unwrap_err().to_string().contains("is no rule"));
        assert_eq!(label(&rules, "/apollo-13/mission.html"), "/apollo/*");
        assert_eq!(sendable(b"a b\"c#top"), "/a%20b%22c");
    }

    #[test]
    fn counts_of_parts_add_up() {
        let (rules, mut room) = (Rules::default(), Vec::new());
        let mut whole = Labels::default();
        let mut parts = [Labels::default(), Labels::default()];
        for i in 0..100u32 {
            let target = format!("/{}/{i}", i % 3);
            whole.add(&rules, b"GET", target.as_bytes(), &mut room);
            parts[usize::from(i > 40)].add(&rules, b"GET", target.as_bytes(), &mut room);
        }
        let [mut left, right] = parts;
        left.merge(right);
        assert_eq!(left.ranked(), whole.ranked());
        assert_eq!(whole.ranked()[0].1.count, 100);
    }
}
