//! What a session does by its values and responses: conditions on the steps of a flow.
//!
//! Only a run knows whether a condition holds. Everything else (simulations, dry runs, expected shares) takes it as true with its
//! probability, by a random number of its own for each session and step.

use offered_base::random::{Purpose, Seed};

use super::Step;

/// A condition on the values and the last response of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition {
    /// Index in the conditions of the workload.
    pub number: u16,
    /// The probability that it holds, where no response decides; `None`: not stated.
    pub probability: Option<f64>,
}

/// The conditions of a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// The session makes the step only if this holds; otherwise it continues as after the step.
    pub only_if: Option<Condition>,
    /// The repetitions end as soon as this holds.
    pub until: Option<Condition>,
    /// Where the session goes by the first of these conditions that holds, instead of by weight; `None`: it leaves.
    pub switch: Vec<(Condition, Option<u16>)>,
    /// Overrides what the session does if the request fails.
    pub on_failure: Option<OnFailure>,
}

offered_base::named! {
    /// What a session does after a request with an outcome other than `ok`.
    #[derive(Default)]
    pub enum OnFailure {
        /// It continues.
        #[default]
        Continue = "continue",
        /// It leaves; a closed user begins another visit as a new visitor.
        EndSession = "end-session",
        /// The run stops.
        Stop = "stop",
    }
}

/// Returns whether the condition with this number holds for the session of the completed request; `None`: unknown.
pub type Decide<'a> = &'a mut dyn FnMut(u16) -> Option<bool>;

/// The probability of a condition that states none.
const UNSTATED: f64 = 0.5;

impl Condition {
    /// The probability that it holds, where no response decides.
    pub(super) fn probability(self) -> f64 {
        self.probability.unwrap_or(UNSTATED)
    }

    /// Whether it holds after request `step` of `session`.
    pub(super) fn holds(self, seed: Seed, session: u64, step: u32, decide: Decide<'_>) -> bool {
        decide(self.number).unwrap_or_else(|| uniform(seed, session, step, self.number) < self.probability())
    }
}

/// The random number of condition `number`, uniform in [0, 1).
pub(super) fn uniform(seed: Seed, session: u64, step: u32, number: u16) -> f64 {
    let own = Seed(seed.0.wrapping_add((u64::from(number) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    own.at(Purpose::Condition, session, step).uniform()
}

impl Rules {
    /// All its conditions.
    pub fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        let one = [self.only_if, self.until].into_iter().flatten();
        one.chain(self.switch.iter().map(|(condition, _)| *condition))
    }
}

impl Step {
    /// The mean number of its repetitions.
    pub(super) fn mean_repeats(&self) -> f64 {
        match self.rules.until.map(Condition::probability) {
            Some(ends) if ends > 0.0 => (1.0 - (1.0 - ends).powi(i32::from(self.repeat))) / ends,
            _ => f64::from(self.repeat),
        }
    }

    /// The next steps (`None`: the session leaves) with their probabilities, without regard to their own conditions.
    fn ways(&self) -> Vec<(Option<u16>, f64)> {
        let mut rest = 1.0;
        let mut ways = Vec::new();
        for (condition, to) in &self.rules.switch {
            ways.push((*to, rest * condition.probability()));
            rest *= 1.0 - condition.probability();
        }
        ways.extend(self.next.ways().map(|(to, probability)| (to, rest * probability)));
        ways
    }
}

/// The steps that follow `step` (`None`: the session leaves) with their probabilities. A session skips steps with a false condition.
pub(super) fn followers(steps: &[Step], step: &Step) -> Vec<(Option<u16>, f64)> {
    let is_conditional = |to: u16| steps[usize::from(to)].rules.only_if.is_some();
    if step.rules.switch.is_empty() && !step.next.ways().any(|(to, _)| to.is_some_and(is_conditional)) {
        return step.next.ways().collect();
    }
    let mut open = step.ways();
    let mut all: Vec<(Option<u16>, f64)> = Vec::new();
    // A session that skips as many steps as there are leaves, as in `Flows::next`.
    for _ in 0..=steps.len() {
        let mut skipped: Vec<(Option<u16>, f64)> = Vec::new();
        for (to, probability) in open {
            let Some(target) = to else {
                add(&mut all, None, probability);
                continue;
            };
            let target_step = &steps[usize::from(target)];
            let made = target_step.rules.only_if.map_or(1.0, Condition::probability);
            add(&mut all, to, probability * made);
            if target_step.rules.only_if.is_some() {
                let further = target_step.next.ways();
                further.for_each(|(to, further)| add(&mut skipped, to, probability * (1.0 - made) * further));
            }
        }
        open = skipped;
        if open.is_empty() {
            break;
        }
    }
    for (_, probability) in open {
        add(&mut all, None, probability);
    }
    all
}

/// Adds a way; ways to the same step are one.
fn add(ways: &mut Vec<(Option<u16>, f64)>, to: Option<u16>, probability: f64) {
    match ways.iter_mut().find(|(other, _)| *other == to) {
        Some((_, sum)) => *sum += probability,
        None => ways.push((to, probability)),
    }
}
