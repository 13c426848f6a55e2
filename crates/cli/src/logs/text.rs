//! The output of `offered logs` as text.

use std::fmt;

use offered_logs::{Findings, LogWarning, TraceSummary, model_by_rule};

use super::messages;
use crate::table::Table;

/// The result of an analysis.
pub(crate) struct Text<'f> {
    pub(crate) found: &'f Findings,
    /// The reasons for the recommended system model.
    pub(crate) reasons: &'f [String],
    /// The three system models, if they were compared.
    pub(crate) others: Option<&'f offered_logs::document::ModelComparison>,
    /// Whether to show the requests by label.
    pub(crate) labels: bool,
    /// The trace, if one was written.
    pub(crate) written: Option<TraceSummary>,
}

/// Maximum number of labels shown.
const LABELS: usize = 40;

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found;
        let counted = |n: u64, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let (requests, clients) =
            (counted(found.figures.requests, "request"), counted(found.figures.clients, "client"));
        writeln!(f, "{requests} by {clients}, {} to {}", found.figures.first_time, found.figures.last_time)?;
        for (dropped, lines) in &found.excluded {
            writeln!(f, "{lines} more excluded by {}", messages::option(*dropped))?;
        }
        if found.figures.unreadable_lines > 0 {
            writeln!(f, "{} unreadable lines", found.figures.unreadable_lines)?;
        }
        self.sessions(f)?;
        self.curve(f)?;
        let doubt = found.warnings.iter().find_map(|doubt| match doubt {
            LogWarning::OneClient => Some(", but all requests come from one client".to_owned()),
            LogWarning::FewSessions { sessions: 1 } => Some(", but there is only 1 session".to_owned()),
            LogWarning::FewSessions { sessions } => Some(format!(", but there are only {sessions} sessions")),
            _ => None,
        });
        writeln!(f, "\nSystem model: {}{}", found.recommendation.model.name(), doubt.unwrap_or_default())?;
        for reason in self.reasons {
            writeln!(f, "  {reason}")?;
        }
        if let Some(others) = self.others {
            write!(f, "{}", super::comparison::Text(others))?;
        }
        if self.labels {
            self.requests(f)?;
        }
        if let Some(written) = &self.written {
            writeln!(
                f,
                "\nTrace: {} entries of {} sessions, {} distinct requests; {} requests excluded by their method",
                written.entries, written.sessions, written.requests, written.other_methods
            )?;
        }
        Ok(())
    }
}

impl Text<'_> {
    fn sessions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found;
        let (lengths, fit) = (&found.figures.requests_per_session, &found.figures.geometric_fit);
        writeln!(
            f,
            "\nSessions (end after {} s without a request): {}",
            found.figures.timeout_s, found.figures.sessions
        )?;
        writeln!(
            f,
            "  requests      mean {:.2}, median {}, p90 {}, max {}",
            lengths.mean, lengths.p50, lengths.p90, lengths.max
        )?;
        let shares = lengths.histogram.iter().map(|cell| match cell.to {
            Some(to) if to == cell.from => format!("{to}: {:.1} %", 100.0 * cell.share),
            Some(to) => format!("{}-{to}: {:.1} %", cell.from, 100.0 * cell.share),
            None => format!("more: {:.1} %", 100.0 * cell.share),
        });
        writeln!(f, "  lengths       {}", shares.collect::<Vec<_>>().join(", "))?;
        let p = fit.p_value.map_or_else(String::new, |p| format!(", p {p:.3}"));
        writeln!(
            f,
            "  stay          {:.4}; distance to a geometric distribution {:.3}{p}",
            fit.stay_probability, fit.distance
        )?;
        if let Some(think) = &found.figures.think_time {
            writeln!(
                f,
                "  think time    mean {:.1} s, CoV {:.2}, median {:.1} s, p90 {:.1} s, p99 {:.1} s",
                think.mean_s, think.cov, think.p50_s, think.p90_s, think.p99_s
            )?;
            if let (Some(law), Some(distance)) = (&think.distribution, think.distribution_distance) {
                writeln!(f, "  distribution  {law}; distance {distance:.3}")?;
            }
        }
        let starts = &found.figures.session_starts;
        let cov = starts.cov.map_or_else(|| "unknown".to_owned(), |cov| format!("{cov:.2}"));
        writeln!(
            f,
            "  starts        {:.4}/s, CoV {cov} in blocks of {} s; Poisson {}: {} of {} blocks",
            starts.rate_per_s, starts.block_s, starts.poisson_result, starts.poisson_blocks, starts.blocks
        )?;
        let idc = starts.idc.iter().map(|idc| format!("{:.2} at {} s", idc.idc, idc.window_s));
        writeln!(f, "  dispersion    {}", idc.collect::<Vec<_>>().join(", "))?;
        writeln!(
            f,
            "  in progress   mean {:.1}, peak {}",
            found.figures.concurrency.mean, found.figures.concurrency.peak
        )?;
        if let (Some(scv), Some(of)) = (found.figures.scv, found.figures.scv_source) {
            writeln!(f, "  C2            {scv:.1} of {}", messages::service(of))?;
        } else if let Some(scv) = found.figures.bytes_scv {
            writeln!(f, "  C2            of service times unknown; {scv:.1} of bytes")?;
        }
        Ok(())
    }

    fn curve(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["timeout", "sessions", "requests per session", "model by the rule"]);
        for point in &self.found.figures.sessions_by_timeout {
            let mean = point.requests_per_session;
            let timeout = format!("{} s", point.timeout_s);
            table.row([
                timeout,
                point.sessions.to_string(),
                format!("{mean:.2}"),
                model_by_rule(mean, self.found.figures.scv).name().to_owned(),
            ]);
        }
        write!(f, "\n{table}")
    }

    fn requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ranked = self.found.labels.ranked();
        let mut table = Table::new(["label", "requests", "share"]);
        for (name, label) in ranked.iter().take(LABELS) {
            let share = 100.0 * label.count as f64 / self.found.figures.requests as f64;
            table.row([name.clone(), label.count.to_string(), format!("{share:.1} %")]);
        }
        write!(f, "\n{table}")?;
        match ranked.len().saturating_sub(LABELS) {
            0 => Ok(()),
            more => writeln!(f, "and {more} more labels"),
        }
    }
}
