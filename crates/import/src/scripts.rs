//! N users who think Z on average and ask for these things, as a script for a tool that people already have, or as a workload
//! of ours.

mod gatling;
mod jmeter;
mod k6;
mod locust;
#[cfg(test)]
mod tests;
mod wrk2;

use std::fmt;

use offered_model::template::Piece;
use offered_model::workload::{Address, Closed, Draft, Request, Sessions, Url, Workload};
use offered_model::{Law, Nanos, Template, Wrong};

/// A tool that people already have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Apache `JMeter` 5.6, a .jmx test plan.
    Jmeter,
    /// Grafana k6, a JavaScript module.
    K6,
    /// Locust, a Python file.
    Locust,
    /// Gatling, a Java simulation.
    Gatling,
    /// wrk2, a Lua script.
    Wrk2,
}

/// A law of think times that every tool can draw from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkShape {
    /// Between 0 and 2Z.
    Uniform,
    /// Exponential of mean Z.
    Exponential,
    /// Always Z.
    Constant,
}

/// Why there is no script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The tool speaks no Unix sockets.
    #[error("{tool} cannot ask a Unix socket ({socket})")]
    UnixSocket {
        /// Which tool.
        tool: Tool,
        /// The socket's path.
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

/// N users who think Z on average and ask for these things (Principle A, Brady and Gunther 2016).
#[derive(Clone, Debug)]
pub struct Emulation {
    /// Who is asked.
    pub url: Url,
    /// What is asked, by weight; nothing in it depends on anything but `{{session}}` and `{{sequence}}`.
    pub requests: Vec<Request>,
    /// N.
    pub users: u64,
    /// Z, the mean think time in seconds.
    pub think: f64,
    /// The launches per second that are expected.
    pub rate: f64,
    /// N/Z, per second.
    pub ratio: f64,
    /// Users start one after another over this time.
    pub ramp: Nanos,
    /// How long it runs.
    pub duration: Nanos,
}

impl Emulation {
    /// The script for `tool`, with think times of this law.
    ///
    /// # Errors
    /// A target that the tool cannot ask.
    pub fn script(&self, tool: Tool, law: ThinkShape) -> Result<String, Error> {
        if let Address::Unix(socket) = &self.url.address {
            return Err(Error::UnixSocket { tool, socket: socket.clone() });
        }
        Ok(match tool {
            Tool::Jmeter => jmeter::script(self, law),
            Tool::K6 => k6::script(self, law),
            Tool::Locust => locust::script(self, law),
            Tool::Gatling => gatling::script(self, law),
            Tool::Wrk2 => wrk2::script(self),
        })
    }

    /// `asked` with these users in the place of its own, who think by `law`.
    ///
    /// # Errors
    /// A ramp that leaves nothing of the duration, and what else no workload says.
    pub fn workload(&self, asked: &Workload, law: Law) -> Result<Workload, Wrong> {
        Workload::new(Draft {
            sessions: Sessions::Closed(Closed::new(self.users, law)?.with_ramp(self.ramp)),
            duration: self.duration,
            skip_first: self.ramp * 2,
            skip_last: Nanos::ZERO,
            ..asked.clone().into_draft()
        })
    }

    /// The text of [`workload`](Self::workload), with what a reader must know above it.
    ///
    /// # Errors
    /// As there.
    pub fn workload_text(&self, asked: &Workload, law: Law) -> Result<String, Wrong> {
        let workload = self.workload(asked, law)?;
        Ok(format!("# {}.\n# Left out of the statistics is the ramp, and as long again.\n{workload}", self.summary()))
    }

    /// What the script does, in one line.
    fn summary(&self) -> String {
        format!(
            "{} users who think {} s on average: N/Z = {}/s, about {} launches a second (Principle A, Brady and Gunther 2016)",
            self.users,
            four_digits(self.think),
            four_digits(self.ratio),
            four_digits(self.rate)
        )
    }

    /// `http://host:port`, what comes before every path.
    fn origin(&self) -> String {
        format!("http://{}", self.url.host())
    }

    /// Share of the launches that fall to each request or to one before it; the last is 1.
    fn running_shares(&self) -> Vec<f64> {
        let total: f64 = self.requests.iter().map(Request::weight).sum();
        let running = self.requests.iter().scan(0.0, |sum, r| {
            *sum += r.weight();
            Some(*sum / total)
        });
        running.collect()
    }

    /// The requests as a JSON array, for the tools whose language has it as a literal.
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

/// `text` with these in the place of the numbers of session and launch; it has no other places.
fn fill_placeholders(text: &Template, session: &str, sequence: &str) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => text.to_string(),
        Piece::Session => session.to_owned(),
        Piece::Sequence => sequence.to_owned(),
        other => other.written(),
    };
    text.pieces().iter().map(piece).collect()
}

/// With four significant digits, or as many as the whole part has.
fn four_digits(x: f64) -> String {
    let whole = if x == 0.0 { 1 } else { x.abs().log10().floor() as i32 + 1 };
    format!("{x:.*}", (4 - whole).clamp(0, 6) as usize)
}
