//! The documents of the verbs.

pub mod simulate;
pub mod sweep;
