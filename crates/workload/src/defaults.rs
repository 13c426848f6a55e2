//! Texts that reader and writer of a workload file share: default names of checks, groups of regular expressions, ranges of statuses.

use crate::script::Find;

/// `200`, `2xx` or `200..204`.
pub(crate) fn statuses((low, high): (u16, u16)) -> String {
    if low == high {
        low.to_string()
    } else if low % 100 == 0 && high == low + 99 {
        format!("{}xx", low / 100)
    } else {
        format!("{low}..{high}")
    }
}

/// Whether a regular expression has a capturing group.
pub(crate) fn has_group(pattern: &str) -> bool {
    let (mut escaped, mut class) = (false, false);
    pattern.char_indices().any(|(at, c)| {
        let capturing = || {
            let rest = &pattern[at + 1..];
            !rest.starts_with('?')
                || rest.starts_with("?P<")
                || (rest.starts_with("?<") && !rest.starts_with("?<=") && !rest.starts_with("?<!"))
        };
        let found = !escaped && !class && c == '(' && capturing();
        match c {
            '[' if !escaped => class = true,
            ']' if !escaped => class = false,
            _ => {}
        }
        escaped = c == '\\' && !escaped;
        found
    })
}

/// What a part of a response is found by, for the default name of its check.
pub(crate) fn searched(find: &Find) -> String {
    match find {
        Find::Body | Find::Url => String::new(),
        Find::Column(text) | Find::Header(text) | Find::Cookie(text) | Find::Json(text) => text.clone(),
        Find::Regex { pattern, .. } => pattern.clone(),
        Find::Css { selector, .. } => selector.clone(),
        Find::Matched { of, pattern, .. } => format!("{} regex {pattern}", searched(of)).trim_start().to_owned(),
    }
}

/// The first digits of a digest, for the default name of its check.
pub(crate) fn beginning(digest: &str) -> String {
    digest.chars().take(8).collect::<String>() + "..."
}

/// The default name of a check of this kind with this value.
pub(crate) fn usual_name(kind: &str, said: &str, negated: bool) -> String {
    let is = ["status", "size", "rows", "time", "sha256"].contains(&kind) && !said.starts_with(['<', '>', '=']);
    format!("{}{kind}{}{said}", if negated { "not " } else { "" }, if is { " = " } else { " " })
}
