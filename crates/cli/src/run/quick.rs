//! The quick form: flags for people who know wrk, hey, vegeta or oha, written out as the workload file they stand for.
//!
//! There is one way to say a workload, its TOML text. Flags are edits of that text (an empty one for a URL), which is then read
//! like any other and kept with the run.

mod system;

use std::path::Path;

use offered_experiment::Input;
use offered_model::workload::Url;
use offered_model::{Nanos, Workload};
use toml_edit::{Array, DocumentMut, InlineTable, Value, value};

use crate::exit::Failure;
use crate::file;
use crate::say::tell;
use crate::tolerance::Tolerance;
use system::System;

/// The flags that say a workload.
#[derive(clap::Args)]
pub(crate) struct Quick {
    /// A URL, as `http://host:port/path`, `https://...` or `unix:/run/app.sock:/path`, or a workload file
    pub(crate) target: String,

    #[command(flatten)]
    system: System,

    /// How long launches are meant [default with a URL: 10s, or with --requests until they are made]
    #[arg(short, long, value_name = "TIME", help_heading = "Test")]
    duration: Option<Nanos>,
    /// So many launches at most: what comes first, this or the duration, ends them
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Test")]
    requests: Option<u64>,
    /// Leave so much at the start out of the statistics
    #[arg(long, value_name = "TIME", help_heading = "Test")]
    skip_first: Option<Nanos>,
    /// Leave so much at the end out of the statistics
    #[arg(long, value_name = "TIME", help_heading = "Test")]
    skip_last: Option<Nanos>,
    /// The number from which every random choice follows [default: a new one, recorded]
    #[arg(long, help_heading = "Test")]
    seed: Option<u64>,
    /// What to do with launches that cannot be sent on time: send them late, or skip (and count) them
    #[arg(long, value_parser = ["send", "skip"], help_heading = "Test")]
    late: Option<String>,

    /// A header of every request (`Name: value`); may be repeated
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Request")]
    headers: Vec<String>,
    /// The method
    #[arg(short = 'X', long, value_parser = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"], ignore_case = true, help_heading = "Request")]
    method: Option<String>,
    /// The body, or @FILE to read it; {{session}} and {{sequence}} are filled in
    #[arg(long, value_name = "TEXT", help_heading = "Request")]
    body: Option<String>,

    /// How many threads launch [default: as many as the rate needs]
    #[arg(short, long, value_name = "N", help_heading = "Generator")]
    threads: Option<u16>,
    /// At most so many connections; launches that find none are counted as unsent
    #[arg(long, value_name = "N", help_heading = "Generator")]
    connections: Option<u32>,
    /// At most so many requests under way; launches beyond are counted as unsent
    #[arg(long, value_name = "N", help_heading = "Generator")]
    in_flight: Option<u32>,
    /// How launches find a connection
    #[arg(long, value_parser = ["pool", "per-session", "fresh"], help_heading = "Generator")]
    reuse: Option<String>,
    /// Take any certificate for the target's; every output will say so
    #[arg(long, help_heading = "Target")]
    insecure: bool,
    /// Through whom connections go: http://host:port, or http://user:password@host:port
    #[arg(long, value_name = "URL", help_heading = "Target")]
    proxy: Option<String>,
    /// Follow up to so many redirects in a row, none of them to another server
    #[arg(long, value_name = "N", help_heading = "Target")]
    follow: Option<u32>,
    /// Which HTTP is spoken; auto leaves it to the server (https only) [default: http1]
    #[arg(long, value_parser = ["http1", "h2", "auto"], help_heading = "Target")]
    protocol: Option<String>,
    /// How threads wait: spin is exact to microseconds, sleep costs almost nothing
    #[arg(long, value_parser = ["spin", "sleep"], help_heading = "Generator")]
    precision: Option<String>,
    #[command(flatten)]
    tolerance: Tolerance,
    /// The longest a connection may take to open [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Generator")]
    connect_timeout: Option<Nanos>,
    /// The longest an answer may take [default: 30s]
    #[arg(long, value_name = "TIME", help_heading = "Generator")]
    timeout: Option<Nanos>,
}

