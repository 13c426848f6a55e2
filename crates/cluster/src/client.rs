//! A client of the Kubernetes API: it creates a run from its manifests, follows the workers, fetches the recording and deletes the run.
//!
//! The client does not depend on the workload. Every call blocks until the API has responded. The asynchronous runtime
//! inside runs on the calling thread and does nothing between calls.
//!
//! # Limitations
//! The cluster is the one that `kubectl` would use: the current context of its configuration, or the service account of the pod in which
//! this program runs. Supported logins are certificates, tokens and credential plugins (`exec`, which managed clusters use). The old
//! login methods that are named after a provider are not supported.

mod cluster_run;
mod error;
mod fetch;
mod status;

use kube::config::KubeConfigOptions;
use kube::{Api, Client, Config};
use tokio::runtime::{Builder, Runtime};

pub use cluster_run::ClusterRun;
pub use error::Error;
pub use status::{JobResult, PodState, RunStatus, WorkerStatus};

/// A connection to a cluster, and the namespace of the run.
pub struct Cluster {
    runtime: Runtime,
    client: Client,
    namespace: String,
}

impl Cluster {
    /// The cluster that `kubectl` would use. `context` and `namespace` override those of its configuration. No request is sent yet.
    ///
    /// # Errors
    /// There is no configuration, or it has no such context.
    pub fn connect(context: Option<&str>, namespace: Option<&str>) -> Result<Self, Error> {
        // rustls needs a default provider once it is compiled with two. The first caller in the process decides.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = Builder::new_current_thread().enable_all().build().map_err(Error::Runtime)?;
        let config = runtime.block_on(async {
            match context {
                None => Config::infer().await.map_err(|error| Error::no_configuration(&error)),
                Some(context) => {
                    let options = KubeConfigOptions { context: Some(context.to_owned()), ..Default::default() };
                    Config::from_kubeconfig(&options).await.map_err(|error| Error::no_configuration(&error))
                }
            }
        })?;
        let namespace = namespace.map_or_else(|| config.default_namespace.clone(), str::to_owned);
        let guard = runtime.enter();
        let client = Client::try_from(config).map_err(|error| Error::no_configuration(&error))?;
        drop(guard);
        Ok(Self { runtime, client, namespace })
    }

    /// The namespace in which everything is created.
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

    /// Waits for the response to `request`; `action` names it in an error.
    fn block_on<T>(&self, action: &str, request: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
        self.runtime.block_on(request).map_err(|error| Error::from_api(action, error))
    }
}
