//! The state of the workers of a run.

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{ListParams, LogParams};

use super::{Cluster, ClusterRun, Error};

/// The annotation with the index of a pod in its Job.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The state of a run at one moment.
#[derive(Clone, Debug)]
pub struct RunStatus {
    /// The latest pod of each worker that has one, by index.
    pub workers: Vec<WorkerStatus>,
    /// Why the cluster cannot create pods; `None` if it reports no reason.
    pub blocked: Option<String>,
    /// The result of the Job; `None` while it runs.
    pub result: Option<JobResult>,
}

/// The latest pod of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerStatus {
    /// The index of the worker, from 0.
    pub index: u32,
    /// The name of its pod.
    pub pod: String,
    /// Number of earlier pods of the worker, which this pod replaced.
    pub restarts: usize,
    /// The state of this pod.
    pub state: PodState,
}

/// The state of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodState {
    /// The program in the pod does not run yet.
    Waiting {
        /// The reason that the cluster gives.
        reason: String,
    },
    /// The program in the pod runs.
    Running {
        /// The node on which it runs.
        node: String,
    },
    /// The program in the pod has ended.
    Ended {
        /// The exit code; `None` if the program never ran or the cluster does not know.
        code: Option<i32>,
        /// The reason that the cluster gives.
        reason: String,
    },
}

/// The result of a Job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobResult {
    /// Every worker exited with 0.
    Complete,
    /// At least one worker did not exit with 0.
    Failed {
        /// The reason and the message of the cluster.
        reason: String,
    },
}

impl ClusterRun<'_> {
    /// The current state of the run.
    ///
    /// # Errors
    /// The API refuses, or does not respond.
    pub fn status(&self) -> Result<RunStatus, Error> {
        let (cluster, name) = (self.cluster, &self.name);
        let pods = cluster.block_on(&format!("list the pods of {name}"), cluster.api::<Pod>().list(&self.pods()))?;
        let job = cluster.block_on(&format!("read the Job {name}"), cluster.api::<Job>().get(name))?;
        let mut workers = latest(&pods.items);
        let completions = job.spec.as_ref().and_then(|spec| spec.completions).unwrap_or(0);
        let result = result(&job);
        let mut blocked = None;
        let starting = |worker: &WorkerStatus| worker.state == PodState::Waiting { reason: STARTING.to_owned() };
        if result.is_none() && (workers.len() < completions as usize || workers.iter().any(starting)) {
            // Without the right to read events the list is empty.
            let events = cluster.warnings()?;
            blocked = last_warning(&events, name);
            for worker in workers.iter_mut().filter(|worker| starting(worker)) {
                worker.state = last_warning(&events, &worker.pod)
                    .map_or_else(|| worker.state.clone(), |reason| PodState::Waiting { reason });
            }
        }
        Ok(RunStatus { workers, blocked, result })
    }

    /// The last lines of the log of a pod of the run.
    ///
    /// # Errors
    /// The API refuses, or does not respond.
    pub fn log_tail(&self, pod: &str, lines: u32) -> Result<String, Error> {
        let params = LogParams { tail_lines: Some(i64::from(lines)), ..LogParams::default() };
        self.cluster.block_on(&format!("read the log of {pod}"), self.cluster.api::<Pod>().logs(pod, &params))
    }
}

impl Cluster {
    /// The warning events of the namespace; none without the right to read them.
    fn warnings(&self) -> Result<Vec<Event>, Error> {
        match self.block_on("list events", self.api::<Event>().list(&ListParams::default().fields("type=Warning"))) {
            Ok(events) => Ok(events.items),
            Err(Error::Refused { .. }) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }
}

/// The reason for a pod without a reason in its status.
const STARTING: &str = "starting";
/// Reasons of warnings that do not prevent a start, or that the status of the pod repeats.
const IGNORED: [&str; 3] = ["FailedIndexes", "FailedScheduling", "MissingClusterDNS"];

/// The latest warning about an object.
fn last_warning(events: &[Event], name: &str) -> Option<String> {
    let of_it = |event: &&Event| {
        event.involved_object.name.as_deref() == Some(name)
            && !IGNORED.iter().any(|reason| event.reason.as_deref() == Some(reason))
    };
    let last = events.iter().filter(of_it).max_by_key(|event| event.last_timestamp.as_ref().map(|time| time.0))?;
    Some(sentence(last.reason.as_deref(), last.message.as_deref()))
}

/// The newest pod of each index.
fn latest(pods: &[Pod]) -> Vec<WorkerStatus> {
    let index = |pod: &Pod| pod.metadata.annotations.as_ref()?.get(INDEX)?.parse().ok();
    let mut pods: Vec<(u32, &Pod)> = pods.iter().filter_map(|pod| Some((index(pod)?, pod))).collect();
    pods.sort_by_key(|(index, pod)| (*index, pod.metadata.creation_timestamp.as_ref().map(|time| time.0)));
    let of_one = pods.chunk_by(|one, other| one.0 == other.0);
    let newest = of_one.filter_map(|all| all.last().map(|(index, pod)| (*index, *pod, all.len() - 1)));
    let worker = |(index, pod, restarts): (u32, &Pod, usize)| WorkerStatus {
        index,
        pod: pod.metadata.name.clone().unwrap_or_default(),
        restarts,
        state: state(pod),
    };
    newest.map(worker).collect()
}

/// The state of a pod with one container.
pub(crate) fn state(pod: &Pod) -> PodState {
    let Some(status) = &pod.status else { return PodState::Waiting { reason: STARTING.to_owned() } };
    let container = status.container_statuses.iter().flatten().next().and_then(|container| container.state.as_ref());
    if let Some(ended) = container.and_then(|state| state.terminated.as_ref()) {
        let ran = ended.started_at.is_some();
        return PodState::Ended {
            code: ran.then_some(ended.exit_code),
            reason: sentence(ended.reason.as_deref(), ended.message.as_deref()),
        };
    }
    // The pod was evicted, refused by the node, or exceeded its deadline.
    if status.phase.as_deref() == Some("Failed") {
        return PodState::Ended { code: None, reason: sentence(status.reason.as_deref(), status.message.as_deref()) };
    }
    if container.is_some_and(|state| state.running.is_some()) {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        return PodState::Running { node: node.unwrap_or_default() };
    }
    let unplaced = status.conditions.iter().flatten().find(|is| is.type_ == "PodScheduled" && is.status == "False");
    if let Some(unplaced) = unplaced {
        return PodState::Waiting { reason: sentence(unplaced.reason.as_deref(), unplaced.message.as_deref()) };
    }
    let waiting = container.and_then(|state| state.waiting.as_ref());
    match waiting.filter(|waiting| waiting.reason.as_deref() != Some("ContainerCreating")) {
        Some(waiting) => PodState::Waiting { reason: sentence(waiting.reason.as_deref(), waiting.message.as_deref()) },
        None => PodState::Waiting { reason: STARTING.to_owned() },
    }
}

fn result(job: &Job) -> Option<JobResult> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    let is = |type_: &str| conditions.iter().find(|is: &&JobCondition| is.type_ == type_ && is.status == "True");
    if is("Complete").is_some() {
        return Some(JobResult::Complete);
    }
    is("Failed")
        .map(|failed| JobResult::Failed { reason: sentence(failed.reason.as_deref(), failed.message.as_deref()) })
}

