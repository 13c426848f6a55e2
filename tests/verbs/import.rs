//! `offered import` end to end: `offered run` accepts its output, and a dry run sends what the plan specifies.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn offered(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_offered")).args(arguments).current_dir(folder).output().unwrap()
}

fn text(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn succeeds(folder: &Path, arguments: &[&str]) -> String {
    let output = offered(folder, arguments);
    let (stdout, stderr) = text(&output);
    assert!(output.status.success(), "{arguments:?}: {stdout}{stderr}");
    stdout
}

/// Number of requests by name in a dry run of a workload.
fn request_counts(folder: &Path, workload: &str) -> HashMap<String, f64> {
    let out = format!("{workload}.run");
    let run = offered(folder, &["run", workload, "--seed", "7", "--dry-run", "--output", &out, "--quiet"]);
    // Too few requests may end with exit code 3; they are recorded nevertheless.
    assert!([Some(0), Some(3)].contains(&run.status.code()), "{workload}: {:?}", text(&run));
    let table = succeeds(folder, &["export", &out, "--format", "csv"]);
    let mut lines = table.lines();
    let label = lines.next().unwrap().split(',').position(|column| column == "label").unwrap();
    let mut often = HashMap::new();
    for line in lines {
        *often.entry(line.split(',').nth(label).unwrap().to_owned()).or_default() += 1.0;
    }
    often
}

/// A plan like that of Brady and Gunther (9:15): 200 threads started over 100 s, one of fifteen pages at random after a uniform
/// think time of up to 12.5 s, with data from a file.
fn brady() -> String {
    let text = |name: &str, value: &str| format!("<stringProp name=\"{name}\">{value}</stringProp>");
    let pages: String = (1..=15).fold(String::new(), |mut pages, n| {
        let path = text("HTTPSampler.path", &format!("/page{n}.aspx?user=${{user}}&amp;basket=${{basket}}"));
        let _ = write!(
            pages,
            "<HTTPSamplerProxy testname=\"{n:02}0_Page\">{}{path}</HTTPSamplerProxy><hashTree/>",
            text("HTTPSampler.domain", "shop.local")
        );
        pages
    });
    format!(
        "<jmeterTestPlan version=\"1.2\"><hashTree><TestPlan testname=\"web users\"/><hashTree>\
         <ThreadGroup testname=\"readers\"><elementProp name=\"ThreadGroup.main_controller\"><intProp name=\"LoopController.loops\">-1</intProp></elementProp>{}</ThreadGroup>\
         <hashTree><CSVDataSet testname=\"people\">{}</CSVDataSet><hashTree/>\
         <UniformRandomTimer testname=\"think\">{}</UniformRandomTimer><hashTree/>\
         <RandomController testname=\"a page\"/><hashTree>{pages}</hashTree></hashTree></hashTree></hashTree></jmeterTestPlan>",
        [
            ("ThreadGroup.num_threads", "200"),
            ("ThreadGroup.ramp_time", "100"),
            ("ThreadGroup.scheduler", "true"),
            ("ThreadGroup.duration", "1500")
        ]
        .map(|(name, value)| text(name, value))
        .concat(),
        [("filename", "data/people.csv"), ("variableNames", "user,basket"), ("recycle", "true")]
            .map(|(name, value)| text(name, value))
            .concat(),
        [("ConstantTimer.delay", "0"), ("RandomTimer.range", "12500")].map(|(name, value)| text(name, value)).concat(),
    )
}

#[test]
fn the_plan_of_brady_sends_its_mix_with_its_data() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("data")).unwrap();
    std::fs::write(folder.path().join("data/people.csv"), "ann,1\nbob,2\n").unwrap();
    std::fs::write(folder.path().join("brady.jmx"), brady()).unwrap();
    let summary = succeeds(folder.path(), &["import", "brady.jmx", "-o", "brady.toml"]);
    assert_eq!(summary, "brady.toml: closed, 200 users, 25m, 15 requests\n", "nothing is left untranslated");
    let often = request_counts(folder.path(), "brady.toml");
    let all: f64 = often.values().sum();
    // 200 users, mean think time 6.25 s, 25 min, minus half of the ramp of 100 s.
    assert!((all / (32.0 * 1450.0) - 1.0).abs() < 0.02, "{all}");
    let expected = all / 15.0;
    let chi2: f64 = often.values().map(|count| (count - expected).powi(2) / expected).sum();
    assert!(often.len() == 15 && chi2 < 36.1, "chi squared {chi2} with 14 degrees of freedom: {often:?}");
}

