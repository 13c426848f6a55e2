//! Reads files with untrusted names or contents.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// Maximum size of a file that is read into memory: 1 GiB.
const MAX_BYTES: u64 = 1 << 30;

/// Opens a regular file, or a symbolic link to one. Pipes and devices are errors: opening a pipe can block, and a device can be endless.
///
/// # Errors
/// The file is not regular, or cannot be opened.
pub fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a regular file"));
    }
    File::open(path)
}

/// Reads a regular file.
///
/// # Errors
/// See [`open_regular`]; it has more than 1 GiB, or cannot be read.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    let (file, mut content) = (open_regular(path)?, Vec::new());
    let size = file.metadata()?.len();
    if size > MAX_BYTES {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("the file has {size} bytes, more than {MAX_BYTES}"),
        ));
    }
    content.reserve_exact(size as usize);
    // A file that grows while it is read is read up to the limit.
    file.take(MAX_BYTES).read_to_end(&mut content)?;
    Ok(content)
}

/// Reads a regular file of UTF-8.
///
/// # Errors
/// See [`read_regular`]; it is not UTF-8.
pub fn read_regular_text(path: &Path) -> io::Result<String> {
    let invalid = |_| io::Error::new(io::ErrorKind::InvalidData, "the file is not UTF-8 text");
    String::from_utf8(read_regular(path)?).map_err(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_folders_and_sparse_giants_are_refused() {
        for path in ["/dev/zero", "/dev/null", "/"] {
            assert_eq!(read_regular(Path::new(path)).unwrap_err().to_string(), "this is not a regular file", "{path}");
        }
        let path = std::env::temp_dir().join(format!("offered-sparse-{}", std::process::id()));
        File::create(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
        let refused = read_regular(&path).unwrap_err().to_string();
        fs::write(&path, [0xff]).unwrap();
        let no_text = read_regular_text(&path).unwrap_err().to_string();
        fs::remove_file(&path).unwrap();
        assert_eq!(refused, "the file has 1073741825 bytes, more than 1073741824");
        assert_eq!(no_text, "the file is not UTF-8 text");
    }
}
