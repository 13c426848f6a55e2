//! Runs of several workers on a real Kubernetes, which `tests/cluster/kubernetes` starts on this machine, against
//! nginx.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use offered_base::{Nanos, Purpose, Seed};
use offered_events::Reason;
use offered_store::{ReadOptions, read};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::harness::{Missing, Tested, needs};
use crate::machines::checked;
use crate::nginx::Nginx;
use crate::objects::moto;
use crate::process::{Ended, Process, offered, soon};

tests![
    four_pods_send_the_requests_of_one_generator,
    killed_and_frozen_pods_are_accounted_for,
    kubernetes_run_places_follows_fetches_and_removes,
    pods_with_a_bucket_need_no_claim,
    a_pod_killed_while_waiting_rejoins,
];

/// The machine can run only one cluster at a time.
static ONE: Mutex<()> = Mutex::new(());

/// A running cluster, removed when dropped.
struct Cluster {
    process: Child,
    /// Its directory, with the configuration for `kubectl` and the directory of the claim.
    folder: PathBuf,
    /// Directory of `kubectl`.
    programs: PathBuf,
    _one: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Starts a cluster, and moves this thread into its network, where the machine is 10.244.0.1.
    fn enter() -> Result<Self, Missing> {
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cluster");
        let programs = Command::new(scripts.join("kubernetes-build")).arg("--there").output().unwrap();
        needs("kubernetes", rustix::process::geteuid().is_root() && programs.status.success())?;
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut command = Command::new(scripts.join("kubernetes"));
        // It runs until its stdin is closed.
        command.args(["sh", "-c", "echo $CLUSTER; readlink /proc/self/ns/net; cat"]);
        let ours = Path::new(env!("CARGO_BIN_EXE_offered")).parent().unwrap().display().to_string();
        command.env("PATH", format!("{ours}:{}", std::env::var("PATH").unwrap()));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
        let (folder, network) = (said.next().unwrap_or_default().into(), said.next());
        let programs = String::from_utf8(programs.stdout).unwrap().trim().into();
        let cluster = Self { process, folder, programs, _one: one };
        needs("kubernetes", network.is_some())?;
        move_into(&network.unwrap_or_default());
        Ok(cluster)
    }

    /// A command of this thread, configured for the cluster.
    fn told(&self, mut command: Command) -> Ended {
        command.env("KUBECONFIG", self.folder.join("config"));
        Process::start(command).end()
    }

    fn kubectl(&self, args: &[&str]) -> String {
        let mut command = Command::new(self.programs.join("kubectl"));
        command.args(args);
        let Ended { code, stdout, stderr } = self.told(command);
        assert_eq!(code, Some(0), "kubectl {}: {stdout}{stderr}", args.join(" "));
        stdout
    }

    /// Passes the output of `offered kubernetes` to `kubectl`.
    fn apply(&self, args: &[&str]) {
        let printed = self.told(offered(&[&["kubernetes"], args].concat()));
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let file = self.folder.join("printed.yaml");
        fs::write(&file, printed.stdout).unwrap();
        self.kubectl(&["apply", "-f", file.to_str().unwrap()]);
    }

