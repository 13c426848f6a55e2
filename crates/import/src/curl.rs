//! Command lines of curl, one or more, as a person types them or a browser copies them.

mod options;

use offered_model::Nanos;
use offered_model::workload::script::{Auth, Body, Part, Per};
use offered_model::workload::{Identity, Protocol, Proxy, Target, Tls};

use crate::address::{Lack, Server, fit, form, nowhere, sendable};
use crate::body;
use crate::note::Note;
use crate::plan::{Plan, Request, Value, Variable};
use crate::text::{self, Text};
use crate::visits::{Asked, Known, Visit, Who, name};
use crate::words::{self, Command, Word};
use crate::{Error, Given};
use options::{Kind, kind};

/// Redirects that curl follows, where it follows them.
const REDIRECTS: u32 = 50;

/// Words of all commands at most.
const MOST_WORDS: usize = 200_000;

/// Whether `text` has a line that begins with curl.
pub(crate) fn is(text: &str) -> bool {
    text.lines().take(10_000).any(|line| {
        let mut words = line.split_whitespace().skip_while(|word| BEFORE.contains(word));
        words.next().is_some_and(is_curl)
    })
}

/// Whether curl begins a line of `text` at its very beginning.
pub(crate) fn begins(text: &str) -> bool {
    text.lines().take(10_000).any(|line| line.split(' ').next().is_some_and(is_curl))
}

/// Words that may stand before a command.
const BEFORE: [&str; 8] = ["$", ">", "%", "sudo", "time", "do", "then", "exec"];

/// What is wrong at a line, where something is.
type Wrong = Result<(), (usize, String)>;

fn is_curl(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name == "curl" || name.eq_ignore_ascii_case("curl.exe")
}

/// The plan of `text`, the content of `file`.
pub(crate) fn read(text: &str, file: &str, given: &Given) -> Result<Plan, Error> {
    let at = |line, what: &str| Error::At { file: file.to_owned(), line, what: what.to_owned() };
    let commands =
        words::commands(text).map_err(|line| at(line, "a quote that is never closed; the command is cut off"))?;
    if commands.iter().map(|command| command.words.len()).sum::<usize>() > MOST_WORDS {
        return Err(at(1, &format!("more than {MOST_WORDS} words; no commands have")));
    }
    let mut reader = Reader::default();
    for (name, value) in given.values.into_iter().flatten() {
        reader.set.push((name.clone(), Text::from(value.as_str())));
        reader.given.push(name.clone());
    }
    for command in commands {
        reader.command(command).map_err(|(line, what)| at(line, &what))?;
    }
    if reader.asked.is_empty() {
        return Err(at(1, "no curl command that asks a web server"));
    }
    reader.plan().plan(file)
}

/// One part of what `-d` and its like add up to.
enum Data {
    Text(Text),
    File(String),
}

/// What the words of one command say.
#[derive(Default)]
struct Said {
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

impl Said {
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
    most_redirects: Option<u32>,
    follows: bool,
    /// Names that are given values from outside, whatever the script sets.
    given: Vec<String>,
    /// What the script sets before.
    set: Vec<(String, Text)>,
    variables: Vec<Variable>,
    asked: Vec<Asked>,
    notes: Vec<Note>,
}

impl Reader {
    fn note(&mut self, line: usize, element: &str, what: impl Into<String>) {
        self.notes.push(Note { line, element: element.to_owned(), what: what.into() });
    }

    fn command(&mut self, command: Command) -> Wrong {
        let mut words = command.words.into_iter().peekable();
        while words.next_if(|word| BEFORE.contains(&word.said())).is_some() {}
        while let Some((name, value)) = words.peek().and_then(assignment) {
            let word = words.next().expect("was peeked at");
            if word.computed {
                self.note(word.line, &name, "is what a command finds out; the environment must have it");
            } else {
                let value = self.known(&value);
                if self.given.contains(&name) {
                    continue;
                }
                self.set.retain(|(other, _)| *other != name);
                self.set.push((name, value));
            }
        }
        let Some(first) = words.next() else { return Ok(()) };
        if !is_curl(first.said()) {
            if !["done", "fi", "set", "esac"].contains(&first.said()) && !command.piped {
                let shown: String = first.text.shown().chars().take(60).collect();
                self.note(first.line, &shown, "is no curl command; left out");
            }
            return Ok(());
        }
        let mut said = Said { line: first.line, ..Said::default() };
        while let Some(word) = words.next() {
            if word.computed {
                let what = format!("`{}` is what a command finds out; sent as it stands", word.text.shown());
                self.note(word.line, "", what);
            }
            let begins = word.text.begins();
            if word.said() == "--next" || word.said() == "-:" {
                let next = Said { line: word.line, ..Said::default() };
                let before = std::mem::replace(&mut said, next);
                self.ask(before);
            } else if begins.starts_with("--") && begins.len() > 2 {
                let value = if kind(word.said()) == Kind::WithValue { words.next() } else { None };
                self.option(&mut said, &word.text.shown(), word.line, value)?;
            } else if begins.starts_with('-') && begins.len() > 1 {
                self.short(&mut said, &word, &mut words)?;
            } else {
                let url = self.known(&word.text);
                said.urls.push((word.line, url));
            }
        }
        self.ask(said);
        Ok(())
    }

