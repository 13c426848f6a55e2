//! Section 2: the answer. Were the thresholds kept, did the system keep up, and may the numbers be believed?

use offered_experiment::Failure;
use offered_verify::{Checked, Effect, Judgement, Share, Unchecked, Verdict};

use crate::document::{Banner, Block, Cell, Section, Table, short};
use crate::report::Run;

pub(super) fn section(run: &Run) -> Section {
    let mut blocks = essentials(run);
    if !run.verdict.runs.is_empty() {
        blocks.push(Block::Table(appended(run)));
    }
    Section {
        id: "answer".into(),
        level: 2,
        title: "The answer".into(),
        reading: "What failed stands first. Whether the load was what was meant decides whether the other answers count; a check \
                  that was not made says so, and never that all is well.",
        page: Some("concepts/verdict.md"),
        blocks,
    }
}

/// What must be known before any number is read: the judgements, what failed first, then thresholds and doubts.
pub(super) fn essentials(run: &Run) -> Vec<Block> {
    let v = &run.verdict;
    let load = Some(of_load(run));
    let system = [of_thresholds(&run.thresholds), keeps_up(v)];
    // Of a load that was not what was meant the rest counts less.
    let (first, last) = if v.judgement == Judgement::Fails { (load, None) } else { (None, load) };
    let all = [failed(run), first].into_iter().chain(system).chain([last]);
    let mut banners: Vec<Banner> = all.flatten().collect();
    banners.sort_by_key(|banner| banner.judgement != Judgement::Fails);
    let mut blocks: Vec<Block> = banners.into_iter().map(Block::Verdict).collect();
    if !run.thresholds.is_empty() {
        blocks.push(Block::Table(thresholds(&run.thresholds)));
    }
    blocks.extend(v.effect.as_ref().map(|effect| Block::Table(of_generator(effect))));
    // The remedy of what the banner says comes first.
    let mut doubts = v.warnings.clone();
    doubts.sort_by_key(|warning| !warning.told);
    if !doubts.is_empty() {
        blocks.push(Block::Doubts(doubts));
    }
    blocks
}

/// That many launches failed, or all, and how most of them did.
fn failed(run: &Run) -> Option<Banner> {
    let total = run.verdict.requests.last()?;
    let (failed, launches) = total.many_failed()?;
    let headline = match total.ok {
        0 => "Nothing succeeded.".to_owned(),
        _ => format!("{} of the launches failed.", percent(failed as f64 / launches as f64)),
    };
    let kinds = run.portrait.iter().flat_map(|portrait| &portrait.failures);
    let commonest = kinds.max_by_key(|failure| failure.n).map_or_else(String::new, |failure| {
        let Failure { label, outcome, status, why, n } = failure;
        let label = label.as_ref().map_or_else(String::new, |label| format!("{label}: "));
        let status = status.map_or_else(String::new, |status| format!(" {status}"));
        let why = why.as_ref().map_or_else(String::new, |why| format!(", {why}"));
        format!("; the commonest, {n} of them: {label}{outcome}{status}{why}")
    });
    Some(Banner {
        judgement: Judgement::Fails,
        headline,
        because: format!("{failed} of {launches} launches failed{commonest}"),
    })
}

/// `52 %`, `1.2 %`.
fn percent(share: f64) -> String {
    let digits = usize::from(share < 0.1);
    format!("{:.digits$} %", 100.0 * share)
}

fn of_thresholds(all: &[Checked]) -> Option<Banner> {
    let that = |judgement| all.iter().filter(move |checked| checked.judgement == judgement);
    let named = |judgement| {
        let each = that(judgement).map(|checked| format!("{}: {}", checked.threshold, checked.found()));
        each.collect::<Vec<_>>().join("; ")
    };
    let (failed, unchecked) = (that(Judgement::Fails).count(), that(Judgement::NotChecked).count());
    let (judgement, headline) = match (all.len(), failed, unchecked) {
        (0, ..) => return None,
        (1, 1, _) => (Judgement::Fails, "The threshold failed.".to_owned()),
        (n, 1.., _) => (Judgement::Fails, format!("{failed} of {n} thresholds failed.")),
        (1, _, 1) => (Judgement::NotChecked, "The threshold was not checked.".to_owned()),
        (n, _, 1..) => (Judgement::NotChecked, format!("{unchecked} of {n} thresholds were not checked.")),
        (1, ..) => (Judgement::Holds, "The threshold was kept.".to_owned()),
        (n, ..) => (Judgement::Holds, format!("All {n} thresholds were kept.")),
    };
    Some(Banner { judgement, headline, because: named(judgement) })
}

