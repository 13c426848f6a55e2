mod ends;
mod garbage;
mod jmeter;
mod language_models;
mod shapes;

use super::*;
use crate::TimestampMeaning;
use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};

fn parse(text: impl AsRef<[u8]>) -> Result<Recording, Error> {
    parse_with(text, &ReadOptions::default())
}

fn parse_with(text: impl AsRef<[u8]>, options: &ReadOptions) -> Result<Recording, Error> {
    read("file", &mut text.as_ref(), options)
}
