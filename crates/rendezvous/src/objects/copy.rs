//! A local copy of a run in an object store, which all commands read like any run directory.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use offered_store::{files, is_worker_directory};
use tempfile::TempDir;

use crate::objects::bucket::{Bucket, CONCURRENCY};
use crate::objects::error::Error;

/// The document of a sweep.
pub(super) const SWEEP: &str = "sweep.json";

/// A local copy of a run, in a temporary directory that is removed on drop.
pub struct LocalCopy {
    bucket: Bucket,
    directory: TempDir,
    root: PathBuf,
    /// Number of copied parts per worker.
    parts: BTreeMap<String, u32>,
}

impl LocalCopy {
    /// Copies everything that exists now, except workers without a heartbeat and record. Calls `on_start` with the directory, the number of
    /// objects and their size in bytes.
    ///
    /// # Errors
    /// There is no run, the store refused or did not respond, or the disk is full.
    pub fn fetch_all(bucket: Bucket, on_start: &mut dyn FnMut(&Path, u64, u64)) -> Result<Self, Error> {
        Self::fetch_all_in(&std::env::temp_dir(), bucket, on_start)
    }

    /// Copies the run into a new directory inside `parent`.
    ///
    /// # Errors
    /// Same as [`LocalCopy::fetch_all`].
    pub fn fetch_all_in(
        parent: &Path,
        bucket: Bucket,
        on_start: &mut dyn FnMut(&Path, u64, u64),
    ) -> Result<Self, Error> {
        let copy = Self::new_in(parent, bucket)?;
        // Records and heartbeats first: the parts that they vouch for then exist in the store.
        let first = copy.bucket.list(None)?;
        let is_said = |name: &str| name.ends_with(files::RECORD) || name.ends_with(files::HEARTBEAT);
        let said = |known: &[(String, u64)]| {
            known
                .iter()
                .map(|(name, _)| name)
                .filter(|name| is_of_run(name) && is_said(name))
                .cloned()
                .collect::<Vec<_>>()
        };
        let said = said(&first);
        copy.all(said.iter().cloned())?;
        let has_spoken = |name: &str| said.iter().any(|said| own(said) == own(name));
        let rest = copy.bucket.list(None)?.into_iter();
        let rest: Vec<_> = rest
            .filter(|(name, _)| is_of_run(name) && !is_said(name))
            .filter(|(name, _)| own(name).is_empty() || has_spoken(name))
            .collect();
        let is_run = |(name, _): &(String, u64)| name == files::WORKLOAD || files::is_part(own_name(name));
        if !rest.iter().any(is_run) {
            return Err(Error::NoRun { url: copy.bucket.url().to_owned() });
        }
        on_start(copy.directory.path(), rest.len() as u64, rest.iter().map(|(_, bytes)| bytes).sum());
        copy.all(rest.into_iter().map(|(name, _)| name))?;
        copy.with_events(said.iter().map(|name| own(name)))?;
        Ok(copy)
    }

    /// Starts to follow a run in progress: copies the workload; [`LocalCopy::refresh`] copies the rest.
    ///
    /// # Errors
    /// Same as [`LocalCopy::fetch_all`].
    pub fn follow(bucket: Bucket) -> Result<Self, Error> {
        let copy = Self::empty(bucket)?;
        if !copy.bucket.wait(copy.fetch(files::WORKLOAD))? {
            return Err(Error::NoRun { url: copy.bucket.url().to_owned() });
        }
        Ok(copy)
    }

