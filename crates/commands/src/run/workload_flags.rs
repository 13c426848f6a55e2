//! Flags that describe a workload, as in wrk, hey, vegeta or oha.
//!
//! The TOML text is the only form of a workload. Flags edit that text (an empty one for a URL); the result is then parsed and
//! recorded like any workload file.

mod arrivals;

use std::path::Path;

use offered_base::Nanos;
use offered_experiment::WorkloadSource;
use offered_workload::Url;
use offered_workload::Workload;
use toml_edit::{Array, DocumentMut, InlineTable, Value, value};

use crate::failure::Failure;
use crate::input_file;
use crate::output::status;
use crate::tolerance::Tolerance;
use crate::trust::FilesFlag;
use arrivals::ArrivalFlags;

/// Flags that describe a workload.
#[derive(clap::Args)]
pub(crate) struct WorkloadFlags {
    /// Workload file, - for stdin, or URL (`http://`, `https://`, `unix:/run/app.sock:/path`)
    #[arg(value_hint = clap::ValueHint::FilePath)]
    pub(crate) target: String,

    /// The text of the workload, if another command made it; the target is then only its name.
    #[arg(skip)]
    pub(super) text: Option<String>,

    #[command(flatten)]
    arrivals: ArrivalFlags,

    /// Test duration [default with a URL: 10s, or until --requests are sent]
    #[arg(short, long, value_name = "TIME", help_heading = "Test")]
    duration: Option<Nanos>,
    /// Maximum number of requests; the run ends at this number or at its duration
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Test")]
    requests: Option<u64>,
    /// Exclude the first TIME from statistics (warm-up)
    #[arg(long, value_name = "TIME", help_heading = "Test")]
    skip_first: Option<Nanos>,
    /// Exclude the last TIME from statistics
    #[arg(long, value_name = "TIME", help_heading = "Test")]
    skip_last: Option<Nanos>,
    /// Seed of all random numbers [default: a new one, recorded]
    #[arg(long, help_heading = "Test")]
    seed: Option<u64>,
    /// What happens to late requests: they are sent, or skipped and counted
    #[arg(long, value_parser = ["send", "skip"], help_heading = "Test")]
    late: Option<String>,

    /// Header of every request, for example 'Accept: text/html' (repeatable)
    #[arg(short = 'H', long = "header", value_name = "HEADER", help_heading = "Request")]
    headers: Vec<String>,
    /// Request method [default: GET, or POST with --body]
    #[arg(short = 'X', long, value_parser = ["GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"], ignore_case = true, help_heading = "Request")]
    method: Option<String>,
    /// Request body, or @FILE; {{session}} and {{sequence}} are replaced by numbers
    #[arg(long, value_name = "TEXT", help_heading = "Request")]
    body: Option<String>,

    /// Number of sending threads [default: as many as the rate needs]
    #[arg(short, long, value_name = "N", help_heading = "Generator")]
    threads: Option<u16>,
    /// Maximum number of connections; a request that finds no free connection is not sent
    #[arg(long, value_name = "N", help_heading = "Generator")]
    connections: Option<u32>,
    /// Maximum number of requests in flight; further requests count as not sent
    #[arg(long, value_name = "N", help_heading = "Generator")]
    in_flight: Option<u32>,
    /// Connection reuse: a shared pool, one per session, or one per request
    #[arg(long, value_parser = ["pool", "per-session", "fresh"], help_heading = "Generator")]
    reuse: Option<String>,
    /// Accept any TLS certificate; every output states this
    #[arg(long, help_heading = "Target")]
    insecure: bool,
    /// HTTP proxy: http://host:port or http://user:password@host:port
    #[arg(long, value_name = "URL", help_heading = "Target")]
    proxy: Option<String>,
    /// Follow up to N consecutive redirects to the same server [default: 0]
    #[arg(long, value_name = "N", help_heading = "Target")]
    follow: Option<u32>,
    /// HTTP version; auto negotiates it over TLS [default: http1]
    #[arg(long, value_parser = ["http1", "h2", "auto"], help_heading = "Target")]
    protocol: Option<String>,
    /// How threads wait: spin is exact to microseconds, sleep uses little CPU [default: spin]
    #[arg(long, value_parser = ["spin", "sleep"], help_heading = "Generator")]
    wait_mode: Option<String>,
    /// Scheduling priority of sending threads: the highest safe one, normal, or real-time [default: auto]
    #[arg(long, value_parser = ["auto", "normal", "realtime"], help_heading = "Generator")]
    priority: Option<String>,
    #[command(flatten)]
    tolerance: Tolerance,
    #[command(flatten)]
    pub(super) files: FilesFlag,
    /// Maximum time to open a connection [default: 5s]
    #[arg(long, value_name = "TIME", help_heading = "Generator")]
    connect_timeout: Option<Nanos>,
    /// Maximum response time; a later response counts as failed [default: 30s]
    #[arg(long, value_name = "TIME", help_heading = "Generator")]
    timeout: Option<Nanos>,
}

