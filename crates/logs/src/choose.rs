//! The choice of the system model by the rule of Schroeder, Wierman and Harchol-Balter (2006).
//!
//! Principle (vii): a partly-open system with at most five requests per session behaves like an open one, with ten or more
//! like a closed one. How far that holds depends on C2: as it goes from 4 to 49, the cut-off moves from 5 to 20.

use serde::Serialize;

/// A system model and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recommendation {
    /// `open`, `partly-open` or `closed`.
    pub model: &'static str,
    /// The numbers behind it, one a line.
    pub because: Vec<String>,
}

/// What the rule is applied to.
#[derive(Clone, Debug)]
pub(crate) struct Evidence {
    pub(crate) requests_per_session: f64,
    /// The same at other timeouts: (seconds, requests per session).
    pub(crate) at_timeouts: Vec<(u64, f64)>,
    /// The same without the parts of pages.
    pub(crate) pages_only: Option<f64>,
    /// C2, and what it is of.
    pub(crate) scv: Option<(f64, &'static str)>,
    pub(crate) peak: u64,
}

/// The model for so many requests per session, with the paper's round cut-offs.
pub fn rule(requests_per_session: f64) -> &'static str {
    between(requests_per_session, 5.0)
}

fn between(requests_per_session: f64, cut: f64) -> &'static str {
    if requests_per_session <= cut {
        "open"
    } else if requests_per_session >= 2.0 * cut {
        "closed"
    } else {
        "partly-open"
    }
}

/// The lower cut-off at this C2: 5 up to 4, 20 from 49 on, a straight line between.
pub(crate) fn cut_off(scv: f64) -> f64 {
    5.0 + 15.0 * ((scv - 4.0) / 45.0).clamp(0.0, 1.0)
}

impl Recommendation {
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let mean = evidence.requests_per_session;
        let mut model = rule(mean);
        let side = match model {
            "open" => "at most 5: new sessions, not answers, decide when requests come",
            "closed" => "at least 10: most requests wait for the answer before them",
            _ => "between 5 and 10: neither an open nor a closed system behaves like it",
        };
        let mut because = vec![format!("{mean:.2} requests per session, {side}")];
        if let Some((scv, of)) = evidence.scv {
            let cut = cut_off(scv);
            let by_scv = between(mean, cut);
            let changes = if by_scv == model { format!("still {model}") } else { format!("{by_scv}, not {model}") };
            because.push(format!(
                "C2 of {of} is {scv:.1}; the cut-offs 5 and 10 are for C2 up to 4, here they would be {cut:.1} and {:.1}: {changes}",
                2.0 * cut
            ));
        }
        let others = evidence.at_timeouts.iter();
        let others: Vec<String> = others.map(|(tau, mean)| format!("{mean:.2} at {tau} s ({})", rule(*mean))).collect();
        because.push(format!("with another timeout: {}", others.join(", ")));
        if let Some(pages) = evidence.pages_only {
            because.push(format!(
                "without images, styles and scripts (--pages-only): {pages:.2} requests per session ({})",
                rule(pages)
            ));
        }
        if evidence.peak > 1000 {
            because.push(format!(
                "{} sessions at once at the peak: with more than 1000 simultaneous users even a closed system behaves like an open one",
                evidence.peak
            ));
            if model == "closed" {
                model = "open";
            }
        }
        Self { model, because }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_of_the_paper() {
        for (mean, model) in
            [(1.0, "open"), (5.0, "open"), (5.01, "partly-open"), (9.99, "partly-open"), (10.0, "closed")]
        {
            assert_eq!(rule(mean), model);
        }
        assert_eq!([0.0, 4.0, 26.5, 49.0, 500.0].map(cut_off), [5.0, 5.0, 12.5, 20.0, 20.0]);
    }

    #[test]
    fn a_thousand_users_are_as_good_as_open() {
        let evidence = |peak| Evidence {
            requests_per_session: 12.0,
            at_timeouts: vec![(600, 9.0)],
            pages_only: Some(3.0),
            scv: Some((49.0, "sizes")),
            peak,
        };
        assert_eq!(Recommendation::of(&evidence(1000)).model, "closed");
        let crowd = Recommendation::of(&evidence(1001));
        assert_eq!(crowd.model, "open");
        assert!(crowd.because[1].contains("20.0 and 40.0: open, not closed"), "{:?}", crowd.because);
        assert!(crowd.because[3].contains("3.00 requests per session (open)"), "{:?}", crowd.because);
    }
}
