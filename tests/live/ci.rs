//! The pipelines in `examples/ci`: their shell parts run as the CI systems run them, with the real `offered`.
//!
//! The commands of the CI systems (`pip`, `pipx`, `gh`, `curl`) are replaced by programs that write down how they were called.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::servers::free_port;

tests![
    the_github_workflow_reports_in_the_pull_request,
    the_gitlab_job_reports_in_the_merge_request,
    the_jenkins_pipeline_keeps_its_results,
    a_failed_threshold_fails_the_job_and_is_reported_all_the_same,
    a_pull_request_is_compared_with_the_main_branch
];

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ci")
}

/// A checkout with the workload of the examples.
struct Checkout {
    folder: tempfile::TempDir,
    /// Replaces 127.0.0.1:8080.
    address: String,
    /// Processes in the background of a step, ended with the checkout.
    shells: Vec<std::process::Child>,
}

impl Drop for Checkout {
    fn drop(&mut self) {
        for shell in &mut self.shells {
            drop(shell.stdin.take());
            let _ = shell.wait();
        }
    }
}

impl Checkout {
    /// With the limit `p95` instead of that of the example, and a shorter test.
    fn new(p95: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        let workload = fs::read_to_string(examples().join("load-test.toml")).unwrap();
        let mut changed = workload.replace("127.0.0.1:8080", &address);
        for (old, new) in [
            ("duration = \"1m\"", "duration = \"3s\""),
            ("\"5s\"", "\"500ms\""),
            ("< 250ms", p95),
            // Requests are late while other tests run.
            ("generator.wait = \"sleep\"", "generator = { wait = \"sleep\", tolerance = \"1000%\" }"),
        ] {
            assert!(changed.contains(old), "{old}: {changed}");
            changed = changed.replace(old, new);
        }
        fs::write(folder.path().join("load-test.toml"), changed).unwrap();
        let bin = folder.path().join("bin");
        fs::create_dir(&bin).unwrap();
        for name in ["pip", "pipx", "gh", "curl"] {
            let script = format!("#!/bin/sh\necho {name} \"$@\" >> '{}'\n", folder.path().join("calls").display());
            fs::write(bin.join(name), script).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            fs::set_permissions(bin.join(name), mode).unwrap();
        }
        Self { folder, address, shells: Vec::new() }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }

    /// Executes a script with `bash -e`; what it leaves in the background runs until the checkout is dropped. Returns its exit code.
    fn step(&mut self, script: &str, variables: &[(&str, &str)]) -> i32 {
        let offered = Path::new(env!("CARGO_BIN_EXE_offered")).parent().unwrap();
        let path =
            format!("{}:{}:{}", self.path().join("bin").display(), offered.display(), std::env::var("PATH").unwrap());
        // The shell writes the exit code of the step and ends its background processes when its stdin is closed.
        // A comparison of two seconds, whose rounds have enough requests for a median only.
        let short = "--no-worse-than 1000% --metric p50 --round 600ms --settle 100ms --pairs 4";
        let script = script.replace("--no-worse-than 20%", short);
        let outer = "bash -e -c \"$0\"; echo $? > code; read -r _; kill -- -$$";
        let mut command = Command::new("setsid");
        command
            .args(["-w", "bash", "-c", outer, &script.replace("127.0.0.1:8080", &self.address)])
            .current_dir(self.path());
        command.env("PATH", path).env("HOME", self.path()).envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        let log = fs::OpenOptions::new().create(true).append(true).open(self.path().join("log")).unwrap();
        let code = self.path().join("code");
        let _ = fs::remove_file(&code);
        self.shells.push(command.stderr(log).spawn().unwrap());
        let ended = crate::process::soon(|| fs::read_to_string(&code).ok().filter(|code| code.ends_with('\n')));
        ended.unwrap_or_else(|| panic!("{script}: no end; {}", self.read("log"))).trim().parse().unwrap()
    }

    /// Checks the results that a pipeline keeps, after a run that ended with this exit code.
    fn check_results(&self, code: i32) {
        let log = self.read("log");
        let junit = self.read("load-test/junit.xml");
        assert!(junit.contains("<testsuite ") && junit.contains("p95"), "{junit}{log}");
        assert!(self.read("load-test/summary.md").contains("| home |"), "{log}");
        assert!(self.read("load-test/report.html").starts_with("<!"), "{log}");
        let run: Value = serde_json::from_str(&self.read("load-test/run.json")).unwrap();
        // A busy machine may make a run invalid, or leave a threshold undecided.
        let undecided = code == 0 && run["thresholds"].to_string().contains("not_checked");
        let expected = if run["validity"] == "invalid" || undecided { 3 } else { code };
        assert_eq!(self.read("run-code"), expected.to_string(), "{run:#}{log}");
    }
}

/// A step of the GitHub workflow.
struct Step {
    script: String,
    /// Whether it runs after a failed step.
    always: bool,
    variables: Vec<String>,
}

fn github_steps() -> Vec<Step> {
    let text = fs::read_to_string(examples().join("github-actions.yml")).unwrap();
    let workflow: Value = serde_saphyr::from_str(&text).unwrap();
    let steps = workflow["jobs"]["load-test"]["steps"].as_array().unwrap().clone();
    let steps = steps.into_iter().filter_map(|step| {
        let script = step["run"].as_str()?.to_owned();
        let always = step["if"].as_str().is_some_and(|condition| condition.contains("!cancelled()"));
        let names = step["env"].as_object().into_iter().flat_map(|names| names.keys().cloned());
        Some(Step { script, always, variables: names.collect() })
    });
    steps.collect()
}

