//! How a verb ends: the exit codes, and the one line that says why.

use std::io::{self, Write};
use std::process::ExitCode;

use offered_experiment::{Error, Made};
use offered_run::{Counts, Error as Run};

use crate::conventions;
use crate::say::{say, tell};
use crate::table::shown;
use crate::words;

/// What clap and the numbers of the standard library say, and what a person understands.
const IN_WORDS: [(&str, &str); 5] = [
    (" tip: ", "; "),
    (": invalid digit found in string", ": it is no whole number"),
    (": number too large to fit in target type", ": it is too large"),
    (": cannot parse integer from empty string", ": there is none"),
    (": invalid float literal", ": it is no number"),
];

/// A verb that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done.
    Done,
    /// 3: done, but the result must not be believed, or what was asked of it cannot be told.
    Doubtful,
    /// 4: done and told, but the disk, or the object store, did not take all of it.
    Unkept,
    /// 99: done and to be believed, but a threshold was not kept.
    Failed,
}

/// A verb that could not do its work; prints as one line.
#[derive(Debug)]
pub(crate) enum Failure {
    /// 2: wrong use or wrong input.
    Input(String),
    /// 1: could not go on.
    Stopped(String),
}

impl Failure {
    /// Wrong use or wrong input, because of this.
    pub(crate) fn input(why: impl ToString) -> Self {
        Self::Input(why.to_string())
    }

    /// Could not go on, because of this.
    pub(crate) fn stopped(why: impl ToString) -> Self {
        Self::Stopped(why.to_string())
    }
}

impl From<offered_model::Wrong> for Failure {
    fn from(wrong: offered_model::Wrong) -> Self {
        Self::input(wrong)
    }
}

/// What is said of flags is said here: the library knows none.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let why = match &error {
            Error::LoadVaries => "`load` belongs to simulate --sweep; vary rate, users or think here".to_owned(),
            Error::NoNumber { field, value } => format!(
                "--slo asks up to which {field} it is kept, and `{value}` is not a number; name the field of numbers first"
            ),
            Error::NoStart { field } => {
                format!("where does the search along `{field}` begin? write for example --vary {field}=100")
            }
            Error::Occupied { path, what } => format!("{} holds {what}; choose another --out", path.display()),
            Error::OtherValues { path, first, n } => format!(
                "{} holds {n} finished cells of other values ({first} among them), which its tables would no longer show; give \
                 --vary their values too, or choose another --out",
                path.display()
            ),
            Error::AnotherSweep { path, given } => format!(
                "{} was begun with another workload: {} differs from {given}; go on with that one, or choose another --out",
                path.display(),
                path.join("workload.toml").display()
            ),
            Error::SweepStopped { left } => {
                format!("stopped with {left} cells to do; the same command goes on with them")
            }
            Error::Stopped => {
                "stopped; a search is not kept, begin it anew nearer to where it was (--vary FIELD=START)".to_owned()
            }
            Error::Run(Run::Certificate { place, why }) => format!(
                "the certificate of {place} does not hold: {why}; give its root (target.tls.roots) or its name \
                 (target.tls.server_name), or take any with --insecure (target.tls.insecure = true)"
            ),
            Error::Run(Run::NoHttp2 { place, why }) => {
                format!("{place} does not speak HTTP/2: {why}; leave --protocol h2 (target.protocol) out")
            }
            Error::Unjudged { counts, out, .. } => {
                let Counts { launched, ok, failed, unsent, in_flight } = counts;
                let cut = if *in_flight > 0 { format!(", {in_flight} cut") } else { String::new() };
                let again = out.as_ref().map_or_else(String::new, |out| {
                    format!("; what is kept can be judged later: offered verify {}", out.display())
                });
                format!("{error}; {launched} launched, {ok} ok, {failed} failed, {unsent} not sent{cut}{again}")
            }
            Error::NoObjects { .. } => format!("{error} (cargo build --release --features objects)"),
            Error::Read(error) => words::of_reading(error),
            other => other.to_string(),
        };
        if error.is_of_input() { Self::Input(why) } else { Self::Stopped(why) }
    }
}

impl Exit {
    /// How a verb ends that made a run with this result.
    pub(crate) fn of(made: &Made) -> Self {
        match made.summary.believable() {
            // However late they were: all launches that left failed.
            _ if !made.summary.succeeded() && made.summary.unsent < made.summary.launched => Self::Failed,
            true if made.passes() => Self::Done,
            true if !made.is_open() => Self::Failed,
            _ => Self::Doubtful,
        }
    }
}

