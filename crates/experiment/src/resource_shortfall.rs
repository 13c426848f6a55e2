//! Resources that this machine lacks for a run. They are checked before the first request, because the verdict would
//! report them only after the run.

use std::mem;

use offered_base::Share;
use offered_schedule::Sessions;
use offered_workload::script::{Body, Content};
use offered_workload::{Protocol, Request, Reuse, Target, Template, Workload};
use rustix::process::{Resource, getrlimit};

use crate::calibrate::Calibration;

/// Requests per second that no thread has reached in our measurements; the maximum was 136,000, against a server that responds at once
/// (`benches/README.md`).
const MAX_THREAD_RATE_PER_S: f64 = 200_000.0;
/// Minimum memory of a thinking user, in bytes (measured, `benches/README.md`).
const USER_BYTES: u64 = 62;
/// Open files that are not connections.
const OTHER_FILES: u64 = 32;

/// A resource that this machine lacks for a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ResourceShortfall {
    /// The rate is above the maximum rate of the threads.
    Rate {
        /// The highest target rate during the run, per second.
        target_rate_per_s: f64,
        /// The highest rate that this number of threads can send, per second.
        possible_rate_per_s: f64,
        /// The number of sending threads.
        threads: u16,
        /// Whether the possible rate was measured on this machine; otherwise it is the highest rate measured on any
        /// machine.
        calibrated: bool,
    },
    /// The connections exceed the limit of open files.
    Files {
        /// Maximum number of simultaneous connections of the run.
        connections: u64,
        /// The number of connections that the limit of open files allows.
        allowed: u64,
    },
    /// The users, or the bodies of their requests in flight, need more memory than is available.
    Memory {
        /// The number of users; of an open workload, the maximum number of requests in flight.
        users: u64,
        /// The minimum memory, in bytes. Includes one body for each user or request in flight, unless all share the
        /// same body.
        needed_bytes: u64,
        /// The available memory, in bytes.
        available_bytes: u64,
    },
}

/// The resources of this machine.
struct Resources {
    threads: u16,
    /// Requests per second of one thread, as calibrated.
    calibrated: Option<f64>,
    /// Number of files that may be open; `None` where there is no limit.
    files: Option<u64>,
    /// The available memory in bytes; `None` if unknown.
    memory: Option<u64>,
}

/// The resources that this machine lacks for `share` of `workload` with this number of threads. A dry run (`is_mock`) needs no rate and no
/// connections.
pub(crate) fn resource_shortfalls(
    workload: &Workload,
    share: Share,
    threads: u16,
    is_mock: bool,
) -> Vec<ResourceShortfall> {
    let calibrated = Calibration::stored().map(|found| found.max_rate_per_s);
    let resources = Resources {
        threads,
        calibrated,
        files: getrlimit(Resource::Nofile).current,
        memory: offered_observe::available_memory(),
    };
    resources.lacks(workload, share, is_mock)
}

/// The largest shortfall of each kind in several runs, with the name of its run, and the number of other runs with a shortfall of that
/// kind.
pub(crate) fn largest_per_kind<N>(
    all: impl IntoIterator<Item = (N, ResourceShortfall)>,
) -> Vec<(N, ResourceShortfall, usize)> {
    let mut largest: Vec<(N, ResourceShortfall, usize)> = Vec::new();
    for (name, one) in all {
        match largest.iter_mut().find(|(_, known, _)| mem::discriminant(known) == mem::discriminant(&one)) {
            None => largest.push((name, one, 0)),
            Some((of, worst, others)) => {
                *others += 1;
                if one.ratio() > worst.ratio() {
                    (*of, *worst) = (name, one);
                }
            }
        }
    }
    largest
}

impl ResourceShortfall {
    /// The ratio of needed to available.
    fn ratio(&self) -> f64 {
        match *self {
            Self::Rate { target_rate_per_s, possible_rate_per_s, .. } => target_rate_per_s / possible_rate_per_s,
            Self::Files { connections, allowed } => connections as f64 / allowed as f64,
            Self::Memory { needed_bytes, available_bytes, .. } => needed_bytes as f64 / available_bytes as f64,
        }
    }
}

