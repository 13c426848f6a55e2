//! Once only controllers of a group: what a thread does before its iterations (`OnceOnlyController`).

use super::Reader;
use super::group::Throttle;
use super::node::Node;
use crate::action::Action;
use crate::chain::{Chain, TooLong};

/// What a thread does: in each iteration, and once.
pub(super) struct Chains {
    pub(super) each: Chain,
    pub(super) once: Option<Chain>,
    /// The requests of `each`, and those of `once`.
    pub(super) requests: Vec<usize>,
}

impl<'e> Reader<'e, '_> {
    /// The chains of a group whose threads do `action`, again if `iterates`. A throttle of threads that also wait is removed.
    ///
    /// # Errors
    /// A chain has too many steps.
    pub(super) fn chains(
        &mut self,
        group: &Node<'e>,
        action: Action,
        iterates: bool,
        throttle: &mut Option<Throttle>,
    ) -> Result<Chains, TooLong> {
        let chain = |action: Action| Chain::build(&action.expand_first_passes(), iterates);
        let (first, rest) = match iterates {
            true => action.clone().split_first_passes(),
            false => (Vec::new(), action.clone()),
        };
        if iterates && rest.has_first_ever() {
            self.note(
                group,
                "has once only requests below a loop, a choice or a condition; here they are sent in every iteration, not once per thread",
            );
        }
        let each = chain(rest)?;
        if each.means().1 > 0.0 {
            *throttle = None;
        }
        let first = Action::Sequence(first);
        let leads = action.requests().starts_with(&first.requests());
        if each.requests().is_empty() && !first.requests().is_empty() {
            // The iterations send nothing.
            self.single_round = true;
            return Ok(Chains::new(Chain::build(&first.expand_first_passes(), false)?, None));
        }
        let once = match first.requests().is_empty() {
            true => None,
            false => Some(Chain::followed_by(&first.expand_first_passes(), Some(each.initial_wait.clone()))?),
        };
        let arrives = matches!(throttle, Some(Throttle::Shared { .. }));
        let chains = match once {
            None => Chains::new(each, None),
            // Sessions that arrive have one iteration each.
            Some(once) if !arrives && once.has_one_start() => {
                if !leads {
                    self.note(
                        group,
                        "has once only requests after other requests in its first iteration; here they are sent before the others",
                    );
                }
                if once.initial_wait != each.initial_wait {
                    self.note(group, "here users wait before the first once only request as before other iterations");
                }
                Chains::new(each, Some(once))
            }
            Some(_) if self.once_is_used => {
                self.note(
                    group,
                    "has once only requests whose values other requests use; here they are sent in every iteration",
                );
                Chains::new(chain(action)?, None)
            }
            Some(_) => {
                self.note(group, "has once only requests at the start of each thread; left out because they are not part of the steady load");
                Chains::new(each, None)
            }
        };
        Ok(chains)
    }
}

impl Chains {
    fn new(each: Chain, once: Option<Chain>) -> Self {
        let mut requests = each.requests();
        requests.extend(once.iter().flat_map(Chain::requests));
        requests.sort_unstable();
        requests.dedup();
        Self { each, once, requests }
    }

    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut Chain> {
        std::iter::once(&mut self.each).chain(&mut self.once)
    }
}
