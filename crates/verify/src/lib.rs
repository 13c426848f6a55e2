//! The verify room.
