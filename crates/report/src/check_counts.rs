//! Results of the response checks of a workload.

use std::collections::HashMap;
use std::io;

use offered_events::{Outcome, Recording};
use offered_verify::CheckResult;
use offered_workload::{Request, Workload, failed_checks};
use serde::{Deserialize, Serialize};

/// A response check of one request, over the whole run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheckCounts {
    /// Name of the request.
    pub request: String,
    /// Name of the check.
    pub check: String,
    /// Failed if any response failed; not checked without responses.
    pub result: CheckResult,
    /// Responses to the request.
    pub responses: u64,
    /// Responses that failed this check.
    pub failed: u64,
}

impl CheckCounts {
    /// The checks of `workload`, in order, counted in `recording`.
    ///
    /// # Errors
    /// The recording cannot be read.
    pub fn all(workload: &Workload, recording: &Recording) -> io::Result<Vec<Self>> {
        let mut answers: HashMap<&str, u64> = HashMap::new();
        let mut failed: HashMap<(&str, &str), u64> = HashMap::new();
        let names: HashMap<String, Vec<String>> = workload.checks().into_iter().collect();
        recording.events.each(|event| {
            let Some(label) = recording.labels.get(usize::from(event.label)) else { return };
            if !event.outcome.is_response() {
                return;
            }
            *answers.entry(label).or_default() += 1;
            if let (Outcome::CheckFailed, Some(names)) = (event.outcome, names.get(label)) {
                for index in failed_checks::indexes(&event.why(), names) {
                    *failed.entry((label, &names[index])).or_default() += 1;
                }
            }
        })?;
        let of_request = |request: &'_ Request| {
            let name = request.name().to_owned();
            request.checks().iter().map(|check| (name.clone(), check.name.clone())).collect::<Vec<_>>()
        };
        let checks = |(request, check): (String, String)| {
            let answers = answers.get(request.as_str()).copied().unwrap_or_default();
            let failed = failed.get(&(request.as_str(), check.as_str())).copied().unwrap_or_default();
            let result = match (answers, failed) {
                (0, _) => CheckResult::NotChecked,
                (_, 0) => CheckResult::Passed,
                _ => CheckResult::Failed,
            };
            Self { request, check, result, responses: answers, failed }
        };
        Ok(workload.requests().iter().flat_map(of_request).map(checks).collect())
    }
}

#[cfg(test)]
mod tests {
    use offered_base::Instant;
    use offered_events::Event;

    use super::*;

    #[test]
    fn each_check_of_each_request_is_counted_for_itself() {
        let text = "duration = \"1s\"\narrivals.open = { rate = \"1/s\" }\n\
                    [[request]]\nname = \"form\"\nget = \"/\"\ncheck = [{ status = 200 }, { body = true, contains = \"ok\", name = \"is fine\" }]\n\
                    [[request]]\nname = \"item\"\nget = \"/i\"\ncheck = [{ status = 200, name = \"there\" }]\n";
        let workload = Workload::parse(text, "w", &|_| Err(String::new())).unwrap();
        let names: Vec<&str> = workload.requests()[0].checks().iter().map(|check| check.name.as_str()).collect();
        let event = |label, outcome, why: Option<&str>| Event {
            label,
            outcome,
            error: why.map(|error| error.to_owned().into()),
            ..Event::at(Instant(1))
        };
        let events = vec![
            event(0, Outcome::Ok, None),
            event(0, Outcome::CheckFailed, Some("is fine")),
            event(0, Outcome::CheckFailed, Some("status = 200; is fine; extract id")),
            event(0, Outcome::Timeout, None),
            event(1, Outcome::Refused, None),
        ];
        let labels = vec!["form".to_owned(), "item".to_owned()];
        let checks =
            CheckCounts::all(&workload, &Recording { events: events.into(), labels, ..Recording::default() }).unwrap();
        let results: Vec<_> = checks.iter().map(|t| (t.check.as_str(), t.result, t.responses, t.failed)).collect();
        assert_eq!(
            results,
            [
                (names[0], CheckResult::Failed, 3, 1),
                ("is fine", CheckResult::Failed, 3, 2),
                ("there", CheckResult::NotChecked, 0, 0)
            ]
        );
    }
}
