//! Complete open, closed and partly-open systems against closed forms and solved Markov chains.
//!
//! Means of 10 ms correspond to the oracles' E[S] = 10. Every number must be within four thirds of its own 95 % interval
//! (another seed would fail with a probability of 1 %; the seeds are fixed), and the interval must be narrow.

use std::ops::ControlFlow;

use offered_base::{Instant, Nanos};
use offered_schedule::{After, Launch};
use offered_simulate::drive::SimulationObserver;
use offered_simulate::load::{DEFAULT_TOLERANCE, at_load};
use offered_simulate::{Job, SimulationResult, SimulationWarning, Stop, simulate};
use offered_stats::steady_state::Estimate;
use offered_workload::Workload;

fn workload(text: &str) -> Workload {
    Workload::parse(&format!("duration = \"1000s\"\n{text}"), "w.toml", &|_| Err(String::new())).unwrap()
}

fn server(discipline: &str, service: &str) -> String {
    format!("[server]\ndiscipline = \"{discipline}\"\nservice = {service}\n")
}

const H2: &str = "{ hyperexponential = { mean = \"10ms\", scv = 8 } }";
const EXPONENTIAL: &str = "{ exponential = \"10ms\" }";

fn run(text: &str, jobs: u64) -> SimulationResult {
    simulate(&workload(text), Stop::Jobs(jobs), None).unwrap()
}

/// Checks that the interval of `estimate` contains `truth` and that its relative half-width is at most `within`.
#[track_caller]
fn holds(name: &str, estimate: Estimate, truth: f64, within: f64) {
    let half = estimate.half_width() * 4.0 / 3.0;
    assert!((estimate.value - truth).abs() <= half, "{name}: {} +- {} against {truth}", estimate.value, half);
    assert!(half <= within * truth, "{name}: {} +- {half} is too coarse to tell", estimate.value);
}

#[test]
fn open_queue_agrees_with_pollaczek_khinchine() {
    let open = "arrivals.open = { rate = \"70/s\" }\n";
    for (service, truth) in [(EXPONENTIAL, 0.1 / 3.0), ("{ constant = \"10ms\" }", 0.01 + 0.07 / 6.0)] {
        let answer = run(&format!("{open}{}", server("fcfs", service)), 1_000_000);
        holds(service, answer.summary.response.mean, truth, 0.03);
        holds(service, answer.load_reached, 0.7, 0.01);
        holds(service, answer.summary.in_system, 70.0 * truth, 0.04);
        holds(service, answer.summary.throughput, 70.0, 0.01);
        assert!(answer.summary.littles_law_holds);
        // Under FCFS the mean slowdown of tiny requests does not exist; that is the only warning.
        let tiny = service == EXPONENTIAL;
        assert!(
            answer.warnings.iter().all(|warning| tiny && matches!(warning, SimulationWarning::SlowdownOutliers { .. })),
            "{:?}",
            answer.warnings
        );
        // M/M/1 has closed forms for the percentiles.
        if service == EXPONENTIAL {
            let spread = answer.summary.response;
            holds("p50", spread.p50.estimate(), truth * 2f64.ln(), 0.04);
            holds("p95", spread.p95.estimate(), truth * 20f64.ln(), 0.04);
            holds("p99", spread.p99.estimate(), truth * 100f64.ln(), 0.05);
        }
    }
}

#[test]
fn think_time_matters_to_fcfs_but_not_to_ps() {
    // Partly-open, load 0.6, p = 0.75. PS has product form: 25 at every think time. FCFS: exact Markov chains.
    let seed = "seed = 2\n";
    for (think, fcfs) in [("1ms", 38.138_764), ("100ms", 47.589_657), ("300ms", 56.802_403)] {
        let sessions = format!(
            "arrivals.partly_open = {{ rate = \"15/s\", stay = 0.75, think = {{ exponential = \"{think}\" }} }}\n"
        );
        let answer = run(&format!("{seed}{sessions}{}", server("ps", H2)), 600_000);
        holds("ps", answer.summary.response.mean, 0.025, 0.12);
        let answer = run(&format!("{seed}{sessions}{}", server("fcfs", H2)), 2_000_000);
        holds("fcfs", answer.summary.response.mean, fcfs / 1e3, 0.15);
    }
}

