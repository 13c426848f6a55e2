//! Finds values in JSON bodies by a path (`JSONPath`, RFC 9535), within limits of memory and time.
//!
//! A path of names, indexes and wildcards is followed while the body is parsed, and only matching values are built. Other
//! paths (`..`, filters, slices, indexes from the end, lists of selectors) need the whole document as a tree, which is
//! many times larger than its text: a few bytes of JSON can become a map of 600 bytes. Both methods count their
//! allocations.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::BTreeMap;
use std::fmt;

use offered_base::Nanos;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_json_path::JsonPath;

use super::{ParsedResponse, one_line};

/// Maximum memory of the parsed values of a response, in bytes.
const MAX_MEMORY: usize = 64 * 1024 * 1024;
/// Estimated memory of an element of an array: a value, in a vector that may be half empty.
const ELEMENT_BYTES: usize = 2 * size_of::<Value>();
/// Estimated memory of a map with one entry: a node of a B-tree has space for eleven.
const MAP_BYTES: usize = 11 * (size_of::<String>() + size_of::<Value>()) + 16;
/// Estimated memory of each further entry, in nodes that are half full.
const ENTRY_BYTES: usize = MAP_BYTES / 6;
/// Overhead of the allocator per text, in bytes.
const TEXT_BYTES: usize = 16;
/// The time limit is checked after this many values.
const VALUES_PER_TIME_CHECK: usize = 256;
/// Maximum number of values that a path may visit in a tree, because the visits cannot be interrupted, and the time of
/// one.
const MAX_VISITS: usize = 1_000_000;
const VISIT: Nanos = Nanos(50);
/// Cost of a `match` or `search` in a filter, in visits: it compiles its regular expression each time.
const FUNCTION_VISITS: usize = 1000;

const TOO_LARGE: &str =
    "the JSON would need more than 64 MB of memory; use a path of names, indexes and *, without .., filters and slices";
const TOO_MANY_VISITS: &str = "the JSON path would visit more than 1,000,000 values; use fewer .. and simpler filters";

/// A JSON path, and the text of each `null` that it finds.
#[derive(Debug)]
pub(in crate::script) struct JsonQuery {
    path: Path,
    null: String,
}

#[derive(Debug)]
enum Path {
    /// Followed while the body is parsed.
    Steps { steps: Vec<Step>, skip_null: bool },
    /// Needs the tree.
    Tree { path: JsonPath, cost: Cost },
}

/// One step of a path, from a value to values in it.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::script) enum Step {
    Name(String),
    Index(usize),
    Wildcard,
}

/// The properties of a path that determine how often it visits the values of a tree.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::script) struct Cost {
    /// Number of `..`.
    descents: u32,
    /// Number of selectors after the first one in each comma-separated list, added over all lists.
    selectors: usize,
    /// Number of paths from the root in filters.
    roots: u32,
    /// Whether a filter has a regular expression.
    functions: bool,
}

/// A body as a tree.
pub(super) struct Tree {
    root: Value,
    values: usize,
    depth: usize,
}

/// The tree of a body, built on first use; `None` inside if the body is not JSON or exceeds a limit.
#[derive(Default)]
pub(super) struct JsonDocument(OnceCell<Option<Tree>>);

impl JsonQuery {
    /// Compiles a path.
    ///
    /// # Errors
    /// The path is invalid.
    pub(super) fn new(path: &str) -> Result<Self, String> {
        let parsed = JsonPath::parse(path).map_err(|reason| {
            format!("`{path}` is not a valid JSONPath ({}); an example is $.items[0].id", one_line(&reason.to_string()))
        })?;
        let path = match steps(path) {
            Some(steps) => Path::Steps { steps, skip_null: false },
            None => Path::Tree { path: parsed, cost: Cost::of(path) },
        };
        Ok(Self { path, null: "null".to_owned() })
    }

    /// The same path, with this text for each `null`.
    pub(super) fn with_null(self, null: String) -> Self {
        Self { null, ..self }
    }

    /// The values of a column of rows, which are an array of objects, without nulls.
    pub(super) fn column(name: &str) -> Self {
        let steps = vec![Step::Wildcard, Step::Name(name.to_owned())];
        Self { path: Path::Steps { steps, skip_null: true }, null: String::new() }
    }

