//! What went well or wrong in a run, and what every command says about it: the same verdict, the right cause or none, the same exit code.
//!
//! The run directories are built from dry runs, so nothing waits. What is expected follows from the situation, not from outputs.

mod build;
mod edit;
mod screens;
mod workloads;

use std::path::Path;
use std::process::{Command, Output};

use build::{Ended, build};
use edit::{cut, fail, leave_out, pause, secs, send_at, slow_at_limit};
use offered_base::{Instant, Nanos};
use offered_events::recording::End;
use offered_events::{Event, Outcome, Reason};
use screens::{figures_add_up, flat, without_ages};
use serde_json::Value;
use workloads::*;

/// A run, and what is expected of every command.
pub(crate) struct Situation {
    name: &'static str,
    workload: &'static str,
    /// The workload in the run directory, if it is another one.
    recorded_workload: Option<&'static str>,
    /// The distribution of response times.
    response: &'static str,
    workers: u64,
    /// Changes the events of the worker with this number, from 0.
    edit: fn(u64, &mut Vec<Event>),
    /// How the worker with this number ended.
    ended: fn(u64) -> Ended,
    /// The busy share of each sending thread.
    busy: f64,
    /// How well the clocks of other workers than the first are known.
    clock_bound_ns: u64,
    /// The judgement of the validity.
    validity: &'static str,
    /// How the output begins.
    begins: &'static str,
    /// What the first lines say. Empty: the verdict names no cause.
    cause: &'static str,
    /// What no output says: other causes, and fixes for these.
    never: &'static [&'static str],
    exit: i32,
    /// Whether the run is over, so that `watch` ends.
    is_over: bool,
    /// Whether the run is the dry run itself, so that `run` can repeat it.
    is_dry_run: bool,
}

/// Causes and fixes that need evidence.
const ACCUSATIONS: [&str; 9] = [
    "stood still",
    "machine stopped",
    "saturated",
    "the limit of",
    "killed",
    "ticker",
    "longer think times",
    "was lost",
    "falls by",
];

/// The same, for users who really queue behind slow responses.
const WITHOUT_THINK_TIMES: &[&str] =
    &["stood still", "machine stopped", "saturated", "the limit of", "killed", "ticker"];

/// A run in which everything went well.
const WELL: Situation = Situation {
    name: "",
    workload: OPEN,
    recorded_workload: None,
    response: "exponential:5ms",
    workers: 1,
    edit: |_, _| (),
    ended: |_| Ended::Well,
    busy: 0.02,
    clock_bound_ns: 1000,
    validity: "valid",
    begins: "VALID ",
    cause: "",
    never: &ACCUSATIONS,
    exit: 0,
    is_over: true,
    is_dry_run: true,
};

/// A run of four workers in which everything went well.
const FOUR: Situation = Situation { workers: 4, is_dry_run: false, ..WELL };

/// A run with changed events or another end.
const CHANGED: Situation = Situation { is_dry_run: false, ..WELL };

/// An invalid run.
const INVALID: Situation = Situation { validity: "invalid", begins: "INVALID", exit: 3, ..CHANGED };

/// An invalid run of four workers.
const OF_FOUR: Situation = Situation { workers: 4, ..INVALID };

/// The response times of a quick server.
const QUICK: &str = "constant:2ms";

/// The third of four.
fn third(number: u64, ended: Ended) -> Ended {
    if number == 2 { ended } else { Ended::Well }
}

