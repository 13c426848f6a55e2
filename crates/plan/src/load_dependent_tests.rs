//! Load-dependent rates against chains solved as linear equations, and against a textbook.

use offered_workload::{Rates, Workload};

use crate::closed::{self, mva};
use crate::open::{load_dependent as open, mmm::Mmm};
use crate::{Error, Station, StationKind, analytic, jackson};

/// Stationary probabilities of the chain with these rates from state to state, by elimination.
fn stationary(states: usize, rate: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    // Balance of each state but the last, and the sum.
    let mut rows: Vec<Vec<f64>> = (0..states)
        .map(|to| {
            let out: f64 = (0..states).filter(|from| *from != to).map(|other| rate(to, other)).sum();
            let into = |from: usize| if from == to { -out } else { rate(from, to) };
            (0..states).map(into).chain([0.0]).collect()
        })
        .collect();
    rows[states - 1] = vec![1.0; states + 1];
    for i in 0..states {
        let pivot = (i..states).max_by(|a, b| rows[*a][i].abs().total_cmp(&rows[*b][i].abs())).unwrap();
        rows.swap(i, pivot);
        let row = rows[i].clone();
        for (_, other) in rows.iter_mut().enumerate().filter(|(j, _)| *j != i) {
            let by = other[i] / row[i];
            other.iter_mut().zip(&row).for_each(|(a, b)| *a -= by * b);
        }
    }
    (0..states).map(|i| rows[i][states] / rows[i][i]).collect()
}

fn table(rates: &[f64]) -> Rates {
    Rates::table(rates.to_vec()).unwrap()
}

#[track_caller]
fn near(found: f64, truth: f64) {
    assert!((found / truth - 1.0).abs() < 1e-10, "{found} instead of {truth}");
}

/// Rates that rise and fall, so that the number of requests has two modes.
const UNEVEN: [f64; 6] = [1.0, 2.5, 0.7, 0.6, 3.0, 1.5];

#[test]
fn a_station_with_a_capacity_is_its_chain() {
    let (service, rate, capacity) = (0.1, 14.0, 9usize);
    let mu = |n: usize| UNEVEN[n.min(UNEVEN.len()) - 1] / service;
    let p = stationary(capacity + 1, |from, to| match to as i64 - from as i64 {
        1 => rate,
        -1 => mu(from),
        _ => 0.0,
    });
    let found = open::solve(&table(&UNEVEN), Some(capacity as u64), service, rate).unwrap();
    near(found.rejected_share, p[capacity]);
    near(found.throughput, rate * (1.0 - p[capacity]));
    near(found.in_system, p.iter().enumerate().map(|(n, p)| n as f64 * p).sum());
    near(found.response, found.in_system / found.throughput);
    // Users who think.
    let (users, think) = (12usize, 0.4);
    for room in [users, 7] {
        let p = stationary(room + 1, |from, to| match to as i64 - from as i64 {
            1 => (users - from) as f64 / think,
            -1 => mu(from),
            _ => 0.0,
        });
        let sent: f64 = p.iter().enumerate().map(|(n, p)| (users - n) as f64 / think * p).sum();
        let lost = if room < users { (users - room) as f64 / think * p[room] } else { 0.0 };
        let rates = table(&UNEVEN);
        let found = closed::load_dependent::solve(&rates, Some(room as u64), service, users as u64, think).unwrap();
        near(found.throughput, sent - lost);
        near(found.in_system, p.iter().enumerate().map(|(n, p)| n as f64 * p).sum());
        assert!((found.rejected_share - lost / sent).abs() < 1e-12);
    }
}

#[test]
fn an_unlimited_station_is_the_limit_of_large_capacities() {
    for (rates, rate) in [
        (table(&UNEVEN), 14.0),
        (table(&[2.0]), 19.9),
        (Rates::scalability(0.1, 0.0).unwrap(), 60.0),
        (Rates::scalability(0.0, 0.0).unwrap(), 300.0),
        (Rates::scalability(0.02, 0.01).unwrap().up_to(8), 30.0),
    ] {
        let found = open::solve(&rates, None, 0.1, rate).unwrap();
        let large = open::solve(&rates, Some(20_000), 0.1, rate).unwrap();
        near(found.in_system, large.in_system);
        near(found.throughput, rate);
    }
}

