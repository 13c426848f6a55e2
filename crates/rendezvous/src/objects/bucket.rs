//! A folder of an object store, with blocking calls.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::Rendezvous;
use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{HttpError, HttpErrorKind};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{
    BackoffConfig, ListResult, ObjectStore, ObjectStoreExt as _, ObjectStoreScheme, PutMode, PutOptions, PutPayload,
    RetryConfig,
};
use offered_base::Nanos;
use percent_encoding::percent_decode_str;
use tokio::runtime::{Builder, Runtime};
use url::Url;

use crate::objects::connector::Connector;
use crate::objects::error::Error;

/// How long a failing request is retried.
const RETRY_TIME: Duration = Duration::from_secs(60);
/// The same for callers that retry themselves.
const SHORT_RETRY_TIME: Duration = Duration::from_secs(2);
/// Maximum pause between two attempts.
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// Maximum number of attempts of a conditional put with an unknown result.
const MAX_ATTEMPTS: u32 = 5;
/// Number of concurrent requests.
pub(crate) const CONCURRENCY: usize = 16;
/// A request body is sent in pieces of this size, so that each stretch of work is short.
const PIECE: usize = 16 << 10;
/// Interval between two polls of a rendezvous. Longer than for a directory, because each poll is a paid request.
const POLL_INTERVAL: Nanos = Nanos::from_millis(500);
const POLL_INTERVAL_PER_WORKER: Nanos = Nanos::from_millis(1);

/// A folder of a bucket (`s3://bucket/run7`). Object names are relative to it.
pub struct Bucket {
    url: String,
    root: Key,
    store: Box<dyn ObjectStore>,
    runtime: Runtime,
}

impl Bucket {
    /// Opens the folder at `url`, with the credentials from the environment or the role of this machine. Sends no
    /// request.
    ///
    /// A request that fails is retried for a minute, unless a retry cannot help (the store refuses it, or its certificate is not valid).
    /// `on_failure` gets the reason when the store has failed for a second, once until it responds again.
    ///
    /// # Errors
    /// `url` or a setting in the environment is invalid.
    pub fn open(url: &str, on_failure: fn(&str)) -> Result<Self, Error> {
        Self::with(url, RETRY_TIME, on_failure)
    }

    /// The same folder, with a short retry time, for callers that retry and report themselves.
    pub(crate) fn with_short_retries(&self) -> Result<Self, Error> {
        Self::with(&self.url, SHORT_RETRY_TIME, |_| ())
    }

