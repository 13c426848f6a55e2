use super::*;
use proptest::prelude::*;

#[test]
fn a_threshold_reads_as_it_is_written() {
    for (metric, bound, printed, keeps, breaks) in [
        ("response.p99", "< 250ms", "response.p99 < 250ms", 0.2499, 0.25),
        ("response.p99.9", "<= 1s", "response.p99.9 <= 1s", 1.0, 1.001),
        ("service.mean{home page}", "<1ms", "service.mean{home page} < 1ms", 0.0, 0.001),
        ("page.p95{home}", "< 2s", "page.p95{home} < 2s", 1.99, 2.0),
        ("page.errors", "< 1%", "page.errors < 1%", 0.009, 0.01),
        ("objects.mean", "< 2ms", "objects.mean < 2ms", 0.001, 0.002),
        ("objects.errors", "<= 1%", "objects.errors <= 1%", 0.01, 0.011),
        ("lateness.max", "< 2ms", "lateness.max < 2ms", 0.001, 0.002),
        ("errors.rate", "< 0.1%", "errors.rate < 0.1%", 0.0009, 0.001),
        ("errors.rate", "< 0.1", "errors.rate < 0.1", 0.09, 0.1),
        ("throughput.rate", ">= 6000/m", "throughput.rate >= 6000/m", 100.0, 99.9),
        ("arrivals.rate", "> 90/s", "arrivals.rate > 90/s", 90.1, 90.0),
        ("arrivals.cov", "0.95..1.05", "arrivals.cov = 0.95..1.05", 1.05, 1.06),
        ("ttft.p95", "< 500ms", "ttft.p95 < 500ms", 0.4, 0.5),
        ("tpot.mean{chat}", "< 50ms", "tpot.mean{chat} < 50ms", 0.04, 0.06),
        ("gap.max", "< 1s", "gap.max < 1s", 0.9, 1.0),
        ("itl.p99", "< 60ms", "itl.p99 < 60ms", 0.05, 0.07),
        ("tokens.rate", "> 1000/s", "tokens.rate > 1000/s", 1001.0, 1000.0),
        ("goodput", ">= 9/s", "goodput.rate >= 9/s", 9.0, 8.9),
        ("goodput.share", "> 95%", "goodput.share > 95%", 0.96, 0.95),
        ("response.p50", "1.5ms .. 2ms", "response.p50 = 1.5ms..2ms", 0.0015, 0.0014),
    ] {
        let threshold = Threshold::new(metric, bound).unwrap();
        assert_eq!(threshold.to_string(), printed);
        assert_eq!(printed.parse::<Threshold>().unwrap(), threshold);
        assert!(threshold.bound.holds(keeps) && !threshold.bound.holds(breaks), "{printed}");
        assert!(threshold.bound.excess(keeps) <= 0.0 && threshold.bound.excess(breaks) >= 0.0, "{printed}");
        assert!(!threshold.bound.holds(f64::NAN), "what is no number keeps nothing");
    }
}

#[test]
fn an_objective_is_several_with_short_names() {
    let objective: Objective = "p99 < 250ms, errors<0.1%, p50{a, b < c} < 2ms".parse().unwrap();
    assert_eq!(objective.to_string(), "response.p99 < 250ms, errors.rate < 0.1%, response.p50{a, b < c} < 2ms");
    assert_eq!(objective.thresholds()[2].metric.label.as_deref(), Some("a, b < c"));
}

#[test]
fn invalid_thresholds_are_errors_with_a_fix() {
    for (text, why) in [
        ("", "has no bound"),
        ("p99", "has no bound"),
        ("p99 < 250ms,", "has no bound"),
        ("respons.p99 < 2ms", "did you mean `response.p99`?"),
        ("pages.p95 < 2ms", "did you mean `page.p95`?"),
        ("objects < 2ms", "unknown metric `objects`"),
        ("page.errors < 2ms", "write for example 0.1%"),
        ("p100 < 2ms", "unknown metric `p100`"),
        ("p999 < 2ms", "unknown metric"),
        ("p-1 < 2ms", "unknown metric"),
        ("latency.p99 < 2ms", "unknown metric"),
        ("p99 < 250", "`250` has no unit; write for example 250ms"),
        ("throughput > 90", "`90` has no unit; write for example 90/s"),
        ("errors < 1ms", "write for example 0.1%"),
        ("errors < nan%", "is not a limit"),
        ("errors < -1%", "is not a limit"),
        ("throughput > 0/s", "is not a limit"),
        ("arrivals.cov = 1", "is not a bound"),
        ("arrivals.cov = 2..1", "smaller number first"),
        ("p99{} < 2ms", "does not name a request"),
        ("p99{a < 2ms", "has no bound"),
        ("p99}a{ < 2ms", "has no bound"),
        ("p99{a}b < 2ms", "does not name a request"),
    ] {
        let error = text.parse::<Objective>().unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in ".{0,40}", metric in "(p99|errors|arrivals.cov)?[{}<>=,. 0-9a-z%/]{0,20}") {
        let _ = text.parse::<Objective>();
        let _ = metric.parse::<Objective>();
        let _ = Threshold::new(&metric, &text);
    }

    #[test]
    fn a_printed_objective_parses_to_itself(
        parts in proptest::collection::vec(
            (
                prop_oneof![
                    (1u32..1000).prop_map(|p| (format!("p{}", f64::from(p) / 10.0), "ms")),
                    Just(("service.mean".to_owned(), "s")),
                    Just(("errors".to_owned(), "%")),
                    Just(("throughput".to_owned(), "/s")),
                    Just(("arrivals.cov".to_owned(), "")),
                ],
                proptest::option::of("[^{}\\p{C}]{1,8}"),
                prop_oneof![Just("<"), Just("<="), Just(">"), Just(">="), Just("=")],
                1u32..100_000,
            ),
            1..4,
        )
    ) {
        let write = |((metric, unit), label, sign, number): &((String, &str), Option<String>, &str, u32)| {
            let label = label.as_ref().map_or(String::new(), |label| format!("{{{label}}}"));
            let range = if *sign == "=" { format!("1{unit}..") } else { String::new() };
            format!("{metric}{label}{sign}{range}{number}{unit}")
        };
        let text = parts.iter().map(write).collect::<Vec<_>>().join(",");
        let objective: Objective = text.parse().unwrap();
        prop_assert_eq!(objective.to_string().parse::<Objective>().unwrap(), objective);
    }
}
