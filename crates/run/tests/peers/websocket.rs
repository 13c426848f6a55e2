//! WebSocket: peers that flood, say goodbye, or do not shake hands.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;

use offered_model::{Event, Outcome, Share, Workload};
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