    fn with(url: &str, retry_time: Duration, on_failure: fn(&str)) -> Result<Self, Error> {
        let wrong = |why: &str| Error::Url { url: url.to_owned(), reason: why.to_owned() };
        let parsed = Url::parse(url).map_err(|why| wrong(&format!("is not a URL: {why}")))?;
        let (scheme, root) =
            ObjectStoreScheme::parse(&parsed).map_err(|_| wrong("is not a URL of an object store with a bucket"))?;
        if root.as_ref().is_empty() {
            return Err(wrong("names no folder in the bucket"));
        }
        let backoff = BackoffConfig { init_backoff: Duration::from_millis(100), max_backoff: MAX_PAUSE, base: 2.0 };
        let retry = RetryConfig { backoff, max_retries: usize::MAX, retry_timeout: retry_time };
        let (at, connector) = (|| Error::store("open", url), Connector::new(on_failure));
        // rustls needs a default TLS provider; only one is compiled in. Fails harmlessly if one is set already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let store: Box<dyn ObjectStore> = match scheme {
            ObjectStoreScheme::AmazonS3 => {
                let builder = AmazonS3Builder::from_env().with_url(url).with_retry(retry);
                let builder = builder.with_http_connector(connector);
                let keys = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
                let endpoint = keys.iter().find_map(|key| builder.get_config_value(key));
                let builder = if is_plain_http(endpoint) { builder.with_allow_http(true) } else { builder };
                Box::new(builder.build().map_err(at())?)
            }
            ObjectStoreScheme::GoogleCloudStorage => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(url).with_retry(retry);
                let builder = builder.with_http_connector(connector);
                Box::new(builder.build().map_err(at())?)
            }
            ObjectStoreScheme::MicrosoftAzure => {
                let builder = MicrosoftAzureBuilder::from_env().with_url(url).with_retry(retry);
                let builder = builder.with_http_connector(connector);
                let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
                let builder = if is_plain_http(endpoint) { builder.with_allow_http(true) } else { builder };
                Box::new(builder.build().map_err(at())?)
            }
            _ => return Err(wrong("is not a URL of an object store")),
        };
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::io("begin", Path::new(url)))?;
        Ok(Self { url: url.trim_end_matches('/').to_owned(), root, store, runtime })
    }

    /// A folder in memory.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Self {
        let runtime = Builder::new_current_thread().build().unwrap();
        let store = Box::new(object_store::memory::InMemory::new());
        Self { url: "memory:///run7".to_owned(), root: Key::from("run7"), store, runtime }
    }

    /// The URL, without a trailing slash.
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

    /// Writes `content` under `name` unless the object exists; returns whether it was written. An object that holds exactly `content` counts
    /// as written: the response to an earlier attempt may have been lost.
    ///
    /// # Errors
    /// The store refused, or did not respond.
    pub fn put_if_absent(&self, name: &str, content: &[u8]) -> Result<bool, Error> {
        let key = self.key(name);
        let put = async {
            let mut attempts = 1;
            loop {
                let options = PutOptions::from(PutMode::Create);
                match self.store.put_opts(&key, content.to_vec().into(), options).await {
                    Ok(_) => return Ok(true),
                    Err(object_store::Error::AlreadyExists { .. }) => {
                        return Ok(self.get(&key).await?.is_some_and(|there| *there == *content));
                    }
                    Err(why) if attempts < MAX_ATTEMPTS && is_unknown(&why) => tokio::time::sleep(MAX_PAUSE).await,
                    Err(why) => return Err(why),
                }
                attempts += 1;
            }
        };
        self.runtime.block_on(put).map_err(Error::store("write", self.of(name)))
    }

    /// Checks that the store honours conditional puts, with an existing object `name` of content `content`.
    ///
    /// # Errors
    /// It overwrites the object.
    fn check_conditional_put(&self, name: &str, content: &[u8]) -> Result<(), Error> {
        let key = self.key(name);
        let put = self.store.put_opts(&key, content.to_vec().into(), PutOptions::from(PutMode::Create));
        match self.runtime.block_on(put) {
            Ok(_) => Err(Error::NoConditionalPut { url: self.url.clone() }),
            // Whatever the error, the store has not overwritten the object.
            Err(_) => Ok(()),
        }
    }

    /// Writes `content` under `name`; overwrites.
    ///
    /// # Errors
    /// The store refused, or did not respond.
    pub(crate) fn put(&self, name: &str, content: Bytes) -> Result<(), Error> {
        self.runtime.block_on(self.put_object(name, content))
    }

    /// The same, without blocking.
    pub(crate) async fn put_object(&self, name: &str, content: Bytes) -> Result<(), Error> {
        let pieces = (0..content.len()).step_by(PIECE).map(|at| content.slice(at..content.len().min(at + PIECE)));
        let payload: PutPayload = pieces.collect();
        let put = self.store.put(&self.key(name), payload).await;
        put.map(drop).map_err(Error::store("write", self.of(name)))
    }

    /// Runs a future to completion.
    pub(crate) fn wait<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    async fn get(&self, key: &Key) -> object_store::Result<Option<Bytes>> {
        match self.store.get(key).await {
            Ok(found) => found.bytes().await.map(Some),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(why) => Err(why),
        }
    }

    /// Reads the object `name`; `None` if it does not exist.
    ///
    /// # Errors
    /// The store refused, or did not respond.
    pub(crate) async fn read_object(&self, name: &str) -> Result<Option<Bytes>, Error> {
        self.get(&self.key(name)).await.map_err(Error::store("read", self.of(name)))
    }

    /// Lists all objects, or those in the folder `under`, with names and sizes in bytes.
    ///
    /// # Errors
    /// The store refused, or did not respond.
    pub(crate) fn list(&self, under: Option<&str>) -> Result<Vec<(String, u64)>, Error> {
        let under = under.map_or_else(|| self.root.clone(), |under| self.key(under));
        let name = |key: &Key| {
            Some(key.prefix_match(&self.root)?.map(|part| name(part.as_ref())).collect::<Vec<_>>().join("/"))
        };
        let listed = self.store.list(Some(&under));
        let named = listed.try_filter_map(async |object| Ok(name(&object.location).map(|name| (name, object.size))));
        self.runtime.block_on(named.try_collect()).map_err(Error::store("list", &self.url))
    }

    /// Lists the names of the folders at the top, or in the folder `under`.
    ///
    /// # Errors
    /// The store refused, or did not respond.
    pub(crate) fn folders(&self, under: Option<&str>) -> Result<Vec<String>, Error> {
        Ok(self.folder(under)?.common_prefixes.iter().filter_map(|key| key.filename().map(name)).collect())
    }

    /// Lists the objects and the folders at the top, or directly in the folder `under`.
    fn folder(&self, under: Option<&str>) -> Result<ListResult, Error> {
        let under = under.map_or_else(|| self.root.clone(), |under| self.key(under));
        self.runtime.block_on(self.store.list_with_delimiter(Some(&under))).map_err(Error::store("list", &self.url))
    }

    /// Copies an object to a file, which gets its name when it is complete. Returns whether the object exists.
    ///
    /// # Errors
    /// The store refused or did not respond; the file cannot be written.
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

    /// Removes all objects in the folder `under`.
    ///
    /// # Errors
    /// The store refused, or did not respond.
    pub(crate) fn remove(&self, under: &str) -> Result<(), Error> {
        self.list(Some(under))?.iter().try_for_each(|(name, _)| self.delete(name))
    }

    /// Removes the object `name` if it exists.
    ///
    /// # Errors
    /// The store refused, or did not respond.
    pub(crate) fn delete(&self, name: &str) -> Result<(), Error> {
        match self.runtime.block_on(self.store.delete(&self.key(name))) {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            deleted => deleted.map_err(Error::store("remove", self.of(name))),
        }
    }
}

