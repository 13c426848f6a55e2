//! Command lines of curl, one or more, as a person types them or a browser copies them.

mod options;

use offered_model::Nanos;
use offered_model::workload::script::{Auth, Body, Part, Per};
use offered_model::workload::{Identity, Protocol, Proxy, Target, Tls};

use crate::address::{MissingValue, Server, default_target, encode_path, form_encode, percent_encode};
use crate::body;
use crate::note::Note;
use crate::plan::{Plan, Request, ValueSource, Variable};
use crate::request_list::{DefaultArrivals, PlannedRequest, RequestList, Visit, default_name};
use crate::shell::{self, Command, Word};
use crate::text::{self, Text};
use crate::{Error, ImportOptions};
use options::takes_value;

/// Redirects that curl follows, where it follows them.
const REDIRECTS: u32 = 50;

/// Words of all commands at most.
const MAX_WORDS: usize = 200_000;

/// Whether `text` has a line that begins with curl.
pub(crate) fn has_command(text: &str) -> bool {
    text.lines().take(10_000).any(|line| {
        let mut words = line.split_whitespace().skip_while(|word| COMMAND_PREFIXES.contains(word));
        words.next().is_some_and(is_curl)
    })
}

/// Whether curl begins a line of `text` at its very beginning.
pub(crate) fn has_unindented_command(text: &str) -> bool {
    text.lines().take(10_000).any(|line| line.split(' ').next().is_some_and(is_curl))
}

/// Words that may stand before a command.
const COMMAND_PREFIXES: [&str; 8] = ["$", ">", "%", "sudo", "time", "do", "then", "exec"];

/// What is wrong at a line, where something is.
type LineResult = Result<(), (usize, String)>;

fn is_curl(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name == "curl" || name.eq_ignore_ascii_case("curl.exe")
}

/// The plan of `text`, the content of `file`.
pub(crate) fn read(text: &str, file: &str, options: &ImportOptions) -> Result<Plan, Error> {
    let at = |line, what: &str| Error::Line { file: file.to_owned(), line, message: what.to_owned() };
    let commands =
        shell::commands(text).map_err(|line| at(line, "a quote that is never closed; the command is cut off"))?;
    if commands.iter().map(|command| command.words.len()).sum::<usize>() > MAX_WORDS {
        return Err(at(1, &format!("more than {MAX_WORDS} words; no commands have")));
    }
    let mut reader = Reader::default();
    for (name, value) in options.variables.into_iter().flatten() {
        reader.assigned.push((name.clone(), Text::from(value.as_str())));
        reader.preset.push(name.clone());
    }
    for command in commands {
        reader.command(command).map_err(|(line, what)| at(line, &what))?;
    }
    if reader.requests.is_empty() {
        return Err(at(1, "no curl command that asks a web server"));
    }
    reader.into_request_list().into_plan(file)
}

/// One part of what `-d` and its like add up to.
enum Data {
    Text(Text),
    File(String),
}

/// What the words of one command say.
#[derive(Default)]
struct CommandOptions {
    line: usize,
    method: Option<String>,
    urls: Vec<(usize, Text)>,
    headers: Vec<(String, Text)>,
    without: Vec<String>,
    data: Vec<Data>,
    query: Vec<Text>,
    /// Options that take nothing and change the request: `--json`, `--get`, `--head`, `--globoff`.
    flags: Vec<&'static str>,
    parts: Vec<Part>,
    upload: Option<String>,
    auth: Option<Auth>,
    target: Option<Text>,
    socket: Option<String>,
    /// The files of a certificate and its key.
    own: (Option<String>, Option<String>),
}

impl CommandOptions {
    fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }
}

#[derive(Default)]
struct Reader {
    connect_timeout: Option<Nanos>,
    response_timeout: Option<Nanos>,
    cookies: bool,
    tls: Tls,
    protocol: Protocol,
    proxy: Option<Proxy>,
    max_redirects: Option<u32>,
    follows: bool,
    /// Names that are given values from outside, whatever the script sets.
    preset: Vec<String>,
    /// What the script sets before.
    assigned: Vec<(String, Text)>,
    variables: Vec<Variable>,
    requests: Vec<PlannedRequest>,
    notes: Vec<Note>,
}

impl Reader {
    fn note(&mut self, line: usize, element: &str, what: impl Into<String>) {
        self.notes.push(Note { line, element: element.to_owned(), message: what.into() });
    }