impl Quick {
    /// The text of the workload, and the workload. One part of a `shared` run must know its seed: another would draw another. Of a URL
    /// that is asked only `once` nobody needs to say how load arrives.
    pub(crate) fn workload(&self, shared: bool, once: bool) -> Result<(String, Workload), Failure> {
        let file = self.file();
        let given = file.map(file::workload).transpose().map_err(|failure| match failure {
            Failure::Input(why) if self.target.contains(':') => {
                Failure::input(format!("{why}; a URL begins with http://, https:// or unix:"))
            }
            other => other,
        })?;
        let mut document: DocumentMut = match &given {
            None => DocumentMut::new(),
            // The reader's own words for what is wrong with it are better than the editor's.
            Some(text) => match text.parse() {
                Ok(document) => document,
                Err(_) => {
                    return Err(Workload::parse(text, &self.target, &file::beside(file))
                        .err()
                        .map_or_else(|| Failure::input(format!("{}: not a TOML file", self.target)), Failure::input));
                }
            },
        };
        if once && file.is_none() {
            file::table(&mut document, "arrivals")?["closed"] = value(InlineTable::from_iter([("users", 1)]));
        }
        if file.is_none() {
            // Where nothing can be loaded, no load helps.
            self.target.parse::<Url>().map_err(|why| Failure::input(format!("target.url: {why}")))?;
        }
        self.edit(&mut document, file.is_some(), shared)?;
        let input = self.input(document.to_string());
        input.located(&input.text).map_err(|mistake| {
            // Edits move lines; a mistake of the file's own is told at its own line.
            let own = given.as_ref().and_then(|given| Workload::parse(given, &self.target, &file::beside(file)).err());
            match (own, self.flag(&mistake.field)) {
                (Some(own), _) if (&own.field, &own.what) == (&mistake.field, &mistake.what) => Failure::input(own),
                (_, Some(flag)) => Failure::input(format!("{flag}: {}", mistake.what)),
                (_, None) if given.is_none() => Failure::input(mistake.said()), // no file whose line would help
                (_, None) => Failure::input(mistake),
            }
        })
    }

    /// The text of its workload, with the way to the files that it names.
    pub(crate) fn input(&self, text: String) -> Input {
        Input::new(self.target.clone(), text, file::beside(self.file()))
    }

    /// Its file, where it is not a URL.
    fn file(&self) -> Option<&Path> {
        (!self.target.contains("://") && !self.target.starts_with("unix:")).then(|| Path::new(&self.target))
    }

