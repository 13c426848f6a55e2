//! Sessions that log in, keep cookies, and use values of responses, against a small strict web application; and their
//! failures when it breaks its contract.

mod shop;

use std::collections::BTreeSet;
use std::path::Path;

use offered_events::{Event, Outcome};
use offered_store::{ReadOptions, read};
use serde_json::Value;

use self::shop::{Broken, Shop};
use crate::process::{Ended, Process, ended, offered};

tests![
    a_visit_succeeds_while_the_application_keeps_its_contract,
    a_page_with_a_missing_object_is_a_failed_request_everywhere,
    a_broken_contract_is_reported,
    failed_checks_fail_the_threshold_or_stop_the_run,
    data_rows_are_used_once_and_exhaustion_is_reported,
    invalid_scripts_are_refused_in_one_line
];

/// Output of a run: exit code, document, requests and their objects.
struct Left {
    ended: Ended,
    json: Value,
    events: Vec<Event>,
    objects: Vec<Event>,
}

impl Left {
    fn count(&self, outcome: Outcome) -> usize {
        self.events.iter().filter(|event| event.outcome == outcome).count()
    }

    fn errors(&self, outcome: Outcome) -> BTreeSet<std::borrow::Cow<'_, str>> {
        let these = self.events.iter().filter(|event| event.outcome == outcome);
        these.map(|event| event.why()).collect()
    }
}

/// Runs this workload against the shop.
fn run(shop: &Shop, text: &str, args: &[&str]) -> Left {
    let folder = tempfile::tempdir().unwrap();
    run_into(shop, text, args, &folder.path().join("run"))
}

/// The same, recorded in `out`.
fn run_into(shop: &Shop, text: &str, args: &[&str], out: &Path) -> Left {
    let folder = out.parent().unwrap();
    let workload = folder.join("w.toml");
    std::fs::write(folder.join("users.csv"), "name,password\nann,a&1\nbob,b=2\n").unwrap();
    std::fs::write(folder.join("order.json"), "{\"item\": {{item}}, \"by\": \"{{user.name}}\"}").unwrap();
    std::fs::write(folder.join("a.png"), [0x89, b'P', b'N', b'G', 0xff, 0]).unwrap();
    std::fs::write(&workload, text.replace("URL", &shop.url)).unwrap();
    let mut command = offered(&["run", "--json", "--quiet", "--output"]);
    command.arg(out).arg(&workload).args(args);
    let ended = Process::start(command).end();
    read_left(ended, out)
}

fn read_left(ended: Ended, out: &Path) -> Left {
    let json = serde_json::from_str(&ended.stdout).unwrap_or_else(|why| panic!("{why}: {ended:?}"));
    let recording = read(out, &ReadOptions::default()).unwrap();
    let mut objects = Vec::new();
    recording.events.each_object(|object| objects.push(object.clone())).unwrap();
    Left { ended, json, events: recording.events.to_vec().unwrap(), objects }
}

/// A visit: log in with a form, load the page with its images, order an item.
const VISIT: &str = r#"
duration = "2s"
[generator]
wait = "sleep"
threads = 2
[arrivals]
partly_open = { rate = "20/s", think = { exponential = "20ms" } }
[target]
url = "URL"
reuse = "per-session"
cookies = true
redirects = 3
[variables]
user = { file = "users.csv" }

[[request]]
name = "form"
get = "/login"
extract = [{ name = "csrf", css = "form input[name=csrf]", attribute = "value" }]

[[request]]
name = "login"
post = "/login"
form = { csrf = "{{csrf}}", name = "{{user.name}}", password = "{{user.password}}" }
check = [{ status = 200 }, { json = "$.user", is = "{{user.name}}" }]
extract = [{ name = "token", json = "$.token" }, { name = "item", json = "$.items[*].id", nth = 2 }]
on_failure = "end-session"

