//! PostgreSQL: peers that reject, notify, delay, flood, disconnect, and send unexpected messages.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};

use offered_base::Share;
use offered_events::{Event, Outcome};
use offered_run::{Error, Generator, Load};
use offered_workload::Workload;

use crate::{HANG, assert_first_events, listen, run, run_until};

tests![
    a_fault_affects_one_request_only,
    asynchronous_messages_and_pieces_do_not_change_the_response,
    large_rows_are_not_stored_and_delay_no_other_request,
    a_run_that_is_flooded_can_be_stopped,
    a_connection_is_reused_only_after_its_cancellation,
    a_refused_login_is_an_error_before_the_run
];

/// A message with this tag.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// An error or a notice with this code and text.
fn error(tag: u8, code: &str, words: &str) -> Vec<u8> {
    message(tag, format!("SERROR\0C{code}\0M{words}\0\0").as_bytes())
}

fn ready(state: u8) -> Vec<u8> {
    message(b'Z', &[state])
}

/// The response to a successful statement: a row with one column, `answer`.
fn answer() -> Vec<u8> {
    [message(b'2', b""), message(b'D', b"\0\x01\0\0\0\x0242"), message(b'C', b"SELECT 1\0"), ready(b'I')].concat()
}

/// Reads a message: its tag and body. `None` at the end of the stream.
fn read_message(stream: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let mut head = [0; 5];
    stream.read_exact(&mut head).ok()?;
    let mut body = vec![0; u32::from_be_bytes(head[1..].try_into().unwrap()) as usize - 4];
    stream.read_exact(&mut body).ok()?;
    Some((head[0], body))
}

/// Reads a startup message, which has no tag: its first number, and the rest.
fn read_startup(stream: &mut TcpStream) -> Option<(u32, Vec<u8>)> {
    let mut head = [0; 8];
    stream.read_exact(&mut head).ok()?;
    let number = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
    let mut rest = vec![0; number(0) as usize - 8];
    stream.read_exact(&mut rest).ok()?;
    Some((number(4), rest))
}

const CANCEL: u32 = 80_877_102;

/// Accepts a login, and prepares all statements, each without parameters and with one column.
fn accept_login(stream: &mut TcpStream, pid: u32) -> Option<()> {
    let settings = [message(b'S', b"server_version\x0015.4\0"), error(b'N', "00000", "welcome")].concat();
    let key = [pid.to_be_bytes(), 7_u32.to_be_bytes()].concat();
    let welcome = [message(b'R', &[0; 4]), settings, message(b'K', &key), ready(b'I')].concat();
    stream.write_all(&welcome).ok()?;
    loop {
        let said = match read_message(stream)?.0 {
            b'P' => message(b'1', b""),
            b'D' => {
                let column = b"\0\x01answer\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";
                [message(b't', b"\0\0"), message(b'T', column)].concat()
            }
            b'S' => break stream.write_all(&ready(b'I')).ok(),
            _ => return None,
        };
        stream.write_all(&said).ok()?;
    }
}

/// Waits until a statement is executed.
fn await_execute(stream: &mut TcpStream) -> Option<()> {
    while read_message(stream)?.0 != b'S' {}
    Some(())
}

/// What the server does for the first statement that is executed; afterwards it is well-behaved.
type Act = fn(&mut TcpStream) -> Option<()>;

/// A server that does this once.
fn server(act: Act) -> SocketAddr {
    let acted = Arc::new(AtomicUsize::new(0));
    listen(move |nth, mut stream| {
        let mut serve = || {
            if read_startup(&mut stream)?.0 == CANCEL {
                return None;
            }
            accept_login(&mut stream, nth as u32 + 1)?;
            loop {
                await_execute(&mut stream)?;
                match acted.fetch_add(1, Ordering::Relaxed) {
                    0 => act(&mut stream)?,
                    _ => stream.write_all(&answer()).ok()?,
                }
            }
        };
        let _: Option<()> = serve();
    })
}

pub(crate) const REQUEST: &str = "name = \"one\"\nsql = \"select 42\"\ncheck = [{ column = \"answer\", is = \"42\" }]";

pub(crate) fn target(address: SocketAddr, connections: u32, timeout: &str) -> String {
    format!(
        "url = \"postgres://me@{address}/?sslmode=disable\"\nconnections = {connections}\nresponse_timeout = \"{timeout}\""
    )
}

/// A server without faults.
pub(crate) fn well_behaved() -> SocketAddr {
    server(|stream| stream.write_all(&answer()).ok())
}

fn events_of(act: Act) -> Vec<Event> {
    run(&target(server(act), 2, "20s"), REQUEST)
}

