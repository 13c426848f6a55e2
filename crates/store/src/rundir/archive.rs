//! A run directory, or the directory of a run with several workers, as one tar stream.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tar::{Builder, Header};

/// Readable by the owner only, like the workload in a run directory.
const MODE: u32 = 0o600;

/// Writes all files of the run at `run` as a tar, with relative paths. Returns the number of files.
///
/// Skips temporary files (`.tmp`) and files that disappear before they are read. For a run in progress the tar contains the readable part.
///
/// # Errors
/// A file is unreadable, or `out` cannot be written.
pub fn write_tar(run: &Path, out: impl Write) -> io::Result<u64> {
    let mut tar = Builder::new(out);
    let mut files = 0;
    for path in files_of(run)? {
        let mut file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        let mut header = Header::new_gnu();
        header.set_size(file.metadata()?.len());
        header.set_mode(MODE);
        tar.append_data(&mut header, path.strip_prefix(run).unwrap_or(&path), &mut file)?;
        files += 1;
    }
    tar.into_inner()?.flush()?;
    Ok(files)
}

/// All files below a folder, sorted by path.
fn files_of(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let (kind, path) = (entry.file_type()?, entry.path());
        if kind.is_dir() {
            files.extend(files_of(&path)?);
        } else if kind.is_file() && path.extension().is_none_or(|extension| extension != "tmp") {
            files.push(path);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_complete_files_are_packed() {
        let folder = tempfile::tempdir().unwrap();
        let (run, back) = (folder.path().join("run"), folder.path().join("back"));
        let inner = run.join("worker-1-of-2/events");
        fs::create_dir_all(&inner).unwrap();
        for (path, content) in [
            (run.join("workload.toml"), &b"seed = 1\n"[..]),
            (inner.join("part-0000.parquet"), &[0; 700]),
            (inner.join("part-0001.parquet.tmp"), b"half"),
        ] {
            fs::write(path, content).unwrap();
        }
        let mut tar = Vec::new();
        assert_eq!(write_tar(&run, &mut tar).unwrap(), 2);
        tar::Archive::new(&tar[..]).unpack(&back).unwrap();
        assert_eq!(fs::read(back.join("workload.toml")).unwrap(), b"seed = 1\n");
        assert_eq!(fs::read(back.join("worker-1-of-2/events/part-0000.parquet")).unwrap(), [0; 700]);
        assert_eq!(files_of(&back).unwrap().len(), 2);
    }
}
