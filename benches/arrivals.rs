//! `cargo bench --bench arrivals [-- FILTER]`: how requests arrive at the server, and how response times compare with
//! theory.
//!
//! These are measurements, not tests: tables to read, on a quiet machine. FILTER is a word of a section: `serve`,
//! `nginx`, `theory`.
//!
//! * `serve`: open arrivals at the reference server in this process, timestamped (in ns) when their last byte is read.
//! * `nginx`: the same at a real nginx (one worker), timestamped by `$msec` in its access log: whole milliseconds, when
//!   the response is logged. At 5,000/s five requests share a timestamp, so gaps are meaningless; the table also shows
//!   counts in windows of 10 ms, whose index of dispersion (variance over mean) is 1 for Poisson.
//! * `theory`: mean response time at the reference server and by formula, with 95 % intervals from batch means.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use offered_base::{Difference, Instant, Nanos, Seed, Share};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome};
use offered_io::Clock;
use offered_plan::closed::machine_repair::MachineRepair;
use offered_plan::open::mg1::Mg1;
use offered_plan::partly_open::SessionStream;
use offered_run::{Generator, Load};
use offered_serve::{Options, Server, ServerHandle};
use offered_simulate::policy::{BuildDiscipline, ServerConfig};
use offered_stats::exponential::kolmogorov_distance;
use offered_stats::steady_state::ratio;
use offered_stats::summary::{gaps, quantile};
use offered_workload::Workload;

fn main() {
    let filter = std::env::args().skip(1).find(|arg| !arg.starts_with("--")).unwrap_or_default();
    let sections: [(&str, fn()); 3] = [("serve", at_serve), ("nginx", at_nginx), ("theory", against_theory)];
    for (_, section) in sections.iter().filter(|(name, _)| name.contains(&filter)) {
        section();
        println!();
    }
}

/// Starts the reference server in this process.
fn server(policy: &str, service: &Distribution) -> ServerHandle {
    let class_means = vec![Nanos::from_secs_f64(service.mean())];
    let policy: offered_simulate::Policy = policy.parse().expect("a policy");
    let discipline =
        policy.boxed(&ServerConfig { servers: 1, class_means, seed: Seed(1), rates: None }).expect("a discipline");
    Server::start(Options {
        spin: Nanos::MAX, // a sleeping server would add its own wake-up time of about 40 us to the arrivals
        collect_arrivals: true,
        ..Options::new(discipline, service.clone(), Seed(1))
    })
    .expect("a free port")
}

/// Runs `arrivals` against `url`. Returns the events by scheduled time.
fn run(url: &str, seconds: u64, arrivals: &str) -> Vec<Event> {
    let text = format!(
        "seed = 1\nduration = \"{seconds}s\"\ntarget.url = \"{url}\"\ngenerator.threads = 1\n[arrivals]\n{arrivals}\n"
    );
    let workload = Workload::parse(&text, "arrivals", &|_| Err(String::new())).expect("a workload");
    let generator = Generator::new(workload, Share::ALL, Load::Target).expect("a target");
    let (_, sinks) = generator.run(None, Vec::<Event>::new, |_| ()).expect("a run");
    let mut events: Vec<Event> = sinks.into_iter().flatten().collect();
    events.sort_unstable_by_key(|event| event.intended);
    events
}

/// CoV of the gaps, and their Kolmogorov distance from the exponential distribution of the same mean.
fn shape(instants: &mut [u64]) -> (f64, f64) {
    instants.sort_unstable();
    let mut gaps: Vec<f64> = gaps(instants).map(|gap| gap as f64).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let distance = kolmogorov_distance(&gaps, |x| 1.0 - (-x / mean).exp());
    (offered_stats::cov::cov(&gaps).unwrap_or(f64::NAN), distance)
}

/// Percentiles of lateness, us.
fn lateness(events: &[Event]) -> String {
    let mut late: Vec<i64> = events.iter().filter_map(|event| Some(event.lateness()?.0)).collect();
    late.sort_unstable();
    let at = |p| quantile(&late, p) as f64 / 1e3;
    format!("{:>8.1} {:>8.1} {:>8.1} {:>9.1}", at(0.5), at(0.99), at(0.999), at(1.0))
}

