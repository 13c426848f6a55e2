#![no_main]

use offered_import::Format::{Openapi, Postman};

libfuzzer_sys::fuzz_target!(|text: &str| offered_fuzz::import_as(text, &[Openapi, Postman]));
