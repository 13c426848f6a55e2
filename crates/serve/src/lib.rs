//! The serve room.
