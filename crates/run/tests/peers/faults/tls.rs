//! TLS (RFC 8446): handshakes that come to nothing, certificates that do not hold, and connections that end without a goodbye.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use offered_model::Outcome;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::Do::{self, Hear, Pause, Reset, Stall};
use super::{Ends, Mode, drip, ends, flood, meet, ok, play, reset, say, timeout, until_gone};

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// What is told in TLS when something is wrong (RFC 8446, section 6.2): fatal, and its number.
const ALERTS: [(u8, &str); 12] = [
    (10, "UnexpectedMessage"),
    (20, "BadRecordMac"),
    (22, "RecordOverflow"),
    (40, "HandshakeFailure"),
    (42, "BadCertificate"),
    (45, "CertificateExpired"),
    (48, "UnknownCA"),
    (50, "DecodeError"),
    (70, "ProtocolVersion"),
    (80, "InternalError"),
    (112, "UnrecognisedName"),
    (120, "none of the protocols"),
];

/// An authority, and what it signs.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A server with a certificate for `localhost`, changed like this.
    fn server(&self, change: impl Fn(&mut CertificateParams)) -> Arc<ServerConfig> {
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        change(&mut params);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.0).unwrap();
        config(certificate.der().clone(), &key)
    }
}

fn config(certificate: CertificateDer<'static>, key: &KeyPair) -> Arc<ServerConfig> {
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
}

/// A connection after the handshake, with a request heard.
type Secure = StreamOwned<ServerConnection, TcpStream>;

fn hear(stream: TcpStream, config: &Arc<ServerConfig>) -> Option<Secure> {
    let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
    stream.read(&mut [0; 4096]).ok().map(|_| stream)
}

/// A peer that hears the first words of a handshake and does this.
fn raw(name: impl Into<String>, steps: impl IntoIterator<Item = Do>, ends: Ends) -> Mode {
    let steps: Vec<Do> = [Hear].into_iter().chain(steps).collect();
    Mode::new(name, move |mut stream| play(&mut stream, &steps), ends)
}

fn failed(why: &'static str) -> Ends {
    ends(Outcome::Tls, why).bytes(0)
}

/// A record: its type, its version, and how long it says it is.
fn record(kind: u8, length: u16) -> Vec<u8> {
    [&[kind, 3, 3][..], &length.to_be_bytes()].concat()
}

/// Handshakes that come to nothing.
fn handshakes() -> Vec<Mode> {
    let no_tls = || failed("the server does not speak TLS on this port");
    let mut modes = vec![
        raw("hangs up", [], failed("the server closed the connection during the TLS handshake")),
        raw("breaks", [Reset], reset("")),
        raw("says nothing", [Stall], timeout()),
        raw("HTTP in the clear", [say("HTTP/1.1 400 Bad Request\r\n\r\n"), Stall], no_tls()),
        raw("SSH", [say("SSH-2.0-OpenSSH_9.2\r\n"), Stall], no_tls()),
        raw("garbage", [say([0xff; 4096]), Stall], no_tls()),
        raw("half a record", [say([22, 3, 3, 0]), Stall], timeout()),
        raw("half a record, and hangs up", [say([22, 3, 3, 0])], failed("the server closed in the middle")),
        raw("a record that never fills", [say(record(22, 16_000)), Stall], timeout()),
        raw("a record too long", [say(record(22, 0xffff)), say([0; 1 << 16]), Stall], no_tls()),
        raw("byte by byte, too slowly", [say(record(22, 200)), drip([0; 200])], timeout().or(failed(""))),
        raw("data before the handshake", [say(record(23, 2)), say("hi"), Stall], failed("")),
        raw("an empty record", [say(record(22, 0)), Stall], failed("")),
        raw("records of nothing without end", [flood([20, 3, 3, 0, 1, 1])], failed("")),
        raw("a hello of the client's kind", [say(record(22, 4)), say([1, 0, 0, 0]), Stall], failed("")),
        raw("a hello that is none", [say(record(22, 6)), say([2, 0, 0, 2, 3, 3]), Stall], no_tls()),
    ];
    modes.extend(ALERTS.map(|(number, name)| {
        raw(format!("alert {number}"), [say(record(21, 2)), say([2, number]), Stall], failed(name))
    }));
    modes
}

