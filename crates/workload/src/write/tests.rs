use super::*;
use proptest::prelude::*;
use proptest::sample::select;
use toml_writer::ToTomlValue as _;

/// The files in the folder of a workload.
pub(crate) fn files(name: &str) -> Result<Vec<u8>, String> {
    match name {
        "users.csv" => Ok("name,age\nann,30\n".into()),
        "rows.jsonl" => Ok("{\"name\": \"ann\", \"age\": 30}\n".into()),
        "body.json" => Ok("{\"who\": \"{{session}}\", \"shop\": \"{{shop}}\"}".into()),
        "picture.png" => Ok(vec![0, 159, 146, 150]),
        "times.txt" => Ok("0.1\n0.25\n".into()),
        "day.trace" => Ok("offered.trace/1\nGET /a\nPOST /b\n0 0 0\n0.5 1 1\n1.25 0 1\n".into()),
        "thrice.trace" => Ok("offered.trace/1\nGET /a\nGET /b\nGET /c\n0 0 0\n1.5 0 1\n2.5 0 2\n".into()),
        "seconds.trace" => Ok("offered.trace/1\nGET /a\n0 0 0\n0 1 0\n0 0 0\n1 1 0\n".into()),
        "files.csv" => Ok("path,weight,service,class\n/a,3,1ms,html\n/b,1,7ms,image\n/c,2,2ms,html\n".into()),
        "plain.csv" => Ok("path\n/a\n/b\n".into()),
        _ => Err("no such file".to_owned()),
    }
}

pub(crate) fn read(text: &str) -> Workload {
    Workload::parse(text, "plans/w.toml", &files).unwrap_or_else(|mistake| panic!("{mistake}\n{text}"))
}

/// Times from a nanosecond to hours, in the units people use.
fn time() -> impl Strategy<Value = String> {
    let nanos = (1u64..10_000_000_000_000).prop_map(|nanos| Nanos(nanos).to_string());
    let seconds = (1u32..100_000, 0u32..1_000_000_000).prop_map(|(whole, part)| format!("{whole}.{part:09}1237s"));
    prop_oneof![nanos, seconds, (1u32..10_000).prop_map(|ms| format!("{ms}ms"))]
}

/// Times in whole nanoseconds.
fn nanos() -> impl Strategy<Value = String> {
    (1u64..10_000_000_000_000).prop_map(|nanos| Nanos(nanos).to_string())
}

fn rate() -> impl Strategy<Value = String> {
    let unit = || select(vec!["s", "m", "h", "7s", "1m30s"]);
    prop_oneof![
        (1u32..1_000_000, unit()).prop_map(|(count, unit)| format!("{count}/{unit}")),
        (0u32..10_000, 1u32..100_000, unit()).prop_map(|(whole, part, unit)| format!("{whole}.{part:05}/{unit}")),
    ]
}

fn per_second() -> impl Strategy<Value = String> {
    (1u32..10_000, 0u32..1_000_000, select(vec!["s", "m", "h"]))
        .prop_map(|(n, part, unit)| format!("{n}.{part:06}/{unit}"))
}

