//! A run directory, or a folder in which workers have met, as one stream of bytes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tar::{Builder, Header};

/// For its owner alone, as the workload in a run directory is.
const MODE: u32 = 0o600;

/// Writes all files of the run at `run` as a tar, with their paths from there on; how many they are.
///
/// What is under way, and so under a name that ends with `.tmp`, is left out, and so is what has gone since it was seen: of a run that
/// goes on it is what could be read at that moment.
///
/// # Errors
/// A file cannot be read, or `out` cannot be written to.
pub fn pack(run: &Path, out: impl Write) -> io::Result<u64> {
    let mut tar = Builder::new(out);
    let mut files = 0;
    for path in files_of(run)? {
        let mut file = match File::open(&path) {
            Err(gone) if gone.kind() == io::ErrorKind::NotFound => continue,
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

/// All files beneath a folder, in the order of their paths.
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
    fn everything_that_is_whole_is_packed() {
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
        let mut packed = Vec::new();
        assert_eq!(pack(&run, &mut packed).unwrap(), 2);
        tar::Archive::new(&packed[..]).unpack(&back).unwrap();
        assert_eq!(fs::read(back.join("workload.toml")).unwrap(), b"seed = 1\n");
        assert_eq!(fs::read(back.join("worker-1-of-2/events/part-0000.parquet")).unwrap(), [0; 700]);
        assert_eq!(files_of(&back).unwrap().len(), 2);
    }
}