impl Rendezvous for Bucket {
    fn name(&self) -> String {
        self.url.clone()
    }

    fn put_if_absent(&self, name: &str, content: &[u8]) -> Result<bool, crate::Error> {
        let place = |why: Error| crate::Error::Backend(why.to_string());
        let is_new = Self::put_if_absent(self, name, content).map_err(place)?;
        if is_new {
            self.check_conditional_put(name, content).map_err(place)?;
        }
        Ok(is_new)
    }

    /// For several names, lists the objects of their folder first, so that polling for a hundred workers does not take a
    /// hundred requests.
    fn read(&self, names: &[String]) -> Result<Vec<Option<Vec<u8>>>, crate::Error> {
        let place = |why: Error| crate::Error::Backend(why.to_string());
        let there = match names {
            [first, _, ..] => {
                let under = first.rsplit_once('/').map(|(under, _)| under);
                let objects = self.folder(under).map_err(place)?.objects;
                Some(objects.into_iter().map(|object| object.location).collect::<HashSet<Key>>())
            }
            _ => None,
        };
        let read = async |name: &String| {
            let key = self.key(name);
            match &there {
                Some(there) if !there.contains(&key) => Ok(None),
                _ => self.get(&key).await.map_err(Error::store("read", self.of(name))),
            }
        };
        let read =
            stream::iter(names).map(read).buffered(CONCURRENCY).map_ok(|found| found.map(|found| found.to_vec()));
        self.runtime.block_on(read.try_collect()).map_err(place)
    }

    fn poll_interval(&self, workers: u64) -> Nanos {
        POLL_INTERVAL + POLL_INTERVAL_PER_WORKER * workers
    }
}

/// Decodes a part of a key, in which some characters are percent-encoded (`~`, `%`, ...).
fn name(part: &str) -> String {
    percent_decode_str(part).decode_utf8_lossy().into_owned()
}

/// Whether the configured endpoint is plain HTTP, so that connections without TLS are intended.
fn is_plain_http(endpoint: Option<String>) -> bool {
    endpoint.is_some_and(|endpoint| endpoint.starts_with("http://"))
}

/// Whether it is unknown if a failed request took effect.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entries_of_a_folder_are_read_without_the_objects_of_its_folders() {
        let bucket = Bucket::in_memory();
        for name in ["cells/a=1/run.json", "cells/a=50%,b=~@empty", "cells/a=2@empty/run.json"] {
            bucket.put(name, "there".into()).unwrap();
        }
        let names = ["cells/a=1", "cells/a=50%,b=~@empty", "cells/a=2@empty", "cells/a=3@empty"].map(str::to_owned);
        let found = Rendezvous::read(&bucket, &names).unwrap();
        assert_eq!(found, [None, Some(b"there".to_vec()), None, None]);
    }
}
