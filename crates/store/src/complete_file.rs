//! Files that have their final names only when they are complete.

use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// Writes a file under a temporary name (`.tmp` appended) and renames it when it is complete.
pub(crate) fn write_complete(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    let tmp = PathBuf::from(name);
    let mut file = BufWriter::new(File::create(&tmp).map_err(Error::io("create", &tmp))?);
    // A file with its final name survives a power failure: its bytes are synced before the rename, its name after.
    write(&mut file)
        .and_then(|()| file.into_inner().map_err(io::IntoInnerError::into_error))
        .and_then(|file| file.sync_all())
        .map_err(Error::io("write", &tmp))?;
    fs::rename(&tmp, path).map_err(Error::io("rename to", path))?;
    let folder = path.parent().unwrap_or(path);
    match File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some network file systems cannot sync directories; their server is responsible for the names.
        Err(why) if matches!(why.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced.map_err(Error::io("sync", folder)),
    }
}
