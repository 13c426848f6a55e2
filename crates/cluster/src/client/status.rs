//! How the workers of a run are.

use k8s_openapi::api::batch::v1::{Job, JobCondition};
use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{ListParams, LogParams};

use crate::{Cluster, Error, Placed};

/// Where a pod says which number it has.
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// A run at one moment.
#[derive(Clone, Debug)]
pub struct Look {
    /// The latest pod of each number that has one, in their order.
    pub workers: Vec<Worker>,
    /// What keeps pods from being made, where something does.
    pub hindrance: Option<String>,
    /// How it ended, once it has.
    pub over: Option<Over>,
}

/// The latest pod of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// Its number, from 0.
    pub index: u32,
    /// What its pod is called.
    pub pod: String,
    /// How many pods it had before.
    pub earlier: usize,
    /// How the pod is.
    pub state: State,
}

/// How a pod is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Its program does not run yet.
    Waits {
        /// Why, as the cluster has it.
        why: String,
    },
    /// Its program runs.
    Runs {
        /// On this node.
        node: String,
    },
    /// Its program has ended.
    Ended {
        /// With this code; `None` where it never ran, or nobody knows.
        code: Option<i32>,
        /// Why, as the cluster has it.
        why: String,
    },
}

/// How a Job has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// Every worker ended with 0.
    Complete,
    /// Not every one did.
    Failed {
        /// In a word, and in a sentence.
        why: String,
    },
}

impl Placed<'_> {
    /// How the workers are now.
    ///
    /// # Errors
    /// The API refuses, or does not answer.
    pub fn look(&self) -> Result<Look, Error> {
        let (cluster, name) = (self.cluster, &self.name);
        let pods = cluster.ask(&format!("list the pods of {name}"), cluster.api::<Pod>().list(&self.pods()))?;
        let job = cluster.ask(&format!("read the Job {name}"), cluster.api::<Job>().get(name))?;
        let mut workers = latest(&pods.items);
        let wanted = job.spec.as_ref().and_then(|spec| spec.completions).unwrap_or(0);
        let over = over(&job);
        let mut hindrance = None;
        let starting = |worker: &Worker| worker.state == State::Waits { why: STARTING.to_owned() };
        if over.is_none() && (workers.len() < wanted as usize || workers.iter().any(starting)) {
            // Who may not read events sees less.
            let events = cluster.warnings()?;
            hindrance = said_of(&events, name);
            for worker in workers.iter_mut().filter(|worker| starting(worker)) {
                worker.state =
                    said_of(&events, &worker.pod).map_or_else(|| worker.state.clone(), |why| State::Waits { why });
            }
        }
        Ok(Look { workers, hindrance, over })
    }

    /// The last lines that a pod of the run has written.
    ///
    /// # Errors
    /// The API refuses, or does not answer.
    pub fn last_lines(&self, pod: &str, lines: u32) -> Result<String, Error> {
        let wanted = LogParams { tail_lines: Some(i64::from(lines)), ..LogParams::default() };
        self.cluster.ask(&format!("read the log of {pod}"), self.cluster.api::<Pod>().logs(pod, &wanted))
    }
}

impl Cluster {
    /// The warnings of the namespace; none where they may not be read.
    fn warnings(&self) -> Result<Vec<Event>, Error> {
        match self.ask("list events", self.api::<Event>().list(&ListParams::default().fields("type=Warning"))) {
            Ok(events) => Ok(events.items),
            Err(Error::Refused { .. }) => Ok(Vec::new()),
            Err(why) => Err(why),
        }
    }
}

/// What is said of a pod that nothing is said of.
const STARTING: &str = "it is being started";
/// Warnings that keep nothing from starting, or that the pod says itself.
const HARMLESS: [&str; 3] = ["FailedIndexes", "FailedScheduling", "MissingClusterDNS"];

/// The last warning of an object.
fn said_of(events: &[Event], name: &str) -> Option<String> {
    let of_it = |event: &&Event| {
        event.involved_object.name.as_deref() == Some(name)
            && !HARMLESS.iter().any(|reason| event.reason.as_deref() == Some(reason))
    };
    let last = events.iter().filter(of_it).max_by_key(|event| event.last_timestamp.as_ref().map(|time| time.0))?;
    Some(sentence(last.reason.as_deref(), last.message.as_deref()))
}

