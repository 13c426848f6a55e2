//! The location of a run: a directory, or a directory of an object store (feature `objects`).

#[cfg(feature = "objects")]
mod objects;
#[cfg(not(feature = "objects"))]
#[path = "location/no_objects.rs"]
mod objects;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use offered_base::Share;
use offered_rendezvous::{Directory, Rendezvous};
use offered_store::worker_directory;

use crate::Error;
use objects::Store;
pub(crate) use objects::Upload;

/// Called with the reason when an object store has failed for a second, once until it responds again. Requests are retried for a minute.
pub type OnFailure = fn(&str);

/// URL schemes of object stores.
const SCHEMES: [&str; 8] = ["s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"];

/// The object that marks the run of a worker in an object store.
const CLAIM: &str = "claim";

/// A parsed location.
enum Location<'a> {
    /// A local path.
    Path(PathBuf),
    /// A URL of an object store.
    Store(&'a str),
}

impl<'a> Location<'a> {
    fn of(at: &'a Path) -> Result<Self, Error> {
        let Some((scheme, rest)) = at.to_str().and_then(|text| text.split_once(':')) else {
            return Ok(Self::Path(at.to_owned()));
        };
        match scheme.to_ascii_lowercase() {
            scheme if rest.starts_with("//") && SCHEMES.contains(&&*scheme) => {
                Ok(Self::Store(at.to_str().unwrap_or_default()))
            }
            // `file:x` without an absolute path is a local path: a directory may have that name.
            scheme if scheme == "file" && rest.starts_with('/') => {
                let path = match rest.strip_prefix("//") {
                    None => Some(rest),
                    Some(rest) => rest.strip_prefix("localhost").filter(|rest| rest.starts_with('/')).or(Some(rest)),
                };
                let path = path.filter(|path| path.starts_with('/'));
                let path = path.and_then(|path| percent_encoding::percent_decode_str(path).decode_utf8().ok());
                path.map(|path| Self::Path(path.into_owned().into()))
                    .ok_or_else(|| Error::FileUrl { url: at.to_owned() })
            }
            _ => Ok(Self::Path(at.to_owned())),
        }
    }
}

/// Whether `at` is a URL of an object store rather than a path.
pub fn is_object_store_url(at: &Path) -> bool {
    matches!(Location::of(at), Ok(Location::Store(_)))
}

/// A run or a result file on this machine. A run in an object store is copied; dropping the value deletes the copy.
pub struct LocalRun {
    name: String,
    path: PathBuf,
    store: Option<Store>,
}

/// A copy from an object store.
#[derive(Clone, Copy, Debug)]
pub struct CopyProgress<'a> {
    /// The URL of the run.
    pub name: &'a str,
    /// The local directory, which is deleted afterwards.
    pub folder: &'a Path,
    /// The number of objects.
    pub objects: u64,
    /// The size in bytes.
    pub bytes: u64,
}

impl LocalRun {
    /// Opens a path or URL. A run in an object store is copied completely; `on_copy` is called before the copy starts.
    ///
    /// # Errors
    /// The store refuses or does not respond, or has no run there; the local disk is full. Paths are not checked.
    pub fn open(at: &Path, on_copy: &mut dyn FnMut(CopyProgress), on_failure: OnFailure) -> Result<Self, Error> {
        match Location::of(at)? {
            Location::Path(path) => Ok(Self::from(&*path)),
            Location::Store(url) => Ok(Self::in_store(url, Store::whole(url, on_copy, on_failure)?)),
        }
    }

    /// Opens a path or URL of a run that is still being recorded. If it is in an object store, only the workload is copied at first.
    ///
    /// # Errors
    /// The errors of [`LocalRun::open`].
    pub fn growing(at: &Path, on_failure: OnFailure) -> Result<Self, Error> {
        match Location::of(at)? {
            Location::Path(path) => Ok(Self::from(&*path)),
            Location::Store(url) => Ok(Self::in_store(url, Store::begun(url, on_failure)?)),
        }
    }

    fn in_store(url: &str, store: Store) -> Self {
        Self { name: url.to_owned(), path: store.path().to_owned(), store: Some(store) }
    }

    /// Updates the copy, if it is one.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        self.store.as_mut().map_or(Ok(()), Store::refresh)
    }

    /// The path or URL.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The local path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that is deleted when this value is dropped; `None` if it is no copy.
    pub fn copy(&self) -> Option<&Path> {
        self.store.as_ref().map(Store::copy)
    }
}

