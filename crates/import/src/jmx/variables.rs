//! `${...}` in the texts of a test plan: user-defined variables and the functions that mean something here.

use std::collections::HashMap;

use super::node::Node;

/// Values of values of values, at most so often.
const DEEPEST: usize = 16;
/// Bytes that variables may put in, over the whole plan: a bomb of variables within variables stops here.
const MOST: usize = 16 << 20;

/// The user-defined variables of a plan. `JMeter` sets them all before it starts, wherever they stand.
#[derive(Debug, Default)]
pub(super) struct Variables {
    values: HashMap<String, String>,
    spent: usize,
}

impl Variables {
    /// Those of `node` and of everything under it.
    pub(super) fn collect(&mut self, node: &Node) {
        let arguments = match node.class() {
            "TestPlan" => node.element.property("TestPlan.user_defined_variables"),
            "Arguments" => Some(node.element),
            _ => None,
        };
        for entry in arguments.map_or(&[][..], |arguments| arguments.entries("Arguments.arguments")) {
            let name = match entry.text_of("Argument.name") {
                "" => entry.attribute("name"),
                name => name,
            };
            if !name.is_empty() {
                self.values.insert(name.to_owned(), entry.text_of("Argument.value").to_owned());
            }
        }
        node.children.iter().for_each(|child| self.collect(child));
    }

    /// `text` with its variables put in; those without a value here stay as they stand and are named in the second.
    pub(super) fn resolve(&mut self, text: &str) -> (String, Vec<String>) {
        let mut unknown = Vec::new();
        let resolved = self.put_in(text, DEEPEST, &mut unknown);
        (resolved, unknown)
    }

    fn put_in(&mut self, text: &str, depth: usize, unknown: &mut Vec<String>) -> String {
        let mut resolved = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find("${") {
            resolved.push_str(&rest[..start]);
            rest = &rest[start..];
            let Some(end) = closing(rest) else { break };
            let whole = &rest[..=end];
            let value = if depth == 0 { None } else { self.value(whole[2..end].trim()) };
            match value {
                Some(value) if self.spent + value.len() <= MOST => {
                    self.spent += value.len() + 1;
                    resolved.push_str(&self.put_in(&value, depth - 1, unknown));
                }
                _ => {
                    unknown.push(whole.to_owned());
                    resolved.push_str(whole);
                }
            }
            rest = &rest[end + 1..];
        }
        resolved.push_str(rest);
        resolved
    }

    fn value(&self, name: &str) -> Option<String> {
        if let Some(value) = self.values.get(name) {
            return Some(value.clone());
        }
        let (function, arguments) = name.strip_suffix(')').and_then(|call| call.split_once('(')).unwrap_or((name, ""));
        let mut arguments = arguments.split(',').map(str::trim);
        match function {
            "__P" => Some(arguments.nth(1).unwrap_or("1").to_owned()),
            "__property" => arguments.nth(2).map(str::to_owned),
            "__threadNum" => Some("{session}".to_owned()),
            "__counter" if arguments.next().is_some_and(|own| own.eq_ignore_ascii_case("false")) => {
                Some("{sequence}".to_owned())
            }
            _ => None,
        }
    }
}

/// Where the brace that `text` begins with is closed.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}
