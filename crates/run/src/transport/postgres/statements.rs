//! The SQL statements of a workload, which every connection prepares, and the messages of its requests.

use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::BytesMut;
use offered_workload::script::{Find, Test};
use offered_workload::{Call, Target, Workload};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use crate::Error;

/// The statements of a workload.
#[derive(Debug)]
pub(super) struct Statements {
    /// The distinct statements, in the order in which they are prepared.
    all: Vec<Prepared>,
    /// The requests, by label.
    requests: Vec<Request>,
    /// The result columns of each statement, once a connection has described them.
    columns: OnceLock<Vec<Columns>>,
}

/// The names of the columns of a result.
pub(super) type Columns = Box<[Box<str>]>;

/// A statement.
#[derive(Debug)]
struct Prepared {
    /// The name of the prepared statement.
    name: String,
    text: String,
    /// Number of parameters that the workload passes.
    parameters: usize,
}

/// The statements of a request.
#[derive(Debug)]
struct Request {
    name: String,
    pool: usize,
    /// For each step the index of its statement, and of the first of its parameters among those of the request.
    steps: Vec<(usize, usize)>,
    /// Columns that checks and extractions use.
    columns_used: Vec<String>,
}

impl Statements {
    /// The statements of request `label`, in order.
    pub(super) fn texts(&self, label: u16) -> impl Iterator<Item = &str> {
        self.requests[usize::from(label)].steps.iter().map(|(number, _)| self.all[*number].text.as_str())
    }

    /// Collects the statements of `workload`, whose requests must all be SQL.
    ///
    /// # Errors
    /// A request that is not SQL.
    pub(super) fn new(workload: &Workload, target: &Target) -> Result<Self, Error> {
        let mut statements = Self { all: Vec::new(), requests: Vec::new(), columns: OnceLock::new() };
        let mut known: HashMap<(String, usize), usize> = HashMap::new();
        for request in workload.requests() {
            let Call::Sql(sql) = request.call() else {
                let reason = "must be SQL, because the target is a database".to_owned();
                return Err(Error::Request { name: request.name().to_owned(), reason });
            };
            let mut step = |text: &str, parameters: usize, first: usize| {
                let next = statements.all.len();
                let number = *known.entry((text.to_owned(), parameters)).or_insert(next);
                if number == next {
                    statements.all.push(Prepared { name: format!("s{next}"), text: text.to_owned(), parameters });
                }
                (number, first)
            };
            let mut steps = Vec::new();
            let mut first = 0;
            steps.extend(sql.is_transaction.then(|| step("begin", 0, 0)));
            for statement in &sql.statements {
                steps.push(step(&statement.text, statement.parameters.len(), first));
                first += statement.parameters.len();
            }
            steps.extend(sql.is_transaction.then(|| step("commit", 0, first)));
            let tested = request.checks().iter().filter_map(|check| match &check.test {
                Test::Text(find, _) => Some(find),
                _ => None,
            });
            let finds = request.extract().iter().map(|extraction| &extraction.find).chain(tested);
            let columns_used = finds.filter_map(|find| match find {
                Find::Column(name) => Some(name.clone()),
                _ => None,
            });
            let columns_used = columns_used.collect();
            // The workload has checked that the class is one of the pools.
            let pool = target.pools().iter().position(|pool| Some(&pool.name) == sql.class.as_ref()).unwrap_or(0);
            statements.requests.push(Request { name: request.name().to_owned(), pool, steps, columns_used });
        }
        Ok(statements)
    }

    /// The pool of request `label`.
    pub(super) fn pool(&self, label: u16) -> usize {
        self.requests[usize::from(label)].pool
    }

    /// The number of statements of request `label`.
    pub(super) fn steps(&self, label: u16) -> usize {
        self.requests[usize::from(label)].steps.len()
    }

    /// Writes the messages that prepare and describe all statements.
    pub(super) fn prepare(&self, out: &mut BytesMut) -> std::io::Result<()> {
        for Prepared { name, text, .. } in &self.all {
            frontend::parse(name, text, [], out)?;
            frontend::describe(b'S', name, out)?;
        }
        frontend::sync(out);
        Ok(())
    }

    /// The text of statement `number`.
    pub(super) fn text(&self, number: usize) -> &str {
        self.all.get(number).map_or("", |statement| &statement.text)
    }

    /// Checks that statement `number` takes `parameters` parameters.
    ///
    /// # Errors
    /// The workload passes another number of them.
    pub(super) fn takes(&self, number: usize, parameters: usize) -> Result<(), String> {
        match self.all.get(number) {
            Some(statement) if statement.parameters != parameters => Err(format!(
                "`{}` takes {parameters} parameters, but the workload passes {} (parameters = [...])",
                statement.text, statement.parameters
            )),
            _ => Ok(()),
        }
    }

    /// Takes the result columns of all statements.
    ///
    /// # Errors
    /// A column that a check or extraction uses is in no result of its request.
    pub(super) fn described(&self, columns: Vec<Columns>) -> Result<(), String> {
        for request in &self.requests {
            let names = || request.steps.iter().filter_map(|(number, _)| columns.get(*number)).flatten();
            if let Some(missing) = request.columns_used.iter().find(|column| names().all(|name| **name != ***column)) {
                let known: Vec<&str> = names().map(|name| &**name).collect();
                let known =
                    if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
                return Err(format!("request `{}`: its result has no column `{missing}`; {known}", request.name));
            }
        }
        // Later connections describe the same columns.
        let _ = self.columns.set(columns);
        Ok(())
    }

    /// The result columns of step `step` of request `label`.
    pub(super) fn columns(&self, label: u16, step: usize) -> &[Box<str>] {
        let (number, _) = self.requests[usize::from(label)].steps[step];
        self.columns.get().and_then(|columns| columns.get(number)).map_or(&[], |columns| columns)
    }

    /// Writes step `step` of request `label`, with the parameters of the request as text or null.
    ///
    /// # Errors
    /// More parameters, or longer ones, than a message can have.
    pub(super) fn execute(
        &self,
        label: u16,
        step: usize,
        parameters: &[Option<String>],
        out: &mut BytesMut,
    ) -> Result<(), &'static str> {
        const LONG: &str = "too many parameters, or too long ones, for a message";
        let (number, first) = self.requests[usize::from(label)].steps[step];
        let statement = &self.all[number];
        let own = parameters.iter().skip(first).take(statement.parameters);
        let put = |value: &Option<String>, out: &mut BytesMut| {
            Ok(match value {
                None => IsNull::Yes,
                Some(text) => {
                    out.extend_from_slice(text.as_bytes());
                    IsNull::No
                }
            })
        };
        frontend::bind("", &statement.name, [], own, put, [], out).map_err(|_| LONG)?;
        frontend::execute("", 0, out).map_err(|_| LONG)?;
        frontend::sync(out);
        Ok(())
    }
}
