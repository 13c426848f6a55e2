//! Where a run is: in a folder, or in a folder of an object store (feature `objects`).

#[cfg(feature = "objects")]
mod objects;
#[cfg(not(feature = "objects"))]
#[path = "location/no_objects.rs"]
mod objects;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use offered_rendezvous::{Directory, Rendezvous};
use offered_base::Share;
use offered_store::worker_directory;

use crate::Error;
use objects::Store;
pub(crate) use objects::Upload;

/// How URLs of object stores begin.
const STORES: [&str; 8] = ["s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss"];

/// What says in an object store whose a run is.
const CLAIM: &str = "claim";

/// What somebody calls a run.
enum Called<'a> {
    /// By its path.
    Path(PathBuf),
    /// By a URL in an object store.
    Store(&'a str),
}

impl<'a> Called<'a> {
    fn of(at: &'a Path) -> Result<Self, Error> {
        let Some((scheme, rest)) = at.to_str().and_then(|text| text.split_once(':')) else {
            return Ok(Self::Path(at.to_owned()));
        };
        match scheme.to_ascii_lowercase() {
            scheme if rest.starts_with("//") && STORES.contains(&&*scheme) => {
                Ok(Self::Store(at.to_str().unwrap_or_default()))
            }
            // Of a file: URL only an absolute path is one; a folder may be called `file:x`.
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

/// Whether `at` is a URL of an object store, and no path.
pub fn is_object_store_url(at: &Path) -> bool {
    matches!(Called::of(at), Ok(Called::Store(_)))
}

/// A run, or a result file, that can be read here. What lies in an object store is copied, and the copy taken away when this is dropped.
pub struct LocalRun {
    name: String,
    path: PathBuf,
    store: Option<Store>,
}

/// What of an object store is copied.
#[derive(Clone, Copy, Debug)]
pub struct CopyProgress<'a> {
    /// The run.
    pub name: &'a str,
    /// To this folder, which is taken away again.
    pub folder: &'a Path,
    /// So many objects.
    pub objects: u64,
    /// And so many bytes.
    pub bytes: u64,
}

impl LocalRun {
    /// What is at this path or URL. Of what lies in an object store all of it is copied, of which `told` is told before it begins.
    ///
    /// # Errors
    /// The store refuses, does not answer or holds no run there; there is no room for it here. Of a path nothing is asked.
    pub fn of(at: &Path, told: &mut dyn FnMut(CopyProgress)) -> Result<Self, Error> {
        match Called::of(at)? {
            Called::Path(path) => Ok(Self::from(&*path)),
            Called::Store(url) => Ok(Self::in_store(url, Store::whole(url, told)?)),
        }
    }

    /// What is at this path or URL, to be looked at while it grows: of what lies in an object store nothing is here yet but the workload.
    ///
    /// # Errors
    /// The same.
    pub fn growing(at: &Path) -> Result<Self, Error> {
        match Called::of(at)? {
            Called::Path(path) => Ok(Self::from(&*path)),
            Called::Store(url) => Ok(Self::in_store(url, Store::begun(url)?)),
        }
    }

    fn in_store(url: &str, store: Store) -> Self {
        Self { name: url.to_owned(), path: store.path().to_owned(), store: Some(store) }
    }

    /// Copies what has come since, where it is a copy.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        self.store.as_mut().map_or(Ok(()), Store::refresh)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it is read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder that is taken away when this is dropped, where it is a copy.
    pub fn copy(&self) -> Option<&Path> {
        self.store.as_ref().map(Store::copy)
    }
}

impl From<&Path> for LocalRun {
    /// What is at this path, which is no URL.
    fn from(path: &Path) -> Self {
        Self { name: path.display().to_string(), path: path.to_owned(), store: None }
    }
}

/// Whether a run is at this path or URL, or has begun to be.
///
/// # Errors
/// The store refuses, or does not answer.
pub fn run_exists(at: &Path) -> Result<bool, Error> {
    let begun = SharedDirectory::at(at)?.place().read(&["workload.toml".to_owned()])?;
    Ok(begun.iter().any(Option::is_some))
}

/// Copies the run that is in an object store at `url` to the new directory `to`, which has its name when all of it is there; `told` as of [`LocalRun::of`].
///
/// # Errors
/// The store refuses, does not answer or holds no run there; there is no room for it here.
pub fn fetch_run(url: &Path, to: &Path, told: &mut dyn FnMut(CopyProgress)) -> Result<(), Error> {
    match Called::of(url)? {
        Called::Store(url) => Store::fetch(url, to, told),
        Called::Path(path) => Err(Error::FileUrl { url: path }),
    }
}

/// Where the workers of a run meet, or those who make a sweep together, and what they launch is kept.
pub struct SharedDirectory(Kind);

enum Kind {
    Folder { folder: Directory, path: PathBuf },
    Store(Store),
}

impl SharedDirectory {
    /// The one at this path or URL. Before an object store there is a folder of this process among the temporary files, in which a worker
    /// writes what it launches, and from which that is brought there.
    ///
    /// # Errors
    /// The URL is none, or there is no place for temporary files.
    pub fn at(at: &Path) -> Result<Self, Error> {
        Ok(Self(match Called::of(at)? {
            Called::Path(path) => Kind::Folder { folder: Directory::new(&path), path },
            Called::Store(url) => Kind::Store(Store::empty(url)?),
        }))
    }

    /// Where workers meet.
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

    /// The object store that it is in; what lies in a folder is here anyway.
    fn store(&self) -> Option<&Store> {
        match &self.0 {
            Kind::Folder { .. } => None,
            Kind::Store(store) => Some(store),
        }
    }

    /// Its path or URL, as all see it.
    pub fn name(&self) -> String {
        self.place().name()
    }

    /// The folder that is taken away when this is dropped, where it is in an object store.
    pub fn copy(&self) -> Option<&Path> {
        self.store().map(Store::copy)
    }

    /// The folder of the run, or of the sweep, on this machine: all of it, or what is here of an object store.
    pub fn path(&self) -> &Path {
        match &self.0 {
            Kind::Folder { path, .. } => path,
            Kind::Store(store) => store.path(),
        }
    }

    /// What the directory here at `own` is called where all can see it.
    pub(crate) fn display(&self, own: &Path) -> String {
        let in_store = |store: &Store| format!("{}/{}", store.place().name(), self.within(own));
        self.store().map_or_else(|| own.display().to_string(), in_store)
    }

    /// The name of the directory here at `own`, within it.
    fn within(&self, own: &Path) -> String {
        own.strip_prefix(self.path()).unwrap_or(own).to_string_lossy().into_owned()
    }

    /// Looks what those who had this share have said of themselves: it is here then.
    pub(crate) fn refresh_share(&self, share: Share) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.look(&worker_directory(Path::new(""), share).to_string_lossy()))
    }

