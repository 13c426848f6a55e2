//! Metrics scraped during a run: from exporters, nginx's `stub_status`, and a database's own statistics.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use serde_json::Value;

use crate::process::{Serve, ended};

tests![
    exporters_are_scraped_during_the_run,
    unreachable_exporters_are_reported_and_the_run_continues,
    invalid_scrape_targets_are_refused,
    load_option_determines_the_rate
];

/// An exporter that responds to the n-th request with `page(n)`.
fn exporter(page: impl Fn(u64) -> String + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (page, asked) = (Arc::new(page), Arc::new(AtomicU64::new(0)));
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (page, asked) = (page.clone(), asked.clone());
            thread::spawn(move || answer(stream, &*page, &asked));
        }
    });
    address
}

fn answer(mut stream: TcpStream, page: &dyn Fn(u64) -> String, asked: &AtomicU64) {
    let (mut heard, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(read @ 1..) = stream.read(&mut piece) {
        heard.extend_from_slice(&piece[..read]);
        if heard.ends_with(b"\r\n\r\n") {
            heard.clear();
            let page = page(asked.fetch_add(1, Relaxed));
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\n\r\n",
                page.len()
            );
            if stream.write_all((head + &page).as_bytes()).is_err() {
                return;
            }
        }
    }
}

/// A `node_exporter` page for two processors with this share of one busy, and a custom counter that restarts at the
/// tenth request.
fn node(nth: u64, share: f64) -> String {
    let seconds = nth as f64 / 5.0;
    let (user, idle) = (share * seconds, (1.0 - share) * seconds);
    let orders = if nth < 10 { 1000 + 7 * nth } else { 7 * (nth - 9) };
    format!(
        "# TYPE node_cpu_seconds_total counter\nnode_cpu_seconds_total{{cpu=\"0\",mode=\"user\"}} {user}\n\
         node_cpu_seconds_total{{cpu=\"0\",mode=\"nice\"}} 0\nnode_cpu_seconds_total{{cpu=\"0\",mode=\"system\"}} 0\n\
         node_cpu_seconds_total{{cpu=\"0\",mode=\"irq\"}} 0\nnode_cpu_seconds_total{{cpu=\"0\",mode=\"softirq\"}} 0\n\
         node_cpu_seconds_total{{cpu=\"0\",mode=\"steal\"}} 0\nnode_cpu_seconds_total{{cpu=\"0\",mode=\"iowait\"}} 0\n\
         node_cpu_seconds_total{{cpu=\"0\",mode=\"idle\"}} {idle}\n\
         node_cpu_seconds_total{{cpu=\"1\",mode=\"idle\"}} {seconds}\n\
         node_procs_running 3\nnode_memory_MemTotal_bytes 8e9\nnode_memory_MemAvailable_bytes 6e9\n\
         node_network_receive_bytes_total{{device=\"eth0\"}} {}\nnode_network_transmit_bytes_total{{device=\"eth0\"}} {}\n\
         # TYPE orders counter\norders_total{{kind=\"book\"}} {orders}\n# TYPE depth gauge\ndepth 4\ngo_goroutines 9\n# EOF\n",
        1e6 * seconds,
        2e6 * seconds
    )
}

