//! Several workers with a rendezvous in an object store. moto's S3 is an independent implementation of conditional
//! writes.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use offered_base::Nanos;
use offered_serve::ServerHandle;
use offered_store::RunRecord;
use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Missing, Tested, needs};
use crate::machines::{alone, checked, meant, server};
use crate::process::{Ended, Process, offered, soon};

tests![
    four_workers_in_a_bucket_send_the_requests_of_one_generator,
    a_killed_worker_leaves_its_parts_and_is_resumed,
    a_temporarily_unreachable_store_loses_nothing,
    rejected_uploads_stay_local_and_are_pushed_later,
    a_store_that_fails_is_reported_after_a_second,
    a_store_without_tls_is_not_retried,
    workers_that_cannot_start_get_a_reason,
    invalid_urls_are_reported,
    stores_without_conditional_writes_are_refused,
    workers_share_the_cells_of_a_sweep_in_a_bucket,
    a_killed_sweep_worker_resumes_and_duplicate_numbers_are_refused,
];

/// moto's S3 with a bucket, behind a proxy that can be closed.
struct Store {
    moto: Process,
    door: Door,
    server: ServerHandle,
    folder: tempfile::TempDir,
}

/// Forwards connections, and records the requests.
struct Door {
    port: u16,
    inner: Arc<Inner>,
}

#[derive(Default)]
struct Inner {
    is_shut: AtomicBool,
    under_way: Mutex<Vec<TcpStream>>,
    asked: Mutex<Vec<String>>,
}

