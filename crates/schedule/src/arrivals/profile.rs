//! Rate profiles: the expected number of arrivals before an instant, and its inverse.

use std::f64::consts::TAU;
use std::fmt;
use std::sync::Arc;

use offered_base::InvalidValue;
use offered_base::time::{Instant, Nanos, Rate, written_number};

/// A rate over time with an exact running total and its exact inverse.
///
/// After its last piece a profile holds its last rate, except a list of counts, which ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile(Kind);

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    /// A rate, and its mean gap in seconds. The gap is stored because a division takes longer than the rest of an
    /// arrival.
    Constant(Rate, f64),
    Pieces(Arc<[Piece]>, Given),
    Sine {
        mean: f64,
        amplitude: f64,
        period: f64,
    },
}

/// The parameters of the constructor of a profile of pieces.
#[derive(Clone, Debug, PartialEq)]
enum Given {
    Ramp(f64, f64, Nanos),
    Steps(Arc<[(f64, Nanos)]>),
    Stages(Arc<[(f64, f64, Nanos)]>),
    Counts(Arc<[f64]>, Nanos),
}

/// As a workload file writes it.
impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Constant(rate, _) => write!(f, "\"{rate}\""),
            Kind::Pieces(_, Given::Ramp(from, to, over)) => {
                write!(f, "{{ ramp = [\"{from}/s\", \"{to}/s\"], over = \"{over}\" }}")
            }
            Kind::Pieces(_, Given::Steps(steps)) => {
                let steps: Vec<String> =
                    steps.iter().map(|(rate, time)| format!("[\"{rate}/s\", \"{time}\"]")).collect();
                write!(f, "{{ steps = [{}] }}", steps.join(", "))
            }
            Kind::Pieces(_, Given::Stages(stages)) => {
                let stage = |(from, to, over): &(f64, f64, Nanos)| match from == to {
                    true => format!("[\"{from}/s\", \"{over}\"]"),
                    false => format!("[\"{from}/s\", \"{to}/s\", \"{over}\"]"),
                };
                write!(f, "{{ stages = [{}] }}", stages.iter().map(stage).collect::<Vec<_>>().join(", "))
            }
            Kind::Pieces(_, Given::Counts(counts, interval)) => {
                let counts: Vec<String> = counts.iter().map(|count| written_number(*count)).collect();
                write!(f, "{{ counts = [{}], interval = \"{interval}\" }}", counts.join(", "))
            }
            Kind::Sine { mean, amplitude, period } => {
                let period = Nanos::from_secs_f64(*period);
                write!(
                    f,
                    "{{ sine = {{ mean = \"{mean}/s\", amplitude = \"{amplitude}/s\", period = \"{period}\" }} }}"
                )
            }
        }
    }
}

/// A stretch over which the rate changes linearly. Times in seconds, rates per second.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    start: f64,
    length: f64,
    from: f64,
    to: f64,
    /// Arrivals expected before `start`.
    before: f64,
}

impl Piece {
    fn slope(&self) -> f64 {
        if self.length.is_finite() { (self.to - self.from) / self.length } else { 0.0 }
    }

    fn expected(&self, since_start: f64) -> f64 {
        (self.from + self.slope() * since_start / 2.0) * since_start
    }

    /// The time since `start` by which `count` arrivals are expected: the root of from x + slope x^2 / 2 = count, in the form
    /// that loses no digits when the slope is small.
    fn inverse(&self, count: f64) -> f64 {
        if count <= 0.0 {
            return 0.0;
        }
        let root = libm::sqrt((self.from * self.from + 2.0 * self.slope() * count).max(0.0));
        2.0 * count / (self.from + root)
    }
}

impl Profile {
    /// A constant rate.
    pub fn constant(rate: Rate) -> Self {
        Self(Kind::Constant(rate, 1.0 / rate.per_sec()))
    }

    /// A ramp from one rate to another over `over`, then the second rate. Rates per second; one of them may be zero.
    ///
    /// # Errors
    /// A ramp of duration zero, or from zero to zero.
    pub fn ramp(from: f64, to: f64, over: Nanos) -> Result<Self, InvalidValue> {
        if over == Nanos::ZERO {
            return Err(InvalidValue::new("a ramp must last longer than 0s"));
        }
        Self::pieces(&[(from, to, over)], Some(to), Given::Ramp(from, to, over))
    }