    /// The texts found in `response`, in order. None if its body is not JSON.
    pub(super) fn texts<'h>(&'h self, response: &'h ParsedResponse<'_>) -> Box<dyn Iterator<Item = Cow<'h, str>> + 'h> {
        match &self.path {
            Path::Steps { steps, skip_null } => {
                let found = follow(steps, response).unwrap_or_default();
                let found = found.into_iter().filter(|value| !(*skip_null && value.is_null()));
                Box::new(found.take_while(|_| response.has_time()).map(|value| match value {
                    Value::String(text) => Cow::Owned(text),
                    Value::Null => Cow::Borrowed(self.null.as_str()),
                    other => Cow::Owned(other.to_string()),
                }))
            }
            Path::Tree { path, cost } => {
                let tree = response.json.0.get_or_init(|| tree(response)).as_ref();
                let tree = tree.filter(|tree| response.allows_visits(cost.visits(tree)));
                let found = tree.map(|tree| path.query(&tree.root).all()).unwrap_or_default();
                Box::new(found.into_iter().take_while(|_| response.has_time()).map(|value| match value {
                    Value::String(text) => Cow::Borrowed(text.as_str()),
                    Value::Null => Cow::Borrowed(self.null.as_str()),
                    other => Cow::Owned(other.to_string()),
                }))
            }
        }
    }
}

impl ParsedResponse<'_> {
    /// Whether the number of values of a tree that a path may visit is within the limit.
    fn allows_visits(&self, visits: usize) -> bool {
        if visits > MAX_VISITS {
            let _ = self.incomplete.set(TOO_MANY_VISITS);
        }
        self.has_more_than(Nanos(VISIT.0 * visits.min(MAX_VISITS) as u64))
    }
}

/// The steps of a valid path; `None` if it needs the tree.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut rest = path.trim().strip_prefix('$')?;
    let mut steps = Vec::new();
    while !rest.is_empty() {
        let (step, after) = if let Some(dotted) = rest.strip_prefix('.') {
            let end = dotted.find(['.', '[']).unwrap_or(dotted.len());
            match dotted.split_at(end) {
                ("*", after) => (Step::Wildcard, after),
                (name, after) if name.chars().all(|c| c.is_alphanumeric() || c == '_') && !name.is_empty() => {
                    (Step::Name(name.to_owned()), after)
                }
                _ => return None,
            }
        } else {
            let inner = rest.strip_prefix('[')?;
            match inner.chars().next()? {
                quote @ ('\'' | '"') => {
                    let (name, after) = inner[1..].split_once(quote)?;
                    (Step::Name((!name.contains('\\')).then(|| name.to_owned())?), after.strip_prefix(']')?)
                }
                _ => match inner.split_once(']')? {
                    ("*", after) => (Step::Wildcard, after),
                    (index, after) => (Step::Index(index.parse().ok()?), after),
                },
            }
        };
        steps.push(step);
        rest = after;
    }
    Some(steps)
}

impl Cost {
    /// Estimates from the text of a valid path. Texts in quotes do not count.
    fn of(path: &str) -> Self {
        let mut cost = Self::default();
        let (mut quote, mut escaped, mut before) = (None, false, ' ');
        for (position, c) in path.trim().char_indices() {
            match (quote, c) {
                (Some(_), _) if escaped => escaped = false,
                (Some(_), '\\') => escaped = true,
                (Some(open), _) if open == c => quote = None,
                (Some(_), _) => {}
                (None, '\'' | '"') => quote = Some(c),
                (None, '.') if before == '.' => cost.descents += 1,
                (None, ',') => cost.selectors += 1,
                (None, '$') if position > 0 => cost.roots += 1,
                (None, '(') => cost.functions |= before == 'h',
                (None, _) => {}
            }
            before = c;
        }
        cost
    }

    /// An upper estimate of the number of values of `tree` that the path visits.
    fn visits(&self, tree: &Tree) -> usize {
        let nested = tree.depth.saturating_pow(self.descents.saturating_sub(1));
        let from_root = tree.values.saturating_pow(self.roots);
        let functions = if self.functions { FUNCTION_VISITS } else { 1 };
        [nested, from_root, functions, self.selectors + 1].iter().fold(tree.values, |all, n| all.saturating_mul(*n))
    }
}

