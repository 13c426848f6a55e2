//! Verify: what to believe of a recording. Principle B (launches must be Poisson: CoV near 1) and everything around it.
//!
//! [`verify`] takes any recording, ours or another tool's, and answers with a [`Verdict`]: the four tables of the
//! web-generator-toolkit, the tests, a *pattern* (what the launches look like) and a *judgement* (whether that was meant).
//!
//! How it judges is told in `finding.rs`: beyond chance *and* large enough to matter. How often it is wrong is measured in
//! book/src/background/calibration.md.
//!
//! # Limitations
//! Bunching inside a tick of the clock that made the stamps cannot be seen. From one run, a Poisson process and one of a fixed
//! count cannot be told apart. A saturated closed system with exponential service launches a perfect Poisson stream; only the
//! queue (`RoRT`) betrays it.

mod ask;
mod by_threads;
mod finding;
mod judge;
mod lateness;
mod meant;
mod measured;
mod merge;
mod pattern;
mod poisson;
mod queue;
mod runs;
mod samples;
mod scope;
mod standing;
mod stream;
mod tables;
mod thresholds;
mod verdict;
mod warnings;
mod windows;

#[cfg(test)]
mod tests;

pub use ask::{Ask, Failures};
pub use meant::{Meant, superposition_cov};
pub use measured::{Measured, Parts};
pub use merge::merge;
pub use samples::{Sample, samples};
pub use scope::Scope;
pub use standing::{SoFar, Standing, standing};
pub use thresholds::Checked;
pub use verdict::{
    Dispersion, Finding, Intent, Judgement, Lateness, Pattern, Queue, Sizes, Source, Threads, Times, Verdict, Warning,
    Window,
};

use offered_model::Recording;
use offered_stats::Summary;
use offered_stats::cov::exponential_interval;
use offered_stats::summary::gaps;

use finding::Strictness;
use pattern::Look;
use runs::Run;
use stream::Stream;

