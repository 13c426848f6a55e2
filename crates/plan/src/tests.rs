//! Tests of all solvers together: laws of queueing, refusals, the papers' tables, and simulation where there is no
//! oracle.

use offered_base::{Purpose, Seed};
use offered_distributions::Distribution;
use proptest::prelude::*;

use crate::closed::machine_repair::MachineRepair;
use crate::closed::multiclass::{self, Class};
use crate::closed::{bounds, mva, phases, priority, schweitzer};
use crate::emulate::OpenTraffic;
use crate::open::finite;
use crate::open::mg1::{Mg1, ServiceMoments};
use crate::open::mmm::Mmm;
use crate::open::size_based::{Policy, response};
use crate::partly_open::SessionStream;
use crate::web_users::Traffic;
use crate::{Error, Station, StationKind, jackson, load};
use offered_distributions::superposition;

fn paper() -> Vec<Station> {
    [0.05, 0.04, 0.03].map(|s| Station::queue("", s).unwrap()).to_vec()
}

fn near(found: f64, expected: f64, relative: f64) {
    assert!((found / expected - 1.0).abs() <= relative, "{found} is not {expected}");
}

/// Brady and Gunther's Tables 1a and 1b, every digit as printed: (N, Z, lambda, Q, Q/Z).
#[test]
fn schweitzer_reproduces_tables_1a_and_1b() {
    for (users, think, rate, queue, waiting) in [
        (100, 10.0, "9.80", "2.01", "0.20"),
        (200, 10.0, "18.46", "15.37", "1.54"),
        (400, 10.0, "19.95", "200.52", "20.05"),
        (600, 10.0, "19.98", "400.17", "40.02"),
        (800, 10.0, "19.99", "600.09", "60.01"),
        (1000, 10.0, "19.99", "800.05", "80.01"),
        (100, 5.0, "17.80", "11.02", "2.20"),
        (200, 10.0, "18.46", "15.37", "1.54"),
        (400, 20.0, "18.93", "21.38", "1.07"),
        (600, 30.0, "19.14", "25.95", "0.86"),
        (800, 40.0, "19.26", "29.78", "0.74"),
        (1000, 50.0, "19.34", "33.15", "0.66"),
    ] {
        let solution = schweitzer::solve(&paper(), users, think, 1e-3).unwrap();
        let found = [solution.throughput, solution.in_system, solution.in_system / think].map(|x| format!("{x:.2}"));
        assert_eq!(found, [rate, queue, waiting]);
    }
    // The exact solution reaches the plateau at 400 users; the approximation only at 800.
    near(mva::solve(&paper(), 400, 10.0).unwrap().throughput, 20.0, 1e-7);
}

/// Table 4, all seven rows as printed: lambda (obj/s), R (ms), then lambda (pgs/s), Q (pgs) and N' at Z' = 10, 20, .. 50 s.
#[test]
fn web_users_reproduce_table_4() {
    for (rate, response, pages, concurrency, users) in [
        (15.91, 53.17, "9.5460", "0.51", ["95.97", "191.43", "286.89", "382.35", "477.81"]),
        (31.73, 52.74, "19.0380", "1.00", ["191.38", "381.76", "572.14", "762.52", "952.90"]),
        (46.79, 54.06, "28.0740", "1.52", ["282.26", "563.00", "843.74", "1124.48", "1405.22"]),
        (60.26, 59.64, "36.1560", "2.16", ["363.72", "725.28", "1086.84", "1448.40", "1809.96"]),
        (77.56, 74.97, "46.5360", "3.49", ["468.85", "934.21", "1399.57", "1864.93", "2330.29"]),
        (118.03, 132.67, "70.8180", "9.40", ["717.58", "1425.76", "2133.94", "2842.12", "3550.30"]),
        (159.16, 253.38, "95.4960", "24.20", ["979.16", "1934.12", "2889.08", "3844.04", "4799.00"]),
    ] {
        let traffic = Traffic::new(rate, response / 1e3, 9, 15).unwrap();
        assert_eq!(format!("{:.4}", traffic.pages()), pages);
        assert_eq!(format!("{:.2}", traffic.concurrency()), concurrency);
        let found = [10.0, 20.0, 30.0, 40.0, 50.0].map(|z| format!("{:.2}", traffic.web_users(z).unwrap()));
        assert_eq!(found, users);
    }
}

