//! WebSocket: floods, Close frames, and waiting for messages.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;

use offered_base::{Difference, Nanos, Share};
use offered_events::{Event, Outcome};
use offered_run::{Generator, Load};
use offered_workload::Workload;
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket, accept};

use crate::{assert_first_events, listen, run_requests, run_until};

tests![
    an_endless_message_is_rejected,
    a_run_that_is_flooded_can_be_stopped,
    a_close_frame_is_answered,
    a_session_sends_a_close_frame_however_it_ends,
    the_awaited_message_is_found_among_others,
    binary_messages_are_sent_and_awaited,
    a_request_may_await_a_number_of_messages_or_a_duration
];

/// Handles the first connection.
pub(crate) type Act = fn(WebSocket<TcpStream>);

/// Echoes all text messages.
pub(crate) fn echo(mut socket: WebSocket<TcpStream>) {
    while let Ok(message) = socket.read() {
        if message.is_text() && socket.send(message).is_err() {
            break;
        }
    }
}

/// Writes these bytes repeatedly, and reads nothing.
fn flood(socket: &mut WebSocket<TcpStream>, frame: &[u8]) {
    let many = frame.repeat(8192 / frame.len());
    while socket.get_mut().write_all(&many).is_ok() {}
}

pub(crate) fn server(act: Act) -> SocketAddr {
    listen(move |nth, stream| {
        let Ok(socket) = accept(stream) else { return };
        if nth == 0 { act(socket) } else { echo(socket) }
    })
}

fn chat_events(address: SocketAddr, timeout: &str, stop: Option<mpsc::Receiver<()>>) -> Vec<Event> {
    let target = format!("url = \"http://{address}\"\nresponse_timeout = \"{timeout}\"");
    run_until(&target, "name = \"chat\"\nwebsocket = { send = \"hi {{session}}\", await = \"^hi\" }", stop)
}

fn an_endless_message_is_rejected() {
    let large: Act = |mut socket| {
        let _ = socket.get_mut().write_all(&[0x01, 1, b'x']);
        flood(&mut socket, &[&[0x00, 126, 16, 0][..], &[b'x'; 4096]].concat());
    };
    let events = chat_events(server(large), "20s", None);
    assert_first_events(&events, 1, Outcome::Malformed, "a large message");
}

fn a_run_that_is_flooded_can_be_stopped() {
    let (tell, told) = mpsc::channel();
    let address = listen(move |_, stream| {
        let Ok(mut socket) = accept(stream) else { return };
        let _ = tell.send(());
        flood(&mut socket, &[0x89, 0]);
    });
    let events = chat_events(address, "60s", Some(told));
    assert!(!events.is_empty() && events.iter().all(|event| event.outcome == Outcome::Cut), "{events:?}");
}

fn a_close_frame_is_answered() {
    let (tell, told) = mpsc::channel();
    let address = listen(move |_, stream| {
        let Ok(mut socket) = accept(stream) else { return };
        let _ = socket.read();
        let _ = socket.close(Some(CloseFrame { code: CloseCode::Away, reason: "closing time".into() }));
        let answer = loop {
            match socket.read() {
                Ok(Message::Close(frame)) => break frame.map(|frame| frame.code),
                Ok(_) => {}
                Err(_) => break None,
            }
        };
        let _ = tell.send(answer);
    });
    let events = chat_events(address, "20s", None);
    assert_first_events(&events, 30, Outcome::Reset, "a Close frame");
    assert_eq!(events[0].why(), "closed by the server (1001 closing time)");
    for _ in &events {
        assert_eq!(told.recv_timeout(crate::HANG), Ok(Some(CloseCode::Away)));
    }
}

