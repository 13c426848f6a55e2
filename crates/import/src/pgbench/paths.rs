//! The ways through a script: on each of them it is statements and pauses one after another.
//!
//! A condition that depends on nothing is decided. One that depends on a number that was drawn becomes as many ways as it has
//! answers, each as likely as it is, and on each the number is drawn from what is left of its range: together that is what pgbench does.

use std::collections::{BTreeMap, BTreeSet};

use super::LineError;
use super::expression::{Expression, MAX_EXPRESSION_PARTS, Value};
use super::script::{Command, CommandKind, Token, next_token};

/// Ways through a script at most.
const MAX_PATHS: usize = 256;

/// Commands on all ways at most.
const MAX_COMMANDS: usize = 100_000;

/// Variables of pgbench's own that a workload has no value for.
const SEEDS: [&str; 2] = ["random_seed", "default_seed"];

/// Numbers that a condition is tried with at most.
const MAX_CONDITION_VALUES: u64 = 1_000_000;

/// A whole number that is drawn, each as likely.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    /// The variable that it was drawn for.
    pub(super) name: String,
    /// CommandKind it may still be, in pieces, both ends included.
    pub(super) ranges: Vec<(i64, i64)>,
}

/// A part of a statement.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Literal(String),
    /// A value, and the variable that stood there.
    Value(String, Expression),
}

#[derive(Clone, Debug)]
pub(super) struct ScriptStatement {
    pub(super) line: usize,
    pub(super) parts: Vec<Part>,
    /// CommandKind `\gset` puts the answer into: a prefix.
    pub(super) gset: Option<String>,
    /// Which values of it are asked for later: the column, the variable, and the how manieth of that name it is, from 0.
    pub(super) takes: Vec<(String, String, usize)>,
}

impl ScriptStatement {
    /// CommandKind is said, without values.
    pub(super) fn literal_text(&self) -> String {
        let said = |part: &Part| match part {
            Part::Literal(said) => said.clone(),
            Part::Value(..) => " ".to_owned(),
        };
        self.parts.iter().map(said).collect()
    }

    /// The column of its answer that `\gset` puts into `variable`, where it may have it.
    fn column<'v>(&self, variable: &'v str) -> Option<&'v str> {
        let column = variable.strip_prefix(self.gset.as_ref()?.as_str()).filter(|column| !column.is_empty())?;
        may_have_column(&self.literal_text(), column).then_some(column)
    }
}

/// Whether the answer to a statement may have this column: its name stands where columns are named, or all of a table's are
/// asked for.
pub(super) fn may_have_column(statement: &str, column: &str) -> bool {
    let mut words: Vec<(String, usize)> = Vec::new();
    let (mut depth, mut open) = (0_usize, false);
    for c in statement.chars().flat_map(char::to_lowercase) {
        let named = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some((word, _)) if named && open => word.push(c),
            _ if named || c == '*' => words.push((c.to_string(), depth)),
            _ => {}
        }
        open = named;
        depth = match c {
            '(' => depth + 1,
            ')' => depth.saturating_sub(1),
            _ => depth,
        };
    }
    let top = |wanted: &str| words.iter().position(|(word, depth)| word == wanted && *depth == 0);
    let list = match (top("returning"), words.first()) {
        (Some(returning), _) => &words[returning + 1..],
        (None, Some((first, 0))) if first == "select" => &words[1..top("from").unwrap_or(words.len())],
        _ => &words[..],
    };
    let column = column.to_lowercase();
    list.iter().any(|(word, depth)| *word == column || (word == "*" && *depth == 0))
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Statement(ScriptStatement),
    /// So many of a unit, in microseconds.
    Pause(usize, Expression, u32),
}

/// One way through.
#[derive(Clone, Debug)]
pub(super) struct ScriptPath {
    pub(super) weight: f64,
    pub(super) draws: Vec<Draw>,
    pub(super) steps: Vec<Step>,
    known: BTreeMap<String, Expression>,
    /// How many steps came before a variable was set.
    since: BTreeMap<String, usize>,
    /// The variables that `\gset` gave their values.
    answers: BTreeSet<String>,
    /// Draws that a condition looked at.
    pub(super) conditioned_draws: Vec<usize>,
}

/// CommandKind is said beside the script.
pub(super) struct Outside<'o> {
    /// Variables from the beginning: `-D`, and pgbench's own.
    pub(super) known: &'o BTreeMap<String, Expression>,
    /// Those that `--set` gives, whatever the script says.
    pub(super) preset: &'o [String],
    /// Every variable that some script sets.
    pub(super) assigned: &'o [String],
    /// Whether values are pasted into statements, quotes and all.
    pub(super) simple_protocol: bool,
}

