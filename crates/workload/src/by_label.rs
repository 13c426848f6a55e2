//! Policies of requests. A target may set a policy for all of its requests.

use super::{Request, Target, Workload};

/// Policies of the requests of a workload; requests without their own policy share the policy of their target.
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

    /// The policies. All requests that use the policy of their target share its entry.
    pub fn policies(&self) -> &[P] {
        &self.policies
    }

    /// The number of the policy of a request, and the policy; `None` if the request has no policy.
    pub fn of(&self, label: u16) -> Option<(usize, &P)> {
        let number = (*self.by_label.get(usize::from(label))?)?;
        Some((number, &self.policies[number]))
    }
}
