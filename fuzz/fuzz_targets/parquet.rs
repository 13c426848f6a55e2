#![no_main]

// The store converts panics of the parquet crate into errors; the hook of libFuzzer would abort the process first.
libfuzzer_sys::fuzz_target!(
    init: std::panic::set_hook(Box::new(|_| {})),
    |bytes: &[u8]| offered_fuzz::run("parquet", bytes)
);
