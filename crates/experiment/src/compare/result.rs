//! The result of the rounds.

use offered_base::{count, significant};
use offered_events::document::Schema;
use offered_stats::sequential::RepeatedIntervals;
use offered_stats::steady_state::Estimate;
use offered_verify::CheckResult;
use offered_workload::threshold::Statistic;

use super::round::{FEWEST, Round, statistics};
use super::{Comparison, Rounds};
use crate::document::compare::{Change, Document, End, ErrorChange, Side};

impl Rounds {
    /// The logarithm of the ratio B / A of a statistic by its number, with its interval; `None` if a round lacks it.
    pub(super) fn change(&self, statistic: usize, intervals: RepeatedIntervals) -> Option<Estimate> {
        self.compared(intervals, |round| round.statistics[statistic].map(f64::ln))
    }

    /// The difference of the shares of failed requests, in percentage points.
    fn errors(&self, intervals: RepeatedIntervals) -> Option<Estimate> {
        self.compared(intervals, |round| Some(round.errors_percent()))
    }

    fn compared(&self, intervals: RepeatedIntervals, of: impl Fn(&Round) -> Option<f64>) -> Option<Estimate> {
        let [a, b] = [&self.a, &self.b].map(|rounds| rounds.iter().map(&of).collect::<Option<Vec<f64>>>());
        let (a, b) = (a.filter(|a| !a.is_empty())?, b.filter(|b| !b.is_empty())?);
        Some(if self.is_paired {
            intervals.mean(&b.iter().zip(&a).map(|(b, a)| b - a).collect::<Vec<_>>())
        } else {
            intervals.difference(&b, &a)
        })
    }
}

impl Comparison<'_> {
    /// Whether B is no worse than the limit.
    pub(super) fn result(&self, rounds: &Rounds, intervals: RepeatedIntervals) -> CheckResult {
        let fails_more = rounds.errors(intervals).is_some_and(|errors| errors.low > 0.0);
        let limit = self.no_worse_than.unwrap_or_default().ln_1p();
        match rounds.change(0, intervals) {
            _ if rounds.b.len() < FEWEST => CheckResult::NotChecked,
            _ if fails_more => CheckResult::Failed,
            Some(change) if change.low > limit => CheckResult::Failed,
            Some(change) if change.high < limit => CheckResult::Passed,
            _ => CheckResult::NotChecked,
        }
    }

    /// The document.
    pub(super) fn document(&self, rounds: &Rounds, intervals: RepeatedIntervals, end: End) -> Document {
        let change = |(number, of): (usize, Statistic)| change(of, number, rounds, intervals);
        let mut numbered: Vec<(usize, Statistic)> = statistics(self.statistic).into_iter().enumerate().collect();
        let conclusion = conclusion(&change(numbered[0]), rounds.b.len());
        numbered.sort_by(|(_, one), (_, other)| order(*one).total_cmp(&order(*other)));
        let responses: Vec<Change> = numbered.into_iter().map(change).collect();
        let (a, b) = match &self.baseline {
            Some(baseline) => (baseline.name.clone(), self.sides[0].name.clone()),
            None => (self.sides[0].name.clone(), self.sides[self.sides.len() - 1].name.clone()),
        };
        let errors = rounds.errors(intervals);
        let of = |get: fn(&Estimate) -> f64| errors.as_ref().map(get).filter(|end| end.is_finite());
        let [a_percent, b_percent] = [&rounds.a, &rounds.b]
            .map(|rounds| rounds.iter().map(Round::errors_percent).sum::<f64>() / rounds.len().max(1) as f64);
        Document {
            schema: Schema::new(),
            a: side(a, &rounds.a),
            b: side(b, &rounds.b),
            has_baseline: self.baseline.is_some(),
            statistic: self.statistic.to_string(),
            no_worse_than_percent: self.no_worse_than.map(|limit| 100.0 * limit),
            result: self.no_worse_than.map(|_| self.result(rounds, intervals)),
            conclusion,
            round_s: self.round.as_secs_f64(),
            settle_s: self.settle.as_secs_f64(),
            rounds: rounds.b.len() as u64,
            max_rounds: self.max_pairs as u64,
            invalid_rounds: rounds.invalid.len() as u64,
            end,
            warnings: self.warnings(rounds, &responses),
            responses,
            errors: ErrorChange {
                a_percent,
                b_percent,
                difference_points: b_percent - a_percent,
                low_points: of(|errors| errors.low),
                high_points: of(|errors| errors.high),
            },
        }
    }

    fn warnings(&self, rounds: &Rounds, responses: &[Change]) -> Vec<String> {
        let mut all = Vec::new();
        if let Some(reason) = rounds.invalid.first() {
            let (invalid, made) = (rounds.invalid.len(), rounds.invalid.len() + rounds.b.len());
            all.push(format!("{invalid} of {made} rounds are invalid and excluded: {reason}"));
        }
        if let Some(short) = responses.iter().find(|row| row.a_ms.is_none() || row.b_ms.is_none()) {
            let least = rounds.a.iter().chain(&rounds.b).map(|round| round.ok).min().unwrap_or_default();
            all.push(format!(
                "{} is unknown: a round has only {} successful requests; use longer rounds",
                short.statistic,
                count(least)
            ));
        }
        all.extend(self.baseline.iter().flat_map(|baseline| baseline.warnings.clone()));
        all
    }
}

