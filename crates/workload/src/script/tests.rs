use offered_base::random::Seed;
use offered_distributions::Distribution;

use super::*;
use crate::template::Piece;
use crate::{Mistake, Request, Workload};

fn parse(text: &str) -> Result<Workload, Mistake> {
    let text = format!("duration = \"10s\"\narrivals.closed.users = 5\n{text}");
    Workload::parse(&text, "w.toml", &|name| match name {
        "users.csv" => Ok("\u{feff}name,password\nann,\"s,1\"\nbob,s2\n".into()),
        "ragged.csv" => Ok("a,b\n1,2\n3\n".into()),
        "empty.csv" => Ok("a,b\n".into()),
        "items.jsonl" => Ok("{\"id\": 7, \"name\": \"pen\"}\n\n{\"name\": \"cup\", \"id\": 8}\n".into()),
        "order.json" => Ok("{\"who\": {{user.name}}, \"n\": {{n}}}".into()),
        "a.png" => Ok(vec![0x89, b'P', 0xff, 0]),
        _ => Err("no such file".to_owned()),
    })
}

fn requests(text: &str) -> Vec<Request> {
    parse(text).unwrap_or_else(|mistake| panic!("{mistake}\n{text}")).0.requests
}

const WHOLE: &str = r#"
[target]
url = "http://h/"
cookies = true
redirects = 5
auth = { basic = "{{user.name}}:{{user.password}}" }
headers = { X-Shop = "{{shop}}" }

[variables]
shop = "north"
limit = 7
home = { env = "CARGO_MANIFEST_DIR" }
user = { file = "users.csv", order = "sequential", per = "session", at_end = "stop" }
item = { file = "items.jsonl", order = "random", per = "request" }
id = { uuid = true, per = "session" }
n = { sequence = 1 }
money = { random = "uniform:1..100", decimals = 2, per = "request" }

[[request]]
name = "login"
method = "POST"
path = "/login?u={{user.name}}"
form = { a = "1", b = "{{id}}" }
auth = false
extract = [
  { name = "token", json = "$.token" },
  { name = "next", regex = 'next=(\d+)', nth = 2, default = "0" },
  { name = "all", regex = 'next=(?:\d+)', nth = "random", keep = true },
  { name = "csrf", css = "input[name=csrf]", attribute = "value" },
  { name = "place", header = "Location" },
  { name = "file", json = "$.uri", regex = 'mxc://(.*)' },
]
check = [
  { status = 200 }, { status = [200, 302] }, { status = "2xx" },
  { header = "Content-Type", contains = "json" },
  { body = true, contains = "Welcome {{user.name}}" }, { body = true, matches = 'ord-\d+' },
  { json = "$.ok", is = "true" }, { size = "< 100000" },
  { sha256 = "E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855" },
  { name = "signed in", css = "a.logout" },
]
on_failure = "end-session"

[[request]]
name = "page"
get = "/{{shop}}/{{item.name}}?q={{limit}}"
auth = { bearer = "{{token}}" }
objects = ["/a.css", "/b.js?{{next}}"]
connections = 2
objects_when = "while"
objects_may_fail = true

[[request]]
name = "upload"
put = "/up"
multipart = [ { name = "picture", file = "pictures/../a.png", type = "image/png" }, { name = "title", value = "{{money}}" } ]
on_failure = "stop"

[[request]]
name = "order"
post = "{{place}}"
body_file = "order.json"

[[flow]]
name = "buy"
[[flow.step]]
request = "login"
[[flow.step]]
request = "page"
[[flow.step]]
request = "upload"
[[flow.step]]
request = "order"
"#;