/// The names that `commands` set.
pub(super) fn assigned_variables(commands: &[Command]) -> Vec<String> {
    let set = |command: &Command| match &command.kind {
        CommandKind::Set(name, _) => vec![name.clone()],
        CommandKind::If(branches) => {
            branches.iter().flat_map(|(_, commands)| self::assigned_variables(commands)).collect()
        }
        _ => Vec::new(),
    };
    commands.iter().flat_map(set).collect()
}

/// The ways through `commands`.
pub(super) fn enumerate(commands: &[Command], outside: &Outside<'_>) -> Result<Vec<ScriptPath>, LineError> {
    let start = ScriptPath {
        weight: 1.0,
        draws: Vec::new(),
        steps: Vec::new(),
        known: outside.known.clone(),
        since: BTreeMap::new(),
        answers: BTreeSet::new(),
        conditioned_draws: Vec::new(),
    };
    let mut left = MAX_COMMANDS;
    follow(commands, vec![start], outside, &mut left)?.into_iter().map(ScriptPath::simplified).collect()
}

fn follow(
    commands: &[Command],
    ways: Vec<ScriptPath>,
    outside: &Outside<'_>,
    left: &mut usize,
) -> Result<Vec<ScriptPath>, LineError> {
    let mut ways = ways;
    for Command { line, kind } in commands {
        let at = |why: String| (*line, why);
        *left = left.checked_sub(ways.len()).ok_or_else(|| at("the script has too many ways through it".to_owned()))?;
        match kind {
            CommandKind::If(branches) => {
                let (mut open, mut done) = (ways, Vec::new());
                for (condition, commands) in branches {
                    let mut into = Vec::new();
                    for way in std::mem::take(&mut open) {
                        match condition {
                            None => into.push(way),
                            Some(condition) => {
                                let (holds, fails) = way.split(condition, outside).map_err(at)?;
                                into.extend(holds);
                                open.extend(fails);
                            }
                        }
                    }
                    done.extend(follow(commands, into, outside, left)?);
                }
                done.extend(open);
                ways = done;
                if ways.len() > MAX_PATHS {
                    return Err(at(format!("more than {MAX_PATHS} ways lead through the script")));
                }
            }
            CommandKind::Set(name, _) if outside.preset.contains(name) => {}
            CommandKind::Set(name, value) => {
                for way in &mut ways {
                    let value = way.resolved(value, name, outside).map_err(|why| at(format!("\\set {name}: {why}")))?;
                    way.known.insert(name.clone(), value);
                    way.since.insert(name.clone(), way.steps.len());
                    way.answers.remove(name);
                }
            }
            CommandKind::Sleep(number, unit) => {
                for way in &mut ways {
                    let expression = match number.strip_prefix(':') {
                        Some(name) => way.variable(name, outside).map_err(at)?,
                        None => {
                            let number = number.parse().map_err(|_| at(format!("\\sleep: `{number}` is no number")))?;
                            Expression::Value(Value::Integer(number))
                        }
                    };
                    way.steps.push(Step::Pause(*line, expression, *unit));
                }
            }
            CommandKind::Statement(text, gset) => {
                for way in &mut ways {
                    way.add_statement(*line, text, gset.as_ref(), outside).map_err(at)?;
                }
            }
        }
    }
    Ok(ways)
}

impl ScriptPath {
    /// With what is known of the numbers that are drawn at the end of the way, from its beginning on.
    fn simplified(mut self) -> Result<Self, LineError> {
        let only = |draw: usize| match self.draws[draw].ranges.as_slice() {
            [(low, high)] if low == high => Some(*low),
            _ => None,
        };
        for step in &mut self.steps {
            match step {
                Step::Pause(line, time, _) => *time = time.simplified(&only).map_err(|why| (*line, why))?,
                Step::Statement(asked) => {
                    for part in &mut asked.parts {
                        if let Part::Value(name, value) = part {
                            *value =
                                value.simplified(&only).map_err(|why| (asked.line, format!("`:{name}`: {why}")))?;
                        }
                    }
                }
            }
        }
        Ok(self)
    }

    /// CommandKind a variable stands for here.
    fn variable(&mut self, name: &str, outside: &Outside<'_>) -> Result<Expression, String> {
        if let Some(taken) = self.extracted(name, outside)? {
            return Ok(taken);
        }
        self.known.get(name).cloned().ok_or_else(|| {
            if SEEDS.contains(&name) {
                format!("`:{name}` is another number in each run of pgbench")
            } else if name == "client_id" {
                "`:client_id`: transactions that come at a rate are no client's".to_owned()
            } else if outside.assigned.iter().any(|other| other == name) {
                format!(
                    "`:{name}` has no value on some way to here; what an earlier transaction left in it is not kept"
                )
            } else {
                format!("`:{name}` has no value; to pgbench -D gives it one")
            }
        })
    }

