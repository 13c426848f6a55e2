//! The server's side of a run: samples of its machines, converted to the clock of the run.

use std::fs;
use std::path::{Path, PathBuf};

use offered_events::{ClockOffset, Recording, WorkerClock};
use offered_store::{Heartbeat, RunRecord, Samples, files};
use offered_verify::Window;
use offered_verify::hosts::{
    ClockSource, CounterHistory, Host, HostClock, SampleInfo, ScrapeInfo, ServerSide, count_responses, span_edges,
    window_edges, work_by_policy,
};
use offered_verify::policies;

use crate::Error;

/// Timestamps from here on (9 September 2001) are nanoseconds since the Unix epoch; smaller ones are not.
const MIN_UNIX_NS: u64 = 1_000_000_000_000_000_000;

/// Reads the samples in `given` and in the run directory `run`; `None` without samples.
///
/// # Errors
/// A file is not a sample file, or the start time of the run is unknown.
pub(crate) fn read(
    given: &[PathBuf],
    run: &Path,
    record: Option<&RunRecord>,
    recording: &Recording,
    window: &Window,
) -> Result<Option<ServerSide>, Error> {
    let recorded = sample_files(run);
    if given.is_empty() && recorded.is_empty() {
        return Ok(None);
    }
    let started = started(run, record, recording).ok_or_else(|| Error::UnknownStartTime { run: run.to_owned() })?;
    let hosts = given.iter().chain(&recorded).map(|path| host(path, record, started, recording, window));
    Ok(Some(ServerSide::of(hosts.collect::<Result<_, _>>()?)))
}

/// The sample files in a run directory, and in those of its workers.
fn sample_files(run: &Path) -> Vec<PathBuf> {
    let listed = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    let folders = std::iter::once(run.to_owned()).chain(listed(run)).map(|folder| folder.join(files::OBSERVED));
    let paths = folders.flat_map(|folder| listed(&folder));
    let mut files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "parquet")).collect();
    files.sort();
    files
}

/// The time of the generator's clock at time zero of the recording, in nanoseconds since the Unix epoch.
fn started(run: &Path, record: Option<&RunRecord>, recording: &Recording) -> Option<u64> {
    if !recording.on_run_clock {
        let (first, _) = recording.events.extent().sent?;
        return Some(first.0).filter(|first| *first >= MIN_UNIX_NS);
    }
    match record {
        Some(record) => record.started_unix_ns,
        // Without a record the run was killed.
        None => Heartbeat::read(run).map(|alive| alive.started_unix_ns),
    }
}

/// Reads the samples of one machine. `started`: the time of the generator's clock at the start of the run.
fn host(
    path: &Path,
    record: Option<&RunRecord>,
    started: u64,
    recording: &Recording,
    window: &Window,
) -> Result<Host, Error> {
    let samples = Samples::open(path).map_err(Error::Read)?;
    let about = &samples.metadata;
    let asked = record.and_then(|record| record.hosts.iter().find(|host| host.token == Some(about.token)));
    let machine = record.and_then(|record| record.machine.as_ref());
    // Scraped samples have timestamps of the machine that scraped.
    let same_clock =
        machine.is_some_and(|machine| machine.boot_id.is_some() && machine.boot_id == about.machine.boot_id);
    let has_generator = same_clock && about.scrape.as_ref().is_none_or(|scraped| scraped.is_local);
    let mapping = ClockMapping::of(asked.map(|host| host.clock).filter(|_| !same_clock));
    let mut course = CounterHistory::new(window_edges(window, about.interval_ns));
    let (names, spans) = policies::spans(recording, window);
    let mut blocks = CounterHistory::new(span_edges(&spans));
    // The difference between wall clock and monotonic clock at the start of the run. Later changes of the wall clock are ignored.
    let mut wall_offset = None;
    samples.scan(&mut |sample| {
        let at = match mapping.clock.source {
            ClockSource::Measured => {
                mapping.to_generator(i128::from(about.started_unix_ns) + i128::from(sample.monotonic.0))
            }
            ClockSource::SameClock | ClockSource::Assumed => {
                let now = i128::from(sample.unix.0) - i128::from(sample.monotonic.0);
                let kept = if sample.unix.0 < started { now } else { *wall_offset.get_or_insert(now) };
                i128::from(sample.monotonic.0) + kept
            }
        };
        let at = (at - i128::from(started)).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        course.add(at, sample.source, sample.metric, sample.value);
        blocks.add(at, sample.source, sample.metric, sample.value);
    })?;
    let counted = count_responses(recording, course.edges())?;
    let known_by = if same_clock { ClockSource::SameClock } else { mapping.clock.source };
    let within = about.scrape.as_ref().map_or(0, |scraped| scraped.longest_scrape_ns / 2);
    let clock = match known_by {
        ClockSource::SameClock => {
            HostClock { source: known_by, offset_ms: Some(0.0), offset_uncertainty_ms: Some(within as f64 / 1e6) }
        }
        _ => mapping.clock,
    };
    let origin = SampleInfo {
        name: asked.map_or_else(|| about.name.clone(), |host| host.name.clone()),
        path: path.display().to_string(),
        clock,
        interval_ns: about.interval_ns,
        ticks_per_s: about.ticks_per_s,
        observer_cpu_share: about.cpu_ns as f64 / (about.interval_ns.max(1) as f64 * about.samples.max(1) as f64),
        runs_generator: has_generator,
        scrape: about.scrape.as_ref().map(|scraped| ScrapeInfo {
            target: scraped.address.clone(),
            counters: scraped.counters.clone(),
            failures: scraped.failures,
            first_error: scraped.first_error.clone(),
            excluded_series: scraped.excluded_series,
        }),
    };
    let policies = work_by_policy(&names, &spans, &blocks, about.ticks_per_s);
    Ok(Host { policies, ..Host::of(origin, &course, &counted, window) })
}

