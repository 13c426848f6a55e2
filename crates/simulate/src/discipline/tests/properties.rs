//! Properties that hold on every trace.

use proptest::prelude::*;

use super::*;

/// Up to 60 jobs with ties, zero sizes, idle times and three classes; instants and sizes in milliseconds and a few odd
/// nanoseconds.
fn traces() -> impl Strategy<Value = Vec<Job>> {
    let job = (0u64..6_000_000, prop_oneof![Just(0u64), 1u64..4, 1_000_000u64..9_000_000], 0u16..3);
    prop::collection::vec(job, 1..60).prop_map(|jobs| {
        let mut now = 0;
        let each = jobs.into_iter().enumerate().map(|(id, (gap, size, class))| {
            // A third of the jobs arrive together with the previous one.
            now += if gap % 3 == 0 { 0 } else { gap };
            Job { id: id as u64, class, size: Nanos(size), arrived: Instant(now), tokens: JobTokens::default() }
        });
        each.collect()
    })
}

fn total_response(done: &[(Instant, Job)]) -> u64 {
    done.iter().map(|(at, job)| job.arrived.until(*at).0).sum()
}

/// The end of every busy period that is followed by at least half a microsecond of idleness.
fn ends_of_busy_periods(done: &[(Instant, Job)], jobs: &[Job]) -> Vec<Instant> {
    let ends = done.iter().enumerate().filter(|(i, (at, _))| {
        let arrivals = jobs.partition_point(|job| job.arrived <= *at + Nanos(500));
        arrivals == i + 1
    });
    ends.map(|(_, (at, _))| *at).collect()
}

