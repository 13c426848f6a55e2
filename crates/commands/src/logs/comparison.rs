//! The three system models side by side, as text.

use offered_experiment::log_models;
use offered_logs::document::{ModelComparison, RatioEstimate, TimeEstimate};

use crate::table::{Table, named};

/// The assumed scheduling discipline of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Discipline {
    /// First come, first served
    Fcfs,
    /// Processor sharing
    Ps,
}

impl From<Discipline> for log_models::Discipline {
    fn from(discipline: Discipline) -> Self {
        match discipline {
            Discipline::Fcfs => Self::Fcfs,
            Discipline::Ps => Self::Ps,
        }
    }
}

/// The three models as text.
pub(super) struct Text<'a>(pub(super) &'a ModelComparison);

impl std::fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(others) = self;
        writeln!(f, "\nThe three system models at one server with load {} (--load)", others.load)?;
        let known = if others.scv_known { "as above" } else { "assumed; log durations to measure it" };
        named(f, "service", &format!("{}; C2 {:.1}, {known}", others.service_distribution, others.scv))?;
        named(f, "closed", &self.closed())?;
        for missing in &others.missing {
            named(f, "not compared", missing)?;
        }
        let by = match others.trials {
            0 => "by formula".to_owned(),
            trials => format!(
                "values with ± (95 %) from {trials} simulations of {} responses, others from formulas",
                offered_base::count(others.responses_per_trial)
            ),
        };
        named(f, "results", &by)?;
        named(f, "ratio", "to partly-open")?;
        for discipline in log_models::Discipline::ALL.into_iter().filter(|one| self.shows(*one)) {
            let heads = [discipline.name(), "mean response", "ratio", "p95", "ratio"];
            let mut table = Table::new(heads);
            for model in &others.models {
                let Some(response) = discipline.of(model) else { continue };
                table.row([
                    model.model.name().to_owned(),
                    format!("{} s", time(response.mean)),
                    ratio(response.mean_ratio),
                    format!("{} s", time(response.p95)),
                    ratio(response.p95_ratio),
                ]);
            }
            write!(f, "\n{table}")?;
        }
        Ok(())
    }
}

impl Text<'_> {
    fn shows(&self, discipline: log_models::Discipline) -> bool {
        self.0.models.iter().any(|model| discipline.of(model).is_some())
    }

    /// Number of users and think times of the closed system.
    fn closed(&self) -> String {
        let think = |discipline: log_models::Discipline| {
            let think = self.0.models.iter().find_map(|model| discipline.of(model)?.think_s)?;
            Some(format!("{think:.2} s under {}", discipline.name()))
        };
        let thinks: Vec<String> = log_models::Discipline::ALL.into_iter().filter_map(think).collect();
        match thinks.is_empty() {
            true => format!("{} users", self.0.users),
            false => format!("{} users; think time for the same load: {}", self.0.users, thinks.join(", ")),
        }
    }
}

fn time(TimeEstimate { value_s, low_s, high_s, exact }: TimeEstimate) -> String {
    if exact { format!("{value_s:.3}") } else { format!("{value_s:.3} ± {:.3}", (high_s - low_s) / 2.0) }
}

fn ratio(RatioEstimate { value, low, high }: RatioEstimate) -> String {
    if low == high { format!("{value:.2}") } else { format!("{value:.2} ± {:.2}", (high - low) / 2.0) }
}