[[request]]
name = "page"
get = "/item/{{item}}"
auth = { bearer = "{{token}}" }
headers = { Accept-Encoding = "gzip" }
check = [{ header = "Content-Type", contains = "html" }, { name = "in stock", css = "p.stock", is = "yes & here" }]
objects = ["/static/a.css", "/static/b.js", "/static/{{item}}.png", "/static/c.png"]
connections = 3

[[request]]
name = "order"
post = "/order"
auth = { bearer = "{{token}}" }
headers = { Content-Type = "application/json" }
body_file = "order.json"
check = [{ status = 201 }, { body = true, matches = 'ord-\d+' }]

[[flow]]
name = "buy"
[[flow.step]]
request = "form"
[[flow.step]]
request = "login"
[[flow.step]]
request = "page"
[[flow.step]]
request = "order"
"#;

fn a_visit_succeeds_while_the_application_keeps_its_contract() {
    let shop = Shop::open(Broken::Nothing);
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let left = run_into(&shop, VISIT, &[], &out);
    assert!(matches!(left.ended.code, Some(0 | 3)), "{:?}", left.ended);
    let well = left.count(Outcome::Ok);
    assert_eq!(well, left.events.len(), "{}: {:?}", left.json["outcomes"], left.errors(Outcome::CheckFailed));
    assert!(well > 40, "{well} launches");
    // Each login is a redirect, so two requests; objects belong to the page.
    let of = |label: u16| left.events.iter().filter(|event| event.label == label).count();
    let (logins, pages, orders) = (of(1), of(2), of(3));
    assert_eq!(shop.served(), left.events.len() + logins + left.objects.len());
    // The summary adds up to the requests that the server has counted, and so do the text and the verdict on the recording.
    let wire = &left.json["on_the_wire"];
    let counted = [left.events.len(), logins, left.objects.len(), shop.served()];
    let keys = ["requests", "redirects", "objects", "total"];
    assert_eq!(keys.map(|key| wire[key].as_u64().unwrap()), counted.map(|n| n as u64), "{wire}");
    let text = ended(&["verify", out.to_str().unwrap()]).stdout;
    let line = format!("{} redirects, {} objects: {} on the wire", logins, left.objects.len(), shop.served());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ").replace(',', "");
    assert!(text.contains(&line.replace(',', "")), "{line}: {text}");
    assert_eq!(left.objects.len(), 4 * pages);
    assert_eq!(shop.orders(), orders);
    assert_eq!(left.json["pages"]["pages"], pages);
    assert_eq!(left.json["pages"]["objects"], 4 * pages);
    assert_eq!(left.json["pages"]["failed"], 0);
    // Connections per session: one, plus two for the objects.
    for session in left.events.iter().map(|event| event.session).collect::<BTreeSet<_>>() {
        let mine = left.events.iter().chain(&left.objects).filter(|event| event.session == session);
        let connections: BTreeSet<u32> = mine.map(|event| event.connection).collect();
        assert!(connections.len() <= 3, "session {session}: {connections:?}");
    }
    // Every page has a think time, and ends with its last object.
    let orders = left.events.iter().filter(|event| event.label == 3);
    for order in orders {
        let mine = left.objects.iter().filter(|object| object.session == order.session);
        let last = mine.filter_map(|object| object.done).max().unwrap();
        assert!(last <= order.intended, "the next request is scheduled after the page");
    }
}

