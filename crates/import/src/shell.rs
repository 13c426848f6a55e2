//! Splits shell commands into words, each with its line.
//!
//! The crate `shlex` (2.0.1) is not used because it does not support `$'...'` (in which browsers write bodies), treats
//! the end of a line as a blank, and does not distinguish `$NAME` in double quotes from `$NAME` in single quotes.

use crate::text::Text;

/// A word of a command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) text: Text,
    pub(crate) line: usize,
    /// Whether the word contains a command substitution.
    pub(crate) is_substituted: bool,
}

impl Word {
    /// The literal text; empty if the word contains variables.
    pub(crate) fn as_literal(&self) -> &str {
        self.text.as_literal().unwrap_or("")
    }

    /// The assignment `NAME=value`, if the word is one.
    pub(crate) fn assignment(&self) -> Option<(String, Text)> {
        let begins = self.text.leading_literal();
        let at = begins.find('=')?;
        let name = &begins[..at];
        let fit = !name.is_empty()
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        fit.then(|| (name.to_owned(), self.text.skip_bytes(at + 1)))
    }
}

/// What a command reads from standard input by a redirection.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Input {
    /// The text of a here-document or a here-string.
    Text(Text),
    /// The content of a file.
    File(String),
}

/// A command. `piped` if it reads the output of the preceding command.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Command {
    pub(crate) words: Vec<Word>,
    pub(crate) piped: bool,
    pub(crate) input: Option<Input>,
}

/// A here-document whose text begins on the next line.
struct HereDocument {
    /// Index of its command.
    command: usize,
    /// The line that ends it.
    end: String,
    /// Whether `$NAME` and backslashes in it are text.
    is_literal: bool,
    /// Whether tabs at the starts of its lines are removed.
    strips_tabs: bool,
}

/// Splits `text` into commands.
///
/// # Errors
/// The line of a quote that is not closed.
pub(crate) fn commands(text: &str) -> Result<Vec<Command>, usize> {
    // Browsers on Windows copy commands for cmd.exe, whose escape character is the caret.
    if text.contains(" ^\n") || text.contains(" ^\r\n") || text.contains("^\"") {
        return Splitter::new(&unescape_carets(text)).split();
    }
    Splitter::new(text).split()
}

fn unescape_carets(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '^' => match chars.next() {
                Some('\r') => {
                    chars.next_if_eq(&'\n');
                    plain.push_str("\\\n");
                }
                Some('\n') => plain.push_str("\\\n"),
                Some(c) => plain.push(c),
                None => {}
            },
            c => plain.push(c),
        }
    }
    plain
}

struct Splitter<'t> {
    rest: std::iter::Peekable<std::str::Chars<'t>>,
    line: usize,
    done: Vec<Command>,
    open: Command,
    word: Option<Word>,
    here_documents: Vec<HereDocument>,
    /// Whether the next word is a here-string.
    is_here_string: bool,
    /// Whether the text is that of a command substitution.
    is_nested: bool,
}

impl<'t> Splitter<'t> {
    fn new(text: &'t str) -> Self {
        Self {
            rest: text.chars().peekable(),
            line: 1,
            done: Vec::new(),
            open: Command::default(),
            word: None,
            here_documents: Vec::new(),
            is_here_string: false,
            is_nested: false,
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.rest.next()?;
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn split(mut self) -> Result<Vec<Command>, usize> {
        while let Some(c) = self.next_char() {
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_command(false);
                    for document in std::mem::take(&mut self.here_documents) {
                        self.here_document(&document);
                    }
                }
                ';' => self.end_command(false),
                '&' | '|' => {
                    let double = self.rest.next_if_eq(&c).is_some();
                    self.end_command(c == '|' && !double);
                }
                '>' | '<' if self.rest.peek() == Some(&'(') => self.substitution(c),
                '>' | '<' => self.redirection(c),
                '#' if self.word.is_none() => while self.rest.next_if(|c| *c != '\n').is_some() {},
                '\\' => match self.rest.next_if_eq(&'\r') {
                    Some(_) => {
                        self.next_char();
                    }
                    None => match self.next_char() {
                        Some('\n') | None => {}
                        Some(c) => self.push(c),
                    },
                },
                '\'' => self.single_quoted()?,
                '"' => self.double_quoted()?,
                '$' if self.rest.next_if_eq(&'\'').is_some() => self.ansi_c_quoted()?,
                '$' => self.variable(),
                '`' => self.backquoted('`')?,
                c => self.push(c),
            }
        }
        self.end_command(false);
        Ok(self.done)
    }

