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
//!     events: (0..500).map(launch).collect::<Vec<Event>>().into(),
//!     labels: vec!["home".into()],
//!     resolution: Nanos(1),
//!     ..Recording::default()
//! };
//! let verdict = verify(&recording, &Ask { meant: Meant::Poisson, ..Ask::default() })?;
//! assert_eq!((verdict.pattern, verdict.judgement), (Pattern::Clockwork, Judgement::Fails));
//! assert!(verdict.launches.last().unwrap().cov < 0.01);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Limitations
//! Bunching inside a tick of the clock that made the stamps cannot be seen. From one run, a Poisson process and one of a fixed
//! count cannot be told apart. A saturated closed system with exponential service launches a perfect Poisson stream; only the
//! queue (`RoRT`) betrays it.

mod criteria;
mod reason;
mod by_threads;
mod clocks;
mod counts;
mod threshold_sensitivity;
mod generator_error;
mod ends;
mod finding;
pub mod hosts;
mod judge;
mod stability;
mod lateness;
mod expected_arrivals;
mod measured;
mod merge;
mod pages;
mod pattern;
mod event_keys;
mod poisson;
pub mod policies;
mod concurrency_at_arrival;
mod queue;
mod requests;
mod runs;
mod samples;
mod scope;
mod stalls;
mod interim;
mod stream;
mod tables;
mod thresholds;
mod twin;
mod verdict;
mod warnings;
mod windows;
mod workers;

#[cfg(test)]
mod tests;

pub use criteria::{Criteria, RandomRate, Failures};
pub use generator_error::{GeneratorError, PercentileError};
pub use ends::Ends;
pub use stability::{FlowCounts, MATTERS};
pub use expected_arrivals::ExpectedArrivals;
pub use measured::{Measured, Parts};
pub use merge::merge;
pub use pages::{Joined, Object, Pages, response as page_response};
pub use samples::{Sample, samples};
pub use scope::{Launch, Scope};
pub use interim::{InterimStats, InterimVerdict, interim_verdict};
pub use tables::{Tables, toolkit};
pub use thresholds::ThresholdResult;
pub use twin::{Counterpart, Paired, Sieve, Stretch, Twin, Unpaired};
pub use verdict::{
    Check, CheckResult, StabilityState, Clock, Dispersion, WarningKind, Finding, Expected, Validity, Stability, Lateness, Pattern, Queue, RequestStats, Sessions,
    SizeStats, Source, Stalls, ThreadStats, TimeStats, NotCheckedReason, Verdict, Verdicts, Warning, Window,
};

use std::io;

use offered_model::document::Schema;
use offered_model::{Nanos, Recording};
use offered_stats::cov::exponential_interval;
use offered_stats::dispersion::Dispersion as Rung;
use offered_stats::values::Moments;

use reason::Because;
use counts::Counted;
use threshold_sensitivity::Decided;
use generator_error::{Companies, Company};
use finding::Strictness;
use judge::Seen;
use pattern::Look;
use event_keys::Places;
use scope::{Meant as MeantAt, Run};
use stalls::Stalling;
use stream::{Making, Stream};
use tables::Gaps;
use workers::Workers;

