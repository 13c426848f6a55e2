//! HTML parsed within bounds, and CSS queries on it.

mod form;

use std::borrow::Cow;
use std::cell::OnceCell;

use html5ever::driver::ParseOpts;
use html5ever::tendril::TendrilSink;
use scraper::{ElementRef, Html, HtmlTreeSink, Selector};

pub(in crate::script) use self::form::FormQuery;
use super::ParsedResponse;

/// Maximum depth of the HTML, as in browsers. A new element is compared with all open ones, so without a limit a small
/// page could take any time.
const MAX_DEPTH: usize = 512;
/// The time limit is checked after this many bytes of parsing and this many elements of a query.
const PARSE_BYTES: usize = 4096;
const NODES_PER_TIME_CHECK: usize = 64;

/// Maximum number of nodes, which is about 64 MB.
const MAX_NODES: usize = 400_000;

const TOO_MANY: &str = "the HTML has more than 400,000 nodes";
const TOO_DEEP: &str = "the HTML is nested deeper than 512 elements";

/// The parsed document, on first use; `None` inside if it cannot be parsed.
#[derive(Default)]
pub(in crate::script) struct HtmlDocument(OnceCell<Option<Html>>);

impl HtmlDocument {
    /// The document of `response`.
    fn html(&self, response: &ParsedResponse<'_>) -> Option<&Html> {
        self.0.get_or_init(|| parsed(&String::from_utf8_lossy(response.text().ok()?), response)).as_ref()
    }
}

/// Parses a document. `None` if it is nested too deep or takes too long.
fn parsed(mut text: &str, response: &ParsedResponse<'_>) -> Option<Html> {
    let sink = HtmlTreeSink::new(Html::new_document());
    let mut parser = html5ever::driver::parse_document(sink, ParseOpts::default());
    while !text.is_empty() {
        let mut end = text.len().min(PARSE_BYTES);
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let (piece, rest) = text.split_at(end);
        text = rest;
        parser.process(piece.into());
        // The newest node is in the innermost open element, or next to it.
        let html = parser.tokenizer.sink.sink.0.borrow();
        let depth = html.tree.nodes().next_back().map_or(0, |node| node.ancestors().count());
        if depth > MAX_DEPTH {
            let _ = response.incomplete.set(TOO_DEEP);
            return None;
        }
        if html.tree.values().len() > MAX_NODES {
            let _ = response.incomplete.set(TOO_MANY);
        }
        if !response.has_time() {
            return None;
        }
    }
    Some(parser.finish())
}

/// Parses a selector.
///
/// # Errors
/// The selector is invalid.
fn selector(text: &str) -> Result<Selector, String> {
    Selector::parse(text).map_err(|_| format!("`{text}` is not a valid CSS selector; an example is input[name=csrf]"))
}

/// A CSS query: the texts of the matching elements, or one of their attributes.
#[derive(Debug)]
pub(in crate::script) struct CssQuery {
    selector: Selector,
    attribute: Option<String>,
}

impl CssQuery {
    /// # Errors
    /// The selector is invalid.
    pub(super) fn new(selector: &str, attribute: Option<&str>) -> Result<Self, String> {
        Ok(Self { selector: self::selector(selector)?, attribute: attribute.map(str::to_owned) })
    }

    /// The matching texts in `document`, in order.
    pub(super) fn texts<'h>(
        &'h self,
        document: &'h HtmlDocument,
        response: &'h ParsedResponse<'_>,
    ) -> Box<dyn Iterator<Item = Cow<'h, str>> + 'h> {
        let nodes = document.html(response).into_iter().flat_map(|html| html.tree.nodes()).enumerate();
        let nodes = nodes.take_while(|(nth, _)| nth % NODES_PER_TIME_CHECK != 0 || response.has_time());
        let elements = nodes.filter_map(|(_, node)| ElementRef::wrap(node));
        let chosen = elements.filter(|element| self.selector.matches(element));
        // The text of an element may be the whole document.
        let chosen = chosen.take_while(|_| response.has_time());
        Box::new(chosen.filter_map(|element| match &self.attribute {
            Some(attribute) => element.value().attr(attribute).map(Cow::Borrowed),
            None => Some(Cow::Owned(element.text().collect::<String>().trim().to_owned())),
        }))
    }
}