/// Runs the GitHub workflow; returns the checkout after it.
fn github(p95: &str) -> Checkout {
    let mut checkout = Checkout::new(p95);
    let summary = checkout.path().join("step-summary").display().to_string();
    let mut failed = false;
    for Step { script, always, variables } in github_steps() {
        if failed && !always {
            continue;
        }
        let own = variables.iter().map(|name| (name.as_str(), "7")).chain([("GITHUB_STEP_SUMMARY", summary.as_str())]);
        let code = checkout.step(&script, &own.collect::<Vec<_>>());
        if script.contains("offered run") {
            fs::write(checkout.path().join("run-code"), code.to_string()).unwrap();
        } else {
            assert_eq!(code, 0, "{script}: {}", checkout.read("log"));
        }
        failed |= code != 0;
    }
    checkout
}

fn the_github_workflow_reports_in_the_pull_request() {
    let checkout = github("< 2s");
    checkout.check_results(0);
    assert_eq!(checkout.read("step-summary"), checkout.read("load-test/summary.md"));
    let calls = checkout.read("calls");
    assert!(calls.starts_with(concat!("pipx install offered==", env!("CARGO_PKG_VERSION"), "\n")), "{calls}");
    assert!(calls.contains("gh pr comment 7 --edit-last --create-if-none --body-file load-test/summary.md"), "{calls}");
}

fn a_failed_threshold_fails_the_job_and_is_reported_all_the_same() {
    let checkout = github("< 1us");
    checkout.check_results(99);
    assert!(checkout.read("load-test/junit.xml").contains("<failure"), "{}", checkout.read("load-test/junit.xml"));
    assert!(checkout.read("calls").contains("gh pr comment"));
}

fn a_pull_request_is_compared_with_the_main_branch() {
    let mut checkout = github("< 2s");
    assert_eq!(checkout.read("run-code"), "0", "an invalid run is no baseline: {}", checkout.read("log"));
    let steps = github_steps();
    let step = |part: &str| &steps.iter().find(|step| step.script.contains(part)).unwrap().script;
    let (compare, keep) = (step("offered compare"), step("refs/heads/main"));
    let baseline = checkout.path().join("baseline");
    assert_eq!(checkout.step(keep, &[("GITHUB_REF", "refs/pull/7/merge")]), 0);
    assert!(!baseline.exists());
    // The first baseline is the run, the next one the rounds of the comparison.
    for first in ["run.json", "001-b"] {
        assert_eq!(checkout.step(keep, &[("GITHUB_REF", "refs/heads/main")]), 0, "{}", checkout.read("log"));
        assert!(baseline.join(first).exists(), "{}", checkout.read("log"));
        let _ = fs::remove_dir_all(checkout.path().join("rounds"));
        let code = checkout.step(compare, &[]);
        let summary = checkout.read("load-test/summary.md");
        assert_eq!(code, 0, "{summary}{}", checkout.read("log"));
        assert!(summary.contains("B's p50 is") && summary.contains("PASSED"), "{summary}");
    }
}

fn the_gitlab_job_reports_in_the_merge_request() {
    let text = fs::read_to_string(examples().join("gitlab-ci.yml")).unwrap();
    let pipeline: Value = serde_saphyr::from_str(&text).unwrap();
    let lines = |key: &str| {
        let lines = pipeline["load-test"][key].as_array().unwrap().iter();
        lines.map(|line| line.as_str().unwrap().to_owned()).collect::<Vec<_>>().join("\n")
    };
    let mut checkout = Checkout::new("< 2s");
    // `before_script` and `script` are one shell.
    let code = checkout.step(&format!("{}\n{}", lines("before_script"), lines("script")), &[]);
    fs::write(checkout.path().join("run-code"), code.to_string()).unwrap();
    let variables = [
        ("GITLAB_TOKEN", "t"),
        ("CI_API_V4_URL", "https://gitlab"),
        ("CI_PROJECT_ID", "5"),
        ("CI_MERGE_REQUEST_IID", "7"),
    ];
    assert_eq!(checkout.step(&lines("after_script"), &variables), 0, "{}", checkout.read("log"));
    checkout.check_results(0);
    let calls = checkout.read("calls");
    assert!(calls.contains("body@load-test/summary.md https://gitlab/projects/5/merge_requests/7/notes"), "{calls}");
    assert_eq!(pipeline["load-test"]["artifacts"]["reports"]["junit"], "load-test/junit.xml");
    // Without a token there is no note, and no failure.
    assert_eq!(checkout.step(&lines("after_script"), &[]), 0);
    assert_eq!(checkout.read("calls"), calls);
}

fn the_jenkins_pipeline_keeps_its_results() {
    let text = fs::read_to_string(examples().join("Jenkinsfile")).unwrap();
    // `sh '''...'''` and `sh '...'`.
    let scripts = text.split("sh '").skip(1).map(|rest| match rest.strip_prefix("''") {
        Some(rest) => rest.split("'''").next().unwrap(),
        None => rest.split('\'').next().unwrap(),
    });
    let mut checkout = Checkout::new("< 2s");
    let scripts: Vec<&str> = scripts.collect();
    assert_eq!(scripts.len(), 3);
    for script in scripts {
        let code = checkout.step(script, &[]);
        if script.contains("offered run") {
            fs::write(checkout.path().join("run-code"), code.to_string()).unwrap();
        } else {
            assert_eq!(code, 0, "{script}: {}", checkout.read("log"));
        }
    }
    checkout.check_results(0);
    assert!(
        text.contains("junit 'load-test/junit.xml'") && text.contains("archiveArtifacts artifacts: 'load-test/**'")
    );
}
