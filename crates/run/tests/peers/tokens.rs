//! Access tokens over sockets, with a token endpoint on another host.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;

use offered_base::Share;
use offered_events::{Event, Outcome};
use offered_run::{Generator, Load};
use offered_workload::Workload;

use crate::{HANG, listen};

tests![
    a_token_of_another_host_is_shared_by_all_threads_until_it_is_refused,
    a_token_endpoint_that_refuses_is_the_reason_of_the_failures
];

/// Responds to each request with what `answer` makes of its head and body: status line with further headers, and body.
fn serve(stream: TcpStream, answer: &dyn Fn(&str, &str) -> (&'static str, String)) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap_or("0");
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body)?;
        let (status, text) = answer(&head, &String::from_utf8(body).unwrap());
        let response = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        reader.get_mut().write_all(response.as_bytes())?;
    }
}

/// The events of a run of 100 sessions on two threads.
fn run(api: std::net::SocketAddr, tokens: std::net::SocketAddr, keys: &str) -> Vec<Event> {
    let text = format!(
        "seed = 1\nduration = \"1s\"\narrivals.open = {{ rate = \"100/s\", process = \"constant\" }}\n\
         generator = {{ threads = 2, wait = \"sleep\" }}\n[variables]\nsecret = \"s3\"\n\
         [[target]]\nurl = \"http://{api}\"\nauth.oauth2 = {{ token_url = \"http://{tokens}/oauth/token\", client_id = \"shop\", \
         client_secret = \"{{{{secret}}}}\", client_auth = \"body\", {keys} }}\n\
         [[target]]\nname = \"tokens\"\nurl = \"http://{tokens}\"\n[[request]]\nget = \"/orders\"\n"
    );
    let workload = Workload::parse(&text, "w.toml", &|_| Err(String::new())).unwrap_or_else(|why| panic!("{why}"));
    let generator = Generator::new(workload, Share::ALL, Load::Target).unwrap_or_else(|why| panic!("{why}"));
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let (_, sinks) = generator.run(None, Vec::new, |_| ()).unwrap();
        sender.send(sinks.into_iter().flatten().collect::<Vec<Event>>())
    });
    receiver.recv_timeout(HANG).expect("a run that ends")
}

fn a_token_of_another_host_is_shared_by_all_threads_until_it_is_refused() {
    let given = Arc::new(AtomicU64::new(0));
    let counted = given.clone();
    let tokens = listen(move |_, stream| {
        let answer = |head: &str, body: &str| {
            assert!(head.starts_with("POST /oauth/token HTTP/1.1\r\n"), "{head}");
            assert_eq!(body, "grant_type=client_credentials&audience=api&client_id=shop&client_secret=s3");
            let number = counted.fetch_add(1, Relaxed) + 1;
            ("200 OK", format!("{{\"access_token\": \"t{number}\", \"token_type\": \"Bearer\", \"expires_in\": 3600}}"))
        };
        drop(serve(stream, &answer));
    });
    let requests = Arc::new(AtomicU64::new(0));
    let api = listen(move |_, stream| {
        let answer = |head: &str, _: &str| {
            // The server forgets the first token in the middle of the run.
            let is_first = head.contains("Authorization: Bearer t1\r\n");
            match requests.fetch_add(1, Relaxed) {
                0..50 if is_first => ("200 OK", String::new()),
                _ if head.contains("Authorization: Bearer t2\r\n") => ("200 OK", String::new()),
                _ => ("401 Unauthorized\r\nWWW-Authenticate: Bearer error=\"invalid_token\"", String::new()),
            }
        };
        drop(serve(stream, &answer));
    });
    let events = run(api, tokens, "audience = \"api\"");
    assert_eq!(events.len(), 100);
    assert!(events.iter().all(|event| event.outcome == Outcome::Ok), "{events:?}");
    assert_eq!(given.load(Relaxed), 2);
    let sum = |count: fn(&Event) -> u16| events.iter().map(|event| u64::from(count(event))).sum::<u64>();
    assert_eq!(sum(|event| event.token_requests), 2);
    assert!(sum(|event| event.redirects) >= 1, "a request was sent again with the new token");
}

fn a_token_endpoint_that_refuses_is_the_reason_of_the_failures() {
    let tokens = listen(|_, stream| {
        drop(serve(stream, &|_, _| ("401 Unauthorized", "{\"error\": \"invalid_client\"}".to_owned())));
    });
    let api = listen(|_, stream| drop(serve(stream, &|_, _| ("200 OK", String::new()))));
    let events = run(api, tokens, "per = \"session\"");
    let reasons: BTreeSet<(Outcome, String)> =
        events.iter().map(|event| (event.outcome, event.why().into_owned())).collect();
    let reason = format!("token endpoint http://{tokens}/oauth/token: status 401, invalid_client");
    assert_eq!(reasons.into_iter().collect::<Vec<_>>(), [(Outcome::AuthError, reason)]);
    assert!(events.iter().all(|event| event.sent.is_some() && event.token_requests == 1));
}
