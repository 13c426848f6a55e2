//! The empirical distribution: one of the recorded values, with equal probabilities or by weight.

use std::sync::Arc;

use super::{Distribution, Parameters, Shape, positive};
use offered_base::InvalidValue;
use offered_base::random::Stream;

/// Recorded values in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Empirical {
    values: Arc<[f64]>,
    /// The running sums of weights; `None`: all are 1.
    weights: Option<Arc<[f64]>>,
    /// The running sums of weight times value.
    sums: Arc<[f64]>,
}

impl Distribution {
    /// The distribution of `values`, all equally likely.
    ///
    /// # Errors
    /// No values, a negative or infinite value, or only zeros.
    pub fn empirical(mut values: Vec<f64>) -> Result<Self, InvalidValue> {
        check(values.iter().copied())?;
        values.sort_by(f64::total_cmp);
        let sums = running(values.iter().copied());
        Ok(Self(Shape::Empirical(Empirical { values: values.into(), weights: None, sums }), Parameters::Shape))
    }

    /// The distribution of pairs of weight and value; a constant if all values are equal.
    ///
    /// # Errors
    /// No values, a negative or infinite value, weights that are not above zero, or an overflow of their sum.
    pub fn weighted(mut pairs: Vec<(f64, f64)>) -> Result<Self, InvalidValue> {
        if let Some((_, first)) = pairs.first()
            && pairs.iter().all(|(_, value)| value == first)
        {
            return Self::constant(*first);
        }
        check(pairs.iter().map(|(_, value)| *value))?;
        pairs.sort_by(|(_, one), (_, other)| one.total_cmp(other));
        let weights = running(pairs.iter().map(|(weight, _)| *weight));
        let sums = running(pairs.iter().map(|(weight, value)| weight * value));
        if pairs.iter().any(|(weight, _)| weight.is_nan() || *weight <= 0.0) || !sums[sums.len() - 1].is_finite() {
            return Err(InvalidValue::new("weights must be above zero, and their sum finite"));
        }
        let values = pairs.iter().map(|(_, value)| *value).collect();
        Ok(Self(Shape::Empirical(Empirical { values, weights: Some(weights), sums }), Parameters::Shape))
    }
}

fn check(values: impl Iterator<Item = f64> + Clone) -> Result<(), InvalidValue> {
    if let Some(bad) = values.clone().find(|v| !(v.is_finite() && *v >= 0.0)) {
        return Err(InvalidValue::new(format!("values of an empirical distribution must be zero or more, not {bad}")));
    }
    match values.max_by(f64::total_cmp).filter(|largest| *largest > 0.0) {
        Some(largest) => positive("the largest value", largest).map(drop),
        None => Err(InvalidValue::new("an empirical distribution needs at least one value above zero")),
    }
}

fn running(values: impl Iterator<Item = f64>) -> Arc<[f64]> {
    let sums = values.scan(0.0, |sum, v| {
        *sum += v;
        Some(*sum)
    });
    sums.collect()
}

/// The index of the first running sum above `at`.
fn beyond(sums: &[f64], at: f64) -> usize {
    sums.partition_point(|sum| *sum <= at).min(sums.len() - 1)
}

impl Empirical {
    /// The recorded values in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Whether the values have different probabilities.
    pub fn is_weighted(&self) -> bool {
        self.weights.is_some()
    }

    fn total(&self) -> f64 {
        self.weights.as_ref().map_or(self.values.len() as f64, |sums| sums[sums.len() - 1])
    }

    /// Values, each behind its weight.
    fn weighed(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        let weight = |at: usize| match &self.weights {
            None => 1.0,
            Some(sums) if at == 0 => sums[0],
            Some(sums) => sums[at] - sums[at - 1],
        };
        self.values.iter().enumerate().map(move |(at, value)| (weight(at), *value))
    }

    pub(super) fn scaled(&self, by: f64) -> Result<Distribution, InvalidValue> {
        match self.weights {
            None => Distribution::empirical(self.values.iter().map(|value| value * by).collect()),
            Some(_) => Distribution::weighted(self.weighed().map(|(weight, value)| (weight, value * by)).collect()),
        }
    }

    pub(super) fn mean(&self) -> f64 {
        self.sums[self.sums.len() - 1] / self.total()
    }

    /// E[X^k].
    pub(super) fn moment(&self, k: i32) -> f64 {
        self.weighed().map(|(weight, value)| weight * value.powi(k)).sum::<f64>() / self.total()
    }

    pub(super) fn cdf(&self, x: f64) -> f64 {
        match (self.values.partition_point(|v| *v <= x), &self.weights) {
            (0, _) => 0.0,
            (n, None) => n as f64 / self.total(),
            (n, Some(sums)) => sums[n - 1] / self.total(),
        }
    }

    pub(super) fn quantile(&self, u: f64) -> f64 {
        self.values[match &self.weights {
            None => ((u * self.total()) as usize).min(self.values.len() - 1),
            Some(sums) => beyond(sums, u * self.total()),
        }]
    }

    #[inline]
    pub(super) fn sample(&self, stream: &mut Stream) -> f64 {
        match &self.weights {
            None => self.values[stream.below(self.values.len() as u64) as usize],
            Some(_) => self.quantile(stream.uniform()),
        }
    }

    /// A value drawn in proportion to itself.
    pub(super) fn length_biased(&self, stream: &mut Stream) -> f64 {
        self.values[beyond(&self.sums, stream.uniform() * self.sums[self.sums.len() - 1])]
    }

    /// The different values, ascending, each behind its probability.
    pub(super) fn atoms(&self) -> Vec<(f64, f64)> {
        let total = self.total();
        let mut atoms: Vec<(f64, f64)> = Vec::new();
        for (weight, value) in self.weighed() {
            match atoms.last_mut() {
                Some((share, same)) if *same == value => *share += weight / total,
                _ => atoms.push((weight / total, value)),
            }
        }
        atoms
    }
}