/// Table 3: Q and N by Little's law, from Z and R (ms) and lambda.
#[test]
fn littles_law_reproduces_table_3() {
    for (think, rate, response, queue, users) in [
        (12500.0, 15.91, 53.17, "0.85", "199.72"),
        (6250.0, 31.73, 52.74, "1.67", "199.99"),
        (4200.0, 46.79, 54.06, "2.53", "199.05"),
        (3250.0, 60.26, 59.64, "3.59", "199.44"),
        (2500.0, 77.56, 74.97, "5.81", "199.71"),
        (1563.0, 118.03, 132.67, "15.66", "200.14"),
        (1000.0, 159.16, 253.38, "40.33", "199.49"),
    ] {
        let traffic = Traffic::new(rate, response / 1e3, 1, 1).unwrap();
        assert_eq!(format!("{:.2}", traffic.concurrency()), queue);
        assert_eq!(format!("{:.2}", traffic.web_users(think / 1e3).unwrap()), users);
    }
}

#[test]
fn principle_a_reproduces_the_papers_run() {
    let wanted = OpenTraffic::new(31.73, 0.053).unwrap();
    let plan = wanted.with_users(200).unwrap();
    near(plan.think, 200.0 / 31.73, 1e-12);
    near(plan.rate, plan.ratio - plan.in_system / plan.think, 1e-12);
    near(plan.rate * (plan.think + 0.053), 200.0, 1e-12);
    assert!((plan.exact_think.unwrap() + 0.053 - plan.think).abs() < 1e-12);
    // RoRT stays below its limit, and the CoV converges from 50 users on.
    let kept = wanted.with_rort(0.03).unwrap();
    assert!(kept.rort <= 0.03 && kept.users >= 50, "{kept:?}");
    let uniform = Distribution::uniform(0.0, 2.0 * kept.think).unwrap();
    assert!(kept.cov(&uniform).unwrap() > 0.989);
    assert!(OpenTraffic::new(20.0, 1.0).unwrap().within(0.05).is_ok(), "eqn 11 allows the bound, as Table 1b has it");
    assert_eq!(
        OpenTraffic::new(21.0, 1.0).unwrap().within(0.05),
        Err(Error::AboveBottleneck { rate: 21.0, max: 20.0 })
    );
    // Near saturation the gaps look Poisson and the counts do not.
    let launches = MachineRepair::new(1, 0.05, 200, 10.0).unwrap().request_stream().unwrap();
    assert!(launches.cov > 0.99 && launches.dispersion < 0.7, "{launches:?}");
}

/// Simulates users whose think times renew at random and measures the CoV of the merged gaps.
#[test]
fn superposition_cov_agrees_with_simulation() {
    for distribution in ["uniform:0s,2s", "erlang:1s,3", "exponential:1s", "lognormal:1s,2"] {
        let distribution: Distribution = distribution.parse().unwrap();
        for users in [2u64, 10, 50] {
            let mut launches = vec![];
            let horizon = 200_000.0 / users as f64;
            for user in 0..users {
                let mut think = Seed(7).at(Purpose::Think, user, 0);
                // The start is long before the window, so that the initial phase is forgotten.
                let mut at = -50.0 - distribution.mean() * think.uniform();
                while at < horizon {
                    if at >= 0.0 {
                        launches.push(at);
                    }
                    at += distribution.sample(&mut think);
                }
            }
            launches.sort_by(f64::total_cmp);
            let gaps: Vec<f64> = launches.windows(2).map(|w| w[1] - w[0]).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            near(variance.sqrt() / mean, superposition::cov(&distribution, users).unwrap(), 0.02);
        }
    }
}