fn distribution() -> impl Strategy<Value = String> {
    let pair = |name: &'static str, key: &'static str, numbers: std::ops::Range<f64>| {
        (time(), numbers).prop_map(move |(mean, n)| format!("{{ {name} = {{ mean = \"{mean}\", {key} = {n:?} }} }}"))
    };
    let single = |name: &'static str| time().prop_map(move |mean| format!("{{ {name} = \"{mean}\" }}"));
    prop_oneof![
        single("constant"),
        single("exponential"),
        single("poisson"),
        (1u32..500, 1u32..500).prop_map(|(a, b)| format!("{{ uniform = [\"{a}ms\", \"{}.5ms\"] }}", a + b)),
        (time(), 1u32..60).prop_map(|(mean, n)| format!("{{ erlang = {{ mean = \"{mean}\", stages = {n} }} }}")),
        pair("gamma", "scv", 0.01..20.0),
        pair("lognormal", "scv", 0.01..20.0),
        pair("weibull", "shape", 0.3..9.0),
        pair("hyperexponential", "scv", 1.0..50.0),
        (time(), 0.95f64..0.999)
            .prop_map(|(mean, p)| { format!("{{ hyperexponential = {{ mean = \"{mean}\", scv = 8, p = {p:?} }} }}") }),
        (time(), 1.1f64..9.0)
            .prop_map(|(min, shape)| format!("{{ pareto = {{ min = \"{min}\", shape = {shape:?} }} }}")),
        (1u32..99, 0.1f64..9.0).prop_map(|(min, shape)| {
            format!("{{ bounded_pareto = {{ min = \"{min}ms\", max = \"1s\", shape = {shape:?} }} }}")
        }),
        (1.0f64..20.0, 1u32..50).prop_map(|(scv, low)| {
            format!("{{ hyperexponential = {{ mean = \"1s\", scv = {scv:?}, within = [\"{low}ms\", \"50s\"] }} }}")
        }),
        (0.1f64..9.0)
            .prop_map(|scv| format!("{{ lognormal = {{ mean = \"1s\", scv = {scv:?}, within = [\"0s\", \"9s\"] }} }}")),
        prop::collection::vec(time(), 1..5).prop_map(|all| format!("{{ empirical = {all:?} }}")),
        Just("{ empirical = \"times.txt\" }".to_owned()),
    ]
}

/// `", key = value"` or nothing.
fn maybe(key: &'static str, value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop::option::of(value).prop_map(move |value| value.map_or(String::new(), |value| format!(", {key} = {value}")))
}

fn quoted(text: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    text.prop_map(|text| format!("\"{text}\""))
}

fn schedule() -> impl Strategy<Value = String> {
    let profile = prop_oneof![
        quoted(rate()),
        (per_second(), per_second(), nanos())
            .prop_map(|(a, b, t)| format!("{{ ramp = [\"{a}\", \"{b}\"], over = \"{t}\" }}")),
        (per_second(), nanos(), nanos())
            .prop_map(|(a, s, t)| format!("{{ steps = [[\"{a}\", \"{s}\"], [\"0/s\", \"{t}\"]] }}")),
        (per_second(), per_second(), nanos())
            .prop_map(|(a, b, t)| format!("{{ stages = [[\"0/s\", \"{a}\", \"{t}\"], [\"{b}\", \"{t}\"]] }}")),
        (per_second(), nanos()).prop_map(|(a, t)| {
            format!("{{ sine = {{ mean = \"{a}\", amplitude = \"0.3/h\", period = \"{t}\" }} }}")
        }),
        (prop::collection::vec(0.5f64..1e6, 1..5), nanos())
            .prop_map(|(all, t)| format!("{{ counts = {all:?}, interval = \"{t}\" }}")),
    ];
    let process = prop_oneof![
        select(vec!["\"poisson\"", "\"constant\"", "\"poisson-fixed-count\""]).prop_map(str::to_owned),
        (0.1f64..4.0).prop_map(|cov| format!("{{ gamma = {cov:?} }}")),
        distribution().prop_map(|distribution| format!("{{ renewal = {distribution} }}")),
        (0.1f64..4.0, 0.1f64..4.0, nanos()).prop_map(|(a, b, t)| {
            format!("{{ mmpp = {{ factors = [{a:?}, {b:?}], sojourns = [\"{t}\", \"2s\"] }} }}")
        }),
    ];
    let batch = prop_oneof![
        (1u32..9).prop_map(|n| n.to_string()),
        (1.0f64..9.0).prop_map(|mean| format!("{{ geometric = {mean:?} }}")),
    ];
    (profile, maybe("process", process), maybe("batch", batch))
        .prop_map(|(rate, process, batch)| format!("rate = {rate}{process}{batch}"))
}

fn users() -> impl Strategy<Value = String> {
    let start = select(vec!["\"mid-thought\"", "\"thinking\"", "\"at-once\""]).prop_map(str::to_owned);
    let visits = (1u32..9).prop_map(|n| n.to_string());
    (
        1u32..1_000_000,
        maybe("think", distribution()),
        maybe("ramp", quoted(nanos())),
        maybe("start", start),
        maybe("visits", visits),
        maybe("every", prop_oneof![quoted(nanos()), nanos().prop_map(|every| format!("{{ request = \"{every}\" }}"))]),
    )
        .prop_map(|(users, think, ramp, start, visits, every)| {
            let visitor = if users % 3 == 0 { ", visitor = \"same\"" } else { "" };
            format!("users = {users}{think}{ramp}{start}{visits}{every}{visitor}")
        })
}

