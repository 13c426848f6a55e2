//! pgbench's transaction log (`pgbench -l`).

use std::collections::HashMap;
use std::io::{self, Write};

use offered_base::{Instant, Nanos};
use offered_events::{Outcome, Recording};

use super::each_by_end;

/// Writes client, transaction number, time, script, and end in seconds and microseconds. If scheduled times are known, the lag follows: as in
/// `pgbench -R`, the time then counts from the scheduled time, and the lag is the delay until the request was sent. The lag is negative if
/// that was too early. A client is a connection of a pool, or else a session. A failed transaction has `failed` instead of its time.
pub(super) fn write(recording: &Recording, origin: Nanos, out: &mut impl Write) -> io::Result<()> {
    let us = |at: Instant| (at + origin).0 / 1000;
    let since = |from: u64, to: u64| to.cast_signed() - from.cast_signed();
    let mut clients: HashMap<(u16, u64), (usize, u64)> = HashMap::new();
    each_by_end(recording, |event, sent, done| {
        let who = match event.waited {
            Some(_) => (event.worker, u64::from(event.connection)),
            None => (0, event.session),
        };
        let next = clients.len();
        let (client, number) = clients.entry(who).or_insert((next, 0));
        let (begun, done) = (us(sent + event.waited.unwrap_or_default()), us(done));
        let from = if recording.intent_known { us(event.intended) } else { begun };
        let time = if event.outcome == Outcome::Ok { since(from, done).to_string() } else { "failed".to_owned() };
        write!(out, "{client} {number} {time} {} {} {}", event.label, done / 1_000_000, done % 1_000_000)?;
        if recording.intent_known {
            write!(out, " {}", since(from, begun))?;
        }
        writeln!(out)?;
        *number += 1;
        Ok(())
    })
}
