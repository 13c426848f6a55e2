//! Joining a run: workers report that they are ready, and one decision starts or cancels the run.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_base::{Nanos, Share};
use offered_events::{ClockOffset, RunId};
use offered_io::{Clock, KernelClockStatus, WallClock, kernel_clock_status};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::clock_comparison::{
    ClockClient, ClockEndpoint, ClockRole, ClockServer, PREPARATION_TIME, local_time, query_until,
};
use crate::error::Error;
use crate::rendezvous::{Rendezvous, document, parse, put_document_if_absent};

/// Time from the decision to the start: all workers must read it and compare clocks.
pub const START_LEAD: Nanos = Nanos::from_secs(4);
/// Worker 1 decides, because its clock is the reference. If all workers are ready and it has not decided after this time, another one does.
const DEPUTY: Nanos = Nanos::from_secs(10);

const DECISION: &str = "rendezvous/decision.json";

/// A worker of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// The share of the run that this worker executes.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    pub share: Share,
    /// The host name of the machine.
    pub host: String,
    /// The version of the program.
    pub version: String,
    /// A hash of the workload's text.
    pub workload_hash: String,
    /// The run ID that was given to this worker, if any.
    #[serde(default)]
    pub run_id: Option<RunId>,
}

/// The decision about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    /// All workers start when the clock of worker 1 shows this, since the Unix epoch.
    Start { unix_ns: u64 },
    /// No worker starts.
    Cancelled { reason: String },
}

/// Options of [`join`].
pub struct JoinOptions<'a> {
    /// Maximum wait for the other workers.
    pub wait: Nanos,
    /// Setting this flag ends the wait.
    pub stop: &'a AtomicBool,
    /// The clock of this worker.
    pub wall: WallClock,
    /// Where worker 1 serves its clock; an unspecified IP address means all addresses of its machine. `None`: clocks
    /// are not compared.
    pub clock_address: Option<SocketAddr>,
}

/// The start that the workers agreed on.
pub struct AgreedStart {
    /// When the run starts, by this worker's clock, since the Unix epoch.
    pub start: Nanos,
    /// When the run starts, by the clock of worker 1, since the Unix epoch. Equal for all workers.
    pub reference_start: Nanos,
    /// How far this clock is ahead of worker 1's. `None` for worker 1, and if it did not respond: then the clocks are assumed to be
    /// equal.
    pub offset: Option<ClockOffset>,
    /// Compares the clocks again after the end.
    pub clock_role: ClockRole,
}

/// What a ready worker publishes.
#[derive(Serialize, Deserialize)]
struct Ready {
    #[serde(flatten)]
    worker: Worker,
    /// The process ID. Because of it, two workers with the same number never write the same file content, even on one
    /// machine.
    #[serde(default)]
    process: u32,
    #[serde(default)]
    arrival_unix_ns: u64,
    clock: Option<ClockStatus>,
    /// The address where the clock of this worker can be queried; only for worker 1.
    clock_server: Option<ClockEndpoint>,
}

/// The kernel's status of a clock.
#[derive(Serialize, Deserialize)]
struct ClockStatus {
    synchronised: bool,
    error_ns: u64,
}

