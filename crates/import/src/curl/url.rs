//! URLs and file names as curl treats them: dot segments, credentials, media types.
//!
//! Sources in curl 8: `lib/urlapi.c` (`dedotdotify`, `parse_hostname_login`), `lib/mime.c` (`Curl_mime_contenttype`),
//! `src/tool_operhlp.c` (`add_file_name_to_url`).

use crate::address::encode_segment;
use crate::body::media_type_of;
use crate::text::{Text, file_name};

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
    media_type_of(file, &MEDIA_TYPES)
}

/// Splits a URL into the credentials in it, percent-decoded, and the URL without them. Values of variables are not decoded.
pub(crate) fn split_credentials(url: &Text) -> (Option<Text>, Text) {
    let scheme = url.leading_literal().find("://").map_or(0, |at| at + 3);
    let mut rest = url.skip_bytes(scheme);
    let before = |text: Text, end| text.split_once(end).map_or(text, |(before, _)| before);
    let authority = ['/', '?', '#'].into_iter().fold(rest.clone(), before);
    // The last @ of the authority ends them.
    let mut login: Option<Text> = None;
    for _ in authority.literal_parts().flat_map(|part| part.matches('@')) {
        let Some((before, after)) = rest.split_once('@') else { break };
        match &mut login {
            Some(login) => {
                login.push_str("@");
                login.push(&before);
            }
            None => login = Some(before),
        }
        rest = after;
    }
    let Some(login) = login else { return (None, url.clone()) };
    let (user, password) = login.split_once(':').unwrap_or((login, Text::default()));
    let mut decoded = user.map_literals(decode);
    decoded.push_str(":");
    decoded.push(&password.map_literals(decode));
    let mut whole = Text::from(&url.leading_literal()[..scheme]);
    whole.push(&rest);
    (Some(decoded), whole)
}

/// Adds the name of an uploaded file to a path that names no file, unless it has a query.
pub(super) fn add_file_name(path: &mut Text, file: &str) {
    let names_none = path.is_empty() || path.to_display().ends_with('/');
    if names_none && !path.literal_contains(|c| c == '?') {
        path.push_str(if path.is_empty() { "/" } else { "" });
        path.push_str(&encode_segment(file_name(file)));
    }
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
        let split = |url: &str| split_credentials(&Text::from(url));
        let login = |login: &str, url: &str| (Some(Text::from(login)), Text::from(url));
        assert_eq!(split("http://a%40b:p+w@h/x@y"), login("a@b:p+w", "http://h/x@y"));
        assert_eq!(split("h/x@y"), (None, Text::from("h/x@y")));
        assert_eq!(split("u@h"), login("u:", "h"));
        assert_eq!(split("a@b:c@h?q"), login("a@b:c", "h?q"));
    }

    #[test]
    fn credentials_may_be_variables() {
        let text = |parts: [&str; 5]| {
            let mut text = Text::from(parts[0]);
            for pair in parts[1..].chunks(2) {
                text.push(&Text::variable(pair[0]));
                text.push_str(pair[1]);
            }
            text
        };
        let (login, url) = split_credentials(&text(["http://", "USER", ":", "PASSWORD", "@h/x"]));
        assert_eq!((login, url), (Some(text(["", "USER", ":", "PASSWORD", ""])), Text::from("http://h/x")));
        let host = text(["http://u%21:", "P", "@", "HOST", "/x@y"]);
        let (login, url) = split_credentials(&host);
        assert_eq!(login.unwrap().to_display(), "u!:{{P}}");
        assert_eq!(url.to_display(), "http://{{HOST}}/x@y");
    }
}
