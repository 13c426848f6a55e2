//! The three system models side by side, for people.

use offered_experiment::site;
use offered_logs::document::Others;

/// Under which discipline the server is assumed to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Discipline {
    /// First come, first served
    Fcfs,
    /// All at once, each with an equal share (processor sharing)
    Ps,
}

impl From<Discipline> for site::Discipline {
    fn from(discipline: Discipline) -> Self {
        match discipline {
            Discipline::Fcfs => Self::Fcfs,
            Discipline::Ps => Self::Ps,
        }
    }
}

/// The three models for people.
pub(super) struct Page<'a>(pub(super) &'a Others);

impl std::fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self(others) = self;
        writeln!(f, "\nThe same site by the three models, simulated: one server at load {} (--load)", others.load)?;
        let known = if others.scv_known { "as above" } else { "assumed; log durations to know" };
        writeln!(f, "  service       {}; C2 {:.1}, {known}", others.service, others.scv)?;
        writeln!(f, "  closed        {} users, their think time adjusted to the same load", others.users)?;
        for missing in &others.missing {
            writeln!(f, "  not compared  {missing}")?;
        }
        let shown = |discipline: &site::Discipline| others.models.iter().any(|model| discipline.of(model).is_some());
        for discipline in site::Discipline::ALL.into_iter().filter(shown) {
            let heads = [discipline.name(), "mean response", "of partly-open", "95 % point", "of partly-open"];
            let mut table = crate::table::Table::new(heads);
            for model in &others.models {
                let Some(response) = discipline.of(model) else { continue };
                table.row([
                    model.model.name().to_owned(),
                    format!("{:.3} ± {:.3} s", response.mean_s, response.half_width_s),
                    format!("{:.2} x", response.ratio),
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
