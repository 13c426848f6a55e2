//! WebSocket: peers that flood, say goodbye, or do not shake hands.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;

use offered_model::{Difference, Event, Nanos, Outcome, Share, Workload};
use offered_run::{Generator, Load};
use tungstenite::protocol::CloseFrame;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::{Message, WebSocket, accept};

use crate::{first, launches, listen, run_until};

/// What is done with the first connection.
pub(crate) type Act = fn(WebSocket<TcpStream>);

/// Says back what it hears.
pub(crate) fn echo(mut socket: WebSocket<TcpStream>) {
    while let Ok(message) = socket.read() {
        if message.is_text() && socket.send(message).is_err() {
            break;
        }
    }
}

/// Writes these bytes again and again, and reads nothing.
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

fn said(address: SocketAddr, timeout: &str, stop: Option<mpsc::Receiver<()>>) -> Vec<Event> {
    let target = format!("url = \"http://{address}\"\nresponse_timeout = \"{timeout}\"");
    run_until(&target, "name = \"chat\"\nwebsocket = { send = \"hi {{session}}\", await = \"^hi\" }", stop)
}

#[test]
fn a_message_without_end_is_not_kept_for_ever() {
    let large: Act = |mut socket| {
        let _ = socket.get_mut().write_all(&[0x01, 1, b'x']);
        flood(&mut socket, &[&[0x00, 126, 16, 0][..], &[b'x'; 4096]].concat());
    };
    let events = said(server(large), "20s", None);
    first(&events, 1, Outcome::Malformed, "a large message");
}

#[test]
fn a_run_that_is_flooded_can_be_stopped() {
    let (tell, told) = mpsc::channel();
    let address = listen(move |_, stream| {
        let Ok(mut socket) = accept(stream) else { return };
        let _ = tell.send(());
        flood(&mut socket, &[0x89, 0]);
    });
    let events = said(address, "60s", Some(told));
    assert!(!events.is_empty() && events.iter().all(|event| event.outcome == Outcome::Cut), "{events:?}");
}

#[test]
fn a_goodbye_is_answered() {
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
    let events = said(address, "20s", None);
    first(&events, 30, Outcome::Reset, "goodbye");
    assert_eq!(events[0].why(), "closed by the server (1001 closing time)");
    for _ in &events {
        assert_eq!(told.recv_timeout(crate::HANG), Ok(Some(CloseCode::Away)));
    }
}

/// With which code the other side says goodbye; `None`: it does not.
fn farewell(socket: &mut WebSocket<TcpStream>) -> Option<CloseCode> {
    loop {
        match socket.read() {
            Ok(Message::Close(frame)) => {
                // The answer to it goes out.
                while socket.read().is_ok() {}
                return frame.map(|frame| frame.code);
            }
            Ok(message) if message.is_text() => drop(socket.send(message)),
            Ok(_) => {}
            Err(_) => return None,
        }
    }
}

#[test]
fn a_session_says_goodbye_whichever_way_it_ends() {
    const CHAT: &str = "name = \"chat\"\nwebsocket = { send = \"hi {{session}}\", await = \"^hi\" }";
    let server = || {
        let (tell, told) = mpsc::channel();
        let address = listen(move |_, stream| {
            let Ok(mut socket) = accept(stream) else { return };
            let _ = tell.send(farewell(&mut socket));
        });
        (address, told)
    };
    let normal = |told: &mpsc::Receiver<Option<CloseCode>>, sessions: usize, mode: &str| {
        for _ in 0..sessions {
            assert_eq!(told.recv_timeout(crate::HANG), Ok(Some(CloseCode::Normal)), "{mode}");
        }
    };
    let (address, told) = server();
    let events = said(address, "20s", None);
    first(&events, 0, Outcome::Ok, "each leaves behind its answer");
    normal(&told, 30, "each leaves behind its answer");
    let (address, told) = server();
    launches(10, &format!("url = \"http://{address}\"\nreuse = \"fresh\""), CHAT, None);
    normal(&told, 10, "nothing is kept");
    // Who does not say what is awaited is told so.
    let (address, told) = server();
    let other = CHAT.replace("^hi", "^ho");
    let events = launches(10, &format!("url = \"http://{address}\"\nresponse_timeout = \"100ms\""), &other, None);
    assert!(events.iter().all(|event| event.outcome == Outcome::Timeout), "{events:?}");
    normal(&told, 10, "nothing of what was awaited");
    // Users who never leave do when the run is over, and nobody waits for ever for who says nothing to that.
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
        // It hears the goodbye, and neither answers nor hangs up.
        std::thread::park_timeout(crate::HANG);
    });
    let events = run(&users.replace(&address.to_string(), &silent.to_string()));
    assert!(!events.is_empty() && events.iter().all(|event| event.outcome == Outcome::Ok));
}

