//! A hash table of clients that is safe against crafted addresses.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map keyed by client hashes. The hashes are the same in every run, the table order is random.
pub(crate) type ClientMap<T> = HashMap<u64, T, RandomHashing>;

/// Randomizes the order of each table by a random odd factor.
#[derive(Clone, Debug)]
pub(crate) struct RandomHashing(u64);

impl Default for RandomHashing {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0) | 1)
    }
}

impl BuildHasher for RandomHashing {
    type Hasher = ClientHasher;

    fn build_hasher(&self) -> ClientHasher {
        ClientHasher { factor: self.0, hash: 0 }
    }
}

/// Combines both halves of the product of a client's hash and the table's factor.
#[derive(Clone, Debug)]
pub(crate) struct ClientHasher {
    factor: u64,
    hash: u64,
}

impl Hasher for ClientHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.hash
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(self.hash ^ u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, client: u64) {
        let product = u128::from(client) * u128::from(self.factor);
        self.hash = (product >> 64) as u64 ^ product as u64;
    }
}
