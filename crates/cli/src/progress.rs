//! Progress messages of sweeps and searches on stderr.

use offered_experiment::{LiveView, Progress, ProgressObserver};

use crate::messages;
use crate::output::status;
use crate::run::views;

/// Prints progress to stderr, unless quiet.
pub(crate) struct Stderr {
    pub(crate) quiet: bool,
}

impl ProgressObserver for Stderr {
    fn views(&mut self) -> Vec<Box<dyn LiveView>> {
        views(self.quiet)
    }

    fn on_progress(&mut self, news: Progress) {
        if !self.quiet {
            status!("{}", text(news));
        }
    }
}

fn text(news: Progress) -> String {
    match news {
        Progress::Sweep { cells, remaining: todo, duration: time } => {
            let time = time.map_or_else(String::new, |time| format!(", at least {time}"));
            let s = if cells == 1 { "" } else { "s" };
            format!("{cells} cell{s}, {} finished; {todo} to do{time}", cells - todo)
        }
        Progress::NoWarmUp => {
            "warning: no warm-up: the start of every cell counts; add a warm-up to the workload, for example \
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