/// Runs of one worker that are not invalid.
const ONE_WORKER: &[Situation] = &[
    Situation { name: "open, all well", ..WELL },
    Situation { name: "constant arrivals", workload: CONSTANT, ..WELL },
    Situation { name: "bursty arrivals, as specified", workload: BURSTY, ..WELL },
    Situation { name: "a rate in steps", workload: STEPS, ..WELL },
    Situation { name: "a rate that changes at random", workload: MMPP, ..WELL },
    Situation { name: "closed users", workload: CLOSED, ..WELL },
    Situation {
        name: "closed users of a slow server",
        workload: CLOSED,
        response: "exponential:2s",
        validity: "valid_with_warnings",
        begins: "VALID, WITH WARNINGS",
        cause: "of their time waiting for responses",
        never: WITHOUT_THINK_TIMES,
        ..WELL
    },
    Situation {
        name: "closed users with pauses longer than the run",
        workload: PAUSES,
        response: "constant:1s",
        validity: "valid_with_warnings",
        begins: "VALID, WITH WARNINGS",
        cause: "think times of up to 500 s are longer than the run, so on average 24.4 of 25 users were before their first or after their last request",
        never: &[
            "stood still",
            "machine stopped",
            "saturated",
            "the limit of",
            "killed",
            "ticker",
            "waiting for responses",
        ],
        ..WELL
    },
    Situation { name: "partly-open", workload: PARTLY_OPEN, ..WELL },
    Situation { name: "a replayed trace", workload: REPLAY, is_dry_run: false, ..WELL },
    Situation { name: "a threshold that passes", workload: SLOW_LIMIT, cause: "PASSED", ..WELL },
    Situation {
        name: "a threshold that fails",
        workload: FAST_LIMIT,
        begins: "FAILED",
        cause: "response.p95",
        exit: 99,
        ..WELL
    },
    Situation {
        name: "ten requests",
        workload: TINY,
        validity: "not_checked",
        begins: "NOT CHECKED",
        cause: "requests are too few",
        ..WELL
    },
    Situation {
        name: "few requests of a slow application, some of them late",
        workload: FEW,
        response: "constant:2s",
        edit: |_, events| {
            for event in events.iter_mut().step_by(7) {
                let sent = event.intended + Nanos::from_millis(38);
                send_at(event, sent);
            }
        },
        validity: "valid_with_warnings",
        begins: "VALID, WITH WARNINGS",
        cause: "(5 % tolerated)",
        never: &["saturated", "the limit of", "killed"],
        ..CHANGED
    },
    Situation {
        name: "an overloaded server",
        edit: |_, events| {
            // It completes 200 requests a second.
            for (number, event) in events.iter_mut().enumerate() {
                event.done = Some(
                    event.intended.max(Instant::ZERO + Nanos::from_millis(5 * number as u64)) + Nanos::from_millis(5),
                );
                event.first_byte = event.done;
            }
        },
        begins: "OVERLOADED",
        cause: "backlog grows ",
        ..CHANGED
    },
    Situation {
        name: "every request is refused",
        edit: |_, events| fail(events, 1, Outcome::Refused, 0),
        begins: "FAILED",
        cause: "requests failed",
        exit: 99,
        ..CHANGED
    },
    Situation {
        name: "one request in ten fails",
        edit: |_, events| fail(events, 10, Outcome::HttpError, 503),
        begins: "FAILURES",
        cause: ": status 503",
        ..CHANGED
    },
    Situation {
        name: "stopped from outside",
        edit: |_, events| cut(events, 12),
        ended: |_| Ended::Stopped,
        cause: "STOPPED at 12.0 s of 20 s, from outside (Ctrl-C, a signal, or the live page)",
        ..CHANGED
    },
    Situation {
        name: "stopped by a threshold",
        workload: STOP_LIMIT,
        edit: |_, events| cut(events, 12),
        ended: |_| Ended::Halted(End::Threshold),
        begins: "STOPPED",
        cause: "at 12.0 s of 20 s: response.p95 < 10ms failed: 14.9 ms",
        exit: 99,
        ..CHANGED
    },
    Situation {
        name: "stopped by a failed request",
        edit: |_, events| {
            cut(events, 12);
            let last = events.iter_mut().max_by_key(|event| event.intended).unwrap();
            (last.outcome, last.status) = (Outcome::HttpError, 500);
        },
        ended: |_| Ended::Halted(End::RequestFailed),
        begins: "STOPPED",
        cause: "at 12.0 s of 20 s: request `/` failed: status 500",
        exit: 99,
        ..CHANGED
    },
    Situation {
        name: "a few requests not sent",
        // Four times the server does not respond, until as many requests are in flight as are allowed.
        edit: |_, events| {
            for second in [3, 7, 11, 15] {
                let end = secs(second) + Nanos::from_millis(190);
                let first = events.iter().position(|event| event.intended >= secs(second)).unwrap();
                for event in events.iter_mut().skip(first).take(50) {
                    event.done = event.done.max(Some(end));
                    event.first_byte = event.done;
                }
                leave_out(events, &Reason::InFlight(50), |number, at| number >= first + 50 && at < end);
            }
        },
        validity: "valid_with_warnings",
        begins: "VALID, WITH WARNINGS",
        cause: "the limit of requests in flight was reached (0.",
        never: &["stood still", "machine stopped", "saturated", "killed", "every request was sent"],
        ..CHANGED
    },
];

