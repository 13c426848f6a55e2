//! A portrait of a recording: all that its charts need, of bounded size however long the run was.
//!
//! Shares of time are seen in at most 120 cells, times in cells of equal factors, percentiles at a hundred
//! places. So the page of ten million launches is as large as that of ten thousand. Numbers that stand in tables come from the
//! verdict; what is here beside them is counted over the same launches.

mod gaps;
mod grid;
mod in_system;
mod over_time;
mod spread;

use gaps::Sent;
pub use gaps::{Counts, Fragment, Gaps};
pub use grid::{Grid, Percentiles};
pub use in_system::InSystem;
pub use over_time::OverTime;
pub use spread::{Ends, Spread};

use std::io;
use std::ops::Range;

use offered_experiment::{Failure, failures};
use offered_model::{Event, Instant, Nanos, Outcome, Recording};
use offered_verify::{Ask, Pages, Scope, Window};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The time that was judged, on the recording's clock.
fn judged(recording: &Recording, window: &Window) -> Range<Instant> {
    let from = |origin: Instant, s: f64| origin + Nanos::from_secs_f64(s);
    match origin(recording).unwrap_or_default() {
        // Of a file both ends are inclusive.
        first if !recording.on_run_clock => from(first, window.from_s)..from(first, window.to_s) + Nanos(1),
        start => from(start, window.from_s)..from(start, window.to_s),
    }
}

/// What time is counted from: of a run of ours its start, of a file its first launch; `None` when nothing was sent.
fn origin(recording: &Recording) -> Option<Instant> {
    let (first, _) = recording.events.extent().sent?;
    Some(if recording.on_run_clock { Instant::ZERO } else { first })
}

/// The next length of time as people count it: 1, 2 or 5 times a power of ten. In ns.
fn round_up(ns: u64) -> u64 {
    let decades = (0..19).map(|power| 10u64.pow(power));
    decades.flat_map(|decade| [decade, 2 * decade, 5 * decade]).find(|round| *round >= ns).unwrap_or(u64::MAX)
}

/// The next whole number of ticks; the greatest instant where that is none.
fn whole_ticks(ns: u64, tick: u64) -> u64 {
    ns.checked_next_multiple_of(tick).unwrap_or(u64::MAX)
}

/// What a run looked like.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Portrait {
    /// The whole run in cells of time, with what was left out of the judgement.
    pub over_time: OverTime,
    /// Responses by how many were in the system when a launch joined it.
    pub in_system: Option<InSystem>,
    /// done - intended, of good answers.
    pub response: Option<Spread>,
    /// done - sent of good answers, where what was intended is known; else it is the same.
    pub service: Option<Spread>,
    /// sent - intended, where known.
    pub lateness: Option<Spread>,
    /// Gaps between the launches that the verdict is about.
    pub gaps: Option<Gaps>,
    /// Their counts per interval.
    pub counts: Option<Counts>,
    /// A few of them one by one.
    pub fragment: Fragment,
    /// Launches that brought objects with them.
    pub pages: Option<Pages>,
    /// What failed in the whole run, by request and reason; the most frequent first.
    pub failures: Vec<Failure>,
}

impl Portrait {
    /// Of the launches of `recording` that `ask` looks at, which its verdict found to lie in `window`; `None` when nothing was
    /// sent.
    ///
    /// # Errors
    /// The recording can no longer be read.
    pub fn of(recording: &Recording, ask: &Ask, window: &Window) -> io::Result<Option<Self>> {
        let Some(scope) = Scope::of(recording, ask) else { return Ok(None) };
        let tick = recording.resolution.0.max(1);
        let known = recording.intent_known;
        // What the verdict holds against Poisson of a partly-open system is when its sessions arrive.
        let sessions_only = ask.meant.is_of_sessions();
        let of = if sessions_only { "session starts" } else { "launches" };
        let ends = scope.ends(|event| !sessions_only || event.step == 0)?;
        let sent = scope.in_order(
            || Sent::new(of, ends, tick),
            |sent, launch| {
                if !sessions_only || launch.first {
                    sent.add(launch.sent);
                }
            },
        )?;
        let (gaps, counts, fragment) = sent.finish(scope, known)?;
        let Some(over_time) = OverTime::of(recording, [window.from_s, window.to_s])? else { return Ok(None) };
        let good = |event: &Event| event.outcome == Outcome::Ok;
        let [response, service, lateness] = Spread::of(
            scope,
            tick,
            [
                &|event| event.response().filter(|_| good(event)),
                &|event| event.service().filter(|_| known && good(event)),
                &|event| event.lateness().filter(|_| known),
            ],
        )?;
        Ok(Some(Self {
            over_time,
            in_system: InSystem::of(scope)?,
            response,
            service,
            lateness,
            gaps,
            counts,
            fragment,
            pages: Pages::of(recording, judged(recording, window), &ask.pages)?,
            failures: failures(recording)?,
        }))
    }
}