/// Whether the system kept up with its load.
pub(crate) fn keeps_up(v: &Verdict) -> Option<Banner> {
    let k = v.keeps_up.as_ref()?;
    let headline = match k.judgement {
        Judgement::Holds | Judgement::HoldsWithDoubt => "The system kept up with its load.",
        Judgement::Fails => "The system did not keep up with its load.",
        Judgement::NotChecked => "Whether the system kept up was not checked.",
    };
    // A rate of sessions is none of requests.
    let asked = v.meant.rate_per_s.filter(|_| v.sessions.is_none());
    let flow = format!(
        "{}launched {}/s, answered {}/s; {}",
        asked.map_or_else(String::new, |rate| format!("asked {}/s, ", short(rate))),
        short(k.launched_per_s),
        short(k.answered_per_s),
        k.in_the_system()
    );
    let because = match k.not_checked {
        None if k.judgement == Judgement::Fails => format!(
            "{flow}, growing {}/s (99 %: {} to {}): the times below depend on how long the run lasted",
            short(k.growth_per_s),
            short(k.growth_low),
            short(k.growth_high)
        ),
        None => flow,
        Some(Unchecked::Closed) => {
            "users wait for their answers before they ask again, so they cannot outrun it".to_owned()
        }
        Some(Unchecked::TooFew) => format!("fewer than a hundred launches: {flow}"),
        Some(Unchecked::Failures) => format!("{flow}: what failed may have been turned away, not served"),
        Some(Unchecked::TooShort) => format!("{flow}: that may be chance, a longer run would tell"),
    };
    Some(Banner { judgement: k.judgement, headline: headline.to_owned(), because })
}

/// Whether the load was what was meant.
fn of_load(run: &Run) -> Banner {
    let v = &run.verdict;
    let headline = match v.judgement {
        Judgement::Holds => "The load arrived as it was meant: the numbers may be believed.",
        Judgement::HoldsWithDoubt => {
            "The generator's lateness can be seen in the responses, or in the launches, by no more than is said here."
        }
        Judgement::Fails => "The load was not what was meant: do not believe these numbers.",
        Judgement::NotChecked => "Nothing could be held against what was meant: read the numbers with that in mind.",
    };
    Banner { judgement: v.judgement, headline: headline.to_owned(), because: v.because.clone() }
}

/// What of the responses is the generator's own doing.
fn of_generator(effect: &Effect) -> Table {
    let row = |share: &Share| {
        vec![
            Cell::from(format!("p{}", share.percentile)),
            share.response_ms.into(),
            share.without_lateness_ms.into(),
            (100.0 * share.at_most()).into(),
            (100.0 * effect.tolerance).into(),
        ]
    };
    Table {
        caption: "What of the responses is the generator's (ms)".into(),
        heads: vec!["", "response", "without lateness", "% at most its doing", "% tolerated"],
        rows: effect.shares.iter().map(row).collect(),
    }
}

fn thresholds(thresholds: &[Checked]) -> Table {
    let row = |checked: &Checked| {
        vec![
            Cell::from(checked.threshold.metric.to_string()),
            checked.judgement.into(),
            checked.threshold.bound.to_string().into(),
            checked.value_in_words().into(),
        ]
    };
    Table {
        caption: "Thresholds of the workload".into(),
        heads: vec!["", "judgement", "to be kept", "measured"],
        rows: thresholds.iter().map(row).collect(),
    }
}

/// The runs that were appended to one file.
fn appended(run: &Run) -> Table {
    let row = |(i, part): (usize, &offered_verify::Verdict)| {
        vec![
            Cell::from(format!("part {}", i + 1)),
            part.judgement.into(),
            part.window.launches.into(),
            part.queue.rate_per_s.into(),
            part.launches.last().map(|total| total.cov).into(),
            Cell::from(&part.because),
        ]
    };
    Table {
        caption: "The runs in this file, each judged by itself".into(),
        heads: vec!["", "judgement", "launches", "per s", "CoV", "because"],
        rows: run.verdict.runs.iter().enumerate().map(row).collect(),
    }
}
