//! A form, as a received page contains it.

use encoding_rs::Encoding;

use super::origin::Location;

/// A form, as a received page contains it.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) is_post: bool,
    /// The URL that it is submitted to, relative to the page.
    pub(super) action: String,
    /// The `href` of the page's `base` element.
    pub(super) base: Option<String>,
    pub(super) enctype: Enctype,
    /// The encoding of its page.
    pub(super) encoding: &'static Encoding,
    /// The controls with names, in tree order.
    pub(super) controls: Vec<Control>,
    /// The URL of its page.
    pub(super) page: Location,
}

/// How the entries of a form are encoded.
#[cfg_attr(not(feature = "html"), expect(dead_code, reason = "forms are read from HTML"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Enctype {
    UrlEncoded,
    Multipart,
    PlainText,
}

/// A control of a form; of a list, one of its options.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Control {
    pub(super) name: Box<str>,
    pub(super) value: Box<str>,
    /// Whether its value is a file, of which none is chosen.
    pub(super) is_file: bool,
    /// Whether it is submitted if the user does not change it.
    pub(super) is_included: bool,
}