impl WorkloadFlags {
    /// The source of the workload, its text with the digests of its files, and the workload. With `shared`, the seed must be given: every worker needs the same one.
    /// With `once` and a URL, no system model is needed.
    pub(crate) fn workload(&self, shared: bool, once: bool) -> Result<(WorkloadSource, String, Workload), Failure> {
        let file = self.file();
        let read = || file.map(input_file::workload).transpose();
        let given = self.text.clone().map_or_else(read, |text| Ok(Some(text))).map_err(|failure| match failure {
            Failure::Input(why) if self.target.contains(':') => {
                Failure::input(format!("{why}; a URL starts with http://, https:// or unix:"))
            }
            other => other,
        })?;
        let mut document: DocumentMut = match &given {
            None => DocumentMut::new(),
            // The workload parser has better error messages than the TOML editor.
            Some(text) => match text.parse() {
                Ok(document) => document,
                Err(_) => {
                    return Err(self
                        .input(text.clone())
                        .parse(text)
                        .err()
                        .map_or_else(|| Failure::input(format!("{}: not a TOML file", self.name())), Failure::input));
                }
            },
        };
        let is_url = given.is_none();
        if once && is_url {
            input_file::table(&mut document, "arrivals")?["closed"] = value(InlineTable::from_iter([("users", 1)]));
        }
        if is_url {
            // Report a wrong URL before a missing system model.
            self.target.parse::<Url>().map_err(|error| Failure::input(format!("target.url: {error}")))?;
        }
        self.edit(&mut document, !is_url, shared)?;
        let input = self.input(document.to_string());
        let (text, workload) = input.parse_with_files(&input.text).map_err(|mistake| {
            // Edits move lines: report a mistake in the file at its own line.
            let own = given.as_ref().and_then(|given| input.parse(given).err());
            match (own, self.flag(&mistake.field)) {
                (Some(own), _) if (&own.field, &own.what) == (&mistake.field, &mistake.what) => Failure::input(own),
                (_, Some(flag)) => Failure::input(offered_base::sentence(flag, &mistake.what)),
                (_, None) if given.is_none() => Failure::input(mistake.without_position()), // there is no file to name a line of
                (_, None) => Failure::input(mistake),
            }
        })?;
        Ok((input, text, workload))
    }

    /// The workload text, with access to the files that it names.
    pub(crate) fn input(&self, text: String) -> WorkloadSource {
        self.files.restrict(WorkloadSource::new(self.name(), text, input_file::beside(self.file())))
    }

    /// The target as messages and reports name it.
    pub(crate) fn name(&self) -> String {
        if self.target == "-" { "stdin".to_owned() } else { self.target.clone() }
    }

    /// The workload file, `-` for stdin; `None` for a URL.
    fn file(&self) -> Option<&Path> {
        (!self.target.contains("://") && !self.target.starts_with("unix:")).then(|| Path::new(&self.target))
    }

    /// The given flag that sets this workload key or a key below it.
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
            ("generator.wait", "--wait-mode", self.wait_mode.is_some()),
            ("generator.priority", "--priority", self.priority.is_some()),
            ("generator.tolerance", "--tolerance", self.tolerance.text().is_some()),
        ];
        let is_in =
            |key: &str| field.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        let named = given.iter().find(|(key, _, given)| *given && is_in(key)).map(|(_, flag, _)| *flag);
        // `skip_*` also fails if the duration is too short for it.
        let ours = || given[..4].iter().find(|(.., given)| skipped && *given).map(|(_, flag, _)| *flag);
        named.or_else(ours).or_else(|| self.arrivals.flag(field))
    }

    fn edit(&self, document: &mut DocumentMut, file: bool, shared: bool) -> Result<(), Failure> {
        if self.seed.is_some() || !document.contains_key("seed") {
            if shared && self.seed.is_none() {
                return Err(Failure::input(
                    "every worker of a shared run needs the same seed: give --seed 42, or write seed = 42 in the workload",
                ));
            }
            // TOML's integers have 63 bits.
            let seed = self.seed.unwrap_or_else(|| offered_io::unix_now().0 / 1000 % 1_000_000_000);
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
                status!("note: --requests replaces `sessions` of the workload file");
            }
        }
        if let Some(late) = &self.late {
            document["late"] = value(late);
        }
        for note in self.arrivals.edit(document, file)? {
            status!("note: {note}");
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
            ("generator", "wait", text(&self.wait_mode)),
            ("generator", "priority", text(&self.priority)),
            ("generator", "tolerance", self.tolerance.text().map(Value::from)),
        ] {
            if let Some(content) = content {
                input_file::table(document, section)?[key] = value(content);
            }
        }
        if self.insecure {
            let target = input_file::table(document, "target")?;
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

    /// Adds the request of a URL with a method or a body.
    fn request(&self, document: &mut DocumentMut, file: bool) -> Result<(), Failure> {
        if file {
            return Err(Failure::input(
                "--method and --body need a URL; in a workload file, write them in [[request]]",
            ));
        }
        let url: Url = self.target.parse()?;
        let method = self.method.as_deref().unwrap_or("POST").to_lowercase();
        let mut request = InlineTable::from_iter([(method.as_str(), url.path.as_str())]);
        if let Some(body) = &self.body {
            let body = match body.strip_prefix('@') {
                Some(path) => input_file::text(Path::new(path))?,
                None => body.clone(),
            };
            request.insert("body", body.into());
        }
        document["request"] = value(Array::from_iter([Value::from(request)]));
        Ok(())
    }
}
