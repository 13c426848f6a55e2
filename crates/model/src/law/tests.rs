use super::*;
use crate::random::{Purpose, Seed};

const ALL: [&str; 19] = [
    "constant:2s",
    "uniform:0s,12.5s",
    "uniform:2s,3s",
    "exponential:5s",
    "erlang:5s,4",
    "gamma:2s,0.25",
    "gamma:2s,2.25",
    "gamma:10ms,9",
    "hyperexponential:10ms,8",
    "hyperexponential:10ms,1",
    "lognormal:5s,2",
    "lognormal:100ms,0.1",
    "weibull:5s,0.7",
    "weibull:5s,3",
    "pareto:1s,4.5",
    "bounded_pareto:10ms,50s,1.1",
    "bounded_pareto:10ms,50s,1",
    "poisson:300ms",
    "poisson:3ms",
];

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs().max(1e-12)
}

#[test]
fn moments_and_distribution_functions_agree_with_scipy() {
    let oracle: serde_json::Value = serde_json::from_str(include_str!("../../../../tests/oracle/laws.json")).unwrap();
    let rows = oracle["rows"].as_array().unwrap();
    assert!(rows.len() >= 19);
    for row in rows {
        let name = row["law"].as_str().unwrap();
        let law: Law = name.parse().unwrap();
        assert!(close(law.mean(), row["mean"].as_f64().unwrap(), 1e-10), "{name} mean {}", law.mean());
        assert!(close(law.scv(), row["scv"].as_f64().unwrap(), 1e-8), "{name} scv {}", law.scv());
        for point in row["cdf"].as_array().unwrap() {
            let (x, f) = (point[0].as_f64().unwrap(), point[1].as_f64().unwrap());
            assert!(close(law.cdf(x), f, 1e-8), "{name} cdf({x}) = {} not {f}", law.cdf(x));
        }
        for point in row["quantiles"].as_array().unwrap() {
            let (u, x) = (point[0].as_f64().unwrap(), point[1].as_f64().unwrap());
            let ours = law.quantile(u).unwrap();
            assert!(close(ours, x, 1e-7), "{name} quantile({u}) = {ours} not {x}");
        }
    }
}

#[test]
fn samples_follow_the_distribution_function() {
    // Kolmogorov distance of 20,000 samples; 1.95/sqrt(n) is exceeded by chance once in a thousand.
    for name in ALL.into_iter().filter(|name| !name.starts_with("constant") && !name.starts_with("poisson")) {
        let law: Law = name.parse().unwrap();
        let mut stream = Seed(7).stream(Purpose::Think);
        let mut sample: Vec<f64> = (0..20_000).map(|_| law.sample(&mut stream)).collect();
        sample.sort_by(f64::total_cmp);
        let distance = kolmogorov(&sample, |x| law.cdf(x));
        assert!(distance < 1.95 / 20_000f64.sqrt(), "{name}: distance {distance}");
    }
}

#[test]
fn poisson_counts_follow_their_law() {
    for name in ["poisson:3ms", "poisson:9.99ms", "poisson:10ms", "poisson:300ms"] {
        let law: Law = name.parse().unwrap();
        let mut stream = Seed(8).stream(Purpose::Think);
        let sample: Vec<f64> = (0..50_000).map(|_| law.sample(&mut stream)).collect();
        let mean = sample.iter().sum::<f64>() / 5e4;
        let variance = sample.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 5e4;
        assert!((mean / law.mean() - 1.0).abs() < 5.0 * (law.scv() / 5e4).sqrt(), "{name} mean {mean}");
        assert!((variance / (law.scv() * law.mean().powi(2)) - 1.0).abs() < 0.05, "{name} variance {variance}");
        for k in [0.5, 1.0, 1.5] {
            let x = law.mean() * k;
            let share = sample.iter().filter(|v| **v <= x + 1e-9).count() as f64 / 5e4;
            assert!((share - law.cdf(x)).abs() < 0.01, "{name}: {share} of samples up to {x}, not {}", law.cdf(x));
        }
    }
}