/// The code of the Close frame that the client sends; `None` if it sends none.
fn read_close_code(socket: &mut WebSocket<TcpStream>) -> Option<CloseCode> {
    loop {
        match socket.read() {
            Ok(Message::Close(frame)) => {
                // Sends the response to it.
                while socket.read().is_ok() {}
                return frame.map(|frame| frame.code);
            }
            Ok(message) if message.is_text() => drop(socket.send(message)),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

fn a_session_sends_a_close_frame_however_it_ends() {
    const CHAT: &str = "name = \"chat\"\nwebsocket = { send = \"hi {{session}}\", await = \"^hi\" }";
    let server = || {
        let (tell, told) = mpsc::channel();
        let address = listen(move |_, stream| {
            let Ok(mut socket) = accept(stream) else { return };
            let _ = tell.send(read_close_code(&mut socket));
        });
        (address, told)
    };
    let normal = |told: &mpsc::Receiver<Option<CloseCode>>, sessions: usize, mode: &str| {
        for _ in 0..sessions {
            assert_eq!(told.recv_timeout(crate::HANG), Ok(Some(CloseCode::Normal)), "{mode}");
        }
    };
    let (address, told) = server();
    let events = chat_events(address, "20s", None);
    assert_first_events(&events, 0, Outcome::Ok, "each leaves after its answer");
    normal(&told, 30, "each leaves after its answer");
    let (address, told) = server();
    run_requests(10, &format!("url = \"http://{address}\"\nreuse = \"fresh\""), CHAT, None);
    normal(&told, 10, "nothing is stored");
    // After a timeout the client sends a Close frame, too.
    let (address, told) = server();
    let other = CHAT.replace("^hi", "^ho");
    let events = run_requests(10, &format!("url = \"http://{address}\"\nresponse_timeout = \"100ms\""), &other, None);
    assert!(events.iter().all(|event| event.outcome == Outcome::Timeout), "{events:?}");
    normal(&told, 10, "no expected message");
    // At the end of the run the client closes the sessions of users that never end, and does not wait forever for a
    // peer that does not respond.
    let (address, told) = server();
    let users = format!(
        "duration = \"300ms\"\narrivals.closed = {{ users = 5 }}\n[target]\nurl = \"http://{address}\"\n[[request]]\n{CHAT}\n"
    );
    let run = |text: &str| {
        let workload = Workload::parse(text, "w.toml", &|_| Err(String::new())).unwrap();
        let generator = Generator::new(workload, Share::ALL, Load::Target).unwrap();
        let (_, sinks) = generator.run(None, Vec::new, |_| ()).unwrap();
        sinks.into_iter().flatten().collect::<Vec<Event>>()
    };
    assert!(run(&users).iter().all(|event| event.outcome == Outcome::Ok));
    normal(&told, 5, "the run is over");
    let silent = listen(|_, stream| {
        let Ok(mut socket) = accept(stream) else { return };
        while let Ok(message) = socket.read() {
            if !message.is_text() || socket.send(message).is_err() {
                break;
            }
        }
        // Receives the Close frame, but neither responds nor closes.
        std::thread::park_timeout(crate::HANG);
    });
    let events = run(&users.replace(&address.to_string(), &silent.to_string()));
    assert!(!events.is_empty() && events.iter().all(|event| event.outcome == Outcome::Ok));
}

/// Sends this request thirty times to a peer that does this with each message that it receives.
fn events_of_request(request: &str, more: &str, hear: fn(&mut WebSocket<TcpStream>, Message) -> bool) -> Vec<Event> {
    let address = listen(move |_, stream| {
        let Ok(mut socket) = accept(stream) else { return };
        while let Ok(message) = socket.read() {
            if (message.is_text() || message.is_binary()) && !hear(&mut socket, message) {
                break;
            }
        }
    });
    let target = format!("url = \"http://{address}\"\nresponse_timeout = \"10s\"\n{more}");
    let events = run_until(&target, request, None);
    assert_first_events(&events, 0, Outcome::Ok, request);
    events
}

fn the_awaited_message_is_found_among_others() {
    let room = |socket: &mut WebSocket<TcpStream>, message: Message| {
        let others = ["hi 99999", "hi a+b", "hi aab"].map(Message::text);
        others.into_iter().chain([message]).all(|message| socket.send(message).is_ok())
    };
    let session =
        events_of_request("websocket = { send = \"hi {{session}}\", await = \"^hi {{session}}$\" }", "", room);
    for event in &session {
        let own = format!("hi {}", event.session).len() as u64;
        assert_eq!((event.bytes_out, event.bytes_in), (own, 8 + 6 + 6 + own));
    }
    // A value is matched literally, unless it is marked `raw`.
    let with = "[variables]\nwho = \"a+b\"";
    let literal = events_of_request("websocket = { send = \"\", await = \"^hi {{who}}$\" }", with, room);
    assert!(literal.iter().all(|event| event.bytes_in == 8 + 6), "{literal:?}");
    let raw = events_of_request("websocket = { send = \"\", await = \"^hi {{who|raw}}$\" }", with, room);
    assert!(raw.iter().all(|event| event.bytes_in == 8 + 6 + 6), "{raw:?}");
}

fn binary_messages_are_sent_and_awaited() {
    let echo = |socket: &mut WebSocket<TcpStream>, message: Message| {
        let is_bytes = message.is_binary();
        socket.send(Message::text("not this")).and_then(|()| socket.send(message)).is_ok() && is_bytes
    };
    let request = "websocket = { send_hex = \"01 ff {{session}}{{session}}\", await = '(?-u)^\\x01\\xff' }";
    let events = events_of_request(request, "", echo);
    for event in &events {
        let own = 2 + event.session.to_string().len() as u64;
        assert_eq!((event.bytes_out, event.bytes_in), (own, 8 + own));
    }
}

fn a_request_may_await_a_number_of_messages_or_a_duration() {
    let feed = |socket: &mut WebSocket<TcpStream>, _| {
        ["tick", "tock"].repeat(4).into_iter().all(|word| socket.send(Message::text(word)).is_ok())
    };
    let three = events_of_request("websocket = { send = \"go\", await = \"tock\", count = 3 }", "", feed);
    assert!(three.iter().all(|event| event.bytes_in == 24), "six messages: {three:?}");
    let long = |request: &str, at_least| {
        let events = events_of_request(request, "", feed);
        let listened = |event: &Event| event.service().unwrap() >= Difference::from(Nanos::from_millis(at_least));
        assert!(events.iter().all(|event| listened(event) && event.bytes_in == 32), "{request}: {events:?}");
    };
    long("websocket = { send = \"go\", listen = \"150ms\" }", 150);
    // Messages that have not arrived when the time is over are not awaited.
    long("websocket = { send = \"go\", count = 99, listen = \"150ms\" }", 150);
    long("websocket = { send = \"go\", await = \"tock\", count = 4, listen = \"9s\" }", 0);
    // Receiving nothing is a success, too.
    let silence = events_of_request("websocket = { listen = \"500ms\" }", "", |_, _| true);
    assert!(silence.iter().all(|event| event.bytes_in == 0), "{silence:?}");
    let workload = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://127.0.0.1:9\"\n\
                    response_timeout = \"5s\"\n[[request]]\nwebsocket = { listen = \"5s\" }\n";
    let workload = Workload::parse(workload, "w.toml", &|_| Err(String::new())).unwrap();
    let why = Generator::new(workload, Share::ALL, Load::Target).err().expect("it would be ended").to_string();
    assert!(why.contains("listens for 5s, but target.response_timeout is 5s"), "{why}");
}