/// The process's exit code; a failure is printed to stderr as one `error:` line.
pub(crate) fn code(done: Result<Exit, Failure>) -> ExitCode {
    let (code, why) = match done {
        Ok(Exit::Done) => return ExitCode::SUCCESS,
        Ok(Exit::Doubtful) => return ExitCode::from(3),
        Ok(Exit::Unkept) => return ExitCode::from(4),
        Ok(Exit::Failed) => return ExitCode::from(99),
        Err(Failure::Input(why)) => (2, why),
        Err(Failure::Stopped(why)) => (1, why),
    };
    // The terminal may be gone; the code still tells.
    let _ = writeln!(io::stderr(), "error: {}", shown(&why.replace('\n', " ")));
    ExitCode::from(code)
}

/// Help and version go to stdout; wrong use is one `error:` line like any other, with where to read more.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if !error.use_stderr() {
        say!(no newline: "{text}");
        return ExitCode::SUCCESS;
    }
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        tell!(no newline: "{text}");
        return ExitCode::from(2);
    }
    if let Some(told) = conventions::told(error, std::env::args()) {
        tell!("error: {told}; see --help");
        return ExitCode::from(2);
    }
    // clap tells the error, then hints, then the usage; the first two in one line.
    let told = text.lines().take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"));
    let told: Vec<&str> = told.map(str::trim).filter(|line| !line.is_empty()).collect();
    let told = IN_WORDS.iter().fold(told.join(" "), |told, (theirs, ours)| told.replace(theirs, ours));
    tell!("{told}; see --help");
    ExitCode::from(2)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use offered_experiment::Plan;
    use offered_model::{Law, Share, Workload};
    use offered_run::Load;
    use offered_verify::Judgement;

    use super::*;

    #[test]
    fn a_certificate_that_does_not_hold_names_the_flag_that_takes_it() {
        let why = "it is signed by nobody but itself".to_owned();
        let of_run = Run::Certificate { place: "shop.example:443".to_owned(), why };
        let Failure::Stopped(said) = Failure::from(Error::Run(of_run)) else { panic!("no wrong input") };
        assert!(
            said.starts_with("the certificate of shop.example:443 does not hold: it is signed by nobody"),
            "{said}"
        );
        assert!(said.contains("--insecure"), "{said}");
    }

    /// A run on a virtual clock, whose threshold is kept.
    fn made() -> (Made, Workload) {
        const TEXT: &str = "seed = 1\nduration = \"10s\"\narrivals.open.rate = \"150/s\"\n[thresholds]\nerrors = \"< 1%\"\np95 = \"< 30ms\"\n";
        let workload = Workload::parse(TEXT, "w.toml", &|_| Err("there is no such file".to_owned())).unwrap();
        let plan = Plan {
            text: TEXT,
            workload: &workload,
            share: Share::ALL,
            load: Load::Nobody(Law::constant(0.02).unwrap()),
            start_at: None,
            run_id: None,
            out: None,
            name: "a run".to_owned(),
            see_failures: false,
        };
        let made = plan.prepare(Arc::default()).unwrap().run(Vec::new()).unwrap();
        (made, workload)
    }

    #[test]
    fn what_cannot_be_told_ends_with_3_and_what_is_certain_with_99() {
        let (mut made, _) = made();
        assert_eq!(Exit::of(&made), Exit::Done);
        // The generator would decide the second.
        let second = &mut made.summary.thresholds[1];
        (second.judgement, second.between) = (Judgement::NotChecked, Some([0.02, 0.04]));
        assert_eq!(Exit::of(&made), Exit::Doubtful);
        // The first is not kept in any case.
        made.summary.thresholds[0].judgement = Judgement::Fails;
        assert_eq!(Exit::of(&made), Exit::Failed);
        made.summary.judgement = Judgement::Fails;
        assert_eq!(Exit::of(&made), Exit::Doubtful);
        // Where nothing came back it does not matter how late it was asked for, unless nothing was.
        made.summary.outcomes.remove("ok");
        assert_eq!(Exit::of(&made), Exit::Failed);
        made.summary.unsent = made.summary.launched;
        assert_eq!(Exit::of(&made), Exit::Doubtful);
    }
}