/// The verdict on a recording.
///
/// However many events there are, they are gone through a few times and never held. Up to a million of them every figure is exact. Of
/// more so are numbers, means, deviations, extremes, and counts in windows; percentiles are right to a thousandth of themselves,
/// and tests that need single gaps look at a sample of a million, drawn by the seed of `ask`. A recording into which several runs
/// were appended is judged run by run, and as a whole only described.
///
/// # Errors
/// The recording can no longer be read.
pub fn verify(recording: &Recording, ask: &Criteria) -> io::Result<Verdict> {
    let split = runs::split(recording)?;
    let nothing = Run { rows: 0..recording.events.launches(), from: 0, to: 0 };
    let whole = Run::whole(recording).unwrap_or(nothing);
    if split.runs.len() < 2 {
        let mut verdict = of_run(recording, &whole, ask)?;
        verdict.warnings.extend(split.doubts.into_iter().map(Warning::from));
        return Ok(verdict);
    }
    let named = |number: usize| Criteria { path: format!("{}, run {number}", ask.path), ..ask.clone() };
    let numbered = (1..).zip(&split.runs);
    let parts: Vec<Verdict> =
        numbered.map(|(number, run)| of_run(recording, run, &named(number))).collect::<io::Result<_>>()?;
    // A trial of a few launches says nothing, neither for the others nor against them.
    let told = || parts.iter().filter(|part| part.pattern != Pattern::TooFewRequests);
    let all = |judgement| told().next().is_some() && told().all(|part| part.validity == judgement);
    let any = |judgement| told().any(|part| part.validity == judgement);
    let because = format!("the file holds {} runs, each judged by itself", parts.len());
    let mut verdict = of_run(recording, &whole, ask)?;
    // What lies between two runs is no gap, and no rate goes through it.
    verdict.responses.iter_mut().chain(&mut verdict.failures).for_each(|row| row.rate_per_s = None);
    let doubts = warnings::of_source(ask, recording).into_iter().chain(split.doubts);
    Ok(Verdict {
        gaps: Vec::new(),
        by_node: Vec::new(),
        by_worker: Vec::new(),
        stability: None,
        queue: Queue { response_ms: verdict.queue.response_ms, ..Queue::default() },
        dispersion: Vec::new(),
        findings: Vec::new(),
        warnings: doubts.map(Warning::from).collect(),
        pattern: Pattern::SeveralRuns,
        validity: if any(Validity::Invalid) {
            Validity::Invalid
        } else if all(Validity::Valid) {
            Validity::Valid
        } else {
            Validity::NotChecked
        },
        reason: because,
        runs: parts,
        ..verdict
    })
}

/// What is seen of launches in the order in which they were sent.
struct Sent<U> {
    gaps: Gaps,
    workers: Workers,
    company: Company,
    stream: Making<U>,
}

/// What is seen of launches in the order in which they were meant.
struct Intended {
    company: Company,
    stalls: Stalling,
    before: Option<u64>,
    gaps: Moments,
}

