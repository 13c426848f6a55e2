//! Keyed hashes and hexadecimal digits.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The message authentication code of a text (RFC 2104) with SHA-256.
pub(super) fn hmac_sha256(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Bytes in hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
