//! A folder of an object store, behind calls that wait for their answer.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ObjectStore, ObjectStoreExt as _, ObjectStoreScheme, PutMode, PutOptions, PutPayload, RetryConfig,
};
use crate::Place;
use offered_model::Nanos;
use percent_encoding::percent_decode_str;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::objects::error::Error;

/// A store that does not answer is asked again for so long.
const PATIENCE: Duration = Duration::from_secs(60);
/// By who comes back to it anyway: for so long.
const SHORT: Duration = Duration::from_secs(2);
/// Between two tries at most.
const PAUSE: Duration = Duration::from_secs(1);
/// A put that must not overwrite is made so often where nobody knows what became of it.
const TRIES: u32 = 5;
/// So many requests are under way at once where many are to be made.
pub(crate) const AT_ONCE: usize = 16;
/// A body is handed to the connection in pieces of this size, so that no stretch of work on it is long.
const PIECE: usize = 16 << 10;
/// From one look at a meeting to the next: a request each, which costs something.
const LOOK: Nanos = Nanos::from_millis(500);
const LOOK_EACH: Nanos = Nanos::from_millis(1);

/// A folder of a bucket (`s3://bucket/run7`). Names are those of the objects beneath it.
pub struct Bucket {
    url: String,
    root: Key,
    store: Box<dyn ObjectStore>,
    runtime: Runtime,
}

impl Bucket {
    /// The one that `url` names, with the credentials that are in the environment or the role of this machine. Nothing is asked of the
    /// store yet.
    ///
    /// # Errors
    /// It names none, or settings in the environment are wrong.
    pub fn open(url: &str) -> Result<Self, Error> {
        Self::with(url, PATIENCE)
    }

    /// The same for who comes back to it anyway: what fails is not tried again for long.
    pub(crate) fn impatient(&self) -> Result<Self, Error> {
        Self::with(&self.url, SHORT)
    }

    fn with(url: &str, patience: Duration) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Url { url: url.to_owned(), why: why.to_owned() };
        let parsed = Url::parse(url).map_err(|why| wrong(&format!("is no URL: {why}")))?;
        let (scheme, root) =
            ObjectStoreScheme::parse(&parsed).map_err(|_| wrong("is no URL of an object store with a bucket"))?;
        if root.as_ref().is_empty() {
            return Err(wrong("names no folder in the bucket"));
        }
        let backoff = BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: PAUSE, base: 2.0 };
        let retry = RetryConfig { backoff, max_retries: usize::MAX, retry_timeout: patience };
        let at = || Error::store("open", url);
        // Of the two implementations of TLS that are known to rustls one is compiled in; another may have been chosen already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store: Box<dyn ObjectStore> = match scheme {
            ObjectStoreScheme::AmazonS3 => {
                let builder = AmazonS3Builder::from_env().with_url(url).with_retry(retry);
                let keys = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
                let endpoint = keys.iter().find_map(|key| builder.get_config_value(key));
                let builder = if is_plain(endpoint) { builder.with_allow_http(true) } else { builder };
                Box::new(builder.build().map_err(at())?)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retry);
                Box::new(builder.build().map_err(at())?)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retry);
                let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
                let builder = if is_plain(endpoint) { builder.with_allow_http(true) } else { builder };
                Box::new(builder.build().map_err(at())?)
            }
            _ => return Err(wrong("is no URL of an object store")),
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::io("begin", Path::new(url)))?;
        Ok(Self { url: url.trim_end_matches('/').to_owned(), root, store, runtime })
    }

    /// Its URL, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The URL of the object `name`.
    pub(crate) fn of(&self, name: &str) -> String {
        format!("{}/{name}", self.url)
    }

    fn key(&self, name: &str) -> Key {
        name.split('/').fold(self.root.clone(), Key::join)
    }

    /// Writes `content` under `name` unless something is there; whether it was written. Who writes what is there already, to the byte,
    /// has written it: the answer to an earlier try may have been lost.
    ///
    /// # Errors
    /// The store refused, or did not answer.
    pub fn put_new(&self, name: &str, content: &[u8]) -> Result<bool, Error> {
        let key = self.key(name);
        let put = async {
            let mut tries = 1;
            loop {
                let options = PutOptions::from(PutMode::Create);
                match self.store.put_opts(&key, content.to_vec().into(), options).await {
                    Ok(_) => return Ok(true),
                    Err(object_store::Error::AlreadyExists { .. }) => {
                        return Ok(self.get(&key).await?.is_some_and(|there| *there == *content));
                    }
                    Err(why) if tries < TRIES && is_unknown(&why) => tokio::time::sleep(PAUSE).await,
                    Err(why) => return Err(why),
                }
                tries += 1;
            }
        };
        self.runtime.block_on(put).map_err(Error::store("write", self.of(name)))
    }

    /// Finds out whether the store heeds that what is there must not be overwritten, with what `name` holds already.
    ///
    /// # Errors
    /// It does not.
    fn heeds(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let key = self.key(name);
        let put = self.store.put_opts(&key, content.to_vec().into(), PutOptions::from(PutMode::Create));
        match self.runtime.block_on(put) {
            Ok(_) => Err(Error::Overwrites { url: self.url.clone() }),
            // Whatever else it says, it has not written.
            Err(_) => Ok(()),
        }
    }

    /// Writes `content` under `name`, in the place of what is there.
    ///
    /// # Errors
    /// The store refused, or did not answer.
    pub(crate) fn put(&self, name: &str, content: Bytes) -> Result<(), Error> {
        let pieces = (0..content.len()).step_by(PIECE).map(|at| content.slice(at..content.len().min(at + PIECE)));
        let payload: PutPayload = pieces.collect();
        let key = self.key(name);
        self.runtime.block_on(self.store.put(&key, payload)).map(drop).map_err(Error::store("write", self.of(name)))
    }

    /// Waits for what is asked of it.
    pub(crate) fn wait<T>(&self, asked: impl Future<Output = T>) -> T {
        self.runtime.block_on(asked)
    }

    async fn get(&self, key: &Key) -> object_store::Result<Option<Bytes>> {
        match self.store.get(key).await {
            Ok(found) => found.bytes().await.map(Some),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// What is under `name`; `None` where nothing is.
    ///
    /// # Errors
    /// The store refused, or did not answer.
    pub(crate) async fn small(&self, name: &str) -> Result<Option<Bytes>, Error> {
        self.get(&self.key(name)).await.map_err(Error::store("read", self.of(name)))
    }

    /// All objects, or those in the folder `under`: their names, and how many bytes each has.
    ///
    /// # Errors
    /// The store refused, or did not answer.
    pub(crate) fn list(&self, under: Option<&str>) -> Result<Vec<(String, u64)>, Error> {
        let under = under.map_or_else(|| self.root.clone(), |under| self.key(under));
        let name = |key: &Key| {
            Some(key.prefix_match(&self.root)?.map(|part| name(part.as_ref())).collect::<Vec<_>>().join("/"))
        };
        let listed = self.store.list(Some(&under));
        let named = listed.try_filter_map(async |object| Ok(name(&object.location).map(|name| (name, object.size))));
        self.runtime.block_on(named.try_collect()).map_err(Error::store("list", &self.url))
    }

    /// The names of the folders in it, or in the folder `under`.
    ///
    /// # Errors
    /// The store refused, or did not answer.
    pub(crate) fn folders(&self, under: Option<&str>) -> Result<Vec<String>, Error> {
        let under = under.map_or_else(|| self.root.clone(), |under| self.key(under));
        let listed = self.runtime.block_on(self.store.list_with_delimiter(Some(&under)));
        let listed = listed.map_err(Error::store("list", &self.url))?;
        Ok(listed.common_prefixes.iter().filter_map(|key| key.filename().map(name)).collect())
    }

    /// Copies an object to a file, which has its name when it is whole; whether there is such an object.
    ///
    /// # Errors
    /// The store refused, or did not answer; the file cannot be written.
    pub(crate) async fn fetch(&self, name: &str, to: &Path) -> Result<bool, Error> {
        let store = |why| Error::store("read", self.of(name))(why);
        let found = match self.store.get(&self.key(name)).await {
            Err(object_store::Error::NotFound { .. }) => return Ok(false),
            found => found.map_err(store)?,
        };
        let folder = to.parent().unwrap_or(to);
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        let half = to.with_extension("tmp");
        let mut file = File::create(&half).map_err(Error::io("create", &half))?;
        let mut content = found.into_stream();
        while let Some(piece) = content.next().await {
            file.write_all(&piece.map_err(store)?).map_err(Error::io("write", &half))?;
        }
        fs::rename(&half, to).map_err(Error::io("rename to", to))?;
        Ok(true)
    }

    /// Removes every object in the folder `under`.
    ///
    /// # Errors
    /// The store refused, or did not answer.
    pub(crate) fn remove(&self, under: &str) -> Result<(), Error> {
        self.list(Some(under))?.iter().try_for_each(|(name, _)| self.delete(name))
    }

    /// Removes the object `name`, if it is there.
    ///
    /// # Errors
    /// The store refused, or did not answer.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Error> {
        match self.runtime.block_on(self.store.delete(&self.key(name))) {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            deleted => deleted.map_err(Error::store("remove", self.of(name))),
        }
    }
}

