//! The list of public suffixes (publicsuffix.org), under which anybody can register a name. This is a separate crate,
//! because the list is code that is compiled with its caller, and would be a quarter of the crate that sends requests.

use std::net::IpAddr;

/// Whether a domain, in lower case and without a dot at the end, is a public suffix, such as `co.uk` or `github.io`: no host may set a
/// cookie for all names below it (RFC 6265, section 5.3, step 5).
pub fn is_public_suffix(domain: &str) -> bool {
    psl::suffix_str(domain) == Some(domain)
}

/// The registrable domain of a host name in lower case, such as `example.co.uk` for `www.example.co.uk`; `None` for addresses, public
/// suffixes and names without a dot.
pub fn registrable_domain(host: &str) -> Option<&str> {
    if host.parse::<IpAddr>().is_ok() { None } else { psl::domain_str(host) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrable_domains_have_one_label_more_than_their_suffix() {
        for (host, domain) in [
            ("www.example.co.uk", Some("example.co.uk")),
            ("a.b.example.com", Some("example.com")),
            ("me.github.io", Some("me.github.io")),
            ("api.prod.internal", Some("prod.internal")),
            ("co.uk", None),
            ("localhost", None),
            ("127.0.0.1", None),
            ("[::1]", None),
        ] {
            assert_eq!(registrable_domain(host), domain, "{host}");
        }
    }

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