#[test]
fn every_key_of_a_script_is_read() {
    let workload = parse(&WHOLE.replace("pictures/../", "")).unwrap();
    assert!(workload.is_scripted());
    let target = workload.0.target.as_ref().unwrap();
    assert_eq!((target.cookies, target.redirects), (true, 5));
    assert_eq!(target.auth, Some(Auth::Basic(Template::new("{{user.name}}:{{user.password}}"))));
    assert_eq!(target.headers[0].1.pieces(), [Piece::Text("north".into())]);

    let [shop, limit, home, user, item, id, n, money] = &workload.0.variables[..] else { panic!("eight variables") };
    assert_eq!(shop.source, Source::Constant(Ok("north".to_owned())));
    assert_eq!(limit.source, Source::Constant(Ok("7".to_owned())));
    assert!(matches!(&home.source, Source::Constant(Ok(path)) if path.ends_with("workload")));
    let Source::Feeder(feeder) = &user.source else { panic!("a file") };
    assert_eq!((feeder.order, feeder.at_end, user.per), (Order::Sequential, AtEnd::Stop, Per::Session));
    let rows = feeder.rows.as_ref().unwrap();
    assert_eq!((rows.columns(), rows.len()), (&["name".to_owned(), "password".to_owned()][..], 2));
    assert_eq!((rows.cell(0, 0), rows.cell(0, 1), rows.cell(1, 1)), ("ann", "s,1", "s2"));
    let Source::Feeder(feeder) = &item.source else { panic!("a file") };
    let rows = feeder.rows.as_ref().unwrap();
    assert_eq!(
        (rows.columns(), rows.cell(0, 0), rows.cell(1, 0), rows.cell(1, 1)),
        (&["id".to_owned(), "name".to_owned()][..], "7", "8", "cup")
    );
    assert_eq!((item.per, id.per, n.per, money.per), (Per::Request, Per::Session, Per::Request, Per::Request));

    let [login, page, upload, order] = &workload.0.requests[..] else { panic!("four requests") };
    assert_eq!((login.method.as_str(), login.on_failure), ("POST", OnFailure::EndSession));
    assert_eq!(login.auth, Some(Auth::None));
    let finds: Vec<&Find> = login.extract.iter().map(|extraction| &extraction.find).collect();
    assert_eq!(finds[1], &Find::Regex { pattern: r"next=(\d+)".to_owned(), group: 1 });
    assert_eq!(finds[2], &Find::Regex { pattern: r"next=(?:\d+)".to_owned(), group: 0 });
    assert_eq!(finds[3], &Find::Css { selector: "input[name=csrf]".to_owned(), attribute: Some("value".to_owned()) });
    let of = Box::new(Find::Json("$.uri".to_owned()));
    assert_eq!(finds[5], &Find::Matched { of, pattern: "mxc://(.*)".to_owned(), group: 1 });
    let message: Vec<(Which, &IfMissing)> = login.extract.iter().map(|e| (e.which.clone(), &e.if_missing)).collect();
    assert_eq!(message[0], (Which::Nth(1), &IfMissing::Fail));
    assert_eq!(message[1], (Which::Nth(2), &IfMissing::Default("0".to_owned())));
    assert_eq!(message[2], (Which::Random, &IfMissing::KeepPrevious));
    let names: Vec<&str> = login.checks.iter().map(|check| check.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "status = 200",
            "status = 200, 302",
            "status = 2xx",
            "header Content-Type contains json",
            "body contains Welcome {{user.name}}",
            r"body matches ord-\d+",
            "json $.ok = true",
            "size < 100000",
            "sha256 = e3b0c442...",
            "signed in"
        ]
    );
    assert_eq!(login.checks[2].test, Test::Status(vec![(200, 299)]));
    assert_eq!(page.path.pieces()[0], Piece::Text("/north/".into()), "constants are put in once");
    let objects = page.objects.as_ref().unwrap();
    assert_eq!((objects.paths.len(), objects.connections, objects.when), (2, 2, When::While));
    let Body::Multipart(parts) = &upload.body else { panic!("parts") };
    assert_eq!(
        (parts[0].file_name(), &parts[0].content),
        (Some("a.png"), &Ok(Content::Raw([0x89, b'P', 0xff, 0].into())))
    );
    assert_eq!(order.body.text().unwrap().names().count(), 2);
}

