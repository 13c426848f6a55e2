#![no_main]

// The store turns panics of the parquet crate into errors; libFuzzer's hook would end the process before it can.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| offered_fuzz::run("sniffed", bytes)
);