impl From<&Path> for LocalRun {
    /// A run at a path, which is not a URL.
    fn from(path: &Path) -> Self {
        Self { name: path.display().to_string(), path: path.to_owned(), store: None }
    }
}

/// Whether there is a run at this path or URL, finished or not.
///
/// # Errors
/// The store refuses, or does not respond.
pub fn run_exists(at: &Path, on_failure: OnFailure) -> Result<bool, Error> {
    let begun = SharedDirectory::at(at, on_failure)?.place().read(&["workload.toml".to_owned()])?;
    Ok(begun.iter().any(Option::is_some))
}

/// Copies the run at `url` in an object store to the new directory `to`, which appears when the copy is complete.
/// `on_copy` is called as by [`LocalRun::open`].
///
/// # Errors
/// The store refuses or does not respond, or has no run there; the local disk is full.
pub fn fetch_run(
    url: &Path,
    to: &Path,
    on_copy: &mut dyn FnMut(CopyProgress),
    on_failure: OnFailure,
) -> Result<(), Error> {
    match Location::of(url)? {
        Location::Store(url) => Store::fetch(url, to, on_copy, on_failure),
        Location::Path(path) => Err(Error::FileUrl { url: path }),
    }
}

/// The result of [`push_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushResult {
    /// Number of files that the store already had, with the same content.
    pub present: u64,
    /// Number of uploaded files.
    pub uploaded: u64,
    /// The size in bytes.
    pub bytes: u64,
}

/// Uploads the run in the directory `from` to `url`. Files that are already there are not uploaded again. `on_start` is
/// called before the upload with the number of missing files and their size in bytes.
///
/// # Errors
/// `from` is not a run, `url` is not in an object store or holds another run; the store refuses or does not respond.
pub fn push_run(
    from: &Path,
    url: &Path,
    on_start: &mut dyn FnMut(u64, u64),
    on_failure: OnFailure,
) -> Result<PushResult, Error> {
    match Location::of(url)? {
        Location::Store(url) => Store::push(from, url, on_start, on_failure),
        Location::Path(path) => Err(Error::NotInStore { path }),
    }
}

/// A directory shared by the workers of a run or a sweep: a directory of a shared file system, or of an object store. The workers
/// synchronise and store their recordings there.
pub struct SharedDirectory(Kind);

enum Kind {
    Folder { folder: Directory, path: PathBuf },
    Store(Store),
}

impl SharedDirectory {
    /// The shared directory at a path or URL. For an object store a worker records into a temporary local directory, which is uploaded.
    ///
    /// # Errors
    /// The URL is invalid, or there is no temporary directory.
    pub fn at(at: &Path, on_failure: OnFailure) -> Result<Self, Error> {
        Ok(Self(match Location::of(at)? {
            Location::Path(path) => Kind::Folder { folder: Directory::new(&path), path },
            Location::Store(url) => Kind::Store(Store::empty(url, on_failure)?),
        }))
    }

    /// The rendezvous of the workers.
    pub(crate) fn place(&self) -> &dyn Rendezvous {
        match &self.0 {
            Kind::Folder { folder, .. } => folder,
            Kind::Store(store) => store.place(),
        }
    }

    /// Whether it is in an object store.
    pub(crate) fn is_in_store(&self) -> bool {
        self.store().is_some()
    }

    /// The object store; `None` for a directory.
    fn store(&self) -> Option<&Store> {
        match &self.0 {
            Kind::Folder { .. } => None,
            Kind::Store(store) => Some(store),
        }
    }

    /// The path or URL, as all workers see it.
    pub fn name(&self) -> String {
        self.place().name()
    }

    /// The temporary directory that is deleted when this value is dropped; `None` for a directory.
    pub fn copy(&self) -> Option<&Path> {
        self.store().map(Store::copy)
    }

    /// The local directory of the run or sweep: the shared directory itself, or the local part of an object store.
    pub fn path(&self) -> &Path {
        match &self.0 {
            Kind::Folder { path, .. } => path,
            Kind::Store(store) => store.path(),
        }
    }

    /// The path or URL of the local directory `own`, as all workers see it.
    pub(crate) fn display(&self, own: &Path) -> String {
        let in_store = |store: &Store| format!("{}/{}", store.place().name(), self.within(own));
        self.store().map_or_else(|| own.display().to_string(), in_store)
    }

