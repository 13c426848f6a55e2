//! Tests of the server on loopback sockets; every wait is bounded.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use offered_base::{Instant, Nanos, Purpose, Seed};
use offered_distributions::Distribution;
use offered_serve::{Address, Error, Files, Options, Routes, Server, ServerHandle};
use offered_simulate::Discipline;
use offered_simulate::discipline::{Batch, Fcfs, Infinite, Ps, RoundRobin, Srpt};
use offered_workload::Workload;
use offered_workload::engine::Engine;
use proptest::prelude::*;

fn options(discipline: impl Discipline + Send + 'static) -> Options {
    Options {
        collect_arrivals: true,
        ..Options::new(Box::new(discipline), Distribution::constant(0.0).unwrap(), Seed(1))
    }
}

fn start() -> ServerHandle {
    Server::start(options(Infinite::default())).unwrap()
}

fn connect(server: &ServerHandle) -> TcpStream {
    let Address::Tcp(address) = server.address() else { panic!("the server listens on TCP") };
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Sends `bytes` and reads until the server closes the connection.
fn response_to(server: &ServerHandle, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = connect(server);
    stream.write_all(bytes.as_ref()).unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    String::from_utf8_lossy(&back).into_owned()
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: here\r\n\r\n")
}

/// As [`get`], with `Connection: close`.
fn last(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n")
}

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n";
const LAST_OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n";

#[test]
fn pipelined_responses_are_in_order_even_if_the_first_is_done_last() {
    let server = start();
    let all = [get("/status/503?work_ms=30"), get("/?work_ms=1"), get("/delay/5ms"), last("/")].concat();
    let error = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 24\r\n\r\n503 Service Unavailable\n";
    assert_eq!(response_to(&server, all), [error, OK, OK, LAST_OK].concat());
    let summary = server.stop().unwrap();
    assert_eq!((summary.requests, summary.jobs, summary.completed), (4, 3, 4));
    assert_eq!(summary.arrivals.len(), 4);
    assert!(summary.arrivals.is_sorted());
}

/// Serves this directory at 8 Mbit/s, one byte per microsecond.
fn serving(folder: &Path, record: &Path, discipline: impl Discipline + Send + 'static) -> ServerHandle {
    let files = Files::new(folder, "8mbit".parse().unwrap()).unwrap();
    Server::start(Options { files: Some(files), record: Some(record.to_owned()), ..options(discipline) }).unwrap()
}

#[test]
fn files_are_sent_unchanged() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("www");
    std::fs::create_dir(&folder).unwrap();
    let bytes: Vec<u8> = (0..100_000u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    std::fs::write(folder.join("large"), &bytes).unwrap();
    std::fs::write(folder.join("empty"), "").unwrap();
    let server = serving(&folder, &around.path().join("record"), Ps::new(1));
    let mut stream = connect(&server);
    let asked = [
        get("/large"),
        get("/empty"),
        "HEAD /large HTTP/1.1\r\n\r\n".to_owned(),
        get("/../record"),
        "DELETE /large HTTP/1.1\r\n\r\n".to_owned(),
        last("/large?again"),
    ];
    stream.write_all(asked.concat().as_bytes()).unwrap();
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    let head = |length: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n").into_bytes();
    let all = [
        &head(100_000)[..],
        b"\r\n",
        &bytes,
        &head(0),
        b"\r\n",
        &head(100_000),
        b"\r\nHTTP/1.1 404 Not Found\r\nContent-Length: 14\r\n\r\n404 Not Found\n",
        b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 23\r\n\r\n405 Method Not Allowed\n",
        &head(100_000),
        b"Connection: close\r\n\r\n",
        &bytes,
    ]
    .concat();
    assert!(back == all, "{} bytes", back.len());
    let summary = server.stop().unwrap();
    assert_eq!((summary.requests, summary.jobs, summary.completed), (6, 3, 6));
}

/// Requests a small file while a large one is being sent. Returns the targets in order of completion.
fn answered_first(discipline: impl Discipline + Send + 'static) -> String {
    let around = tempfile::tempdir().unwrap();
    let record = around.path().join("record");
    std::fs::write(around.path().join("large"), vec![b'l'; 1_000_000]).unwrap();
    std::fs::write(around.path().join("small"), vec![b's'; 10_000]).unwrap();
    let server = serving(around.path(), &record, discipline);
    let mut large = connect(&server);
    large.write_all(last("/large").as_bytes()).unwrap();
    // The file is sent while it is served, and not a second later when it is done.
    let mut first = [0; 100];
    large.read_exact(&mut first).unwrap();
    let mut small = connect(&server);
    small.write_all(last("/small").as_bytes()).unwrap();
    let count = |stream: &mut TcpStream| std::io::copy(stream, &mut std::io::sink()).unwrap();
    let large = std::thread::spawn(move || count(&mut large));
    assert_eq!(count(&mut small), 61 + 10_000);
    assert_eq!(large.join().unwrap() + 100, 63 + 1_000_000);
    let summary = server.stop().unwrap();
    assert_eq!((summary.jobs, summary.completed), (2, 2));
    let rows = std::fs::read_to_string(record).unwrap();
    rows.lines().skip(1).map(|row| row.split(',').nth(4).unwrap()).collect()
}

#[test]
fn the_discipline_schedules_files() {
    assert_eq!(answered_first(Srpt::new(1)), "/small/large");
    assert_eq!(answered_first(Fcfs::new(1)), "/large/small");
}

#[test]
fn a_truncated_file_closes_the_connection() {
    let around = tempfile::tempdir().unwrap();
    let path = around.path().join("log");
    std::fs::write(&path, vec![b'x'; 1_000_000]).unwrap();
    let server = serving(around.path(), &around.path().join("record"), Ps::new(1));
    let mut stream = connect(&server);
    stream.write_all(get("/log").as_bytes()).unwrap();
    stream.read_exact(&mut [0; 100]).unwrap();
    std::fs::write(&path, "x").unwrap();
    assert!(std::io::copy(&mut stream, &mut std::io::sink()).unwrap() < 1_000_000);
    assert_eq!(server.stop().unwrap().completed, 0);
}

#[test]
fn every_body_framing() {
    let server = start();
    let close = "Connection: close\r\n\r\n";
    for (request, answer) in [
        (last("/bytes/5"), format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n{close}.....")),
        (
            last("/chunked/10"),
            format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{close}a\r\n..........\r\n0\r\n\r\n"),
        ),
        (last("/chunked/0"), format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n{close}0\r\n\r\n")),
        (get("/nolength/3"), format!("HTTP/1.1 200 OK\r\n{close}...")),
        (last("/status/204"), format!("HTTP/1.1 204 No Content\r\n{close}")),
        (last("/status/304"), format!("HTTP/1.1 304 Not Modified\r\n{close}")),
        (get("/early"), "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_owned()),
        (
            "HEAD /bytes/5 HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
            format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n{close}"),
        ),
        ("GET /chunked/3 HTTP/1.0\r\n\r\n".to_owned(), format!("HTTP/1.1 200 OK\r\n{close}...")),
        (
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n".to_owned(),
            format!("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: keep-alive\r\n\r\nok\n{LAST_OK}"),
        ),
        (
            last("/continue"),
            format!("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\n{LAST_OK}"),
        ),
    ] {
        let back = response_to(&server, &request);
        if request.contains("early") {
            assert_eq!(back.len(), answer.len() + 500);
            assert!(back.starts_with(&answer));
        } else {
            assert_eq!(back, answer, "{request}");
        }
    }
}

#[test]
fn echo_returns_the_request_unchanged() {
    let server = start();
    let head = "POST /echo HTTP/1.1\r\nX-Session: 17\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    let back = response_to(&server, format!("{head}3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"));
    assert!(back.ends_with(&format!("{head}abcde")), "{back}");
    let large = vec![b'x'; 2 << 20];
    let head = format!("POST /echo HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", large.len());
    let back = response_to(&server, [head.as_bytes(), &large].concat());
    assert!(back.starts_with("HTTP/1.1 413 "), "{back}");
}

#[test]
fn expect_continue_gets_100() {
    let server = start();
    let mut stream = connect(&server);
    stream.write_all(b"PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n").unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").unwrap();
    let mut answer = vec![0; OK.len()];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer, OK.as_bytes());
}

#[test]
fn malformed_requests_are_refused_after_earlier_responses() {
    let server = start();
    let back = response_to(&server, get("/?work_ms=5") + "nonsense\r\n\r\n" + &get("/"));
    assert!(back.starts_with(&format!("{OK}HTTP/1.1 400 RequestError Request\r\n")), "{back}");
    assert!(back.ends_with("\r\n\r\nthis is not an HTTP/1.1 request\n"), "nothing is read after it: {back}");
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    assert!(response_to(&server, long).starts_with("HTTP/1.1 431 "));
    let cut = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nnot a size\r\n";
    assert!(response_to(&server, cut).starts_with("HTTP/1.1 400 "));
    assert_eq!(server.stop().unwrap().malformed, 3);
}

#[test]
fn a_half_closed_client_gets_its_responses() {
    let server = start();
    let mut stream = connect(&server);
    stream.write_all((get("/?work_ms=20") + &get("/") + "GET /unfinished HT").as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut back = String::new();
    stream.read_to_string(&mut back).unwrap();
    assert_eq!(back, [OK, OK].concat());
    assert_eq!(server.stop().unwrap().requests, 2);
}

#[test]
fn large_bodies_are_transferred_in_both_directions() {
    let server = start();
    let mut stream = connect(&server);
    let size = 40_000_000;
    let mut sender = stream.try_clone().unwrap();
    let thread = std::thread::spawn(move || {
        sender.write_all(format!("POST / HTTP/1.1\r\nContent-Length: {size}\r\n\r\n").as_bytes()).unwrap();
        sender.write_all(&vec![b'y'; size]).unwrap();
        sender.write_all(last(&format!("/bytes/{size}")).as_bytes()).unwrap();
    });
    let mut back = Vec::new();
    stream.read_to_end(&mut back).unwrap();
    thread.join().unwrap();
    let head = format!("{OK}HTTP/1.1 200 OK\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n");
    assert!(back.starts_with(head.as_bytes()));
    assert_eq!(back.len(), head.len() + size);
}

#[test]
fn thousands_of_pipelined_requests_wait_their_turn() {
    let server = start();
    let mut stream = connect(&server);
    let count = 20_000;
    let mut sender = stream.try_clone().unwrap();
    let thread = std::thread::spawn(move || {
        sender.write_all(get("/?work_ms=0.01").repeat(count).as_bytes()).unwrap();
        sender.write_all(last("/").as_bytes()).unwrap();
    });
    let mut back = String::new();
    stream.read_to_string(&mut back).unwrap();
    thread.join().unwrap();
    assert_eq!(back, OK.repeat(count) + LAST_OK);
}

#[test]
fn close_garbage_reset_and_stall() {
    let server = start();
    assert_eq!(response_to(&server, get("/close")), "");
    assert!(!response_to(&server, get("/garbage")).contains("HTTP/1.1 "));
    let mut stream = connect(&server);
    stream.write_all((get("/") + &get("/reset")).as_bytes()).unwrap();
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap_err().kind(), ErrorKind::ConnectionReset);
    let mut stream = connect(&server);
    stream.write_all((get("/") + &get("/stall") + &get("/")).as_bytes()).unwrap();
    stream.read_exact(&mut vec![0; OK.len()]).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(30))).unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
    drop(stream);
    let summary = server.stop().unwrap();
    assert_eq!((summary.requests, summary.completed), (7, 3));
}

/// Rows of a record (arrival, work, due, done), in order of arrival.
fn rows(path: &Path) -> Vec<(Instant, Nanos, Instant, Option<Instant>)> {
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("arrival_ns,work_ns,due_ns,done_ns,path,received_ns"));
    let row = |line: &str| {
        let mut cells = line.split(',').map(|cell| cell.parse::<u64>().ok());
        let mut next = || cells.next().flatten();
        let (arrival, work) = (Instant(next().unwrap()), Nanos(next().unwrap()));
        (arrival, work, next().map(Instant).unwrap_or_default(), next().map(Instant))
    };
    let mut rows: Vec<_> = lines.map(row).collect();
    rows.sort_by_key(|row| (row.0, row.2));
    rows
}