/// Duration for 40,000 requests, whose CoV has a standard error of 0.005; at most a minute.
fn seconds(rate: u64) -> u64 {
    (40_000 / rate).clamp(10, 60)
}

fn at_serve() {
    println!("Open arrivals at `offered serve` (timestamps in ns); lateness in us:\n");
    println!(
        "process      rate/s  requests | server: CoV  K distance | sent: CoV | late p50      p99    p99.9       max"
    );
    for (process, rate) in [("poisson", 100), ("poisson", 1000), ("poisson", 5000), ("constant", 1000)] {
        let server = server("infinite", &Distribution::constant(0.0).expect("a law"));
        let arrivals = format!("open = {{ rate = \"{rate}/s\", process = \"{process}\" }}");
        let events = run(&format!("{}/", server.address()), seconds(rate), &arrivals);
        let summary = server.stop().expect("a summary");
        let mut seen: Vec<u64> = summary.arrivals.iter().map(|at| at.0).collect();
        let (cov, distance) = shape(&mut seen);
        let sent = shape(&mut events.iter().filter_map(|event| Some(event.sent?.0)).collect::<Vec<_>>()).0;
        let distance = if process == "poisson" { format!("{distance:.4}") } else { "-".to_owned() };
        println!(
            "{process:<10} {rate:>8}  {:>8} |      {cov:>6.4}  {distance:>10} |    {sent:>6.4} | {}",
            events.len(),
            lateness(&events)
        );
    }
}

/// A real nginx, stopped when dropped.
struct Nginx(Child);