/// Invalid runs of one worker.
const INVALID_RUNS: &[Situation] = &[
    Situation {
        name: "killed after 7 s",
        edit: |_, events| cut(events, 7),
        ended: |_| Ended::Killed(7),
        cause: "the run was killed after 7.0 s of 20 s: ",
        never: &[
            "stood still",
            "machine stopped",
            "saturated",
            "the limit of",
            "ticker",
            "falls by",
            "use the figures",
        ],
        ..INVALID
    },
    Situation {
        name: "killed, with a threshold",
        workload: SLOW_LIMIT,
        edit: |_, events| cut(events, 7),
        ended: |_| Ended::Killed(7),
        cause: "(needs the whole run)",
        never: &["PASSED"],
        ..INVALID
    },
    Situation {
        name: "closed users, killed",
        workload: CLOSED,
        edit: |_, events| cut(events, 7),
        ended: |_| Ended::Killed(7),
        cause: "the run was killed after 7.0 s of 20 s: all later requests are missing",
        never: &["stood still", "machine stopped", "saturated"],
        ..INVALID
    },
    Situation {
        name: "a store that was gone, one worker",
        edit: |_, events| cut(events, 7),
        ended: |_| Ended::NotUploaded(7),
        cause: "the events of the run after 7.0 s of 20 s are not in the object store (the generator was killed, or its upload failed)",
        never: &["stood still", "machine stopped", "saturated", "the limit of", "not sent ("],
        ..INVALID
    },
    Situation {
        name: "frozen past the end",
        edit: |_, events| leave_out(events, &Reason::RunOver, |_, at| at >= secs(7)),
        cause: "the generator stood still from 7.0 s to 20.0 s: ",
        never: &["machine stopped", "saturated", "the limit of", "killed", "falls by", "STABLE", "FAILURES"],
        ..INVALID
    },
    Situation {
        name: "frozen for four seconds",
        edit: |_, events| {
            for event in events.iter_mut().filter(|event| (secs(5)..secs(9)).contains(&event.intended)) {
                send_at(event, secs(9));
            }
        },
        cause: "the machine stopped the generator for 4.0 s (at 5.0 s)",
        never: &["saturated", "the limit of", "killed", "ticker", "large bodies"],
        ..INVALID
    },
    Situation {
        name: "a busy machine, a quick server",
        response: QUICK,
        edit: |_, events| pause(events, Nanos::from_millis(500), Nanos::from_millis(40)),
        cause: "the machine stopped the generator 40 times, for up to ",
        never: &["saturated", "the limit of", "killed", "ticker", "large bodies"],
        ..INVALID
    },
    Situation {
        name: "a busy machine, a slow server",
        response: "exponential:800ms",
        // Little beside the pauses, which last 0.7 s together.
        busy: 0.005,
        edit: |_, events| pause(events, Nanos::from_millis(500), Nanos::from_millis(20)),
        validity: "valid_with_warnings",
        begins: "VALID, WITH WARNINGS",
        cause: "% (5 % tolerated) fix: no action needed",
        never: &["saturated", "the limit of", "killed", "ticker", "large bodies"],
        ..CHANGED
    },
    Situation {
        name: "checks of large bodies",
        response: QUICK,
        edit: |_, events| pause(events, Nanos::from_millis(100), Nanos::from_millis(40)),
        busy: 0.45,
        cause: "the generator stood still 200 times, for up to ",
        never: &["machine stopped", "is not the cause", "saturated", "ticker", "regular ticks", "killed"],
        ..INVALID
    },
    Situation {
        name: "a saturated thread",
        busy: 0.97,
        cause: "the generator was saturated: thread 0 was busy for 97 % of the run (limit 90 %)",
        never: &["stood still", "machine stopped", "the limit of", "killed"],
        ..INVALID
    },
    Situation {
        name: "as many in flight as allowed",
        edit: |_, events| slow_at_limit(events, &Reason::InFlight(50)),
        cause: "the limit of requests in flight was reached, because the mean response time rose from",
        never: &["stood still", "machine stopped", "saturated", "killed", " STABLE", "FAILURES"],
        ..INVALID
    },
    Situation {
        name: "as many connections as allowed",
        edit: |_, events| slow_at_limit(events, &Reason::Connections(50)),
        cause: "the limit of connections was reached, because the mean response time rose from",
        never: &["stood still", "machine stopped", "saturated", "killed"],
        ..INVALID
    },
    Situation {
        name: "late requests are skipped",
        edit: |_, events| leave_out(events, &Reason::Late(Nanos::from_millis(12)), |number, _| number % 20 == 0),
        cause: "they were late, and the workload skips late requests",
        never: &["stood still", "machine stopped", "saturated", "the limit of", "killed"],
        ..INVALID
    },
    Situation {
        name: "another rate than specified",
        recorded_workload: Some("seed = 3\nduration = \"20s\"\narrivals.open.rate = \"450/s\"\n"),
        cause: "this workload file is not the workload of the run; the sent rate was ",
        ..INVALID
    },
    Situation {
        name: "other arrivals than specified",
        recorded_workload: Some(CONSTANT),
        cause: "this workload file is not the workload of the run; constant gaps were specified, and the gaps of the run varied (CoV ",
        ..INVALID
    },
    Situation {
        name: "partly-open, frozen past the end",
        workload: PARTLY_OPEN,
        edit: |_, events| leave_out(events, &Reason::RunOver, |_, at| at >= secs(7)),
        cause: "the generator stood still from 7.0 s to ",
        never: &["machine stopped", "saturated", "the limit of", "killed"],
        ..INVALID
    },
];

