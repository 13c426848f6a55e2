//! Command-line options of pgbench.

use crate::shell::{Command, Word};
use crate::text::file_name;

use super::LineError;

/// Query mode (`-M`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// Values are substituted into the statement text.
    #[default]
    Simple,
    /// Values are parameters; statements are parsed each time.
    Extended,
    /// Values are parameters; statements are prepared once.
    Prepared,
}

/// A script with its weight.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) line: usize,
    pub(super) name: String,
    pub(super) is_built_in: bool,
    pub(super) weight: u32,
}

/// Options of a pgbench command.
#[derive(Debug, Default)]
pub(super) struct Options {
    pub(super) line: usize,
    pub(super) scripts: Vec<Script>,
    pub(super) clients: Option<u64>,
    pub(super) threads: Option<u64>,
    pub(super) rate: Option<f64>,
    pub(super) seconds: Option<u64>,
    pub(super) transactions: Option<u32>,
    pub(super) scale: Option<i64>,
    pub(super) mode: Mode,
    pub(super) defined: Vec<(String, String)>,
    /// Whether the command only creates tables (`-i`).
    pub(super) initialize: bool,
    pub(super) no_vacuum: bool,
    /// Whether clients continue after an error.
    pub(super) continue_on_error: bool,
    pub(super) host: Option<String>,
    pub(super) port: Option<String>,
    pub(super) user: Option<String>,
    pub(super) database: Option<String>,
    /// Environment variables of libpq, assigned before the command.
    pub(super) environment: Vec<(String, String)>,
    /// Options that are not translated: line, text and description.
    pub(super) ignored: Vec<(usize, String, &'static str)>,
}

/// Options with a value: letter and long name.
const WITH_VALUE: [(char, &str); 14] = [
    ('b', "builtin"),
    ('c', "client"),
    ('D', "define"),
    ('f', "file"),
    ('h', "host"),
    ('j', "jobs"),
    ('L', "latency-limit"),
    ('M', "protocol"),
    ('P', "progress"),
    ('p', "port"),
    ('R', "rate"),
    ('s', "scale"),
    ('t', "transactions"),
    ('T', "time"),
];
const MORE_WITH_VALUE: [(char, &str); 8] = [
    ('U', "username"),
    ('F', "fillfactor"),
    ('I', "init-steps"),
    ('\0', "max-tries"),
    ('\0', "random-seed"),
    ('\0', "log-prefix"),
    ('\0', "sampling-rate"),
    ('\0', "aggregate-interval"),
];
const WITHOUT_VALUE: [(char, &str); 16] = [
    ('C', "connect"),
    ('d', "debug"),
    ('i', "initialize"),
    ('l', "log"),
    ('N', "skip-some-updates"),
    ('n', "no-vacuum"),
    ('q', "quiet"),
    ('r', "report-per-command"),
    ('r', "report-latencies"),
    ('S', "select-only"),
    ('v', "vacuum-all"),
    ('\0', "progress-timestamp"),
    ('\0', "failures-detailed"),
    ('\0', "verbose-errors"),
    ('\0', "exit-on-abort"),
    ('\0', "continue-on-error"),
];

/// Options that change only what pgbench prints and logs, and what a run of `offered` has instead.
const OUTPUT: [(&str, &str); 9] = [
    (
        "report-per-command",
        "prints the mean time of each statement; here tables and reports have a row for each request",
    ),
    ("report-latencies", "prints the mean time of each statement; here tables and reports have a row for each request"),
    ("progress", "prints progress in this interval; a run of offered prints its own"),
    ("progress-timestamp", "prints progress with timestamps; a run of offered prints its own progress"),
    ("log", LOG),
    ("log-prefix", LOG),
    ("sampling-rate", "logs only this share of the transactions; with -o every request is recorded"),
    (
        "aggregate-interval",
        "logs only sums of each interval; with -o every request is recorded, and `offered report` draws it over time",
    ),
    ("failures-detailed", "counts failures by kind; here they are always counted by outcome and reason"),
];
const LOG: &str =
    "logs each transaction; here -o records each request, and `offered export --format pgbench` writes such a log";

/// Words that may precede a command.
const COMMAND_PREFIXES: [&str; 6] = ["$", "sudo", "time", "nohup", "nice", "exec"];

/// Whether a word is the program name pgbench.
pub(super) fn is_pgbench(word: &str) -> bool {
    let name = file_name(word);
    name == "pgbench" || name.eq_ignore_ascii_case("pgbench.exe")
}

/// Whether a word before the program name is an assignment or a prefix such as `sudo`.
fn is_prefix(word: &Word) -> bool {
    COMMAND_PREFIXES.contains(&word.as_literal()) || assignment(word).is_some()
}

fn assignment(word: &Word) -> Option<(String, String)> {
    let (name, value) = word.text.as_literal()?.split_once('=')?;
    let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(fits)).then(|| (name.to_owned(), value.to_owned()))
}

