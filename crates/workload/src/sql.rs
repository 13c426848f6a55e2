//! Requests in SQL, and the pools of connections that they wait for.

use crate::template::Template;

/// The statements of a request in SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sql {
    /// The statements, sent one after another, each after the response to the previous one; at least one.
    pub statements: Vec<Statement>,
    /// Whether the statements run in a transaction, which is rolled back if a statement fails.
    pub is_transaction: bool,
    /// The pool of its connection; `None` for a target without named pools.
    pub class: Option<String>,
}

impl Sql {
    /// The templates of its parameters.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        self.statements.iter().flat_map(|statement| statement.parameters.iter().flatten())
    }
}

/// One statement, prepared before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The text, with `$1`, `$2` and so on for its parameters.
    pub text: String,
    /// The values of the parameters as texts, which the database converts to their types; `None`: null.
    pub parameters: Vec<Option<Template>>,
}

/// A pool of connections to a database, which are all opened before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The name, which requests refer to as `class`.
    pub name: String,
    /// Number of connections of all threads together.
    pub connections: u32,
}

#[cfg(test)]
mod tests {
    use crate::script::{Find, Sizes, Test};
    use crate::{Call, Pool, Workload};

    fn read(text: &str) -> Result<Workload, String> {
        let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n{text}");
        Workload::parse(&text, "w.toml", &|_| Err(String::new())).map_err(|mistake| mistake.without_position())
    }

    const WHOLE: &str = r#"
[target]
url = "postgres://me:secret@db/shop"
pools = { short = 20, "long ones" = 5 }
on_connect = ["set search_path = shop", "set x.y = 'z'"]
hook = ["./priority", "{{pid}}"]

[variables]
id = { random = "uniform:1..9" }
shop = "north"

[[request]]
name = "look"
sql = "select * from f($1, $2, $3, $4)"
parameters = ["{{id}} of {{shop}}", 5, 2.5, { null = true }]
class = "short"
check = [{ rows = ">= 1" }, { column = "price", is = "5" }]
extract = [{ name = "price", column = "price", nth = 2 }]

[[request]]
transaction = ["select 1", { sql = "select $1", parameters = [true] }]
class = "long ones"
"#;

    #[test]
    fn a_whole_request_is_read_and_written() {
        let workload = read(WHOLE).unwrap();
        let target = workload.target().unwrap();
        let pool = |name: &str, connections| Pool { name: name.to_owned(), connections };
        assert_eq!(target.pools(), [pool("short", 20), pool("long ones", 5)]);
        let [look, transaction] = workload.requests() else { panic!("two requests") };
        let (Call::Sql(look_sql), Call::Sql(sql)) = (look.call(), transaction.call()) else { panic!("both in SQL") };
        let parameters = &look_sql.statements[0].parameters;
        let shown: Vec<String> = parameters.iter().flatten().map(ToString::to_string).collect();
        assert_eq!((shown, parameters.len()), (vec!["{{id}} of north".to_owned(), "5".into(), "2.5".into()], 4));
        assert_eq!(look.extract()[0].find, Find::Column("price".to_owned()));
        assert_eq!(look.checks()[0].test, Test::Rows(Sizes { least: 1, most: u64::MAX }));
        assert_eq!((look.checks()[0].name.as_str(), look.checks()[1].name.as_str()), ("rows >= 1", "column price = 5"));
        assert!(sql.is_transaction && sql.statements.len() == 2 && transaction.name() == "select 1; select $1");
        assert!(workload.is_scripted());
        let written = workload.to_string();
        let again = Workload::parse(&written, "w.toml", &|_| Err(String::new())).unwrap();
        assert_eq!(again, workload, "{written}");
        assert!(!format!("{:?}", workload.target()).contains("secret"));
    }

    #[test]
    fn conflicting_keys_are_refused() {
        let target = |url: &str, more: &str| format!("[target]\nurl = \"{url}\"\n{more}\n[[request]]\nname = \"a\"\n");
        let database = target("postgres://me@db/shop", "connections = 2");
        let pools = target("postgres://me@db/shop", "pools = { short = 2 }");
        let (sql, http) = ("sql = \"select 1\"", target("http://h/", ""));
        for (text, why) in [
            (target("postgres://me@db/shop", "") + sql, "needs a number of connections"),
            (
                target("postgres://me@db/shop", "connections = 2\npools = { a = 1 }") + sql,
                "cannot be combined with pools",
            ),
            (target("postgres://me@db/shop", "connections = 2\ncookies = true") + sql, "does not apply to a database"),
            (
                target("postgres://me@db/shop?sslmode=disable", "connections = 2\ntls = { insecure = true }") + sql,
                "an sslmode other than",
            ),
            (
                target("postgres://me@db/shop?sslmode=require", "connections = 2\ntls = { roots = \"a\" }") + sql,
                "only sslmode",
            ),
            (target("http://h/", "pools = { a = 1 }") + sql, "applies only to a database"),
            (http.clone() + sql, "needs a target url that begins with postgres://"),
            (http.clone() + "get = \"/\"\ncheck = [{ rows = 1 }]", "has no rows"),
            (http + "get = \"/\"\nparameters = [1]", "needs sql"),
            (database.clone() + "get = \"/\"", "must be in SQL"),
            (database.clone() + "sql = \" \"", "is empty"),
            (database.clone() + sql + "\nget = \"/\"", "cannot be combined with sql"),
            (database.clone() + sql + "\ntransaction = []", "one statement or one transaction"),
            (database.clone() + sql + "\nclass = \"short\"", "needs target.pools"),
            (database.clone() + sql + "\ncheck = [{ status = 200 }]", "a response of a database has no status"),
            (database.clone() + sql + "\nextract = [{ name = \"x\", css = \"a\" }]", "has no css"),
            (database.clone() + sql + "\nparameters = [[1]]", "write a list as"),
            (database.clone() + sql + "\nparameters = [\"{{unknown}}\"]", "{{unknown}} is undefined"),
            (database + "transaction = [\"select 1\"]\nparameters = [1]", "give each statement its parameters"),
            (pools.clone() + sql, "needs the pool of its connection"),
            (pools + sql + "\nclass = \"shirt\"", "did you mean `short`"),
        ] {
            let message = read(&text).unwrap_err();
            assert!(message.contains(why), "{text}: {message}");
        }
        assert!(read("[[request]]\nsql = \"select 1\"\nclass = \"any\"").is_ok(), "simulated, it needs no database");
    }
}
