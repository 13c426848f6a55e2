//! The server's side of a run: samples of its machines, laid on the run's own clock.

use std::fs;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

use offered_clock::Wall;
use offered_meet::ask;
use offered_model::workload::Observe;
use offered_model::{Offset, Recording, WorkerClock};
use offered_store::{Alive, AskedHost, RunRecord, Samples, files};
use offered_verify::Window;
use offered_verify::hosts::{
    Asked, Course, Host, HostClock, KnownBy, Origin, ServerSide, answers, edges, edges_of, work_under,
};
use offered_verify::policies;

use crate::Error;

/// Stamps below count from something else than the Unix epoch: the ninth of September 2001, since then.
const DATED: u64 = 1_000_000_000_000_000_000;

/// What the machines of a run did whose samples are in `given` and in the run's own directory `run`; `None` without any.
///
/// # Errors
/// A file holds no samples; nobody knows when the run was.
pub(crate) fn of(
    given: &[PathBuf],
    run: &Path,
    record: Option<&RunRecord>,
    recording: &Recording,
    window: &Window,
) -> Result<Option<ServerSide>, Error> {
    let kept = kept(run);
    if given.is_empty() && kept.is_empty() {
        return Ok(None);
    }
    let started = started(run, record, recording).ok_or_else(|| Error::Undated { run: run.to_owned() })?;
    let hosts = given.iter().chain(&kept).map(|path| host(path, record, started, recording, window));
    Ok(Some(ServerSide::of(hosts.collect::<Result<_, _>>()?)))
}

/// What the observers say that are to be asked before a run; who does not answer has no token. All are asked at once, for a second at most.
pub(crate) fn before(observe: &Observe, wall: Wall, stop: &AtomicBool) -> Vec<AskedHost> {
    let host = |(name, address): &(String, String)| AskedHost {
        name: name.clone(),
        address: address.clone(),
        token: None,
        clock: WorkerClock::default(),
    };
    let mut hosts: Vec<AskedHost> = observe.hosts.iter().map(host).collect();
    each(&mut hosts, wall, stop, &|host, token, offset| {
        (host.token, host.clock.before) = (Some(token), Some(offset));
    });
    hosts
}

/// And after it. Who is another by now was not asked before.
pub(crate) fn after(hosts: &mut [AskedHost], wall: Wall, stop: &AtomicBool) {
    each(hosts, wall, stop, &|host, token, offset| {
        if host.token.is_none_or(|before| before == token) {
            (host.token, host.clock.after) = (Some(token), Some(offset));
        }
    });
}

fn each(
    hosts: &mut [AskedHost],
    wall: Wall,
    stop: &AtomicBool,
    answered: &(dyn Fn(&mut AskedHost, u64, Offset) + Sync),
) {
    thread::scope(|scope| {
        for host in hosts {
            let asks = move || {
                // A name that nobody knows does not answer either.
                let found: Vec<SocketAddr> = host.address.to_socket_addrs().into_iter().flatten().collect();
                if let Some((token, offset)) = ask(wall, found, stop) {
                    answered(host, token, offset);
                }
            };
            // Where the system has no more threads it is not asked.
            let _ = thread::Builder::new().spawn_scoped(scope, asks);
        }
    });
}

/// The files of samples that the run in `run` keeps, or one of its workers.
fn kept(run: &Path) -> Vec<PathBuf> {
    let listed = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = std::iter::once(run.to_owned()).chain(listed(run)).map(|folder| folder.join(files::OBSERVED));
    let paths = folders.flat_map(|folder| listed(&folder));
    let mut kept: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "parquet")).collect();
    kept.sort();
    kept
}

/// What the clock of who launched showed where the recording's window counts from, since the Unix epoch.
fn started(run: &Path, record: Option<&RunRecord>, recording: &Recording) -> Option<u64> {
    if !recording.on_run_clock {
        let (first, _) = recording.events.extent().sent?;
        return Some(first.0).filter(|first| *first >= DATED);
    }
    match record {
        Some(record) => record.started_unix_ns,
        // It was killed.
        None => Alive::read(run).map(|alive| alive.started_unix_ns),
    }
}

