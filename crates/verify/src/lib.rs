//! Verify: what to believe of a recording. Principle B (launches must be Poisson: CoV near 1) and everything around it.
//!
//! [`verify`] takes any recording, ours or another tool's, and answers with a [`Verdict`]: the four tables of the
//! web-generator-toolkit, the tests, a *pattern* (what the launches look like) and a *judgement* (whether that was meant).
//!
//! How it judges is told in `finding.rs`: beyond chance *and* large enough to matter. How often it is wrong is measured in
//! book/src/background/calibration.md.
//!
//! # Example
//! Launches every 10 ms are a clock, whatever was meant; a Poisson process was not kept.
//! ```
//! use offered_model::{Event, Instant, Nanos, Outcome, Recording};
//! use offered_verify::{Ask, Judgement, Meant, Pattern, verify};
//!
//! let launch = |i: u64| {
//!     let sent = Instant::from_millis(10 * i);
//!     Event { sent: Some(sent), done: Some(sent + Nanos::from_millis(3)), outcome: Outcome::Ok, ..Event::at(sent) }
//! };
//! let recording = Recording {
//!     events: (0..500).map(launch).collect(),
//!     labels: vec!["home".into()],
//!     resolution: Nanos(1),
//!     ..Recording::default()
//! };
//! let verdict = verify(&recording, &Ask { meant: Meant::Poisson, ..Ask::default() });
//! assert_eq!((verdict.pattern, verdict.judgement), (Pattern::Clockwork, Judgement::Fails));
//! assert!(verdict.launches.last().unwrap().cov < 0.01);
//! ```
//!
//! # Limitations
//! Bunching inside a tick of the clock that made the stamps cannot be seen. From one run, a Poisson process and one of a fixed
//! count cannot be told apart. A saturated closed system with exponential service launches a perfect Poisson stream; only the
//! queue (`RoRT`) betrays it.

mod ask;
mod because;
mod by_threads;
mod effect;
mod finding;
mod judge;
mod keeps_up;
mod lateness;
mod meant;
mod measured;
mod merge;
mod pages;
mod pattern;
mod poisson;
mod queue;
mod requests;
mod runs;
mod samples;
mod scope;
mod stalls;
mod standing;
mod stream;
mod tables;
mod thresholds;
mod verdict;
mod warnings;
mod windows;
mod workers;

#[cfg(test)]
mod tests;

pub use ask::{Ask, Failures};
pub use effect::{Effect, Share};
pub use keeps_up::{Flows, KeepsUp, MATTERS, Unchecked};
pub use meant::Meant;
pub use measured::{Measured, Parts};
pub use merge::merge;
pub use pages::Pages;
pub use samples::{Sample, samples};
pub use scope::Scope;
pub use standing::{SoFar, Standing, standing};
pub use tables::{Tables, toolkit};
pub use thresholds::Checked;
pub use verdict::{
    Check, Dispersion, Finding, Intent, Judgement, Lateness, Pattern, Queue, Request, Sessions, Sizes, Source, Stalls,
    Threads, Times, Verdict, Verdicts, Warning, Window,
};
pub use warnings::Doubt;

use offered_model::document::Schema;
use offered_model::{Event, Recording};
use offered_stats::cov::exponential_interval;
use offered_stats::dispersion::Dispersion as Counted;

use because::Because;
use finding::Strictness;
use judge::Seen;
use pattern::Look;
use runs::Run;
use stream::Stream;

