//! The list of public suffixes (publicsuffix.org), under which anybody can register a name. A crate of its own, because the list is code
//! that is compiled where it is called: a quarter of the crate that sends requests.

/// Whether a domain, in lower case and without a dot at the end, is a public suffix, such as `co.uk` or `github.io`: no host may set a
/// cookie for all names below it (RFC 6265, section 5.3, step 5).
pub fn is_public_suffix(domain: &str) -> bool {
    psl::suffix_str(domain) == Some(domain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registered_names_are_not_public() {
        for (domain, public) in [
            ("uk", true),
            ("co.uk", true),
            ("github.io", true),
            ("example.co.uk", false),
            ("example.com", false),
            ("www.example.com", false),
        ] {
            assert_eq!(is_public_suffix(domain), public, "{domain}");
        }
    }
}
