//! Siege's verbose output with times (`timestamp = true` or `csv = true` in its configuration): one line per request, stamped in whole
//! seconds of local time when it ended.
//!
//! Source: `__display_result` in `src/browser.c`, `date_stamp` in `src/date.c`. Lines may be coloured, with other lines
//! between them.

use memchr::memmem;
use offered_base::{Instant, Nanos};
use offered_events::{Event, Note, Outcome};

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::number::{date_time, nanos, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader =
    Reader { name: "siege", sniff: |head| head.lines().any(|line| matches!(parse(&plain(line)), Ok(Some(_)))), read };

const S: Nanos = Nanos::from_secs(1);

/// A request.
struct Line {
    done: Instant,
    took: Nanos,
    status: u16,
    bytes: u64,
    label: Vec<u8>,
}

/// The line without escape sequences of colours.
fn plain(line: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = memmem::find(rest, b"\x1b[") {
        plain.extend_from_slice(&rest[..at]);
        let end = rest[at..].iter().position(|&byte| byte == b'm').map_or(rest.len(), |end| at + end + 1);
        rest = &rest[end..];
    }
    plain.extend_from_slice(rest);
    plain
}

/// A line of a request; `None` for other lines.
fn parse(line: &[u8]) -> Result<Option<Line>, Bad> {
    let Some(start) = memmem::find(line, b"HTTP/") else { return Ok(None) };
    let (before, request) = line.split_at(start);
    if memmem::find(request, b" bytes ==> ").is_some() { verbose(before, request) } else { csv(request) }
}

/// `[Sat, 2010-11-20 10:39:13] HTTP/1.1 200     0.12 secs:    4003 bytes ==> GET  /`
fn verbose(before: &[u8], request: &[u8]) -> Result<Option<Line>, Bad> {
    let stamp = before.trim_ascii().strip_prefix(b"[").and_then(|text| text.strip_suffix(b"]"));
    let stamp = stamp.and_then(|text| text.split(|&byte| byte == b',').nth(1)).map(<[u8]>::trim_ascii);
    let Some((done, _)) = stamp.and_then(date_time) else { return Ok(None) };
    let mut words = request.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).skip(1);
    // A cached response is marked: 304(C).
    let status = words.next().and_then(|word| whole(word.split(|&byte| byte == b'(').next()?));
    let status = status.ok_or("this line has no status")? as u16;
    let took = words
        .find(|word| word[0].is_ascii_digit())
        .and_then(|took| nanos(took, S))
        .ok_or("this line has no time in s")?;
    let bytes = words.find_map(whole).ok_or("this line has no number of bytes")?;
    let behind = words.skip_while(|word| *word != b"==>").skip(1).collect::<Vec<_>>();
    Ok(Some(Line { done, took, status, bytes, label: label(&behind.join(&b' ')) }))
}

/// `HTTP/1.1,200,  0.12,   4003,http://host/,0,2010-11-20 10:39:13`
fn csv(request: &[u8]) -> Result<Option<Line>, Bad> {
    let fields: Vec<&[u8]> = request.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).collect();
    let [_, status, took, bytes, url @ .., _, stamp] = &fields[..] else { return Ok(None) };
    let Some((done, _)) = date_time(stamp) else { return Ok(None) };
    let status = whole(status).ok_or("this line has no status")? as u16;
    let took = nanos(took, S).ok_or("this line has no time in s")?;
    let bytes = whole(bytes).ok_or("this line has no number of bytes")?;
    Ok(Some(Line { done, took, status, bytes, label: label(&url.join(&b',')) }))
}

/// The method and the URL without its query.
fn label(text: &[u8]) -> Vec<u8> {
    text.split(|&byte| byte == b'?').next().unwrap_or_default().to_vec()
}

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.resolution = S;
    intake.note(Note::WholeSeconds { format: "siege".to_owned() });
    let mut rows = Rows::of_lines(content);
    intake.each_row(&mut rows, |intake, row| {
        let Some(Line { done, took, status, bytes, label }) = parse(&plain(row.get(0)))? else { return Ok(()) };
        let sent = Instant(
            done.0
                .checked_sub(took.0)
                .ok_or("the duration is longer than the time from 1970 to the date of this line; check both fields")?,
        );
        intake.add(
            &label,
            Event {
                sent: Some(sent),
                done: Some(done),
                bytes_in: bytes,
                status,
                outcome: if status < 400 { Outcome::Ok } else { Outcome::HttpError },
                ..Event::at(sent)
            },
        );
        Ok(())
    })
}
