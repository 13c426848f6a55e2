#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| offered_fuzz::read_as(bytes, &["k6-json", "vegeta-json", "fortio", "goose-json", "har"]));