/// What one machine did, whose samples are in `path`, in a run that began when its generator's clock showed `started`.
fn host(
    path: &Path,
    record: Option<&RunRecord>,
    started: u64,
    recording: &Recording,
    window: &Window,
) -> Result<Host, Error> {
    let samples = Samples::open(path).map_err(Error::Read)?;
    let about = &samples.about;
    let asked = record.and_then(|record| record.hosts.iter().find(|host| host.token == Some(about.token)));
    let machine = record.and_then(|record| record.machine.as_ref());
    // What was scraped was stamped by who scraped it.
    let same_clock = machine.is_some_and(|machine| machine.kernel.is_some() && machine.kernel == about.machine.kernel);
    let has_generator = same_clock && about.scraped.as_ref().is_none_or(|scraped| scraped.is_here);
    let placed = Placed::of(asked.map(|host| host.clock).filter(|_| !same_clock));
    let mut course = Course::new(edges(window, about.every_ns));
    let (names, spans) = policies::spans(recording, window);
    let mut blocks = Course::new(edges_of(&spans));
    // What a wall clock that is believed showed beyond its monotonic clock at the start of the run: it may be set later.
    let mut beyond = None;
    samples.play(&mut |sample| {
        let at = match placed.clock.known_by {
            KnownBy::Asked => placed.by_generator(i128::from(about.began_unix_ns) + i128::from(sample.monotonic.0)),
            KnownBy::SameClock | KnownBy::Believed => {
                let now = i128::from(sample.unix.0) - i128::from(sample.monotonic.0);
                let kept = if sample.unix.0 < started { now } else { *beyond.get_or_insert(now) };
                i128::from(sample.monotonic.0) + kept
            }
        };
        let at = (at - i128::from(started)).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        course.see(at, sample.source, sample.metric, sample.value);
        blocks.see(at, sample.source, sample.metric, sample.value);
    })?;
    let counted = answers(recording, course.edges())?;
    let known_by = if same_clock { KnownBy::SameClock } else { placed.clock.known_by };
    let within = about.scraped.as_ref().map_or(0, |scraped| scraped.longest_ns / 2);
    let clock = match known_by {
        KnownBy::SameClock => HostClock { known_by, ahead_ms: Some(0.0), within_ms: Some(within as f64 / 1e6) },
        _ => placed.clock,
    };
    let origin = Origin {
        name: asked.map_or_else(|| about.name.clone(), |host| host.name.clone()),
        path: path.display().to_string(),
        clock,
        every_ns: about.every_ns,
        ticks_per_s: about.ticks_per_s,
        own_cost: about.cpu_ns as f64 / (about.every_ns.max(1) as f64 * about.samples.max(1) as f64),
        has_generator,
        scraped: about.scraped.as_ref().map(|scraped| Asked {
            at: scraped.at.clone(),
            counters: scraped.counters.clone(),
            failures: scraped.failures,
            why: scraped.why.clone(),
            left_out: scraped.left_out,
        }),
    };
    let policies = work_under(&names, &spans, &blocks, about.ticks_per_s);
    Ok(Host { policies, ..Host::of(origin, &course, &counted, window) })
}

/// How a machine's clock lies beside the generator's.
struct Placed {
    clock: HostClock,
    /// How far the generator's was ahead of it at two instants of the generator's.
    from: (i128, i128),
    to: (i128, i128),
}

impl Placed {
    /// Of what the generator found when it asked.
    fn of(asked: Option<WorkerClock>) -> Self {
        let offsets = asked.map(|asked| (asked, [asked.before, asked.after]));
        let Some((asked, [Some(one), other] | [None, other @ Some(one)])) = offsets else {
            return Self { clock: HostClock::default(), from: (0, 0), to: (0, 0) };
        };
        let point = |offset: Offset| (i128::from(offset.at_unix_ns), i128::from(offset.ahead_ns));
        let last = other.filter(|_| asked.has_drifted()).unwrap_or(one);
        let ms = |ns: i64| ns as f64 / 1e6;
        let clock = HostClock {
            known_by: KnownBy::Asked,
            ahead_ms: Some(-ms(one.ahead_ns)),
            within_ms: asked.within_ns().map(|ns| ns as f64 / 1e6),
        };
        Self { clock, from: point(one), to: point(last) }
    }

    /// What the generator's clock showed when the machine's showed `at`: on the line through both measurements, and beyond them as at the
    /// nearer one.
    fn by_generator(&self, at: i128) -> i128 {
        let ((from, early), (to, late)) = (self.from, self.to);
        let near = (at + early).clamp(from, to.max(from));
        at + early + (late - early) * (near - from) / (to - from).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(ahead_ns: i64, at_unix_ns: u64) -> Offset {
        Offset { ahead_ns, bound_ns: 10, at_unix_ns, answers: 32 }
    }

    #[test]
    fn a_machine_is_placed_by_what_was_found_when_it_was_asked() {
        let clock = |before, after| WorkerClock { before, after, ..WorkerClock::default() };
        let once = Placed::of(Some(clock(Some(offset(1_000, 5_000)), None)));
        assert_eq!(once.by_generator(4_000), 5_000, "the generator was ahead");
        assert_eq!(
            (once.clock.known_by, once.clock.ahead_ms, once.clock.within_ms),
            (KnownBy::Asked, Some(-0.001), Some(1e-5))
        );
        let after = Placed::of(Some(clock(None, Some(offset(-1_000, 5_000)))));
        assert_eq!(after.by_generator(4_000), 3_000);
        let drifted = Placed::of(Some(clock(Some(offset(1_000, 5_000)), Some(offset(2_000, 15_000)))));
        assert_eq!([0, 4_000, 9_000, 50_000].map(|at| drifted.by_generator(at) - at), [1_000, 1_000, 1_500, 2_000]);
        let steady = Placed::of(Some(clock(Some(offset(1_000, 5_000)), Some(offset(1_015, 15_000)))));
        assert_eq!(steady.by_generator(50_000) - 50_000, 1_000, "as far as the bounds tell it did not drift");
        assert_eq!(steady.clock.within_ms, Some(25e-6));
        assert_eq!(Placed::of(None).clock, HostClock::default());
        assert_eq!(Placed::of(Some(clock(None, None))).clock.known_by, KnownBy::Believed);
    }
}
