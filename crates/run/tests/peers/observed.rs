//! What an observer receives of an exchange over every protocol: the request, the response, its evaluation, and no
//! secrets.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use offered_base::Share;
use offered_events::{Exchange, Outcome};
use offered_run::{ExchangeObserver, Generator, Load};
use offered_workload::Workload;

use crate::grpc::{TEA, descriptors, serve as serve_call};
use crate::listen;
use crate::websocket::{echo, server as chat};

tests![http1_exchanges_are_observed_without_secrets, grpc_and_websocket_exchanges_are_observed];

/// The exchanges of one session of this workload.
fn exchanges_of(text: &str) -> Vec<Exchange> {
    let text = format!("duration = \"1s\"\narrivals.closed.users = 1\n{text}");
    let users = b"name,password\nann,pass&word\n";
    let workload = Workload::parse(&text, "w.toml", &|_| Ok(users.to_vec())).unwrap_or_else(|why| panic!("{why}"));
    let (witness, exchanges) = ExchangeObserver::all();
    let generator = Generator::new(workload, Share::ALL, Load::Target).unwrap_or_else(|why| panic!("{why}"));
    let events = generator.observed_by(witness).unwrap().walk(1).unwrap();
    let exchanges: Vec<Exchange> = exchanges.into_iter().collect();
    let last = events.last().map(|event| event.outcome.name());
    assert_eq!(exchanges.last().map(|exchange| exchange.outcome.as_str()), last);
    exchanges
}

/// Reads requests and responds to each with its own text, and a cookie.
fn mirror(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut said, mut length) = (String::new(), 0);
        while !said.ends_with("\r\n\r\n") {
            if reader.read_line(&mut said)? == 0 {
                return Ok(());
            }
            let line = said.trim_end().rsplit('\n').next().unwrap_or_default();
            length = line.strip_prefix("Content-Length: ").map_or(length, |length| length.parse().unwrap_or(0));
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        said.push_str(&String::from_utf8_lossy(&body));
        let status = if said.starts_with("GET /gone") { "302 Found\r\nLocation: /here" } else { "200 OK" };
        let head =
            format!("HTTP/1.1 {status}\r\nSet-Cookie: sid=abcdef; Path=/\r\nContent-Length: {}\r\n\r\n", said.len());
        reader.get_mut().write_all((head + &said).as_bytes())?;
    }
}

fn http1_exchanges_are_observed_without_secrets() {
    let address = listen(|_, stream| drop(mirror(stream)));
    let exchanges = exchanges_of(&format!(
        "[target]\nurl = \"http://{address}\"\ncookies = true\nredirects = 1\nheaders = {{ X-Pass = \"{{{{user.password}}}}\" }}\n\
         auth.basic = \"{{{{user.name}}}}:{{{{user.password}}}}\"\n[variables]\nuser.file = \"users.csv\"\n\
         [[request]]\nname = \"in\"\npost = \"/in?p={{{{user.password}}}}\"\nform = {{ p = \"{{{{user.password}}}}\" }}\n\
         extract = [{{ name = \"agent\", regex = \"User-Agent: (\\\\S+)\" }}]\n\
         [[request]]\nname = \"gone\"\nget = \"/gone\"\nobjects = [\"/o\"]\n\
         [[request]]\nname = \"wrong\"\nget = \"/x\"\ncheck = [{{ status = 404 }}, {{ name = \"pass\", body = true, contains = \"no {{{{user.password}}}}\" }}]\n"
    ));
    let shown = format!("{exchanges:?}");
    for secret in ["pass&word", "pass%26word", "YW5u", "abcdef"] {
        assert!(!shown.contains(secret), "{secret} is in {shown}");
    }
    let names: Vec<_> = exchanges.iter().map(|e| (e.request.as_str(), e.redirects, e.object, e.status)).collect();
    assert_eq!(
        names,
        [("in", 0, 0, 200), ("gone", 0, 0, 302), ("gone", 1, 0, 200), ("gone", 1, 1, 200), ("wrong", 0, 0, 200)]
    );
    let sent_message = exchanges[0].sent.as_ref().unwrap();
    assert_eq!(sent_message.head[0], "POST /in?p=*** HTTP/1.1");
    for line in ["X-Pass: ***", "Authorization: Basic ***", "Content-Length: 13"] {
        assert!(sent_message.head.iter().any(|said| said == line), "{line}: {sent_message:?}");
    }
    assert_eq!((sent_message.body.as_deref(), sent_message.bytes), (Some("p=***"), 13));
    let received_message = exchanges[0].received.as_ref().unwrap();
    assert_eq!(received_message.head[0], "Set-Cookie: sid=***; Path=/");
    assert!(received_message.body.as_deref().unwrap().contains("Authorization: Basic ***\r\n"), "{received_message:?}");
    assert!(exchanges[0].extracted[0].1.as_deref().unwrap().starts_with("offered/"), "{:?}", exchanges[0].extracted);
    assert!(exchanges[2].sent.as_ref().unwrap().head.contains(&"Cookie: sid=***".to_owned()), "{:?}", exchanges[2]);
    let failed = &exchanges[4].failed_checks[0];
    assert_eq!((exchanges[4].outcome.as_str(), failed.check.as_str()), (Outcome::CheckFailed.name(), "status = 404"));
    assert_eq!((failed.expected.as_str(), failed.found.as_deref()), ("the status is 404", Some("200")));
}

fn grpc_and_websocket_exchanges_are_observed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shop.binpb");
    std::fs::write(&file, descriptors()).unwrap();
    let file = file.to_str().unwrap();
    let address = listen(|_, stream| drop(serve_call(stream, (TEA, &[("grpc-status", "0")]))));
    let exchanges = exchanges_of(&format!(
        "[target]\nurl = \"http://{address}\"\nprotocol = \"h2\"\ndescriptors = {file:?}\n\
         [[request]]\ngrpc = \"shop.Desk/Order\"\nbody = '{{\"name\": \"tea\"}}'\n"
    ));
    let (sent_message, received_message) =
        (exchanges[0].sent.as_ref().unwrap(), exchanges[0].received.as_ref().unwrap());
    assert!(sent_message.head.contains(&":path: /shop.Desk/Order".to_owned()), "{sent_message:?}");
    assert_eq!(
        (sent_message.body.as_deref(), received_message.body.as_deref()),
        (Some("{\"name\": \"tea\"}"), Some("{\"name\":\"tea\"}"))
    );
    assert!(received_message.head.contains(&"content-type: application/grpc".to_owned()), "{received_message:?}");

    let exchanges = exchanges_of(&format!(
        "[target]\nurl = \"http://{}\"\n[[request]]\nname = \"one\"\nwebsocket = {{ send = \"hi\" }}\n\
         [[request]]\nname = \"two\"\nwebsocket = {{ send = \"ho\" }}\n",
        chat(echo)
    ));
    let bodies: Vec<_> = exchanges.iter().map(|e| (e.sent.as_ref().unwrap(), e.received.as_ref().unwrap())).collect();
    assert_eq!(bodies[0].0.head[0], "GET / HTTP/1.1");
    assert_eq!((bodies[0].0.body.as_deref(), bodies[0].1.body.as_deref()), (Some("hi"), Some("hi")));
    assert!(bodies[1].0.head.is_empty(), "{:?}", bodies[1]);
    assert_eq!((bodies[1].0.body.as_deref(), bodies[1].1.body.as_deref()), (Some("ho"), Some("ho")));
}
