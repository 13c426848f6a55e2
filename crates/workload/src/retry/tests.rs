use super::*;
use crate::Workload;

fn workload(text: &str) -> Workload {
    let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n{text}");
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    let written = workload.to_string();
    assert_eq!(Workload::parse(&written, "w.toml", &|_| Err(String::new())).as_ref(), Ok(&workload), "{written}");
    workload
}

fn mistake(text: &str) -> String {
    let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n{text}");
    Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_err().to_string()
}

#[test]
fn every_key_of_a_policy_is_read_and_written() {
    let text = "[[request]]\nget = \"/\"\ntimeout = \"250ms\"\nredirects = 3\npatience = { exponential = \"2s\" }\n\
        retry = { times = 3, on = [\"timeout\", \"reset\", 429, \"5xx\", \"500..504\"], \
        wait = { initial = \"50ms\", max = \"2s\", multiplier = 3, jitter = \"none\" }, \
        budget = { share = 0.1, burst = 20 } }\n";
    let attempts = workload(text).requests()[0].attempts().clone();
    assert_eq!((attempts.timeout, attempts.redirects), (Some(Nanos::from_millis(250)), Some(3)));
    assert_eq!(attempts.patience, Some(Distribution::exponential(2.0).unwrap()));
    let on = [
        Failure::Outcome(Outcome::Timeout),
        Failure::Outcome(Outcome::Reset),
        Failure::Status(429, 429),
        Failure::Status(500, 599),
        Failure::Status(500, 504),
    ];
    let (initial, max) = (Nanos::from_millis(50), Nanos::from_secs(2));
    let wait = Backoff::Exponential { initial, max, multiplier: 3.0, jitter: false };
    let budget = Some(Budget { share: 0.1, burst: 20.0 });
    assert_eq!(attempts.retry, Some(Retry { times: 3, on: on.to_vec(), wait, budget }));
}

#[test]
fn a_request_overrides_the_policy_of_the_target() {
    let text = "[target]\nurl = \"http://h/\"\nretry = { times = 2, wait = \"10ms\", budget = 0.2 }\n\
        patience = { constant = \"3s\" }\n\
        [[request]]\nget = \"/a\"\n[[request]]\nget = \"/b\"\nretry = false\n\
        [[request]]\nget = \"/c\"\nretry = { times = 5 }\npatience = { constant = \"1s\" }\n[[request]]\nget = \"/d\"\n";
    let workload = workload(text);
    let policies = workload.retry_policies().unwrap();
    let times = |label| policies.of(label).map(|(number, retry)| (number, retry.times));
    assert_eq!([0, 1, 2, 3].map(times), [Some((0, 2)), None, Some((1, 5)), Some((0, 2))]);
    let (_, shared) = policies.of(0).unwrap();
    assert_eq!(shared.wait, Backoff::Constant(Nanos::from_millis(10)));
    assert_eq!(shared.budget, Some(Budget { share: 0.2, burst: Budget::BURST }));
    let limits = workload.time_limits().unwrap();
    assert_eq!([0, 2].map(|label| limits.patience(label, 7, 0)), [3, 1].map(|s| Some(Nanos::from_secs(s))));
    assert_eq!(self::workload("target.url = \"http://h/\"").retry_policies(), None);
    assert_eq!(self::workload("target.url = \"http://h/\"").time_limits(), None);
}

#[test]
fn mistakes_say_what_to_write() {
    let retry = |keys: &str| mistake(&format!("[[request]]\nget = \"/\"\nretry = {keys}\n"));
    for (keys, expected) in [
        ("{ wait = \"1s\" }", "`times` is missing"),
        ("true", "write { times = 3 }, or false"),
        ("{ times = 0 }", "must be at least 1"),
        ("{ times = 1, on = [\"timeouts\"] }", "did you mean `timeout`"),
        ("{ times = 1, on = [] }", "`on` is empty"),
        ("{ times = 1, wait = { initial = \"2s\", max = \"1s\" } }", "max must not be below initial"),
        ("{ times = 1, wait = { initial = \"2s\", multiplier = 0.5 } }", "multiplier must be at least 1"),
        ("{ times = 1, budget = -1 }", "a budget must be zero or more"),
        ("{ times = 1, budget = { share = 1, burst = 0 } }", "burst must be at least 1"),
    ] {
        let found = retry(keys);
        assert!(found.contains(expected), "{keys}: {found}");
    }
}

#[test]
fn default_failures_are_the_short_ones() {
    let retry = Retry::times(1);
    for (outcome, status, again) in [
        (Outcome::Ok, 200, false),
        (Outcome::HttpError, 404, false),
        (Outcome::HttpError, 429, true),
        (Outcome::HttpError, 503, true),
        (Outcome::HttpError, 501, false),
        // A check that accepts it.
        (Outcome::Ok, 503, false),
        (Outcome::Timeout, 0, true),
        (Outcome::Refused, 0, true),
        (Outcome::Unsent, 0, false),
        (Outcome::Cut, 0, false),
    ] {
        assert_eq!(retry.follows(outcome, status), again, "{outcome} {status}");
    }
}

#[test]
fn full_jitter_is_uniform_below_a_bound_that_grows() {
    let ms = |n| Nanos::from_millis(n);
    let plain = Backoff::Exponential { initial: ms(100), max: ms(350), multiplier: 2.0, jitter: false };
    assert_eq!([1, 2, 3, 4].map(|n| plain.wait(n, Seed(1), 0, 0)), [ms(100), ms(200), ms(350), ms(350)]);
    let full = Backoff::Exponential { initial: ms(100), max: ms(350), multiplier: 2.0, jitter: true };
    for (n, bound) in [(1, 0.1), (2, 0.2), (3, 0.35)] {
        let waits = (0..20_000).map(|session| full.wait(n, Seed(1), session, 0).as_secs_f64());
        let (sum, largest) = waits.fold((0.0, 0f64), |(sum, most), wait| (sum + wait, most.max(wait)));
        assert!((sum / 20_000.0 / bound - 0.5).abs() < 0.01 && largest <= bound && largest > 0.99 * bound, "{n}");
    }
    assert_eq!(full.wait(2, Seed(1), 3, 4), full.wait(2, Seed(1), 3, 4));
    assert_ne!(full.wait(1, Seed(1), 3, 4).0 * 2, full.wait(2, Seed(1), 3, 4).0, "each retry has its own number");
}

#[test]
fn a_budget_bounds_the_share_of_retries() {
    let mut bucket = TokenBucket::new(Budget { share: 0.1, burst: 10.0 }, 1);
    let granted = |bucket: &mut TokenBucket, n: u32| {
        (0..n)
            .filter(|_| {
                bucket.deposit();
                bucket.withdraw()
            })
            .count()
    };
    // The burst first, then one in ten.
    assert_eq!(granted(&mut bucket, 1000), 10 + 99);
    assert_eq!(granted(&mut bucket, 1000), 100);
    let mut part = TokenBucket::new(Budget { share: 0.1, burst: 10.0 }, 16);
    assert_eq!(granted(&mut part, 1000), 1 + 99, "each part has at least one token");
}