    fn command(&mut self, command: Command) -> LineResult {
        let mut words = command.words.into_iter().peekable();
        while words.next_if(|word| COMMAND_PREFIXES.contains(&word.as_literal())).is_some() {}
        while let Some((name, value)) = words.peek().and_then(assignment) {
            let word = words.next().expect("was peeked at");
            if word.is_substituted {
                self.note(word.line, &name, "is what a command finds out; the environment must have it");
            } else {
                let value = self.substitute_assigned(&value);
                if self.preset.contains(&name) {
                    continue;
                }
                self.assigned.retain(|(other, _)| *other != name);
                self.assigned.push((name, value));
            }
        }
        let Some(first) = words.next() else { return Ok(()) };
        if !is_curl(first.as_literal()) {
            if !["done", "fi", "set", "esac"].contains(&first.as_literal()) && !command.piped {
                let shown: String = first.text.to_display().chars().take(60).collect();
                self.note(first.line, &shown, "is no curl command; left out");
            }
            return Ok(());
        }
        let mut options = CommandOptions { line: first.line, ..CommandOptions::default() };
        while let Some(word) = words.next() {
            if word.is_substituted {
                let what = format!("`{}` is what a command finds out; sent as it stands", word.text.to_display());
                self.note(word.line, "", what);
            }
            let begins = word.text.leading_literal();
            if word.as_literal() == "--next" || word.as_literal() == "-:" {
                let next = CommandOptions { line: word.line, ..CommandOptions::default() };
                let before = std::mem::replace(&mut options, next);
                self.add_requests(before);
            } else if begins.starts_with("--") && begins.len() > 2 {
                let value = if takes_value(word.as_literal()) { words.next() } else { None };
                self.option(&mut options, &word.text.to_display(), word.line, value)?;
            } else if begins.starts_with('-') && begins.len() > 1 {
                self.short(&mut options, &word, &mut words)?;
            } else {
                let url = self.substitute_assigned(&word.text);
                options.urls.push((word.line, url));
            }
        }
        self.add_requests(options);
        Ok(())
    }

    /// `-sSXPOST` and the like: letters, the last of them with its value behind it or in the next word.
    fn short(
        &mut self,
        command: &mut CommandOptions,
        word: &Word,
        words: &mut impl Iterator<Item = Word>,
    ) -> LineResult {
        let letters = word.text.leading_literal();
        for (at, letter) in letters.char_indices().skip(1) {
            let option = format!("-{letter}");
            if takes_value(&option) {
                let rest = word.text.skip_bytes(at + letter.len_utf8());
                let value = if rest.is_empty() { words.next() } else { Some(Word { text: rest, ..word.clone() }) };
                return self.option(command, &option, word.line, value);
            }
            self.option(command, &option, word.line, None)?;
        }
        Ok(())
    }

