use super::*;
use offered_schedule::Closed;
mod agenda;
mod flows;
mod replay;
mod thinking;
use crate::Policy;
use crate::template::Template;
use offered_distributions::Distribution;
use offered_schedule::Launch;
use offered_schedule::Visit;
use offered_schedule::trace::{Replay, Trace, Way};
use proptest::prelude::*;
use script::{
    AtEnd, Auth, Body, Check, Content, CsvFormat, Draw, Extraction, Feeder, Find, Objects, Order, Otherwise, Part, Per,
    Sizes, Test, Wanted, When, Which,
};
use write::tests::{files, read, workload as written};

use offered_schedule::arrivals::Schedule;

fn parse(text: &str) -> Result<Workload, Mistake> {
    Workload::parse(text, "w.toml", &|name| match name {
        "counts.txt" => Ok("# per minute\n60\n\n120 # busier\n0\n".into()),
        "bad.txt" => Ok("1\ntwo\n".into()),
        _ => Err("no such file".to_owned()),
    })
}

#[test]
fn a_file_is_looked_for_where_it_was_and_is_what_it_was() {
    let text = |files: &str| {
        format!(
            "duration = \"2m\"\narrivals.open.rate = {{ counts = \"counts.txt\", interval = \"1m\" }}\n[files]\n{files}\n"
        )
    };
    let there = |at: &'static str| {
        move |name: &str| if name == at { Ok(b"60\n120\n".to_vec()) } else { Err(format!("no {name}")) }
    };
    let parse =
        |files: &str, at| Workload::parse(&text(files), "w.toml", &there(at)).map(|_| ()).map_err(|why| why.what);
    let from = "from = \"/there\"";
    assert_eq!(parse(from, "/there/counts.txt"), Ok(()));
    assert_eq!(parse("", "counts.txt"), Ok(()));
    assert_eq!(parse(from, "/elsewhere/counts.txt"), Err("cannot read `counts.txt`: no counts.txt".to_owned()));
    let known = |digest: &str| format!("{from}\nsha256 = {{ \"counts.txt\" = \"{digest}\" }}");
    let right = digest(b"60\n120\n");
    assert_eq!(parse(&known(&right), "/there/counts.txt"), Ok(()));
    assert_eq!(parse(&known(&right.to_uppercase()), "counts.txt"), Ok(()));
    let other = digest(b"60\n121\n");
    for at in ["counts.txt", "/there/counts.txt"] {
        let why = parse(&known(&other), at).unwrap_err();
        assert!(why.contains(&format!("begins with {}, and [files] says {}", &right[..8], &other[..8])), "{why}");
    }
}

/// The workload of DESIGN.md, every key of it.
const WHOLE: &str = r#"
seed = 42
duration = "25m"
skip_first = "2m"
skip_last  = "3m"
late = "skip"
late_after = "5ms"

[arrivals]
open = { rate = "31.73/s", process = "poisson" }

[target]
url = "http://[::1]:8080/start?x=1"
reuse = "per-session"
connections = 10
headers = { Accept = "text/html", X-Test = "1" }

[server]
servers = 2
discipline = "ps"
service = { hyperexponential = { mean = "10ms", scv = 8 } }

[generator]
threads = 2
wait = "sleep"
priority = "realtime"

[[request]]
name = "010_Home"
get = "/Home.aspx"
weight = 4

[[request]]
name = "020_Order"
post = "/order/{{session}}"
body = "n={{sequence}}"
headers = { Content-Type = "application/x-www-form-urlencoded" }
"#;

#[test]
fn a_whole_workload_is_read_to_the_last_key() {
    let workload = parse(WHOLE).unwrap();
    assert_eq!(workload.0.seed, Seed(42));
    assert_eq!((workload.0.duration, workload.0.skip_first), (Nanos::from_secs(1500), Nanos::from_secs(120)));
    assert_eq!(workload.0.late, Late::Skip(Nanos::from_millis(5)));
    assert!((workload.asked_rate().unwrap() - 31.73).abs() < 1e-9);
    let target = workload.0.target.as_ref().unwrap();
    assert_eq!(target.url.address, Address::Tcp { host: "::1".to_owned(), port: 8080 });
    assert_eq!((target.url.host().as_str(), target.url.path.as_str()), ("[::1]:8080", "/start?x=1"));
    assert_eq!((target.reuse, target.connections, target.headers.len()), (Reuse::PerSession, Some(10), 2));
    assert_eq!(target.headers[0], ("Accept".to_owned(), Template::new("text/html")));
    assert_eq!(workload.0.server.as_ref().unwrap().service, Distribution::hyperexponential(0.01, 8.0).unwrap());
    let generator = Generator {
        threads: Some(2),
        wait_mode: WaitMode::Sleep,
        priority: Priority::Realtime,
        ..Generator::default()
    };
    assert_eq!(workload.0.generator, generator);
    assert_eq!(workload.labels(), ["010_Home", "020_Order"]);
    assert_eq!(workload.0.requests[1].method, "POST");
    let mix = workload.mix();
    let homes = (0..50_000)
        .filter(|session| {
            mix.choose(Launch { intended: Instant::ZERO, session: *session, step: 0, place: 0, visit: Visit::FIRST })
                == 0
        })
        .count();
    assert!((39_500..40_500).contains(&homes), "weight 4 of 5: {homes} of 50000");
}

