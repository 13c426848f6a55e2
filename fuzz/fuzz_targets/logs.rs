#![no_main]

use offered_logs::Choice;

/// Every format of access logs: the first byte chooses one, the rest is its log.
const FORMATS: [&str; 12] = [
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
    // A string of the user's own, an nginx's or an Apache's by what it holds: the first line.
    "$",
    "%",
];

/// The longest that is a line.
const LONGEST: u64 = i64::MAX as u64 / 2;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((chosen, mut log)) = bytes.split_first() else { return };
    let chosen = usize::from(*chosen);
    let mut format = FORMATS[chosen % FORMATS.len()].to_owned();
    if format.len() == 1 {
        let end = log.iter().position(|byte| *byte == b'\n').unwrap_or(log.len());
        format.push_str(&String::from_utf8_lossy(&log[..end]));
        log = log.get(end + 1..).unwrap_or(b"");
    }
    // Of the larger bytes, users are told apart by a field; of those, JSON has keys of its own.
    let user = (chosen / FORMATS.len() % 2 == 1).then(|| "user".to_owned());
    let mapping = if user.is_some() { "client=a.b,time=t" } else { "" }.to_owned();
    let Ok(mut format) = (Choice { format, mapping, user }).format(log) else { return };
    let records: Vec<&[u8]> = match format.record() {
        Some(length) => log.chunks(length).collect(),
        None => log.split(|byte| *byte == b'\n').collect(),
    };
    for record in records {
        if let Ok(Some(entry)) = format.parse(record) {
            // Differences of instants fit, and nothing is found that the line does not hold.
            assert!(entry.time.unsigned_abs() <= LONGEST + 1_000_000_000_000_000);
            assert!(!entry.target.is_empty());
        }
    }
});
