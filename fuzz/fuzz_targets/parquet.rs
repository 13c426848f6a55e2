#![no_main]

use std::sync::Once;

// The store turns panics of the parquet crate into errors; libFuzzer's hook would end the process before it can.
static QUIET: Once = Once::new();

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    offered_fuzz::read_sniffed(&[b"PAR1", bytes].concat());
});