/// Counts what parsing allocates. An exceeded limit ends the parsing with an error.
struct Budget<'a> {
    has_time: &'a dyn Fn() -> bool,
    incomplete: &'a OnceCell<&'static str>,
    memory: Cell<usize>,
    values: Cell<usize>,
    depth: Cell<usize>,
}

impl<'a> Budget<'a> {
    fn new(has_time: &'a dyn Fn() -> bool, incomplete: &'a OnceCell<&'static str>) -> Self {
        Self { has_time, incomplete, memory: Cell::new(0), values: Cell::new(0), depth: Cell::new(0) }
    }

    /// Takes this many bytes.
    fn take<E: serde::de::Error>(&self, bytes: usize) -> Result<(), E> {
        self.memory.set(self.memory.get() + bytes);
        if self.memory.get() > MAX_MEMORY {
            let _ = self.incomplete.set(TOO_LARGE);
            return Err(E::custom(TOO_LARGE));
        }
        Ok(())
    }

    /// Counts one more value, built or skipped.
    fn count<E: serde::de::Error>(&self) -> Result<(), E> {
        self.values.set(self.values.get() + 1);
        if self.values.get().is_multiple_of(VALUES_PER_TIME_CHECK) && !(self.has_time)() {
            return Err(E::custom("out of time"));
        }
        Ok(())
    }
}

/// The values that `steps` find; `None` if the body is not JSON or exceeds a limit.
fn follow(steps: &[Step], response: &ParsedResponse<'_>) -> Option<Vec<Value>> {
    let body = response.body().ok().filter(|_| response.has_time())?;
    let has_time = || response.has_time();
    let budget = Budget::new(&has_time, &response.incomplete);
    let mut found = Vec::new();
    let mut parser = serde_json::Deserializer::from_slice(body);
    Follow { steps, budget: &budget, found: &mut found }.deserialize(&mut parser).ok()?;
    parser.end().ok()?;
    Some(found)
}

/// The tree of the body; `None` if the body is not JSON or exceeds a limit.
fn tree(response: &ParsedResponse<'_>) -> Option<Tree> {
    let body = response.body().ok().filter(|_| response.has_time())?;
    let has_time = || response.has_time();
    let budget = Budget::new(&has_time, &response.incomplete);
    let mut parser = serde_json::Deserializer::from_slice(body);
    let root = Build { budget: &budget, depth: 1 }.deserialize(&mut parser).ok()?;
    parser.end().ok()?;
    Some(Tree { root, values: budget.values.get(), depth: budget.depth.get() })
}

/// Follows the steps of a path from the value that is parsed next.
struct Follow<'p, 'b> {
    steps: &'p [Step],
    budget: &'b Budget<'b>,
    found: &'b mut Vec<Value>,
}

impl<'de> DeserializeSeed<'de> for Follow<'_, '_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, parser: D) -> Result<(), D::Error> {
        if self.steps.is_empty() {
            self.budget.take(ELEMENT_BYTES)?;
            self.found.push(Build { budget: self.budget, depth: 1 }.deserialize(parser)?);
            return Ok(());
        }
        parser.deserialize_any(self)
    }
}

/// A step from a scalar finds nothing.
macro_rules! nothing {
    ($($visit:ident($scalar:ty))*) => {
        $(fn $visit<E>(self, _: $scalar) -> Result<(), E> {
            Ok(())
        })*
    };
}

