use super::*;
use proptest::prelude::*;

fn choice(format: &str) -> FormatChoice {
    FormatChoice { format: format.to_owned(), ..FormatChoice::default() }
}

/// The fields of the first entry of `log`: client, method, target, status, bytes, milliseconds, seconds of
/// time.
fn first(choice: &FormatChoice, log: &str) -> (String, String, String, u16, Option<u64>, Option<u64>, f64) {
    let mut format = choice.format(log.as_bytes()).unwrap();
    for line in log.lines() {
        if let Some(e) = format.parse(line.as_bytes()).unwrap() {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let ms = e.duration.map(|n| n / 1_000_000);
            return (text(e.client), text(e.method), text(e.target), e.status, e.bytes, ms, e.time as f64 / 1e9);
        }
    }
    panic!("no entry in {log}")
}

/// Format, log line, client, target and duration in ms.
type LogLine = (&'static str, &'static str, &'static str, &'static str, Option<u64>);

const LOG_LINES: [LogLine; 11] = [
    (
        "common/combined",
        "h.example - - [14/Oct/2026:13:46:40 -0400] \"GET /a HTTP/1.0\" 200 1713\n",
        "h.example",
        "/a",
        None,
    ),
    (
        "common/combined",
        "2001:db8::1 - bob smith [14/Oct/2026:17:46:40 +0000] \"GET /a \\\"b\\\" HTTP/1.1\" 200 1713 \"-\" \"Mozilla/5.0 \\\"x\\\"\" 0.2\n",
        "2001:db8::1",
        "/a \\\"b\\\"",
        None,
    ),
    (
        "vhost-combined",
        "www.x.org:443 ::1 - - [14/Oct/2026:17:46:40 +0000] \"GET /a HTTP/1.1\" 200 1713 \"-\" \"curl\"\n",
        "::1",
        "/a",
        None,
    ),
    (
        "squid",
        "1792000000.000    250 10.0.0.9 TCP_MISS/200 1713 GET http://x.org/a?b - DIRECT/1.2.3.4 text/html\n",
        "10.0.0.9",
        "/a?b",
        Some(250),
    ),
    (
        "w3c",
        "#Software: IIS\n#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query c-ip sc-status sc-bytes time-taken\n2026-10-14 17:46:40 1.1.1.1 GET /a x=1 10.0.0.9 200 1713 250\n",
        "10.0.0.9",
        "/a?x=1",
        Some(250),
    ),
    (
        "w3c",
        "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query time-taken\n2026-10-14\t17:46:40\tFRA2\t1713\t10.0.0.9\tGET\td.net\t/a\t200\t-\tM%20z\t-\t0.250\n",
        "10.0.0.9",
        "/a",
        Some(250),
    ),
    (
        "elb",
        "2026-10-14T17:46:40.000000Z my-lb 10.0.0.9:2817 10.0.0.1:80 0.000050 0.250000 0.000060 200 200 0 1713 \"GET http://x.org:80/a HTTP/1.1\" \"curl/7\" - -\n",
        "10.0.0.9",
        "/a",
        Some(250),
    ),
    (
        "elb",
        "h2 2026-10-14T17:46:40.000000Z app/lb/5 2001:db8::1:2817 10.0.0.1:80 0.000 0.250 0.000 200 200 34 1713 \"GET https://x.org:443/a HTTP/2.0\" \"curl/7\" A B arn \"R\" \"-\" \"-\" 0 2026-10-14T17:46:39Z \"forward\" \"-\" \"-\"\n",
        "2001:db8::1",
        "/a",
        Some(250),
    ),
    (
        "json",
        "{\"level\":\"info\",\"ts\":1792000000.0,\"request\":{\"remote_ip\":\"10.0.0.9\",\"method\":\"GET\",\"uri\":\"/a\",\"headers\":{\"User-Agent\":[\"curl\"]}},\"duration\":0.25,\"size\":1713,\"status\":200}\n",
        "10.0.0.9",
        "/a",
        Some(250),
    ),
    (
        "json",
        "{\"ClientHost\":\"10.0.0.9\",\"DownstreamContentSize\":1713,\"DownstreamStatus\":200,\"Duration\":250000000,\"RequestMethod\":\"GET\",\"RequestPath\":\"/a\",\"StartUTC\":\"2026-10-14T17:46:40Z\"}\n",
        "10.0.0.9",
        "/a",
        Some(250),
    ),
    (
        "json",
        "{\"time_local\":\"14/Oct/2026:17:46:40 +0000\",\"remote_addr\":\"10.0.0.9\",\"request\":\"GET /a HTTP/1.1\",\"status\":\"200\",\"body_bytes_sent\":\"1713\",\"request_time\":\"0.250\"}\n",
        "10.0.0.9",
        "/a",
        Some(250),
    ),
];