#[test]
fn special_cases_are_those_of_other_solvers() {
    for servers in [1, 3] {
        let found = open::solve(&Rates::servers(servers), None, 0.1, 9.0).unwrap();
        near(found.response, Mmm::new(servers, 0.1, 9.0).unwrap().response());
    }
    // A server for each request.
    near(open::solve(&Rates::scalability(0.0, 0.0).unwrap(), None, 0.1, 300.0).unwrap().response, 0.1);
    // Amdahl's law with contention 1 is one server.
    near(open::solve(&Rates::scalability(1.0, 0.0).unwrap(), None, 0.1, 9.0).unwrap().response, 1.0);
    // N users and m servers.
    let machines = closed::machine_repair::MachineRepair::new(4, 0.1, 60, 1.0).unwrap().solve();
    near(closed::load_dependent::solve(&Rates::servers(4), None, 0.1, 60, 1.0).unwrap().response, machines.response);
    // All users are always there.
    let busy = closed::load_dependent::solve(&table(&UNEVEN), None, 0.1, 5, 0.0).unwrap();
    assert_eq!((busy.throughput, busy.in_system), (30.0, 5.0));
}

#[test]
fn systems_without_a_steady_state_are_refused() {
    let falls = Rates::scalability(0.02, 0.001).unwrap();
    let error = open::solve(&falls, None, 0.1, 0.5).unwrap_err().to_string();
    assert!(error.contains("falls towards zero") && error.contains("capacity"), "{error}");
    assert!(matches!(open::solve(&table(&[1.0, 9.0, 2.0]), None, 0.1, 20.0), Err(Error::Overload { load: 1.0 })));
    let endless = closed::load_dependent::solve(&falls, Some(3), 0.1, 5, 0.0).unwrap_err().to_string();
    assert!(endless.contains("add a think time"), "{endless}");
}

fn station(visits: f64, service: f64, rates: &[f64]) -> Station {
    Station::new("", visits, service, StationKind::LoadDependent(table(rates))).unwrap()
}

/// Bolch, Greiner, de Meer and Trivedi, Queueing Networks and Markov Chains (1998), example 8.7: N = 3, and the second and the third station
/// have half of the visits each.
#[test]
fn an_example_of_bolch_is_met() {
    let stations = [
        station(1.0, 1.0 / 2.0, &[1.0, 2.0, 2.0]),
        station(0.5, 1.0 / 1.667, &[1.0]),
        station(0.5, 1.0 / 1.25, &[1.0, 1.0]),
        station(1.0, 1.0, &[1.0, 2.0, 3.0]),
    ];
    let found = mva::solve(&stations, 3, 0.0).unwrap();
    for (station, (number, response)) in
        found.stations.iter().zip([(0.624, 0.512), (0.473, 0.776), (0.686, 1.127), (1.217, 1.0)])
    {
        assert!((station.in_system - number).abs() < 1e-3, "{station:?}");
        assert!((station.in_system / station.throughput - response).abs() < 1e-3, "{station:?}");
    }
}

#[test]
fn a_closed_network_is_its_chain() {
    let users = 7usize;
    let (services, think) = ([0.3, 0.2, 0.25], 0.5);
    let rates: [&[f64]; 3] = [&UNEVEN, &[1.0, 1.0, 2.0, 0.5], &[1.0]];
    // Users at the first, the second and the third station; the others think. Each visits them in turn.
    let states: Vec<[usize; 3]> = (0..=users)
        .flat_map(|a| (0..=users - a).flat_map(move |b| (0..=users - a - b).map(move |c| [a, b, c])))
        .collect();
    let mu = |k: usize, n: usize| if n == 0 { 0.0 } else { rates[k][n.min(rates[k].len()) - 1] / services[k] };
    let p = stationary(states.len(), |from, to| {
        let (from, to) = (states[from], states[to]);
        let moved = |change: [i64; 3]| (0..3).all(|k| to[k] as i64 - from[k] as i64 == change[k]);
        let thinking = users - from.iter().sum::<usize>();
        let moves = [
            ([1, 0, 0], thinking as f64 / think),
            ([-1, 1, 0], mu(0, from[0])),
            ([0, -1, 1], mu(1, from[1])),
            ([0, 0, -1], mu(2, from[2])),
        ];
        moves.into_iter().filter(|(change, _)| moved(*change)).map(|(_, rate)| rate).sum()
    });
    let mean =
        |value: &dyn Fn([usize; 3]) -> f64| states.iter().zip(&p).map(|(state, p)| value(*state) * p).sum::<f64>();
    let stations: Vec<Station> = services.iter().zip(rates).map(|(s, rates)| station(1.0, *s, rates)).collect();
    let found = mva::solve(&stations, users as u64, think).unwrap();
    near(found.throughput, mean(&|at| mu(2, at[2])));
    for (k, station) in found.stations.iter().enumerate() {
        near(station.in_system, mean(&|at| at[k] as f64));
    }
}

