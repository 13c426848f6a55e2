//! The datagrams by which workers compare their clocks. A question is as long as its answer, so that nobody is flooded through us.

/// How long each is.
pub(crate) const LENGTH: usize = 48;
/// In a question: to whoever is there, who answers with what it is itself.
pub(crate) const ANYBODY: u64 = 0;
const MAGIC: &[u8; 7] = b"offered";

/// What one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What does your clock show?
    Question,
    /// This.
    Answer,
    /// I shall ask no more.
    Thanks,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) kind: Kind,
    /// Of the run: others are not answered.
    pub(crate) token: u64,
    /// Who asks, from 1.
    pub(crate) worker: u64,
    /// The number of the question.
    pub(crate) number: u64,
    /// When the question was received and answered, since the Unix epoch; of an answer.
    pub(crate) received: u64,
    pub(crate) answered: u64,
}

impl Datagram {
    pub(crate) fn bytes(self) -> [u8; LENGTH] {
        let Self { kind, token, worker, number, received, answered } = self;
        let mut bytes = [0; LENGTH];
        bytes[..7].copy_from_slice(MAGIC);
        bytes[7] = kind as u8;
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip([token, worker, number, received, answered]) {
            place.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// The one that these bytes are, if they are one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let kind = [Kind::Question, Kind::Answer, Kind::Thanks].into_iter().find(|kind| *kind as u8 == bytes[7])?;
        let number = |place: usize| u64::from_be_bytes(bytes[8 * place..][..8].try_into().expect("eight of them"));
        let [token, worker, told, received, answered] = [1, 2, 3, 4, 5].map(number);
        bytes.starts_with(MAGIC).then_some(Self { kind, token, worker, number: told, received, answered })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_nothing_else() {
        for kind in [Kind::Question, Kind::Answer, Kind::Thanks] {
            let one = Datagram { kind, token: u64::MAX, worker: 2, number: 3, received: 4, answered: 5 };
            let bytes = one.bytes();
            assert_eq!(Datagram::read(&bytes), Some(one));
            assert_eq!(Datagram::read(&bytes[1..]), None);
            assert_eq!(Datagram::read(&[&bytes[..], &[0]].concat()), None);
            let other = |at: usize| {
                let mut bytes = bytes;
                bytes[at] ^= 0x80;
                Datagram::read(&bytes)
            };
            assert_eq!((other(0), other(7)), (None, None));
        }
    }
}
