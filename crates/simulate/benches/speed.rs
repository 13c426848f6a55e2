//! Jobs per second of the simulator on one core, statistics on; one printed table. `cargo bench -p offered-simulate`.

use offered_clock::cpu_time;
use offered_model::{Agenda, Nanos, Share, Workload};
use offered_simulate::drive::{Demands, Served, drive};
use offered_simulate::policy::Use;
use offered_simulate::statistics::Statistics;
use offered_simulate::{Discipline, Policy, Setting};

const JOBS: u64 = 4_000_000;

struct Race {
    workload: Workload,
    demands: Demands,
    servers: u32,
}

impl Use for Race {
    type Out = f64;
    fn with<D: Discipline + Send + 'static>(self, discipline: D) -> f64 {
        let mut agenda = Agenda::new(&self.workload, Share::ALL);
        let mut served = Served::new(discipline, None);
        let mut statistics = Statistics::new(self.servers, 1, Nanos::ZERO, Nanos::MAX, JOBS);
        let start = cpu_time();
        drive(&mut agenda, &mut served, &self.demands, &mut statistics);
        assert_eq!(statistics.completed(), JOBS);
        JOBS as f64 / (cpu_time() - start).as_secs_f64() / 1e6
    }
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
    for (name, arrivals, policy) in rows {
        let text = format!(
            "duration = \"1000000h\"\n[arrivals]\n{arrivals}\n[server]\nservice = {{ exponential = \"10ms\" }}\n"
        );
        let workload = Workload::parse(&text, "bench", &|_| Err(String::new())).unwrap();
        let demands = Demands::new(&workload).unwrap();
        let setting = Setting { servers: 1, class_means: demands.class_means(), seed: workload.seed };
        let race = Race { workload, demands, servers: 1 };
        let speed = policy.parse::<Policy>().unwrap().make(&setting, race).unwrap();
        println!("{name:24} {speed:14.1}");
    }
}
