//! A run of many workers in a Kubernetes cluster, through its API: what is placed there, how its workers are, what they kept, and nothing
//! of it left behind.
//!
//! What is placed are the documents that somebody else has made; this room knows the API and no workload. Every call answers when the API
//! has: there is a runtime inside, on the calling thread, and it does nothing between calls.
//!
//! # Limitations
//! The cluster is the one that `kubectl` would talk to: its configuration, or the account of the pod this runs in. Of ways to log in it
//! knows certificates, tokens and programs (`exec`, which is what managed clusters use), not the old ones named after a provider.

mod error;
mod fetch;
mod look;
mod placed;

use kube::config::KubeConfigOptions;
use kube::{Api, Client, Config};
use tokio::runtime::{Builder, Runtime};

pub use error::Error;
pub use look::{Look, Over, State, Worker};
pub use placed::Placed;

/// A cluster, and the namespace in it where everything happens.
pub struct Cluster {
    runtime: Runtime,
    client: Client,
    namespace: String,
}

impl Cluster {
    /// The one that `kubectl` would talk to; another `context` of its configuration, or another `namespace`, where one is given.
    ///
    /// # Errors
    /// There is no configuration, or not this context in it. Nobody is asked yet.
    pub fn of(context: Option<&str>, namespace: Option<&str>) -> Result<Self, Error> {
        // Another crate of the program may have brought another, and then none is the default. Who was first has said which.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Here)?;
        let config = runtime.block_on(async {
            match context {
                None => Config::infer().await.map_err(|why| Error::unknown(&why)),
                Some(context) => {
                    let options = KubeConfigOptions { context: Some(context.to_owned()), ..Default::default() };
                    Config::from_kubeconfig(&options).await.map_err(|why| Error::unknown(&why))
                }
            }
        })?;
        let namespace = namespace.map_or_else(|| config.default_namespace.clone(), str::to_owned);
        let guard = runtime.enter();
        let client = Client::try_from(config).map_err(|why| Error::unknown(&why))?;
        drop(guard);
        Ok(Self { runtime, client, namespace })
    }

    /// Where everything happens.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// The answer, and what is said where there is none.
    fn ask<T>(&self, what: &str, asked: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
        self.runtime.block_on(asked).map_err(|why| Error::of(what, why))
    }
}
