//! M/G/1 under policies that depend on the size of a request (SRPT, PSJF, SJF and their opposites) or on its age (FB).
//!
//! The mean response time is the mean over sizes of the response of a size, by numeric integration. With rho(x) the
//! load of requests of size at most x, F the distribution of sizes and W(x) the mean wait until the first service:
//!
//! | policy | wait W(x) | then |
//! |---|---|---|
//! | SRPT | lambda (m2(x) + x^2 (1 - F(x))) / (2 (1 - rho(x))^2) | integral over t < x of dt / (1 - rho(t)) |
//! | PSJF | lambda m2(x) / (2 (1 - rho(x))^2) | x / (1 - rho(x)) |
//! | SJF | lambda E[S^2] / (2 (1 - rho(x))^2) | x |
//! | FB | lambda E[min(S,x)^2] / (2 (1 - rho'(x))^2), rho'(x) = lambda E[min(S,x)] | x / (1 - rho'(x)) |
//!
//! LJF and PLJF are SJF and PSJF with the order of sizes reversed. Where a distribution has atoms, requests of equal
//! size are served in order of arrival, and (1 - rho(x))^2 becomes (1 - rho(x-)) (1 - rho(x)).
//!
//! Source: Schrage and Miller 1966 (SRPT); Kleinrock 1976, section 3.7 and 4.6; Harchol-Balter 2013, chapters 30 to 33.

use offered_distributions::Distribution;

use crate::Error;
use crate::error::{below_one, positive};
use crate::moments::{Point, Sizes};

/// A policy that depends on sizes or ages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Shortest remaining processing time first.
    Srpt,
    /// Preemptive shortest job first: smallest original size first.
    Psjf,
    /// Shortest job first, non-preemptive.
    Sjf,
    /// Longest job first, non-preemptive.
    Ljf,
    /// Preemptive longest job first: largest original size first.
    Pljf,
    /// Least attained service first (foreground-background).
    Fb,
}

/// Mean response time, seconds, at `rate` requests per second with sizes of one distribution.
///
/// # Errors
/// As [`responses`].
pub fn response(service: &Distribution, rate: f64, policy: Policy) -> Result<f64, Error> {
    Ok(responses(&[(1.0, service.clone())], rate, policy)?[0])
}

