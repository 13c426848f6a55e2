//! A table of clients that no choice of addresses can make slow.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};

/// A map from client hashes. What tells clients apart is the same in every run; where they lie in the table is not.
pub(crate) type ByClient<T> = HashMap<u64, T, Places>;

/// Gives each table its own order: a random odd factor.
#[derive(Clone, Debug)]
pub(crate) struct Places(u64);

impl Default for Places {
    fn default() -> Self {
        Self(RandomState::new().hash_one(0) | 1)
    }
}

impl BuildHasher for Places {
    type Hasher = Place;

    fn build_hasher(&self) -> Place {
        Place { factor: self.0, hash: 0 }
    }
}

/// Both halves of the product of a client's hash and the table's factor.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    factor: u64,
    hash: u64,
}

impl Hasher for Place {
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
