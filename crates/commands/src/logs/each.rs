//! Several sites in one table: Table 2 and section 7 of Schroeder, Wierman and Harchol-Balter (2006).

use std::fmt;

use offered_base::count;
use offered_logs::document::{LogAnalyses, SiteAnalysis};
use offered_logs::{Options, open_inputs};

use super::{Args, Site, of_logs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{json, out, status};
use crate::table::Table;

/// The session timeout of the paper, in seconds.
const PAPER_TIMEOUT_S: u64 = 1800;

/// Analyses each log of the command line as a site of its own.
pub(super) fn run(args: &Args, options: &Options) -> Result<Exit, Failure> {
    let mut sites = Vec::new();
    for name in &args.files {
        let inputs = open_inputs(std::slice::from_ref(name), &options.choice).map_err(of_logs)?;
        let site = Site::of(args, options, &inputs)?;
        for warning in &site.warnings {
            status!("warning: {name}: {warning}");
        }
        sites.push(SiteAnalysis { site: name.clone(), analysis: site.document() });
    }
    match args.json {
        true => json(&LogAnalyses::new(sites)),
        false => out!(no newline: "{}", Text(&sites)),
    }
    Ok(Exit::Done)
}

/// The sites as text.
struct Text<'a>(&'a [SiteAnalysis]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(sites) = self;
        let mut table = Table::new(["site", "requests", "visitors", "sessions", "per session", "rule", "system model"]);
        for SiteAnalysis { site, analysis } in *sites {
            let figures = &analysis.figures;
            table.row([
                site.clone(),
                count(figures.requests),
                count(figures.clients),
                count(figures.sessions),
                format!("{:.2}", figures.requests_per_session.mean),
                figures.paper_rule.model.name().to_owned(),
                analysis.recommendation.model.name().to_owned(),
            ]);
        }
        write!(f, "{table}")?;
        writeln!(f, "\nRequests per session by session timeout")?;
        let heads = [String::new()].into_iter().chain(sites.iter().map(|site| crate::table::clipped(&site.site)));
        let mut table = Table::with_columns(heads.collect());
        for (place, point) in sites[0].analysis.figures.sessions_by_timeout.iter().enumerate() {
            let timeout = point.timeout_s;
            let name = format!("{timeout} s{}", if timeout == PAPER_TIMEOUT_S { " ----" } else { "" });
            let of_site = |site: &SiteAnalysis| {
                format!("{:.2}", site.analysis.figures.sessions_by_timeout[place].requests_per_session)
            };
            table.row([name].into_iter().chain(sites.iter().map(of_site)).collect::<Vec<_>>());
        }
        write!(f, "{table}")
    }
}
