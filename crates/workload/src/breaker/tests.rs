use super::*;
use offered_base::Seed;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn breaker(keys: &str) -> Breaker {
    let text = format!(
        "duration = \"10s\"\narrivals.open.rate = \"1/s\"\ntarget = {{ url = \"http://h/\", circuit_breaker = {{ {keys} }} }}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(workload.seed(), Seed(1));
    Breaker::new(workload.circuit_breakers().unwrap().policies()[0].clone())
}

/// Sends an attempt at each of these times, which ends at once. Returns how each one ended: not sent (`-`), ok (`+`) or failed (`x`).
fn attempts(breaker: &mut Breaker, times: impl IntoIterator<Item = u64>, fails: impl Fn(u64) -> bool) -> String {
    let attempt = |at: u64| match breaker.permit(ms(at)) {
        None => '-',
        Some(changes) => {
            breaker.record(changes, ms(at), Some(fails(at)));
            if fails(at) { 'x' } else { '+' }
        }
    };
    times.into_iter().map(attempt).collect()
}

#[test]
fn it_opens_at_its_failure_rate_and_closes_after_good_trials() {
    let mut breaker =
        breaker("failure_rate = 0.5, window = \"1s\", minimum_calls = 4, open = \"1s\", half_open_calls = 2");
    // Three calls are too few; the fourth opens it.
    assert_eq!(attempts(&mut breaker, [0, 10, 20, 30, 40, 1029], |at| at % 20 == 0 || at == 30), "x+xx--");
    // Two trials fail: it opens again. Then two trials succeed: it closes.
    assert_eq!(attempts(&mut breaker, [1030, 1040, 1050, 2039], |_| true), "xx--");
    assert_eq!(attempts(&mut breaker, [2040, 2050, 2060, 2070], |_| false), "++++");
    // The window begins anew.
    assert_eq!(attempts(&mut breaker, [2080, 2090, 2100], |_| true), "xx-");
}

#[test]
fn attempts_leave_the_window() {
    let mut breaker = breaker("window = \"1s\", minimum_calls = 3");
    // Never three within a second.
    let slow: Vec<u64> = (0..20).map(|n| n * 501).collect();
    assert_eq!(attempts(&mut breaker, slow, |_| true), "x".repeat(20));
    assert_eq!(attempts(&mut breaker, [9600, 9700], |_| true), "x-");
}

#[test]
fn only_trials_decide_while_it_is_half_open() {
    let mut breaker = breaker("minimum_calls = 1, open = \"1s\"");
    let (early, late) = (breaker.permit(ms(0)).unwrap(), breaker.permit(ms(0)).unwrap());
    breaker.record(early, ms(100), Some(true));
    assert_eq!(breaker.permit(ms(1099)), None);
    let trial = breaker.permit(ms(1100)).unwrap();
    assert_eq!(breaker.permit(ms(1101)), None, "one trial at a time");
    // An attempt from before the breaker opened says nothing about the server now.
    breaker.record(late, ms(1102), Some(true));
    breaker.record(trial, ms(1103), None);
    let trial = breaker.permit(ms(1104)).expect("the trial had no result");
    breaker.record(trial, ms(1105), Some(false));
    assert!((0..3).all(|n| breaker.permit(ms(1106 + n)).is_some()));
}

#[test]
fn breakers_are_read_written_and_shared() {
    let head = "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n";
    let parse = |text: &str| Workload::parse(text, "w.toml", &|_| Err(String::new()));
    let text = format!(
        "{head}target = {{ url = \"http://h/\", circuit_breaker = {{}} }}\n[[request]]\nget = \"/a\"\n[[request]]\nget = \"/b\"\n\
         [[request]]\nget = \"/c\"\ncircuit_breaker = false\n[[request]]\nget = \"/d\"\ncircuit_breaker = {{ failure_rate = 0.2, window = \"2s\", \
         minimum_calls = 9, open = \"3s\", half_open_calls = 4, on = [\"timeout\", \"5xx\"] }}\n"
    );
    let workload = parse(&text).unwrap();
    let written = workload.to_string();
    assert_eq!(parse(&written).unwrap(), workload, "{written}");
    let breakers = workload.circuit_breakers().unwrap();
    let numbers: Vec<Option<usize>> = (0..4).map(|label| Some(breakers.of(label)?.0)).collect();
    assert_eq!(numbers, [Some(0), Some(0), None, Some(1)]);
    let own = breakers.of(3).unwrap().1;
    assert_eq!((own.failure_rate, own.minimum_calls, own.half_open_calls), (0.2, 9, 4));
    assert_eq!(breakers.of(0).unwrap().1.on, Failure::DEFAULT);
    for (keys, part) in [
        ("failure_rate = 0", "failure_rate must be above 0"),
        ("failure_rate = 1.5", "failure_rate must be above 0 and at most 1"),
        ("open = \"0s\"", "must be longer than 0s"),
        ("window = \"1us\"", "window must be at least 1ms"),
        ("minimum_calls = 0", "minimum_calls"),
        ("on = []", "`on` is empty"),
        ("on = [\"breaker_open\"]", "`breaker_open` is not one of"),
        ("half_open_call = 1", "did you mean `half_open_calls`"),
    ] {
        let mistake = parse(&format!("{head}target = {{ url = \"http://h/\", circuit_breaker = {{ {keys} }} }}\n"));
        let mistake = mistake.unwrap_err().to_string();
        assert!(mistake.contains(part), "{keys}: {mistake}");
    }
}
