//! Formats of access logs: one file each, told apart by content.

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

/// A format with what its reader remembers between lines.
#[derive(Clone, Debug)]
pub enum Format {
    /// Common, Combined, and both with a virtual host.
    Common(Common),
    /// A format string of nginx or Apache.
    Pattern(Pattern),
    /// Squid's native log.
    Squid,
    /// W3C extended (IIS, `CloudFront`).
    W3c(W3c),
    /// A classic or application load balancer of AWS.
    Elb,
    /// `HAProxy`'s HTTP log; its stamps are read with a memory.
    HaProxy(Stamps),
    /// Envoy's default text, and Istio's.
    Envoy,
    /// S3's server access log; its stamps are read with a memory.
    S3(Stamps),
    /// uWSGI's own.
    Uwsgi,
    /// JSON lines.
    Json(Box<Json>),
    /// The Standard Workload Format of parallel machines.
    Swf(Box<Swf>),
    /// World Cup 1998, binary; with room for a path.
    WorldCup(Vec<u8>),
}

/// Which format a log is said to have, and which of its fields tells users apart.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// `auto` (or empty), a name of the list, or a format string: nginx's holds a `$`, Apache's a `%`.
    pub format: String,
    /// Keys of JSON logs, `client=addr,time=t`.
    pub mapping: String,
    /// The field that tells users apart.
    pub user: Option<String>,
}

/// The names a user may give.
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

impl Choice {
    /// The format chosen, or the one that reads most of the lines in `head`, the start of the log.
    ///
    /// # Errors
    /// An unknown name, a format string that does not say enough, or a head that no format reads.
    pub fn format(&self, head: &[u8]) -> Result<Format, String> {
        let name = self.format.trim();
        if name.is_empty() || name == "auto" { self.sniff(head) } else { self.named(name) }
    }

    /// Refuses what no log could be read with.
    ///
    /// # Errors
    /// An unknown name, a format string that does not say enough, or a field the format does not have.
    pub fn check(&self) -> Result<(), String> {
        match self.format.trim() {
            "" | "auto" => Ok(()),
            name => self.named(name).map(|_| ()),
        }
    }

    fn named(&self, name: &str) -> Result<Format, String> {
        let user = self.user.as_deref();
        let unnamed = |format| match user {
            Some(user) => Err(format!("logs of this format have no field `{user}` to tell users apart")),
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
                    |name| format!("jobs have no field `{name}`; they have user, group, executable, queue, partition");
                let user = user.map(|name| place(name).ok_or_else(|| unknown(name))).transpose()?;
                Ok(Format::Swf(Box::new(Swf::new(user))))
            }
            "worldcup" => unnamed(Format::WorldCup(Vec::new())),
            _ if name.contains('$') => nginx::compile(name, user).map(Format::Pattern),
            _ if name.contains('%') => apache::compile(name, user).map(Format::Pattern),
            _ => Err(format!(
                "`{name}` is no format; write one of {}, or the log_format (nginx) or LogFormat (Apache) string itself",
                NAMES.join(", ")
            )),
        }
    }

    fn common(&self, vhost: bool) -> Result<Format, String> {
        let field = |name: &String| {
            common::Field::named(name).filter(|field| vhost || *field != common::Field::Host).ok_or_else(|| {
                format!("Common and Combined logs have no field `{name}`; they have ident, user, referer, agent (vhost logs: host)")
            })
        };
        let user = self.user.as_ref().map(field).transpose()?;
        Ok(Format::Common(Common { vhost, user, ..Common::default() }))
    }

    fn sniff(&self, head: &[u8]) -> Result<Format, String> {
        if worldcup::looks_like(head) {
            return self.named("worldcup");
        }
        let mut lines: Vec<&[u8]> = head.split(|b| *b == b'\n').map(trimmed).collect();
        if lines.len() > 1 {
            // What stands behind the last line's end: nothing, or a line cut off by the end of the head.
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
            None if lines.is_empty() => Err("it is empty".to_owned()),
            None => Err(refused.unwrap_or_else(|| {
                format!(
                    "none of its first {} lines is in a known format; name it: {}, or the nginx or Apache format string itself",
                    lines.len(),
                    NAMES.join(", ")
                )
            })),
        }
    }
}

impl Format {
    /// What `line` (without its end) says; `None` for comments and directives.
    ///
    /// # Errors
    /// Why the line cannot be read, in a few words.
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

    /// Whether the sniffer takes `line` for one of this format's.
    fn reads(&mut self, line: &[u8]) -> bool {
        // With a host in front a line reads as Common too, the host taken for the client.
        let right_host = match self {
            Self::Common(common) => common::has_vhost(line) == common.vhost,
            _ => true,
        };
        right_host && matches!(self.parse(line), Ok(Some(_)))
    }

    /// Its name in reports.
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

    /// Whether a reader may begin at any line: not where a directive says how the lines behind it read, or when they begin.
    pub fn begins_anywhere(&self) -> bool {
        !matches!(self, Self::W3c(_) | Self::Swf(_) | Self::WorldCup(_))
    }

    /// Whether its durations are the work that entries bring: a job ran alone, a request's answer may have waited.
    pub fn says_work(&self) -> bool {
        matches!(self, Self::Swf(_))
    }

    /// The length of its records, where they are not lines.
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