/// The work comes from the query, else from the path's route, else from the server's distribution.
#[test]
fn routes_identify_requests_by_their_paths() {
    let text = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[[request]]\ncatalogue = \"files.csv\"\n[[request]]\n\
                get = \"/status/503?x={{session}}\"\nservice = { constant = \"5ms\" }\n[[request]]\npost = \"/c\"\n";
    let files = "path,service,class\n/a?n=1,1ms,one\n/b,2ms,two\n/c,3ms,one\n";
    let workload = |text: &str| Workload::parse(text, "w.toml", &|_| Ok(files.into())).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let service = Distribution::constant(0.009).unwrap();
    let options = Options { service, record: Some(record.clone()), ..options(Infinite::default()) };
    let server = Server::start(Options { routes: Routes::new(&workload(text)).unwrap(), ..options }).unwrap();
    let post = "POST /c HTTP/1.1\r\nHost: here\r\nContent-Length: 0\r\n\r\n".to_owned();
    let ways = ["/a?n=1", "/b?any=1", "/b", "/c", "/c?work_ms=7", "/status/503?x=17", "/a", "/else"];
    let all = ways.map(get).into_iter().chain([post, last("/bytes/3")]).collect::<String>();
    let back = response_to(&server, all);
    assert!(back.starts_with(OK) && !back.contains("503"), "{back}");
    server.stop().unwrap();
    let seen = std::fs::read_to_string(record).unwrap();
    let work: Vec<&str> = seen.lines().skip(1).map(|row| row.split(',').nth(1).unwrap()).collect();
    let millis: Vec<u64> = work.iter().filter_map(|work| Some(work.parse::<u64>().ok()? / 1_000_000)).collect();
    assert_eq!(millis, [1, 9, 2, 3, 7, 5, 9, 9, 9], "{seen}");
    for (text, why) in [
        (text.replace("\"/c\"", "\"/{{session}}/x\""), "the path `/{{session}}/x` of request `/{{session}}/x` varies"),
        (format!("{text}[[request]]\nname = \"again\"\npost = \"/c?y=2\"\n"), "`/c` and `again` have the same path"),
    ] {
        let found = Routes::new(&workload(&text)).unwrap_err().to_string();
        assert!(found.contains(why), "{found}");
    }
}

