use super::*;
use crate::Workload;
use offered_base::Share;
use offered_schedule::Launch;

const TRACE: &str = "offered.trace/1\n# two sessions\nGET /a\nGET /b\n0 0 0\n10 1 1\n10 0 1\n12.5 0 0\n\n20 1 0\n";

/// Forty requests in each of three seconds, of two clients.
static SECONDS: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
    let entries = (0..120).map(|i| format!("{} {} 0\n", i / 40, i % 2)).collect::<String>();
    format!("offered.trace/1\nGET /a\n{entries}")
});

fn workload(replay: &str) -> Result<Workload, crate::Mistake> {
    let text = format!("duration = \"1h\"\n[arrivals]\nreplay = {{ {replay} }}\n");
    Workload::parse(&text, "w.toml", &|name| match name {
        "day.trace" => Ok(TRACE.as_bytes().to_vec()),
        "seconds.trace" => Ok(SECONDS.clone().into_bytes()),
        "worked.trace" => {
            Ok("offered.trace/1\nGET /a\nGET /b\nGET /never\n0 0 0 10ms\n10 1 1 30ms\n10 0 1 50ms\n12.5 0 0 10ms\n"
                .into())
        }
        "bad.trace" => Ok("offered.trace/1\nGET /a\n0 0 1\n".into()),
        _ => Err("no such file".to_owned()),
    })
}

/// Every scheduled request in order: milliseconds, session, step and path, if responses take one second.
fn play(workload: &Workload, share: Share) -> Vec<(u64, u64, u32, String)> {
    let (mut agenda, mix) = (workload.agenda(share), workload.mix());
    let mut under_way: Vec<(Instant, Launch)> = Vec::new();
    let mut played = Vec::new();
    loop {
        under_way.sort_unstable();
        let done = under_way.first().map(|(done, _)| *done);
        match (agenda.next_due(), done) {
            (Some(due), done) if done.is_none_or(|done| due < done) => {
                let launch = agenda.due(due).unwrap();
                let request = &workload.requests()[usize::from(mix.choose(launch))];
                played.push((launch.intended.0 / 1_000_000, launch.session, launch.step, request.path().to_string()));
                under_way.push((due + Nanos::from_secs(1), launch));
            }
            (_, Some(done)) => {
                let (_, launch) = under_way.remove(0);
                agenda.completed(launch, done);
            }
            _ => return played,
        }
    }
}

fn steps(list: &[(u64, u64, u32, &str)]) -> Vec<(u64, u64, u32, String)> {
    list.iter().map(|(at, session, step, path)| (*at, *session, *step, (*path).to_owned())).collect()
}

#[test]
fn an_open_replay_has_every_instant() {
    let workload = workload("trace = \"day.trace\", speed = 2.0").unwrap();
    let expected =
        steps(&[(0, 0, 0, "/a"), (5000, 1, 0, "/b"), (5000, 2, 0, "/b"), (6250, 3, 0, "/a"), (10_000, 4, 0, "/a")]);
    assert_eq!(play(&workload, Share::ALL), expected);
    assert_eq!(workload.labels(), ["GET /a", "GET /b"]);
    assert!((workload.scheduled_rate().unwrap() - 5.0 / 3600.0).abs() < 1e-12);
}

#[test]
fn a_replay_of_sessions_has_their_starts_and_think_times() {
    let workload = workload("trace = \"day.trace\", as = \"sessions\"").unwrap();
    let expected = steps(&[
        (0, 0, 0, "/a"),
        (10_000, 1, 0, "/b"),
        (11_000, 0, 1, "/b"),
        (14_500, 0, 2, "/a"),
        (21_000, 1, 1, "/a"),
    ]);
    assert_eq!(play(&workload, Share::ALL), expected);
    let halves = (0..2).flat_map(|k| play(&workload, Share::new(k, 2).unwrap()));
    let mut halves: Vec<_> = halves.collect();
    halves.sort_unstable();
    assert_eq!(halves, expected);
}

#[test]
fn sessions_can_think_by_a_law() {
    let workload = workload("trace = \"day.trace\", as = \"sessions\", think = { constant = \"2s\" }").unwrap();
    let instants: Vec<u64> = play(&workload, Share::ALL).into_iter().map(|launch| launch.0).collect();
    assert_eq!(instants, [0, 3000, 6000, 10_000, 13_000]);
}

#[test]
fn a_closed_replay_has_the_sequence_only() {
    let workload = workload("trace = \"day.trace\", as = \"closed\", users = 2, start = \"at-once\"").unwrap();
    let paths: Vec<_> = play(&workload, Share::ALL);
    let expected =
        steps(&[(0, 0, 0, "/a"), (0, 1, 0, "/b"), (1000, 0, 1, "/b"), (1000, 1, 1, "/a"), (2000, 0, 2, "/a")]);
    assert_eq!(paths, expected);
    assert_eq!(workload.scheduled_rate(), None);
}