/// Certificates that do not hold, for who asks for `localhost` and trusts one authority.
fn certificates(authority: &Authority) -> Vec<Mode> {
    let shows = |name: &str, config: Arc<ServerConfig>, ends| {
        Mode::new(name, move |stream| drop(hear(stream, &config).map(|mut stream| stream.write_all(OK))), ends)
    };
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    vec![
        shows(
            "a certificate of yesterday",
            authority.server(|it| it.not_after = date_time_ymd(2001, 1, 1)),
            failed("expired"),
        ),
        shows(
            "a certificate of tomorrow",
            authority.server(|it| it.not_before = date_time_ymd(3000, 1, 1)),
            failed("not valid yet"),
        ),
        shows(
            "a certificate for another name",
            authority.server(|it| *it = CertificateParams::new(vec!["elsewhere.test".to_owned()]).unwrap()),
            failed("not valid for name"),
        ),
        shows("a certificate of another authority", Authority::new().server(|_| ()), failed("it is")),
        shows("a certificate that signed itself", config(own.cert.der().clone(), &own.signing_key), failed("it is")),
        shows(
            "a certificate of an authority",
            authority.server(|it| it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
            failed("that of an authority, used as a server's"),
        ),
    ]
}

/// Says this below TLS, and goes on.
fn below(stream: &mut Secure, bytes: &[u8], steps: &[Do]) {
    let _ = stream.sock.write_all(bytes);
    play(&mut stream.sock, steps);
}

/// What happens behind a good handshake.
fn connections(config: &Arc<ServerConfig>) -> Vec<Mode> {
    let then = |name: &str, act: fn(Secure), ends| {
        let config = config.clone();
        Mode::new(name, move |stream| hear(stream, &config).map_or((), act), ends)
    };
    vec![
        then(
            "an answer and a goodbye",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nall of it");
                stream.conn.send_close_notify();
                let _ = stream.flush();
                until_gone(&mut stream.sock);
            },
            ok(200),
        ),
        then("an answer without a goodbye, whole by its length", |mut stream| drop(stream.write_all(OK)), ok(200)),
        then(
            "an answer to the end, without a goodbye",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nmore was to co");
                play(&mut stream.sock, &[]);
            },
            reset("closed without TLS close_notify"),
        ),
        then(
            "a goodbye in the body",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
                stream.conn.send_close_notify();
                let _ = stream.flush();
                until_gone(&mut stream.sock);
            },
            reset("closed with 4 bytes"),
        ),
        then(
            "hangs up in the body",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
                play(&mut stream.sock, &[]);
            },
            reset("close_notify"),
        ),
        then(
            "breaks in the body",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
                play(&mut stream.sock, &[Pause, Reset]);
            },
            reset("reset"),
        ),
        then(
            "a record nobody encrypted",
            |mut stream| below(&mut stream, &[&record(23, 32)[..], &[0; 32]].concat(), &[Stall]),
            failed(""),
        ),
        then("words in the clear", |mut stream| below(&mut stream, OK, &[Stall]), failed("")),
        then(
            "a record too long",
            |mut stream| below(&mut stream, &[&record(23, 0xffff)[..], &[0; 1 << 16]].concat(), &[Stall]),
            failed(""),
        ),
        then(
            "half a record",
            |mut stream| below(&mut stream, &[&record(23, 32)[..], &[0; 3]].concat(), &[Stall]),
            timeout(),
        ),
        then(
            "half a record, and hangs up",
            |mut stream| below(&mut stream, &[&record(23, 32)[..], &[0; 3]].concat(), &[]),
            reset("close_notify"),
        ),
        then(
            "an answer a byte a record",
            |mut stream| {
                for byte in OK.chunks(1) {
                    let _ = stream.write_all(byte).and_then(|()| stream.flush());
                }
                until_gone(&mut stream.sock);
            },
            ok(200),
        ),
        then(
            "an alert",
            |mut stream| below(&mut stream, &[&record(21, 2)[..], &[2, 80]].concat(), &[Stall]),
            failed(""),
        ),
    ]
}

#[test]
fn each_fault_is_one_event() {
    let authority = Authority::new();
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root.pem");
    std::fs::write(&root, authority.0.pem()).unwrap();
    let config = authority.server(|_| ());
    let target = format!(
        "reuse = \"per-session\"\nresponse_timeout = \"3s\"\ntls = {{ roots = {:?}, server_name = \"localhost\" }}",
        root.to_str().unwrap()
    );
    let modes = [handshakes(), certificates(&authority), connections(&config)].into_iter().flatten().collect();
    let well = move |stream| drop(hear(stream, &config).map(|mut stream| stream.write_all(OK)));
    meet("https", &target, "get = \"/\"", (Arc::new(well), ok(200)), modes);
}
