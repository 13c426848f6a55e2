//! A real PostgreSQL, created by `initdb` in a temporary directory: logins, queries and responses are events.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use offered_events::Outcome;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::harness::{Missing, Tested, needs};
use crate::process::{Process, ended, offered, soon};
use crate::run::{Run, run};
use crate::servers::free_port;
use crate::tls::certificates;

tests![
    queries_and_responses,
    a_transaction_is_one_request_and_leaves_no_state,
    authentication_methods,
    timeouts_cancel_the_query,
    pools_queue_requests_and_replace_lost_connections,
    the_hook_runs_for_every_connection_before_the_first_request,
    database_statistics_appear_in_the_report,
    pgbench_scripts_are_imported_equivalently
];

/// A running server.
pub(crate) struct Cluster {
    process: Option<Process>,
    bin: PathBuf,
    /// Directory of its sockets and other files.
    pub(crate) folder: TempDir,
    pub(crate) port: u16,
}

/// A user other than root, since PostgreSQL does not run as root.
const NOBODY: u32 = 65534;

impl Cluster {
    /// Starts it on loopback and on a Unix socket in its directory, with the superuser `me` and users for each
    /// authentication method.
    pub(crate) fn start() -> Result<Self, Missing> {
        let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let bin = versions.map(|version| version.path().join("bin")).find(|bin| bin.join("initdb").exists());
        needs("postgresql", bin.is_some())?;
        let (bin, folder, port) = (bin.unwrap_or_default(), tempfile::tempdir().unwrap(), free_port());
        certificates(folder.path());
        std::fs::set_permissions(folder.path().join("server.key"), std::fs::Permissions::from_mode(0o600)).unwrap();
        let mut cluster = Self { process: None, bin, folder, port };
        let own = |path: &Path| std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY));
        if rustix::process::getuid().is_root() {
            own(cluster.folder.path()).unwrap();
            own(&cluster.path("server.key")).unwrap();
        }
        let data = cluster.path("data");
        let data = data.to_str().unwrap();
        let mut initdb = cluster.command("initdb");
        initdb.args(["-D", data, "-U", "me", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C"]);
        let made = initdb.output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let ways = "local all all trust\nhostssl all secure all trust\nhost all secure all reject\n\
                    host all hashed all md5\nhost all salted all scram-sha-256\nhost all plain all password\n\
                    host all me all trust\n";
        std::fs::write(cluster.path("data/pg_hba.conf"), ways).unwrap();
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{0}'\nfsync = off\n\
             max_connections = 40\nshared_buffers = 16MB\nssl = on\nssl_cert_file = '{0}/server.pem'\n\
             ssl_key_file = '{0}/server.key'\n",
            cluster.folder.path().display()
        );
        std::fs::write(cluster.path("data/postgresql.conf"), settings).unwrap();
        let mut server = cluster.command("postgres");
        server.args(["-D", data]);
        cluster.process = Some(Process::start(server));
        assert!(soon(|| cluster.asked("select 1").ok()).is_some(), "the server does not answer");
        Ok(cluster)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A program of PostgreSQL, not run as root.
    pub(crate) fn command(&self, name: &str) -> Command {
        let program = self.bin.join(name);
        let mut command = match rustix::process::getuid().is_root() {
            false => Command::new(program),
            true => {
                let mut command = Command::new("setpriv");
                let nobody = NOBODY.to_string();
                command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups"]).arg(program);
                command
            }
        };
        command.current_dir(self.folder.path());
        command
    }

    /// Output of `psql`, or its error.
    fn asked(&self, sql: &str) -> Result<String, String> {
        let folder = self.folder.path().to_str().unwrap();
        let mut psql = self.command("psql");
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", folder, "-p", &self.port.to_string()]);
        let said = psql.args(["-U", "me", "-d", "postgres", "-c", sql]).output().unwrap();
        match said.status.success() {
            true => Ok(String::from_utf8(said.stdout).unwrap().trim_end().to_owned()),
            false => Err(String::from_utf8_lossy(&said.stderr).into_owned()),
        }
    }

    pub(crate) fn ask(&self, sql: &str) -> String {
        self.asked(sql).unwrap_or_else(|why| panic!("{sql}: {why}"))
    }

    /// The URL of this user over TCP.
    fn url(&self, user: &str) -> String {
        format!("postgres://{user}@127.0.0.1:{}/postgres", self.port)
    }

    /// A workload of half a second with these lines; the first belong to `[target]`.
    fn workload(&self, load: &str, target: &str) -> String {
        let file = self.path("w.toml");
        std::fs::write(&file, format!("seed = 3\nduration = \"500ms\"\n{load}\n[target]\n{target}\n")).unwrap();
        file.to_str().unwrap().to_owned()
    }

    fn run(&self, load: &str, target: &str) -> Run {
        run(&[&self.workload(load, target), "--allow-commands"])
    }

    /// Stops it immediately, but so that it releases its shared memory, and returns its log.
    pub(crate) fn end(&mut self) -> String {
        let process = self.process.take().expect("a running server");
        process.signal(Signal::QUIT);
        process.end().stderr
    }

    /// Result of a run that cannot start.
    fn refused(&self, target: &str) -> String {
        let target = format!("{target}\nconnections = 2\n[[request]]\nname = \"one\"\nsql = \"select 1\"");
        let ended = ended(&["run", &self.workload(OPEN, &target)]);
        assert!(matches!(ended.code, Some(1 | 2)), "{ended:?}");
        ended.stderr
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.process.is_some() {
            self.end();
        }
    }
}