/// Reports at `rendezvous` that `me` is ready, waits for all other workers, compares clocks with worker 1, and returns the agreed start.
/// Calls `on_waiting` with the numbers of missing workers, from 1, whenever they change.
///
/// # Errors
/// See [`Error`]. If this worker causes the error, the run is cancelled for all.
pub fn join(
    rendezvous: &dyn Rendezvous,
    me: &Worker,
    options: &JoinOptions,
    on_waiting: &mut dyn FnMut(&[u64]),
) -> Result<AgreedStart, Error> {
    let &JoinOptions { wait, stop, ref wall, clock_address } = options;
    if let Some(decision) = document(rendezvous, DECISION)? {
        return start_of(decision).and_then(|start| Err(too_late(start, wall)));
    }
    let (is_first, has_others) = (me.share.index() == 0, me.share.parts() > 1);
    let clock_address = clock_address.filter(|_| is_first && has_others);
    let server = clock_address.map(|at| ClockServer::new(*wall, at).map_err(Error::clock_server(at))).transpose()?;
    let clock_server = clock_address
        .zip(server.as_ref())
        .map(|(at, server)| server.endpoint().map_err(Error::clock_server(at)))
        .transpose()?;
    let status = kernel_clock_status()
        .map(|KernelClockStatus { synchronised, error }| ClockStatus { synchronised, error_ns: error.0 });
    let mine = ready(me.share.index() + 1);
    let (process, arrival_unix_ns) = (std::process::id(), wall.now().0);
    let report = Ready { worker: me.clone(), process, arrival_unix_ns, clock: status, clock_server };
    if !put_document_if_absent(rendezvous, &mine, &report)? {
        let host = document::<Worker>(rendezvous, &mine)?
            .map_or_else(|| "an unknown machine".to_owned(), |worker| worker.host);
        return Err(Error::DuplicateWorker { share: me.share, host, rendezvous: rendezvous.name() });
    }
    let clock = Clock::start();
    let until = clock.now() + wait;
    let every = rendezvous.poll_interval(me.share.parts());
    let mut missing: Vec<u64> = (1..=me.share.parts()).collect();
    let mut complete = None;
    loop {
        let missing_before = missing.len();
        let mut mismatched = None;
        let mut names: Vec<String> = missing.iter().map(|number| ready(*number)).collect();
        names.push(DECISION.to_owned());
        let mut entries = rendezvous.read(&names)?;
        let mut decision: Option<Decision> = parse(entries.pop().flatten());
        let mut entries = entries.into_iter();
        missing.retain(|_| {
            let worker: Option<Worker> = parse(entries.next().flatten());
            mismatched = mismatched.take().or_else(|| mismatch(worker.as_ref()?, me));
            worker.is_none()
        });
        let all_since = missing.is_empty().then(|| *complete.get_or_insert(clock.now()));
        let proposal = if let Some(error) = mismatched {
            Some((Decision::Cancelled { reason: error.to_string() }, Some(error)))
        } else if all_since.is_some_and(|since| is_first || clock.now() >= since + DEPUTY) {
            Some((Decision::Start { unix_ns: (wall.now() + START_LEAD).0 }, None))
        } else if stop.load(Relaxed) {
            let reason = format!("worker {} on {} was stopped", me.share, me.host);
            Some((Decision::Cancelled { reason }, Some(Error::Stopped)))
        } else if clock.now() >= until && all_since.is_none() {
            let error = Error::MissingWorkers { missing: missing.clone(), wait };
            Some((Decision::Cancelled { reason: error.to_string() }, Some(error)))
        } else {
            None
        };
        if let Some((proposal, error)) = proposal {
            // The first decision counts. If it is ours, our own error says more than a cancellation read back.
            let is_ours = put_document_if_absent(rendezvous, DECISION, &proposal)?;
            if let (true, Some(error)) = (is_ours, error) {
                return Err(error);
            }
            decision = document(rendezvous, DECISION)?;
        }
        if let Some(decision) = decision {
            let agreed = compare_clocks(rendezvous, me, options, start_of(decision)?, server)?;
            return if wall.now() >= agreed.start { Err(too_late(agreed.start, wall)) } else { Ok(agreed) };
        }
        if missing.len() != missing_before {
            on_waiting(&missing);
        }
        clock.sleep_until(clock.now() + every);
    }
}

/// Compares clocks for a run that starts when worker 1's clock shows `reference_start`. Ends 1.5 s before the start at the
/// latest.
fn compare_clocks(
    rendezvous: &dyn Rendezvous,
    me: &Worker,
    options: &JoinOptions,
    reference_start: Nanos,
    server: Option<ClockServer>,
) -> Result<AgreedStart, Error> {
    let without_offset = |clock_role| AgreedStart { start: reference_start, reference_start, offset: None, clock_role };
    if let Some(mut server) = server {
        server.serve(reference_start.saturating_sub(PREPARATION_TIME), |_| options.stop.load(Relaxed));
        return Ok(without_offset(ClockRole::Server(server)));
    }
    let Some(client) = clock_client(rendezvous, me, options.wall)? else {
        return Ok(without_offset(ClockRole::None));
    };
    match client.query(query_until(reference_start, options.wall.now()), options.stop) {
        None => Ok(without_offset(ClockRole::None)),
        Some(offset) => Ok(AgreedStart {
            start: local_time(reference_start, &offset),
            reference_start,
            offset: Some(offset),
            clock_role: ClockRole::Client(client),
        }),
    }
}

