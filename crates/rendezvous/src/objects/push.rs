//! Uploads a finished run directory, or those of its files that the store lacks.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use offered_store::{Heartbeat, files};

use crate::objects::bucket::{Bucket, CONCURRENCY};
use crate::objects::copy::{SWEEP, is_of_run, own_name};
use crate::objects::error::Error;

/// The result of [`push`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Number of files that the store already had, with the same content.
    pub present: u64,
    /// Number of uploaded files.
    pub uploaded: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// A file of the run and its object.
struct File {
    name: String,
    path: PathBuf,
    bytes: u64,
}

/// Uploads the run in `directory`, of one worker or of several, to `bucket`, and returns what it did. Files that the store already has are
/// read there and compared. Records come last, so an interrupted upload is an incomplete run, which the next call continues. `on_start` is
/// called before the upload with the number of missing files and their size in bytes.
///
/// # Errors
/// `directory` is not a run, the store holds another run, a file cannot be read, or the store refused or did not
/// respond. Files may have been uploaded only in the last two cases.
pub fn push(bucket: &Bucket, directory: &Path, on_start: &mut dyn FnMut(u64, u64)) -> Result<Pushed, Error> {
    let not_a_run = || Err(Error::NotARun { path: directory.to_owned() });
    if !directory.join(files::WORKLOAD).is_file() || directory.join(SWEEP).exists() {
        return not_a_run();
    }
    let found = files_of(directory)?;
    if !found.iter().any(|file| rank(&file.name) > 0 || files::is_part(own_name(&file.name))) {
        return not_a_run();
    }
    let there: BTreeSet<String> = bucket.list(None)?.into_iter().map(|(name, _)| name).collect();
    let foreign = there
        .iter()
        .find(|name| is_once(name) && has_worker(&found, name) && !found.iter().any(|file| file.name == **name));
    if let Some(name) = foreign {
        return Err(Error::AnotherRun { object: bucket.of(name), file: directory.join(name) });
    }
    let compared =
        found.into_iter().map(async |file: File| Ok::<_, Error>((is_there(bucket, &file, &there).await?, file)));
    let compared: Vec<(bool, File)> =
        bucket.wait(stream::iter(compared).buffer_unordered(CONCURRENCY).try_collect())?;
    let (present, missing): (Vec<_>, Vec<_>) = compared.into_iter().partition(|(is_there, _)| *is_there);
    let missing: Vec<File> = missing.into_iter().map(|(_, file)| file).collect();
    let bytes = missing.iter().map(|file| file.bytes).sum();
    let pushed = Pushed { present: present.len() as u64, uploaded: missing.len() as u64, bytes };
    on_start(pushed.uploaded, pushed.bytes);
    let put = async |file: &File| bucket.put_object(&file.name, content(file)?.into()).await;
    // A reader believes that everything is there that a heartbeat or a record vouches for.
    for rank in 0..=2 {
        let of_rank = missing.iter().filter(|file| self::rank(&file.name) == rank).map(&put);
        bucket.wait(stream::iter(of_rank).buffer_unordered(CONCURRENCY).try_for_each(async |()| Ok(())))?;
    }
    Ok(pushed)
}

/// The files of the run that are uploaded to a store.
fn files_of(directory: &Path) -> Result<Vec<File>, Error> {
    let (mut found, mut folders) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::io("read", &folder))? {
            let path = entry.map_err(Error::io("read", &folder))?.path();
            let metadata = path.symlink_metadata().map_err(Error::io("read", &path))?;
            let name = path.strip_prefix(directory).unwrap_or(&path).to_string_lossy().into_owned();
            if metadata.is_dir() {
                folders.push(path);
            } else if metadata.is_file() && is_of_run(&name) {
                found.push(File { name, path, bytes: metadata.len() });
            }
        }
    }
    Ok(found)
}

/// The content of a file, as the store holds it.
fn content(file: &File) -> Result<Vec<u8>, Error> {
    let read = fs::read(&file.path).map_err(Error::io("read", &file.path))?;
    if own_name(&file.name) != files::HEARTBEAT {
        return Ok(read);
    }
    // Everything that the worker had recorded by then is in the store.
    let heartbeat = serde_json::from_slice::<Heartbeat>(&read).ok();
    let heartbeat = heartbeat.map(|last| Heartbeat { copied_until_unix_ns: Some(last.at_unix_ns), ..last });
    Ok(heartbeat.map_or(read, |last| serde_json::to_vec(&last).expect("numbers and texts are JSON")))
}

/// Whether the store has this file.
async fn is_there(bucket: &Bucket, file: &File, there: &BTreeSet<String>) -> Result<bool, Error> {
    if !there.contains(&file.name) {
        return Ok(false);
    }
    let own = content(file)?;
    match bucket.read_object(&file.name).await?.is_some_and(|object| own == *object) {
        false if is_once(&file.name) => {
            Err(Error::AnotherRun { object: bucket.of(&file.name), file: file.path.clone() })
        }
        is_same => Ok(is_same),
    }
}

/// Whether a file is written only once; then other content means another run.
fn is_once(name: &str) -> bool {
    let own = own_name(name);
    files::is_part(own) || [files::WORKLOAD, files::RECORD].contains(&own)
}

/// Whether the directory of the worker that owns the object `name` is among these files.
fn has_worker(found: &[File], name: &str) -> bool {
    let prefix = name.strip_suffix(own_name(name)).unwrap_or_default();
    found.iter().any(|file| file.name.strip_suffix(own_name(&file.name)) == Some(prefix))
}