#[test]
fn constant_requests_need_no_script() {
    let plain = "[target]\nurl = \"http://h/\"\nauth = { bearer = \"{{key}}\" }\nheaders = { X-A = \"{{session}}\" }\n\
                 [variables]\nkey = \"k\"\n[[request]]\nget = \"/{{key}}\"\nbody = '{\"a\": \"{{key}}\"}'";
    let workload = parse(plain).unwrap();
    assert!(!workload.is_scripted());
    assert_eq!(workload.0.requests[0].path.pieces(), [Piece::Text("/k".into())]);
    for more in [
        "[variables]\nkey = { uuid = true }",
        "check = [{ status = 200 }]",
        "target.cookies = true",
        "target.redirects = 1",
    ] {
        let text = match more.split_once('\n') {
            Some(_) => plain.replace("[variables]\nkey = \"k\"", more),
            None if more.starts_with("target") => format!(
                "{more}\n{}",
                plain
                    .replace("[target]\nurl", "target.url")
                    .replace("\nauth", "\ntarget.auth")
                    .replace("\nheaders", "\ntarget.headers")
            ),
            None => format!("{plain}\n{more}"),
        };
        assert!(parse(&text).unwrap_or_else(|m| panic!("{m}\n{text}")).is_scripted(), "{more}");
    }
}

/// Two requests in these flows; `use` needs a value that `get` extracts.
fn walked(flows: &str) -> Result<Workload, String> {
    let requests = "[[request]]\nname = \"use\"\nget = \"/{{token}}\"\n[[request]]\nname = \"get\"\nget = \"/\"\n\
                    extract = [{ name = \"token\", json = \"$.t\" }]\n[[request]]\nname = \"other\"\nget = \"/o\"\n";
    parse(&format!("{requests}{flows}")).map_err(|mistake| mistake.to_string())
}

#[test]
fn a_value_extracted_too_late_is_an_error_with_the_path() {
    let step = |name: &str, rest: &str| format!("[[flow.step]]\nrequest = \"{name}\"\n{rest}\n");
    let flow = |steps: &[(&str, &str)]| {
        let steps: String = steps.iter().map(|(name, rest)| step(name, rest)).collect();
        format!("[[flow]]\nname = \"buy\"\n{steps}")
    };
    walked(&flow(&[("get", ""), ("other", ""), ("use", "")])).unwrap();
    let message = walked(&flow(&[("other", ""), ("use", ""), ("get", "")])).unwrap_err();
    assert!(message.starts_with("w.toml:3: ") && message.contains("request `use`: {{token}}"), "{message}");
    assert!(message.contains("flow `buy`") && message.contains("without it: other -> use;"), "{message}");
    // A branch around the extracting step.
    let message = walked(&flow(&[("other", "next = { get = 1, use = 1 }"), ("get", ""), ("use", "")])).unwrap_err();
    assert!(message.contains("other -> use"), "{message}");
    // A branch with weight 0 is no way.
    walked(&flow(&[("other", "next = { get = 1, use = 0 }"), ("get", ""), ("use", "")])).unwrap();
    // In a mix nothing comes first.
    let message = walked("").unwrap_err();
    assert!(message.contains("random mix") && message.contains("write a [[flow]]"), "{message}");
    // A value for the time before is enough.
    walked("[variables]\ntoken = \"none\"").unwrap();
}

#[test]
fn a_request_can_use_values_of_its_own_response_only_for_objects() {
    let get = "[[request]]\nget = \"/\"\nextract = [{ name = \"t\", json = \"$.t\" }]\n";
    parse(&format!("{get}objects = [\"/{{{{t}}}}.css\"]")).unwrap();
    let message = parse(&format!("{get}headers = {{ X-T = \"{{{{t}}}}\" }}")).unwrap_err().to_string();
    assert!(message.contains("the same request needs it"), "{message}");
}