#[test]
fn machine_repair_agrees_with_mean_value_analysis() {
    // M/M/1/N/N with S = 50 ms, and M/M/4/200/200; exact values.
    let closed = |users: u32, think: &str, servers: u32, discipline: &str| {
        run(
            &format!(
                "arrivals.closed = {{ users = {users}, think = {{ exponential = \"{think}\" }} }}\n[server]\nservers = {servers}\ndiscipline = \"{discipline}\"\nservice = {{ exponential = \"50ms\" }}\n"
            ),
            500_000,
        )
    };
    for discipline in ["fcfs", "ps", "lcfs-preemptive"] {
        let answer = closed(100, "5s", 1, discipline);
        holds(discipline, answer.summary.throughput, 18.485_991, 0.01);
        holds(discipline, answer.summary.in_system, 7.570_045_3, 0.1);
        holds(discipline, answer.summary.littles_law_response, 7.570_045_3 / 18.485_991, 0.1);
    }
    holds("m = 4", closed(200, "2500ms", 4, "fcfs").summary.throughput, 75.213_09, 0.01);
    holds("p95", closed(100, "10s", 1, "fcfs").summary.response.p95.estimate(), 0.289_961_46, 0.05);
    holds("p99", closed(100, "10s", 1, "fcfs").summary.response.p99.estimate(), 0.442_732_81, 0.1);
}

#[test]
fn network_agrees_with_mean_value_analysis() {
    let answer = run(
        "arrivals.closed = { users = 200, think = { exponential = \"10s\" } }\n[[station]]\nname = \"a\"\nservice = { exponential = \"50ms\" }\n[[station]]\nname = \"b\"\nservice = { exponential = \"20ms\" }\nvisits = 2\n[[station]]\nname = \"c\"\ndiscipline = \"ps\"\nservice = { gamma = { mean = \"30ms\", scv = 3 } }\n",
        400_000,
    );
    holds("X", answer.summary.throughput, 18.640_896, 0.01);
    holds("Q", answer.summary.in_system, 13.591_042, 0.1);
    holds("load", answer.load_reached, 18.640_896 * 0.05, 0.01);
}

#[test]
fn fractional_visits_have_the_right_mean() {
    // At 40 requests per second station a is half busy with 1.25 visits of 10 ms, b with 0.5 visits of 25 ms.
    let answer = run(
        "arrivals.open = { rate = \"40/s\" }\n[[station]]\nname = \"a\"\nservice = { exponential = \"10ms\" }\nvisits = 1.25\n[[station]]\nname = \"b\"\nservice = { exponential = \"25ms\" }\nvisits = 0.5\n",
        400_000,
    );
    holds("load", answer.load_reached, 0.5, 0.02);
    // Product form (BCMP): whatever the route, each station holds as many requests as M/M/1 at load 0.5.
    holds("in system", answer.summary.in_system, 2.0, 0.1);
}

#[test]
fn skip_first_is_excluded_with_every_stop() {
    let text = format!("skip_first = \"50s\"\narrivals.open = {{ rate = \"50/s\" }}\n{}", server("fcfs", EXPONENTIAL));
    for stop in [Stop::Jobs(20_000), Stop::Precision(0.2)] {
        let last = std::cell::Cell::new(Instant::MAX);
        let answer = simulate(&workload(&text), stop, Some(&mut LastAnswer(&last))).unwrap();
        assert_eq!(answer.summary.warm_up, 0, "{stop:?}: the skipped part is not counted as warm-up");
        if stop == Stop::Jobs(20_000) {
            assert_eq!(answer.summary.jobs, 20_000);
            assert!(last.get() > Instant::from_secs(430), "20,000 of 50 per second after 50 s end after 450 s");
        }
    }
}

/// Records when the last request completed.
struct LastAnswer<'a>(&'a std::cell::Cell<Instant>);

impl SimulationObserver for LastAnswer<'_> {
    fn arrived(&mut self, _: Instant) {}
    fn rejected(&mut self, _: Launch, _: u16, _: After) {}
    fn completed(&mut self, now: Instant, _: Launch, _: &Job, _: After) -> ControlFlow<()> {
        self.0.set(now);
        ControlFlow::Continue(())
    }
}

#[test]
fn limited_capacity_rejects_as_erlang_computes() {
    // M/M/1/5 at load 1.2: P(full) = (1 - r) r^5 / (1 - r^6).
    let text = format!("arrivals.open = {{ rate = \"120/s\" }}\n{}capacity = 5\n", server("fcfs", EXPONENTIAL));
    let lost = (1.0 - 1.2) * 1.2f64.powi(5) / (1.0 - 1.2f64.powi(6));
    let answer = run(&text, 500_000);
    holds("refused", answer.summary.rejected, lost, 0.02);
    holds("X", answer.summary.throughput, 120.0 * (1.0 - lost), 0.01);
    // Erlang's B is insensitive: M/G/4/4 with 3 erlangs.
    let text = "arrivals.open = { rate = \"300/s\" }\n[server]\nservers = 4\ncapacity = 4\n".to_owned();
    let answer = run(&format!("{text}service = {H2}\n"), 500_000);
    holds("Erlang B", answer.summary.rejected, 0.206_106_870_229, 0.04);
}