#[test]
fn a_residual_has_the_integrated_tail_as_its_law() {
    // Mean of the residual is E[X^2] / (2 E[X]); its density at x is (1 - cdf(x)) / mean, checked through the distribution
    // function by the trapezium rule.
    for name in ALL.into_iter().filter(|name| !name.starts_with("poisson")) {
        let law: Law = name.parse().unwrap();
        let mut stream = Seed(9).stream(Purpose::Start);
        let mut sample: Vec<f64> = (0..20_000).map(|_| law.sample_residual(&mut stream)).collect();
        sample.sort_by(f64::total_cmp);
        for index in [2_000, 10_000, 18_000] {
            let x = sample[index];
            let steps = 20_000;
            let tail = |i: usize| 1.0 - law.cdf(x * (i as f64 + 0.5) / f64::from(steps));
            let expected = (0..steps as usize).map(tail).sum::<f64>() * x / f64::from(steps) / law.mean();
            assert!(
                (index as f64 / 2e4 - expected).abs() < 0.014,
                "{name}: share {} at {x}, not {expected}",
                index as f64 / 2e4
            );
        }
    }
}

#[test]
fn the_third_parameter_keeps_mean_and_scv() {
    for p in [0.9, 0.99, 0.999] {
        let law = Law::hyperexponential_with(0.01, 8.0, p).unwrap();
        assert!(close(law.mean(), 0.01, 1e-12) && close(law.scv(), 8.0, 1e-10), "{law}");
    }
    assert!(Law::hyperexponential_with(0.01, 8.0, 0.7).is_err());
}

#[test]
fn an_empirical_law_returns_its_values() {
    let law = Law::empirical(vec![3.0, 1.0, 2.0, 2.0]).unwrap();
    assert_eq!((law.mean(), law.cdf(2.0), law.quantile(0.9)), (2.0, 0.75, Some(3.0)));
    let mut stream = Seed(1).stream(Purpose::Size);
    let twos = (0..10_000).filter(|_| law.sample(&mut stream) == 2.0).count();
    assert!((4_700..5_300).contains(&twos), "{twos}");
}

#[test]
fn impossible_laws_cannot_be_made() {
    for text in [
        "exponential:0s",
        "uniform:3s,2s",
        "hyperexponential:1s,0.5",
        "pareto:1s,1",
        "bounded_pareto:2s,1s,1",
        "gamma:1s,-1",
        "gamma:1s,nan",
        "erlang:1s,0",
        "exponental:5s",
        "exponential",
        "exponential:5",
        "gamma:5s",
    ] {
        assert!(text.parse::<Law>().is_err(), "{text}");
    }
    assert!(Law::empirical(vec![]).is_err() && Law::empirical(vec![f64::NAN]).is_err());
    let error = "exponental:5s".parse::<Law>().unwrap_err().to_string();
    assert!(error.contains("did you mean `exponential`"), "{error}");
}

fn kolmogorov(sorted: &[f64], cdf: impl Fn(f64) -> f64) -> f64 {
    let n = sorted.len() as f64;
    let step = |(i, x): (usize, &f64)| (cdf(*x) - i as f64 / n).abs().max((cdf(*x) - (i + 1) as f64 / n).abs());
    sorted.iter().enumerate().map(step).fold(0.0, f64::max)
}

#[test]
fn a_scaled_law_is_the_same_law_in_another_unit() {
    for name in ALL.into_iter().chain(["empirical"]) {
        let law = name.parse().unwrap_or_else(|_| Law::empirical(vec![1.0, 2.0, 6.0]).unwrap());
        let scaled = law.scaled(3.0).unwrap();
        assert!(close(scaled.mean(), 3.0 * law.mean(), 1e-12), "{name}: {}", scaled.mean());
        if !name.starts_with("poisson") {
            assert!((scaled.scv() - law.scv()).abs() < 1e-9, "{name}: {}", scaled.scv());
            assert!((scaled.cdf(3.0 * law.mean()) - law.cdf(law.mean())).abs() < 1e-9, "{name}");
        }
    }
    assert!(Law::exponential(1.0).unwrap().scaled(0.0).is_err());
}
