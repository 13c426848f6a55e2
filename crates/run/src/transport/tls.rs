//! TLS over a non-blocking socket (rustls), for those connections that speak it.
//!
//! Bytes are read from the socket in large pieces, so that an answer that fits in one costs one system call, as it does without
//! TLS. What is written is encrypted a record at a time: what the socket has not taken stays with whoever writes.

mod config;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_model::{Outcome, Reason};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use rustls::client::ClientConnection;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error as TlsError};

use super::Failure;
use super::socket::{Read, Socket};

/// The most that is encrypted before the socket is asked to take it: one record.
const RECORD: usize = 16 * 1024;

/// How TLS connections of a run are begun.
#[derive(Clone, Debug)]
pub(crate) struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// Set once the server has asked for a certificate of ours.
    certificate_requested: Arc<AtomicBool>,
}

/// One end of a TLS connection.
pub(crate) struct TlsStream(ClientConnection);

impl TlsClient {
    /// A connection that has not said anything yet.
    pub(super) fn begin(&self) -> Result<Box<TlsStream>, Failure> {
        let connection = ClientConnection::new(self.config.clone(), self.name.clone()).map_err(tls_failure)?;
        Ok(Box::new(TlsStream(connection)))
    }

    /// Whether the server has asked for a certificate of ours.
    pub(super) fn client_certificate_requested(&self) -> bool {
        self.certificate_requested.load(Relaxed)
    }
}

impl TlsStream {
    /// Goes on with the handshake as far as the socket lets it; whether it is done. What it says last may still wait to be
    /// written: it goes out with the first request.
    pub(super) fn handshake(&mut self, socket: BorrowedFd<'_>) -> Result<bool, Failure> {
        loop {
            if !self.0.is_handshaking() {
                return Ok(true);
            }
            self.flush(socket).map_err(read_failure)?;
            match self.0.read_tls(&mut Socket(socket)) {
                Ok(0) => {
                    return Err((Outcome::Tls, Reason::words("the server closed in the middle of the TLS handshake")));
                }
                Ok(_) => self.process_packets(socket)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(read_failure(error)),
            }
        }
    }

    /// The protocol both agreed on.
    pub(super) fn protocol(&self) -> Option<&[u8]> {
        self.0.alpn_protocol()
    }

    /// Why the server's certificate does not hold, if the handshake failed for that.
    pub(super) fn certificate_error(&mut self) -> Option<String> {
        // What went wrong once is said again.
        match self.0.process_new_packets() {
            Err(TlsError::InvalidCertificate(wrong)) => Some(certificate_problem(&wrong)),
            _ => None,
        }
    }

    /// Whether the handshake failed because the server speaks none of the protocols offered.
    pub(super) fn no_common_protocol(&mut self) -> bool {
        let refusal = AlertDescription::NoApplicationProtocol;
        match self.0.process_new_packets() {
            Err(TlsError::AlertReceived(alert)) => alert == refusal,
            Err(wrong) => wrong == TlsError::NoApplicationProtocol,
            Ok(_) => false,
        }
    }

    /// Whether the other side has said anything in TLS: what cannot be read as that was something else.
    pub(super) fn received_tls(&mut self) -> bool {
        match self.0.process_new_packets() {
            Ok(_) => !self.0.is_handshaking(),
            Err(wrong) => !matches!(wrong, TlsError::InvalidMessage(_)),
        }
    }

    /// Takes new bytes; on an error the other side is told what is wrong.
    fn process_packets(&mut self, socket: BorrowedFd<'_>) -> Result<(), Failure> {
        let processed = self.0.process_new_packets();
        // Alerts, and answers to a change of keys.
        let flushed = self.flush(socket);
        processed.map_err(tls_failure)?;
        flushed.map_err(read_failure)
    }