/// The verdict on a recording.
///
/// The work is a few sorts of the launch instants; beside the events at most six columns of eight bytes are held. A recording
/// into which several runs were appended is judged run by run, and as a whole only described.
pub fn verify(recording: &Recording, ask: &Ask) -> Verdict {
    let split = runs::split(recording);
    let nothing = Run { rows: 0..recording.events.len(), from: 0, to: 0 };
    let whole = Run::whole(recording).unwrap_or(nothing);
    if split.runs.len() < 2 {
        let mut verdict = of_run(recording, &whole, ask);
        verdict.warnings.extend(split.doubts.into_iter().map(Warning::from));
        return verdict;
    }
    let parts: Vec<Verdict> = split.runs.iter().map(|run| of_run(recording, run, ask)).collect();
    // A trial of a few launches says nothing, neither for the others nor against them.
    let told = || parts.iter().filter(|part| part.pattern != Pattern::TooFew);
    let all = |judgement| told().next().is_some() && told().all(|part| part.judgement == judgement);
    let any = |judgement| told().any(|part| part.judgement == judgement);
    let because = format!("the file holds {} runs, each judged by itself", parts.len());
    let mut verdict = of_run(recording, &whole, ask);
    let doubts = warnings::of_source(ask, recording).into_iter().chain(split.doubts);
    verdict.warnings = doubts.map(Warning::from).collect();
    for finding in &mut verdict.tests {
        finding.judgement = Judgement::NotChecked;
    }
    Verdict {
        pattern: Pattern::AppendedRuns,
        judgement: if any(Judgement::Fails) {
            Judgement::Fails
        } else if all(Judgement::Holds) {
            Judgement::Holds
        } else {
            Judgement::NotChecked
        },
        because,
        runs: parts,
        ..verdict
    }
}

fn of_run(recording: &Recording, run: &Run, ask: &Ask) -> Verdict {
    let scope = Scope::new(recording, run, ask);
    let tables = tables::tables(scope);
    // Of a partly-open system the sessions are held to what was meant; their later launches follow the server.
    let counts = |event: &Event| !ask.meant.is_of_sessions() || event.step == 0;
    let stream = Stream::new(scope, ask.seed, counts);
    let strictness = Strictness::new(recording.intent_known, ask.pattern_tolerance);
    let (ladder, mut poisson, look) = looked_at(&stream, strictness, ask);

    let total_rate = tables.launches.last().map(|total| 1e3 / total.mean_ms).filter(|rate| rate.is_finite());
    let (requests, statuses) = requests::requests(scope);
    let keeps_up = scope.keeps_up(ask);
    let queue = queue::queue(scope, total_rate, keeps_up.as_ref());
    let lateness = lateness::lateness(scope);
    let meant_cov = judge::meant_cov(scope, &ask.meant);
    let seen = Seen { stream: &stream, ladder: &ladder, queue: &queue, lateness: lateness.as_ref(), meant_cov };
    let intent = judge::against_intent(scope, ask, &seen);
    let failing: Vec<&Finding> = {
        let poisson = poisson.iter().filter(|_| ask.meant.is_poisson());
        intent.iter().chain(poisson).filter(|finding| finding.fails()).collect()
    };
    // Would the launches have been as meant, had they left in time? Then their sending is what spoilt them.
    let of_sending = |finding: &&Finding| finding.check.is_of_sending();
    let spoilt = recording.intent_known && failing.iter().any(of_sending) && {
        let intended = Stream::intended(scope, ask.seed, counts);
        let (ladder, poisson, _) = looked_at(&intended, strictness, ask);
        judge::is_as_meant(scope, ask, &Seen { stream: &intended, ladder: &ladder, ..seen }, &poisson)
    };
    let only_spoilt = spoilt && failing.iter().all(of_sending);
    let effect = Effect::on(scope, ask);
    let strict = judge::overall(ask, &poisson, &intent, &stream);
    let judgement = effect.as_ref().map_or(strict, |effect| judge::by_effect(strict, only_spoilt, effect));
    let stalled = lateness.as_ref().and_then(|late| late.stalls).filter(|_| spoilt);
    if !ask.meant.is_poisson() {
        // What was not meant to be Poisson is tested, to name the pattern, but not held to it.
        for finding in &mut poisson {
            finding.judgement = Judgement::NotChecked;
        }
    }
    let far = !matches!(look.pattern, Pattern::Poisson | Pattern::FixedCountPoisson | Pattern::TooFew);
    let bootstrap = far.then(|| judge::bootstrap_finding(ask, &stream)).flatten();

    let generator = recording.generator.as_ref();
    let mut doubts: Vec<Doubt> = generator.and_then(warnings::of_saturation).into_iter().collect();
    doubts.extend(warnings::of_source(ask, recording));
    doubts.extend(stalled.map(Doubt::Stalled));
    doubts.extend(warnings::of_launches(ask, &stream, &look, recording.sessions_known));
    // What the machine did is no pattern of the workload, and has its own remedy.
    doubts.extend(warnings::of_pattern(&look).filter(|_| ask.meant.is_poisson() && stalled.is_none()));
    doubts.extend(warnings::of_queue(ask, &queue));
    doubts.extend(warnings::of_length(ask, &queue, &ladder));
    doubts.extend(lateness.iter().flat_map(|late| warnings::of_lateness(ask, late, stalled.is_some())));
    doubts.extend(warnings::of_early(scope));
    doubts.extend(generator.into_iter().flat_map(warnings::of_generator));

    let of = Because {
        ask,
        look: &look,
        intent: &intent,
        judgement,
        generator,
        spoilt,
        stalled,
        lateness: lateness.as_ref(),
        meant_cov,
        effect: effect.as_ref().filter(|_| only_spoilt || judgement != Judgement::Fails),
    };
    let because = because::because(&of);
    let warnings = doubts.into_iter().map(|doubt| Warning { told: of.tells(&doubt), ..doubt.into() }).collect();
    let launched = tables.launches.last().map_or(stream.instants.len() as u64, |total| total.n + 1);
    Verdict {
        schema: Schema::new(),
        source: Source {
            path: ask.path.clone(),
            format: recording.format.clone(),
            rows: recording.events.len() as u64,
            unreadable: recording.unreadable,
            stamps: recording.stamps.clone(),
            resolution_ms: recording.resolution.as_millis_f64(),
        },
        window: scope.window(launched),
        meant: meant(ask, meant_cov),
        sessions: ask.meant.is_of_sessions().then(|| sessions(ask, &stream, meant_cov)),
        launches: tables.launches,
        requests,
        statuses,
        keeps_up,
        responses: tables.responses,
        failures: tables.failures,
        first_byte: tables.first_byte,
        sizes: tables.sizes,
        by_threads: if ask.by_threads { by_threads::by_threads(scope) } else { Vec::new() },
        by_worker: workers::by_worker(scope),
        by_node: workers::by_node(scope),
        lateness,
        effect,
        queue,
        dispersion: ladder.iter().map(dispersion).collect(),
        because,
        pattern: look.pattern,
        judgement,
        tests: poisson.into_iter().chain(bootstrap).chain(intent).collect(),
        warnings,
        runs: Vec::new(),
    }
}