const OPEN: &str = "arrivals.open.rate = \"100/s\"";

fn queries_and_responses() -> Tested {
    let cluster = Cluster::start()?;
    cluster.ask("create table seen (session bigint, note text, price numeric, sold boolean, gone date)");
    let requests = |connections: &str| {
        format!(
            "{connections}\non_connect = [\"select 1, pg_sleep(0)\", \"set application_name = 'under test'\"]\n\
             [variables]\nnote = \"it's \\\"new\\\"\"\n\
             [[request]]\nname = \"insert\"\nsql = \"insert into seen values ($1, $2, $3, $4, $5)\"\n\
             parameters = [\"{{{{session}}}}\", \"{{{{note}}}}\", 2.5, true, {{ null = true }}]\ncheck = [{{ rows = 1 }}]\n\
             [[request]]\nname = \"series\"\n\
             sql = \"select n, n * 2 as double, current_setting('application_name') as us from generate_series(1, $1) n\"\n\
             parameters = [3]\n\
             check = [{{ rows = \">= 3\" }}, {{ column = \"double\", is = \"6\" }}, {{ json = \"$[2].us\", is = \"under test\" }}]\n\
             [[request]]\nname = \"wrong\"\nsql = \"select 1 / ($1::int - 1)\"\nparameters = [1]\n"
        )
    };
    let socket = format!("postgres://me@/postgres?host={}&port={}", cluster.folder.path().display(), cluster.port);
    let mut inserted = 0;
    for (load, url) in [
        (OPEN, cluster.url("me")),
        ("arrivals.closed = { users = 10, think = { constant = \"20ms\" } }", socket),
        ("arrivals.partly_open = { rate = \"30/s\", stay = 0.7 }", cluster.url("me") + "?sslmode=disable"),
    ] {
        let run = cluster.run(load, &requests(&format!("url = \"{url}\"\nconnections = 4")));
        for event in &run.events {
            let expected = match run.labels[usize::from(event.label)].as_str() {
                "insert" => (Outcome::Ok, 1, String::new()),
                "series" => (Outcome::Ok, 3, String::new()),
                _ => (Outcome::SqlError, 0, "SQLSTATE 22012: division by zero".to_owned()),
            };
            assert_eq!((event.outcome, event.rows, event.why().into_owned()), expected, "{event:?}");
            assert!(event.bytes_in > 0 && event.bytes_out > 0 && event.waited.is_some(), "{event:?}");
        }
        assert!(run.connections() <= 4 && run.events.len() > 20, "{}", run.events.len());
        assert_eq!(run.json["failures"][0]["reason"], "SQLSTATE 22012 (data exception)");
        inserted += run.events.iter().filter(|event| run.labels[usize::from(event.label)] == "insert").count();
        let written = "note = 'it''s \"new\"' and price = 2.5 and sold and gone is null";
        assert_eq!(cluster.ask(&format!("select count(*) from seen where {written}")), inserted.to_string());
    }
    for (request, words) in [
        ("sql = \"select $1::int\"\nparameters = [1, 2]", "takes 1 parameters, but the workload passes 2"),
        ("sql = \"select nobody from seen\"", "SQLSTATE 42703: column \"nobody\" does not exist"),
        (
            "sql = \"select 1 as one\"\nextract = [{ name = \"x\", column = \"two\" }]",
            "has no column `two`; it has one",
        ),
        ("sql = \"select 1\"\nget = \"/\"", "cannot be combined with sql"),
    ] {
        let url = cluster.url("me");
        let target = format!("url = \"{url}\"\nconnections = 1\n[[request]]\nname = \"it\"\n{request}");
        let ended = ended(&["run", &cluster.workload(OPEN, &target)]);
        assert!(matches!(ended.code, Some(1 | 2)) && ended.stderr.contains(words), "{ended:?}");
    }
    let lacking = cluster.refused(&format!("url = \"{}\"\non_connect = [\"set nothing = 1\"]", cluster.url("me")));
    assert!(lacking.contains("on_connect `set nothing = 1`: SQLSTATE 42704"), "{lacking}");
    Ok(())
}

