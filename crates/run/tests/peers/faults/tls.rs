//! TLS (RFC 8446): handshakes that fail, certificates that are not trusted, and connections that end without
//! `close_notify`.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use offered_events::Outcome;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::Step::{self, Pause, Receive, Reset, Stall};
use super::{Case, Expected, drip, expected, flood, ok, perform, read_to_end, reset, run_cases, say, timeout};

tests![each_fault_is_one_event];

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/// Fatal alerts (RFC 8446, section 6.2), by number.
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
    (120, "none of the offered protocols"),
];

/// A certificate authority.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// A server with a certificate for `localhost`, modified by `change`.
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

/// A connection after the handshake, with a request received.
type Secure = StreamOwned<ServerConnection, TcpStream>;

fn accept_request(stream: TcpStream, config: &Arc<ServerConfig>) -> Option<Secure> {
    let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), stream);
    stream.read(&mut [0; 4096]).ok().map(|_| stream)
}

/// A peer that receives a `ClientHello` and then performs these steps below TLS.
fn raw(name: impl Into<String>, steps: impl IntoIterator<Item = Step>, expected: Expected) -> Case {
    let steps: Vec<Step> = [Receive].into_iter().chain(steps).collect();
    Case::new(name, move |mut stream| perform(&mut stream, &steps), expected)
}

fn failed(why: &'static str) -> Expected {
    expected(Outcome::Tls, why).bytes(0)
}

/// The head of a record: type, version, and length.
fn record(kind: u8, length: u16) -> Vec<u8> {
    [&[kind, 3, 3][..], &length.to_be_bytes()].concat()
}

/// Handshakes that fail.
fn handshakes() -> Vec<Case> {
    let no_tls = || failed("the server does not speak TLS on this port");
    let mut cases = vec![
        raw("closes", [], failed("the server closed the connection during the TLS handshake")),
        raw("resets", [Reset], reset("")),
        raw("sends nothing", [Stall], timeout()),
        raw("HTTP in the clear", [say("HTTP/1.1 400 Bad Request\r\n\r\n"), Stall], no_tls()),
        raw("SSH", [say("SSH-2.0-OpenSSH_9.2\r\n"), Stall], no_tls()),
        raw("garbage", [say([0xff; 4096]), Stall], no_tls()),
        raw("half a record", [say([22, 3, 3, 0]), Stall], timeout()),
        raw("half a record, and closes", [say([22, 3, 3, 0])], failed("the server closed the connection")),
        raw("a record that never fills", [say(record(22, 16_000)), Stall], timeout()),
        raw("a record too long", [say(record(22, 0xffff)), say([0; 1 << 16]), Stall], no_tls()),
        raw("byte by byte, too slowly", [say(record(22, 200)), drip([0; 200])], timeout().or(failed(""))),
        raw("data before the handshake", [say(record(23, 2)), say("hi"), Stall], failed("")),
        raw("an empty record", [say(record(22, 0)), Stall], failed("")),
        raw("records of nothing without end", [flood([20, 3, 3, 0, 1, 1])], failed("")),
        raw("a hello of the client's kind", [say(record(22, 4)), say([1, 0, 0, 0]), Stall], failed("")),
        raw("a hello that is invalid", [say(record(22, 6)), say([2, 0, 0, 2, 3, 3]), Stall], no_tls()),
    ];
    cases.extend(ALERTS.map(|(number, name)| {
        raw(format!("alert {number}"), [say(record(21, 2)), say([2, number]), Stall], failed(name))
    }));
    cases
}

/// Certificates that a client of `localhost` with one trusted authority must reject.
fn certificates(authority: &Authority) -> Vec<Case> {
    let shows = |name: &str, config: Arc<ServerConfig>, expected| {
        Case::new(
            name,
            move |stream| drop(accept_request(stream, &config).map(|mut stream| stream.write_all(OK))),
            expected,
        )
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
        shows(
            "a certificate of another authority",
            Authority::new().server(|_| ()),
            failed("a trusted root has the name of its issuer"),
        ),
        shows(
            "a certificate that signed itself",
            config(own.cert.der().clone(), &own.signing_key),
            failed("a trusted root has the name of its issuer"),
        ),
        shows(
            "a certificate of an authority",
            authority.server(|it| it.is_ca = IsCa::Ca(BasicConstraints::Unconstrained)),
            failed("the certificate of an authority (CA:TRUE) that is not in target.tls.roots"),
        ),
    ]
}

/// Sends this below TLS, and continues.
fn below(stream: &mut Secure, bytes: &[u8], steps: &[Step]) {
    let _ = stream.sock.write_all(bytes);
    perform(&mut stream.sock, steps);
}

/// What happens after a successful handshake.
fn connections(config: &Arc<ServerConfig>) -> Vec<Case> {
    let then = |name: &str, act: fn(Secure), expected| {
        let config = config.clone();
        Case::new(name, move |stream| accept_request(stream, &config).map_or((), act), expected)
    };
    vec![
        then(
            "a response and a close_notify",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nall of it");
                stream.conn.send_close_notify();
                let _ = stream.flush();
                read_to_end(&mut stream.sock);
            },
            ok(200),
        ),
        then(
            "a response without a close_notify, whole by its length",
            |mut stream| drop(stream.write_all(OK)),
            ok(200),
        ),
        then(
            "a response to the end, without a close_notify",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nmore was to co");
                perform(&mut stream.sock, &[]);
            },
            reset("closed without TLS close_notify"),
        ),
        then(
            "a close_notify in the body",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
                stream.conn.send_close_notify();
                let _ = stream.flush();
                read_to_end(&mut stream.sock);
            },
            reset("closed with 4 bytes"),
        ),
        then(
            "closes in the body",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
                perform(&mut stream.sock, &[]);
            },
            reset("close_notify"),
        ),
        then(
            "resets in the body",
            |mut stream| {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello");
                perform(&mut stream.sock, &[Pause, Reset]);
            },
            reset("reset"),
        ),
        then(
            "a response with a byte per record",
            |mut stream| {
                for byte in OK.chunks(1) {
                    let _ = stream.write_all(byte).and_then(|()| stream.flush());
                }
                read_to_end(&mut stream.sock);
            },
            ok(200),
        ),
    ]
}

/// Invalid records after a successful handshake.
fn records(config: &Arc<ServerConfig>) -> Vec<Case> {
    let then = |name: &str, act: fn(Secure), expected| {
        let config = config.clone();
        Case::new(name, move |stream| accept_request(stream, &config).map_or((), act), expected)
    };
    vec![
        then(
            "a record that is not encrypted",
            |mut stream| below(&mut stream, &[&record(23, 32)[..], &[0; 32]].concat(), &[Stall]),
            failed(""),
        ),
        then("plain text", |mut stream| below(&mut stream, OK, &[Stall]), failed("")),
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
            "half a record, and closes",
            |mut stream| below(&mut stream, &[&record(23, 32)[..], &[0; 3]].concat(), &[]),
            reset("close_notify"),
        ),
        then(
            "an alert",
            |mut stream| below(&mut stream, &[&record(21, 2)[..], &[2, 80]].concat(), &[Stall]),
            failed(""),
        ),
    ]
}

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
    let cases = [handshakes(), certificates(&authority), connections(&config), records(&config)]
        .into_iter()
        .flatten()
        .collect();
    let well = move |stream| drop(accept_request(stream, &config).map(|mut stream| stream.write_all(OK)));
    run_cases("https", &target, "get = \"/\"", (Arc::new(well), ok(200)), cases);
}