#[test]
fn mistakes_have_their_line_and_a_fix() {
    let request = "[[request]]\nget = \"/\"\n";
    for (text, line, parts) in [
        (
            "[[request]]\nget = \"/{{tokn}}\"\n[variables]\ntoken = \"x\"",
            3,
            &["{{tokn}} is undefined (did you mean `token`?)", "write {{'{{'}} instead"][..],
        ),
        ("[[request]]\nget = \"/{{user}}\"\n[variables]\nuser.file = \"users.csv\"", 3, &["{{user.name}}"]),
        (
            "[[request]]\nget = \"/{{user.nam}}\"\n[variables]\nuser.file = \"users.csv\"",
            3,
            &["no column `nam` (did you mean `name`?)"],
        ),
        ("[[request]]\nget = \"/{{a b}}\"", 3, &["{{a b}} is not a placeholder"]),
        ("[[request]]\nget = \"/{{now|yyyy}}\"", 3, &["`yyyy` is not a time format", "{{now|%Y-%m-%d}}"]),
        ("[[request]]\nget = \"/{{now|%Q}}\"", 3, &["`%Q` is not a time format"]),
        ("[variables]\nrun = \"x\"", 4, &["is built in"]),
        ("[[request]]\nget = \"/{{a.b}}\"\n[variables]\na = \"x\"", 3, &["has no columns"]),
        ("[variables]\nsession = \"x\"", 4, &["is built in"]),
        ("[variables]\n\"a b\" = \"x\"", 4, &["not a name"]),
        ("[variables]\na = { fil = \"x\" }", 4, &["did you mean `file`?"]),
        ("[variables]\na = { file = \"users.txt\" }", 4, &[".csv or .jsonl"]),
        ("[variables]\na = { file = \"users.jsonl\", separator = \";\" }", 4, &["need a .csv file"]),
        ("[variables]\na = { file = \"users.csv\", order = \"random\", at_end = \"stop\" }", 4, &["no last row"]),
        ("[variables]\na = { uuid = true, order = \"random\" }", 4, &["needs file"]),
        ("[variables]\na = { random = \"unifrom:1..2\" }", 4, &["did you mean `uniform`?"]),
        ("[variables]\na = { random = \"uniform:1\" }", 4, &["needs other values"]),
        ("[variables]\na = { random = \"uniform:1..2\", decimals = 12 }", 4, &["up to 9"]),
        (&format!("{request}check = [{{ statsu = 200 }}]"), 5, &["did you mean `status`?"]),
        (&format!("{request}check = [{{ status = 20 }}]"), 5, &["`20` is not a status"]),
        (&format!("{request}check = [{{ status = 200, is = \"x\" }}]"), 5, &["`=", "cannot be combined with status"]),
        (&format!("{request}check = [{{ body = true }}]"), 5, &["add is, contains or matches"]),
        (&format!("{request}check = [{{ size = \"large\" }}]"), 5, &["not a range of whole numbers"]),
        (&format!("{request}check = [{{ sha256 = \"ab\" }}]"), 5, &["64 hexadecimal digits"]),
        (
            &format!("{request}extract = [{{ name = \"a\", json = \"$\", css = \"p\" }}]"),
            5,
            &["`css` cannot be combined with `json`"],
        ),
        (&format!("{request}extract = [{{ name = \"a\", json = \"$\", attribute = \"x\" }}]"), 5, &["needs css"]),
        (&format!("{request}extract = [{{ name = \"a\", regex = \"x\", nth = 0 }}]"), 5, &["at least 1"]),
        (
            &format!("{request}extract = [{{ name = \"a\", json = \"$\", nth = \"any\" }}]"),
            5,
            &["not one of last, random"],
        ),
        (
            &format!("{request}extract = [{{ name = \"a\", json = \"$\", default = \"\", keep = true }}]"),
            5,
            &["cannot be combined with default"],
        ),
        (&format!("{request}on_failure = \"end_session\""), 5, &["did you mean `end-session`?"]),
        (&format!("{request}connections = 6"), 5, &["needs objects"]),
        (&format!("{request}objects = [\"a.css\"]"), 5, &["starts with /"]),
        (&format!("{request}raw = true"), 5, &["needs body_file"]),
        (&format!("{request}body = \"x\"\nform = {{}}"), 6, &["`form` cannot be combined with `body`"]),
        (&format!("{request}auth = {{ basic = \"me\" }}"), 5, &["has no colon"]),
        (&format!("{request}method = \"GET\""), 4, &["cannot be combined with method"]),
        ("[[request]]\npath = \"/\"", 4, &["needs a method"]),
        ("[[request]]\nmethod = \"get\"\npath = \"/\"", 4, &["capital letters"]),
        ("[target]\nurl = \"http://h/\"\nredirects = 1000", 5, &["up to 100"]),
    ] {
        let message = parse(text).expect_err(text).to_string();
        assert!(message.starts_with(&format!("w.toml:{line}: ")), "{text:?} gave {message}");
        for part in parts {
            assert!(message.contains(part), "{text:?}: `{part}` is not in `{message}`");
        }
    }
}