/// Users in stages.
fn staged_users() -> impl Strategy<Value = String> {
    (0u32..999, 1u32..999, nanos(), maybe("think", distribution())).prop_map(|(from, to, over, think)| {
        format!("closed = {{ users = {{ stages = [[{from}, {to}, \"{over}\"], [{to}, \"2s\"]] }}{think} }}")
    })
}

/// `[arrivals]` of sessions that may walk through flows, and others.
fn walking() -> impl Strategy<Value = String> {
    prop_oneof![
        staged_users(),
        users().prop_map(|users| format!("closed = {{ {users} }}")),
        (schedule(), maybe("think", distribution())).prop_map(|(at, think)| format!("partly_open = {{ {at}{think} }}")),
    ]
}

fn alone() -> impl Strategy<Value = String> {
    let length = prop_oneof![
        (0.0f64..0.999).prop_map(|p| format!("stay = {p:?}")),
        (1u32..99).prop_map(|n| format!("length = {{ fixed = {n} }}")),
        (1.0f64..99.0).prop_map(|n| format!("length = {{ mean = {n:?} }}")),
        prop::collection::vec(1u32..99, 1..5).prop_map(|all| format!("length = {{ empirical = {all:?} }}")),
    ];
    prop_oneof![
        schedule().prop_map(|at| format!("open = {{ {at} }}")),
        staged_users(),
        users().prop_map(|users| format!("closed = {{ {users} }}")),
        (schedule(), length.clone(), maybe("think", distribution()))
            .prop_map(|(at, n, think)| format!("partly_open = {{ {at}, {n}{think} }}")),
        (1u32..1_000_000, length).prop_map(|(rate, n)| {
            format!("partly_open = {{ rate = \"{rate}/s\", {n}, think.exponential = \"7s\", start = \"stationary\" }}")
        }),
    ]
}

fn replay() -> impl Strategy<Value = String> {
    let way = prop_oneof![
        Just(String::new()),
        maybe("think", distribution()).prop_map(|think| format!(", as = \"sessions\"{think}")),
        users().prop_map(|users| {
            let of_trace = users.split(", visits").next().and_then(|users| users.split(", every").next());
            let of_trace = of_trace.and_then(|users| users.split(", visitor").next());
            format!(", as = \"closed\", {}", of_trace.unwrap_or_default())
        }),
    ];
    let trace = select(vec![
        "\"day.trace\"",
        "\"seconds.trace\"",
        "\"seconds.trace\", timestamps = \"spread\"",
        "\"seconds.trace\", timestamps = \"as-recorded\"",
    ]);
    (trace, 0.1f64..9.0, way)
        .prop_map(|(trace, speed, way)| format!("replay = {{ trace = {trace}, speed = {speed:?}{way} }}"))
}

/// Words that TOML, templates and URLs have their own ideas of.
fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,8}",
        select(vec![
            "a \"b\"",
            "c:\\\\d",
            "#é{",
            "{{'{{'}}x}}",
            "{{session}}",
            "'''",
            "{{shop}}",
            "x{{user.name}} {a}",
            "%41@:"
        ])
        .prop_map(str::to_owned),
    ]
}

fn text() -> impl Strategy<Value = String> {
    word().prop_map(|word| word.to_toml_value())
}

