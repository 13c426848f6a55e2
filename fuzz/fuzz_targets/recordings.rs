#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| offered_fuzz::import_as(text, &[offered_import::Format::Har]));