#[test]
fn a_hundred_thousand_users_are_solved() {
    let stations: Vec<Station> = (0..50).map(|i| Station::queue("", 0.01 + f64::from(i) * 1e-4).unwrap()).collect();
    let solution = mva::solve(&stations, 100_000, 100.0).unwrap();
    near(solution.throughput, 1.0 / stations[49].service, 1e-9);
    near(solution.throughput * (100.0 + solution.response), 1e5, 1e-9);
    let multi =
        [Station::new("", 1.0, 0.2, StationKind::Queue { servers: 16 }).unwrap(), Station::queue("", 0.012).unwrap()];
    near(mva::solve(&multi, 100_000, 100.0).unwrap().throughput, 80.0, 1e-9);
    let machines = MachineRepair::new(4, 0.05, 100_000, 2000.0).unwrap();
    let answer = machines.solve();
    near(answer.throughput * (2000.0 + answer.response), 1e5, 1e-9);
    let p = machines.percentiles();
    assert!(p.p50 < p.p90 && p.p90 < p.p95 && p.p95 < p.p99);
    let h2 = Distribution::hyperexponential(0.01, 8.0).unwrap();
    assert!(phases::request_stream(&h2, 20_000, 150.0).unwrap().dispersion > 1.0);
}

#[test]
fn standard_deviations_agree_with_known_formulas() {
    let (mean, rate) = (0.01, 70.0);
    let exponential = Distribution::exponential(mean).unwrap();
    let (work, queue) = (ServiceMoments::of(&exponential), Mg1::new(&exponential, rate).unwrap());
    // M/M/1: exponential response under FCFS, a busy period under preemptive LCFS, Coffman, Muntz and Trotter's formula
    // under PS.
    near(work.fcfs_sdev(rate), mean / 0.3, 1e-12);
    near(Mmm::new(1, mean, rate).unwrap().sdev(), mean / 0.3, 1e-12);
    near(work.lcfs_preemptive_sdev(rate), mean * (1.7_f64 / 0.3_f64.powi(3)).sqrt(), 1e-12);
    near(queue.ps_sdev().unwrap(), mean / 0.3 * (2.7_f64 / 1.3).sqrt(), 1e-12);
    // The second moments of the waits under FCFS and LCFS have the ratio 1 - rho, whatever the service (Takacs 1963).
    for distribution in ["hyperexponential:10ms,8", "erlang:10ms,4", "constant:10ms", "lognormal:10ms,3"] {
        let distribution: Distribution = distribution.parse().unwrap();
        let (work, wait) =
            (ServiceMoments::of(&distribution), Mg1::new(&distribution, rate).unwrap().fcfs().unwrap() - mean);
        let squared = |sdev: f64| sdev * sdev - distribution.scv() * mean * mean + wait * wait;
        near(squared(work.fcfs_sdev(rate)), 0.3 * squared(work.lcfs_sdev(rate)), 1e-9);
    }
    // Very many users are an open stream, and a single phase is exponential.
    let many = MachineRepair::new(3, mean, 2_000_000, 10_000.0).unwrap();
    near(many.sdev(), Mmm::new(3, mean, 200.0).unwrap().sdev(), 1e-3);
    let few = MachineRepair::new(1, mean, 12, 0.1).unwrap();
    near(phases::response(&exponential, 12, 0.1).unwrap().sdev, few.sdev(), 1e-9);
    near(phases::response(&exponential, 12, 0.1).unwrap().mean, few.solve().response, 1e-9);
    let varied = Distribution::hyperexponential(mean, 8.0).unwrap();
    let (chain, means) = (phases::response(&varied, 12, 0.1).unwrap(), phases::solve(&varied, 12, 0.1).unwrap());
    near(chain.mean, means.response, 1e-9);
    // At nearly zero load requests do not meet, and hyperexponential tends to exponential as its C2 tends to 1.
    near(Mg1::new(&varied, 1e-6).unwrap().ps_sdev().unwrap(), mean * 8.0_f64.sqrt(), 1e-6);
    let nearly = Distribution::hyperexponential(mean, 1.0 + 1e-7).unwrap();
    near(Mg1::new(&nearly, rate).unwrap().ps_sdev().unwrap(), queue.ps_sdev().unwrap(), 1e-5);
}

