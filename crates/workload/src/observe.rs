//! What is asked, beside a run, of the machines that serve it.

use super::{Call, Draft, Generator, Late, Priority, Request, Sessions, Sql, Statement, Target, WaitMode, Workload};
use crate::template::Template;
use offered_base::{InvalidValue, Nanos, Rate};
use offered_schedule::Schedule;
use offered_schedule::arrivals::{Batch, Process, Profile};

/// What is asked of the machines that serve a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observe {
    /// Observers whose clocks are asked before the run and after it: the name of each, and where it listens, `host:port`.
    pub hosts: Vec<(String, String)>,
    /// What tells its numbers to whoever asks, and is asked again and again while the run goes on. Their names are different.
    pub scrapes: Vec<Scrape>,
}

/// Something that tells its numbers to whoever asks: an exporter's page, nginx's `stub_status`, or one statement in SQL.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    pub(super) name: String,
    pub(super) target: Target,
    pub(super) sql: Option<String>,
    pub(super) every: Nanos,
    pub(super) series: Vec<String>,
    pub(super) counters: Vec<String>,
}

/// What a database is asked that nobody has thought of a statement for.
const OF_DATABASE: &str = "select datname, numbackends, xact_commit, xact_rollback, blks_read, blks_hit, tup_returned, tup_fetched, \
                           tup_inserted, tup_updated, tup_deleted, temp_bytes, deadlocks from pg_stat_database \
                           where datname = current_database()";
/// From one scrape to the next.
pub(super) const EVERY: Nanos = Nanos::from_secs(1);
/// No more often than that: what is scraped is somebody else's time.
const LEAST: Nanos = Nanos::from_millis(100);
/// An answer is waited for no longer than so many scrapes would take.
const PATIENCE: u64 = 5;

impl Scrape {
    /// Of this name, a second apart, all series kept that are worth it.
    ///
    /// # Errors
    /// A name that is no name of a file; a target that cannot be asked so.
    pub fn new(name: &str, target: Target) -> Result<Self, InvalidValue> {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
            return Err(InvalidValue::new(format!(
                "`{name}` is no name of a file; take letters, digits, `-`, `_` and `.`, such as \"db\""
            )));
        }
        let (name, every) = (name.to_owned(), EVERY);
        let scrape = Self { name, target, sql: None, every, series: Vec::new(), counters: Vec::new() };
        scrape.workload().map(|_| scrape)
    }

    /// The same, asking a database for this.
    ///
    /// # Errors
    /// The target is no database.
    pub fn with_sql(self, sql: Option<String>) -> Result<Self, InvalidValue> {
        if sql.is_some() && self.target.url().login.is_none() {
            return Err(InvalidValue::new("goes with a target that is a database, postgres://user@host/database"));
        }
        Ok(Self { sql, ..self })
    }

    /// The same, so far apart.
    ///
    /// # Errors
    /// Closer than a tenth of a second.
    pub fn with_every(self, every: Nanos) -> Result<Self, InvalidValue> {
        match every >= LEAST {
            true => Ok(Self { every, ..self }),
            false => Err(InvalidValue::new(format!("{every} is too often for who is asked; write {LEAST} or more"))),
        }
    }

    /// The same, keeping the series that these patterns name; where there are none, those that are worth it.
    #[must_use]
    pub fn with_series(self, series: Vec<String>) -> Self {
        Self { series, ..self }
    }

    /// The same, whose numbers of these patterns only rise, whatever else is known of them.
    #[must_use]
    pub fn with_counters(self, counters: Vec<String>) -> Self {
        Self { counters, ..self }
    }

    /// What its numbers are kept under.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who is asked.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// From one scrape to the next.
    pub fn every(&self) -> Nanos {
        self.every
    }

    /// Patterns of the series that are kept; empty: those that are worth it.
    pub fn series(&self) -> &[String] {
        &self.series
    }

    /// Patterns of numbers that only rise.
    pub fn counters(&self) -> &[String] {
        &self.counters
    }

    /// The asking as a workload of its own: one launch in [`Scrape::every`], by a thread that sleeps.
    ///
    /// # Errors
    /// The target cannot be asked so.
    pub fn workload(&self) -> Result<Workload, InvalidValue> {
        let schedule = Schedule::new(Profile::constant(Rate::new(1, self.every)?), Process::Constant, Batch::Single)?;
        let mut target = self.target.clone();
        target.response_timeout = target.response_timeout.min(Nanos(self.every.0.saturating_mul(PATIENCE)));
        let request = if target.url().login.is_some() {
            target.connections = target.connections.or(Some(1));
            let text = self.sql.clone().unwrap_or_else(|| OF_DATABASE.to_owned());
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

/// Whether an observer can be asked at this address.
///
/// # Errors
/// It is no `host:port`.
pub(super) fn checked(address: &str) -> Result<String, InvalidValue> {
    let parts = address.rsplit_once(':').filter(|(host, port)| {
        // An address of the sixth version has colons of its own, and stands in brackets.
        let is_host = !host.is_empty() && (!host.contains(':') || host.starts_with('[') && host.ends_with(']'));
        is_host && port.parse::<u16>().is_ok_and(|port| port > 0)
    });
    match parts {
        Some(_) if !address.contains("://") && !address.contains(char::is_whitespace) => Ok(address.to_owned()),
        _ => Err(InvalidValue::new(format!(
            "`{address}` is no address to ask; write host:port, where the observer listens, such as \"10.0.0.2:7799\""
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        for good in ["db:7799", "10.0.0.2:1", "[::1]:7799", "db.example.com:65535"] {
            assert_eq!(checked(good).unwrap(), good);
        }
        for bad in ["db", ":7799", "db:", "db:0", "db:70000", "::1:7799", "http://db:7799", "d b:1", ""] {
            assert!(checked(bad).unwrap_err().to_string().contains("host:port"), "{bad}");
        }
    }

    #[test]
    fn a_scrape_is_a_workload_of_its_own() {
        let of = |url: &str| Scrape::new("db", Target::new(url.parse().unwrap()));
        let page = of("http://10.0.0.2:9100/metrics").unwrap().with_every(Nanos::from_millis(500)).unwrap();
        let workload = page.workload().unwrap();
        assert_eq!((workload.asked_rate(), workload.requests()[0].path().as_str()), (Some(2.0), "/metrics"));
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
