//! Malformed input: every reader returns an error or a few rows, never panics, and terminates.

use proptest::prelude::*;

use offered_events::Note;

use super::*;

/// Reads `bytes` in every format.
fn as_everything(bytes: &[u8]) {
    let _ = parse(bytes);
    for reader in READERS {
        let options = ReadOptions {
            format: Some(InputFormat(reader)),
            start_column: Some("a".to_owned()),
            ..ReadOptions::default()
        };
        if let Ok(recording) = parse_with(bytes, &options) {
            assert!(recording.events.launches() <= bytes.len() as u64, "{}", reader.name);
        }
    }
}

#[test]
fn strange_files_are_errors_or_few_rows() {
    let long = vec![b'7'; 10 << 20];
    let mut long_quoted = long.clone();
    long_quoted[0] = b'"';
    let utf16: Vec<u8> = "timeStamp,elapsed\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let strange: [&[u8]; 12] = [
        b"",
        b"\n\n\n",
        b"\0\0\0\0\0\0\0\0\0\0",
        b"\0\0\0\0\x063.14.3",
        b"\0\0\0\0\x063.14.3\xff\xff\xff\xff",
        b"{",
        b"<testResults><httpSample",
        b"timeStamp,elapsed\n1,\0\0\n",
        b"a,b\n\"unclosed,1\n2,3\n",
        &utf16,
        &long,
        &long_quoted,
    ];
    for bytes in strange {
        as_everything(bytes);
    }
}

#[test]
fn the_error_for_an_unknown_format_lists_all_formats() {
    let error = parse("The quick brown fox").unwrap_err().to_string();
    assert!(error.contains("known formats: ") && error.contains("jtl-csv") && !error.contains('\n'), "{error}");
    assert_eq!(parse("").unwrap_err().to_string(), "file is empty");
    assert!(parse([0xff, 0xfe, b't', 0]).unwrap_err().to_string().contains("UTF-16"));
}

#[test]
fn unreadable_rows_are_counted_and_the_first_ten_listed() {
    let mut log = String::from("timeStamp,elapsed,label\n");
    for row in 0..40 {
        log += if row % 2 == 0 { "1331861403100,18,a\n" } else { "today,18,a\n" };
    }
    let recording = parse(&log).unwrap();
    assert_eq!((recording.events.launches(), recording.unreadable, recording.complaints.len()), (20, 20, 10));
    assert_eq!(recording.complaints[0], "file:3: the timestamp is neither milliseconds nor a date");
    let error = parse(log + "x,1,a\n").unwrap_err().to_string();
    assert!(error.starts_with("file: 21 of 41 rows do not fit the format `jtl-csv`"), "{error}");
}

#[test]
fn compressed_files_are_read_and_truncated_ones_noted() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let text: String = (0..60_000u64)
        .map(|i| format!("{}\n", 1_331_861_403_100 + (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40)))
        .collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let zst = zstd::encode_all(text.as_bytes(), 1).unwrap();
    for (name, bytes) in [("a.gz", gz.finish().unwrap()), ("b", zst)] {
        let path = dir.path().join(name);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(crate::read(&path, &ReadOptions::default()).unwrap().events.launches(), 60_000);
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        let cut = crate::read(&path, &ReadOptions::default()).unwrap();
        assert!((1000..59_000).contains(&cut.events.launches()), "{name}");
        assert!(cut.notes.contains(&Note::Truncated), "{name}: {:?}", cut.notes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        as_everything(&bytes);
    }

    #[test]
    fn random_tables_never_panic(text in "([0-9]{1,20}|[-a.,:;\t\"{}\\[\\]T/ ]|true|REQUEST|OK|\n){0,60}") {
        as_everything(text.as_bytes());
    }

    /// A damaged file of a known format gets much further into its reader than noise does.
    #[test]
    fn damaged_files_never_panic(which in 0..shapes::SAMPLES.len(), at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let mut bytes = shapes::SAMPLES[which].1.as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        as_everything(&bytes);
    }
}
