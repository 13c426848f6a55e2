//! What every fuzz target does: read bytes as this or that kind of file. It must come to an end and not panic.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run tables -- -max_total_time=60
//! ```

use offered_store::{Format, ReadOptions, read_from};

/// Reads `bytes` as each of these formats.
pub fn read_as(bytes: &[u8], formats: &[&str]) {
    for name in formats {
        let format = Format::from_name(name);
        assert!(format.is_some(), "{name} is no format");
        let start_column = Some("a".to_owned());
        let _ = read_from("fuzz", bytes, &ReadOptions { format, start_column, ..ReadOptions::default() });
    }
}

/// Reads `bytes` as what they look like.
pub fn read_sniffed(bytes: &[u8]) {
    let _ = read_from("fuzz", bytes, &ReadOptions::default());
}

/// Reads `text` as a plan in each of these formats: it is one, or one line says why not; and what is written of it can be read.
pub fn import_as(text: &str, formats: &[offered_import::Format]) {
    let none = |name: &str| Err(name.to_owned());
    for format in formats {
        match offered_import::read(text, "fuzz", &offered_import::Given { format: Some(*format), ..Default::default() }) {
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(plans) => {
                for plan in plans {
                    let written = plan.text("fuzz").expect("what was read can be written");
                    let read = offered_model::Workload::parse(&written, "fuzz", &none);
                    assert!(read.is_ok(), "{}\n{written}", read.unwrap_err());
                }
            }
        }
    }
}