fn of_run(recording: &Recording, run: &Run, ask: &Criteria) -> io::Result<Verdict> {
    let scope = Scope::new(recording, run, ask);
    let strictness = Strictness::new(recording.intent_known, ask.cov_tolerance);
    // Of a partly-open system the sessions are held to what was meant; their later launches follow the server.
    let first_only = ask.expected.applies_to_sessions();
    let mut counted = Counted::of(scope, ask)?;
    let [lateness, service] = [&mut counted.lateness, &mut counted.service].map(|of| std::mem::take(of).sorted());
    let window = generator_error::window(&service);
    let users = std::mem::take(&mut counted.sessions).users();

    let Sent { gaps, workers, company, stream } = sent_in_order(scope, ask, &counted, window)?;
    let (stream, (by_worker, by_node)) = (stream.finish(), workers.finish());
    let keeps_up = counted.keeps_up(ask);
    let response_ms = counted.responses.mean_ms();
    let (columns, requests) = counted.take_tables(scope);
    let (tables, response) = columns.with_responses(&recording.labels, gaps);
    let (requests, statuses) = requests.finish(&recording.labels);
    let (poisson, look) = looked_at(&stream, strictness, ask);

    let total_rate = tables.launches.last().map(|total| 1e3 / total.mean_ms).filter(|rate| rate.is_finite());
    let queue = queue::queue(response_ms, users, total_rate, keeps_up.as_ref());
    let late = recording.intent_known.then(|| lateness.summary(1e3)).flatten();
    let usual = Nanos(late.map_or(0, |late| (late.median * 1e3) as u64));
    let intended =
        recording.intent_known.then(|| meant_in_order(scope, ask, &counted.places, window, usual)).transpose()?;
    let (meant_cov, held_per_s) = (intended.as_ref().and_then(|meant| meant.gaps.cov()), ask.realised_rate_per_s(recording));
    let stalls = intended.as_ref().and_then(|intended| intended.stalls.finish());
    let lateness = late.map(|late| lateness::lateness(&late, counted.unsent, stalls));
    let companies = intended.map(|intended| Companies { sent: company.finish(), meant: intended.company.finish() });
    let effect = companies.and_then(|companies| GeneratorError::of(&response, &service, &companies, ask.generator_error_tolerance));
    let seen =
        Seen { counted: &counted, stream: &stream, queue: &queue, lateness: lateness.as_ref(), meant_cov, held_per_s };
    let intent = judge::against_intent(scope, ask, &seen);
    let failing: Vec<&Finding> = {
        let poisson = poisson.iter().filter(|_| ask.expected.is_poisson());
        intent.iter().chain(poisson).filter(|finding| finding.failed()).collect()
    };
    // Would the launches have been as meant, had they left in time? Then their sending is what spoilt them.
    let of_sending = |finding: &&Finding| finding.check.depends_on_send_times();
    let spoilt = recording.intent_known && failing.iter().any(of_sending) && {
        let intended = as_meant(scope, ask, &counted, first_only)?;
        let (poisson, _) = looked_at(&intended, strictness, ask);
        judge::is_as_meant(scope, ask, &Seen { stream: &intended, ..seen }, &poisson)
    };
    let only_spoilt = spoilt && failing.iter().all(of_sending);
    let strict = judge::overall(ask, &poisson, &intent, &stream);
    let launched = tables.launches.last().map_or(stream.launches(), |total| total.n + 1);
    let judged = scope.window(launched, counted.of_run);
    let asked = effect.as_ref().filter(|_| only_spoilt || strict != Validity::Invalid);
    let decided = Decided::of(recording, ask, &tables.launches, &judged, asked)?;
    let (clocks, unordered) = clocks::of(recording, stream.mean_gap(), ask);
    let judgement = effect.as_ref().map_or(strict, |effect| judge::by_effect(strict, only_spoilt, decided, effect));
    let judgement = judge::by_clocks(judgement, unordered.as_ref());
    let stalled = lateness.as_ref().and_then(|late| late.stalls).filter(|_| spoilt);
    let poisson = held_to_poisson(poisson, ask);
    let bootstrap = bootstrap(&look, ask, &stream);

    let doubts = doubts(recording, ask, &seen, &look, stalled).into_iter().chain(unordered.clone());

    let of = Because {
        ask,
        look: &look,
        intent: &intent,
        judgement,
        generator: recording.generator.as_ref(),
        spoilt,
        stalled,
        lateness: lateness.as_ref(),
        meant_cov,
        effect: effect.as_ref().filter(|_| only_spoilt || judgement != Validity::Invalid),
        decided: spoilt && decided.all(),
        unordered: unordered.as_ref(),
    };
    let because = reason::because(&of);
    let warnings = doubts.map(|doubt| Warning { in_reason: of.tells(&doubt), ..doubt.into() }).collect();
    Ok(Verdict {
        schema: Schema::new(),
        source: source(recording, ask),
        window: judged,
        expected: meant(ask, meant_cov, held_per_s),
        sessions: ask.expected.applies_to_sessions().then(|| sessions(ask, &stream, meant_cov)),
        gaps: tables.launches,
        requests,
        statuses,
        stability: keeps_up,
        responses: tables.responses,
        failures: tables.failures,
        first_byte: tables.first_byte,
        sizes: tables.sizes,
        by_threads: if ask.by_threads { by_threads::by_threads(scope)? } else { Vec::new() },
        by_worker,
        by_node,
        clocks,
        lateness,
        generator_error: effect,
        queue,
        dispersion: stream.ladder.iter().map(dispersion).collect(),
        policies: policies::policies(recording, ask, &judged)?,
        twin: None,
        server_side: None,
        reason: because,
        pattern: look.pattern,
        validity: judgement,
        findings: poisson.into_iter().chain(bootstrap).chain(intent).collect(),
        warnings,
        runs: Vec::new(),
    })
}

