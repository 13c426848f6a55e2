//! Labels: groups of URLs for reports and workloads.
//!
//! The query is removed, and path segments that are numbers, UUIDs or long mixtures with digits become `:id` (the
//! extension stays). Rules set by the user come first. If more than 65,535 labels are left, the names in directories
//! with more than 1000 names (files and folders separately) are joined to `:any`; if that is not enough, with more than
//! 500, 250, and so on. The resulting limit depends only on the set of labels, not on their order or on how the log was
//! split.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use regex::bytes::Regex;

/// Label rules set by the user, in order: the first matching rule gives the name. Other paths get the default label.
#[derive(Clone, Debug, Default)]
pub struct LabelRules(Vec<(Regex, String)>);

impl LabelRules {
    /// Adds a rule written `REGEX=NAME`; the name follows the last `=`.
    ///
    /// # Errors
    /// The text contains no `=`, or the regular expression is invalid.
    pub fn add(&mut self, text: &str) -> Result<(), offered_base::InvalidValue> {
        let wrong = || {
            offered_base::InvalidValue::new(format!(
                "invalid rule `{text}`; expected REGEX=NAME, for example ^/shop/.*=/shop/:page"
            ))
        };
        let (regex, name) = text.rsplit_once('=').filter(|(_, name)| !name.is_empty()).ok_or_else(wrong)?;
        self.0.push((path_regex(regex)?, name.to_owned()));
        Ok(())
    }
}

/// Maximum number of labels; above it, names in directories are joined.
const MAX_LABELS: usize = 65_535;

/// First limit of names per directory when names are joined.
const MAX_NAMES: usize = 1000;

/// Replaces all names of a directory.
const JOINED: &[u8] = b":any";

/// Maximum length of a label in bytes; it bounds memory if targets are very long.
const MAX_LABEL_BYTES: usize = 500;

/// Number of requests per label.
#[derive(Clone, Debug)]
pub struct Labels {
    counts: HashMap<Box<[u8]>, Label>,
    /// Number of requests so far.
    seen: u64,
    /// Limit of names per directory; `None` if no names have been joined.
    names: Option<usize>,
    /// Maximum number of labels.
    most: usize,
}

impl Default for Labels {
    fn default() -> Self {
        Self::with_max_labels(MAX_LABELS)
    }
}

/// A group of requests with the same label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Number of requests.
    pub count: u64,
    /// First target of the group, encoded for a request line.
    pub example: String,
    /// Sequence number of that request.
    first: u64,
}

impl Label {
    fn join(&mut self, other: Self) {
        self.count += other.count;
        if other.first < self.first {
            (self.first, self.example) = (other.first, other.example);
        }
    }
}

impl Labels {
    fn with_max_labels(most: usize) -> Self {
        Self { counts: HashMap::new(), seen: 0, names: None, most }
    }

    /// Counts a request; `scratch` is a reusable buffer.
    pub(crate) fn add(&mut self, rules: &LabelRules, method: &[u8], target: &[u8], scratch: &mut Vec<u8>) {
        label(rules, method, target, scratch);
        self.seen += 1;
        if let Some(label) = self.counts.get_mut(scratch.as_slice()) {
            label.count += 1;
            return;
        }
        let label = Label { count: 1, example: sendable(target), first: self.seen };
        self.counts.insert(scratch.as_slice().into(), label);
        self.limit_if_full();
    }

    /// Adds the counts of a later part of the log.
    pub(crate) fn merge(&mut self, later: Self) {
        for (name, mut label) in later.counts {
            label.first += self.seen;
            join(&mut self.counts, name, label);
        }
        self.seen += later.seen;
        self.names = self.names.into_iter().chain(later.names).min();
        self.limit_if_full();
    }

    /// Joins names only at twice the limit, so that joining is rare.
    fn limit_if_full(&mut self) {
        if self.counts.len() > 2 * self.most {
            self.limit();
        }
    }

    /// Joins names until the number of labels is within the limit.
    ///
    /// [`label_bound`] never decreases when labels are added, and does not change when names are joined at a higher
    /// limit. So limiting parts, or limiting repeatedly, gives the same result as limiting the whole once.
    pub(crate) fn limit(&mut self) {
        if self.names.is_none() && self.counts.len() <= self.most {
            return;
        }
        let mut names = self.names.unwrap_or(MAX_NAMES);
        loop {
            self.names = Some(names);
            let fine = std::mem::take(&mut self.counts);
            let fine = fine.iter().map(|(name, label)| (&name[..], label.clone())).collect();
            joined(&mut Vec::new(), fine, names, &mut self.counts);
            if names == 0 || label_bound(self.counts.keys().map(|name| &name[..]).collect(), names) <= self.most {
                return;
            }
            names /= 2;
        }
    }

    /// Number of names above which a directory's names were joined to `:any`; `None` if no names were joined.
    pub fn joined_above(&self) -> Option<usize> {
        self.names
    }

