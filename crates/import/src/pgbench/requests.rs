//! The requests that a way through a script makes, with the variables they ask for.

use offered_model::workload::script::{Check, Extraction, Find, Otherwise, Sizes, Test, Which};
use offered_model::workload::{Sql, Statement};
use offered_model::{Law, Template};

pub(super) use offered_model::workload::script::Per;

use super::At;
use super::expression::{Expression, Value};
use super::paths::{Asked, Draw, Part, Step, Way, may_have};
use super::script::{Said, begins_with};
use crate::delay::Delay;
use crate::plan::{self, Request, Variable, unlike};
use crate::text::{self, Text};

/// Functions of whole numbers that SQL computes as pgbench does.
const COMPUTED: [&str; 8] = ["+", "-", "*", "/", "mod", "abs", "least", "greatest"];

const PIECES: &str = "conditions have left pieces of the range that it is drawn from, which no law of a workload is";

/// One run through a script: requests (an index) and what is waited after each.
pub(super) struct Walk {
    /// What is waited before the first.
    pub(super) first: Delay,
    pub(super) steps: Vec<(usize, Delay)>,
}

/// What a workload's variable is.
#[derive(Clone, Debug, PartialEq)]
enum Origin {
    /// Drawn for this variable between these, the how manieth of the like on its way.
    Drawn(String, i64, i64, usize),
    /// Taken from an answer, the how manieth of that name.
    Taken(String, usize),
}

#[derive(Default)]
pub(super) struct Requests {
    /// Whether values stand in statements as they are.
    pasted: bool,
    pub(super) all: Vec<Request>,
    names: Vec<(Origin, String)>,
    /// The lines of what is said otherwise, with what stands there.
    pub(super) notes: Vec<(usize, String, String)>,
    /// Statements that change what their connection knows.
    pub(super) stateful: Vec<(usize, String)>,
}

/// A transaction that is open.
struct Block {
    line: usize,
    asked: Vec<Asked>,
    statements: Vec<Statement>,
    extract: Vec<Extraction>,
}

/// What a statement does to transactions.
enum Kind {
    Begins,
    Ends,
    Plain,
}

impl Requests {
    pub(super) fn new(pasted: bool) -> Self {
        Self { pasted, ..Self::default() }
    }

