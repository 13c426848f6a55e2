//! A run in an object store, copied to this machine's disk, where every verb reads it as any other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use offered_store::{files, is_worker};
use tempfile::TempDir;

use crate::objects::bucket::{AT_ONCE, Bucket};
use crate::objects::error::Error;

/// The document of a sweep.
const SWEEP: &str = "sweep.json";

/// A copy of the run of many workers, or of one of them, in a folder of its own among the temporary files; dropped, it is taken away.
pub struct Copy {
    bucket: Bucket,
    folder: TempDir,
    root: PathBuf,
    /// So many parts of each worker are here.
    parts: BTreeMap<String, u32>,
}

impl Copy {
    /// Of everything that is there now. A worker that has said nothing yet is left out. `told` is told where to, how many objects will be copied and how many
    /// bytes they have.
    ///
    /// # Errors
    /// There is no run, the store refused or did not answer, or there is no room for it.
    pub fn whole(bucket: Bucket, told: &mut dyn FnMut(&Path, u64, u64)) -> Result<Self, Error> {
        Self::whole_in(&std::env::temp_dir(), bucket, told)
    }

    /// The same in a folder of its own in `among`.
    ///
    /// # Errors
    /// The same.
    pub fn whole_in(among: &Path, bucket: Bucket, told: &mut dyn FnMut(&Path, u64, u64)) -> Result<Self, Error> {
        let copy = Self::new_in(among, bucket)?;
        // In this order: of a worker whose record or last sign is here, the parts that they speak of are too.
        let first = copy.bucket.list(None)?;
        let is_said = |name: &str| name.ends_with(files::RECORD) || name.ends_with(files::ALIVE);
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
        told(copy.folder.path(), rest.len() as u64, rest.iter().map(|(_, bytes)| bytes).sum());
        copy.all(rest.into_iter().map(|(name, _)| name))?;
        copy.with_events(said.iter().map(|name| own(name)))?;
        Ok(copy)
    }

    /// Of a run that goes on, as far as it was there at the last [`Copy::refresh`]; at first only its workload.
    ///
    /// # Errors
    /// The same.
    pub fn begun(bucket: Bucket) -> Result<Self, Error> {
        let copy = Self::new(bucket)?;
        if !copy.bucket.wait(copy.fetch(files::WORKLOAD))? {
            return Err(Error::NoRun { url: copy.bucket.url().to_owned() });
        }
        Ok(copy)
    }

    /// Of what the workers with a name that begins with `worker` have said of themselves, and of nothing they launched.
    ///
    /// # Errors
    /// The same; but that nothing is there is no error.
    pub fn signs(&self, worker: &str) -> Result<(), Error> {
        let is_it =
            |folder: &String| folder.strip_prefix(worker).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        for folder in self.bucket.folders(None)?.into_iter().filter(is_it) {
            let names = [files::RECORD, files::ALIVE].map(|name| format!("{folder}/{name}"));
            self.all(names)?;
            self.with_events([folder.as_str()])?;
        }
        Ok(())
    }

    /// Of what the runs in `folders` have said of themselves, and of nothing they launched. Of one that has not begun to the sign of life is
    /// what its `claim` holds. What is here of a run that has ended stays.
    ///
    /// # Errors
    /// The store refused or did not answer, or there is no room for it.
    pub fn said(&self, folders: &[String], claim: &str) -> Result<(), Error> {
        let said = async |folder: &String| {
            let of = |name: &str| format!("{folder}/{name}");
            let here = |name: &str| self.root.join(of(name));
            if here(files::RECORD).exists() {
                return Ok(());
            }
            let sign = match self.bucket.small(&of(files::ALIVE)).await? {
                None => self.bucket.small(&of(claim)).await?,
                sign => sign,
            };
            self.with_events([folder.as_str()])?;
            if let Some(sign) = sign {
                std::fs::write(here(files::ALIVE), sign).map_err(Error::io("write", &here(files::ALIVE)))?;
            }
            for name in [files::WORKLOAD, files::RECORD] {
                self.fetch(&of(name)).await?;
            }
            Ok(())
        };
        let said = stream::iter(folders).map(said);
        self.bucket.wait(said.buffer_unordered(AT_ONCE).try_for_each(async |()| Ok(())))
    }

    /// Of what the runs beneath `under`, in the folders that `wanted` names, have launched; `told` as by [`Copy::whole`].
    ///
    /// # Errors
    /// The store refused or did not answer, or there is no room for it.
    pub fn launched(
        &self,
        under: &str,
        wanted: &dyn Fn(&str) -> bool,
        told: &mut dyn FnMut(&Path, u64, u64),
    ) -> Result<(), Error> {
        let is_launched = |name: &str| {
            let own = name.strip_prefix(under).and_then(|name| name.strip_prefix('/')?.split_once('/'));
            own.is_some_and(|(folder, name)| wanted(folder) && (files::is_part(name) || name == files::FAILED))
        };
        let mut missing = self.bucket.list(Some(under))?;
        missing.retain(|(name, _)| is_launched(name) && !self.root.join(name).exists());
        if missing.is_empty() {
            return Ok(());
        }
        told(self.folder.path(), missing.len() as u64, missing.iter().map(|(_, bytes)| bytes).sum());
        self.all(missing.into_iter().map(|(name, _)| name))
    }

    /// Brings a file that is here, and has been made anew, to where it belongs.
    ///
    /// # Errors
    /// It cannot be read; the store refused, or did not answer.
    pub fn bring(&self, name: &str) -> Result<(), Error> {
        let path = self.root.join(name);
        let content = std::fs::read(&path).map_err(Error::io("read", &path))?;
        self.bucket.put(name, content.into())
    }

