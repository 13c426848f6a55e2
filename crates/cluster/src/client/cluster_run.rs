//! Creating a run in the cluster, and deleting it.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde_json::{Value, json};

use super::{Cluster, Error};

/// The cluster deletes a finished run after this time, in case the client could not.
const TTL_SECONDS: u32 = 3600;
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;

/// A run that was created in the cluster. Dropping it deletes the run.
pub struct ClusterRun<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) name: String,
    /// Whether the pod that reads the run may exist.
    pub(crate) has_reader: bool,
    exists: bool,
}

impl Cluster {
    /// Creates a `ConfigMap` and the Job of the same name.
    ///
    /// The Job owns the `ConfigMap`: deleting the Job deletes both. The cluster deletes both itself an hour after the
    /// Job has ended, or after the time in the Job (`ttlSecondsAfterFinished`).
    ///
    /// # Errors
    /// One of the two exists already, or the API refuses it; then nothing remains.
    pub fn create_run(&self, config: &Value, job: &Value) -> Result<ClusterRun<'_>, Error> {
        let name = job["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut job = job.clone();
        let spec = job["spec"].as_object_mut().expect("a Job has a spec");
        spec.entry("ttlSecondsAfterFinished").or_insert_with(|| TTL_SECONDS.into());
        self.create::<ConfigMap>("ConfigMap", config)?;
        // From here on dropping the value deletes the run, whatever fails.
        let mut run = ClusterRun { cluster: self, name, has_reader: false, exists: true };
        let created = self.create::<Job>("Job", &job).inspect_err(|_| {
            // An existing Job of this name belongs to another run: only the ConfigMap is deleted.
            run.exists = false;
            let _ = self.delete::<ConfigMap>(&run.name, &DeleteParams::default());
        })?;
        let owner = json!({ "metadata": { "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "Job", "name": run.name, "uid": created.metadata.uid,
        }] } });
        let action = format!("change the ConfigMap {}", run.name);
        self.block_on(
            &action,
            self.api::<ConfigMap>().patch(&run.name, &PatchParams::default(), &Patch::Merge(owner)),
        )?;
        Ok(run)
    }

    /// Creates an object exactly as `document` describes it.
    pub(crate) fn create<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
        &self,
        kind: &'static str,
        document: &Value,
    ) -> Result<DynamicObject, Error> {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let action = format!("create the {kind} {name}");
        let object: DynamicObject = serde_json::from_value(document.clone())
            .map_err(|error| Error::NoResponse { action: action.clone(), reason: error.to_string() })?;
        let api = Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::erase::<K>(&()));
        match self.block_on(&action, api.create(&PostParams::default(), &object)) {
            Err(Error::Refused { code: CONFLICT, .. }) => Err(Error::AlreadyExists { kind, name: name.to_owned() }),
            other => other,
        }
    }

    /// Deletes an object, if it exists.
    pub(crate) fn delete<K>(&self, name: &str, params: &DeleteParams) -> Result<(), Error>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let action = format!("delete the {} {name}", K::kind(&()));
        match self.block_on(&action, self.api::<K>().delete(name, params)) {
            Err(Error::Refused { code: NOT_FOUND, .. }) | Ok(_) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

impl ClusterRun<'_> {
    /// The name of the Job and of the `ConfigMap`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends SIGTERM to the workers that still run: they write what they have recorded and exit. Returns at once; see
    /// [`ClusterRun::is_terminated`].
    ///
    /// # Errors
    /// The API refuses, or does not respond.
    pub fn terminate(&self) -> Result<(), Error> {
        // With foreground deletion the Job is deleted after its pods.
        self.cluster.delete::<Job>(&self.name, &DeleteParams::foreground())
    }

    /// Whether all workers of a terminated run have exited.
    ///
    /// # Errors
    /// The API refuses, or does not respond.
    pub fn is_terminated(&self) -> Result<bool, Error> {
        let action = format!("list the pods of {}", self.name);
        let pods = self.cluster.block_on(&action, self.cluster.api::<Pod>().list(&self.pods()))?;
        Ok(pods.items.is_empty())
    }

    /// Deletes the Job, the `ConfigMap` and the pod that reads the run, but not the recording in the claim. Workers
    /// that still run are terminated; this function does not wait for them.
    ///
    /// # Errors
    /// The API refuses, or does not respond; the error names the objects that remain.
    pub fn delete(mut self) -> Result<(), Error> {
        self.delete_once()
    }

    fn delete_once(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.exists) {
            return Ok(());
        }
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        let reader = if self.has_reader { self.cluster.delete::<Pod>(&self.reader_name(), &at_once) } else { Ok(()) };
        let job = self.cluster.delete::<Job>(&self.name, &DeleteParams::background());
        let config = self.cluster.delete::<ConfigMap>(&self.name, &DeleteParams::default());
        reader.and(job).and(config)
    }

    /// Leaves the Job, its pods and their volumes in the cluster, until a user or the cluster deletes them.
    pub fn keep(mut self) {
        self.exists = false;
    }

    /// Selects the pods of the Job.
    pub(crate) fn pods(&self) -> ListParams {
        ListParams::default().labels(&format!("batch.kubernetes.io/job-name={}", self.name))
    }

    pub(crate) fn reader_name(&self) -> String {
        format!("{}-reader", self.name)
    }
}

/// Deletes the run after an error or a panic too.
impl Drop for ClusterRun<'_> {
    fn drop(&mut self) {
        let _ = self.delete_once();
    }
}