fn target() -> impl Strategy<Value = String> {
    let url = select(vec!["http://[::1]:81?q=1", "https://h/a", "unix:/run/a.sock:/x", "http://example.test"]);
    let own = (
        prop::option::of(select(vec!["pool", "per-session", "fresh"])),
        prop::option::of(1u32..99),
        prop::option::of(nanos()),
        prop::option::of(text()),
        prop::option::of(word()),
        any::<[bool; 5]>(),
        select(vec!["http1", "h2", "auto"]),
    );
    (url, own).prop_map(|(url, (reuse, most, time, header, user, [cookies, ranges, reflection, tls, lost], protocol))| {
        let secure = url.starts_with("https");
        let mut text = format!("\n[target]\nurl = \"{url}\"\n");
        if let Some(reuse) = reuse {
text += &format!("reuse = \"{reuse}\"\n");
}
        if let Some(most) = most {
text += &format!("connections = {most}\nin_flight = {most}\nredirects = {most}\n");
}
        if let Some(t) = time {
            text += &format!("connect_timeout = \"{t}\"\nresponse_timeout = \"{t}\"\nresolve_every = \"{t}\"\n");
        }
        if let Some(h) = header {
text += &format!("headers = {{ X-A = {h}, \"b.c\" = \"\" }}\nauth.bearer = {h}\n");
}
        if secure || (protocol == "h2" && user.is_none()) {
            text += &format!("protocol = \"{protocol}\"\n");
        }
        if let Some(user) = user.filter(|_| !url.starts_with("unix")) {
            text += &format!("proxy = {}\n", format!("http://{}:p@[::1]:3128", user.replace([' ', '\\', '"'], "")).to_toml_value());
        }
        if cookies {
            text += "cookies = true\n";
        }
        if lost {
            text += "resend = false\n";
        }
        if ranges {
            text += "sources = [\"10.0.0.7\", \"127.0.0.254-127.0.1.1\", \"::1\", \"fe80::ffff-fe80::1:1\", \"10.0.0.7\"]\n";
        }
        text += if reflection { "reflection = true\n" } else { "descriptors = \"d.binpb\"\n" };
        if secure && tls {
            text += "[target.tls]\nroots = \"ca.pem\"\ncertificate = \"/etc/c.pem\"\nkey = \"k.pem\"\nserver_name = \"shop\"\nresume = true\n";
        } else if secure {
            text += "tls.insecure = true\n";
        }
        text
    })
}

/// Boxed: the strategy of a workload is large enough to overflow a stack without optimisation.
fn served() -> BoxedStrategy<String> {
    let name = || select(vec!["fcfs", "ps", "ps:16", "rr:10ms", "sejf:0.5", "lcfs-preemptive", "infinite"]);
    prop_oneof![
        Just(String::new()),
        (1u32..9, name(), distribution(), prop::option::of(1u32..99)).prop_map(|(m, name, distribution, capacity)| {
            let capacity = capacity.map_or(String::new(), |capacity| format!("capacity = {capacity}\n"));
            format!("\n[server]\nservers = {m}\ndiscipline = \"{name}\"\nservice = {distribution}\n{capacity}")
        }),
        (1u32..9, prop::option::of(1u32..99), any::<bool>()).prop_map(|(n, chunk, cache)| {
            let chunk =
                chunk.map_or(String::new(), |chunk| format!("prompt_chunk = {chunk}, per_prompt_token = \"20us\", "));
            let cost = if cache { "per_sequence = \"100us\", prefix_cache = true, " } else { "" };
            format!("\n[server]\nengine = {{ {chunk}{cost}step = \"8ms\", sequences = {n} }}\ncapacity = 7\n")
        }),
        (distribution(), prop::collection::vec(1e-3f64..99.0, 1..4), any::<bool>()).prop_map(
            |(distribution, rates, law)| {
                let law = law.then(|| format!("{{ contention = {:?}, coherency = 1e-9 }}", rates[0]));
                let rates = law.unwrap_or_else(|| format!("{rates:?}"));
                format!("\n[server]\ndiscipline = \"ps\"\nservice = {distribution}\nrates = {rates}\n")
            }
        ),
        (1u32..9, name(), distribution(), 0.1f64..9.0).prop_map(|(m, name, distribution, visits)| {
            format!(
                "\n[[station]]\nname = \"web\"\nservice = {distribution}\n[[station]]\nname = \"d b\"\nservers = {m}\n\
                 discipline = \"{name}\"\nservice = {distribution}\nvisits = {visits:?}\ncapacity = {m}\nwhen_full = \"wait\"\n\
                 [[region]]\nname = \"p\"\nstations = [\"web\", \"d b\"]\ncapacity = 12\n"
            )
        }),
    ]
    .boxed()
}