    /// The names of the folders in the folder `under`.
    ///
    /// # Errors
    /// The store refused, or did not answer.
    pub fn folders(&self, under: &str) -> Result<Vec<String>, Error> {
        self.bucket.folders(Some(under))
    }

    /// An empty one.
    ///
    /// # Errors
    /// There is no place for temporary files.
    pub fn new(bucket: Bucket) -> Result<Self, Error> {
        Self::new_in(&std::env::temp_dir(), bucket)
    }

    fn new_in(among: &Path, bucket: Bucket) -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix("offered-").tempdir_in(among);
        let folder = folder.map_err(Error::io("make a folder in", among))?;
        let root = folder.path().join(bucket.url().rsplit('/').next().unwrap_or("run"));
        std::fs::create_dir(&root).map_err(Error::io("create", &root))?;
        Ok(Self { bucket, folder, root, parts: BTreeMap::new() })
    }

    /// The bucket it is a copy of.
    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    /// Where the run is on this machine.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// What is taken away when it is dropped.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves it where it is.
    pub fn keep(self) -> PathBuf {
        let _ = self.folder.keep();
        self.root
    }

    /// Copies what has come since.
    ///
    /// A request for each worker's sign of life, its record and its next part, and one for their names: it costs the same however
    /// long the run is.
    ///
    /// # Errors
    /// The store refused or did not answer, or there is no room for it.
    pub fn refresh(&mut self) -> Result<(), Error> {
        let folders = self.bucket.folders(None)?;
        let mut workers: Vec<String> = folders.iter().filter(|name| is_worker(Path::new(name))).cloned().collect();
        if folders.iter().any(|name| name == "events") {
            workers.push(String::new());
        }
        let refreshed = stream::iter(&workers).map(async |worker| Ok((worker.clone(), self.worker(worker).await?)));
        let parts: Vec<_> = self.bucket.wait(refreshed.buffer_unordered(AT_ONCE).try_collect())?;
        self.parts.extend(parts.into_iter().filter_map(|(worker, parts)| Some((worker, parts?))));
        Ok(())
    }

    /// Copies what has come since of this worker; how many of its parts are here then, if it has said anything.
    async fn worker(&self, worker: &str) -> Result<Option<u32>, Error> {
        let of = |name: &str| if worker.is_empty() { name.to_owned() } else { format!("{worker}/{name}") };
        let here = |name: &str| self.root.join(of(name));
        let known = self.parts.get(worker).copied();
        if here(files::RECORD).exists() {
            return Ok(known);
        }
        // Read before the parts, and here after them: what it had kept when it said so is here.
        let mut said = Vec::new();
        for name in [files::ALIVE, files::RECORD] {
            said.extend(self.bucket.small(&of(name)).await?.map(|content| (name, content)));
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
            self.fetch(&of(files::FAILED)).await?;
        }
        for (name, content) in said {
            let (path, new) = (here(name), here(name).with_extension("tmp"));
            std::fs::write(&new, content).map_err(Error::io("write", &new))?;
            std::fs::rename(&new, &path).map_err(Error::io("rename to", &path))?;
        }
        Ok(Some(parts))
    }

    /// Copies an object to where it belongs; whether there is one.
    async fn fetch(&self, name: &str) -> Result<bool, Error> {
        self.bucket.fetch(name, &self.root.join(name)).await
    }

    /// Copies objects, several at once.
    fn all(&self, names: impl IntoIterator<Item = String>) -> Result<(), Error> {
        let fetched = stream::iter(names).map(async |name: String| self.fetch(&name).await);
        self.bucket.wait(fetched.buffer_unordered(AT_ONCE).try_for_each(async |_| Ok(())))
    }

    /// Makes the folders of these workers, with room for their parts.
    fn with_events<'a>(&self, workers: impl IntoIterator<Item = &'a str>) -> Result<(), Error> {
        workers.into_iter().try_for_each(|worker| {
            let events = self.root.join(worker).join("events");
            std::fs::create_dir_all(&events).map_err(Error::io("create", &events))
        })
    }
}

/// The folder of the worker to whom an object belongs; empty of what belongs to the whole run, or to the run of one.
fn own(name: &str) -> &str {
    name.split_once('/').map_or("", |(folder, _)| if is_worker(Path::new(folder)) { folder } else { "" })
}

/// The name of an object in the folder of its worker.
fn own_name(name: &str) -> &str {
    name.strip_prefix(own(name)).unwrap_or(name).trim_start_matches('/')
}

/// Whether an object is one of those that a run is made of, or the document of a sweep; whatever else lies there is nobody's business.
fn is_of_run(name: &str) -> bool {
    let name = own_name(name);
    let is_under_way = name.strip_prefix(files::UNDER_WAY).is_some_and(|name| name.ends_with(".parquet"));
    is_under_way
        || files::is_part(name)
        || [files::WORKLOAD, files::RECORD, files::ALIVE, files::FAILED, SWEEP].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_lies_in_a_bucket_only_a_run_is_copied() {
        for name in [
            "workload.toml",
            "worker-3-of-8.2/alive.json",
            "worker-1-of-8/events/part-0007.parquet",
            "worker-1-of-8/under-way/part-0002.parquet",
            "events/part-10000.parquet",
        ] {
            assert!(is_of_run(name), "{name}");
        }
        for name in [
            "meeting/ready-1.json",
            "diary.txt",
            "worker-1/run.json",
            "backup/worker-1-of-8/run.json",
            "events/part-0.csv",
        ] {
            assert!(!is_of_run(name), "{name}");
        }
        assert_eq!(
            (own("worker-3-of-8.2/alive.json"), own("workload.toml"), own("events/part-0000.parquet")),
            ("worker-3-of-8.2", "", "")
        );
    }
}
