//! The last section: did the load arrive as meant? Figures 3 to 7, 9, 13, 15 and 16 of Brady and Gunther.

use offered_verify::{Finding, Times, Verdict};

use super::{busiest, times};
use crate::chart::{Axis, Chart, Ink, Series, Shape};
use crate::document::{Block, Cell, Section, Table, short};
use crate::portrait::{Counts, Fragment, Gaps, OverTime, Portrait, Spread};
use crate::report::Run;

pub(super) fn section(run: &Run) -> Section {
    let v = &run.verdict;
    let mut blocks = vec![Block::Table(meant_and_sent(run)), Block::Table(findings(&v.tests))];
    if let Some(portrait) = &run.portrait {
        blocks.extend(charts(portrait).into_iter().flatten().map(Block::Chart));
    }
    let of_verdict = [dispersion(v), cov_by_label(v), cov_by_threads(v)];
    blocks.extend(of_verdict.into_iter().flatten().map(Block::Chart));
    blocks.extend(times("Gaps between launches (ms)", &v.launches).map(Block::Table));
    Section {
        id: "arrivals".into(),
        level: 2,
        title: "Arrivals".into(),
        reading: "People who do not know of each other arrive as a Poisson process: gaps exponential, counts Poisson, at every \
                  time scale. Where the launches (solid) leave the dashed or dotted lines, the load was another one.",
        page: Some("background/poisson.md"),
        blocks,
    }
}

/// What was meant of the launches, beside what became of it.
pub(super) fn meant_and_sent(run: &Run) -> Table {
    let v = &run.verdict;
    let total = v.launches.last();
    let pattern = Cell::from(v.pattern.name());
    let cov = total.and_then(|total| Some(Cell::Interval(total.cov_low?, total.cov_high?)));
    let late = v.lateness.as_ref();
    let row = |name: &str, meant: Cell, sent: Cell| vec![Cell::from(name), meant, sent];
    let (rate, meant_cov) = (v.meant.rate_per_s, v.meant.cov.or(v.meant.expected_cov));
    let mut rows = vec![row("arrivals", Cell::from(&v.meant.arrivals), pattern)];
    // Only sessions were meant to come at a rate, and to be so uneven; their requests follow the answers.
    if let Some(sessions) = &v.sessions {
        let interval = sessions.cov_low.zip(sessions.cov_high).map(|(low, high)| Cell::Interval(low, high));
        rows.extend([
            row("sessions per second", rate.into(), sessions.launched_per_s.into()),
            row("CoV of the gaps between sessions", meant_cov.into(), sessions.sent_cov.into()),
            row("its 95 % interval", Cell::Nothing, interval.unwrap_or(Cell::Nothing)),
        ]);
    }
    let of_requests = |meant: Option<f64>| Cell::from(meant.filter(|_| v.sessions.is_none()));
    rows.extend([
        row("launches per second", of_requests(rate), v.queue.rate_per_s.into()),
        row("CoV of the gaps", of_requests(meant_cov), total.map(|total| total.cov).into()),
        row("its 95 % interval", Cell::Nothing, cov.unwrap_or(Cell::Nothing)),
        row("launches judged", Cell::Nothing, v.window.launches.into()),
        row("left out at the ends", Cell::Nothing, v.window.left_out.into()),
        row("never sent", Cell::Count(0), late.map(|late| late.unsent).into()),
        row("lateness p99 (us)", Cell::Nothing, late.map(|late| late.p99_us).into()),
    ]);
    Table { caption: "What was meant, and what was launched".into(), heads: vec!["", "meant", "launched"], rows }
}

fn findings(findings: &[Finding]) -> Table {
    let row = |finding: &Finding| {
        let interval = finding.low.zip(finding.high).map(|(low, high)| Cell::Interval(low, high));
        vec![
            Cell::from(finding.check.name()),
            finding.judgement.into(),
            finding.estimate.into(),
            interval.unwrap_or(Cell::Nothing),
            finding.statistic.into(),
            finding.p.into(),
        ]
    };
    Table {
        caption: "What was checked".into(),
        heads: vec!["finding", "judgement", "estimate", "95 %", "statistic", "p"],
        rows: findings.iter().map(row).collect(),
    }
}

