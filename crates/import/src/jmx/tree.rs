//! Parses the XML of a test plan into a tree of elements with line numbers.
//!
//! Only the five predefined entities are expanded, document types are rejected, and size and depth are limited, so
//! hostile files cannot exhaust memory.

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use crate::Error;

/// Maximum nesting depth; each controller takes two levels.
const MAX_DEPTH: usize = 256;
/// Maximum number of elements.
const MAX_ELEMENTS: usize = 500_000;

/// An XML element.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub(super) tag: String,
    pub(super) line: usize,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
}

impl Element {
    /// The class name without the package.
    pub(super) fn class(&self) -> &str {
        self.tag.rsplit('.').next().unwrap_or(&self.tag)
    }

    /// Value of an attribute; empty if missing.
    pub(super) fn attribute(&self, name: &str) -> &str {
        self.attributes.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// The child element of the property `name`. The name is an attribute or, in old plans, a `<name>` child.
    pub(super) fn property(&self, name: &str) -> Option<&Element> {
        let named = |child: &&Element| {
            child.attribute("name") == name || child.children.iter().any(|own| own.tag == "name" && own.text == name)
        };
        self.children.iter().find(named)
    }

    /// Text of the property `name`; empty if missing.
    pub(super) fn text_of(&self, name: &str) -> &str {
        let Some(found) = self.property(name) else { return "" };
        found.children.iter().find(|child| child.tag == "value").map_or(&found.text, |value| &value.text)
    }

    /// The first element for which this holds: this one, or one inside.
    pub(super) fn find(&self, holds: &impl Fn(&Self) -> bool) -> Option<&Self> {
        if holds(self) { Some(self) } else { self.children.iter().find_map(|child| child.find(holds)) }
    }

    /// Entries of the collection property `name`.
    pub(super) fn entries(&self, name: &str) -> &[Element] {
        self.property(name).map_or(&[], |found| &found.children)
    }
}

/// Parses `text`, the content of `file`.
pub(super) fn read(text: &str, file: &str) -> Result<Element, Error> {
    let mut lines = Lines { text, at: 0, line: 1 };
    let mut xml = quick_xml::Reader::from_str(text);
    let mut open: Vec<Element> = Vec::new();
    let mut count = 0;
    loop {
        let line = lines.at(xml.buffer_position() as usize);
        let wrong = |message: String| Error::Line { file: file.to_owned(), line, message };
        let event = match xml.read_event() {
            // The parser reports a truncated tag as a syntax error; treat it as the end of the file.
            Err(quick_xml::Error::Syntax(_)) => Event::Eof,
            event => event.map_err(|error| wrong(format!("not well-formed XML: {error}")))?,
        };
        match event {
            Event::Start(tag) => {
                if open.len() == MAX_DEPTH {
                    return Err(wrong(format!("elements are nested deeper than {MAX_DEPTH} levels")));
                }
                open.push(element(&tag, line).map_err(wrong)?);
                count += 1;
            }
            Event::Empty(tag) => {
                let element = element(&tag, line).map_err(wrong)?;
                count += 1;
                match open.last_mut() {
                    Some(parent) => parent.children.push(element),
                    None => return Ok(element),
                }
            }
            Event::End(_) => {
                let done = open.pop().ok_or_else(|| wrong("an end tag without a start tag".to_owned()))?;
                match open.last_mut() {
                    Some(parent) => parent.children.push(done),
                    None => return Ok(done),
                }
            }
            Event::Text(text) => push(&mut open, &text.xml_content(XmlVersion::Implicit1_0)),
            Event::CData(text) => push(&mut open, &text.into_inner()),
            Event::GeneralRef(name) => {
                let known = match name.resolve_char_ref() {
                    Ok(Some(c)) => Some(c),
                    _ => [("lt", '<'), ("gt", '>'), ("amp", '&'), ("quot", '"'), ("apos", '\'')]
                        .into_iter()
                        .find_map(|(entity, c)| (*name == *entity).then_some(c)),
                };
                let c = known.ok_or_else(|| wrong(format!("`&{};` is not a character of XML", &*name)))?;
                push(&mut open, c.encode_utf8(&mut [0; 4]));
            }
            Event::DocType(_) => {
                return Err(wrong(
                    "a document type declaration (DTD) is not allowed; expected a JMeter test plan".to_owned(),
                ));
            }
            Event::Eof => {
                let message = match open.last() {
                    Some(inner) => format!(
                        "the file ends inside <{}>, which starts at line {}; it is truncated; copy it again",
                        inner.tag, inner.line
                    ),
                    None => "no element found; expected <jmeterTestPlan>".to_owned(),
                };
                return Err(wrong(message));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
        }
        if count > MAX_ELEMENTS {
            return Err(wrong(format!("more than {MAX_ELEMENTS} elements")));
        }
    }
}

fn element(tag: &BytesStart, line: usize) -> Result<Element, String> {
    let attribute = |attribute: Result<quick_xml::events::attributes::Attribute, _>| {
        let attribute = attribute.map_err(|error: quick_xml::events::attributes::AttrError| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| error.to_string())?;
        Ok((attribute.key.as_ref().to_owned(), value.into_owned()))
    };
    Ok(Element {
        tag: tag.name().as_ref().to_owned(),
        line,
        attributes: tag.attributes().map(attribute).collect::<Result<_, String>>()?,
        text: String::new(),
        children: Vec::new(),
    })
}

fn push(open: &mut [Element], text: &str) {
    if let Some(element) = open.last_mut() {
        element.text.push_str(text);
    }
}

/// Counts lines while a text is read.
struct Lines<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    /// Line number of byte `to`; `to` must not decrease from call to call.
    fn at(&mut self, to: usize) -> usize {
        let to = to.min(self.text.len());
        let passed = &self.text.as_bytes()[self.at.min(to)..to];
        self.line += memchr::memchr_iter(b'\n', passed).count();
        self.at = to;
        self.line
    }
}

/// Whether a controller starts its children exactly once, in order, each time that it starts.
pub(super) fn is_transparent(class: &str) -> bool {
    ["GenericController", "TransactionController", "RecordingController"].contains(&class)
}

/// Whether a class is a logic controller; not all class names end in `Controller`.
pub(super) fn is_controller(class: &str) -> bool {
    class.ends_with("Controller") || ["InterleaveControl", "RunTime", "ParallelSampler"].contains(&class)
}