/// The verdict on a recording.
///
/// The work is a few sorts of the launch instants; beside the events at most six columns of eight bytes are held. A recording
/// into which several runs were appended is judged run by run, and as a whole only described.
pub fn verify(recording: &Recording, ask: &Ask) -> Verdict {
    let runs = runs::split(recording);
    let nothing = Run { rows: 0..recording.events.len(), from: 0, to: 0 };
    let whole = Run::whole(recording).unwrap_or(nothing);
    if runs.len() < 2 {
        return of_run(recording, &whole, ask);
    }
    let parts: Vec<Verdict> = runs.iter().map(|run| of_run(recording, run, ask)).collect();
    let all = |judgement| parts.iter().all(|part| part.judgement == judgement);
    let any = |judgement| parts.iter().any(|part| part.judgement == judgement);
    let because = format!("the file holds {} runs, each judged by itself", parts.len());
    let mut verdict = of_run(recording, &whole, ask);
    verdict.warnings = warnings::of_source(recording);
    verdict.warnings.push(Warning {
        doubt: format!(
            "{} runs are told apart by long silences or a clock that jumps back; if it was one run, its generator stood still, \
             and no verdict on its parts says so",
            parts.len()
        ),
        remedy: "keep every run in a file of its own; of a run that stood still believe nothing".into(),
    });
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
    // Of a partly-open system the sessions arrive as a Poisson process; their later launches follow the server.
    let sessions_only = ask.meant == Meant::PartlyOpen;
    let stream = Stream::new(scope, ask.seed, |event| !sessions_only || event.step == 0);
    let strictness = Strictness::new(recording.intent_known, ask.tolerance);
    let ladder = windows::ladder(&stream);
    let mut poisson = poisson::findings(&stream, strictness);
    poisson.push(windows::finding(&ladder, strictness));
    let look = pattern::look(&stream, &poisson, &ask.meant);

    let total_rate = tables.launches.last().map(|total| 1e3 / total.mean_ms).filter(|rate| rate.is_finite());
    let queue = queue::queue(scope, total_rate, tables.responses.last().map(|total| total.mean_ms));
    let lateness = lateness::lateness(scope);
    let meant_cov = judge::meant_cov(scope, &ask.meant);
    let intent = judge::against_intent(ask, &stream, &queue, lateness.as_ref(), meant_cov);
    let judgement = judge::overall(ask, &poisson, &intent, &stream);
    if !judge::is_poisson(&ask.meant) {
        // What was not meant to be Poisson is tested, to name the pattern, but not held to it.
        for finding in &mut poisson {
            finding.judgement = Judgement::NotChecked;
        }
    }
    let far = !matches!(look.pattern, Pattern::Poisson | Pattern::FixedCountPoisson | Pattern::TooFew);
    let bootstrap = far.then(|| judge::bootstrap_finding(ask, &stream)).flatten();

    let mut warnings = warnings::of_source(recording);
    warnings.extend(warnings::of_launches(ask, &stream, &look, recording.sessions_known));
    warnings.extend(warnings::of_queue(ask, &queue));
    warnings.extend(warnings::of_length(ask, &queue, &ladder));
    warnings.extend(lateness.iter().flat_map(|late| warnings::of_lateness(ask, late)));

    let launched = tables.launches.last().map_or(stream.instants.len() as u64, |total| total.n + 1);
    Verdict {
        schema: "offered.verify/1",
        source: Source {
            path: ask.path.clone(),
            format: recording.format.clone(),
            rows: recording.events.len() as u64,
            unreadable: recording.unreadable,
            stamps: recording.stamps.clone(),
            resolution_ms: recording.resolution.as_millis_f64(),
        },
        window: scope.window(launched),
        meant: Intent {
            arrivals: ask.meant.name(),
            rate_per_s: ask.rate_per_s,
            expected_cov: ask.meant.expected_cov(),
            cov: meant_cov,
        },
        launches: tables.launches,
        responses: tables.responses,
        first_byte: tables.first_byte,
        sizes: tables.sizes,
        by_threads: if ask.by_threads { by_threads::by_threads(scope) } else { Vec::new() },
        by_worker: by_worker(scope),
        lateness,
        queue,
        dispersion: ladder
            .iter()
            .map(|rung| Dispersion {
                window_s: rung.window as f64 / 1e9,
                idc: rung.idc,
                low: rung.interval.low,
                high: rung.interval.high,
            })
            .collect(),
        because: because(&look, &intent, judgement),
        pattern: look.pattern,
        judgement,
        tests: poisson.into_iter().chain(bootstrap).chain(intent).collect(),
        warnings,
        runs: Vec::new(),
    }
}

/// The reason in one sentence: the pattern, and what else fails.
fn because(look: &Look, intent: &[Finding], judgement: Judgement) -> String {
    let failing: Vec<String> = intent
        .iter()
        .filter(|finding| finding.judgement == Judgement::Fails)
        .map(|finding| format!("{} is {:.3}", finding.name, finding.estimate.unwrap_or(f64::NAN)))
        .collect();
    match (judgement, failing.is_empty()) {
        (Judgement::Fails, false) => format!("{}; {}", look.because, failing.join(", ")),
        _ => look.because.clone(),
    }
}

/// Gaps of each worker's own launches; a row per worker when there are several.
fn by_worker(scope: Scope) -> Vec<Times> {
    let mut sent: Vec<(u16, u64)> = scope.launches().map(|(at, event)| (event.worker, at)).collect();
    sent.sort_unstable();
    let workers = sent.chunk_by(|a, b| a.0 == b.0);
    if workers.clone().count() < 2 {
        return Vec::new();
    }
    let row = |launches: &[(u16, u64)]| {
        let instants: Vec<u64> = launches.iter().map(|&(_, at)| at).collect();
        let mut apart: Vec<u64> = gaps(&instants).collect();
        apart.sort_unstable();
        let row = Summary::of_sorted(&apart, 1e6)?;
        let span_ms = (instants[instants.len() - 1] - instants[0]) as f64 / 1e6;
        let cov = exponential_interval(row.cov, row.n);
        Some(tables::times(format!("worker {}", launches[0].0), &row, span_ms, Some(cov)))
    };
    workers.filter_map(row).collect()
}
