//! Binary logs of the 1998 World Cup site (Arlitt and Jin 1999): big-endian records of twenty bytes.
//!
//! `timestamp u32, client u32, object u32, size u32, method u8, status u8, type u8, server u8`. Names were removed
//! before publication, so the path of an object is its number with an extension for its type.

use std::io::Write as _;

use crate::entry::Entry;
use crate::time::SECOND;

/// Length of a record in bytes.
pub(crate) const RECORD: usize = 20;

/// Period in which the site was online, in seconds since the epoch; all records must lie in it.
const SPAN: std::ops::Range<u32> = 893_900_000..902_000_000;

const METHODS: [&[u8]; 8] = [b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"TRACE", b"OPTIONS", b"CONNECT"];
const TYPES: [&str; 12] = ["html", "gif", "wav", "mpg", "class", "pdf", "cgi", "txt", "zip", "exe", "dir", "icl"];

/// Whether `head`, the start of a file, consists of such records.
pub(crate) fn looks_like(head: &[u8]) -> bool {
    head.len() >= RECORD
        && head.chunks_exact(RECORD).take(50).all(|record| SPAN.contains(&word(record, 0)) && record[16] <= 8)
}

fn word(record: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
}

/// Parses `record`; its path is written into `path`.
pub(crate) fn parse<'a>(record: &'a [u8], path: &'a mut Vec<u8>) -> Result<Entry<'a>, &'static str> {
    if record.len() != RECORD {
        return Err("the record is cut off");
    }
    let kind = TYPES.get(usize::from(record[18])).unwrap_or(&"other");
    path.clear();
    write!(path, "/{}.{kind}", word(record, 8)).expect("a vector takes every byte");
    let size = word(record, 12);
    Ok(Entry {
        time: i64::from(word(record, 0)) * SECOND,
        client: &record[4..8],
        method: METHODS.get(usize::from(record[16])).copied().unwrap_or(b"OTHER"),
        target: path,
        // The upper two bits are the protocol version.
        status: code(record[17] & 0x3f),
        bytes: (size != u32::MAX).then_some(u64::from(size)),
        ..Entry::default()
    })
}

/// The status codes of RFC 2068 in ascending order; a log contains their index.
fn code(place: u8) -> u16 {
    let place = u16::from(place);
    match place {
        0..=1 => 100 + place,
        2..=8 => 200 + place - 2,
        9..=14 => 300 + place - 9,
        15..=30 => 400 + place - 15,
        31..=36 => 500 + place - 31,
        _ => 0,
    }
}
