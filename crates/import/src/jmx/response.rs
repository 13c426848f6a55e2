//! Extractors and assertions.

use std::collections::BTreeSet;

use offered_workload::Template;
use offered_workload::Threshold;
use offered_workload::script::{Check, Extraction, Find, IfMissing, Test, TextCondition, Which};
use regex::RegexBuilder;

use super::node::Node;
use super::template::{self, Piece};
use super::tree::Element;
use super::{Reader, untranslated};
use crate::text::Text;

/// Maximum size of a compiled regular expression in bytes.
const MAX_REGEX_BYTES: usize = 1 << 20;
/// Maximum number of matches that are extracted one by one.
const MAX_MATCHES: usize = 100;
/// Maximum length of a `JSONPath` in bytes.
const MAX_JSON_PATH_BYTES: usize = 500;

impl<'e> Reader<'e, '_> {
    /// The extractions of `node`; `None` if it cannot be translated.
    pub(super) fn extractor(&mut self, node: &Node<'e>) -> Option<Vec<Extraction>> {
        let property = |name: &str| node.element.text_of(name);
        if has_other_scope(node) {
            return None;
        }
        if untranslated::sets_no_variable(node) {
            return Some(Vec::new());
        }
        match node.class() {
            "RegexExtractor" => self.regex_extractions(node),
            "BoundaryExtractor" => {
                if !["", "false"].contains(&property("BoundaryExtractor.useHeaders")) {
                    return None;
                }
                let (left, right) = (
                    self.literal(node, property("BoundaryExtractor.lboundary"))?,
                    self.literal(node, property("BoundaryExtractor.rboundary"))?,
                );
                // Without a right boundary the match extends to the end.
                let inside =
                    if right.is_empty() { "(.*)".to_owned() } else { format!("(.*?){}", regex::escape(&right)) };
                let find = Find::Regex { pattern: format!("(?s){}{inside}", regex::escape(&left)), group: 1 };
                self.single_extraction(node, "BoundaryExtractor", find)
            }
            "HtmlExtractor" => {
                let selector = self.literal(node, property("HtmlExtractor.expr"))?;
                let attribute =
                    Some(property("HtmlExtractor.attribute").trim().to_owned()).filter(|name| !name.is_empty());
                self.single_extraction(node, "HtmlExtractor", Find::Css { selector, attribute })
            }
            "JSONPostProcessor" => self.json_extractions(node),
            _ => None,
        }
    }

    /// The extraction by a regular expression, and the extractions of its groups that the template or the plan uses
    /// (`RegexExtractor.saveGroups`).
    fn regex_extractions(&mut self, node: &Node<'e>) -> Option<Vec<Extraction>> {
        let property = |name: &str| node.element.text_of(&format!("RegexExtractor.{name}"));
        let regex = self.literal(node, property("regex"))?;
        let part = property("useHeaders");
        let find = |group: u32| match part {
            "" | "false" => Some(Find::Regex { pattern: supported_regex(&regex)?, group }),
            "true" => header_pattern(&regex, group),
            "URL" => Some(Find::Matched { of: Box::new(Find::Url), pattern: supported_regex(&regex)?, group }),
            _ => None,
        };
        let name = property("refname").trim().to_owned();
        let used = self.plan_uses(&format!("{name}_g"));
        let composed = template::composed(node, &name);
        let groups: Vec<u32> = template::pieces(property("template")).iter().filter_map(Piece::group).collect();
        let mut all = self.single_extraction(node, "RegexExtractor", find(*groups.first()?)?)?;
        match (&composed, &groups[..]) {
            (None, [_]) if used.is_empty() => return Some(all),
            (None, [_]) | (Some(_), _) => {}
            _ => return None,
        }
        let [first] = &mut all[..] else { return None };
        if !matches!(first.which, Which::Nth(_) | Which::Random) {
            return None;
        }
        if first.which == Which::Random {
            // Each group would be of another match.
            self.note(
                node,
                format!("takes the groups of `{name}` from a random match; here they are taken from the first match"),
            );
            first.which = Which::Nth(1);
        }
        let first = first.clone();
        if let Some(composed) = composed {
            let groups: BTreeSet<u32> = groups.into_iter().collect();
            let part = |group| {
                Some(Extraction { name: template::group_name(&name, group), find: find(group)?, ..first.clone() })
            };
            let mut parts: Vec<Extraction> = groups.into_iter().map(part).collect::<Option<_>>()?;
            if let IfMissing::Default(_) = first.if_missing {
                self.note(node, format!("composes `{name}` from several groups; without a match JMeter sets its default value, here the groups are empty"));
                for part in &mut parts {
                    part.if_missing = IfMissing::Default(String::new());
                }
            }
            self.variables.runtime.insert(name.clone(), composed);
            all = parts;
        }
        for group in used {
            let own = format!("{name}_g{group}");
            let name = self.variables.extracted(&own);
            if !all.iter().any(|one| one.name == name) {
                let if_missing = IfMissing::Default(format!("${{{own}}}"));
                all.push(Extraction { name, find: find(group)?, which: all[0].which.clone(), if_missing });
            }
        }
        Some(all)
    }

    /// The extraction of an extractor of one variable; `class` is the prefix of its properties.
    fn single_extraction(&mut self, node: &Node<'e>, class: &str, find: Find) -> Option<Vec<Extraction>> {
        let property = |name: &str| node.element.text_of(&format!("{class}.{name}"));
        let settings = ["match_number", "default", "default_empty_value"].map(property);
        self.extraction(node, property("refname"), find, settings)
    }

    /// The extractions of a JSON extractor, which may set several variables.
    fn json_extractions(&mut self, node: &Node<'e>) -> Option<Vec<Extraction>> {
        let property = |name: &str| node.element.text_of(name);
        let parts =
            |name: &str| -> Vec<String> { property(name).split(';').map(|part| part.trim().to_owned()).collect() };
        let (names, paths) = (parts("JSONPostProcessor.referenceNames"), parts("JSONPostProcessor.jsonPathExprs"));
        let (numbers, defaults) = (parts("JSONPostProcessor.match_numbers"), parts("JSONPostProcessor.defaultValues"));
        if names.len() != paths.len() {
            return None;
        }
        let number = |at: usize| match numbers.get(at).map(String::as_str) {
            // JMeter needs either no match numbers or one for each name.
            None | Some("") if numbers.iter().any(|number| !number.is_empty()) => None,
            number => Some(number.unwrap_or("").to_owned()),
        };
        let mut all = Vec::new();
        for (here, (name, path)) in names.iter().zip(&paths).enumerate() {
            let path = json_path(&self.literal(node, path)?)?;
            // Unlike other extractors it always sets the default value, even an empty one.
            let default = defaults.get(here).cloned().unwrap_or_default();
            all.extend(self.extraction(node, name, Find::Json(path), [&number(here)?, &default, "true"])?);
        }
        Some(all)
    }

    /// Resolves a text; `None` if it contains run-time variables.
    fn literal(&mut self, node: &Node<'e>, text: &str) -> Option<String> {
        self.resolve(node, text).as_literal().map(str::to_owned)
    }

    /// The extractions of one variable with its match number and default value: a single match, or the number of all
    /// matches and the matches that the plan uses.
    fn extraction(
        &mut self,
        node: &Node<'e>,
        name: &str,
        find: Find,
        [nth, default, empty]: [&str; 3],
    ) -> Option<Vec<Extraction>> {
        // An invalid number counts as 0, a random match.
        let nth = self.literal(node, nth.trim())?.trim().parse::<i64>().unwrap_or(0);
        let name = name.trim();
        if name.is_empty() {
            return None;
        }
        if nth < 0 {
            if matches!(find, Find::Json(_)) {
                self.note(node, format!("for a JSON null among all matches JMeter takes the default value; here `${{{name}_1}}` and so on are sent"));
            }
            return Some(self.all_matches(name, &find));
        }
        let which = if nth == 0 { Which::Random } else { Which::Nth(u32::try_from(nth).ok()?) };
        let default = self.literal(node, default)?;
        let if_missing =
            if !default.is_empty() || empty == "true" { IfMissing::Default(default) } else { IfMissing::KeepPrevious };
        Some(vec![Extraction { name: self.variables.extracted(name), find, which, if_missing }])
    }

    /// The number of all matches, `name_matchNr`, and the matches `name_1`, `name_2`, ... that the plan uses.
    fn all_matches(&mut self, name: &str, find: &Find) -> Vec<Extraction> {
        let mut all = vec![(format!("{name}_matchNr"), Which::Count)];
        let used = self.plan_uses(&format!("{name}_"));
        all.extend(
            used.into_iter()
                .filter(|number| *number > 0)
                .map(|number| (format!("{name}_{number}"), Which::Nth(number))),
        );
        let one = |(name, which): (String, Which)| Extraction {
            name: self.variables.extracted(&name),
            find: find.clone(),
            which,
            // JMeter removes the variable, so that the reference is sent as it is written.
            if_missing: IfMissing::Default(format!("${{{name}}}")),
        };
        all.into_iter().map(one).collect()
    }

    /// The numbers N of the references `${nameN}` in the plan.
    fn plan_uses(&self, name: &str) -> BTreeSet<u32> {
        fn search(element: &Element, begins: &str, numbers: &mut BTreeSet<u32>) {
            for (at, _) in element.text.match_indices(begins) {
                let number: Option<u32> =
                    element.text[at + begins.len()..].split_once('}').and_then(|(number, _)| number.parse().ok());
                numbers.extend(number);
            }
            element.children.iter().for_each(|child| search(child, begins, numbers));
        }
        fn walk(node: &Node, begins: &str, numbers: &mut BTreeSet<u32>) {
            search(node.element, begins, numbers);
            node.children.iter().for_each(|child| walk(child, begins, numbers));
        }
        let mut numbers = BTreeSet::new();
        walk(self.plan, &format!("${{{name}"), &mut numbers);
        numbers.into_iter().take(MAX_MATCHES).collect()
    }

    /// The checks of `node`; `None` if it cannot be translated.
    pub(super) fn assertion(&mut self, node: &Node<'e>) -> Option<Vec<Check>> {
        let property = |name: &str| node.element.text_of(name).trim();
        if has_other_scope(node) {
            return None;
        }
        let (tests, negated) = match node.class() {
            "ResponseAssertion" => return self.response_assertion(node),
            "JSONPathAssertion" => {
                let path = json_path(&self.literal(node, property("JSON_PATH"))?)?;
                if property("EXPECT_NULL") == "true" {
                    return None;
                }
                let valued = property("JSONVALIDATION") == "true";
                if valued && property("ISREGEX") == "true" {
                    return None;
                }
                let patterns = if valued {
                    TextCondition::Is(literal_template(&self.literal(node, property("EXPECTED_VALUE"))?))
                } else {
                    TextCondition::There
                };
                (vec![Test::Text(Find::Json(path), patterns)], property("INVERT") == "true")
            }
            "DurationAssertion" => {
                // JMeter reads anything else as 0, and 0 is no limit.
                let most: u64 = self.literal(node, property("DurationAssertion.duration"))?.parse().unwrap_or(0);
                if most == 0 {
                    return Some(Vec::new());
                }
                let threshold = Threshold::new("service.max", &format!("<= {most}ms")).ok()?;
                (vec![Test::Time(threshold.bound)], false)
            }
            "SizeAssertion" => {
                let sign = match property("SizeAssertion.operator") {
                    "1" => "=",
                    "3" => ">",
                    "4" => "<",
                    "5" => ">=",
                    "6" => "<=",
                    _ => return None,
                };
                let size: u64 = self.literal(node, property("SizeAssertion.size"))?.parse().ok()?;
                // Misspelt in some versions. Any other value means the whole response.
                let field = [property("Assertion.test_field"), property("Asserion.test_field")];
                let body = field.contains(&"SizeAssertion.response_data");
                if !body || (sign == "<" && size == 0) || (sign == ">" && size == u64::MAX) {
                    return None;
                }
                (vec![Test::Size(format!("{sign} {size}").parse().ok()?)], false)
            }
            _ => return None,
        };
        Some(named(node, tests, negated))
    }

    fn response_assertion(&mut self, node: &Node<'e>) -> Option<Vec<Check>> {
        const CONTAINS: u32 = 2;
        const NOT: u32 = 4;
        const OR: u32 = 32;
        let kind: u32 = node.element.text_of("Assertion.test_type").trim().parse().unwrap_or(CONTAINS);
        let mut patterns = Vec::new();
        // JMeter writes the misspelt name.
        let entries = ["Asserion.test_strings", "Assertion.test_strings"].map(|name| node.element.entries(name));
        for entry in entries.iter().flat_map(|entries| entries.iter()) {
            patterns.push(self.literal(node, &entry.text)?);
        }
        let or = kind & OR != 0 && patterns.len() > 1;
        let negated = kind & NOT != 0;
        // Any of several that is not there is no condition of a check.
        if negated && or {
            return None;
        }
        let ignores = node.element.text_of("Assertion.assume_success") == "true";
        let tests = Self::tests_of_field(node, patterns, kind & !OR & !NOT, or)?;
        let mut checks = named(node, tests, negated);
        let tests = || checks.iter().map(|check| &check.test);
        let failing =
            |test: &Test| matches!(test, Test::Status(ranges) if ranges.iter().any(|(lowest, _)| *lowest >= 400));
        let expects_failure = !ignores && !negated && tests().any(failing);
        if ignores && !tests().any(|test| matches!(test, Test::Status(_))) {
            // Statuses from 400 on are not failures either.
            checks.extend(named(node, vec![Test::Status(vec![(100, 999)])], false));
        }
        if expects_failure {
            self.note(node, "expects a status of 400 or above without ignoring the status, so JMeter still marks the response as failed; here it passes");
        }
        Some(checks)
    }

    /// The tests of a response assertion of this `kind`; with `or` one matching pattern is enough.
    fn tests_of_field(node: &Node<'e>, patterns: Vec<String>, kind: u32, or: bool) -> Option<Vec<Test>> {
        const MATCH: u32 = 1;
        const EQUALS: u32 = 8;
        const SUBSTRING: u32 = 16;
        match node.element.text_of("Assertion.test_field").trim() {
            "Assertion.response_code" => {
                let ranges: Vec<(u16, u16)> = patterns.iter().map(|code| status_range(code)).collect::<Option<_>>()?;
                (or || ranges.len() == 1).then(|| vec![Test::Status(ranges)])
            }
            "" | "Assertion.response_data" => {
                let regex = |patterns: &String| match kind {
                    MATCH => supported_regex(&format!("^(?:{patterns})$")),
                    EQUALS => Some(format!("^(?s:{})$", regex::escape(patterns))),
                    SUBSTRING => Some(regex::escape(patterns)),
                    _ => supported_regex(patterns),
                };
                if or {
                    let all: Vec<String> = patterns.iter().map(regex).collect::<Option<_>>()?;
                    let any = all.iter().map(|one| format!("(?:{one})")).collect::<Vec<_>>().join("|");
                    return Some(vec![Test::Text(Find::Body, TextCondition::Matches(any))]);
                }
                patterns
                    .iter()
                    .map(|patterns| match kind {
                        SUBSTRING => Some(TextCondition::Contains(literal_template(patterns))),
                        _ => regex(patterns).map(TextCondition::Matches),
                    })
                    .map(|patterns| Some(Test::Text(Find::Body, patterns?)))
                    .collect()
            }
            "Assertion.response_headers" if !or && kind == SUBSTRING => patterns
                .iter()
                .map(|patterns| {
                    let (name, value) = patterns.split_once(':')?;
                    let token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
                    token.then(|| {
                        Test::Text(
                            Find::Header(name.to_owned()),
                            TextCondition::Contains(literal_template(value.trim())),
                        )
                    })
                })
                .collect(),
            _ => None,
        }
    }
}