/// The newest pod of each number.
fn latest(pods: &[Pod]) -> Vec<Worker> {
    let index = |pod: &Pod| pod.metadata.annotations.as_ref()?.get(INDEX)?.parse().ok();
    let mut pods: Vec<(u32, &Pod)> = pods.iter().filter_map(|pod| Some((index(pod)?, pod))).collect();
    pods.sort_by_key(|(index, pod)| (*index, pod.metadata.creation_timestamp.as_ref().map(|time| time.0)));
    let of_one = pods.chunk_by(|one, other| one.0 == other.0);
    let newest = of_one.filter_map(|all| all.last().map(|(index, pod)| (*index, *pod, all.len() - 1)));
    let worker = |(index, pod, earlier): (u32, &Pod, usize)| Worker {
        index,
        pod: pod.metadata.name.clone().unwrap_or_default(),
        earlier,
        state: state(pod),
    };
    newest.map(worker).collect()
}

/// How a pod with one container is.
pub(crate) fn state(pod: &Pod) -> State {
    let Some(status) = &pod.status else { return State::Waits { why: STARTING.to_owned() } };
    let container = status.container_statuses.iter().flatten().next().and_then(|container| container.state.as_ref());
    if let Some(ended) = container.and_then(|state| state.terminated.as_ref()) {
        let ran = ended.started_at.is_some();
        return State::Ended {
            code: ran.then_some(ended.exit_code),
            why: sentence(ended.reason.as_deref(), ended.message.as_deref()),
        };
    }
    // Evicted, refused by the node, or past its deadline.
    if status.phase.as_deref() == Some("Failed") {
        return State::Ended { code: None, why: sentence(status.reason.as_deref(), status.message.as_deref()) };
    }
    if container.is_some_and(|state| state.running.is_some()) {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.clone());
        return State::Runs { node: node.unwrap_or_default() };
    }
    let unplaced = status.conditions.iter().flatten().find(|is| is.type_ == "PodScheduled" && is.status == "False");
    if let Some(unplaced) = unplaced {
        return State::Waits { why: sentence(unplaced.reason.as_deref(), unplaced.message.as_deref()) };
    }
    let waits = container.and_then(|state| state.waiting.as_ref());
    match waits.filter(|waits| waits.reason.as_deref() != Some("ContainerCreating")) {
        Some(waits) => State::Waits { why: sentence(waits.reason.as_deref(), waits.message.as_deref()) },
        None => State::Waits { why: STARTING.to_owned() },
    }
}

fn over(job: &Job) -> Option<Over> {
    let conditions = job.status.as_ref()?.conditions.as_deref()?;
    let is = |type_: &str| conditions.iter().find(|is: &&JobCondition| is.type_ == type_ && is.status == "True");
    if is("Complete").is_some() {
        return Some(Over::Complete);
    }
    is("Failed").map(|failed| Over::Failed { why: sentence(failed.reason.as_deref(), failed.message.as_deref()) })
}

/// A reason and what is said of it, in one line.
fn sentence(reason: Option<&str>, message: Option<&str>) -> String {
    let said = [reason, message].into_iter().flatten().filter(|said| !said.is_empty());
    said.map(|said| said.split_whitespace().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>().join(": ")
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

    fn waits(why: &str) -> State {
        State::Waits { why: why.to_owned() }
    }

    #[test]
    fn a_pod_says_how_it_is_and_why() {
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
            (unplaced, waits("Unschedulable: 0/2 nodes are available: persistentvolumeclaim \"runs\" not found.")),
            (container(json!({ "waiting": { "reason": "ContainerCreating" } })), waits(STARTING)),
            (container(pulled), waits("ImagePullBackOff: Back-off pulling image \"x\"")),
            (container(json!({ "running": {} })), State::Runs { node: "n1".to_owned() }),
            (container(killed), State::Ended { code: Some(137), why: "OOMKilled".to_owned() }),
            (container(never), State::Ended { code: None, why: "StartError: no such file".to_owned() }),
            (evicted, State::Ended { code: None, why: "Evicted: The node was low on memory.".to_owned() }),
        ] {
            assert_eq!(state(&pod("a", "0", "2026-11-23T12:00:00Z", status)), expected);
        }
    }

    #[test]
    fn of_a_worker_that_was_started_again_the_last_pod_counts() {
        let running = || container(json!({ "running": {} }));
        let pods = [
            pod("b-2", "1", "2026-11-23T12:00:09Z", running()),
            pod("a-1", "0", "2026-11-23T12:00:00Z", running()),
            pod("b-1", "1", "2026-11-23T12:00:00Z", container(json!({ "terminated": { "exitCode": 137 } }))),
        ];
        let workers = latest(&pods);
        let seen: Vec<_> = workers.iter().map(|worker| (worker.index, worker.pod.as_str(), worker.earlier)).collect();
        assert_eq!(seen, [(0, "a-1", 0), (1, "b-2", 1)]);
    }

    #[test]
    fn a_warning_is_of_what_it_names() {
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
        assert_eq!(said_of(&events, "a").unwrap(), "FailedMount: 2026-11-23T12:00:05Z");
        assert_eq!(said_of(&events, "c"), None);
    }
}
