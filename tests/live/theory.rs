//! Measured against theory, in short: a known server, each system model, five standard errors.
//!
//! What generator and server add of their own (they know it: lateness on both sides) is allowed on the slow side only. The long
//! versions are `cargo bench --bench arrivals -- theory`.
//!
//! A machine that stands still for a second with both of them spreads the means so far that they tell nothing of a
//! queue. Such a run is known by the lateness of either.

use offered_model::{Difference, Event, Law, Nanos, Outcome, Seed, Share, Workload};
use offered_plan::closed::machine_repair::MachineRepair;
use offered_plan::open::mg1::Mg1;
use offered_plan::partly_open::SessionStream;
use offered_run::{Generator, Load};
use offered_serve::{Options, Server};
use offered_simulate::policy::{BuildDiscipline, ServerConfig};
use offered_stats::steady_state::independent;

use crate::harness::{Tested, needs};

tests![
    open_arrivals_at_a_processor_sharing_server,
    open_arrivals_at_a_first_come_first_served_server,
    twenty_users_of_a_closed_system,
    visitors_of_a_partly_open_system
];

/// Mean service, seconds; exponential.
const SERVICE: f64 = 0.004;
/// Batches of the run, whose means are as good as independent.
const BATCHES: usize = 16;
/// What is later than this says that the machine was away, and not only busy.
const AWAY: Nanos = Nanos(100_000_000);

/// Mean response, its standard error, and what generator and server added of their own, seconds.
struct Measured {
    response: f64,
    error: f64,
    own: f64,
    /// The latest launch or answer.
    latest: Nanos,
}

fn measured(name: &str, policy: &str, arrivals: &str) -> Measured {
    let (seed, service) = (Seed(5), Law::exponential(SERVICE).unwrap());
    let class_means = vec![Nanos::from_secs_f64(SERVICE)];
    let policy: offered_simulate::Policy = policy.parse().unwrap();
    let discipline = policy.boxed(&ServerConfig { servers: 1, class_means, seed }).unwrap();
    let server = Server::start(Options { collect_arrivals: true, ..Options::new(discipline, service, seed) }).unwrap();
    let text = format!(
        "seed = 7\nduration = \"25s\"\nskip_first = \"1s\"\ntarget.url = \"{}/\"\ngenerator.precision = \"sleep\"\n[arrivals]\n{arrivals}\n",
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
        // Batches of visits are alike, and count as fewer.
        error: (variance / independent(&batches)).sqrt(),
        own: mean(&judged, Event::lateness) + summary.lateness_mean.as_secs_f64() + 0.0005,
        latest: judged.iter().filter_map(|event| event.lateness()).max().unwrap().positive().max(summary.lateness_max),
    }
}

fn holds(name: &str, policy: &str, arrivals: &str, theory: f64) -> Tested {
    let Measured { response, error, own, latest } = measured(name, policy, arrivals);
    let tells = error < theory / 4.0;
    assert!(
        tells || latest > AWAY,
        "{name}: the machine was there, and a standard error of {error} tells nothing of {theory}"
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
    let service = Law::exponential(SERVICE).unwrap();
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
