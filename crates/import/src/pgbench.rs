//! Reads pgbench scripts and commands that run them.
//!
//! The meaning follows `src/bin/pgbench` of PostgreSQL; `tests/import/pgbench.csv` lists each construct. A pgbench
//! transaction (one execution of a script) becomes a request if it is a single statement or transaction block, else a
//! flow.

mod built_in;
mod expression;
mod options;
mod paths;
mod requests;
mod script;

use std::collections::BTreeMap;

use offered_base::Nanos;
use offered_distributions::Distribution;
use offered_schedule::Count;
use offered_schedule::Visitor;
use offered_schedule::arrivals::Process;
use offered_workload::script::OnFailure;
use offered_workload::{Address, Login, Target, Url};

use crate::delay::Delay;
use crate::note::Note;
use crate::plan::{Arrivals, Flow, Phase, Plan, RateProfile, Step};
use crate::text::file_name;
use crate::unique_names::UniqueNames;
use crate::{Error, ImportOptions, ParameterKind, shell};
use expression::{Expression, Value};
use options::{Mode, Options, Script};
use paths::{Outside, ScriptPath};
use requests::{PathRequests, Requests};

/// A line number and an error message.
type LineError = (usize, String);

/// A path through a script: title of the script, relative frequency, and requests.
type WeightedPath = (String, f64, PathRequests);

/// Default duration.
const DURATION: Nanos = Nanos::from_secs(600);

/// pgbench's default number of transactions per client.
const TRANSACTIONS: u32 = 10;

/// Maximum number of clients.
const MAX_CLIENTS: u64 = u32::MAX as u64;

/// First words of SQL statements.
const STATEMENTS: [&str; 16] = [
    "select", "insert", "update", "delete", "merge", "with", "begin", "start", "commit", "end", "set", "call",
    "values", "truncate", "vacuum", "create",
];

/// Whether `text` is a pgbench script or contains a pgbench command.
pub(crate) fn looks_like(text: &str) -> bool {
    is_command(text) || is_script(text)
}

fn is_command(text: &str) -> bool {
    let runs = |line: &str| {
        let mut words =
            line.split_whitespace().skip_while(|word| word.contains('=') || ["$", "sudo", "time"].contains(word));
        words.next().is_some_and(options::is_pgbench)
    };
    text.lines().take(10_000).any(runs)
}

/// Whether `text` starts with an SQL statement or a meta-command of pgbench.
fn is_script(text: &str) -> bool {
    let mut rest = text.trim_start();
    while let script::Token::Comment(bytes) = script::next_token(rest, None) {
        rest = rest[bytes..].trim_start();
    }
    if let Some(said) = rest.strip_prefix('\\') {
        let word = said.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        return ["set", "sleep", "if", "setshell", "shell", "startpipeline"].contains(&word);
    }
    let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default().to_lowercase();
    STATEMENTS.contains(&word.as_str()) && (rest.contains(';') || rest.contains("\n\\"))
}

/// Reads the plan in `text`, the content of `file`.
pub(crate) fn read(text: &str, file: &str, options: &ImportOptions) -> Result<Plan, Error> {
    Reader { file, options, notes: Vec::new() }.read(text)
}

/// The flows of `paths`. If all paths consist of one request without waits, there are no flows, and the requests have
/// the weights of their paths.
fn flows(paths: &[WeightedPath], requests: &mut Requests, usual: &Delay, is_closed: bool) -> Vec<Flow> {
    if paths.iter().all(|(.., path)| path.steps.len() == 1 && path.steps[0].1.is_zero()) {
        for (_, weight, path) in paths {
            requests.all[path.steps[0].0].weight += weight;
        }
        return Vec::new();
    }
    let (mut flows, mut names) = (Vec::new(), UniqueNames::default());
    for (title, weight, path) in paths {
        let name = names.take(title);
        flows.push(Flow { name, weight: *weight, steps: steps(path, usual, requests, is_closed), blocks: Vec::new() });
    }
    requests.all.iter_mut().for_each(|request| request.on_failure = OnFailure::EndSession);
    flows
}

