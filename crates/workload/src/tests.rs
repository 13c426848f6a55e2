use super::*;
mod agenda;
mod blocks;
mod conditions;
mod defaults;
mod drafts;
mod flows;
mod mistakes;
mod oauth2;
mod once;
mod replay;
mod scenarios;
mod thinking;
mod token_traces;
use crate::Policy;
use crate::template::Template;
use offered_distributions::Distribution;
use offered_schedule::trace::Trace;
use offered_schedule::{Launch, Visit};
use proptest::prelude::*;
use write::tests::{files, read};

fn parse(text: &str) -> Result<Workload, Mistake> {
    Workload::parse(text, "w.toml", &|name| match name {
        "counts.txt" => Ok("# per minute\n60\n\n120 # busier\n0\n".into()),
        "bad.txt" => Ok("1\ntwo\n".into()),
        _ => Err("no such file".to_owned()),
    })
}

#[test]
fn files_are_found_in_their_recorded_folder_and_checked() {
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
        assert!(why.contains(&format!("begins with {}, but [files] has {}", &right[..8], &other[..8])), "{why}");
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
fn every_key_of_a_workload_is_read() {
    let workload = parse(WHOLE).unwrap();
    assert_eq!(workload.0.seed, Seed(42));
    assert_eq!((workload.0.duration, workload.0.skip_first), (Nanos::from_secs(1500), Nanos::from_secs(120)));
    assert_eq!(workload.0.late, Late::Skip(Nanos::from_millis(5)));
    assert!((workload.scheduled_rate().unwrap() - 31.73).abs() < 1e-9);
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
    assert!(twice.contains("two stations are named `web`"), "{twice}");
}

#[test]
fn every_system_model_process_profile_and_distribution_can_be_written() {
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
fn a_count_determines_the_end_of_the_schedule() {
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
        assert_eq!(workload.scheduled_rate().map(|rate| (rate * 1e6).round() / 1e6), rate, "{text}");
        assert!(
            (workload.scheduled_until().as_secs_f64() - until).abs() < 1e-6,
            "{text}: {}",
            workload.scheduled_until()
        );
        let half = workload.scheduled_before(Instant::from_secs_f64(until / 2.0));
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
fn urls_are_parsed_or_refused() {
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
fn connection_settings_of_a_target_are_read() {
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
        ("url = \"https://h/\"\ntls.key = \"k\"", "needs both"),
        ("url = \"https://h/\"\ntls = { insecure = true, roots = \"r\" }", "not both"),
        ("url = \"https://h/\"\ntls.insecure = 1", "true or false"),
        ("url = \"unix:/s\"\nproxy = \"http://h\"", "a Unix socket"),
        ("url = \"http://h/\"\nproxy = \"socks://h\"", "must begin with http://"),
        ("url = \"http://h/\"\nproxy = \"http://h/x\"", "cannot have a path"),
        ("url = \"http://h/\"\nproxy = \"http://h\"\nprotocol = \"h2\"", "inside TLS"),
        ("url = \"http://h/\"\nprotocol = \"auto\"", "negotiates by TLS"),
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
        ("[[request]]\ngrpc = \"Orders\"", "", "is not a method"),
        ("[[request]]\ngrpc = \"a.B/C\"\nget = \"/\"", "", "no HTTP method or path"),
        ("[[request]]\ngrpc = \"a.B/C\"\nwebsocket = {}", "", "cannot be combined with websocket"),
        ("[[request]]\nwebsocket = { sned = \"x\" }", "", "send"),
        ("[[request]]\nwebsocket = { send = \"x\", send_hex = \"00\" }", "", "cannot be combined with send"),
        ("[[request]]\nwebsocket = { send_hex = \"012\" }", "", "two for each byte"),
        ("[[request]]\nwebsocket = { send_hex = \"0x01\" }", "", "two for each byte"),
        ("[[request]]\nwebsocket = { count = 0 }", "", "count"),
        ("[[request]]\nwebsocket = { listen = \"0s\" }", "", "above zero"),
        ("[[request]]\nwebsocket = { await = \"{{unknown}}\" }", "", "unknown"),
        ("[[request]]\nwebsocket = { send = \"x\" }\nbody = \"y\"", "", "websocket.send"),
        ("", "descriptors = \"d\"\nreflection = true", "cannot be combined with `reflection`"),
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
    // The requested file and its work are those of the same entry.
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
        ("catalogue = \"files.csv\"\nget = \"/\"", 6, "cannot be combined with catalogue, which has the paths"),
        (
            "catalogue = \"files.csv\"\nname = \"x\"",
            6,
            "the 2 classes of files.csv are named after their classes; remove `name`, or choose one class: class = \"html\"",
        ),
        ("catalogue = \"files.csv\"\nclass = \"imag\"", 6, "`imag` is not one of html, image (did you mean `image`?)"),
        ("catalogue = \"plain.csv\"\nclass = \"x\"", 6, "plain.csv has no column `class`"),
        (
            "catalogue = \"files.csv\"\nservice = { constant = \"1s\" }",
            6,
            "files.csv already has the work of each file",
        ),
        ("catalogue = \"files.csv\"\nmethod = \"get\"", 6, "not a method"),
        ("catalogue = \"times.txt\"", 5, "times.txt:1: unknown column `0.1`"),
        // The table that is wrong, not the request of that number.
        ("catalogue = \"files.csv\"\n[[request]]\nget = \"/{{x}}\"", 6, "{{x}} is undefined"),
        ("catalogue = \"files.csv\"\n[[request]]\nname = \"html\"\nget = \"/\"", 6, "two requests are named `html`"),
    ] {
        let mistake = parse(&format!("[[request]]\n{requests}")).unwrap_err();
        assert!(mistake.what.contains(words) && mistake.line == line, "{requests}: {mistake}");
    }
}

#[test]
fn connections_come_from_addresses_and_ranges() {
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
        ("[\"10.0.0.300\"]", "neither an IP address nor a range"),
        ("[\"10.0.0.9-10.0.0.2\"]", "from the first to the last"),
        ("[\"10.0.0.1-::1\"]", "neither an IP address nor a range"),
        ("[\"::-ffff::\"]", "more than 65536 addresses"),
        ("[\"0.0.0.0-255.255.255.255\"]", "more than 65536 addresses"),
    ] {
        let error = sources(list).unwrap_err().to_string();
        assert!(error.contains(words), "{list}: {error}");
    }
}

proptest! {
    #[test]
    fn the_reader_never_panics(text in "(\\PC|\n|=|\"|\\[|\\]){0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_printed_distribution_is_read_back(mean in 1u64..10_000_000, scv in 1.0f64..50.0, shape in 1.1f64..9.0) {
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