/// Where "1 minus the other probabilities" goes negative.
#[test]
fn saturated_networks_are_stable() {
    let rates: Vec<f64> = (1..=64).map(|n| f64::from(n) / (1.0 + 0.01 * f64::from(n - 1))).collect();
    let stations = [station(1.0, 1.0, &rates), station(1.0, 0.02, &[1.0])];
    let users = 2_000;
    let found = mva::solve(&stations, users, 10.0).unwrap();
    near(found.stations.iter().map(|s| s.in_system).sum::<f64>() + 10.0 * found.throughput, users as f64);
    near(found.throughput, rates[63]);
    let law = Station::new("", 1.0, 1.0, StationKind::LoadDependent(Rates::scalability(0.02, 1e-5).unwrap())).unwrap();
    let error = mva::solve(&[law], 100_000, 1.0).unwrap_err().to_string();
    assert!(error.contains("at most 20000 users"), "{error}");
}

#[test]
fn stations_of_an_open_network_are_alone() {
    let stations = [station(2.0, 0.05, &UNEVEN), Station::queue("", 0.01).unwrap()];
    let found = jackson::solve(&stations, 7.0).unwrap();
    near(found.stations[0].residence, 2.0 * open::solve(&table(&UNEVEN), None, 0.05, 14.0).unwrap().response);
}

#[test]
fn workloads_are_solved_or_refused_with_the_reason() {
    let solve = |text: &str| {
        let workload =
            Workload::parse(&format!("duration = \"10s\"\n{text}"), "w.toml", &|_| Err(String::new())).unwrap();
        analytic::analyse(&workload, None)
    };
    let open = "arrivals.open.rate = \"50/s\"\n[server]\n";
    let h2 = "service = { hyperexponential = { mean = \"20ms\", scv = 4 } }\n";
    let law = "rates = { contention = 0.1 }\n";
    let ps = solve(&format!("{open}discipline = \"ps\"\n{h2}{law}")).unwrap();
    let exponential = solve(&format!("{open}service.exponential = \"20ms\"\n{law}")).unwrap();
    let [ps, exponential] = [ps, exponential].map(|found| found.steady_state.unwrap());
    near(ps.response, exponential.response);
    near(ps.utilisation, 50.0 * 0.02 / 10.0);
    for (text, reason) in [
        (format!("{open}{h2}{law}"), "load-dependent rates with this service distribution under fcfs"),
        (format!("{open}discipline = \"srpt\"\nservice.exponential = \"1ms\"\n{law}"), "under srpt"),
        (
            format!("arrivals.open = {{ rate = \"9/s\", batch = 3 }}\n[server]\nservice.exponential = \"1ms\"\n{law}"),
            "single requests",
        ),
        (
            "arrivals.closed = { users = 9, think.constant = \"1s\" }\n[server]\ncapacity = 2\nservice.exponential = \"1ms\"\n"
                .to_owned(),
            "think time must be exponential",
        ),
    ] {
        let found = solve(&text).unwrap();
        assert!(found.steady_state.is_none() && found.assumption.contains(reason), "{text}: {}", found.assumption);
    }
    // Engset: the shares of a loss system are those of any service distribution.
    let engset = |service: &str| {
        let text = format!(
            "arrivals.closed = {{ users = 9, think.exponential = \"1s\" }}\n[server]\nservers = 2\ncapacity = 2\n{service}"
        );
        solve(&text).unwrap().steady_state.unwrap()
    };
    let (any, known) = (engset("service.constant = \"300ms\""), engset("service.exponential = \"300ms\""));
    near(any.rejected_share.unwrap(), known.rejected_share.unwrap());
    // A pool of one thread makes a request wait, so that the distribution matters.
    for arrivals in ["closed = { users = 9, think.exponential = \"1s\" }", "open.rate = \"9/s\""] {
        let pool = solve(&format!(
            "arrivals.{arrivals}\n[server]\nservers = 2\ncapacity = 2\ndiscipline = \"ps:1:priority\"\nservice.constant = \"300ms\"\n"
        ));
        assert!(pool.unwrap().steady_state.is_none(), "{arrivals}");
    }
    // A load of half the rate that lasts, by the number of users.
    let workload = Workload::parse(
        "duration = \"10s\"\narrivals.closed = { users = 30, think.exponential = \"1s\" }\n[server]\ndiscipline = \"ps\"\nservice.constant = \"20ms\"\nrates = { contention = 0.05, coherency = 0.01 }",
        "w.toml",
        &|_| Err(String::new()),
    )
    .unwrap();
    let half = analytic::analyse(&workload, Some(0.5)).unwrap().steady_state.unwrap();
    let most = Rates::scalability(0.05, 0.01).unwrap().lasting(Some(30));
    assert!((half.throughput * 0.02 / most - 0.5).abs() < 1e-9 && (half.utilisation - 0.5).abs() < 1e-9);
}

