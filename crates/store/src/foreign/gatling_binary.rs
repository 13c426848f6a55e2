//! Gatling's `simulation.log` since 3.13: big-endian records; the first byte is the type.
//!
//! The layout is that of Gatling's own writer (`LogFileDataWriter.scala`, unchanged from 3.13 to 3.15): 0 run, 1 request,
//! 2 user, 3 group, 4 error. Timestamps are ms since the run's start. A string is a length, its bytes and its coding (0 Latin-1,
//! 1 UTF-16 in the byte order of the machine, taken as little-endian); names are written once with a number, and later
//! referenced by the negated number.

use std::collections::HashMap;
use std::io::{self, Read};

use offered_base::{Instant, Nanos};
use offered_events::{Event, Outcome};

use super::ReadOptions;
use super::intake::Intake;
use super::{Content, Head, Reader};
use crate::error::Error;

pub(super) static READER: Reader = Reader { name: "gatling-binary", sniff, read };

const MS: Nanos = Nanos::from_millis(1);
const VERSIONS: [&str; 3] = ["3.13", "3.14", "3.15"];

/// A zero byte, a short length, and a version: `3.14.3`.
fn sniff(head: &Head) -> bool {
    matches!(
        head.bytes,
        [0, 0, 0, 0, 1..=40, b'0'..=b'9', b'.', ..] | [0, 0, 0, 0, 1..=40, b'0'..=b'9', b'0'..=b'9', b'.', ..]
    )
}

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.resolution = MS;
    let mut log = Log { bytes: content, at: 0, names: HashMap::new() };
    let (version, start) =
        log.run().map_err(|why| Error::content(intake.name(), format!("the first record: {why}")))?;
    if !VERSIONS
        .iter()
        .any(|known| version.starts_with(known) && !version[known.len()..].starts_with(|c: char| c.is_ascii_digit()))
    {
        let why = format!(
            "is of Gatling {version}; supported are {}. Use a newer offered, or send us a sample",
            VERSIONS.join(" ")
        );
        return Err(Error::content(intake.name(), why));
    }
    loop {
        let at = log.at;
        match log.record(start, intake) {
            Ok(true) => intake.understood(),
            Ok(false) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                intake.cut();
                return Ok(());
            }
            // Records have no length field: after a damaged one, the next cannot be found.
            Err(error) => {
                intake.bad(format_args!("byte {at}"), &error.to_string());
                intake.cut();
                return Ok(());
            }
        }
    }
}

struct Log<'a> {
    bytes: Content<'a>,
    at: u64,
    names: HashMap<i32, Vec<u8>>,
}

impl Log<'_> {
    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.bytes.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn byte(&mut self) -> io::Result<u8> {
        self.take::<1>().map(|[byte]| byte)
    }

    fn int(&mut self) -> io::Result<i32> {
        self.take().map(i32::from_be_bytes)
    }

    /// A count or a length; large values mean a damaged file.
    fn count(&mut self) -> io::Result<u32> {
        let count = self.int()?;
        u32::try_from(count)
            .ok()
            .filter(|&count| count < 1 << 24)
            .ok_or_else(|| io::Error::other(format!("a length of {count}")))
    }

    fn blob(&mut self) -> io::Result<Vec<u8>> {
        let count = self.count()?;
        let mut bytes = Vec::new();
        if (&mut *self.bytes).take(u64::from(count)).read_to_end(&mut bytes)? < count as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at += u64::from(count);
        Ok(bytes)
    }

    fn string(&mut self) -> io::Result<Vec<u8>> {
        let bytes = self.blob()?;
        // An empty string has no coding byte.
        if bytes.is_empty() || self.byte()? == 0 {
            return Ok(bytes.iter().map(|&byte| char::from(byte)).collect::<String>().into_bytes());
        }
        let units = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]]));
        Ok(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect::<String>().into_bytes())
    }

    fn name(&mut self) -> io::Result<Vec<u8>> {
        let number = self.int()?;
        if number >= 0 {
            let name = self.string()?;
            self.names.insert(number, name.clone());
            return Ok(name);
        }
        let name = number.checked_neg().and_then(|number| self.names.get(&number));
        name.cloned().ok_or_else(|| io::Error::other(format!("name number {number} was never written")))
    }

    fn names(&mut self) -> io::Result<Vec<Vec<u8>>> {
        (0..self.count()?).map(|_| self.name()).collect()
    }

    /// The run record: Gatling's version and the start in ms since 1970.
    fn run(&mut self) -> io::Result<(String, u64)> {
        if self.byte()? != 0 {
            return Err(io::Error::other("the first record is not a run record"));
        }
        let version = String::from_utf8_lossy(&self.string()?).into_owned();
        let _class = self.string()?;
        let start = u64::from_be_bytes(self.take()?);
        let _description = self.string()?;
        for _scenario in 0..self.count()? {
            self.string()?;
        }
        for _assertion in 0..self.count()? {
            self.blob()?;
        }
        Ok((version, start))
    }

    /// Reads one record; false at the end of the file.
    fn record(&mut self, start: u64, intake: &mut Intake) -> io::Result<bool> {
        if self.bytes.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.byte()? {
            1 => self.request(start, intake)?,
            2 => {
                self.take::<9>()?;
            }
            3 => {
                self.names()?;
                self.take::<13>()?;
            }
            4 => {
                self.name()?;
                self.take::<4>()?;
            }
            kind => return Err(io::Error::other(format!("a record of unknown kind {kind}"))),
        }
        Ok(true)
    }

    fn request(&mut self, start: u64, intake: &mut Intake) -> io::Result<()> {
        let mut path = self.names()?;
        path.push(self.name()?);
        let (from, to) = (self.int()?, self.int()?);
        let ok = self.byte()? != 0;
        let message = self.name()?;
        // A server push has the smallest number as its end; it is not a request.
        if to == i32::MIN {
            return Ok(());
        }
        let at = |offset: i32| Instant::ZERO + MS * start.saturating_add_signed(i64::from(offset));
        intake.add(
            &path.join(&b" / "[..]),
            Event {
                sent: Some(at(from)),
                done: Some(at(to.max(from))),
                outcome: if ok { Outcome::Ok } else { Outcome::HttpError },
                error: (!ok).then(|| crate::labels::text(&message).into()),
                ..Event::at(at(from))
            },
        );
        Ok(())
    }
}