#[test]
fn unreadable_files_are_errors_only_when_needed() {
    // A recorded run is verified without its data files.
    let of = |file: &str| {
        let workload = parse(&format!("[variables]\na.file = \"{file}\"")).unwrap();
        let Source::Feeder(feeder) = &workload.0.variables[0].source else { panic!("a file") };
        feeder.rows.clone().unwrap_err()
    };
    assert_eq!(of("none.csv"), "no such file");
    assert!(of("ragged.csv").starts_with("line 3 has 1 values for 2 columns; correct it"));
    assert_eq!(of("empty.csv"), "the file has no rows");
    let unset = parse("[variables]\na.env = \"OFFERED_NOT_SET\"").unwrap();
    assert!(
        matches!(&unset.0.variables[0].source, Source::Constant(Err(why)) if why.contains("OFFERED_NOT_SET is not set"))
    );
    let body = requests("[[request]]\npost = \"/\"\nbody_file = \"none.json\"").remove(0).body;
    assert_eq!(body, Body::File { file: "none.json".to_owned(), raw: false, content: Err("no such file".to_owned()) });
}

#[test]
fn csv_files_of_other_forms_are_read() {
    let rows = |text: &'static str, keys: &str| {
        let text = Workload::parse(
            &format!(
                "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[variables]\na = {{ file = \"a.csv\", {keys} }}\n"
            ),
            "w.toml",
            &|_| Ok(text.into()),
        );
        let workload = text.unwrap_or_else(|why| panic!("{why}"));
        let Source::Feeder(feeder) = &workload.0.variables[0].source else { panic!("a file") };
        let rows = feeder.rows.clone().unwrap_or_else(|why| panic!("{why}"));
        (0..rows.len())
            .map(|row| (0..rows.columns().len()).map(|at| rows.cell(row, at).to_owned()).collect::<Vec<_>>().join("|"))
            .collect::<Vec<_>>()
    };
    assert_eq!(rows("a;b\n1;2,5\n", "separator = \";\""), ["1|2,5"]);
    assert_eq!(rows("a\tb\n1\t\n", "separator = \"\\t\""), ["1|"]);
    assert_eq!(rows("# made\n'x','y'\n1,2\n", "columns = [\"a\", \"b\"], skip_lines = 2"), ["1|2"]);
    assert_eq!(rows("a,b\n\"1,2\n", "quotes = false"), ["\"1|2"]);
    assert_eq!(rows("a,b\n1\n1,2,3\n", "ragged = true"), ["1|", "1|2"]);
    for (keys, why) in [
        ("separator = \";;\"", "expected one ASCII character"),
        ("separator = \"\\n\"", "expected one ASCII character"),
        ("quotes = 1", "expected"),
    ] {
        let message = parse(&format!("[variables]\na = {{ file = \"a.csv\", {keys} }}")).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }
    let message = parse("[variables]\na = { file = \"a.jsonl\", ragged = true }").unwrap_err().to_string();
    assert!(message.contains("need a .csv file"), "{message}");
}

