#![no_main]

use offered_logs::Choice;

/// Every format of access logs: the first byte chooses one, the rest are its lines.
const FORMATS: [&str; 10] = [
    "auto",
    "common",
    "vhost",
    "squid",
    "w3c",
    "elb",
    "json",
    "worldcup",
    "$remote_addr [$time_local] \"$request\" $status $request_time",
    "%h %l %u %t \"%r\" %>s %b %D",
];

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((chosen, log)) = bytes.split_first() else { return };
    let format = FORMATS[usize::from(*chosen) % FORMATS.len()].to_owned();
    let Ok(mut format) = (Choice { format, ..Choice::default() }).format(log) else { return };
    for line in log.split(|byte| *byte == b'\n') {
        let _ = format.parse(line);
    }
});
