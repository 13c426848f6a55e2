//! Failed exchanges of a run, stored completely: `failed.jsonl` in its directory, one JSON object per line.
//!
//! The file contains requests and responses, so only its owner may read it.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use offered_events::Exchange;
use offered_io::read_regular_text;

use crate::error::Error;
use crate::rundir::files::FAILURES as FILE;
use crate::rundir::workers;

/// Appends an exchange to the failures of the run in `path`.
///
/// # Errors
/// The file cannot be written.
pub fn write_failure(path: &Path, exchange: &Exchange) -> Result<(), Error> {
    let file = path.join(FILE);
    let line = serde_json::to_string(exchange).expect("numbers and texts are JSON") + "\n";
    let mut open = OpenOptions::new();
    let written =
        open.create(true).append(true).mode(0o600).open(&file).and_then(|mut file| file.write_all(line.as_bytes()));
    written.map_err(Error::io("write", &file))
}

/// Reads the failures of the run in `path`, or of all its workers; empty without failures. Ignores the incomplete last line of a
/// killed run.
///
/// # Errors
/// The file is unreadable or invalid.
pub fn read_failures(path: &Path) -> Result<Vec<Exchange>, Error> {
    let file = path.join(FILE);
    let text = match read_regular_text(&file) {
        Err(why) if matches!(why.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let of_each = workers::of(path)?.into_iter().map(|worker| read_failures(&worker.path));
            return Ok(of_each.collect::<Result<Vec<_>, _>>()?.concat());
        }
        read => read.map_err(Error::io("read", &file))?,
    };
    let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
    let exchanges = whole.lines().zip(1..).map(|(line, number)| {
        let wrong = |why: serde_json::Error| Error::content(format!("{}:{number}", file.display()), why.to_string());
        serde_json::from_str(line).map_err(wrong)
    });
    exchanges.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use offered_events::Message;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn written_failures_are_read_back_and_only_the_owner_may_read_them() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_failures(folder.path()).unwrap(), []);
        let said = Message {
            head: vec!["GET / HTTP/1.1".to_owned()],
            body: Some("a\nb".to_owned()),
            bytes: 3,
            truncated: false,
        };
        let exchanges = ["one", "two"].map(|name| Exchange {
            request: name.to_owned(),
            sent: Some(said.clone()),
            extracted: vec![("token".to_owned(), None)],
            ..Exchange::default()
        });
        for exchange in &exchanges {
            write_failure(folder.path(), exchange).unwrap();
        }
        assert_eq!(read_failures(folder.path()).unwrap(), exchanges);
        let file = folder.path().join(FILE);
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, format!("{text}{{\"request\": \"cu")).unwrap();
        assert_eq!(read_failures(folder.path()).unwrap(), exchanges);
        fs::write(&file, "{}\n").unwrap();
        assert!(read_failures(folder.path()).unwrap_err().to_string().contains("failed.jsonl:1"));
    }
}
