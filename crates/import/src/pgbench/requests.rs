//! Requests of the paths through scripts, with their variables.

use offered_distributions::Distribution;
use offered_workload::Template;
use offered_workload::script::{Check, Extraction, Find, IfMissing, Sizes, Test, Which};
use offered_workload::{Sql, Statement};

pub(super) use offered_workload::script::Per;

use super::LineError;
use super::expression::{Expression, Value};
use super::paths::{Draw, Part, ScriptPath, ScriptStatement, Step, may_have_column};
use super::script::{Token, next_token};
use crate::delay::Delay;
use crate::plan::{self, Request, Variable};
use crate::text::{self, Text};
use crate::unique_names::UniqueNames;

/// Integer functions that SQL evaluates like pgbench.
const SQL_FUNCTIONS: [&str; 8] = ["+", "-", "*", "/", "mod", "abs", "least", "greatest"];

const SPLIT_RANGE: &str = "conditions split its range into pieces, which no distribution of a workload can express";

/// The requests of a path (indices), each with the wait after it.
pub(super) struct PathRequests {
    /// Wait before the first request.
    pub(super) initial_wait: Delay,
    pub(super) steps: Vec<(usize, Delay)>,
}

/// Origin of a variable of the workload.
#[derive(Clone, Debug, PartialEq)]
enum VariableOrigin {
    /// A random number: variable name, bounds, and index among equal draws on its path.
    Draw(String, i64, i64, usize),
    /// A query result: variable name and index among the values of that name.
    Extracted(String, usize),
}

#[derive(Default)]
pub(super) struct Requests {
    /// Whether constants are substituted into the statement text (`-M simple`).
    simple_protocol: bool,
    pub(super) all: Vec<Request>,
    request_names: UniqueNames,
    names: Vec<(VariableOrigin, String)>,
    /// Notes: line, element and message.
    pub(super) notes: Vec<(usize, String, String)>,
    /// Statements that change the state of their connection.
    pub(super) stateful: Vec<(usize, String)>,
}

/// An open transaction block.
struct Block {
    line: usize,
    sources: Vec<ScriptStatement>,
    statements: Vec<Statement>,
    extract: Vec<Extraction>,
}

/// Effect of a statement on transaction blocks.
enum TransactionEffect {
    Begins,
    Ends,
    Plain,
}

impl Requests {
    pub(super) fn new(simple_protocol: bool) -> Self {
        Self { simple_protocol, ..Self::default() }
    }