impl Place for Bucket {
    fn name(&self) -> String {
        self.url.clone()
    }

    fn put_new(&self, name: &str, content: &[u8]) -> Result<bool, crate::Error> {
        let place = |why: Error| crate::Error::Place(why.to_string());
        let is_new = Self::put_new(self, name, content).map_err(place)?;
        if is_new {
            self.heeds(name, content).map_err(place)?;
        }
        Ok(is_new)
    }

    /// Of many it is asked first which are there: who waits for a hundred workers shall not ask a hundred questions at every look.
    fn read(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, crate::Error> {
        let place = |why: Error| crate::Error::Place(why.to_string());
        let there = match names {
            [first, _, ..] => {
                let under = first.rsplit_once('/').map(|(under, _)| under);
                Some(self.list(under).map_err(place)?)
            }
            _ => None,
        };
        let read = async |name: &String| match &there {
            Some(there) if !there.iter().any(|(known, _)| known == name) => Ok(None),
            _ => self.get(&self.key(name)).await.map_err(Error::store("read", self.of(name))),
        };
        let read = stream::iter(names).map(read).buffered(AT_ONCE).map_ok(|found| found.map(|found| found.to_vec()));
        self.runtime.block_on(read.try_collect()).map_err(place)
    }

    fn look_every(&self, workers: u64) -> Nanos {
        LOOK + LOOK_EACH * workers
    }
}

/// What is called so in a key, where some characters are encoded (`~`, `%`, ...).
fn name(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// Whether somebody has written an address without TLS: then that is meant.
fn is_plain(endpoint: Option<String>) -> bool {
    endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"))
}

/// Whether nobody knows what became of a request.
fn is_unknown(error: &object_store::Error) -> bool {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(http) = cause.downcast_ref::<HttpError>() {
            return matches!(http.kind(), HttpErrorKind::Timeout | HttpErrorKind::Interrupted | HttpErrorKind::Unknown);
        }
        source = cause.source();
    }
    false
}
