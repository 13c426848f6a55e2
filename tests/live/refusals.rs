//! Failing system calls: the n-th call of each kind fails, as in curl's torture tests, and the counts stay consistent.
//!
//! strace injects the failures. It counts the calls of each thread separately, so a run may have several failures.
//! Whatever fails, the program exits by itself with a message, never by a panic or a signal; its result is consistent
//! with itself and with its recording; and no request that the server completed is attributed to another.

use std::collections::HashSet;
use std::path::Path;
use std::process::Command;

use offered_events::Outcome;
use offered_store::{ReadOptions, RunRecord, read};

use crate::harness::{Tested, needs};
use crate::process::{Process, Serve, offered};
use crate::run::seen;

tests![counts_agree_after_every_failing_system_call];

/// A system call, its error, and the numbers of the calls per thread that fail.
type Refusal = (&'static str, &'static str, &'static [u32]);

/// Calls of a short recorded run from its first directory on; earlier ones belong to the loader. Ranges that start
/// above 1 skip the calls before `main`.
const REFUSALS: [Refusal; 13] = [
    ("mkdir", "ENOSPC", &[1, 2, 3]),
    ("write", "ENOSPC", &[1, 2, 3, 4, 5, 6, 8, 13, 21]),
    ("openat", "EMFILE", &[13, 18, 21, 24, 27, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42]),
    ("fsync", "EIO", &[1, 2, 3, 4, 5, 6]),
    ("rename", "EIO", &[1, 2, 3, 4]),
    ("read", "EIO", &[13, 21, 34, 40, 50]),
    ("socket", "EMFILE", &[1, 2]),
    ("connect", "ENETUNREACH", &[1, 2, 3]),
    ("sendto", "ENOBUFS", &[1, 2, 5, 13]),
    ("recvfrom", "ECONNRESET", &[3, 5, 13]),
    ("epoll_ctl", "ENOMEM", &[1, 2, 3]),
    ("epoll_pwait2", "EINTR", &[1, 2, 5, 13]),
    ("clone3", "EAGAIN", &[1, 2, 3, 4, 5]),
];

fn counts_agree_after_every_failing_system_call() -> Tested {
    // strace also needs permission to trace.
    let traces = Command::new("strace").args(["-f", "--seccomp-bpf", "-o", "/dev/null", "true"]).output();
    needs("strace", traces.is_ok_and(|traced| traced.status.success()))?;
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<_> =
        REFUSALS.iter().flat_map(|(call, error, nth)| nth.iter().map(move |n| (call, error, n))).collect();
    let found: Vec<Refused> = std::thread::scope(|scope| {
        // Each run mostly waits for its schedule.
        let parts = cases.chunks(cases.len().div_ceil(4)).map(|cases| {
            let refuse = |(call, error, n): &(&&str, &&str, &u32)| refuse(folder.path(), call, error, **n);
            scope.spawn(move || cases.iter().map(refuse).collect::<Vec<_>>())
        });
        parts.collect::<Vec<_>>().into_iter().flat_map(|part| part.join().unwrap()).collect()
    });
    let count = |what: fn(&Refused) -> bool| found.iter().filter(|refused| what(refused)).count();
    let refused = count(|refused| *refused != Refused::Nothing);
    assert!(refused > cases.len() * 2 / 3, "only {refused} of {} were refused anything", cases.len());
    assert!(count(|refused| *refused == Refused::Judging) > 0, "no case refused a call of the verification");
    Ok(())
}

/// Result of a run with injected failures.
#[derive(PartialEq)]
enum Refused {
    Nothing,
    /// Its verdict, after all requests were sent.
    Judging,
    /// Another end.
    Something,
}

/// Runs with the `n`-th `call` of each thread failing.
fn refuse(folder: &Path, call: &str, error: &str, n: u32) -> Refused {
    let case = format!("{call}-{error}-{n}");
    let (out, trace, record) =
        (folder.join(&case), folder.join(format!("{case}.trace")), folder.join(format!("{case}.csv")));
    let server = Serve::start("127.0.0.1:0", &record);
    let mut command = Command::new("strace");
    // With Cargo's variable the loader would search more directories.
    command.env_remove("LD_LIBRARY_PATH");
    command.args(["-f", "--seccomp-bpf", "-o"]).arg(&trace).arg("-e").arg(format!("trace={call}"));
    command.arg("-e").arg(format!("inject={call}:error={error}:when={n}")).arg(offered(&[]).get_program());
    command.args(["run", &server.url, "--open", "100/s", "-d", "400ms", "--threads", "1", "--wait-mode", "sleep"]);
    let ended = Process::start({
        command.args(["--json", "--output"]).arg(&out);
        command
    })
    .end();
    server.stop();
    let was_refused = std::fs::read_to_string(&trace).is_ok_and(|trace| trace.contains("(INJECTED)"));

    assert!(matches!(ended.code, Some(0..=4 | 99)), "{case}: {ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{case}: {ended:?}");
    let told: Option<serde_json::Value> = serde_json::from_str(&ended.stdout).ok();
    // If the message itself could not be written, there is no message.
    assert!(told.is_some() || ended.stderr.contains("error: ") || call == "write", "{case}: {ended:?}");
    let kept = read(&out, &ReadOptions::default()).ok();
    let events = kept.as_ref().map(|kept| kept.events.to_vec().unwrap()).unwrap_or_default();
    if let Some(told) = &told {
        let launched = told["total_requests"].as_u64().unwrap();
        let outcomes = told["outcomes"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum::<u64>();
        assert_eq!(launched, outcomes, "{case}");
        let is_whole = RunRecord::read(&out).ok().flatten().is_some();
        // Printing may fail as well, which gives exit code 1.
        assert!(is_whole || ended.code == Some(4) || call == "write", "{case}: {ended:?}");
        if is_whole {
            assert_eq!(events.len() as u64, launched, "{case}");
        }
        let served = seen(&record).len() as u64;
        let sent = launched - told["unsent"].as_u64().unwrap_or_default();
        assert!(served <= sent, "{case}: the server saw {served} of {sent}");
        assert!(told["outcomes"]["ok"].as_u64().unwrap_or_default() <= served, "{case}");
    }
    let launches: HashSet<_> = events.iter().map(|event| (event.session, event.step)).collect();
    assert_eq!(launches.len(), events.len(), "{case}: a launch is one event");
    assert!(events.iter().all(|event| event.sent.is_none() == (event.outcome == Outcome::Unsent)), "{case}");
    if ended.stderr.contains("the requests were sent, but the recording cannot be verified") {
        assert_eq!(ended.code, Some(1), "{case}: {ended:?}");
        let record: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(out.join("run.json")).unwrap()).unwrap();
        assert_eq!(record["summary"]["total_requests"].as_u64(), Some(events.len() as u64), "{case}");
        let judged = Process::start(offered(&["verify", out.to_str().unwrap()])).end();
        // A run under strace may be invalid because the generator was late.
        assert!(matches!(judged.code, Some(0 | 3)), "{case}: {judged:?}");
        return Refused::Judging;
    }
    if was_refused { Refused::Something } else { Refused::Nothing }
}
