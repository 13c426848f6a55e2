//! The trace contexts that a run has sent.

use offered_events::RunId;
use offered_workload::Workload;

use crate::script::{RequestContext, Script};

/// The `traceparent` headers of a run: those whose value in the workload is `{{traceparent()}}` alone.
#[derive(Debug)]
pub struct TraceContexts(Script);

impl TraceContexts {
    /// The headers of the run with this ID; `None`: no request has such a header, or the workload cannot be compiled
    /// here.
    pub fn new(workload: &Workload, run: &RunId) -> Option<Self> {
        let mut script = Script::compile(workload, workload.target()?).ok()?;
        script.in_run(run.clone());
        script.sends_trace_contexts().then_some(Self(script))
    }

    /// The header of a request, by its index in the workload, at a step of a session.
    pub fn header(&self, request: usize, session: u64, step: u32) -> Option<String> {
        // It depends on nothing else.
        let context = RequestContext { session, step, visit: 0, sequence: 0, label: request as u16 };
        self.0.trace_context(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preview;

    #[test]
    fn headers_are_those_that_are_sent() {
        let text = "duration = \"1s\"\nseed = 3\narrivals.open.rate = \"1/s\"\n\
            target = { url = \"http://h/\", headers = { X-Id = \"{{random(1, 9)}}\" } }\n\
            variables = { user = { file = \"absent.csv\" } }\n\
            request = [{ get = \"/a\", headers = { Traceparent = \"{{traceparent()}}\" } }, { get = \"/b\", weight = 0.001 }]";
        let workload = Workload::parse(text, "w", &|_| Ok(b"name\nann\n".to_vec())).unwrap();
        let run: RunId = "r7".parse().unwrap();
        let sent = preview(&workload, &run, 1).unwrap().remove(0);
        let head = sent.sent.unwrap().head.join("\n");
        // A recorded run lacks the files of its workload.
        let recorded = Workload::parse(text, "w", &|_| Err("absent".to_owned())).unwrap();
        let contexts = TraceContexts::new(&recorded, &run).unwrap();
        let header = contexts.header(0, sent.session, sent.step).unwrap();
        assert!(head.contains(&format!("Traceparent: {header}")), "{header}: {head}");
        assert_eq!(contexts.header(1, sent.session, sent.step), None);
        assert_ne!(contexts.header(0, sent.session + 1, 0).unwrap(), header);
        let other = Workload::parse(&text.replace("{{traceparent()}}", "00-{{md5(session)}}-1-01"), "w", &|_| {
            Err(String::new())
        });
        assert!(TraceContexts::new(&other.unwrap(), &run).is_none());
    }
}
