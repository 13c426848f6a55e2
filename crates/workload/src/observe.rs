//! Observation of the server side during a run: observers and scrapes.

use super::{Call, Draft, Generator, Late, Priority, Request, Sessions, Sql, Statement, Target, WaitMode, Workload};
use crate::template::Template;
use offered_base::{InvalidValue, Nanos, Rate};
use offered_schedule::Schedule;
use offered_schedule::arrivals::{Batch, Process, Profile};

/// Observers and scrapes of the server side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observe {
    /// Observers, which are contacted before and after the run: name, and address as `host:port`.
    pub hosts: Vec<(String, String)>,
    /// Sources of metrics that are scraped during the run, with unique names.
    pub scrapes: Vec<Scrape>,
}

/// A source of metrics: the page of an exporter, `stub_status` of nginx, or one SQL statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    pub(super) name: String,
    pub(super) target: Target,
    pub(super) sql: Option<String>,
    pub(super) every: Nanos,
    pub(super) series: Vec<String>,
    pub(super) counters: Vec<String>,
}

/// The default statement for a database.
const DEFAULT_SQL: &str = "select datname, numbackends, xact_commit, xact_rollback, blks_read, blks_hit, tup_returned, tup_fetched, \
                           tup_inserted, tup_updated, tup_deleted, temp_bytes, deadlocks from pg_stat_database \
                           where datname = current_database()";
/// Default scrape interval.
pub(super) const DEFAULT_INTERVAL: Nanos = Nanos::from_secs(1);
/// Shortest scrape interval; more frequent scrapes would load the server.
const MIN_INTERVAL: Nanos = Nanos::from_millis(100);
/// Response timeout of a scrape, in scrape intervals.
const TIMEOUT_INTERVALS: u64 = 5;

impl Scrape {
    /// A scrape of `target`, once a second, with the default series.
    ///
    /// # Errors
    /// A name that cannot be a file name; a target that cannot be scraped.
    pub fn new(name: &str, target: Target) -> Result<Self, InvalidValue> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return Err(InvalidValue::new(format!(
                "`{name}` cannot be a file name; use letters, digits, `-`, `_` and `.`, such as \"db\""
            )));
        }
        let (name, every) = (name.to_owned(), DEFAULT_INTERVAL);
        let scrape = Self { name, target, sql: None, every, series: Vec::new(), counters: Vec::new() };
        scrape.workload().map(|_| scrape)
    }

    /// Sets the SQL statement.
    ///
    /// # Errors
    /// The target is not a database.
    pub fn with_sql(self, sql: Option<String>) -> Result<Self, InvalidValue> {
        if sql.is_some() && self.target.url().login.is_none() {
            return Err(InvalidValue::new("needs a target that is a database, postgres://user@host/database"));
        }
        Ok(Self { sql, ..self })
    }

    /// Sets the interval between two scrapes.
    ///
    /// # Errors
    /// An interval below 100 ms.
    pub fn with_every(self, every: Nanos) -> Result<Self, InvalidValue> {
        match every >= MIN_INTERVAL {
            true => Ok(Self { every, ..self }),
            false => Err(InvalidValue::new(format!(
                "{every} is too short and would load the server; write {MIN_INTERVAL} or more"
            ))),
        }
    }

    /// Limits the recorded series to those that match these patterns; without patterns, to the default series.
    #[must_use]
    pub fn with_series(self, series: Vec<String>) -> Self {
        Self { series, ..self }
    }

    /// Declares the series that match these patterns as counters. This overrides the type that the source states.
    #[must_use]
    pub fn with_counters(self, counters: Vec<String>) -> Self {
        Self { counters, ..self }
    }

    /// The name under which its series are recorded.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The target that is scraped.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The scrape interval.
    pub fn every(&self) -> Nanos {
        self.every
    }

    /// Patterns of the recorded series; empty: the default series.
    pub fn series(&self) -> &[String] {
        &self.series
    }

    /// Patterns of series that are counters.
    pub fn counters(&self) -> &[String] {
        &self.counters
    }

    /// The scrape as a workload: one request per [`Scrape::every`], by a thread that sleeps.
    ///
    /// # Errors
    /// The target cannot be scraped.
    pub fn workload(&self) -> Result<Workload, InvalidValue> {
        let schedule = Schedule::new(Profile::constant(Rate::new(1, self.every)?), Process::Constant, Batch::Single)?;
        let mut target = self.target.clone();
        target.response_timeout = target.response_timeout.min(Nanos(self.every.0.saturating_mul(TIMEOUT_INTERVALS)));
        let request = if target.url().login.is_some() {
            target.connections = target.connections.or(Some(1));
            let text = self.sql.clone().unwrap_or_else(|| DEFAULT_SQL.to_owned());
            let statements = vec![Statement { text, parameters: Vec::new() }];
            let call = Call::Sql(Sql { statements, is_transaction: false, class: None });
            Request { call, ..Request::get("/") }
        } else {
            let path = Template::new(&target.url().path);
            Request { path, ..Request::get("/") }
        };
        Workload::new(Draft {
            late: Late::Skip(self.every),
            target: Some(target),
            generator: Generator::default()
                .with_wait_mode(WaitMode::Sleep)
                .with_priority(Priority::Normal)
                .with_threads(1)?,
            requests: vec![request.named("scrape")],
            ..Draft::new(Sessions::Open(schedule), Nanos::from_secs(366 * 24 * 3600))
        })
    }
}

/// Checks the address of an observer.
///
/// # Errors
/// A text that is not `host:port`.
pub(super) fn checked_address(address: &str) -> Result<String, InvalidValue> {
    let parts = address.rsplit_once(':').filter(|(host, port)| {
        // An IPv6 address contains colons and must be in brackets.
        let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('[') && host.ends_with(']'));
        is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    match parts {
        Some(_) if !address.contains("://") && !address.contains(char::is_whitespace) => Ok(address.to_owned()),
        _ => Err(InvalidValue::new(format!(
            "`{address}` is not an address; write host:port of the observer, such as \"10.0.0.2:7799\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for good in ["db:7799", "10.0.0.2:1", "[::1]:7799", "db.example.com:65535"] {
            assert_eq!(checked_address(good).unwrap(), good);
        }
        for bad in ["db", ":7799", "db:", "db:0", "db:70000", "::1:7799", "http://db:7799", "d b:1", ""] {
            assert!(checked_address(bad).unwrap_err().to_string().contains("host:port"), "{bad}");
        }
    }

    #[test]
    fn a_scrape_is_a_workload_of_its_own() {
        let of = |url: &str| Scrape::new("db", Target::new(url.parse().unwrap()));
        let page = of("http://10.0.0.2:9100/metrics").unwrap().with_every(Nanos::from_millis(500)).unwrap();
        let workload = page.workload().unwrap();
        assert_eq!((workload.scheduled_rate(), workload.requests()[0].path().as_str()), (Some(2.0), "/metrics"));
        assert_eq!(workload.target().unwrap().response_timeout(), Nanos::from_millis(2500));
        let database = of("postgres://me@db/shop").unwrap().workload().unwrap();
        let Call::Sql(sql) = database.requests()[0].call() else { panic!("a request in SQL") };
        assert!(sql.statements[0].text.contains("pg_stat_database"));
        assert!(of("http://db/").unwrap().with_sql(Some("select 1".to_owned())).is_err());
        assert!(of("http://db/").unwrap().with_every(Nanos::from_millis(99)).is_err());
        for bad in ["", ".", "a/b", "..", "a b"] {
            assert!(Scrape::new(bad, Target::new("http://db/".parse().unwrap())).is_err(), "{bad}");
        }
    }
}
