use super::*;
use proptest::prelude::*;

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

fn instants(process: Process, rate: Profile, batch: Batch, seed: u64, length: Nanos) -> Vec<Instant> {
    Schedule { rate, process, batch }.arrivals(Seed(seed), Instant::ZERO + length).collect()
}

fn gaps(instants: &[Instant]) -> Vec<f64> {
    instants.windows(2).map(|w| (w[1] - w[0]).as_secs_f64()).collect()
}

fn cov(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64;
    variance.sqrt() / mean
}

/// Variance over mean of the counts in windows of `window`: 1 for Poisson at every scale.
fn dispersion(instants: &[Instant], window: Nanos, length: Nanos) -> f64 {
    let mut counts = vec![0f64; (length.0 / window.0) as usize];
    for at in instants {
        if let Some(count) = counts.get_mut((at.0 / window.0) as usize) {
            *count += 1.0;
        }
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (counts.len() - 1) as f64 / mean
}

const HOUR: Nanos = Nanos::from_secs(3600);

#[test]
fn poisson_gaps_pass_anderson_darling_over_many_seeds_at_the_nominal_rate() {
    // Case 0 (rate known): A^2 above 2.492 happens by chance five times in a hundred. 200 seeds, 1000 gaps each.
    let mut rejected = 0;
    let seeds = 200;
    for seed in 0..seeds {
        let at = instants(
            Process::Poisson,
            Profile::constant(rate("1000/s")),
            Batch::Single,
            seed,
            Nanos::from_millis(1300),
        );
        let mut gaps = gaps(&at[..1001]);
        gaps.sort_by(f64::total_cmp);
        let n = gaps.len();
        let f = |x: f64| (-(-x * 1000.0).exp_m1()).clamp(1e-15, 1.0 - 1e-15);
        let sum: f64 = (0..n).map(|i| (2 * i + 1) as f64 * (f(gaps[i]).ln() + (1.0 - f(gaps[n - 1 - i])).ln())).sum();
        rejected += u32::from(-(n as f64) - sum / n as f64 > 2.492);
    }
    // Binomial(200, 0.05): mean 10, sd 3.1.
    assert!((1..=22).contains(&rejected), "{rejected} of {seeds} seeds rejected at 5 %");
}

#[test]
fn poisson_counts_pass_chi_square() {
    // Counts per 10 ms at 500/s are Poisson of mean 5; 360,000 windows, 13 cells, chi-square of 12 degrees.
    let at = instants(Process::Poisson, Profile::constant(rate("500/s")), Batch::Single, 5, HOUR);
    let mut counts = vec![0usize; 360_000];
    for instant in &at {
        counts[(instant.0 / 10_000_000) as usize] += 1;
    }
    let mut cells = [0f64; 13];
    for count in counts {
        cells[count.min(12)] += 1.0;
    }
    let mut p = (-5f64).exp();
    let (mut chi2, mut left) = (0.0, 1.0);
    for (k, seen) in cells.into_iter().enumerate() {
        let expected = 360_000.0 * if k == 12 { left } else { p };
        chi2 += (seen - expected).powi(2) / expected;
        left -= p;
        p *= 5.0 / (k + 1) as f64;
    }
    assert!(chi2 < 32.9, "chi-square {chi2} (99.9 % point 32.9)");
}

#[test]
fn each_pattern_has_its_cov_and_its_dispersion() {
    let at_rate = || Profile::constant(rate("200/s"));
    let check = |name: &str, process: Process, batch: Batch, expected_cov: f64, expected_dispersion: f64| {
        let at = instants(process, at_rate(), batch, 11, HOUR);
        let offered = at.len() as f64 / 3600.0;
        assert!((offered / 200.0 - 1.0).abs() < 0.02, "{name}: {offered}/s");
        let (c, d) = (cov(&gaps(&at)), dispersion(&at, Nanos::from_secs(5), HOUR));
        assert!((c - expected_cov).abs() < 0.02 + expected_cov * 0.02, "{name}: CoV {c}, not {expected_cov}");
        assert!(
            (d / expected_dispersion.max(0.05) - 1.0).abs() < 0.2 || d < 0.05 && expected_dispersion == 0.0,
            "{name}: dispersion {d}, not {expected_dispersion}"
        );
    };
    let gamma = Distribution::gamma(1.0, 2.25).unwrap();
    check("poisson", Process::Poisson, Batch::Single, 1.0, 1.0);
    check("constant", Process::Constant, Batch::Single, 0.0, 0.0);
    check("fixed count", Process::FixedCount, Batch::Single, 1.0, 1.0);
    // A renewal process: CoV of its distribution, and the dispersion of counts tends to CoV^2.
    check("gamma 1.5", Process::Renewal(gamma), Batch::Single, 1.5, 2.25);
    // Batches of b: dispersion b; gaps are zero b-1 times of b, so E[D^2] = 2 b / rate^2 and CoV^2 = 2 b - 1.
    check("batches of 5", Process::Poisson, Batch::Fixed(5), 3.0, 5.0);
    // Geometric batches of mean m: E[B^2]/E[B] = 2m - 1; CoV^2 = 2 m - 1.
    check("geometric batches of 3", Process::Poisson, Batch::Geometric(3.0), 5f64.sqrt(), 5.0);
}

#[test]
fn a_modulated_process_has_the_exact_dispersion_of_its_theory() {
    // Two states of factors 0.2 and 1.8, both 10 s: counts in long windows have dispersion
    // 1 + 2 (l1-l2)^2 s1 s2 / ((s1+s2)^2 (s1+s2) mean) with s the leaving rates (Heffes and Lucantoni 1986, eqn 15).
    let modulation = Modulation::new(&[0.2, 1.8], &[Nanos::from_secs(1), Nanos::from_secs(1)]).unwrap();
    let end = HOUR * 10;
    let at = instants(Process::Modulated(modulation), Profile::constant(rate("20/s")), Batch::Single, 3, end);
    let offered = at.len() as f64 / end.as_secs_f64();
    assert!((offered / 20.0 - 1.0).abs() < 0.03, "{offered}/s");
    let (l1, l2, s) = (4.0, 36.0, 1.0);
    let expected = 1.0 + 2.0 * f64::powi(l1 - l2, 2) * s * s / (f64::powi(2.0 * s, 3) * 20.0);
    let d = dispersion(&at, Nanos::from_secs(60), end);
    assert!((d / expected - 1.0).abs() < 0.2, "dispersion {d}, theory {expected}");
}

#[test]
fn constant_instants_are_exact() {
    let at = instants(Process::Constant, Profile::constant(rate("3/s")), Batch::Single, 1, Nanos::from_secs(100));
    assert_eq!(at.len(), 300);
    assert_eq!(
        (at[0], at[1], at[3], at[299]),
        (Instant(0), Instant(333_333_333), Instant::from_secs(1), Instant(99_666_666_666))
    );
}

#[test]
fn a_fixed_count_is_fixed() {
    for seed in 0..20 {
        let at =
            instants(Process::FixedCount, Profile::constant(rate("12.5/s")), Batch::Single, seed, Nanos::from_secs(80));
        assert_eq!(at.len(), 1000);
    }
}

#[test]
fn arrivals_follow_their_profile() {
    let minute = Nanos::from_secs(60);
    let profiles = [
        ("ramp", Profile::ramp(0.0, 200.0, minute * 10).unwrap()),
        ("steps", Profile::steps(&[(50.0, minute * 2), (0.0, minute), (150.0, minute * 3)]).unwrap()),
        ("sine", Profile::sine(100.0, 100.0, minute * 5).unwrap()),
        ("counts", Profile::counts(&[600.0, 0.0, 6000.0, 1200.0], minute * 2).unwrap()),
    ];
    for (name, profile) in profiles {
        let end = minute * 10;
        let at = instants(Process::Poisson, profile.clone(), Batch::Single, 21, end);
        for i in 1..=10 {
            let by = Instant::ZERO + minute * i;
            let (seen, expected) = (at.iter().filter(|a| **a < by).count() as f64, profile.cumulative(by));
            assert!(
                (seen - expected).abs() < 4.5 * expected.sqrt() + 1.0,
                "{name} by minute {i}: {seen}, expected {expected}"
            );
        }
        // Constant arrivals on the same profile: the n-th comes when n are expected.
        for (n, instant) in
            instants(Process::Constant, profile.clone(), Batch::Single, 1, end).into_iter().enumerate().skip(1)
        {
            assert!((profile.cumulative(instant) - n as f64).abs() < 1e-3, "{name}: arrival {n} at {instant}");
        }
    }
    let ended = Profile::counts(&[10.0], minute).unwrap();
    assert_eq!(instants(Process::Constant, ended, Batch::Single, 1, HOUR).len(), 10);
}

#[test]
fn impossible_profiles_cannot_be_made() {
    assert!(Profile::ramp(0.0, 0.0, HOUR).is_err() && Profile::ramp(1.0, 2.0, Nanos::ZERO).is_err());
    assert!(Profile::steps(&[]).is_err() && Profile::steps(&[(f64::NAN, HOUR)]).is_err());
    assert!(Profile::sine(1.0, 2.0, HOUR).is_err() && Profile::counts(&[0.0], HOUR).is_err());
    assert!(Modulation::new(&[1.0], &[HOUR]).is_err() && Modulation::new(&[0.0, 0.0], &[HOUR, HOUR]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn instants_never_decrease_and_stay_before_the_end(seed: u64, per_sec in 1u64..500, kind in 0..6, batch in 0usize..3) {
        let process = match kind {
            0 => Process::Poisson,
            1 => Process::Constant,
            2 => Process::FixedCount,
            3 => Process::Renewal(Distribution::gamma(1.0, 4.0).unwrap()),
            4 => Process::Modulated(Modulation::new(&[0.0, 5.0], &[Nanos::from_secs(1), Nanos::from_millis(200)]).unwrap()),
            _ => Process::Renewal(Distribution::uniform(0.0, 1.0).unwrap()),
        };
        let batch = [Batch::Single, Batch::Fixed(3), Batch::Geometric(2.5)][batch];
        let profile = if seed % 2 == 0 { Profile::sine(per_sec as f64, per_sec as f64, Nanos::from_secs(7)).unwrap() } else { Profile::constant(Rate::new(per_sec, Nanos::from_secs(1)).unwrap()) };
        let at = instants(process, profile, batch, seed, Nanos::from_secs(30));
        prop_assert!(at.windows(2).all(|w| w[0] <= w[1]));
        prop_assert!(at.iter().all(|a| *a < Instant::from_secs(30)));
    }

    #[test]
    fn an_instant_undoes_a_running_total(from in 0.0..500.0, to in 0.1..500.0, count in 0.0..5000.0) {
        for profile in [Profile::ramp(from, to, Nanos::from_secs(60)).unwrap(), Profile::sine(to, to * 0.9, Nanos::from_secs(9)).unwrap()] {
            let at = profile.instant(count).unwrap();
            // A nanosecond at 500/s is half a millionth of an arrival.
            prop_assert!((profile.cumulative(at) - count).abs() < 1e-5, "{count} at {at}");
        }
    }
}
