//! The servers of a thread group as targets.

use offered_base::Nanos;
use offered_workload::{Reuse, Target, Url};

use super::Reader;
use super::node::Node;
use super::sampler::SamplerRequest;
use crate::Error;
use crate::action::Action;
use crate::address::{Candidate, MAX_TARGETS, TargetChoice, choose_targets};

/// Maximum number of redirects that `JMeter` follows.
const REDIRECTS: u32 = 20;

impl<'e> Reader<'e, '_> {
    /// Chooses the targets, whose URLs are returned, and the target of each request; notes the requests without one.
    pub(super) fn choose_targets(&mut self, action: &Action) -> Result<Vec<Url>, Error> {
        let mut times = vec![0; self.requests.len()];
        action.requests().into_iter().for_each(|at| times[at] += 1);
        let candidates = self.requests.iter().zip(&times).map(|(sampler, times)| Candidate {
            server: &sampler.server,
            line: sampler.line,
            element: &sampler.element,
            times: *times,
        });
        let TargetChoice { urls, target_of, notes } = choose_targets(candidates, None, MAX_TARGETS, self.file)?;
        for (sampler, target) in self.requests.iter_mut().zip(target_of) {
            sampler.target = target;
        }
        self.notes.extend(notes);
        Ok(urls)
    }

    /// The first target, with the settings of the samplers `used`; notes settings that a target has for all of them.
    pub(super) fn target(&mut self, group: &Node<'e>, urls: &[Url], used: &[usize]) -> Target {
        let samplers = used.iter().map(|at| &self.requests[*at]);
        let longest = |time: fn(&SamplerRequest) -> Option<Nanos>| samplers.clone().filter_map(time).max();
        let follows = samplers.clone().any(|sampler| sampler.follows);
        let keepalive = samplers.clone().any(|sampler| sampler.keepalive);
        let mut target = Target::new(urls[0].clone())
            .with_reuse(if keepalive { Reuse::PerSession } else { Reuse::Fresh })
            .with_cookies(samplers.clone().any(|sampler| sampler.cookies))
            .with_omit_headers(vec!["Accept".to_owned()])
            .with_redirects(if follows { REDIRECTS } else { 0 });
        if let Some(time) = longest(|sampler| sampler.connect_timeout) {
            target = target.with_connect_timeout(time);
        }
        if let Some(time) = longest(|sampler| sampler.response_timeout) {
            target = target.with_response_timeout(time);
        }
        let some_close = keepalive && samplers.clone().any(|sampler| !sampler.keepalive);
        let sends = |sampler: &SamplerRequest| sampler.follows && !["get", "head"].contains(&sampler.method.as_str());
        let others_redirected = samplers.clone().any(sends);
        if some_close {
            self.note(group, "only some of its requests close their connection (Use KeepAlive); here all keep it");
        }
        if others_redirected {
            self.note(
                group,
                "JMeter follows 307 and 308 redirects of GET and HEAD only; here those of other methods are followed too",
            );
        }
        if urls.iter().any(|url| url.secure) {
            self.note(group, "JMeter accepts any certificate; here the server's certificate is verified, unless you set tls = { insecure = true }");
        }
        target
    }
}
