//! The emulation as a script for a standard tool, or as a workload of ours.

mod gatling;
mod jmeter;
mod k6;
mod locust;
mod wrk2;

use clap::ValueEnum;
use offered_model::workload::{Address, Request, Url};
use offered_model::{Nanos, Template};

use super::emulate::Think;
use super::figures::figure;
use crate::exit::Failure;

/// A tool that people already have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Tool {
    /// Apache JMeter 5.6, a .jmx test plan
    Jmeter,
    /// Grafana k6, a JavaScript module
    K6,
    /// Locust, a Python file
    Locust,
    /// Gatling, a Java simulation
    Gatling,
    /// wrk2, a Lua script
    Wrk2,
}

/// N users who think Z on average and ask for these things.
pub(super) struct Plan {
    pub(super) url: Url,
    pub(super) requests: Vec<Request>,
    pub(super) users: u64,
    pub(super) think: f64,
    pub(super) law: Think,
    pub(super) rate: f64,
    pub(super) ratio: f64,
    pub(super) ramp: Nanos,
    pub(super) duration: Nanos,
}

impl Plan {
    pub(super) fn script(&self, tool: Tool) -> Result<String, Failure> {
        if let Address::Unix(socket) = &self.url.address {
            return Err(Failure::input(format!(
                "{tool:?} cannot ask a Unix socket ({socket}); give an http:// URL, or write a workload without --for"
            )));
        }
        if self.law == Think::Poisson {
            return Err(Failure::input(
                "a Poisson timer draws a Poisson count of milliseconds, which is nearly constant and no Poisson process; \
                 take --think-law uniform or exponential",
            ));
        }
        Ok(match tool {
            Tool::Jmeter => jmeter::script(self),
            Tool::K6 => k6::script(self),
            Tool::Locust => locust::script(self),
            Tool::Gatling => gatling::script(self),
            Tool::Wrk2 => wrk2::script(self),
        })
    }

    /// Our own workload, which parses to what it says.
    pub(super) fn workload(&self) -> Result<String, Failure> {
        use std::fmt::Write as _;
        let quoted = |text: &str| serde_json::to_string(text).expect("a string is JSON, and so a TOML basic string");
        let mut text = format!(
            "# {}.\nduration = \"{}\"\nskip_first = \"{}\"    # the ramp, and as long again\n\n[arrivals]\n\
             closed = {{ users = {}, think = {}, ramp = \"{}\" }}\n\n[target]\nurl = {}\n",
            self.summary(),
            self.duration,
            self.ramp * 2,
            self.users,
            self.law.law(self.think)?,
            self.ramp,
            quoted(&self.url.to_string()),
        );
        for request in &self.requests {
            let (name, method, path) =
                (quoted(&request.name), request.method.to_lowercase(), quoted(request.path.as_str()));
            let _ = write!(text, "\n[[request]]\nname = {name}\n{method} = {path}\nweight = {}\n", request.weight);
            if let Some(body) = request.body.text() {
                let _ = writeln!(text, "body = {}", quoted(body.as_str()));
            }
            if !request.headers.is_empty() {
                let headers: Vec<String> =
                    request.headers.iter().map(|(k, v)| format!("{} = {}", quoted(k), quoted(v.as_str()))).collect();
                let _ = writeln!(text, "headers = {{ {} }}", headers.join(", "));
            }
        }
        Ok(text)
    }

    /// What the script does, in one line.
    fn summary(&self) -> String {
        format!(
            "{} users who think {} s on average: N/Z = {}/s, about {} launches a second (Principle A, Brady and Gunther 2016)",
            self.users,
            figure(self.think),
            figure(self.ratio),
            figure(self.rate)
        )
    }

    /// `http://host:port`, what comes before every path.
    fn origin(&self) -> String {
        format!("http://{}", self.url.host())
    }

    /// Share of the launches that fall to each request or to one before it; the last is 1.
    fn running_shares(&self) -> Vec<f64> {
        let total: f64 = self.requests.iter().map(|r| r.weight).sum();
        let running = self.requests.iter().scan(0.0, |sum, r| {
            *sum += r.weight;
            Some(*sum / total)
        });
        running.collect()
    }

    /// The requests as a JSON array, for the tools whose language has it as a literal.
    fn requests_json(&self) -> String {
        let request = |(r, upto): (&Request, f64)| {
            serde_json::json!({
                "upto": upto, "name": r.name, "method": r.method, "path": r.path.as_str(), "body": r.body.text().map(Template::as_str),
                "headers": r.headers.iter().map(|(k, v)| (k, v.as_str())).collect::<std::collections::BTreeMap<_, _>>(),
            })
        };
        let all: Vec<_> = self.requests.iter().zip(self.running_shares()).map(request).collect();
        format!("{:#}", serde_json::Value::Array(all))
    }
}
