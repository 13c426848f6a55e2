//! Writes test emulations (N users with mean think time Z) as scripts for other tools, or as a workload.

mod gatling;
mod jmeter;
mod k6;
mod locust;
#[cfg(test)]
mod tests;
mod wrk2;

use std::fmt;

use offered_base::{InvalidValue, Nanos};
use offered_distributions::Distribution;
use offered_schedule::{Closed, Sessions};
use offered_workload::Template;
use offered_workload::template::Piece;
use offered_workload::{Address, Draft, Request, Url, Workload};

/// A load-testing tool for which scripts can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Apache `JMeter` 5.6 (.jmx test plan).
    Jmeter,
    /// Grafana k6 (JavaScript module).
    K6,
    /// Locust (Python file).
    Locust,
    /// Gatling (Java simulation).
    Gatling,
    /// wrk2 (Lua script).
    Wrk2,
}

/// Distribution of think times that all tools support; Z is the mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkShape {
    /// Uniform between 0 and 2Z.
    Uniform,
    /// Exponential with mean Z.
    Exponential,
    /// Constant Z.
    Constant,
}

/// Reason why no script can be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The tool does not support Unix sockets.
    #[error("{tool} does not support Unix sockets ({socket})")]
    UnixSocket {
        /// The tool.
        tool: Tool,
        /// Path of the socket.
        socket: String,
    },
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jmeter => "JMeter",
            Self::K6 => "k6",
            Self::Locust => "Locust",
            Self::Gatling => "Gatling",
            Self::Wrk2 => "wrk2",
        })
    }
}

/// N users with mean think time Z (Principle A, Brady and Gunther 2016).
#[derive(Clone, Debug)]
pub struct Emulation {
    /// URL of the target.
    pub url: Url,
    /// Requests, chosen by weight. The only variables in them are `{{session}}` and `{{sequence}}`.
    pub requests: Vec<Request>,
    /// Number of users N.
    pub users: u64,
    /// Mean think time Z in seconds.
    pub think: f64,
    /// Expected requests per second.
    pub rate: f64,
    /// N/Z per second.
    pub ratio: f64,
    /// Time over which users start one after another.
    pub ramp: Nanos,
    /// Duration of the test.
    pub duration: Nanos,
}

impl Emulation {
    /// Writes the script for `tool` with this distribution of think times.
    ///
    /// # Errors
    /// The tool does not support the target.
    pub fn script(&self, tool: Tool, think: ThinkShape) -> Result<String, Error> {
        if let Address::Unix(socket) = &self.url.address {
            return Err(Error::UnixSocket { tool, socket: socket.clone() });
        }
        Ok(match tool {
            Tool::Jmeter => jmeter::script(self, think),
            Tool::K6 => k6::script(self, think),
            Tool::Locust => locust::script(self, think),
            Tool::Gatling => gatling::script(self, think),
            Tool::Wrk2 => wrk2::script(self),
        })
    }

    /// The workload `original` with these users and think times.
    ///
    /// # Errors
    /// The ramp is as long as the duration or longer, or the workload is invalid for another reason.
    pub fn workload(&self, original: &Workload, think: Distribution) -> Result<Workload, InvalidValue> {
        Workload::new(Draft {
            sessions: Sessions::Closed(Closed::new(self.users, think)?.with_ramp(self.ramp)),
            duration: self.duration,
            skip_first: self.ramp * 2,
            skip_last: Nanos::ZERO,
            ..original.clone().into_draft()
        })
    }

    /// The workload of [`workload`](Self::workload) as TOML text with an introductory comment.
    ///
    /// # Errors
    /// As for [`workload`](Self::workload).
    pub fn workload_text(&self, original: &Workload, think: Distribution) -> Result<String, InvalidValue> {
        let workload = self.workload(original, think)?;
        Ok(format!("# {}.\n# Twice the ramp is excluded from the statistics.\n{workload}", self.summary()))
    }

    /// Describes the emulation in one line.
    fn summary(&self) -> String {
        format!(
            "{} users with a mean think time of {} s: N/Z = {}/s, about {} requests per second (Principle A, Brady and Gunther 2016)",
            self.users,
            four_digits(self.think),
            four_digits(self.ratio),
            four_digits(self.rate)
        )
    }

    /// Scheme, host and port: `http://host:port`.
    fn origin(&self) -> String {
        format!("http://{}", self.url.host())
    }

    /// Cumulative shares of the requests; the last one is 1.
    fn running_shares(&self) -> Vec<f64> {
        let total: f64 = self.requests.iter().map(Request::weight).sum();
        let running = self.requests.iter().scan(0.0, |sum, r| {
            *sum += r.weight();
            Some(*sum / total)
        });
        running.collect()
    }

    /// The requests as a JSON array, for tools whose language accepts it as a literal.
    fn requests_json(&self) -> String {
        let places = |text: &Template| fill_placeholders(text, "{{session}}", "{{sequence}}");
        let request = |(r, upto): (&Request, f64)| {
            serde_json::json!({
                "upto": upto, "name": r.name(), "method": r.method(), "path": places(r.path()), "body": r.body().text().map(places),
                "headers": r.headers().iter().map(|(k, v)| (k, places(v))).collect::<std::collections::BTreeMap<_, _>>(),
            })
        };
        let all: Vec<_> = self.requests.iter().zip(self.running_shares()).map(request).collect();
        format!("{:#}", serde_json::Value::Array(all))
    }
}

/// Replaces the placeholders for session and request number; templates of an emulation have no others.
fn fill_placeholders(text: &Template, session: &str, sequence: &str) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Session => session.to_owned(),
        Piece::Sequence => sequence.to_owned(),
        other => other.written(),
    };
    text.pieces().iter().map(piece).collect()
}

/// Formats a number with four significant digits, or all digits of its integer part.
fn four_digits(x: f64) -> String {
    let whole = if x == 0.0 { 1 } else { x.abs().log10().floor() as i32 + 1 };
    format!("{x:.*}", (4 - whole).clamp(0, 6) as usize)
}