#[test]
fn requests_of_one_second_are_spread_over_it_by_default() {
    let instants = |replay: &str| -> Vec<u64> {
        play(&workload(replay).unwrap(), Share::ALL).into_iter().map(|launch| launch.0).collect()
    };
    let spread = instants("trace = \"seconds.trace\"");
    assert!(spread.is_sorted() && spread.len() == 120);
    for (second, launches) in spread.chunks(40).enumerate() {
        let inside = launches.iter().filter(|at| (1000 * second..1000 * (second + 1)).contains(&(**at as usize)));
        assert_eq!(inside.count(), 40, "each stays in its second");
        let mean = launches.iter().sum::<u64>() as f64 / 40.0 - 1000.0 * second as f64;
        // The mean of 40 uniform instants has a standard deviation of 46 ms.
        assert!((mean - 500.0).abs() < 200.0, "{mean}");
    }
    assert_eq!(spread, instants("trace = \"seconds.trace\", timestamps = \"spread\""), "the seed decides");
    let kept = instants("trace = \"seconds.trace\", timestamps = \"as-recorded\"");
    assert_eq!((kept[0], kept[39], kept[40], kept[119]), (0, 0, 1000, 2000));
    // Timestamps in milliseconds are not changed.
    assert_eq!(instants("trace = \"day.trace\"")[3], 12_500);
}

#[test]
fn invalid_traces_are_errors_with_their_line() {
    for (replay, part) in [
        ("trace = \"day.trace\", timestamps = \"spread\"", "are not from a coarse clock"),
        ("trace = \"seconds.trace\", timestamps = \"sperad\"", "did you mean `spread`"),
        ("trace = \"none.trace\"", "cannot read `none.trace`"),
        ("trace = \"bad.trace\"", "bad.trace:3: request 1 is not defined before this entry"),
        ("trace = \"day.trace\", speed = 0", "above zero"),
        ("trace = \"day.trace\", as = \"opne\"", "did you mean `open`"),
        ("trace = \"day.trace\", as = \"closed\"", "`users` is missing"),
        ("trace = \"day.trace\", users = 3", "needs as = \"closed\""),
        ("trace = \"day.trace\", think = { constant = \"1s\" }", "an open replay has no think times"),
        ("speed = 2.0", "`trace` is missing"),
    ] {
        let why = workload(replay).unwrap_err().to_string();
        assert!(why.contains(part), "{replay}: {why}");
    }
    let both = "duration = \"1h\"\narrivals.replay.trace = \"day.trace\"\n[[request]]\nget = \"/\"";
    let why = Workload::parse(both, "w.toml", &|_| Ok(TRACE.as_bytes().to_vec())).unwrap_err().to_string();
    assert!(why.contains("a replay takes its requests from the trace"), "{why}");
    for (text, part) in [
        ("", "not a trace"),
        ("offered.trace/1", "no entries"),
        ("offered.trace/1\nGET /a\n5 0 0\n4 0 0", "t:4: 4 s is before"),
        ("offered.trace/1\nGET /a\n5 1 0", "number sessions in the order in which they begin"),
        ("offered.trace/1\nGET a b", "is not a request"),
        ("offered.trace/1\nGET /a\n5 0", "is not an entry"),
        ("offered.trace/1\nGET /a\n5e3 0 0", "is not an entry"),
    ] {
        let why = Trace::parse(text, "t").unwrap_err().to_string();
        assert!(why.contains(part), "{text}: {why}");
    }
}

#[test]
fn entries_may_bring_their_work() {
    for (replay, first) in [("", [0, 1, 2, 3]), (", as = \"closed\", users = 2", [0, 1, 2, 3])] {
        let workload = workload(&format!("trace = \"worked.trace\"{replay}")).unwrap();
        let (works, mix) = (workload.works(), workload.mix());
        let brought = first.map(|entry: u64| {
            let (session, step) = if replay.is_empty() { (entry, 0) } else { (entry % 2, (entry / 2) as u32) };
            let launch =
                Launch { intended: Instant::ZERO, session, step, place: 0, visit: offered_schedule::Visit::FIRST };
            works.of(session, step, mix.choose(launch)).unwrap().0 / 1_000_000
        });
        assert_eq!(brought, [10, 30, 50, 10]);
        // Two entries with equal work make a constant; a request without entries has no distribution.
        assert_eq!(works.distribution(0), Some(&Distribution::constant(0.01).unwrap()));
        assert_eq!(works.distribution(1).map(Distribution::mean), Some(0.04));
        assert_eq!(workload.shares(), [0.5, 0.5, 0.0]);
        assert!(workload.has_own_work());
    }
    let sessions = workload("trace = \"worked.trace\", as = \"sessions\"").unwrap();
    assert_eq!(sessions.works().of(0, 1, 1), Some(Nanos::from_millis(50)));
    for (entries, why) in [
        ("0 0 0 10ms\n1 0 0\n", "t:4: this entry has no work field, but earlier entries have one"),
        ("0 0 0\n1 0 0 10ms\n", "t:4: this entry has a work field, but earlier entries have none"),
        ("0 0 0 10\n", "t:3: `10` is not a duration"),
        ("0 0 0 10ms 3\n", "t:3: `0 0 0 10ms 3` is not an entry"),
    ] {
        let found = Trace::parse(&format!("offered.trace/1\nGET /a\n{entries}"), "t").unwrap_err().to_string();
        assert!(found.starts_with(why), "{found}");
    }
}
