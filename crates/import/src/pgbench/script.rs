//! The commands of a script, as pgbench splits it: statements end at a semicolon or at a command of its own, which begins with a
//! backslash.

use super::LineError;
use super::expression::Expression;

/// Commands within `\if` at most.
const MAX_DEPTH: usize = 50;

/// One command, with its line.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) line: usize,
    pub(super) kind: CommandKind,
}

#[derive(Clone, Debug)]
pub(super) enum CommandKind {
    /// A statement without its semicolon, and the prefix of the variables that its answer is put into (`\gset`).
    Statement(String, Option<String>),
    Set(String, Expression),
    /// So many of a unit, in microseconds; the number is a text, or a variable after a colon.
    Sleep(String, u32),
    /// What is done where the first condition that holds is; `None`: where none does.
    If(Vec<(Option<Expression>, Vec<Command>)>),
}

/// The commands of `text`.
pub(super) fn commands(text: &str) -> Result<Vec<Command>, LineError> {
    let mut reader = Reader { rest: text, line: 1, done: vec![Block::default()] };
    reader.all()?;
    match reader.done.len() {
        1 => Ok(reader.done.remove(0).commands),
        _ => Err((reader.done.pop().unwrap_or_default().line, "\\if without \\endif".to_owned())),
    }
}

/// What a text says where nothing means anything but itself: a quote or a comment.
pub(super) enum Token {
    /// Up to so many bytes, what stands there is of the statement.
    Plain(usize),
    /// A quoted text or name.
    Quoted(usize),
    /// A comment.
    Comment(usize),
}

/// What `text` begins with. Strings are closed where the text ends.
pub(super) fn next_token(text: &str, before: Option<char>) -> Token {
    let until = |from: usize, end: &str| text[from..].find(end).map_or(text.len(), |at| from + at + end.len());
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if text.starts_with("--") {
        return Token::Comment(text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        // They stand within each other.
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
        // Two of them are one in it, which two strings beside each other are as well.
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

/// A branch that is being read, and those before it.
#[derive(Default)]
struct Block {
    line: usize,
    commands: Vec<Command>,
    /// The condition of the branch; `None`: there is none, or it is the last.
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
                    // Those of one line are left out; hints for the planner are of the other kind.
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

    /// A command of pgbench's own: up to the end of the line, which a backslash there continues.
    fn backslash(&mut self) -> Result<(), LineError> {
        let line = self.line;
        let mut said = String::new();
        loop {
            let end = self.rest.find('\n').map_or(self.rest.len(), |at| at + 1);
            let part = self.take(end).trim_end_matches(['\n', '\r']);
            match part.strip_suffix('\\') {
                Some(part) if !part.is_empty() || !said.is_empty() => {
                    said.push_str(part);
                    said.push(' ');
                }
                _ => {
                    said.push_str(part);
                    break;
                }
            }
        }
        let said = said.trim_start_matches('\\').trim();
        let (name, arguments) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
        let arguments = arguments.trim();
        let wrong = |why: &str| (line, format!("\\{name}: {why}"));
        let expression = |text: &str| Expression::parse(text).map_err(|why| wrong(&why));
        match name.to_lowercase().as_str() {
            "set" => {
                let (variable, text) = arguments.split_once(char::is_whitespace).unwrap_or((arguments, ""));
                let begins = variable.chars().next();
                let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
                if begins.is_none_or(|c| c.is_ascii_digit()) || !variable.chars().all(fits) {
                    return Err(wrong(&format!("`{variable}` is no name of a variable")));
                }
                let value = expression(text)?;
                self.add(line, CommandKind::Set(variable.to_owned(), value));
            }
            "sleep" => {
                let words: Vec<&str> = arguments.split_whitespace().collect();
                let (number, unit) = match words.as_slice() {
                    [number, unit] => (*number, *unit),
                    [number] if number.starts_with(':') => (*number, ""),
                    [number] => number.split_at(number.find(char::is_alphabetic).unwrap_or(number.len())),
                    _ => return Err(wrong("expected a time, such as 10 ms")),
                };
                let micros = match unit.to_lowercase().as_str() {
                    "us" => 1,
                    "ms" => 1_000,
                    "s" | "" => 1_000_000,
                    _ => return Err(wrong(&format!("`{unit}` is none of us, ms and s"))),
                };
                self.add(line, CommandKind::Sleep(number.to_owned(), micros));
            }
            "gset" => {
                let block = self.done.last_mut().and_then(|block| block.commands.last_mut());
                match block.map(|command| &mut command.kind) {
                    Some(CommandKind::Statement(_, prefix @ None)) => *prefix = Some(arguments.to_owned()),
                    _ => return Err(wrong("follows no statement")),
                }
            }
            "if" => {
                let condition = Some(expression(arguments)?);
                if self.done.len() > MAX_DEPTH {
                    return Err(wrong(&format!("more than {MAX_DEPTH} of them within each other")));
                }
                self.done.push(Block { line, condition, ..Block::default() });
            }
            "elif" => {
                let condition = Some(expression(arguments)?);
                self.branch(condition).ok_or_else(|| wrong("stands where no \\if is open"))?;
            }
            "else" => self.branch(None).ok_or_else(|| wrong("stands where no \\if is open"))?,
            "endif" if self.done.len() > 1 => {
                let Block { line, commands, condition, mut before, .. } = self.done.pop().unwrap_or_default();
                before.push((condition, commands));
                self.add(line, CommandKind::If(before));
            }
            "endif" => return Err(wrong("stands where no \\if is open")),
            "aset" => return Err(wrong("values of the last of many rows cannot be taken from an answer")),
            "shell" | "setshell" => return Err(wrong("a workload runs no programs between its requests")),
            "startpipeline" | "endpipeline" | "syncpipeline" => {
                return Err(wrong("each statement is sent when the one before it is answered"));
            }
            _ if said.starts_with(';') => {
                return Err((line, "several statements in one message (`\\;`) are not sent".to_owned()));
            }
            _ => return Err(wrong("is no command of pgbench")),
        }
        Ok(())
    }

    /// Another branch of the `\if` that is open; `None`: none is, or it has had its last.
    fn branch(&mut self, condition: Option<Expression>) -> Option<()> {
        let block = self.done.iter_mut().skip(1).next_back().filter(|block| !block.is_last)?;
        block.is_last = condition.is_none();
        let before = std::mem::replace(&mut block.condition, condition);
        block.before.push((before, std::mem::take(&mut block.commands)));
        Some(())
    }
}
