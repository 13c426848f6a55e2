//! Short comparisons of measurements with theory: a known server, each system model, five standard errors.
//!
//! The overhead of generator and server (both measure their lateness) is allowed on the slow side only. The long
//! versions are `cargo bench --bench arrivals -- theory`.
//!
//! If the machine pauses for a second, the means spread so far that they say nothing about the queue. Such a run is
//! recognised by the lateness of generator or server.

use offered_base::{Difference, Nanos, Seed, Share};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome};
use offered_plan::closed::machine_repair::MachineRepair;
use offered_plan::open::mg1::Mg1;
use offered_plan::partly_open::SessionStream;
use offered_run::{Generator, Load};
use offered_serve::{Options, Server};
use offered_simulate::policy::{BuildDiscipline, ServerConfig};
use offered_stats::steady_state::effective_sample_size;
use offered_workload::Workload;

use crate::harness::{Tested, needs};

tests![
    open_arrivals_at_a_processor_sharing_server,
    open_arrivals_at_a_first_come_first_served_server,
    twenty_users_of_a_closed_system,
    visitors_of_a_partly_open_system
];

/// Mean service time, seconds; exponential.
const SERVICE: f64 = 0.004;
/// Number of batches; their means are practically independent.
const BATCHES: usize = 16;
/// A lateness above this limit indicates a pause of the machine.
const AWAY: Nanos = Nanos(100_000_000);

/// Mean response, its standard error, and the overhead of generator and server, seconds.
struct Measured {
    response: f64,
    error: f64,
    own: f64,
    /// Maximum lateness of a request or a response.
    latest: Nanos,
}

fn measured(name: &str, policy: &str, arrivals: &str) -> Measured {
    let (seed, service) = (Seed(5), Distribution::exponential(SERVICE).unwrap());
    let class_means = vec![Nanos::from_secs_f64(SERVICE)];
    let policy: offered_simulate::Policy = policy.parse().unwrap();
    let discipline = policy.boxed(&ServerConfig { servers: 1, class_means, seed, rates: None }).unwrap();
    let server = Server::start(Options { collect_arrivals: true, ..Options::new(discipline, service, seed) }).unwrap();
    let text = format!(
        "seed = 7\nduration = \"25s\"\nskip_first = \"1s\"\ntarget.url = \"{}/\"\ngenerator.wait = \"sleep\"\n[arrivals]\n{arrivals}\n",
        server.address()
    );
    let workload = Workload::parse(&text, "theory", &|_| Err(String::new())).unwrap();
    let (_, sinks) =
        Generator::new(workload.clone(), Share::ALL, Load::Target).unwrap().run(None, Vec::new, |_| ()).unwrap();
    let summary = server.stop().unwrap();
    let events: Vec<Event> = sinks.into_iter().flatten().collect();
    assert_eq!((summary.requests, summary.arrivals.len()), (events.len() as u64, events.len()), "{name}");
    assert!(events.iter().all(|event| event.outcome == Outcome::Ok), "{name}");
    let mut judged: Vec<&Event> = events.iter().filter(|event| event.intended >= workload.counted().start).collect();
    judged.sort_unstable_by_key(|event| event.intended);
    let mean = |events: &[&Event], time: fn(&Event) -> Option<Difference>| {
        events.iter().map(|event| time(event).unwrap().as_secs_f64()).sum::<f64>() / events.len() as f64
    };
    let response = mean(&judged, Event::response);
    let batches: Vec<f64> =
        judged.chunks_exact(judged.len() / BATCHES).map(|batch| mean(batch, Event::response)).collect();
    let variance = batches.iter().map(|batch| (batch - response).powi(2)).sum::<f64>() / (batches.len() - 1) as f64;
    Measured {
        response,
        // Batches of sessions are correlated, and count as fewer.
        error: (variance / effective_sample_size(&batches)).sqrt(),
        own: mean(&judged, Event::lateness) + summary.lateness_mean.as_secs_f64() + 0.0005,
        latest: judged.iter().filter_map(|event| event.lateness()).max().unwrap().positive().max(summary.lateness_max),
    }
}

fn holds(name: &str, policy: &str, arrivals: &str, theory: f64) -> Tested {
    let Measured { response, error, own, latest } = measured(name, policy, arrivals);
    let tells = error < theory / 4.0;
    assert!(
        tells || latest > AWAY,
        "{name}: without a pause of the machine, a standard error of {error} is too large to test {theory}"
    );
    needs("presence", tells)?;
    assert!(
        response > theory - 4.0 * error && response < theory + own + 4.0 * error,
        "{name}: R {response} s against {theory} s, standard error {error}, generator and server {own} s"
    );
    Ok(())
}

fn open(policy: &str) -> Tested {
    let rate = 0.5 / SERVICE;
    let service = Distribution::exponential(SERVICE).unwrap();
    let theory = Mg1::new(&service, rate).unwrap();
    let theory = if policy == "ps" { theory.ps() } else { theory.fcfs().unwrap() };
    holds(policy, policy, &format!("open.rate = \"{rate}/s\""), theory)
}

fn open_arrivals_at_a_processor_sharing_server() -> Tested {
    open("ps")
}

fn open_arrivals_at_a_first_come_first_served_server() -> Tested {
    open("fcfs")
}

fn twenty_users_of_a_closed_system() -> Tested {
    let think = 0.1;
    let theory = MachineRepair::new(1, SERVICE, 20, think).unwrap().solve().response;
    holds("closed", "fcfs", &format!("closed = {{ users = 20, think.exponential = \"{think}s\" }}"), theory)
}

fn visitors_of_a_partly_open_system() -> Tested {
    let (rate, stay) = (25.0, 0.8);
    let theory = SessionStream::new(rate, stay).unwrap().product_form(1, SERVICE).unwrap();
    let arrivals = format!("partly_open = {{ rate = \"{rate}/s\", stay = {stay}, think.exponential = \"500ms\" }}");
    holds("partly-open", "ps", &arrivals, theory)
}