    /// Labels (method and path, escaped for display) by descending count, then by name.
    pub fn ranked(&self) -> Vec<(String, &Label)> {
        let mut ranked: Vec<_> = self.counts.iter().map(|(name, label)| (printable(name), label)).collect();
        ranked.sort_by(|a, b| b.1.count.cmp(&a.1.count).then_with(|| a.0.cmp(&b.0)));
        ranked
    }
}

fn join<Name: Eq + Hash>(counts: &mut HashMap<Name, Label>, name: Name, label: Label) {
    match counts.entry(name) {
        Entry::Vacant(place) => drop(place.insert(label)),
        Entry::Occupied(mut known) => known.get_mut().join(label),
    }
}

/// Adds `labels` to `counts`; their names are relative to `folder`. Joins the names of folders with more than `names`
/// names.
fn joined(folder: &mut Vec<u8>, labels: Vec<(&[u8], Label)>, names: usize, counts: &mut HashMap<Box<[u8]>, Label>) {
    let (mut files, mut folders) = (HashMap::new(), HashMap::<&[u8], Vec<(&[u8], Label)>>::new());
    for (name, label) in labels {
        match memchr::memchr(b'/', name) {
            None => join(&mut files, name, label),
            Some(slash) => folders.entry(&name[..slash]).or_default().push((&name[slash + 1..], label)),
        }
    }
    let length = folder.len();
    // The page of the folder itself has an empty name and is not joined.
    let any = files.keys().filter(|name| !name.is_empty()).count() > names || files.contains_key(JOINED);
    for (name, label) in files {
        folder.extend_from_slice(if any && !name.is_empty() { JOINED } else { name });
        join(counts, folder.as_slice().into(), label);
        folder.truncate(length);
    }
    if folders.len() > names || folders.contains_key(JOINED) {
        folders = HashMap::from([(JOINED, folders.into_values().flatten().collect())]);
    }
    for (name, inside) in folders {
        folder.extend_from_slice(name);
        folder.push(b'/');
        joined(folder, inside, names, counts);
        folder.truncate(length);
    }
}

/// Upper bound of the number of labels before joining with the limit `names`.
///
/// A joined folder counts as `names + 1` names with all their content, because it had at least this number. If it
/// counted as one name, joining a folder would decrease the bound, and the limit would depend on the order of labels.
fn label_bound(labels: Vec<&[u8]>, names: usize) -> usize {
    let (mut files, mut folders) = (HashSet::new(), HashMap::<&[u8], Vec<&[u8]>>::new());
    for name in labels {
        match memchr::memchr(b'/', name) {
            None => drop(files.insert(name)),
            Some(slash) => folders.entry(&name[..slash]).or_default().push(&name[slash + 1..]),
        }
    }
    let of_any = |any: bool| if any { names + 1 } else { 1 };
    let own_page = usize::from(files.remove(&b""[..]));
    let files = if files.contains(JOINED) { names + 1 } else { files.len() };
    let inside =
        folders.into_iter().map(|(name, inside)| of_any(name == JOINED).saturating_mul(label_bound(inside, names)));
    inside.fold(own_page + files, usize::saturating_add)
}

/// Writes the label of a request to `out`.
pub(crate) fn label(rules: &LabelRules, method: &[u8], target: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(method);
    out.push(b' ');
    group(rules, target, out);
    out.truncate(MAX_LABEL_BYTES);
}

fn group(rules: &LabelRules, target: &[u8], out: &mut Vec<u8>) {
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

/// Whether a segment is an identifier: a number; at least eight hexadecimal digits or dashes with a decimal digit; or
/// at least sixteen letters, digits, dashes or underscores with at least four digits.
fn is_id(segment: &[u8]) -> bool {
    let digits = segment.iter().filter(|b| b.is_ascii_digit()).count();
    let of = |allowed: fn(&u8) -> bool| segment.iter().all(allowed);
    digits > 0
        && (digits == segment.len()
            || (segment.len() >= 8 && of(|b| b.is_ascii_hexdigit() || *b == b'-'))
            || (segment.len() >= 16 && digits >= 4 && of(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))))
}

/// Percent-encodes everything that is not safe in a terminal, HTML, TOML or a request line; truncates at 2,000 bytes.
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

/// Encodes `target` for a request line: printable, without blanks, with a leading slash.
pub(crate) fn sendable(target: &[u8]) -> String {
    let text = printable(target).replace(' ', "%20");
    let text = text.split('#').next().unwrap_or("");
    if text.starts_with('/') { text.to_owned() } else { format!("/{text}") }
}

