//! A run and its verdict: `cargo run -p offered-experiment --example verdict`.
//!
//! Nothing is sent: responses are simulated with a distribution of response times, on a virtual clock. `Load::Target` sends to `target.url`.

use offered_base::Share;
use offered_distributions::Distribution;
use offered_experiment::{Error, RunPlan, WorkloadSource};
use offered_run::Load;

const WORKLOAD: &str = r#"
seed = 1
duration = "60s"
skip_first = "5s"
arrivals.open = { rate = "100/s", process = "poisson" }
target.url = "http://127.0.0.1:8080/"
"#;

fn main() -> Result<(), Error> {
    let input =
        WorkloadSource::new("inline".to_owned(), WORKLOAD.to_owned(), |name| Err(format!("{name} is not beside it")));
    let workload = input.parse(&input.text)?;
    let plan = RunPlan {
        text: &input.text,
        workload: &workload,
        share: Share::ALL,
        load: Load::Mock(Distribution::exponential(0.02)?),
        start_at: None,
        run_id: None,
        directory: None, // with a path, a run directory is left there
        name: "the first".to_owned(),
        capture_failures: false,
    };
    let made = plan.prepare(std::sync::Arc::default())?.run(Vec::new())?;
    println!("{}: {}", made.verdict.validity.name(), made.verdict.reason);
    println!(
        "p99 {:.1} ms of {} requests",
        made.summary.response_ms.map_or(0.0, |r| r.p99),
        made.summary.total_requests
    );
    Ok(())
}
