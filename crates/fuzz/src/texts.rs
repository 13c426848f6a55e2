//! Logs, templates, chunked bodies, catalogues and traces.

use std::sync::Arc;

use offered_base::Seed;
use offered_io::chunked::decode_in_pieces;
use offered_logs::FormatChoice;
use offered_observe::{SeriesFilter, read_response};
use offered_schedule::replay::ReplayMode;
use offered_schedule::{Replay, Trace};
use offered_workload::Workload;
use offered_workload::catalogue::{Catalogue, Index, OneOf};
use offered_workload::template::{Template, in_url};
use offered_workload::token_trace;

/// Decodes a chunked body. The first byte says how the rest is split, which must not change the result.
pub(crate) fn chunked(bytes: &[u8]) {
    let Some((cut, bytes)) = bytes.split_first() else { return };
    let whole = decode_in_pieces(bytes, bytes.len().max(1), 256);
    assert_eq!(decode_in_pieces(bytes, usize::from(*cut) + 1, 256), whole);
    assert!(whole.is_err() || whole.is_ok_and(|(data, _)| data.len() <= bytes.len()));
}

/// Reads a metrics response. All reported values must be finite, and the number of series must be consistent.
pub(crate) fn scrapes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (mut series, mut finite) = (0, true);
    let found = read_response(&text, &SeriesFilter::default(), &mut |source, _, value| {
        series += usize::from(source.starts_with('{'));
        finite &= value.is_finite();
    });
    assert!(finite);
    assert_eq!(found.map_or(0, |found| found.series), series);
}

/// Reads a catalogue or a trace, depending on the first byte. A sampled file must be listed and found by its path.
pub(crate) fn catalogues(bytes: &[u8]) {
    let Some((kind, bytes)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(bytes);
    if kind.is_multiple_of(2) {
        let _ = Trace::parse(&text, "day.trace")
            .map(|(trace, requests)| assert!(!trace.is_empty() && !requests.is_empty()));
        if let Some(Ok(trace)) = token_trace::parse(&text, "tokens.csv") {
            let replay = Replay::new(trace.into(), 1.0, ReplayMode::Open).expect("a speed of one");
            for session in 0..replay.trace().len() as u64 {
                let entry = replay.tokens(session, 0).expect("each entry has tokens");
                assert!(
                    replay.arrival(session).is_some() && entry.input_tokens(1.0) > 0 && entry.output_tokens(1.0) > 0
                );
            }
        }
        return;
    }
    let Ok(catalogue) = Catalogue::parse(&text, "files.csv").map(Arc::new) else { return };
    let index = Index::new(&catalogue);
    for one_of in OneOf::each(&catalogue) {
        let file = one_of.drawn(Seed(u64::from(*kind)), 7, 3);
        let (class, found) = index.find(file.path).expect("what is drawn is listed");
        assert_eq!((class, found.path, found.work), (one_of.number(), file.path, file.work));
        assert!(one_of.distribution().is_none_or(|law| law.mean() >= 0.0 && law.second_moment().is_finite()));
    }
}

/// Formats of access logs. The first byte selects one; the rest is the log.
const FORMATS: [&str; 13] = [
    "auto",
    "common",
    "vhost",
    "squid",
    "w3c",
    "elb",
    "json",
    "worldcup",
    "$remote_addr - $remote_user [$time_local] \"$request\" $status $body_bytes_sent $request_time",
    "%h %l %u %t \"%r\" %>s %b %D \"%{User-agent}i\"",
    // A user's own format string, for nginx or Apache depending on its content: the first line of the input.
    "$",
    "%",
    "swf",
];

/// Limit of times in a log, in ns.
const MAX_LINE_NS: u64 = i64::MAX as u64 / 2;

pub(crate) fn logs(bytes: &[u8]) {
    let Some((chosen, mut log)) = bytes.split_first() else { return };
    let chosen = usize::from(*chosen);
    let mut format = FORMATS[chosen % FORMATS.len()].to_owned();
    if format.len() == 1 {
        let end = log.iter().position(|byte| *byte == b'\n').unwrap_or(log.len());
        format.push_str(&String::from_utf8_lossy(&log[..end]));
        log = log.get(end + 1..).unwrap_or(b"");
    }
    // Larger values of the first byte select users by a field; with JSON they also map keys.
    let user = (chosen / FORMATS.len() % 2 == 1).then(|| "user".to_owned());
    let mapping = if user.is_some() { "client=a.b,time=t" } else { "" }.to_owned();
    let Ok(mut format) = (FormatChoice { format, mapping, user }).format(log) else { return };
    let records: Vec<&[u8]> = match format.record() {
        Some(length) => log.chunks(length).collect(),
        None => log.split(|byte| *byte == b'\n').collect(),
    };
    for record in records {
        if let Ok(Some(entry)) = format.parse(record) {
            // Differences of times do not overflow, and every entry has a target.
            assert!(entry.time.unsigned_abs() <= MAX_LINE_NS + 1_000_000_000_000_000);
            assert!(!entry.target.is_empty());
        }
    }
}

/// Any text is a template that is unchanged after printing and parsing. A workload with it is parsed or refused. Any
/// value in a URL leaves the URL valid.
pub(crate) fn templates(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let template = Template::new(text);
    assert_eq!(Template::new(&template.to_string()), template);
    assert_eq!(Template::literal(text).text(), Some(text));
    assert!(in_url("/?q=", text).bytes().all(|b| b > b' ' && b < 0x7f));
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"").replace(|c: char| c.is_control(), " ");
    let files = |name: &str| if name.len().is_multiple_of(2) { Ok(text.into()) } else { Err(name.to_owned()) };
    let workload = format!(
        "duration = \"1s\"\narrivals.open.rate = \"1/s\"\n[variables]\na.file = \"u.csv\"\nb.file = \"uu.csv\"\n\
         c.file = \"u.jsonl\"\nd = \"{quoted}\"\n[[request]]\npost = \"/{quoted}\"\nbody = \"{quoted}\"\n\
         extract = [{{ name = \"e\", regex = \"{quoted}\" }}]\ncheck = [{{ body = true, contains = \"{quoted}\" }}]"
    );
    let _ = Workload::parse(&workload, "fuzz", &files);
}