const VARIABLES: &str = "\n[variables]\nshop = \"nor\\\"th{\"\nport = 8080\nuser = { file = \"users.csv\", at_end = \"stop\" }\n\
    row = { file = \"rows.jsonl\", order = \"random\", columns = [\"age\"], per = \"visit\" }\n\
    odd = { file = \"users.csv\", columns = [\"a\", \"b\"], separator = \";\", quotes = false, skip_lines = 1, ragged = true }\nid = { uuid = true, per = \"request\" }\n\
    n = { sequence = 7 }\nlost = { file = \"lost.csv\" }\nhome = { env = \"NOBODY_SETS_THIS\" }\nx = { random = \"uniform:1..6\" }\n\
    y = { random = \"lognormal:20.5,2\", decimals = 3, per = \"request\" }\n";

/// The first of three requests, with all keys of a request except extractions and checks.
const SCRIPTED: &str = r#"
[[request]]
name = "home"
method = "PURGE"
path = "/{{shop}}/é{{user.name}}"
weight = 2.5
body_file = "body.json"
auth = { basic = "{{user.name}}:x" }
service = { exponential = "3ms" }
on_failure = "end-session"
objects = ["/a.css", "/{{user.age}}.js"]
connections = 2
objects_when = "while"
objects_may_fail = true
"#;

const TAKEN: [&str; 12] = [
    "{ name = \"token\", json = \"$.t\" }",
    "{ name = \"t2\", regex = \"a(b)\", nth = \"random\", default = \"\" }",
    "{ name = \"t3\", header = \"X\", keep = true }",
    "{ name = \"t4\", css = \"a\", attribute = \"href\", nth = 3 }",
    "{ name = \"t5\", regex = 'a(b)\"(c)', group = 2 }",
    "{ name = \"t6\", regex = \"(?:a)b\" }",
    "{ name = \"t7\", css = \"p > b\" }",
    "{ name = \"t8\", header = \"X\", regex = 'a(b)', nth = \"last\" }",
    "{ name = \"t9\", url = true, regex = 'a(b)', group = 0 }",
    "{ name = \"t10\", cookie = \"sid\", count = true }",
    "{ name = \"t11\", url = true, join = \", \" }",
    "{ name = \"t12\", cookie = \"a b\", regex = \"\", default = \"\" }",
];

const CHECKED: [&str; 25] = [
    "{ status = 200 }",
    "{ status = [\"2xx\", 304] }",
    "{ status = \"200..204\", name = \"status = 200\" }",
    "{ body = true, contains = \"{{shop}}\" }",
    "{ body = true, is = \" a \" }",
    "{ size = \"> 5\" }",
    "{ size = \"< 100000\" }",
    "{ size = 512 }",
    "{ size = \"100..2000\" }",
    "{ header = \"X\" }",
    "{ header = \"Location\", is = \"/{{session}}\" }",
    "{ name = \"n\", regex = \"x\", matches = \"^y\" }",
    "{ regex = \"(x)y\", group = 0, contains = \"{{x}}\" }",
    "{ css = \"p\", is = \"\" }",
    "{ css = \"a\", attribute = \"href\" }",
    "{ css = \"a\", attribute = \"href\", not = true }",
    "{ css = \"a\", count = 3 }",
    "{ header = \"X\", regex = '(a)b', count = \"<= 3\", not = true }",
    "{ name = \"css a\", css = \"a\", not = true }",
    "{ cookie = \"sid\", is = \"{{shop}}\" }",
    "{ url = true, regex = 'a(b)', group = 0, contains = \"x\" }",
    "{ url = true, contains = \"x\" }",
    "{ time = \"< 500ms\" }",
    "{ json = \"$.a['b']\", matches = '\\d+\"' }",
    "{ sha256 = \"E3B0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\" }",
];

/// `key = [...]` with some of these.
fn some_of(key: &'static str, all: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::subsequence(all, 0..=all.len()).prop_map(move |some| format!("{key} = [{}]\n", some.join(", ")))
}