fn solved(text: &str) -> analytic::SteadyState {
    let workload = Workload::parse(&format!("duration = \"10s\"\n{text}"), "w.toml", &|_| Err(String::new())).unwrap();
    let found = analytic::analyse(&workload, None).unwrap();
    found.steady_state.unwrap_or_else(|| panic!("{text}: {}", found.assumption))
}

const STATIONS: &str = "[[station]]\nname = \"web\"\nservice.exponential = \"20ms\"\n\
                        [[station]]\nname = \"db\"\nservice.exponential = \"30ms\"\n";

fn region(capacity: u64, when_full: &str) -> String {
    format!(
        "[[region]]\nname = \"pool\"\nstations = [\"web\", \"db\"]\ncapacity = {capacity}\nwhen_full = \"{when_full}\"\n"
    )
}

/// Two stations in series with at most four requests: the states are the numbers at both.
#[test]
fn a_network_that_rejects_requests_is_its_chain() {
    let (rate, capacity) = (30.0, 4usize);
    let states: Vec<[usize; 2]> = (0..=capacity).flat_map(|a| (0..=capacity - a).map(move |b| [a, b])).collect();
    let busy = |n: usize, rate: f64| if n > 0 { rate } else { 0.0 };
    let p = stationary(states.len(), |from, to| {
        let (from, to) = (states[from], states[to]);
        match [to[0] as i64 - from[0] as i64, to[1] as i64 - from[1] as i64] {
            [1, 0] => rate,
            [-1, 1] => busy(from[0], 50.0),
            [0, -1] => busy(from[1], 1.0 / 0.03),
            _ => 0.0,
        }
    });
    let mean = |value: &dyn Fn([usize; 2]) -> f64| states.iter().zip(&p).map(|(at, p)| value(*at) * p).sum::<f64>();
    let found = solved(&format!("arrivals.open.rate = \"30/s\"\n{STATIONS}{}", region(4, "reject")));
    near(found.rejected_share.unwrap(), mean(&|at| f64::from(u8::from(at[0] + at[1] == capacity))));
    near(found.throughput, mean(&|at| busy(at[1], 1.0 / 0.03)));
    near(found.in_system, mean(&|at| (at[0] + at[1]) as f64));
    for (k, station) in found.stations.iter().enumerate() {
        near(station.in_system, mean(&|at| at[k] as f64));
    }
    assert!(!found.is_approximation);
}

#[test]
fn regions_with_room_or_one_exponential_station_change_nothing() {
    let closed = "arrivals.closed = { users = 20, think.exponential = \"100ms\" }\n";
    let plain = solved(&format!("{closed}{STATIONS}"));
    for more in [region(20, "wait"), region(20, "reject"), "capacity = 4\nwhen_full = \"wait\"\n".to_owned()] {
        let found = solved(&format!("{closed}{STATIONS}{more}"));
        near(found.response, plain.response);
        assert!(!found.is_approximation, "{more}");
    }
    // Nine of twelve requests at the first station wait before it rather than in it.
    let found = solved(&format!("{closed}{STATIONS}capacity = 4\nwhen_full = \"wait\"\n"));
    let [_, waiting, inside] = &found.stations[..] else { panic!("{:?}", found.stations) };
    assert!(waiting.name == "db (waiting)" && inside.in_system < 4.0, "{:?}", found.stations);
    near(waiting.in_system + inside.in_system, plain.stations[1].in_system);
}