/// The tests as checks. They are named after `node`, unless it has JMeter's default name.
fn named(node: &Node<'_>, tests: Vec<Test>, negated: bool) -> Vec<Check> {
    let name = node.name().trim();
    let generic = ["", "Response Assertion", "JSON Assertion", "Size Assertion", "Duration Assertion"].contains(&name);
    let many = tests.len() > 1;
    let check = |(at, test)| match generic {
        true => Check::of(test).negated(negated),
        false if many => Check { name: format!("{name} ({})", at + 1), test, negated },
        false => Check { name: name.to_owned(), test, negated },
    };
    tests.into_iter().enumerate().map(check).collect()
}

/// Whether an extractor or assertion applies to a variable or to sub-samples instead of the main response.
fn has_other_scope(node: &Node) -> bool {
    ["Sample.scope", "Assertion.scope"]
        .iter()
        .any(|scope| !["", "parent"].contains(&node.element.text_of(scope).trim()))
}

/// A template without variables.
fn literal_template(text: &str) -> Template {
    Text::from(text).template()
}

/// Parses a status or a class of statuses; returns the lowest and the highest status.
fn status_range(text: &str) -> Option<(u16, u16)> {
    let text = text.trim().trim_start_matches('^').trim_end_matches('$');
    if text.len() == 3 && text.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().ok().filter(|code| (100..1000).contains(code)).map(|code| (code, code));
    }
    let (first, rest) = text.split_at_checked(1)?;
    let any = ["..", "\\d\\d", "\\d{2}", "[0-9][0-9]", "[0-9]{2}", "xx", ".*", "\\d+"].contains(&rest);
    let class: u16 = first.parse().ok().filter(|class| any && (1..=5).contains(class))?;
    Some((class * 100, class * 100 + 99))
}