#[test]
fn the_order_of_stations_does_not_matter() {
    let station =
        |servers: u32| Station::new("", 1.0, 0.1 * f64::from(servers), StationKind::Queue { servers }).unwrap();
    let delay = Station::new("", 1.0, 0.5, StationKind::Delay).unwrap();
    let network: Vec<Station> = [3, 1, 4, 2, 5].map(station).into_iter().chain([delay]).collect();
    let ordered = mva::solve(&network, 40, 1.0).unwrap();
    near(ordered.throughput * (1.0 + ordered.response), 40.0, 1e-12);
    near(ordered.stations.iter().map(|s| s.residence).sum(), ordered.response, 1e-12);
    for turn in 1..network.len() {
        let mut turned = network.clone();
        turned.rotate_left(turn);
        let other = mva::solve(&turned, 40, 1.0).unwrap();
        for (place, here) in other.stations.iter().enumerate() {
            near(here.residence, ordered.stations[(place + turn) % network.len()].residence, 1e-12);
        }
    }
    near(mva::solve(&network, 1, 1.0).unwrap().response, 2.0, 1e-12);
}

#[test]
fn errors_are_one_line() {
    let distribution = |text: &str| text.parse::<Distribution>().unwrap();
    let refusals = [
        mva::solve(&[], 1, 1.0).unwrap_err(),
        mva::solve(&paper(), 0, 1.0).unwrap_err(),
        mva::solve(&paper(), 1, -1.0).unwrap_err(),
        mva::solve(&paper(), 1, f64::NAN).unwrap_err(),
        Station::queue("x", 0.0).unwrap_err(),
        Station::new("x", 1.0, 1.0, StationKind::Queue { servers: 0 }).unwrap_err(),
        schweitzer::solve(&paper(), 10, 1.0, 0.0).unwrap_err(),
        schweitzer::solve(&[Station::new("x", 1.0, 1.0, StationKind::Queue { servers: 2 }).unwrap()], 10, 1.0, 1e-3)
            .unwrap_err(),
        bounds::bounds(&[Station::new("x", 1.0, 1.0, StationKind::Delay).unwrap()], 10, 1.0).unwrap_err(),
        Mmm::new(2, 0.1, 20.0).unwrap_err(),
        Mmm::new(0, 0.1, 2.0).unwrap_err(),
        Mg1::new(&distribution("exponential:1s"), 1.0).unwrap_err(),
        Mg1::new(&distribution("pareto:1s,1.5"), 0.1).unwrap().fcfs().unwrap_err(),
        response(&distribution("pareto:1s,1.5"), 0.1, Policy::Sjf).unwrap_err(),
        response(&distribution("exponential:1s"), 1.5, Policy::Srpt).unwrap_err(),
        finite::solve(4, 3, 1.0, 1.0).unwrap_err(),
        SessionStream::new(1.0, 1.0).unwrap_err(),
        SessionStream::new(0.0, 0.5).unwrap_err(),
        load::open_rate(1.0, 1, 1.0).unwrap_err(),
        load::closed_think(0.9, 8, 1.0, 4, |_| Ok(4.0)).unwrap_err(),
        phases::solve(&distribution("lognormal:1s,2"), 10, 1.0).unwrap_err(),
        priority::preemptive(1.0, 1.0, 2.0, 10, 1.0).unwrap_err(),
        priority::preemptive(0.5, 1.0, 2.0, 100_000, 1.0).unwrap_err(),
        multiclass::exact(&[], &[], 10).unwrap_err(),
        OpenTraffic::new(-1.0, 1.0).unwrap_err(),
        OpenTraffic::new(1.0, 1.0).unwrap().with_rort(1.0).unwrap_err(),
        Traffic::new(1.0, 1.0, 1, 0).unwrap_err(),
        jackson::solve(&paper(), 21.0).unwrap_err(),
    ];
    for refusal in refusals {
        let line = refusal.to_string();
        assert!(!line.contains('\n') && line.len() > 20 && !line.contains("Error"), "{line}");
    }
}

#[test]
fn multiclass_exact_respects_its_budget_and_schweitzer_is_close() {
    let class =
        |users, think, demands: [f64; 2]| Class { name: String::new(), users, think, demands: demands.to_vec() };
    let classes = [class(40, 4.0, [0.05, 0.04]), class(20, 6.0, [0.01, 0.08])];
    assert_eq!(multiclass::exact(&classes, &[1, 1], 860), Err(Error::TooManyStates { states: 861.0, budget: 860 }));
    let exact = multiclass::exact(&classes, &[1, 1], 861).unwrap();
    let approximate = multiclass::schweitzer(&classes, &[1, 1], 1e-10).unwrap();
    for c in 0..2 {
        near(approximate.throughput[c], exact.throughput[c], 0.05);
    }
    // With one class the result is that of the one-class solver.
    let alone = multiclass::exact(&classes[..1], &[1, 1], 1000).unwrap();
    let stations = [0.05, 0.04].map(|d| Station::queue("", d).unwrap());
    near(alone.throughput[0], mva::solve(&stations, 40, 4.0).unwrap().throughput, 1e-12);
}