    /// The name of the local directory `own` relative to the shared directory.
    fn within(&self, own: &Path) -> String {
        own.strip_prefix(self.path()).unwrap_or(own).to_string_lossy().into_owned()
    }

    /// Updates the local copy of the records and heartbeats of this share.
    pub(crate) fn refresh_share(&self, share: Share) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.look(&worker_directory(Path::new(""), share).to_string_lossy()))
    }

    /// Publishes the workload of the run, and claims `own` as the directory of this worker. Returns whether no other worker has claimed it. (In
    /// a directory the conflict shows when `own` is created.)
    pub(crate) fn begin(&self, own: &Path, workload: &str) -> Result<bool, Error> {
        let place = self.place();
        let is_first = place.put_if_absent("workload.toml", workload.as_bytes())?;
        match &self.0 {
            Kind::Folder { path, .. } => {
                let path = path.join("workload.toml");
                if is_first {
                    fs::set_permissions(&path, Permissions::from_mode(0o600))
                        .map_err(Error::file("restrict", &path))?;
                }
                Ok(true)
            }
            // The content must differ between workers, so that two claims are never equal.
            Kind::Store(_) => self.claim(own, &format!("# {} {}\n", std::process::id(), offered_io::unix_now().0)),
        }
    }

    /// Claims `own` as the directory of a run, with the owner `by`. Returns false if another worker has claimed it. (In a directory the conflict
    /// shows when `own` is created.)
    pub(crate) fn claim(&self, own: &Path, by: &str) -> Result<bool, Error> {
        let Some(store) = self.store() else { return Ok(true) };
        Ok(store.place().put_if_absent(&format!("{}/{CLAIM}", self.within(own)), by.as_bytes())?)
    }

    /// Updates the local copy of the records and heartbeats of all runs under `under`.
    pub(crate) fn refresh_runs_under(&self, under: &str) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.said_beneath(under, CLAIM))
    }

    /// Updates the local copy of the record and heartbeat of the run in `own`.
    pub(crate) fn refresh_run(&self, own: &Path) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.said(self.within(own), CLAIM))
    }

    /// Copies the recordings of the runs under `under` with directories that `wanted` selects; `on_copy` is called before the copy starts.
    pub(crate) fn fetch_recordings(
        &self,
        under: &str,
        wanted: &dyn Fn(&str) -> bool,
        on_copy: &mut dyn FnMut(CopyProgress),
    ) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.launched(under, wanted, on_copy))
    }

    /// Publishes the local file `name` to all workers.
    ///
    /// # Errors
    /// The file cannot be read; the store refuses, or does not respond.
    pub fn publish(&self, name: &str) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.bring(name))
    }

    /// Starts the upload of the directory `own`; `None` for a directory of a shared file system.
    pub(crate) fn upload(&self, own: &Path) -> Result<Option<Upload>, Error> {
        self.store().map(|store| store.upload(&self.within(own), own)).transpose()
    }

    /// Keeps the local part of an object store instead of deleting it.
    pub fn keep(self) {
        if let Kind::Store(store) = self.0 {
            store.keep();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called(text: &str) -> String {
        match Location::of(Path::new(text)) {
            Ok(Location::Path(path)) => path.display().to_string(),
            Ok(Location::Store(url)) => format!("store {url}"),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn paths_and_file_urls_are_local() {
        for path in ["/shared/run7", "run7", "a:b", "file:run7", "s3:run7"] {
            assert_eq!(called(path), path);
        }
        for url in
            ["file:///shared/run%207", "file:/shared/run 7", "file://localhost/shared/run 7", "FILE:///shared/run 7"]
        {
            assert_eq!(called(url), "/shared/run 7", "{url}");
        }
        assert!(called("file://elsewhere/run7").contains("file:///shared/run7"));
    }

    #[test]
    fn object_stores_are_recognised_by_the_url_scheme() {
        for url in ["s3://bucket/run7", "gs://bucket/run7", "az://container/run7", "S3://bucket/run7"] {
            assert_eq!(called(url), format!("store {url}"));
        }
        assert!(
            is_object_store_url(Path::new("s3://bucket/run7")) && !is_object_store_url(Path::new("http://host/run7"))
        );
    }

    #[test]
    #[cfg(not(feature = "objects"))]
    fn without_the_feature_object_stores_are_refused_with_a_fix() {
        let why = SharedDirectory::at(Path::new("s3://bucket/run7"), |_| ()).err().unwrap();
        assert!(why.is_of_input() && why.to_string().contains("the feature `objects`"), "{why}");
    }
}
