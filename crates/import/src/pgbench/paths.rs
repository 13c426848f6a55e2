//! Enumerates the paths through a script; each path is a sequence of statements and pauses.
//!
//! Constant conditions are evaluated. A condition on a random number splits the path: each branch has its probability,
//! and its random number is drawn from the part of the range that satisfies the condition. The distribution is the same
//! as in pgbench.

use std::collections::{BTreeMap, BTreeSet};

use super::LineError;
use super::expression::{Expression, MAX_EXPRESSION_PARTS, Value};
use super::script::{Command, CommandKind, Token, next_token};

/// Maximum number of paths through a script.
const MAX_PATHS: usize = 256;

/// Maximum number of commands on all paths.
const MAX_COMMANDS: usize = 100_000;

/// Built-in variables of pgbench without an equivalent.
const SEEDS: [&str; 2] = ["random_seed", "default_seed"];

/// Maximum number of values with which a condition is evaluated.
const MAX_CONDITION_VALUES: u64 = 1_000_000;

/// A uniformly distributed random integer.
#[derive(Clone, Debug)]
pub(super) struct Draw {
    /// Variable for which it was drawn.
    pub(super) name: String,
    /// Remaining ranges, inclusive.
    pub(super) ranges: Vec<(i64, i64)>,
}

/// Part of a statement.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Literal(String),
    /// A variable and its value.
    Value(String, Expression),
}

#[derive(Clone, Debug)]
pub(super) struct ScriptStatement {
    pub(super) line: usize,
    pub(super) parts: Vec<Part>,
    /// Prefix of the variables that `\gset` sets.
    pub(super) gset: Option<String>,
    /// Values of the result that are used later: column, variable, and index among the values of that variable,
    /// starting at 0.
    pub(super) takes: Vec<(String, String, usize)>,
}

impl ScriptStatement {
    /// The statement's text without values.
    pub(super) fn literal_text(&self) -> String {
        let said = |part: &Part| match part {
            Part::Literal(literal) => literal.clone(),
            Part::Value(..) => " ".to_owned(),
        };
        self.parts.iter().map(said).collect()
    }

    /// The column of the result that `\gset` may store in `variable`.
    fn column<'v>(&self, variable: &'v str) -> Option<&'v str> {
        let column = variable.strip_prefix(self.gset.as_ref()?.as_str()).filter(|column| !column.is_empty())?;
        may_have_column(&self.literal_text(), column).then_some(column)
    }
}

/// Whether the result of a statement may have this column: its select list contains the name or `*`.
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
    /// A pause: line, number, and unit in microseconds.
    Pause(usize, Expression, u32),
}

/// A path through a script.
#[derive(Clone, Debug)]
pub(super) struct ScriptPath {
    pub(super) weight: f64,
    pub(super) draws: Vec<Draw>,
    pub(super) steps: Vec<Step>,
    known: BTreeMap<String, Expression>,
    /// Number of steps before each variable was set.
    since: BTreeMap<String, usize>,
    /// Variables set by `\gset`.
    answers: BTreeSet<String>,
    /// Draws that a condition depends on.
    pub(super) conditioned_draws: Vec<usize>,
}

/// Settings from outside the script.
pub(super) struct Outside<'o> {
    /// Initial variables: `-D` and built-in ones.
    pub(super) known: &'o BTreeMap<String, Expression>,
    /// Variables set by the user, which override the script.
    pub(super) preset: &'o [String],
    /// All variables that any script sets.
    pub(super) assigned: &'o [String],
    /// Whether values are substituted into the statement text (`-M simple`).
    pub(super) simple_protocol: bool,
}

/// Names of the variables that `commands` set.
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

