//! Arrival processes: iterators of the instants at which sessions arrive.
//!
//! Every process is generated in *operational time*, in which one session arrives per unit on average. The inverse of
//! the rate profile's running total maps it to real time. One mechanism therefore serves a constant rate, a ramp, a
//! sine or a file of counts, exactly (Çinlar 1975: a Poisson process that is mapped in this way is Poisson with that
//! rate).

mod profile;
#[cfg(test)]
mod tests;

pub use profile::Profile;

use offered_base::InvalidValue;
use offered_base::random::{Purpose, Seed, Stream};
use offered_base::time::{Instant, Nanos, Rate, written_number};
use offered_distributions::Distribution;

/// The arrivals of sessions: rate, pattern and batch size.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule {
    rate: Profile,
    process: Process,
    batch: Batch,
}

impl Schedule {
    /// A Poisson process of this constant rate.
    pub fn poisson(rate: Rate) -> Self {
        Self { rate: Profile::constant(rate), process: Process::Poisson, batch: Batch::Single }
    }

    /// Sessions at this rate (per second), with gaps of this process, in batches.
    ///
    /// # Errors
    /// Gaps that are all zero, an empty batch, or a mean batch size below 1.
    pub fn new(rate: Profile, process: Process, batch: Batch) -> Result<Self, InvalidValue> {
        match (&process, batch) {
            (Process::Renewal(gaps), _) if gaps.mean() == 0.0 => {
                Err(InvalidValue::new("gaps of zero have no rate; write process = \"poisson\" with a batch"))
            }
            (_, Batch::Fixed(0)) => Err(InvalidValue::new("a batch must be at least 1")),
            (_, Batch::Geometric(mean)) if !(mean >= 1.0 && mean.is_finite()) => {
                Err(InvalidValue::new(format!("the mean batch must be at least 1, not {mean}")))
            }
            _ => Ok(Self { rate, process, batch }),
        }
    }

    /// The same process and batches at another rate.
    #[must_use]
    pub fn with_rate(self, rate: Profile) -> Self {
        Self { rate, ..self }
    }

    /// The rate of sessions over time.
    pub fn rate(&self) -> &Profile {
        &self.rate
    }

    /// The pattern of their arrivals.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// The number of sessions that arrive together.
    pub fn batch(&self) -> Batch {
        self.batch
    }

    /// The instants of arrival before `end`, drawn with `seed`, in ascending order.
    pub fn arrivals(&self, seed: Seed, end: Instant) -> Arrivals {
        Arrivals::new(self, seed, end)
    }
}

/// The pattern of arrivals.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// A Poisson process: independent exponential gaps, CoV 1.
    Poisson,
    /// Evenly spaced arrivals, CoV 0; the first arrives at the start.
    Constant,
    /// Exactly the expected number of arrivals, at sorted uniform times; some tools call this Poisson. In windows about
    /// as long as the run, counts vary less than those of a Poisson process.
    FixedCount,
    /// Independent gaps of this form, scaled to the rate; stationary from the start (the first gap is a residual one).
    Renewal(Distribution),
    /// Markov-modulated Poisson: the rate is multiplied by the factor of the current state; each state lasts an
    /// exponential time.
    Modulated(Modulation),
}

impl Process {
    /// The value in a workload file; `None` for the default, which is not written.
    pub fn written(&self) -> Option<String> {
        Some(match self {
            Self::Poisson => return None,
            Self::Constant => "\"constant\"".to_owned(),
            Self::FixedCount => "\"poisson-fixed-count\"".to_owned(),
            Self::Renewal(distribution) => format!("{{ renewal = {distribution} }}"),
            Self::Modulated(Modulation { given, sojourns, .. }) => {
                let factors: Vec<String> = given.iter().map(|factor| written_number(*factor)).collect();
                let sojourns: Vec<String> =
                    sojourns.iter().map(|s| format!("\"{}\"", Nanos::from_secs_f64(*s))).collect();
                format!("{{ mmpp = {{ factors = [{}], sojourns = [{}] }} }}", factors.join(", "), sojourns.join(", "))
            }
        })
    }
}

/// The states of a Markov-modulated Poisson process, visited in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Modulation {
    /// As they were given.
    given: Vec<f64>,
    /// The factors, scaled so that the long-run rate is the rate of the workload.
    factors: Vec<f64>,
    sojourns: Vec<f64>,
}

