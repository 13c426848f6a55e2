use offered_stats::queue::{QueueCorrelation, ServiceOrder};

use super::*;

/// The window from second 1 to second 9.
const WINDOW: Window = Window { start_s: 1.0, end_s: 9.0, requests: 0, excluded: 0 };

/// A request of the run, sent `at` ms after its start; it succeeds after `took` ms.
fn launch(session: u64, step: u32, at: u64, took: u64) -> Event {
    let at = Instant::from_millis(at);
    Event {
        session,
        step,
        sent: Some(at),
        done: Some(at + Nanos::from_millis(took)),
        outcome: Outcome::Ok,
        ..Event::at(at)
    }
}

/// The same request in the simulation, at the same time.
fn modelled(event: &Event, took: Option<u64>) -> SimulatedRequest {
    let Event { session, step, label, intended, .. } = *event;
    SimulatedRequest { session, step, label, intended, response: took.map(Nanos::from_millis) }
}

fn twin(events: Vec<Event>, counterparts: Vec<SimulatedRequest>) -> Twin {
    let labels = vec!["short".to_owned(), "long".to_owned()];
    let recording = Recording::of_run(events, labels);
    Twin::of(&recording, &WINDOW, PairSampler::of(1), "open, fcfs".to_owned(), counterparts).unwrap()
}

#[test]
fn requests_are_paired_by_session_and_step() {
    let pair = launch(1, 0, 2000, 30);
    let again = launch(1, 1, 3000, 10);
    let unsent = Event { sent: None, done: None, outcome: Outcome::Unsent, ..launch(2, 0, 2000, 0) };
    let failed = Event { outcome: Outcome::Timeout, ..launch(3, 0, 2000, 5) };
    let refused = launch(4, 0, 2000, 5);
    let other = launch(5, 0, 2000, 5);
    let alone = launch(6, 0, 2000, 5);
    let early = launch(7, 0, 500, 5);
    let last = launch(8, 0, 8000, 20);
    let counterparts = vec![
        modelled(&last, Some(10)),
        // Sessions are in any order; that of a closed user drifts.
        SimulatedRequest { intended: Instant::from_millis(3007), ..modelled(&again, Some(10)) },
        modelled(&pair, Some(20)),
        modelled(&unsent, Some(1)),
        modelled(&failed, Some(1)),
        modelled(&refused, None),
        SimulatedRequest { label: 1, ..modelled(&other, Some(1)) },
        modelled(&early, Some(1)),
        modelled(&launch(9, 0, 4000, 0), Some(1)),
        // Nothing is compared after the last request of the run, or outside its window.
        modelled(&launch(10, 0, 8500, 0), Some(1)),
        modelled(&launch(11, 0, 100, 0), Some(1)),
    ];
    let found = twin(vec![last, pair, again, unsent, failed, refused, other, alone, early], counterparts);
    let unpaired =
        Unpaired { unsent: 1, failed: 1, rejected_by_model: 1, different_request: 1, only_in_run: 1, only_in_model: 1 };
    assert_eq!((found.pairs, found.same_time, found.unpaired), (3, 2, unpaired));
    assert_eq!(unpaired.all(), 6);
    let total = found.total().unwrap();
    assert_eq!((total.response_ms, total.ratio, total.ratio_low), (20.0, Some(60.0 / 40.0), None));
    let words = found.sentences();
    assert_eq!(words[0], "These are too few pairs for a confidence interval; 128 would suffice.");
    assert!(words[1].contains("2 of them with the same scheduled time in both; without a pair: 1 not sent, 1 failed"));
}

#[test]
fn the_ratio_is_more_precise_than_the_means() {
    // A burst in the middle makes both ten times slower; the run is always 10 % slower, plus a little noise.
    let took = |i: u64| if (400..600).contains(&i) { 1000 } else { 100 } + i * 7 % 13;
    let run: Vec<Event> = (0..1000).map(|i| launch(i, 0, 1000 + 8 * i, took(i) * 11 / 10 + i * 5 % 3)).collect();
    let model = run.iter().map(|event| modelled(event, Some(took(event.session)))).collect();
    let found = twin(run, model);
    let total = found.total().unwrap();
    let (low, high) = (total.ratio_low.unwrap(), total.ratio_high.unwrap());
    assert!(low > 1.09 && low < total.ratio.unwrap() && high < 1.12 && low < high, "{low} to {high}");
    let alone = (total.response_high_ms.unwrap() - total.response_low_ms.unwrap()) / 2.0 / total.response_ms;
    assert!(alone > 0.3, "{alone}");
    assert!(total.correlation.unwrap() > 0.999);
    assert_eq!((found.over_time.len(), found.over_time[0].start_s, found.unpaired.all()), (32, 1.0, 0));
    assert!(found.sentences()[0].starts_with("The run is 9."), "{:?}", found.sentences());
}

