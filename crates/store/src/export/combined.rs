//! Apache's combined log, for tools that read server logs: one line per request, at the time it was sent.
//!
//! Timestamps are whole seconds and there is no duration. The client is the session; the path is the label.

use std::io::{self, Write};

use offered_base::Nanos;
use offered_events::Recording;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::{each_sent, label};

/// Characters that are percent-encoded in paths.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'\\');

pub(super) fn write(recording: &Recording, origin: Nanos, out: &mut impl Write) -> io::Result<()> {
    each_sent(recording, |event, sent| {
        let at = i128::from((sent + origin).0);
        let at = jiff::Timestamp::from_nanosecond(at).map_err(io::Error::other)?;
        let time = at.strftime("%d/%b/%Y:%H:%M:%S +0000");
        let name = label(recording, event);
        let slash = if name.starts_with('/') { "" } else { "/" };
        let path = utf8_percent_encode(name, ENCODED);
        let user = if recording.sessions_known { format!("user-{}", event.session) } else { "-".to_owned() };
        let (status, bytes) = (event.status, event.bytes_in);
        writeln!(out, "{user} - - [{time}] \"GET {slash}{path} HTTP/1.1\" {status:03} {bytes} \"-\" \"offered\"")
    })
}