fn charts(portrait: &Portrait) -> [Option<Chart>; 6] {
    // On a virtual clock nothing is ever late.
    let late = portrait.lateness.as_ref().filter(|late| late.max_ms > 0.0);
    [
        rate(&portrait.over_time).some(),
        portrait.gaps.as_ref().map(gaps),
        portrait.counts.as_ref().map(counts),
        fragment(&portrait.fragment).some(),
        late.map(lateness),
        late.and_then(|_| late_over_time(&portrait.over_time)),
    ]
}

/// Launches over time, meant and sent.
fn rate(over_time: &OverTime) -> Chart {
    let [from, to] = over_time.judged_s;
    let launches = format!("launches {}", over_time.per());
    let steps = |counts: &[u64]| Shape::Steps(over_time.steps(counts));
    let meant = over_time.meant.as_ref().map(|meant| Series::new("meant", Ink::Meant, steps(meant)));
    let sent = Series::new("sent", Ink::Measured, steps(&over_time.sent));
    Chart {
        id: "rate".into(),
        title: "Launches over time".into(),
        reading: format!(
            "The two lines should lie on each other; where they part, the generator was late or held back. Judged is what lies \
             between {} s and {} s.",
            short(from),
            short(to)
        ),
        x: Axis::linear("time of the run (s)"),
        y: Axis::linear(&launches),
        series: [sent].into_iter().chain(meant).collect(),
    }
}

fn gaps(gaps: &Gaps) -> Chart {
    let Gaps { of, n, mean_ms, cell_ms, counts, longer } = gaps;
    // Gaps of no length stand with the shortest.
    let zeros = |i: usize| if i == 1 { counts[0] } else { 0 };
    let density = |i: usize| [(i as f64 - 0.5) * cell_ms, (counts[i] + zeros(i)) as f64 / (*n as f64 * cell_ms)];
    let exponential = |i: usize| {
        let x = i as f64 * cell_ms / 2.0;
        [x, (-x / mean_ms).exp() / mean_ms]
    };
    Chart {
        id: "gaps".into(),
        title: format!("Gaps between {of}"),
        reading: format!(
            "Bars that follow the dotted curve are the gaps of a Poisson process of the same rate. A peak away from zero is \
             pacing, a tower at zero bunching; {longer} of {n} gaps are longer than shown."
        ),
        x: Axis::linear("gap (ms)"),
        y: Axis::linear("density (per ms)"),
        series: vec![
            Series::new("measured", Ink::Measured, Shape::Bars((1..counts.len()).map(density).collect())),
            Series::new("exponential", Ink::Theory, Shape::Line((0..2 * counts.len()).map(exponential).collect())),
        ],
    }
}

fn counts(counts: &Counts) -> Chart {
    let Counts { of, interval_s, mean, intervals } = counts;
    let all = intervals.iter().sum::<u64>() as f64;
    // P(K = k) = e^-m m^k / k!, each from the one before.
    let mut chance = (-mean).exp() * 100.0;
    let mut poisson = Vec::new();
    for k in 0..intervals.len().max(2 * *mean as usize) {
        poisson.push([k as f64, chance]);
        chance *= mean / (k + 1) as f64;
    }
    let seen = intervals.iter().enumerate().map(|(k, n)| [k as f64, *n as f64 * 100.0 / all]).collect();
    Chart {
        id: "counts".into(),
        title: format!("How many {of} in {} s", short(*interval_s)),
        reading: "Bars that follow the dotted curve are Poisson counts. Higher in the middle is too even (closed or paced users), \
                  lower in the middle with long tails is bursts."
            .into(),
        x: Axis::linear(&format!("{of} in an interval")),
        y: Axis::linear("share of the intervals (%)"),
        series: vec![
            Series::new("measured", Ink::Measured, Shape::Bars(seen)),
            Series::new("Poisson", Ink::Theory, Shape::Line(poisson)),
        ],
    }
}

fn fragment(fragment: &Fragment) -> Chart {
    let row = |at: f64, times: &[f64]| Shape::Points(times.iter().map(|time| [*time, at]).collect());
    Chart {
        id: "timeline".into(),
        title: "Some launches, one by one".into(),
        reading: format!(
            "Neighbouring launches from the middle of the run, {} s after the first. Chance looks clumsier than most expect: \
             clusters and holes are right, a ruler is not.",
            short(fragment.from_s)
        ),
        x: Axis::linear("time (ms)"),
        y: Axis::names("", vec!["sent".into(), "meant".into()]),
        series: vec![
            Series::new("sent", Ink::Measured, row(0.0, &fragment.sent_ms)),
            Series::new("meant", Ink::Meant, row(1.0, &fragment.meant_ms)),
        ],
    }
}

