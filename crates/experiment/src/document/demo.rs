//! The document `offered.demo/1`: what `offered demo --json` prints.

use offered_events::document::{Document, Schema};
use serde::{Deserialize, Serialize};

use crate::Summary;

/// One server under three system models at one load, with theory and a simulation for comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Demo {
    /// The schema of this document.
    pub schema: Schema<Demo>,
    /// The load of the server under every model.
    pub load: f64,
    /// The mean service time.
    pub service_ms: f64,
    /// The models: open, closed, partly-open.
    pub models: Vec<Model>,
}

impl Document for Demo {
    const SCHEMA: &'static str = "offered.demo/1";
}

/// One system model: the run, the prediction of theory, and a simulation of the same requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Model {
    /// `open`, `closed` or `partly-open`.
    pub model: String,
    /// The `[arrivals]`, as in a workload file.
    pub arrivals: String,
    /// Mean response time of a long run, by theory.
    pub theory_ms: f64,
    /// The formula behind `theory_ms`.
    pub source: String,
    /// Mean response time of the same requests in a simulation of the same server; `null` if no request is in both.
    pub simulated_ms: Option<f64>,
    /// Measured over simulated mean response time.
    pub ratio: Option<f64>,
    /// Lower end of the 95 % interval of `ratio`; `null` when the run is too short for an interval.
    pub ratio_low: Option<f64>,
    /// Upper end of the 95 % interval of `ratio`; `null` when the run is too short for an interval.
    pub ratio_high: Option<f64>,
    /// Summary of the run.
    pub run: Summary,
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use offered_base::Share;
    use offered_distributions::Distribution;
    use offered_run::Load;

    use super::*;
    use crate::{RunPlan, WorkloadSource};

    #[test]
    fn a_printed_document_is_read_back() {
        let text = "duration = \"2s\"\narrivals.open.rate = \"40/s\"\n";
        let workload =
            WorkloadSource::new("w".to_owned(), text.to_owned(), |_| Err(String::new())).parse(text).unwrap();
        let load = Load::Mock(Distribution::exponential(0.02).unwrap());
        let (share, name) = (Share::ALL, "w".to_owned());
        let plan = RunPlan {
            text,
            workload: &workload,
            share,
            load,
            start_at: None,
            run_id: None,
            directory: None,
            name,
            capture_failures: false,
        };
        let run = plan.prepare(Arc::default()).unwrap().run(Vec::new()).unwrap().summary;
        let (theory_ms, simulated_ms, ratio, ratio_low, ratio_high) =
            (100.0 / 3.0, Some(33.0), Some(0.1 + 0.2), None, None);
        let [model, arrivals, source] = ["open", "open = { }", "M/M/1"].map(str::to_owned);
        let models =
            vec![Model { model, arrivals, theory_ms, source, simulated_ms, ratio, ratio_low, ratio_high, run }];
        let demo = Demo { schema: Schema::new(), load: 0.7, service_ms: 10.0, models };
        assert_eq!(serde_json::from_str::<Demo>(&serde_json::to_string(&demo).unwrap()).unwrap(), demo);
    }
}
