//! Opening a session: authentication, the statements of `on_connect`, and preparing the statements.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use offered_events::Outcome;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::messages::{RawMessage, malformed};
use super::setup::Setup;
use super::statements::Columns;
use crate::transport::Failure;

/// Maximum number of SCRAM iterations. The thread sends nothing while it computes those of a connection that is opened
/// during the run.
const MAX_SCRAM_ROUNDS: u32 = 100_000;

/// A connection that is not ready for requests yet.
pub(super) struct Login {
    stage: Stage,
    /// The process ID of the server process, and the secret key for cancel requests.
    backend: (i32, i32),
}

enum Stage {
    Authenticating,
    Scram(Box<ScramSha256>),
    /// Logged in; this many statements of `on_connect` have been sent.
    OnConnect(usize),
    /// The result columns of the statements described so far.
    Preparing(Vec<Columns>),
}

impl Login {
    /// Writes the startup message.
    pub(super) fn begin(setup: &Setup, out: &mut BytesMut) -> Result<Self, Failure> {
        let parameters = [("user", setup.user.as_str()), ("database", &setup.database), ("client_encoding", "UTF8")];
        let settings = setup.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        encoded(frontend::startup_message(parameters.into_iter().chain(settings), out))?;
        Ok(Self { stage: Stage::Authenticating, backend: (0, 0) })
    }

    /// Handles a message and writes the response to it. Once the connection is ready for requests, returns the process
    /// ID and the secret key.
    ///
    /// # Errors
    /// The server refuses the login or a statement.
    pub(super) fn on_message(
        &mut self,
        raw: RawMessage<'_>,
        setup: &Setup,
        out: &mut BytesMut,
    ) -> Result<Option<(i32, i32)>, Failure> {
        if raw.tag == b'E' {
            return Err(self.refused(raw, setup)?);
        }
        // Statements of `on_connect` may return rows, which are ignored.
        if raw.tag == b'D' && matches!(self.stage, Stage::OnConnect(1..)) {
            return Ok(None);
        }
        if matches!(self.stage, Stage::Authenticating | Stage::Scram(_)) {
            self.authenticate(raw, setup, out)?;
            return Ok(None);
        }
        match (&mut self.stage, raw.message()?) {
            (Stage::OnConnect(_), Message::BackendKeyData(key)) => self.backend = (key.process_id(), key.secret_key()),
            (Stage::OnConnect(sent), Message::ReadyForQuery(_)) => {
                if let Some(next) = setup.on_connect.get(*sent) {
                    *sent += 1;
                    encoded(frontend::query(next, out))?;
                } else {
                    encoded(setup.statements.prepare(out))?;
                    self.stage = Stage::Preparing(Vec::new());
                }
            }
            (
                Stage::OnConnect(1..),
                Message::CommandComplete(_) | Message::RowDescription(_) | Message::EmptyQueryResponse,
            ) => {}
            (Stage::Preparing(_), Message::ParseComplete) => {}
            (Stage::Preparing(described), Message::ParameterDescription(takes)) => {
                let takes = takes.parameters().count().map_err(|reason| malformed(&reason.to_string()))?;
                setup.statements.takes(described.len(), takes).map_err(login_failure)?;
            }
            (Stage::Preparing(described), Message::NoData) => described.push(Columns::default()),
            (Stage::Preparing(described), Message::RowDescription(row)) => {
                let names = row.fields().map(|field| Ok(Box::from(field.name()))).collect::<Vec<_>>();
                described.push(names.map_err(|reason| malformed(&reason.to_string()))?.into());
            }
            (Stage::Preparing(described), Message::ReadyForQuery(_)) => {
                setup.statements.described(std::mem::take(described)).map_err(login_failure)?;
                return Ok(Some(self.backend));
            }
            _ => return Err(malformed(&format!("an unexpected message `{}`", char::from(raw.tag)))),
        }
        Ok(None)
    }