    fn word(&mut self) -> &mut Word {
        let line = self.line;
        self.word.get_or_insert_with(|| Word { text: Text::default(), line, is_substituted: false })
    }

    fn push(&mut self, c: char) {
        self.word().text.push_str(c.encode_utf8(&mut [0; 4]));
    }

    fn end_word(&mut self) {
        let Some(mut word) = self.word.take() else { return };
        if std::mem::take(&mut self.is_here_string) {
            word.text.push_str("\n");
            self.open.input = Some(Input::Text(word.text));
        } else {
            self.open.words.push(word);
        }
    }

    fn end_command(&mut self, pipe: bool) {
        self.end_word();
        let done = std::mem::replace(&mut self.open, Command { piped: pipe, ..Command::default() });
        if !done.words.is_empty() {
            self.done.push(done);
        }
    }

    /// Reads a redirection such as `> file`, `2> file`, `< file`, `<<< word` or `<<END`.
    fn redirection(&mut self, sign: char) {
        if self.word.as_ref().is_some_and(|word| ["0", "1", "2", "&"].contains(&word.as_literal())) {
            self.word = None;
        }
        self.end_word();
        if sign == '<' && self.rest.next_if_eq(&'<').is_some() {
            if self.rest.next_if_eq(&'<').is_some() {
                self.is_here_string = true;
                return;
            }
            let strips_tabs = self.rest.next_if_eq(&'-').is_some();
            let (end, is_literal) = self.file_name();
            self.here_documents.push(HereDocument { command: self.done.len(), end, is_literal, strips_tabs });
            return;
        }
        while self.rest.next_if(|c| ['>', '<', '&'].contains(c)).is_some() {}
        let (file, _) = self.file_name();
        if sign == '<' && !file.contains('$') {
            self.open.input = Some(Input::File(file));
        }
    }

    /// Reads the word after a redirection; returns it without its quotes, and whether it has any.
    fn file_name(&mut self) -> (String, bool) {
        while self.rest.next_if(|c| [' ', '\t'].contains(c)).is_some() {}
        let (mut name, mut quote, mut quoted) = (String::new(), None, false);
        while let Some(c) = self.rest.next_if(|c| *c != '\n' && (quote.is_some() || !" \t\r;|&<>)".contains(*c))) {
            match (c, quote) {
                ('\'' | '"', None) => quote = Some(c),
                _ if quote == Some(c) => quote = None,
                ('\\', None) => name.extend(self.rest.next_if(|c| *c != '\n')),
                _ => name.push(c),
            }
            quoted |= ['\'', '"', '\\'].contains(&c);
        }
        (name, quoted)
    }

    /// Reads the lines of a here-document; without its last line it ends with the text, as in a shell.
    fn here_document(&mut self, document: &HereDocument) {
        let line = self.line;
        self.word = Some(Word { text: Text::default(), line, is_substituted: false });
        while self.rest.peek().is_some() {
            while document.strips_tabs && self.rest.next_if_eq(&'\t').is_some() {}
            let ahead = self.rest.clone().take_while(|c| *c != '\n');
            if ahead.filter(|c| *c != '\r').eq(document.end.chars()) {
                while self.next_char().is_some_and(|c| c != '\n') {}
                break;
            }
            while let Some(c) = self.next_char() {
                match c {
                    '\r' if self.rest.peek() == Some(&'\n') => {}
                    '$' if !document.is_literal => self.variable(),
                    '\\' if !document.is_literal => match self.rest.next_if(|c| "$`\\\n".contains(*c)) {
                        Some('\n') => self.line += 1,
                        escaped => self.push(escaped.unwrap_or(c)),
                    },
                    c => self.push(c),
                }
                if c == '\n' {
                    break;
                }
            }
        }
        let text = self.word.take().map(|word| word.text).unwrap_or_default();
        if let Some(command) = self.done.get_mut(document.command) {
            command.input = Some(Input::Text(text));
        }
    }

