//! HTTP/1.1: the end of connections, and values that could inject headers.

use std::io::{Read, Write};
use std::net::TcpStream;

use offered_events::Outcome;

use crate::{listen, run};

tests![a_response_and_the_end_of_its_connection_may_arrive_together, no_value_injects_a_header_or_request];

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// Responds to the requests on `stream`, as long as there are any.
pub(crate) fn well(stream: TcpStream) {
    answers(stream, OK);
}

/// Responds to each request on `stream` with these bytes.
pub(crate) fn answers(mut stream: TcpStream, bytes: &[u8]) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|read| read > 0) && stream.write_all(bytes).is_ok() {}
}

/// The end of a connection may be reported together with the response; that once ended the sending thread.
fn a_response_and_the_end_of_its_connection_may_arrive_together() {
    let address = listen(|_, mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(OK);
    });
    let events = run(&format!("url = \"http://{address}\"\nreuse = \"fresh\""), "get = \"/\"");
    assert!(!events.is_empty() && events.iter().all(|event| event.outcome == Outcome::Ok), "{events:?}");
}

fn no_value_injects_a_header_or_request() {
    let address = listen(|_, stream| well(stream));
    let target = format!("url = \"http://{address}\"");
    for (mode, request) in [
        ("a header", "get = \"/\"\nheaders = { X-A = \"1\\r\\nX-B: 2\" }"),
        ("a token", "get = \"/\"\nauth = { bearer = \"secret\\n\" }"),
    ] {
        let text = format!(
            "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[target]\n{target}\n[[request]]\nname = \"r\"\n{request}\n"
        );
        let Ok(workload) = offered_workload::Workload::parse(&text, "w.toml", &|_| Err(String::new())) else {
            continue;
        };
        let made = offered_run::Generator::new(workload, offered_base::Share::ALL, offered_run::Load::Target);
        let why = made.err().map(|why| why.to_string()).unwrap_or_default();
        assert!(why.starts_with("request `r`: the value of the header"), "{mode}: {why}");
    }
    // A value from a response is rejected when it is used.
    let address = listen(|_, mut stream| {
        let mut buffer = [0; 4096];
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx\r\nX-B: 2";
        while stream.read(&mut buffer).is_ok_and(|read| read > 0) && stream.write_all(answer).is_ok() {}
    });
    let text = format!(
        "duration = \"300ms\"\narrivals.closed = {{ users = 1 }}\n[target]\nurl = \"http://{address}\"\n\
         [[request]]\nname = \"a\"\nget = \"/\"\nextract = [{{ name = \"t\", regex = '(?s)(.+)' }}]\n\
         [[request]]\nname = \"b\"\nget = \"/\"\nheaders = {{ X-A = \"{{{{t}}}}\" }}\n\
         [[flow]]\nname = \"f\"\nstep = [{{ request = \"a\" }}, {{ request = \"b\" }}]\n"
    );
    let workload = offered_workload::Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap();
    let generator = offered_run::Generator::new(workload, offered_base::Share::ALL, offered_run::Load::Target).unwrap();
    let (_, sinks) = generator.run(None, Vec::new, |_| ()).unwrap();
    let events: Vec<offered_events::Event> = sinks.into_iter().flatten().collect();
    let second: Vec<_> = events.iter().filter(|event| event.label == 1).collect();
    assert!(!second.is_empty());
    assert!(
        second.iter().all(|event| event.outcome == Outcome::NoValue && event.why().contains("control character")),
        "{second:?}"
    );
}
