//! The control flow of a plan: sequences, choices, loops and conditions.

use offered_workload::condition::Condition;

use crate::delay::Delay;

/// Loops of several requests with more steps than this become a block instead of being written out.
const MAX_WRITTEN_OUT: usize = 20;

/// What a user does in one iteration.
#[derive(Clone, Debug)]
pub(crate) enum Action {
    /// Wait, then send a request (an index).
    Request(usize, Delay),
    /// Wait.
    Pause(Delay),
    /// All actions in order.
    Sequence(Vec<Action>),
    /// One of the actions, by weight.
    Choice(Vec<(f64, Action)>),
    /// The action, repeated this number of times.
    Repeat(u32, Box<Action>),
    /// The action, only in the first pass of the enclosing loop.
    FirstPass(Box<Action>),
    /// The action, only in the first passes of all enclosing loops.
    FirstEver(Box<Action>),
    /// The action, only if the condition holds.
    If(Condition, Decided, Box<Action>),
    /// The action, which [is straight](Action::is_straight), again and again until the condition holds; at most this number of times.
    Until(Condition, u32, Box<Action>),
}

/// When the condition of an action with several requests is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decided {
    /// Before the first request, if the action is straight.
    Once,
    /// Before each request.
    EachTime,
}

impl Action {
    /// Number of steps when written out.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Request(..) => 1,
            Self::Pause(_) => 0,
            Self::Sequence(actions) => actions.iter().fold(0, |sum, action| sum.saturating_add(action.size())),
            Self::Choice(actions) => actions.iter().fold(0, |sum, (_, action)| sum.saturating_add(action.size())),
            Self::Repeat(_, action) if matches!(**action, Self::Request(..)) => 2,
            Self::Repeat(times, action) => action.size().saturating_mul(*times as usize),
            Self::FirstPass(action) | Self::FirstEver(action) => action.size(),
            Self::If(_, _, action) | Self::Until(_, _, action) => action.size(),
        }
    }

    /// Indices of the requests, once for each occurrence in the plan (loops are not unrolled).
    pub(crate) fn requests(&self) -> Vec<usize> {
        match self {
            Self::Request(request, _) => vec![*request],
            Self::Pause(_) => Vec::new(),
            Self::Sequence(actions) => actions.iter().flat_map(Self::requests).collect(),
            Self::Choice(actions) => actions.iter().flat_map(|(_, action)| action.requests()).collect(),
            Self::Repeat(_, action) | Self::FirstPass(action) | Self::FirstEver(action) => action.requests(),
            Self::If(_, _, action) | Self::Until(_, _, action) => action.requests(),
        }
    }

    /// Whether the steps follow each other in one order, so that they can be a block: it contains no choice.
    pub(crate) fn is_straight(&self) -> bool {
        match self {
            Self::Request(..) | Self::Pause(_) => true,
            Self::Sequence(actions) => actions.iter().all(Self::is_straight),
            Self::Choice(_) => false,
            Self::Repeat(_, action) | Self::FirstPass(action) | Self::FirstEver(action) => action.is_straight(),
            Self::If(_, _, action) | Self::Until(_, _, action) => action.is_straight(),
        }
    }

    /// Whether this number of passes becomes a block.
    pub(crate) fn is_long_loop(&self, times: u32) -> bool {
        let is_long = self.size().saturating_mul(times as usize) > MAX_WRITTEN_OUT;
        times > 1 && is_long && self.is_straight() && self.first_wait().1
    }

    /// The request with its wait, if this is all.
    pub(crate) fn single_request(&self) -> Option<(usize, &Delay)> {
        match self {
            Self::Request(request, before) => Some((*request, before)),
            Self::Sequence(actions) => match &actions[..] {
                [action] => action.single_request(),
                _ => None,
            },
            _ => None,
        }
    }

    /// The wait before the first request, and whether there is one.
    pub(crate) fn first_wait(&self) -> (Delay, bool) {
        match self {
            Self::Request(_, before) => (before.clone(), true),
            Self::Pause(delay) => (delay.clone(), false),
            Self::Repeat(0, _) => (Delay::default(), false),
            Self::Sequence(actions) => {
                let mut wait = Delay::default();
                for action in actions {
                    let (own, found) = action.first_wait();
                    wait = wait.plus(&own);
                    if found {
                        return (wait, true);
                    }
                }
                (wait, false)
            }
            Self::Choice(actions) => {
                let waits: Vec<(f64, Delay)> =
                    actions.iter().map(|(weight, action)| (*weight, action.first_wait().0)).collect();
                (Delay::mixture(&waits), !waits.is_empty())
            }
            Self::Repeat(_, action) | Self::FirstPass(action) | Self::FirstEver(action) => action.first_wait(),
            Self::If(_, _, action) | Self::Until(_, _, action) => action.first_wait(),
        }
    }

    /// Removes the requests that are not `kept`; their waits stay.
    pub(crate) fn retain_requests(self, kept: &impl Fn(usize) -> bool) -> Self {
        match self {
            Self::Request(request, before) if !kept(request) => Self::Pause(before),
            Self::Sequence(actions) => {
                Self::Sequence(actions.into_iter().map(|action| action.retain_requests(kept)).collect())
            }
            Self::Choice(actions) => Self::Choice(
                actions.into_iter().map(|(weight, action)| (weight, action.retain_requests(kept))).collect(),
            ),
            Self::Repeat(times, action) => Self::Repeat(times, Box::new(action.retain_requests(kept))),
            Self::FirstPass(action) => Self::FirstPass(Box::new(action.retain_requests(kept))),
            Self::FirstEver(action) => Self::FirstEver(Box::new(action.retain_requests(kept))),
            Self::If(condition, decided, action) => {
                Self::If(condition, decided, Box::new(action.retain_requests(kept)))
            }
            Self::Until(condition, times, action) => {
                Self::Until(condition, times, Box::new(action.retain_requests(kept)))
            }
            action => action,
        }
    }

    /// The first passes outside of loops, choices and conditions, and the actions of every pass.
    pub(crate) fn split_first_passes(self) -> (Vec<Self>, Self) {
        let Self::Sequence(actions) = self else { return (Vec::new(), self) };
        let (mut first, mut every) = (Vec::new(), Vec::new());
        for action in actions {
            match action {
                Self::FirstPass(action) | Self::FirstEver(action) => first.push(*action),
                action => {
                    let (inner, rest) = action.split_first_passes();
                    first.extend(inner);
                    every.push(rest);
                }
            }
        }
        (first, Self::Sequence(every))
    }

    /// Unrolls the first pass of loops that contain [`Action::FirstPass`] or [`Action::FirstEver`]; outside of loops these are plain
    /// actions.
    pub(crate) fn expand_first_passes(self) -> Self {
        self.expanded(true, true)
    }

    /// The action in one pass: `first` tells whether it is the first pass of the nearest loop, `ever` whether it is the
    /// first of all loops.
    fn expanded(self, first: bool, ever: bool) -> Self {
        match self {
            Self::Sequence(actions) => {
                Self::Sequence(actions.into_iter().map(|action| action.expanded(first, ever)).collect())
            }
            Self::Choice(actions) => Self::Choice(
                actions.into_iter().map(|(weight, action)| (weight, action.expanded(first, ever))).collect(),
            ),
            Self::FirstPass(action) if first => action.expanded(first, ever),
            Self::FirstEver(action) if ever => action.expanded(first, ever),
            Self::FirstPass(_) | Self::FirstEver(_) => Self::Sequence(Vec::new()),
            Self::If(condition, decided, action) => {
                Self::If(condition, decided, Box::new(action.expanded(first, ever)))
            }
            Self::Repeat(times, action) if times > 1 && action.has_first(ever) => {
                let later = action.clone().expanded(false, false);
                Self::Sequence(vec![action.expanded(true, ever), Self::Repeat(times - 1, Box::new(later))])
            }
            Self::Repeat(times, action) => Self::Repeat(times, Box::new(action.expanded(true, ever))),
            Self::Until(until, times, action) if times > 1 && action.has_first(ever) => {
                let goes_on = Condition { negated: !until.negated, ..until.clone() };
                let later = Self::Until(until, times - 1, Box::new(action.clone().expanded(false, false)));
                Self::Sequence(vec![action.expanded(true, ever), Self::If(goes_on, Decided::Once, Box::new(later))])
            }
            Self::Until(until, times, action) => Self::Until(until, times, Box::new(action.expanded(true, ever))),
            action => action,
        }
    }

    /// Whether the first pass of a surrounding loop differs from later ones. With `ever`, parts that only the very
    /// first pass contains count too.
    fn has_first(&self, ever: bool) -> bool {
        match self {
            Self::FirstPass(_) => true,
            Self::FirstEver(action) => ever || action.has_first(ever),
            Self::Request(..) | Self::Pause(_) => false,
            Self::Sequence(actions) => actions.iter().any(|action| action.has_first(ever)),
            Self::Choice(actions) => actions.iter().any(|(_, action)| action.has_first(ever)),
            Self::If(_, _, action) => action.has_first(ever),
            // The first passes of an inner loop are in each pass of the outer one.
            Self::Repeat(_, action) | Self::Until(_, _, action) => ever && action.has_first_ever(),
        }
    }

    /// Whether it contains an [`Action::FirstEver`].
    pub(crate) fn has_first_ever(&self) -> bool {
        match self {
            Self::FirstEver(_) => true,
            Self::Request(..) | Self::Pause(_) => false,
            Self::Sequence(actions) => actions.iter().any(Self::has_first_ever),
            Self::Choice(actions) => actions.iter().any(|(_, action)| action.has_first_ever()),
            Self::FirstPass(action) | Self::Repeat(_, action) => action.has_first_ever(),
            Self::If(_, _, action) | Self::Until(_, _, action) => action.has_first_ever(),
        }
    }
}