/// A reason and its message, in one line.
fn sentence(reason: Option<&str>, message: Option<&str>) -> String {
    let parts = [reason, message].into_iter().flatten().filter(|part| !part.is_empty());
    parts.map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(name: &str, index: &str, made: &str, status: Value) -> Pod {
        let metadata = json!({ "name": name, "creationTimestamp": made, "annotations": { INDEX: index } });
        serde_json::from_value(json!({
            "metadata": metadata, "spec": { "nodeName": "n1", "containers": [{ "name": "offered" }] }, "status": status,
        }))
        .unwrap()
    }

    fn container(state: Value) -> Value {
        json!({ "phase": "Pending", "containerStatuses": [
            { "name": "offered", "image": "i", "imageID": "", "ready": false, "restartCount": 0, "state": state },
        ] })
    }

    fn waiting(reason: &str) -> PodState {
        PodState::Waiting { reason: reason.to_owned() }
    }

    #[test]
    fn the_state_of_a_pod_has_a_reason() {
        let unplaced = json!({ "phase": "Pending", "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
            "message": "0/2 nodes are available: persistentvolumeclaim \"runs\" not found.",
        }] });
        let pulled =
            json!({ "waiting": { "reason": "ImagePullBackOff", "message": "Back-off pulling\n image \"x\"" } });
        let killed =
            json!({ "terminated": { "exitCode": 137, "reason": "OOMKilled", "startedAt": "2026-11-23T12:00:00Z" } });
        let never = json!({ "terminated": { "exitCode": 128, "reason": "StartError", "message": "no such file" } });
        let evicted = json!({ "phase": "Failed", "reason": "Evicted", "message": "The node was low on memory." });
        for (status, expected) in [
            (unplaced, waiting("Unschedulable: 0/2 nodes are available: persistentvolumeclaim \"runs\" not found.")),
            (container(json!({ "waiting": { "reason": "ContainerCreating" } })), waiting(STARTING)),
            (container(pulled), waiting("ImagePullBackOff: Back-off pulling image \"x\"")),
            (container(json!({ "running": {} })), PodState::Running { node: "n1".to_owned() }),
            (container(killed), PodState::Ended { code: Some(137), reason: "OOMKilled".to_owned() }),
            (container(never), PodState::Ended { code: None, reason: "StartError: no such file".to_owned() }),
            (evicted, PodState::Ended { code: None, reason: "Evicted: The node was low on memory.".to_owned() }),
        ] {
            assert_eq!(state(&pod("a", "0", "2026-11-23T12:00:00Z", status)), expected);
        }
    }

    #[test]
    fn only_the_latest_pod_of_a_restarted_worker_counts() {
        let running = || container(json!({ "running": {} }));
        let pods = [
            pod("b-2", "1", "2026-11-23T12:00:09Z", running()),
            pod("a-1", "0", "2026-11-23T12:00:00Z", running()),
            pod("b-1", "1", "2026-11-23T12:00:00Z", container(json!({ "terminated": { "exitCode": 137 } }))),
        ];
        let workers = latest(&pods);
        let seen: Vec<_> = workers.iter().map(|worker| (worker.index, worker.pod.as_str(), worker.restarts)).collect();
        assert_eq!(seen, [(0, "a-1", 0), (1, "b-2", 1)]);
    }

    #[test]
    fn a_warning_belongs_to_the_object_it_names() {
        let event = |name: &str, reason: &str, at: &str| -> Event {
            serde_json::from_value(json!({
                "metadata": { "name": "e" }, "involvedObject": { "name": name }, "reason": reason, "message": at, "lastTimestamp": at,
            }))
            .unwrap()
        };
        let events = [
            event("a", "FailedMount", "2026-11-23T12:00:05Z"),
            event("a", "FailedMount", "2026-11-23T12:00:01Z"),
            event("a", "MissingClusterDNS", "2026-11-23T12:00:09Z"),
            event("b", "Failed", "2026-11-23T12:00:09Z"),
        ];
        assert_eq!(last_warning(&events, "a").unwrap(), "FailedMount: 2026-11-23T12:00:05Z");
        assert_eq!(last_warning(&events, "c"), None);
    }
}
