//! Hints for flags of other load testers: the flag of `offered run` with the same meaning.

use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::failure::Failure;
use crate::input_file::{self, Kind};

/// Flags of other tools, the tools, and the flag of `offered`.
const FLAGS: &[(&[&str], &str, &str)] = &[
    (
        &["--rate", "-R", "-r", "--rps", "-q", "--qps", "--arrival-rate"],
        "vegeta, wrk2, hey, oha",
        "for requests at a fixed rate, use --open 100/s",
    ),
    (
        &["--user", "--users", "-u", "--vu", "--vus", "--concurrency", "--clients"],
        "k6, Locust, Gatling, siege",
        "for users who wait for their responses, use --closed 50 (or -c 50), with --think exponential:5s",
    ),
    (
        &["--iterations", "--loops", "-i"],
        "k6, JMeter",
        "for a number of requests, use -n 1000; in a workload file, `sessions` limits sessions and `visits` the visits of a user",
    ),
    (
        &["-z", "--time", "--run-time"],
        "hey, ab, Locust",
        "use -d 30s for a duration, or -n 1000 for a number of requests",
    ),
    (&["--data", "--data-raw", "-m"], "curl, hey", "use --body TEXT or --body @FILE for a body, -X POST for a method"),
    (&["-k", "--skip-tls-verify", "--no-verify"], "curl, k6", "use --insecure to accept any certificate"),
    (
        &["--keepalive", "--disable-keepalive", "--no-keepalive"],
        "hey, oha",
        "use --reuse fresh for a new connection per request",
    ),
    (
        &["--spawn-rate", "--hatch-rate", "--ramp-up", "--stage", "--stages"],
        "Locust, k6",
        "use --ramp 30s to start users one after another; for a changing rate, write a profile in a workload file",
    ),
    (&["-L", "--location", "--max-redirects"], "curl, k6", "use --follow N to follow redirects"),
    (&["--http2", "--http2-prior-knowledge"], "curl, oha", "use --protocol h2 for HTTP/2"),
    (
        &["-b", "--cookie", "-a", "--basic-auth"],
        "curl, hey, oha",
        "send a cookie or a password as a header: -H 'Cookie: a=1'",
    ),
    (&["--out", "--csv"], "k6, Locust", "use -o DIR to record the run; `offered export` writes it in other formats"),
];

/// A hint for a usage error: for a flag of another tool, a negative value, or a URL where a file is expected. `line` is the
/// command line; `None` if there is no hint.
pub(crate) fn hint(error: &clap::Error, mut line: impl Iterator<Item = String>) -> Option<String> {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        // A URL for a command that reads files is the more likely mistake than the missing flag.
        let command = line.nth(1)?;
        let first = line.next().filter(|_| matches!(command.as_str(), "capacity" | "sweep"))?;
        return match input_file::refuse(Path::new(&first), &[Kind::Workload]) {
            Err(Failure::Input(why) | Failure::Stopped(why)) => Some(why),
            Ok(()) => None,
        };
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let ContextValue::String(given) = error.get(ContextKind::InvalidArg)? else { return None };
    let flag = given.split(['=', ' ']).next()?;
    let words: Vec<String> = line.collect();
    if !flag.starts_with('-') {
        // Without `=` the file of `--json FILE` is an argument too many.
        let is_file_of_json = words.windows(2).any(|pair| pair[0] == "--json" && pair[1] == *given);
        return is_file_of_json.then(|| format!("--json prints to stdout; to write a file: --json={given}"));
    }
    if flag.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit() || c == '.')) {
        // clap reports `-5/s` or only its first letter.
        let [before, below] = words.windows(2).find(|pair| pair[1].starts_with(flag))? else { return None };
        return before.starts_with('-').then(|| format!("{before} {below} must not be negative"));
    }
    // Other commands have no such flags.
    words.iter().take(2).find(|word| *word == "run")?;
    let (_, tools, hint) = FLAGS.iter().find(|(flags, ..)| flags.contains(&flag))?;
    Some(format!("unknown flag {flag} (of {tools}); {hint}"))
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
        command: String,
        workload: String,
        #[arg(long)]
        vary: String,
    }

    #[test]
    fn a_url_for_a_command_that_reads_files_is_reported_before_a_missing_flag() {
        let hint = |line: &str| {
            let error = Search::try_parse_from(line.split(' ')).unwrap_err();
            super::hint(&error, line.split(' ').map(str::to_owned))
        };
        assert!(hint("offered capacity http://a/").unwrap().contains("offered run http://a/"));
        assert_eq!(hint("offered capacity w.toml"), None);
    }

    #[test]
    fn a_flag_of_another_tool_gets_a_hint() {
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
            ("run --out csv=a", "-o DIR"),
            ("run --open -5/s", "--open -5/s must not be negative"),
        ] {
            let error = Line::try_parse_from(line.split(' ')).unwrap_err();
            let hint =
                super::hint(&error, line.split(' ').map(str::to_owned)).unwrap_or_else(|| panic!("{line}: {error}"));
            assert!(hint.contains(here), "{line}: {hint}");
        }
        for words in [["run", "--opne", "1"], ["simulate", "-q", "1"]] {
            let error = Line::try_parse_from(words).unwrap_err();
            assert_eq!(super::hint(&error, words.into_iter().map(str::to_owned)), None, "{words:?}");
        }
        let line = "run --json a.json";
        let error = Line::try_parse_from(line.split(' ').filter(|word| *word != "--json")).unwrap_err();
        let hint = super::hint(&error, line.split(' ').map(str::to_owned)).unwrap();
        assert!(hint.contains("--json=a.json"), "{hint}");
    }
}
