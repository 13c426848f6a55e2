//! Labels: URLs grouped so that a person can read them and a workload can name them.
//!
//! The rule: the query goes; a segment of the path that is a number, a UUID, or a long mix with digits becomes `:id` (its
//! extension stays). A user's own rules come first. Where that leaves more than 65,535 labels, directories with more than 1000
//! names (files and folders each for themselves) have them joined to `:any`; or with more than 500, 250, ..., the largest limit
//! that is low enough. Which one that is follows from the set of labels alone, not from their order nor from how a log was cut.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

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

/// Distinct labels beyond which the names of directories are joined.
const MAX_LABELS: usize = 65_535;

/// Names of a directory that are kept apart then, at first.
const NAMES: usize = 1000;

/// What stands for all names of a directory.
const ANY: &[u8] = b":any";

/// Bytes of a label that are kept: what bounds the memory when targets are a megabyte long.
const LONGEST: usize = 500;

/// How often each label was asked for.
#[derive(Clone, Debug)]
pub struct Labels {
    counts: HashMap<Box<[u8]>, Label>,
    /// Requests so far.
    seen: u64,
    /// Names that directories may have, once names are joined.
    names: Option<usize>,
    /// Labels kept apart in the end.
    most: usize,
}

impl Default for Labels {
    fn default() -> Self {
        Self::of_at_most(MAX_LABELS)
    }
}

/// A group of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// How many requests fell into it.
    pub count: u64,
    /// The first of their targets, as it can be sent.
    pub example: String,
    /// Which of all requests that was.
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
    fn of_at_most(most: usize) -> Self {
        Self { counts: HashMap::new(), seen: 0, names: None, most }
    }

    /// Counts a request; `room` is scratch space.
    pub(crate) fn add(&mut self, rules: &Rules, method: &[u8], target: &[u8], room: &mut Vec<u8>) {
        label(rules, method, target, room);
        self.seen += 1;
        if let Some(label) = self.counts.get_mut(room.as_slice()) {
            label.count += 1;
            return;
        }
        let label = Label { count: 1, example: sendable(target), first: self.seen };
        self.counts.insert(room.as_slice().into(), label);
        self.bound();
    }

    /// Adds the counts of a later part.
    pub(crate) fn merge(&mut self, later: Self) {
        for (name, mut label) in later.counts {
            label.first += self.seen;
            join(&mut self.counts, name, label);
        }
        self.seen += later.seen;
        self.names = self.names.into_iter().chain(later.names).min();
        self.bound();
    }

    /// Twice the room, so that joining is rare.
    fn bound(&mut self) {
        if self.counts.len() > 2 * self.most {
            self.settle();
        }
    }

    /// Joins names until what is left has room.
    ///
    /// [`room`] only grows as labels come, and is the same of labels whose directories were joined at a higher limit already.
    /// So what is settled in parts, or several times, comes to the same limit and the same labels as the whole settled once.
    pub(crate) fn settle(&mut self) {
        if self.names.is_none() && self.counts.len() <= self.most {
            return;
        }
        let mut names = self.names.unwrap_or(NAMES);
        loop {
            self.names = Some(names);
            let fine = std::mem::take(&mut self.counts);
            let fine = fine.iter().map(|(name, label)| (&name[..], label.clone())).collect();
            joined(&mut Vec::new(), fine, names, &mut self.counts);
            if names == 0 || room(self.counts.keys().map(|name| &name[..]).collect(), names) <= self.most {
                return;
            }
            names /= 2;
        }
    }

    /// More names in a directory than these have become `:any`; `None`: none has.
    pub fn joined_beyond(&self) -> Option<usize> {
        self.names
    }

    /// The labels by falling count, then by name: method and path in a text that is safe to show.
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

/// Puts `labels`, named by what follows `folder`, into `counts`, the names of folders with more than `names` of them joined.
fn joined(folder: &mut Vec<u8>, labels: Vec<(&[u8], Label)>, names: usize, counts: &mut HashMap<Box<[u8]>, Label>) {
    let (mut files, mut folders) = (HashMap::new(), HashMap::<&[u8], Vec<(&[u8], Label)>>::new());
    for (name, label) in labels {
        match memchr::memchr(b'/', name) {
            None => join(&mut files, name, label),
            Some(slash) => folders.entry(&name[..slash]).or_default().push((&name[slash + 1..], label)),
        }
    }
    let length = folder.len();
    // A folder's own page has no name, and is not joined to its files.
    let any = files.keys().filter(|name| !name.is_empty()).count() > names || files.contains_key(ANY);
    for (name, label) in files {
        folder.extend_from_slice(if any && !name.is_empty() { ANY } else { name });
        join(counts, folder.as_slice().into(), label);
        folder.truncate(length);
    }
    if folders.len() > names || folders.contains_key(ANY) {
        folders = HashMap::from([(ANY, folders.into_values().flatten().collect())]);
    }
    for (name, inside) in folders {
        folder.extend_from_slice(name);
        folder.push(b'/');
        joined(folder, inside, names, counts);
        folder.truncate(length);
    }
}

