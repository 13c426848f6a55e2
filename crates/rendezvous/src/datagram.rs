//! The datagrams of clock comparison. A query is as long as its response, so that the server cannot be used for amplification attacks.

/// The length of all datagrams in bytes.
pub(crate) const LENGTH: usize = 48;
/// The token of a query to any server; the response has the token of the server.
pub(crate) const ANY_SERVER: u64 = 0;
const MAGIC: &[u8; 7] = b"offered";

/// The type of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A query for the time.
    Query,
    /// The response: the time of the clock.
    Response,
    /// No further query follows.
    Thanks,
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Datagram {
    pub(crate) kind: Kind,
    /// Identifies the server; it ignores queries with another token.
    pub(crate) token: u64,
    /// The number of the querying worker, from 1.
    pub(crate) worker: u64,
    /// The number of the query.
    pub(crate) number: u64,
    /// In a response: when the query was received and when the response was sent, in ns since the Unix epoch.
    pub(crate) received: u64,
    pub(crate) answered: u64,
}

impl Datagram {
    pub(crate) fn bytes(self) -> [u8; LENGTH] {
        let Self { kind, token, worker, number, received, answered } = self;
        let mut bytes = [0; LENGTH];
        bytes[..7].copy_from_slice(MAGIC);
        bytes[7] = kind as u8;
        for (slot, number) in bytes[8..].chunks_exact_mut(8).zip([token, worker, number, received, answered]) {
            slot.copy_from_slice(&number.to_be_bytes());
        }
        bytes
    }

    /// Decodes a datagram; `None` if the bytes are not one.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        let kind = [Kind::Query, Kind::Response, Kind::Thanks].into_iter().find(|kind| *kind as u8 == bytes[7])?;
        let number = |slot: usize| u64::from_be_bytes(bytes[8 * slot..][..8].try_into().expect("eight of them"));
        let [token, worker, number_of_query, received, answered] = [1, 2, 3, 4, 5].map(number);
        bytes.starts_with(MAGIC).then_some(Self { kind, token, worker, number: number_of_query, received, answered })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_decoded_and_other_bytes_are_not() {
        for kind in [Kind::Query, Kind::Response, Kind::Thanks] {
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