#[test]
fn receive_timestamps_precede_arrivals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.csv");
    let server = Server::start(Options { record: Some(path.clone()), ..options(Fcfs::new(1)) }).unwrap();
    let mut stream = connect(&server);
    for _ in 0..50 {
        stream.write_all(get("/?a,b").as_bytes()).unwrap();
        stream.read_exact(&mut vec![0; OK.len()]).unwrap();
    }
    server.stop().unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let stamped: Vec<(u64, u64)> = text
        .lines()
        .skip(1)
        .filter_map(|row| Some((row.split(',').next()?.parse().ok()?, row.rsplit(',').next()?.parse().ok()?)))
        .collect();
    // Linux enables timestamps a moment after the first socket requests them.
    assert!(stamped.len() > 25 || cfg!(not(target_os = "linux")), "{text}");
    // Their clocks start within microseconds of each other.
    assert!(stamped.iter().all(|(read, received)| *received < read + 1_000_000), "{stamped:?}");
    assert!(stamped.windows(2).all(|pair| pair[0].1 < pair[1].1 && pair[1].1 + 1_000_000 > pair[0].0), "{stamped:?}");
}

#[test]
fn jobs_complete_at_the_disciplines_times_even_if_the_loop_is_late() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.csv");
    let distribution = Distribution::exponential(0.0005).unwrap();
    let server = Server::start(Options {
        service: distribution.clone(),
        seed: Seed(9),
        record: Some(path.clone()),
        ..options(Fcfs::new(1))
    })
    .unwrap();
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut stream = connect(&server);
            std::thread::spawn(move || {
                for _ in 0..25 {
                    stream.write_all(get("/").as_bytes()).unwrap();
                    stream.read_exact(&mut vec![0; OK.len()]).unwrap();
                }
            })
        })
        .collect();
    for client in clients {
        client.join().unwrap();
    }
    let summary = server.stop().unwrap();
    let rows = rows(&path);
    assert_eq!(rows.len(), 200);
    assert_eq!(rows.iter().map(|row| row.0).collect::<Vec<_>>(), summary.arrivals);
    // Lindley's recursion, to the nanosecond: a single server starts a job when the previous job is done.
    let mut free = Instant::ZERO;
    for (number, (arrival, work, due, done)) in rows.into_iter().enumerate() {
        let size = Nanos::from_secs_f64(distribution.sample(&mut Seed(9).at(Purpose::Size, number as u64, 0)));
        assert_eq!(work, size, "the size of job {number}");
        free = free.max(arrival) + work;
        assert_eq!(due, free, "job {number}");
        assert!(done.unwrap() >= due, "answered before it was done");
    }
}