    /// Waits until the Job has succeeded or failed.
    fn until_ended(&self, job: &str) -> Value {
        let ended = soon(|| {
            let job: Value = serde_json::from_str(&self.kubectl(&["get", "job", job, "-o", "json"])).unwrap();
            let is_over = |condition: &Value| ["Complete", "Failed"].map(Value::from).contains(&condition["type"]);
            let over = job["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(is_over));
            over.then_some(job)
        });
        ended.unwrap_or_else(|| panic!("{job} has not ended: {}", self.kubectl(&["describe", "pods"])))
    }

    /// `offered kubernetes --run` by a user with only the permissions of `examples/cluster/rights.yaml`.
    fn run_by(somebody: &Path, args: &[&str]) -> Process {
        let mut command = offered(&[&["kubernetes"], args, &["--cpus", "1", "--run"]].concat());
        command.env("KUBECONFIG", somebody);
        Process::start(command)
    }

    /// Creates a user with these permissions and returns the configuration for its login.
    fn somebody(&self) -> PathBuf {
        let rights = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster/rights.yaml");
        self.kubectl(&["apply", "-f", rights.to_str().unwrap()]);
        self.kubectl(&["create", "serviceaccount", "somebody"]);
        self.kubectl(&["create", "rolebinding", "somebody", "--role=offered", "--serviceaccount=default:somebody"]);
        let token = self.kubectl(&["create", "token", "somebody"]);
        let own = fs::read_to_string(self.folder.join("config")).unwrap();
        let with = |line: &str| match line.starts_with("users:") {
            true => format!("users: [{{ name: admin, user: {{ token: {} }} }}]\n", token.trim()),
            false => format!("{line}\n"),
        };
        let file = self.folder.join("somebody");
        fs::write(&file, own.lines().map(with).collect::<String>()).unwrap();
        file
    }

    /// Waits until the namespace contains only default objects; deleted pods disappear when their nodes confirm.
    fn until_nothing_is_left(&self) {
        let left = || self.kubectl(&["get", "jobs,pods,configmaps", "-o", "name"]);
        let gone = soon(|| left().lines().all(|name| name == "configmap/kube-root-ca.crt").then_some(()));
        assert!(gone.is_some(), "left behind: {}", left());
    }

    /// Directory of a run in the claim.
    fn run(&self, name: &str) -> PathBuf {
        self.folder.join("runs").join(name)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// Moves this thread, and its future child processes, into the network with this path under /proc.
#[cfg(target_os = "linux")]
fn move_into(network: &str) {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    use std::os::fd::AsFd;

    let is_it = |path: &PathBuf| fs::read_link(path).is_ok_and(|link| link == Path::new(network));
    let mut all = fs::read_dir("/proc").unwrap().flatten().map(|process| process.path().join("ns/net"));
    let file = fs::File::open(all.find(is_it).expect("the network of a process")).unwrap();
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

#[cfg(not(target_os = "linux"))]
fn move_into(_: &str) {
    unreachable!("there is no kubelet here");
}

/// Runs the test on its own thread, which stays in the cluster's network.
fn aside(test: fn() -> Tested) -> Tested {
    std::thread::spawn(test).join().unwrap_or_else(|why| std::panic::resume_unwind(why))
}

fn nginx(folder: &Path) -> Result<(Nginx, String), Missing> {
    fs::create_dir(folder.join("nginx")).unwrap();
    let nginx = Nginx::listening(&folder.join("nginx"), "listen PORT; access_log FOLDER/access.log counted;")?;
    let url = nginx.url.replace("127.0.0.1", "10.244.0.1");
    Ok((nginx, url))
}

/// A workload in `folder` with nginx at `url` as the target.
fn workload(folder: &Path, url: &str, load: &str) -> PathBuf {
    let file = folder.join("shop.toml");
    let text = format!("seed = 5\n{load}target.url = \"{url}/ok\"\ngenerator.wait = \"sleep\"\n");
    fs::write(&file, text).unwrap();
    file
}

/// Scheduled time of each request of the workload, by a single generator.
fn alone(folder: &Path, workload: &Path) -> BTreeMap<(u64, u32), Nanos> {
    let out = folder.join("alone");
    let mut whole = offered(&["run", "--dry-run", "--output"]);
    whole.arg(&out).arg(workload);
    assert_eq!(Process::start(whole).end().code, Some(0));
    meant(&out)
}

/// Scheduled time of each request.
fn meant(run: &Path) -> BTreeMap<(u64, u32), Nanos> {
    let events = read(run, &ReadOptions::default()).unwrap().events.to_vec().unwrap();
    let all: BTreeMap<_, _> =
        events.iter().map(|event| ((event.session, event.step), Nanos(event.intended.0))).collect();
    assert_eq!(all.len(), events.len(), "no launch twice");
    all
}

/// Returns the verdict of a run.
fn verdict(run: &Path) -> Value {
    let mut verify = offered(&["verify", "--json"]);
    verify.arg(run);
    checked(Process::start(verify).end())
}

/// Process id, on this machine, of the worker with this index.
fn worker(index: u32) -> Pid {
    let wanted = format!("JOB_COMPLETION_INDEX={index}");
    let is_it = |process: &PathBuf| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    };
    let all = || fs::read_dir("/proc").unwrap().flatten().map(|process| process.path());
    let found = soon(|| all().find(is_it)).expect("a worker");
    Pid::from_raw(found.file_name().unwrap().to_str().unwrap().parse().unwrap()).unwrap()
}

/// Waits until a worker has written this number of parts.
fn until_parts(run: &Path, worker: &str, parts: u64) {
    let part = run.join(worker).join(format!("events/part-{:04}.parquet", parts - 1));
    soon(|| part.exists().then_some(())).unwrap_or_else(|| panic!("{} never came", part.display()));
}

fn four_pods_send_the_requests_of_one_generator() -> Tested {
    aside(|| {
        let cluster = Cluster::enter()?;
        let folder = tempfile::tempdir().unwrap();
        let (nginx, url) = nginx(folder.path())?;
        let shop = workload(folder.path(), &url, "duration = \"3s\"\narrivals.open.rate = \"300/s\"\n");
        cluster.apply(&[shop.to_str().unwrap(), "--workers", "4", "--cpus", "1", "--pvc", "runs"]);
        let job = cluster.until_ended("shop");
        let whole = alone(folder.path(), &shop);
        let logs = || cluster.kubectl(&["logs", "-l", "app.kubernetes.io/instance=shop", "--prefix"]);
        assert_eq!(meant(&cluster.run("shop")), whole, "to the nanosecond: {job} {}", logs());
        let verdict = verdict(&cluster.run("shop"));
        assert_eq!(verdict["window"]["requests"], whole.len());
        assert_eq!(verdict["by_node"].as_array().unwrap().len(), 4, "a row for each worker");
        assert!(logs().contains("[pod/shop-3-"), "the pods say what they did");
        let asked = nginx.stop().iter().filter(|line| *line == "200 GET /ok").count();
        assert_eq!(asked, whole.len(), "nginx counted as many");
        Ok(())
    })
}

/// At a random time worker 2 is killed, which the Job restarts, and worker 3 is frozen for at least ten seconds.
fn killed_and_frozen_pods_are_accounted_for() -> Tested {
    aside(|| {
        let cluster = Cluster::enter()?;
        let folder = tempfile::tempdir().unwrap();
        let (nginx, url) = nginx(folder.path())?;
        let shop = workload(folder.path(), &url, "duration = \"30s\"\narrivals.open.rate = \"100/s\"\n");
        cluster.apply(&[shop.to_str().unwrap(), "--workers", "4", "--cpus", "1", "--pvc", "runs"]);
        let run = cluster.run("shop");
        let second = 1 + (Seed(u64::from(std::process::id())).at(Purpose::Start, 0, 0).uniform() * 3.0) as u64;
        until_parts(&run, "worker-2-of-4", second);
        let (killed, frozen) = (worker(1), worker(2));
        kill_process(frozen, Signal::STOP).unwrap();
        kill_process(killed, Signal::KILL).unwrap();
        // Until it is reported as silent, which takes ten seconds, and some more by an undisturbed worker.
        let missed = |seen: &String| seen.contains("worker 3/4 is frozen or dead (no heartbeat for");
        let seen = soon(|| Some(verdict(&run)["reason"].to_string()).filter(missed));
        assert!(seen.is_some(), "{}", verdict(&run)["reason"]);
        until_parts(&run, "worker-1-of-4", second + 12);
        kill_process(frozen, Signal::CONT).unwrap();
        let job = cluster.until_ended("shop");
        let restarts =
            cluster.kubectl(&["get", "pods", "-l", "batch.kubernetes.io/job-completion-index=1", "-o", "name"]);
        assert_eq!(restarts.lines().count(), 2, "the Job has started it again: {job}");

        let whole = alone(folder.path(), &shop);
        assert_eq!(meant(&run), whole, "the missing requests are known to the nanosecond");
        let events = read(&run, &ReadOptions::default()).unwrap().events.to_vec().unwrap();
        let (gone, made): (Vec<_>, Vec<_>) = events.iter().partition(|event| event.error == Some(Reason::WorkerLost));
        assert!(!gone.is_empty() && gone.iter().all(|event| event.session % 4 == 1), "of worker 2 alone");
        let last = whole.iter().filter(|((session, _), _)| session % 4 == 1).map(|(_, meant)| *meant).max();
        let taken_up = made.iter().filter(|event| event.session % 4 == 1).map(|event| Nanos(event.intended.0)).max();
        assert_eq!(taken_up, last, "its successor continues to the end");
        let late = made.iter().filter(|event| event.session % 4 == 2 && event.sent.is_some());
        let late = late.filter(|event| event.intended.until(event.sent.unwrap()) > Nanos::from_secs(5)).count();
        assert!(late > 100, "worker 3 sent the missed requests late: {late}");
        let warnings = verdict(&run)["warnings"].to_string();
        assert!(warnings.contains("worker 2/4: the recording has no end (no run.json)"), "{warnings}");
        let asked = nginx.stop().iter().filter(|line| *line == "200 GET /ok").count();
        let sent = made.iter().filter(|event| event.sent.is_some()).count();
        // Requests of the killed worker in its last second are in none of its parts.
        assert!(asked >= sent && asked < sent + 100, "nginx counted {asked}, {sent} are recorded");
        Ok(())
    })
}

fn kubernetes_run_places_follows_fetches_and_removes() -> Tested {
    aside(|| {
        needs("kubernetes", cfg!(feature = "kubernetes"))?;
        let cluster = Cluster::enter()?;
        let folder = tempfile::tempdir().unwrap();
        let (nginx, url) = nginx(folder.path())?;
        let somebody = cluster.somebody();
        let load = "duration = \"3s\"\narrivals.open.rate = \"300/s\"\n";
        let shop = workload(folder.path(), &url, &format!("{load}thresholds.errors = \"< 1%\"\n"));
        let shop = shop.to_str().unwrap();
        let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();

        let whole = out("whole");
        let args = [shop, "--workers", "4", "--pvc", "runs", "--output", &whole];
        let ended = Cluster::run_by(&somebody, &args).end();
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
        for said in ["running on n1", "running on n2", ": done", "fetched "] {
            assert!(ended.stderr.contains(said), "{said}: {ended:?}");
        }
        let threshold = ended.stdout.lines().find(|line| line.contains(" errors.rate < 1%"));
        assert!(threshold.is_some_and(|line| !line.starts_with("FAILED")), "{ended:?}");
        let launches = meant(Path::new(&whole));
        assert_eq!(launches, alone(folder.path(), Path::new(shop)), "to the nanosecond");
        cluster.until_nothing_is_left();

        let again = Cluster::run_by(&somebody, &args).end();
        assert!(again.code == Some(2) && again.stderr.contains("already exists"), "{again:?}");
        for (more, said) in [
            (["--pvc", "nonsuch"], "persistentvolumeclaim \"nonsuch\" not found"),
            (["--image", "nowhere.invalid/offered:1"], "nowhere.invalid"),
            (["--memory", "99999999"], "Insufficient memory"),
        ] {
            let none = out("none");
            let mut args = vec![shop, "--workers", "2", "--wait", "3s", "--output", &none];
            args.extend(if more[0] == "--pvc" { vec![] } else { vec!["--pvc", "runs"] });
            args.extend(more);
            let ended = Cluster::run_by(&somebody, &args).end();
            assert!(ended.code == Some(1) && ended.stderr.contains(said), "{said}: {ended:?}");
            assert!(!Path::new(&none).exists());
            cluster.until_nothing_is_left();
        }
        let asked = nginx.stop().iter().filter(|line| *line == "200 GET /ok").count();
        assert_eq!(asked, launches.len(), "nginx counted as many");

        // Sends Ctrl-C.
        let other = out("other");
        fs::create_dir(&other).unwrap();
        let (_nginx, url) = self::nginx(Path::new(&other))?;
        let long = workload(folder.path(), &url, "duration = \"60s\"\narrivals.open.rate = \"100/s\"\n");
        let stopped = out("stopped");
        let args =
            [long.to_str().unwrap(), "--workers", "2", "--pvc", "runs", "--output", &stopped, "--name", "stopped"];
        let running = Cluster::run_by(&somebody, &args);
        until_parts(&cluster.run("stopped"), "worker-2-of-2", 2);
        running.signal(Signal::INT);
        let ended = running.end();
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
        assert!(ended.stderr.contains("stopping the workers"), "{ended:?}");
        assert!(!meant(Path::new(&stopped)).is_empty(), "what they had launched is here");
        cluster.until_nothing_is_left();
        Ok(())
    })
}

fn pods_with_a_bucket_need_no_claim() -> Tested {
    aside(|| {
        needs("kubernetes", cfg!(feature = "kubernetes"))?;
        let cluster = Cluster::enter()?;
        let (_moto, port) = moto("10.244.0.1")?;
        let folder = tempfile::tempdir().unwrap();
        let (nginx, url) = nginx(folder.path())?;
        let shop = workload(folder.path(), &url, "duration = \"3s\"\narrivals.open.rate = \"300/s\"\n");
        let shop = shop.to_str().unwrap();
        let endpoint = format!("http://10.244.0.1:{port}");
        let opens = [
            ("AWS_ACCESS_KEY_ID", "ours"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_ENDPOINT_URL", &endpoint),
        ];
        let literals: Vec<String> =
            opens.iter().map(|(name, value)| format!("--from-literal={name}={value}")).collect();
        let mut secret = vec!["create", "secret", "generic", "aws"];
        secret.extend(literals.iter().map(String::as_str));
        cluster.kubectl(&secret);
        let whole = alone(folder.path(), Path::new(shop));
        let out = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let in_store = |args: &[&str]| {
            let mut command = offered(args);
            command.envs(opens);
            let ended = Process::start(command).end();
            assert_eq!(ended.code, Some(0), "{ended:?}");
            ended.stdout
        };

        let args = ["--workers", "4", "--credentials", "aws", "--cpus", "1"];
        cluster.apply(&[&[shop, "--rendezvous", "s3://bucket/run7"], &args[..]].concat());
        let job = cluster.until_ended("shop");
        let logs = cluster.kubectl(&["logs", "-l", "app.kubernetes.io/instance=shop", "--prefix"]);
        assert!(logs.contains("saved       s3://bucket/run7/worker-1-of-4"), "{job} {logs}");
        let table = out("all.csv");
        in_store(&["export", "s3://bucket/run7", "--format", "csv", "-o", &table]);
        assert_eq!(meant(Path::new(&table)), whole, "to the nanosecond");
        cluster.kubectl(&["delete", "job,configmap", "shop"]);
        cluster.until_nothing_is_left();

        let somebody = cluster.somebody();
        let run = |url: &str, to: &str| {
            let mut command =
                offered(&[&["kubernetes", shop, "--run", "--rendezvous", url, "--output", to], &args[..]].concat());
            command.env("KUBECONFIG", &somebody).envs(opens);
            Process::start(command).end()
        };
        let fetched = out("fetched");
        let ended = run("s3://bucket/run8", &fetched);
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:?}");
        assert!(ended.stderr.contains("fetching: ") && ended.stderr.contains("fetched to "), "{ended:?}");
        assert_eq!(meant(Path::new(&fetched)), whole, "to the nanosecond");
        cluster.until_nothing_is_left();
        let again = run("s3://bucket/run8", &out("again"));
        assert!(again.code == Some(2) && again.stderr.contains("already contains a run"), "{again:?}");
        let asked = nginx.stop().iter().filter(|line| *line == "200 GET /ok").count();
        assert_eq!(asked, 2 * whole.len(), "nginx counted both");
        Ok(())
    })
}

/// The rendezvous is in the claim of `examples/cluster`, bound to a volume of this machine.
fn a_pod_killed_while_waiting_rejoins() -> Tested {
    aside(|| {
        let cluster = Cluster::enter()?;
        let folder = tempfile::tempdir().unwrap();
        let (nginx, url) = nginx(folder.path())?;
        cluster.kubectl(&["delete", "pvc", "runs"]);
        cluster.kubectl(&["delete", "pv", "runs"]);
        let volume = folder.path().join("volume.yaml");
        let of = cluster.folder.join("runs");
        let spec = format!(
            "{{ accessModes: [ReadWriteMany], capacity: {{ storage: 10Gi }}, hostPath: {{ path: {} }} }}",
            of.display()
        );
        fs::write(
            &volume,
            format!("{{ apiVersion: v1, kind: PersistentVolume, metadata: {{ name: any }}, spec: {spec} }}\n"),
        )
        .unwrap();
        cluster.kubectl(&["create", "-f", volume.to_str().unwrap()]);
        let claim = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster/claim.yaml");
        cluster.kubectl(&["apply", "-f", claim.to_str().unwrap()]);
        cluster.kubectl(&["wait", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s", "pvc/runs"]);

        let shop = workload(folder.path(), &url, "duration = \"30s\"\narrivals.open.rate = \"100/s\"\n");
        let printed = cluster.told(offered(&[
            "kubernetes",
            shop.to_str().unwrap(),
            "--workers",
            "2",
            "--cpus",
            "1",
            "--pvc",
            "runs",
        ]));
        // The second worker has no pod at first, so that the first waits.
        let one = printed.stdout.replace("parallelism: 2", "parallelism: 1");
        assert_ne!(one, printed.stdout);
        let file = folder.path().join("one.yaml");
        fs::write(&file, one).unwrap();
        cluster.kubectl(&["apply", "-f", file.to_str().unwrap()]);
        let run = cluster.run("shop");
        soon(|| run.join("rendezvous/ready-1.json").exists().then_some(())).expect("the first is ready");
        kill_process(worker(0), Signal::KILL).unwrap();
        let pods = || cluster.kubectl(&["get", "pods", "-o", "name"]).lines().count();
        soon(|| (pods() == 2).then_some(())).expect("the Job has started it again");
        cluster.kubectl(&["patch", "job", "shop", "-p", "{\"spec\":{\"parallelism\":2}}"]);
        cluster.until_ended("shop");
        let logs = cluster.kubectl(&["logs", "-l", "app.kubernetes.io/instance=shop", "--prefix"]);
        assert_eq!(meant(&run), alone(folder.path(), &shop), "the missing requests are known to the nanosecond");
        let events = read(&run, &ReadOptions::default()).unwrap().events.to_vec().unwrap();
        let gone: Vec<_> = events.iter().filter(|event| event.error == Some(Reason::WorkerLost)).collect();
        assert!(!gone.is_empty() && gone.iter().all(|event| event.session % 2 == 0), "of the first: {logs}");
        let sent = events.iter().filter(|event| event.sent.is_some()).count();
        assert!(
            events.iter().any(|event| event.session % 2 == 0 && event.sent.is_some()),
            "and it continues its share"
        );
        assert_eq!(nginx.stop().iter().filter(|line| *line == "200 GET /ok").count(), sent, "nginx counted as many");
        Ok(())
    })
}
