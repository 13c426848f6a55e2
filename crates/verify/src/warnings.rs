//! Warnings: what to doubt about this recording, and what to do about it, in the terms of Brady and Gunther's principles.

use offered_model::Recording;
use offered_model::recording::Evidence;
use offered_stats::dispersion::Dispersion;

use crate::ask::Ask;
use crate::judge::SATURATED;
use crate::meant::Meant;
use crate::pattern::{Look, span};
use crate::stream::{FEWEST_GAPS, Stream};
use crate::verdict::{Lateness, Pattern, Queue, Stalls, Warning};
use crate::windows;

/// R / (R + Z) above this: the users spend so much of their time waiting that they launch in step with the server.
const HIGH_RORT: f64 = 0.1;
/// The counts of users who come back are too even in windows of so many of their cycles.
const CYCLES: f64 = 3.0;
/// Ticks coarser than this share of the mean gap hide what happens inside them.
const COARSE: f64 = 0.2;

fn warning(doubt: impl Into<String>, remedy: impl Into<String>) -> Warning {
    Warning { doubt: doubt.into(), remedy: remedy.into() }
}

/// That the generator had no time left, where it had none.
pub(crate) fn saturated(generator: &Evidence) -> Option<String> {
    let (thread, busy) = generator.busiest().filter(|(_, busy)| *busy > SATURATED)?;
    Some(format!("the generator was saturated: thread {thread} was busy for {:.0} % of the run", busy * 100.0))
}

/// Doubts about a generator that had no time left.
pub(crate) fn of_saturation(generator: &Evidence) -> Option<Warning> {
    let remedy = "give it more threads (--threads) or more machines (--share), or ask for less";
    Some(warning(saturated(generator)?, remedy))
}

/// Doubts about a run that did not come to its end, and about a generator of which much was asked.
pub(crate) fn of_generator(generator: &Evidence) -> Vec<Warning> {
    let mut all = Vec::new();
    if generator.stopped {
        let doubt = match &generator.halted {
            Some(halted) => format!("the run stopped itself: {}", halted.why),
            None => "the run was stopped before its time".to_owned(),
        };
        all.push(warning(doubt, "what was launched until then is judged; run it to the end to judge what was meant"));
    }
    if let Some(found) = generator.calibrated.filter(|found| found.asked_per_s > found.sustained_per_s / 2.0) {
        let threads = generator.busy.len();
        all.push(warning(
            format!(
                "{:.0} launches/s are asked of {threads} thread{}, more than half of the {:.0}/s that `offered calibrate` found \
                 possible here",
                found.asked_per_s,
                if threads == 1 { "" } else { "s" },
                found.sustained_per_s
            ),
            "look at the lateness before anything else; give it more threads (--threads) or machines (--share)",
        ));
    }
    all
}

/// Doubts about the file itself, and about who answered.
pub(crate) fn of_source(ask: &Ask, recording: &Recording) -> Vec<Warning> {
    let mut all: Vec<Warning> = recording
        .notes
        .iter()
        .map(|note| warning(note.clone(), "judge what is there with that in mind, or record the run again"))
        .collect();
    if recording.unreadable > 0 {
        let first = recording.complaints.first().map_or_else(String::new, |first| format!(", the first: {first}"));
        all.push(warning(
            format!("{} rows could not be read{first}", recording.unreadable),
            "look at those rows: launches that are missing make gaps that never were",
        ));
    }
    if ask.insecure {
        all.push(warning(
            "insecure: any certificate was taken, so nothing proves that the answers are the target's",
            "give the root that signed its certificate (target.tls.roots) and run without insecure",
        ));
    }
    all
}

/// Doubts about the launches.
pub(crate) fn of_launches(ask: &Ask, stream: &Stream, look: &Look, sessions_known: bool) -> Vec<Warning> {
    let n = stream.gaps.len();
    let mut all = Vec::new();
    let needed = (1.96 / ask.pattern_tolerance).powi(2).ceil();
    if !stream.is_long_enough() {
        all.push(warning(
            look.because.clone(),
            format!(
                "it takes {} launches, over as many ticks, to tell a pattern; {needed} tell the CoV to {:.2}",
                FEWEST_GAPS + 1,
                ask.pattern_tolerance
            ),
        ));
    } else if (n as f64) < needed {
        all.push(warning(
            format!("{n} gaps tell the CoV only to {:.2}: smaller deviations go unseen", 1.96 / (n as f64).sqrt()),
            format!("run until {needed} launches are made to tell it to {:.2}", ask.pattern_tolerance),
        ));
    }
    if stream.is_long_enough() && stream.tick > COARSE * stream.mean_gap() && stream.tick > 1.0 {
        all.push(warning(
            format!(
                "stamps are whole ticks of {} and the mean gap is {}: bunching inside a tick cannot be seen",
                span(stream.tick),
                span(stream.mean_gap())
            ),
            "have the tool write finer stamps",
        ));
    }
    if ask.by_threads && !sessions_known {
        all.push(warning(
            "the file does not say which thread launched what, so there is no CoV against the number of threads",
            "have the tool write the thread (JMeter: threadName)",
        ));
    }
    all
}