fn requests() -> impl Strategy<Value = String> {
    let second = select(vec![
        "get = \"/b\"",
        "post = \"/b\"\nform = { \"a b\" = \"{x}\", c = \"\" }",
        "put = \"/b\"\nbody_file = \"picture.png\"\nraw = true",
        "post = \"/b\"\nmultipart = [{ name = \"a\", value = \"{y}\" }, { name = \"p\", file = \"dir/picture.png\", type = \"image/png\" }, \
         { name = \"t\", file = \"body.json\", raw = false }]",
        "grpc = \"shop.v1.Orders/Place\"\nbody = '{\"id\": \"{{session}}\"}'\nauth = false",
        "websocket = { send = \"hi {{session}}\", await = \"^hello\" }",
        "get = \"/feed\"\nwebsocket = {}",
        "get = \"/bytes\"\nwebsocket = { send_hex = \"01 ff\", await = \"^{{session}}\", count = 3, listen = \"2s\" }",
        "catalogue = \"plain.csv\"\nheaders = { A = \"{{session}}\" }",
        "catalogue = \"files.csv\"\nclass = \"image\"\nmethod = \"HEAD\"",
    ]);
    let first = (some_of("extract", &TAKEN), some_of("check", &CHECKED));
    (first, second, 0.0f64..9.0, text()).prop_map(|((taken, checked), second, weight, body)| {
        format!(
            "{SCRIPTED}{taken}{checked}\n[[request]]\nname = \"b\"\n{second}\nweight = {weight:?}\n\n[[request]]\nname = \"a \\\"c\\\"\"\npost = \"/c\"\n\
             body = {body}\nheaders = {{ X = {body} }}\n"
        )
    })
}

const FLOWS: &str = "\n[[flow]]\nname = \"buy\"\nweight = 0.3\nstart = \"again\"\n[[flow.step]]\nrequest = \"home\"\nthink.constant = \"3ms\"\n\
    [[flow.step]]\nrequest = \"b\"\nrepeat = 3\nstay = STAY\nnext = { home = 0.7, leave = 0.1, again = 3 }\n[[flow.step]]\nname = \"again\"\n\
    request = \"b\"\n[[flow.step]]\nrequest = \"a \\\"c\\\"\"\n\n[[flow]]\nname = \"look\"\nstart = \"b\"\n[flow.matrix]\n\
    b = { home = 0.3333, b = 0.3333, leave = 0.3334 }\nhome = { leave = 1 }\n";

fn general() -> impl Strategy<Value = String> {
    let count = || prop::option::of((select(vec!["requests", "requests", "sessions"]), 1u64..1 << 62));
    (any::<u32>(), 3u32..1000, any::<[bool; 3]>(), count()).prop_map(|(seed, secs, [skip, late, sleep], count)| {
        let mut text = format!("seed = {seed}\nduration = \"{secs}s\"\n");
        text += match (skip, count) {
            (true, None) => "skip_first = \"1s\"\nskip_last = \"500ms\"\n",
            (true, Some(_)) => "skip_first = \"1s\"\n",
            (false, _) => "",
        };
        if let Some((what, n)) = count {
            text += &format!("{what} = {n}\n");
        }
        text += if late { "late = \"skip\"\nlate_after = \"5ms\"\n" } else { "" };
        text += if sleep { "observe.hosts = { db = \"10.0.0.2:7799\", \"web 1\" = \"[::1]:7\" }\n" } else { "" };
        text += if sleep && late {
            "observe.scrape = [{ name = \"db\", target = { url = \"postgres://me@h/shop\" }, sql = \"select calls from s\", \
             every = \"2s\", counters = [\"calls\"] }, { name = \"web\", series = [\"up\", \"nginx_*\"], \
             target = { url = \"http://h:9100/metrics\", headers = { Accept = \"text/plain\" } } }]\n"
        } else {
            ""
        };
        text += if sleep { "generator = { threads = 3, wait = \"sleep\", priority = \"normal\", tolerance = \"7.5%\" }\n" } else { "" };
        text
    })
}

