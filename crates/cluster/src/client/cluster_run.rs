//! Placing a run, and taking it away.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde_json::{Value, json};

use crate::{Cluster, Error};

/// Where nobody takes a run away, the cluster does so this long after its end.
const KEPT_SECONDS: u32 = 3600;
const NOT_FOUND: u16 = 404;
const CONFLICT: u16 = 409;

/// A run that is in the cluster.
pub struct Placed<'c> {
    pub(crate) cluster: &'c Cluster,
    pub(crate) name: String,
    /// Whether the pod that reads the run may be there.
    pub(crate) reader: bool,
    there: bool,
}

impl Cluster {
    /// Places a `ConfigMap`, and the Job that has its name.
    ///
    /// The Job owns the `ConfigMap`: who deletes the one deletes both. An hour after its end the cluster does so by itself.
    ///
    /// # Errors
    /// One of them is there already, or the API refuses it; then nothing of it is left.
    pub fn place(&self, config: &Value, job: &Value) -> Result<Placed<'_>, Error> {
        let name = job["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let mut job = job.clone();
        job["spec"]["ttlSecondsAfterFinished"] = KEPT_SECONDS.into();
        self.create::<ConfigMap>("ConfigMap", config)?;
        // From here on it is taken away again, whatever goes wrong.
        let mut placed = Placed { cluster: self, name, reader: false, there: true };
        let created = self.create::<Job>("Job", &job).inspect_err(|_| {
            // A Job that was there before is not ours.
            placed.there = false;
            let _ = self.delete::<ConfigMap>(&placed.name, &DeleteParams::default());
        })?;
        let owner = json!({ "metadata": { "ownerReferences": [{
            "apiVersion": "batch/v1", "kind": "Job", "name": placed.name, "uid": created.metadata.uid,
        }] } });
        let what = format!("change the ConfigMap {}", placed.name);
        self.ask(&what, self.api::<ConfigMap>().patch(&placed.name, &PatchParams::default(), &Patch::Merge(owner)))?;
        Ok(placed)
    }

    /// Creates what a document says, to the letter.
    pub(crate) fn create<K: Resource<DynamicType = (), Scope = NamespaceResourceScope>>(
        &self,
        kind: &'static str,
        document: &Value,
    ) -> Result<DynamicObject, Error> {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        let what = format!("create the {kind} {name}");
        let object: DynamicObject = serde_json::from_value(document.clone())
            .map_err(|why| Error::Silent { what: what.clone(), why: why.to_string() })?;
        let api = Api::namespaced_with(self.client.clone(), &self.namespace, &ApiResource::erase::<K>(&()));
        match self.ask(&what, api.create(&PostParams::default(), &object)) {
            Err(Error::Refused { code: CONFLICT, .. }) => Err(Error::There { kind, name: name.to_owned() }),
            other => other,
        }
    }

    /// Deletes what may be there.
    pub(crate) fn delete<K>(&self, name: &str, how: &DeleteParams) -> Result<(), Error>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned,
    {
        let what = format!("delete the {} {name}", K::kind(&()));
        match self.ask(&what, self.api::<K>().delete(name, how)) {
            Err(Error::Refused { code: NOT_FOUND, .. }) | Ok(_) => Ok(()),
            Err(why) => Err(why),
        }
    }
}

impl Placed<'_> {
    /// What the Job is called, and the `ConfigMap`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Ends the workers that still run, as they end on SIGTERM: they write what they have. Whether all are gone says [`Placed::is_gone`].
    ///
    /// # Errors
    /// The API refuses, or does not answer.
    pub fn end(&self) -> Result<(), Error> {
        // The Job goes when its pods have gone.
        self.cluster.delete::<Job>(&self.name, &DeleteParams::foreground())
    }

    /// Whether no worker is left of a run that was told to end.
    ///
    /// # Errors
    /// The API refuses, or does not answer.
    pub fn is_gone(&self) -> Result<bool, Error> {
        let what = format!("list the pods of {}", self.name);
        let pods = self.cluster.ask(&what, self.cluster.api::<Pod>().list(&self.pods()))?;
        Ok(pods.items.is_empty())
    }

    /// Takes everything of the run away but what it has kept. A worker that still runs is ended; nobody waits for it.
    ///
    /// # Errors
    /// The API refuses, or does not answer: what is left is named.
    pub fn take_away(mut self) -> Result<(), Error> {
        self.taken_away()
    }

    fn taken_away(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.there) {
            return Ok(());
        }
        let at_once = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        let reader = if self.reader { self.cluster.delete::<Pod>(&self.reader_name(), &at_once) } else { Ok(()) };
        let job = self.cluster.delete::<Job>(&self.name, &DeleteParams::background());
        let config = self.cluster.delete::<ConfigMap>(&self.name, &DeleteParams::default());
        reader.and(job).and(config)
    }

    /// The pods of the Job.
    pub(crate) fn pods(&self) -> ListParams {
        ListParams::default().labels(&format!("batch.kubernetes.io/job-name={}", self.name))
    }

    pub(crate) fn reader_name(&self) -> String {
        format!("{}-reader", self.name)
    }
}

/// Who goes on after an error, or a panic, leaves nothing behind either.
impl Drop for Placed<'_> {
    fn drop(&mut self) {
        let _ = self.taken_away();
    }
}