/// Thirty launches of this request to a peer that does this with each message it hears.
fn spoken(request: &str, more: &str, hear: fn(&mut WebSocket<TcpStream>, Message) -> bool) -> Vec<Event> {
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
    first(&events, 0, Outcome::Ok, request);
    events
}

#[test]
fn my_own_message_is_told_from_those_of_others() {
    let room = |socket: &mut WebSocket<TcpStream>, message: Message| {
        let others = ["hi 99999", "hi a+b", "hi aab"].map(Message::text);
        others.into_iter().chain([message]).all(|message| socket.send(message).is_ok())
    };
    let session = spoken("websocket = { send = \"hi {{session}}\", await = \"^hi {{session}}$\" }", "", room);
    for event in &session {
        let own = format!("hi {}", event.session).len() as u64;
        assert_eq!((event.bytes_out, event.bytes_in), (own, 8 + 6 + 6 + own));
    }
    // A value is what it is, and no expression, as long as it does not say so.
    let with = "[variables]\nwho = \"a+b\"";
    let literal = spoken("websocket = { send = \"\", await = \"^hi {{who}}$\" }", with, room);
    assert!(literal.iter().all(|event| event.bytes_in == 8 + 6), "{literal:?}");
    let raw = spoken("websocket = { send = \"\", await = \"^hi {{who|raw}}$\" }", with, room);
    assert!(raw.iter().all(|event| event.bytes_in == 8 + 6 + 6), "{raw:?}");
}

#[test]
fn bytes_are_said_and_awaited() {
    let echo = |socket: &mut WebSocket<TcpStream>, message: Message| {
        let is_bytes = message.is_binary();
        socket.send(Message::text("not this")).and_then(|()| socket.send(message)).is_ok() && is_bytes
    };
    let request = "websocket = { send_hex = \"01 ff {{session}}{{session}}\", await = '(?-u)^\\x01\\xff' }";
    let events = spoken(request, "", echo);
    for event in &events {
        let own = 2 + event.session.to_string().len() as u64;
        assert_eq!((event.bytes_out, event.bytes_in), (own, 8 + own));
    }
}

#[test]
fn a_launch_may_listen_for_so_many_messages_or_for_so_long() {
    let feed = |socket: &mut WebSocket<TcpStream>, _| {
        ["tick", "tock"].repeat(4).into_iter().all(|word| socket.send(Message::text(word)).is_ok())
    };
    let three = spoken("websocket = { send = \"go\", await = \"tock\", count = 3 }", "", feed);
    assert!(three.iter().all(|event| event.bytes_in == 24), "six messages: {three:?}");
    let long = |request: &str, at_least| {
        let events = spoken(request, "", feed);
        let listened = |event: &Event| event.service().unwrap() >= Difference::from(Nanos::from_millis(at_least));
        assert!(events.iter().all(|event| listened(event) && event.bytes_in == 32), "{request}: {events:?}");
    };
    long("websocket = { send = \"go\", listen = \"150ms\" }", 150);
    // What has not come when the time is over was not to come.
    long("websocket = { send = \"go\", count = 99, listen = \"150ms\" }", 150);
    long("websocket = { send = \"go\", await = \"tock\", count = 4, listen = \"9s\" }", 0);
    // Silence is heard too.
    let silence = spoken("websocket = { listen = \"50ms\" }", "", |_, _| true);
    assert!(silence.iter().all(|event| event.bytes_in == 0), "{silence:?}");
    let workload = "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\nurl = \"http://127.0.0.1:9\"\n\
                    response_timeout = \"5s\"\n[[request]]\nwebsocket = { listen = \"5s\" }\n";
    let workload = Workload::parse(workload, "w.toml", &|_| Err(String::new())).unwrap();
    let why = Generator::new(workload, Share::ALL, Load::Target).err().expect("it would be ended").to_string();
    assert!(why.contains("listens for 5s, but target.response_timeout is 5s"), "{why}");
}