/// What was not meant to be Poisson is tested, to name the pattern, but not held to it.
fn held_to_poisson(mut poisson: Vec<Finding>, ask: &Criteria) -> Vec<Finding> {
    if !ask.expected.is_poisson() {
        for finding in &mut poisson {
            finding.result = verdict::CheckResult::NotChecked;
        }
    }
    poisson
}

/// The CoV with its bootstrap interval, where the launches are no Poisson process.
fn bootstrap(look: &Look, ask: &Criteria, stream: &Stream) -> Option<Finding> {
    let near = matches!(look.pattern, Pattern::Poisson | Pattern::PoissonFixedCount | Pattern::TooFewRequests);
    if near { None } else { judge::bootstrap_finding(ask, stream) }
}

/// What was read.
fn source(recording: &Recording, ask: &Criteria) -> Source {
    Source {
        path: ask.path.clone(),
        format: recording.format.clone(),
        requests: recording.events.launches(),
        unreadable_rows: recording.unreadable,
        timestamps: recording.stamps.clone(),
        resolution_ms: recording.resolution.as_millis_f64(),
    }
}

fn meant(ask: &Criteria, cov: Option<f64>, scheduled_per_s: Option<f64>) -> Expected {
    Expected {
        arrivals: ask.expected.name(),
        system: ask.expected.system(),
        target_rate_per_s: ask.target_rate_per_s,
        scheduled_rate_per_s: scheduled_per_s,
        expected_cov: ask.expected.expected_cov(),
        scheduled_cov: cov,
    }
}

/// What is to be doubted.
fn doubts(recording: &Recording, ask: &Criteria, seen: &Seen, look: &Look, stalled: Option<Stalls>) -> Vec<WarningKind> {
    let generator = recording.generator.as_ref();
    let mut doubts: Vec<WarningKind> = generator.and_then(warnings::of_saturation).into_iter().collect();
    doubts.extend(warnings::of_source(ask, recording));
    doubts.extend(stalled.map(WarningKind::GeneratorStalled));
    doubts.extend(warnings::of_launches(ask, seen.stream, look, recording.sessions_known));
    // What the machine did is no pattern of the workload, and has its own remedy.
    doubts.extend(warnings::of_pattern(look).filter(|_| ask.expected.is_poisson() && stalled.is_none()));
    doubts.extend(warnings::of_queue(ask, seen.queue));
    doubts.extend(warnings::of_length(ask, seen.queue, &seen.stream.ladder));
    doubts.extend(seen.lateness.iter().flat_map(|late| warnings::of_lateness(ask, late, stalled.is_some())));
    doubts.extend(warnings::of_schedule(ask, seen.held_per_s));
    doubts.extend(warnings::of_early(seen.counted.early));
    doubts.extend(generator.into_iter().flat_map(warnings::of_generator));
    doubts.extend(policies::doubts(recording));
    doubts
}

/// Whether it is known what company launches were meant to have.
fn with_company(scope: Scope, ask: &Criteria) -> bool {
    scope.recording.intent_known && !ask.is_closed()
}

