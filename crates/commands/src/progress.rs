//! Progress messages of sweeps and searches on stderr.

use std::io::{IsTerminal, Write};

use offered_base::{count, visible};
use offered_experiment::{LiveView, Progress, ProgressObserver};
use offered_simulate::load::LoadTrial;

use crate::messages;
use crate::output::status;
use crate::run::views;
use crate::table::WIDTH;

/// Prints progress to stderr, unless quiet.
pub(crate) struct Stderr {
    quiet: bool,
    search: SearchLine,
}

impl Stderr {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, search: SearchLine::default() }
    }
}

impl ProgressObserver for Stderr {
    fn views(&mut self) -> Vec<Box<dyn LiveView>> {
        views(self.quiet)
    }

    fn on_progress(&mut self, news: Progress) {
        match news {
            _ if self.quiet => {}
            Progress::LoadTrial { name, trial } => self.search.show(name, trial),
            news => {
                self.search.clear();
                status!("{}", text(news));
            }
        }
    }
}

/// One line on stderr, if that is a terminal, with the latest trial of a search for the think time that produces a load. Removed on drop.
#[derive(Default)]
pub(crate) struct SearchLine {
    is_shown: bool,
}

impl SearchLine {
    /// Replaces the line. `name` is that of the cell; empty if there is only one.
    pub(crate) fn show(&mut self, name: &str, trial: LoadTrial) {
        if std::io::stderr().is_terminal() {
            self.is_shown = true;
            // Ignore errors: the search is worth more than its progress.
            let _ = write!(std::io::stderr(), "\r\u{1b}[K{}", trial_text(name, trial));
        }
    }

    /// Removes the line.
    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(std::io::stderr(), "\r\u{1b}[K");
        }
    }
}

impl Drop for SearchLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A line that does not reach the last column.
fn trial_text(name: &str, trial: LoadTrial) -> String {
    let LoadTrial { number, requests, load, half_width, .. } = trial;
    let of = if name.is_empty() { String::new() } else { format!("{}: ", visible(name)) };
    let requests = count(requests);
    let line = format!("{of}think time, trial {number} of {requests} requests: load {load:.4} ± {half_width:.4}");
    line.chars().take(WIDTH - 1).collect()
}

fn text(news: Progress) -> String {
    match news {
        Progress::Sweep { cells, remaining: todo, duration: time } => {
            let time = time.map_or_else(String::new, |time| format!(", at least {time}"));
            let s = if cells == 1 { "" } else { "s" };
            format!("{cells} cell{s}, {} finished; {todo} to do{time}", cells - todo)
        }
        Progress::NoWarmUp => {
            "warning: no warm-up: the statistics of every cell include its start; add a warm-up to the workload, for example \
                           skip_first = \"5s\""
                .to_owned()
        }
        Progress::ResourceShortfall { name, shortfall: beyond, others } => {
            let others = match others {
                0 => String::new(),
                1 => " (and one more)".to_owned(),
                n => format!(" (and {n} more)"),
            };
            format!("warning: {name}{others}: {}", messages::resource_shortfall(beyond))
        }
        Progress::LoadTrial { name, trial } => trial_text(name, trial),
        Progress::Cell { number, total: of, name, duration: time } => {
            let time = time.map_or_else(String::new, |time| format!(", {time} left"));
            format!("cell {number} of {of}: {name}{time}")
        }
        Progress::Round { pair: 0, name, .. } => format!("warm-up: {name}"),
        Progress::Round { pair, pairs, name } => format!("pair {pair} of at most {pairs}: {name}"),
        Progress::CopyProgress(copied) => messages::copied(&copied),
        Progress::UploadFailed { reason: why } => {
            format!("note: {}; retrying for another minute, or until Ctrl-C", offered_base::visible(why))
        }
        Progress::Search { trials, trial_duration: each, simulated } => {
            let Some(each) = each else { return format!("at most {trials} trials, usually far fewer") };
            let most = each * trials as u64;
            let time = if simulated { String::new() } else { format!(", {most} in all, usually far fewer") };
            format!("at most {trials} trials of {each}{time}")
        }
        Progress::Tried { field, value, trials, result: said } => {
            format!("{field}={value}: {trials} trials, {}", said.name())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_search_is_shorter_than_the_terminal() {
        let trial = LoadTrial { number: 4, requests: 32_000, think_s: 0.5, load: 0.897_12, half_width: 0.003_2 };
        assert_eq!(trial_text("", trial), "think time, trial 4 of 32,000 requests: load 0.8971 ± 0.0032");
        let long = trial_text(&"x".repeat(200), trial);
        assert!(long.chars().count() == WIDTH - 1 && long.starts_with("xxx"), "{long}");
    }
}