#[test]
fn a_network_is_a_list_of_stations() {
    let text = "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[station]]\nname = \"web\"\nservers = 4\n\
                service.exponential = \"10ms\"\n[[station]]\nname = \"db\"\nvisits = 2.5\ndiscipline = \"ps\"\n\
                service.constant = \"4ms\"";
    let workload = parse(text).unwrap();
    let [web, db] = &workload.0.stations[..] else { panic!("two stations") };
    assert_eq!(
        (web.name.as_str(), web.visits, web.server.servers, web.server.discipline),
        ("web", 1.0, 4, Policy::Fcfs)
    );
    assert_eq!((db.visits, db.server.discipline, workload.0.server), (2.5, Policy::Ps(None), None));
    let twice = parse(&text.replace("\"db\"", "\"web\"")).unwrap_err().to_string();
    assert!(twice.contains("a second station named `web`"), "{twice}");
}

#[test]
fn every_system_model_process_profile_and_law_can_be_written() {
    for arrivals in [
        r#"open = { rate = "100/s" }"#,
        r#"open = { rate = "6000/m", process = "constant", batch = 5 }"#,
        r#"open = { rate = "100/s", process = "poisson-fixed-count", batch = { geometric = 2.5 } }"#,
        r#"open = { rate = "100/s", process = { gamma = 1.5 } }"#,
        r#"open = { rate = "100/s", process = { renewal = { weibull = { mean = "1s", shape = 0.7 } } } }"#,
        r#"open = { rate = "100/s", process = { mmpp = { factors = [0.2, 3], sojourns = ["10s", "2s"] } } }"#,
        r#"open = { rate = { ramp = ["0/s", "100/s"], over = "1m" } }"#,
        r#"open = { rate = { steps = [["10/s", "1m"], ["0/s", "10s"], ["50/s", "2m"]] } }"#,
        r#"open = { rate = { sine = { mean = "100/s", amplitude = "50/s", period = "10m" } } }"#,
        r#"open = { rate = { counts = "counts.txt", interval = "1m" } }"#,
        r#"open = { rate = { counts = [60, 120, 0], interval = "1m" } }"#,
        r#"closed = { users = 200, think = { uniform = ["0s", "12.5s"] }, ramp = "100s" }"#,
        "closed = { users = 1 }",
        r#"closed = { users = 5, every = "10s" }"#,
        r#"closed = { users = 5, every = { visit = "10s" }, think = { constant = "1s" } }"#,
        r#"closed = { users = 5, every = { request = "10s" } }"#,
        r#"closed = { users = 50, think = { erlang = { mean = "1s", stages = 4 } }, start = "at-once" }"#,
        r#"closed = { users = 50, think = { empirical = ["1s", "2s"] } }"#,
        r#"closed = { users = 50, think = { empirical = "counts.txt" } }"#,
        r#"closed = { users = 50, think = { bounded_pareto = { min = "10ms", max = "50s", shape = 1.1 } } }"#,
        r#"closed = { users = 50, think = { hyperexponential = { mean = "1s", scv = 8, p = 0.99 } } }"#,
        r#"partly_open = { rate = "4/s", stay = 0.8, think = { exponential = "7s" } }"#,
        r#"partly_open = { rate = "4/s", length = { fixed = 5 } }"#,
        r#"partly_open = { rate = "4/s", length = { mean = 5 } }"#,
        r#"partly_open = { rate = "4/s", length = { empirical = [1, 1, 7] } }"#,
    ] {
        let workload = parse(&format!("duration = \"10m\"\narrivals.{arrivals}\n"));
        assert!(workload.is_ok(), "{arrivals}: {}", workload.unwrap_err());
    }
}

