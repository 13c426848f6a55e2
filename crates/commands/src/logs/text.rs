//! The output of `offered logs` as text.

use std::fmt;

use offered_logs::{Findings, LogWarning, TraceSummary, model_by_rule};

use super::messages;
use crate::table::{Table, named, wrapped};

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
            writeln!(f, "{}", counted(found.figures.unreadable_lines, "unreadable line"))?;
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
            // Details of the line above are indented.
            let indent = reason.len() - reason.trim_start().len();
            wrapped(f, &" ".repeat(2 + indent), reason)?;
        }
        if let Some(others) = self.others {
            write!(f, "{}", super::comparison::Text(others))?;
        }
        if self.labels {
            self.requests(f)?;
        }
        if let Some(written) = &self.written {
            let TraceSummary { entries, sessions, requests, other_methods, .. } = written;
            let excluded = format!("{other_methods} requests excluded by their method");
            writeln!(f)?;
            wrapped(
                f,
                "Trace: ",
                &format!("{entries} entries of {sessions} sessions, {requests} distinct requests; {excluded}"),
            )?;
        }
        Ok(())
    }
}

impl Text<'_> {
    fn sessions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found;
        let (lengths, fit) = (&found.figures.requests_per_session, &found.figures.geometric_fit);
        let (timeout, sessions) = (found.figures.timeout_s, found.figures.sessions);
        writeln!(f, "\nSessions (end after {timeout} s without a request): {sessions}")?;
        let (mean, median, p90, max) = (lengths.mean, lengths.p50, lengths.p90, lengths.max);
        named(f, "requests", &format!("mean {mean:.2}, median {median}, p90 {p90}, max {max}"))?;
        let shares = lengths.histogram.iter().map(|cell| match cell.to {
            Some(to) if to == cell.from => format!("{to}: {:.1} %", 100.0 * cell.share),
            Some(to) => format!("{}-{to}: {:.1} %", cell.from, 100.0 * cell.share),
            None => format!("more: {:.1} %", 100.0 * cell.share),
        });
        named(f, "lengths", &shares.collect::<Vec<_>>().join(", "))?;
        let p = fit.p_value.map_or_else(String::new, |p| format!(", p {p:.3}"));
        let (stay, distance) = (fit.stay_probability, fit.distance);
        named(f, "stay", &format!("{stay:.4}; distance to a geometric distribution {distance:.3}{p}"))?;
        if let Some(think) = &found.figures.think_time {
            let (mean, cov, median, p90, p99) = (think.mean_s, think.cov, think.p50_s, think.p90_s, think.p99_s);
            let text = format!("mean {mean:.1} s, CoV {cov:.2}, median {median:.1} s, p90 {p90:.1} s, p99 {p99:.1} s");
            named(f, "think time", &text)?;
            if let (Some(distribution), Some(distance)) = (&think.distribution, think.distribution_distance) {
                named(f, "distribution", &format!("{distribution}; distance {distance:.3}"))?;
            }
        }
        let starts = &found.figures.session_starts;
        let cov = starts.cov.map_or_else(|| "unknown".to_owned(), |cov| format!("{cov:.2}"));
        let (rate, block, result) = (starts.rate_per_s, starts.block_s, starts.poisson_result.replace('_', " "));
        let blocks = format!("{} of {} blocks", starts.poisson_blocks, starts.blocks);
        let text = format!("{rate:.4}/s, CoV {cov} in blocks of {block} s; Poisson {result}: {blocks}");
        named(f, "starts", &text)?;
        let idc = starts.idc.iter().map(|idc| format!("{:.2} at {} s", idc.idc, idc.window_s));
        named(f, "dispersion", &idc.collect::<Vec<_>>().join(", "))?;
        let concurrency = &found.figures.concurrency;
        named(f, "in progress", &format!("mean {:.1}, peak {}", concurrency.mean, concurrency.peak))?;
        if let (Some(scv), Some(of)) = (found.figures.scv, found.figures.scv_source) {
            named(f, "C2", &format!("{scv:.1} of {}", messages::service(of)))?;
        } else if let Some(scv) = found.figures.bytes_scv {
            named(f, "C2", &format!("of service times unknown; {scv:.1} of bytes"))?;
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