fn a_transaction_is_one_request_and_leaves_no_state() -> Tested {
    let cluster = Cluster::start()?;
    cluster.ask("create table account (id int primary key, balance int check (balance >= 0))");
    cluster.ask("insert into account values (1, 1000000), (2, 0)");
    let url = cluster.url("me");
    let flow = "[[flow]]\nname = \"visit\"\n[[flow.step]]\nrequest = \"move\"\n[[flow.step]]\nrequest = \"too much\"\n\
                [[flow.step]]\nrequest = \"open\"\n[[flow.step]]\nrequest = \"look\"";
    let run = cluster.run(
        "arrivals.partly_open.rate = \"40/s\"",
        &format!(
            "url = \"{url}\"\nconnections = 2\n\
             [[request]]\nname = \"move\"\ntransaction = [\n\
             {{ sql = \"update account set balance = balance - $1 where id = 1 returning balance as left_over\", parameters = [7] }},\n\
             {{ sql = \"update account set balance = balance + $1 where id = 2\", parameters = [\"7\"] }},\n]\n\
             extract = [{{ name = \"left\", column = \"left_over\" }}]\ncheck = [{{ rows = 2 }}]\n\
             [[request]]\nname = \"too much\"\ntransaction = [\n\
             \"update account set balance = balance + 5 where id = 2\",\n\
             {{ sql = \"update account set balance = balance - $1 where id = 1\", parameters = [2000000] }},\n\
             \"select pg_sleep(100)\",\n]\n\
             [[request]]\nname = \"open\"\nsql = \"begin\"\n\
             [[request]]\nname = \"look\"\nsql = \"select $1::int <= 1000000 as right\"\nparameters = [\"{{{{left}}}}\"]\n\
             check = [{{ column = \"right\", is = \"t\" }}]\n{flow}"
        ),
    );
    let mut moved = 0;
    for event in &run.events {
        let (outcome, words) = match run.labels[usize::from(event.label)].as_str() {
            "move" => (Outcome::Ok, ""),
            "too much" => (Outcome::SqlError, "SQLSTATE 23514: new row for relation"),
            "open" => (Outcome::SqlError, "the request left its transaction open"),
            _ => (Outcome::Ok, ""),
        };
        assert!(event.outcome == outcome && event.why().contains(words), "{event:?}");
        moved += usize::from(run.labels[usize::from(event.label)] == "move");
    }
    assert!(moved > 5, "{moved}");
    let balance = format!("{}|{}", 1_000_000 - 7 * moved, 7 * moved);
    assert_eq!(
        cluster.ask("select (select balance from account where id = 1), (select balance from account where id = 2)"),
        balance
    );
    Ok(())
}