#[test]
fn imports_of_every_format_can_be_run() {
    let folder = tempfile::tempdir().unwrap();
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/src/tests/seeds");
    std::fs::write(folder.path().join("people.csv"), "ann,x\nbob,y\n").unwrap();
    std::fs::write(folder.path().join("pic.png"), "picture").unwrap();
    for (file, share) in [
        ("shop.jmx", ("login", 1.0 / 3.0)),
        ("shop.har", ("/", 0.25)),
        ("pets.yaml", ("getPet", 0.25)),
        ("shop.postman.json", ("q", 1.0 / 3.0)),
        ("shop.sh", ("/search", 0.25)),
        ("bank.sql", ("bank", 1.0 / 7.0)),
    ] {
        std::fs::copy(seeds.join(file), folder.path().join(file)).unwrap();
        let workload = format!("{file}.toml");
        let place = ["--set", "PGHOST=127.0.0.1", "--set", "PGUSER=me"];
        succeeds(folder.path(), &[&["import", file, "-o", &workload][..], &place].concat());
        // The commands read a key from the environment.
        let written = std::fs::read_to_string(folder.path().join(&workload)).unwrap();
        std::fs::write(folder.path().join(&workload), written.replace("{ env = \"KEY\" }", "\"key\"")).unwrap();
        let often = request_counts(folder.path(), &workload);
        let all: f64 = often.values().sum();
        let seen = often.get(share.0).copied().unwrap_or(0.0) / all;
        // Four standard deviations, at least the effect of one session cut off at the end.
        let bound = 4.0 * (share.1 * (1.0 - share.1) / all).sqrt() + 4.0 / all;
        assert!((seen - share.1).abs() < bound, "{file}: {} of {all}: {often:?}", share.0);
    }
}

#[test]
fn files_are_found_relative_to_the_workload() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["plans", "loads"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let plan = brady().replace("data/people.csv", "people.csv");
    std::fs::write(folder.path().join("plans/brady.jmx"), plan).unwrap();
    std::fs::write(folder.path().join("plans/people.csv"), "ann,1\n").unwrap();
    for output in ["loads/brady.toml", "here.toml", "plans/brady.toml"] {
        succeeds(folder.path(), &["import", "plans/brady.jmx", "-o", output]);
        let written = std::fs::read_to_string(folder.path().join(output)).unwrap();
        let data = written.split("file = \"").nth(1).unwrap().split('"').next().unwrap();
        let beside = folder.path().join(output).parent().unwrap().join(data);
        assert!(beside.is_file(), "{output}: {data}");
    }
}

#[test]
fn a_history_of_locust_is_known_by_its_header() {
    let folder = tempfile::tempdir().unwrap();
    let header = "Timestamp,User Count,Type,Name,Requests/s,Total Request Count,Total Average Response Time\n";
    let rows = "1700000000,10,,Aggregated,0,0,0\n1700000002,10,,Aggregated,8,16,40\n";
    std::fs::write(folder.path().join("users.csv"), [header, rows].concat()).unwrap();
    let workload = succeeds(folder.path(), &["import", "users.csv", "--set", "host=http://127.0.0.1:8080"]);
    assert!(workload.contains("a statistics history of Locust"), "{workload}");
    std::fs::write(folder.path().join("results.csv"), "timeStamp,elapsed\n1,2\n").unwrap();
    let refused = offered(folder.path(), &["import", "results.csv"]);
    let (_, stderr) = text(&refused);
    assert!(refused.status.code() == Some(2) && stderr.contains("offered verify results.csv"), "{stderr}");
}

#[test]
fn commands_come_from_stdin_too() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_offered"))
        .args(["import", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"curl http://127.0.0.1:8080/a -d x=1").unwrap();
    let output = child.wait_with_output().unwrap();
    let (stdout, _) = text(&output);
    assert!(
        output.status.success() && stdout.contains("from stdin: curl.") && stdout.contains("post = \"/a\""),
        "{stdout}"
    );
}

#[test]
fn other_files_are_refused_with_one_line_and_exit_code_2() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |name: &str, bytes: &[u8], says: &str| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        let output = offered(folder.path(), &["import", name]);
        let (stdout, stderr) = text(&output);
        assert_eq!(
            (output.status.code(), stdout.as_str(), stderr.lines().count()),
            (Some(2), "", 1),
            "{name}: {stderr}"
        );
        assert!(stderr.contains(says), "{name}: {stderr}");
    };
    refused("locust.jmx", b"from locust import HttpUser\n", "guides/from-scripts.md#locust");
    refused("empty.har", b"", "is empty");
    refused("binary.jmx", b"<jmeterTestPlan>\xff\xfe", "is not UTF-8 text");
    refused(
        "cut.har",
        b"{\"log\": {\"entries\": [{",
        "cut.har:1: the file ends inside its JSON; it is truncated; copy it again",
    );
    refused("other.json", b"{}", "unknown file format");
    // A sparse file of a hundred megabytes.
    let file = std::fs::File::create(folder.path().join("large.jmx")).unwrap();
    file.set_len(100 << 20).unwrap();
    let output = offered(folder.path(), &["import", "large.jmx"]);
    let (_, stderr) = text(&output);
    assert_eq!(
        (output.status.code(), stderr.as_str()),
        (Some(2), "error: large.jmx is larger than 64 MiB, the limit for test plans\n")
    );
}
