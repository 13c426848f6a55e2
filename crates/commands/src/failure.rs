//! Why a command could not finish.

use offered_experiment::Error;
use offered_run::{Counts, Error as Run};

use crate::messages;

/// Why a command could not finish; printed as one line.
#[derive(Debug)]
pub(crate) enum Failure {
    /// 2: wrong use or wrong input.
    Input(String),
    /// 1: could not continue.
    Stopped(String),
}

impl Failure {
    /// Wrong use or wrong input, for this reason.
    pub(crate) fn input(why: impl ToString) -> Self {
        Self::Input(why.to_string())
    }

    /// Could not continue, for this reason.
    pub(crate) fn stopped(why: impl ToString) -> Self {
        Self::Stopped(why.to_string())
    }

    /// The reason.
    pub(crate) fn message(&self) -> &str {
        let (Self::Input(why) | Self::Stopped(why)) = self;
        why
    }
}

impl From<offered_base::InvalidValue> for Failure {
    fn from(wrong: offered_base::InvalidValue) -> Self {
        Self::input(wrong)
    }
}

impl From<offered_observe::Error> for Failure {
    fn from(error: offered_observe::Error) -> Self {
        if error.is_of_input() { Self::input(error) } else { Self::stopped(error) }
    }
}

/// Adds the flags that help: the library knows none.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let why = match &error {
            Error::NoNumber { field, value } => format!(
                "--slo needs numbers in the first --vary, but `{value}` of {field} is not a number; put a numeric field first"
            ),
            Error::NoStart { field } => {
                format!("the search along `{field}` needs a start value, for example --vary {field}=100")
            }
            Error::Occupied { path, content } => {
                format!("{} already contains {content}; choose another -o", path.display())
            }
            Error::OtherValues { path, first, n } => format!(
                "{} contains {n} finished cells of other values (for example {first}); add their values to --vary, or choose \
                 another -o",
                path.display()
            ),
            Error::AnotherSweep { path, given } => format!(
                "{} belongs to another workload: {} differs from {given}; resume with that workload, or choose another -o",
                path.display(),
                path.join("workload.toml").display()
            ),
            Error::SweepStopped { left } => {
                format!("stopped before {left} cells were finished; run the same command again to resume")
            }
            Error::Stopped => {
                "stopped; a search cannot be resumed, start a new one near its last value (--vary FIELD=START)"
                    .to_owned()
            }
            Error::Run(Run::Certificate { address, reason }) => format!(
                "the certificate of {address} is not valid: {reason}; set its root (target.tls.roots) or its name \
                 (target.tls.server_name), or accept any certificate with --insecure (target.tls.insecure = true)"
            ),
            Error::Run(Run::NoHttp2 { address, reason }) => {
                format!("{address} does not support HTTP/2: {reason}; remove --protocol h2 (target.protocol)")
            }
            Error::NotVerified { counts, directory, .. } => {
                let Counts { requests, ok, failed, unsent, in_flight } = counts;
                let cut = if *in_flight > 0 { format!(", {in_flight} cut") } else { String::new() };
                let again = directory.as_ref().map_or_else(String::new, |out| {
                    format!("; verify the recorded part with: offered verify {}", out.display())
                });
                format!("{error}; {requests} requests, {ok} ok, {failed} failed, {unsent} not sent{cut}{again}")
            }
            Error::NoObjects { .. } => format!("{error}: `cargo install --path crates/cli --features full`"),
            Error::Read(error) => messages::read_error(error),
            other => other.to_string(),
        };
        if error.is_of_input() { Self::Input(why) } else { Self::Stopped(why) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_certificate_names_the_flag_that_accepts_it() {
        let reason = "it is self-signed".to_owned();
        let error = Run::Certificate { address: "shop.example:443".to_owned(), reason };
        let Failure::Stopped(message) = Failure::from(Error::Run(error)) else { panic!("not an input error") };
        assert!(
            message.starts_with("the certificate of shop.example:443 is not valid: it is self-signed"),
            "{message}"
        );
        assert!(message.contains("--insecure"), "{message}");
    }
}