fn meant(ask: &Ask, cov: Option<f64>) -> Intent {
    Intent {
        arrivals: ask.meant.name(),
        system: ask.meant.system(),
        rate_per_s: ask.rate_per_s,
        expected_cov: ask.meant.expected_cov(),
        cov,
    }
}

/// How sessions arrived, whose first launches are `stream`.
fn sessions(ask: &Ask, stream: &Stream, meant_cov: Option<f64>) -> Sessions {
    let interval = stream.corrected_cov.map(|cov| exponential_interval(cov, stream.gaps.len()));
    Sessions {
        n: stream.instants.len() as u64,
        asked_per_s: ask.rate_per_s,
        launched_per_s: stream.rate_per_s(),
        meant_cov,
        sent_cov: stream.corrected_cov,
        cov_low: interval.map(|interval| interval.low),
        cov_high: interval.map(|interval| interval.high),
    }
}

fn dispersion(rung: &Counted) -> Dispersion {
    let Counted { window, idc, interval, .. } = rung;
    Dispersion { window_s: *window as f64 / 1e9, idc: *idc, low: interval.low, high: interval.high }
}

/// The dispersion of counts, the tests of a Poisson stream, and what the launches look like.
fn looked_at(stream: &Stream, strictness: Strictness, ask: &Ask) -> (Vec<Counted>, Vec<Finding>, Look) {
    let ladder = windows::ladder(stream);
    let mut poisson = poisson::findings(stream, strictness);
    poisson.push(windows::finding(&ladder, strictness));
    let look = pattern::look(stream, &poisson, &ask.meant);
    (ladder, poisson, look)
}
