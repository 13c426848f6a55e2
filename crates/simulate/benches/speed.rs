//! Jobs per second of the simulator on one core, with statistics; prints one table. `cargo bench -p offered-simulate`.

use offered_base::{Instant, Purpose, Seed, Share};
use offered_io::thread_cpu_time;
use offered_simulate::drive::{ServiceDemands, SimulatedServer, drive};
use offered_simulate::policy::DisciplineVisitor;
use offered_simulate::statistics::{Statistics, StatisticsConfig};
use offered_simulate::{BuildDiscipline, Discipline, Policy, ServerConfig};
use offered_stats::requirements::IntervalRequirements;
use offered_workload::Workload;

const JOBS: u64 = 4_000_000;

struct Race {
    workload: Workload,
    demands: ServiceDemands,
}

impl DisciplineVisitor for Race {
    type Output = f64;
    fn visit<D: Discipline + Send + 'static>(self, discipline: D) -> f64 {
        let mut agenda = self.workload.agenda(Share::ALL);
        let mut served = SimulatedServer::new(discipline, None);
        let sessions = self.workload.sessions().have_visits();
        let (from, until) = (Instant::ZERO, Instant::MAX);
        let counted = StatisticsConfig {
            servers: 1,
            classes: 1,
            sessions,
            tokens: false,
            goodput: None,
            from,
            until,
            requirements: IntervalRequirements::default(),
        };
        let mut statistics = Statistics::new(counted, JOBS);
        let start = thread_cpu_time();
        drive(&mut agenda, &mut served, &self.demands, &mut statistics);
        assert_eq!(statistics.completed(), JOBS);
        JOBS as f64 / (thread_cpu_time() - start).as_secs_f64() / 1e6
    }
}

/// M/M/1 by Lindley's recursion (1952), without a queue, statistics or a workload: the limit of the machine.
fn lindley() -> f64 {
    let (mut gaps, mut sizes) = (Seed(1).stream(Purpose::Arrivals), Seed(1).stream(Purpose::Size));
    let start = thread_cpu_time();
    let (mut wait, mut total) = (0.0f64, 0.0);
    for _ in 0..JOBS {
        let response = wait + 0.8 * sizes.exponential();
        total += response;
        wait = (response - gaps.exponential()).max(0.0);
    }
    let speed = JOBS as f64 / (thread_cpu_time() - start).as_secs_f64() / 1e6;
    assert!((total / JOBS as f64 - 4.0).abs() < 0.2, "0.8 / (1 - 0.8) is the mean response of M/M/1");
    speed
}

fn main() {
    println!("{:24} {:>14}", "model", "million jobs/s");
    let open = "open = { rate = \"80/s\" }";
    let closed =
        |users: u32| format!("closed = {{ users = {users}, think = {{ exponential = \"{}ms\" }} }}", users * 12);
    let rows = [
        ("M/M/1 fcfs", open.to_owned(), "fcfs"),
        ("M/M/1 srpt", open.to_owned(), "srpt"),
        ("M/M/1 ps", open.to_owned(), "ps"),
        ("M/M/1 sjf", open.to_owned(), "sjf"),
        ("M/M/1 fb", open.to_owned(), "fb"),
        ("M/M/1 rr:10ms", open.to_owned(), "rr:10ms"),
        ("closed 10 fcfs", closed(10), "fcfs"),
        ("closed 1000 fcfs", closed(1000), "fcfs"),
        ("closed 10000 fcfs", closed(10_000), "fcfs"),
        (
            "partly-open 0.75 ps",
            "partly_open = { rate = \"20/s\", stay = 0.75, think = { exponential = \"100ms\" } }".to_owned(),
            "ps",
        ),
    ];
    // An argument on the command line selects the rows that contain it.
    let chosen = std::env::args().skip(1).find(|word| !word.starts_with('-')).unwrap_or_default();
    println!("{:24} {:14.1}", "Lindley, for comparison", lindley());
    for (name, arrivals, policy) in rows.into_iter().filter(|row| row.0.contains(&chosen)) {
        let text = format!(
            "duration = \"1000000h\"\n[arrivals]\n{arrivals}\n[server]\nservice = {{ exponential = \"10ms\" }}\n"
        );
        let workload = Workload::parse(&text, "bench", &|_| Err(String::new())).unwrap();
        let demands = ServiceDemands::new(&workload).unwrap();
        let config =
            ServerConfig { servers: 1, class_means: demands.class_means(), seed: workload.seed(), rates: None };
        let race = Race { workload, demands };
        let speed = policy.parse::<Policy>().unwrap().build(&config, race).unwrap();
        println!("{name:24} {speed:14.1}");
    }
}