    /// `-sSXPOST` and the like: letters, the last of them with its value behind it or in the next word.
    fn short(&mut self, said: &mut Said, word: &Word, words: &mut impl Iterator<Item = Word>) -> Wrong {
        let letters = word.text.begins();
        for (at, letter) in letters.char_indices().skip(1) {
            let option = format!("-{letter}");
            if kind(&option) == Kind::WithValue {
                let rest = word.text.after(at + letter.len_utf8());
                let value = if rest.is_empty() { words.next() } else { Some(Word { text: rest, ..word.clone() }) };
                return self.option(said, &option, word.line, value);
            }
            self.option(said, &option, word.line, None)?;
        }
        Ok(())
    }

    /// One option; `value` is there where it takes one, unless the command ends before.
    fn option(&mut self, said: &mut Said, written: &str, line: usize, value: Option<Word>) -> Wrong {
        let option = options::long(written);
        if kind(option) == Kind::WithValue && value.is_none() {
            return Err((line, format!("the command ends after {written}, which takes a value; it is cut off")));
        }
        let value = value.map(|word| self.known(&word.text)).unwrap_or_default();
        let shown = value.shown();
        match option {
            "--request" => said.method = Some(shown),
            "--url" => said.urls.push((line, value)),
            "--header" => self.header(said, line, value),
            "--data" | "--data-ascii" | "--data-binary" | "--json" => {
                if option == "--json" {
                    said.flags.push("--json");
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
                        said.data.push(Data::File(file.to_owned()));
                    }
                    None => said.data.push(Data::Text(value)),
                }
            }
            "--data-raw" => said.data.push(Data::Text(value)),
            "--data-urlencode" => self.encoded(said, line, value),
            "--url-query" => said.query.push(value),
            "--form" => self.part(said, line, value, true),
            "--form-string" => self.part(said, line, value, false),
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
                both.say(if whole { "" } else { ":" });
                said.auth = Some(Auth::Basic(both.template()));
            }
            "--oauth2-bearer" => said.auth = Some(Auth::Bearer(value.template())),
            "--user-agent" => said.headers.push(("User-Agent".to_owned(), value)),
            "--referer" => {
                let plain = shown.strip_suffix(";auto").map_or(value.clone(), Text::from);
                said.headers.push(("Referer".to_owned(), plain));
            }
            "--range" => said.headers.push(("Range".to_owned(), Text::from(format!("bytes={shown}")))),
            "--cookie" if shown.contains('=') => said.headers.push(("Cookie".to_owned(), value)),
            "--cookie" | "--cookie-jar" => self.cookies = true,
            "--compressed" => {
                said.headers.push(("Accept-Encoding".to_owned(), Text::from("deflate, gzip, br, zstd")));
            }
            "--get" => said.flags.push("--get"),
            "--head" => said.flags.push("--head"),
            "--globoff" => said.flags.push("--globoff"),
            "--upload-file" => said.upload = Some(shown),
            "--location" | "--location-trusted" => self.follows = true,
            "--max-redirs" => self.most_redirects(line, written, &shown),
            "--request-target" => said.target = Some(value),
            "--unix-socket" => said.socket = Some(shown),
            "--max-time" => self.response_timeout = time(&shown).max(self.response_timeout),
            "--connect-timeout" => self.connect_timeout = time(&shown).max(self.connect_timeout),
            "--insecure" => self.tls.insecure = true,
            "--cacert" => self.tls.roots = Some(shown.into()),
            "--cert" => said.own.0 = Some(shown),
            "--key" => said.own.1 = Some(shown),
            "--http2" => self.protocol = Protocol::Auto,
            "--http2-prior-knowledge" => self.protocol = Protocol::Http2,
            "--proxy" => self.proxy(line, &shown),
            "--http1.1" | "--basic" => {}
            _ if options::is_about_output(option) => {}
            _ => {
                let what = match kind(option) {
                    Kind::WithValue => format!("{written} {shown}: is not translated"),
                    Kind::Alone => format!("{written}: is not translated"),
                };
                self.note(line, "", what);
            }
        }
        Ok(())
    }

    /// `Name: value`; `Name;` is one without a value, `Name:` takes one away, `@file` reads them.
    fn header(&mut self, said: &mut Said, line: usize, value: Text) {
        let begins = value.begins();
        if begins.starts_with('@') {
            self.note(line, "", format!("-H {}: headers from a file; left out", value.shown()));
        } else if let Some((name, rest)) = value.split_once(':') {
            let rest = rest.after(rest.begins().len() - rest.begins().trim_start().len());
            let name = name.shown().trim().to_owned();
            if rest.is_empty() {
                said.without.push(name);
            } else {
                said.headers.push((name, rest));
            }
        } else if let Some(name) = value.said().and_then(|said| said.strip_suffix(';')) {
            said.headers.push((name.to_owned(), Text::default()));
        } else {
            self.note(line, "", format!("-H {}: is no header; left out", value.shown()));
        }
    }

    /// `content`, `=content`, `name=content`, `@file`, `name@file`.
    fn encoded(&mut self, said: &mut Said, line: usize, value: Text) {
        let begins = value.begins();
        let (name, content) = match begins.find(['=', '@']) {
            Some(at) if begins[at..].starts_with('@') => {
                let what = format!("--data-urlencode {}: would send a file, encoded; left out", value.shown());
                self.note(line, "", what);
                return;
            }
            Some(at) => (begins[..at].to_owned(), value.after(at + 1)),
            None => (String::new(), value.clone()),
        };
        let mut both = Text::from(if name.is_empty() { name } else { name + "=" });
        both.push(&content.map(form));
        said.data.push(Data::Text(both));
    }

    /// `name=value`, `name=@file;type=...`.
    fn part(&mut self, said: &mut Said, line: usize, value: Text, special: bool) {
        let Some((name, content)) = value.split_once('=') else {
            self.note(line, "", format!("-F {}: is no `name=value`; left out", value.shown()));
            return;
        };
        let name = name.shown();
        let begins = content.begins();
        if special && begins.starts_with('<') {
            let file = content.shown();
            let what = format!(
                "-F {name}={file}: a field whose value stands in a file, which is no upload; left out: write it as a value"
            );
            self.note(line, "", what);
            return;
        }
        if special && begins.starts_with('@') {
            let shown = content.shown();
            let mut said_of = shown[1..].split(';');
            let file = said_of.next().unwrap_or_default().trim_matches('"');
            let mut media_type = None;
            for more in said_of {
                match more.trim().strip_prefix("type=") {
                    Some(kind) => media_type = Some(kind),
                    None => self.note(line, "", format!("-F {shown}: `{}` is not translated", more.trim())),
                }
            }
            said.parts.push(body::upload(&name, file, media_type));
        } else if special && let Some((value, kind)) = content.said().and_then(|said| said.split_once(";type=")) {
            said.parts.push(body::field(&name, &Text::from(value), Some(kind)));
        } else {
            said.parts.push(body::field(&name, &content, None));
        }
    }

    /// Below zero there is no limit.
    fn most_redirects(&mut self, line: usize, written: &str, said: &str) {
        let most = match said.parse::<i64>() {
            Ok(0..) => said.parse::<u32>().unwrap_or(u32::MAX),
            Ok(_) => u32::MAX,
            Err(_) => return,
        };
        if most > Target::MOST_REDIRECTS {
            let what = format!("{written} {said}: at most {} in a row are followed here", Target::MOST_REDIRECTS);
            self.note(line, "", what);
        }
        self.most_redirects = Some(most.min(Target::MOST_REDIRECTS));
    }

    fn proxy(&mut self, line: usize, said: &str) {
        let url = if said.contains("://") { said.to_owned() } else { format!("http://{said}") };
        match url.trim_end_matches('/').parse() {
            Ok(proxy) => self.proxy = Some(proxy),
            Err(_) => self.note(line, "", format!("-x {said}: a proxy of a kind that is not offered")),
        }
    }

    /// A command's requests, one for each URL.
    fn ask(&mut self, said: Said) {
        if let (Some(certificate), key) = &said.own {
            // One file may hold both.
            let key = key.as_ref().unwrap_or(certificate);
            self.tls.identity = Some(Identity { certificate: certificate.into(), key: key.into() });
        }
        let urls = said.urls.clone();
        if urls.is_empty() {
            self.note(said.line, "curl", "names no URL; left out");
        }
        for (line, url) in urls {
            let element = format!("`{}`", url.shown().chars().take(100).collect::<String>());
            if !said.has("--globoff") && url.said().is_some_and(is_glob) {
                self.note(
                    line,
                    &element,
                    "braces or brackets in a URL stand for several; here they are sent as they are",
                );
            }
            let lack = |name: &str| {
                let environment = |variable: &&Variable| variable.name == name;
                match self.variables.iter().find(environment).map(|variable| &variable.value) {
                    Some(Value::Env(wanted)) => Some(Lack { property: false, name: wanted.clone() }),
                    _ => None,
                }
            };
            let Some((mut server, path)) = Server::split_text(&url, lack) else {
                self.note(line, &element, "asks no web server; left out");
                continue;
            };
            if let Some(socket) = &said.socket {
                server = Server::At(format!("unix:{socket}:/"));
            }
            let mut request = self.request(&said, line, path);
            request.name = name(&request);
            self.asked.push(Asked { line, element, server, request });
        }
    }

    fn request(&mut self, said: &Said, line: usize, path: Text) -> Request {
        let path = path.split_once('#').map_or(path, |(before, _)| before);
        let mut request = Request::new("get", sendable(said.target.as_ref().unwrap_or(&path)));
        for (name, value) in &said.headers {
            if !request.add_header(name, value.clone()) {
                self.note(line, "", format!("the header `{name}` is offered's own or cannot be sent; left out"));
            }
        }
        let mut query = said.query.clone();
        let mut body = match self.data(said, line) {
            Some(Data::Text(data)) if said.has("--get") => {
                query.push(data);
                Body::None
            }
            Some(Data::Text(data)) => body::text(&data),
            Some(Data::File(file)) => body::file(file),
            None => Body::None,
        };
        for part in query {
            request.path.say(if request.path.says_any(|c| c == '?') { "&" } else { "?" });
            request.path.push(&part.map(fit));
        }
        let mut kind = None;
        if !said.parts.is_empty() {
            body = Body::Multipart(said.parts.clone());
        } else if said.has("--json") {
            kind = Some("application/json");
        } else if body != Body::None {
            kind = Some("application/x-www-form-urlencoded");
        }
        request.method = match &said.method {
            Some(method) => method.to_lowercase(),
            None if said.has("--head") => "head".to_owned(),
            None if said.upload.is_some() => "put".to_owned(),
            None if body != Body::None => "post".to_owned(),
            None => "get".to_owned(),
        };
        if let Some(file) = &said.upload {
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
        if said.has("--json") {
            otherwise("Accept", "application/json");
        }
        request.headers.retain(|(name, _)| !said.without.iter().any(|without| without.eq_ignore_ascii_case(name)));
        request.body = body;
        request.auth.clone_from(&said.auth);
        request
    }

    /// What `-d` and its like add up to.
    fn data(&mut self, said: &Said, line: usize) -> Option<Data> {
        let mut text = Text::default();
        let mut several = false;
        for data in &said.data {
            match data {
                Data::File(file) if said.data.len() == 1 => return Some(Data::File(file.clone())),
                Data::File(file) => {
                    self.note(line, "", format!("a body of a file and more, which is none here: `{file}` is left out"));
                }
                Data::Text(part) => {
                    // Pieces of JSON are put together as they are.
                    text.say(if several && !said.has("--json") { "&" } else { "" });
                    text.push(part);
                    several = true;
                }
            }
        }
        several.then_some(Data::Text(text))
    }

    /// With what the script has set put in; what it has not is the environment's.
    fn known(&mut self, text: &Text) -> Text {
        let mut known = Text::default();
        let mut rest = text.clone();
        while !rest.is_empty() {
            let begins = rest.begins().to_owned();
            known.say(&begins);
            rest = rest.after(begins.len());
            let Some(wanted) = rest.names().next().map(str::to_owned) else { break };
            match self.set.iter().find(|(name, _)| *name == wanted) {
                Some((_, value)) => known.push(value),
                None => {
                    let name = text::name(&wanted);
                    if !self.variables.iter().any(|variable| variable.name == name) {
                        self.variables.push(Variable {
                            name: name.clone(),
                            value: Value::Env(wanted.clone()),
                            per: Per::Session,
                        });
                    }
                    known.push(&Text::value(&name));
                }
            }
            rest = rest.without_first();
        }
        known
    }

    fn plan(self) -> Known {
        let followed = self.most_redirects.unwrap_or(REDIRECTS);
        let mut target = nowhere()
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
        let steps = (0..self.asked.len()).map(|at| (at, None)).collect();
        Known {
            origin: "curl",
            remark: "How often, and by how many, is for you to say: here once a second.",
            visits: vec![Visit { name: "commands".to_owned(), steps }],
            asked: self.asked,
            own: None,
            flows: false,
            target,
            variables: self.variables,
            who: Who::OneASecond,
            notes: self.notes,
        }
    }
}

/// `NAME=value` before a command.
fn assignment(word: &Word) -> Option<(String, Text)> {
    let begins = word.text.begins();
    let at = begins.find('=')?;
    let name = &begins[..at];
    let fit = !name.is_empty()
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && !name.starts_with(|c: char| c.is_ascii_digit());
    fit.then(|| (name.to_owned(), word.text.after(at + 1)))
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
