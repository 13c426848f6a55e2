//! Conditions on the steps of a flow, which depend on the values and responses of a session.
//!
//! Only a run can decide a condition. Simulations, dry runs and expected shares draw it with its probability, by a
//! separate random number for each session and step.

use offered_base::random::{Purpose, Seed};

use super::{Branches, Step, Way};

/// A condition on the values and the last response of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Index in the conditions of the workload.
    pub number: u16,
    /// The probability that it holds, used if there are no responses; `None`: not stated.
    pub probability: Option<f64>,
}

/// The conditions of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The session makes the step only if this condition holds; otherwise it continues after the step.
    pub only_if: Option<Condition>,
    /// The repetitions end as soon as this condition holds.
    pub until: Option<Condition>,
    /// Conditions with their next steps (`None`: leave), instead of weights; the first condition that holds decides.
    pub switch: Vec<(Condition, Option<u16>)>,
    /// Overrides what the session does if the request fails.
    pub on_failure: Option<OnFailure>,
}

offered_base::named! {
    /// What a session does after a request with an outcome other than `ok`.
    #[derive(Default)]
    pub enum OnFailure {
        /// The session continues.
        #[default]
        Continue = "continue",
        /// The session leaves; a closed user begins another visit as a new visitor.
        EndSession = "end-session",
        /// The run stops.
        Stop = "stop",
    }
}

/// Returns the value with this number for the session of the completed request: for a condition 1 if it holds,
/// otherwise 0; for a weight, the weight.
/// `None`: unknown.
pub type Decide<'a> = &'a mut dyn FnMut(u16) -> Option<f64>;

/// The probability of a condition that states none.
const UNSTATED: f64 = 0.5;

impl Condition {
    /// The probability that it holds, where no response decides.
    pub(super) fn probability(self) -> f64 {
        self.probability.unwrap_or(UNSTATED)
    }

    /// Whether it holds after request `step` of `session`.
    pub(super) fn holds(self, seed: Seed, session: u64, step: u32, decide: Decide<'_>) -> bool {
        let drawn = || uniform(seed, session, step, self.number) < self.probability();
        decide(self.number).map_or_else(drawn, |value| value > 0.0)
    }
}

/// The random number of condition `number`, uniform in [0, 1).
pub(super) fn uniform(seed: Seed, session: u64, step: u32, number: u16) -> f64 {
    let own = Seed(seed.0.wrapping_add((u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    own.at(Purpose::Condition, session, step).uniform()
}

impl Rules {
    /// All conditions of the step.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        let one = [self.only_if, self.until].into_iter().flatten();
        one.chain(self.switch.iter().map(|(condition, _)| *condition))
    }
}

impl Step {
    /// The step as part of flow number `flow`, where the indices of all steps are larger by `by`.
    #[must_use]
    pub fn shifted(&self, flow: u16, by: u16) -> Self {
        let mut step = Self { flow, ..self.clone() };
        let later = |to: Option<u16>| to.map(|to| to + by);
        step.next = Branches::new(self.next.weights().map(|way| Way { to: later(way.to), ..way }));
        step.rules.switch.iter_mut().for_each(|(_, to)| *to = later(*to));
        step
    }

    /// The mean number of its repetitions.
    pub(super) fn mean_repeats(&self) -> f64 {
        match self.rules.until.map(Condition::probability) {
            Some(ends) if ends > 0.0 => (1.0 - (1.0 - ends).powi(i32::from(self.repeat))) / ends,
            _ => f64::from(self.repeat),
        }
    }
}