fn a_page_with_a_missing_object_is_a_failed_request_everywhere() {
    let shop = Shop::open(Broken::Picture);
    let bounds =
        ["errors{page} < 1%", "errors{login} < 1%", "page.errors < 1%", "objects.errors < 24%", "page.p95 < 10s"];
    let bounds = bounds.map(|bound| bound.split_once(' ').unwrap());
    let bounds: String = bounds.iter().map(|(metric, bound)| format!("\"{metric}\" = \"{bound}\"\n")).collect();
    let text = format!("{VISIT}\n[thresholds]\n{bounds}");
    let expected = [Some(100.0), Some(0.0), Some(100.0), Some(25.0), None];
    let figures = |document: &Value| -> Vec<Option<f64>> {
        let thresholds = document["thresholds"].as_array().unwrap();
        thresholds.iter().map(|checked| checked["value_percent"].as_f64()).collect()
    };
    let reported = |run: &Path| -> Value {
        let ended = Process::start({
            let mut report = offered(&["report", "--json"]);
            report.arg(run);
            report
        });
        serde_json::from_str(&ended.end().stdout).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("alone");
    let left = run_into(&shop, &text, &[], &out);
    let pages = left.events.iter().filter(|event| event.label == 2).count();
    assert!(pages > 0 && left.count(Outcome::ObjectFailed) == pages, "{}", left.json["outcomes"]);
    assert_eq!(left.errors(Outcome::ObjectFailed), BTreeSet::from(["object /static/c.png: http_error 404".into()]));
    assert_eq!(left.json["pages"]["failed"], pages);
    // The validity of the run depends on the machine.
    assert!(matches!(left.ended.code, Some(99 | 3)), "{:?}", left.ended);
    assert_eq!(left.count(Outcome::Ok) + pages, left.events.len());
    assert_eq!(figures(&left.json), expected);
    assert_eq!(figures(&reported(&out)["runs"][0]), expected);

    // Two workers with a rendezvous give the same verdict.
    let (workload, met) = (folder.path().join("w.toml"), folder.path().join("met"));
    let workers = ["1/2", "2/2"].map(|share| {
        let mut worker = offered(&["run", "--quiet", "--json", "--seed", "5", "--share", share, "--rendezvous"]);
        worker.arg(&met).arg(&workload);
        Process::start(worker)
    });
    for ended in workers.map(Process::end) {
        assert!(matches!(ended.code, Some(99 | 3)), "{ended:?}");
    }
    assert_eq!(figures(&reported(&met)["runs"][0]), expected);
    let may = text.replace("connections = 3", "connections = 3\nobjects_may_fail = true");
    let left = run(&shop, &may, &[]);
    assert_eq!(left.count(Outcome::Ok), left.events.len());
    assert_eq!(figures(&left.json), [Some(0.0), Some(0.0), Some(0.0), Some(25.0), None]);
}

fn a_broken_contract_is_reported() {
    let gone = |requests: &[&str], text: &str| -> String {
        assert!(requests.iter().all(|name| text.contains(name)));
        text.to_owned()
    };
    for (broken, outcome, error) in [
        (Broken::Json, Outcome::CheckFailed, "json $.user = {{user.name}}"),
        (Broken::NoCookie, Outcome::CheckFailed, "status = 200"),
        (Broken::Fails, Outcome::CheckFailed, "status = 200"),
        (Broken::Stock, Outcome::CheckFailed, "in stock"),
        (Broken::Coding, Outcome::CheckFailed, "the response is not valid gzip"),
    ] {
        let shop = Shop::open(broken);
        let left = run(&shop, &gone(&["login", "page"], VISIT), &[]);
        let failed = left.count(outcome);
        assert!(failed > 0, "{broken:?}: {}", left.json["outcomes"]);
        // The reason names all failed checks, in order.
        let errors = left.errors(outcome);
        assert!(errors.len() == 1 && errors.iter().all(|found| found.starts_with(error)), "{broken:?}: {errors:?}");
        assert_eq!(left.json["outcomes"]["check_failed"], failed);
        // A session without login does not continue.
        if matches!(broken, Broken::Json | Broken::NoCookie | Broken::Fails) {
            assert!(left.events.iter().all(|event| event.label < 2), "{broken:?}: the session ended there");
            assert_eq!(shop.orders(), 0);
        }
    }
}

fn failed_checks_fail_the_threshold_or_stop_the_run() {
    let shop = Shop::open(Broken::Stock);
    let text =
        format!("{VISIT}\n[thresholds]\n\"errors.rate{{page}}\" = \"< 1%\"\n\"errors.rate{{login}}\" = \"< 1%\"\n");
    // Every threshold is checked, however late the generator is.
    let left = run(&shop, &text, &["--tolerance", "1000%"]);
    let judged: Vec<&Value> = left.json["thresholds"].as_array().unwrap().iter().map(|t| &t["result"]).collect();
    assert_eq!((left.ended.code, judged), (Some(99), vec![&Value::from("failed"), &Value::from("passed")]));
    let stops = VISIT.replace("connections = 3", "connections = 3\non_failure = \"stop\"").replace("\"2s\"", "\"50s\"");
    let left = run(&shop, &stops, &[]);
    assert!(left.json["duration_s"].as_f64().unwrap() < 40.0);
    let told = left.json["warnings"].to_string();
    assert!(told.contains("the run stopped itself: request `page` failed: check_failed (in stock)"), "{told}");
    assert_ne!(left.ended.code, Some(0));
}

fn data_rows_are_used_once_and_exhaustion_is_reported() {
    let text = r#"
duration = "1s"
[generator]
wait = "sleep"
threads = 3
[arrivals]
open = { rate = "40/s", process = "constant" }
[target]
url = "URL"
[variables]
n = { sequence = 1 }
who = { sequence = 0, per = "session" }
id = { uuid = true }
[[request]]
put = "/seen/{{n}}/{{who}}/{{session}}"
multipart = [{ name = "picture", file = "a.png" }, { name = "id", value = "{{id}}" }]
check = [{ status = 200 }]
"#;
    let shop = Shop::open(Broken::Nothing);
    let left = run(&shop, text, &[]);
    assert_eq!(left.count(Outcome::Ok), 40, "{:?}", left.ended);
    let seen = shop.seen();
    let column =
        |at: usize| seen.iter().map(|path| path.split('/').nth(at).unwrap().to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(column(2).len(), 40, "every number once, whichever thread sent it");
    assert_eq!((column(3), column(3).len()), (column(4), 40));
    // A file with two rows is exhausted at the third session.
    let text = text
        .replace("id = { uuid = true }", "id = { file = \"users.csv\", at_end = \"error\" }")
        .replace("{{id}}", "{{id.name}}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.csv"), "name\nann\nbob\n").unwrap();
    std::fs::write(folder.path().join("a.png"), "x").unwrap();
    std::fs::write(folder.path().join("w.toml"), text.replace("URL", &shop.url)).unwrap();
    let mut command = offered(&["run", "--json", "--quiet"]);
    command.arg(folder.path().join("w.toml"));
    let ended = Process::start(command).end();
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("the 2 rows of users.csv are used up (id)"), "{}", ended.stderr);
}

fn invalid_scripts_are_refused_in_one_line() {
    let shop = Shop::open(Broken::Nothing);
    let base = "duration = \"1s\"\narrivals.open.rate = \"5/s\"\ntarget.url = \"URL\"\n";
    for (rest, line) in [
        (
            "[[request]]\nget = \"/{{unknown}}\"",
            "w.toml:4: request[0]: request `/{{unknown}}`: {{unknown}} is undefined",
        ),
        (
            "[variables]\na.env = \"OFFERED_NOT_SET\"\n[[request]]\nget = \"/{{a}}\"",
            "variable `a`: the environment variable OFFERED_NOT_SET is not set",
        ),
        ("[variables]\na.file = \"none.csv\"\n[[request]]\nget = \"/{{a.b}}\"", "variable `a`: none.csv: No such file"),
        (
            "[[request]]\nget = \"/\"\ncheck = [{ regex = \"(\" }]",
            "request `/`: check `regex (`: `(` is not a valid regular expression",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("w.toml"), format!("{base}{rest}").replace("URL", &shop.url)).unwrap();
        let mut command = offered(&["run", "w.toml"]);
        command.current_dir(folder.path());
        let ended = Process::start(command).end();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains(line), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
    assert_eq!(shop.served(), 0);
}
