//! The eight principles of Schroeder, Wierman and Harchol-Balter (NSDI 2006), on a small scale; studies/open-vs-closed
//! has the rest.
//!
//! Times are in units of E[S] / 10, as in the paper. Comparisons are between 95 % intervals.

use offered_simulate::load::at_load;
use offered_simulate::{SimulationResult, Stop, simulate};
use offered_stats::steady_state::Estimate;
use offered_workload::Workload;

/// Runs a workload of the study, with texts replaced, at a load.
fn run(file: &str, changes: &[(&str, &str)], load: Option<f64>, jobs: u64) -> SimulationResult {
    let path = format!("{}/../../studies/open-vs-closed/{file}.toml", env!("CARGO_MANIFEST_DIR"));
    let mut text = std::fs::read_to_string(path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{file}.toml has no `{from}`");
        text = text.replace(from, to);
    }
    let workload = Workload::parse(&text, file, &|_| Err(String::new())).unwrap();
    let workload = load.map_or(Ok(workload.clone()), |load| at_load(&workload, load, 3e-3, &mut |_| ())).unwrap();
    simulate(&workload, Stop::Jobs(jobs), None).unwrap()
}

/// Mean response in the paper's unit.
fn mean(answer: &SimulationResult) -> Estimate {
    let Estimate { value, low, high } = answer.summary.littles_law_response;
    Estimate { value: value * 1e3, low: low * 1e3, high: high * 1e3 }
}

#[track_caller]
fn near(estimate: Estimate, exact: f64, within: f64) {
    assert!((estimate.value / exact - 1.0).abs() < within, "{estimate:?} against {exact}");
}

const USERS: (&str, &str) = ("users = 100", "users = 10");
const SRPT: (&str, &str) = ("\"fcfs\"", "\"srpt\"");

#[test]
fn i_and_ii_closed_is_faster_than_open_and_approaches_it_slowly() {
    let ten = mean(&run("closed", &[USERS], Some(0.9), 300_000));
    let hundred = mean(&run("closed", &[], Some(0.9), 400_000));
    let open = mean(&run("open", &[], Some(0.9), 2_000_000));
    assert!(ten.high < hundred.low && hundred.high < open.low, "{ten:?} {hundred:?} {open:?}");
    near(ten, 53.553_98, 0.05);
    near(hundred, 173.939_82, 0.07);
    near(open, 415.0, 0.1);
}

#[test]
fn iii_variability_matters_less_in_a_closed_system() {
    let c2 = |scv: &'static str| [("scv = 8", scv)];
    let least = mean(&run("closed", &c2("scv = 2"), Some(0.9), 300_000));
    let most = mean(&run("closed", &c2("scv = 32"), Some(0.9), 400_000));
    near(least, 90.652_603, 0.08);
    near(most, 315.551_93, 0.12);
    // Pollaczek and Khinchine: 10 + 9 * 10 * (1 + C2) / 2.
    let open = |c2: f64| 10.0 + 45.0 * (1.0 + c2);
    assert!(most.high / least.low < 0.5 * open(32.0) / open(2.0));
}

#[test]
fn iv_scheduling_helps_a_closed_system_less() {
    let gain = |file: &str, users: &[(&'static str, &'static str)], jobs: u64| {
        let fcfs = mean(&run(file, users, Some(0.9), jobs));
        let srpt = mean(&run(file, &[users, &[SRPT]].concat(), Some(0.9), jobs));
        fcfs.value / srpt.value
    };
    let (open, closed) = (gain("open", &[], 1_000_000), gain("closed", &[USERS], 200_000));
    assert!((11.0..17.0).contains(&open) && closed < open / 3.0, "open {open}, closed {closed}");
}

#[test]
fn v_without_think_time_no_discipline_helps() {
    for discipline in ["\"fcfs\"", "\"ps\"", "\"srpt\""] {
        let changes = [("\"fcfs\"", discipline), ("think = { exponential = \"1s\" }", "think = { constant = \"0s\" }")];
        near(mean(&run("closed", &changes, None, 200_000)), 1000.0, 0.12);
    }
}

#[test]
fn vi_scheduling_limits_the_effect_of_variability() {
    let ps = |scv: &'static str| mean(&run("open", &[("\"fcfs\"", "\"ps\""), ("scv = 8", scv)], Some(0.7), 1_000_000));
    near(ps("scv = 1"), 100.0 / 3.0, 0.04);
    near(ps("scv = 32"), 100.0 / 3.0, 0.07);
}

#[test]
fn vii_longer_sessions_make_a_partly_open_system_behave_closed() {
    // Bernoulli feedback, the limit of short think times. The result changes smoothly between 5 and 10 requests per
    // session.
    for (stay, exact) in [("stay = 0.5", 257.5), ("stay = 0.75", 178.75), ("stay = 0.9", 131.5)] {
        let changes = [("stay = 0.75", stay), ("exponential = \"1ms\"", "exponential = \"10us\"")];
        let found = mean(&run("partly-open", &changes, Some(0.9), 2_000_000));
        assert!(found.low < exact && exact < found.high && found.relative() < 0.5, "{found:?} against {exact}");
    }
}

#[test]
fn viii_think_time_has_no_effect_on_ps_and_a_large_one_on_fcfs() {
    let fcfs = |think: &'static str| mean(&run("partly-open", &[("\"1ms\"", think)], Some(0.6), 1_000_000));
    let (short, long) = (fcfs("\"1ms\""), fcfs("\"100s\""));
    near(short, 38.138_764, 0.07);
    near(long, 77.5, 0.12);
    let ps = |think: &'static str| {
        mean(&run("partly-open", &[("\"fcfs\"", "\"ps\""), ("\"1ms\"", think)], Some(0.6), 500_000))
    };
    near(ps("\"1ms\""), 25.0, 0.06);
    near(ps("\"100s\""), 25.0, 0.06);
}

#[test]
fn expected_size_policies_use_classes() {
    // PESJF with the phases of the distribution as classes, N = 100, load 0.7: a solved two-dimensional Markov chain.
    near(mean(&run("classes", &[], Some(0.7), 400_000)), 24.058_24, 0.05);
}
