#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| offered_fuzz::read_sniffed(&[b"PAR1", bytes].concat()));
