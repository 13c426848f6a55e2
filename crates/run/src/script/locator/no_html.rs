//! What stands for HTML where the feature `html` is off: selectors are refused, so nothing is chosen.

use std::borrow::Cow;

use super::ParsedResponse;

/// Nothing is read.
#[derive(Default)]
pub(in crate::script) struct HtmlDocument;

/// There is none.
#[derive(Debug)]
pub(in crate::script) enum CssQuery {}

impl CssQuery {
    /// # Errors
    /// Always.
    pub(super) fn new(selector: &str, _attribute: Option<&str>) -> Result<Self, String> {
        Err(format!(
            "`{selector}` is looked for in HTML, which this program does not read: it is built without the feature `html`"
        ))
    }

    pub(super) fn texts<'h>(
        &'h self,
        _page: &'h HtmlDocument,
        _heard: &'h ParsedResponse<'_>,
    ) -> Box<dyn Iterator<Item = Cow<'h, str>> + 'h> {
        match *self {}
    }
}