    /// Constant rates one after another, each for its duration; the last one continues.
    ///
    /// # Errors
    /// No steps, a step of no time, or only zero rates.
    pub fn steps(steps: &[(f64, Nanos)]) -> Result<Self, InvalidValue> {
        if steps.is_empty() || steps.iter().any(|(_, time)| *time == Nanos::ZERO) {
            return Err(InvalidValue::new(
                "steps must be a list like [[\"10/s\", \"1m\"], [\"50/s\", \"2m\"]], each longer than 0s",
            ));
        }
        let pieces: Vec<_> = steps.iter().map(|(rate, time)| (*rate, *rate, *time)).collect();
        Self::pieces(&pieces, steps.last().map(|(rate, _)| *rate), Given::Steps(steps.into()))
    }

    /// One stage after another, each with the rate at its start, the rate at its end, and its length; in between the rate changes linearly.
    /// The last rate continues.
    ///
    /// # Errors
    /// No stages, a stage of duration zero, or only zero rates.
    pub fn stages(stages: &[(f64, f64, Nanos)]) -> Result<Self, InvalidValue> {
        if stages.is_empty() || stages.iter().any(|(_, _, over)| *over == Nanos::ZERO) {
            return Err(InvalidValue::new(
                "stages must be a list like [[\"0/s\", \"100/s\", \"1m\"], [\"100/s\", \"5m\"]], each longer than 0s",
            ));
        }
        Self::pieces(stages, stages.last().map(|(_, to, _)| *to), Given::Stages(stages.into()))
    }

    /// The total length of the stages; `None` for a profile without stages.
    pub fn staged(&self) -> Option<Nanos> {
        match &self.0 {
            Kind::Pieces(_, Given::Stages(stages)) => {
                Some(stages.iter().fold(Nanos::ZERO, |sum, (_, _, over)| sum + *over))
            }
            _ => None,
        }
    }

    /// A profile with these expected numbers of arrivals in consecutive intervals, and no arrivals afterwards.
    ///
    /// # Errors
    /// No counts, only zeros, or an interval of duration zero.
    pub fn counts(counts: &[f64], interval: Nanos) -> Result<Self, InvalidValue> {
        if interval == Nanos::ZERO {
            return Err(InvalidValue::new("the interval of counts must be longer than 0s"));
        }
        let per_sec = |count: &f64| count / interval.as_secs_f64();
        let pieces: Vec<_> = counts.iter().map(|c| (per_sec(c), per_sec(c), interval)).collect();
        Self::pieces(&pieces, None, Given::Counts(counts.into(), interval))
    }

    /// `mean + amplitude sin(2 pi t / period)`, rates per second.
    ///
    /// # Errors
    /// A mean that is not above zero, an amplitude above the mean (the rate would be negative), or no period.
    pub fn sine(mean: f64, amplitude: f64, period: Nanos) -> Result<Self, InvalidValue> {
        if !(mean > 0.0 && (0.0..=mean).contains(&amplitude)) || period == Nanos::ZERO {
            return Err(InvalidValue::new(
                "a sine needs mean > 0, an amplitude not above the mean, and a period longer than 0s",
            ));
        }
        Ok(Self(Kind::Sine { mean, amplitude, period: period.as_secs_f64() }))
    }

    fn pieces(list: &[(f64, f64, Nanos)], hold: Option<f64>, given: Given) -> Result<Self, InvalidValue> {
        if list.iter().any(|(a, b, _)| !(a.is_finite() && b.is_finite() && *a >= 0.0 && *b >= 0.0)) {
            return Err(InvalidValue::new("rates and counts must be numbers of zero or more"));
        }
        if list.iter().all(|(a, b, _)| *a == 0.0 && *b == 0.0) {
            return Err(InvalidValue::new("a rate profile needs at least one rate above zero"));
        }
        let mut pieces = Vec::with_capacity(list.len() + 1);
        let (mut start, mut before) = (0.0, 0.0);
        for (from, to, time) in list {
            let piece = Piece { start, length: time.as_secs_f64(), from: *from, to: *to, before };
            start += piece.length;
            before += piece.expected(piece.length);
            pieces.push(piece);
        }
        let last = hold.unwrap_or(0.0);
        pieces.push(Piece { start, length: f64::INFINITY, from: last, to: last, before });
        Ok(Self(Kind::Pieces(pieces.into(), given)))
    }

