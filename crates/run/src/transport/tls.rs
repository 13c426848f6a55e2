//! TLS over a non-blocking socket (rustls).
//!
//! Bytes are read from the socket in large pieces, so that a response that fits in one costs one system call, as
//! without TLS. Output is encrypted one record at a time: bytes that the socket does not accept stay with the caller.

mod config;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use offered_events::{Outcome, Reason};
use rustix::io::Errno;
use rustls::client::ClientConnection;
use rustls::pki_types::ServerName;
use rustls::{AlertDescription, CertificateError, ClientConfig, Error as TlsError};

use super::Failure;
use super::socket::{Read, Socket, SocketReads};
use config::is_webpki;

/// Maximum number of bytes encrypted before they are written: one record.
const RECORD: usize = 16 * 1024;

/// Creates the TLS connections of a run.
#[derive(Clone, Debug)]
pub(crate) struct TlsClient {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// Set once the server has requested a client certificate.
    certificate_requested: Arc<AtomicBool>,
}

/// The client's end of a TLS connection.
pub(crate) struct TlsStream(ClientConnection);

impl TlsClient {
    /// A connection before its handshake.
    pub(super) fn begin(&self) -> Result<Box<TlsStream>, Failure> {
        let connection = ClientConnection::new(self.config.clone(), self.name.clone()).map_err(tls_failure)?;
        Ok(Box::new(TlsStream(connection)))
    }

    /// Whether the server has requested a client certificate.
    pub(super) fn client_certificate_requested(&self) -> bool {
        self.certificate_requested.load(Relaxed)
    }
}

impl TlsStream {
    /// Continues the handshake, whose messages `reads` reads from `socket`; returns whether it is complete. The last message
    /// may still be unwritten: it is sent with the first request.
    pub(super) fn handshake(&mut self, socket: BorrowedFd<'_>, reads: &mut impl io::Read) -> Result<bool, Failure> {
        loop {
            if !self.0.is_handshaking() {
                return Ok(true);
            }
            self.flush(socket).map_err(read_failure)?;
            match self.0.read_tls(reads) {
                Ok(0) => {
                    return Err((
                        Outcome::Tls,
                        Reason::words("the server closed the connection during the TLS handshake"),
                    ));
                }
                Ok(_) => self.process_packets(socket)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) => return Err(read_failure(error)),
            }
        }
    }

    /// The protocol agreed on by ALPN.
    pub(super) fn protocol(&self) -> Option<&[u8]> {
        self.0.alpn_protocol()
    }

    /// Why the certificate of the server was rejected, if the handshake failed for that reason.
    pub(super) fn certificate_error(&mut self) -> Option<String> {
        // rustls returns the first error again.
        match self.0.process_new_packets() {
            Err(TlsError::InvalidCertificate(error)) => Some(certificate_problem(&error)),
            _ => None,
        }
    }

    /// Whether the handshake failed because the server speaks none of the offered protocols.
    pub(super) fn no_common_protocol(&mut self) -> bool {
        let refusal = AlertDescription::NoApplicationProtocol;
        match self.0.process_new_packets() {
            Err(TlsError::AlertReceived(alert)) => alert == refusal,
            Err(error) => error == TlsError::NoApplicationProtocol,
            Ok(_) => false,
        }
    }

    /// Whether the peer has sent any TLS; an invalid message is something else.
    pub(super) fn received_tls(&mut self) -> bool {
        match self.0.process_new_packets() {
            Ok(_) => !self.0.is_handshaking(),
            Err(error) => !matches!(error, TlsError::InvalidMessage(_)),
        }
    }

    /// Processes new bytes. On an error the peer gets an alert.
    fn process_packets(&mut self, socket: BorrowedFd<'_>) -> Result<(), Failure> {
        let processed = self.0.process_new_packets();
        // Alerts, and responses to key updates.
        let flushed = self.flush(socket);
        processed.map_err(tls_failure)?;
        flushed.map_err(read_failure)
    }

    /// Reads from the socket with `reads` into the end of `buffer`, and decrypts to its start.
    pub(super) fn read(
        &mut self,
        socket: BorrowedFd<'_>,
        buffer: &mut [u8],
        reads: &mut SocketReads,
    ) -> Result<Read, Failure> {
        let (plaintext, sealed) = buffer.split_at_mut(buffer.len() / 4 * 3);
        let received = match reads.receive(socket, sealed) {
            Ok(0) => {
                // rustls must see the end, to distinguish an orderly one from a truncation.
                self.0.read_tls(&mut io::empty()).map_err(read_failure)?;
                0
            }
            Ok(received) => received,
            Err(Errno::AGAIN) => 0,
            Err(error) => return Err(read_failure(error.into())),
        };
        // Data that came with the handshake may be buffered.
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
            // The end of the connection may follow a partial record, and the poller reports it only once.
            0 => Read::Nothing { drained: received == 0 },
            bytes => Read::Some { bytes, drained: drained && !ended },
        })
    }

    /// Moves decrypted bytes to `out` from `at`. Returns their number, and whether the peer has ended its side.
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

    /// Encrypts and writes what the socket takes; returns the number of bytes used. `WouldBlock` if none.
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

    /// Whether encrypted bytes are still to be written.
    pub(super) fn is_unwritten(&self) -> bool {
        self.0.wants_write()
    }

    /// Writes encrypted bytes, until the socket takes no more.
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

/// The socket broke, or ended without `close_notify`, so that data may be missing.
fn read_failure(error: io::Error) -> Failure {
    match error.kind() {
        ErrorKind::UnexpectedEof => (Outcome::Reset, Reason::words("closed without TLS close_notify")),
        _ => (Outcome::Reset, error.into()),
    }
}

/// The problem of a certificate, for messages.
fn certificate_problem(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "it is not signed by a trusted root".to_owned(),
        CertificateError::BadSignature => {
            "a trusted root has the name of its issuer but did not sign it; a self-signed certificate is trusted only as a root"
                .to_owned()
        }
        error if is_webpki(error, "CaUsedAsEndEntity") => {
            "it is the certificate of an authority (CA:TRUE) that is not in target.tls.roots".to_owned()
        }
        error if is_webpki(error, "UnsupportedCertVersion") => {
            "it is an X.509 certificate of version 1, which has no names of servers (subjectAltName); use version 3"
                .to_owned()
        }
        other => other.to_string(),
    }
}

/// The failure for a TLS error, with the next step.
#[allow(clippy::needless_pass_by_value)] // shaped for map_err
fn tls_failure(error: TlsError) -> Failure {
    let reason = match &error {
        TlsError::InvalidCertificate(error) => {
            format!(
                "the certificate of the server is not trusted: {}; set target.tls.roots or \
                 target.tls.server_name, or accept any certificate with target.tls.insecure = true",
                certificate_problem(error)
            )
        }
        TlsError::AlertReceived(AlertDescription::CertificateRequired) => {
            "the server requires a client certificate; set target.tls.certificate and target.tls.key".to_owned()
        }
        TlsError::AlertReceived(
            alert @ (AlertDescription::BadCertificate
            | AlertDescription::UnknownCA
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown),
        ) => format!("the server rejected the client certificate ({alert:?})"),
        TlsError::AlertReceived(AlertDescription::NoApplicationProtocol) | TlsError::NoApplicationProtocol => {
            "the server supports none of the offered protocols (target.protocol)".to_owned()
        }
        TlsError::InvalidMessage(_) => "the server does not speak TLS on this port".to_owned(),
        other => other.to_string(),
    };
    (Outcome::Tls, reason.into())
}