/// Enumerates the paths through `commands`.
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
        *left = left.checked_sub(ways.len()).ok_or_else(|| at("the script has too many paths".to_owned()))?;
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
                    return Err(at(format!("the script has more than {MAX_PATHS} paths")));
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
                            let number =
                                number.parse().map_err(|_| at(format!("\\sleep: `{number}` is not a number")))?;
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
    /// Applies the final ranges of random numbers, known at the end of the path, to all its steps.
    fn simplified(mut self) -> Result<Self, LineError> {
        let only = |draw: usize| match self.draws[draw].ranges.as_slice() {
            [(low, high)] if low == high => Some(*low),
            _ => None,
        };
        for step in &mut self.steps {
            match step {
                Step::Pause(line, time, _) => *time = time.simplified(&only).map_err(|why| (*line, why))?,
                Step::Statement(statement) => {
                    for part in &mut statement.parts {
                        if let Part::Value(name, value) = part {
                            *value =
                                value.simplified(&only).map_err(|why| (statement.line, format!("`:{name}`: {why}")))?;
                        }
                    }
                }
            }
        }
        Ok(self)
    }

    /// The value of a variable at this point.
    fn variable(&mut self, name: &str, outside: &Outside<'_>) -> Result<Expression, String> {
        if let Some(taken) = self.extracted(name, outside)? {
            return Ok(taken);
        }
        self.known.get(name).cloned().ok_or_else(|| {
            if SEEDS.contains(&name) {
                format!("`:{name}` differs in each run of pgbench")
            } else if name == "client_id" {
                "`:client_id`: transactions that arrive at a rate have no client".to_owned()
            } else if outside.assigned.iter().any(|other| other == name) {
                format!("`:{name}` has no value on some path; values of earlier transactions are not stored")
            } else {
                format!("`:{name}` has no value; set it with -D")
            }
        })
    }

    /// The query result that `name` refers to, from the last `\gset` that may have set it; `None` if there is none.
    fn extracted(&mut self, name: &str, outside: &Outside<'_>) -> Result<Option<Expression>, String> {
        if outside.preset.iter().any(|given| given == name) || self.answers.contains(name) {
            return Ok(None);
        }
        let since = self.since.get(name).copied().unwrap_or(0);
        let has = self.known.contains_key(name);
        let later = self.steps.iter().enumerate().skip(since).rev();
        let found = later.filter_map(|(at, step)| match step {
            Step::Statement(statement) => Some((at, statement.line, statement.column(name)?.to_owned())),
            Step::Pause(..) => None,
        });
        let Some((at, line, column)) = found.into_iter().next() else { return Ok(None) };
        if has {
            return Err(format!(
                "`:{name}` is set by \\set and possibly by the result of line {line}; use different names"
            ));
        }
        // An earlier value of that name may still be in use.
        let before = self.steps.iter().filter_map(|step| match step {
            Step::Statement(statement) => Some(statement.takes.iter().filter(|(_, taken, _)| taken == name).count()),
            Step::Pause(..) => None,
        });
        let number = before.sum::<usize>();
        if let Step::Statement(statement) = &mut self.steps[at] {
            statement.takes.push((column, name.to_owned(), number));
        }
        let taken = Expression::Extracted(name.to_owned(), number);
        self.known.insert(name.to_owned(), taken.clone());
        self.answers.insert(name.to_owned());
        Ok(Some(taken))
    }

    /// Substitutes the variables in an expression and evaluates constant parts.
    fn resolved(&mut self, expression: &Expression, name: &str, outside: &Outside<'_>) -> Result<Expression, String> {
        let resolved = match expression {
            Expression::Variable(variable) => self.variable(variable, outside)?,
            Expression::Call(called @ ("random_gaussian" | "random_exponential" | "random_zipfian"), _) => {
                return Err(format!(
                    "workloads do not support the distribution of `{called}`; only uniform numbers (`random`) are supported"
                ));
            }
            Expression::Call(called @ ("hash" | "hash_murmur2" | "hash_fnv1a" | "permute"), _) => {
                return Err(format!("`{called}` is not supported in workloads"));
            }
            Expression::Call("random", bounds) => {
                let mut bound = |at: usize| match self.resolved(&bounds[at], name, outside)? {
                    Expression::Value(value) => value.integer(),
                    Expression::Text(text) => Value::parse(&text)?.integer(),
                    _ => Err("the bounds of `random` depend on random numbers or results".to_owned()),
                };
                let (low, high) = (bound(0)?, bound(1)?);
                if low > high {
                    return Err(format!("the range of random({low}, {high}) is empty"));
                }
                // Distributions use floating-point numbers.
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
                        "expressions of query results or the client number are not supported; compute them in SQL"
                            .to_owned(),
                    );
                }
                if call.draws().is_empty() { Expression::Value(call.value(&|_| 0)?) } else { call }
            }
            other => other.clone(),
        };
        match resolved.size() > MAX_EXPRESSION_PARTS {
            true => Err("the expression is too large".to_owned()),
            false => Ok(resolved),
        }
    }

    /// Splits the path into paths on which a condition is true and paths on which it is false.
    fn split(mut self, condition: &Expression, outside: &Outside<'_>) -> Result<(Vec<Self>, Vec<Self>), String> {
        let condition = self.resolved(condition, "condition", outside)?;
        if condition.needs_runtime() {
            return Err(
                "the condition depends on a query result or on the client; a workload can only branch at random"
                    .to_owned(),
            );
        }
        let draw = match condition.draws().as_slice() {
            [] => {
                let holds = condition.value(&|_| 0)?.is_true();
                return Ok(if holds { (vec![self], Vec::new()) } else { (Vec::new(), vec![self]) });
            }
            [draw] => *draw,
            _ => return Err("the condition depends on several random numbers".to_owned()),
        };
        let numbers = |ranges: &[(i64, i64)]| ranges.iter().map(|(low, high)| high.abs_diff(*low) + 1).sum::<u64>();
        let ranges = &self.draws[draw].ranges;
        let all = numbers(ranges);
        if all > MAX_CONDITION_VALUES {
            return Err(format!(
                "the condition depends on a random number with {all} values; the maximum is {MAX_CONDITION_VALUES}"
            ));
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

    /// Adds a statement with its variables substituted.
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
                        // `::` is a cast; unknown names stay unchanged.
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
        parts.retain(|part| !matches!(part, Part::Literal(literal) if literal.is_empty()));
        if let Some(prefix) = gset {
            // This result may override variables that earlier results have set.
            let answers = &mut self.answers;
            self.known.retain(|name, _| !(name.starts_with(prefix.as_str()) && answers.remove(name)));
        }
        self.steps.push(Step::Statement(ScriptStatement { line, parts, gset: gset.cloned(), takes: Vec::new() }));
        Ok(())
    }

    /// Substitutes variables in a quoted text, as pgbench does with `-M simple`.
    fn substitute_quoted(&mut self, quoted: &str, outside: &Outside<'_>) -> Result<String, String> {
        let (mut done, mut rest) = (String::new(), quoted);
        while let Some(at) = rest.find(':') {
            let colons = rest[at..].len() - rest[at..].trim_start_matches(':').len();
            let name = name(&rest[at + colons..]);
            done.push_str(&rest[..at]);
            rest = &rest[at + colons..];
            let is_name = colons == 1 && !name.is_empty();
            match self.known.get(name).filter(|_| is_name).cloned() {
                // pgbench makes parameters of all names, also of those without values.
                _ if is_name && !outside.simple_protocol => {
                    return Err(format!(
                        "`:{name}` is inside the quoted text {quoted}, where parameters are not possible"
                    ));
                }
                None => done.push_str(&":".repeat(colons)),
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
                        "`:{name}` is inside the quoted text {quoted}, where parameters are not possible; write '...' || :{name}"
                    ));
                }
            }
        }
        Ok(done + rest)
    }
}

/// The variable name at the start of `text`; empty if there is none.
fn name(text: &str) -> &str {
    let named = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let name = &text[..text.find(|c| !named(c)).unwrap_or(text.len())];
    if name.starts_with(|c: char| c.is_ascii_digit()) { "" } else { name }
}
