use offered_base::{Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_events::{Event, Outcome};

use super::*;

const SECOND: i64 = 1_000_000_000;

fn window(from_s: f64, to_s: f64) -> Window {
    Window { start_s: from_s, end_s: to_s, requests: 0, excluded: 0 }
}

fn origin() -> SampleInfo {
    SampleInfo {
        name: "db".to_owned(),
        path: "db.parquet".to_owned(),
        clock: HostClock { source: ClockSource::SameClock, offset_ms: Some(0.0), offset_uncertainty_ms: Some(0.0) },
        interval_ns: 200_000_000,
        ticks_per_s: 100,
        observer_cpu_share: 0.001,
        runs_generator: false,
        scrape: None,
    }
}

/// Responses in each second of a minute, varying around 50.
fn rates() -> impl Iterator<Item = u64> {
    (0..60).map(|second| 50 + 20 * u64::from(second % 2 == 0) - 10 * u64::from(second % 3 == 0))
}

/// A machine with four processors, sampled every 0.2 s from one second before the run until one second after its
/// minute. Each response takes 8 ms of processor time in a control group, something else uses half a processor, and all
/// of it is on the first two cores.
fn history(with_group: bool) -> CounterHistory {
    let mut history = CounterHistory::new(window_edges(&window(0.0, 60.0), 200_000_000));
    let rates: Vec<u64> = rates().collect();
    let (mut used, mut other) = (1e6, 0.0);
    for sample in 0..=310i64 {
        let at = (sample - 5) * SECOND / 5;
        let rate = usize::try_from(at / SECOND).ok().filter(|_| at >= 0).and_then(|second| rates.get(second));
        let elapsed = sample as f64 / 5.0;
        let mut see = |source: &str, metric: &str, value| history.add(at, source, metric, value);
        if with_group {
            see("cgroup:/db", "cpu_us", used * 1e6);
            see("cgroup:/db", "cpu_limit", 1.0);
        }
        let busy = (used - 1e6 + other) * 100.0;
        see("cpu", "user_ticks", busy);
        for metric in ["nice_ticks", "system_ticks", "irq_ticks", "softirq_ticks", "iowait_ticks", "steal_ticks"] {
            see("cpu", metric, 7.0);
        }
        see("cpu", "idle_ticks", 400.0 * elapsed - busy);
        for core in 0..4 {
            let own = if core < 2 { busy / 2.0 } else { 0.0 };
            see(&format!("cpu{core}"), "busy_ticks", own);
            see(&format!("cpu{core}"), "idle_ticks", 100.0 * elapsed - own);
        }
        see("system", "running", 3.0);
        see("disk:sda", "busy_ms", 100.0 * elapsed);
        see("disk:sdb", "busy_ms", 0.0);
        see("net:eth0", "in_bytes", 1e6 * elapsed);
        see("net:lo", "in_bytes", 0.0);
        see("pressure:cpu", "some_us", 250_000.0 * elapsed);
        see("memory", "total_bytes", 8e9);
        see("memory", "available_bytes", 6e9);
        used += rate.map_or(0.0, |rate| *rate as f64) * 0.008 / 5.0;
        other += 0.5 / 5.0;
    }
    history
}

/// The responses, spread evenly over their seconds, each 5 ms after it was sent.
fn recording() -> Recording {
    let mut events = Vec::new();
    for (second, rate) in rates().enumerate() {
        for answer in 0..rate {
            let sent = Instant(second as u64 * 1_000_000_000 + answer * 1_000_000_000 / rate);
            let done = Some(sent + Nanos::from_millis(5));
            events.push(Event { sent: Some(sent), done, outcome: Outcome::Ok, ..Event::at(sent) });
        }
    }
    Recording::of_run(events, vec!["a".to_owned()])
}

fn host(with_group: bool) -> Host {
    let history = history(with_group);
    let counted = count_responses(&recording(), history.edges()).unwrap();
    Host::of(origin(), &history, &counted, &window(2.0, 58.0))
}

#[test]
fn counters_become_utilisations_rates_and_levels() {
    let host = host(true);
    assert_eq!((host.processors, host.samples, host.window_edges_s.len()), (4, 300, 121));
    let mean = |resource| host.measure(resource).unwrap().mean.unwrap();
    let near = |found: f64, told: f64| assert!((found - told).abs() < 1e-6 * told.max(1.0), "{found} {told}");
    // From second 2 to 58 there are 28 even seconds and 18 multiples of three.
    let work = (56.0 * 50.0 + 28.0 * 20.0 - 19.0 * 10.0) * 0.008 / 56.0;
    near(mean(Resource::Group), work);
    near(mean(Resource::GroupLimit), work);
    near(mean(Resource::Processors), (work + 0.5) / 4.0);
    near(mean(Resource::Core), f64::midpoint(work, 0.5));
    near(mean(Resource::Running), 2.0);
    near(mean(Resource::Disk), 0.1);
    near(mean(Resource::NetworkIn), 1e6);
    near(mean(Resource::Pressure), 0.25);
    near(mean(Resource::Memory), 0.25);
    let disks: Vec<&str> =
        host.measures.iter().filter(|m| m.resource == Resource::Disk).map(|m| m.instance.as_str()).collect();
    assert_eq!(disks, ["sda"], "the other one was idle");
    assert!(host.measure(Resource::Stolen).is_none() && host.measure(Resource::Process).is_none());
}

#[test]
fn the_utilisation_law_finds_service_demand_and_idle_usage() {
    let law = host(true).utilisation_law.unwrap();
    assert_eq!(law.counter, Counter::Groups);
    assert!((law.demand_ms - 8.0).abs() < 0.1, "{law:?}");
    let line = law.regression.unwrap();
    assert!(
        line.demand_low_ms < 8.0 && 8.0 < line.demand_high_ms && line.demand_high_ms - line.demand_low_ms < 1.0,
        "{line:?}"
    );
    assert!(line.idle_low_processors < 0.0 + 0.02 && line.idle_high_processors > -0.02, "{line:?}");
    let host = host(false);
    let law = host.utilisation_law.unwrap();
    assert_eq!(law.counter, Counter::Machine);
    assert!(law.demand_ms > 15.0, "responses account for all processor time: {law:?}");
    let line = law.regression.unwrap();
    assert!((line.demand_ms - 8.0).abs() < 0.5 && (line.idle_processors - 0.5).abs() < 0.05, "{line:?}");
    assert!(host.notes.contains(&HostNote::WholeMachineCounter), "{:?}", host.notes);
}

#[test]
fn no_regression_without_enough_windows_or_variation() {
    let history = history(true);
    let counted = count_responses(&recording(), history.edges()).unwrap();
    let short = Host::of(origin(), &history, &counted, &window(2.0, 8.0)).utilisation_law.unwrap();
    assert!(
        short.regression.is_none() && short.no_regression_reason.as_deref().unwrap().contains("6 of 10 windows"),
        "{short:?}"
    );
    let level = ResponseCounts { per_window: vec![25; counted.per_window.len()], ..counted.clone() };
    let law = Host::of(origin(), &history, &level, &window(2.0, 58.0)).utilisation_law.unwrap();
    assert!(law.regression.is_none() && law.no_regression_reason.unwrap().contains("was the same in all windows"));
    let none = ResponseCounts { per_window: vec![0; counted.per_window.len()], ..ResponseCounts::default() };
    let host = Host::of(origin(), &history, &none, &window(2.0, 58.0));
    assert!(
        host.utilisation_law.is_none() && host.notes[0].text().contains("no response completed"),
        "{:?}",
        host.notes
    );
}

#[test]
fn saturated_resources_and_single_threads_are_named() {
    let said = |change: &dyn Fn(&mut Host)| {
        let mut host = host(true);
        change(&mut host);
        ServerSide::of(vec![host]).saturation
    };
    let set = |host: &mut Host, resource: Resource, mean: f64| {
        let found = host.measures.iter_mut().find(|measure| measure.resource == resource);
        found.unwrap().mean = Some(mean);
    };
    let quiet = said(&|host| set(host, Resource::GroupLimit, 0.42));
    assert_eq!(quiet, "no observed resource was saturated; the busiest: one processor (cpu0) of db at 0.48");
    let lone = said(&|host| {
        set(host, Resource::GroupLimit, 0.42);
        set(host, Resource::Core, 0.97);
    });
    assert_eq!(lone, "saturated: one processor (cpu0) of db at 0.97; all others at 0.42 or below");
    let all = said(&|host| {
        set(host, Resource::GroupLimit, 0.42);
        set(host, Resource::Processors, 0.96);
        set(host, Resource::Core, 0.99);
    });
    assert_eq!(all, "saturated: the processors of db at 0.96; all others at 0.42 or below", "the core adds nothing");
    assert_eq!(ServerSide::of(Vec::new()).saturation, "nothing was observed in the analysed time");
}

#[test]
fn counter_resets_continue_and_unobserved_time_is_a_gap() {
    let mut history = CounterHistory::new((0..=10).map(|second| second * SECOND).collect());
    for (second, ticks) in [(1, 100.0), (3, 300.0), (5, 10.0), (8, 40.0)] {
        history.add(second * SECOND, "cpu", "user_ticks", ticks);
    }
    let rise = |from, to| history.increase("cpu", "user_ticks", from, to);
    assert_eq!((rise(1, 2), rise(2, 3), rise(0, 1)), (Some(100.0), Some(100.0), None));
    assert_eq!((rise(3, 4), rise(4, 5), rise(5, 8), rise(8, 9)), (Some(5.0), Some(5.0), Some(30.0), None));
    assert_eq!(rise(1, 8), Some(240.0), "the value after the reset is added to the one before");
    // Kernel counters sometimes decrease a little.
    history.add(9 * SECOND, "cpu", "user_ticks", 39.0);
    history.add(10 * SECOND, "cpu", "user_ticks", 41.0);
    assert_eq!(
        (history.increase("cpu", "user_ticks", 8, 9), history.increase("cpu", "user_ticks", 9, 10)),
        (Some(0.0), Some(1.0))
    );
    assert_eq!(history.judged_windows(&window(0.0, 10.0)), 1..10);
    assert_eq!(history.samples(), 5);
    let host = Host::of(
        origin(),
        &CounterHistory::new(vec![0, SECOND]),
        &ResponseCounts { per_window: vec![0], ..ResponseCounts::default() },
        &window(0.0, 1.0),
    );
    assert!(host.notes == [HostNote::NotObserved] && host.measures.is_empty());
}

#[test]
fn windows_are_few_round_and_at_least_two_samples_long() {
    assert_eq!(window_edges(&window(0.0, 60.0), 200_000_000)[1], 500_000_000);
    assert_eq!(window_edges(&window(0.0, 3.0), 1_000_000_000), [0, 2 * SECOND, 4 * SECOND]);
    for to_s in [0.0, 0.1, 1e5, 1e7] {
        let found = window_edges(&window(0.0, to_s), 200_000_000);
        assert!((2..=121).contains(&found.len()) && *found.last().unwrap() as f64 >= to_s * 1e9, "{to_s}");
    }
}

#[test]
fn other_load_is_noted() {
    let mut host = host(true);
    let busy = host.measures.iter_mut().find(|measure| measure.resource == Resource::Processors).unwrap();
    busy.mean = Some(0.9);
    let said = other_load_note(&host.measures, 4, host.utilisation_law.as_ref()).unwrap().text();
    assert!(said.starts_with("the server used 0.4") && said.contains("of 3.60 busy processors"), "{said}");
    let law = host.utilisation_law.map(|law| UtilisationLaw { counter: Counter::Machine, ..law });
    assert_eq!(other_load_note(&host.measures, 4, law.as_ref()), None, "unknown");
}

/// When requests that arrive at these times with this work are done at one processor that they share equally.
fn shared(arrivals: &[(f64, f64)]) -> Vec<f64> {
    // The work that each request in service has received grows alike: one that arrives at `virtual_time` is done when that has grown by its work.
    let (mut now, mut virtual_time, mut active) = (0.0, 0.0, Vec::<(f64, usize)>::new());
    let mut done = vec![f64::INFINITY; arrivals.len()];
    for next in 0..=arrivals.len() {
        let until = arrivals.get(next).map_or(f64::INFINITY, |(at, _)| *at);
        while let Some((first, _)) = active.iter().enumerate().min_by(|(_, a), (_, b)| a.0.total_cmp(&b.0)) {
            let (at_virtual, number) = active[first];
            let at = now + (at_virtual - virtual_time) * active.len() as f64;
            if at > until {
                break;
            }
            (now, virtual_time, done[number]) = (at, at_virtual, at);
            active.swap_remove(first);
        }
        if let Some((at, work)) = arrivals.get(next) {
            virtual_time += (at - now) / active.len().max(1) as f64;
            now = *at;
            active.push((virtual_time + work, next));
        }
    }
    done
}

/// A server with one processor, observed for 120 s: the estimated demands of the labels `small` and `large` at
/// this utilisation. Small requests are four times as frequent; both service times are exponential. Requests are served in the order of their
/// arrival, or share the processor.
fn demands_of(seed: u64, utilisation: f64, is_shared: bool) -> Result<Demands, Option<String>> {
    const SMALL: f64 = 0.004;
    const LARGE: f64 = 0.02;
    const RUN: f64 = 120.0;
    let rate = utilisation / (0.8 * SMALL + 0.2 * LARGE);
    let mut draw = Seed(seed).at(Purpose::Think, 0, 0);
    let [gap, small, large] = [1.0 / rate, SMALL, LARGE].map(|mean| Distribution::exponential(mean).unwrap());
    let (mut at, mut free, mut arrivals, mut busy) = (0.0, 0.0_f64, Vec::new(), vec![(0.0, 0.0)]);
    let (mut used, mut labels, mut in_order) = (0.0, Vec::new(), Vec::new());
    loop {
        at += gap.sample(&mut draw);
        if at >= RUN {
            break;
        }
        let label = u16::from(draw.uniform() < 0.2);
        let service = if label == 1 { large.sample(&mut draw) } else { small.sample(&mut draw) };
        let begins = free.max(at);
        busy.push((begins, used));
        (free, used) = (begins + service, used + service);
        busy.push((free, used));
        arrivals.push((at, service));
        labels.push(label);
        in_order.push(free);
    }
    let done = if is_shared { shared(&arrivals) } else { in_order };
    let instant = |seconds: f64| Instant((seconds * 1e9) as u64);
    let event = |((at, _), (done, label)): (&(f64, f64), (&f64, &u16))| {
        let sent = instant(*at);
        let done = Some(instant(*done)).filter(|done| *done < Instant::from_secs(120));
        let outcome = if done.is_some() { Outcome::Ok } else { Outcome::Cut };
        Event { sent: Some(sent), done, outcome, label: *label, ..Event::at(sent) }
    };
    let events = arrivals.iter().zip(done.iter().zip(&labels)).map(event).collect();
    let mut history = CounterHistory::new(window_edges(&window(0.0, RUN), 200_000_000));
    let mut passed = 0;
    for sample in 0..=605i64 {
        let now = sample as f64 / 5.0;
        while busy.get(passed + 1).is_some_and(|(at, _)| *at <= now) {
            passed += 1;
        }
        let (since, done) = busy[passed];
        let is_at_work = busy.get(passed + 1).is_some_and(|(_, used)| *used > done);
        let used = if is_at_work { done + now - since } else { done };
        history.add(sample * SECOND / 5, "cgroup:/web", "cpu_us", (1.0 + used) * 1e6);
        history.add(sample * SECOND / 5, "cpu0", "busy_ticks", used * 100.0);
    }
    let recording = Recording::of_run(events, vec!["small".to_owned(), "large".to_owned()]);
    let counted = count_responses(&recording, history.edges()).unwrap();
    let judged = history.judged_windows(&window(0.0, RUN));
    demands::of(&history, 100, &counted, &judged, 1, 0.0).map(|(demands, _)| demands)
}

/// For runs with these seeds and each demand: in how many it is reported, in how many of those its interval covers the
/// truth, and the mean relative error.
fn held(seeds: std::ops::Range<u64>, utilisation: f64) -> [(usize, usize, f64); 2] {
    let mut held = [(0, 0, 0.0); 2];
    for found in seeds.filter_map(|seed| demands_of(seed, utilisation, false).ok()) {
        for ((told, within, off), (of, truth)) in held.iter_mut().zip(found.labels.iter().zip([4.0, 20.0])) {
            let (Some(work), Some(low), Some(high)) = (of.demand_ms, of.demand_low_ms, of.demand_high_ms) else {
                continue;
            };
            *told += 1;
            *within += usize::from((low..=high).contains(&truth));
            *off += (work / truth - 1.0).abs();
        }
    }
    held.map(|(told, within, off)| (told, within, off / told as f64))
}

#[test]
fn demand_intervals_cover_the_true_demands() {
    // Overloaded, too, as long as requests are served in order.
    for utilisation in [0.2, 0.4, 0.6, 0.8, 0.95, 1.3] {
        let held = held(1000..1100, utilisation);
        println!("U {utilisation}: reported, covered, mean error: {held:.3?}");
        assert!(held.iter().all(|(told, within, _)| *told >= 95 && within * 10 >= told * 9), "{utilisation}: {held:?}");
    }
}

#[test]
fn demands_are_unknown_where_requests_share_a_busy_processor() {
    for utilisation in [0.8, 0.95, 1.3] {
        for seed in 0..20 {
            let reason = demands_of(seed, utilisation, true).unwrap_err().unwrap();
            assert!(reason.starts_with("some labels wait ") && reason.contains("not served in order"), "{reason}");
        }
    }
}

#[test]
fn a_scrape_without_some_modes_is_measured() {
    let mut history = CounterHistory::new(window_edges(&window(0.0, 20.0), 200_000_000));
    for sample in 0..=110i64 {
        let (at, elapsed) = ((sample - 5) * SECOND / 5, sample as f64 / 5.0);
        history.add(at, "cpu", "user_ticks", 60.0 * elapsed);
        history.add(at, "cpu", "idle_ticks", 40.0 * elapsed);
    }
    let counted = count_responses(&recording(), history.edges()).unwrap();
    let host = Host::of(origin(), &history, &counted, &window(0.0, 20.0));
    assert!((host.mean(Resource::Processors).unwrap() - 0.6).abs() < 1e-9);
    assert!((host.utilisation_law.as_ref().unwrap().busy_processors - 0.6).abs() < 1e-9);
    let text = ServerSide::of(vec![host]).saturation;
    assert!(text.contains("the processors of db at 0.60"), "{text}");
    // Without any mode nothing is known.
    assert_eq!(history.total_increase("cpu", &["system_ticks"], 0, 1), None);
}

#[test]
fn the_responses_of_an_overloaded_server_have_a_utilisation_law() {
    // Two minutes at a rising rate; from half a minute on the responses wait, in the end for a minute.
    let mut history = CounterHistory::new(window_edges(&window(0.0, 120.0), 200_000_000));
    let rate = |second: i64| (10 + second).clamp(0, 40) as f64;
    let mut used = 0.0;
    for sample in 0..=610i64 {
        let at = (sample - 5) * SECOND / 5;
        history.add(at, "cgroup:/db", "cpu_us", used);
        used += rate((sample - 5) / 5) * 20e3 / 5.0;
    }
    let mut events = Vec::new();
    for second in 0..120i64 {
        for number in 0..rate(second) as u64 {
            let done = Instant(second as u64 * 1_000_000_000 + number * 20_000_000);
            let waited = Nanos::from_millis(u64::try_from(second - 30).unwrap_or(0) * 600);
            let sent = Some(done.earlier(waited));
            events.push(Event { sent, done: Some(done), outcome: Outcome::Ok, ..Event::at(done.earlier(waited)) });
        }
    }
    let recording = Recording::of_run(events, vec!["a".to_owned()]);
    let counted = count_responses(&recording, history.edges()).unwrap();
    assert!(counted.mean_service_s > 12.0, "{}", counted.mean_service_s);
    let law = Host::of(origin(), &history, &counted, &window(0.0, 120.0)).utilisation_law.unwrap();
    assert!((law.demand_ms - 20.0).abs() < 0.5, "{law:?}");
    let line = law.regression.unwrap_or_else(|| panic!("{:?}", law.no_regression_reason));
    assert!((line.demand_ms - 20.0).abs() < 2.0, "{line:?}");
    assert!(law.window_s > 0.0 && law.windows.len() >= 10);
}

#[test]
fn a_process_that_uses_all_of_its_processors_is_saturated() {
    let of = |threads: f64, allowed: f64| {
        let mut history = CounterHistory::new(window_edges(&window(0.0, 20.0), 200_000_000));
        for sample in 0..=110i64 {
            let (at, elapsed) = ((sample - 5) * SECOND / 5, sample as f64 / 5.0);
            let mut see = |source: &str, metric: &str, value| history.add(at, source, metric, value);
            see("pid:42", "user_ticks", 99.0 * elapsed);
            see("pid:42", "system_ticks", 0.0);
            see("pid:42", "threads", threads);
            see("pid:42", "allowed_processors", allowed);
            see("cpu", "user_ticks", 99.0 * elapsed);
            see("cpu", "idle_ticks", 301.0 * elapsed);
        }
        let counted = count_responses(&recording(), history.edges()).unwrap();
        ServerSide::of(vec![Host::of(origin(), &history, &counted, &window(0.0, 20.0))]).saturation
    };
    let saturated = "saturated: the processors that process 42 can use of db at 0.99; all others at 0.25 or below";
    assert_eq!(of(1.0, 4.0), saturated);
    assert_eq!(of(8.0, 1.0), saturated);
    assert!(of(8.0, 4.0).starts_with("no observed resource was saturated"), "{}", of(8.0, 4.0));
}