impl Resources {
    fn lacks(&self, workload: &Workload, share: Share, is_mock: bool) -> Vec<ResourceShortfall> {
        let users = match workload.sessions() {
            Sessions::Closed(closed) => Some((closed.users() as f64 * share.fraction()).ceil() as u64),
            Sessions::Scenarios(scenarios) => {
                let users = scenarios.all().iter().filter_map(|scenario| match &scenario.sessions {
                    Sessions::Closed(closed) => Some(closed.users()),
                    _ => None,
                });
                Some((users.sum::<u64>() as f64 * share.fraction()).ceil() as u64).filter(|users| *users > 0)
            }
            _ => None,
        };
        let (rate, files) = match is_mock {
            true => (None, None),
            false => (self.lacks_threads(workload, share), self.lacks_files(workload, share, users)),
        };
        let in_flight = workload.target().and_then(Target::in_flight).map(u64::from);
        let bodies = if is_mock { 0 } else { workload.requests().iter().map(built_bytes).max().unwrap_or_default() };
        let memory = users.or(in_flight.filter(|_| bodies > 0)).and_then(|users| self.lacks_memory(users, bodies));
        [rate, files, memory].into_iter().flatten().collect()
    }

    fn lacks_threads(&self, workload: &Workload, share: Share) -> Option<ResourceShortfall> {
        let target_rate_per_s = workload.max_rate_per_s()? * share.fraction();
        let possible_rate_per_s = self.calibrated.unwrap_or(MAX_THREAD_RATE_PER_S) * f64::from(self.threads);
        let rate = ResourceShortfall::Rate {
            target_rate_per_s,
            possible_rate_per_s,
            threads: self.threads,
            calibrated: self.calibrated.is_some(),
        };
        (target_rate_per_s > possible_rate_per_s).then_some(rate)
    }

    fn lacks_files(&self, workload: &Workload, share: Share, users: Option<u64>) -> Option<ResourceShortfall> {
        let target = workload.target()?;
        let limit = target.connections().map(|limit| (f64::from(limit) * share.fraction()).ceil() as u64);
        // With HTTP/2 many requests share a connection.
        let shared = target.protocol() != Protocol::Http1 && target.reuse() == Reuse::Pool;
        let connections = [limit, users.filter(|_| !shared)].into_iter().flatten().min()?;
        let allowed = self.files?.saturating_sub(OTHER_FILES);
        (connections > allowed).then_some(ResourceShortfall::Files { connections, allowed })
    }

    /// `body_bytes`: the size of the largest body that is built for each request.
    fn lacks_memory(&self, users: u64, body_bytes: u64) -> Option<ResourceShortfall> {
        let (needed_bytes, available_bytes) = (users.saturating_mul(USER_BYTES + body_bytes), self.memory?);
        (needed_bytes > available_bytes).then_some(ResourceShortfall::Memory { users, needed_bytes, available_bytes })
    }
}

