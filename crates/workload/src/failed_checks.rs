//! The names of failed checks in the reason of a failed request.

/// Stands between two names.
const SEPARATOR: &str = "; ";

/// The reason of a request whose response failed the checks of these names.
pub fn join<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(SEPARATOR)
}

/// The indexes of the `names` that a `reason` of [`join`] contains. Other names in it are skipped.
pub fn indexes<'a, N: AsRef<str>>(reason: &'a str, names: &'a [N]) -> impl Iterator<Item = usize> + 'a {
    let mut rest = Some(reason);
    std::iter::from_fn(move || {
        while let Some(text) = rest {
            // The longest, because a name may contain the separator.
            let begins = |name: &N| {
                text.strip_prefix(name.as_ref()).filter(|after| after.is_empty() || after.starts_with(SEPARATOR))
            };
            let found = names.iter().enumerate().filter_map(|(at, name)| Some((at, begins(name)?)));
            let longest = found.min_by_key(|(_, after)| after.len());
            let after = longest.map_or_else(|| text.find(SEPARATOR).map_or("", |end| &text[end..]), |(_, after)| after);
            rest = after.strip_prefix(SEPARATOR);
            if let Some((at, _)) = longest {
                return Some(at);
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_names_are_found_again() {
        let names = ["status = 200", "body contains a; b", "body contains a", "time < 1s"];
        let found = |reason: &str| indexes(reason, &names).collect::<Vec<_>>();
        assert_eq!(found(&join(["status = 200", "extract id", "time < 1s"])), [0, 3]);
        assert_eq!(found(&join(["body contains a; b", "body contains a"])), [1, 2]);
        assert_eq!(found("more than 3 redirects"), [0; 0]);
        assert_eq!(found("status = 2000"), [0; 0]);
        assert_eq!(found(""), [0; 0]);
    }
}