    fn note(&mut self, line: usize, element: &str, what: String) {
        let note = (line, element.to_owned(), what);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// What is walked through on a way through the script of this title.
    pub(super) fn walk(&mut self, way: Way, title: &str) -> Result<Walk, At> {
        let draws: Vec<Option<Origin>> = (0..way.draws.len()).map(|draw| drawn(&way.draws, draw)).collect();
        let mut walk = Walk { first: Delay::default(), steps: Vec::new() };
        let mut asked: Vec<Request> = Vec::new();
        let mut pauses: Vec<Delay> = Vec::new();
        let mut block: Option<Block> = None;
        for step in &way.steps {
            let ask = match step {
                Step::Pause(line, time, unit) => {
                    if block.is_some() {
                        return Err((
                            *line,
                            "\\sleep between BEGIN and END; a transaction is one launch, without pauses".to_owned(),
                        ));
                    }
                    let pause = self.pause(*line, time, *unit, &way)?;
                    let before = pauses.last_mut().unwrap_or(&mut walk.first);
                    *before = before.plus(&pause);
                    continue;
                }
                Step::Ask(ask) => ask,
            };
            match (kind(ask)?, &mut block) {
                (Kind::Begins, Some(_)) => return Err((ask.line, "BEGIN where a transaction is open".to_owned())),
                (Kind::Begins, none) => {
                    let line = ask.line;
                    *none = Some(Block { line, asked: Vec::new(), statements: Vec::new(), extract: Vec::new() });
                }
                (Kind::Ends, _) => {
                    let Some(open) = block.take() else {
                        return Err((ask.line, "END where no transaction is open".to_owned()));
                    };
                    if open.statements.is_empty() {
                        return Err((
                            open.line,
                            "nothing is said between BEGIN and END; a transaction is at least one statement".to_owned(),
                        ));
                    }
                    let sql = Sql { statements: open.statements, is_transaction: true, class: None };
                    asked.push(Request { sql: Some(sql), extract: open.extract, ..Request::default() });
                    pauses.push(Delay::default());
                }
                (Kind::Plain, Some(open)) => {
                    let statement = self.statement(ask, &draws)?;
                    self.within(ask, open)?;
                    open.statements.push(statement);
                    open.asked.push(ask.clone());
                }
                (Kind::Plain, None) => {
                    let statement = self.statement(ask, &draws)?;
                    let sql = Sql { statements: vec![statement], is_transaction: false, class: None };
                    let one = Check { name: "rows = 1".to_owned(), test: Test::Rows(Sizes { least: 1, most: 1 }) };
                    let check = ask.gset.is_some().then_some(one).into_iter().collect();
                    asked.push(Request { sql: Some(sql), extract: self.extractions(ask), check, ..Request::default() });
                    pauses.push(Delay::default());
                    self.look_at_state(ask);
                }
            }
        }
        if let Some(open) = block {
            return Err((open.line, "the transaction that begins here does not end in its script".to_owned()));
        }
        let alone = asked.len() == 1;
        for (request, pause) in asked.into_iter().zip(pauses) {
            let wanted = if alone { title.to_owned() } else { shown(&request) };
            walk.steps.push((self.same_or_new(&wanted, request), pause));
        }
        Ok(walk)
    }

    fn named(&mut self, origin: Origin) -> String {
        if let Some((_, name)) = self.names.iter().find(|(other, _)| *other == origin) {
            return name.clone();
        }
        let (Origin::Drawn(wanted, ..) | Origin::Taken(wanted, _)) = &origin;
        let wanted = text::name(wanted);
        let is_free = |name: &str| !self.names.iter().any(|(_, other)| other == name);
        let numbered = (2..u32::MAX).map(|number| format!("{wanted}_{number}"));
        let name =
            std::iter::once(wanted.clone()).chain(numbered).find(|name| is_free(name)).expect("some number is free");
        self.names.push((origin, name.clone()));
        name
    }

    /// A statement with its parameters, each where its value stands.
    fn statement(&mut self, asked: &Asked, draws: &[Option<Origin>]) -> Result<Statement, At> {
        let (mut text, mut parameters) = (String::new(), Vec::new());
        for part in &asked.parts {
            let (name, value) = match part {
                Part::Said(said) => {
                    text.push_str(said);
                    continue;
                }
                Part::Value(name, value) => (name, value),
            };
            let fixed = match value {
                Expression::Is(value) => Some(value.to_string()),
                Expression::Text(text) => Some(text.clone()),
                _ => None,
            };
            if let Some(fixed) = fixed {
                if self.pasted {
                    text.push_str(&fixed);
                } else {
                    parameters.push(Some(Template::literal(&fixed)));
                    text.push_str(&format!("${}", parameters.len()));
                }
                continue;
            }
            let written = self
                .computed(asked.line, value, draws, &mut parameters)
                .map_err(|why| (asked.line, format!("`:{name}`: {why}")))?;
            if matches!(value, Expression::Call(..)) {
                let what =
                    "is computed by the database, as a bigint; pgbench computes it and sends the number".to_owned();
                self.note(asked.line, &format!("`:{name}`"), what);
            }
            if self.pasted && matches!(value, Expression::Taken(..)) {
                let what = "is pasted into the statement by -M simple; here it is a parameter, of the type that the server finds for it";
                self.note(asked.line, &format!("`:{name}`"), what.to_owned());
            }
            text.push_str(&written);
        }
        Ok(Statement { text, parameters })
    }

    /// What stands in a statement for a value that is another each time.
    fn computed(
        &mut self,
        line: usize,
        value: &Expression,
        draws: &[Option<Origin>],
        parameters: &mut Vec<Option<Template>>,
    ) -> Result<String, String> {
        let mut place = |name: &str| {
            parameters.push(Some(Text::value(name).template()));
            format!("${}", parameters.len())
        };
        // A number that is pasted is an int where it is small enough; a parameter is what the server makes of it.
        let small = |low: i64, high: i64| i32::try_from(low).is_ok() && i32::try_from(high).is_ok();
        match value {
            Expression::Client if self.pasted => Ok(place("session") + "::int"),
            Expression::Client => Ok(place("session")),
            Expression::Taken(name, number) => {
                let name = self.named(Origin::Taken(name.clone(), *number));
                Ok(place(&name))
            }
            Expression::Drawn(draw) => {
                let origin = draws[*draw].clone().ok_or(PIECES)?;
                let type_of = match &origin {
                    _ if !self.pasted => "",
                    Origin::Drawn(_, low, high, _) if small(*low, *high) => "::int",
                    Origin::Drawn(_, low, high, _) => {
                        if small(*low, *low) || small(*high, *high) {
                            let what =
                                "is a bigint also where pgbench would paste a number that is small enough for an int";
                            self.note(line, "", what.to_owned());
                        }
                        "::bigint"
                    }
                    Origin::Taken(..) => "",
                };
                Ok(place(&self.named(origin)) + type_of)
            }
            Expression::Is(Value::Whole(number)) if *number < 0 => Ok(format!("({number})")),
            Expression::Is(Value::Whole(number)) => Ok(number.to_string()),
            Expression::Call(called, arguments) if COMPUTED.contains(called) => {
                let mut sides = Vec::new();
                for argument in arguments {
                    sides.push(match argument {
                        Expression::Drawn(draw) => {
                            let name = self.named(draws[*draw].clone().ok_or(PIECES)?);
                            parameters.push(Some(Text::value(&name).template()));
                            format!("${}::bigint", parameters.len())
                        }
                        other => self.computed(line, other, draws, parameters)?,
                    });
                }
                Ok(match sides.as_slice() {
                    [left, right] if "+-*/".contains(called) => format!("({left} {called} {right})"),
                    sides => format!("{called}({})", sides.join(", ")),
                })
            }
            Expression::Call(called, _) => {
                Err(format!("`{called}` of a number that is drawn is not computed while the load runs"))
            }
            other => match other.value(&|_| 0)? {
                Value::Whole(number) => Ok(format!("({number})")),
                _ => Err("of drawn numbers only whole ones are computed while the load runs".to_owned()),
            },
        }
    }

    fn extractions(&mut self, asked: &Asked) -> Vec<Extraction> {
        let taken = |(column, name, number): &(String, String, usize)| Extraction {
            name: self.named(Origin::Taken(name.clone(), *number)),
            find: Find::Column(column.clone()),
            which: Which::Nth(1),
            otherwise: Otherwise::Fails,
        };
        asked.takes.iter().map(taken).collect()
    }

    /// A statement within a transaction: its answer is looked at when the whole is over.
    fn within(&mut self, asked: &Asked, open: &mut Block) -> Result<(), At> {
        let uses = |name: &str| {
            asked.parts.iter().any(|part| matches!(part, Part::Value(_, Expression::Taken(taken, _)) if taken == name))
        };
        let early = open.asked.iter().flat_map(|before| &before.takes).find(|(_, name, _)| uses(name));
        if let Some((_, name, _)) = early {
            let what = format!(
                "`:{name}` is taken from an answer within the same transaction; here a transaction is one launch, whose answers are looked at when it is over"
            );
            return Err((asked.line, what));
        }
        if asked.gset.is_some() {
            let what = "\\gset of another number of rows than one ends a client of pgbench; within a transaction that is not checked here";
            self.note(asked.line, "\\gset", what.to_owned());
        }
        for (column, name, _) in open.asked.iter().chain([asked]).flat_map(|asked| &asked.takes) {
            let having = open.asked.iter().chain([asked]).filter(|asked| may_have(&asked.said(), column)).count();
            if having > 1 {
                let what = format!(
                    "`:{name}`: two statements of the transaction may have a column `{column}`; name them apart"
                );
                return Err((asked.line, what));
            }
        }
        open.extract.extend(self.extractions(asked));
        Ok(())
    }

    fn look_at_state(&mut self, asked: &Asked) {
        let said = words(&asked.said());
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
            self.stateful.push((asked.line, format!("`{}`", said.join(" ").chars().take(60).collect::<String>())));
        }
    }