struct Reader<'g> {
    file: &'g str,
    options: &'g ImportOptions<'g>,
    notes: Vec<Note>,
}

impl Reader<'_> {
    fn error_at(&self, (line, message): LineError) -> Error {
        Error::Line { file: self.file.to_owned(), line, message }
    }

    fn note(&mut self, line: usize, element: impl Into<String>, message: impl Into<String>) {
        self.notes.push(Note { line, element: element.into(), message: message.into() });
    }

    fn read(mut self, text: &str) -> Result<Plan, Error> {
        let is_command = is_command(text);
        let options = self.run_options(text, is_command)?;
        let clients = options.clients.unwrap_or(1);
        let connections = u32::try_from(clients.min(MAX_CLIENTS)).unwrap_or(u32::MAX);
        let (mut requests, paths) = self.paths(&options, text, is_command)?;
        let url = self.url(&options)?;
        self.note_differences(&options, is_command, &requests, clients);
        let transactions = options.transactions.or((is_command && options.seconds.is_none()).then_some(TRANSACTIONS));
        let counted = options.rate.is_some() || transactions.is_some();
        let (first, paths) = self.sending_paths(paths, counted, options.line.max(1))?;
        let usual = if options.rate.is_some() { Delay::default() } else { first.clone() };
        let flows = flows(&paths, &mut requests, &usual, options.rate.is_none());
        let arrivals = match options.rate {
            None => Arrivals::Closed {
                users: clients,
                visits: transactions,
                pace: None,
                visitor: Visitor::Same,
                ramp: Nanos::ZERO,
                stages: Vec::new(),
                think: usual.distribution().0,
            },
            Some(rate) => {
                self.note_rate_differences(&options, &first, !flows.is_empty());
                let think = Distribution::constant(0.0).expect("zero is a constant");
                Arrivals::Open { rate: RateProfile::Constant(rate), process: Process::Poisson, think }
            }
        };
        let (duration, count) = match (transactions, options.seconds) {
            (Some(each), _) => (Nanos::MAX, Some(Count::Sessions(clients.saturating_mul(u64::from(each))))),
            (None, Some(seconds)) => (Nanos::from_secs(seconds.min(1 << 32)), None),
            (None, None) => (DURATION, None),
        };
        self.notes.sort_by_key(|note| note.line);
        let variables =
            requests.variables(if flows.is_empty() { requests::Per::Request } else { requests::Per::Visit });
        Ok(Plan {
            name: title(self.file),
            origin: if is_command { "a pgbench command" } else { "a pgbench script" }.to_owned(),
            thresholds: Vec::new(),
            start: Nanos::ZERO,
            phase: Phase::Load,
            serial: false,
            duration,
            count,
            arrivals,
            target: Target::new(url).with_connections(connections),
            more_targets: Vec::new(),
            variables,
            requests: requests.all,
            flows,
            once: None,
            remark: (!is_command)
                .then_some("The script does not specify clients or duration: here one client repeats it."),
            notes: self.notes,
        })
    }

    /// The options of the command in `text`, or, if `text` is a script, the options that run it. They contain at least
    /// one script.
    fn run_options(&mut self, text: &str, is_command: bool) -> Result<Options, Error> {
        if !is_command {
            let script = Script { line: 1, name: self.file.to_owned(), is_built_in: false, weight: 1 };
            return Ok(Options { no_vacuum: true, scripts: vec![script], ..Options::default() });
        }
        let mut options = self.command(text)?;
        if options.scripts.is_empty() {
            let name = "tpcb-like".to_owned();
            options.scripts.push(Script { line: options.line, name, is_built_in: true, weight: 1 });
        }
        Ok(options)
    }

    /// The paths that send statements, and their common wait before the first one. `counted` is true if paths without
    /// statements would count as transactions.
    fn sending_paths(
        &self,
        mut paths: Vec<WeightedPath>,
        counted: bool,
        line: usize,
    ) -> Result<(Delay, Vec<WeightedPath>), Error> {
        let fail = |message: &str| Err(self.error_at((line, message.to_owned())));
        let sends = |path: &PathRequests| !path.steps.is_empty();
        let Some(first) = paths.iter().find(|(.., path)| sends(path)).map(|(.., path)| path.initial_wait.clone())
        else {
            return fail("the script sends no SQL statement");
        };
        if paths.iter().any(|(.., path)| !sends(path) && (counted || !path.initial_wait.is_zero())) {
            return fail(
                "a path through a script sends no statement; pgbench counts it as a transaction, or waits, which a workload cannot express",
            );
        }
        paths.retain(|(.., path)| sends(path));
        match paths.iter().all(|(.., path)| path.initial_wait == first) {
            true => Ok((first, paths)),
            false => fail("scripts or paths with different waits before their first statement cannot be translated"),
        }
    }

    /// The paths through all scripts, and their requests.
    fn paths(
        &mut self,
        options: &Options,
        text: &str,
        is_command: bool,
    ) -> Result<(Requests, Vec<WeightedPath>), Error> {
        let scripts = self.scripts(options, text, is_command)?;
        let mut requests = Requests::new(options.mode == Mode::Simple);
        let mut paths = Vec::new();
        for (script, title, script_paths) in scripts {
            let file = if script.is_built_in || !is_command { String::new() } else { script.name.clone() };
            for script_path in script_paths {
                let weight = script_path.weight * f64::from(script.weight);
                let path =
                    requests.add_path(script_path, &title).map_err(|at| self.script_error(&script, is_command, at))?;
                if weight > 0.0 {
                    paths.push((title.clone(), weight, path));
                }
            }
            for (line, element, message) in requests.notes.drain(..) {
                let element = match (file.is_empty(), element.is_empty()) {
                    (true, _) => element,
                    (false, true) => format!("of {file}"),
                    (false, false) => format!("of {file} {element}"),
                };
                self.note(if script.is_built_in { 0 } else { line }, element, message);
            }
        }
        Ok((requests, paths))
    }

    /// Options of the one pgbench command in `text` that generates load.
    fn command(&mut self, text: &str) -> Result<Options, Error> {
        let commands = shell::commands(text)
            .map_err(|line| self.error_at((line, "unclosed quote; the command is truncated".to_owned())))?;
        let mut found: Option<Options> = None;
        for command in &commands {
            let first = command.words.iter().find(|word| !word.as_literal().contains('='));
            let line = command.words.first().map_or(1, |word| word.line);
            if options::arguments(command).is_none() {
                if let Some(first) = first {
                    self.note(line, first.text.to_display(), "is not a pgbench command; left out");
                }
                continue;
            }
            let value = |name: &str| self.options.variable(name).map(str::to_owned);
            let options = Options::read(command, &value).map_err(|at| self.error_at(at))?;
            if options.initialize {
                self.note(line, "pgbench -i", "creates tables and generates no load; run this command before the test");
            } else if let Some(first) = found.replace(options) {
                let message = format!(
                    "a second pgbench command; a workload is translated from one command, and the first is in line {}",
                    first.line
                );
                return Err(self.error_at((line, message)));
            }
        }
        found.ok_or_else(|| {
            let message = "no pgbench command that generates load; -i only creates tables";
            self.error_at((1, message.to_owned()))
        })
    }

    /// An error at a line of a script.
    fn script_error(&self, script: &Script, is_command: bool, at: LineError) -> Error {
        match is_command {
            true => Error::Line { file: script.name.clone(), line: at.0, message: at.1 },
            false => self.error_at(at),
        }
    }

    /// All scripts with their titles and the paths through them.
    fn scripts(
        &mut self,
        options: &Options,
        text: &str,
        is_command: bool,
    ) -> Result<Vec<(Script, String, Vec<ScriptPath>)>, Error> {
        let mut known: BTreeMap<String, Expression> = BTreeMap::new();
        known.insert("scale".to_owned(), Expression::Value(Value::Integer(options.scale.unwrap_or(1))));
        if options.rate.is_none() {
            known.insert("client_id".to_owned(), Expression::ClientId);
        }
        known.extend(options.defined.iter().map(|(name, value)| (name.clone(), Expression::Text(value.clone()))));
        let mut preset = Vec::new();
        for (name, value) in self.options.variables.into_iter().flatten() {
            preset.push(name.clone());
            known.insert(name.clone(), Expression::Text(value.clone()));
        }
        let mut read = Vec::new();
        for script in &options.scripts {
            let of = |at| self.script_error(script, is_command, at);
            let (script, text, title) = if script.is_built_in {
                let (name, text) =
                    built_in::script(&script.name).map_err(|message| self.error_at((script.line, message)))?;
                (Script { name: name.to_owned(), ..script.clone() }, text.to_owned(), name.to_owned())
            } else if is_command {
                let included = self.options.read_include.filter(|_| script.name != "-");
                let cannot = |why: String| self.error_at((script.line, format!("-f {}: {why}", script.name)));
                let read = included.ok_or_else(|| cannot("no such file next to the command".to_owned()))?;
                (script.clone(), read(&script.name).map_err(cannot)?, title(&script.name))
            } else {
                (script.clone(), text.to_owned(), title(&script.name))
            };
            let text = text.trim_start_matches('\u{feff}').to_owned();
            let commands = script::commands(&text).map_err(of)?;
            read.push((script, title, commands));
        }
        let mut assigned: Vec<String> =
            read.iter().flat_map(|(.., commands)| paths::assigned_variables(commands)).collect();
        if options.rate.is_some() {
            assigned.push("client_id".to_owned());
        }
        let simple_protocol = options.mode == Mode::Simple;
        let outside = Outside { known: &known, preset: &preset, assigned: &assigned, simple_protocol };
        if read.iter().any(|(script, ..)| script.is_built_in) {
            let message = match options.scale.is_some() {
                true => {
                    "for built-in scripts pgbench takes the scale from the rows of pgbench_branches; here it is taken from the option"
                }
                false => {
                    "pgbench takes the scale from the rows of pgbench_branches; here it is 1 unless you set -s or -D scale=..."
                }
            };
            if !known.get("scale").is_some_and(|scale| matches!(scale, Expression::Text(_))) {
                self.note(options.line, "-s", message);
            }
        }
        let script_paths = |(script, title, commands): (Script, String, Vec<script::Command>)| {
            let script_paths =
                paths::enumerate(&commands, &outside).map_err(|at| self.script_error(&script, is_command, at))?;
            Ok((script, title, script_paths))
        };
        read.into_iter().map(script_paths).collect()
    }

    /// The URL of the database, from the command, its environment variables, or values set by the user (as in libpq).
    fn url(&self, options: &Options) -> Result<Url, Error> {
        let known = |name: &str| {
            let given = self.options.variable(name).or_else(|| options.environment(name));
            given.filter(|value| !value.is_empty()).map(str::to_owned)
        };
        let unnamed = |name: &str| Error::UnresolvedHost {
            file: self.file.to_owned(),
            element: if options.line > 0 {
                format!("line {} `pgbench`", options.line)
            } else {
                "the script".to_owned()
            },
            kind: ParameterKind::Variable,
            name: name.to_owned(),
        };
        let wrong = |message: String| self.error_at((options.line.max(1), message));
        if let Some(url) = options.database.as_ref().filter(|name| name.contains("://")) {
            return url.parse().map_err(|why: offered_base::InvalidValue| wrong(why.to_string()));
        }
        if options.database.as_ref().is_some_and(|name| name.contains('=')) {
            return Err(wrong(
                "the connection is given as keyword/value pairs; write a URL instead: postgres://user@host/database"
                    .to_owned(),
            ));
        }
        let host = options.host.clone().or_else(|| known("PGHOST")).ok_or_else(|| unnamed("PGHOST"))?;
        let user = options.user.clone().or_else(|| known("PGUSER")).ok_or_else(|| unnamed("PGUSER"))?;
        let database = options.database.clone().or_else(|| known("PGDATABASE")).unwrap_or_else(|| user.clone());
        let port = options.port.clone().or_else(|| known("PGPORT")).unwrap_or_else(|| "5432".to_owned());
        let port: u16 = port.parse().map_err(|_| wrong(format!("`{port}` is not a port number")))?;
        if host.contains(',') {
            return Err(wrong("several hosts are not supported; a workload has one target".to_owned()));
        }
        let setting = |name: &str, variable: &str| known(variable).map(|value| (name.to_owned(), value));
        let settings = setting("application_name", "PGAPPNAME").into_iter().chain(setting("options", "PGOPTIONS"));
        let encryption = known("PGSSLMODE").map_or(Ok(offered_workload::Encryption::default()), |mode| {
            mode.parse().map_err(|why: offered_base::InvalidValue| wrong(why.to_string()))
        })?;
        let address = match host.starts_with('/') {
            true => Address::Unix(format!("{host}/.s.PGSQL.{port}")),
            false => Address::Tcp { host, port },
        };
        let secure = matches!(address, Address::Tcp { .. }) && encryption != offered_workload::Encryption::Disabled;
        let login = Login { user, password: None, database, encryption, settings: settings.collect() };
        let url = Url { address, path: "/".to_owned(), secure, login: Some(Box::new(login)) };
        match url.to_string().parse::<Url>() {
            Ok(same) if same == url => Ok(url),
            _ => Err(wrong("the connection cannot be written as a URL".to_owned())),
        }
    }

    /// Notes general differences to pgbench.
    fn note_differences(&mut self, options: &Options, is_command: bool, requests: &Requests, clients: u64) {
        let line = options.line;
        let anew = match options.mode {
            Mode::Simple => Some((
                "-M simple",
                "sends statements with inline values, which are parsed and planned each time; here they are prepared once",
            )),
            Mode::Extended => Some(("-M extended", "statements are parsed each time; here they are prepared once")),
            Mode::Prepared => None,
        };
        if let Some((element, message)) = anew {
            self.note(line, element, message);
        }
        if is_command && !options.no_vacuum {
            let message = "without -n pgbench truncates pgbench_history and vacuums pgbench_branches and pgbench_tellers before the run; here nothing is done";
            self.note(line, "-n", message);
        }
        if !options.continue_on_error {
            let message = "an SQL error other than a serialization failure or deadlock ends a pgbench client; here that request fails and the next one starts";
            self.note(line, "", message);
        }
        if let Some(stateful) = requests.stateful.first().filter(|_| clients > 1 || options.rate.is_some()) {
            let message = "changes the state of its connection; each pgbench client has its own connection, here connections are shared by all users";
            self.note(stateful.0, stateful.1.clone(), message);
        }
        for (line, element, message) in options.ignored.clone() {
            self.note(line, element, message);
        }
    }

    /// Notes differences with a rate (`-R`).
    fn note_rate_differences(&mut self, options: &Options, first: &Delay, many: bool) {
        let mut note = |message: &str| {
            self.notes.push(Note { line: options.line, element: "-R".to_owned(), message: message.to_owned() });
        };
        if options.threads.is_some_and(|threads| threads > 1) {
            note(
                "with -j each thread of pgbench has its own share of arrivals and clients; here each arrival takes any free connection",
            );
        }
        if many {
            note(
                "a pgbench client keeps its connection for the whole script; here each statement or block takes any free connection",
            );
        }
        if !first.is_zero() {
            note(
                "the script waits before its first statement; here the first statement is sent when the transaction arrives",
            );
        }
    }
}

/// The steps of a path. If users repeat it, the wait before the first step follows the last one.
fn steps(path: &PathRequests, usual: &Delay, requests: &Requests, again: bool) -> Vec<Step> {
    let last = path.steps.len() - 1;
    let (mut steps, mut names) = (Vec::new(), UniqueNames::default());
    for (here, (at, pause)) in path.steps.iter().enumerate() {
        let request = requests.all[*at].name.clone();
        let name = names.take(&request);
        let pause = if here == last && again { pause.plus(&path.initial_wait) } else { pause.clone() };
        let think = (pause.distribution() != usual.distribution()).then(|| pause.distribution().0);
        steps.push(Step {
            name,
            request,
            repeat: 1,
            think,
            only_if: None,
            until: None,
            next: vec![((here < last).then_some(here + 1), 1.0)],
        });
    }
    steps
}

/// File name without folder and extension.
fn title(file: &str) -> String {
    let name = file_name(file);
    name.strip_suffix(".sql").unwrap_or(name).to_owned()
}