    /// Leaves the run's workload where all can see it, and takes `own` for the directory of this worker; whether nobody else has it.
    /// (Of a folder the one who makes the directory finds out.)
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
            // Two who write the same are still two.
            Kind::Store(_) => self.claim(own, &format!("# {} {}\n", std::process::id(), offered_io::unix_now().0)),
        }
    }

    /// Takes `own` for the directory of a run, in which it says `by` whom; whether nobody else has it. (Of a folder the one who makes the
    /// directory finds out.)
    pub(crate) fn claim(&self, own: &Path, by: &str) -> Result<bool, Error> {
        let Some(store) = self.store() else { return Ok(true) };
        Ok(store.place().put_if_absent(&format!("{}/{CLAIM}", self.within(own)), by.as_bytes())?)
    }

    /// Looks what the runs beneath `under` have said of themselves: it is here then.
    pub(crate) fn refresh_runs_under(&self, under: &str) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.said_beneath(under, CLAIM))
    }

    /// Looks what the run whose directory is here at `own` has said of itself.
    pub(crate) fn refresh_run(&self, own: &Path) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.said(self.within(own), CLAIM))
    }

    /// Has all here that was launched by the runs beneath `under`, in those of the folders that `wanted` names; `told` is told of what is
    /// copied for that.
    pub(crate) fn fetch_recordings(
        &self,
        under: &str,
        wanted: &dyn Fn(&str) -> bool,
        told: &mut dyn FnMut(CopyProgress),
    ) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.launched(under, wanted, told))
    }

    /// Leaves the file `name`, which was made anew here, where all can see it.
    ///
    /// # Errors
    /// It cannot be read; the store refused, or did not answer.
    pub fn publish(&self, name: &str) -> Result<(), Error> {
        self.store().map_or(Ok(()), |store| store.bring(name))
    }

    /// Begins to bring the directory `own` to where all can see it, where it is not there anyway.
    pub(crate) fn upload(&self, own: &Path) -> Result<Option<Upload>, Error> {
        self.store().map(|store| store.upload(&self.within(own), own)).transpose()
    }

    /// Leaves what is here of an object store where it is.
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
        match Called::of(Path::new(text)) {
            Ok(Called::Path(path)) => path.display().to_string(),
            Ok(Called::Store(url)) => format!("store {url}"),
            Err(why) => why.to_string(),
        }
    }

    #[test]
    fn a_folder_is_a_path_and_a_file_url_is_one_too() {
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
    fn urls_of_object_stores_are_told_by_their_scheme() {
        for url in ["s3://bucket/run7", "gs://bucket/run7", "az://container/run7", "S3://bucket/run7"] {
            assert_eq!(called(url), format!("store {url}"));
        }
        assert!(is_object_store_url(Path::new("s3://bucket/run7")) && !is_object_store_url(Path::new("http://host/run7")));
    }

    #[test]
    #[cfg(not(feature = "objects"))]
    fn where_object_stores_are_left_out_that_is_said_with_the_remedy() {
        let why = SharedDirectory::at(Path::new("s3://bucket/run7")).err().unwrap();
        assert!(why.is_of_input() && why.to_string().contains("its feature `objects`"), "{why}");
    }
}
