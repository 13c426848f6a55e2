//! Flags that other load testers have taught people, with the one that does it here.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The flag, who has it, and what to write.
const FLAGS: &[(&[&str], &str, &str)] = &[
    (
        &["--rate", "-R", "-r", "--rps", "-q", "--qps", "--arrival-rate"],
        "vegeta, wrk2, hey, oha",
        "arrivals that wait for no answer are --open 100/s",
    ),
    (
        &["--user", "--users", "-u", "--vus", "--concurrency", "--clients"],
        "k6, Locust, Gatling, siege",
        "users who wait for their answers are --closed 50 (or -c 50), with --think exponential:5s between them",
    ),
    (
        &["-n", "--requests", "--iterations", "-z", "--time", "--run-time"],
        "ab, hey, k6, Locust",
        "a run ends by its time, -d 30s; at --open 100/s that is about 3000 requests",
    ),
    (&["--data", "--data-raw", "-m"], "curl, hey", "a body is --body TEXT or --body @FILE, a method -X POST"),
    (
        &["-k", "--skip-tls-verify", "--no-verify"],
        "curl, k6",
        "a certificate nobody vouches for is taken with --insecure",
    ),
    (
        &["--keepalive", "--disable-keepalive", "--no-keepalive"],
        "hey, oha",
        "a connection for each request is --reuse fresh",
    ),
    (
        &["--spawn-rate", "--hatch-rate", "--ramp-up", "--stage", "--stages"],
        "Locust, k6",
        "users that start one after another are --ramp 30s; a rate that changes is a profile in a workload file",
    ),
    (
        &["--output", "-o", "--csv"],
        "vegeta, Locust, k6",
        "a run is kept with --out DIR, and written for other programs with `offered export`",
    ),
];

/// What to write in place of a flag nobody knows here, where another tool has it.
pub(crate) fn told(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let ContextValue::String(given) = error.get(ContextKind::InvalidArg)? else { return None };
    let flag = given.split(['=', ' ']).next()?;
    let (_, whose, here) = FLAGS.iter().find(|(flags, ..)| flags.contains(&flag))?;
    Some(format!("{flag} is a flag of other tools ({whose}); here {here}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Line {
        #[arg(long)]
        open: Option<String>,
    }

    #[test]
    fn a_flag_of_another_tool_is_answered_with_ours() {
        for (line, here) in [
            ("run --rate=100", "--open 100/s"),
            ("run --vus 10", "--closed 50"),
            ("run --user 10", "--closed 50"),
            ("run -n 1000", "-d 30s"),
            ("run -k", "--insecure"),
        ] {
            let error = Line::try_parse_from(line.split(' ')).unwrap_err();
            let told = super::told(&error).unwrap_or_else(|| panic!("{line}: {error}"));
            assert!(told.contains(here), "{line}: {told}");
        }
        let error = Line::try_parse_from(["run", "--opne", "1"]).unwrap_err();
        assert_eq!(super::told(&error), None);
    }
}
