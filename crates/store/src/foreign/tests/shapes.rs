//! One small file of every format, as documented by its tool, and the expected recording.

use offered_events::Note;
use offered_events::note::RowKind;

use super::{language_models, *};

pub(super) const SAMPLES: [(&str, &str); 35] = [
    (
        "jtl-csv",
        "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,failureMessage,bytes,sentBytes,\
         grpThreads,allThreads,URL,Latency,IdleTime,Connect\n\
         1500000000000,100,home,200,OK,Users 1-1,text,true,,5000,120,2,2,http://h/,40,0,3\n\
         1500000000050,20,\"a, \"\"b\"\"\nc\",500,\"Server\nError\",Users 1-2,text,false,\"x,y\",700,120,2,2,http://h/b,19,0,0\n\
         1500000000300,5,home,Non HTTP response code: java.net.SocketTimeoutException,Read timed out,Users 1-1,,false,,0,0,1,1,null,0,0,5\n",
    ),
    (
        "jtl-csv",
        "1500000000000\t100\thome\t200\tOK\tUsers 1-1\ttext\ttrue\t5000\t2\t2\t40\n1500000000120\t10\thome\t200\tOK\tUsers 1-2\ttext\ttrue\t5000\t2\t2\t7\n",
    ),
    (
        "jtl-csv",
        "timeStamp|elapsed|label|success\n2017/07/14 02:40:00.000|100|home|true\n2017/07/14 02:40:00.250|100|home|true\n",
    ),
    (
        "jtl-xml",
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testResults version=\"1.2\">\n\
         <httpSample t=\"100\" lt=\"40\" ts=\"1500000000000\" s=\"true\" lb=\"a &amp; b\" rc=\"200\" rm=\"OK\" tn=\"Users 1-1\" by=\"9\">\n\
         \x20 <httpSample t=\"60\" lt=\"40\" ts=\"1500000000000\" s=\"true\" lb=\"a-0\" rc=\"302\" rm=\"Found\" tn=\"Users 1-1\"/>\n\
         \x20 <java.net.URL>http://h/</java.net.URL>\n</httpSample>\n\
         <sample t=\"30\" ts=\"1500000000200\" s=\"true\" lb=\"basket\" rc=\"200\" rm=\"Number of samples in transaction : 2, number of failing samples : 0\" tn=\"Users 1-1\">\n\
         \x20 <httpSample t=\"10\" ts=\"1500000000200\" s=\"true\" lb=\"c\" rc=\"200\" rm=\"OK\" tn=\"Users 1-1\"/>\n\
         \x20 <httpSample t=\"20\" ts=\"1500000000210\" s=\"false\" lb=\"d\" rc=\"404\" rm=\"Not Found\" tn=\"Users 1-1\"/>\n\
         </sample>\n</testResults>\n",
    ),
    (
        "gatling-text",
        "RUN\tcomputerdatabase.Sim\tsim\t1500000000000\t \t3.10.5\nUSER\tUsers\tSTART\t1500000000001\n\
         REQUEST\t\thome\t1500000000002\t1500000000020\tOK\t \nREQUEST\tbasket,pay\tpay\t1500000000030\t1500000000040\tKO\tstatus.find.is(200), but actually found 500\n\
         GROUP\tbasket\t1500000000002\t1500000000020\t18\tOK\nUSER\tUsers\tEND\t1500000000050\n",
    ),
    (
        "gatling-text",
        "RUN\tcomputerdatabase.Sim\t\tsim\t1500000000000\t \t2.0\nREQUEST\tUsers\t7\t\thome\t1500000000002\t1500000000020\tOK\t \n\
         REQUEST\tUsers\t8\t\thome\t1500000000005\t1500000000025\tOK\t \n",
    ),
    (
        "gatling-text",
        "computerdatabase.Sim\tsim\tRUN\t1500000000000\t \t2.0\n\
         Users\t4711-7\tREQUEST\t\thome\t1500000000002\t1500000000003\t1500000000018\t1500000000020\tOK\t \n\
         Users\t4711-8\tREQUEST\t\thome\t1500000000004\t1500000000005\t1500000000019\t1500000000022\tOK\t \n",
    ),
    (
        "k6-csv",
        "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,proto,scenario,service,status,subproto,tls_version,url,extra_tags,metadata\n\
         http_reqs,1500000000100000000,1.000000,,,,true,,GET,home,HTTP/1.1,a,,200,,,http://h/,,vu=3&iter=0\n\
         http_req_duration,1500000000100000000,10.000000,,,,true,,GET,home,HTTP/1.1,a,,200,,,http://h/,,\n\
         http_req_blocked,1500000000100000000,5.000000,,,,true,,GET,home,HTTP/1.1,a,,200,,,http://h/,,\n\
         http_req_connecting,1500000000100000000,2.000000,,,,true,,GET,home,HTTP/1.1,a,,200,,,http://h/,,\n\
         http_req_tls_handshaking,1500000000100000000,2.500000,,,,true,,GET,home,HTTP/1.1,a,,200,,,http://h/,,\n\
         http_req_receiving,1500000000100000000,1.000000,,,,true,,GET,home,HTTP/1.1,a,,200,,,http://h/,,\n\
         vus,1500000000100000000,3.000000,,,,,,,,,,,,,,,,\n",
    ),
    (
        "k6-json",
        "{\"type\":\"Metric\",\"data\":{\"name\":\"http_reqs\",\"type\":\"counter\",\"contains\":\"default\",\"thresholds\":[],\"submetrics\":null},\"metric\":\"http_reqs\"}\n\
         {\"metric\":\"http_reqs\",\"type\":\"Point\",\"data\":{\"time\":\"2017-07-14T02:40:00.1Z\",\"value\":1,\"tags\":{\"name\":\"home\",\"status\":\"503\",\"vu\":\"3\"}}}\n\
         {\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{\"time\":\"2017-07-14T02:40:00.1Z\",\"value\":10.0,\"tags\":{\"name\":\"home\",\"status\":\"503\"}}}\n\
         {\"metric\":\"http_req_blocked\",\"type\":\"Point\",\"data\":{\"time\":\"2017-07-14T02:40:00.1Z\",\"value\":5,\"tags\":{\"name\":\"home\",\"status\":\"503\"}}}\n",
    ),
    (
        "vegeta-csv",
        "1500000000000000000,200,1000000,10,20,,b2sK,,0,GET,http://h/,\n1500000000010000000,0,2000000,0,0,\"Get \"\"http://h/\"\": dial tcp: connect: connection refused\",,,1,GET,http://h/,\n",
    ),
    (
        "vegeta-json",
        "{\"attack\":\"\",\"seq\":0,\"code\":200,\"timestamp\":\"2017-07-14T04:40:00+02:00\",\"latency\":1000000,\"bytes_out\":10,\"bytes_in\":20,\"error\":\"\",\"body\":null,\"method\":\"GET\",\"url\":\"http://h/\",\"headers\":null}\n",
    ),
    (
        "fortio",
        "{\"latency\":0.001,\"timestamp\":1500000000000000000,\"thread\":3,\"iter\":0,\"ok\":true,\"details\":\"200\"}\n{\"latency\":0.002,\"timestamp\":1500000000500000000,\"thread\":3,\"iter\":1,\"ok\":false,\"details\":\"503\"}\n",
    ),
    (
        "goose-json",
        "{\"coordinated_omission_elapsed\":0,\"elapsed\":100,\"error\":\"\",\"final_url\":\"http://h/\",\"name\":\"home\",\"raw\":{\"body\":\"\",\"headers\":[],\"method\":\"Get\",\"url\":\"http://h/\"},\"redirected\":false,\"response_time\":7,\"status_code\":200,\"success\":true,\"update\":false,\"user\":4,\"user_cadence\":0}\n{\"coordinated_omission_elapsed\":500,\"elapsed\":150,\"error\":\"\",\"final_url\":\"http://h/\",\"name\":\"home\",\"raw\":{\"body\":\"\",\"headers\":[],\"method\":\"Get\",\"url\":\"http://h/\"},\"redirected\":false,\"response_time\":70,\"status_code\":200,\"success\":true,\"update\":false,\"user\":4,\"user_cadence\":60}\n",
    ),
    (
        "goose-csv",
        "elapsed,method,name,url,final_url,redirected,response_time,status_code,success,update,user,error,coordinated_omission_elapsed,user_cadence\n100,GET,\"(Anon) page\",\"http://h/\",\"http://h/\",false,25,200,true,false,3,,0,0\n150,GET,\"(Anon) page\",\"http://h/\",\"http://h/\",false,2,503,false,false,4,503 Service Unavailable,0,0\n",
    ),
    (
        "hey-csv",
        "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n0.0020,0.0006,0.0000,0.0002,0.0010,0.0001,200,0.1096\n0.0056,0.0000,0.0000,0.0001,0.0052,0.0001,404,0.1100\n",
    ),
    (
        "oha-csv",
        "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n0.000517,0.0001,0.0002,0.0009,0.001,3,200\n0.010517,0,0,0.0009,0.001,3,200\n",
    ),
    (
        "locust-csv",
        "timestamp,request_type,name,response_time_ms,response_length,status_code,exception\n1500000000.25,GET,/,12.34,512,200,\n1500000000.75,GET,/b,3.5,0,0,\"ConnectionRefusedError(111, 'Connection refused')\"\n",
    ),
    (
        "locust-csv",
        "start_time,request_type,name,response_time,response_length,exception\n1500000000.25,GET,/,12.34,512,None\n",
    ),
    (
        "ab-g",
        "starttime\tseconds\tctime\tdtime\tttime\twait\nFri Jul 14 02:40:00 2017\t1500000000\t1\t5\t6\t4\nFri Jul 14 02:40:01 2017\t1500000001\t0\t7\t7\t7\n",
    ),
    (
        "har",
        "{\"log\":{\"version\":\"1.2\",\"creator\":{},\"pages\":[],\"entries\":[{\"pageref\":\"page_1\",\"startedDateTime\":\"2017-07-14T02:40:00.000Z\",\"time\":50.5,\"request\":{\"method\":\"GET\",\"url\":\"http://h/a?b=1\",\"bodySize\":-1},\"response\":{\"status\":200,\"bodySize\":77},\"timings\":{\"send\":0,\"wait\":40,\"receive\":10}}]}}",
    ),
    (
        "phout",
        "1500000000.250\thome#1\t1000\t100\t50\t800\t50\t0\t120\t512\t0\t200\n1500000000.500\thome#2\t2000\t0\t0\t0\t0\t0\t120\t0\t110\t0\n",
    ),
    ("h2load", "1500000000000500\t200\t1582\n1500000000001000\t-1\t46994\n"),
    (
        "pgbench",
        "0 1 4883 0 1500000000 666547 99\n1 1 skipped 0 1500000000 672648 100\n0 2 serialization 0 1500000000 700000\n",
    ),
    ("pgbench", "0 199 2241 0 1500000000 995407\n0 200 2465 0 1500000001 2871\n"),
    (
        "access-log",
        "h1 - - [14/Jul/2017:02:40:00 +0000] \"GET /a?x=1 HTTP/1.1\" 200 512\nh2 - bob [14/Jul/2017:04:40:01 +0200] \"GET /b\"c HTTP/1.1\" 404 - \"-\" \"Mozilla/5.0 (X11)\"\n",
    ),
    (
        "tsung",
        "#date;pid;id;http method;host;URL;HTTP status;size;duration;transaction;match;error;tag\n1500000000.25;<0.1.0>;1;get;h;/a?b=1;200;77;12.5;;;;\n1500000000.5;<0.2.0>;2;get;h;/c;404;0;3;buy;match;;shop\n",
    ),
    (
        "siege",
        "The server is now under siege...\n[Fri, 2017-07-14 02:40:00] HTTP/1.1 200     0.12 secs:    4003 bytes ==> GET  /a\nHTTP/1.1,404,  0.01,     15,/b,0,2017-07-14 02:40:01\n",
    ),
    ("aiperf", language_models::AIPERF),
    ("guidellm", language_models::GUIDELLM),
    ("vllm-bench", language_models::VLLM),
    ("inference-perf", language_models::INFERENCE_PERF),
    ("instants", "# made by hand\n1500000000.25\n1500000000.5\n"),
    ("instants", "2017-07-14T02:40:00.250Z\n2017-07-14T02:40:00.500Z\n"),
    ("instants", "1500000000250\n1500000000500\n"),
    (
        "offered-csv",
        "intended_ns,sent_ns,first_byte_ns,done_ns,session,step,label,outcome,status,bytes_out,bytes_in,worker,connection,reused,error,handshake_ns,object,tick_ns\n\
         1500000000000000000,1500000000000012345,1500000000001000000,1500000000002000000,7,1,'=home,ok,200,77,512,1,3,true,,2500,0,1\n\
         1500000000000000000,1500000000000012345,,1500000000003000000,7,1,'=home,ok,200,77,512,1,3,true,,,1,1\n\
         1500000000010000000,,,,8,0,b,unsent,0,0,0,0,0,false,\"late, \"\"skipped\"\"\",,0,1\n",
    ),
];