/// The labels there may have been on the way to these, which are joined where a folder has more than `names` names.
///
/// A folder whose names are joined counts as `names + 1` of them, each with all that is inside: so many it had before. Counted
/// as the one it became, a folder would take less room the fuller it gets, and the limit would depend on who came first.
fn room(labels: Vec<&[u8]>, names: usize) -> usize {
    let (mut files, mut folders) = (HashSet::new(), HashMap::<&[u8], Vec<&[u8]>>::new());
    for name in labels {
        match memchr::memchr(b'/', name) {
            None => drop(files.insert(name)),
            Some(slash) => folders.entry(&name[..slash]).or_default().push(&name[slash + 1..]),
        }
    }
    let of_any = |any: bool| if any { names + 1 } else { 1 };
    let own_page = usize::from(files.remove(&b""[..]));
    let files = if files.contains(ANY) { names + 1 } else { files.len() };
    let inside = folders.into_iter().map(|(name, inside)| of_any(name == ANY).saturating_mul(room(inside, names)));
    inside.fold(own_page + files, usize::saturating_add)
}

/// The label of a request, into `out`.
pub(crate) fn label(rules: &Rules, method: &[u8], target: &[u8], out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(method);
    out.push(b' ');
    group(rules, target, out);
    out.truncate(LONGEST);
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
    use proptest::prelude::*;

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

    fn labels_of(targets: &[String], most: usize) -> Labels {
        let (mut labels, mut room) = (Labels::of_at_most(most), Vec::new());
        for target in targets {
            labels.add(&Rules::default(), b"GET", target.as_bytes(), &mut room);
        }
        labels
    }

    #[test]
    fn of_too_many_labels_full_directories_become_one() {
        let slug = |i: u32| format!("x{}", char::from(b'a' + (i % 26) as u8)) + &"y".repeat((i / 26) as usize);
        // 1,200 users have 60 photos each: more labels than are kept.
        let mut targets: Vec<String> = (0..1200).map(|i| format!("/shop/{}.html", slug(i))).collect();
        targets.extend((0..1200).flat_map(|i| (0..60).map(move |j| format!("/{}/photos/{}", slug(i), slug(j)))));
        targets.extend(["/cart", "/", "/shop/", "/about/us"].map(str::to_owned));
        let mut labels = labels_of(&targets, MAX_LABELS);
        labels.settle();
        let names: Vec<(String, u64)> = labels.ranked().into_iter().map(|(name, label)| (name, label.count)).collect();
        let count = |name: &str| names.iter().find(|(known, _)| known == name).map(|(_, count)| *count);
        assert_eq!(count("GET /:any/photos/xa"), Some(1200), "{:?}", &names[..3]);
        assert_eq!(count("GET /:any/:any"), Some(1201));
        assert_eq!([count("GET /cart"), count("GET /"), count("GET /:any/")], [Some(1); 3]);
        // 251 users with 250 shop pages and 60 photos would have been too many, 126 with 125 are not.
        assert_eq!((labels.joined_beyond(), names.iter().map(|(_, n)| n).sum::<u64>()), (Some(125), 73_204));
        // Targets of every depth, all different: few labels all the same.
        let deep =
            |i: u32| (0..6).fold(format!("/{}", slug(i % 500)), |path, k| path + "/z" + &slug((i >> (3 * k)) % 8));
        let mut hostile = labels_of(&(0..140_000).map(deep).collect::<Vec<_>>(), MAX_LABELS);
        assert!(hostile.counts.len() <= 2 * MAX_LABELS);
        hostile.settle();
        assert!(hostile.counts.len() <= MAX_LABELS);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn what_is_joined_depends_on_no_cut_and_no_order_of_merging(
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
            whole.settle();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(targets.len())).chain([0, targets.len()]).collect();
            cuts.sort_unstable();
            let mut parts: Vec<Labels> = cuts.windows(2).map(|cut| labels_of(&targets[cut[0]..cut[1]], most)).collect();
            while parts.len() > 1 {
                let at = if right_first { parts.len() - 2 } else { 0 };
                let right = parts.remove(at + 1);
                parts[at].merge(right);
            }
            let mut merged = parts.remove(0);
            merged.settle();
            prop_assert_eq!(merged.ranked(), whole.ranked());
            prop_assert_eq!(merged.joined_beyond(), whole.joined_beyond());
            // The definition, on all labels at once: the largest of the limits that leaves room.
            let mut all = labels_of(&targets, usize::MAX / 2);
            let limit = (all.counts.len() > most).then(|| {
                let at = |names: usize| {
                    let mut counts = HashMap::new();
                    joined(&mut Vec::new(), all.counts.iter().map(|(name, label)| (&name[..], label.clone())).collect(), names, &mut counts);
                    room(counts.keys().map(|name| &name[..]).collect(), names)
                };
                (0..=10).map(|halvings| NAMES >> halvings).find(|names| *names == 0 || at(*names) <= most).unwrap()
            });
            prop_assert_eq!(whole.joined_beyond(), limit);
            all.names = limit;
            if limit.is_some() {
                all.settle();
            }
            prop_assert_eq!(all.ranked(), whole.ranked());
        }
    }
}