#[test]
fn a_calm_run_moves_the_end_that_is_farther_from_one() {
    let slower = |percent: u64| {
        let run: Vec<Event> =
            (0..400).map(|i| launch(i, 0, 1000 + 10 * i, (500 + i * 7 % 90) * percent / 100)).collect();
        let model = run.iter().map(|event| modelled(event, Some(500 + event.session * 11 % 90))).collect();
        let short = twin(run, model);
        let known = |queue| IntervalRequirements { queue, ..IntervalRequirements::default() };
        let long = short.clone().with_requirements(&known(None));
        assert_eq!(short, long);
        // 400 pairs are one correlation length: the variance is 61 times as large.
        let ends = |twin: &Twin| {
            let total = twin.total().unwrap();
            [total.ratio_low, total.ratio, total.ratio_high].map(Option::unwrap)
        };
        (
            ends(&short),
            ends(&short.clone().with_requirements(&known(QueueCorrelation::new(0.9, 1.0, ServiceOrder::Arrivals)))),
        )
    };
    let ([low, ratio, high], [new_low, _, new_high]) = slower(120);
    assert!(low == new_low && ((new_high - ratio) / (high - ratio) - 61f64.sqrt()).abs() < 1e-6, "{high} {new_high}");
    let ([low, ratio, high], [new_low, _, new_high]) = slower(80);
    assert!(high == new_high && ((ratio - new_low) / (ratio - low) - 61f64.sqrt()).abs() < 1e-6, "{low} {new_low}");
}

#[test]
fn heavy_tails_of_the_model_leave_the_mean_without_an_interval() {
    let run: Vec<Event> = (0..400).map(|i| launch(i, 0, 1000 + 10 * i, 500 + i * 7 % 90)).collect();
    let model = run.iter().map(|event| modelled(event, Some(500 + event.session * 11 % 90))).collect();
    let found = twin(run, model);
    assert!(found.sentences()[1].starts_with("The mean response time is known to"), "{:?}", found.sentences());
    let with = |mean| {
        let requirements = IntervalRequirements { mean, ..IntervalRequirements::default() };
        let found = found.clone().with_requirements(&requirements);
        let total = found.total().unwrap().clone();
        assert!(total.ratio.is_some() && total.response_high_ms.is_none(), "{total:?}");
        (total.ratio_low.is_some() && total.ratio_high.is_some(), found.sentences())
    };
    // Large sizes are in both, and cancel in the ratio.
    let (has_interval, words) = with(MeanRequirement::NoNumber);
    assert!(has_interval && words.len() == 2 && words[1].ends_with("have a pair."), "{words:?}");
    let (has_interval, words) = with(MeanRequirement::InfiniteMean);
    assert!(!has_interval && words[0].contains("is infinite"), "{words:?}");
}

#[test]
fn each_label_has_a_row() {
    let run: Vec<Event> =
        (0..300).map(|i| Event { label: u16::from(i % 10 == 0), ..launch(i, 0, 1000 + 10 * i, 40 + i % 7) }).collect();
    let model = run.iter().map(|event| modelled(event, Some(if event.label == 1 { 20 } else { 40 }))).collect();
    let found = twin(run, model);
    let rows: Vec<(&str, u64, bool)> =
        found.requests.iter().map(|row| (row.label.as_str(), row.n, row.ratio_low.is_some())).collect();
    // The thirty long requests are too few for an interval.
    assert_eq!(rows, [("long", 30, false), ("short", 270, true), ("Total", 300, true)]);
    assert!(found.requests[0].ratio.unwrap() > 2.0);
    assert_eq!(found.requests[0].correlation, None, "the model is constant");
}

#[test]
fn a_run_compared_with_itself_has_ratio_one() {
    let run: Vec<Event> = (0..200).map(|i| launch(i, 0, 1000 + 10 * i, 1 + i % 50)).collect();
    let model = run.iter().map(|event| modelled(event, Some(1 + event.session % 50))).collect();
    let found = twin(run, model);
    let total = found.total().unwrap();
    assert_eq!((total.ratio, total.ratio_low, total.ratio_high), (Some(1.0), Some(1.0), Some(1.0)));
    assert!((total.correlation.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(found.sentences()[0], "Run and model do not differ significantly.");
}

#[test]
fn at_most_about_a_million_requests_are_compared() {
    assert_eq!(
        (PairSampler::of(0).one_in, PairSampler::of(1_000_000).one_in, PairSampler::of(3_000_000).one_in),
        (1, 1, 3)
    );
    let sampler = PairSampler::of(10_000_000);
    let kept = (0..100_000).filter(|session| sampler.includes(*session, 0)).count();
    assert!((9_500..10_500).contains(&kept), "{kept}");
    // A user of a closed system is sampled like any other.
    let kept = (0..100_000).filter(|step| sampler.includes(3, *step)).count();
    assert!((9_500..10_500).contains(&kept), "{kept}");
}

#[test]
fn no_ratio_without_pairs() {
    let found = twin(vec![launch(1, 0, 2000, 5)], Vec::new());
    assert_eq!((found.requests.len(), found.over_time.len(), found.unpaired.only_in_run), (0, 0, 1));
    assert_eq!(found.sentences(), ["0 requests have a pair; without a pair: 1 only in the run."]);
}
