//! Formulas of `plan` against simulations, with fixed seeds.

use offered_plan::analytic::analyse;
use offered_simulate::{SimulationWarning, Stop, simulate};
use offered_stats::steady_state::Estimate;
use offered_workload::Workload;

const H2: &str = "{ hyperexponential = { mean = \"10ms\", scv = 4 } }";
const EXPONENTIAL: &str = "{ exponential = \"10ms\" }";

fn workload(text: &str) -> Workload {
    Workload::parse(&format!("seed = 5\nduration = \"1000s\"\n{text}"), "w.toml", &|_| Err(String::new())).unwrap()
}

/// The difference from the truth is at most 1.6 half-widths of the 95 % interval (one comparison in 600 would exceed it), which are at most
/// `within` of it.
#[track_caller]
fn holds(name: &str, found: Estimate, truth: f64, within: f64) {
    let half = found.half_width() * 1.6;
    assert!((found.value - truth).abs() <= half, "{name}: {} +- {half}, by formula {truth}", found.value);
    assert!(half <= within * truth, "{name}: {} +- {half} is too coarse to tell", found.value);
}

/// Simulates a workload and compares it with its exact solution.
fn agrees(text: &str) {
    let workload = workload(text);
    let analysis = analyse(&workload, None).unwrap();
    let known = analysis.steady_state.unwrap_or_else(|| panic!("{text}: {}", analysis.assumption));
    assert!(!known.is_approximation, "{text}");
    let found = simulate(&workload, Stop::Jobs(400_000), None).unwrap().summary;
    holds(text, found.response.mean, known.response, 0.1);
    holds(text, found.throughput, known.throughput, 0.032);
    holds(text, found.in_system, known.in_system, 0.1);
    if let Some(share) = known.rejected_share {
        holds(text, found.rejected, share, 0.16);
    }
}

fn open(rate: u32, discipline: &str, service: &str, more: &str) -> String {
    format!("arrivals.open.rate = \"{rate}/s\"\n[server]\ndiscipline = \"{discipline}\"\nservice = {service}\n{more}")
}

#[test]
fn load_dependent_rates_of_one_server() {
    agrees(&open(150, "ps", H2, "rates = [1, 1.5, 2.2]"));
    agrees(&open(150, "fcfs", EXPONENTIAL, "rates = [1, 1.5, 2.2]"));
    agrees(&open(150, "fcfs", EXPONENTIAL, "servers = 3\nrates = [0.5, 1.5, 2.2]"));
    agrees(&open(400, "lcfs-preemptive", H2, "rates = { contention = 0.12 }"));
    agrees(&open(250, "ps:6", EXPONENTIAL, "rates = { contention = 0.1, coherency = 0.02 }"));
    agrees(&open(500, "ps", H2, "rates = { contention = 0.05, coherency = 0.01 }\ncapacity = 20"));
    agrees(&open(120, "ps", H2, "capacity = 8"));
    agrees(&format!(
        "arrivals.partly_open = {{ rate = \"30/s\", stay = 0.8, think.constant = \"20ms\" }}\n[server]\ndiscipline = \"ps\"\nservice = {H2}\nrates = [1, 1.5, 2.2]"
    ));
}

#[test]
fn users_at_a_server_with_load_dependent_rates_or_a_capacity() {
    let closed =
        |server: &str| format!("arrivals.closed = {{ users = 20, think.exponential = \"60ms\" }}\n[server]\n{server}");
    agrees(&closed(&format!("discipline = \"ps\"\nservice = {H2}\nrates = {{ contention = 0.05, coherency = 0.01 }}")));
    agrees(&closed(&format!("service = {EXPONENTIAL}\nrates = [1, 2, 3, 1.5]")));
    agrees(&closed(&format!("servers = 2\nservice = {EXPONENTIAL}\ncapacity = 5")));
    agrees(&closed(&format!("discipline = \"ps\"\nservice = {H2}\ncapacity = 3")));
    agrees(&closed(&format!("servers = 3\nservice = {H2}\ncapacity = 3")));
}

