//! What a plan does with answers: extractors take something from them, assertions fail those that are not as expected.

use offered_model::workload::script::{Otherwise, Which};
use regex::RegexBuilder;

use super::Reader;
use super::node::Node;
use crate::plan::{Check, Extract, Must, Source};

/// Bytes a compiled regular expression may take.
const MOST_REGEX: usize = 1 << 20;
/// Bytes of a `JSONPath` at most.
const MOST_PATH: usize = 500;

impl<'e> Reader<'e, '_> {
    /// What `node` takes from answers, where it is an extractor that can be said.
    pub(super) fn extractor(&mut self, node: &Node<'e>) -> Option<Vec<Extract>> {
        let said = |name: &str| node.element.text_of(name);
        if elsewhere(node) {
            return None;
        }
        match node.class() {
            "RegexExtractor" => {
                let regex = self.said(node, said("RegexExtractor.regex"))?;
                let group = match said("RegexExtractor.template").trim() {
                    // JMeter takes an empty text then.
                    "" => return None,
                    one => one.strip_prefix('$')?.strip_suffix('$')?.parse().ok()?,
                };
                let from = match said("RegexExtractor.useHeaders") {
                    "" | "false" => Source::Regex(fit(&regex)?, group),
                    "true" => header_of(&regex)?,
                    _ => return None,
                };
                self.taken(
                    node,
                    said("RegexExtractor.refname"),
                    from,
                    [
                        said("RegexExtractor.match_number"),
                        said("RegexExtractor.default"),
                        said("RegexExtractor.default_empty_value"),
                    ],
                )
                .map(|one| vec![one])
            }
            "BoundaryExtractor" => {
                if !["", "false"].contains(&said("BoundaryExtractor.useHeaders")) {
                    return None;
                }
                let (left, right) = (
                    self.said(node, said("BoundaryExtractor.lboundary"))?,
                    self.said(node, said("BoundaryExtractor.rboundary"))?,
                );
                // Without a right boundary it goes on to the end.
                let inside =
                    if right.is_empty() { "(.*)".to_owned() } else { format!("(.*?){}", regex::escape(&right)) };
                let from = Source::Regex(format!("(?s){}{inside}", regex::escape(&left)), 1);
                self.taken(
                    node,
                    said("BoundaryExtractor.refname"),
                    from,
                    [
                        said("BoundaryExtractor.match_number"),
                        said("BoundaryExtractor.default"),
                        said("BoundaryExtractor.default_empty_value"),
                    ],
                )
                .map(|one| vec![one])
            }
            "HtmlExtractor" => {
                let selector = self.said(node, said("HtmlExtractor.expr"))?;
                let attribute = Some(said("HtmlExtractor.attribute").trim().to_owned()).filter(|name| !name.is_empty());
                self.taken(
                    node,
                    said("HtmlExtractor.refname"),
                    Source::Css(selector, attribute),
                    [
                        said("HtmlExtractor.match_number"),
                        said("HtmlExtractor.default"),
                        said("HtmlExtractor.default_empty_value"),
                    ],
                )
                .map(|one| vec![one])
            }
            "JSONPostProcessor" => {
                let parts =
                    |name: &str| -> Vec<String> { said(name).split(';').map(|part| part.trim().to_owned()).collect() };
                let (names, paths) =
                    (parts("JSONPostProcessor.referenceNames"), parts("JSONPostProcessor.jsonPathExprs"));
                let (numbers, defaults) =
                    (parts("JSONPostProcessor.match_numbers"), parts("JSONPostProcessor.defaultValues"));
                if names.len() != paths.len() {
                    return None;
                }
                let number = |at: usize| match numbers.get(at).map(String::as_str) {
                    // Where there are any, each has its own; JMeter stops at one that is missing.
                    None | Some("") if numbers.iter().any(|number| !number.is_empty()) => None,
                    number => Some(number.unwrap_or("").to_owned()),
                };
                let mut all = Vec::new();
                for (here, (name, path)) in names.iter().zip(&paths).enumerate() {
                    let path = json_path(&self.said(node, path)?)?;
                    // Unlike the others it always sets the default, an empty one, too.
                    let default = defaults.get(here).cloned().unwrap_or_default();
                    all.push(self.taken(node, name, Source::Json(path), [&number(here)?, &default, "true"])?);
                }
                Some(all)
            }
            _ => None,
        }
    }

    /// A text of a node in which nothing is left to be known later.
    fn said(&mut self, node: &Node<'e>, text: &str) -> Option<String> {
        self.resolve(node, text).said().map(str::to_owned)
    }

    /// Which match it is, and what it is where there is none.
    fn taken(
        &mut self,
        node: &Node<'e>,
        name: &str,
        from: Source,
        [nth, default, empty]: [&str; 3],
    ) -> Option<Extract> {
        // Numbers that are none are 0, which is one at random; below 0 they are all, by names of their own.
        let which = match self.said(node, nth.trim())?.trim() {
            "" => Which::Random,
            nth => match nth.parse::<i64>().unwrap_or(0) {
                0 => Which::Random,
                nth => Which::Nth(u32::try_from(nth).ok()?),
            },
        };
        let default = self.said(node, default)?;
        let otherwise = if !default.is_empty() || empty == "true" { Otherwise::Is(default) } else { Otherwise::Keeps };
        let name = name.trim();
        (!name.is_empty()).then(|| Extract { name: self.variables.extracted(name), from, which, otherwise })
    }

    /// What `node` wants of answers, where it is an assertion that can be said.
    pub(super) fn assertion(&mut self, node: &Node<'e>) -> Option<Vec<Check>> {
        let said = |name: &str| node.element.text_of(name).trim();
        if elsewhere(node) {
            return None;
        }
        let musts = match node.class() {
            "ResponseAssertion" => self.response(node)?,
            "JSONPathAssertion" => {
                let path = json_path(&self.said(node, said("JSON_PATH"))?)?;
                if said("INVERT") == "true" || said("EXPECT_NULL") == "true" {
                    return None;
                }
                let valued = said("JSONVALIDATION") == "true";
                if valued && said("ISREGEX") == "true" {
                    return None;
                }
                let wanted = if valued { Some(self.said(node, said("EXPECTED_VALUE"))?) } else { None };
                vec![Must::Json(path, wanted)]
            }
            "SizeAssertion" => {
                let sign = match said("SizeAssertion.operator") {
                    "1" => "=",
                    "3" => ">",
                    "4" => "<",
                    "5" => ">=",
                    "6" => "<=",
                    _ => return None,
                };
                let size: u64 = self.said(node, said("SizeAssertion.size"))?.parse().ok()?;
                // Misspelt in some versions; where neither is given, it is all of the answer, as for any other word.
                let field = [said("Assertion.test_field"), said("Asserion.test_field")];
                let body = field.contains(&"SizeAssertion.response_data");
                if !body || (sign == "<" && size == 0) || (sign == ">" && size == u64::MAX) {
                    return None;
                }
                vec![Must::Size(format!("{sign} {size}"))]
            }
            _ => return None,
        };
        let generic = ["", "Response Assertion", "JSON Assertion", "Size Assertion"].contains(&node.name().trim());
        let name = (!generic).then(|| node.name().trim().to_owned());
        let many = musts.len() > 1;
        let named = |(at, must)| {
            let name = name.as_ref().map(|name| if many { format!("{name} ({})", at + 1) } else { name.clone() });
            Check { name, must }
        };
        Some(musts.into_iter().enumerate().map(named).collect())
    }

    fn response(&mut self, node: &Node<'e>) -> Option<Vec<Must>> {
        const CONTAINS: u32 = 2;
        const NOT: u32 = 4;
        const OR: u32 = 32;
        let kind: u32 = node.element.text_of("Assertion.test_type").trim().parse().unwrap_or(CONTAINS);
        let mut wanted = Vec::new();
        // The name of the collection was misspelt for ever.
        let entries = ["Asserion.test_strings", "Assertion.test_strings"].map(|name| node.element.entries(name));
        for entry in entries.iter().flat_map(|entries| entries.iter()) {
            wanted.push(self.said(node, &entry.text)?);
        }
        if kind & NOT != 0 || wanted.is_empty() {
            return None;
        }
        let or = kind & OR != 0 && wanted.len() > 1;
        let ignores = node.element.text_of("Assertion.assume_success") == "true";
        let mut musts = Self::looked_at(node, wanted, kind & !OR, or)?;
        let of_status = |must: &Must| matches!(must, Must::Status(_) | Must::Class(_));
        if ignores && !musts.iter().any(of_status) {
            musts.push(Must::AnyStatus);
        }
        let failing = |must: &Must| match must {
            Must::Status(codes) => codes.iter().any(|code| *code >= 400),
            Must::Class(hundreds) => *hundreds >= 4,
            _ => false,
        };
        if !ignores && musts.iter().any(failing) {
            self.note(node, "wants a status from 400 on without ignoring the status, so that JMeter fails such an answer all the same; here it is good");
        }
        Some(musts)
    }

    /// What an assertion of this `kind` wants of the part of the answer that it looks at; `or`: one of them is enough.
    fn looked_at(node: &Node<'e>, wanted: Vec<String>, kind: u32, or: bool) -> Option<Vec<Must>> {
        const MATCH: u32 = 1;
        const EQUALS: u32 = 8;
        const SUBSTRING: u32 = 16;
        match node.element.text_of("Assertion.test_field").trim() {
            "Assertion.response_code" => {
                let codes: Vec<Must> = wanted.iter().map(|code| status(code)).collect::<Option<_>>()?;
                if !or && codes.len() == 1 {
                    return Some(codes);
                }
                let each = codes.iter().map(|code| if let Must::Status(codes) = code { Some(codes[0]) } else { None });
                or.then_some(())?;
                Some(vec![Must::Status(each.collect::<Option<_>>()?)])
            }
            "" | "Assertion.response_data" => {
                let regex = |wanted: &String| match kind {
                    MATCH => fit(&format!("^(?:{wanted})$")),
                    EQUALS => Some(format!("^(?s:{})$", regex::escape(wanted))),
                    SUBSTRING => Some(regex::escape(wanted)),
                    _ => fit(wanted),
                };
                if or {
                    let all: Vec<String> = wanted.iter().map(regex).collect::<Option<_>>()?;
                    return Some(vec![Must::Matches(
                        all.iter().map(|one| format!("(?:{one})")).collect::<Vec<_>>().join("|"),
                    )]);
                }
                wanted
                    .iter()
                    .map(|wanted| match kind {
                        SUBSTRING => Some(Must::Contains(wanted.clone())),
                        _ => regex(wanted).map(Must::Matches),
                    })
                    .collect()
            }
            "Assertion.response_headers" if !or && kind == SUBSTRING => wanted
                .iter()
                .map(|wanted| {
                    let (name, value) = wanted.split_once(':')?;
                    let token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
                    token.then(|| Must::Header(name.to_owned(), value.trim().to_owned()))
                })
                .collect(),
            _ => None,
        }
    }
}

