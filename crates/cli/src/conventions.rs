//! Flags that other load testers have taught people, with the one that does it here.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::Failure;
use crate::file::{self, Kind};

/// The flag, who has it, and what to write.
const FLAGS: &[(&[&str], &str, &str)] = &[
    (
        &["--rate", "-R", "-r", "--rps", "-q", "--qps", "--arrival-rate"],
        "vegeta, wrk2, hey, oha",
        "arrivals that wait for no answer are --open 100/s",
    ),
    (
        &["--user", "--users", "-u", "--vu", "--vus", "--concurrency", "--clients"],
        "k6, Locust, Gatling, siege",
        "users who wait for their answers are --closed 50 (or -c 50), with --think exponential:5s between them",
    ),
    (
        &["--iterations", "--loops", "-i"],
        "k6, JMeter",
        "a number of requests is -n 1000; of sessions or visits it is `sessions = 1000` in a workload file, and of each user `visits`",
    ),
    (&["-z", "--time", "--run-time"], "hey, ab, Locust", "a run ends by its time, -d 30s, or by its requests, -n 1000"),
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
    (&["-L", "--location", "--max-redirects"], "curl, k6", "redirects are followed with --follow N"),
    (&["--http2", "--http2-prior-knowledge"], "curl, oha", "HTTP/2 is --protocol h2"),
    (
        &["-b", "--cookie", "-a", "--basic-auth"],
        "curl, hey, oha",
        "a cookie or a password is a header, -H 'Cookie: a=1'",
    ),
    (
        &["--output", "-o", "--csv"],
        "vegeta, Locust, k6",
        "a run is kept with --out DIR, and written for other programs with `offered export`",
    ),
];

/// What to write in place of a flag nobody knows here, where another tool has it, or of a value that looks like a flag in `line`, the
/// command line.
pub(crate) fn told(error: &clap::Error, mut line: impl Iterator<Item = String>) -> Option<String> {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        // What is missing matters less than that this verb is the wrong one.
        let verb = line.nth(1)?;
        let first = line.next().filter(|_| matches!(verb.as_str(), "capacity" | "sweep"))?;
        return match file::refuse(Path::new(&first), &[Kind::Workload]) {
            Err(Failure::Input(why) | Failure::Stopped(why)) => Some(why),
            Ok(()) => None,
        };
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let ContextValue::String(given) = error.get(ContextKind::InvalidArg)? else { return None };
    let flag = given.split(['=', ' ']).next()?;
    if flag.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')) {
        let words: Vec<String> = line.collect();
        // Of `-5/s` clap tells all, or its first letter.
        let [before, below] = words.windows(2).find(|pair| pair[1].starts_with(flag))? else { return None };
        return before.starts_with('-').then(|| format!("{before} {below}: must not be below zero"));
    }
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

    #[derive(Parser, Debug)]
    struct Search {
        verb: String,
        workload: String,
        #[arg(long)]
        vary: String,
    }

    #[test]
    fn a_url_for_a_verb_that_reads_files_is_told_before_what_is_missing() {
        let told = |line: &str| {
            let error = Search::try_parse_from(line.split(' ')).unwrap_err();
            super::told(&error, line.split(' ').map(str::to_owned))
        };
        assert!(told("offered capacity http://a/").unwrap().contains("offered run http://a/"));
        assert_eq!(told("offered capacity w.toml"), None);
    }

    #[test]
    fn a_flag_of_another_tool_is_answered_with_ours() {
        for (line, here) in [
            ("run --rate=100", "--open 100/s"),
            ("run --vus 10", "--closed 50"),
            ("run --vu 10", "--closed 50"),
            ("run --user 10", "--closed 50"),
            ("run --iterations 1000", "-n 1000"),
            ("run -z 30s", "-d 30s"),
            ("run -k", "--insecure"),
            ("run -L", "--follow N"),
            ("run --cookie a=1", "-H 'Cookie"),
            ("run --open -5/s", "--open -5/s: must not be below zero"),
        ] {
            let error = Line::try_parse_from(line.split(' ')).unwrap_err();
            let told =
                super::told(&error, line.split(' ').map(str::to_owned)).unwrap_or_else(|| panic!("{line}: {error}"));
            assert!(told.contains(here), "{line}: {told}");
        }
        let error = Line::try_parse_from(["run", "--opne", "1"]).unwrap_err();
        assert_eq!(super::told(&error, std::iter::empty()), None);
    }
}