#[test]
fn closed_think_is_exact_where_users_never_wait() {
    // As many servers as users: X = N / (Z + S), the end of the bracket itself.
    for step in 1..1000 {
        let rho = f64::from(step) / 1000.0;
        let think =
            load::closed_think(rho, 2, 0.1, 2, |z| Ok(MachineRepair::new(2, 0.1, 2, z)?.solve().throughput)).unwrap();
        near(think, 0.1 / rho - 0.1, 1e-9);
    }
}

proptest! {
    #[test]
    fn mva_obeys_littles_law_and_the_bounds(
        demands in prop::collection::vec((0.001f64..1.0, 0u32..5), 1..6), users in 1u64..300, think in 0.0f64..20.0,
    ) {
        let station = |(d, m): &(f64, u32)| {
            Station::new("", 1.0, *d, if *m == 0 { StationKind::Delay } else { StationKind::Queue { servers: *m } }).unwrap()
        };
        let stations: Vec<Station> = demands.iter().map(station).collect();
        let solution = mva::solve(&stations, users, think).unwrap();
        // The residences come from one recursion and X from another; together they must account for all N users.
        prop_assert!((solution.throughput * (think + solution.response) / users as f64 - 1.0).abs() < 1e-9);
        prop_assert!(solution.stations.iter().all(|s| s.residence > 0.0 && s.in_system >= 0.0));
        if let Ok(bounds) = bounds::bounds(&stations, users, think) {
            prop_assert!(solution.throughput <= bounds.throughput * (1.0 + 1e-9));
            prop_assert!(solution.response >= bounds.response * (1.0 - 1e-9));
        }
    }

    #[test]
    fn all_solvers_agree_on_one_exponential_server(users in 1u64..150, think in 0.01f64..20.0, service in 0.01f64..0.5) {
        let machines = MachineRepair::new(1, service, users, think).unwrap().solve();
        let network = mva::solve(&[Station::queue("", service).unwrap()], users, think).unwrap();
        let chain = phases::solve(&Distribution::exponential(service).unwrap(), users, think).unwrap();
        for found in [network.throughput, chain.throughput] {
            prop_assert!((found / machines.throughput - 1.0).abs() < 1e-9);
        }
        for found in [network.in_system, chain.in_system] {
            prop_assert!((found / machines.in_system - 1.0).abs() < 1e-8);
        }
    }

    #[test]
    fn closed_think_produces_its_load(users in 2u64..200, rho in 0.05f64..0.95, servers in 1u32..3) {
        let throughput = |z: f64| Ok(MachineRepair::new(servers, 0.1, users, z)?.solve().throughput);
        if let Ok(think) = load::closed_think(rho, servers, 0.1, users, throughput) {
            let reached = throughput(think).unwrap() * 0.1 / f64::from(servers);
            prop_assert!((reached / rho - 1.0).abs() < 1e-9, "{reached} for {rho}");
        }
    }

    #[test]
    fn srpt_is_optimal(rho in 0.05f64..0.95, scv in 1.0f64..20.0) {
        let distribution = Distribution::hyperexponential(1.0, scv).unwrap();
        let best = response(&distribution, rho, Policy::Srpt).unwrap();
        for policy in [Policy::Psjf, Policy::Sjf, Policy::Ljf, Policy::Pljf, Policy::Fb] {
            prop_assert!(response(&distribution, rho, policy).unwrap() >= best * (1.0 - 1e-9));
        }
        let queue = Mg1::new(&distribution, rho).unwrap();
        prop_assert!(queue.ps() >= best && queue.fcfs().unwrap() >= best);
    }

    #[test]
    fn many_atoms_approximate_a_density(rho in 0.1f64..0.9) {
        // A uniform distribution on a grid of 1000 atoms, and the continuous uniform distribution.
        let grid = Distribution::empirical((0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0).collect()).unwrap();
        let smooth = Distribution::uniform(0.0, 1.0).unwrap();
        for policy in [Policy::Srpt, Policy::Psjf, Policy::Sjf, Policy::Ljf, Policy::Pljf, Policy::Fb] {
            let (a, b) = (response(&grid, 2.0 * rho, policy).unwrap(), response(&smooth, 2.0 * rho, policy).unwrap());
            prop_assert!((a / b - 1.0).abs() < 3e-3, "{policy:?}: {a} {b}");
        }
    }

    #[test]
    fn more_users_approach_the_target_rate(users in 2u64..5000) {
        let wanted = OpenTraffic::new(20.0, 0.2).unwrap();
        let (fewer, more) = (wanted.with_users(users).unwrap(), wanted.with_users(users + 1).unwrap());
        prop_assert!(more.rate > fewer.rate && more.rate < 20.0 && more.rort < fewer.rort);
        let cov = |e: &crate::emulate::Emulation| e.cov(&Distribution::uniform(0.0, 2.0 * e.think).unwrap()).unwrap();
        prop_assert!(cov(&more) > cov(&fewer) && cov(&more) < 1.0);
    }
}

