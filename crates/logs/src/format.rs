//! Formats of access logs, detected by content.

mod apache;
mod common;
mod elb;
mod envoy;
mod haproxy;
mod json;
mod nginx;
mod pattern;
mod s3;
mod squid;
mod swf;
#[cfg(test)]
mod tests;
mod uwsgi;
mod w3c;
mod worldcup;

use common::Common;
use json::Json;
use pattern::Pattern;
use swf::Swf;
use w3c::W3c;
use worldcup::RECORD;

use crate::entry::Entry;
use crate::time::Stamps;

/// A log format with the state of its reader.
#[derive(Clone, Debug)]
pub enum Format {
    /// Common and Combined, also with a virtual host.
    Common(Common),
    /// A compiled format string of nginx or Apache.
    Pattern(Pattern),
    /// Squid's native log.
    Squid,
    /// W3C extended (IIS, `CloudFront`).
    W3c(W3c),
    /// A classic or application load balancer of AWS.
    Elb,
    /// `HAProxy`'s HTTP log.
    HaProxy(Stamps),
    /// Envoy's default text format and Istio's.
    Envoy,
    /// S3's server access log.
    S3(Stamps),
    /// uWSGI's default format.
    Uwsgi,
    /// JSON lines.
    Json(Box<Json>),
    /// The Standard Workload Format of parallel machines.
    Swf(Box<Swf>),
    /// World Cup 1998 binary format, with a buffer for the path.
    WorldCup(Vec<u8>),
}

/// Settings that determine the format of a log and the field that identifies users.
#[derive(Clone, Debug, Default)]
pub struct FormatChoice {
    /// `auto` (or empty), a format name, or a format string of nginx (contains `$`) or Apache (contains `%`).
    pub format: String,
    /// Keys of JSON logs, such as `client=addr,time=t`.
    pub mapping: String,
    /// Field that identifies users; `None` for the client.
    pub user: Option<String>,
}

/// Names of the formats.
pub(crate) const NAMES: [&str; 15] = [
    "auto",
    "common",
    "combined",
    "vhost",
    "squid",
    "w3c",
    "cloudfront",
    "elb",
    "haproxy",
    "envoy",
    "s3",
    "uwsgi",
    "json",
    "swf",
    "worldcup",
];

impl FormatChoice {
    /// The selected format, or with `auto` the format that parses most lines of `head`, the start of the log.
    ///
    /// # Errors
    /// The name is unknown, the format string lacks a field, or no format parses `head`.
    pub fn format(&self, head: &[u8]) -> Result<Format, String> {
        let name = self.format.trim();
        if name.is_empty() || name == "auto" { self.detect(head) } else { self.named(name) }
    }

    /// Checks the settings without a log.
    ///
    /// # Errors
    /// The name is unknown, the format string lacks a field, or the format does not have the field that identifies
    /// users.
    pub fn check(&self) -> Result<(), String> {
        match self.format.trim() {
            "" | "auto" => Ok(()),
            name => self.named(name).map(|_| ()),
        }
    }

    fn named(&self, name: &str) -> Result<Format, String> {
        let user = self.user.as_deref();
        let unnamed = |format| match user {
            Some(user) => Err(format!("this log format has no field `{user}` to identify users")),
            None => Ok(format),
        };
        match name {
            "common" | "combined" => self.common(false),
            "vhost" => self.common(true),
            "squid" => unnamed(Format::Squid),
            "w3c" | "cloudfront" => Ok(Format::W3c(W3c::new(user))),
            "elb" => unnamed(Format::Elb),
            "haproxy" => unnamed(Format::HaProxy(Stamps::default())),
            "envoy" => unnamed(Format::Envoy),
            "s3" => unnamed(Format::S3(Stamps::default())),
            "uwsgi" => unnamed(Format::Uwsgi),
            "json" => Ok(Format::Json(Box::new(Json::new(&self.mapping, user)?))),
            "swf" => {
                let place = |name: &str| swf::FIELDS.iter().find(|field| field.0 == name).map(|field| field.1);
                let unknown =
                    |name| format!("jobs have no field `{name}`; expected user, group, executable, queue or partition");
                let user = user.map(|name| place(name).ok_or_else(|| unknown(name))).transpose()?;
                Ok(Format::Swf(Box::new(Swf::new(user))))
            }
            "worldcup" => unnamed(Format::WorldCup(Vec::new())),
            _ if name.contains('$') => nginx::compile(name, user).map(Format::Pattern),
            _ if name.contains('%') => apache::compile(name, user).map(Format::Pattern),
            _ => Err(format!(
                "unknown log format `{name}`; expected one of {}, or the log_format (nginx) or LogFormat (Apache) string itself",
                NAMES.join(", ")
            )),
        }
    }