impl Door {
    fn before(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, inner) = (listener.local_addr().unwrap().port(), Arc::new(Inner::default()));
        let door = inner.clone();
        std::thread::spawn(move || {
            for guest in listener.incoming() {
                let (Ok(guest), false) = (guest, door.is_shut.load(Relaxed)) else { continue };
                let Ok(host) = TcpStream::connect(("127.0.0.1", to)) else { continue };
                let pass = |mut from: TcpStream, mut to: TcpStream, heard: Option<Arc<Inner>>| {
                    std::thread::spawn(move || {
                        let mut buffer = vec![0; 1 << 16];
                        while let Ok(bytes @ 1..) = from.read(&mut buffer) {
                            let line = buffer[..bytes].split(|byte| *byte == b'\r').next().unwrap_or_default();
                            let line = String::from_utf8_lossy(line).into_owned();
                            heard.iter().filter(|_| line.ends_with("HTTP/1.1")).for_each(|heard| {
                                heard.asked.lock().unwrap().push(line.clone());
                            });
                            if to.write_all(&buffer[..bytes]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    })
                };
                door.under_way.lock().unwrap().extend([guest.try_clone().unwrap(), host.try_clone().unwrap()]);
                pass(guest.try_clone().unwrap(), host.try_clone().unwrap(), Some(door.clone()));
                pass(host, guest, None);
            }
        });
        Self { port, inner }
    }

    fn shut(&self) {
        self.inner.is_shut.store(true, Relaxed);
        for connection in self.inner.under_way.lock().unwrap().drain(..) {
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    fn open(&self) {
        self.inner.is_shut.store(false, Relaxed);
    }

    /// Waits until a request with this ending has been made.
    fn until_asked(&self, what: &str) {
        let is_it = |line: &String| line.contains(what);
        let asked = soon(|| self.inner.asked.lock().unwrap().iter().any(is_it).then_some(()));
        asked.unwrap_or_else(|| panic!("no request for {what}"));
    }
}

/// Starts moto's S3 with a bucket, at a free port of `host`.
pub(crate) fn moto(host: &str) -> Result<(Process, u16), Missing> {
    let has_moto = Command::new("python3").args(["-c", "import moto.server, flask"]).output();
    needs("objects", cfg!(feature = "objects"))?;
    needs("moto", has_moto.is_ok_and(|said| said.status.success()))?;
    let port = TcpListener::bind((host, 0)).unwrap().local_addr().unwrap().port();
    let mut moto = Command::new("python3");
    moto.args(["-m", "moto.server", "-H", host, "-p", &port.to_string()]);
    let moto = Process::start(moto);
    let make = || {
        let mut bucket = TcpStream::connect((host, port)).ok()?;
        let ask =
            format!("PUT /bucket HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        bucket.write_all(ask.as_bytes()).ok()?;
        let mut said = String::new();
        bucket.read_to_string(&mut said).ok()?;
        said.starts_with("HTTP/1.1 200").then_some(())
    };
    soon(make).expect("a bucket");
    Ok((moto, port))
}

impl Store {
    fn start() -> Result<Self, Missing> {
        let (moto, port) = moto("127.0.0.1")?;
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        Ok(Self { moto, door: Door::before(port), server: server(), folder })
    }

    /// `offered` with these arguments and the credentials of the store; its temporary files are in this directory.
    fn offered(&self, args: &[&str]) -> Command {
        let mut command = offered(args);
        let endpoint = format!("http://127.0.0.1:{}", self.door.port);
        command
            .env("AWS_ACCESS_KEY_ID", "ours")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_ENDPOINT_URL", endpoint);
        command.env("AWS_REGION", "us-east-1").env("TMPDIR", self.folder.path().join("tmp"));
        command
    }

    /// A worker with its rendezvous in the bucket.
    fn worker(&self, share: &str, load: &[&str]) -> Process {
        let url = format!("{}/", self.server.address());
        let run = ["run", &url, "--seed", "5", "--wait-mode", "sleep", "--rendezvous", RUN, "--share", share];
        Process::start(self.offered(&[&run[..], load].concat()))
    }

    /// Output of a successful command. On a busy machine a run may be invalid.
    fn said(&self, args: &[&str]) -> String {
        let Ended { code, stdout, stderr } = Process::start(self.offered(args)).end();
        assert!(matches!(code, Some(0 | 3)), "{args:?}: {stderr}");
        stdout
    }

    /// Scheduled time of each request of the run in the bucket.
    fn meant(&self) -> BTreeMap<(u64, u32), Nanos> {
        let table = self.folder.path().join("all.csv");
        let _ = std::fs::remove_file(&table);
        self.said(&["export", RUN, "--format", "csv", "-o", table.to_str().unwrap()]);
        meant(&table)
    }

    /// Scheduled time of each request of this load.
    fn alone(&self, load: &[&str]) -> BTreeMap<(u64, u32), Nanos> {
        alone(self.folder.path(), load)
    }

    /// Warnings of its verdict.
    fn warnings(&self) -> String {
        let verdict = checked(Process::start(self.offered(&["verify", RUN, "--json"])).end());
        format!("{} {}", verdict["reason"], verdict["warnings"])
    }

    /// Whether no temporary files remain.
    fn is_tidy(&self) -> bool {
        std::fs::read_dir(self.folder.path().join("tmp")).unwrap().next().is_none()
    }

    fn stop(self) {
        self.server.stop().unwrap();
    }
}

const RUN: &str = "s3://bucket/runs/7";

/// A worker that ended. On a busy machine the run may be invalid, but its requests are the same.
fn well(worker: Process) -> Ended {
    let ended = worker.end();
    assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
    ended
}

fn four_workers_in_a_bucket_send_the_requests_of_one_generator() -> Tested {
    let store = Store::start()?;
    let load = ["--open", "200/s", "-d", "3s"];
    let workers = ["1/4", "2/4", "3/4", "4/4"].map(|share| store.worker(share, &load));
    store.door.until_asked("worker-4-of-4/events/part-0000.parquet");
    let watched = Process::start(store.offered(&["watch", RUN, "--quiet"]));
    for worker in workers {
        let ended = well(worker);
        assert!(ended.stdout.contains("saved       s3://bucket/runs/7/worker-"), "{ended:?}");
    }
    let whole = store.alone(&load);
    assert_eq!(store.meant(), whole, "to the nanosecond");
    let watched = watched.end();
    let launches = format!("{} requests, 0 of them not sent", whole.len());
    assert!(watched.code == Some(0) && watched.stdout.contains(&launches), "{watched:?}");
    let verdict: Value = serde_json::from_str(&store.said(&["verify", RUN, "--json"])).unwrap();
    assert_eq!((&verdict["source"]["path"], &verdict["window"]["requests"]), (&RUN.into(), &whole.len().into()));
    for rows in ["by_node", "clocks"] {
        assert_eq!(verdict[rows].as_array().unwrap().len(), 4, "a row for each worker");
    }
    let report: Value = serde_json::from_str(&store.said(&["report", RUN, "--json"])).unwrap();
    assert_eq!(
        (&report["runs"][0]["name"], &report["runs"][0]["verdict"]["source"]["requests"]),
        (&RUN.into(), &whole.len().into())
    );
    let one = store.said(&["verify", &format!("{RUN}/worker-2-of-4")]);
    assert!(one.contains("\nfile        s3://bucket/runs/7/worker-2-of-4: "), "one worker alone: {one}");
    let one: Value = serde_json::from_str(&store.said(&["verify", &format!("{RUN}/worker-2-of-4"), "--json"])).unwrap();
    assert_eq!(one["expected"]["arrivals"], "renewal with CoV 0.5", "by its own workload");
    assert!(store.is_tidy(), "copies are taken away");
    store.stop();
    Ok(())
}

fn a_killed_worker_leaves_its_parts_and_is_resumed() -> Tested {
    let store = Store::start()?;
    let load = ["--open", "100/s", "-d", "22s"];
    let (one, other) = (store.worker("1/2", &load), store.worker("2/2", &load));
    // The first part is complete when the second is being uploaded.
    store.door.until_asked("PUT /bucket/runs/7/worker-2-of-2/events/part-0001.parquet");
    let twice = store.worker("1/2", &load);
    other.signal(Signal::KILL);
    let _ = other.end();
    let again = store.worker("2/2", &load);
    let twice = twice.end();
    assert!(twice.code == Some(2) && twice.stderr.contains("worker 1/2 exists already"), "{twice:?}");
    let again = well(again);
    assert!(again.stdout.contains("saved       s3://bucket/runs/7/worker-2-of-2.2"), "{again:?}");
    well(one);
    let warnings = store.warnings();
    for said in [
        "worker 2/2: the recording has no end (no run.json)",
        "requests of its share were not sent because the worker was lost",
    ] {
        assert!(warnings.contains(said), "{said}: {warnings}");
    }
    assert_eq!(store.meant(), store.alone(&load), "the missing requests are known to the nanosecond");
    store.stop();
    Ok(())
}

fn a_temporarily_unreachable_store_loses_nothing() -> Tested {
    let store = Store::start()?;
    // Long enough not to end before the store is closed on a slow machine.
    let load = ["--open", "100/s", "-d", "18s"];
    let workers = ["1/2", "2/2"].map(|share| store.worker(share, &load));
    let part =
        |number: u32| store.door.until_asked(&format!("PUT /bucket/runs/7/worker-2-of-2/events/part-{number:04}"));
    // It does not respond for some seconds, and then refuses connections.
    part(1);
    store.moto.signal(Signal::STOP);
    let clock = offered_io::Clock::start();
    clock.sleep_until(clock.now() + Nanos::from_secs(3));
    store.moto.signal(Signal::CONT);
    part(4);
    store.door.shut();
    clock.sleep_until(clock.now() + Nanos::from_secs(4));
    store.door.open();
    for worker in workers {
        let ended = well(worker);
        assert!(ended.stderr.contains("warning: NOT RECORDED, retrying: cannot write s3://"), "{ended:?}");
    }
    assert_eq!(store.meant(), store.alone(&load), "nothing is missing");
    let warnings = store.warnings();
    assert!(!warnings.contains("has no end") && !warnings.contains("not sent"), "{warnings}");
    assert!(store.is_tidy());
    store.stop();
    Ok(())
}

fn rejected_uploads_stay_local_and_are_pushed_later() -> Tested {
    let store = Store::start()?;
    let load = ["--open", "100/s", "-d", "60s"];
    let worker = store.worker("1/1", &load);
    store.door.until_asked("PUT /bucket/runs/7/worker-1-of-1/events/part-0001.parquet");
    store.door.shut();
    // The first signal stops the run, the second aborts the upload.
    worker.signal(Signal::INT);
    let clock = offered_io::Clock::start();
    clock.sleep_until(clock.now() + Nanos::from_secs(2));
    worker.signal(Signal::INT);
    let ended = worker.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("are not in s3://bucket/runs/7/worker-1-of-1: cannot write"), "{ended:?}");
    assert!(ended.stdout.contains("request  requests"), "its result is printed: {ended:?}");
    let (_, kept) = ended.stderr.split_once("the complete run is in ").expect("where it is");
    let kept = Path::new(kept.split(';').next().unwrap());
    assert!(RunRecord::read(kept).unwrap().is_some_and(|record| record.generator.unwrap().stopped));
    // The recording in the store is not marked as complete.
    store.door.open();
    assert!(store.warnings().contains("requests are not recorded so far"), "{}", store.warnings());
    let (_, push) = ended.stderr.split_once("upload the rest later: offered ").expect("a command");
    let push: Vec<&str> = push.split(';').next().unwrap().split_whitespace().collect();
    assert_eq!(push[..2], ["push", kept.to_str().unwrap()]);
    let said = store.said(&push);
    assert!(!said.contains(": 0 files uploaded") && !said.contains(" 0 already present"), "the rest: {said}");
    assert!(!store.warnings().contains("not recorded"), "{}", store.warnings());
    assert!(store.said(&push).contains(": 0 files uploaded"));
    store.stop();
    Ok(())
}

fn a_store_that_fails_is_reported_after_a_second() -> Tested {
    let store = Store::start()?;
    store.door.shut();
    let verify = Process::start(store.offered(&["verify", RUN]));
    let clock = offered_io::Clock::start();
    clock.sleep_until(clock.now() + Nanos::from_secs(3));
    store.door.open();
    let ended = verify.end();
    assert!(ended.stderr.contains("warning: the object store failed: "), "{ended:?}");
    assert!(ended.stderr.contains("contains no run"), "it has been tried again: {ended:?}");
    store.stop();
    Ok(())
}

/// An error that a retry cannot mend, such as a certificate that is not valid.
fn a_store_without_tls_is_not_retried() -> Tested {
    needs("objects", cfg!(feature = "objects"))?;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("https://{}", listener.local_addr().unwrap());
    let guests = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&guests);
    std::thread::spawn(move || {
        for mut guest in listener.incoming().flatten() {
            counted.fetch_add(1, Relaxed);
            let _ = guest.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let mut verify = offered(&["verify", RUN]);
    verify.env("AWS_ACCESS_KEY_ID", "ours").env("AWS_SECRET_ACCESS_KEY", "secret").env("AWS_ENDPOINT_URL", endpoint);
    let ended = Process::start(verify).end();
    assert!(ended.code == Some(1) && ended.stderr.contains("the store does not use TLS at this address"), "{ended:?}");
    assert_eq!(guests.load(Relaxed), 1, "one attempt");
    Ok(())
}

fn workers_that_cannot_start_get_a_reason() -> Tested {
    let store = Store::start()?;
    let one = store.worker("1/2", &["--open", "100/s"]);
    let other = store.worker("2/2", &["--open", "200/s"]);
    for ended in [one.end(), other.end()] {
        assert!(matches!(ended.code, Some(1 | 2)) && ended.stderr.contains("has another workload"), "{ended:?}");
    }
    let late = store.worker("1/2", &["--open", "100/s"]).end();
    assert!(late.code == Some(1) && late.stderr.contains("was cancelled"), "{late:?}");
    assert!(store.is_tidy(), "no temporary files remain");
    store.stop();
    Ok(())
}

fn invalid_urls_are_reported() -> Tested {
    let store = Store::start()?;
    let said = |args: &[&str]| {
        let ended = Process::start(store.offered(args)).end();
        (ended.code, ended.stderr)
    };
    let empty = said(&["verify", "s3://bucket/runs/8"]);
    assert!(empty.0 == Some(2) && empty.1.contains("s3://bucket/runs/8 contains no run"), "{empty:?}");
    let nowhere = said(&["verify", "s3://another/runs/8"]);
    assert!(nowhere.0 == Some(1) && nowhere.1.contains("The specified bucket does not exist"), "{nowhere:?}");
    let whole = said(&["watch", "s3://bucket"]);
    assert!(whole.0 == Some(2) && whole.1.contains("names no folder in the bucket"), "{whole:?}");
    store.stop();
    Ok(())
}

/// A store that accepts every put and ignores conditions.
fn stores_without_conditional_writes_are_refused() -> Tested {
    needs("objects", cfg!(feature = "objects"))?;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut asked = vec![0; 1 << 16];
            let Ok(bytes) = (&connection).read(&mut asked) else { continue };
            let answer = match asked[..bytes].starts_with(b"PUT") {
                true => "HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
                false => "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            };
            let _ = (&connection).write_all(answer.as_bytes());
            // The body of a put may arrive after its head.
            let _ = connection.shutdown(Shutdown::Write);
            let _ = (&connection).read(&mut asked);
        }
    });
    let server = server();
    let url = format!("{}/", server.address());
    let mut worker = offered(&[
        "run",
        &url,
        "--seed",
        "5",
        "--open",
        "100/s",
        "-d",
        "1s",
        "--rendezvous",
        RUN,
        "--share",
        "1/1",
        "--quiet",
    ]);
    worker.env("AWS_ACCESS_KEY_ID", "ours").env("AWS_SECRET_ACCESS_KEY", "secret").env("AWS_ENDPOINT_URL", endpoint);
    let ended = Process::start(worker).end();
    assert!(ended.code == Some(1) && ended.stderr.contains("overwrites existing objects"), "{ended:?}");
    server.stop().unwrap();
    Ok(())
}

/// A worker of a sweep of this workload.
fn sweeping(store: &Store, text: &str, share: &str, more: &[&str]) -> Process {
    let file = store.folder.path().join("w.toml");
    std::fs::write(&file, text).unwrap();
    let sweep = ["sweep", file.to_str().unwrap(), "--rendezvous", SWEEP, "--share", share];
    Process::start(store.offered(&[&sweep[..], more].concat()))
}

const SWEEP: &str = "s3://bucket/sweeps/1";

/// Simulated, so that results do not depend on the worker.
fn workers_share_the_cells_of_a_sweep_in_a_bucket() -> Tested {
    let store = Store::start()?;
    let text = "seed = 7\nduration = \"60s\"\nskip_first = \"1s\"\narrivals.open.rate = \"1/s\"\n\
        [server]\ndiscipline = \"ps\"\nservice = { exponential = \"2ms\" }\n[[request]]\nget = \"/\"\n";
    let grid = ["--vary", "rate=50..150:50", "--vary", "request.0.get=/a~b%20c,/d", "--simulate", "--json"];
    let part = sweeping(&store, text, "2/3", &grid).end();
    assert!(part.code == Some(0) && part.stderr.contains("4 cells of other workers are not finished"), "{part:?}");
    let others = ["1/3", "3/3"].map(|share| sweeping(&store, text, share, &grid)).map(Process::end);
    let whole = others.iter().find(|ended| !ended.stdout.is_empty());
    let whole = whole.unwrap_or_else(|| panic!("the last worker reads all cells: {others:?}"));
    let alone = store.folder.path().join("alone");
    let file = store.folder.path().join("w.toml");
    let alone = ["sweep", file.to_str().unwrap(), "--output", alone.to_str().unwrap()];
    let alone: Value = serde_json::from_str(&store.said(&[&alone[..], &grid].concat())).unwrap();
    let document: Value = serde_json::from_str(&whole.stdout).unwrap();
    assert_eq!(document, alone, "the sweep of one");
    assert_eq!(sweeping(&store, text, "1/3", &grid).end().stdout, whole.stdout, "anybody reads it");

    let report: Value = serde_json::from_str(&store.said(&["report", SWEEP, "--json"])).unwrap();
    assert_eq!(report["sweeps"][0], alone);
    let cell = format!("{SWEEP}/cells/rate=50,request.0.get=_d");
    assert!(store.said(&["verify", &cell]).contains(&format!("\nfile        {cell}: ")), "a cell is a run");
    let verify = Process::start(store.offered(&["verify", SWEEP])).end();
    assert!(
        verify.code == Some(2) && verify.stderr.contains("is a sweep; report it: offered report s3://"),
        "{verify:?}"
    );
    let other = sweeping(&store, &text.replace("seed = 7", "seed = 8"), "1/3", &grid).end();
    assert!(
        other.code == Some(2) && other.stderr.contains(&format!("{SWEEP} belongs to another workload")),
        "{other:?}"
    );
    let fewer = ["--vary", "rate=50,100", "--simulate"];
    let fewer = sweeping(&store, text, "1/3", &fewer).end();
    assert!(fewer.code == Some(2) && fewer.stderr.contains("contains 6 finished cells of other values"), "{fewer:?}");
    assert!(store.is_tidy(), "copies are taken away");
    store.stop();
    Ok(())
}

fn a_killed_sweep_worker_resumes_and_duplicate_numbers_are_refused() -> Tested {
    let store = Store::start()?;
    let text = format!(
        "seed = 5\nduration = \"8s\"\nskip_first = \"1s\"\ngenerator.wait = \"sleep\"\narrivals.open.rate = \"1/s\"\ntarget.url = \"{}/\"\n",
        store.server.address()
    );
    let worker = |share: &str| sweeping(&store, &text, share, &["--vary", "rate=50..200:50"]);
    // By its stride, the second worker runs 200/s and then 100/s.
    let killed = worker("2/2");
    store.door.until_asked("PUT /bucket/sweeps/1/cells/rate%3D200/run.json");
    store.door.until_asked("PUT /bucket/sweeps/1/cells/rate%3D100/events/part-0001.parquet");
    let twice = worker("2/2").end();
    assert!(
        twice.code == Some(2) && twice.stderr.contains("cells/rate=100 is being executed by another worker"),
        "{twice:?}"
    );
    killed.signal(Signal::KILL);
    let _ = killed.end();
    let other = well(worker("1/2"));
    assert!(other.stderr.contains("1 cell of other workers is not finished"), "{other:?}");
    let again = well(worker("2/2"));
    assert!(again.stderr.contains("2 cells, 1 finished; 1 to do"), "{again:?}");
    let document: Value = serde_json::from_str(&store.said(&["report", SWEEP, "--json"])).unwrap();
    let cells = document["sweeps"][0]["cells"].as_array().unwrap();
    let directories: Vec<&str> = cells.iter().map(|cell| cell["directory"].as_str().unwrap()).collect();
    assert_eq!(directories, ["cells/rate=50", "cells/rate=100@2", "cells/rate=150", "cells/rate=200"]);
    let url = format!("{SWEEP}/cells/rate=100@2");
    let verdict: Value = serde_json::from_str(&store.said(&["verify", &url, "--json"])).unwrap();
    assert!(!verdict["warnings"].to_string().contains("has no end"), "the recording is complete again: {verdict}");
    store.stop();
    Ok(())
}