    /// Copies records and heartbeats, but no events, of workers with a directory name that starts with `worker`.
    ///
    /// # Errors
    /// Same as [`LocalCopy::fetch_all`], but a missing run is no error.
    pub fn fetch_status_of(&self, worker: &str) -> Result<(), Error> {
        let is_it = |directory: &String| {
            directory.strip_prefix(worker).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        for directory in self.bucket.folders(None)?.into_iter().filter(is_it) {
            let names = [files::RECORD, files::HEARTBEAT].map(|name| format!("{directory}/{name}"));
            self.all(names)?;
            self.with_events([directory.as_str()])?;
        }
        Ok(())
    }

    /// Copies workload, record and heartbeat, but no events, of the runs in `folders`. The object `claim` replaces a missing heartbeat. Copies of
    /// finished runs are not refreshed.
    ///
    /// # Errors
    /// The store refused or did not respond, or the disk is full.
    pub fn fetch_status(&self, folders: &[String], claim: &str) -> Result<(), Error> {
        let said = async |directory: &String| {
            let of = |name: &str| format!("{directory}/{name}");
            let here = |name: &str| self.root.join(of(name));
            if here(files::RECORD).exists() {
                return Ok(());
            }
            let sign = match self.bucket.read_object(&of(files::HEARTBEAT)).await? {
                None => self.bucket.read_object(&of(claim)).await?,
                sign => sign,
            };
            self.with_events([directory.as_str()])?;
            if let Some(sign) = sign {
                self.write(&of(files::HEARTBEAT), &sign)?;
            }
            // The record is uploaded last: with it, the workload is in the store. It is also written last, because a copy with a record is not
            // refreshed: after a failure the workload is copied again.
            let record = self.bucket.read_object(&of(files::RECORD)).await?;
            self.fetch(&of(files::WORKLOAD)).await?;
            record.map_or(Ok(()), |record| self.write(&of(files::RECORD), &record))
        };
        let said = stream::iter(folders).map(said);
        self.bucket.wait(said.buffer_unordered(CONCURRENCY).try_for_each(async |()| Ok(())))
    }

    /// Copies the events of the runs below `under` with folder names that satisfy `is_wanted`. `on_start` as for [`LocalCopy::fetch_all`].
    ///
    /// # Errors
    /// The store refused or did not respond, or the disk is full.
    pub fn fetch_events(
        &self,
        under: &str,
        wanted: &dyn Fn(&str) -> bool,
        on_start: &mut dyn FnMut(&Path, u64, u64),
    ) -> Result<(), Error> {
        let is_launched = |name: &str| {
            let own = name.strip_prefix(under).and_then(|name| name.strip_prefix('/')?.split_once('/'));
            own.is_some_and(|(directory, name)| wanted(directory) && (files::is_part(name) || name == files::FAILURES))
        };
        let mut missing = self.bucket.list(Some(under))?;
        missing.retain(|(name, _)| is_launched(name) && !self.root.join(name).exists());
        if missing.is_empty() {
            return Ok(());
        }
        on_start(self.directory.path(), missing.len() as u64, missing.iter().map(|(_, bytes)| bytes).sum());
        self.all(missing.into_iter().map(|(name, _)| name))
    }

    /// Uploads a file of the local copy that has been rewritten.
    ///
    /// # Errors
    /// The file is unreadable; the store refused, or did not respond.
    pub fn upload(&self, name: &str) -> Result<(), Error> {
        let path = self.root.join(name);
        let content = std::fs::read(&path).map_err(Error::io("read", &path))?;
        self.bucket.put(name, content.into())
    }

    /// The names of the folders in the folder `under` of the store.
    ///
    /// # Errors
    /// The store refused, or did not respond.
    pub fn list_folders(&self, under: &str) -> Result<Vec<String>, Error> {
        self.bucket.folders(Some(under))
    }

    /// An empty copy.
    ///
    /// # Errors
    /// The temporary directory cannot be created.
    pub fn empty(bucket: Bucket) -> Result<Self, Error> {
        Self::new_in(&std::env::temp_dir(), bucket)
    }

    fn new_in(parent: &Path, bucket: Bucket) -> Result<Self, Error> {
        let directory = tempfile::Builder::new().prefix("offered-").tempdir_in(parent);
        let directory = directory.map_err(Error::io("create a directory in", parent))?;
        let root = directory.path().join(bucket.url().rsplit('/').next().unwrap_or("run"));
        std::fs::create_dir(&root).map_err(Error::io("create", &root))?;
        Ok(Self { bucket, directory, root, parts: BTreeMap::new() })
    }

    /// The copied bucket.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// The local directory of the run.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The temporary directory that is removed on drop.
    pub fn temporary_directory(&self) -> &Path {
        self.directory.path()
    }

    /// Keeps the local copy and returns its path.
    pub fn into_path(self) -> PathBuf {
        let _ = self.directory.keep();
        self.root
    }

    /// Copies the new data of all workers.
    ///
    /// This takes one request for each worker's heartbeat, record and next part, and one for the list of workers,
    /// whatever the length of the run.
    ///
    /// # Errors
    /// The store refused or did not respond, or the disk is full.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let folders = self.bucket.folders(None)?;
        let mut workers: Vec<String> =
            folders.iter().filter(|name| is_worker_directory(Path::new(name))).cloned().collect();
        if folders.iter().any(|name| name == "events") {
            workers.push(String::new());
        }
        let refreshed = stream::iter(&workers).map(async |worker| Ok((worker.clone(), self.worker(worker).await?)));
        let parts: Vec<_> = self.bucket.wait(refreshed.buffer_unordered(CONCURRENCY).try_collect())?;
        self.parts.extend(parts.into_iter().filter_map(|(worker, parts)| Some((worker, parts?))));
        Ok(())
    }