    /// The value of an answer that `name` is, where it is one: of the last `\gset` that can have it.
    fn extracted(&mut self, name: &str, outside: &Outside<'_>) -> Result<Option<Expression>, String> {
        if outside.preset.iter().any(|given| given == name) || self.answers.contains(name) {
            return Ok(None);
        }
        let since = self.since.get(name).copied().unwrap_or(0);
        let has = self.known.contains_key(name);
        let later = self.steps.iter().enumerate().skip(since).rev();
        let found = later.filter_map(|(at, step)| match step {
            Step::Statement(asked) => Some((at, asked.line, asked.column(name)?.to_owned())),
            Step::Pause(..) => None,
        });
        let Some((at, line, column)) = found.into_iter().next() else { return Ok(None) };
        if has {
            return Err(format!(
                "whether `:{name}` is what \\set made it or what the answer to line {line} has, is only known when the load runs; name them apart"
            ));
        }
        // An older value of that name may still be asked for by another.
        let before = self.steps.iter().filter_map(|step| match step {
            Step::Statement(asked) => Some(asked.takes.iter().filter(|(_, taken, _)| taken == name).count()),
            Step::Pause(..) => None,
        });
        let number = before.sum::<usize>();
        if let Step::Statement(asked) = &mut self.steps[at] {
            asked.takes.push((column, name.to_owned(), number));
        }
        let taken = Expression::Extracted(name.to_owned(), number);
        self.known.insert(name.to_owned(), taken.clone());
        self.answers.insert(name.to_owned());
        Ok(Some(taken))
    }

    /// An expression with what its variables stand for; what depends on nothing is computed.
    fn resolved(&mut self, expression: &Expression, name: &str, outside: &Outside<'_>) -> Result<Expression, String> {
        let resolved = match expression {
            Expression::Variable(variable) => self.variable(variable, outside)?,
            Expression::Call(called @ ("random_gaussian" | "random_exponential" | "random_zipfian"), _) => {
                return Err(format!(
                    "the law of `{called}` is none that a workload draws from; only `random` is, where each number is as likely"
                ));
            }
            Expression::Call(called @ ("hash" | "hash_murmur2" | "hash_fnv1a" | "permute"), _) => {
                return Err(format!("`{called}` has no equivalent in a workload"));
            }
            Expression::Call("random", bounds) => {
                let mut bound = |at: usize| match self.resolved(&bounds[at], name, outside)? {
                    Expression::Value(value) => value.integer(),
                    Expression::Text(text) => Value::parse(&text)?.integer(),
                    _ => Err("the bounds of `random` depend on what is drawn or answered".to_owned()),
                };
                let (low, high) = (bound(0)?, bound(1)?);
                if low > high {
                    return Err(format!("the range of random({low}, {high}) is empty"));
                }
                // Laws are of floating-point numbers.
                let exact = 1_i64 << 53;
                if low < -exact || high > exact || high.saturating_sub(low) > exact {
                    return Err(format!("the range of random({low}, {high}) is larger than 2^53"));
                }
                if low == high {
                    Expression::Value(Value::Integer(low))
                } else {
                    self.draws.push(Draw { name: name.to_owned(), ranges: vec![(low, high)] });
                    Expression::Draw(self.draws.len() - 1)
                }
            }
            Expression::Call(called, arguments) => {
                let arguments = arguments.iter().map(|argument| self.resolved(argument, name, outside));
                let call = Expression::Call(called, arguments.collect::<Result<_, _>>()?);
                if call.needs_runtime() {
                    return Err(
                        "of an answer, or of the number of a client, nothing is computed; say it in SQL".to_owned()
                    );
                }
                if call.draws().is_empty() { Expression::Value(call.value(&|_| 0)?) } else { call }
            }
            other => other.clone(),
        };
        match resolved.size() > MAX_EXPRESSION_PARTS {
            true => Err("the expression grows too large".to_owned()),
            false => Ok(resolved),
        }
    }