/// Runs of four workers.
const FOUR_WORKERS: &[Situation] = &[
    Situation { name: "four workers, all well", ..FOUR },
    Situation { name: "four workers, closed users", workload: CLOSED, ..FOUR },
    Situation { name: "four workers, partly-open", workload: PARTLY_OPEN, ..FOUR },
    Situation { name: "four workers, a threshold on the whole rate", workload: RATE_LIMIT, cause: "PASSED", ..FOUR },
    Situation {
        name: "four workers, clocks known to 3 ms",
        clock_bound_ns: 3_000_000,
        validity: "valid_with_warnings",
        begins: "VALID, WITH WARNINGS",
        cause: "the clocks of the workers agree only to ",
        ..FOUR
    },
    Situation {
        name: "four workers, one killed",
        edit: |number, events| {
            if number == 2 {
                cut(events, 7);
            }
        },
        ended: |number| third(number, Ended::Killed(7)),
        cause: "worker 3/4 was killed after 7.0 s of 20 s: ",
        never: &[
            "stood still",
            "machine stopped",
            "saturated",
            "the limit of",
            "falls by",
            "longer think times",
            "% of the requests were not sent",
        ],
        ..OF_FOUR
    },
    Situation {
        name: "four workers, one frozen past the end",
        edit: |number, events| {
            if number == 2 {
                leave_out(events, &Reason::RunOver, |_, at| at >= secs(10));
            }
        },
        cause: "worker 3/4 on b3 stood still from 10.0 s to ",
        never: &["machine stopped", "saturated", "the limit of", "killed", "falls by"],
        ..OF_FOUR
    },
    Situation {
        name: "four workers, one frozen for four seconds",
        edit: |number, events| {
            if number == 2 {
                for event in events.iter_mut().filter(|event| (secs(5)..secs(9)).contains(&event.intended)) {
                    send_at(event, secs(9));
                }
            }
        },
        cause: "the machine stopped the generator for 4.0 s (worker 3/4 on b3, at 5.0 s)",
        never: &["saturated", "the limit of", "killed", "ticker"],
        ..OF_FOUR
    },
    Situation {
        name: "four workers, one absent",
        ended: |number| third(number, Ended::Absent),
        cause: "worker 3/4 recorded nothing: ",
        never: &["stood still", "machine stopped", "saturated", "the limit of", "killed"],
        // `watch` waits for it.
        is_over: false,
        ..OF_FOUR
    },
    Situation {
        name: "four workers, a store that was gone for one",
        edit: |number, events| {
            if number == 2 {
                cut(events, 7);
            }
        },
        ended: |number| third(number, Ended::NotUploaded(7)),
        cause: "the events of worker 3/4 after 7.0 s of 20 s are not in the object store (the generator was killed, or its upload failed)",
        never: &[
            "stood still",
            "machine stopped",
            "saturated",
            "the limit of",
            "was killed after",
            "was lost",
            "% of the requests were not sent",
        ],
        ..OF_FOUR
    },
    Situation {
        name: "four workers under way, one of them frozen",
        edit: |number, events| cut(events, if number == 2 { 3 } else { 13 }),
        ended: |number| Ended::Silent(if number == 2 { 3 } else { 14 }),
        begins: "NOT FINISHED  worker 3/4 is frozen or dead (no heartbeat for 1",
        cause: " s); workers 1/4, 2/4, 4/4 are still running after 14.0 s of 20 s",
        never: &[
            "stood still",
            "machine stopped",
            "saturated",
            "the limit of",
            "falls by",
            "rises by",
            "longer think times",
        ],
        is_over: false,
        ..OF_FOUR
    },
];

