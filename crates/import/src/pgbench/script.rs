//! Splits a script into commands: SQL statements end at a semicolon or at a meta-command, which starts with a
//! backslash.

use super::LineError;
use super::expression::Expression;

/// Maximum nesting depth of `\if`.
const MAX_DEPTH: usize = 50;

/// A command with its line.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) line: usize,
    pub(super) kind: CommandKind,
}

#[derive(Clone, Debug)]
pub(super) enum CommandKind {
    /// A statement without its semicolon, and the variable prefix of `\gset`.
    Statement(String, Option<String>),
    Set(String, Expression),
    /// A pause: a number or `:variable`, and the unit in microseconds.
    Sleep(String, u32),
    /// Branches with their conditions; `None` is the `\else` branch.
    If(Vec<(Option<Expression>, Vec<Command>)>),
}

/// Splits `text` into commands.
pub(super) fn commands(text: &str) -> Result<Vec<Command>, LineError> {
    let mut reader = Reader { rest: text, line: 1, done: vec![Block::default()] };
    reader.all()?;
    match reader.done.len() {
        1 => Ok(reader.done.remove(0).commands),
        _ => Err((reader.done.pop().unwrap_or_default().line, "\\if without \\endif".to_owned())),
    }
}

/// A token, with its length in bytes.
pub(super) enum Token {
    /// Plain text.
    Plain(usize),
    /// A quoted text or name.
    Quoted(usize),
    /// A comment.
    Comment(usize),
}

/// The first token of `text`. Unclosed strings end at the end of the text.
pub(super) fn next_token(text: &str, before: Option<char>) -> Token {
    let until = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with("--") {
        return Token::Comment(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        // Comments can be nested.
        let (mut depth, mut at) = (0, 0);
        while at < text.len() {
            let rest = &text.as_bytes()[at..];
            if rest.starts_with(b"/*") {
                (depth, at) = (depth + 1, at + 2);
            } else if rest.starts_with(b"*/") {
                (depth, at) = (depth - 1, at + 2);
                if depth == 0 {
                    break;
                }
            } else {
                at += 1;
            }
        }
        return Token::Comment(at.min(text.len()));
    }
    if text.starts_with(['e', 'E']) && text[1..].starts_with('\'') && !in_name {
        let mut bytes = text.bytes().enumerate().skip(2);
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'\\' => drop(bytes.next()),
                b'\'' => return Token::Quoted(at + 1),
                _ => {}
            }
        }
        return Token::Quoted(text.len());
    }
    match text.chars().next() {
        // A doubled quote reads as two adjacent strings, which gives the same text.
        Some(quote @ ('\'' | '"')) => Token::Quoted(until(1, quote.encode_utf8(&mut [0; 4]))),
        Some('$') if !in_name => {
            let tag = text[1..].find(|c: char| !(c.is_alphanumeric() || c == '_'));
            match tag {
                Some(end)
                    if text[1 + end..].starts_with('$') && !text[1..].starts_with(|c: char| c.is_ascii_digit()) =>
                {
                    Token::Quoted(until(end + 2, &text[..end + 2]))
                }
                _ => Token::Plain(1),
            }
        }
        Some(c) => Token::Plain(c.len_utf8()),
        None => Token::Plain(0),
    }
}

/// The current branch of an `\if`, and the branches before it.
#[derive(Default)]
struct Block {
    line: usize,
    commands: Vec<Command>,
    /// Condition of the branch; `None` for `\else` and outside of `\if`.
    condition: Option<Expression>,
    before: Vec<(Option<Expression>, Vec<Command>)>,
    is_last: bool,
}

struct Reader<'t> {
    rest: &'t str,
    line: usize,
    done: Vec<Block>,
}

impl<'t> Reader<'t> {
    fn take(&mut self, bytes: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        self.line += taken.matches('\n').count();
        taken
    }

    fn add(&mut self, line: usize, kind: CommandKind) {
        if let Some(block) = self.done.last_mut() {
            block.commands.push(Command { line, kind });
        }
    }

    fn all(&mut self) -> Result<(), LineError> {
        let (mut statement, mut from, mut depth) = (String::new(), 1, 0_usize);
        while let Some(c) = self.rest.chars().next() {
            if statement.is_empty() {
                from = self.line;
            }
            let before = statement.chars().next_back();
            match next_token(self.rest, before) {
                Token::Comment(bytes) => {
                    let comment = self.take(bytes);
                    // Block comments stay because they may contain planner hints.
                    if comment.starts_with("/*") {
                        statement.push_str(comment);
                    }
                }
                Token::Quoted(bytes) => statement.push_str(self.take(bytes)),
                Token::Plain(_) if c == '\\' => {
                    self.end(&mut statement, from);
                    depth = 0;
                    self.backslash()?;
                }
                Token::Plain(_) if c == ';' && depth == 0 => {
                    self.take(1);
                    self.end(&mut statement, from);
                }
                Token::Plain(bytes) => {
                    depth = match c {
                        '(' => depth + 1,
                        ')' => depth.saturating_sub(1),
                        _ => depth,
                    };
                    let said = self.take(bytes);
                    if !(statement.is_empty() && c.is_whitespace()) {
                        statement.push_str(said);
                    }
                }
            }
        }
        self.end(&mut statement, from);
        Ok(())
    }

