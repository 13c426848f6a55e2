//! A run of many workers on Kubernetes.
//!
//! [`manifests`] describes the run as a `ConfigMap` and an Indexed Job, for `kubectl apply` or for the client.
//! `client` (feature `client`) talks to the API of a cluster: it creates the run, follows its workers, fetches the recording, and
//! deletes everything that it created.

#[cfg(feature = "client")]
pub mod client;
pub mod manifests;