/// Compiles a regular expression for paths.
///
/// # Errors
/// The expression is invalid.
pub fn path_regex(text: &str) -> Result<Regex, offered_base::InvalidValue> {
    Regex::new(text).map_err(|why| {
        let why = why.to_string();
        let last = why.lines().last().unwrap_or("").to_owned();
        offered_base::InvalidValue::new(format!("invalid regular expression `{}`: {last}", text.escape_debug()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn label(rules: &LabelRules, target: &str) -> String {
        let mut out = Vec::new();
        group(rules, target.as_bytes(), &mut out);
        printable(&out)
    }

    #[test]
    fn numbers_and_identifiers_become_id() {
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
            assert_eq!(label(&LabelRules::default(), target), expected);
        }
        let mut rules = LabelRules::default();
        rules.add("^/apollo=/apollo/*").unwrap();
        assert!(rules.add("nothing").unwrap_err().to_string().contains("invalid rule"));
        assert_eq!(label(&rules, "/apollo-13/mission.html"), "/apollo/*");
        assert_eq!(sendable(b"a b\"c#top"), "/a%20b%22c");
    }

    #[test]
    fn counts_of_parts_add_up() {
        let (rules, mut room) = (LabelRules::default(), Vec::new());
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

    fn labels_of(targets: &[String], most: usize) -> Labels {
        let (mut labels, mut room) = (Labels::with_max_labels(most), Vec::new());
        for target in targets {
            labels.add(&LabelRules::default(), b"GET", target.as_bytes(), &mut room);
        }
        labels
    }

    #[test]
    fn names_of_large_directories_are_joined() {
        let slug = |i: u32| format!("x{}", char::from(b'a' + (i % 26) as u8)) + &"y".repeat((i / 26) as usize);
        // 1,200 users with 60 photos each exceed the limit.
        let mut targets: Vec<String> = (0..1200).map(|i| format!("/shop/{}.html", slug(i))).collect();
        targets.extend((0..1200).flat_map(|i| (0..60).map(move |j| format!("/{}/photos/{}", slug(i), slug(j)))));
        targets.extend(["/cart", "/", "/shop/", "/about/us"].map(str::to_owned));
        let mut labels = labels_of(&targets, MAX_LABELS);
        labels.limit();
        let names: Vec<(String, u64)> = labels.ranked().into_iter().map(|(name, label)| (name, label.count)).collect();
        let count = |name: &str| names.iter().find(|(known, _)| known == name).map(|(_, count)| *count);
        assert_eq!(count("GET /:any/photos/xa"), Some(1200), "{:?}", &names[..3]);
        assert_eq!(count("GET /:any/:any"), Some(1201));
        assert_eq!([count("GET /cart"), count("GET /"), count("GET /:any/")], [Some(1); 3]);
        // A limit of 250 names would still allow too many labels, 125 does not.
        assert_eq!((labels.joined_above(), names.iter().map(|(_, n)| n).sum::<u64>()), (Some(125), 73_204));
        // Deep, distinct targets.
        let deep =
            |i: u32| (0..6).fold(format!("/{}", slug(i % 500)), |path, k| path + "/z" + &slug((i >> (3 * k)) % 8));
        let mut hostile = labels_of(&(0..140_000).map(deep).collect::<Vec<_>>(), MAX_LABELS);
        assert!(hostile.counts.len() <= 2 * MAX_LABELS);
        hostile.limit();
        assert!(hostile.counts.len() <= MAX_LABELS);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn joining_is_independent_of_splits_and_merge_order(
            paths in proptest::collection::vec(proptest::collection::vec(0u8..12, 1..5), 1..200),
            folders in proptest::collection::vec(any::<bool>(), 200),
            cuts in proptest::collection::vec(0usize..200, 0..5),
            most in 1usize..60,
            right_first in any::<bool>(),
        ) {
            let target = |(path, folder): (&Vec<u8>, &bool)| {
                let names: String = path.iter().map(|name| format!("/{}", char::from(b'a' + name))).collect();
                if *folder { names + "/" } else { names }
            };
            let targets: Vec<String> = paths.iter().zip(&folders).map(target).collect();
            let mut whole = labels_of(&targets, most);
            whole.limit();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(targets.len())).chain([0, targets.len()]).collect();
            cuts.sort_unstable();
            let mut parts: Vec<Labels> = cuts.windows(2).map(|cut| labels_of(&targets[cut[0]..cut[1]], most)).collect();
            while parts.len() > 1 {
                let at = if right_first { parts.len() - 2 } else { 0 };
                let right = parts.remove(at + 1);
                parts[at].merge(right);
            }
            let mut merged = parts.remove(0);
            merged.limit();
            prop_assert_eq!(merged.ranked(), whole.ranked());
            prop_assert_eq!(merged.joined_above(), whole.joined_above());
            // Reference: the largest limit that is low enough for all labels at once.
            let mut all = labels_of(&targets, usize::MAX / 2);
            let limit = (all.counts.len() > most).then(|| {
                let at = |names: usize| {
                    let mut counts = HashMap::new();
                    joined(&mut Vec::new(), all.counts.iter().map(|(name, label)| (&name[..], label.clone())).collect(), names, &mut counts);
                    label_bound(counts.keys().map(|name| &name[..]).collect(), names)
                };
                (0..=10).map(|halvings| MAX_NAMES >> halvings).find(|names| *names == 0 || at(*names) <= most).unwrap()
            });
            prop_assert_eq!(whole.joined_above(), limit);
            all.names = limit;
            if limit.is_some() {
                all.limit();
            }
            prop_assert_eq!(all.ranked(), whole.ranked());
        }
    }
}