    /// The ways on which a condition holds, and on which it does not.
    fn split(mut self, condition: &Expression, outside: &Outside<'_>) -> Result<(Vec<Self>, Vec<Self>), String> {
        let condition = self.resolved(condition, "condition", outside)?;
        if condition.needs_runtime() {
            return Err(
                "the condition depends on an answer, or on the client; a workload goes its ways by chance alone"
                    .to_owned(),
            );
        }
        let draw = match condition.draws().as_slice() {
            [] => {
                let holds = condition.value(&|_| 0)?.is_true();
                return Ok(if holds { (vec![self], Vec::new()) } else { (Vec::new(), vec![self]) });
            }
            [draw] => *draw,
            _ => return Err("the condition depends on several numbers that are drawn".to_owned()),
        };
        let numbers = |ranges: &[(i64, i64)]| ranges.iter().map(|(low, high)| high.abs_diff(*low) + 1).sum::<u64>();
        let ranges = &self.draws[draw].ranges;
        let all = numbers(ranges);
        if all > MAX_CONDITION_VALUES {
            return Err(format!("the condition depends on one of {all} numbers, more than {MAX_CONDITION_VALUES}"));
        }
        let (mut holding, mut failing) = (Vec::new(), Vec::new());
        for number in ranges.iter().flat_map(|(low, high)| *low..=*high) {
            let into: &mut Vec<(i64, i64)> =
                if condition.value(&|_| number)?.is_true() { &mut holding } else { &mut failing };
            match into.last_mut() {
                Some((_, high)) if *high + 1 == number => *high = number,
                _ => into.push((number, number)),
            }
        }
        if !self.conditioned_draws.contains(&draw) {
            self.conditioned_draws.push(draw);
        }
        let part = |ranges: Vec<(i64, i64)>| {
            let weight = self.weight * numbers(&ranges) as f64 / all as f64;
            let mut way = Self { weight, ..self.clone() };
            way.draws[draw].ranges.clone_from(&ranges);
            (!ranges.is_empty()).then_some(way).into_iter().collect()
        };
        Ok((part(holding), part(failing)))
    }

    /// A statement, with what its variables stand for.
    fn add_statement(
        &mut self,
        line: usize,
        text: &str,
        gset: Option<&String>,
        outside: &Outside<'_>,
    ) -> Result<(), String> {
        let (mut parts, mut said, mut at) = (Vec::new(), String::new(), 0);
        while at < text.len() {
            let rest = &text[at..];
            let bytes = match next_token(rest, text[..at].chars().next_back()) {
                Token::Quoted(bytes) | Token::Comment(bytes) => {
                    said.push_str(&self.substitute_quoted(&rest[..bytes], outside)?);
                    bytes
                }
                Token::Plain(_) if rest.starts_with(':') => {
                    let colons = rest.len() - rest.trim_start_matches(':').len();
                    let name = name(&rest[colons..]);
                    let is_known = SEEDS.contains(&name)
                        || outside.assigned.iter().any(|other| other == name)
                        || self.known.contains_key(name)
                        || self.extracted(name, outside)?.is_some();
                    if colons > 1 || name.is_empty() || (outside.simple_protocol && !is_known) {
                        // `::` is a cast; what is no variable is left as it stands.
                        said.push_str(&rest[..colons]);
                        colons
                    } else {
                        let value = self.variable(name, outside)?;
                        parts.push(Part::Literal(std::mem::take(&mut said)));
                        parts.push(Part::Value(name.to_owned(), value));
                        colons + name.len()
                    }
                }
                Token::Plain(bytes) => {
                    said.push_str(&rest[..bytes]);
                    bytes
                }
            };
            at += bytes;
        }
        parts.push(Part::Literal(said));
        parts.retain(|part| !matches!(part, Part::Literal(said) if said.is_empty()));
        if let Some(prefix) = gset {
            // CommandKind earlier answers gave may now be what this one gives.
            let answers = &mut self.answers;
            self.known.retain(|name, _| !(name.starts_with(prefix.as_str()) && answers.remove(name)));
        }
        self.steps.push(Step::Statement(ScriptStatement { line, parts, gset: gset.cloned(), takes: Vec::new() }));
        Ok(())
    }

    /// A quoted text, into which pgbench pastes values where it pastes them into statements.
    fn substitute_quoted(&mut self, quoted: &str, outside: &Outside<'_>) -> Result<String, String> {
        let (mut done, mut rest) = (String::new(), quoted);
        while let Some(at) = rest.find(':') {
            let colons = rest[at..].len() - rest[at..].trim_start_matches(':').len();
            let name = name(&rest[at + colons..]);
            done.push_str(&rest[..at]);
            rest = &rest[at + colons..];
            let value = if colons == 1 { self.known.get(name).cloned() } else { None };
            match value {
                None => done.push_str(&":".repeat(colons)),
                Some(_) if !outside.simple_protocol => {
                    return Err(format!(
                        "`:{name}` stands within {quoted}, where the protocol has no place for values"
                    ));
                }
                Some(Expression::Value(value)) => {
                    done.push_str(&value.to_string());
                    rest = &rest[name.len()..];
                }
                Some(Expression::Text(text)) => {
                    done.push_str(&text);
                    rest = &rest[name.len()..];
                }
                Some(_) => {
                    return Err(format!(
                        "`:{name}` stands within {quoted}; values that change are parameters here, which no quoted text can hold: write it as '...' || :{name}"
                    ));
                }
            }
        }
        Ok(done + rest)
    }
}

/// The name of a variable that `text` begins with.
fn name(text: &str) -> &str {
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let name = &text[..text.find(|c| !named(c)).unwrap_or(text.len())];
    if name.starts_with(|c: char| c.is_ascii_digit()) { "" } else { name }
}