fn side(name: String, rounds: &[Round]) -> Side {
    let sum = |of: fn(&Round) -> u64| rounds.iter().map(of).sum();
    let rounds_ms = rounds.iter().map(|round| round.statistics[0]).collect();
    Side { name, ok: sum(|round| round.ok), failed: sum(|round| round.failed), rounds_ms }
}

/// The position of a statistic in the table: the mean, then percentiles, then the maximum.
fn order(statistic: Statistic) -> f64 {
    match statistic {
        Statistic::Mean => 0.0,
        Statistic::Percentile(percent) => percent,
        Statistic::Max => 100.0,
    }
}

fn change(of: Statistic, number: usize, rounds: &Rounds, intervals: RepeatedIntervals) -> Change {
    let geometric_mean = |rounds: &[Round]| -> Option<f64> {
        let logarithms: Option<Vec<f64>> = rounds.iter().map(|round| round.statistics[number].map(f64::ln)).collect();
        let logarithms = logarithms.filter(|all| !all.is_empty())?;
        Some((logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
    };
    let change = rounds.change(number, intervals);
    let percent = |get: fn(&Estimate) -> f64| {
        change.as_ref().map(get).filter(|end| end.is_finite()).map(|logarithm| 100.0 * logarithm.exp_m1())
    };
    Change {
        statistic: of.to_string(),
        a_ms: geometric_mean(&rounds.a),
        b_ms: geometric_mean(&rounds.b),
        change_percent: percent(|change| change.value),
        low_percent: percent(|change| change.low),
        high_percent: percent(|change| change.high),
    }
}

/// `B's p95 is 3.10 to 7.02 % slower than A's`.
fn conclusion(change: &Change, rounds: usize) -> String {
    let statistic = &change.statistic;
    let (Some(low), Some(high)) = (change.low_percent, change.high_percent) else {
        return format!("the change of {statistic} is unknown after {rounds} valid rounds");
    };
    let text = |percent: f64| significant(percent.abs(), 3);
    match (low > 0.0, high < 0.0) {
        (true, _) => format!("B's {statistic} is {} to {} % slower than A's", text(low), text(high)),
        (_, true) => format!("B's {statistic} is {} to {} % faster than A's", text(high), text(low)),
        _ => {
            format!("B's {statistic} is between {} % faster and {} % slower than A's", text(low), text(high))
        }
    }
}