fn offered(folder: &Path, args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_offered")).args(args).current_dir(folder).output().unwrap();
    let Output { status, stdout, stderr } = output;
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(!stderr.starts_with("error"), "{args:?}: {stderr}");
    (stdout.into_owned(), status.code())
}

/// What is wrong with the outputs about a situation; empty if nothing is.
fn check(number: usize, situation: &Situation) -> Vec<String> {
    let Situation { name, validity, begins, cause, never, exit, .. } = *situation;
    let folder = tempfile::tempdir().unwrap();
    build(situation, &folder.path().join("run"));
    let run = |args: &[&str]| offered(folder.path(), args);
    let mut wrong = Vec::new();
    let mut expect = |holds: bool, what: &str, found: &str| {
        if !holds {
            wrong.push(format!("{name}: {what}\n{found}"));
        }
    };
    let (text, code) = run(&["verify", "run"]);
    let words = flat(&text);
    expect(code == Some(exit), &format!("verify exits with {code:?}, not {exit}"), &text);
    expect(text.starts_with(begins), &format!("verify does not begin with {begins}"), &text);
    expect(words.contains(cause), &format!("verify does not say `{cause}`"), &text);
    for accusation in never {
        expect(!words.contains(accusation), &format!("verify says `{accusation}`"), &text);
    }
    let (json, code) = run(&["verify", "run", "--json"]);
    let document: Value = serde_json::from_str(&json).unwrap();
    screens::write(number, situation, &text, &document);
    expect(figures_add_up(&words, &document), "the figures do not add up", &text);
    // The age of a heartbeat differs from command to command.
    let reason = without_ages(document["reason"].as_str().unwrap()).to_owned();
    expect(
        document["validity"] == validity && code == Some(exit),
        &format!("the document is not {validity}"),
        &json[..200],
    );

    let [judgement, in_short] = match validity {
        "valid" => ["valid", "valid run"],
        "valid_with_warnings" => ["valid, with warnings", "valid run, with warnings"],
        "invalid" => ["invalid", "invalid run"],
        _ => ["not checked", "validity not checked"],
    };
    let (markdown, _) = run(&["report", "run", "--format", "md"]);
    let shown = markdown.split("<details>").next().unwrap().to_lowercase();
    expect(shown.contains(in_short), &format!("Markdown does not say {in_short}"), &shown);
    expect((validity == "invalid") == shown.contains("invalid"), "Markdown says another validity", &shown);
    let (junit, _) = run(&["report", "run", "--format", "junit"]);
    expect(junit.contains("<failure") == (exit != 0), "JUnit fails otherwise than the exit code", &junit);
    if validity == "invalid" {
        expect(flat(&junit).contains(&reason), "JUnit has another reason", &junit);
    }
    run(&["report", "run", "-o", "page.html"]);
    let page = flat(&std::fs::read_to_string(folder.path().join("page.html")).unwrap());
    let says = page.to_lowercase().contains(judgement) || page.to_lowercase().contains(in_short);
    expect(says, &format!("the page does not say {judgement}"), name);
    expect(validity != "invalid" || page.contains(&reason), &format!("the page does not say: {reason}"), name);
    if situation.is_over {
        let (watched, code) = run(&["watch", "run", "--quiet"]);
        expect(code == Some(exit), &format!("watch exits with {code:?}, not {exit}"), &watched);
        let lines = flat(watched.split("\n\n").next().unwrap());
        expect(words.starts_with(&lines) && lines.len() > 5, "watch has other lines than verify", &watched);
    }
    if situation.is_dry_run {
        std::fs::write(folder.path().join("w.toml"), situation.workload).unwrap();
        let (text, code) = run(&["run", "w.toml", "--dry-run", situation.response]);
        expect(code == Some(exit), &format!("run exits with {code:?}, not {exit}"), &text);
        let lines = flat(text.split("\n\n").next().unwrap());
        expect(words.starts_with(&lines) && lines.len() > 5, "run has other lines than verify", &text);
    }
    wrong
}

#[test]
fn every_command_says_the_same_about_every_situation() {
    let all: Vec<(usize, &Situation)> =
        [ONE_WORKER, INVALID_RUNS, FOUR_WORKERS].into_iter().flatten().enumerate().collect();
    assert!(all.len() >= 40, "{}", all.len());
    let (one, other) = all.split_at(all.len() / 2);
    let check = |(number, situation): &(usize, &Situation)| check(*number, situation);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let halves = [one, other].map(|half| scope.spawn(move || half.iter().flat_map(check).collect::<Vec<_>>()));
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n\n"));
}