    /// Handles a message before the server has accepted the login.
    fn authenticate(&mut self, raw: RawMessage<'_>, setup: &Setup, out: &mut BytesMut) -> Result<(), Failure> {
        match (&mut self.stage, raw.message()?) {
            (Stage::Authenticating, Message::AuthenticationOk) => self.stage = Stage::OnConnect(0),
            (Stage::Authenticating, Message::AuthenticationCleartextPassword) => {
                encoded(frontend::password_message(setup.password()?.as_bytes(), out))?;
            }
            (Stage::Authenticating, Message::AuthenticationMd5Password(demand)) => {
                let hash = md5_hash(setup.user.as_bytes(), setup.password()?.as_bytes(), demand.salt());
                encoded(frontend::password_message(hash.as_bytes(), out))?;
            }
            (Stage::Authenticating, Message::AuthenticationSasl(demand)) => {
                let mut known = false;
                let mut mechanisms = demand.mechanisms();
                while let Ok(Some(name)) = mechanisms.next() {
                    known |= name == SCRAM_SHA_256;
                }
                if !known {
                    return Err(unsupported_auth());
                }
                let scram = ScramSha256::new(setup.password()?.as_bytes(), ChannelBinding::unsupported());
                encoded(frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), out))?;
                self.stage = Stage::Scram(Box::new(scram));
            }
            (Stage::Scram(scram), Message::AuthenticationSaslContinue(demand)) => {
                let rounds = String::from_utf8_lossy(demand.data());
                let rounds = rounds.split(',').find_map(|part| part.strip_prefix("i=")?.parse::<u32>().ok());
                if rounds.is_none_or(|rounds| rounds > MAX_SCRAM_ROUNDS) {
                    return Err(login_failure(format!(
                        "the server demands more than {MAX_SCRAM_ROUNDS} SCRAM iterations"
                    )));
                }
                scram.update(demand.data()).map_err(|reason| malformed(&reason.to_string()))?;
                encoded(frontend::sasl_response(scram.message(), out))?;
            }
            (Stage::Scram(scram), Message::AuthenticationSaslFinal(proof)) => {
                scram.finish(proof.data()).map_err(|_| {
                    login_failure("the server did not prove that it knows the password (SCRAM)".to_owned())
                })?;
                self.stage = Stage::Authenticating;
            }
            (
                Stage::Authenticating,
                Message::AuthenticationGss
                | Message::AuthenticationSspi
                | Message::AuthenticationKerberosV5
                | Message::AuthenticationScmCredential,
            ) => return Err(unsupported_auth()),
            _ => return Err(malformed(&format!("an unexpected message `{}`", char::from(raw.tag)))),
        }
        Ok(())
    }

    /// The failure for an error message of the server.
    fn refused(&self, raw: RawMessage<'_>, setup: &Setup) -> Result<Failure, Failure> {
        let reason = raw.error()?;
        Ok(match &self.stage {
            Stage::Authenticating | Stage::Scram(_) | Stage::OnConnect(0) => (Outcome::Refused, reason),
            Stage::OnConnect(sent) => login_failure(format!("on_connect `{}`: {reason}", setup.on_connect[sent - 1])),
            Stage::Preparing(described) => {
                login_failure(format!("`{}`: {reason}", setup.statements.text(described.len())))
            }
        })
    }
}

impl Setup {
    fn password(&self) -> Result<&str, Failure> {
        self.password.as_deref().ok_or_else(|| {
            login_failure(
                "the server demands a password; put it into the URL (user:password@host), or export PGPASSWORD=..."
                    .to_owned(),
            )
        })
    }
}

/// A connection that cannot be used, and why.
pub(super) fn login_failure(reason: String) -> Failure {
    (Outcome::Refused, reason.into())
}

fn unsupported_auth() -> Failure {
    login_failure(
        "the server demands an unsupported authentication method; supported are trust, password, md5 and scram-sha-256"
            .to_owned(),
    )
}

/// The result of encoding a message, which fails for a text with a zero byte.
fn encoded(result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(|reason| login_failure(reason.to_string()))
}
