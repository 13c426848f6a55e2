//! Converting rows to JSON, for checks and extractions.

/// Appends a row (the body of a `DataRow`) as a JSON object. Every value is a string, as the server writes it, or null.
///
/// # Errors
/// The row is malformed.
pub(super) fn append(row: &[u8], columns: &[Box<str>], out: &mut Vec<u8>) -> Result<(), &'static str> {
    const CUT: &str = "a row is truncated";
    let (count, mut rest) = row.split_first_chunk::<2>().ok_or(CUT)?;
    if usize::from(u16::from_be_bytes(*count)) != columns.len() {
        return Err("a row does not have the columns described before");
    }
    for (nth, column) in columns.iter().enumerate() {
        let (length, after) = rest.split_first_chunk::<4>().ok_or(CUT)?;
        out.push(if nth == 0 { b'{' } else { b',' });
        text(column, out);
        out.push(b':');
        match i32::from_be_bytes(*length) {
            -1 => {
                out.extend_from_slice(b"null");
                rest = after;
            }
            length => {
                let length = usize::try_from(length).map_err(|_| CUT)?;
                let (value, after) = after.split_at_checked(length).ok_or(CUT)?;
                text(&String::from_utf8_lossy(value), out);
                rest = after;
            }
        }
    }
    out.extend_from_slice(if columns.is_empty() { b"{}" } else { b"}" });
    Ok(())
}

fn text(text: &str, out: &mut Vec<u8>) {
    // Writing to a vector cannot fail, and neither can encoding a string.
    let _ = serde_json::to_writer(out, text);
}

/// The number of rows in a command tag (`SELECT 5`, `UPDATE 1`, `INSERT 0 3`); 0 if it has none.
pub(super) fn of_command(tag: &[u8]) -> u64 {
    let tag = tag.strip_suffix(&[0]).unwrap_or(tag);
    let digits = tag.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_an_object_of_strings() {
        let columns: [Box<str>; 3] = ["id".into(), "na\"me".into(), "none".into()];
        let row = b"\0\x03\0\0\0\x0242\0\0\0\x05a\"\n\xc3\xa9\xff\xff\xff\xff";
        let mut out = Vec::new();
        append(row, &columns, &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value, serde_json::json!({"id": "42", "na\"me": "a\"\né", "none": null}));
        for cut in 0..row.len() {
            assert!(append(&row[..cut], &columns, &mut Vec::new()).is_err(), "{cut}");
        }
        assert!(append(row, &columns[..2], &mut Vec::new()).is_err());
        append(b"\0\0", &[], &mut out).unwrap();
        assert!(out.ends_with(b"{}"));
    }

    #[test]
    fn command_tags_contain_row_counts() {
        for (tag, rows) in [(&b"SELECT 5\0"[..], 5), (b"INSERT 0 3\0", 3), (b"BEGIN\0", 0), (b"", 0), (b"UPDATE 1", 1)]
        {
            assert_eq!(of_command(tag), rows);
        }
    }
}
