//! How far an experiment is, on stderr.

use offered_experiment::{News, Observer, View};

use crate::run::views;
use crate::say::tell;
use crate::table::shown;
use crate::words;

/// Says it, unless it is to be quiet.
pub(crate) struct Stderr {
    pub(crate) quiet: bool,
}

impl Observer for Stderr {
    fn views(&mut self) -> Vec<Box<dyn View>> {
        views(self.quiet)
    }

    fn told(&mut self, news: News) {
        if !self.quiet {
            tell!("{}", words(news));
        }
    }
}

fn words(news: News) -> String {
    match news {
        News::Sweep { cells, todo, time } => {
            let time = time.map_or_else(String::new, |time| format!(", at least {time}"));
            let s = if cells == 1 { "" } else { "s" };
            format!("{cells} cell{s}, {} of them finished; {todo} to do{time}", cells - todo)
        }
        News::NoWarmUp => {
            "warning: without skip_first the beginning of every cell counts; give it a warm-up, for example \
                           skip_first = \"5s\""
                .to_owned()
        }
        News::Beyond { name, beyond, others } => {
            let others = match others {
                0 => String::new(),
                1 => " (and one more)".to_owned(),
                n => format!(" (and {n} more)"),
            };
            format!("warning: {name}{others}: {}", words::of_machine(beyond))
        }
        News::Cell { number, of, name, time } => {
            let time = time.map_or_else(String::new, |time| format!(", {time} left"));
            format!("cell {number} of {of}: {name}{time}")
        }
        News::Copied(copied) => words::of_copied(&copied),
        News::Unsent { why } => {
            format!("note: {}; it is tried for another minute, or until Ctrl-C is pressed", shown(why))
        }
        News::Search { trials, each, simulated } => {
            let Some(each) = each else { return format!("at most {trials} trials, usually far fewer") };
            let most = each * trials as u64;
            let time = if simulated { String::new() } else { format!(", {most} in all, usually far fewer") };
            format!("at most {trials} trials of {each}{time}")
        }
        News::Tried { field, value, trials, said } => {
            format!("{field}={value}: {trials} trials, {}", said.name())
        }
    }
}