fn authentication_methods() -> Tested {
    let cluster = Cluster::start()?;
    cluster.ask("set password_encryption = 'md5'; create user hashed password 'p@ss/wörd'");
    cluster.ask("set password_encryption = 'scram-sha-256'; create user salted password 'p@ss/wörd'; create user plain password 'p@ss/wörd'; create user secure");
    let one = "connections = 2\n[[request]]\nname = \"one\"\nsql = \"select 1\"\n";
    let encrypted = "connections = 2\n[[request]]\nname = \"one\"\n\
                     sql = \"select ssl from pg_stat_ssl where pid = pg_backend_pid()\"\n";
    let right = |user: &str| cluster.url(&format!("{user}:p%40ss%2Fw%C3%B6rd"));
    for user in ["hashed", "salted", "plain"] {
        for mode in ["", "?sslmode=disable"] {
            cluster.run(OPEN, &format!("url = \"{}{mode}\"\n{one}", right(user))).all(Outcome::Ok, "");
        }
        let wrong = cluster.refused(&format!("url = \"{}\"", cluster.url(&format!("{user}:wrong"))));
        assert!(wrong.contains("SQLSTATE 28P01: password authentication failed"), "{wrong}");
        let lacking = cluster.refused(&format!("url = \"{}\"", cluster.url(user)));
        assert!(lacking.contains("the server demands a password"), "{lacking}");
    }
    let tls = |url: String, is: &str, more: &str| {
        let check = format!("check = [{{ column = \"ssl\", is = \"{is}\" }}]\n");
        cluster.run(OPEN, &format!("url = \"{url}\"\n{encrypted}{check}{more}")).all(Outcome::Ok, "");
    };
    tls(cluster.url("me"), "t", "");
    tls(cluster.url("me") + "?sslmode=disable", "f", "");
    tls(cluster.url("secure") + "?sslmode=require", "t", "");
    tls(cluster.url("secure") + "?sslmode=verify-full", "t", "[target.tls]\nroots = \"root.pem\"");
    let plain = cluster.refused(&format!("url = \"{}?sslmode=disable\"", cluster.url("secure")));
    assert!(plain.contains("SQLSTATE 28000: pg_hba.conf rejects connection"), "{plain}");
    let unknown = cluster.refused(&format!("url = \"{}?sslmode=verify-full\"", cluster.url("secure")));
    assert!(
        unknown.contains("the certificate of the server is not trusted: it is not signed by a trusted root"),
        "{unknown}"
    );
    let nowhere = cluster.refused("url = \"postgres://me@127.0.0.1:9/postgres\"");
    assert!(nowhere.contains("cannot connect to 127.0.0.1:9"), "{nowhere}");
    let other = cluster.refused(&format!("url = \"postgres://me@127.0.0.1:{}/nothing\"", cluster.port));
    assert!(other.contains("SQLSTATE 3D000: database \"nothing\" does not exist"), "{other}");
    let many = format!("url = \"{}\"\nconnections = 60\n[[request]]\nsql = \"select 1\"", cluster.url("me"));
    let many = ended(&["run", &cluster.workload(OPEN, &many)]);
    assert!(many.code == Some(1) && many.stderr.contains("SQLSTATE 53300: "), "{many:?}");
    Ok(())
}

fn timeouts_cancel_the_query() -> Tested {
    let cluster = Cluster::start()?;
    let run = cluster.run(
        "arrivals.open = { rate = \"20/s\", process = \"constant\" }",
        &format!(
            "url = \"{}\"\nconnections = 3\nresponse_timeout = \"150ms\"\n\
             [[request]]\nname = \"quick\"\nsql = \"select 1\"\nweight = 3\n\
             [[request]]\nname = \"slow\"\nsql = \"select pg_sleep(30)\"\n\
             [[request]]\nname = \"slow too\"\ntransaction = [\"select 1\", \"select pg_sleep(30)\"]\n",
            cluster.url("me")
        ),
    );
    for event in &run.events {
        match run.labels[usize::from(event.label)].as_str() {
            "quick" => assert_eq!(event.outcome, Outcome::Ok, "{event:?}"),
            _ => {
                assert_eq!(
                    (event.outcome, event.why().as_ref()),
                    (Outcome::Timeout, "no complete response within 150ms")
                );
            }
        }
    }
    assert!(run.count(Outcome::Timeout) > 1 && run.count(Outcome::Ok) > 1, "{}", run.json["outcomes"]);
    // The connections were reused, and no query is still sleeping.
    assert!(run.connections() <= 3);
    assert_eq!(
        cluster.ask("select count(*) from pg_stat_activity where query like '%pg_sleep%' and pid <> pg_backend_pid()"),
        "0"
    );
    Ok(())
}