/// Arguments of a pgbench command; `None` for other commands.
pub(super) fn arguments(command: &Command) -> Option<&[Word]> {
    let at = command.words.iter().position(|word| !is_prefix(word))?;
    is_pgbench(command.words[at].as_literal()).then(|| &command.words[at + 1..])
}

impl Options {
    /// Reads the options of a command. `value` returns the values of shell variables.
    pub(super) fn read(command: &Command, value: &dyn Fn(&str) -> Option<String>) -> Result<Self, LineError> {
        let line = command.words.first().map_or(1, |word| word.line);
        let environment = command.words.iter().map_while(|word| is_prefix(word).then(|| assignment(word))).flatten();
        let mut options = Self { line, environment: environment.collect(), ..Self::default() };
        let mut words = arguments(command).unwrap_or_default().iter();
        let mut only_names = false;
        while let Some(word) = words.next() {
            let said = resolve_word(word, value)?;
            let known = |word: Option<&Word>| word.map(|word| resolve_word(word, value)).transpose();
            if only_names || !said.starts_with('-') || said == "-" {
                if options.database.replace(said).is_some() {
                    return Err((word.line, "two databases are given".to_owned()));
                }
            } else if said == "--" {
                only_names = true;
            } else if let Some(long) = said.strip_prefix("--") {
                let (name, given) = long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                if WITH_VALUE.iter().chain(&MORE_WITH_VALUE).any(|(_, known)| *known == name) {
                    let value = match given {
                        Some(given) => Some(given.to_owned()),
                        None => known(words.next())?,
                    };
                    options.with_value(word.line, name, value)?;
                } else if name == "dbname" {
                    options.database = given.map_or_else(|| known(words.next()), |given| Ok(Some(given.to_owned())))?;
                } else {
                    options.without_value(word.line, name)?;
                }
            } else {
                for (at, letter) in said.char_indices().skip(1) {
                    if let Some((_, name)) =
                        WITH_VALUE.iter().chain(&MORE_WITH_VALUE).find(|(known, _)| *known == letter)
                    {
                        let rest = &said[at + letter.len_utf8()..];
                        let value = if rest.is_empty() { known(words.next())? } else { Some(rest.to_owned()) };
                        options.with_value(word.line, name, value)?;
                        break;
                    }
                    let name = WITHOUT_VALUE.iter().find(|(known, _)| *known == letter).map(|(_, name)| *name);
                    options.without_value(
                        word.line,
                        name.ok_or_else(|| unknown_option(word.line, &format!("-{letter}")))?,
                    )?;
                }
            }
        }
        if options.transactions.is_some() && options.seconds.is_some() {
            return Err((line, "-t and -T cannot be combined".to_owned()));
        }
        Ok(options)
    }