#[test]
fn web_server_formats_are_detected_and_parsed() {
    let nine = 1_792_000_000.0 / 1.0; // 14 October 2026, 17:46:40 UTC
    for (name, log, client, target, ms) in LOG_LINES {
        assert_eq!(choice("auto").format(log.as_bytes()).unwrap().name(), name, "{log}");
        let expected = (client.to_owned(), "GET".to_owned(), target.to_owned(), 200, Some(1713), ms, nine);
        assert_eq!(first(&choice("auto"), log), expected, "{log}");
    }
}

#[test]
fn cloud_and_application_server_formats_are_detected_and_parsed() {
    for (name, log, bytes, ms) in [
        (
            "haproxy",
            "Oct 14 17:46:40 localhost haproxy[14389]: 10.0.0.9:33317 [14/Oct/2026:17:46:40.000] http-in static/srv1 10/0/30/69/250 200 1713 - - ---- 1/1/1/1/0 0/0 {1wt.eu} {} \"GET /a HTTP/1.1\"\n",
            Some(1713),
            Some(250),
        ),
        (
            "envoy",
            "[2026-10-14T17:46:40.000Z] \"GET /a HTTP/2\" 200 - 154 1713 250 100 \"10.0.0.9, 10.0.0.1\" \"nsq2http\" \"cc21d9b0\" \"locations\" \"tcp://10.0.2.1:80\"\n",
            Some(1713),
            Some(250),
        ),
        (
            "envoy",
            "[2026-10-14T17:46:40.000Z] \"GET /a HTTP/1.1\" 200 - via_upstream - \"-\" 0 1713 250 3 \"10.0.0.9\" \"curl/7\" \"92e4\" \"httpbin:8000\" \"127.0.0.1:80\" inbound|8000|| 127.0.0.1:41854\n",
            Some(1713),
            Some(250),
        ),
        // IIS since 8.5 and before, from the middle of a file.
        (
            "w3c",
            "2026-10-14 17:46:40 10.1.0.5 GET /a - 443 - 10.0.0.9 Mozilla/5.0+(Windows+NT) https://x.org/ 200 0 0 250\n",
            None,
            Some(250),
        ),
        ("w3c", "2026-10-14 17:46:40 10.1.0.5 GET /a - 80 - 10.0.0.9 Mozilla/4.0 200 0 0 250\n", None, Some(250)),
        (
            "s3",
            "79a59df900b949e5 my-bucket [14/Oct/2026:17:46:40 +0000] 10.0.0.9 79a59df900b949e5 3E57427F3EXAMPLE REST.GET.OBJECT a \"GET /a HTTP/1.1\" 200 - 1713 4406583 250 28 \"-\" \"S3Console/0.4\" - 10S62Zv8 SigV4 ECDHE AuthHeader my-bucket.s3.amazonaws.com TLSV1.2 - -\n",
            Some(1713),
            Some(250),
        ),
        (
            "uwsgi",
            "[pid: 596|app: 0|req: 24/72] 10.0.0.9 () {50 vars in 1043 bytes} [Wed Oct 14 17:46:40 2026] GET /a => generated 1713 bytes in 250 msecs (HTTP/1.1 200) 3 headers in 112 bytes (1 switches on core 0)\n",
            Some(1713),
            Some(250),
        ),
        (
            "json",
            "{\"httpRequest\":{\"latency\":\"0.250s\",\"remoteIp\":\"10.0.0.9\",\"requestMethod\":\"GET\",\"requestSize\":\"75\",\"requestUrl\":\"https://x.org/a\",\"responseSize\":\"1713\",\"status\":200,\"userAgent\":\"curl\"},\"insertId\":\"1\",\"jsonPayload\":{\"statusDetails\":\"response_sent_by_backend\"},\"timestamp\":\"2026-10-14T17:46:40.000000Z\"}\n",
            Some(1713),
            Some(250),
        ),
        (
            "json",
            "{\"ClientIP\":\"10.0.0.9\",\"ClientRequestHost\":\"x.org\",\"ClientRequestMethod\":\"GET\",\"ClientRequestURI\":\"/a\",\"EdgeEndTimestamp\":\"2026-10-14T17:46:41Z\",\"EdgeResponseBytes\":1713,\"EdgeResponseStatus\":200,\"EdgeStartTimestamp\":\"2026-10-14T17:46:40Z\",\"RayID\":\"3a6050bcbe121a87\"}\n",
            Some(1713),
            None,
        ),
        (
            "json",
            "{\"start_time\":\"2026-10-14T17:46:40.000Z\",\"method\":\"GET\",\"path\":\"/a\",\"response_code\":200,\"bytes_sent\":1713,\"duration\":250,\"upstream_cluster\":\"inbound|8000||\",\"x_forwarded_for\":\"10.0.0.9,10.1.0.1\",\"user_agent\":\"curl\"}\n",
            Some(1713),
            Some(250),
        ),
    ] {
        assert_eq!(choice("auto").format(log.as_bytes()).unwrap().name(), name, "{log}");
        let expected = ("10.0.0.9".to_owned(), "GET".to_owned(), "/a".to_owned(), 200, bytes, ms, 1_792_000_000.0);
        assert_eq!(first(&choice("auto"), log), expected, "{log}");
    }
}

