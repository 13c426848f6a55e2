//! What curl does with URLs and file names: dot segments, credentials, media types.
//!
//! Sources in curl 8: `lib/urlapi.c` (`dedotdotify`, `parse_hostname_login`), `lib/mime.c` (`Curl_mime_contenttype`).

use offered_workload::script::Auth;

use crate::text::Text;

/// Media types by the end of a file name, as curl has them.
const MEDIA_TYPES: [(&str, &str); 10] = [
    (".gif", "image/gif"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".png", "image/png"),
    (".svg", "image/svg+xml"),
    (".txt", "text/plain"),
    (".htm", "text/html"),
    (".html", "text/html"),
    (".pdf", "application/pdf"),
    (".xml", "application/xml"),
];

/// The media type of an uploaded file without a `type`; `None` if curl does not know its end.
pub(super) fn media_type(file: &str) -> Option<&'static str> {
    let lower = file.to_ascii_lowercase();
    MEDIA_TYPES.iter().find(|(end, _)| lower.ends_with(end)).map(|(_, media_type)| *media_type)
}

/// The credentials in a URL, percent-decoded.
pub(super) fn credentials(url: &Text) -> Option<Auth> {
    let literal = url.leading_literal();
    let rest = literal.split_once("://").map_or(literal, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (login, _) = authority.rsplit_once('@')?;
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    Some(Auth::Basic(Text::from(format!("{}:{}", decode(user), decode(password))).template()))
}

fn decode(text: &str) -> String {
    // A plus sign stays one, unlike in forms.
    crate::address::form_decode(&text.replace('+', "%2B")).unwrap_or_else(|| text.to_owned())
}

/// Whether a URL contains `{a,b}` or `[1-9]`; brackets of an IPv6 address do not count.
pub(super) fn is_glob(url: &str) -> bool {
    let path = url.find(']').filter(|_| url.contains("://[")).map_or(url, |end| &url[end..]);
    path.contains('{') || path.contains('[')
}

/// The path without `.` and `..` segments (RFC 3986, section 5.2.4). The query stays.
pub(super) fn without_dots(path: &Text) -> Text {
    let leading = path.leading_literal();
    let query = leading.find('?').unwrap_or(leading.len());
    if path.as_literal().is_none() && query == leading.len() {
        return path.clone(); // a value may be part of a segment
    }
    let mut clean = Text::from(remove_dot_segments(&leading[..query]));
    clean.push(&path.skip_bytes(query));
    clean
}

fn remove_dot_segments(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let segments: Vec<&str> = path.split('/').collect();
    for (at, segment) in segments.iter().enumerate() {
        let last = at + 1 == segments.len();
        match *segment {
            "." if last => kept.push(""),
            "." => {}
            ".." => {
                if kept.len() > 1 {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_segments_are_removed_from_paths() {
        for (path, clean) in [
            ("", ""),
            ("/", "/"),
            ("/a/../b", "/b"),
            ("/a/./b/../../c", "/c"),
            ("/../a", "/a"),
            ("/a/..", "/"),
            ("/a/.", "/a/"),
            ("/a?x=/../", "/a?x=/../"),
            ("/a..b/.c", "/a..b/.c"),
        ] {
            assert_eq!(without_dots(&Text::from(path)), Text::from(clean), "{path}");
        }
    }

    #[test]
    fn credentials_of_a_url_are_decoded() {
        let basic = |text: &str| Some(Auth::Basic(Text::from(text).template()));
        assert_eq!(credentials(&Text::from("http://a%40b:p+w@h/x@y")), basic("a@b:p+w"));
        assert_eq!(credentials(&Text::from("h/x@y")), None);
        assert_eq!(credentials(&Text::from("u@h")), basic("u:"));
    }
}