const THRESHOLDS: [&str; 8] = [
    "\"errors.rate\" = { bound = \"< 5%\", stop = true, after = \"10s\" }",
    "\"throughput.rate\" = { bound = \"> 5/s\", stop = true }",
    "\"response.p99\" = \"< 250ms\"",
    "\"errors.rate{b}\" = \"<= 0.1%\"",
    "\"arrivals.cov\" = \"0.95..1.05\"",
    "\"service.p99.9\" = \"< 1.5s\"",
    "\"lateness.max\" = \"<= 10ms\"",
    "\"service.ok.p50\" = \"< 1s\"",
];

fn thresholds() -> impl Strategy<Value = String> {
    proptest::sample::subsequence(&THRESHOLDS[..], 0..=THRESHOLDS.len())
        .prop_map(|some| format!("\n[thresholds]\n{}\n", some.join("\n")))
}

/// The text of any workload.
pub(crate) fn workload() -> impl Strategy<Value = String> {
    let mixed = (alone(), requests()).prop_map(|(arrivals, requests)| (arrivals, requests, String::new()));
    let flowing = (walking(), requests(), 0.1f64..=1.0)
        .prop_map(|(arrivals, requests, stay)| (arrivals, requests, FLOWS.replace("STAY", &format!("{stay:?}"))));
    let scripted = (general(), prop_oneof![mixed, flowing], target(), served(), thresholds()).prop_map(
        |(general, (arrivals, requests, flows), target, served, thresholds)| {
            format!("{general}\n[arrivals]\n{arrivals}\n{target}{served}{VARIABLES}{requests}{flows}{thresholds}")
        },
    );
    // A closed replay counts requests, not sessions.
    let general_plain = || general().prop_map(|text| text.replace("sessions =", "requests ="));
    let plain = (general_plain(), prop_oneof![alone(), replay()], prop::option::of(target()), served()).prop_map(
        |(general, arrivals, target, served)| {
            let (target, variables) = target.map_or((String::new(), ""), |target| (target, VARIABLES));
            format!("{general}\n[arrivals]\n{arrivals}\n{target}{served}{variables}")
        },
    );
    prop_oneof![2 => scripted, 1 => plain]
}

proptest! {
    #[test]
    fn a_written_workload_is_read_back(text in workload()) {
        let original = read(&text);
        let written = original.to_string();
        prop_assert_eq!(&read(&written), &original, "{}", written);
        // Writing the text once more gives the same text.
        prop_assert_eq!(read(&written).to_string(), written);
    }
}

#[test]
fn a_written_workload_has_no_values_of_variables_and_no_secrets() {
    let path = std::env::var("PATH").unwrap();
    let text = "duration = \"1s\"\narrivals.closed.users = 1\ntarget = { url = \"http://h/\", auth.bearer = \"{key}\" }\n\
                variables = { key = { env = \"PATH\" }, shop = \"north\" }\n[[request]]\nget = \"/{{shop}}\"\n";
    let original = read(text);
    assert_eq!(original.requests()[0].path().text(), Some("/north"));
    let written = original.to_string();
    assert!(
        !written.contains(&path) && written.contains("env = \"PATH\"") && written.contains("get = \"/{{shop}}\""),
        "{written}"
    );
}

#[test]
fn a_small_workload_is_written_as_one_would() {
    let text = "seed = 1\nduration = \"1m30s\"\n\n[arrivals]\nopen = { rate = \"31.73/s\" }\n\n[target]\nurl = \"http://h/\"\n\n\
                [[request]]\nname = \"home\"\nget = \"/\"\n";
    assert_eq!(read(text).to_string(), text);
}

/// Keys that neither the random workloads nor other tests write.
const REST: &str = r#"
duration = "1m"
secret_names = ["X-Tenant"]
arrivals.open.rate = "1/s"
generator.on_disk_full = "stop"
server = { service.exponential = "1ms", cancel = true }
[target]
url = "http://h/"
resolve = "first"
omit_headers = ["Accept"]
auth.aws = { region = "eu-central-1", service = "s3", access_key = "a", secret_key = "k", token = "t" }
[[request]]
get = "/"
"#;

#[test]
fn the_remaining_keys_are_written() {
    let workload = read(REST);
    assert_eq!(read(&workload.to_string()), workload, "{workload}");
}