#[test]
fn at_load_finds_the_think_time_of_a_closed_system() {
    // H2 service with C2 = 8: think times and responses from solved Markov chains.
    for (users, load, think, response) in [(10, 0.5, 169.475_18, 30.524_82), (10, 0.9, 57.557_131, 53.553_98)] {
        let text = format!(
            "arrivals.closed = {{ users = {users}, think = {{ exponential = \"1s\" }} }}\n{}",
            server("fcfs", H2)
        );
        let at = at_load(&workload(&text), load, 1e-3, &mut |_| ()).unwrap();
        let answer = simulate(&at, Stop::Jobs(1_000_000), None).unwrap();
        let found = answer.think.unwrap() * 1e3;
        assert!((found / think - 1.0).abs() < 0.01, "N = {users}, load {load}: Z = {found}, exactly {think}");
        // Two errors add up: that of the search and that of this run.
        assert!((answer.load_reached.value - load).abs() < 0.002, "{:?}", answer.load_reached);
        holds("response", answer.summary.response.mean, response / 1e3, 0.05);
    }
}

#[test]
fn littles_law_response_includes_unfinished_jobs() {
    // Z = 0, N = 100, S = 10 ms: under every discipline E[T] = N E[S] = 1 s, which the completed jobs do not show.
    let text = format!("arrivals.closed = {{ users = 100 }}\n{}", server("srpt", H2));
    let answer = run(&text, 200_000);
    holds("by Little", answer.summary.littles_law_response, 1.0, 0.2);
    assert!(answer.summary.response.mean.high < 0.9, "{:?}", answer.summary.response.mean);
    assert_eq!(answer.summary.unfinished, 99);
    assert!(answer.ages.unwrap().0 > 1.0);
    assert!(
        answer.warnings.iter().any(|warning| matches!(warning, SimulationWarning::Unfinished { .. })),
        "{:?}",
        answer.warnings
    );
}

/// Records all completions.
#[derive(Default, PartialEq, Debug)]
struct Tape(Vec<(Instant, Launch, Job)>);

impl SimulationObserver for Tape {
    fn arrived(&mut self, _: Instant) {}
    fn rejected(&mut self, _: Launch, _: u16, _: After) {}
    fn completed(&mut self, now: Instant, launch: Launch, job: &Job, _: After) -> ControlFlow<()> {
        self.0.push((now, launch, *job));
        ControlFlow::Continue(())
    }
}

fn tape(text: &str) -> Vec<(Instant, Launch, Job)> {
    let mut tape = Tape::default();
    simulate(&workload(text), Stop::Jobs(20_000), Some(&mut tape)).unwrap();
    tape.0
}

#[test]
fn partly_open_with_stay_zero_equals_open() {
    for discipline in ["fcfs", "ps", "srpt", "fb"] {
        let server = server(discipline, H2);
        let open = tape(&format!("arrivals.open = {{ rate = \"80/s\" }}\n{server}"));
        let partly = tape(&format!("arrivals.partly_open = {{ rate = \"80/s\", stay = 0 }}\n{server}"));
        assert_eq!(open, partly, "{discipline}");
    }
}

#[test]
fn one_closed_user_alternates_between_thinking_and_service() {
    let text = format!(
        "arrivals.closed = {{ users = 1, think = {{ constant = \"5ms\" }} }}\n{}",
        server("ps", "{ constant = \"10ms\" }")
    );
    let tape = tape(&text);
    assert!(tape.windows(2).all(|w| w[1].1.intended == w[0].0 + Nanos::from_millis(5)));
    assert!(tape.iter().all(|(done, launch, _)| *done == launch.intended + Nanos::from_millis(10)));
}

#[test]
fn disciplines_see_the_same_jobs() {
    // Common random numbers: the size of (session, step) is the same under every discipline, so open systems see the
    // same jobs.
    let jobs = |discipline: &str| {
        let mut jobs: Vec<Job> = tape(&format!("arrivals.open = {{ rate = \"80/s\" }}\n{}", server(discipline, H2)))
            .into_iter()
            .map(|(_, launch, job)| Job { id: launch.session, ..job })
            .collect();
        jobs.sort_by_key(|job| job.id);
        jobs.truncate(15_000);
        jobs
    };
    let fcfs = jobs("fcfs");
    for discipline in ["ps", "fb", "lcfs"] {
        assert_eq!(jobs(discipline), fcfs, "{discipline}");
    }
}

#[test]
fn skip_last_is_excluded() {
    let text = format!(
        "skip_first = \"100s\"\nskip_last = \"100s\"\narrivals.open = {{ rate = \"50/s\" }}\n{}",
        server("ps", EXPONENTIAL)
    );
    let answer = simulate(&workload(&text), Stop::Duration, None).unwrap();
    assert!((38_000..42_000).contains(&answer.summary.jobs), "{} of 800 s at 50/s", answer.summary.jobs);
    holds("ps", answer.summary.response.mean, 0.02, 0.08);
    assert!(answer.summary.littles_law_holds);
}

