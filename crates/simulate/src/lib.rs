//! The simulate room.