/// Converts times of a machine's clock to the generator's clock.
struct ClockMapping {
    clock: HostClock,
    /// Two measurements, each a time of the generator's clock and the offset of that clock.
    from: (i128, i128),
    to: (i128, i128),
}

impl ClockMapping {
    /// From the comparisons before and after the run; without them the clocks are assumed to be equal.
    fn of(asked: Option<WorkerClock>) -> Self {
        let offsets = asked.map(|asked| (asked, [asked.before, asked.after]));
        let Some((asked, [Some(one), other] | [None, other @ Some(one)])) = offsets else {
            return Self { clock: HostClock::default(), from: (0, 0), to: (0, 0) };
        };
        let point = |offset: ClockOffset| (i128::from(offset.at_unix_ns), i128::from(offset.offset_ns));
        let last = other.filter(|_| asked.has_drifted()).unwrap_or(one);
        let ms = |ns: i64| ns as f64 / 1e6;
        let clock = HostClock {
            source: ClockSource::Measured,
            offset_ms: Some(-ms(one.offset_ns)),
            offset_uncertainty_ms: asked.within_ns().map(|ns| ns as f64 / 1e6),
        };
        Self { clock, from: point(one), to: point(last) }
    }

    /// The time of the generator's clock when the machine's clock showed `at`: linear between the two measurements, constant outside.
    fn to_generator(&self, at: i128) -> i128 {
        let ((from, early), (to, late)) = (self.from, self.to);
        let near = (at + early).clamp(from, to.max(from));
        at + early + (late - early) * (near - from) / (to - from).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offset(offset_ns: i64, at_unix_ns: u64) -> ClockOffset {
        ClockOffset { offset_ns, bound_ns: 10, at_unix_ns, answers: 32 }
    }

    #[test]
    fn times_are_converted_by_the_measured_clock_offsets() {
        let clock = |before, after| WorkerClock { before, after, ..WorkerClock::default() };
        let once = ClockMapping::of(Some(clock(Some(offset(1_000, 5_000)), None)));
        assert_eq!(once.to_generator(4_000), 5_000, "the generator was ahead");
        assert_eq!(
            (once.clock.source, once.clock.offset_ms, once.clock.offset_uncertainty_ms),
            (ClockSource::Measured, Some(-0.001), Some(1e-5))
        );
        let after = ClockMapping::of(Some(clock(None, Some(offset(-1_000, 5_000)))));
        assert_eq!(after.to_generator(4_000), 3_000);
        let drifted = ClockMapping::of(Some(clock(Some(offset(1_000, 5_000)), Some(offset(2_000, 15_000)))));
        assert_eq!([0, 4_000, 9_000, 50_000].map(|at| drifted.to_generator(at) - at), [1_000, 1_000, 1_500, 2_000]);
        let steady = ClockMapping::of(Some(clock(Some(offset(1_000, 5_000)), Some(offset(1_015, 15_000)))));
        assert_eq!(steady.to_generator(50_000) - 50_000, 1_000, "a drift within the bounds is not corrected");
        assert_eq!(steady.clock.offset_uncertainty_ms, Some(25e-6));
        assert_eq!(ClockMapping::of(None).clock, HostClock::default());
        assert_eq!(ClockMapping::of(Some(clock(None, None))).clock.source, ClockSource::Assumed);
    }
}
