//! What a workload says in SQL: the statements that every connection prepares, and the messages of a request.

use std::collections::HashMap;
use std::sync::OnceLock;

use bytes::BytesMut;
use offered_model::workload::script::{Find, Test};
use offered_model::workload::{Call, Target, Workload};
use postgres_protocol::IsNull;
use postgres_protocol::message::frontend;

use crate::Error;

/// The statements of a workload.
#[derive(Debug)]
pub(super) struct Statements {
    /// The different ones, in the order in which they are prepared.
    all: Vec<Prepared>,
    /// The requests, by label.
    requests: Vec<Request>,
    /// The columns of what each statement answers, once a connection was told.
    columns: OnceLock<Vec<Columns>>,
}

/// The names of the columns of an answer.
pub(super) type Columns = Box<[Box<str>]>;

/// A statement.
#[derive(Debug)]
struct Prepared {
    /// The name it is prepared under.
    name: String,
    text: String,
    /// How many parameters the workload gives it.
    parameters: usize,
}

/// What a request says.
#[derive(Debug)]
struct Request {
    name: String,
    pool: usize,
    /// Statements, and for each the first of the request's parameters that is its own.
    steps: Vec<(usize, usize)>,
    /// Columns that are looked for in the answer.
    columns_used: Vec<String>,
}

impl Statements {
    /// The statements of request `label`, in order.
    pub(super) fn texts(&self, label: u16) -> impl Iterator<Item = &str> {
        self.requests[usize::from(label)].steps.iter().map(|(number, _)| self.all[*number].text.as_str())
    }

    /// Those of `workload`, whose requests are all in SQL.
    ///
    /// # Errors
    /// A request that is not.
    pub(super) fn new(workload: &Workload, target: &Target) -> Result<Self, Error> {
        let mut statements = Self { all: Vec::new(), requests: Vec::new(), columns: OnceLock::new() };
        let mut known: HashMap<(String, usize), usize> = HashMap::new();
        for request in workload.requests() {
            let Call::Sql(sql) = request.call() else {
                let reason = "is not in SQL, and its target is a database".to_owned();
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
            // A class that is none of the pools is a mistake in the workload.
            let pool = target.pools().iter().position(|pool| Some(&pool.name) == sql.class.as_ref()).unwrap_or(0);
            statements.requests.push(Request { name: request.name().to_owned(), pool, steps, columns_used });
        }
        Ok(statements)
    }

    /// Which pool's connections carry request `label`.
    pub(super) fn pool(&self, label: u16) -> usize {
        self.requests[usize::from(label)].pool
    }

    /// How many statements request `label` has.
    pub(super) fn steps(&self, label: u16) -> usize {
        self.requests[usize::from(label)].steps.len()
    }

    /// Writes what prepares all of them, and asks what they take and give.
    pub(super) fn prepare(&self, out: &mut BytesMut) -> std::io::Result<()> {
        for Prepared { name, text, .. } in &self.all {
            frontend::parse(name, text, [], out)?;
            frontend::describe(b'S', name, out)?;
        }
        frontend::sync(out);
        Ok(())
    }

    /// The text of the statement that is prepared as this one of all.
    pub(super) fn text(&self, number: usize) -> &str {
        self.all.get(number).map_or("", |statement| &statement.text)
    }

    /// That statement `number` takes so many parameters.
    ///
    /// # Errors
    /// It is given another number of them.
    pub(super) fn takes(&self, number: usize, parameters: usize) -> Result<(), String> {
        match self.all.get(number) {
            Some(statement) if statement.parameters != parameters => Err(format!(
                "`{}` takes {parameters} parameters and is given {} (parameters = [...])",
                statement.text, statement.parameters
            )),
            _ => Ok(()),
        }
    }

    /// All statements are prepared: these are the columns of their answers.
    ///
    /// # Errors
    /// A column that is looked for in no answer of its request.
    pub(super) fn described(&self, columns: Vec<Columns>) -> Result<(), String> {
        for request in &self.requests {
            let names = || request.steps.iter().filter_map(|(number, _)| columns.get(*number)).flatten();
            if let Some(missing) = request.columns_used.iter().find(|column| names().all(|name| **name != ***column)) {
                let known: Vec<&str> = names().map(|name| &**name).collect();
                let known = if known.is_empty() { "it has none".to_owned() } else { known.join(", ") };
                return Err(format!("request `{}`: its answer has no column `{missing}`; {known}", request.name));
            }
        }
        // Connections that come later are told the same.
        let _ = self.columns.set(columns);
        Ok(())
    }

    /// The columns of the answer to step `step` of request `label`.
    pub(super) fn columns(&self, label: u16, step: usize) -> &[Box<str>] {
        let (number, _) = self.requests[usize::from(label)].steps[step];
        self.columns.get().and_then(|columns| columns.get(number)).map_or(&[], |columns| columns)
    }

    /// Writes step `step` of request `label` with the request's parameters, each as a text or null.
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
        const LONG: &str = "more parameters, or longer ones, than a message can have";
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