proptest! {
    #[test]
    fn every_job_completes_and_takes_at_least_its_size(jobs in traces()) {
        for (name, mut server) in all() {
            let done = run(&mut *server, &jobs);
            let mut ids: Vec<u64> = done.iter().map(|(_, job)| job.id).collect();
            ids.sort_unstable();
            prop_assert_eq!(ids, (0..jobs.len() as u64).collect::<Vec<_>>(), "{}", name);
            prop_assert!(done.is_sorted_by_key(|(at, _)| *at), "{} completes jobs out of time order", name);
            for (at, job) in &done {
                prop_assert!(*at - job.arrived >= job.size.into(), "{} served {:?} in {:?}", name, job, *at - job.arrived);
            }
        }
    }

    #[test]
    fn all_disciplines_have_the_same_busy_periods(jobs in traces()) {
        // Work conservation: the work left does not depend on the order of service. Sharing rounds each completion up to
        // the nanosecond, so its busy periods may end a nanosecond late; whole microseconds keep that from joining two.
        let whole = |ns: u64| ns.next_multiple_of(1000);
        let round = |job: Job| Job { size: Nanos(whole(job.size.0)), arrived: Instant(whole(job.arrived.0)), ..job };
        let jobs: Vec<Job> = jobs.into_iter().map(round).collect();
        let reference = ends_of_busy_periods(&run(&mut Fcfs::new(1), &jobs), &jobs);
        for (name, mut server) in all() {
            let ends = ends_of_busy_periods(&run(&mut *server, &jobs), &jobs);
            prop_assert_eq!(ends.len(), reference.len(), "{}", name);
            for (a, b) in ends.iter().zip(&reference) {
                prop_assert!(a.0.abs_diff(b.0) <= 1, "{}: {:?} and {:?}", name, a, b);
            }
        }
    }

    #[test]
    fn srpt_has_the_lowest_total_response(jobs in traces()) {
        let best = total_response(&run(&mut Srpt::new(1), &jobs));
        for (name, mut server) in all() {
            let total = total_response(&run(&mut *server, &jobs));
            // Sharing may complete a job up to a nanosecond early because of rounding.
            prop_assert!(best <= total + jobs.len() as u64, "{}: {} against {}", name, total, best);
        }
    }

    #[test]
    fn a_single_job_is_served_alike_by_every_discipline(size in 0u64..10_000_000_000, at in 0u64..1_000_000_000_000) {
        let job = Job { id: 0, class: 0, size: Nanos(size), arrived: Instant(at), tokens: JobTokens::default() };
        for (name, mut server) in all() {
            let done = run(&mut *server, &[job]);
            prop_assert_eq!(done, vec![(Instant(at + size), job)], "{}", name);
        }
    }

    #[test]
    fn remaining_work_decreases_at_the_speed_of_the_server(jobs in traces()) {
        for (name, mut server) in all() {
            for (job, until) in jobs.iter().zip(jobs.iter().skip(1).map(|next| next.arrived).chain([Instant::MAX])) {
                let mut now = job.arrived;
                while server.complete(now).is_some() {}
                server.arrive(now, *job);
                while let Some(next) = server.next().filter(|next| *next <= until) {
                    let left = |at: Instant| {
                        let mut told = std::collections::BTreeMap::new();
                        server.remaining(at, &mut |id, left| assert!(told.insert(id, left).is_none()));
                        told
                    };
                    let half = now + Nanos(now.until(next).0 / 2);
                    let (before, after) = (left(now), left(half));
                    prop_assert!(before.keys().eq(after.keys()), "{}", name);
                    prop_assert!(before.iter().all(|(id, left)| *left <= jobs[*id as usize].size), "{}", name);
                    let sum = |told: &std::collections::BTreeMap<u64, Nanos>| told.values().map(|left| left.0).sum::<u64>();
                    let (done, time) = (sum(&before) - sum(&after), now.until(half).0);
                    // Sharing rounds the remaining work of each job up to a nanosecond.
                    prop_assert!(done.abs_diff(time) <= 2 * before.len() as u64, "{}: {} in {}", name, done, time);
                    now = next;
                    while server.complete(now).is_some() {}
                }
            }
        }
    }

    #[test]
    fn a_late_caller_gets_the_same_completions(jobs in traces(), every in 1u64..20_000_000) {
        // Completions are requested only at multiples of `every` and at arrivals: same jobs, same order.
        for ((name, mut prompt), (_, mut late)) in all().into_iter().zip(all()) {
            let expected: Vec<Job> = run(&mut *prompt, &jobs).into_iter().map(|(_, job)| job).collect();
            let mut got = Vec::new();
            let mut look = 0;
            for job in &jobs {
                while look < job.arrived.0 {
                    got.extend(std::iter::from_fn(|| late.complete(Instant(look))));
                    look += every;
                }
                got.extend(std::iter::from_fn(|| late.complete(job.arrived)));
                late.arrive(job.arrived, *job);
            }
            got.extend(std::iter::from_fn(|| late.complete(Instant::MAX)));
            prop_assert_eq!(got, expected, "{}", name);
        }
    }

    #[test]
    fn limiting_cases_of_sharing_and_round_robin(jobs in traces()) {
        // A limit of one is FCFS, a limit above all jobs is PS, a quantum above all sizes is FCFS.
        let fcfs = run(&mut Fcfs::new(1), &jobs);
        prop_assert_eq!(&run(&mut LimitedPs::new(1, 1).unwrap(), &jobs), &fcfs);
        prop_assert_eq!(&run(&mut RoundRobin::new(1, Nanos::from_secs(1)).unwrap(), &jobs), &fcfs);
        prop_assert_eq!(run(&mut LimitedPs::new(1, 100).unwrap(), &jobs), run(&mut Ps::new(1), &jobs));
    }

    #[test]
    fn lower_priority_levels_do_not_affect_higher_ones(jobs in traces(), servers in 1u32..4) {
        let alike: Vec<Job> = jobs.iter().map(|job| Job { class: 1, ..*job }).collect();
        prop_assert_eq!(run(&mut PriorityPs::new(servers), &alike), run(&mut Ps::new(servers), &alike));
        let of_first = |job: &Job| job.class == 0;
        let first: Vec<Job> = jobs.iter().copied().filter(of_first).collect();
        let mut seen = run(&mut PriorityPs::new(servers), &jobs);
        seen.retain(|(_, job)| of_first(job));
        prop_assert_eq!(seen, run(&mut Ps::new(servers), &first));
    }

    #[test]
    fn limited_sharing_admits_by_class(jobs in traces()) {
        prop_assert_eq!(run(&mut LimitedPriorityPs::new(1, 1).unwrap(), &jobs), run(&mut Priority::new(1), &jobs));
        prop_assert_eq!(run(&mut LimitedPriorityPs::new(1, 100).unwrap(), &jobs), run(&mut Ps::new(1), &jobs));
    }

    #[test]
    fn with_a_server_per_job_no_job_waits(jobs in traces()) {
        let many = jobs.len() as u32;
        let servers: [(&str, Box<dyn Discipline>); 6] = [
            ("infinite", Box::new(Infinite::default())),
            ("fcfs", Box::new(Fcfs::new(many))),
            ("ps", Box::new(Ps::new(many))),
            ("srpt", Box::new(Srpt::new(many))),
            ("priority", Box::new(PreemptivePriority::new(many))),
            ("rr", Box::new(RoundRobin::new(many, Nanos::from_millis(1)).unwrap())),
        ];
        for (name, mut server) in servers {
            for (at, job) in run(&mut *server, &jobs) {
                prop_assert_eq!(at, job.arrived + job.size, "{}", name);
            }
        }
    }

    #[test]
    fn a_network_of_one_station_is_that_station(jobs in traces()) {
        // Constant sizes, because a network samples its own.
        let work = Distribution::constant(0.004).unwrap();
        let same: Vec<Job> = jobs.iter().map(|job| Job { size: Nanos::from_millis(4), ..*job }).collect();
        let station = Station { discipline: Box::new(Fcfs::new(1)), service: work, visits: 1.0 };
        let mut network = Network::new(vec![station], Regions::default(), Seed(1)).unwrap();
        prop_assert_eq!(run(&mut network, &same), run(&mut Fcfs::new(1), &same));
    }
}