impl Modulation {
    /// A modulation with these relative rates and mean sojourn times; the relative rates are scaled so that the
    /// long-run rate is the rate of the workload.
    ///
    /// # Errors
    /// Lists of different lengths, fewer than two states, negative factors, only zeros, or sojourn times of zero.
    pub fn new(factors: &[f64], sojourns: &[Nanos]) -> Result<Self, InvalidValue> {
        let sojourns: Vec<f64> = sojourns.iter().map(|s| s.as_secs_f64()).collect();
        if factors.len() != sojourns.len() || factors.len() < 2 {
            return Err(InvalidValue::new(
                "mmpp needs as many factors as sojourns, at least two, for example factors = [0.2, 3], sojourns = [\"10s\", \"2s\"]",
            ));
        }
        if factors.iter().any(|f| !(f.is_finite() && *f >= 0.0)) || sojourns.contains(&0.0) {
            return Err(InvalidValue::new("mmpp factors must be zero or more, and sojourns longer than zero"));
        }
        let weighted: f64 = factors.iter().zip(&sojourns).map(|(f, s)| f * s).sum();
        let mean = weighted / sojourns.iter().sum::<f64>();
        if mean == 0.0 {
            return Err(InvalidValue::new("at least one mmpp factor must be above zero"));
        }
        Ok(Self { given: factors.to_vec(), factors: factors.iter().map(|f| f / mean).collect(), sojourns })
    }
}

/// The number of sessions that arrive together; the rate counts sessions, not batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Batch {
    /// One session.
    Single,
    /// A constant number of sessions.
    Fixed(u32),
    /// A geometric number of sessions with this mean, at least one.
    Geometric(f64),
}

impl Batch {
    /// The value in a workload file; `None` for the default, which is not written.
    pub fn written(self) -> Option<String> {
        match self {
            Self::Single => None,
            Self::Fixed(size) => Some(size.to_string()),
            Self::Geometric(mean) => Some(format!("{{ geometric = {} }}", written_number(mean))),
        }
    }

    #[inline]
    fn mean(self) -> f64 {
        match self {
            Self::Single => 1.0,
            Self::Fixed(size) => f64::from(size),
            Self::Geometric(mean) => mean,
        }
    }

    #[inline]
    fn sample(self, stream: &mut Stream) -> u64 {
        match self {
            Self::Single => 1,
            Self::Fixed(size) => u64::from(size),
            Self::Geometric(mean) if mean <= 1.0 => 1,
            // P(size > k) = (1 - 1/mean)^k
            Self::Geometric(mean) => 1 + (-stream.exponential() / libm::log1p(-1.0 / mean)) as u64,
        }
    }
}

/// The instants of a [`Schedule`], in order.
#[derive(Clone, Debug)]
pub struct Arrivals {
    rate: Profile,
    batch: Batch,
    gaps: Stream,
    bursts: Stream,
    pattern: Pattern,
    end: Instant,
    /// Operational time: the expected number of batches before the last one.
    count: f64,
    at: Instant,
    /// Sessions still to come at `at`.
    together: u64,
    /// Sessions that may still be drawn.
    left: u64,
    ahead: Ahead,
}

/// Arrivals that are drawn already: a Poisson process is drawn many at a time, in half the time.
#[derive(Clone, Debug)]
struct Ahead {
    instants: [Instant; 32],
    /// Number of arrivals drawn, and number of those that were returned.
    drawn: usize,
    taken: usize,
}

/// The state of a process between arrivals.
#[derive(Clone, Debug)]
enum Pattern {
    Poisson,
    Constant { next: u64 },
    FixedCount { left: u64, total: f64 },
    Renewal { distribution: Distribution, begun: bool },
    Modulated { modulation: Modulation, state: usize, until: Instant },
}

impl Arrivals {
    fn new(schedule: &Schedule, seed: Seed, end: Instant) -> Self {
        let mut bursts = seed.stream(Purpose::Burst);
        let pattern = match &schedule.process {
            Process::Poisson => Pattern::Poisson,
            Process::Constant => Pattern::Constant { next: 0 },
            Process::FixedCount => {
                let total = schedule.rate.cumulative(end) / schedule.batch.mean();
                Pattern::FixedCount { left: libm::round(total) as u64, total }
            }
            Process::Renewal(distribution) => Pattern::Renewal { distribution: distribution.clone(), begun: false },
            Process::Modulated(modulation) => {
                let states = modulation.sojourns.len();
                // Start in a state with its long-run probability; an exponential sojourn is its own residual.
                let mut at = bursts.uniform() * modulation.sojourns.iter().sum::<f64>();
                let held = |s: &usize| {
                    at -= modulation.sojourns[*s];
                    at < 0.0
                };
                let state = (0..states).find(held).unwrap_or(states - 1);
                let until = Instant::from_secs_f64(modulation.sojourns[state] * bursts.exponential());
                Pattern::Modulated { modulation: modulation.clone(), state, until }
            }
        };
        Self {
            rate: schedule.rate.clone(),
            batch: schedule.batch,
            gaps: seed.stream(Purpose::Arrivals),
            bursts,
            pattern,
            end,
            count: 0.0,
            at: Instant::ZERO,
            together: 0,
            left: u64::MAX,
            ahead: Ahead { instants: [Instant::ZERO; 32], drawn: 0, taken: 0 },
        }
    }

