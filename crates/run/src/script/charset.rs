//! Character encodings of response bodies.

use std::sync::LazyLock;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use regex::bytes::Regex;

/// A declaration within HTML counts in this many bytes (WHATWG HTML, section 4.2.5.4).
const DECLARATION_BYTES: usize = 1024;

/// The encoding of a text; `None` for UTF-8 and where nothing states another one. As in browsers (WHATWG HTML, section 13.2.3.2),
/// the first of these decides: a byte order mark, the `charset` of the `Content-Type` (RFC 9110, section 8.3.2), and for HTML
/// a `meta` element. An unknown name states nothing.
pub(super) fn encoding(content_type: &str, body: &[u8]) -> Option<&'static Encoding> {
    let stated = || {
        let mut parameters = content_type.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
        let (_, name) = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
        Encoding::for_label(name.trim().trim_matches('"').as_bytes())
    };
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_html = ["text/html", "application/xhtml+xml"].contains(&media_type.as_str());
    let declared = || {
        static META: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r#"(?i-u)<meta\s[^>]*?charset\s*=\s*["']?\s*([a-z0-9_:.-]+)"#).expect("a valid expression")
        });
        let head = &body[..body.len().min(if is_html { DECLARATION_BYTES } else { 0 })];
        let encoding = Encoding::for_label(&META.captures(head)?[1])?;
        // A declaration that could be read is not in UTF-16.
        (encoding != UTF_16BE && encoding != UTF_16LE).then_some(encoding)
    };
    // Other data may begin with these bytes by chance.
    let is_text = is_html || media_type.starts_with("text/") || media_type.ends_with("xml");
    let marked = Encoding::for_bom(body).map(|(encoding, _)| encoding).filter(|encoding| is_text || *encoding == UTF_8);
    marked.or_else(stated).or_else(declared).filter(|encoding| *encoding != UTF_8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoding_is_the_one_that_a_browser_uses() {
        let meta = br#"<html><head><meta charset="iso-8859-15"><title>"#.as_slice();
        let old = b"<meta http-equiv='Content-Type' content='text/html; charset=Shift_JIS'>".as_slice();
        for (content_type, body, expected) in [
            ("text/html; charset=ISO-8859-1", b"".as_slice(), Some("windows-1252")),
            ("text/plain;Charset=\"koi8-r\"", b"", Some("KOI8-R")),
            ("text/html; charset=utf-8", meta, None),
            ("text/html", meta, Some("ISO-8859-15")),
            ("TEXT/HTML", old, Some("Shift_JIS")),
            ("text/plain", meta, None),
            ("", meta, None),
            ("text/html; charset=unknown", meta, Some("ISO-8859-15")),
            ("text/html", b"<meta charset=utf-16le>", None),
            ("text/html; charset=iso-8859-1", b"\xef\xbb\xbfcaf\xc3\xa9", None),
            ("text/csv", b"\xff\xfea\0", Some("UTF-16LE")),
            ("", b"\xff\xfea\0", None),
            ("image/png", b"\x89PNG", None),
        ] {
            assert_eq!(encoding(content_type, body).map(Encoding::name), expected, "{content_type} {body:?}");
        }
        let late = [&[b' '; DECLARATION_BYTES], meta].concat();
        assert_eq!(encoding("text/html", &late), None);
    }
}