    fn pause(&mut self, line: usize, time: &Expression, unit: u32, way: &Way) -> Result<Delay, At> {
        let secs = |number: i64| number as f64 * f64::from(unit) / 1e6;
        let wrong = |what: &str| (line, format!("\\sleep: {what}"));
        match time {
            Expression::Is(value) => value.whole().map(|number| Delay::fixed(secs(number))).map_err(|why| wrong(&why)),
            Expression::Text(text) => {
                let value = Value::of(text).and_then(Value::whole).map_err(|why| wrong(&why))?;
                Ok(Delay::fixed(secs(value)))
            }
            Expression::Drawn(draw) => {
                let often = way.steps.iter().map(|step| match step {
                    Step::Pause(_, time, _) => usize::from(time.draws().contains(draw)),
                    Step::Ask(asked) => {
                        let uses = |part: &&Part| matches!(part, Part::Value(_, value) if value.draws().contains(draw));
                        asked.parts.iter().filter(uses).count()
                    }
                });
                if often.sum::<usize>() > 1 || way.looked_at.contains(draw) {
                    return Err(wrong(
                        "the number is used elsewhere, too; a think time of a workload is drawn by itself",
                    ));
                }
                let (low, high) = way.draws[*draw].ranges[0];
                let law = Law::uniform(secs(low), secs(high)).map_err(|_| wrong("a time below zero"))?;
                self.note(line, "\\sleep", "is drawn to the nanosecond; pgbench draws whole units".to_owned());
                Ok(Delay::drawn(law))
            }
            _ => Err(wrong("the time is computed of what is drawn, or taken from an answer")),
        }
    }