/// The size of the body of a request in bytes, if it is built for each request. 0 for constant bodies, which all requests share.
fn built_bytes(request: &Request) -> u64 {
    let template = |text: &Template| (text.as_str().len(), text.text().is_some());
    let sizes: Vec<(usize, bool)> = match request.body() {
        Body::None => Vec::new(),
        Body::Form(fields) => fields.iter().map(|(_, value)| template(value)).collect(),
        Body::Multipart(parts) => {
            let content = |content: &Content| match content {
                Content::Text(text) => template(text),
                Content::Raw(bytes) => (bytes.len(), true),
            };
            parts.iter().filter_map(|part| part.content.as_ref().ok()).map(content).collect()
        }
        body => body.text().map(template).into_iter().collect(),
    };
    let is_constant = sizes.iter().all(|(_, is_constant)| *is_constant);
    if is_constant { 0 } else { sizes.iter().map(|(size, _)| *size as u64).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacks(text: &str, resources: &Resources, share: &str, is_mock: bool) -> Vec<ResourceShortfall> {
        let text = format!("duration = \"10s\"\ntarget.url = \"http://127.0.0.1:1/\"\n{text}");
        let input =
            crate::WorkloadSource::new("inline".to_owned(), text.clone(), |_| Err("there is no such file".to_owned()));
        resources.lacks(&input.parse(&text).unwrap(), share.parse().unwrap(), is_mock)
    }

    const RESOURCES: Resources =
        Resources { threads: 2, calibrated: Some(60_000.0), files: Some(1032), memory: Some(62_000_000) };

    #[test]
    fn the_rate_is_compared_with_the_calibration_or_our_highest_measurement() {
        let rate = |target_rate_per_s, possible_rate_per_s, calibrated| {
            vec![ResourceShortfall::Rate { target_rate_per_s, possible_rate_per_s, threads: 2, calibrated }]
        };
        let ramp = "arrivals.open.rate = { ramp = [\"0/s\", \"150000/s\"], over = \"10s\" }";
        let at = |text| lacks(text, &RESOURCES, "1/1", false);
        assert_eq!(at("arrivals.open.rate = \"120000/s\""), []);
        assert_eq!(at("arrivals.open.rate = \"120001/s\""), rate(120_001.0, 120_000.0, true));
        assert!(
            matches!(at(ramp)[..], [ResourceShortfall::Rate { target_rate_per_s: 149_000.0..=150_000.0, .. }]),
            "its peak counts"
        );
        assert_eq!(lacks(ramp, &RESOURCES, "2/2", false), [], "half of it is asked of this machine");
        assert_eq!(lacks(ramp, &RESOURCES, "1/1", true), [], "nobody waits for a dry run");
        assert_eq!(
            at("arrivals.closed = { users = 1000, think.constant = \"1ms\" }"),
            rate(1e6, 120_000.0, true),
            "users who only think"
        );
        assert_eq!(at("arrivals.closed.users = 1000"), [], "the server alone decides");
        let unknown = Resources { calibrated: None, ..RESOURCES };
        assert_eq!(lacks("arrivals.open.rate = \"400000/s\"", &unknown, "1/1", false), []);
        assert_eq!(lacks("arrivals.open.rate = \"10000000/s\"", &unknown, "1/1", false), rate(1e7, 400_000.0, false));
    }

    #[test]
    fn connections_are_compared_with_the_limit_of_open_files() {
        let files = |connections| vec![ResourceShortfall::Files { connections, allowed: 1000 }];
        let at = |text: &str| {
            lacks(
                &format!("{text}\narrivals.closed = {{ users = 3000, think.constant = \"1s\" }}"),
                &RESOURCES,
                "1/1",
                false,
            )
        };
        assert_eq!(at(""), files(3000));
        assert_eq!(at("target.connections = 2000"), files(2000));
        assert_eq!(at("target.connections = 1000"), []);
        assert_eq!(at("target.protocol = \"h2\""), [], "they share a few connections");
        let open = "target.connections = 5000\narrivals.open.rate = \"1/s\"";
        assert_eq!(lacks(open, &RESOURCES, "1/1", false), files(5000));
        assert_eq!(lacks(open, &RESOURCES, "1/5", false), []);
        assert_eq!(lacks(open, &Resources { files: None, ..RESOURCES }, "1/1", false), []);
    }

    #[test]
    fn users_are_compared_with_the_available_memory() {
        let users = "arrivals.closed = { users = 1000001, think.constant = \"1h\" }";
        let memory =
            ResourceShortfall::Memory { users: 1_000_001, needed_bytes: 62_000_062, available_bytes: 62_000_000 };
        assert_eq!(lacks(users, &RESOURCES, "1/1", true), [memory]);
        assert_eq!(lacks(users, &RESOURCES, "1/2", true), []);
        assert_eq!(lacks(users, &Resources { memory: None, ..RESOURCES }, "1/1", true), []);
    }

    #[test]
    fn bodies_that_are_built_for_each_request_count_and_constant_ones_do_not() {
        let body =
            |text: &str| format!("[[request]]\npost = \"/\"\nbody = '{}{text}'\n", "x".repeat(1_000_000 - text.len()));
        let users = "arrivals.closed.users = 100";
        let needed =
            |users| ResourceShortfall::Memory { users, needed_bytes: 1_000_062 * users, available_bytes: 62_000_000 };
        let lacks =
            |load: &str, text: &str, is_mock| lacks(&format!("{load}\n{}", body(text)), &RESOURCES, "1/1", is_mock);
        assert_eq!(lacks(users, "{{session}}", false), [needed(100)]);
        assert_eq!(lacks(users, "{{session}}", true), [], "a dry run builds none");
        assert_eq!(lacks(users, "", false), []);
        let open = "arrivals.open.rate = \"1/s\"\ntarget.in_flight = 70";
        assert_eq!(lacks(open, "{{session}}", false), [needed(70)]);
    }

    #[test]
    fn the_largest_shortfall_of_each_kind_is_reported() {
        let memory = |users| ResourceShortfall::Memory { users, needed_bytes: 62 * users, available_bytes: 62 };
        let files = ResourceShortfall::Files { connections: 3000, allowed: 1000 };
        let found = largest_per_kind([("a", memory(2)), ("b", files), ("c", memory(9)), ("d", memory(4))]);
        assert_eq!(found, [("c", memory(9), 2), ("b", files, 0)]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_available_memory_is_known_on_linux() {
        assert!(offered_observe::available_memory().unwrap() > 1 << 20);
    }
}