#[test]
fn format_strings_of_nginx_and_apache_are_compiled() {
    let nginx = choice(
        "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent \"$http_referer\" \"$http_user_agent\" rt=$request_time cs=${upstream_cache_status}",
    );
    let line = "10.0.0.9 - - [14/Oct/2026:17:46:40 +0000] \"GET /a?q=\\\"x\\\" HTTP/1.1\" 200 1713 \"-\" \"curl \\\"7\\\"\" rt=0.250 cs=HIT";
    let (client, _, target, status, bytes, ms, _) = first(&nginx, line);
    assert_eq!(
        (client.as_str(), target.as_str(), status, bytes, ms),
        ("10.0.0.9", "/a?q=\\\"x\\\"", 200, Some(1713), Some(250))
    );
    let apache = choice(r#"%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\" %D"#);
    let line = "x.org:80 10.0.0.9 - - [14/Oct/2026:17:46:40 +0000] \"GET /a HTTP/1.1\" 200 1713 \"-\" \"curl\" 250000";
    let (client, _, target, _, bytes, ms, _) = first(&apache, line);
    assert_eq!((client.as_str(), target.as_str(), bytes, ms), ("10.0.0.9", "/a", Some(1713), Some(250)));
    for (text, part) in [
        ("$remote_addr $status", "no field for the time"),
        ("$remote_addr [$time_local] $status", "no field for the request"),
        ("$remote_addr$time_local \"$request\"", "not separated"),
        ("%h %{%d/%b}t \"%r\"", "is not supported"),
        ("%h %", "ends in %"),
        ("combind", "unknown log format"),
    ] {
        let why = choice(text).check().unwrap_err();
        assert!(why.contains(part), "{text}: {why}");
    }
}

#[test]
fn users_can_be_identified_by_a_field() {
    for (format, user, log) in [
        ("auto", "user", "h - bob smith [14/Oct/2026:17:46:40 +0000] \"GET /a HTTP/1.0\" 200 1713\n"),
        (
            "$remote_addr [$time_local] \"$request\" $cookie_sid",
            "cookie_sid",
            "h [14/Oct/2026:17:46:40 +0000] \"GET /a HTTP/1.0\" bob smith",
        ),
        ("%h %t \"%r\" %{sid}C", "sid", "h [14/Oct/2026:17:46:40 +0000] \"GET /a HTTP/1.0\" bob smith"),
        ("json", "sid", "{\"ts\":1792000000,\"ip\":\"h\",\"uri\":\"/a\",\"sid\":\"bob smith\"}"),
    ] {
        let choice = FormatChoice { format: format.to_owned(), user: Some(user.to_owned()), ..FormatChoice::default() };
        let mut format = choice.format(log.as_bytes()).unwrap();
        assert_eq!(format.parse(trimmed(log.trim_end().as_bytes())).unwrap().unwrap().user, b"bob smith");
    }
    let none = FormatChoice { format: "squid".to_owned(), user: Some("sid".to_owned()), ..FormatChoice::default() };
    assert!(none.check().unwrap_err().contains("no field `sid`"));
}

#[test]
fn json_keys_can_be_mapped() {
    let mapped = FormatChoice { mapping: "client=who.addr, target=what,time=when".to_owned(), ..choice("json") };
    let log = "{\"when\":\"2026-10-14T17:46:40Z\",\"who\":{\"addr\":\"h\"},\"what\":\"/a\",\"ts\":1}";
    assert_eq!(first(&mapped, log).2, "/a");
    let wrong = FormatChoice { mapping: "clinet=x".to_owned(), ..choice("json") };
    assert!(wrong.check().unwrap_err().contains("invalid mapping"));
}

#[test]
fn json_times_out_of_range_are_rejected() {
    let mut format = choice("json").format(b"{\"ts\":1792000000,\"ip\":\"h\",\"uri\":\"/a\"}").unwrap();
    assert!(format.parse(b"{\"ts\":1e30,\"ip\":\"h\",\"uri\":\"/a\"}").is_err());
}

#[test]
fn worldcup_records_are_read() {
    let mut record = Vec::new();
    for word in [898_000_000u32, 77, 1234, 500] {
        record.extend(word.to_be_bytes());
    }
    record.extend([0, 0x80 | 2, 1, 3]);
    let log = record.repeat(3);
    let mut format = choice("auto").format(&log).unwrap();
    let entry = format.parse(&log[..20]).unwrap().unwrap();
    assert_eq!(
        (entry.target, entry.method, entry.status, entry.bytes),
        (&b"/1234.gif"[..], &b"GET"[..], 200, Some(500))
    );
    assert_eq!((entry.client, entry.time), (&[0, 0, 0, 77][..], 898_000_000_000_000_000));
}

#[test]
fn lines_of_old_and_broken_servers() {
    let mut format = choice("common").format(b"").unwrap();
    for (line, target, bytes) in [
        ("h - - [14/Oct/2026:17:46:40 +0000] \"GET /old\" 200 -", "/old", None),
        ("h - - [14/Oct/2026:17:46:40 +0000] \"GET index.html HTTP/1.0\" 304 0", "index.html", Some(0)),
        ("h - - [14/Oct/2026:17:46:40 +0000] \"GET /a \"quoted\" b HTTP/1.0\" 200 5", "/a \"quoted\" b", Some(5)),
        ("h - - [14/Oct/2026:17:46:40 +0000] \"GET /\\xe4\\x22 HTTP/1.0\" 404 5", "/\\xe4\\x22", Some(5)),
        ("h [29:23:53:25] \"GET /epa HTTP/1.0\" 200 1497", "/epa", Some(1497)),
        ("h - [a] [14/Oct/2026:17:46:40 +0000] \"GET /b HTTP/1.0\" 200 1", "/b", Some(1)),
    ] {
        let entry = format.parse(line.as_bytes()).unwrap().unwrap();
        assert_eq!((String::from_utf8_lossy(entry.target).as_ref(), entry.bytes), (target, bytes), "{line}");
        assert_eq!(entry.client, b"h");
    }
    for line in [
        "",
        "-",
        "h - - [14/Oct/2026:17:46:40 +0000] \"-\" 408 -",
        "h - - [14/Oct/2026:17:46:40 +0000] \"GET /a HTTP/1.0",
        "h - - [14/Oct/2026:17:46:40 +0000] \"GET  HTTP/1.0\" 200 1",
        "h - - [14/Nov/26] \"GET /a HTTP/1.0\" 200 1",
        "[14/Oct/2026:17:46:40 +0000] \"GET /a HTTP/1.0\" 200 1",
        "h - - [14/Oct/2026:17:46:40 +0000] \"\\x16\\x03\\x01 x\" 400 226",
    ] {
        assert!(format.parse(line.as_bytes()).is_err(), "{line}");
    }
}

#[test]
fn unknown_formats_are_rejected_with_the_list_of_formats() {
    let why = choice("auto").format(b"hello\nworld\n").unwrap_err();
    assert!(why.contains("first 2 lines") && why.contains("select one of auto, common"), "{why}");
}

proptest! {
    #[test]
    fn no_bytes_make_a_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for name in NAMES.into_iter().skip(1).chain(["$remote_addr [$time_local] \"$request\"", "%h %t \"%r\" %D"]) {
            let mut format = choice(name).format(b"").unwrap();
            let _ = format.parse(b"#Fields: date time c-ip cs-uri-stem");
            let _ = format.parse(trimmed(&bytes));
        }
        let _ = choice("auto").format(&bytes);
    }

    #[test]
    fn no_mangled_line_makes_a_reader_panic(line in "[0-9a-z./:\\[\\]\" \\\\{},#%+-]{0,120}") {
        for name in NAMES.into_iter().skip(1) {
            let _ = choice(name).format(b"").unwrap().parse(trimmed(line.as_bytes()));
        }
    }
}