#[test]
fn requests_above_the_capacity_get_503_at_once() {
    let server = Server::start(Options { capacity: Some(1), ..options(Fcfs::new(1)) }).unwrap();
    let back = response_to(&server, get("/?work_ms=20") + &get("/") + &last("/status/204"));
    let full = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 24\r\n\r\n503 Service Unavailable\n";
    assert_eq!(back, [OK, full, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n"].concat());
}

#[test]
fn a_change_of_turn_does_not_complete_a_job() {
    let server = Server::start(options(RoundRobin::new(1, Nanos::from_micros(50)).unwrap())).unwrap();
    let back = response_to(&server, get("/status/404?work_ms=5") + &last("/?work_ms=1"));
    assert!(back.starts_with("HTTP/1.1 404 ") && back.ends_with(LAST_OK), "{back}");
    let summary = server.stop().unwrap();
    assert_eq!((summary.jobs, summary.completed), (2, 2));
}

#[test]
fn a_stopping_server_completes_received_requests_and_records_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.csv");
    let server = Server::start(Options { record: Some(path.clone()), ..options(Infinite::default()) }).unwrap();
    let mut idle = connect(&server);
    let mut stream = connect(&server);
    stream.write_all((get("/") + &get("/?work_ms=100") + &get("/?work_ms=3600000")).as_bytes()).unwrap();
    stream.read_exact(&mut vec![0; OK.len()]).unwrap();
    let summary = server.stop().unwrap();
    assert_eq!((summary.requests, summary.completed), (3, 2));
    let mut back = String::new();
    stream.read_to_string(&mut back).unwrap();
    assert_eq!(back, OK);
    assert_eq!(idle.read(&mut [0]).unwrap(), 0);
    let done: Vec<bool> = rows(&path).iter().map(|row| row.3.is_some()).collect();
    assert_eq!(done.iter().filter(|done| **done).count(), 2);
    assert_eq!(done.len(), 3);
}

#[test]
fn a_unix_socket_serves_and_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("offered.sock");
    let listen = Address::Unix(path.clone());
    let server = Server::start(Options { listen: listen.clone(), ..options(Infinite::default()) }).unwrap();
    assert_eq!(server.address(), &listen);
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(last("/").as_bytes()).unwrap();
    let mut back = String::new();
    stream.read_to_string(&mut back).unwrap();
    assert_eq!(back, LAST_OK);
    server.stop().unwrap();
    assert!(!path.exists());
}