/// Whether an extractor or an assertion looks elsewhere than at the answer itself: at a variable, or at what came with the answer.
fn elsewhere(node: &Node) -> bool {
    ["Sample.scope", "Assertion.scope"]
        .iter()
        .any(|scope| !["", "parent"].contains(&node.element.text_of(scope).trim()))
}

/// A status, or a class of them.
fn status(said: &str) -> Option<Must> {
    let said = said.trim().trim_start_matches('^').trim_end_matches('$');
    if said.len() == 3 && said.bytes().all(|b| b.is_ascii_digit()) {
        return said.parse().ok().filter(|code| (100..1000).contains(code)).map(|code| Must::Status(vec![code]));
    }
    let (first, rest) = said.split_at_checked(1)?;
    let any = ["..", "\\d\\d", "\\d{2}", "[0-9][0-9]", "[0-9]{2}", "xx", ".*", "\\d+"].contains(&rest);
    first.parse().ok().filter(|class| any && (1..=5).contains(class)).map(Must::Class)
}

/// The expression, where offered's kind of regular expressions has it.
fn fit(regex: &str) -> Option<String> {
    RegexBuilder::new(regex).size_limit(MOST_REGEX).build().is_ok().then(|| regex.to_owned())
}

/// `Location: (.+)` over all headers: the header.
fn header_of(regex: &str) -> Option<Source> {
    let (name, rest) = regex.trim_start_matches("(?i)").split_once(':')?;
    let token = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    let rest = rest.trim_start_matches("\\s*").trim_start();
    let all = ["(.+)", "(.*)", "(.+?)\\n", "(.+)\\n", "(.*)\\n", "([^\\n]+)", "([^\\r\\n]+)"].contains(&rest);
    (token && all).then(|| Source::Header(name.to_owned()))
}

/// A `JSONPath` as RFC 9535 has it; of older ones, those that are read there as well.
fn json_path(path: &str) -> Option<String> {
    let path = path.trim();
    let path = if path.starts_with('$') { path.to_owned() } else { format!("$.{path}") };
    // Its parser calls itself for each bracket.
    (path.len() <= MOST_PATH && path.parse::<serde_json_path::JsonPath>().is_ok()).then_some(path)
}