#[test]
#[allow(clippy::too_many_lines)] // a table of mistakes
fn a_mistake_names_file_line_key_and_the_nearest_spelling() {
    for (text, line, parts) in [
        (
            "duratoin = \"10s\"",
            1,
            &["unknown key `duratoin`", "did you mean `duration`", "known keys: seed, duration, requests"][..],
        ),
        ("\nduration = \"10s\"\n[arrivals]\nopne = 1", 4, &["unknown key `opne` in arrivals", "did you mean `open`"]),
        ("duration = \"10s\"\narrivals.open.rat = \"1/s\"", 2, &["unknown key `rat`", "did you mean `rate`"]),
        ("duration = \"10 parsecs\"\n", 1, &["not a duration", "500ms"]),
        ("duration = 10", 1, &["duration: expected a text with its unit", "found integer"]),
        ("duration = \"10s\"", 1, &["`arrivals` is missing"]),
        ("duration = \"0s\"\n", 1, &["longer than 0s"]),
        ("duration = \"10s\"\nskip_first = \"10s\"\narrivals.closed.users = 1", 2, &["leave nothing of the duration"]),
        ("duration = \"10s\"\narrivals.open.rate = \"0/s\"", 2, &["zero", "above zero"]),
        ("duration = \"10s\"\narrivals.open.rate = \"NaN/s\"", 2, &["not a rate"]),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[generator]\ntolerance = \"0.05\"",
            4,
            &["`0.05` is no share of a percentile", "tolerance = \"5%\""],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[generator]\ntolerance = \"-1%\"",
            4,
            &["-1 % is no share", "0% or more"],
        ),
        ("duration = \"10s\"\narrivals.open.rate = 100", 2, &["such as \"10s\" or \"100/s\""]),
        (
            "duration = \"10s\"\n[arrivals]\nopen = { rate = \"1/s\" }\nclosed = { users = 5 }",
            4,
            &["`closed` stands beside `open`", "exactly one of open, closed, partly_open, replay"],
        ),
        ("duration = \"10s\"\n[arrivals]", 2, &["one of open, closed, partly_open, replay is needed"]),
        (
            "duration = \"10s\"\narrivals.partly_open = { rate = \"1/s\", stay = 1 }",
            2,
            &["below 1, not 1", "use closed"],
        ),
        ("duration = \"10s\"\narrivals.partly_open = { rate = \"1/s\" }", 2, &["one of stay, length is needed"]),
        ("duration = \"10s\"\narrivals.closed = { users = 0 }", 2, &["at least 1"]),
        ("duration = \"10s\"\narrivals.closed = { users = -3 }", 2, &["not a whole number"]),
        ("duration = \"10s\"\narrivals.closed = { users = 3, think = \"5s\" }", 2, &["{ exponential = \"5s\" }"]),
        (
            "duration = \"10s\"\narrivals.closed = { users = 3, think = { exponental = \"5s\" } }",
            2,
            &["did you mean `exponential`"],
        ),
        (
            "duration = \"10s\"\narrivals.closed = { users = 3, start = \"now\" }",
            2,
            &["`now` is not one of mid-thought"],
        ),
        (
            "duration = \"10s\"\narrivals.open = { rate = \"1/s\", process = \"poison\" }",
            2,
            &["did you mean `poisson`"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate.counts = \"none.txt\"\narrivals.open.rate.interval = \"1s\"",
            2,
            &["cannot read `none.txt`"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = { counts = \"bad.txt\", interval = \"1s\" }",
            2,
            &["bad.txt:2: `two` is not a number"],
        ),
        ("late_after = \"1s\"\nduration = \"10s\"\narrivals.open.rate = \"1/s\"", 1, &["goes with late = \"skip\""]),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"wss://x/\"",
            3,
            &["write https:// and a [[request]] with `websocket`"],
        ),
        ("duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"Home\"", 4, &["starts with /"]),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\npost = \"/\"",
            5,
            &["`post` stands beside `get`"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\n[[request]]\nget = \"/\"",
            5,
            &["a second request named"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\nheaders = { A = \"x\\r\\nB: y\" }",
            5,
            &["control character"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\n[[station]]\nname = \"db\"\nservice.constant = \"1s\"",
            5,
            &["[[station]] stands beside [server]"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[station]]\nname = \"db\"\nvisits = 0\nservice.constant = \"1s\"",
            5,
            &["visits must be above zero"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nget = \"/\"\nweight = 0",
            3,
            &["weight above zero"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[server]\nservice.constant = \"1s\"\ndiscipline = \"sptr\"",
            5,
            &["server.discipline: `sptr` is no discipline", "did you mean `srpt`?"],
        ),
        ("duration = \"10s\"\ngenerator.threads = 5000\narrivals.open.rate = \"1/s\"", 2, &["threads"]),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\n\"respons.p99\" = \"< 2ms\"",
            4,
            &["thresholds.respons.p99", "did you mean `response.p99`?"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\n\"response.p99\" = \"< 2\"",
            4,
            &["no limit for response.p99", "250ms"],
        ),
        ("duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\nresponse.p99 = \"< 2ms\"", 4, &["in quotes"]),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[[request]]\nname = \"home\"\nget = \"/\"\n[thresholds]\n\"p99{hom}\" = \"< 2ms\"",
            7,
            &["did you mean `home`?"],
        ),
        ("duration = \"10s\"\narrivals.closed = { users = 3, every = \"0s\" }", 2, &["must be longer than 0s"]),
        ("duration = \"10s\"\narrivals.closed = { users = 3, every = { turn = \"1s\" } }", 2, &["unknown key `turn`"]),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\nerrors = { bound = \"< 5%\", after = \"1s\" }",
            4,
            &["`after` goes with stop = true"],
        ),
        (
            "duration = \"10s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\nerrors = { bound = \"< 5%\", stopp = true }",
            4,
            &["unknown key `stopp`"],
        ),
        ("requests = 0\narrivals.open.rate = \"1/s\"", 1, &["at least 1"]),
        ("requests = 5\nsessions = 5\narrivals.closed.users = 1", 2, &["stands beside `requests`"]),
        (
            "requests = 5\nduration = \"9s\"\nskip_last = \"1s\"\narrivals.closed.users = 1",
            3,
            &["an end that nobody knows beforehand"],
        ),
        (
            "requests = 5\narrivals.open = { rate = \"1/s\", process = \"poisson-fixed-count\" }",
            1,
            &["spread over a duration"],
        ),
        (
            "requests = 5\narrivals.open.rate = { counts = [1, 2], interval = \"1s\" }",
            1,
            &["the rate ends before there are so many"],
        ),
        (
            "duration = \"1s\"\narrivals.closed.users = 1\n[[requests]]\nget = \"/\"",
            3,
            &["[[request]] tables", "at most"],
        ),
        ("duration = ", 1, &[]),
        ("\n\n[arrivals", 3, &[]),
    ] {
        let mistake = parse(text).expect_err(text);
        let shown = mistake.to_string();
        assert!(shown.starts_with(&format!("w.toml:{line}: ")), "{text:?} gave {shown}");
        assert!(!shown.contains('\n'), "{shown}");
        for part in parts {
            assert!(shown.contains(part), "{text:?}: `{part}` is not in `{shown}`");
        }
    }
}

#[test]
fn where_a_count_ends_the_launches_they_are_asked_for_until_then() {
    for (text, rate, until) in [
        ("requests = 500\narrivals.open.rate = \"100/s\"", Some(100.0), 5.0),
        ("requests = 5000\nduration = \"10s\"\narrivals.open.rate = \"100/s\"", Some(100.0), 10.0),
        ("requests = 500\nduration = \"10s\"\narrivals.open.rate = \"100/s\"", Some(100.0), 5.0),
        // 100 in the ramp's first ten seconds.
        ("sessions = 100\narrivals.open.rate = { ramp = [\"0/s\", \"20/s\"], over = \"10s\" }", Some(10.0), 10.0),
        ("sessions = 100\narrivals.partly_open = { rate = \"10/s\", stay = 0.5 }", Some(20.0), 10.0),
        ("requests = 100\narrivals.partly_open = { rate = \"10/s\", stay = 0.5 }", Some(20.0), 5.0),
        ("requests = 100\nduration = \"10s\"\narrivals.closed.users = 5", None, 10.0),
    ] {
        let workload = parse(text).unwrap();
        assert_eq!(workload.asked_rate().map(|rate| (rate * 1e6).round() / 1e6), rate, "{text}");
        assert!((workload.asked_until().as_secs_f64() - until).abs() < 1e-6, "{text}: {}", workload.asked_until());
        let half = workload.asked_before(Instant::from_secs_f64(until / 2.0));
        assert!(half.zip(rate).is_none_or(|(half, rate)| half <= rate * until / 2.0 + 1e-6), "{text}: {half:?}");
    }
    assert_eq!(parse("requests = 5\narrivals.closed.users = 5").unwrap().time_limit(), None);
}

#[test]
fn thresholds_are_read_in_the_order_of_the_file() {
    let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[thresholds]\n\"response.p99\" = \"< 250ms\"\n\"arrivals.cov\" = \"0.95..1.05\"\n";
    let told: Vec<String> = parse(text).unwrap().0.thresholds.iter().map(ToString::to_string).collect();
    assert_eq!(told, ["response.p99 < 250ms", "arrivals.cov = 0.95..1.05"]);
}

#[test]
fn urls_say_what_can_be_loaded() {
    let url: Url = "http://example.test".parse().unwrap();
    assert_eq!((url.to_string().as_str(), url.host().as_str()), ("http://example.test/", "example.test"));
    let url: Url = "unix:/run/app.sock:/status?x".parse().unwrap();
    assert_eq!((url.address, url.path.as_str()), (Address::Unix("/run/app.sock".to_owned()), "/status?x"));
    let url: Url = "http://127.0.0.1:81?q=1#top".parse().unwrap();
    assert_eq!(url.path, "/?q=1");
    let url: Url = "https://shop.test/".parse().unwrap();
    assert_eq!((url.to_string().as_str(), url.host().as_str()), ("https://shop.test/", "shop.test"));
    assert_eq!(url.address, Address::Tcp { host: "shop.test".to_owned(), port: 443 });
    assert_eq!("https://h:80/".parse::<Url>().unwrap().host(), "h:80");
    for text in [
        "ftp://x/",
        "ws://x/",
        "x:80",
        "http://",
        "http://h:0/",
        "http://h:99999/",
        "http://u@h/",
        "http://[::g]/",
        "http://a b/",
        "unix:",
    ] {
        let error = text.parse::<Url>().unwrap_err().to_string();
        assert!(error.contains("not a URL"), "{text}: {error}");
    }
}

#[test]
fn how_a_target_is_reached_is_read() {
    let target = |text: &str| {
        let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\n{text}");
        Workload::parse(&text, "plans/w.toml", &|_| Err(String::new())).map(|workload| workload.0.target.unwrap())
    };
    let all = target(
        "url = \"https://h/\"\nprotocol = \"auto\"\nproxy = \"http://me:p%40ss@[::1]:3128\"\n[target.tls]\nroots = \"ca.pem\"\n\
         certificate = \"/etc/c.pem\"\nkey = \"k.pem\"\nserver_name = \"shop\"\nresume = true",
    )
    .unwrap();
    let identity = Identity { certificate: "/etc/c.pem".into(), key: "plans/k.pem".into() };
    let roots = Some("plans/ca.pem".into());
    let tls =
        Tls { insecure: false, roots, identity: Some(identity), server_name: Some("shop".to_owned()), resume: true };
    assert_eq!((all.tls, all.protocol), (tls, Protocol::Auto));
    let proxy = Proxy { host: "::1".to_owned(), port: 3128, user: Some("me:p@ss".to_owned()) };
    assert!(!format!("{proxy:?}").contains("p@ss"));
    assert_eq!(all.proxy, Some(proxy));
    for (text, words) in [
        ("url = \"http://h/\"\ntls.insecure = true", "https://"),
        ("url = \"https://h/\"\ntls.key = \"k\"", "go together"),
        ("url = \"https://h/\"\ntls = { insecure = true, roots = \"r\" }", "not both"),
        ("url = \"https://h/\"\ntls.insecure = 1", "true or false"),
        ("url = \"unix:/s\"\nproxy = \"http://h\"", "without a proxy"),
        ("url = \"http://h/\"\nproxy = \"socks://h\"", "begins with http://"),
        ("url = \"http://h/\"\nproxy = \"http://h/x\"", "no path"),
        ("url = \"http://h/\"\nproxy = \"http://h\"\nprotocol = \"h2\"", "inside TLS"),
        ("url = \"http://h/\"\nprotocol = \"auto\"", "asks by TLS"),
        ("url = \"http://h/\"\nprotocol = \"h3\"", "one of http1, h2, auto"),
    ] {
        let error = target(text).unwrap_err().to_string();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn calls_and_websockets_are_requests() {
    let parse = |requests: &str, target: &str| {
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://h/chat\"\n{target}\n{requests}"
        );
        Workload::parse(&text, "plans/w.toml", &|_| Err(String::new()))
    };
    let calls = parse(
        "[[request]]\ngrpc = \"shop.v1.Orders/Place\"\nbody = '{\"id\": \"{{session}}\"}'\n[[request]]\nname = \"hello\"\n\
         websocket = { send = \"hi {{session}}\", await = \"^hello\" }\n[[request]]\nget = \"/feed\"\nwebsocket = {}",
        "reflection = true",
    )
    .unwrap();
    assert_eq!(calls.0.target.as_ref().unwrap().descriptors, Some(Descriptors::Reflection));
    assert_eq!(calls.labels(), ["shop.v1.Orders/Place", "hello", "/feed"]);
    let [call, hello, feed] = &calls.0.requests[..] else { panic!("three requests") };
    assert_eq!((&call.call, call.path.as_str(), call.method.as_str()), (&Call::Grpc, "/shop.v1.Orders/Place", "POST"));
    assert_eq!((hello.path.as_str(), hello.body.text().unwrap().as_str()), ("/chat", "hi {{session}}"));
    let chat = Chat { awaited: Some(Template::new("^hello")), ..Chat::default() };
    assert_eq!(hello.call, Call::WebSocket(chat));
    assert_eq!((feed.path.as_str(), &feed.call), ("/feed", &Call::WebSocket(Chat::default())));
    for (requests, target, words) in [
        ("[[request]]\ngrpc = \"Orders\"", "", "no method"),
        ("[[request]]\ngrpc = \"a.B/C\"\nget = \"/\"", "", "take them out"),
        ("[[request]]\ngrpc = \"a.B/C\"\nwebsocket = {}", "", "one of them"),
        ("[[request]]\nwebsocket = { sned = \"x\" }", "", "send"),
        ("[[request]]\nwebsocket = { send = \"x\", send_hex = \"00\" }", "", "stands beside send"),
        ("[[request]]\nwebsocket = { send_hex = \"012\" }", "", "two for each byte"),
        ("[[request]]\nwebsocket = { send_hex = \"0x01\" }", "", "two for each byte"),
        ("[[request]]\nwebsocket = { count = 0 }", "", "count"),
        ("[[request]]\nwebsocket = { listen = \"0s\" }", "", "above zero"),
        ("[[request]]\nwebsocket = { await = \"{{nobody}}\" }", "", "nobody"),
        ("[[request]]\nwebsocket = { send = \"x\" }\nbody = \"y\"", "", "websocket.send"),
        ("", "descriptors = \"d\"\nreflection = true", "one of them is enough"),
    ] {
        let error = parse(requests, target).unwrap_err().to_string();
        assert!(error.contains(words), "{requests}: {error}");
    }
}

#[test]
fn the_files_of_a_catalogue_are_a_request_for_each_class() {
    let parse = |requests: &str| {
        let text = format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://h/\"\n{requests}");
        Workload::parse(&text, "plans/w.toml", &files)
    };
    let all =
        parse("[[request]]\nget = \"/\"\n[[request]]\ncatalogue = \"files.csv\"\nweight = 6\nheaders = { A = \"1\" }")
            .unwrap();
    assert_eq!(all.labels(), ["/", "html", "image"]);
    let [_, html, image] = &all.0.requests[..] else { panic!("three requests") };
    assert_eq!((html.weight, image.weight, html.headers.len()), (5.0, 1.0, 1));
    assert_eq!(image.service, Some(Distribution::constant(0.007).unwrap()));
    // What is asked for and what work it brings is the same file.
    let (works, html) = (all.works(), html.one_of().unwrap());
    for session in 0..50 {
        let file = html.drawn(all.seed(), session, 2);
        assert_eq!(works.of(session, 2, 1), Some(Nanos::from_millis(if file.path == "/a" { 1 } else { 2 })));
    }
    assert_eq!(read(&all.to_string()), all, "{all}");
    let alone = parse("[[request]]\ncatalogue = \"plain.csv\"\nservice = { constant = \"3ms\" }").unwrap();
    assert_eq!((alone.labels(), works.distribution(0)), (vec!["plain.csv".to_owned()], None));
    assert_eq!(alone.works().of(1, 0, 0), Some(Nanos::from_millis(3)));
    for (requests, line, words) in [
        ("catalogue = \"none.csv\"", 5, "cannot read `none.csv`: no such file"),
        ("catalogue = \"files.csv\"\nget = \"/\"", 6, "stands beside catalogue, whose paths are asked for"),
        (
            "catalogue = \"files.csv\"\nname = \"x\"",
            6,
            "the 2 classes of files.csv have names of their own; take it out, or say which it is: class = \"html\"",
        ),
        ("catalogue = \"files.csv\"\nclass = \"imag\"", 6, "`imag` is not one of html, image (did you mean `image`?)"),
        ("catalogue = \"plain.csv\"\nclass = \"x\"", 6, "plain.csv has no column `class`"),
        ("catalogue = \"files.csv\"\nservice = { constant = \"1s\" }", 6, "files.csv says how much work each file is"),
        ("catalogue = \"files.csv\"\nmethod = \"get\"", 6, "not a method"),
        ("catalogue = \"times.txt\"", 5, "times.txt:1: unknown column `0.1`"),
        // The table that is wrong, not the request of that number.
        ("catalogue = \"files.csv\"\n[[request]]\nget = \"/{{x}}\"", 6, "nobody defines {{x}}"),
        ("catalogue = \"files.csv\"\n[[request]]\nname = \"html\"\nget = \"/\"", 6, "a second request named `html`"),
    ] {
        let mistake = parse(&format!("[[request]]\n{requests}")).unwrap_err();
        assert!(mistake.what.contains(words) && mistake.line == line, "{requests}: {mistake}");
    }
}

#[test]
fn connections_come_from_addresses_and_ranges_of_them() {
    let sources = |list: &str| {
        let text =
            format!("duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://h/\"\nsources = {list}");
        Workload::parse(&text, "w.toml", &|_| Err(String::new())).map(|w| w.0.target.unwrap().sources)
    };
    let text = |list| sources(list).unwrap().iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    assert_eq!(
        text("[\"10.0.0.7\", \"127.0.0.254-127.0.1.1\"]"),
        "10.0.0.7 127.0.0.254 127.0.0.255 127.0.1.0 127.0.1.1"
    );
    assert_eq!(text("[\"::1\", \"fe80::fffe - fe80::1:1\"]"), "::1 fe80::fffe fe80::ffff fe80::1:0 fe80::1:1");
    for (list, words) in [
        ("[\"10.0.0.300\"]", "is no IP address and no range"),
        ("[\"10.0.0.9-10.0.0.2\"]", "from the first to the last"),
        ("[\"10.0.0.1-::1\"]", "is no IP address and no range"),
        ("[\"::-ffff::\"]", "more than 65536 addresses"),
        ("[\"0.0.0.0-255.255.255.255\"]", "more than 65536 addresses"),
    ] {
        let error = sources(list).unwrap_err().to_string();
        assert!(error.contains(words), "{list}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\PC|\n|=|\"|\\[|\\]){0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_printed_law_is_read_as_itself(mean in 1u64..10_000_000, scv in 1.0f64..50.0, shape in 1.1f64..9.0) {
        let mean = mean as f64 / 1e6;
        let distributions = [
            Distribution::constant(mean).unwrap(), Distribution::exponential(mean).unwrap(), Distribution::uniform(mean, mean * 2.0).unwrap(),
            Distribution::gamma(mean, scv).unwrap(), Distribution::hyperexponential(mean, scv).unwrap(), Distribution::lognormal(mean, scv).unwrap(),
            Distribution::weibull(mean, shape).unwrap(), Distribution::pareto(mean, shape).unwrap(),
            Distribution::bounded_pareto(mean, mean * 100.0, shape).unwrap(), Distribution::poisson_millis(mean).unwrap(),
            Distribution::empirical(vec![mean, 2.0 * mean]).unwrap(),
        ];
        for distribution in distributions {
            let workload = parse(&format!("duration = \"1s\"\narrivals.closed = {{ users = 1, think = {distribution} }}")).unwrap();
            let Sessions::Closed(closed) = workload.0.sessions else { unreachable!() };
            // Times are printed in whole nanoseconds.
            prop_assert!((closed.think().mean() / distribution.mean() - 1.0).abs() < 1e-3, "{distribution}");
            prop_assert!((closed.think().scv() - distribution.scv()).abs() <= 1e-6 * distribution.scv() || !distribution.scv().is_finite(), "{distribution}");
            prop_assert_eq!(std::mem::discriminant(closed.think().shape()), std::mem::discriminant(distribution.shape()));
        }
    }
}

/// Users who ask for one of two things, against a server and for ten seconds.
fn draft() -> Draft {
    let users = Closed::new(3, Distribution::exponential(1.0).unwrap()).unwrap();
    Draft {
        target: Some(Target::new("http://127.0.0.1:8080".parse().unwrap())),
        server: Some(Server::new(1, Policy::Ps(None), Distribution::exponential(0.01).unwrap()).unwrap()),
        requests: vec![Request::get("/a").with_weight(3.0), Request::get("/b").named("b")],
        ..Draft::new(Sessions::Closed(users), Nanos::from_secs(10))
    }
}

#[test]
fn a_workload_made_of_types_is_the_one_its_text_is_read_as() {
    let made = Workload::new(draft()).unwrap();
    let text = "seed = 1\nduration = \"10s\"\n\n[arrivals]\nclosed = { users = 3, think = { exponential = \"1s\" } }\n\n[target]\n\
                url = \"http://127.0.0.1:8080/\"\n\n[server]\ndiscipline = \"ps\"\nservice = { exponential = \"10ms\" }\n\n[[request]]\n\
                name = \"/a\"\nget = \"/a\"\nweight = 3\n\n[[request]]\nname = \"b\"\nget = \"/b\"\n";
    assert_eq!(made.to_string(), text);
    assert_eq!(parse(text).unwrap(), made);
}

fn station() -> Station {
    let service = Distribution::exponential(0.01).unwrap();
    Station { name: "db".to_owned(), visits: 1.0, server: Server::new(1, Policy::Fcfs, service).unwrap() }
}

/// Of a trace that asks for three things.
fn replay() -> Sessions {
    let text = "offered.trace/1\nGET /a\nGET /b\nGET /c\n0 0 0\n1.5 0 1\n2.5 0 2\n";
    let (trace, _) = Trace::parse(text, "thrice.trace").unwrap();
    Sessions::Replay(Replay::new(Arc::new(trace), 1.0, Way::Open).unwrap())
}

fn ask(draft: &mut Draft, change: impl FnOnce(Target) -> Target) {
    draft.target = draft.target.take().map(change);
}

fn said((name, text): (&str, &str)) -> (String, Template) {
    (name.to_owned(), Template::new(text))
}

fn part(name: &str) -> Part {
    let content = Ok(Content::Text(Template::new("x")));
    Part { name: name.to_owned(), file: None, raw: false, media_type: None, content }
}

fn taken(find: Find, which: Which) -> Extraction {
    Extraction { name: "token".to_owned(), find, which, otherwise: Otherwise::Fails }
}

fn constant(name: &str, per: Per) -> Variable {
    Variable { name: name.to_owned(), source: script::Source::Constant(Ok("1".to_owned())), per, env: None }
}

fn rows(order: Order, at_end: AtEnd) -> Variable {
    let rows = Err("no such file".to_owned());
    let feeder =
        Feeder { file: "lost.csv".to_owned(), order, at_end, columns: None, format: CsvFormat::default(), rows };
    Variable { name: "row".to_owned(), source: script::Source::Feeder(feeder), per: Per::Session, env: None }
}

#[test]
fn what_does_not_fit_together_is_no_workload() {
    type Break = fn(&mut Draft);
    let broken: &[(Break, &str)] = &[
        (|draft| draft.duration = Nanos::ZERO, "leave nothing of the duration 0s"),
        (|draft| draft.skip_last = Nanos::from_secs(10), "leave nothing of the duration 10s"),
        (|draft| draft.requests.clear(), "between 1 and 65535"),
        (|draft| draft.requests[1].name = "/a".to_owned(), "a second request named `/a`"),
        (|draft| draft.requests[1].weight = f64::NAN, "a weight must be zero or more, not NaN"),
        (|draft| draft.requests.iter_mut().for_each(|request| request.weight = 0.0), "a weight above zero"),
        (|draft| draft.requests[1].path = Template::new("/{{shop}}"), "request `b`: nobody defines {{shop}}"),
        (|draft| draft.thresholds = vec!["p99{c} < 1s".parse().unwrap()], "`c` is not one of /a, b"),
        (|draft| draft.stations = vec![station()], "[[station]] stands beside [server]"),
        (|draft| (draft.server, draft.stations) = (None, vec![station(), station()]), "a second station named `db`"),
        (|draft| draft.sessions = replay(), "sessions ask for request 2, and there are only 2"),
        (
            |draft| {
                draft.sessions = replay();
                draft.requests.push(Request::get("/c"));
            },
            "the trace says what is asked",
        ),
        (|draft| ask(draft, |target| target.with_response_timeout(Nanos::ZERO)), "must be longer than 0s"),
        (|draft| ask(draft, |target| target.with_connect_timeout(Nanos::ZERO)), "must be longer than 0s"),
        (|draft| ask(draft, |target| target.with_redirects(101)), "101 redirects in a row lead nowhere"),
        (
            |draft| ask(draft, |target| target.with_url("postgres://a@h/b".parse().unwrap()).with_cookies(true)),
            "does not go with a database",
        ),
        (
            |draft| {
                ask(draft, |mut target| {
                    target.pools = vec![Pool { name: "a".to_owned(), connections: 0 }];
                    target.with_url("postgres://a@h/b".parse().unwrap())
                });
                draft.requests.clear();
                draft.requests.push(Request::get("/"));
                let sql = Sql { statements: Vec::new(), is_transaction: true, class: Some("a".to_owned()) };
                draft.requests[0].call = Call::Sql(sql);
            },
            "the pool `a` must have at least 1 connection",
        ),
        (
            |draft| {
                let host = "a b".to_owned();
                ask(draft, |target| target.with_proxy(Some(Proxy { host, port: 1, user: None })));
            },
            "no proxy's address",
        ),
        (|draft| draft.requests[0].headers = [("A", "1"), ("A", "2")].map(said).to_vec(), "a second `A`"),
        (|draft| draft.requests[0].body = Body::Form([("a", "1"), ("a", "2")].map(said).to_vec()), "a second `a`"),
        (|draft| draft.requests[0].body = Body::Multipart(vec![part("a\"b")]), "has a quote"),
        (|draft| draft.requests[0].extract = vec![taken(Find::Json("$".to_owned()), Which::Nth(0))], "at least 1"),
        (|draft| draft.requests[0].extract = vec![taken(Find::Body, Which::Random)], "no place in an answer"),
        (
            |draft| draft.requests[0].checks = vec![Check::of(Test::Size(Sizes { least: 2, most: 1 }))],
            "no number is from 2 to 1",
        ),
        (|draft| draft.variables = vec![constant("a", Per::Request)], "is the same for all"),
        (|draft| draft.variables = vec![rows(Order::Random, AtEnd::Stop)], "random rows have no end"),
        (
            |draft| draft.thresholds = ["p99 < 1s", "response.p99 > 1ms"].map(|text| text.parse().unwrap()).to_vec(),
            "a second threshold of response.p99",
        ),
    ];
    for (breaks, says) in broken {
        let mut draft = draft();
        breaks(&mut draft);
        let line = Workload::new(draft).map(|workload| workload.to_string()).expect_err(says).to_string();
        assert!(line.contains(says), "{line}");
    }
}

/// One thing of a draft changed, for better or worse, by a number.
type Change = fn(&mut Draft, u64);

const WORDS: [&str; 8] = ["a", "", "a b", "{{shop}}", "{{x}", "é\"'", "\n", "leave"];

fn word(number: u64) -> String {
    WORDS[number as usize % WORDS.len()].to_owned()
}

fn first(draft: &mut Draft, change: impl FnOnce(Request) -> Request) {
    if !draft.requests.is_empty() {
        draft.requests[0] = change(draft.requests[0].clone());
    }
}

const CHANGES: [Change; 24] = [
    |draft, n| ask(draft, |target| target.with_response_timeout(Nanos(n % 4))),
    |draft, n| ask(draft, |target| target.with_connect_timeout(Nanos(n % 4 * 1_000_001))),
    |draft, n| ask(draft, |target| target.with_redirects(n as u32 % 4 * 40)),
    |draft, n| {
        let urls = ["http://h/a b", "postgres://me:p@h/shop?sslmode=disable", "unix:/run/a.sock", "https://[::1]/"];
        if let Ok(url) = urls[n as usize % 4].parse() {
            ask(draft, |target| target.with_url(url));
        }
    },
    |draft, n| {
        let address = Address::Tcp { host: word(n), port: n as u16 };
        ask(draft, |target| {
            target.with_url(Url { address, path: "/".to_owned() + &word(n / 8), secure: false, login: None })
        });
    },
    |draft, n| {
        let user = Some(word(n / 8)).filter(|user| !user.is_empty());
        ask(draft, |target| target.with_proxy(Some(Proxy { host: word(n), port: 1, user })));
    },
    |draft, n| ask(draft, |target| target.with_cookies(n % 2 == 0)),
    |draft, n| ask(draft, |target| target.with_headers(vec![said(("X", &word(n))), said(("Y", &word(n / 8)))])),
    |draft, n| ask(draft, |target| target.with_auth(Some(Auth::Basic(Template::literal(&word(n)))))),
    |draft, n| draft.variables.push(Variable { name: "own".to_owned() + &word(n), ..constant("", Per::Session) }),
    |draft, n| {
        let per = [Per::Session, Per::Visit, Per::Request][n as usize % 3];
        draft.variables.iter_mut().for_each(|variable| variable.per = per);
    },
    |draft, n| {
        if let Some(shop) = draft.variables.iter_mut().find(|variable| variable.name == "shop") {
            shop.source = script::Source::Constant(Ok(word(n)));
        }
    },
    |draft, n| {
        let order = [Order::Sequential, Order::Random][n as usize % 2];
        draft.variables.push(rows(order, [AtEnd::Repeat, AtEnd::Stop, AtEnd::Error][n as usize % 3]));
    },
    |draft, n| {
        let distribution = Distribution::uniform(0.0, n as f64 / 7.0).unwrap();
        let source =
            script::Source::Random(Draw { distribution, shift: -((n % 10) as f64) / 10.0, decimals: (n % 11) as u8 });
        draft.variables.push(Variable { source, ..constant("drawn", Per::Session) });
    },
    |draft, _| draft.variables.clear(),
    |draft, n| first(draft, |asked| asked.named(word(n))),
    |draft, n| {
        first(draft, |asked| asked.with_body(Body::Form(vec![said(("a", &word(n))), said((&word(n / 8), "b"))])));
    },
    |draft, n| {
        let file = Part { file: Some(word(n / 8)), content: Err("no such file".to_owned()), ..part(&word(n)) };
        let part = if n % 2 == 0 { file } else { part(&word(n)) };
        first(draft, |asked| asked.with_body(Body::Multipart(vec![part])));
    },
    |draft, n| {
        first(draft, |asked| {
            asked.with_extract(vec![taken(Find::Css { selector: word(n), attribute: None }, Which::Nth(n as u32 % 3))])
        });
    },
    |draft, n| {
        let tests = [
            Test::Size(Sizes { least: n % 5, most: n % 3 }),
            Test::Status(vec![(n as u16 % 700, n as u16 % 701 + 99)]),
            Test::Text(Find::Header(word(n)), Wanted::Is(Template::literal(&word(n / 8)))),
            Test::Sha256(word(n)),
        ];
        first(draft, |asked| asked.with_checks(vec![Check::of(tests[n as usize % 4].clone())]));
    },
    |draft, n| {
        let objects = Objects {
            paths: vec![Template::new(&format!("/{}", word(n)))],
            connections: n as u8 % 66,
            when: When::While,
            may_fail: n.is_multiple_of(2),
        };
        first(draft, |asked| asked.with_objects(Some(objects)));
    },
    |draft, n| draft.thresholds.extend(["p99 < 1s", "p50{b} <= 2ms"][n as usize % 2].parse::<Threshold>()),
    |draft, n| (draft.skip_first, draft.late) = (Nanos(n), Late::Skip(Nanos(n % 3))),
    |draft, n| {
        draft.sessions = if n % 2 == 0 { replay() } else { Sessions::Open(Schedule::poisson("7.5/m".parse().unwrap())) }
    },
];

proptest! {
    #[test]
    fn what_is_a_workload_is_written_as_a_text_that_is_read_as_the_same(
        text in written(), changes in prop::collection::vec((0..CHANGES.len(), any::<u32>()), 1..4)
    ) {
        let mut draft = read(&text).into_draft();
        for (change, number) in &changes {
            CHANGES[*change](&mut draft, u64::from(*number));
        }
        if let Ok(workload) = Workload::new(draft) {
            let text = workload.to_string();
            let again = Workload::parse(&text, "plans/w.toml", &files);
            prop_assert_eq!(again.as_ref(), Ok(&workload), "{:?}\n{}", changes, text);
        }
    }
}

#[test]
fn another_value_of_a_constant_takes_the_place_of_the_one_that_was_put_in() {
    let mut draft = Draft { variables: vec![constant("a", Per::Session)], ..draft() };
    draft.requests[0] = Request::new("GET", Template::new("/{{a}}")).unwrap();
    let mut draft = Workload::new(draft).unwrap().into_draft();
    draft.variables[0].source = script::Source::Constant(Ok("2".to_owned()));
    assert_eq!(Workload::new(draft).unwrap().requests()[0].path().text(), Some("/2"));
}
