//! A small web application with a strict contract: a form with a CSRF token, a login that sets a cookie and redirects,
//! pages that need the cookie and a bearer token, orders as JSON. It refuses requests that violate the contract.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// How the application breaks its contract.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Broken {
    Nothing,
    /// The login responds with another user.
    Json,
    /// The login sets no cookie.
    NoCookie,
    /// The page after the login is an error.
    Fails,
    /// The page has different content.
    Stock,
    /// An image of the page is missing.
    Picture,
    /// The page's encoding differs from its header.
    Coding,
}

/// The running application, on its own port.
pub(crate) struct Shop {
    pub(crate) url: String,
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

struct State {
    broken: Broken,
    closing: AtomicBool,
    served: AtomicUsize,
    orders: AtomicUsize,
    /// Logged-in users by cookie.
    sessions: Mutex<HashMap<String, String>>,
    seen: Mutex<Vec<String>>,
}

struct Request {
    method: String,
    path: String,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    headers: Vec<String>,
    body: Vec<u8>,
}

fn answer(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Answer {
    Answer { status, headers: vec![format!("Content-Type: {kind}")], body: body.into() }
}

impl Shop {
    pub(crate) fn open(broken: Broken) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            broken,
            closing: AtomicBool::new(false),
            served: AtomicUsize::new(0),
            orders: AtomicUsize::new(0),
            sessions: Mutex::default(),
            seen: Mutex::default(),
        });
        let shared = state.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.closing.load(SeqCst) {
                    return;
                }
                let state = shared.clone();
                std::thread::spawn(move || state.talk(&stream));
            }
        });
        Self { url: format!("http://{address}/"), address, state, thread: Some(thread) }
    }

    /// Number of responses.
    pub(crate) fn served(&self) -> usize {
        self.state.served.load(SeqCst)
    }

    /// Number of accepted orders.
    pub(crate) fn orders(&self) -> usize {
        self.state.orders.load(SeqCst)
    }

    /// Requested paths under `/seen`.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.state.seen.lock().unwrap().clone()
    }
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.state.closing.store(true, SeqCst);
        // A connection wakes the listener from `accept`.
        drop(TcpStream::connect(self.address));
        self.thread.take().map(JoinHandle::join);
    }
}

impl State {
    fn talk(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = Request::read(&mut reader) {
            let Answer { status, headers, body } = self.answer(&request);
            self.served.fetch_add(1, SeqCst);
            let mut head = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {}\r\n", body.len());
            for header in headers {
                head += &format!("{header}\r\n");
            }
            let mut writer = stream;
            if writer.write_all(&[format!("{head}\r\n").as_bytes(), &body].concat()).is_err() {
                return;
            }
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        let refused = |why: &str| answer(403, "text/plain", why);
        let header = |name: &str| request.headers.get(name).map_or("", String::as_str);
        let cookie = header("cookie").strip_prefix("sid=").unwrap_or("");
        let user = self.sessions.lock().unwrap().get(cookie).cloned();
        let signed = user.as_ref().is_some_and(|user| header("authorization") == format!("Bearer tok-{user}"));
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/login") => answer(
                200,
                "text/html",
                "<form method=post><input name=other value=x><input type=hidden name=csrf value='c&amp;s rf'></form>",
            ),
            ("POST", "/login") => {
                let user = match &*request.body {
                    b"csrf=c%26s+rf&name=ann&password=a%261" => "ann",
                    b"csrf=c%26s+rf&name=bob&password=b%3D2" => "bob",
                    _ => return refused("wrong form"),
                };
                let mut sessions = self.sessions.lock().unwrap();
                let sid = format!("s{}", sessions.len());
                sessions.insert(sid.clone(), user.to_owned());
                let mut answer = Answer { status: 302, headers: vec!["Location: home".to_owned()], body: Vec::new() };
                if self.broken != Broken::NoCookie {
                    answer.headers.push(format!("Set-Cookie: sid={sid}; Path=/; HttpOnly"));
                }
                answer
            }
            (_, "/home") if self.broken == Broken::Fails => answer(500, "text/plain", "oh dear"),
            ("GET", "/home") => match user {
                None => answer(401, "text/plain", "who are you?"),
                Some(user) => {
                    let told = if self.broken == Broken::Json { "somebody" } else { &user };
                    let text =
                        format!(r#"{{"user": "{told}", "token": "tok-{user}", "items": [{{"id": 1}}, {{"id": 42}}]}}"#);
                    answer(200, "application/json", text)
                }
            },
            ("GET", "/item/42") if signed => {
                let stock = if self.broken == Broken::Stock { "no" } else { "yes &amp; here" };
                let mut page = answer(200, "text/html; charset=utf-8", format!("<p class='big stock'> {stock}</p>"));
                assert_eq!(header("accept-encoding"), "gzip");
                page.headers.push("Content-Encoding: gzip".to_owned());
                if self.broken != Broken::Coding {
                    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                    encoder.write_all(&page.body).unwrap();
                    page.body = encoder.finish().unwrap();
                }
                page
            }
            ("POST", "/order") if signed => {
                let expected = format!("{{\"item\": 42, \"by\": \"{}\"}}", user.unwrap_or_default());
                if request.body != expected.as_bytes() || header("content-type") != "application/json" {
                    return refused("wrong order");
                }
                answer(201, "application/json", format!("{{\"order\": \"ord-{}\"}}", self.orders.fetch_add(1, SeqCst)))
            }
            ("GET", "/static/c.png") if self.broken == Broken::Picture => answer(404, "text/plain", "gone"),
            ("GET", "/static/a.css" | "/static/b.js" | "/static/c.png" | "/static/42.png") if user.is_some() => {
                answer(200, "application/octet-stream", vec![b'x'; 5000])
            }
            ("PUT", path) if path.starts_with("/seen/") => {
                let parts = [&b"\r\n\r\n\x89PNG\xff\0\r\n--"[..], b"filename=\"a.png\"", b"name=\"id\"\r\n\r\n"];
                let whole = parts.iter().all(|part| request.body.windows(part.len()).any(|piece| piece == *part));
                let kind = header("content-type").starts_with("multipart/form-data; boundary=");
                if !whole || !kind {
                    return refused("wrong parts");
                }
                self.seen.lock().unwrap().push(path.to_owned());
                answer(200, "text/plain", "seen")
            }
            _ => answer(401, "text/plain", "not for you"),
        }
    }
}

impl Request {
    fn read(reader: &mut BufReader<&TcpStream>) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
        let mut words = line.split_whitespace();
        let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let mut body = vec![0; headers.get("content-length").map_or(0, |length| length.parse().unwrap())];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, path, headers, body })
    }
}