fn exporters_are_scraped_during_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let server = Serve::with(&["--listen", "127.0.0.1:0", "--service", "exponential:1ms", "--wait-mode", "sleep"]);
    let (busy, idle) = (exporter(|nth| node(nth, 0.96)), exporter(|nth| node(nth, 0.32)));
    let web = exporter(|nth| {
        format!(
            "Active connections: 3 \nserver accepts handled requests\n 9 9 {} \nReading: 0 Writing: 1 Waiting: 2 \n",
            8 * nth
        )
    });
    let (run, workload) = (path("run"), path("w.toml"));
    let scrape = |name: &str, at: SocketAddr| {
        format!("[[observe.scrape]]\nname = \"{name}\"\nevery = \"200ms\"\ntarget.url = \"http://{at}/metrics\"\n")
    };
    let text = format!(
        "duration = \"4s\"\narrivals.open.rate = \"40/s\"\ntarget.url = \"{}/\"\n{}{}{}",
        server.url,
        scrape("db", busy),
        scrape("app", idle),
        scrape("nginx", web)
    );
    fs::write(&workload, text).unwrap();
    let made = ended(&["run", &workload, "--output", &run, "--quiet"]);
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    let record: Value = serde_json::from_str(&fs::read_to_string(format!("{run}/run.json")).unwrap()).unwrap();
    assert!(record["verdict"]["server_side"]["hosts"].as_array().unwrap().len() == 3, "it is in the record at once");

    let verdict = ended(&["verify", &run, "--json"]);
    let verdict: Value = serde_json::from_str(&verdict.stdout).unwrap();
    let side = &verdict["server_side"];
    let host = |name: &str| side["hosts"].as_array().unwrap().iter().find(|host| host["name"] == name).unwrap();
    let mean = |name: &str, resource: &str, of: &str| {
        let measures = host(name)["measures"].as_array().unwrap();
        let found =
            measures.iter().find(|m| m["resource"] == resource && m["instance"].as_str().unwrap().starts_with(of));
        found.unwrap_or_else(|| panic!("{resource} {of} is not in {measures:?}"))["mean"].as_f64().unwrap()
    };
    // Shares do not depend on time. Rates are those of a page that counts requests, five per second if the machine
    // permits.
    assert!((mean("db", "processors", "") - 0.48).abs() < 0.01, "{side}");
    assert!((mean("db", "core", "cpu0") - 0.96).abs() < 0.01 && (mean("app", "core", "cpu0") - 0.32).abs() < 0.01);
    assert!((mean("db", "memory", "") - 0.25).abs() < 1e-9 && mean("db", "running", "") == 2.0);
    assert!((mean("db", "network_out", "eth0") / mean("db", "network_in", "eth0") - 2.0).abs() < 0.01);
    assert!(mean("db", "series_rate", "orders_total{kind=") > 0.0 && mean("db", "series_level", "depth") == 4.0);
    assert!(mean("nginx", "series_rate", "nginx_http_requests_total") > 0.0);
    assert_eq!(host("db")["clock"]["source"], "same_clock");
    let said = side["saturation"].as_str().unwrap();
    assert!(said.starts_with("saturated: one processor (cpu0) of db at 0.96; all others at 0."), "{said}");
    let notes = host("db")["notes"].to_string();
    assert!(notes.contains("{\"counter\":\"orders_total\",\"kind\":\"counter_reset\"}"), "{notes}");

    let page = ended(&["verify", &run, "--details"]).stdout;
    for part in [
        "share of  busy CPUs",
        "75.0 %",
        "scraped from",
        "nginx_http_requests_total, per second",
        "scrapes of http://127.0.0.1:",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let report = path("report.html");
    assert_eq!(ended(&["report", &run, "-o", &report]).code, Some(0));
    let report = fs::read_to_string(report).unwrap();
    for part in [
        "server-side-balance-processors",
        "server-side-balance-network",
        "server-side-scraped-nginx-nginxhttprequeststotal",
        "server-side-utilisation",
    ] {
        assert!(report.contains(part), "{part}");
    }
}

fn unreachable_exporters_are_reported_and_the_run_continues() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let server = Serve::with(&["--listen", "127.0.0.1:0", "--service", "exponential:1ms", "--wait-mode", "sleep"]);
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let html = exporter(|_| "<html>it works</html>".to_owned());
    let large = exporter(|_| "a 1\n".repeat(400_000));
    let at = [("nobody", nobody), ("silent", silent.local_addr().unwrap()), ("html", html), ("large", large)];
    let scrapes = at.map(|(name, at)| {
        format!("[[observe.scrape]]\nname = \"{name}\"\nevery = \"200ms\"\ntarget.url = \"http://{at}/\"\n")
    });
    let (run, workload) = (path("run"), path("w.toml"));
    let text = format!(
        "duration = \"3s\"\narrivals.open.rate = \"40/s\"\ntarget.url = \"{}/\"\n{}",
        server.url,
        scrapes.concat()
    );
    fs::write(&workload, text).unwrap();
    let made = ended(&["run", &workload, "--output", &run, "--quiet"]);
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    let page = ended(&["verify", &run, "--details"]).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["the response has no numbers", "longer than a megabyte"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    for name in ["nobody", "silent", "html"] {
        let start = format!("{name}: ");
        let mut notes = page.split(&start).skip(1);
        let failed =
            |note: &str| note.starts_with(|c: char| c.is_ascii_digit()) && note.contains("failed; the first error: ");
        assert!(notes.any(failed), "{name} is not in {page}");
    }
    // Without a run directory nothing is recorded, which is reported.
    let made = ended(&["run", &workload, "--quiet"]);
    assert!(made.stderr.contains("[[observe.scrape]] needs a run directory"), "{made:?}");
}