#[test]
fn a_mean_slowdown_that_does_not_exist_gives_a_warning() {
    let open = "arrivals.open = { rate = \"80/s\" }\n";
    let has_warning = |policy: &str| {
        let answer = run(&format!("{open}{}", server(policy, EXPONENTIAL)), 300_000);
        answer.warnings.iter().any(|warning| matches!(warning, SimulationWarning::SlowdownOutliers { .. }))
    };
    // The mean slowdown of PS is 1/(1 - load) at every size.
    assert!(has_warning("fcfs") && !has_warning("ps"));
}

#[test]
fn until_precision_stops_when_the_interval_is_narrow() {
    let text = format!("arrivals.open = {{ rate = \"50/s\" }}\n{}", server("fcfs", H2));
    let answer = simulate(&workload(&text), Stop::Precision(0.03), None).unwrap();
    assert!(answer.summary.response.mean.relative() <= 0.03);
    holds("P-K", answer.summary.response.mean, 0.055, 0.05);
    assert!(answer.summary.jobs > 100_000, "more than the first look: {}", answer.summary.jobs);
}

#[test]
fn errors_are_one_line() {
    let open = "arrivals.open = { rate = \"200/s\" }\n";
    let closed = "arrivals.closed = { users = 3 }\n";
    let fcfs = server("fcfs", EXPONENTIAL);
    let refused = |text: &str, why: &str| {
        let error = simulate(&workload(text), Stop::Jobs(10_000), None).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    };
    refused(open, "no service time distribution");
    refused(&format!("{open}{fcfs}"), "load is 2.000");
    refused(&format!("{open}{}", server("peljf", H2)), "[[request]]");
    refused(&format!("{open}{}", server("fcfs", "{ constant = \"0s\" }")), "demands are zero");
    let unreachable = |text: &str, load: f64, why: &str| {
        let error = at_load(&workload(text), load, DEFAULT_TOLERANCE, &mut |_| ()).unwrap_err().to_string();
        assert!(error.contains(why) && !error.contains('\n'), "{error}");
    };
    unreachable(&format!("{open}{fcfs}"), 1.0, "without end");
    unreachable(&format!("{open}{fcfs}"), -0.5, "above zero");
    unreachable(&format!("{closed}{fcfs}"), 0.9, "needs a think time to adjust");
    let thinking = "arrivals.closed = { users = 3, think = { exponential = \"1s\" } }\n";
    unreachable(&format!("{thinking}{fcfs}servers = 9\n"), 0.9, "even without think time");
    let ramp = "arrivals.open = { rate = { ramp = [\"1/s\", \"9/s\"], over = \"1m\" } }\n";
    unreachable(&format!("{ramp}{fcfs}"), 0.9, "constant");
}

#[test]
fn session_duration_is_the_sum_of_responses_and_think_times() {
    // PS at load 0.6: every request takes 25 ms on average, a session has 4 requests and 3 think times of 50 ms.
    let text = format!(
        "arrivals.partly_open = {{ rate = \"15/s\", stay = 0.75, think = {{ exponential = \"50ms\" }} }}\n{}",
        server("ps", EXPONENTIAL)
    );
    let answer = run(&text, 400_000);
    let sessions = answer.summary.sessions.unwrap();
    holds("responses", sessions.waiting.mean, 0.1, 0.06);
    holds("duration", sessions.duration.mean, 0.25, 0.06);
    assert!((sessions.count as f64 / 100_000.0 - 1.0).abs() < 0.01, "{}", sessions.count);
    assert!(sessions.duration.p50.value < sessions.duration.p95.value);
    let open = run(&format!("arrivals.open = {{ rate = \"60/s\" }}\n{}", server("ps", EXPONENTIAL)), 10_000);
    assert!(open.summary.sessions.is_none(), "a session of one request is that request");
}

#[test]
fn constant_sizes_give_no_warning() {
    let text = format!("arrivals.open = {{ rate = \"20/s\" }}\n{}", server("ps", "{ constant = \"10ms\" }"));
    let answer = run(&text, 100_000);
    assert!(answer.warnings.is_empty(), "{:?}", answer.warnings);
}

#[test]
fn stop_jobs_counts_exactly() {
    let text = format!("arrivals.open = {{ rate = \"50/s\" }}\n{}", server("fcfs", EXPONENTIAL));
    for jobs in [2_000, 12_345, 100_000] {
        let answer = run(&text, jobs);
        assert_eq!(answer.summary.jobs + answer.summary.warm_up, jobs);
        assert!(answer.summary.littles_law_holds);
    }
}