impl<'de> Visitor<'de> for Follow<'_, '_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    nothing! { visit_bool(bool) visit_i64(i64) visit_u64(u64) visit_f64(f64) visit_str(&str) }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        let Self { steps, budget, found } = self;
        for index in 0.. {
            budget.count()?;
            let follows = match &steps[0] {
                Step::Index(wanted) => *wanted == index,
                Step::Wildcard => true,
                Step::Name(_) => false,
            };
            let more = if follows {
                elements.next_element_seed(Follow { steps: &steps[1..], budget, found })?.is_some()
            } else {
                elements.next_element::<IgnoredAny>()?.is_some()
            };
            if !more {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let Self { steps, budget, found } = self;
        match &steps[0] {
            Step::Name(name) => {
                let start = found.len();
                while let Some(is_wanted) = entries.next_key_seed(IsKey(name))? {
                    budget.count()?;
                    if is_wanted {
                        // The last of several entries of the same name counts.
                        found.truncate(start);
                        entries.next_value_seed(Follow { steps: &steps[1..], budget, found })?;
                    } else {
                        entries.next_value::<IgnoredAny>()?;
                    }
                }
            }
            Step::Wildcard => {
                // In the order of the names, as in a tree.
                let mut by_name = BTreeMap::new();
                while let Some(name) = entries.next_key::<Cow<'_, str>>()? {
                    budget.count()?;
                    let mut found = Vec::new();
                    entries.next_value_seed(Follow { steps: &steps[1..], budget, found: &mut found })?;
                    budget.take(if by_name.is_empty() { MAP_BYTES } else { ENTRY_BYTES } + name.len() + TEXT_BYTES)?;
                    by_name.insert(name.into_owned(), found);
                }
                for mut values in by_name.into_values() {
                    found.append(&mut values);
                }
            }
            Step::Index(_) => while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {},
        }
        Ok(())
    }
}

/// Whether the next key is this one.
struct IsKey<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for IsKey<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, parser: D) -> Result<bool, D::Error> {
        parser.deserialize_str(self)
    }
}

impl Visitor<'_> for IsKey<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        Ok(key == self.0)
    }
}

/// Builds the value that is parsed next.
struct Build<'b> {
    budget: &'b Budget<'b>,
    depth: usize,
}

impl Build<'_> {
    fn inner(&self) -> Build<'_> {
        Build { budget: self.budget, depth: self.depth + 1 }
    }
}