/// The expression, if the crate `regex` supports it.
fn supported_regex(regex: &str) -> Option<String> {
    RegexBuilder::new(regex).size_limit(MAX_REGEX_BYTES).build().is_ok().then(|| regex.to_owned())
}

/// The header and the pattern of its value, for a pattern over all headers such as `Location: .*id=(\d+)`.
fn header_pattern(regex: &str, group: u32) -> Option<Find> {
    let (name, rest) = regex.trim_start_matches("(?i)").split_once(':')?;
    let token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    // Blanks before a value are not part of it, and its end is the end of its line.
    let blanks = ["\\s*", "\\s+", "\\s?", "\\s", " *", " +", " ?", " "];
    let mut rest = blanks.iter().find_map(|blank| rest.strip_prefix(blank)).unwrap_or(rest).to_owned();
    for end in ["\\r\\n", "\\r?\\n", "\\n"] {
        if let Some(before) = rest.strip_suffix(end) {
            rest = format!("{before}$");
            break;
        }
    }
    let pattern = supported_regex(&format!("^{rest}"))?;
    let header = Find::Header(name.to_owned());
    let whole = ["(.+)", "(.*)", "(.+)$", "(.*)$", "(.+?)$", "([^\\n]+)", "([^\\r\\n]+)"].contains(&rest.as_str());
    match (token, whole && group == 1) {
        (false, _) => None,
        (true, true) => Some(header),
        // Group 0 would contain the name of the header.
        (true, false) => (group > 0).then(|| Find::Matched { of: Box::new(header), pattern, group }),
    }
}

/// The path, if it is valid by RFC 9535.
fn json_path(path: &str) -> Option<String> {
    let path = path.trim();
    let path = if path.starts_with('$') { path.to_owned() } else { format!("$.{path}") };
    // The parser is recursive.
    (path.len() <= MAX_JSON_PATH_BYTES && path.parse::<serde_json_path::JsonPath>().is_ok()).then_some(path)
}