    /// Value of a libpq environment variable.
    pub(super) fn environment(&self, name: &str) -> Option<&str> {
        self.environment.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    fn with_value(&mut self, line: usize, name: &str, value: Option<String>) -> Result<(), LineError> {
        let value = value.ok_or_else(|| (line, format!("the command ends after {name}, which needs a value")))?;
        let wrong = || (line, format!("--{name} {value}: invalid number"));
        let number = |least: u64| value.parse().ok().filter(|number| *number >= least).ok_or_else(wrong);
        match name {
            "builtin" => self.script(line, &value, true)?,
            "file" => self.script(line, &value, false)?,
            "client" => self.clients = Some(number(1)?),
            "jobs" => self.threads = Some(number(1)?),
            "time" => self.seconds = Some(number(1)?),
            "transactions" => self.transactions = Some(u32::try_from(number(1)?).map_err(|_| wrong())?),
            "scale" => self.scale = Some(i64::try_from(number(1)?).map_err(|_| wrong())?),
            "rate" => {
                let rate: f64 = value.parse().map_err(|_| wrong())?;
                self.rate = Some(if rate.is_finite() && rate > 0.0 { rate } else { return Err(wrong()) });
            }
            "protocol" => {
                self.mode = match value.as_str() {
                    "simple" => Mode::Simple,
                    "extended" => Mode::Extended,
                    "prepared" => Mode::Prepared,
                    _ => return Err((line, format!("-M {value}: expected simple, extended or prepared"))),
                };
            }
            "define" => {
                let (name, value) = value
                    .split_once('=')
                    .filter(|(name, _)| !name.is_empty())
                    .ok_or_else(|| (line, format!("-D {value}: expected NAME=VALUE")))?;
                self.defined.push((name.to_owned(), value.to_owned()));
            }
            "host" => self.host = Some(value),
            "port" => self.port = Some(value),
            "username" => self.user = Some(value),
            "latency-limit" => {
                let message = "counts slow transactions separately and, with -R, skips those that start too late; use [thresholds]";
                self.ignored.push((line, format!("-L {value}"), message));
            }
            "max-tries" if value != "1" => {
                self.ignored.push((
                    line,
                    format!("--max-tries {value}"),
                    "retries failed transactions; here they are not retried",
                ));
            }
            "random-seed" => {
                self.ignored.push((
                    line,
                    format!("--random-seed {value}"),
                    "sets the seed of pgbench's generator; `seed` gives different numbers",
                ));
            }
            "fillfactor" | "init-steps" => self.initialize = true,
            _ => self.output(line, name, &format!(" {value}")),
        }
        Ok(())
    }

    /// Adds a note on an option that changes only the output.
    fn output(&mut self, line: usize, name: &str, value: &str) {
        let Some((_, message)) = OUTPUT.iter().find(|(known, _)| *known == name) else { return };
        let letter = WITH_VALUE.iter().chain(&WITHOUT_VALUE).find(|(letter, known)| *known == name && *letter != '\0');
        let option = letter.map_or_else(|| format!("--{name}"), |(letter, _)| format!("-{letter}"));
        self.ignored.push((line, format!("{option}{value}"), message));
    }

    fn without_value(&mut self, line: usize, name: &str) -> Result<(), LineError> {
        match name {
            "skip-some-updates" => self.script(line, "simple-update", true)?,
            "select-only" => self.script(line, "select-only", true)?,
            "no-vacuum" => self.no_vacuum = true,
            "vacuum-all" => {
                self.ignored.push((
                    line,
                    "-v".to_owned(),
                    "vacuums and analyzes pgbench_accounts before the run; here nothing is done",
                ));
            }
            "continue-on-error" => self.continue_on_error = true,
            "exit-on-abort" => {
                let message = "ends the run at the first error; set on_failure = \"stop\"";
                self.ignored.push((line, "--exit-on-abort".to_owned(), message));
            }
            "initialize" | "quiet" => self.initialize = true,
            "connect" => {
                return Err((
                    line,
                    "-C opens a connection for each transaction; a workload opens its database connections before the run"
                        .to_owned(),
                ));
            }
            name if WITHOUT_VALUE.iter().any(|(_, known)| *known == name) => self.output(line, name, ""),
            name => return Err(unknown_option(line, &format!("--{name}"))),
        }
        Ok(())
    }

    /// `NAME` or `NAME@WEIGHT`.
    fn script(&mut self, line: usize, said: &str, is_built_in: bool) -> Result<(), LineError> {
        let (name, weight) = match said.rsplit_once('@') {
            None => (said, 1),
            Some((name, weight)) => {
                let weight = weight.parse().map_err(|_| (line, format!("`{said}`: `{weight}` is not a weight")))?;
                (name, weight)
            }
        };
        self.scripts.push(Script { line, name: name.to_owned(), is_built_in, weight });
        Ok(())
    }
}

/// Substitutes shell variables in a word.
fn resolve_word(word: &Word, value: &dyn Fn(&str) -> Option<String>) -> Result<String, LineError> {
    if word.is_substituted {
        return Err((
            word.line,
            format!("`{}` contains the output of a command; write the value itself", word.text.to_display()),
        ));
    }
    let lacks =
        |name: &str| (word.line, format!("the shell variable `{name}` has no value; set it with --set {name}=..."));
    word.text.substitute(value).map_err(lacks)
}

fn unknown_option(line: usize, option: &str) -> LineError {
    (line, format!("{option} is not a known option of pgbench"))
}