    /// One option; `value` is there where it takes one, unless the command ends before.
    fn option(&mut self, command: &mut CommandOptions, written: &str, line: usize, value: Option<Word>) -> LineResult {
        let option = options::long_name(written);
        if takes_value(option) && value.is_none() {
            return Err((line, format!("the command ends after {written}, which takes a value; it is cut off")));
        }
        let value = value.map(|word| self.substitute_assigned(&word.text)).unwrap_or_default();
        let shown = value.to_display();
        match option {
            "--request" => command.method = Some(shown),
            "--url" => command.urls.push((line, value)),
            "--header" => self.header(command, line, value),
            "--data" | "--data-ascii" | "--data-binary" | "--json" => {
                if option == "--json" {
                    command.flags.push("--json");
                }
                match shown.strip_prefix('@') {
                    Some("-") => self.note(line, written, "would send what comes from its input; left out"),
                    Some(file) => {
                        if option != "--data-binary" && option != "--json" {
                            self.note(
                                line,
                                written,
                                format!("would leave out the ends of lines of `{file}`; here it is sent as it is"),
                            );
                        }
                        command.data.push(Data::File(file.to_owned()));
                    }
                    None => command.data.push(Data::Text(value)),
                }
            }
            "--data-raw" => command.data.push(Data::Text(value)),
            "--data-urlencode" => self.encoded(command, line, value),
            "--url-query" => command.query.push(value),
            "--form" => self.part(command, line, value, true),
            "--form-string" => self.part(command, line, value, false),
            "--user" => {
                let whole = shown.contains(':');
                if !whole {
                    self.note(
                        line,
                        written,
                        "names a user without a password, which curl would ask for; here it is empty",
                    );
                }
                let mut both = value;
                both.push_str(if whole { "" } else { ":" });
                command.auth = Some(Auth::Basic(both.template()));
            }
            "--oauth2-bearer" => command.auth = Some(Auth::Bearer(value.template())),
            "--user-agent" => command.headers.push(("User-Agent".to_owned(), value)),
            "--referer" => {
                let plain = shown.strip_suffix(";auto").map_or(value.clone(), Text::from);
                command.headers.push(("Referer".to_owned(), plain));
            }
            "--range" => command.headers.push(("Range".to_owned(), Text::from(format!("bytes={shown}")))),
            "--cookie" if shown.contains('=') => command.headers.push(("Cookie".to_owned(), value)),
            "--cookie" | "--cookie-jar" => self.cookies = true,
            "--compressed" => {
                command.headers.push(("Accept-Encoding".to_owned(), Text::from("deflate, gzip, br, zstd")));
            }
            "--get" => command.flags.push("--get"),
            "--head" => command.flags.push("--head"),
            "--globoff" => command.flags.push("--globoff"),
            "--upload-file" => command.upload = Some(shown),
            "--location" | "--location-trusted" => self.follows = true,
            "--max-redirs" => self.max_redirects(line, written, &shown),
            "--request-target" => command.target = Some(value),
            "--unix-socket" => command.socket = Some(shown),
            "--max-time" => self.response_timeout = time(&shown).max(self.response_timeout),
            "--connect-timeout" => self.connect_timeout = time(&shown).max(self.connect_timeout),
            "--insecure" => self.tls.insecure = true,
            "--cacert" => self.tls.roots = Some(shown.into()),
            "--cert" => command.own.0 = Some(shown),
            "--key" => command.own.1 = Some(shown),
            "--http2" => self.protocol = Protocol::Auto,
            "--http2-prior-knowledge" => self.protocol = Protocol::Http2,
            "--proxy" => self.proxy(line, &shown),
            "--http1.1" | "--basic" => {}
            _ if options::affects_only_output(option) => {}
            _ => {
                let what = match takes_value(option) {
                    true => format!("{written} {shown}: is not translated"),
                    false => format!("{written}: is not translated"),
                };
                self.note(line, "", what);
            }
        }
        Ok(())
    }

    /// `Name: value`; `Name;` is one without a value, `Name:` takes one away, `@file` reads them.
    fn header(&mut self, command: &mut CommandOptions, line: usize, value: Text) {
        let begins = value.leading_literal();
        if begins.starts_with('@') {
            self.note(line, "", format!("-H {}: headers from a file; left out", value.to_display()));
        } else if let Some((name, rest)) = value.split_once(':') {
            let rest = rest.skip_bytes(rest.leading_literal().len() - rest.leading_literal().trim_start().len());
            let name = name.to_display().trim().to_owned();
            if rest.is_empty() {
                command.without.push(name);
            } else {
                command.headers.push((name, rest));
            }
        } else if let Some(name) = value.as_literal().and_then(|said| said.strip_suffix(';')) {
            command.headers.push((name.to_owned(), Text::default()));
        } else {
            self.note(line, "", format!("-H {}: is no header; left out", value.to_display()));
        }
    }

    /// `content`, `=content`, `name=content`, `@file`, `name@file`.
    fn encoded(&mut self, command: &mut CommandOptions, line: usize, value: Text) {
        let begins = value.leading_literal();
        let (name, content) = match begins.find(['=', '@']) {
            Some(at) if begins[at..].starts_with('@') => {
                let what = format!("--data-urlencode {}: would send a file, encoded; left out", value.to_display());
                self.note(line, "", what);
                return;
            }
            Some(at) => (begins[..at].to_owned(), value.skip_bytes(at + 1)),
            None => (String::new(), value.clone()),
        };
        let mut both = Text::from(if name.is_empty() { name } else { name + "=" });
        both.push(&content.map_literals(form_encode));
        command.data.push(Data::Text(both));
    }