    fn single_quoted(&mut self) -> Result<(), usize> {
        let from = self.line;
        self.word();
        loop {
            match self.next_char().ok_or(from)? {
                '\'' => return Ok(()),
                c => self.push(c),
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), usize> {
        let from = self.line;
        self.word();
        loop {
            match self.next_char().ok_or(from)? {
                '"' => return Ok(()),
                '\\' => match self.next_char().ok_or(from)? {
                    '\n' => {}
                    c @ ('$' | '`' | '"' | '\\') => self.push(c),
                    c => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '$' => self.variable(),
                '`' => self.backquoted('`')?,
                c => self.push(c),
            }
        }
    }

    /// Reads `$'...'` with C escapes.
    fn ansi_c_quoted(&mut self) -> Result<(), usize> {
        let from = self.line;
        self.word();
        loop {
            match self.next_char().ok_or(from)? {
                '\'' => return Ok(()),
                '\\' => {
                    let c = match self.next_char().ok_or(from)? {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        'a' => '\u{7}',
                        'b' => '\u{8}',
                        'f' => '\u{c}',
                        'v' => '\u{b}',
                        'e' => '\u{1b}',
                        'x' => self.numeric_escape(16, 2, 0),
                        'u' => self.utf16_escape(),
                        'U' => self.numeric_escape(16, 8, 0),
                        digit @ '0'..='7' => self.numeric_escape(8, 2, digit as u32 - '0' as u32),
                        c => c,
                    };
                    self.push(c);
                }
                c => self.push(c),
            }
        }
    }

    /// Reads a character code of at most `digits` digits.
    fn numeric_escape(&mut self, radix: u32, digits: usize, first: u32) -> char {
        let mut code = first;
        for _ in 0..digits {
            match self.rest.next_if(|c| c.is_digit(radix)).and_then(|c| c.to_digit(radix)) {
                Some(digit) => code = code.saturating_mul(radix).saturating_add(digit),
                None => break,
            }
        }
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Reads `\uXXXX`; browsers write characters beyond the basic plane as surrogate pairs.
    fn utf16_escape(&mut self) -> char {
        let units = |this: &mut Self| {
            let digits: String = (0..4).map_while(|_| this.rest.next_if(char::is_ascii_hexdigit)).collect();
            u16::from_str_radix(&digits, 16).unwrap_or(0)
        };
        let first = units(self);
        let mut ahead = self.rest.clone();
        if (0xd800..0xdc00).contains(&first) && ahead.next() == Some('\\') && ahead.next() == Some('u') {
            self.rest.next();
            self.rest.next();
            let pair = [first, units(self)];
            return char::decode_utf16(pair).next().and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
        }
        char::from_u32(first.into()).unwrap_or(char::REPLACEMENT_CHARACTER)
    }

    /// Reads a variable, `$NAME` or `${NAME}`, or a command substitution, `$(...)`.
    fn variable(&mut self) {
        let named = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        match self.rest.peek() {
            Some('(') => self.substitution('$'),
            Some('{') => {
                let inside: String = self.rest.clone().skip(1).take_while(|c| *c != '}').take(200).collect();
                if !inside.is_empty()
                    && inside.chars().all(|c| named(&c))
                    && !inside.starts_with(|c: char| c.is_ascii_digit())
                {
                    for _ in 0..inside.len() + 2 {
                        self.rest.next();
                    }
                    self.word().text.push(&Text::variable(&inside));
                } else {
                    self.push('$');
                }
            }
            Some(c) if c.is_ascii_alphabetic() || *c == '_' => {
                let mut name = String::new();
                while let Some(c) = self.rest.next_if(|c| named(c)) {
                    name.push(c);
                }
                self.word().text.push(&Text::variable(&name));
            }
            _ => self.push('$'),
        }
    }

    /// Reads a command substitution, `$(...)`, or a process substitution, `<(...)`.
    fn substitution(&mut self, sign: char) {
        let mut depth = 0;
        let mut said = String::from(sign);
        while let Some(c) = self.next_char() {
            depth += i32::from(c == '(') - i32::from(c == ')');
            said.push(c);
            if depth == 0 {
                break;
            }
        }
        let output = if self.is_nested { None } else { here_document_of(&said) };
        let word = self.word();
        match output {
            Some(text) => word.text.push(&text),
            None => {
                word.is_substituted = true;
                word.text.push_str(&said);
            }
        }
    }

    /// Reads a command substitution in backquotes.
    fn backquoted(&mut self, end: char) -> Result<(), usize> {
        let from = self.line;
        self.word().is_substituted = true;
        self.push(end);
        loop {
            let c = self.next_char().ok_or(from)?;
            self.push(c);
            if c == end {
                return Ok(());
            }
        }
    }
}

/// The output of `$(cat <<END ...)`; `None` for other commands.
fn here_document_of(substitution: &str) -> Option<Text> {
    let inside = substitution.strip_prefix("$(")?.strip_suffix(')')?;
    if !inside.trim_start().starts_with("cat") {
        return None;
    }
    let commands = Splitter { is_nested: true, ..Splitter::new(inside) }.split().ok()?;
    match commands.as_slice() {
        [Command { words, input: Some(Input::Text(text)), .. }] if words.len() == 1 => {
            Some(text.clone().without_final_line_breaks())
        }
        _ => None,
    }
}
