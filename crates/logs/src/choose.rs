//! The choice of the system model by the rule of Schroeder, Wierman and Harchol-Balter (2006).
//!
//! Principle (vii): a partly-open system with at most five requests per session behaves like an open one, with ten or more
//! like a closed one. That is for a C2 up to 4: as C2 goes to 49, the paper's cut-off moves from 5 to 20. Here the C2 of the log
//! decides, by a straight line between the paper's two points and no further than the last. The paper has no second cut-off
//! for a high C2; here it stays twice the first, as 10 is twice 5: an assumption of ours, and said to be one wherever it
//! counts. So is the C2 of bytes in the place of that of service times, for logs without durations: sizes of static files
//! are nearly proportional to the work they make, those of computed pages need not be. What would be got without is always
//! shown beside.

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
    /// The same without the parts of pages, and their C2.
    pub(crate) pages_only: Option<(f64, Option<f64>)>,
    /// C2, and what it is of.
    pub(crate) scv: Option<(f64, &'static str)>,
    pub(crate) peak: u64,
}

/// The model for so many requests per session at this C2 (unknown: up to 4).
pub fn rule(requests_per_session: f64, scv: Option<f64>) -> &'static str {
    let cut = cut_off(scv);
    if requests_per_session <= cut {
        "open"
    } else if requests_per_session >= 2.0 * cut {
        "closed"
    } else {
        "partly-open"
    }
}

/// The lower cut-off at this C2: 5 up to 4, 20 from 49 on, a straight line between.
fn cut_off(scv: Option<f64>) -> f64 {
    5.0 + 15.0 * ((scv.unwrap_or(0.0) - 4.0) / 45.0).clamp(0.0, 1.0)
}

/// A cut-off to one decimal, where it has one.
fn round(cut: f64) -> f64 {
    (cut * 10.0).round() / 10.0
}

impl Recommendation {
    pub(crate) fn of(evidence: &Evidence) -> Self {
        let mean = evidence.requests_per_session;
        let scv = evidence.scv.map(|(scv, _)| scv);
        let cut = cut_off(scv);
        let (low, high) = (round(cut), round(2.0 * cut));
        let mut model = rule(mean, scv);
        let side = match model {
            "open" => format!("at most {low}: new sessions, not answers, decide when requests come"),
            "closed" => format!("at least {high}: most requests wait for the answer before them"),
            _ => format!("between {low} and {high}: neither an open nor a closed system behaves like it"),
        };
        let mut because = vec![format!("{mean:.2} requests per session, {side}")];
        because.push(match evidence.scv {
            None => {
                "C2 is unknown (no durations or sizes in the log), so the cut-offs are those for C2 up to 4: 5 and 10"
                    .to_owned()
            }
            Some((scv, of)) if cut > 5.0 => {
                let assumed = if of.starts_with("bytes") { "; log durations to know" } else { "" };
                format!(
                    "the cut-offs are for C2 {scv:.1} (of {of}{assumed}), the second taken to be twice the paper's first; for C2 up to 4 they are 5 and 10: {}",
                    rule(mean, None)
                )
            }
            Some((scv, of)) => format!("C2 is {scv:.1} (of {of}): the cut-offs are those for C2 up to 4, 5 and 10"),
        });
        let others = evidence.at_timeouts.iter();
        let others: Vec<String> =
            others.map(|(tau, mean)| format!("{mean:.2} at {tau} s ({})", rule(*mean, scv))).collect();
        because.push(format!("with another timeout: {}", others.join(", ")));
        if let Some((pages, scv)) = evidence.pages_only {
            because.push(format!(
                "without images, styles and scripts (--pages-only): {pages:.2} requests per session ({})",
                rule(pages, scv)
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
            assert_eq!(rule(mean, None), model);
            assert_eq!(rule(mean, Some(4.0)), model);
        }
        assert_eq!([0.0, 4.0, 26.5, 49.0, 500.0].map(|scv| cut_off(Some(scv))), [5.0, 5.0, 12.5, 20.0, 20.0]);
        assert_eq!(
            [20.0, 20.1, 39.9, 40.0].map(|mean| rule(mean, Some(49.0))),
            ["open", "partly-open", "partly-open", "closed"]
        );
    }

    #[test]
    fn a_thousand_users_are_as_good_as_open() {
        let evidence = |peak, scv| Evidence {
            requests_per_session: 12.0,
            at_timeouts: vec![(600, 9.0)],
            pages_only: Some((3.0, Some(4.0))),
            scv: Some((scv, "bytes")),
            peak,
        };
        assert_eq!(Recommendation::of(&evidence(1000, 4.0)).model, "closed");
        let crowd = Recommendation::of(&evidence(1001, 4.0));
        assert_eq!(crowd.model, "open");
        let varied = Recommendation::of(&evidence(1000, 49.0));
        assert_eq!(varied.model, "open");
        assert!(
            varied.because[0].contains("at most 20:") && varied.because[1].contains("5 and 10: closed"),
            "{varied:?}"
        );
        assert!(crowd.because[3].contains("3.00 requests per session (open)"), "{:?}", crowd.because);
    }
}