impl Drop for Nginx {
    fn drop(&mut self) {
        // An error means that it has already exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts nginx in `folder` on a free port; `None` if nginx is not installed.
fn nginx(folder: &Path) -> Option<(Nginx, String)> {
    let program = ["nginx", "/usr/sbin/nginx"].into_iter().find(|p| Command::new(p).arg("-v").output().is_ok())?;
    let port = std::net::TcpListener::bind("127.0.0.1:0").ok()?.local_addr().ok()?.port();
    let at = folder.to_str()?;
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    let temporary: String = temporary.iter().map(|t| format!("{t}_temp_path {at}/{t};")).collect();
    let conf = format!(
        "daemon off; master_process off; pid {at}/pid; events {{ }}
        http {{ {temporary} keepalive_requests 1000000; log_format stamp '$msec'; access_log {at}/access.log stamp buffer=64k;
            server {{ listen 127.0.0.1:{port}; location / {{ return 200 'ok'; }} }} }}"
    );
    std::fs::write(folder.join("conf"), conf).ok()?;
    let mut command = Command::new(program);
    command.args(["-c", &format!("{at}/conf"), "-p", at, "-e", &format!("{at}/error.log")]);
    let child = Nginx(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().ok()?);
    let clock = Clock::start();
    while clock.now() < Instant::from_secs(10) {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
            return Some((child, format!("http://127.0.0.1:{port}/")));
        }
        clock.sleep_until(clock.now() + Nanos::from_millis(20));
    }
    None
}

fn at_nginx() {
    println!("Open arrivals in nginx's log ($msec: whole milliseconds); lateness in us:\n");
    println!(
        "process      rate/s  requests    logged | gaps: CoV | counts in 10 ms: index of dispersion | late p50      p99    p99.9       max"
    );
    for (process, rate) in [("poisson", 100), ("poisson", 1000), ("poisson", 5000), ("constant", 1000)] {
        let folder = tempfile::tempdir().expect("a folder");
        let Some((mut nginx, url)) = nginx(folder.path()) else {
            println!("skipped: nginx is not installed");
            return;
        };
        let arrivals = format!("open = {{ rate = \"{rate}/s\", process = \"{process}\" }}");
        let events = run(&url, seconds(rate), &arrivals);
        stop(&mut nginx.0);
        let log = std::fs::read_to_string(folder.path().join("access.log")).expect("a log");
        let mut logged: Vec<u64> = log.lines().filter_map(|line| line.replace('.', "").parse().ok()).collect();
        let count = logged.len();
        // With five requests per tick, gaps are meaningless.
        let cov = shape(&mut logged).0;
        let cov = if rate <= 1000 { format!("{cov:.4}") } else { "-".to_owned() };
        let (first, last) = (logged[0], logged[count - 1]);
        let counts = offered_stats::dispersion::counts(&logged, first, last, 10);
        let spread = offered_stats::dispersion::dispersion(&counts, 10).map_or(f64::NAN, |found| found.idc);
        println!(
            "{process:<10} {rate:>8}  {:>8}  {count:>8} |    {cov:>6} | {spread:>36.4} | {}",
            events.len(),
            lateness(&events)
        );
    }
}

/// Stops nginx gracefully, so that it writes its complete log.
fn stop(nginx: &mut Child) {
    rustix::process::kill_process(rustix::process::Pid::from_child(nginx), rustix::process::Signal::QUIT)
        .expect("a child");
    nginx.wait().expect("a child");
}

/// Mean service time of the theory section, seconds; exponential.
const SERVICE: f64 = 0.005;
/// Duration of its runs, seconds; the first tenth is warm-up.
const LONG: u64 = 120;

fn against_theory() {
    println!(
        "Mean response at `offered serve`, exponential service of mean {} ms, {LONG} s each, and theory (ms):\n",
        SERVICE * 1e3
    );
    println!(
        "server  load                              requests |  theory | measured  95 % interval     | diff    | of it generator and server"
    );
    let service = Distribution::exponential(SERVICE).expect("a law");
    for rho in [0.3, 0.5, 0.7] {
        let rate = rho / SERVICE;
        let theory = Mg1::new(&service, rate).expect("a stable queue");
        let arrivals = format!("open.rate = \"{rate}/s\"");
        compare("ps", &format!("open, rho {rho}"), &arrivals, theory.ps());
        compare("fcfs", &format!("open, rho {rho}"), &arrivals, theory.fcfs().expect("a second moment"));
    }
    let think = 0.12;
    let theory = MachineRepair::new(1, SERVICE, 20, think).expect("a closed system").solve().response;
    let arrivals = format!("closed = {{ users = 20, think.exponential = \"{think}s\" }}");
    compare("fcfs", &format!("closed, N 20, Z {think} s"), &arrivals, theory);
    let (rate, stay) = (28.0, 0.8);
    let theory = SessionStream::new(rate, stay).and_then(|s| s.product_form(1, SERVICE)).expect("a stable queue");
    let arrivals = format!("partly_open = {{ rate = \"{rate}/s\", stay = {stay}, think.exponential = \"1s\" }}");
    compare("ps", &format!("partly-open, {rate}/s, stay {stay}"), &arrivals, theory);
}

fn compare(policy: &str, load: &str, arrivals: &str, theory: f64) {
    let server = server(policy, &Distribution::exponential(SERVICE).expect("a law"));
    let events = run(&format!("{}/", server.address()), LONG, arrivals);
    let own = server.stop().expect("a summary").lateness_mean.as_secs_f64();
    let warm = Instant::from_secs(LONG / 10);
    let judged: Vec<&Event> = events.iter().filter(|e| e.intended >= warm && e.outcome == Outcome::Ok).collect();
    let mean = |events: &[&Event], time: fn(&Event) -> Option<Difference>| {
        events.iter().filter_map(|event| Some(time(event)?.as_secs_f64())).sum::<f64>() / events.len() as f64
    };
    let sums = |batch: &[&Event]| (mean(batch, Event::response) * batch.len() as f64, batch.len() as f64);
    let measured = ratio(&judged.chunks(judged.len().div_ceil(30)).map(sums).collect::<Vec<_>>());
    let own = own + mean(&judged, Event::lateness);
    println!(
        "{policy:<6}  {load:<32} {:>9} | {:>7.3} | {:>8.3}  {:>7.3} to {:>7.3} | {:>+5.1} % | {:.3}",
        events.len(),
        theory * 1e3,
        measured.value * 1e3,
        measured.low * 1e3,
        measured.high * 1e3,
        (measured.value / theory - 1.0) * 100.0,
        own * 1e3
    );
}
