//! A request of a recording.

use crate::address::Server;
use crate::data::Data;

/// A request of the recording.
pub(super) struct Entry<'d> {
    pub(super) element: String,
    pub(super) request: &'d Data,
    pub(super) response: &'d Data,
    pub(super) data: &'d Data,
    pub(super) server: Server,
    pub(super) path: String,
    pub(super) url: &'d str,
    /// Start and end in seconds since the epoch.
    pub(super) start: f64,
    pub(super) end: f64,
}

impl Entry<'_> {
    /// The URL without its fragment.
    pub(super) fn plain_url(&self) -> &str {
        self.url.split('#').next().unwrap_or_default()
    }

    /// The status of the response; 0 if it has none.
    pub(super) fn status(&self) -> f64 {
        self.response.get("status").number().unwrap_or(0.0)
    }

    /// The URL that a redirect leads to; `None` for other responses.
    pub(super) fn redirect(&self) -> Option<String> {
        let to = self.response.get("redirectURL").text();
        ((300.0..400.0).contains(&self.status()) && !to.is_empty()).then(|| resolve_location(to, self.url))
    }

    /// Whether it is an HTML page.
    pub(super) fn is_page(&self) -> bool {
        match self.data.get("_resourceType").text() {
            "" => self.media_type().starts_with("text/html"),
            known => known == "document",
        }
    }

    /// Whether it is an embedded object of a page.
    pub(super) fn is_embedded(&self) -> bool {
        if self.request.get("method").text() != "GET" {
            return false;
        }
        let resource = ["stylesheet", "script", "image", "imageset", "font", "media", "texttrack", "manifest"];
        match self.data.get("_resourceType").text() {
            "" => {
                let kind = self.media_type();
                let kinds =
                    ["image/", "font/", "audio/", "video/", "text/css", "application/font", "application/vnd.ms-font"];
                kinds.iter().any(|known| kind.starts_with(known))
                    || kind.contains("javascript")
                    || kind.contains("woff")
            }
            known => resource.contains(&known),
        }
    }

    fn media_type(&self) -> String {
        self.response.at(&["content", "mimeType"]).text().to_ascii_lowercase()
    }
}

/// The value of the header `name` of a request or a response.
pub(super) fn header_of<'d>(message: &'d Data, name: &str) -> &'d Data {
    let pair = message.get("headers").list().iter().find(|pair| pair.get("name").text().eq_ignore_ascii_case(name));
    pair.map_or(&crate::data::NOTHING, |pair| pair.get("value"))
}

/// Resolves a `Location` header against the URL of its response.
fn resolve_location(to: &str, from: &str) -> String {
    let to = to.split('#').next().unwrap_or_default();
    if to.contains("://") {
        return to.to_owned();
    }
    let authority = from.find("://").map_or(0, |at| at + 3);
    let root = from[authority..].find(['/', '?']).map_or(from.len(), |at| authority + at);
    if let Some(other) = to.strip_prefix("//") {
        return format!("{}//{other}", &from[..authority.saturating_sub(2)]);
    }
    if to.starts_with('/') {
        return format!("{}{to}", &from[..root]);
    }
    let path = &from[root..];
    let path = path.split('?').next().unwrap_or_default();
    let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
    format!("{}{folder}{to}", &from[..root])
}
