//! Reading requests in SQL, and the keys of a database target.

use super::script::{KEYS, METHODS};
use super::{Reader, script, small};
use crate::shape;
use crate::source::{Mistake, Table, Value};
use crate::template::Template;
use crate::{Pool, Request, Sql, Statement};

/// The keys of a `[[request]]` that only one in SQL has.
pub(super) const OF_REQUEST: [&str; 4] = ["sql", "transaction", "parameters", "class"];
/// Keys of other requests that a request in SQL may have.
const SHARED: [&str; 6] = ["name", "weight", "service", "extract", "check", "on_failure"];

/// Keys of a `[target]` that is a database.
pub(super) struct Database {
    pub(super) pools: Vec<Pool>,
    pub(super) on_connect: Vec<String>,
    pub(super) hook: Vec<String>,
}

/// `pools`, `on_connect` and `hook` of a `[target]`.
pub(super) fn target(table: &Table<'_>) -> Result<Database, Mistake> {
    let mut pools = Vec::new();
    if let Some(value) = table.get("pools") {
        for (name, connections) in value.entries("numbers of connections, such as { short = 20, long = 20 }")? {
            pools.push(Pool { name: name.to_owned(), connections: small(&connections, connections.whole()?)? });
        }
        if pools.is_empty() {
            return Err(value.mistake("expected at least one pool, such as { short = 20, long = 20 }"));
        }
    }
    let texts = |key: &str| match table.get(key) {
        None => Ok(Vec::new()),
        Some(value) => value.list()?.iter().map(statement_text).collect::<Result<Vec<_>, _>>(),
    };
    Ok(Database { pools, on_connect: texts("on_connect")?, hook: texts("hook")? })
}

/// Checks that a message to a database can contain this text.
fn statement_text(value: &Value<'_>) -> Result<String, Mistake> {
    match value.text()? {
        text if text.trim().is_empty() => Err(value.mistake("is empty")),
        text if text.contains('\0') => Err(value.mistake("contains a zero byte")),
        text => Ok(text.to_owned()),
    }
}

impl Reader<'_> {
    /// Reads a request in SQL; `None`: the table is another kind of request.
    pub(super) fn sql(&self, table: &Table<'_>) -> Result<Option<Request>, Mistake> {
        let (sql, transaction) = (table.get("sql"), table.get("transaction"));
        let statements = match (&sql, &transaction) {
            (None, None) => {
                let lone = OF_REQUEST.iter().find_map(|key| table.get(key));
                return lone.map_or(Ok(None), |value| Err(value.mistake("needs sql = \"select ...\"")));
            }
            (Some(_), Some(transaction)) => {
                return Err(
                    transaction.mistake("cannot be combined with sql; a request is one statement or one transaction")
                );
            }
            (Some(sql), None) => {
                let text = statement_text(sql)?;
                vec![Statement { text, parameters: parameters(table)? }]
            }
            (None, Some(transaction)) => {
                if let Some(value) = table.get("parameters") {
                    let example = "{ sql = \"update a set b = $1\", parameters = [1] }";
                    return Err(value.mistake(format!(
                        "cannot be combined with transaction; give each statement its parameters: {example}"
                    )));
                }
                let statements = transaction.list()?.iter().map(statement).collect::<Result<Vec<_>, _>>()?;
                if statements.is_empty() {
                    return Err(transaction.mistake("expected at least one statement"));
                }
                statements
            }
        };
        let foreign = KEYS
            .into_iter()
            .chain(["redirects"])
            .chain(["method", "path", "grpc", "websocket", "headers"])
            .chain(METHODS);
        if let Some(value) = foreign.filter(|key| !SHARED.contains(key)).find_map(|key| table.get(key)) {
            return Err(value.mistake("cannot be combined with sql"));
        }
        let class = table.get("class").map(|class| class.text().map(str::to_owned)).transpose()?;
        let asked = Request::sql(Sql { statements, is_transaction: transaction.is_some(), class });
        let name = table.get("name").map(|name| name.text().map(str::to_owned)).transpose()?;
        Ok(Some(Request {
            name: name.unwrap_or_else(|| asked.name.clone()),
            weight: table.get("weight").map_or(Ok(1.0), |value| value.weight())?,
            extract: script::extractions(table)?,
            checks: script::checks(table)?,
            on_failure: script::on_failure(table)?,
            attempts: self.attempts(table)?,
            service: table.get("service").map(|distribution| self.distribution(&distribution)).transpose()?,
            ..asked
        }))
    }
}

/// A statement of a transaction: a text, or `{ sql = "...", parameters = [...] }`.
fn statement(value: &Value<'_>) -> Result<Statement, Mistake> {
    if value.is_text() {
        return Ok(Statement { text: statement_text(value)?, parameters: Vec::new() });
    }
    let table = value.table(&shape::STATEMENT)?;
    Ok(Statement { text: statement_text(&table.need("sql", "\"select 1\"")?)?, parameters: parameters(&table)? })
}

/// `parameters = ["{{id}}", 5, 2.5, true, { null = true }]`.
fn parameters(table: &Table<'_>) -> Result<Vec<Option<Template>>, Mistake> {
    let Some(value) = table.get("parameters") else { return Ok(Vec::new()) };
    let parameter = |item: &Value<'_>| {
        if item.is_list() {
            return Err(item.mistake("write a list as in PostgreSQL, such as \"{1,2,3}\""));
        }
        if !item.is_table() {
            return Ok(Some(Template::new(&item.shown())));
        }
        match item.table(&shape::NULL)?.need("null", "true")?.truth()? {
            true => Ok(None),
            false => Err(item.mistake("write { null = true }")),
        }
    };
    value.list()?.iter().map(parameter).collect()
}