#[test]
fn a_server_that_cannot_start_reports_the_error_and_writes_nothing() {
    let server = start();
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("seen.csv");
    let taken =
        Options { listen: server.address().clone(), record: Some(record.clone()), ..options(Infinite::default()) };
    let Err(error) = Server::start(taken) else { panic!("two servers on one port") };
    assert!(matches!(error, Error::Listen { .. }) && !error.to_string().contains('\n'), "{error}");
    assert!(!record.exists());
    std::fs::write(&record, "precious").unwrap();
    let kept = Options { record: Some(record.clone()), ..options(Infinite::default()) };
    let Err(error) = Server::start(kept) else { panic!("a record was written over") };
    assert!(matches!(error, Error::Record { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&record).unwrap(), "precious");
    for wrong in ["localhost", "unix:", "127.0.0.1:99999"] {
        assert!(wrong.parse::<Address>().unwrap_err().to_string().contains("for example"), "{wrong}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_bytes_leave_the_server_working(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..500), 0..5)) {
        let server = start();
        let mut nasty = connect(&server);
        for piece in pieces {
            // The server may have closed the connection after an error.
            if nasty.write_all(&piece).is_err() {
                break;
            }
        }
        prop_assert_eq!(response_to(&server, last("/")), LAST_OK);
        drop(nasty);
        server.stop().unwrap();
    }
}

#[test]
fn tokens_are_streamed_when_the_engine_makes_them() {
    let engine: Engine = "20ms,0s,4,0s".parse().unwrap();
    let options = options(Batch::new(Engine { prefix_cache: true, ..engine }));
    let server = Server::start(Options { routes: Routes::of_engine(engine), ..options }).unwrap();
    let post = |path: &str, body: &str| {
        format!("POST /v1/{path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let body = r#"{"messages": [{"content": "a b c"}], "max_tokens": 4, "stream": true, "stream_options": {"include_usage": true}}"#;
    let mut stream = connect(&server);
    stream.write_all(post("chat/completions", body).as_bytes()).unwrap();
    let (mut back, mut buffer, mut reads) = (String::new(), [0; 4096], Vec::new());
    loop {
        let count = stream.read(&mut buffer).unwrap();
        if count == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&buffer[..count]).into_owned();
        reads.push(text.matches("\"content\"").count());
        back += &text;
    }
    assert!(
        back.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"),
        "{back}"
    );
    assert!(back.ends_with("data: [DONE]\n\n\r\n0\r\n\r\n"), "{back}");
    assert_eq!(
        (back.matches("\"content\"").count(), back.matches("\"finish_reason\":\"length\"").count()),
        (4, 1),
        "{back}"
    );
    assert!(back.contains("\"prompt_tokens\":3,\"completion_tokens\":4"), "{back}");
    assert!(reads.iter().filter(|tokens| **tokens > 0).count() >= 2, "tokens come one by one: {reads:?}");
    let whole = response_to(&server, post("completions", r#"{"prompt": "a b c", "max_tokens": 3}"#));
    assert!(whole.contains("Content-Type: application/json") && whole.contains("\"text\":\"the the the\""), "{whole}");
    assert!(response_to(&server, post("completions", "{")).starts_with("HTTP/1.1 400"), "the body is no JSON");
    assert!(response_to(&server, last("/v1/models")).contains("\"id\":\"offered\""));
    assert!(response_to(&server, last("/status/404")).starts_with("HTTP/1.1 404"), "other targets are there");
    server.stop().unwrap();
}