/// The `n`-th sample of a format.
pub(super) fn sample(format: &str, n: usize) -> Recording {
    parse(SAMPLES.iter().filter(|(name, _)| *name == format).nth(n).unwrap().1).unwrap()
}

pub(super) const T0: Instant = Instant::from_secs(1_500_000_000);

pub(super) fn after(ms: f64) -> Instant {
    T0 + Nanos::from_secs_f64(ms / 1e3)
}

#[test]
fn every_sample_is_detected_by_content_and_read_completely() {
    for (format, text) in SAMPLES {
        let recording = parse(text).unwrap();
        assert_eq!(
            (recording.format.as_str(), recording.unreadable),
            (format, 0),
            "{text}: {:?}",
            recording.complaints
        );
        assert!(recording.events.launches() > 0, "{text}");
        for event in &recording.events.to_vec().unwrap() {
            let ends =
                event.sent.is_none_or(|sent| event.intended <= sent && event.done.is_none_or(|done| sent <= done));
            assert!(
                ends && event.first_byte.is_none_or(|at| Some(at) >= event.sent && Some(at) <= event.done),
                "{event:?}"
            );
            assert!(usize::from(event.label) < recording.labels.len());
        }
        // Line endings do not matter, and a last row without newline counts.
        let crlf = parse(text.replace('\n', "\r\n")).unwrap();
        assert_eq!(crlf.events.launches(), recording.events.launches(), "{text}");
        let open = parse(text.trim_end()).unwrap();
        assert_eq!(open.events.to_vec().unwrap(), recording.events.to_vec().unwrap(), "{text}");
    }
    for reader in READERS {
        let own = SAMPLES.iter().any(|(name, _)| *name == reader.name);
        assert!(
            own || ["gatling-binary", "vegeta-gob", "oha-db", "csv", "tsv"].contains(&reader.name),
            "no sample of {}",
            reader.name
        );
        assert_eq!(InputFormat::from_name(reader.name).unwrap().name(), reader.name);
    }
}