impl<'de> DeserializeSeed<'de> for Build<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, parser: D) -> Result<Value, D::Error> {
        self.budget.count()?;
        self.budget.depth.set(self.budget.depth.get().max(self.depth));
        parser.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build<'_> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.budget.take(text.len() + TEXT_BYTES)?;
        Ok(text.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(element) = elements.next_element_seed(self.inner())? {
            // The initial capacity of a vector is four.
            self.budget.take(if array.is_empty() { 2 * ELEMENT_BYTES } else { ELEMENT_BYTES })?;
            array.push(element);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = entries.next_key::<Cow<'_, str>>()? {
            self.budget.take(if map.is_empty() { MAP_BYTES } else { ENTRY_BYTES } + name.len() + TEXT_BYTES)?;
            let value = entries.next_value_seed(self.inner())?;
            map.insert(name.into_owned(), value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Response;
    use crate::script::received::Received;
    use proptest::prelude::*;

    /// The texts that `path` finds in `body`, and why the body was not examined completely.
    fn texts(path: &str, body: &str) -> (Vec<String>, Option<&'static str>) {
        let reply = Response { size: body.len() as u64, body: body.as_bytes().to_vec().into(), ..Response::default() };
        let response = ParsedResponse::new(Received::for_test(200, &reply), "", &|| Nanos::MAX);
        let query = JsonQuery::new(path).unwrap();
        let found = query.texts(&response).map(Cow::into_owned).collect();
        (found, response.incomplete())
    }

    /// The same by the whole tree.
    fn in_tree(path: &str, body: &str) -> Vec<String> {
        let Ok(root) = serde_json::from_str(body) else { return Vec::new() };
        let found = JsonPath::parse(path).unwrap().query(&root).all();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        found.into_iter().map(text).collect()
    }

    #[test]
    fn plain_paths_have_steps_and_others_need_the_tree() {
        let name = |name: &str| Step::Name(name.to_owned());
        for (path, expected) in [
            ("$", Some(vec![])),
            ("$.a.b_1[0]", Some(vec![name("a"), name("b_1"), Step::Index(0)])),
            ("$['a.b'][\"c]d\"]", Some(vec![name("a.b"), name("c]d")])),
            ("$.items[*].*", Some(vec![name("items"), Step::Wildcard, Step::Wildcard])),
            ("$..a", None),
            ("$[-1]", None),
            ("$[0:2]", None),
            ("$['a','b']", None),
            ("$['it\\'s']", None),
            ("$[?@.a == ']']", None),
        ] {
            JsonPath::parse(path).unwrap();
            assert_eq!(steps(path), expected, "{path}");
        }
        let cost = Cost::of("$..a['..$',1]..[?search(@.b, $.c) && @.d == \"\\\"$\"]");
        assert_eq!(cost, Cost { descents: 2, selectors: 2, roots: 1, functions: true });
    }

    #[test]
    fn the_last_of_equal_names_counts_and_the_whole_body_must_be_json() {
        for (path, body, expected) in [
            ("$.a", r#"{"a": [1], "b": 2, "a": {"c": "x"}}"#, vec![r#"{"c":"x"}"#]),
            ("$.a[0]", r#"{"a": [1], "a": {}}"#, vec![]),
            ("$.*", r#"{"b": 1, "a": 2.50, "b": "\u00e4"}"#, vec!["2.5", "ä"]),
            ("$[1]", "[1, null]", vec!["null"]),
            ("$.a", r#"{"a": 1} x"#, vec![]),
            ("$.a", r#"{"a": 1"#, vec![]),
        ] {
            assert_eq!(texts(path, body).0, expected, "{path} of {body}");
        }
    }

    #[test]
    fn a_null_is_the_given_text() {
        let reply = Response { size: 9, body: b"[1, null]".to_vec().into(), ..Response::default() };
        let response = ParsedResponse::new(Received::for_test(200, &reply), "", &|| Nanos::MAX);
        for path in ["$[1]", "$..[1]"] {
            let query = JsonQuery::new(path).unwrap().with_null("none".to_owned());
            assert!(query.texts(&response).eq(["none"]), "{path}");
        }
    }

    #[test]
    fn values_that_do_not_match_are_not_built() {
        let body = format!("{{\"list\": [{}0], \"token\": \"t\"}}", "{\"\":0},".repeat(500_000));
        assert_eq!(texts("$.token", &body), (vec!["t".to_owned()], None));
        assert_eq!(texts("$.list[400000]", &body), (vec!["{\"\":0}".to_owned()], None));
        for path in ["$..token", "$.list"] {
            assert_eq!(texts(path, &body), (vec![], Some(TOO_LARGE)), "{path}");
        }
    }

    #[test]
    fn a_path_that_visits_too_many_values_is_not_followed() {
        let body = format!("[{}0]", "[{\"a\":1}],".repeat(10_000));
        assert_eq!(texts("$..a", &body).0.len(), 10_000);
        assert_eq!(texts("$[?count(@..a) > 0]", &body).0.len(), 10_000);
        for path in ["$..[?@.a == $[0][0].a]", "$..[?search(@.a, 'x')]"] {
            assert_eq!(texts(path, &body), (vec![], Some(TOO_MANY_VISITS)), "{path}");
        }
    }

    #[test]
    fn parsing_ends_when_the_time_is_over() {
        let body = format!("[{}0]", "[1],".repeat(100_000));
        let reply = Response { size: body.len() as u64, body: body.into_bytes().into(), ..Response::default() };
        for path in ["$[7]", "$..a", "$[*]"] {
            let checks = Cell::new(0);
            let soon = || Nanos(u64::from(checks.replace(checks.get() + 1) <= 100));
            let response = ParsedResponse::new(Received::for_test(200, &reply), "", &soon);
            assert_eq!(JsonQuery::new(path).unwrap().texts(&response).count(), 0, "{path}");
            assert!(response.incomplete().unwrap().contains("too long") && checks.get() < 110, "{path}");
        }
    }

    fn document() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![Just("1".to_owned()), Just("null".to_owned()), Just("\"s\"".to_owned())];
        scalar.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(","))),
                proptest::collection::vec(("[abc]", inner), 0..4).prop_map(|entries| {
                    let entries: Vec<_> = entries.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                    format!("{{{}}}", entries.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn steps_and_trees_find_the_same(body in document(), path in "\\$(\\.[abc]|\\.\\*|\\[[012]\\]|\\[\\*\\]){0,4}") {
            prop_assert!(steps(&path).is_some());
            prop_assert_eq!(texts(&path, &body).0, in_tree(&path, &body));
        }

        #[test]
        fn other_paths_find_what_the_library_finds(body in document(), path in "\\$(\\.\\.[abc]|\\[-[12]\\]|\\[\\?@\\.a\\]){1,2}") {
            prop_assert_eq!(texts(&path, &body).0, in_tree(&path, &body));
        }
    }
}