    /// Limits the arrivals to the first `most`. Call it before the first `next`.
    #[must_use]
    pub fn first(self, most: u64) -> Self {
        Self { left: most, ..self }
    }

    /// Draws some arrivals in advance; draws none after the last.
    fn draw(&mut self) {
        self.draw_ahead();
        self.ahead.drawn = self.ahead.drawn.min(usize::try_from(self.left).unwrap_or(usize::MAX));
        self.left -= self.ahead.drawn as u64;
    }

    fn draw_ahead(&mut self) {
        self.ahead.taken = 0;
        if let (Pattern::Poisson, Batch::Single, Some(_)) = (&self.pattern, self.batch, self.rate.as_constant()) {
            let mut gaps = self.gaps.clone();
            for instant in &mut self.ahead.instants {
                self.count += gaps.exponential();
                self.at = self.rate.instant(self.count).unwrap_or(Instant::MAX);
                *instant = self.at;
            }
            self.gaps = gaps;
            self.ahead.drawn = self.ahead.instants.len();
        } else if let Some(at) = self.one() {
            self.ahead.instants[0] = at;
            self.ahead.drawn = 1;
        } else {
            self.ahead.drawn = 0;
        }
    }

    /// The next arrival.
    fn one(&mut self) -> Option<Instant> {
        if self.together == 0 {
            // Rounding to the nanosecond must not turn order around.
            self.at = self.next_batch()?.max(self.at);
            self.together = self.batch.sample(&mut self.bursts);
        }
        self.together -= 1;
        Some(self.at)
    }

    /// The instant of the next batch; `None`: no batch before the end.
    #[inline]
    fn next_batch(&mut self) -> Option<Instant> {
        let size = self.batch.mean();
        let gap = match &mut self.pattern {
            Pattern::Poisson => self.gaps.exponential(),
            Pattern::Constant { next } => {
                let index = *next;
                *next += 1;
                return match self.batch {
                    Batch::Single => self.rate.instant_of(index),
                    _ => self.rate.instant(index as f64 * size),
                };
            }
            Pattern::FixedCount { left: 0, .. } => return None,
            Pattern::FixedCount { left, total } => {
                // The smallest of `left` uniform points in the rest of the interval.
                let share = -libm::expm1(-self.gaps.exponential() / *left as f64);
                *left -= 1;
                (*total - self.count) * share
            }
            Pattern::Renewal { distribution, begun } => {
                let gap = if *begun {
                    distribution.sample(&mut self.gaps)
                } else {
                    distribution.sample_residual(&mut self.gaps)
                };
                *begun = true;
                gap / distribution.mean()
            }
            Pattern::Modulated { modulation, state, until } => {
                let mut work = self.gaps.exponential();
                let mut gap = 0.0;
                loop {
                    // Operational time grows by `factor` per expected arrival while this state holds.
                    let factor = modulation.factors[*state];
                    let room = (self.rate.cumulative(*until) / size - self.count - gap).max(0.0);
                    if work < room * factor {
                        break gap + work / factor;
                    }
                    if *until >= self.end {
                        return None;
                    }
                    work -= room * factor;
                    gap += room;
                    *state = (*state + 1) % modulation.factors.len();
                    *until += Nanos::from_secs_f64(modulation.sojourns[*state] * self.bursts.exponential());
                }
            }
        };
        self.count += gap;
        self.rate.instant(self.count * size)
    }
}

impl Iterator for Arrivals {
    type Item = Instant;

    #[inline]
    fn next(&mut self) -> Option<Instant> {
        if self.ahead.taken == self.ahead.drawn {
            self.draw();
        }
        let at = *self.ahead.instants[..self.ahead.drawn].get(self.ahead.taken)?;
        self.ahead.taken += 1;
        (at < self.end).then_some(at)
    }
}
