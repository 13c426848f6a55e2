//! The three system models side by side, as text.

use offered_experiment::log_models;
use offered_logs::document::ModelComparison;

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
        writeln!(f, "\nThe three system models, simulated at one server with load {} (--load)", others.load)?;
        let known = if others.scv_known { "as above" } else { "assumed; log durations to measure it" };
        named(f, "service", &format!("{}; C2 {:.1}, {known}", others.service_distribution, others.scv))?;
        named(f, "closed", &format!("{} users, with the think time that gives the same load", others.users))?;
        for missing in &others.missing {
            named(f, "not compared", missing)?;
        }
        named(f, "ratio", "to partly-open")?;
        let shown =
            |discipline: &log_models::Discipline| others.models.iter().any(|model| discipline.of(model).is_some());
        for discipline in log_models::Discipline::ALL.into_iter().filter(shown) {
            // The ratios are to the partly-open system.
            let heads = [discipline.name(), "mean response", "ratio", "p95", "ratio"];
            let mut table = Table::new(heads);
            for model in &others.models {
                let Some(response) = discipline.of(model) else { continue };
                table.row([
                    model.model.name().to_owned(),
                    format!("{:.3} ± {:.3} s", response.mean_s, response.mean_half_width_s),
                    format!("{:.2} x", response.mean_ratio),
                    match response.p95_half_width_s {
                        Some(half) => format!("{:.3} ± {half:.3} s", response.p95_s),
                        None => format!("{:.3} s", response.p95_s),
                    },
                    format!("{:.2} x", response.p95_ratio),
                ]);
            }
            write!(f, "\n{table}")?;
        }
        Ok(())
    }
}