#[test]
fn two_jobs_complete_as_computed_by_hand() {
    // Two jobs: size 10 at time 0, and size 4 at time 2.
    let jobs = [(0, 10, 1), (2, 4, 0)];
    let job = |(id, (at, size, class)): (usize, (u64, u64, u16))| Job {
        id: id as u64,
        class,
        size: Nanos(size),
        arrived: Instant(at),
        tokens: JobTokens::default(),
    };
    let jobs: Vec<Job> = jobs.into_iter().enumerate().map(job).collect();
    for (name, mut server) in all() {
        let mut ends = run(&mut *server, &jobs);
        ends.sort_by_key(|(_, job)| job.id);
        let ends = [ends[0].0.0, ends[1].0.0];
        let expected = match name {
            "fcfs" | "lcfs" | "sjf" | "ljf" | "pljf" | "priority" | "rr" => [10, 14],
            "ps" | "ps:3" | "ps:2:priority" => [14, 10],
            "lcfs-pr" | "srpt" | "psjf" | "priority-p" | "priority-ps" => [14, 6],
            // The new job alone from 2 to 4, then both together: 2 more each until 8.
            "fb" => [14, 8],
            other => panic!("{other} has no expectation"),
        };
        assert_eq!(ends, expected, "{name}");
    }
}

#[test]
fn zero_limits_and_quanta_are_refused_in_one_line() {
    assert!(LimitedPs::new(1, 0).unwrap_err().to_string().contains("at least 1"));
    assert!(RoundRobin::new(1, Nanos::ZERO).unwrap_err().to_string().contains("above zero"));
    assert!(Network::new(vec![], Regions::default(), Seed(1)).is_err());
    assert!(SizeEstimate::noisy(-1.0, Seed(1)).is_err());
}