    /// `name=value`, `name=@file;type=...`.
    fn part(&mut self, command: &mut CommandOptions, line: usize, value: Text, special: bool) {
        let Some((name, content)) = value.split_once('=') else {
            self.note(line, "", format!("-F {}: is no `name=value`; left out", value.to_display()));
            return;
        };
        let name = name.to_display();
        let begins = content.leading_literal();
        if special && begins.starts_with('<') {
            let file = content.to_display();
            let what = format!(
                "-F {name}={file}: a field whose value stands in a file, which is no upload; left out: write it as a value"
            );
            self.note(line, "", what);
            return;
        }
        if special && begins.starts_with('@') {
            let shown = content.to_display();
            let mut said_of = shown[1..].split(';');
            let file = said_of.next().unwrap_or_default().trim_matches('"');
            let mut media_type = None;
            for more in said_of {
                match more.trim().strip_prefix("type=") {
                    Some(kind) => media_type = Some(kind),
                    None => self.note(line, "", format!("-F {shown}: `{}` is not translated", more.trim())),
                }
            }
            command.parts.push(body::upload(&name, file, media_type));
        } else if special && let Some((value, kind)) = content.as_literal().and_then(|said| said.split_once(";type=")) {
            command.parts.push(body::field(&name, &Text::from(value), Some(kind)));
        } else {
            command.parts.push(body::field(&name, &content, None));
        }
    }

    /// Below zero there is no limit.
    fn max_redirects(&mut self, line: usize, written: &str, said: &str) {
        let most = match said.parse::<i64>() {
            Ok(0..) => said.parse::<u32>().unwrap_or(u32::MAX),
            Ok(_) => u32::MAX,
            Err(_) => return,
        };
        if most > Target::MOST_REDIRECTS {
            let what = format!("{written} {said}: at most {} in a row are followed here", Target::MOST_REDIRECTS);
            self.note(line, "", what);
        }
        self.max_redirects = Some(most.min(Target::MOST_REDIRECTS));
    }

    fn proxy(&mut self, line: usize, said: &str) {
        let url = if said.contains("://") { said.to_owned() } else { format!("http://{said}") };
        match url.trim_end_matches('/').parse() {
            Ok(proxy) => self.proxy = Some(proxy),
            Err(_) => self.note(line, "", format!("-x {said}: a proxy of a kind that is not offered")),
        }
    }

    /// A command's requests, one for each URL.
    fn add_requests(&mut self, command: CommandOptions) {
        if let (Some(certificate), key) = &command.own {
            // One file may hold both.
            let key = key.as_ref().unwrap_or(certificate);
            self.tls.identity = Some(Identity { certificate: certificate.into(), key: key.into() });
        }
        let urls = command.urls.clone();
        if urls.is_empty() {
            self.note(command.line, "curl", "names no URL; left out");
        }
        for (line, url) in urls {
            let element = format!("`{}`", url.to_display().chars().take(100).collect::<String>());
            if !command.has("--globoff") && url.as_literal().is_some_and(is_glob) {
                self.note(
                    line,
                    &element,
                    "braces or brackets in a URL stand for several; here they are sent as they are",
                );
            }
            let lack = |name: &str| {
                let environment = |variable: &&Variable| variable.name == name;
                match self.variables.iter().find(environment).map(|variable| &variable.value) {
                    Some(ValueSource::Env(wanted)) => Some(MissingValue { is_property: false, name: wanted.clone() }),
                    _ => None,
                }
            };
            let Some((mut server, path)) = Server::parse_text(&url, lack) else {
                self.note(line, &element, "asks no web server; left out");
                continue;
            };
            if let Some(socket) = &command.socket {
                server = Server::Known(format!("unix:{socket}:/"));
            }
            let mut request = self.request(&command, line, path);
            request.name = default_name(&request);
            self.requests.push(PlannedRequest { line, element, server, request });
        }
    }

    fn request(&mut self, command: &CommandOptions, line: usize, path: Text) -> Request {
        let path = path.split_once('#').map_or(path, |(before, _)| before);
        let mut request = Request::new("get", encode_path(command.target.as_ref().unwrap_or(&path)));
        for (name, value) in &command.headers {
            if !request.add_header(name, value.clone()) {
                self.note(line, "", format!("the header `{name}` is offered's own or cannot be sent; left out"));
            }
        }
        let mut query = command.query.clone();
        let mut body = match self.data(command, line) {
            Some(Data::Text(data)) if command.has("--get") => {
                query.push(data);
                Body::None
            }
            Some(Data::Text(data)) => body::text(&data),
            Some(Data::File(file)) => body::file(file),
            None => Body::None,
        };
        for part in query {
            request.path.push_str(if request.path.literal_contains(|c| c == '?') { "&" } else { "?" });
            request.path.push(&part.map_literals(percent_encode));
        }
        let mut kind = None;
        if !command.parts.is_empty() {
            body = Body::Multipart(command.parts.clone());
        } else if command.has("--json") {
            kind = Some("application/json");
        } else if body != Body::None {
            kind = Some("application/x-www-form-urlencoded");
        }
        request.method = match &command.method {
            Some(method) => method.to_lowercase(),
            None if command.has("--head") => "head".to_owned(),
            None if command.upload.is_some() => "put".to_owned(),
            None if body != Body::None => "post".to_owned(),
            None => "get".to_owned(),
        };
        if let Some(file) = &command.upload {
            body = body::file(file);
        }
        let mut otherwise = |name: &str, value: &str| {
            if request.header(name).is_none() {
                request.headers.push((name.to_owned(), Text::from(value)));
            }
        };
        if let Some(kind) = kind {
            otherwise("Content-Type", kind);
        }
        if command.has("--json") {
            otherwise("Accept", "application/json");
        }
        request.headers.retain(|(name, _)| !command.without.iter().any(|without| without.eq_ignore_ascii_case(name)));
        request.body = body;
        request.auth.clone_from(&command.auth);
        request
    }