/// A full pool serves at its own rate; with one place it is one server whose service is that of both stations.
#[test]
fn pools_are_flow_equivalent_servers() {
    let closed = "arrivals.closed = { users = 300, think.exponential = \"100ms\" }\n";
    for capacity in [1, 3, 10] {
        let found = solved(&format!("{closed}{STATIONS}{}", region(capacity, "wait")));
        assert!(found.is_approximation);
        let pool = [Station::queue("web", 0.02).unwrap(), Station::queue("db", 0.03).unwrap()];
        near(found.throughput, mva::solve(&pool, capacity, 0.0).unwrap().throughput);
        let inside: f64 = found.stations[1..].iter().map(|station| station.in_system).sum();
        near(inside, capacity as f64);
        near(found.response, 300.0 / found.throughput - 0.1);
    }
    // A pool inside of a pool: the inner one has the smaller capacity, so the outer one has waiting requests of its own only.
    let nested = format!(
        "{}[[region]]\nname = \"inner\"\nstations = [\"db\"]\ncapacity = 2\nwhen_full = \"wait\"\n",
        region(5, "wait")
    );
    let (found, one) =
        (solved(&format!("{closed}{STATIONS}{nested}")), solved(&format!("{closed}{STATIONS}{}", region(5, "wait"))));
    let names: Vec<&str> = found.stations.iter().map(|station| station.name.as_str()).collect();
    assert_eq!(names, ["pool (waiting)", "web", "inner (waiting)", "db"]);
    near(found.throughput, one.throughput);
    near(found.stations[2].in_system + found.stations[3].in_system, one.stations[2].in_system);
    assert_eq!(found.stations[3].in_system.max(2.0), 2.0);
    near(found.stations.iter().map(|station| station.in_system).sum(), found.in_system);
}

#[test]
fn regions_without_a_solution_are_refused_with_the_reason() {
    let analysis = |text: &str| {
        let workload =
            Workload::parse(&format!("duration = \"10s\"\n{text}"), "w.toml", &|_| Err(String::new())).unwrap();
        analytic::analyse(&workload, None)
    };
    let open = "arrivals.open.rate = \"30/s\"\n";
    for (text, reason) in [
        (format!("{open}{STATIONS}capacity = 4\n"), "`db` rejects requests in a part of the network"),
        (
            format!("{open}{}{}", STATIONS.replace("exponential = \"30ms\"", "constant = \"30ms\""), region(4, "wait")),
            "no product form",
        ),
        (
            format!(
                "{open}{}{}",
                STATIONS
                    .replace("exponential = \"20ms\"", "erlang = { mean = \"20ms\", stages = 2 }")
                    .replace("\"web\"\n", "\"web\"\ndiscipline = \"ps\"\n"),
                region(4, "wait")
            ),
            "the service of station `web` is not exponential",
        ),
        (
            format!("arrivals.partly_open = {{ rate = \"9/s\", stay = 0.5 }}\n{STATIONS}{}", region(4, "reject")),
            "partly-open",
        ),
    ] {
        let found = analysis(&text).unwrap();
        assert!(found.steady_state.is_none() && found.assumption.contains(reason), "{text}: {}", found.assumption);
    }
    let error = analysis(&format!("{open}{STATIONS}{}", region(1, "wait"))).unwrap_err().to_string();
    assert!(error.contains("`pool` with a capacity of 1 completes at most 20.0000/s, and 30.0000/s arrive"), "{error}");
    let error = analysis(&format!("{open}{STATIONS}{}", region(5_000, "wait"))).unwrap_err().to_string();
    assert!(error.contains("at most 2000"), "{error}");
}

#[test]
fn the_numbers_of_a_random_population_are_a_weighted_mean() {
    let stations = [
        Station::queue("web", 0.02).unwrap(),
        Station::new("app", 1.0, 0.07, StationKind::Queue { servers: 3 }).unwrap(),
        Station::new("mail", 1.0, 0.1, StationKind::Delay).unwrap(),
        Station::queue("db", 0.03).unwrap(),
    ];
    let weights = [0.2, 0.0, 0.4, 0.1, 0.05, 0.15];
    let mixed = mva::mixed_occupancies(&stations, &weights).unwrap();
    for (place, number) in mixed.iter().enumerate() {
        let with = |users: u64| mva::solve(&stations, users, 0.0).unwrap().stations[place].in_system;
        near(number.mean(), (1..).zip(weights).map(|(users, weight)| weight * with(users)).sum());
        near(number.p.iter().sum::<f64>() + number.more, 0.9);
    }
    let idle = |users: u64| mva::occupancy(&stations, users, 0.0, 1).unwrap().p[0];
    near(mixed[1].p[0], (1..).zip(weights).map(|(users, weight)| weight * idle(users)).sum());
}