/// Analyses a workload text; adds the duration.
fn solved(text: &str) -> crate::analytic::Analysis {
    let text = format!("duration = \"1m\"\n{text}");
    let workload = offered_workload::Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    crate::analytic::analyse(&workload, None).unwrap()
}

#[test]
fn users_without_think_time_keep_servers_busy_under_every_policy() {
    for (discipline, servers, response) in [("srpt", 1, 0.2), ("rr:10ms", 1, 0.2), ("fcfs", 4, 0.05), ("sjf", 30, 0.01)]
    {
        let answer = solved(&format!(
            "arrivals.closed = {{ users = 20, think = {{ constant = \"0s\" }} }}\n[server]\nservers = {servers}\n\
             discipline = \"{discipline}\"\nservice = {{ lognormal = {{ mean = \"10ms\", scv = 4 }} }}\n"
        ));
        near(
            answer.steady_state.unwrap_or_else(|| panic!("{discipline}: {}", answer.assumption)).response,
            response,
            1e-12,
        );
    }
}

#[test]
fn fcfs_merges_exponential_classes_into_one_hyperexponential() {
    let arrivals = "arrivals.closed = { users = 30, think = { exponential = \"200ms\" } }\n";
    let server = "[server]\nservice = { hyperexponential = { mean = \"10ms\", scv = 5, p = 0.8 } }\n";
    let one = solved(&format!("{arrivals}{server}"));
    let distribution = Distribution::hyperexponential_with(0.01, 5.0, 0.8).unwrap();
    let offered_distributions::Shape::Hyperexponential { first, second, .. } = distribution.shape() else {
        panic!("{distribution}")
    };
    let class = |weight: f64, mean: f64| {
        format!(
            "[[request]]\nget = \"/{weight}\"\nweight = {weight}\nservice = {{ exponential = \"{:.0}ns\" }}\n",
            mean * 1e9
        )
    };
    // The longer phase as two classes of equal mean.
    let classes = format!("{}{}{}", class(0.8, *first), class(0.15, *second), class(0.05, *second));
    let many = solved(&format!("{arrivals}[server]\nservice = {{ exponential = \"10ms\" }}\n{classes}"));
    near(many.steady_state.unwrap().response, one.steady_state.unwrap().response, 1e-6);
}

#[test]
fn infinite_mean_responses_are_reported_as_infinite() {
    let answer = |discipline: &str| {
        solved(&format!(
            "arrivals.open.rate = \"50/s\"\n[server]\ndiscipline = \"{discipline}\"\nservice = {{ pareto = {{ min = \"4ms\", shape = 1.5 }} }}\n"
        ))
    };
    for discipline in ["fcfs", "lcfs", "sjf", "ljf", "pljf"] {
        let found = answer(discipline);
        assert_eq!(found.steady_state.as_ref().map(|known| known.response), Some(f64::INFINITY), "{discipline}");
        assert!(
            found.assumption.contains("second moment of the service is infinite"),
            "{discipline}: {}",
            found.assumption
        );
    }
    for discipline in ["ps", "srpt", "psjf", "fb", "lcfs-preemptive"] {
        assert!(answer(discipline).steady_state.unwrap().response.is_finite(), "{discipline}");
    }
}
