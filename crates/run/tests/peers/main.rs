//! Runs against peers on loopback, in this process, that follow their protocols or violate them as scripted.
//!
//! Each test is a table: what the peer does, the resulting event of that exchange, and that all others succeed. A run
//! that does not end fails its test.

#[macro_use]
#[expect(dead_code, reason = "none of these tests has requirements")]
#[path = "../../../../tests/harness.rs"]
mod harness;

mod faults;
mod grpc;
mod http1;
mod http2;
mod observed;
mod postgres;
mod preflight;
mod reading;
mod retries;
mod reuse;
mod several;
mod streams;
mod tls;
mod tokens;
mod websocket;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use offered_base::Share;
use offered_events::{Event, Outcome};
use offered_run::{Generator, Load};
use offered_workload::Workload;

fn main() {
    harness::run([
        faults::grpc::tests(),
        faults::http1::tests(),
        faults::http2::tests(),
        faults::scripts::tests(),
        faults::tls::tests(),
        faults::waiting::tests(),
        faults::websocket::tests(),
        http1::tests(),
        http2::tests(),
        observed::tests(),
        postgres::tests(),
        preflight::tests(),
        reading::tests(),
        retries::tests(),
        reuse::tests(),
        several::tests(),
        streams::tests(),
        tls::tests(),
        tokens::tests(),
        websocket::tests(),
    ]);
}

/// Longer than any of these runs on any machine.
const HANG: Duration = Duration::from_secs(60);

/// Listens on loopback. Each connection is handled on a thread of its own by `serve`, which gets its number, from 0.
fn listen(serve: impl Fn(usize, TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // A large backlog keeps the order of connections, which some tests depend on.
    rustix::net::listen(&listener, 1024).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for (nth, stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let serve = serve.clone();
            thread::spawn(move || serve(nth, stream));
        }
    });
    address
}

/// Sends `request` thirty times in 300 ms to `target`, each in a session of its own. Returns the events in order of the
/// sessions.
fn run(target: &str, request: &str) -> Vec<Event> {
    run_until(target, request, None)
}

/// The same, stopped when `stop` receives something.
fn run_until(target: &str, request: &str, stop: Option<mpsc::Receiver<()>>) -> Vec<Event> {
    run_requests(30, target, request, stop)
}

/// Sends `request` `count` times, every 10 ms.
fn run_requests(count: usize, target: &str, request: &str, stop: Option<mpsc::Receiver<()>>) -> Vec<Event> {
    let duration = 10 * count;
    let text = format!(
        "duration = \"{duration}ms\"\narrivals.open = {{ rate = \"100/s\", process = \"constant\" }}\n\
         generator = {{ threads = 1, wait = \"sleep\" }}\n\
         [target]\nconnect_timeout = \"20s\"\n{target}\n[[request]]\n{request}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    let generator = Generator::new(workload, Share::ALL, Load::Target).unwrap_or_else(|why| panic!("{why}"));
    let stop_flag = generator.stop();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (_, sinks) = generator.run(None, Vec::new, |_| ()).unwrap();
        sender.send(sinks.into_iter().flatten().collect::<Vec<Event>>())
    });
    if let Some(stop) = stop {
        stop.recv_timeout(HANG).expect("a word to stop");
        stop_flag.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    let mut events = receiver.recv_timeout(HANG).expect("a run that ends");
    events.sort_by_key(|event| event.session);
    events
}

/// Asserts that the events of the first `n` sessions have this outcome, and that all others succeeded.
fn assert_first_events(events: &[Event], n: usize, outcome: Outcome, case: &str) {
    for (nth, event) in events.iter().enumerate() {
        let expected = if nth < n { outcome } else { Outcome::Ok };
        assert_eq!(event.outcome, expected, "{case}: launch {nth}: {event:?}");
    }
    assert_eq!(events.len(), 30, "{case}");
}