    /// The flag that was given for this key of the workload, or for what is in it.
    fn flag(&self, field: &str) -> Option<&'static str> {
        let skipped = field.starts_with("skip_");
        let given = [
            ("duration", "--duration", self.duration.is_some()),
            ("requests", "--requests", self.requests.is_some()),
            ("skip_first", "--skip-first", self.skip_first.is_some()),
            ("skip_last", "--skip-last", self.skip_last.is_some()),
            ("seed", "--seed", self.seed.is_some()),
            ("late", "--late", self.late.is_some()),
            ("target.headers", "--header", !self.headers.is_empty()),
            ("request", "--body", self.body.is_some()),
            ("request", "--method", self.method.is_some()),
            ("target.reuse", "--reuse", self.reuse.is_some()),
            ("target.connections", "--connections", self.connections.is_some()),
            ("target.in_flight", "--in-flight", self.in_flight.is_some()),
            ("target.connect_timeout", "--connect-timeout", self.connect_timeout.is_some()),
            ("target.response_timeout", "--timeout", self.timeout.is_some()),
            ("target.proxy", "--proxy", self.proxy.is_some()),
            ("target.protocol", "--protocol", self.protocol.is_some()),
            ("target.redirects", "--follow", self.follow.is_some()),
            ("target.tls", "--insecure", self.insecure),
            ("generator.threads", "--threads", self.threads.is_some()),
            ("generator.precision", "--precision", self.precision.is_some()),
            ("generator.tolerance", "--tolerance", self.tolerance.text().is_some()),
        ];
        let is_in =
            |key: &str| field.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let named = given.iter().find(|(key, _, given)| *given && is_in(key)).map(|(_, flag, _)| *flag);
        // What is skipped is too long for what it is skipped of, or that too short.
        let ours = || given[..4].iter().find(|(.., given)| skipped && *given).map(|(_, flag, _)| *flag);
        named.or_else(ours).or_else(|| self.system.flag(field))
    }

    fn edit(&self, document: &mut DocumentMut, file: bool, shared: bool) -> Result<(), Failure> {
        if self.seed.is_some() || !document.contains_key("seed") {
            if shared && self.seed.is_none() {
                return Err(Failure::input(
                    "a share of a run needs the seed of the whole; write seed = 42 in the workload or give --seed 42",
                ));
            }
            // TOML's integers have 63 bits.
            let seed = self.seed.unwrap_or_else(|| offered_clock::unix_now().0 / 1000 % 1_000_000_000);
            document["seed"] = value(i64::try_from(seed).map_err(|_| Failure::input("--seed must be below 2^63"))?);
        }
        let duration = self.duration.or((!file && self.requests.is_none()).then(|| Nanos::from_secs(10)));
        for (key, time) in [("duration", duration), ("skip_first", self.skip_first), ("skip_last", self.skip_last)] {
            if let Some(time) = time {
                document[key] = value(time.to_string());
            }
        }
        if let Some(requests) = self.requests {
            document["requests"] = value(i64::try_from(requests).map_err(|_| Failure::input("-n must be below 2^63"))?);
            if document.remove("sessions").is_some() {
                tell!("note: the file's number of sessions is left out; --requests stands in its place");
            }
        }
        if let Some(late) = &self.late {
            document["late"] = value(late);
        }
        for said in self.system.edit(document, file)? {
            tell!("note: {said}");
        }
        let text = |text: &Option<String>| text.as_deref().map(Value::from);
        let time = |time: Option<Nanos>| time.map(|time| Value::from(time.to_string()));
        let number = |number: Option<u32>| number.map(|n| Value::from(i64::from(n)));
        for (section, key, content) in [
            ("target", "url", (!file).then(|| Value::from(&self.target))),
            ("target", "reuse", text(&self.reuse)),
            ("target", "connections", number(self.connections)),
            ("target", "in_flight", number(self.in_flight)),
            ("target", "connect_timeout", time(self.connect_timeout)),
            ("target", "response_timeout", time(self.timeout)),
            ("target", "proxy", text(&self.proxy)),
            ("target", "protocol", text(&self.protocol)),
            ("target", "redirects", number(self.follow)),
            ("target", "headers", self.headers()?),
            ("generator", "threads", number(self.threads.map(u32::from))),
            ("generator", "precision", text(&self.precision)),
            ("generator", "tolerance", self.tolerance.text().map(Value::from)),
        ] {
            if let Some(content) = content {
                file::table(document, section)?[key] = value(content);
            }
        }
        if self.insecure {
            let target = file::table(document, "target")?;
            let tls = target.entry("tls").or_insert_with(|| value(InlineTable::new()));
            let tls =
                tls.as_table_like_mut().ok_or_else(|| Failure::input("`target.tls` is not a table in the workload"))?;
            tls.insert("insecure", value(true));
        }
        if self.method.is_some() || self.body.is_some() {
            self.request(document, file)?;
        }
        Ok(())
    }

    fn headers(&self) -> Result<Option<Value>, Failure> {
        let mut headers = InlineTable::new();
        for header in &self.headers {
            let (name, content) = header.split_once(':').ok_or_else(|| {
                Failure::input(format!("`{header}` is not a header; write for example -H 'Accept: text/html'"))
            })?;
            headers.insert(name.trim(), content.trim().into());
        }
        Ok((!headers.is_empty()).then(|| headers.into()))
    }

    /// The one request of a URL with a method or a body.
    fn request(&self, document: &mut DocumentMut, file: bool) -> Result<(), Failure> {
        if file {
            return Err(Failure::input("--method and --body go with a URL; write them in the workload's [[request]]"));
        }
        let url: Url = self.target.parse()?;
        let method = self.method.as_deref().unwrap_or("POST").to_lowercase();
        let mut request = InlineTable::from_iter([(method.as_str(), url.path.as_str())]);
        if let Some(body) = &self.body {
            let body = match body.strip_prefix('@') {
                Some(path) => file::text(Path::new(path))?,
                None => body.clone(),
            };
            request.insert("body", body.into());
        }
        document["request"] = value(Array::from_iter([Value::from(request)]));
        Ok(())
    }
}
