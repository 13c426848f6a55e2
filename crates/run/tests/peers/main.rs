//! Runs against peers on loopback, in this process, that keep to their protocols or break them as scripted.
//!
//! Each test is a table: what the peer does, what becomes of the exchange it is done to, and that all others go well. A run that
//! does not end fails its test.

mod door;
mod faults;
mod grpc;
mod http1;
mod http2;
mod postgres;
mod seen;
mod tls;
mod websocket;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use offered_model::{Event, Outcome, Share, Workload};
use offered_run::{Generator, Load};

/// Longer than any of these runs on any machine.
const HANG: Duration = Duration::from_secs(60);

/// Listens on loopback; each connection is served on a thread of its own and told its number, from 0.
fn listen(serve: impl Fn(usize, TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // Who is not accepted at once keeps its place: some tests know connections by their order.
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

/// Thirty launches of `request` in 300 ms to `target`, each its own session; their events in order of their sessions.
fn run(target: &str, request: &str) -> Vec<Event> {
    run_until(target, request, None)
}

/// The same, stopped as soon as `stop` says something.
fn run_until(target: &str, request: &str, stop: Option<mpsc::Receiver<()>>) -> Vec<Event> {
    launches(30, target, request, stop)
}

/// So many launches of `request`, one each 10 ms.
fn launches(count: usize, target: &str, request: &str, stop: Option<mpsc::Receiver<()>>) -> Vec<Event> {
    let duration = 10 * count;
    let text = format!(
        "duration = \"{duration}ms\"\narrivals.open = {{ rate = \"100/s\", process = \"constant\" }}\n\
         generator = {{ threads = 1, precision = \"sleep\" }}\n\
         [target]\nconnect_timeout = \"20s\"\n{target}\n[[request]]\n{request}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    let generator = Generator::new(workload, Share::ALL, Load::Target).unwrap_or_else(|why| panic!("{why}"));
    let halt = generator.stop();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let (_, sinks) = generator.run(None, Vec::new, |_| ()).unwrap();
        tell.send(sinks.into_iter().flatten().collect::<Vec<Event>>())
    });
    if let Some(stop) = stop {
        stop.recv_timeout(HANG).expect("a word to stop");
        halt.store(true, std::sync::atomic::Ordering::Relaxed);
    }
    let mut events = told.recv_timeout(HANG).expect("a run that ends");
    events.sort_by_key(|event| event.session);
    events
}

/// That the events of the first `n` sessions ended like this, and all others well.
fn first(events: &[Event], n: usize, outcome: Outcome, mode: &str) {
    for (nth, event) in events.iter().enumerate() {
        let expected = if nth < n { outcome } else { Outcome::Ok };
        assert_eq!(event.outcome, expected, "{mode}: launch {nth}: {event:?}");
    }
    assert_eq!(events.len(), 30, "{mode}");
}