/// Mean response time of each class, seconds, at `rate` requests per second of all `classes` together: (share,
/// distribution of sizes), with shares that sum to 1. The policy depends on sizes, not on classes.
///
/// # Errors
/// The rate or the mean size is not above zero, or the load is 1 or more. A second moment is infinite and the policy
/// is SJF, LJF or PLJF. A distribution is too narrow or too wide for numeric integration.
pub fn responses(classes: &[(f64, Distribution)], rate: f64, policy: Policy) -> Result<Vec<f64>, Error> {
    let sum = |of: fn(&Distribution) -> f64| -> f64 { classes.iter().map(|(share, sizes)| share * of(sizes)).sum() };
    let (mean, second) = (sum(Distribution::mean), sum(Distribution::second_moment));
    below_one(positive("the rate", rate)? * positive("the service time", mean)?)?;
    let sizes = Sizes::of(classes.iter().map(|(share, sizes)| (*share, sizes)));
    let load = |moment: f64| 1.0 - rate * moment;
    let of_class = |service: &Distribution| {
        if second.is_infinite() && matches!(policy, Policy::Sjf | Policy::Ljf | Policy::Pljf) {
            return Err(Error::Unsupported(format!(
                "{service} service has an infinite second moment, so the mean wait is infinite; use srpt, psjf, fb or ps"
            )));
        }
        if !sizes.resolves(service) {
            return Err(Error::Unsupported(format!(
                "{service} is too narrow or too wide for numeric integration over its sizes; simulate, or replace a narrow one by a constant"
            )));
        }
        let expect = |g: &dyn Fn(Point) -> f64| sizes.expect(service, g);
        Ok(match policy {
            Policy::Srpt => {
                let wait = expect(&|at| {
                    let work = at.second_upto + at.x * at.x * at.longer;
                    rate * work / 2.0 / (load(at.mean_below) * load(at.mean_upto))
                });
                wait + sizes.integral(|at| service.tail(at.x) / load(at.mean_upto))
            }
            Policy::Psjf => expect(&|at| {
                at.x / load(at.mean_below) + rate * at.second_upto / 2.0 / (load(at.mean_below) * load(at.mean_upto))
            }),
            Policy::Sjf => {
                let passes = expect(&|at| 1.0 / (load(at.mean_below) * load(at.mean_upto)));
                service.mean() + rate * second / 2.0 * passes
            }
            Policy::Ljf => {
                let passes = expect(&|at| 1.0 / (load(mean - at.mean_below) * load(mean - at.mean_upto)));
                service.mean() + rate * second / 2.0 * passes
            }
            Policy::Pljf => expect(&|at| {
                let (from, above) = (load(mean - at.mean_below), load(mean - at.mean_upto));
                at.x / above + rate * (second - at.second_below) / 2.0 / (from * above)
            }),
            Policy::Fb => expect(&|at| {
                let left = load(at.mean_upto + at.x * at.longer);
                at.x / left + rate * (at.second_upto + at.x * at.x * at.longer) / 2.0 / (left * left)
            }),
        })
    };
    classes.iter().map(|(_, service)| of_class(service)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Policy; 6] = [Policy::Srpt, Policy::Psjf, Policy::Sjf, Policy::Ljf, Policy::Pljf, Policy::Fb];

    /// Regression: Weibull distributions of shape 1.5 and more crashed the program.
    #[test]
    fn agrees_with_scipy() {
        let oracle: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/oracle/sizes.json")).unwrap();
        let rows = oracle["values"].as_array().unwrap();
        assert!(rows.len() >= 48);
        for row in rows {
            let distribution: Distribution = row["law"].as_str().unwrap().parse().unwrap();
            let policy = match row["policy"].as_str().unwrap() {
                "srpt" => Policy::Srpt,
                "psjf" => Policy::Psjf,
                "sjf" => Policy::Sjf,
                "fb" => Policy::Fb,
                other => panic!("{other}"),
            };
            let found = response(&distribution, row["load"].as_f64().unwrap(), policy).unwrap();
            let truth = row["mean"].as_f64().unwrap();
            assert!((found / truth - 1.0).abs() < 1e-6, "{row}: {found}");
        }
        // 50 requests per second of mean 10 ms.
        let distribution = Distribution::weibull(0.01, 2.0).unwrap();
        assert_eq!(format!("{:.6}", response(&distribution, 50.0, Policy::Srpt).unwrap()), "0.014440");
    }

    /// Classes that together have a known distribution respond, on average, as that distribution does; and classes of
    /// equal sizes alike.
    #[test]
    fn classes_are_a_mixture() {
        let law = |text: &str| text.parse::<Distribution>().unwrap();
        let phases = law("hyperexponential:10ms,8");
        let offered_distributions::Shape::Hyperexponential { p, first, second } = phases.shape() else { panic!() };
        let exponential = |mean: f64| Distribution::exponential(mean).unwrap();
        let values_of = |ms: [u32; 4]| Distribution::empirical(ms.map(|ms| f64::from(ms) / 1e3).into()).unwrap();
        // Values among densities, against many equally likely values.
        let quantiles = |of: &Distribution| -> Vec<f64> {
            (0..20_000).map(|i| of.quantile((f64::from(i) + 0.5) / 2e4).unwrap()).collect()
        };
        let [short, long] = [law("weibull:4ms,2"), law("uniform:10ms,30ms")];
        let mut values = quantiles(&short);
        values.extend(quantiles(&long));
        values.extend(std::iter::repeat_n(0.012, 20_000));
        let third = 1.0 / 3.0;
        for (classes, whole, precision) in [
            (vec![(*p, exponential(*first)), (1.0 - p, exponential(*second))], phases.clone(), 1e-9),
            (vec![(0.25, law("constant:3ms")), (0.75, law("constant:7ms"))], values_of([3, 7, 7, 7]), 1e-12),
            (vec![(0.4, law("lognormal:10ms,2")), (0.6, law("lognormal:10ms,2"))], law("lognormal:10ms,2"), 1e-9),
            (
                vec![(third, short), (third, long), (third, law("constant:12ms"))],
                Distribution::empirical(values).unwrap(),
                1e-3,
            ),
        ] {
            let rate = 0.8 / whole.mean();
            for policy in ALL {
                let truth = response(&whole, rate, policy).unwrap();
                let of_classes = responses(&classes, rate, policy).unwrap();
                let found: f64 = classes.iter().zip(&of_classes).map(|((share, _), of)| share * of).sum();
                assert!((found / truth - 1.0).abs() < precision, "{whole} {policy:?}: {found} instead of {truth}");
            }
        }
        let alike = responses(&[(0.4, law("gamma:1s,3")), (0.6, law("gamma:1s,3"))], 0.7, Policy::Srpt).unwrap();
        assert!((alike[0] / alike[1] - 1.0).abs() < 1e-12, "{alike:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// SRPT is optimal, no response is shorter than the service, and distributions that cannot be integrated are
        /// refused.
        #[test]
        fn every_distribution_is_solved_or_refused(kind in 0..5, spread in -3.0..3.0f64, load in 0.05..0.95f64) {
            let wide = 10f64.powf(spread);
            let distribution = match kind {
                0 => Distribution::gamma(0.01, wide),
                1 => Distribution::lognormal(0.01, wide),
                2 => Distribution::weibull(0.01, 10f64.powf(spread / 3.0)),
                3 => Distribution::hyperexponential(0.01, 1.0 + wide),
                _ => Distribution::bounded_pareto(0.001, 0.001 * (1.0 + wide), 1.5),
            }.unwrap();
            let rate = load / distribution.mean();
            let answers = ALL.map(|policy| response(&distribution, rate, policy));
            for (policy, answer) in ALL.iter().zip(&answers) {
                let Ok(found) = answer else { continue };
                let ratio = found / distribution.mean();
                prop_assert!(ratio.is_finite() && ratio > 1.0, "{distribution} {policy:?}: {found}");
                if let Ok(best) = &answers[0] {
                    prop_assert!(*found >= best * (1.0 - 1e-6), "{distribution} {policy:?}: {found} beats SRPT's {best}");
                }
            }
            prop_assert!(spread.abs() > 2.0 || answers.iter().all(Result::is_ok), "{distribution}: {answers:?}");
        }
    }
}