    /// What `-d` and its like add up to.
    fn data(&mut self, command: &CommandOptions, line: usize) -> Option<Data> {
        let mut text = Text::default();
        let mut several = false;
        for data in &command.data {
            match data {
                Data::File(file) if command.data.len() == 1 => return Some(Data::File(file.clone())),
                Data::File(file) => {
                    self.note(line, "", format!("a body of a file and more, which is none here: `{file}` is left out"));
                }
                Data::Text(part) => {
                    // Pieces of JSON are put together as they are.
                    text.push_str(if several && !command.has("--json") { "&" } else { "" });
                    text.push(part);
                    several = true;
                }
            }
        }
        several.then_some(Data::Text(text))
    }

    /// With what the script has set put in; what it has not is the environment's.
    fn substitute_assigned(&mut self, text: &Text) -> Text {
        let mut known = Text::default();
        let mut rest = text.clone();
        while !rest.is_empty() {
            let begins = rest.leading_literal().to_owned();
            known.push_str(&begins);
            rest = rest.skip_bytes(begins.len());
            let Some(wanted) = rest.variable_names().next().map(str::to_owned) else { break };
            match self.assigned.iter().find(|(name, _)| *name == wanted) {
                Some((_, value)) => known.push(value),
                None => {
                    let name = text::variable_name(&wanted);
                    if !self.variables.iter().any(|variable| variable.name == name) {
                        self.variables.push(Variable {
                            name: name.clone(),
                            value: ValueSource::Env(wanted.clone()),
                            per: Per::Session,
                        });
                    }
                    known.push(&Text::variable(&name));
                }
            }
            rest = rest.skip_piece();
        }
        known
    }

    fn into_request_list(self) -> RequestList {
        let followed = self.max_redirects.unwrap_or(REDIRECTS);
        let mut target = default_target()
            .with_cookies(self.cookies)
            .with_redirects(if self.follows { followed } else { 0 })
            .with_tls(self.tls)
            .with_protocol(self.protocol)
            .with_proxy(self.proxy);
        if let Some(time) = self.connect_timeout {
            target = target.with_connect_timeout(time);
        }
        if let Some(time) = self.response_timeout {
            target = target.with_response_timeout(time);
        }
        let steps = (0..self.requests.len()).map(|at| (at, None)).collect();
        RequestList {
            origin: "curl",
            remark: "How often, and by how many, is for you to say: here once a second.",
            visits: vec![Visit { name: "commands".to_owned(), steps }],
            requests: self.requests,
            preferred_server: None,
            keep_flows: false,
            target,
            variables: self.variables,
            arrivals_default: DefaultArrivals::OnePerSecond,
            notes: self.notes,
        }
    }
}

/// `NAME=value` before a command.
fn assignment(word: &Word) -> Option<(String, Text)> {
    let begins = word.text.leading_literal();
    let at = begins.find('=')?;
    let name = &begins[..at];
    let fit = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    fit.then(|| (name.to_owned(), word.text.skip_bytes(at + 1)))
}

/// `{a,b}` or `[1-9]` in a URL, brackets of an IPv6 address aside.
fn is_glob(url: &str) -> bool {
    let path = url.find(']').filter(|_| url.contains("://[")).map_or(url, |end| &url[end..]);
    path.contains('{') || path.contains('[')
}

/// A time limit; below a millisecond, which is as fine as curl counts, it sets none.
fn time(secs: &str) -> Option<Nanos> {
    let secs = secs.trim().parse::<f64>().ok().filter(|secs| *secs >= 1e-3)?;
    Some(Nanos::from_secs_f64(secs.min(1e6)))
}
