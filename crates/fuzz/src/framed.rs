//! HTTP/2 and WebSocket responses. A socket is needed because external crates implement these protocols within our
//! event loop.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use offered_base::Share;
use offered_events::{Event, Outcome};
use offered_run::{Error, Generator, Load};
use offered_workload::Workload;

/// A SETTINGS frame without settings.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Sends `bytes` after the server's SETTINGS, whatever is requested.
pub(crate) fn http2(bytes: &[u8]) {
    let handshake = |mut stream: TcpStream| {
        let mut preface = [0; 24];
        stream.read_exact(&mut preface)?;
        stream.write_all(SETTINGS)?;
        Ok(stream)
    };
    exchange(
        bytes,
        "protocol = \"h2\"\nresend = false",
        "get = \"/\"\ncheck = [{ body = true, contains = \"ok\" }]",
        handshake,
    );
}

/// Sends `bytes` after the handshake.
pub(crate) fn websocket(bytes: &[u8]) {
    let handshake = |stream: TcpStream| {
        let refused = |_| io::Error::other("no handshake");
        tungstenite::accept(stream).map(|socket| socket.get_ref().try_clone()).map_err(refused)?
    };
    exchange(
        bytes,
        "",
        "name = \"chat\"\nwebsocket = { send = \"hi\", await = \"^hi\" }\ncheck = [{ body = true, contains = \"i\" }]",
        handshake,
    );
}

/// Sends `request` to a peer that does the handshake, sends `bytes` and closes. This must yield one event, which counts
/// at most `bytes` as received.
fn exchange(bytes: &[u8], target: &str, request: &str, handshake: fn(TcpStream) -> io::Result<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its number");
    let is_over = AtomicBool::new(false);
    let events = thread::scope(|scope| {
        scope.spawn(|| {
            for (nth, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                if is_over.load(Relaxed) {
                    break;
                }
                // A client without any response may connect again to find out whether the server uses TLS.
                if nth == 0 {
                    let _ = handshake(stream).and_then(|stream| send(stream, bytes));
                }
            }
        });
        let events = run_session(address, target, request);
        is_over.store(true, Relaxed);
        let _ = TcpStream::connect(address);
        events
    });
    let events = match events {
        Ok(events) => events,
        Err(why) => panic!("{why}"),
    };
    let [event] = &events[..] else { panic!("{} events", events.len()) };
    assert!(!matches!(event.outcome, Outcome::Unsent | Outcome::Cut | Outcome::Refused), "{event:?}");
    assert!(event.bytes_in <= bytes.len() as u64, "{event:?}");
    assert!(event.sent.is_some() && event.sent <= event.done, "{event:?}");
}

/// Sends `bytes`, closes the writing side, and waits for the other side to close.
fn send(mut stream: TcpStream, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.shutdown(Shutdown::Write)?;
    while stream.read(&mut [0; 4096])? > 0 {}
    Ok(())
}

/// Runs one session with one request and returns its events.
fn run_session(address: SocketAddr, target: &str, request: &str) -> Result<Vec<Event>, Error> {
    let text = format!(
        "duration = \"1s\"\narrivals.closed.users = 1\n[target]\nurl = \"http://{address}\"\nresponse_timeout = \"20s\"\n\
         {target}\n[[request]]\n{request}\n"
    );
    let workload = Workload::parse(&text, "fuzz", &|name| Err(name.to_owned())).expect("a workload");
    Generator::new(workload, Share::ALL, Load::Target)?.walk(1)
}