    /// The request that is `wanted`, which is added where it is not there.
    fn same_or_new(&mut self, wanted: &str, request: Request) -> usize {
        let same = |other: &Request| Request { name: String::new(), ..other.clone() } == request;
        if let Some(at) = self.all.iter().position(same) {
            return at;
        }
        let name = unlike(wanted, |name| self.all.iter().any(|request| request.name == name));
        self.all.push(Request { name, weight: 0.0, ..request });
        self.all.len() - 1
    }

    /// The variables of all of them that are drawn.
    pub(super) fn variables(&self, per: Per) -> Vec<Variable> {
        let asked = |name: &str| {
            let statements = self.all.iter().filter_map(|request| request.sql.as_ref());
            statements.flat_map(Sql::templates).flat_map(Template::names).any(|other| *other.variable == *name)
        };
        let drawn = |(origin, name): &(Origin, String)| match origin {
            Origin::Drawn(_, low, high, _) if asked(name) => {
                Some(Variable { name: name.clone(), value: plan::Value::Between(*low, *high), per })
            }
            _ => None,
        };
        self.names.iter().filter_map(drawn).collect()
    }
}

/// What a workload draws for a draw of a way; `None`: what is left of its range is in pieces.
fn drawn(draws: &[Draw], at: usize) -> Option<Origin> {
    let like = |draw: &&Draw| draw.name == draws[at].name && draw.ranges == draws[at].ranges;
    match draws[at].ranges.as_slice() {
        [(low, high)] => {
            Some(Origin::Drawn(draws[at].name.clone(), *low, *high, draws[..at].iter().filter(like).count()))
        }
        _ => None,
    }
}

/// What a request is called that has no script to itself: its first statement, shortened.
fn shown(request: &Request) -> String {
    let first = request.sql.as_ref().and_then(|sql| sql.statements.first()).map_or("", |statement| &*statement.text);
    let line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(60) {
        Some((end, _)) => format!("{} ...", line[..end].trim_end()),
        None => line,
    }
}

/// The words of a statement in small letters, without comments.
fn words(statement: &str) -> Vec<String> {
    let (mut plain, mut rest) = (String::new(), statement);
    while !rest.is_empty() {
        let (bytes, is_said) = match begins_with(rest, plain.chars().next_back()) {
            Said::Plain(bytes) => (bytes, true),
            Said::Quoted(bytes) | Said::Comment(bytes) => (bytes, false),
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

/// What a statement does to transactions, where a workload can say it.
fn kind(asked: &Asked) -> Result<Kind, At> {
    let words = words(&asked.said());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let wrong = |what: &str| Err((asked.line, what.to_owned()));
    match words.as_slice() {
        ["begin"] | ["begin", "work" | "transaction"] | ["start", "transaction"] => Ok(Kind::Begins),
        ["commit" | "end"] | ["commit" | "end", "work" | "transaction"] => Ok(Kind::Ends),
        ["begin" | "start", ..] => wrong(
            "a transaction with settings of its own; write BEGIN, and set default_transaction_isolation and the like for the connection: on_connect, or PGOPTIONS",
        ),
        ["rollback", "to", ..] => Ok(Kind::Plain),
        ["rollback" | "abort", ..] => {
            wrong("a transaction of a workload ends with COMMIT, and with ROLLBACK only after an error")
        }
        ["commit" | "end", ..] | ["prepare", "transaction", ..] => {
            wrong("transactions that are chained or prepared are not spoken")
        }
        ["copy", ..] => wrong("COPY is not spoken"),
        _ => Ok(Kind::Plain),
    }
}