#[test]
fn jobs_are_requests_with_their_run_time_as_work() {
    let log = b"; UnixStartTime: 749458803\n 57 25574.5 -1 10 1 -1 -1 -1 -1 -1 1 4 1 2 -1 -1 -1 -1\n";
    for (user, found) in [(None, ""), (Some("executable"), "2"), (Some("group"), "1")] {
        let choice = FormatChoice { user: user.map(str::to_owned), ..FormatChoice::default() };
        let mut format = choice.format(log).unwrap();
        assert_eq!(format.name(), "swf");
        let mut lines = log.split(|b| *b == b'\n');
        assert_eq!(format.parse(lines.next().unwrap()), Ok(None));
        let entry = format.parse(lines.next().unwrap()).unwrap().unwrap();
        assert_eq!((entry.time, entry.client, entry.user), (749_484_377_500_000_000, &b"4"[..], found.as_bytes()));
        assert_eq!((entry.target, entry.duration, entry.status), (&b"/processors-1"[..], Some(10_000_000_000), 0));
    }
    let unknown = FormatChoice { user: Some("wife".to_owned()), format: "swf".to_owned(), ..FormatChoice::default() };
    assert!(unknown.check().unwrap_err().contains("no field `wife`; expected user, group"));
    let mut format = choice("swf").format(b"").unwrap();
    let unrun = format.parse(b"1 0 -1 -1 1 -1 -1 -1 -1 -1 5 4 1 2 -1 -1 -1 -1").unwrap().unwrap();
    assert_eq!(unrun.duration, None);
    for line in [
        "1 -1 -1 5 1 -1 -1 -1 -1 -1 1 4 1 2 -1 -1 -1 -1",
        "1 1e300 -1 5 1 -1 -1 -1 -1 -1 1 4 1 2 -1 -1 -1 -1",
        "a b",
        "\u{e4}",
    ] {
        assert!(format.parse(line.as_bytes()).is_err(), "{line}");
    }
}