    /// Reads what has come: from the socket into the end of `buffer`, from there in the clear to its start.
    pub(super) fn read(&mut self, socket: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<Read, Failure> {
        let (plaintext, sealed) = buffer.split_at_mut(buffer.len() / 4 * 3);
        let received = match rustix::io::retry_on_intr(|| recv(socket, &mut *sealed, RecvFlags::empty())) {
            Ok((0, _)) => {
                // It must be told of the end, to tell a good one from a bad one.
                self.0.read_tls(&mut io::empty()).map_err(read_failure)?;
                0
            }
            Ok((received, _)) => received,
            Err(Errno::AGAIN) => 0,
            Err(error) => return Err(read_failure(error.into())),
        };
        // What came with the handshake may wait inside.
        let (mut bytes, mut ended) = self.read_plaintext(plaintext, 0)?;
        let mut rest = &sealed[..received];
        while !rest.is_empty() && !ended {
            self.0.read_tls(&mut rest).map_err(read_failure)?;
            self.process_packets(socket)?;
            let more;
            (more, ended) = self.read_plaintext(plaintext, bytes)?;
            bytes += more;
        }
        let drained = received < sealed.len();
        Ok(match bytes {
            0 if ended => Read::End,
            // Behind a piece of a record the end of the connection may stand, which is told only once.
            0 => Read::Nothing { drained: received == 0 },
            bytes => Read::Some { bytes, drained: drained && !ended },
        })
    }

    /// Moves what is in the clear to `out` from `at`; how much, and whether the other side has said that it will say no more.
    fn read_plaintext(&mut self, out: &mut [u8], at: usize) -> Result<(usize, bool), Failure> {
        let mut moved = 0;
        loop {
            match self.0.reader().read(&mut out[at + moved..]) {
                Ok(0) => return Ok((moved, at + moved < out.len())),
                Ok(more) => moved += more,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok((moved, false)),
                Err(error) => return Err(read_failure(error)),
            }
        }
    }

    /// Encrypts and writes what the socket takes; how much of `bytes` was used up. `WouldBlock`: nothing.
    pub(super) fn write(&mut self, socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
        let mut used = 0;
        loop {
            self.flush(socket)?;
            if self.0.wants_write() || used == bytes.len() {
                return if used == 0 && !bytes.is_empty() { Err(ErrorKind::WouldBlock.into()) } else { Ok(used) };
            }
            used += self.0.writer().write(&bytes[used..bytes.len().min(used + RECORD)])?;
        }
    }

    /// Whether something encrypted waits for the socket.
    pub(super) fn is_unwritten(&self) -> bool {
        self.0.wants_write()
    }

    /// Writes what is encrypted, until the socket takes no more.
    pub(super) fn flush(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        while self.0.wants_write() {
            match self.0.write_tls(&mut Socket(socket)) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// The socket broke, or ended without TLS's own goodbye, which may hide that something is missing.
fn read_failure(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::UnexpectedEof => (Outcome::Reset, Reason::words("closed without a word (TLS close_notify)")),
        _ => (Outcome::Reset, error.into()),
    }
}

/// What is wrong with a certificate, in words.
fn certificate_problem(wrong: &CertificateError) -> String {
    match wrong {
        CertificateError::UnknownIssuer => "it is signed by none of the roots trusted here".to_owned(),
        CertificateError::BadSignature => {
            "it is not signed by the root that it names; one that signed itself is trusted only as a root".to_owned()
        }
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "it is that of an authority, used as a server's".to_owned()
        }
        other => other.to_string(),
    }
}

/// What is wrong, in words that say what to do.
#[allow(clippy::needless_pass_by_value)] // shaped for map_err
fn tls_failure(error: TlsError) -> Failure {
    let reason = match &error {
        TlsError::InvalidCertificate(wrong) => {
            format!(
                "the server's certificate does not hold: {}; give its root (target.tls.roots) or its name \
                 (target.tls.server_name), or take any (target.tls.insecure = true)",
                certificate_problem(wrong)
            )
        }
        TlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server wants a certificate of ours; give target.tls.certificate and target.tls.key".to_owned()
        }
        TlsError::AlertReceived(
            alert @ (AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown),
        ) => format!("the server does not take our certificate ({alert:?})"),
        TlsError::AlertReceived(AlertDescription::NoApplicationProtocol) | TlsError::NoApplicationProtocol => {
            "the server speaks none of the protocols offered (target.protocol)".to_owned()
        }
        TlsError::InvalidMessage(_) => "the server does not speak TLS there".to_owned(),
        other => other.to_string(),
    };
    (Outcome::Tls, reason.into())
}
