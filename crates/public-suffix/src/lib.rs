//! The list of public suffixes (publicsuffix.org; Mozilla Public License 2.0), under which anybody can register a name.
//!
//! `rules.txt` is the list as the crate `psl` has it, without comments. That crate compiles the list to code of ten times the size, and
//! so it is used by the tests only, which compare what both decide. A newer `psl` may have more rules: copy its `data/rules.txt`.

use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::LazyLock;

/// One rule per line: `com.ac`, `*.ck` (every name below `ck`), `!www.ck` (but not this one).
const RULES: &str = include_str!("rules.txt");

/// The rules by kind.
#[derive(Default)]
struct Rules {
    exceptions: HashSet<&'static str>,
    names: HashSet<&'static str>,
    /// The names below which every name is a public suffix.
    wildcards: HashSet<&'static str>,
}

static LIST: LazyLock<Rules> = LazyLock::new(|| {
    let mut rules = Rules::default();
    for rule in RULES.lines() {
        if let Some(name) = rule.strip_prefix('!') {
            rules.exceptions.insert(name);
        } else if let Some(name) = rule.strip_prefix("*.") {
            rules.wildcards.insert(name);
        } else {
            rules.names.insert(rule);
        }
    }
    rules
});

/// The public suffix of a domain in lower case: that of the longest matching rule, or the last label (publicsuffix.org/list: algorithm).
fn public_suffix(domain: &str) -> &str {
    let mut name = domain;
    while let Some((_, parent)) = name.split_once('.') {
        if LIST.exceptions.contains(name) {
            return parent;
        }
        if LIST.names.contains(name) || LIST.wildcards.contains(parent) {
            break;
        }
        name = parent;
    }
    name
}

/// Whether a domain, in lower case and without a dot at the end, is a public suffix, such as `co.uk` or `github.io`: no host may set a
/// cookie for all names below it (RFC 6265, section 5.3, step 5).
pub fn is_public_suffix(domain: &str) -> bool {
    public_suffix(domain) == domain
}

/// The registrable domain of a host name in lower case, such as `example.co.uk` for `www.example.co.uk`; `None` for addresses, public
/// suffixes and names without a dot.
pub fn registrable_domain(host: &str) -> Option<&str> {
    if host.parse::<IpAddr>().is_ok() {
        return None;
    }
    let labels = host.strip_suffix(public_suffix(host))?.strip_suffix('.')?;
    let start = labels.rfind('.').map_or(0, |dot| dot + 1);
    Some(&host[start..])
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
            ("a.b.c.ck", Some("b.c.ck")),
            ("a.www.ck", Some("www.ck")),
            ("c.ck", None),
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
            ("c.ck", true),
            ("www.ck", false),
            ("example.co.uk", false),
            ("example.com", false),
            ("www.example.com", false),
        ] {
            assert_eq!(is_public_suffix(domain), public, "{domain}");
        }
    }

    /// The rules decide as the crate `psl` does for every name of the list and names below it.
    #[test]
    fn the_list_is_that_of_the_crate_psl() {
        for rule in RULES.lines() {
            let name = rule.trim_start_matches("*.").trim_start_matches('!');
            // There `psl` forgets the first of `*.futurecms.at` and `*.ex.futurecms.at`: `ex.futurecms.at` is a public suffix.
            let is_below_wildcard = name.split_once('.').is_some_and(|(_, parent)| LIST.wildcards.contains(parent));
            if rule.starts_with("*.") && is_below_wildcard {
                assert!(is_public_suffix(name), "{name}");
                continue;
            }
            for host in [name.to_owned(), format!("a.{name}"), format!("b.a.{name}"), format!("c.b.a.{name}")] {
                assert_eq!(Some(public_suffix(&host)), psl::suffix_str(&host), "{host}");
                assert_eq!(registrable_domain(&host), psl::domain_str(&host), "{host}");
            }
        }
    }
}