    fn common(&self, vhost: bool) -> Result<Format, String> {
        let field = |name: &String| {
            common::Field::named(name).filter(|field| vhost || *field != common::Field::Host).ok_or_else(|| {
                format!("Common and Combined logs have no field `{name}`; expected ident, user, referer or agent (vhost logs: host)")
            })
        };
        let user = self.user.as_ref().map(field).transpose()?;
        Ok(Format::Common(Common { vhost, user, ..Common::default() }))
    }

    fn detect(&self, head: &[u8]) -> Result<Format, String> {
        if worldcup::looks_like(head) {
            return self.named("worldcup");
        }
        let mut lines: Vec<&[u8]> = head.split(|b| *b == b'\n').map(trimmed).collect();
        if lines.len() > 1 {
            // The last piece is empty or a truncated line.
            lines.pop();
        }
        lines.retain(|line| !line.is_empty());
        lines.truncate(200);
        let mut best: Option<(usize, Format)> = None;
        let mut refused = None;
        for name in ["combined", "vhost", "json", "w3c", "elb", "haproxy", "envoy", "s3", "uwsgi", "squid", "swf"] {
            let mut format = match self.named(name) {
                Ok(format) => format,
                Err(why) => {
                    refused = Some(why);
                    continue;
                }
            };
            let read = lines.iter().filter(|line| format.reads(line)).count();
            if read > best.as_ref().map_or(0, |(most, _)| *most) {
                best = Some((read, format));
            }
        }
        match best {
            Some((_, mut format)) => {
                if let Format::W3c(w3c) = &mut format {
                    *w3c = W3c::new(self.user.as_deref());
                }
                Ok(format)
            }
            None if lines.is_empty() => Err("the file is empty".to_owned()),
            None => Err(refused.unwrap_or_else(|| {
                format!(
                    "none of the first {} lines is in a known format; select one of {}, or give the nginx or Apache format string itself",
                    lines.len(),
                    NAMES.join(", ")
                )
            })),
        }
    }
}

impl Format {
    /// Parses a line without its line end; `None` for comments and directives.
    ///
    /// # Errors
    /// A short reason why the line cannot be parsed.
    #[inline]
    pub fn parse<'a>(&'a mut self, line: &'a [u8]) -> Result<Option<Entry<'a>>, &'static str> {
        match self {
            Self::Common(common) => common.parse(line).map(Some),
            Self::WorldCup(path) => worldcup::parse(line, path).map(Some),
            _ if line.is_empty() => Ok(None),
            Self::W3c(w3c) => w3c.parse(line),
            Self::Swf(swf) => swf.parse(line),
            _ if line[0] == b'#' => Ok(None),
            Self::Pattern(pattern) => pattern.parse(line).map(Some),
            Self::Squid => squid::parse(line).map(Some),
            Self::Elb => elb::parse(line).map(Some),
            Self::HaProxy(stamps) => haproxy::parse(line, stamps).map(Some),
            Self::Envoy => envoy::parse(line).map(Some),
            Self::S3(stamps) => s3::parse(line, stamps).map(Some),
            Self::Uwsgi => uwsgi::parse(line).map(Some),
            Self::Json(json) => json.parse(line).map(Some),
        }
    }

    /// Whether the format detection accepts `line`.
    fn reads(&mut self, line: &[u8]) -> bool {
        // A line with a virtual host also parses as Common, with the host as the client.
        let right_host = match self {
            Self::Common(common) => common::has_vhost(line) == common.vhost,
            _ => true,
        };
        right_host && matches!(self.parse(line), Ok(Some(_)))
    }

    /// Name in reports.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Common(Common { vhost: false, .. }) => "common/combined",
            Self::Common(_) => "vhost-combined",
            Self::Pattern(_) => "format string",
            Self::Squid => "squid",
            Self::W3c(_) => "w3c",
            Self::Elb => "elb",
            Self::HaProxy(_) => "haproxy",
            Self::Envoy => "envoy",
            Self::S3(_) => "s3",
            Self::Uwsgi => "uwsgi",
            Self::Json(_) => "json",
            Self::Swf(_) => "swf",
            Self::WorldCup(_) => "worldcup",
        }
    }

    /// Whether reading may start at any line. False if directives define the format or the time of the following lines.
    pub fn is_splittable(&self) -> bool {
        !matches!(self, Self::W3c(_) | Self::Swf(_) | Self::WorldCup(_))
    }

    /// Whether durations are pure work: jobs run alone, while web responses may include queueing.
    pub fn has_work(&self) -> bool {
        matches!(self, Self::Swf(_))
    }

    /// Record length in bytes, for binary formats.
    pub fn record(&self) -> Option<usize> {
        matches!(self, Self::WorldCup(_)).then_some(RECORD)
    }
}

/// `line` without a carriage return or blanks at its end.
#[inline]
pub(crate) fn trimmed(line: &[u8]) -> &[u8] {
    match line.last() {
        Some(b'\r' | b' ') => line.trim_ascii_end(),
        _ => line,
    }
}
