//! The data that curl sends: `-d` and similar options, forms, and standard input.

use offered_workload::script::Body;

use super::{CommandOptions, Reader, options, url};
use crate::address::form_encode;
use crate::body;
use crate::shell::{Command, Input};
use crate::text::Text;

/// One part of the request data, from `-d` and similar options.
pub(super) enum Data {
    Text(Text),
    File(String),
}

/// What `echo` or `cat` writes, if that is known.
pub(super) fn output_of(command: &Command) -> Option<Input> {
    let [first, words @ ..] = command.words.as_slice() else { return None };
    let plain = !command.words.iter().any(|word| word.is_substituted);
    match (first.as_literal(), words) {
        ("cat", []) => command.input.clone(),
        ("cat", [file]) if plain && !file.as_literal().is_empty() => Some(Input::File(file.as_literal().to_owned())),
        ("echo", words) if plain => {
            let ends = words.first().is_none_or(|word| word.as_literal() != "-n");
            let mut text = Text::default();
            for (at, word) in words[usize::from(!ends)..].iter().enumerate() {
                text.push_str(if at == 0 { "" } else { " " });
                text.push(&word.text);
            }
            text.push_str(if ends { "\n" } else { "" });
            Some(Input::Text(text))
        }
        _ => None,
    }
}

/// Whether `-T` uploads standard input instead of a file.
pub(super) fn is_standard_input(file: &str) -> bool {
    ["-", "."].contains(&file)
}

/// The text without the characters that curl removes from files and standard input.
fn without_line_breaks(text: &Text) -> Text {
    text.map_literals(|text| text.replace(['\r', '\n', '\0'], ""))
}

impl Reader {
    /// Adds the data of `--data`, `--data-ascii`, `--data-binary` or `--json`.
    pub(super) fn add_data(&mut self, command: &mut CommandOptions, line: usize, written: &str, value: Text) {
        let option = options::long_name(written);
        if option == "--json" {
            command.flags.push("--json");
        }
        let as_is = option == "--data-binary" || option == "--json";
        match value.to_display().strip_prefix('@') {
            Some("-") => match command.input.clone() {
                Some(Input::Text(text)) => {
                    command.data.push(Data::Text(if as_is { text } else { without_line_breaks(&text) }));
                }
                Some(Input::File(file)) => self.add_file(command, line, written, file, as_is),
                None => {
                    self.note(line, written, "reads the body from standard input; here it is empty");
                    command.data.push(Data::Text(Text::default()));
                }
            },
            Some(file) => {
                self.note_unknown_file(line, written, &value);
                self.add_file(command, line, written, file.to_owned(), as_is);
            }
            None => command.data.push(Data::Text(value)),
        }
    }

    /// Handles `-b`: cookies, which contain `=`, or the name of a file with cookies.
    pub(super) fn add_cookies(&mut self, command: &mut CommandOptions, line: usize, value: Text) {
        if value.literal_contains(|c| c == '=') {
            command.headers.push(("Cookie".to_owned(), value));
            return;
        }
        if value.as_literal().is_none() {
            let shown = value.to_display();
            let message =
                format!("-b {shown}: read as the name of a file; if the value is cookies, use -H 'Cookie: ...'");
            self.note(line, "", message);
        }
        command.flags.push("--cookie-jar");
    }

    fn add_file(&mut self, command: &mut CommandOptions, line: usize, written: &str, file: String, as_is: bool) {
        if !as_is {
            let message = format!("curl removes line breaks from `{file}`; here the file is sent unchanged");
            self.note(line, written, message);
        }
        command.data.push(Data::File(file));
    }

    /// Notes a file whose name depends on a variable without a value: files are read before the variables have values.
    pub(super) fn note_unknown_file(&mut self, line: usize, written: &str, file: &Text) {
        if let Some(name) = file.variable_names().next() {
            let message = format!(
                "the name of the file depends on `${name}`, which has no value; import again with --set {name}=..."
            );
            self.note(line, written, message);
        }
    }

    /// The file that `-T` uploads, as a body.
    pub(super) fn upload(&mut self, command: &CommandOptions, line: usize, file: &str) -> Body {
        match &command.input {
            _ if !is_standard_input(file) => body::file(file),
            Some(Input::Text(text)) => body::text(text),
            Some(Input::File(file)) => body::file(file),
            None => {
                self.note(line, "-T", "reads the body from standard input; here it is empty");
                body::text(&Text::default())
            }
        }
    }

    /// The value of `--data-urlencode` or `--url-query`: `content`, `=content`, `name=content`, `@file` or `name@file`;
    /// `None` if the content is that of a file.
    pub(super) fn encoded(&mut self, line: usize, written: &str, value: &Text) -> Option<Text> {
        let begins = value.leading_literal();
        let (name, content) = match begins.find(['=', '@']) {
            Some(at) if begins[at..].starts_with('@') => {
                let message = format!("{written} {}: sends an encoded file; left out", value.to_display());
                self.note(line, "", message);
                return None;
            }
            Some(at) => (begins[..at].to_owned(), value.skip_bytes(at + 1)),
            None => (String::new(), value.clone()),
        };
        let mut both = Text::from(if name.is_empty() { name } else { name + "=" });
        both.push(&content.map_literals(form_encode));
        Some(both)
    }

    /// Handles `-F` and `--form-string`: `name=value`, `name=@file;type=...`.
    pub(super) fn part(&mut self, command: &mut CommandOptions, line: usize, value: Text, special: bool) {
        let Some((name, content)) = value.split_once('=') else {
            self.note(line, "", format!("-F {}: expected `name=value`; left out", value.to_display()));
            return;
        };
        let name = name.to_display();
        let begins = content.leading_literal();
        if special && begins.starts_with('<') {
            let file = content.to_display();
            let message =
                format!("-F {name}={file}: takes the value of the field from a file; left out; write the value itself");
            self.note(line, "", message);
            return;
        }
        if special && begins.starts_with('@') {
            self.note_unknown_file(line, "-F", &content);
            let shown = content.to_display();
            let mut said_of = shown[1..].split(';');
            let file = said_of.next().unwrap_or_default().trim_matches('"');
            let mut media_type = None;
            for more in said_of {
                match more.trim().strip_prefix("type=") {
                    Some(kind) => media_type = Some(kind),
                    None => self.note(line, "", format!("-F {shown}: `{}` not translated", more.trim())),
                }
            }
            command.parts.push(body::upload(&name, file, media_type.or(url::media_type(file))));
        } else if special && let Some((value, kind)) = content.as_literal().and_then(|value| value.split_once(";type="))
        {
            command.parts.push(body::field(&name, &Text::from(value), Some(kind)));
        } else {
            command.parts.push(body::field(&name, &content, None));
        }
    }

    /// The request data of `-d` and similar options.
    pub(super) fn data(&mut self, command: &CommandOptions, line: usize) -> Option<Data> {
        let mut text = Text::default();
        let mut several = false;
        for data in &command.data {
            match data {
                Data::File(file) if command.has("--get") => {
                    self.note(line, "", format!("-G adds the content of `{file}` to the query; left out"));
                }
                Data::File(file) if command.data.len() == 1 => return Some(Data::File(file.clone())),
                Data::File(file) => {
                    self.note(line, "", format!("a body cannot combine a file with other data: `{file}` is left out"));
                }
                Data::Text(part) => {
                    // curl concatenates the parts of --json without a separator.
                    text.push_str(if several && !command.has("--json") { "&" } else { "" });
                    text.push(part);
                    several = true;
                }
            }
        }
        several.then_some(Data::Text(text))
    }
}