fn pools_queue_requests_and_replace_lost_connections() -> Tested {
    let cluster = Cluster::start()?;
    let url = cluster.url("me");
    // Each takes 20 ms on the only connection, and ten arrive together: the last waits for nine others.
    // Other tests delay requests by less than half of the response time.
    let run = cluster.run(
        "arrivals.open = { rate = \"4/s\", process = \"constant\", batch = 10 }\ngenerator.tolerance = \"50%\"",
        &format!("url = \"{url}\"\nconnections = 1\n[[request]]\nname = \"nap\"\nsql = \"select pg_sleep(0.02)\"\n"),
    );
    run.all(Outcome::Ok, "");
    assert_eq!((run.events.len() % 10, run.connections()), (0, 1));
    for batch in run.events.chunks(10) {
        let waited: Vec<_> = batch.iter().map(|event| event.waited.unwrap_or_default()).collect();
        assert!(waited.is_sorted() && waited[9].as_millis_f64() > 150.0, "first come, first served: {waited:?}");
    }
    assert!(run.json["connection_wait_ms"]["mean"].as_f64() > Some(50.0), "{}", run.json["connection_wait_ms"]);
    // The wait for a connection is not lateness of the generator.
    assert_ne!(run.json["validity"], "invalid", "{}", run.json["reason"]);
    assert!(run.json["lateness_us"]["p50"].as_f64().is_some_and(|p50| p50 < 20e3), "{:#}", run.json["lateness_us"]);
    // Every request ends its backend process; the next request uses another one.
    let killed = cluster.run(
        "arrivals.open = { rate = \"20/s\", process = \"constant\" }",
        &format!("url = \"{url}\"\nconnections = 2\n[[request]]\nname = \"die\"\nsql = \"select pg_terminate_backend(pg_backend_pid())\"\n"),
    );
    killed.all(Outcome::SqlError, "SQLSTATE 57P01: terminating connection due to administrator command");
    assert_eq!(killed.connections(), killed.events.len());
    Ok(())
}