    /// The rate, if it is constant.
    pub fn as_constant(&self) -> Option<Rate> {
        match &self.0 {
            Kind::Constant(rate, _) => Some(*rate),
            _ => None,
        }
    }

    /// The rate at an instant, per second.
    pub fn rate_at(&self, instant: Instant) -> f64 {
        let t = instant.as_secs_f64();
        match &self.0 {
            Kind::Constant(rate, _) => rate.per_sec(),
            Kind::Pieces(pieces, _) => {
                let piece = &pieces[pieces.partition_point(|p| p.start <= t).saturating_sub(1)];
                piece.from + piece.slope() * (t - piece.start)
            }
            Kind::Sine { mean, amplitude, period } => mean + amplitude * libm::sin(TAU * t / period),
        }
    }

    /// The highest rate before `end`, per second; of a sine to within a thousandth of the run.
    pub fn peak(&self, end: Instant) -> f64 {
        if let Kind::Pieces(pieces, _) = &self.0 {
            let end = end.as_secs_f64();
            let begun = pieces.iter().take_while(|piece| piece.start < end);
            let highest =
                |piece: &Piece| piece.from.max(piece.from + piece.slope() * piece.length.min(end - piece.start));
            return begun.map(highest).fold(0.0, f64::max);
        }
        (0..=1000).map(|i| self.rate_at(Instant(end.0 / 1000 * i))).fold(0.0, f64::max)
    }

    /// The expected number of arrivals before an instant.
    pub fn cumulative(&self, instant: Instant) -> f64 {
        let t = instant.as_secs_f64();
        match &self.0 {
            Kind::Constant(rate, _) => rate.per_sec() * t,
            Kind::Pieces(pieces, _) => {
                let piece = &pieces[pieces.partition_point(|p| p.start <= t).saturating_sub(1)];
                piece.before + piece.expected(t - piece.start)
            }
            Kind::Sine { mean, amplitude, period } => sine_total(*mean, *amplitude, *period, t),
        }
    }

    /// The instant by which `count` arrivals are expected; `None` when the profile ends before.
    #[inline]
    pub fn instant(&self, count: f64) -> Option<Instant> {
        match &self.0 {
            Kind::Constant(_, gap) => Some(Instant::from_secs_f64(count * gap)),
            _ => self.varying_instant(count),
        }
    }

    /// Like the calling function, for a rate that changes; it is separate so that the usual case can be inlined.
    fn varying_instant(&self, count: f64) -> Option<Instant> {
        let t = match &self.0 {
            Kind::Constant(_, gap) => count * gap,
            Kind::Pieces(pieces, _) => {
                let piece = &pieces[pieces.partition_point(|p| p.before <= count).saturating_sub(1)];
                if piece.from == 0.0 && piece.to == 0.0 {
                    return None;
                }
                piece.start + piece.inverse(count - piece.before)
            }
            Kind::Sine { mean, amplitude, period } => sine_inverse(*mean, *amplitude, *period, count),
        };
        Some(Instant::from_secs_f64(t))
    }

    /// The instant of arrival `index` of a perfectly even stream: exact to the nanosecond where the rate is constant.
    #[inline]
    pub fn instant_of(&self, index: u64) -> Option<Instant> {
        match &self.0 {
            Kind::Constant(rate, _) => Some(rate.instant(index)),
            _ => self.instant(index as f64),
        }
    }
}

/// The time by which `count` arrivals are expected, by Newton's method inside a bracket; a step that would leave the
/// bracket is replaced by a bisection.
fn sine_inverse(mean: f64, amplitude: f64, period: f64, count: f64) -> f64 {
    let cycles = libm::floor(count / (mean * period));
    let (mut low, mut high) = (cycles * period, (cycles + 1.0) * period);
    let mut t = f64::midpoint(low, high);
    for _ in 0..100 {
        let excess = sine_total(mean, amplitude, period, t) - count;
        *(if excess > 0.0 { &mut high } else { &mut low }) = t;
        let slope = mean + amplitude * libm::sin(TAU * t / period);
        let step = t - excess / slope;
        let next = if step > low && step < high { step } else { f64::midpoint(low, high) };
        if (next - t).abs() < 1e-10 {
            break;
        }
        t = next;
    }
    t
}

fn sine_total(mean: f64, amplitude: f64, period: f64, t: f64) -> f64 {
    mean * t + amplitude * period / TAU * (1.0 - libm::cos(TAU * t / period))
}
