//! Runs of several workers placed by an engine with its file in `examples/cluster`, against nginx. The engines are
//! real; scripts in `tests/cluster` start them on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::harness::{Missing, Tested, needs};
use crate::machines::{checked, meant, stdout};
use crate::nginx::Nginx;
use crate::process::{Ended, Process, ended, offered, soon, until_exists};

tests![
    four_slurm_tasks_send_the_requests_of_one_generator,
    three_ssh_hosts_send_the_requests_of_one_generator,
    ctrl_c_stops_the_workers_on_ssh_hosts,
    three_nomad_allocations_send_the_requests_of_one_generator,
];

/// A file of the repository.
fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap().join(path)
}

/// Command that starts an engine for the duration of its arguments, with this `offered` on its path.
fn engine(name: &'static str) -> Result<Command, Missing> {
    let script = file(&format!("tests/cluster/{name}"));
    let starts = || Command::new(&script).arg("true").output().is_ok_and(|started| started.status.success());
    needs(name, rustix::process::geteuid().is_root() && starts())?;
    let mut command = Command::new(script);
    let ours = Path::new(env!("CARGO_BIN_EXE_offered")).parent().unwrap().display().to_string();
    command.env("PATH", format!("{ours}:{}", std::env::var("PATH").unwrap()));
    Ok(command)
}

/// A run: its server, its workload, and its rendezvous directory.
struct Run {
    folder: TempDir,
    nginx: Nginx,
    workload: PathBuf,
    together: PathBuf,
}

impl Run {
    fn of(duration: &str) -> Result<Self, Missing> {
        let folder = tempfile::tempdir().unwrap();
        let served = folder.path().join("nginx");
        fs::create_dir(&served).unwrap();
        let nginx = Nginx::start(&served)?;
        let workload = folder.path().join("shop.toml");
        let text = format!(
            "seed = 5\nduration = \"{duration}\"\narrivals.open.rate = \"300/s\"\ntarget.url = \"{}/ok\"\ngenerator.wait = \"sleep\"\n",
            nginx.url
        );
        fs::write(&workload, text).unwrap();
        // Paths with spaces, which shells must not split.
        let together = folder.path().join("the workers' run");
        Ok(Self { folder, nginx, workload, together })
    }

    /// Checks that these workers together have sent the requests of a single generator, and nothing else.
    fn must_be_that_of_one(self, workers: usize, placed: &Ended) {
        // On a busy machine the run may be invalid, but its requests are the same.
        assert!(matches!(placed.code, Some(0 | 3)), "{placed:?}");
        let alone = self.folder.path().join("alone");
        let mut whole = offered(&["run", "--dry-run", "--output"]);
        whole.arg(&alone).arg(&self.workload);
        assert_eq!(Process::start(whole).end().code, Some(0));
        let launched = meant(&self.together);
        assert_eq!(launched, meant(&alone), "to the nanosecond");
        let seen = self.nginx.stop().iter().filter(|line| *line == "200 GET /ok").count();
        assert_eq!(seen, launched.len(), "what nginx has seen");
        // Several generators on two processors are late; other tests check lateness.
        let verdict = stdout(&["verify", "--json", "--late-after", "1s", "--tolerance", "100%"], &self.together);
        let verdict: Value = serde_json::from_str(&verdict).unwrap();
        assert_eq!(verdict["by_node"].as_array().unwrap().len(), workers, "a row for each worker");
        // No more can be checked for requests that a pause delayed.
        let stalled = !verdict["lateness"]["stalls"].is_null();
        let is_valid = ["valid", "valid_with_warnings"].iter().any(|valid| verdict["validity"] == *valid);
        assert!(stalled || is_valid, "{}", verdict["reason"]);
    }
}

fn four_slurm_tasks_send_the_requests_of_one_generator() -> Tested {
    let mut submit = engine("slurm")?;
    let run = Run::of("2s")?;
    submit.args(["sbatch", "--wait", "--array=0-3"]).arg(file("examples/cluster/slurm.sh"));
    submit.arg(&run.workload).arg(&run.together).current_dir(run.folder.path());
    let mut submitted = Process::start(submit).end();
    let said =
        |task: u32| fs::read_to_string(run.folder.path().join(format!("offered-1-{task}.txt"))).unwrap_or_default();
    submitted.stdout.extend((0..4).map(said));
    run.must_be_that_of_one(4, &submitted);
    Ok(())
}

/// Hosts created by `tests/cluster/ssh`.
const HOSTS: [&str; 3] = ["host-a", "host-b", "host-c"];

fn three_ssh_hosts_send_the_requests_of_one_generator() -> Tested {
    let mut command = engine("ssh")?;
    let run = Run::of("2s")?;
    command.arg("bash").arg(file("examples/cluster/ssh.sh")).arg(&run.workload).arg(&run.together).args(HOSTS);
    let ended = Process::start(command).end();
    run.must_be_that_of_one(3, &ended);
    for host in HOSTS {
        assert!(ended.stdout.contains(&format!("{host}: saved ")), "which host said what: {ended:?}");
    }
    Ok(())
}

fn ctrl_c_stops_the_workers_on_ssh_hosts() -> Tested {
    let mut command = engine("ssh")?;
    let run = Run::of("40s")?;
    let [id, over] = ["id", "over"].map(|name| run.folder.path().join(name));
    // The hosts stay when the script ends. A shell ignores signals that were ignored when it started, as in a
    // background job.
    let stay = "(echo $BASHPID > \"$0\"; exec env --default-signal=INT bash \"${@:2}\"); echo it ended with $?
        until [ -e \"$1\" ]; do sleep 0.1; done";
    command.args(["bash", "-c", stay]).args([&id, &over]);
    command.arg(file("examples/cluster/ssh.sh")).arg(&run.workload).arg(&run.together).args(HOSTS);
    let process = Process::start(command);
    until_exists(&run.together.join("worker-3-of-3/events/part-0000.parquet"));
    let id = fs::read_to_string(&id).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(id).unwrap(), Signal::INT).unwrap();
    let verdict = soon(|| {
        let verdict: Value = checked(ended(&["verify", "--json", run.together.to_str().unwrap()]));
        Some(verdict.to_string()).filter(|verdict| verdict.contains("the run was stopped before its end"))
    });
    let verdict = verdict.expect("workers that were stopped");
    assert!(!verdict.contains("killed"), "{verdict}");
    fs::write(over, "").unwrap();
    let ended = process.end();
    assert!(!ended.stdout.contains("it ended with 0"), "a run that was stopped is no success: {ended:?}");
    let seen = run.nginx.stop().iter().filter(|line| *line == "200 GET /ok").count();
    assert_eq!(seen, meant(&run.together).len(), "all sent requests are recorded");
    Ok(())
}

fn three_nomad_allocations_send_the_requests_of_one_generator() -> Tested {
    let mut command = engine("nomad")?;
    let run = Run::of("2s")?;
    // `job run` returns when the allocations are placed. A job is dead when all allocations have ended.
    let wait = "nomad job run \"$@\" && until nomad job status offered | grep -q '^Status .*dead'; do sleep 0.1; done
        nomad job status offered; nomad job status offered | grep -q '^workers  *0  *0  *0  *0  *3 '";
    command.args(["sh", "-c", wait, "sh", "-var", "workers=3", "-var", "cores=1"]);
    for (name, path) in [("workload", &run.workload), ("directory", &run.together)] {
        command.arg("-var").arg(format!("{name}={}", path.display()));
    }
    command.arg(file("examples/cluster/nomad.hcl"));
    let ended = Process::start(command).end();
    run.must_be_that_of_one(3, &ended);
    Ok(())
}
