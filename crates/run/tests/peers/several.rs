//! Several targets in one run, and HTTP with a WebSocket in one session.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::mpsc;
use std::thread;

use offered_base::Share;
use offered_events::{Event, Outcome};
use offered_run::{Generator, Load};
use offered_workload::Workload;

use crate::grpc::descriptors;
use crate::websocket::{echo, server as chat};
use crate::{HANG, listen};

tests![
    requests_and_redirects_reach_all_targets_of_a_run,
    a_session_signs_in_over_http_and_sends_messages_over_a_websocket,
    a_target_needs_only_what_its_own_requests_need
];

/// Responds to each request with its first line, and redirects `/go?URL` to the URL.
fn serve(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut said = String::new();
        while !said.ends_with("\r\n\r\n") {
            if reader.read_line(&mut said)? == 0 {
                return Ok(());
            }
        }
        let line = said.lines().next().unwrap_or_default();
        let target = line.split(' ').nth(1).unwrap_or_default();
        let status = match target.split_once("/go?") {
            Some((_, url)) => format!("302 Found\r\nLocation: {url}"),
            None => "200 OK".to_owned(),
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{line}", line.len());
        reader.get_mut().write_all(head.as_bytes())?;
    }
}

/// The events of a run, in order of session and step.
fn run(text: &str) -> Vec<Event> {
    let text = format!(
        "duration = \"300ms\"\narrivals.partly_open = {{ rate = \"50/s\", process = \"constant\" }}\n\
         generator = {{ threads = 1, wait = \"sleep\" }}\n{text}"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    let generator = Generator::new(workload, Share::ALL, Load::Target).unwrap_or_else(|why| panic!("{why}"));
    generator.preflight().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (_, sinks) = generator.run(None, Vec::new, |_| ()).unwrap();
        sender.send(sinks.into_iter().flatten().collect::<Vec<Event>>())
    });
    let mut events = receiver.recv_timeout(HANG).expect("a run that ends");
    events.sort_by_key(|event| (event.session, event.step));
    events
}

fn requests_and_redirects_reach_all_targets_of_a_run() {
    let [first, second] = [0, 1].map(|_| listen(|_, stream| drop(serve(stream))));
    let events = run(&format!(
        "[[target]]\nurl = \"http://{first}\"\nredirects = 2\n[[target]]\nname = \"b\"\nurl = \"http://{second}\"\n\
         [[request]]\nname = \"a\"\nget = \"/go?http://{second}/x\"\ncheck = [{{ body = true, is = \"GET /x HTTP/1.1\" }}, \
         {{ url = true, is = \"http://{second}/x\" }}]\n\
         [[request]]\nname = \"b\"\ntarget = \"b\"\nget = \"/b\"\ncheck = [{{ body = true, is = \"GET /b HTTP/1.1\" }}]\n\
         [[flow]]\nname = \"f\"\nstep = [{{ request = \"a\" }}, {{ request = \"b\" }}]\n"
    ));
    assert_eq!(events.len(), 30, "{events:?}");
    for event in &events {
        assert_eq!((event.outcome, event.redirects), (Outcome::Ok, u16::from(event.label == 0)), "{event:?}");
    }
    // The connections of the two targets are numbered differently.
    let numbers = |label| events.iter().filter(move |event| event.label == label).map(|event| event.connection % 2);
    assert!(numbers(1).all(|number| number == 1), "{events:?}");
}

fn a_session_signs_in_over_http_and_sends_messages_over_a_websocket() {
    let (http, socket) = (listen(|_, stream| drop(serve(stream))), chat(echo));
    let events = run(&format!(
        "[[target]]\nurl = \"http://{http}\"\n[[target]]\nname = \"chat\"\nurl = \"http://{socket}\"\n\
         [[request]]\nname = \"a\"\nget = \"/a\"\nextract = [{{ name = \"t\", regex = '/a' }}]\n\
         [[request]]\nname = \"b\"\ntarget = \"chat\"\nget = \"/room\"\nwebsocket = {{ send = \"hi {{{{t}}}}\", await = \"^hi /a\" }}\n\
         [[flow]]\nname = \"f\"\nstep = [{{ request = \"a\" }}, {{ request = \"b\", repeat = 2 }}]\n"
    ));
    assert_eq!(events.len(), 45, "{events:?}");
    assert!(events.iter().all(|event| event.outcome == Outcome::Ok), "{events:?}");
}

fn a_target_needs_only_what_its_own_requests_need() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.binpb");
    std::fs::write(&file, descriptors()).unwrap();
    let file = file.to_str().unwrap();
    let text = format!(
        "duration = \"1s\"\narrivals.closed.users = 1\n\
         [[target]]\nurl = \"http://127.0.0.1:1\"\nprotocol = \"h2\"\n\
         [[target]]\nname = \"desk\"\nurl = \"http://127.0.0.1:2\"\nprotocol = \"h2\"\ndescriptors = {file:?}\n\
         [[target]]\nname = \"chat\"\nurl = \"http://127.0.0.1:3\"\nresponse_timeout = \"1s\"\n\
         [[target]]\nname = \"news\"\nurl = \"http://127.0.0.1:4\"\nresponse_timeout = \"30s\"\n\
         [[request]]\nname = \"a\"\nget = \"/\"\n\
         [[request]]\nname = \"b\"\ntarget = \"desk\"\ngrpc = \"shop.Desk/Order\"\nbody = '{{\"name\": \"tea\"}}'\n\
         [[request]]\nname = \"c\"\ntarget = \"chat\"\nwebsocket = {{ send = \"hi\" }}\n\
         [[request]]\nname = \"d\"\ntarget = \"news\"\nwebsocket = {{ send = \"hi\", listen = \"5s\" }}\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    let generator = Generator::new(workload, Share::ALL, Load::Target);
    assert!(generator.is_ok(), "{:?}", generator.err());
}