#[test]
fn draws_are_functions_of_seed_variable_session_and_step() {
    let draw = Draw { distribution: Distribution::uniform(1.0, 3.0).unwrap(), shift: 0.0, decimals: 0, min: None };
    let mut counts = [0; 4];
    for session in 0..30_000 {
        let text = draw.text(Seed(1), 0, session, 0);
        assert_eq!(text, draw.text(Seed(1), 0, session, 0));
        counts[text.parse::<usize>().unwrap()] += 1;
    }
    // Both ends are as likely as the numbers between them.
    assert!(counts[0] == 0 && counts[1..].iter().all(|n| (9_500..10_500).contains(n)), "{counts:?}");
    let money = Draw { distribution: Distribution::uniform(1.0, 100.0).unwrap(), shift: 0.0, decimals: 2, min: None };
    let texts: std::collections::HashSet<String> = (0..4).map(|variable| money.text(Seed(1), variable, 7, 0)).collect();
    assert!(
        texts.len() == 4 && texts.iter().all(|text| text.split_once('.').is_some_and(|(_, d)| d.len() == 2)),
        "{texts:?}"
    );
}

#[test]
fn sizes_are_ranges_with_both_ends() {
    for (text, least, most) in [
        ("< 10", 0, 9),
        ("<= 10", 0, 10),
        ("> 10", 11, u64::MAX),
        (">=10", 10, u64::MAX),
        ("= 5", 5, 5),
        ("5", 5, 5),
        ("1..3", 1, 3),
    ] {
        assert_eq!(text.parse(), Ok(Sizes { least, most }), "{text}");
    }
    assert!("3..1".parse::<Sizes>().is_err() && "< 0".parse::<Sizes>().is_err());
}

#[test]
fn samples_can_be_below_zero() {
    let draw =
        Draw { distribution: Distribution::uniform(0.0, 10_000.0).unwrap(), shift: -5000.0, decimals: 0, min: None };
    let numbers: Vec<i64> = (0..20_000).map(|session| draw.text(Seed(1), 0, session, 0).parse().unwrap()).collect();
    let (least, most) = (numbers.iter().min().unwrap(), numbers.iter().max().unwrap());
    assert!((-5000..-4900).contains(least) && (4900..=5000).contains(most), "{least}..{most}");
    let read =
        parse("[variables]\ndelta = { random = \"uniform:-5000..5000\" }\n[[request]]\nget = \"/{{delta}}\"").unwrap();
    assert_eq!(read.0.variables[0].source, Source::Random(draw));
    assert!(read.to_string().contains("\"uniform:-5000..5000\""), "{read}");
}

#[test]
fn names_of_values_in_single_braces_are_reported() {
    let workload = parse(
        "[target]\nurl = \"http://h/\"\n[variables]\nuser = \"ann\"\nid.uuid = true\n[[request]]\nname = \"find\"\n\
         post = \"/{id}/{other}?n={session}\"\nbody = 'query{order{user}of(id:\"{{id}}\"){id}}'\nheaders = { X = \"{{'{'}}id}\" }\n\
         check = [{ body = true, contains = \"{user}\" }]",
    )
    .unwrap();
    let request = &workload.requests()[0];
    assert_eq!(request.path.text(), Some("/{id}/{other}?n={session}"));
    assert!(request.body.text().unwrap().as_str().starts_with("query{order{user}of"));
    let singles: Vec<(&str, String, bool)> = workload
        .singles()
        .into_iter()
        .map(|single| (single.key, single.name.clone(), single.may_be_literal()))
        .collect();
    let expected = [("path", "id"), ("path", "session"), ("body", "user"), ("body", "id"), ("check", "user")];
    assert_eq!(singles, expected.map(|(key, name)| (key, name.to_owned(), key == "body")));
    let message = workload.singles()[2].to_string();
    assert!(
        message.starts_with("request `find`: body has {user}, ") && message.contains("write {{user}} for the value"),
        "{message}"
    );
    // As it was written it is read again.
    let again = Workload::parse(&workload.to_string(), "w.toml", &|_| Err(String::new())).unwrap();
    assert_eq!(again.singles(), workload.singles());
}