fn the_hook_runs_for_every_connection_before_the_first_request() -> Tested {
    let cluster = Cluster::start()?;
    let script = "#!/bin/sh\necho \"$1 $2\" >> \"$3\"\n";
    std::fs::write(cluster.path("hook"), script).unwrap();
    std::fs::set_permissions(cluster.path("hook"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let hook = |last: &str| {
        format!("hook = [\"{}\", \"{{{{class}}}}\", \"{{{{pid}}}}\", \"{last}\"]", cluster.path("hook").display())
    };
    let requests = "[[request]]\nname = \"a\"\nsql = \"select pg_backend_pid() as pid\"\nclass = \"short\"\n\
                    check = [{ column = \"pid\", matches = \"[0-9]+\" }]\n\
                    [[request]]\nname = \"b\"\nsql = \"select pg_sleep(0.001)\"\nclass = \"long\"\n";
    let target = |last: &str| {
        let url = cluster.url("me");
        format!("url = \"{url}\"\npools = {{ short = 3, long = 2 }}\n{}\n{requests}", hook(last))
    };
    let told = cluster.path("told");
    let run = cluster.run(OPEN, &target(told.to_str().unwrap()));
    run.all(Outcome::Ok, "");
    let told = std::fs::read_to_string(told).unwrap();
    let classes: Vec<&str> = told.lines().filter_map(|line| line.split(' ').next()).collect();
    let count = |class: &str| classes.iter().filter(|told| **told == class).count();
    assert_eq!((count("short"), count("long"), classes.len()), (3, 2, 5), "{told}");
    let pids: std::collections::BTreeSet<&str> = told.lines().filter_map(|line| line.split(' ').nth(1)).collect();
    assert!(pids.len() == 5 && pids.iter().all(|pid| pid.parse::<u32>().is_ok_and(|pid| pid > 1)), "{told}");
    for (label, most) in [("a", 3), ("b", 2)] {
        let of = run.events.iter().filter(|event| run.labels[usize::from(event.label)] == label);
        let used: std::collections::BTreeSet<u32> = of.map(|event| event.connection).collect();
        assert!(!used.is_empty() && used.len() <= most, "{label}: {used:?}");
    }
    // A failing hook prevents the run.
    let ended = ended(&["run", &cluster.workload(OPEN, &target("/nowhere/told")), "--allow-commands"]);
    assert!(ended.code == Some(1) && ended.stderr.contains("hook `"), "{ended:?}");
    Ok(())
}

/// The database's own statistics, and a user's query, each over its own connection.
fn database_statistics_appear_in_the_report() -> Tested {
    let cluster = Cluster::start()?;
    let (run, url) = (cluster.path("run"), cluster.url("me"));
    let text = format!(
        "url = \"{url}\"\nconnections = 4\n[[request]]\nname = \"one\"\nsql = \"select 1\"\n\
         [[observe.scrape]]\nname = \"db\"\nevery = \"100ms\"\ntarget.url = \"{url}\"\n\
         [[observe.scrape]]\nname = \"own\"\nevery = \"100ms\"\ntarget.url = \"{url}\"\ncounters = [\"seconds\"]\n\
         sql = \"select 'a' as kind, 42 as level, extract(epoch from clock_timestamp()) as seconds\"\n"
    );
    let workload = cluster.workload(OPEN, &text);
    let text = std::fs::read_to_string(&workload).unwrap().replace("duration = \"500ms\"", "duration = \"2s\"");
    std::fs::write(&workload, text).unwrap();
    let made = ended(&["run", &workload, "--output", run.to_str().unwrap(), "--quiet"]);
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    let verdict: serde_json::Value =
        serde_json::from_str(&ended(&["verify", run.to_str().unwrap(), "--json"]).stdout).unwrap();
    let mean = |host: usize, of: &str| {
        let host = &verdict["server_side"]["hosts"][host];
        let found = host["measures"].as_array().unwrap().iter().find(|measure| measure["instance"] == of);
        found.unwrap_or_else(|| panic!("{of} is not in {host}"))["mean"].as_f64().unwrap()
    };
    assert!(mean(0, "xact_commit{datname=\"postgres\"}") > 0.0 && mean(0, "numbackends{datname=\"postgres\"}") >= 6.0);
    assert_eq!(mean(1, "level{kind=\"a\"}"), 42.0);
    assert!(mean(1, "seconds{kind=\"a\"}") > 0.0);
    Ok(())
}

/// A script with two random branches, which records in a table the client, the branch, the random values and the
/// results.
const SCRIPT: &str = "\\set r random(1, 10)
\\set x :r * 3 - 1
\\if :r <= 4
insert into seen (client, way, r, x) values (:client_id, 'drawn', :r, :x);
\\else
select count(*) as before from seen where client = :client_id \\gset
\\sleep 1 ms
insert into seen (client, way, r, x) values (:client_id, 'asked', :r, :before);
\\endif
";

/// Statements of each transaction in the server's log, by program, with the number of occurrences of each list.
fn transactions(log: &str) -> BTreeMap<String, BTreeMap<Vec<String>, usize>> {
    let mut open: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let mut done: BTreeMap<String, BTreeMap<Vec<String>, usize>> = BTreeMap::new();
    for line in log.lines().filter_map(|line| line.strip_prefix("said by ")) {
        let Some((who, said)) = line.split_once(" LOG:  ") else { continue };
        let Some((program, process)) = who.split_once(' ') else { continue };
        let Some((_, statement)) =
            said.split_once(": ").filter(|(how, _)| how.starts_with("execute") || *how == "statement")
        else {
            continue;
        };
        let statement = statement.to_lowercase().replace("end;", "commit").replace(';', "");
        let statements = open.entry((program, process)).or_default();
        if statements.is_empty() && statement != "begin" {
            continue;
        }
        let is_last = statement == "commit";
        statements.push(statement);
        if is_last {
            *done.entry(program.to_owned()).or_default().entry(std::mem::take(statements)).or_default() += 1;
        }
    }
    done
}

fn pgbench_scripts_are_imported_equivalently() -> Tested {
    let mut cluster = Cluster::start()?;
    let folder = cluster.folder.path().to_str().unwrap().to_owned();
    let place = format!("-h {folder} -p {} -U me", cluster.port);
    let pgbench = |words: &str| {
        let mut command = cluster.command("pgbench");
        let said = command.args(place.split(' ').chain(words.split(' '))).output().unwrap();
        assert!(said.status.success(), "{words}: {}", String::from_utf8_lossy(&said.stderr));
    };
    let imported = |words: &str| {
        std::fs::write(cluster.path("load.sh"), format!("PGAPPNAME=offered pgbench {place} {words}\n")).unwrap();
        let (from, to) = (cluster.path("load.sh"), cluster.path("load.toml"));
        let _ = std::fs::remove_file(&to);
        let ended = Process::start(offered(&["import", from.to_str().unwrap(), "-o", to.to_str().unwrap()])).end();
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let run = run(&[to.to_str().unwrap()]);
        run.all(Outcome::Ok, "");
        run
    };
    pgbench("-i -q -s 1 postgres");
    cluster.ask("create table seen (n serial, client int, way text, r int, x bigint)");
    for setting in ["log_line_prefix = 'said by %a %p '", "log_statement = 'all'"] {
        cluster.ask(&format!("alter system set {setting}"));
    }
    cluster.ask("select pg_reload_conf()");

    // The same number of transactions with the same statements in the same order: by the database's count and its log.
    let built_in = "-n -M prepared -c 3 -t 20 -D scale=1 -b tpcb-like";
    let history = "select count(*), sum(delta) = (select sum(bbalance) from pgbench_branches), \
                   sum(delta) = (select sum(tbalance) from pgbench_tellers), \
                   sum(delta) = (select sum(abalance) from pgbench_accounts), max(tid) <= 10, min(delta) < -2500, max(delta) > 2500 \
                   from pgbench_history";
    pgbench(&format!("{built_in} postgres"));
    assert_eq!(cluster.ask(history), "60|t|t|t|t|t|t");
    let run = imported(&format!("{built_in} postgres"));
    assert_eq!((run.events.len(), run.connections()), (60, 3));
    assert_eq!(cluster.ask(history), "120|t|t|t|t|t|t");

    // A custom script with substituted values: the same branches equally often, the same numbers, and separate values
    // per client.
    std::fs::write(cluster.path("it.sql"), SCRIPT).unwrap();
    let own = "select client, count(*), count(*) filter (where way = 'drawn') between 15 and 65, \
               count(*) filter (where way = 'drawn' and (r not between 1 and 4 or x <> r * 3 - 1)), \
               count(*) filter (where way = 'asked' and (r not between 5 and 10 or x <> before)) \
               from (select *, row_number() over (partition by client order by n) - 1 as before from seen) s group by client order by client";
    let both = "0|100|t|0|0\n1|100|t|0|0";
    let script = format!("-n -c 2 -t 100 -f {folder}/it.sql postgres");
    pgbench(&script);
    assert_eq!(cluster.ask(own), both, "by pgbench");
    cluster.ask("truncate seen");
    imported(&script.replace(&format!("{folder}/"), ""));
    assert_eq!(cluster.ask(own), both, "imported");

    let log = cluster.end();
    let said = transactions(&log);
    assert_eq!(said.keys().map(String::as_str).collect::<Vec<_>>(), ["offered", "pgbench"], "{log}");
    assert!(said["offered"] == said["pgbench"] && said["pgbench"].values().eq(&[60]), "{said:?}");
    Ok(())
}