    fn note(&mut self, line: usize, element: &str, message: String) {
        let note = (line, element.to_owned(), message);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Adds the requests of a path through the script `title`.
    pub(super) fn add_path(&mut self, way: ScriptPath, title: &str) -> Result<PathRequests, LineError> {
        let draws: Vec<Option<VariableOrigin>> =
            (0..way.draws.len()).map(|draw| draw_origin(&way.draws, draw)).collect();
        let mut walk = PathRequests { initial_wait: Delay::default(), steps: Vec::new() };
        let mut requests: Vec<Request> = Vec::new();
        let mut pauses: Vec<Delay> = Vec::new();
        let mut block: Option<Block> = None;
        for step in &way.steps {
            let ask = match step {
                Step::Pause(line, time, unit) => {
                    if block.is_some() {
                        return Err((
                            *line,
                            "\\sleep between BEGIN and END; a transaction is one request without pauses".to_owned(),
                        ));
                    }
                    let pause = self.pause(*line, time, *unit, &way)?;
                    let before = pauses.last_mut().unwrap_or(&mut walk.initial_wait);
                    *before = before.plus(&pause);
                    continue;
                }
                Step::Statement(ask) => ask,
            };
            match (transaction_effect(ask)?, &mut block) {
                (TransactionEffect::Begins, Some(_)) => {
                    return Err((ask.line, "BEGIN inside a transaction".to_owned()));
                }
                (TransactionEffect::Begins, none) => {
                    let line = ask.line;
                    *none = Some(Block { line, sources: Vec::new(), statements: Vec::new(), extract: Vec::new() });
                }
                (TransactionEffect::Ends, _) => {
                    let Some(open) = block.take() else {
                        return Err((ask.line, "END outside of a transaction".to_owned()));
                    };
                    if open.statements.is_empty() {
                        return Err((
                            open.line,
                            "empty transaction; at least one statement is needed between BEGIN and END".to_owned(),
                        ));
                    }
                    let sql = Sql { statements: open.statements, is_transaction: true, class: None };
                    requests.push(Request { sql: Some(sql), extract: open.extract, ..Request::default() });
                    pauses.push(Delay::default());
                }
                (TransactionEffect::Plain, Some(open)) => {
                    let statement = self.statement(ask, &draws)?;
                    self.check_in_transaction(ask, open)?;
                    open.statements.push(statement);
                    open.sources.push(ask.clone());
                }
                (TransactionEffect::Plain, None) => {
                    let statement = self.statement(ask, &draws)?;
                    let sql = Sql { statements: vec![statement], is_transaction: false, class: None };
                    let one = Check {
                        name: "rows = 1".to_owned(),
                        test: Test::Rows(Sizes { least: 1, most: 1 }),
                        negated: false,
                    };
                    let check = ask.gset.is_some().then_some(one).into_iter().collect();
                    requests.push(Request {
                        sql: Some(sql),
                        extract: self.extractions(ask),
                        check,
                        ..Request::default()
                    });
                    pauses.push(Delay::default());
                    self.note_session_state(ask);
                }
            }
        }
        if let Some(open) = block {
            return Err((open.line, "the transaction that starts here does not end in this script".to_owned()));
        }
        let alone = requests.len() == 1;
        for (request, pause) in requests.into_iter().zip(pauses) {
            let wanted = if alone { title.to_owned() } else { title_of(&request) };
            walk.steps.push((self.find_or_add(&wanted, request), pause));
        }
        Ok(walk)
    }

    fn named(&mut self, origin: VariableOrigin) -> String {
        if let Some((_, name)) = self.names.iter().find(|(other, _)| *other == origin) {
            return name.clone();
        }
        let (VariableOrigin::Draw(wanted, ..) | VariableOrigin::Extracted(wanted, _)) = &origin;
        let wanted = text::variable_name(wanted);
        let is_free = |name: &str| !self.names.iter().any(|(_, other)| other == name);
        let numbered = (2..u32::MAX).map(|number| format!("{wanted}_{number}"));
        let name =
            std::iter::once(wanted.clone()).chain(numbered).find(|name| is_free(name)).expect("some number is free");
        self.names.push((origin, name.clone()));
        name
    }

    /// A statement with its parameters.
    fn statement(
        &mut self,
        source: &ScriptStatement,
        draws: &[Option<VariableOrigin>],
    ) -> Result<Statement, LineError> {
        let (mut text, mut parameters) = (String::new(), Vec::new());
        for part in &source.parts {
            let (name, value) = match part {
                Part::Literal(said) => {
                    text.push_str(said);
                    continue;
                }
                Part::Value(name, value) => (name, value),
            };
            let fixed = match value {
                Expression::Value(value) => Some(value.to_string()),
                Expression::Text(text) => Some(text.clone()),
                _ => None,
            };
            if let Some(fixed) = fixed {
                if self.simple_protocol {
                    text.push_str(&fixed);
                } else {
                    parameters.push(Some(Template::literal(&fixed)));
                    text.push_str(&format!("${}", parameters.len()));
                }
                continue;
            }
            let written = self
                .sql_of(source.line, value, draws, &mut parameters)
                .map_err(|why| (source.line, format!("`:{name}`: {why}")))?;
            if matches!(value, Expression::Call(..)) {
                let message =
                    "is computed by the database as a bigint; pgbench computes it and sends the result".to_owned();
                self.note(source.line, &format!("`:{name}`"), message);
            }
            if self.simple_protocol && matches!(value, Expression::Extracted(..)) {
                let message = "is inline text with -M simple; here it is a parameter, and the server infers its type";
                self.note(source.line, &format!("`:{name}`"), message.to_owned());
            }
            text.push_str(&written);
        }
        Ok(Statement { text, parameters })
    }

    /// The SQL text for a value that changes from request to request.
    fn sql_of(
        &mut self,
        line: usize,
        value: &Expression,
        draws: &[Option<VariableOrigin>],
        parameters: &mut Vec<Option<Template>>,
    ) -> Result<String, String> {
        let mut place = |name: &str| {
            parameters.push(Some(Text::variable(name).template()));
            format!("${}", parameters.len())
        };
        // An inline number is an int if it is small enough; the type of a parameter is inferred by the server.
        let small = |low: i64, high: i64| i32::try_from(low).is_ok() && i32::try_from(high).is_ok();
        match value {
            Expression::ClientId if self.simple_protocol => Ok(place("session") + "::int"),
            Expression::ClientId => Ok(place("session")),
            Expression::Extracted(name, number) => {
                let name = self.named(VariableOrigin::Extracted(name.clone(), *number));
                Ok(place(&name))
            }
            Expression::Draw(draw) => {
                let origin = draws[*draw].clone().ok_or(SPLIT_RANGE)?;
                let type_of = match &origin {
                    _ if !self.simple_protocol => "",
                    VariableOrigin::Draw(_, low, high, _) if small(*low, *high) => "::int",
                    VariableOrigin::Draw(_, low, high, _) => {
                        if small(*low, *low) || small(*high, *high) {
                            let message = "is always a bigint; in pgbench small values are int literals";
                            self.note(line, "", message.to_owned());
                        }
                        "::bigint"
                    }
                    VariableOrigin::Extracted(..) => "",
                };
                Ok(place(&self.named(origin)) + type_of)
            }
            Expression::Value(Value::Integer(number)) if *number < 0 => Ok(format!("({number})")),
            Expression::Value(Value::Integer(number)) => Ok(number.to_string()),
            Expression::Call(called, arguments) if SQL_FUNCTIONS.contains(called) => {
                let mut sides = Vec::new();
                for argument in arguments {
                    sides.push(match argument {
                        Expression::Draw(draw) => {
                            let name = self.named(draws[*draw].clone().ok_or(SPLIT_RANGE)?);
                            parameters.push(Some(Text::variable(&name).template()));
                            format!("${}::bigint", parameters.len())
                        }
                        other => self.sql_of(line, other, draws, parameters)?,
                    });
                }
                Ok(match sides.as_slice() {
                    [left, right] if "+-*/".contains(called) => format!("({left} {called} {right})"),
                    sides => format!("{called}({})", sides.join(", ")),
                })
            }
            Expression::Call(called, _) => Err(format!("`{called}` of a random number is not supported")),
            other => match other.value(&|_| 0)? {
                Value::Integer(number) => Ok(format!("({number})")),
                _ => Err("only integer expressions of random numbers are supported".to_owned()),
            },
        }
    }

    fn extractions(&mut self, source: &ScriptStatement) -> Vec<Extraction> {
        let taken = |(column, name, number): &(String, String, usize)| Extraction {
            name: self.named(VariableOrigin::Extracted(name.clone(), *number)),
            find: Find::Column(column.clone()),
            which: Which::Nth(1),
            if_missing: IfMissing::Fail,
        };
        source.takes.iter().map(taken).collect()
    }

    /// Checks a statement inside a transaction, whose results are only available at the end of the transaction.
    fn check_in_transaction(&mut self, source: &ScriptStatement, open: &mut Block) -> Result<(), LineError> {
        let uses = |name: &str| {
            source
                .parts
                .iter()
                .any(|part| matches!(part, Part::Value(_, Expression::Extracted(taken, _)) if taken == name))
        };
        let early = open.sources.iter().flat_map(|before| &before.takes).find(|(_, name, _)| uses(name));
        if let Some((_, name, _)) = early {
            let message = format!(
                "`:{name}` is a result of the same transaction; here a transaction is one request, and its results are available at its end"
            );
            return Err((source.line, message));
        }
        if source.gset.is_some() {
            let message = "pgbench ends a client if \\gset does not get exactly one row; inside a transaction this is not checked here";
            self.note(source.line, "\\gset", message.to_owned());
        }
        for (column, name, _) in open.sources.iter().chain([source]).flat_map(|source| &source.takes) {
            let having = open
                .sources
                .iter()
                .chain([source])
                .filter(|source| may_have_column(&source.literal_text(), column))
                .count();
            if having > 1 {
                let message = format!(
                    "`:{name}`: two statements of the transaction may return a column `{column}`; use different names"
                );
                return Err((source.line, message));
            }
        }
        open.extract.extend(self.extractions(source));
        Ok(())
    }

    fn note_session_state(&mut self, source: &ScriptStatement) {
        let said = words(&source.literal_text());
        let first = said.first().map_or("", String::as_str);
        let keeps = [
            "set",
            "reset",
            "prepare",
            "execute",
            "deallocate",
            "declare",
            "fetch",
            "listen",
            "unlisten",
            "discard",
            "load",
        ];
        let knows = ["temp", "temporary", "currval", "lastval", "set_config"];
        let locks = |word: &String| word.starts_with("pg_") && word.contains("advisory_lock");
        if keeps.contains(&first) || said.iter().any(|word| knows.contains(&word.as_str()) || locks(word)) {
            self.stateful.push((source.line, format!("`{}`", said.join(" ").chars().take(60).collect::<String>())));
        }
    }

    fn pause(&mut self, line: usize, time: &Expression, unit: u32, way: &ScriptPath) -> Result<Delay, LineError> {
        let secs = |number: i64| number as f64 * f64::from(unit) / 1e6;
        let wrong = |message: &str| (line, format!("\\sleep: {message}"));
        match time {
            Expression::Value(value) => {
                value.integer().map(|number| Delay::constant(secs(number))).map_err(|why| wrong(&why))
            }
            Expression::Text(text) => {
                let value = Value::parse(text).and_then(Value::integer).map_err(|why| wrong(&why))?;
                Ok(Delay::constant(secs(value)))
            }
            Expression::Draw(draw) => {
                let often = way.steps.iter().map(|step| match step {
                    Step::Pause(_, time, _) => usize::from(time.draws().contains(draw)),
                    Step::Statement(source) => {
                        let uses = |part: &&Part| matches!(part, Part::Value(_, value) if value.draws().contains(draw));
                        source.parts.iter().filter(uses).count()
                    }
                });
                if often.sum::<usize>() > 1 || way.conditioned_draws.contains(draw) {
                    return Err(wrong("the random number is also used elsewhere; think times are independent"));
                }
                let (low, high) = way.draws[*draw].ranges[0];
                let law = Distribution::uniform(secs(low), secs(high)).map_err(|_| wrong("negative time"))?;
                self.note(line, "\\sleep", "the time is continuous; pgbench draws whole units".to_owned());
                Ok(Delay::from_distribution(law))
            }
            _ => Err(wrong("the time is an expression of random numbers, or a query result")),
        }
    }

    /// Returns the index of an equal request; adds the request if there is none.
    fn find_or_add(&mut self, wanted: &str, mut request: Request) -> usize {
        let same = |other: &Request| {
            request.name.clone_from(&other.name);
            *other == request
        };
        if let Some(at) = self.all.iter().position(same) {
            return at;
        }
        let name = self.request_names.take(wanted);
        self.all.push(Request { name, weight: 0.0, ..request });
        self.all.len() - 1
    }

    /// All random variables that the requests use.
    pub(super) fn variables(&self, per: Per) -> Vec<Variable> {
        let source = |name: &str| {
            let statements = self.all.iter().filter_map(|request| request.sql.as_ref());
            statements.flat_map(Sql::templates).flat_map(Template::names).any(|other| *other.variable == *name)
        };
        let drawn = |(origin, name): &(VariableOrigin, String)| match origin {
            VariableOrigin::Draw(_, low, high, _) if source(name) => {
                Some(Variable { name: name.clone(), value: plan::ValueSource::UniformInteger(*low, *high), per })
            }
            _ => None,
        };
        self.names.iter().filter_map(drawn).collect()
    }
}

/// The variable for a draw of a path; `None` if its range is split into pieces.
fn draw_origin(draws: &[Draw], at: usize) -> Option<VariableOrigin> {
    let like = |draw: &&Draw| draw.name == draws[at].name && draw.ranges == draws[at].ranges;
    match draws[at].ranges.as_slice() {
        [(low, high)] => {
            Some(VariableOrigin::Draw(draws[at].name.clone(), *low, *high, draws[..at].iter().filter(like).count()))
        }
        _ => None,
    }
}

/// Default name of a request: its first statement, shortened.
fn title_of(request: &Request) -> String {
    let first = request.sql.as_ref().and_then(|sql| sql.statements.first()).map_or("", |statement| &*statement.text);
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{} ...", line[..end].trim_end()),
        None => line,
    }
}