fn a_fault_affects_one_request_only() {
    let preflight_error: Act = |stream| {
        let said = [message(b'2', b""), error(b'E', "40001", "could not serialize"), ready(b'I')].concat();
        stream.write_all(&said).ok()
    };
    let left_open: Act = |stream| {
        let said = [message(b'2', b""), message(b'C', b"SELECT 1\0"), ready(b'T')].concat();
        stream.write_all(&said).ok()?;
        // The client rolls back.
        assert_eq!(read_message(stream)?, (b'Q', b"rollback\0".to_vec()));
        stream.write_all(&[message(b'C', b"ROLLBACK\0"), ready(b'I')].concat()).ok()
    };
    let fatal: Act = |stream| {
        let _ = stream.write_all(&error(b'E', "57P01", "terminating connection"));
        None
    };
    let closed: Act = |_| None;
    let half: Act = |stream| {
        let _ = stream.write_all(&answer()[..9]);
        None
    };
    let unknown: Act = |stream| stream.write_all(&message(b'!', b"")).ok();
    let unasked: Act = |stream| stream.write_all(&message(b'R', &[0; 4])).ok();
    let copy: Act = |stream| stream.write_all(&message(b'G', b"\0\0\0")).ok();
    let other_row: Act = |stream| stream.write_all(&message(b'D', b"\0\x02\0\0\0\x01x\xff\xff\xff\xff")).ok();
    for (act, outcome, why) in [
        (preflight_error, Outcome::SqlError, "SQLSTATE 40001: could not serialize"),
        (
            left_open,
            Outcome::SqlError,
            "the request left its transaction open, so it was rolled back; write transaction = [...]",
        ),
        (fatal, Outcome::SqlError, "SQLSTATE 57P01: terminating connection"),
        (closed, Outcome::Reset, "closed by the server"),
        (half, Outcome::Reset, "closed by the server"),
        (unknown, Outcome::Malformed, "not PostgreSQL: a message `!` with a length of 4 bytes"),
        (unasked, Outcome::Malformed, "not PostgreSQL: an unexpected message `R`"),
        (copy, Outcome::Malformed, "COPY is not supported"),
        (other_row, Outcome::Malformed, "not PostgreSQL: a row does not have the columns described before"),
    ] {
        let events = events_of(act);
        assert_first_events(&events, 1, outcome, why);
        assert_eq!(events[0].why(), why);
    }
}

fn asynchronous_messages_and_pieces_do_not_change_the_response() {
    let chatty: Act = |stream| {
        let notification = message(b'A', b"\0\0\0\x01news\0x\0");
        let chat = [error(b'N', "01000", "by the way"), message(b'S', b"TimeZone\0UTC\0"), notification];
        stream.write_all(&[chat.concat(), answer()].concat()).ok()
    };
    let byte_by_byte: Act = |stream| {
        stream.set_nodelay(true).ok()?;
        answer().iter().try_for_each(|byte| stream.write_all(&[*byte]).ok())
    };
    for (mode, act) in [("chatty", chatty), ("byte by byte", byte_by_byte)] {
        let events = events_of(act);
        assert_first_events(&events, 0, Outcome::Ok, mode);
        assert!(events.iter().all(|event| event.rows == 1), "{mode}");
    }
}

fn large_rows_are_not_stored_and_delay_no_other_request() {
    let large: Act = |stream| {
        let head = [&b"D"[..], &(40_u32 << 20).to_be_bytes()].concat();
        stream.write_all(&[message(b'2', b""), head].concat()).ok()?;
        let piece = vec![b'x'; 1 << 20];
        (0..39).try_for_each(|_| stream.write_all(&piece).ok())?;
        stream.write_all(&piece[..(1 << 20) - 4]).ok()?;
        stream.write_all(&[message(b'C', b"SELECT 1\0"), ready(b'I')].concat()).ok()
    };
    let events = events_of(large);
    assert_first_events(&events, 1, Outcome::CheckFailed, "a large row");
    assert!(events[0].why().contains("too large") && events[0].bytes_in > 40 << 20, "{:?}", events[0]);
    let flood: Act = |stream| {
        let rows = message(b'D', b"\0\x01\0\0\0\x0242").repeat(1000);
        loop {
            stream.write_all(&rows).ok()?;
        }
    };
    assert_first_events(&run(&target(server(flood), 8, "3s"), REQUEST), 1, Outcome::Timeout, "rows without end");
}

fn a_run_that_is_flooded_can_be_stopped() {
    let (tell, events_of) = mpsc::channel();
    let tell = Mutex::new(tell);
    let tell = Arc::new(tell);
    let address = listen(move |nth, mut stream| {
        let mut serve = || {
            read_startup(&mut stream)?;
            accept_login(&mut stream, nth as u32)?;
            await_execute(&mut stream)?;
            let _ = tell.lock().unwrap().send(());
            let notices = error(b'N', "01000", "more").repeat(1000);
            loop {
                stream.write_all(&notices).ok()?;
            }
        };
        let _: Option<()> = serve();
    });
    let events = run_until(&target(address, 1, "60s"), REQUEST, Some(events_of));
    assert!(!events.is_empty() && events.iter().all(|event| event.outcome == Outcome::Cut), "{events:?}");
}

