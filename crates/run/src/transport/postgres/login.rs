//! How a connection begins: who logs in, what is said first (`on_connect`), and what is prepared.

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use offered_model::Outcome;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::Message;
use postgres_protocol::message::frontend;

use super::frames::{Frame, malformed};
use super::setup::Setup;
use super::statements::Columns;
use crate::transport::Failure;

/// Rounds of hashing that a server may ask for: launches wait for those of a connection that is made while they run.
const MOST_ROUNDS: u32 = 100_000;

/// A connection that is not ready for requests yet.
pub(super) struct Login {
    stage: Stage,
    /// The process that serves it, and what proves that a request to cancel comes from here.
    backend: (i32, i32),
}

enum Stage {
    Greeting,
    Proving(Box<ScramSha256>),
    /// Logged in; so many statements of `on_connect` have been said.
    Setting(usize),
    /// Of each statement the columns of its answer, as far as they were told.
    Preparing(Vec<Columns>),
}

impl Login {
    /// Writes who is there.
    pub(super) fn begin(setup: &Setup, out: &mut BytesMut) -> Result<Self, Failure> {
        let own = [("user", setup.user.as_str()), ("database", &setup.database), ("client_encoding", "UTF8")];
        let settings = setup.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        written(frontend::startup_message(own.into_iter().chain(settings), out))?;
        Ok(Self { stage: Stage::Greeting, backend: (0, 0) })
    }

    /// Hears a message and writes what it asks for; once the connection is ready for requests, who serves it.
    ///
    /// # Errors
    /// The server does not let it in, or refuses a statement.
    pub(super) fn hear(
        &mut self,
        frame: Frame<'_>,
        setup: &Setup,
        out: &mut BytesMut,
    ) -> Result<Option<(i32, i32)>, Failure> {
        if frame.tag == b'E' {
            return Err(self.refused(frame, setup)?);
        }
        // What `on_connect` says may answer with rows, which nobody keeps.
        if frame.tag == b'D' && matches!(self.stage, Stage::Setting(1..)) {
            return Ok(None);
        }
        match (&mut self.stage, frame.message()?) {
            (Stage::Greeting, Message::AuthenticationOk) => self.stage = Stage::Setting(0),
            (Stage::Greeting, Message::AuthenticationCleartextPassword) => {
                written(frontend::password_message(setup.password()?.as_bytes(), out))?;
            }
            (Stage::Greeting, Message::AuthenticationMd5Password(asked)) => {
                let hash = md5_hash(setup.user.as_bytes(), setup.password()?.as_bytes(), asked.salt());
                written(frontend::password_message(hash.as_bytes(), out))?;
            }
            (Stage::Greeting, Message::AuthenticationSasl(asked)) => {
                let mut known = false;
                let mut mechanisms = asked.mechanisms();
                while let Ok(Some(name)) = mechanisms.next() {
                    known |= name == SCRAM_SHA_256;
                }
                if !known {
                    return Err(unspoken());
                }
                let scram = ScramSha256::new(setup.password()?.as_bytes(), ChannelBinding::unsupported());
                written(frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), out))?;
                self.stage = Stage::Proving(Box::new(scram));
            }
            (Stage::Proving(scram), Message::AuthenticationSaslContinue(asked)) => {
                let rounds = String::from_utf8_lossy(asked.data());
                let rounds = rounds.split(',').find_map(|part| part.strip_prefix("i=")?.parse::<u32>().ok());
                if rounds.is_none_or(|rounds| rounds > MOST_ROUNDS) {
                    return Err(refusal(format!("the server asks for more than {MOST_ROUNDS} rounds of hashing")));
                }
                scram.update(asked.data()).map_err(|why| malformed(&why.to_string()))?;
                written(frontend::sasl_response(scram.message(), out))?;
            }
            (Stage::Proving(scram), Message::AuthenticationSaslFinal(proof)) => {
                scram
                    .finish(proof.data())
                    .map_err(|_| refusal("the server does not know the password itself (SCRAM)".to_owned()))?;
                self.stage = Stage::Greeting;
            }
            (Stage::Setting(_), Message::BackendKeyData(key)) => self.backend = (key.process_id(), key.secret_key()),
            (Stage::Setting(said), Message::ReadyForQuery(_)) => {
                if let Some(next) = setup.on_connect.get(*said) {
                    *said += 1;
                    written(frontend::query(next, out))?;
                } else {
                    written(setup.statements.prepare(out))?;
                    self.stage = Stage::Preparing(Vec::new());
                }
            }
            (
                Stage::Setting(1..),
                Message::CommandComplete(_) | Message::RowDescription(_) | Message::EmptyQueryResponse,
            ) => {}
            (Stage::Preparing(_), Message::ParseComplete) => {}
            (Stage::Preparing(told), Message::ParameterDescription(takes)) => {
                let takes = takes.parameters().count().map_err(|why| malformed(&why.to_string()))?;
                setup.statements.takes(told.len(), takes).map_err(refusal)?;
            }
            (Stage::Preparing(told), Message::NoData) => told.push(Columns::default()),
            (Stage::Preparing(told), Message::RowDescription(row)) => {
                let names = row.fields().map(|field| Ok(Box::from(field.name()))).collect::<Vec<_>>();
                told.push(names.map_err(|why| malformed(&why.to_string()))?.into());
            }
            (Stage::Preparing(told), Message::ReadyForQuery(_)) => {
                setup.statements.described(std::mem::take(told)).map_err(refusal)?;
                return Ok(Some(self.backend));
            }
            (
                Stage::Greeting,
                Message::AuthenticationGss
                | Message::AuthenticationSspi
                | Message::AuthenticationKerberosV5
                | Message::AuthenticationScmCredential,
            ) => return Err(unspoken()),
            _ => return Err(malformed(&format!("a message `{}` nobody asked for", char::from(frame.tag)))),
        }
        Ok(None)
    }

    /// What the server said instead of going on.
    fn refused(&self, frame: Frame<'_>, setup: &Setup) -> Result<Failure, Failure> {
        let why = frame.error()?;
        Ok(match &self.stage {
            Stage::Greeting | Stage::Proving(_) | Stage::Setting(0) => (Outcome::Refused, why),
            Stage::Setting(said) => refusal(format!("on_connect `{}`: {why}", setup.on_connect[said - 1])),
            Stage::Preparing(told) => refusal(format!("`{}`: {why}", setup.statements.text(told.len()))),
        })
    }
}

impl Setup {
    fn password(&self) -> Result<&str, Failure> {
        self.password.as_deref().ok_or_else(|| {
            refusal(
                "the server asks for a password; write it into the URL (user:password@host), or set PGPASSWORD"
                    .to_owned(),
            )
        })
    }
}

/// A connection that is not let in, and why.
pub(super) fn refusal(why: String) -> Failure {
    (Outcome::Refused, why.into())
}

fn unspoken() -> Failure {
    refusal("the server asks who is there in a way that is not spoken here; spoken are trust, password, md5 and scram-sha-256".to_owned())
}

/// A message that was written, or not: a text with a zero in it.
fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    result.map_err(|why| refusal(why.to_string()))
}
