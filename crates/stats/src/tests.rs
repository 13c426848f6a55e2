//! Compares every statistic with SciPy (tests/oracle/stats.json, made by stats.py next to it), and tests edge cases.

use offered_base::{Purpose, Seed};
use proptest::prelude::*;
use serde_json::Value;

use crate::dispersion::{counts, dispersion, poisson_chi_square};
use crate::exponential::{anderson_darling, lilliefors, moran};
use crate::independence::{Ranks, ljung_box};
use crate::summary::{gaps, quantile};
use crate::trend::mann_kendall;
use crate::{Summary, bunches, cov, histogram::Histogram, periodicity, ticks};

fn oracle(name: &str) -> Value {
    let path = format!("{}/../../tests/oracle/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(&path).expect(&path)).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

#[track_caller]
fn near(ours: f64, theirs: &Value, relative: f64) {
    let theirs = theirs.as_f64().unwrap();
    assert!((ours - theirs).abs() <= relative * theirs.abs().max(1e-12), "{ours} against {theirs}");
}

fn corrected_cov(sorted: &[u64], tick: u64) -> Option<f64> {
    let mut cov = ticks::CorrectedCov::new(sorted.len() as u64, sorted[0], sorted[sorted.len() - 1], tick)?;
    for stamp in sorted {
        cov.add(*stamp);
    }
    Some(cov.finish())
}

#[test]
fn gap_statistics_agree_with_scipy() {
    for case in oracle("stats.json")["gaps"].as_array().unwrap() {
        let x = numbers(&case["x"]);
        let mut sorted = x.clone();
        sorted.sort_by(f64::total_cmp);
        near(cov::cov(&x).unwrap(), &case["cov"], 1e-12);
        near(anderson_darling(&sorted).unwrap().statistic, &case["anderson_darling"], 1e-9);
        near(lilliefors(&sorted).unwrap().statistic, &case["kolmogorov"], 1e-12);
        near(moran(&x).unwrap().cov, &(1.0 / case["gamma_shape"].as_f64().unwrap().sqrt()).into(), 1e-6);
        let ranks = Ranks::new(&x);
        let correlations = ranks.autocorrelations(10);
        for (ours, theirs) in correlations.iter().zip(case["rank_autocorrelation"].as_array().unwrap()) {
            near(*ours, theirs, 1e-9);
        }
        let portmanteau = ljung_box(&correlations, x.len());
        near(portmanteau.statistic, &case["ljung_box"], 1e-9);
        near(portmanteau.p_value, &case["ljung_box_p"], 1e-9);
        let next = ranks.spearman_next().unwrap();
        near(next.statistic, &case["spearman"], 1e-9);
        // SciPy uses Student's t, this crate the normal limit: they agree to 1 % here.
        near(next.p_value, &case["spearman_p"], 0.02);
    }
}

#[test]
fn the_upper_tails_are_those_of_the_limit_distributions() {
    let tails = oracle("stats_tails.json");
    // One published critical value each (D'Agostino and Stephens 1986, table 4.14): 10 %, 1 %.
    for (at, p) in [(1.062, 0.1), (1.959, 0.01)] {
        let ours = crate::exponential::upper_tail(&crate::exponential::ANDERSON_DARLING, at);
        assert!((ours / p - 1.0).abs() < 0.02, "A2 {at}: {ours} against {p}");
    }
    for (at, p) in [(0.990, 0.1), (1.094, 0.05), (1.308, 0.01)] {
        let ours = crate::exponential::upper_tail(&crate::exponential::LILLIEFORS, at);
        assert!((ours / p - 1.0).abs() < 0.15, "D* {at}: {ours} against {p}");
    }
    for (table, name) in [
        (&crate::exponential::ANDERSON_DARLING[..], "anderson_darling"),
        (&crate::exponential::LILLIEFORS[..], "lilliefors"),
    ] {
        for (ours, theirs) in table.iter().zip(tails[name].as_array().unwrap()) {
            near(ours.0, &theirs[0], 1e-3);
            near(ours.1, &theirs[1], 1e-3);
        }
    }
    // Outside of the table Anderson-Darling decays at the rate of its largest eigenvalue, to 5 % in the exponent.
    let rate = 1.0 / (2.0 * tails["eigenvalue"].as_f64().unwrap());
    let tail = |x| crate::exponential::upper_tail(&crate::exponential::ANDERSON_DARLING, x).ln();
    assert!(((tail(10.0) - tail(11.0)) / rate - 1.0).abs() < 0.05);
}

#[test]
fn greenwood_has_the_simulated_tails() {
    for case in oracle("stats.json")["greenwood"].as_array().unwrap() {
        let (n, cov, cdf) = (case["n"].as_u64().unwrap(), case["cov"].as_f64().unwrap(), case["cdf"].as_f64().unwrap());
        let two_sided = 2.0 * cdf.min(1.0 - cdf);
        let ours = cov::greenwood(cov, n as usize).p_value;
        assert!((ours / two_sided).ln().abs() < 1.25f64.ln(), "n {n} cov {cov}: {ours} against {two_sided}");
    }
}

/// Compared with p-values by simulation: two standard errors of the oracle, plus the documented error of each formula.
#[test]
fn p_values_and_bootstrap_are_those_of_simulation() {
    let (samples, oracle) = (oracle("stats.json"), oracle("p_values.json"));
    let reps = oracle["reps"].as_f64().unwrap();
    for row in oracle["rows"].as_array().unwrap() {
        let case = samples["gaps"].as_array().unwrap().iter().find(|case| case["name"] == row["name"]).unwrap();
        let x = &numbers(&case["x"])[..row["first"].as_u64().unwrap() as usize];
        let mut sorted = x.to_vec();
        sorted.sort_by(f64::total_cmp);
        for (name, ours, within) in [
            ("anderson_darling", anderson_darling(&sorted).unwrap().p_value, 1.1),
            ("kolmogorov", lilliefors(&sorted).unwrap().p_value, 1.25),
            ("moran", moran(x).unwrap().test.p_value, 1.1),
            ("cov", cov::greenwood(cov::cov(x).unwrap(), x.len()).p_value, 1.25),
        ] {
            let theirs = row["p"][name].as_f64().unwrap();
            let error = 2.0 * ((theirs * (1.0 - theirs)).max(5.0 / reps) / reps).sqrt();
            assert!(
                ours <= (theirs + error) * within && ours >= (theirs - error) / within,
                "{} of {} gaps, {name}: {ours} against {theirs}",
                row["name"],
                x.len()
            );
        }
        let mut stream = Seed(9).stream(Purpose::Choice);
        let ours = cov::bootstrap_interval(x, 20_000, || stream.uniform()).unwrap();
        let theirs = numbers(&row["bootstrap"]);
        let width = theirs[1] - theirs[0];
        assert!(
            (ours.low - theirs[0]).abs() < 0.02 * width && (ours.high - theirs[1]).abs() < 0.02 * width,
            "{} of {} gaps: {ours:?} against {theirs:?}",
            row["name"],
            x.len()
        );
    }
}

#[test]
fn dispersion_and_trend_agree_with_scipy() {
    let oracle = oracle("stats.json");
    let case = &oracle["dispersion"];
    let counts: Vec<u32> = numbers(&case["counts"]).iter().map(|&c| c as u32).collect();
    let found = dispersion(&counts, 1).unwrap();
    near(found.idc, &case["idc"], 1e-12);
    near(found.interval.low, &case["low"], 1e-6);
    near(found.interval.high, &case["high"], 1e-6);
    near(found.test.p_value, &case["p"], 1e-9);
    let mut seen = vec![0; *counts.iter().max().unwrap() as usize + 1];
    for count in &counts {
        seen[*count as usize] += 1;
    }
    let fit = poisson_chi_square(&seen, counts.iter().map(|&count| u64::from(count)).sum()).unwrap();
    near(fit.statistic, &case["poisson_chi2"], 1e-9);
    near(fit.p_value, &case["poisson_p"], 1e-9);
    let case = &oracle["trend"];
    let trend = mann_kendall(&numbers(&case["x"])).unwrap();
    near(trend.test.statistic, &case["s"], 0.0);
    near(trend.test.p_value, &case["p"], 1e-9);
    near(trend.slope, &case["slope"], 1e-9);
}

#[test]
fn quantiles_are_nearest_ranks() {
    let ten: Vec<u64> = (1..=10).collect();
    assert_eq!([0.5, 0.9, 0.91, 0.99, 0.0, 1.0].map(|p| quantile(&ten, p)), [5, 9, 10, 10, 1, 10]);
    // Of a hundred values the p-th percentile is the p-th, in spite of rounding.
    let hundred: Vec<u64> = (1..=100).collect();
    assert!((1..=100).all(|p| quantile(&hundred, p as f64 / 100.0) == p));
    assert_eq!(quantile(&[7], 0.99), 7);
    let row = Summary::of_sorted(&[1_000_000u64, 2_000_000, 6_000_000], 1e6).unwrap();
    assert_eq!((row.n, row.mean, row.median, row.max), (3, 3.0, 2.0, 6.0));
    assert!((row.sdev - 7f64.sqrt()).abs() < 1e-12);
    assert_eq!(Summary::of_sorted::<u64>(&[], 1.0), None);
    assert_eq!(Summary::of_sorted(&[0u64, 0], 1.0).unwrap().cov, 0.0);
    let signed = Summary::of_sorted(&[-3_000_000i64, 0, 6_000_000], 1e6).unwrap();
    assert_eq!((signed.mean, signed.min, signed.median), (1.0, -3.0, 0.0));
}

#[test]
fn histogram_cells_are_closed_above() {
    let histogram = Histogram::of([0, 1, 10, 11, 25, 99].into_iter(), 10, 4);
    assert_eq!(histogram.counts, [1, 2, 1, 1, 0]);
    assert_eq!(histogram.overflow, 1);
    assert_eq!(Histogram::of(std::iter::empty(), 10, 4).counts, [0]);
}

#[test]
fn spreading_ticks_makes_a_rounded_poisson_stream_pass_again() {
    // 20,000 requests at 700/s in whole milliseconds: not Poisson as recorded, Poisson again after spreading.
    let mut stream = Seed(5).stream(Purpose::Arrivals);
    let mut at = 0.0;
    let exact: Vec<u64> = (0..20_000)
        .map(|_| {
            at += stream.exponential() / 700.0;
            (at * 1e9) as u64
        })
        .collect();
    let rounded: Vec<u64> = exact.iter().map(|t| t / 1_000_000 * 1_000_000).collect();
    let judge = |stamps: &[u64]| {
        let mut gaps: Vec<f64> = gaps(stamps).map(|gap| gap as f64).collect();
        gaps.sort_by(f64::total_cmp);
        anderson_darling(&gaps).unwrap().p_value
    };
    assert!(judge(&rounded) < 1e-6);
    let spread = ticks::spread(&rounded, 1_000_000, || stream.uniform());
    assert!(judge(&spread) > 0.01, "{}", judge(&spread));
    assert_eq!(ticks::spread(&exact, 1, || 0.9), exact);
}

#[test]
fn the_cov_survives_rounding() {
    let mut stream = Seed(8).stream(Purpose::Arrivals);
    // From thirty ticks per gap to five gaps per tick; the distribution is unchanged.
    for per_second in [30.0, 300.0, 1000.0, 5000.0] {
        for (law, cov) in [
            (offered_distributions::Distribution::constant(1.0), 0.0),
            (offered_distributions::Distribution::gamma(1.0, 0.25), 0.5),
            (offered_distributions::Distribution::exponential(1.0), 1.0),
        ] {
            let (law, mut at) = (law.unwrap(), 0.0);
            let stamps: Vec<u64> = (0..20_000)
                .map(|_| {
                    at += law.sample(&mut stream) / per_second;
                    (at * 1e9) as u64 / 1_000_000 * 1_000_000
                })
                .collect();
            let ours = corrected_cov(&stamps, 1_000_000).unwrap();
            assert!((ours - cov).abs() < 0.06, "{per_second}/s, CoV {cov}: {ours}");
        }
    }
    assert_eq!(corrected_cov(&[1, 2], 1), None);
    assert_eq!(corrected_cov(&[3, 3, 3], 5), None);
}

#[test]
fn bunches_are_named_and_bursts_are_not() {
    let mut stream = Seed(6).stream(Purpose::Arrivals);
    // Ten workers on one ticker of 100 ms, like hey, each up to 0.5 ms late.
    let mut launches: Vec<u64> = (0..500).map(|i| (i / 10) * 100_000_000 + (stream.uniform() * 5e5) as u64).collect();
    launches.sort_unstable();
    let found = bunches::find(&launches).unwrap();
    assert!(
        (found.size - 10.0).abs() < 1e-9 && (found.every - 1e8).abs() < 1e6 && found.spacing_cov < 0.01,
        "{found:?}"
    );
    let mut walk = |gap: &mut dyn FnMut(&mut offered_base::Stream) -> f64| -> Vec<u64> {
        let mut at = 0.0;
        (0..5000)
            .map(|_| {
                at += gap(&mut stream);
                (at * 1e9) as u64
            })
            .collect()
    };
    assert_eq!(bunches::find(&walk(&mut offered_base::Stream::exponential)), None);
    let bursty = offered_distributions::Distribution::gamma(1.0, 4.0).unwrap();
    assert_eq!(bunches::find(&walk(&mut |stream| bursty.sample(stream))), None);
}

#[test]
fn fixed_timers_repeat_after_one_request_per_user() {
    // 30 users with a period of one second and individual phases, with a jitter of a millisecond.
    let mut stream = Seed(7).stream(Purpose::Think);
    let phases: Vec<f64> = (0..30).map(|_| stream.uniform()).collect();
    let mut launches: Vec<u64> = (0..100)
        .flat_map(|round| phases.iter().map(move |phase| (f64::from(round) + phase) * 1e9))
        .map(|at| (at + stream.uniform() * 1e6) as u64)
        .collect();
    launches.sort_unstable();
    let gaps: Vec<f64> = gaps(&launches).map(|gap| gap as f64).collect();
    let found = periodicity::find_period(&Ranks::new(&gaps).autocorrelations(200), gaps.len()).unwrap();
    assert_eq!(found.lag, 30);
    assert!(found.test.statistic > 0.9 && found.test.p_value < 1e-9);
}

#[test]
fn too_little_data_has_no_result() {
    assert_eq!(cov::cov(&[1.0]), None);
    assert_eq!(cov::cov(&[0.0; 9]), None);
    assert!(cov::bootstrap_interval(&[], 9, || 0.5).is_none());
    assert!(anderson_darling(&[1.0; 4]).is_none() && lilliefors(&[0.0; 9]).is_none() && moran(&[]).is_none());
    assert!(dispersion(&[], 1).is_none() && dispersion(&[0, 0, 0], 1).is_none());
    assert!(poisson_chi_square(&[], 0).is_none() && poisson_chi_square(&[0, 0, 0, 4], 12).is_none());
    let equal = Ranks::new(&[1.0; 50]);
    assert!(equal.autocorrelations(10).is_empty() && equal.spearman_next().is_none());
    assert!(Ranks::new(&[1.0, 2.0]).autocorrelations(2).is_empty() && Ranks::new(&[]).spearman_next().is_none());
    assert!(mann_kendall(&[1.0; 7]).is_none() && bunches::find(&[1, 2, 3]).is_none());
    assert_eq!(mann_kendall(&[2.0; 9]).unwrap().test.p_value, 1.0);
    assert_eq!(counts(&[], 5, 1, 3), Vec::<u32>::new());
}

proptest! {
    #[test]
    fn every_p_value_is_a_probability(gaps in prop::collection::vec(0.0f64..1e9, 5..80)) {
        let mut sorted = gaps.clone();
        sorted.sort_by(f64::total_cmp);
        let mut ps = Vec::new();
        ps.extend(anderson_darling(&sorted).map(|t| t.p_value));
        ps.extend(lilliefors(&sorted).map(|t| t.p_value));
        ps.extend(moran(&gaps).map(|fit| fit.test.p_value));
        ps.extend(cov::cov(&gaps).map(|cov| cov::greenwood(cov, gaps.len()).p_value));
        let ranks = Ranks::new(&gaps);
        ps.extend(ranks.spearman_next().map(|t| t.p_value));
        ps.extend(mann_kendall(&gaps).map(|t| t.test.p_value));
        ps.extend(periodicity::find_period(&ranks.autocorrelations(4), gaps.len()).map(|t| t.test.p_value));
        for p in ps {
            prop_assert!((0.0..=1.0).contains(&p), "{p}");
        }
    }

    #[test]
    fn counting_loses_nothing(mut instants in prop::collection::vec(0u64..10_000, 1..300), window in 1u64..500) {
        instants.sort_unstable();
        let counted: u32 = counts(&instants, 0, 10_000 + window, window).iter().sum();
        prop_assert!(counted as usize == instants.len());
        let tables = Histogram::of(instants.iter().copied(), window, 10);
        prop_assert_eq!(tables.counts.iter().sum::<u64>() + tables.overflow, instants.len() as u64);
    }

    #[test]
    fn spread_stamps_stay_in_their_tick(mut stamps in prop::collection::vec(0u64..100, 1..60), seed: u64) {
        stamps = stamps.iter().map(|s| s * 1000).collect();
        stamps.sort_unstable();
        let mut stream = Seed(seed).stream(Purpose::Arrivals);
        let spread = ticks::spread(&stamps, 1000, || stream.uniform());
        let back: Vec<u64> = spread.iter().map(|s| s / 1000 * 1000).collect();
        prop_assert_eq!(back, stamps);
    }
}