/// The client that queries worker 1 for `me`; `None` if `me` is worker 1, or worker 1 does not serve its clock.
fn clock_client(rendezvous: &dyn Rendezvous, me: &Worker, wall: WallClock) -> Result<Option<ClockClient>, Error> {
    let number = me.share.index() + 1;
    if number == 1 {
        return Ok(None);
    }
    let first: Option<Ready> = document(rendezvous, &ready(1))?;
    Ok(first.and_then(|first| first.clock_server).map(|endpoint| ClockClient::new(wall, endpoint, number)))
}

/// The agreed start of a run in progress in which a worker with the number of `me` took part; `None` otherwise. Then `me` replaces it. Worker 1
/// does not serve its clock during the run, so `me` uses its own clock, `wall`.
///
/// # Errors
/// The previous worker had another workload or version, or the rendezvous is unreadable.
pub fn rejoin_running(rendezvous: &dyn Rendezvous, me: &Worker, wall: WallClock) -> Result<Option<AgreedStart>, Error> {
    let Some(Decision::Start { unix_ns }) = document(rendezvous, DECISION)? else { return Ok(None) };
    let Some(previous) = document::<Worker>(rendezvous, &ready(me.share.index() + 1))? else { return Ok(None) };
    if let Some(error) = mismatch(&previous, me) {
        return Err(error);
    }
    let clock_role = clock_client(rendezvous, me, wall)?.map_or(ClockRole::None, ClockRole::Client);
    let start = Nanos(unix_ns);
    Ok(Some(AgreedStart { start, reference_start: start, offset: None, clock_role }))
}

/// For a worker that an engine restarted before the decision: its number is taken by the previous process. Waits until
/// the run starts, and returns the result of [`rejoin_running`]. `None` if the number is not taken.
///
/// # Errors
/// The previous worker had another workload or version, the run is cancelled, there is no decision within `wait`, `stop` is set, or the
/// rendezvous is unreadable.
pub fn rejoin_waiting(
    rendezvous: &dyn Rendezvous,
    me: &Worker,
    &JoinOptions { wait, stop, wall, .. }: &JoinOptions,
) -> Result<Option<AgreedStart>, Error> {
    let clock = Clock::start();
    let until = clock.now() + wait;
    let Some(previous) = document::<Worker>(rendezvous, &ready(me.share.index() + 1))? else { return Ok(None) };
    loop {
        match document(rendezvous, DECISION)? {
            Some(decision) => return start_of(decision).and_then(|_| rejoin_running(rendezvous, me, wall)),
            None if stop.load(Relaxed) => return Err(Error::Stopped),
            None if clock.now() >= until => {
                return Err(Error::DuplicateWorker {
                    share: me.share,
                    host: previous.host,
                    rendezvous: rendezvous.name(),
                });
            }
            None => clock.sleep_until(clock.now() + rendezvous.poll_interval(me.share.parts())),
        }
    }
}

/// The file with which worker `number` reports that it is ready.
fn ready(number: u64) -> String {
    format!("rendezvous/ready-{number}.json")
}

/// The start in a decision, by the clock of worker 1.
fn start_of(decision: Decision) -> Result<Nanos, Error> {
    match decision {
        Decision::Cancelled { reason } => Err(Error::Cancelled { reason }),
        Decision::Start { unix_ns } => Ok(Nanos(unix_ns)),
    }
}

fn too_late(start: Nanos, wall: &WallClock) -> Error {
    Error::TooLate { by: wall.now().saturating_sub(start) }
}

/// The first property in which `worker` differs from `me` so that they cannot take part in the same run.
fn mismatch(worker: &Worker, me: &Worker) -> Option<Error> {
    let workers = |worker: &Worker| worker.share.parts().to_string();
    let run_id = |worker: &Worker| worker.run_id.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    let (property, theirs, ours) = [
        ("number of workers", workers(worker), workers(me)),
        ("version", worker.version.clone(), me.version.clone()),
        ("workload", worker.workload_hash.clone(), me.workload_hash.clone()),
        ("run ID", run_id(worker), run_id(me)),
    ]
    .into_iter()
    .find(|(_, theirs, ours)| theirs != ours)?;
    Some(Error::WorkerMismatch { share: worker.share, host: worker.host.clone(), property, theirs, ours })
}

fn to_text<S: Serializer>(share: &Share, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(share)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Share, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
}

#[cfg(test)]
mod tests;