#[test]
fn our_own_csv() {
    let own = sample("offered-csv", 0);
    let text = SAMPLES.iter().find(|(name, _)| *name == "offered-csv").unwrap().1;
    assert_eq!((own.intent_known, own.sessions_known, own.resolution), (true, true, Nanos(1)));
    assert_eq!(own.labels, ["=home", "b"]);
    let [home, unsent] = &own.events.to_vec().unwrap()[..] else { panic!() };
    assert_eq!((home.intended, home.sent), (T0, Some(T0 + Nanos(12_345))));
    assert_eq!((home.session, home.step, home.status, home.worker, home.connection), (7, 1, 200, 1, 3));
    assert_eq!((home.handshake, home.reused, home.bytes_in), (Some(Nanos(2500)), true, 512));
    assert_eq!((unsent.outcome, &*unsent.why()), (Outcome::Unsent, "late, \"skipped\""));
    let mut objects = Vec::new();
    own.events.each_object(|object| objects.push((object.object, object.label))).unwrap();
    assert_eq!(objects, [(1, 0)]);
    // For a file without scheduled times and sessions, in whole milliseconds.
    let coarse = text.replace("1500000000000000000,", ",").replace(",7,1,", ",,1,").replace(",1\n", ",1000000\n");
    let coarse = parse(coarse.lines().take(2).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    assert_eq!((coarse.intent_known, coarse.sessions_known, coarse.resolution), (false, false, Nanos(1_000_000)));
    assert_eq!(coarse.events.to_vec().unwrap()[0].intended, T0 + Nanos(12_345));
    let backwards = text.replace("1500000000002000000", "1400000000002000000");
    assert!(parse(backwards).unwrap().complaints[0].ends_with("the end of the request is before its send time"));
}

/// Made by Go's `encoding/gob` from two structs with the fields of vegeta's `lib.Result`.
const GOB: &[u8] = include_bytes!("vegeta.gob");

#[test]
fn vegeta_gob() {
    let gob = parse(GOB).unwrap();
    assert_eq!(
        (gob.format.as_str(), gob.unreadable, gob.labels.as_slice()),
        ("vegeta-gob", 0, &["GET http://h/".to_owned()][..])
    );
    let [good, refused] = &gob.events.to_vec().unwrap()[..] else { panic!() };
    let at = T0 + Nanos(123_456_789);
    assert_eq!((good.sent, good.done, good.status), (Some(at), Some(at + Nanos(1_000_000)), 200));
    assert_eq!((good.outcome, good.bytes_out, good.bytes_in), (Outcome::Ok, 10, 20));
    assert_eq!((refused.sent, refused.outcome), (Some(at + Nanos(10_000_000)), Outcome::Refused));
    assert_eq!(refused.service(), Some(Nanos::from_secs(2).into()));
    // Two attacks in one file: each stream defines its types again.
    assert_eq!(parse([GOB, GOB].concat()).unwrap().events.launches(), 4);
    let cut = parse(&GOB[..GOB.len() - 5]).unwrap();
    assert!(cut.events.launches() == 1 && cut.notes[0] == Note::Truncated, "{:?}", cut.notes);
}

proptest::proptest! {
    #[test]
    fn a_damaged_gob_causes_no_panic(at in 0..GOB.len(), byte: u8, second in 0..GOB.len(), other: u8) {
        let mut file = GOB.to_vec();
        (file[at], file[second]) = (byte, other);
        let _ = parse_with(&file, &ReadOptions { format: InputFormat::from_name("vegeta-gob"), ..ReadOptions::default() });
    }
}

#[test]
fn gatling_of_every_age() {
    let (new, middle, old) = (sample("gatling-text", 0), sample("gatling-text", 1), sample("gatling-text", 2));
    assert_eq!(new.labels, ["home", "basket,pay / pay"]);
    assert_eq!(new.events.to_vec().unwrap()[1].why(), "status.find.is(200), but actually found 500");
    for run in [&middle, &old] {
        assert_eq!(
            (run.events.to_vec().unwrap()[0].sent, run.events.to_vec().unwrap()[0].done),
            (Some(after(2.0)), Some(after(20.0)))
        );
        assert_eq!(run.events.to_vec().unwrap().iter().map(|event| event.session).collect::<Vec<_>>(), [0, 1]);
        assert!(run.sessions_known && !new.sessions_known);
    }
}

#[test]
fn gatling_binary() {
    let string = |text: &str| {
        [&(text.len() as u32).to_be_bytes()[..], text.as_bytes(), if text.is_empty() { &[] } else { &[0] }].concat()
    };
    let int = |number: i32| number.to_be_bytes().to_vec();
    let run = |version: &str| {
        [
            vec![0],
            string(version),
            string("a.Sim"),
            1_500_000_000_000u64.to_be_bytes().to_vec(),
            string(""),
            int(1),
            string("Users"),
            int(0),
        ]
        .concat()
    };
    let user = [vec![2], int(0), vec![1], int(0)].concat();
    let first = [
        vec![1],
        int(1),
        int(1),
        string("basket"),
        int(2),
        string("pay"),
        int(5),
        int(25),
        vec![1],
        int(3),
        string(""),
    ]
    .concat();
    let group = [vec![3], int(1), int(-1), int(5), int(25), int(20), vec![1]].concat();
    let again = [vec![1], int(0), int(-2), int(30), int(31), vec![0], int(4), string("bad")].concat();
    let error = [vec![4], int(-4), int(40)].concat();
    let log = [run("3.15.1"), user, first, group, again, error].concat();
    let recording = parse(&log).unwrap();
    assert_eq!(recording.labels, ["basket / pay", "pay"]);
    assert_eq!(recording.events.to_vec().unwrap()[0].sent, Some(after(5.0)));
    assert_eq!(
        (recording.events.to_vec().unwrap()[1].done, recording.events.to_vec().unwrap()[1].why().as_ref()),
        (Some(after(31.0)), "bad")
    );
    let cut = parse(&log[..log.len() - 1]).unwrap();
    assert_eq!(cut.events.launches(), 2);
    assert!(cut.notes[0] == Note::Truncated);
    let unknown = parse(run("3.20.0")).unwrap_err().to_string();
    assert!(unknown.contains("Gatling 3.20.0"), "{unknown}");
    assert!(parse(run("3.131.0")).is_err());
}

#[test]
fn k6_sends_before_the_handshakes() {
    // end - duration - max(blocked, connecting + tls) = 100 - 10 - 5 ms.
    for (run, status) in [(sample("k6-csv", 0), 200), (sample("k6-json", 0), 503)] {
        let [event] = &run.events.to_vec().unwrap()[..] else { panic!() };
        assert_eq!((event.sent, event.done, event.session), (Some(after(85.0)), Some(after(100.0)), 3));
        assert_eq!((event.status, run.labels[0].as_str(), run.sessions_known), (status, "home", true));
    }
    assert_eq!(sample("k6-csv", 0).events.to_vec().unwrap()[0].first_byte, Some(after(99.0)));
    let seconds = SAMPLES[7].1.replace("1500000000100000000", "1500000000");
    assert!(parse(seconds).unwrap_err().to_string().contains("K6_CSV_TIME_FORMAT=unix_nano"));
}

#[test]
fn the_simple_tables() {
    let vegeta = sample("vegeta-csv", 0);
    assert_eq!((vegeta.events.to_vec().unwrap()[0].bytes_out, vegeta.events.to_vec().unwrap()[0].bytes_in), (10, 20));
    assert_eq!(vegeta.events.to_vec().unwrap()[1].outcome, Outcome::Refused);
    assert_eq!(sample("vegeta-json", 0).events.to_vec().unwrap()[0], vegeta.events.to_vec().unwrap()[0]);

    let fortio = sample("fortio", 0);
    assert_eq!(
        (
            fortio.events.to_vec().unwrap()[1].session,
            fortio.events.to_vec().unwrap()[1].outcome,
            fortio.events.to_vec().unwrap()[1].status
        ),
        (3, Outcome::HttpError, 503)
    );

    let hey = sample("hey-csv", 0);
    let first = &hey.events.to_vec().unwrap()[0];
    assert_eq!((first.sent, first.first_byte), (Some(Instant(109_600_000)), Some(Instant(111_400_000))));

    let second = &sample("oha-csv", 0).events.to_vec().unwrap()[1];
    assert_eq!((second.sent, second.done), (Some(Instant(10_517_000)), Some(Instant(11_517_000))));

    let locust = sample("locust-csv", 0);
    assert_eq!(
        (locust.events.to_vec().unwrap()[0].sent, locust.events.to_vec().unwrap()[0].done),
        (Some(after(250.0)), Some(after(262.34)))
    );
    assert_eq!((locust.labels[1].as_str(), locust.resolution), ("GET /b", Nanos::from_millis(10)));
    assert!(locust.events.to_vec().unwrap()[1].why().contains("refused"));
    assert_eq!(
        sample("locust-csv", 1).events.to_vec().unwrap()[0],
        Event { status: 0, ..locust.events.to_vec().unwrap()[0].clone() }
    );

    let har = sample("har", 0);
    assert_eq!(
        (har.events.to_vec().unwrap()[0].first_byte, har.labels[0].as_str()),
        (Some(after(40.5)), "GET http://h/a")
    );

    let phout = sample("phout", 0);
    assert_eq!(
        (phout.events.to_vec().unwrap()[0].sent, phout.events.to_vec().unwrap()[0].first_byte),
        (Some(after(250.0)), Some(after(250.95)))
    );
    assert_eq!((phout.events.to_vec().unwrap()[1].outcome, phout.labels.len()), (Outcome::Timeout, 1));

    let h2load = sample("h2load", 0);
    assert_eq!(
        (h2load.events.to_vec().unwrap()[0].sent, h2load.events.to_vec().unwrap()[1].outcome),
        (Some(after(0.5)), Outcome::Reset)
    );

    let ab = sample("ab-g", 0);
    assert_eq!((ab.events.to_vec().unwrap()[0].first_byte, ab.resolution), (Some(after(5.0)), Nanos::from_secs(1)));
}

#[test]
fn invented_samples_of_goose_are_excluded() {
    let json = sample("goose-json", 0);
    assert_eq!(json.events.launches(), 1);
    assert!(json.notes[0] == Note::Excluded { rows: 1, row_kind: RowKind::Corrected }, "{:?}", json.notes);
    let csv = sample("goose-csv", 0);
    assert_eq!(
        (csv.events.to_vec().unwrap()[0].session, csv.events.to_vec().unwrap()[1].status, csv.labels[0].as_str()),
        (3, 503, "(Anon) page")
    );
}

#[test]
fn digits_do_not_make_a_coarse_clock_finer() {
    let pgbench = |times: [u64; 3]| {
        let row = |(number, time)| format!("0 {number} {time} 0 1500000000 {:06}\n", 100_000 * (number + 1));
        parse(times.into_iter().zip(0..).map(|(time, number)| row((number, time))).collect::<String>()).unwrap()
    };
    let k6 = |times: [&str; 3]| {
        let row = |(second, time)| {
            format!(
                "{{\"metric\":\"http_reqs\",\"type\":\"Point\",\"data\":{{\"time\":\"2026-11-22T10:00:0{second}.5Z\",\
                 \"value\":1,\"tags\":{{\"name\":\"a\",\"status\":\"200\"}}}}}}\n\
                 {{\"metric\":\"http_req_duration\",\"type\":\"Point\",\"data\":{{\"time\":\"2026-11-22T10:00:0{second}.5Z\",\
                 \"value\":{time},\"tags\":{{}}}}}}\n"
            )
        };
        parse(times.into_iter().zip(0..).map(|(time, second)| row((second, time))).collect::<String>()).unwrap()
    };
    for (recording, tick) in [
        (pgbench([2000, 3000, 4000]), 1_000_000),
        (pgbench([2000, 3100, 4000]), 100_000),
        (pgbench([2000, 3000, 4001]), 1000),
        (k6(["2", "3", "40"]), 1_000_000),
        (k6(["2", "3.25", "40"]), 10_000),
        (k6(["2", "3.25", "40.000001"]), 1),
    ] {
        assert_eq!(recording.resolution, Nanos(tick), "{}", recording.format);
    }
}

#[test]
fn pgbench_with_and_without_a_schedule() {
    let rate = sample("pgbench", 0);
    let end = after(666.547);
    assert_eq!(
        (rate.events.to_vec().unwrap()[0].intended, rate.events.to_vec().unwrap()[0].sent),
        (Instant(end.0 - 4_883_000), Some(Instant(end.0 - 4_784_000)))
    );
    assert_eq!(
        (rate.events.to_vec().unwrap()[1].outcome, rate.events.to_vec().unwrap()[1].sent),
        (Outcome::Unsent, None)
    );
    assert_eq!(
        (rate.events.to_vec().unwrap()[2].outcome, rate.events.to_vec().unwrap()[2].why().as_ref()),
        (Outcome::Malformed, "serialization")
    );
    assert!(rate.intent_known && !sample("pgbench", 1).intent_known);
}

#[test]
fn access_logs() {
    let log = sample("access-log", 0);
    assert_eq!(log.labels, ["GET /a", "GET /b\"c"]);
    assert_eq!(
        (
            log.events.to_vec().unwrap()[1].sent,
            log.events.to_vec().unwrap()[1].session,
            log.events.to_vec().unwrap()[1].status
        ),
        (Some(after(1000.0)), 1, 404)
    );
}

#[test]
fn the_unit_of_instants_follows_from_their_magnitude() {
    for (n, tick) in [(0, 10), (1, 1), (2, 1)] {
        let list = sample("instants", n);
        assert_eq!(
            (list.events.to_vec().unwrap()[0].sent, list.events.to_vec().unwrap()[1].sent),
            (Some(after(250.0)), Some(after(500.0)))
        );
        assert_eq!(list.resolution, Nanos::from_millis(tick));
    }
    let options = ReadOptions { unit: Some(Nanos::from_millis(1)), ..ReadOptions::default() };
    let launches = parse_with("5\n7\n", &options).unwrap().events.to_vec().unwrap();
    assert_eq!(launches[1].sent, Some(Instant::from_millis(7)));
}

#[test]
fn any_table_with_named_columns() {
    let options = ReadOptions {
        start_column: Some("Begin".to_owned()),
        end_column: Some("end".to_owned()),
        label_column: Some("what".to_owned()),
        unit: Some(Nanos::from_micros(1)),
        ..ReadOptions::default()
    };
    let table = parse_with("what;begin;end\n", &options).unwrap_err().to_string();
    assert!(table.contains("unknown file format"), "{table}");
    for delimiter in [",", "\t"] {
        let text = "what,begin,end\na,10,30\nb,20,25\n".replace(',', delimiter);
        let recording = parse_with(&text, &options).unwrap();
        assert_eq!(recording.labels, ["a", "b"]);
        assert_eq!(recording.events.to_vec().unwrap()[1].service(), Some(Nanos::from_micros(5).into()));
        let counted =
            ReadOptions { start_column: Some("2".to_owned()), end_column: Some("3".to_owned()), ..options.clone() };
        let launches = |recording: &Recording| recording.events.to_vec().unwrap();
        assert_eq!(launches(&parse_with(&text, &counted).unwrap()), launches(&recording));
        let bare = ReadOptions { label_column: Some("1".to_owned()), ..counted };
        assert_eq!(launches(&parse_with(&text[text.find('\n').unwrap() + 1..], &bare).unwrap()), launches(&recording));
        let error = parse(&text).unwrap_err().to_string();
        assert!(error.contains("name its column of send times") && error.contains("what, begin, end"), "{error}");
    }
}

#[test]
fn summaries_are_refused_with_a_fix() {
    for (text, cure) in [
        ("Running 10s test @ http://127.0.0.1:8080/\n  2 threads and 10 connections\n", "offered run"),
        ("Running 1s test @ http://h/\n2 connections\n\n│ Stat    │ 2.5% │ 50%  │ 97.5% │\n", "JavaScript API"),
        ("\"Method\",\"Name\",\"Error\",\"Occurrences\"\n", "list of failures"),
        ("This is ApacheBench, Version 2.3 <$Revision: 1903618 $>\n", "-g FILE"),
        (
            "** SIEGE 4.1.6\n** Preparing 5 concurrent users for battle.\nThe server is now under siege...\n",
            "timestamp = true",
        ),
        ("HTTP/1.1 200     0.01 secs:     159 bytes ==> GET  /a\n", "timestamp = true"),
        ("      Date & Time,  Trans,  Elap Time,  Data Trans,  Resp Time\n", "timestamp = true"),
        ("# stats: dump at 1406213243\nstats: users 1 1\n", "dumptraffic=\"protocol\""),
        ("NewClient:1406213243.1:<0.1.0>\nload:1\n", "dumptraffic=\"protocol\""),
        ("{\n  \"aggregate\": {\n    \"counters\": {\n", "beforeRequest"),
        ("{\"root_group\":{\"name\":\"\"},\"metrics\":{}}", "--out json"),
        ("     http_req_duration..............: avg=1.1ms\n", "--out json"),
        ("Type,Name,Request Count,Failure Count,Median Response Time\n", "csv_request_logger"),
        ("Timestamp,User Count,Type,Name,Requests/s\n", "csv_request_logger"),
        ("sampler_label,aggregate_report_count,average\n", "jmeter -l"),
        ("{\"summary\":{},\"responseTimeHistogram\":{},\"latencyPercentiles\":{}}", "--output-format csv"),
        ("{\"title\":\"t\",\"requests\":{\"p97_5\":367},\"latency\":{},\"throughput\":{\"average\":1}}", "offered run"),
        ("Requests      [total, rate, throughput]         10, 11.11, 11.10\n", "vegeta encode"),
        ("#[Histogram log format version 1.3]\n", "log of single requests"),
    ] {
        let error = parse(text).unwrap_err().to_string();
        assert!(error.contains(cure) && !error.contains('\n'), "{text}: {error}");
    }
}

/// Made by `oha.py` in this directory: 200 requests 10 ms apart, the 101st 250 ms late.
#[test]
fn the_database_of_oha_has_scheduled_times() {
    let file = include_bytes!("oha.db");
    let recording = parse(file).unwrap();
    assert_eq!((recording.format.as_str(), recording.events.launches(), recording.unreadable), ("oha-db", 200, 0));
    assert!(recording.intent_known);
    let event = &recording.events.to_vec().unwrap()[100];
    let ms = Instant::from_millis;
    assert_eq!((event.intended, event.sent, event.done), (ms(1000), Some(ms(1250)), Some(ms(1375))));
    assert_eq!((event.bytes_in, event.status), (1100, 200));
    assert_eq!(recording.events.to_vec().unwrap()[7].outcome, Outcome::HttpError);
    // The long URL is stored in overflow pages.
    assert_eq!(recording.labels.iter().map(String::len).collect::<Vec<_>>(), [22, 2022]);
    // Truncated databases, and a database of another application.
    for end in (0..file.len()).step_by(97).skip(1) {
        assert!(
            parse_with(
                &file[..end],
                &ReadOptions { format: InputFormat::from_name("oha-db"), ..ReadOptions::default() }
            )
            .is_err()
        );
    }
    let mut other = file.to_vec();
    let at = memchr::memmem::rfind(&other, b"tableohaoha").unwrap();
    other[at + 5..at + 8].copy_from_slice(b"ohb");
    assert!(parse(&other).unwrap_err().to_string().contains("only databases of oha --db-url can be read"));
}

proptest::proptest! {
    #[test]
    fn a_damaged_oha_database_causes_no_panic(at in 0..18_000usize, byte: u8, second in 0..18_000usize, other: u8) {
        let mut file = include_bytes!("oha.db").to_vec();
        (file[at], file[second]) = (byte, other);
        let _ = parse_with(&file, &ReadOptions { format: InputFormat::from_name("oha-db"), ..ReadOptions::default() });
    }
}