fn lateness(spread: &Spread) -> Chart {
    Chart {
        id: "lateness".into(),
        title: "Lateness".into(),
        reading:
            "How late launches were sent after they were meant: half of them no later than at 50 %, all but one in a \
                  thousand no later than at 99.9 %. What is far below the responses cannot have distorted them."
                .into(),
        x: Axis::nines("share of the launches"),
        y: Axis::log("lateness (us)"),
        series: vec![Series::new(
            "sent - intended",
            Ink::Measured,
            Shape::Line(spread.curve.iter().map(|[p, ms]| [*p, ms * 1e3]).collect()),
        )],
    }
}

fn late_over_time(over_time: &OverTime) -> Option<Chart> {
    Some(Chart {
        id: "lateness-over-time".into(),
        title: "Lateness over time".into(),
        reading: "Each column is a moment of the run, each cell the share of its launches that were so late. Bright cells high up \
                  are moments when the generator had no time; one that climbs is a generator that cannot keep up."
            .into(),
        x: Axis::linear("time of the run (s)"),
        y: Axis::log("lateness (us)"),
        series: vec![Series::new(
            "lateness",
            Ink::Measured,
            Shape::Heat(over_time.heat(over_time.lateness.as_ref()?, 1e3, "% of the launches")),
        )],
    })
}

fn dispersion(v: &Verdict) -> Option<Chart> {
    let rungs: Vec<[f64; 4]> = v.dispersion.iter().map(|rung| [rung.window_s, rung.idc, rung.low, rung.high]).collect();
    let (first, last) = (rungs.first()?[0], rungs.last()?[0]);
    Some(Chart {
        id: "dispersion".into(),
        title: "Dispersion of counts".into(),
        reading: "Variance over mean of the counts in windows of this length: 1 at every length for a Poisson process. Falling to \
                  the right are users who come back, rising an unsteady rate."
            .into(),
        x: Axis::log("window (s)"),
        y: Axis::linear("variance / mean"),
        series: vec![
            Series::new("measured, 95 %", Ink::Measured, Shape::Intervals(rungs)),
            Series::new("Poisson", Ink::Theory, Shape::Line(vec![[first, 1.0], [last, 1.0]])),
        ],
    })
}

fn cov_by_label(v: &Verdict) -> Option<Chart> {
    let rows = busiest(&v.launches);
    if rows.len() < 2 {
        return None;
    }
    let point = |(i, row): (usize, &&Times)| Some([i as f64, row.cov, row.cov_low?, row.cov_high?]);
    let points = rows.iter().enumerate().filter_map(point).collect();
    let expected = v.meant.expected_cov.filter(|_| v.sessions.is_none());
    let expected = expected.map(|cov| vec![[0.0, cov], [rows.len() as f64 - 1.0, cov]]);
    let expected = expected.map(|line| Series::new("meant of all together", Ink::Theory, Shape::Line(line)));
    let names = rows.iter().map(|row| row.label.clone()).collect();
    Some(Chart {
        id: "cov-by-label".into(),
        title: "CoV of the gaps, by label".into(),
        reading: "Picked at random from a Poisson stream, the launches of every label are Poisson too: CoV 1. Labels that always \
                  follow each other at fixed times are not."
            .into(),
        x: Axis::names("", names),
        y: Axis::linear("CoV of the gaps"),
        series: [Series::new("measured, 95 %", Ink::Measured, Shape::Intervals(points))]
            .into_iter()
            .chain(expected)
            .collect(),
    })
}

fn cov_by_threads(v: &Verdict) -> Option<Chart> {
    let points: Vec<[f64; 2]> = v.by_threads.iter().map(|row| [row.threads as f64, row.cov]).collect();
    let last = points.last().filter(|last| last[0] > 1.0)?[0];
    Some(Chart {
        id: "cov-by-threads".into(),
        title: "CoV of the gaps, by size of the thread group".into(),
        reading: "The launches of the first 1, 2, 3, ... users alone. One user paces himself; many who do not know of each other \
                  come near a Poisson process, and this shows how many it takes."
            .into(),
        x: Axis::log("users or threads"),
        y: Axis::linear("CoV of the gaps"),
        series: vec![
            Series::new("measured", Ink::Measured, Shape::Line(points)),
            Series::new("Poisson", Ink::Theory, Shape::Line(vec![[1.0, 1.0], [last, 1.0]])),
        ],
    })
}