    fn end(&mut self, statement: &mut String, line: usize) {
        let text = std::mem::take(statement).trim().to_owned();
        if !text.is_empty() {
            self.add(line, CommandKind::Statement(text, None));
        }
    }

    /// The rest of the line; a backslash at the end continues it.
    fn logical_line(&mut self) -> String {
        let mut line = String::new();
        loop {
            let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
            let part = self.take(end).trim_end_matches(['\n', '\r']);
            match part.strip_suffix('\\') {
                Some(part) if !part.is_empty() || !line.is_empty() => {
                    line.push_str(part);
                    line.push(' ');
                }
                _ => {
                    line.push_str(part);
                    return line;
                }
            }
        }
    }

    /// Reads a meta-command.
    fn backslash(&mut self) -> Result<(), LineError> {
        let line = self.line;
        let text = self.logical_line();
        let text = text.trim_start_matches('\\').trim();
        let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let arguments = arguments.trim();
        let wrong = |why: &str| (line, format!("\\{name}: {why}"));
        let condition = || Expression::parse(arguments).map(Some).map_err(|why| wrong(&why));
        match name.to_lowercase().as_str() {
            "set" => {
                let command = set(arguments).map_err(|why| wrong(&why))?;
                self.add(line, command);
            }
            "sleep" => {
                let command = sleep(arguments).map_err(|why| wrong(&why))?;
                self.add(line, command);
            }
            "gset" => {
                let block = self.done.last_mut().and_then(|block| block.commands.last_mut());
                match block.map(|command| &mut command.kind) {
                    Some(CommandKind::Statement(_, prefix @ None)) => *prefix = Some(arguments.to_owned()),
                    _ => return Err(wrong("must follow a statement")),
                }
            }
            "if" => {
                let condition = condition()?;
                if self.done.len() > MAX_DEPTH {
                    return Err(wrong(&format!("nested deeper than {MAX_DEPTH} levels")));
                }
                self.done.push(Block { line, condition, ..Block::default() });
            }
            "elif" => self.branch(condition()?).ok_or_else(|| wrong("without \\if"))?,
            "else" => self.branch(None).ok_or_else(|| wrong("without \\if"))?,
            "endif" if self.done.len() > 1 => {
                let Block { line, commands, condition, mut before, .. } = self.done.pop().unwrap_or_default();
                before.push((condition, commands));
                self.add(line, CommandKind::If(before));
            }
            "endif" => return Err(wrong("without \\if")),
            "aset" => return Err(wrong("is not supported: only results with one row can be extracted")),
            "shell" | "setshell" => return Err(wrong("workloads cannot run programs")),
            "startpipeline" | "endpipeline" | "syncpipeline" => {
                return Err(wrong(
                    "pipelines are not supported: each statement waits for the result of the previous one",
                ));
            }
            _ if text.starts_with(';') => {
                return Err((line, "several statements in one message (`\\;`) are not supported".to_owned()));
            }
            _ => return Err(wrong("unknown command of pgbench")),
        }
        Ok(())
    }

    /// Starts another branch of the open `\if`; `None` if no `\if` is open or its `\else` has already been read.
    fn branch(&mut self, condition: Option<Expression>) -> Option<()> {
        let block = self.done.iter_mut().skip(1).next_back().filter(|block| !block.is_last)?;
        block.is_last = condition.is_none();
        let before = std::mem::replace(&mut block.condition, condition);
        block.before.push((before, std::mem::take(&mut block.commands)));
        Some(())
    }
}

/// `\set` and its arguments.
fn set(arguments: &str) -> Result<CommandKind, String> {
    let (variable, text) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    if variable.chars().next().is_none_or(|c| c.is_ascii_digit()) || !variable.chars().all(fits) {
        return Err(format!("`{variable}` is not a variable name"));
    }
    Ok(CommandKind::Set(variable.to_owned(), Expression::parse(text)?))
}

/// `\sleep` and its arguments.
fn sleep(arguments: &str) -> Result<CommandKind, String> {
    let words: Vec<&str> = arguments.split_whitespace().collect();
    let (number, unit) = match words.as_slice() {
        [number, unit] => (*number, *unit),
        [number] if number.starts_with(':') => (*number, ""),
        [number] => number.split_at(number.find(char::is_alphabetic).unwrap_or(number.len())),
        _ => return Err("expected a time such as 10 ms".to_owned()),
    };
    let micros = match unit.to_lowercase().as_str() {
        "us" => 1,
        "ms" => 1_000,
        "s" | "" => 1_000_000,
        _ => return Err(format!("unknown unit `{unit}`; expected us, ms or s")),
    };
    Ok(CommandKind::Sleep(number.to_owned(), micros))
}