    /// Copies the new data of this worker. Returns the number of its parts that are local; `None` if it has no
    /// heartbeat or record.
    async fn worker(&self, worker: &str) -> Result<Option<u32>, Error> {
        let of = |name: &str| if worker.is_empty() { name.to_owned() } else { format!("{worker}/{name}") };
        let here = |name: &str| self.root.join(of(name));
        let known = self.parts.get(worker).copied();
        if here(files::RECORD).exists() {
            return Ok(known);
        }
        // Read before the parts and written after them: the parts that they vouch for are then local.
        let mut said = Vec::new();
        for name in [files::HEARTBEAT, files::RECORD] {
            said.extend(self.bucket.read_object(&of(name)).await?.map(|content| (name, content)));
        }
        if said.is_empty() && known.is_none() {
            return Ok(None);
        }
        if known.is_none() {
            self.with_events([worker])?;
            self.fetch(&of(files::WORKLOAD)).await?;
        }
        let mut parts = known.unwrap_or(0);
        while self.fetch(&of(&files::part(parts))).await? {
            parts += 1;
        }
        if said.iter().any(|(name, _)| *name == files::RECORD) {
            self.fetch(&of(files::FAILURES)).await?;
        }
        for (name, content) in said {
            self.write(&of(name), &content)?;
        }
        Ok(Some(parts))
    }

    /// Copies an object to its place in the local copy. Returns whether it exists.
    async fn fetch(&self, name: &str) -> Result<bool, Error> {
        self.bucket.fetch(name, &self.root.join(name)).await
    }

    /// Writes a file of the local copy, which gets its name when it is complete.
    fn write(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let path = self.root.join(name);
        let new = path.with_extension("tmp");
        std::fs::write(&new, content).map_err(Error::io("write", &new))?;
        std::fs::rename(&new, &path).map_err(Error::io("rename to", &path))
    }

    /// Copies several objects concurrently.
    fn all(&self, names: impl IntoIterator<Item = String>) -> Result<(), Error> {
        let fetched = stream::iter(names).map(async |name: String| self.fetch(&name).await);
        self.bucket.wait(fetched.buffer_unordered(CONCURRENCY).try_for_each(async |_| Ok(())))
    }

    /// Creates the directories for the parts of these workers.
    fn with_events<'a>(&self, workers: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
        workers.into_iter().try_for_each(|worker| {
            let events = self.root.join(worker).join("events");
            std::fs::create_dir_all(&events).map_err(Error::io("create", &events))
        })
    }
}

/// The worker directory in the name of an object; empty for objects of the whole run, or of a run with one worker.
fn own(name: &str) -> &str {
    name.split_once('/')
        .map_or("", |(directory, _)| if is_worker_directory(Path::new(directory)) { directory } else { "" })
}

/// The name of an object inside its worker directory.
pub(super) fn own_name(name: &str) -> &str {
    name.strip_prefix(own(name)).unwrap_or(name).trim_start_matches('/')
}

/// Whether an object belongs to a run or a sweep; other objects are ignored.
pub(super) fn is_of_run(name: &str) -> bool {
    let name = own_name(name);
    let is_under_way = name.strip_prefix(files::IN_FLIGHT).is_some_and(|name| name.ends_with(".parquet"));
    is_under_way
        || files::is_part(name)
        || [files::WORKLOAD, files::RECORD, files::HEARTBEAT, files::FAILURES, SWEEP].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_whose_copy_failed_is_copied_again() {
        let bucket = Bucket::in_memory();
        for (name, content) in [("workload.toml", "seed = 1"), ("run.json", "{}"), ("heartbeat.json", "{}")] {
            bucket.put(&format!("cells/a/{name}"), content.into()).unwrap();
        }
        let (copy, folders) = (LocalCopy::empty(bucket).unwrap(), ["cells/a".to_owned()]);
        let [workload, record] = ["workload.toml", "run.json"].map(|name| copy.path().join("cells/a").join(name));
        // The workload cannot be written in the place of a directory.
        std::fs::create_dir_all(&workload).unwrap();
        assert!(copy.fetch_status(&folders, "claim").is_err() && !record.exists());
        std::fs::remove_dir(&workload).unwrap();
        copy.fetch_status(&folders, "claim").unwrap();
        assert_eq!((std::fs::read(&workload).unwrap(), record.exists()), (b"seed = 1".to_vec(), true));
    }

    #[test]
    fn only_objects_of_a_run_are_copied() {
        for name in [
            "workload.toml",
            "worker-3-of-8.2/heartbeat.json",
            "worker-1-of-8/events/part-0007.parquet",
            "worker-1-of-8/in-flight/part-0002.parquet",
            "events/part-10000.parquet",
        ] {
            assert!(is_of_run(name), "{name}");
        }
        for name in [
            "rendezvous/ready-1.json",
            "diary.txt",
            "worker-1/run.json",
            "backup/worker-1-of-8/run.json",
            "events/part-0.csv",
        ] {
            assert!(!is_of_run(name), "{name}");
        }
        assert_eq!(
            (own("worker-3-of-8.2/heartbeat.json"), own("workload.toml"), own("events/part-0000.parquet")),
            ("worker-3-of-8.2", "", "")
        );
    }
}
