//! Access logs in the Common or Combined form: host, identity, user, `[time]`, "request", status, bytes.
//!
//! Times are whole seconds: of the request in Apache, of the end of the response in nginx. The duration of the response is
//! missing. The session is the host.

use std::collections::HashMap;

use memchr::memchr;
use offered_base::{Instant, Nanos};
use offered_events::{Event, Note, Outcome};

use super::ReadOptions;
use super::intake::{Bad, Intake};
use super::number::{log_time, whole};
use super::rows::Rows;
use super::{Content, Reader};
use crate::error::Error;

pub(super) static READER: Reader =
    Reader { name: "access-log", sniff: |head| parse(head.line()).is_ok_and(|line| line.request.len() > 2), read };

struct Line<'a> {
    host: &'a [u8],
    time: Instant,
    request: &'a [u8],
    status: u16,
    bytes: u64,
}

fn parse(line: &[u8]) -> Result<Line<'_>, Bad> {
    let space = memchr(b' ', line).ok_or("this line has no host")?;
    let open = memchr(b'[', line).ok_or("this line has no [time]")?;
    let close = open + memchr(b']', &line[open..]).ok_or("the [time] has no closing bracket")?;
    let time = log_time(&line[open + 1..close]).ok_or("the [time] is not as in 01/Aug/1995:02:00:00 -0400")?;
    let quote = close + memchr(b'"', &line[close..]).ok_or("this line has no \"request\"")? + 1;
    // A request may hold quotes (escaped or not); the closing one is followed by a space and the status.
    let ends = memchr::memmem::find_iter(&line[quote..], b"\" ").map(|end| quote + end);
    for end in ends {
        let mut rest = line[end + 2..].split(|&byte| byte == b' ');
        if let Some(status) = rest.next().filter(|status| status.len() == 3).and_then(whole) {
            let bytes = rest.next().and_then(whole).unwrap_or(0);
            return Ok(Line { host: &line[..space], time, request: &line[quote..end], status: status as u16, bytes });
        }
    }
    Err("this line has no status after the \"request\"".into())
}

fn read(content: Content, _: &ReadOptions, intake: &mut Intake) -> Result<(), Error> {
    intake.recording.resolution = Nanos::from_secs(1);
    intake.recording.sessions_known = true;
    intake.note(Note::WholeSeconds { format: "an access log".to_owned() });
    let mut hosts: HashMap<Box<[u8]>, u64> = HashMap::new();
    let mut rows = Rows::of_lines(content);
    intake.each_row(&mut rows, |intake, row| {
        let line = parse(row.get(0))?;
        let next = hosts.len() as u64;
        let session = match hosts.get(line.host) {
            Some(&session) => session,
            None => *hosts.entry(line.host.into()).or_insert(next),
        };
        let mut words = line.request.split(|&byte| byte == b' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = path.split(|&byte| byte == b'?').next().unwrap_or_default();
        intake.add(
            &[method, b" ", path].concat(),
            Event {
                sent: Some(line.time),
                session,
                status: line.status,
                bytes_in: line.bytes,
                outcome: if line.status < 400 { Outcome::Ok } else { Outcome::HttpError },
                ..Event::at(line.time)
            },
        );
        Ok(())
    })
}
