//! Replaces HTML support if the feature `html` is off: CSS selectors are rejected.

use std::borrow::Cow;

use super::ParsedResponse;
use crate::script::served_form::Form;

/// Holds nothing.
#[derive(Default)]
pub(in crate::script) struct HtmlDocument;

/// Has no values.
#[derive(Debug)]
pub(in crate::script) enum CssQuery {}

/// Has no values.
#[derive(Debug)]
pub(in crate::script) enum FormQuery {}

impl FormQuery {
    /// # Errors
    /// Always.
    pub(in crate::script) fn new(selector: &str) -> Result<Self, String> {
        Err(unavailable(selector))
    }

    pub(in crate::script) fn read(&self, _response: &ParsedResponse<'_>) -> Result<Form, String> {
        match *self {}
    }
}

fn unavailable(selector: &str) -> String {
    format!("`{selector}` needs HTML support, and this program is built without the feature `html`")
}

impl CssQuery {
    /// # Errors
    /// Always.
    pub(super) fn new(selector: &str, _attribute: Option<&str>) -> Result<Self, String> {
        Err(unavailable(selector))
    }

    pub(super) fn texts<'h>(
        &'h self,
        _page: &'h HtmlDocument,
        _heard: &'h ParsedResponse<'_>,
    ) -> Box<dyn Iterator<Item = Cow<'h, str>> + 'h> {
        match *self {}
    }
}
