//! Policies of requests that the target may set for all of them.

use super::{Request, Target, Workload};

/// Policies of the requests of a workload; that of a target is shared by its requests that have none.
#[derive(Clone, Debug, PartialEq)]
pub struct ByLabel<P> {
    policies: Vec<P>,
    /// The policy of each request, by label.
    by_label: Vec<Option<usize>>,
}

impl<P> Default for ByLabel<P> {
    fn default() -> Self {
        Self { policies: Vec::new(), by_label: Vec::new() }
    }
}

impl<P: Clone> ByLabel<P> {
    /// The policies of targets and requests, without those that are no policy (`exists`); `None`: there is none.
    pub(super) fn of_workload(
        workload: &Workload,
        of_target: fn(&Target) -> Option<&P>,
        of_request: fn(&Request) -> Option<&P>,
        exists: fn(&P) -> bool,
    ) -> Option<Self> {
        let mut found = Self::default();
        let mut add = |policy: &P| {
            found.policies.push(policy.clone());
            found.policies.len() - 1
        };
        let shared: Vec<Option<usize>> =
            workload.targets().map(|target| of_target(target).filter(|policy| exists(policy)).map(&mut add)).collect();
        let number = |request: &Request| match of_request(request) {
            None => shared.get(usize::from(request.target())).copied().flatten(),
            Some(own) => exists(own).then(|| add(own)),
        };
        found.by_label = workload.requests().iter().map(number).collect();
        found.by_label.iter().any(Option::is_some).then_some(found)
    }

    /// The policies; those of requests with the target's policy are one.
    pub fn policies(&self) -> &[P] {
        &self.policies
    }

    /// The number of the policy of a request, and the policy; `None`: it has none.
    pub fn of(&self, label: u16) -> Option<(usize, &P)> {
        let number = (*self.by_label.get(usize::from(label))?)?;
        Some((number, &self.policies[number]))
    }
}