fn invalid_scrape_targets_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("w.toml");
    for (scrape, why) in [
        ("name = \"db\"", "`target` is missing"),
        ("name = \"a/b\"\ntarget.url = \"http://h/\"", "cannot be a file name"),
        ("name = \"db\"\ntarget.url = \"http://h/\"\nsql = \"select 1\"", "needs a target that is a database"),
        ("name = \"db\"\ntarget.url = \"http://h/\"\nevery = \"1ms\"", "too short"),
        ("name = \"db\"\ntarget.url = \"http://h/\"\nserie = []", "did you mean `series`"),
        (
            "name = \"db\"\ntarget.url = \"http://h/\"\n[[observe.scrape]]\nname = \"db\"\ntarget.url = \"http://i/\"",
            "two endpoints are named",
        ),
    ] {
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"http://127.0.0.1:1/\"\n[[observe.scrape]]\n{scrape}\n"
        );
        fs::write(&workload, text).unwrap();
        let made = ended(&["run", workload.to_str().unwrap()]);
        assert!(made.code == Some(2) && made.stderr.contains(why), "{why}: {made:?}");
    }
}

/// Two processors, one always busy to a tenth, plus 20 ms per response.
fn load_option_determines_the_rate() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let answers = Arc::new(AtomicU64::new(0));
    let counted = answers.clone();
    let server = exporter(move |_| {
        counted.fetch_add(1, Relaxed);
        "well".to_owned()
    });
    let clock = offered_io::Clock::start();
    let node = exporter(move |_| {
        let seconds = clock.now().0 as f64 / 1e9;
        let busy = 0.1 * seconds + 0.02 * answers.load(Relaxed) as f64;
        let cpu = |of: &str, mode: &str, value: f64| {
            format!("node_cpu_seconds_total{{cpu=\"{of}\",mode=\"{mode}\"}} {value}\n")
        };
        let modes = ["nice", "system", "irq", "softirq", "steal", "iowait"].map(|mode| cpu("0", mode, 0.0)).concat();
        let (user, idle) =
            (cpu("0", "user", busy), cpu("0", "idle", 1e6 + seconds - busy) + &cpu("1", "idle", seconds));
        format!("# TYPE node_cpu_seconds_total counter\n{user}{modes}{idle}")
    });
    let (run, workload) = (path("run"), path("w.toml"));
    let text = format!(
        "duration = \"6s\"\narrivals.open.rate = \"24/s\"\ntarget.url = \"http://{server}/\"\n\
         [[observe.scrape]]\nname = \"shop\"\nevery = \"200ms\"\ntarget.url = \"http://{node}/\"\n"
    );
    fs::write(&workload, &text).unwrap();
    let made = ended(&["run", &workload, "--load", "0.5", "--pilot", "13s", "--output", &run, "--json"]);
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    assert!(made.stderr.contains("run-pilot-1"), "{made:?}");
    let summary: Value = serde_json::from_str(&made.stdout).unwrap();
    let set = &summary["set_load"];
    // (0.5 x 2 - 0.1) / 0.02
    let rate = set["rate_per_s"].as_f64().unwrap();
    assert!((rate / 45.0 - 1.0).abs() < 0.15, "{set}");
    assert!((summary["target_rate_per_s"].as_f64().unwrap() - rate).abs() < 1e-3, "{summary}");
    // The measured rate is the rate of the requests sent.
    let answered = summary["completed_rate_per_s"].as_f64().unwrap();
    let expected = 0.05 + 0.01 * answered;
    assert!((set["measured_load"].as_f64().unwrap() / expected - 1.0).abs() < 0.15, "{set} of {answered}/s");

    // A machine without additional work, or a server that only fails, does not get ever more load.
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fs::write(&workload, text.replace(&server.to_string(), &gone.to_string())).unwrap();
    let made = ended(&["run", &workload, "--load", "0.5", "--pilot", "2s", "--output", &path("gone")]);
    assert!(made.code != Some(0) && !made.stderr.contains("gone-pilot-2"), "{made:?}");

    for (text, load, why) in [
        (text.clone(), "1.2", "a load must be above 0 and below 1"),
        (text[..text.find("[[").unwrap()].to_owned(), "0.5", "the processors of the server are not observed"),
        (
            text.replace("arrivals.open.rate = \"24/s\"", "arrivals.closed.users = 3"),
            "0.5",
            "the rate of a closed system depends on the server",
        ),
        (text.replace("\"24/s\"", "{ ramp = [\"1/s\", \"9/s\"], over = \"6s\" }"), "0.5", "the rate must be constant"),
    ] {
        fs::write(&workload, text).unwrap();
        let made = ended(&["run", &workload, "--load", load, "--output", &path("other")]);
        assert!(made.code == Some(2) && made.stderr.contains(why), "{why}: {made:?}");
    }
}