#[test]
fn load_dependent_rates_in_networks() {
    let stations = format!(
        "[[station]]\nname = \"web\"\ndiscipline = \"ps\"\nservice = {H2}\nrates = {{ contention = 0.05, coherency = 0.01 }}\n\
         [[station]]\nname = \"db\"\nvisits = 1.5\nservice.exponential = \"8ms\"\nrates = [1, 1.8, 2.4]\n"
    );
    agrees(&format!("arrivals.closed = {{ users = 25, think.exponential = \"100ms\" }}\n{stations}"));
    let limited = stations.replace("\"ps\"", "\"ps:8\"").replace(H2, EXPONENTIAL);
    agrees(&format!("arrivals.open.rate = \"120/s\"\n{limited}"));
}

/// A web server with a pool of threads and a database, and what is in front of it.
fn pool(arrivals: &str, region: &str) -> String {
    format!(
        "{arrivals}\n[[station]]\nname = \"web\"\ndiscipline = \"ps\"\nservice.exponential = \"8ms\"\n\
         [[station]]\nname = \"db\"\nvisits = 2\nservers = 2\nservice.exponential = \"6ms\"\n{region}"
    )
}

const OPEN: &str = "arrivals.open.rate = \"100/s\"";
const CLOSED: &str = "arrivals.closed = { users = 20, think.exponential = \"100ms\" }";

#[test]
fn regions_with_an_exact_solution() {
    let reject = "[[region]]\nname = \"pool\"\nstations = [\"web\", \"db\"]\ncapacity = 6\n";
    agrees(&pool(OPEN, reject));
    agrees(&pool(CLOSED, reject));
    agrees(&pool(OPEN, "capacity = 4\nwhen_full = \"wait\"\n"));
    agrees(&pool(CLOSED, "capacity = 4\nwhen_full = \"wait\"\n"));
}

#[test]
fn pools_of_threads_are_close_to_their_approximation() {
    let wait = |capacity: u32, arrivals: &str| {
        let region = format!(
            "[[region]]\nname = \"pool\"\nstations = [\"web\", \"db\"]\ncapacity = {capacity}\nwhen_full = \"wait\"\n"
        );
        let workload = workload(&pool(arrivals, &region));
        let known = analyse(&workload, None).unwrap().steady_state.unwrap();
        assert!(known.is_approximation);
        let found = simulate(&workload, Stop::Jobs(400_000), None).unwrap().summary;
        assert!(
            (known.response / found.response.mean.value - 1.0).abs() < 0.1,
            "{capacity}: {} {:?}",
            known.response,
            found.response.mean
        );
        assert!((known.throughput / found.throughput.value - 1.0).abs() < 0.03, "{capacity}");
    };
    wait(8, OPEN);
    wait(3, CLOSED);
    wait(8, CLOSED);
}

/// A station that rejects requests in the middle of a network: its blocking probability is that of the same station alone behind a
/// station whose departures are Poisson.
#[test]
fn a_station_rejects_requests_inside_a_network() {
    let text = "arrivals.open.rate = \"80/s\"\n[[station]]\nname = \"web\"\nservice.exponential = \"5ms\"\n\
                [[station]]\nname = \"db\"\nservice.exponential = \"10ms\"\ncapacity = 3\n";
    let found = simulate(&workload(text), Stop::Jobs(400_000), None).unwrap();
    let rho: f64 = 0.8;
    holds("rejected", found.summary.rejected, rho.powi(3) * (1.0 - rho) / (1.0 - rho.powi(4)), 0.05);
    // Requests that are rejected inside are neither unfinished nor a breach of Little's law.
    let is_slowdown = |warning: &SimulationWarning| matches!(warning, SimulationWarning::SlowdownOutliers { .. });
    assert!(found.summary.littles_law_holds && found.warnings.iter().all(is_slowdown), "{:?}", found.warnings);
}
