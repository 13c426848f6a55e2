//! Overhead of the reference server: the response time of a job without work, and the lateness of responses to jobs
//! with work. The numbers in the book come from here: `cargo bench -p offered-serve`.

use std::io::{Read, Write};
use std::net::TcpStream;

use offered_base::{Instant, Nanos, Purpose, Rate, Seed};
use offered_distributions::Distribution;
use offered_io::{Clock, Poller};
use offered_serve::{Address, Options, Server, ServerHandle};
use offered_simulate::Discipline;
use offered_simulate::discipline::{Infinite, Ps};

fn main() {
    println!("{:44} {:>7} {:>7} {:>7} {:>7} us", "", "mean", "p50", "p99", "max");
    for (rate, count) in [("100/s", 1000), ("1000/s", 10_000), ("10000/s", 100_000)] {
        responses(rate, count);
    }
    for (name, spin) in [("spin", Nanos::from_micros(100)), ("sleep", Nanos::ZERO)] {
        completions(name, spin);
    }
}

fn start(
    clock: Clock,
    service: Distribution,
    spin: Nanos,
    discipline: impl Discipline + Send + 'static,
) -> ServerHandle {
    let record = std::env::temp_dir().join(format!("offered-overhead-{}.csv", std::process::id()));
    let _ = std::fs::remove_file(&record);
    let options = Options::new(Box::new(discipline), service, Seed(1));
    Server::start(Options { spin, clock, record: Some(record), ..options }).expect("a server")
}

fn connect(server: &ServerHandle) -> TcpStream {
    let Address::Tcp(address) = server.address() else { unreachable!("the server listens on TCP") };
    let stream = TcpStream::connect(address).expect("a connection");
    stream.set_nodelay(true).expect("a socket");
    stream
}

fn ask(stream: &mut TcpStream) {
    stream.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").expect("a server that reads");
    assert_eq!(stream.read(&mut [0; 256]).expect("a server that answers"), 41);
}

/// Response times of a blocking client that sends at regular instants, from before the write to after the read,
/// including the system.
fn responses(rate: &str, count: u64) {
    let clock = Clock::start();
    let server = start(
        clock,
        Distribution::constant(0.0).expect("a distribution"),
        Nanos::from_micros(100),
        Infinite::default(),
    );
    let mut stream = connect(&server);
    let mut poller = Poller::new().expect("a poller");
    let even: Rate = rate.parse().expect("a rate");
    let begin = clock.now() + Nanos::from_millis(10);
    let response = |number| {
        let spin = Nanos::from_micros(100);
        poller
            .wait_until(&clock, clock.now(), begin + Instant::ZERO.until(even.instant(number)), spin, &mut Vec::new())
            .expect("time passes");
        let sent = clock.now();
        ask(&mut stream);
        sent.until(clock.now())
    };
    let all = (0..count).map(response).collect();
    server.stop().expect("a server that stops");
    tell(&format!("response without work at {rate}"), all);
}

/// done - due from the record: processor sharing, exponential 5 ms, load about 0.7, 16 clients.
fn completions(name: &str, spin: Nanos) {
    let clock = Clock::start();
    let server = start(clock, Distribution::exponential(0.005).expect("a distribution"), spin, Ps::new(1));
    let clients: Vec<_> = (0..16)
        .map(|client| {
            let mut stream = connect(&server);
            std::thread::spawn(move || {
                let think = Distribution::exponential(0.11).expect("a distribution");
                for step in 0..100 {
                    let pause = think.sample(&mut Seed(1).at(Purpose::Think, client, step));
                    clock.sleep_until(clock.now() + Nanos::from_secs_f64(pause));
                    ask(&mut stream);
                }
            })
        })
        .collect();
    for client in clients {
        client.join().expect("a client that ends");
    }
    server.stop().expect("a server that stops");
    let record = std::env::temp_dir().join(format!("offered-overhead-{}.csv", std::process::id()));
    let text = std::fs::read_to_string(&record).expect("a record");
    let late = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        let at = |cell: usize| Nanos(cells[cell].parse().expect("an instant"));
        at(3) - at(2)
    };
    tell(&format!("answer after it was due, precision {name}"), text.lines().skip(1).map(late).collect());
    std::fs::remove_file(record).expect("our own file");
}

fn tell(what: &str, mut all: Vec<Nanos>) {
    all.sort_unstable();
    let mean = all.iter().map(|time| time.as_micros_f64()).sum::<f64>() / all.len() as f64;
    let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize].as_micros_f64();
    println!("{what:44} {mean:7.1} {:7.1} {:7.1} {:7.1}", at(0.5), at(0.99), at(1.0));
}