/// The order of the upload.
fn rank(name: &str) -> u8 {
    match own_name(name) {
        files::RECORD => 2,
        files::HEARTBEAT => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use offered_base::Share;

    use super::*;
    use crate::objects::LocalCopy;

    /// A run directory of two workers: the first has ended, the second was killed.
    fn run() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let heartbeat = Heartbeat {
            host: "a".to_owned(),
            share: Share::new(1, 2).unwrap(),
            started_unix_ns: 5,
            at_unix_ns: 7,
            in_flight: 0,
            clock: None,
            copied_until_unix_ns: None,
        };
        for (name, content) in [
            ("workload.toml", "seed = 1"),
            ("worker-1-of-2/workload.toml", "seed = 1"),
            ("worker-1-of-2/events/part-0000.parquet", "zero"),
            ("worker-1-of-2/events/part-0001.parquet", "one"),
            ("worker-1-of-2/run.json", "{}"),
            ("worker-2-of-2/workload.toml", "seed = 1"),
            ("worker-2-of-2/events/part-0000.parquet", "two"),
            ("worker-2-of-2/heartbeat.json", serde_json::to_string(&heartbeat).unwrap().as_str()),
            ("worker-2-of-2/events/part-0001.parquet.tmp", "unfinished"),
            ("rendezvous/ready-1.json", "{}"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    /// The files of the run that are uploaded to a store.
    const FILES: u64 = 8;

    fn pushed(bucket: &Bucket, run: &Path) -> Result<Pushed, Error> {
        push(bucket, run, &mut |_, _| ())
    }

    #[test]
    fn a_run_is_uploaded_once_and_can_be_read() {
        let (bucket, run) = (Bucket::in_memory(), run());
        let first = pushed(&bucket, run.path()).unwrap();
        assert_eq!((first.present, first.uploaded), (0, FILES));
        let again = pushed(&bucket, run.path()).unwrap();
        assert_eq!(again, Pushed { present: FILES, uploaded: 0, bytes: 0 });
        let copy = LocalCopy::fetch_all(bucket, &mut |_, _, _| ()).unwrap();
        let content = |directory: &Path| {
            let files = files_of(directory).unwrap().into_iter();
            files.map(|file| (file.name.clone(), fs::read(&file.path).unwrap())).collect::<BTreeMap<_, _>>()
        };
        let (mut own, mut read) = (content(run.path()), content(copy.path()));
        let heartbeats = [&mut own, &mut read].map(|files| files.remove("worker-2-of-2/heartbeat.json"));
        assert_eq!(own, read);
        let copied = heartbeats.map(|file| serde_json::from_slice::<Heartbeat>(&file.unwrap()).unwrap());
        assert_eq!(copied.map(|heartbeat| heartbeat.copied_until_unix_ns), [None, Some(7)], "the store has all of it");
    }

    #[test]
    fn an_interrupted_upload_is_continued() {
        let (bucket, run) = (Bucket::in_memory(), run());
        bucket.put("workload.toml", "seed = 1".into()).unwrap();
        bucket.put("worker-1-of-2/events/part-0000.parquet", "zero".into()).unwrap();
        bucket.put("worker-1-of-2/heartbeat.json", "{}".into()).unwrap();
        let mut told = None;
        let rest = push(&bucket, run.path(), &mut |files, _| told = Some(files)).unwrap();
        assert_eq!((rest.present, rest.uploaded, told), (2, FILES - 2, Some(FILES - 2)));
        // The directory of one worker is a run too, with the URL of this worker.
        let bucket = Bucket::in_memory();
        let one = pushed(&bucket, &run.path().join("worker-1-of-2")).unwrap();
        assert_eq!((one.present, one.uploaded), (0, 4));
    }

    #[test]
    fn another_run_is_not_overwritten() {
        for (name, content) in [
            ("worker-1-of-2/events/part-0001.parquet", "other"),
            ("workload.toml", "seed = 2"),
            ("worker-1-of-2/run.json", "{\"of\": 2}"),
            // A part more than here.
            ("worker-1-of-2/events/part-0002.parquet", "two"),
        ] {
            let (bucket, run) = (Bucket::in_memory(), run());
            bucket.put(name, content.into()).unwrap();
            let error = pushed(&bucket, run.path()).unwrap_err();
            assert!(matches!(&error, Error::AnotherRun { object, .. } if object.ends_with(name)), "{error}");
            assert_eq!(bucket.list(None).unwrap().len(), 1, "nothing was uploaded");
        }
        // A worker that is not here belongs to the same run.
        let (bucket, run) = (Bucket::in_memory(), run());
        bucket.put("worker-3-of-3/events/part-0000.parquet", "three".into()).unwrap();
        assert!(pushed(&bucket, run.path()).is_ok());
    }

    #[test]
    fn only_runs_are_uploaded() {
        let (bucket, run) = (Bucket::in_memory(), run());
        let refused = |path: &Path| matches!(pushed(&bucket, path), Err(Error::NotARun { .. }));
        assert!(refused(&run.path().join("rendezvous")), "no workload");
        assert!(refused(&run.path().join("absent")));
        fs::write(run.path().join("sweep.json"), "{}").unwrap();
        assert!(refused(run.path()), "a sweep");
        let empty = tempfile::tempdir().unwrap();
        fs::write(empty.path().join("workload.toml"), "").unwrap();
        assert!(refused(empty.path()), "nothing was recorded");
    }
}
