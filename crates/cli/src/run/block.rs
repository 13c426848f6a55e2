//! A pulse in the terminal: one block on stderr, drawn anew every second and gone when the run is; plain lines where stderr
//! is not a terminal.

use std::io::{Write, stderr};

use console::style;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use offered_experiment::View;
use offered_verify::Judgement;
use offered_watch::{Figures, Phase, Pulse};

use super::result::short;
use crate::table::Table;

/// The block.
pub(crate) struct Block {
    bar: ProgressBar,
}

impl Block {
    /// A block on stderr; `None` where that is not a terminal that can move its cursor.
    pub(crate) fn on_stderr() -> Option<Self> {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("[{bar:24}] {prefix}, {msg}").expect("a template");
        bar.set_style(style.progress_chars("=>-"));
        (!bar.is_hidden()).then_some(Self { bar })
    }
}

impl View for Block {
    fn show(&mut self, pulse: &Pulse) {
        if pulse.phase == Phase::Ended {
            self.bar.finish_and_clear();
            return;
        }
        self.bar.set_length((pulse.duration_s * 1e3) as u64);
        self.bar.set_position((pulse.time_s.min(pulse.duration_s) * 1e3) as u64);
        let Pulse { time_s, duration_s, .. } = pulse;
        self.bar.set_prefix(format!("{time_s:.0} s of {} s", short(*duration_s)));
        self.bar.set_message(block(pulse));
    }
}

/// The block's lines under the bar.
fn block(pulse: &Pulse) -> String {
    let judged = format!("{} so far", pulse.judgement.name().to_uppercase());
    let judged = match pulse.judgement {
        Judgement::Holds => style(judged).green(),
        Judgement::Fails => style(judged).red(),
        Judgement::NotChecked => style(judged),
    };
    format!(
        "{}\n\n{}launched {}, in flight {}, unsent {}; errors: {}\n{}\n{}: {}",
        pulse.phase.words(),
        figures(pulse),
        pulse.launched,
        pulse.in_flight,
        pulse.unsent,
        errors(pulse),
        cov(pulse),
        judged.for_stderr(),
        pulse.because
    )
}

/// Rates and times: of the last seconds, and of all that counts.
fn figures(pulse: &Pulse) -> Table {
    let heads = ["", "asked/s", "sent/s", "R p50 ms", "p95", "p99", "late p50 us", "p99"];
    let mut table = Table::new(heads);
    for (name, figures) in [("last 10 s", &pulse.recent), ("so far", &pulse.so_far)] {
        let [asked, sent, p50, p95, p99, late, latest] = numbers(figures);
        table.row([name.to_owned(), asked, sent, p50, p95, p99, late, latest]);
    }
    table
}

/// Rates asked and sent, the percentiles of response, the percentiles of lateness.
fn numbers(figures: &Figures) -> [String; 7] {
    let Figures { asked_per_s, sent_per_s, response_ms: r, lateness_us: late } = figures;
    let (r, late) = (r.as_ref(), late.as_ref());
    let all = [
        *asked_per_s,
        *sent_per_s,
        r.map(|r| r.p50),
        r.map(|r| r.p95),
        r.map(|r| r.p99),
        late.map(|late| late.p50),
        late.map(|late| late.p99),
    ];
    all.map(|number| number.map_or_else(|| "-".to_owned(), short))
}

fn errors(pulse: &Pulse) -> String {
    let kinds: Vec<String> = pulse.errors().map(|(name, n)| format!("{n} {name}")).collect();
    if kinds.is_empty() { "none".to_owned() } else { kinds.join(", ") }
}

fn cov(pulse: &Pulse) -> String {
    let number = |number: Option<f64>| number.map_or_else(|| "-".to_owned(), |number| format!("{number:.3}"));
    let Pulse { cov, cov_low, cov_high, meant_cov, .. } = pulse;
    let [cov, low, high, meant] = [cov, cov_low, cov_high, meant_cov].map(|n| number(*n));
    format!("CoV of the gaps {cov} (95 % {low} to {high}), meant {meant}")
}

/// A line every ten seconds.
#[derive(Default)]
pub(crate) struct Lines {
    shown: u32,
}

impl View for Lines {
    fn show(&mut self, pulse: &Pulse) {
        self.shown += 1;
        if self.shown.is_multiple_of(10) && pulse.phase != Phase::Ended {
            // Nobody to read it is no reason to stop.
            let _ = writeln!(stderr(), "{}", line(pulse));
        }
    }
}

fn line(pulse: &Pulse) -> String {
    let [asked, sent, p50, p95, p99, _, late] = numbers(&pulse.recent);
    format!(
        "{:.0} s: asked {asked}/s, sent {sent}/s, in flight {}, R p50 {p50} p95 {p95} p99 {p99} ms, late p99 {late} us, \
         CoV {}, unsent {}, errors: {}; {} so far",
        pulse.time_s,
        pulse.in_flight,
        pulse.cov.map_or_else(|| "-".to_owned(), |cov| format!("{cov:.3}")),
        pulse.unsent,
        errors(pulse),
        pulse.judgement.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_verify::Pattern;
    use offered_watch::{Lateness, Response};

    /// A busy moment: nothing in it is short.
    fn pulse() -> Pulse {
        let figures = Figures {
            asked_per_s: Some(100_000.0),
            sent_per_s: Some(99_873.2),
            response_ms: Some(Response { p50: 1234.5, p95: 12_345.6, p99: 30_000.1 }),
            lateness_us: Some(Lateness { p50: 12_345.0, p99: 1_234_567.0 }),
        };
        Pulse {
            time_s: 12.004,
            duration_s: 1500.0,
            phase: Phase::Draining,
            recent: figures,
            so_far: Figures::default(),
            launched: 123_456_789,
            unsent: 12,
            in_flight: 1234,
            outcomes: [("ok", 5), ("timeout", 17), ("unsent", 12)].into(),
            cov: Some(1.0034),
            cov_low: Some(0.99),
            cov_high: Some(1.02),
            meant_cov: None,
            pattern: Pattern::Poisson,
            judgement: Judgement::Fails,
            because: "one launch in a hundred was more than 1.2 s late".into(),
        }
    }

    #[test]
    fn the_block_fits_a_terminal_of_80_by_24() {
        let block = block(&pulse());
        let wide: Vec<&str> = block.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(wide.is_empty() && block.lines().count() <= 20, "{block}");
        for part in [
            "all launched, waiting",
            "in flight 1234, unsent 12; errors: 17 timeout",
            "CoV of the gaps 1.003 (95 % 0.990 to 1.020), meant -",
            "FAILS so far: one launch",
            "last 10 s   100000   99873",
            "so far           -       -",
        ] {
            assert!(block.contains(part), "{part}: {block}");
        }
    }

    #[test]
    fn a_line_says_the_same() {
        assert_eq!(
            line(&pulse()),
            "12 s: asked 100000/s, sent 99873/s, in flight 1234, R p50 1234 p95 12346 p99 30000 ms, late p99 1234567 us, \
             CoV 1.003, unsent 12, errors: 17 timeout; fails so far"
        );
    }
}