/// Words of a statement in lower case, without comments.
fn words(statement: &str) -> Vec<String> {
    let (mut plain, mut rest) = (String::new(), statement);
    while !rest.is_empty() {
        let (bytes, is_said) = match next_token(rest, plain.chars().next_back()) {
            Token::Plain(bytes) => (bytes, true),
            Token::Quoted(bytes) | Token::Comment(bytes) => (bytes, false),
        };
        plain.push_str(if is_said { &rest[..bytes] } else { " ' " });
        rest = &rest[bytes..];
    }
    let named = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    plain
        .to_lowercase()
        .split(|c| !named(c))
        .filter(|word| !word.is_empty() && *word != "'")
        .map(str::to_owned)
        .collect()
}

/// Effect of a statement on transaction blocks.
///
/// # Errors
/// The statement is not supported in workloads.
fn transaction_effect(source: &ScriptStatement) -> Result<TransactionEffect, LineError> {
    let words = words(&source.literal_text());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let wrong = |message: &str| Err((source.line, message.to_owned()));
    match words.as_slice() {
        ["begin"] | ["begin", "work" | "transaction"] | ["start", "transaction"] => Ok(TransactionEffect::Begins),
        ["commit" | "end"] | ["commit" | "end", "work" | "transaction"] => Ok(TransactionEffect::Ends),
        ["begin" | "start", ..] => wrong(
            "BEGIN with transaction modes is not supported; write BEGIN, and set default_transaction_isolation etc. for the connection (on_connect or PGOPTIONS)",
        ),
        ["rollback", "to", ..] => Ok(TransactionEffect::Plain),
        ["rollback" | "abort", ..] => wrong("ROLLBACK is not supported; transactions of a workload end with COMMIT"),
        ["commit" | "end", ..] | ["prepare", "transaction", ..] => {
            wrong("chained and prepared transactions are not supported")
        }
        ["copy", ..] => wrong("COPY is not supported"),
        _ => Ok(TransactionEffect::Plain),
    }
}