/// The remedy for each pattern that is not Poisson.
pub(crate) fn of_pattern(look: &Look) -> Option<Warning> {
    let remedy = match look.pattern {
        Pattern::Poisson | Pattern::FixedCountPoisson | Pattern::TooFew | Pattern::AppendedRuns => return None,
        Pattern::Clockwork => {
            "queues meet no chance at all and responses come out too short; ask the tool for exponential gaps"
        }
        Pattern::Bunched if look.bunches.is_some_and(|found| found.spacing_cov < 0.5) => {
            "the workers share a ticker; give each a random schedule of its own, or use one global open schedule"
        }
        Pattern::Bunched => {
            "requests are launched together (pages with parallel objects, retries, shared wake-ups); launch them singly, or \
             say that batches are meant"
        }
        Pattern::TooEven => {
            "more users who think longer, N/Z unchanged (Principle A), and exponential think times; or open arrivals"
        }
        Pattern::OverDispersed => {
            "judge only the steady part (--skip-first, --skip-last); if it stays, the generator stalls and catches up, or \
             its users queue behind long responses: more users who think longer, N/Z unchanged (Principle A)"
        }
    };
    Some(warning(look.because.clone(), remedy))
}

/// Doubts about the queue: users who wait rather than think.
pub(crate) fn of_queue(ask: &Ask, queue: &Queue) -> Vec<Warning> {
    let mut all = Vec::new();
    if let Some(rort) = queue.rort.filter(|&rort| rort > HIGH_RORT) {
        all.push(warning(
            format!(
                "users spend {:.0} % of their time waiting for answers (RoRT {rort:.2}): their launches follow the server, \
                 single threads line up behind long responses",
                100.0 * rort
            ),
            "more users who think longer, with N/Z unchanged: RoRT falls and launches become independent (Principle A)",
        ));
    }
    let asked = match &ask.meant {
        Meant::Closed { users, .. } => Some(*users),
        _ => queue.users_seen,
    };
    if let (Some(asked), Some(users)) = (asked, queue.users)
        && (users / asked as f64 - 1.0).abs() > 0.1
        && !ask.meant.is_of_sessions()
    {
        all.push(warning(
            format!("Little's law makes {users:.1} users of lambda (R + Z), but {asked} were seen"),
            "leave out ramp-up and ramp-down (--skip-first, --skip-last); if it stays, the users do not all work all the time",
        ));
    }
    all
}

/// Doubts about a run too short to show that its users come back: their evenness is in windows of several cycles.
pub(crate) fn of_length(ask: &Ask, queue: &Queue, ladder: &[Dispersion]) -> Option<Warning> {
    let (rtt, longest) = (queue.rtt_ms? * 1e6, ladder.last()?.window as f64);
    (longest < CYCLES * rtt && matches!(ask.meant, Meant::Poisson | Meant::FixedCount)).then(|| {
        warning(
            format!(
                "the users come back every {} and the run is long enough only for windows of {}: that they are always the \
                 same, and so too even, would hardly show",
                span(rtt),
                span(longest)
            ),
            format!("run for at least {}", span(windows::FEWEST as f64 * CYCLES * rtt)),
        )
    })
}

/// What a generator that stood still did.
pub(crate) fn stood_still(stalls: &Stalls) -> String {
    let Stalls { count, launches, longest_ms } = stalls;
    format!(
        "the machine stalled the generator: {launches} launches in {count} stalls of up to {}",
        span(longest_ms * 1e6)
    )
}

/// Doubts about a generator that stood still.
pub(crate) fn of_stalls(stalls: Stalls) -> Warning {
    warning(
        stood_still(&stalls),
        "give it cores that nothing else uses (a machine of its own, fewer threads than cores, no throttled container), and \
         run again; the load is not the reason",
    )
}

/// Doubts about the generator's punctuality; that it `stalled` is a doubt of its own.
pub(crate) fn of_lateness(ask: &Ask, lateness: &Lateness, stalled: bool) -> Vec<Warning> {
    let mut all = Vec::new();
    if lateness.p99_us > ask.late_tolerance.as_micros_f64() && !stalled {
        all.push(warning(
            format!("one launch in a hundred was more than {} late", span(lateness.p99_us * 1e3)),
            "the generator is saturated: lower the rate, add threads, or share the load among machines",
        ));
    }
    if lateness.unsent > 0 {
        all.push(warning(
            format!("{} launches of {} were never sent", lateness.unsent, lateness.unsent + lateness.n),
            "raise the limits on connections and requests in flight, or lower the rate: unsent load was not offered",
        ));
    }
    all
}
