//! What is asked, beside a run, of the machines that serve it.

use crate::Wrong;

/// What is asked of the machines that serve a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// Observers whose clocks are asked before the run and after it: the name of each, and where it listens, `host:port`.
    pub hosts: Vec<(String, String)>,
}

/// Whether an observer can be asked at this address.
///
/// # Errors
/// It is no `host:port`.
pub(super) fn checked(address: &str) -> Result<String, Wrong> {
    let parts = address.rsplit_once(':').filter(|(host, port)| {
        // An address of the sixth version has colons of its own, and stands in brackets.
        let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('[') && host.ends_with(']'));
        is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    match parts {
        Some(_) if !address.contains("://") && !address.contains(char::is_whitespace) => Ok(address.to_owned()),
        _ => Err(Wrong::new(format!(
            "`{address}` is no address to ask; write host:port, where the observer listens, such as \"10.0.0.2:7799\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for good in ["db:7799", "10.0.0.2:1", "[::1]:7799", "db.example.com:65535"] {
            assert_eq!(checked(good).unwrap(), good);
        }
        for bad in ["db", ":7799", "db:", "db:0", "db:70000", "::1:7799", "http://db:7799", "d b:1", ""] {
            assert!(checked(bad).unwrap_err().to_string().contains("host:port"), "{bad}");
        }
    }
}