fn a_connection_is_reused_only_after_its_cancellation() {
    let cancelled: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let seen = cancelled.clone();
    let slow = Arc::new(AtomicUsize::new(0));
    let (tell, events_of) = mpsc::channel();
    let events_of = Arc::new(Mutex::new(events_of));
    let address = listen(move |nth, mut stream| {
        let mut serve = || {
            let (number, rest) = read_startup(&mut stream)?;
            if number == CANCEL {
                seen.lock().unwrap().push(rest);
                let _ = tell.send(());
                return None;
            }
            accept_login(&mut stream, nth as u32 + 1)?;
            loop {
                await_execute(&mut stream)?;
                if slow.fetch_add(1, Ordering::Relaxed) == 0 {
                    events_of.lock().unwrap().recv_timeout(HANG).ok()?;
                    let said = [error(b'E', "57014", "canceling statement"), ready(b'E')].concat();
                    stream.write_all(&said).ok()?;
                    assert_eq!(read_message(&mut stream)?.0, b'Q');
                    stream.write_all(&[message(b'C', b"ROLLBACK\0"), ready(b'I')].concat()).ok()?;
                } else {
                    stream.write_all(&answer()).ok()?;
                }
            }
        };
        let _: Option<()> = serve();
    });
    let events = run(&target(address, 1, "100ms"), REQUEST);
    assert_eq!(*cancelled.lock().unwrap(), [[1_u32.to_be_bytes(), 7_u32.to_be_bytes()].concat()]);
    assert_eq!(events[0].outcome, Outcome::Timeout);
    assert_eq!(events[0].why(), "no complete response within 100ms");
    // The requests after it waited for the one connection, successfully or not, and it was used again.
    for event in &events[1..] {
        let in_vain = event.outcome == Outcome::Timeout && event.why() == "no connection was free within 100ms";
        assert!(in_vain || event.outcome == Outcome::Ok && event.connection == events[0].connection, "{event:?}");
    }
    assert_eq!(events[29].outcome, Outcome::Ok, "{:?}", events[29]);
}

/// The error of the preflight check.
fn preflight_error(address: SocketAddr, user: &str) -> Error {
    let text = format!(
        "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"postgres://{user}@{address}/?sslmode=disable\"\n\
         connections = 1\nconnect_timeout = \"2s\"\n[[request]]\n{REQUEST}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    Generator::new(workload, Share::ALL, Load::Target).unwrap().preflight().unwrap_err()
}

fn a_refused_login_is_an_error_before_the_run() {
    let says = |said: Vec<u8>| {
        listen(move |_, mut stream| {
            let mut serve = || {
                read_startup(&mut stream)?;
                stream.write_all(&said).ok()?;
                while read_message(&mut stream).is_some() {}
                Some(())
            };
            let _: Option<()> = serve();
        })
    };
    let asks = |kind: u32, more: &[u8]| message(b'R', &[&kind.to_be_bytes()[..], more].concat());
    for (said, user, why) in [
        (error(b'E', "28000", "no pg_hba.conf entry"), "me", "SQLSTATE 28000: no pg_hba.conf entry"),
        (asks(3, b""), "me", "the server demands a password"),
        (asks(5, b"salt"), "me", "the server demands a password"),
        (asks(10, b"SCRAM-SHA-256\0\0"), "me", "the server demands a password"),
        (asks(10, b"OAUTHBEARER\0\0"), "me:pw", "the server demands an unsupported authentication method"),
        (asks(7, b""), "me:pw", "the server demands an unsupported authentication method"),
        (asks(99, b""), "me:pw", "unknown authentication tag `99`"),
        // A login without the SCRAM proof must not be accepted.
        ([asks(10, b"SCRAM-SHA-256\0\0"), asks(0, b"")].concat(), "me:pw", "an unexpected message `R`"),
        (
            [asks(10, b"SCRAM-SHA-256\0\0"), asks(11, b"r=x,s=AAAA,i=4000000000")].concat(),
            "me:pw",
            "demands more than 100000 SCRAM iterations",
        ),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "me", "not PostgreSQL: a message `H`"),
        (message(b'T', b"\0\0"), "me", "an unexpected message `T`"),
    ] {
        let events_of = preflight_error(says(said), user).to_string();
        assert!(events_of.contains(why), "{events_of}, not {why}");
    }
    let silent = listen(|_, mut stream| while stream.read(&mut [0; 64]).is_ok_and(|read| read > 0) {});
    assert!(preflight_error(silent, "me").to_string().contains("no connection within 2s"));
    let closing = listen(|_, mut stream| drop(read_startup(&mut stream)));
    assert!(preflight_error(closing, "me").to_string().contains("closed by the server"));
}
