#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| offered_fuzz::run("api_descriptions", bytes));