/// Goes through the launches; their company is counted in `window`.
fn sent_in_order(scope: Scope, ask: &Criteria, counted: &Counted, window: u64) -> io::Result<Sent<impl FnMut() -> f64>> {
    let (labels, tick, ends) = (scope.recording.labels.len(), scope.recording.resolution.0, counted.sent);
    let (first_only, with_company) = (ask.expected.applies_to_sessions(), with_company(scope, ask));
    let spread = if tick > 1 {
        let fresh = || stream::spreading(tick, ask.seed);
        let spreading = counted.places.as_sent(fresh, |spreading, launch| {
            if !first_only || launch.first {
                spreading.add(launch.sent);
            }
        });
        spreading?.finish()
    } else {
        ends
    };
    let fresh = || Sent {
        gaps: Gaps::new(labels),
        workers: Workers::new(scope),
        company: Company::new(window),
        stream: stream::making(ends, spread, tick, ask.seed),
    };
    counted.places.as_sent(fresh, |sent, launch| {
        sent.gaps.add(launch.label.into(), launch.sent);
        sent.workers.add(launch.worker, launch.sent);
        if with_company && launch.first {
            sent.company.add(launch.sent);
        }
        if !first_only || launch.first {
            sent.stream.add(launch.sent);
        }
    })
}

/// Goes through what was meant, whose usual lateness is known.
fn meant_in_order(scope: Scope, ask: &Criteria, places: &Places, window: u64, usual: Nanos) -> io::Result<Intended> {
    let (first_only, with_company) = (ask.expected.applies_to_sessions(), with_company(scope, ask));
    let fresh = || Intended {
        company: Company::new(window),
        stalls: Stalling::new(usual),
        before: None,
        gaps: Moments::default(),
    };
    places.as_meant(fresh, |intended, launch| {
        if let Some(sent) = launch.sent {
            intended.stalls.add(launch.intended, sent);
            if with_company && launch.first {
                intended.company.add(launch.intended);
            }
        }
        if launch.inside
            && (!first_only || launch.first)
            && let Some(before) = intended.before.replace(launch.intended)
        {
            intended.gaps.add(launch.intended - before, 1);
        }
    })
}

/// The launches that were meant, as if all had been sent in time.
fn as_meant(scope: Scope, ask: &Criteria, counted: &Counted, first_only: bool) -> io::Result<Stream> {
    let (tick, meant) = (scope.recording.resolution.0, counted.meant);
    let counts = |launch: &MeantAt| launch.inside && (!first_only || launch.first);
    let spread = if tick > 1 {
        let fresh = || stream::spreading(tick, ask.seed);
        let spreading = counted.places.as_meant(fresh, |spreading, launch| {
            if counts(&launch) {
                spreading.add(launch.intended);
            }
        });
        spreading?.finish()
    } else {
        meant
    };
    let fresh = || stream::making(meant, spread, tick, ask.seed);
    let making = counted.places.as_meant(fresh, |making, launch| {
        if counts(&launch) {
            making.add(launch.intended);
        }
    });
    Ok(making?.finish())
}

/// How sessions arrived, whose first launches are `stream`.
fn sessions(ask: &Criteria, stream: &Stream, meant_cov: Option<f64>) -> Sessions {
    let interval = stream.corrected_cov.map(|cov| exponential_interval(cov, stream.gaps()));
    Sessions {
        n: stream.launches(),
        target_rate_per_s: ask.target_rate_per_s,
        sent_rate_per_s: stream.rate_per_s(),
        scheduled_cov: meant_cov,
        measured_cov: stream.corrected_cov,
        cov_low: interval.map(|interval| interval.low),
        cov_high: interval.map(|interval| interval.high),
    }
}

fn dispersion(rung: &Rung) -> Dispersion {
    let Rung { window, idc, interval, .. } = rung;
    Dispersion { window_s: *window as f64 / 1e9, idc: *idc, low: interval.low, high: interval.high }
}

/// The tests of a Poisson stream, and what the launches look like.
fn looked_at(stream: &Stream, strictness: Strictness, ask: &Criteria) -> (Vec<Finding>, Look) {
    let mut poisson = poisson::findings(stream, strictness);
    poisson.push(windows::finding(&stream.ladder, strictness));
    let look = pattern::look(stream, &poisson, &ask.expected);
    (poisson, look)
}
