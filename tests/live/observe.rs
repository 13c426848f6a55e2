//! The server's side of a run: observed during the run and compared with it.

use std::fs;
use std::net::UdpSocket;

use rustix::process::Signal;
use serde_json::Value;

use crate::harness::{Tested, needs};
use crate::process::{Process, Serve, ended, offered, until_exists};

tests![observations_appear_in_the_report, unrelated_observations_are_refused];

/// Starts an observer and a run that synchronises with its clock; then both appear on one page.
fn observations_appear_in_the_report() -> Tested {
    needs("linux", cfg!(target_os = "linux"))?;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    // A port that was free a moment ago, and one without a listener.
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let server = Serve::with(&["--listen", "127.0.0.1:0", "--service", "exponential:1ms", "--wait-mode", "sleep"]);
    let (host, run, workload) = (path("host.parquet"), path("run"), path("w.toml"));
    let listen = port.to_string();
    let every = ["--interval", "50ms", "--name", "unknown", "--listen", &listen, "--pid"];
    let pid = std::process::id().to_string();
    let observer = [&["observe", "--output", &host][..], &every, &[&pid]].concat();
    let observer = Process::start(offered(&observer));
    until_exists(&folder.path().join("host.parquet.tmp"));
    let text = format!(
        "duration = \"3s\"\narrivals.open.rate = \"40/s\"\ntarget.url = \"{}/\"\n\
         observe.hosts = {{ db = \"{port}\", gone = \"{}\" }}\n",
        server.url,
        silent.local_addr().unwrap()
    );
    fs::write(&workload, text).unwrap();
    let made = ended(&["run", &workload, "--output", &run, "--quiet"]);
    assert!(matches!(made.code, Some(0 | 3)), "{made:?}");
    assert!(made.stderr.contains("gone at 127.0.0.1:") && !made.stderr.contains("db at"), "{made:?}");
    assert!(!folder.path().join("host.parquet").exists(), "it is not whole yet");
    observer.signal(Signal::TERM);
    let observer = observer.end();
    assert_eq!(observer.code, Some(0), "{observer:?}");
    assert!(observer.stderr.contains("answering clock queries at 127.0.0.1:"), "{observer:?}");

    let record: Value = serde_json::from_str(&fs::read_to_string(format!("{run}/run.json")).unwrap()).unwrap();
    let asked = &record["hosts"][0];
    assert!(asked["clock"]["before"]["answers"].as_u64() > Some(0) && asked["clock"]["after"].is_object(), "{asked}");
    assert_eq!(record["hosts"][1]["token"], Value::Null);

    let verdict = ended(&["verify", &run, "--host", &host, "--json"]);
    let verdict: Value = serde_json::from_str(&verdict.stdout).unwrap();
    let seen = &verdict["server_side"]["hosts"][0];
    // The name in the workload, recognised by the number in the response.
    assert_eq!((&seen["name"], &seen["clock"]["source"]), (&"db".into(), &"same_clock".into()));
    assert!(seen["samples"].as_u64() > Some(10) && seen["processors"].as_u64() > Some(0), "{seen}");
    assert_eq!(seen["utilisation_law"]["counter"], "processes");
    let measured = |resource: &str| seen["measures"].as_array().unwrap().iter().any(|m| m["resource"] == resource);
    assert!(["processors", "running", "memory", "process"].iter().all(|resource| measured(resource)), "{seen}");

    // Files in the run directory are found without an option.
    fs::create_dir(format!("{run}/observed")).unwrap();
    fs::rename(&host, format!("{run}/observed/db.parquet")).unwrap();
    let page = ended(&["verify", &run, "--details"]);
    assert!(page.stdout.contains("\nServer\nmachine") && page.stdout.contains("db: U = X S: "), "{page:?}");
    let report = path("report.html");
    assert_eq!(ended(&["report", &run, "-o", &report]).code, Some(0));
    let report = fs::read_to_string(report).unwrap();
    for part in ["<details id=\"server-side\">", "server-side-utilisation", "server-side-run-queue", "server-side-load"]
    {
        assert!(report.contains(part), "{part}");
    }
    Ok(())
}

fn unrelated_observations_are_refused() -> Tested {
    needs("linux", cfg!(target_os = "linux"))?;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().expect("a plain path").to_owned();
    let (host, run, text) = (path("host.parquet"), path("run"), path("text.parquet"));
    assert_eq!(ended(&["observe", "--output", &host, "-d", "20ms", "--interval", "10ms"]).code, Some(0));
    let again = ended(&["observe", "--output", &host]);
    assert!(again.code == Some(2) && again.stderr.contains("already exists"), "{again:?}");
    let dry = ["run", "http://127.0.0.1:1/", "--open", "50/s", "-d", "4s", "--dry-run", "--quiet", "--output", &run];
    assert_eq!(ended(&dry).code, Some(0));
    let virtually = ended(&["verify", &run, "--host", &host]);
    assert!(virtually.code == Some(2) && virtually.stderr.contains("virtual clock"), "{virtually:?}");
    fs::write(&text, "time,cpu\n").unwrap();
    let other = ended(&["verify", &run, "--host", &text]);
    assert_eq!(other.code, Some(2), "{other:?}");

    // Timestamps of another tool are dates; there are no observations for another day.
    let results = path("results.jtl");
    let rows = (0..200).map(|i| format!("{},40,a,200,OK,t 1-1,text,true,1,12\n", 1_700_000_000_000u64 + 50 * i));
    let head = "timeStamp,elapsed,label,responseCode,responseMessage,threadName,dataType,success,bytes,Latency\n";
    fs::write(&results, head.to_owned() + &rows.collect::<String>()).unwrap();
    let page = ended(&["verify", &results, "--host", &host]);
    let said = page.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("no sample is within the run"), "{page:?}");
    assert!(said.contains("nothing was observed in the analysed time"), "{page:?}");
    Ok(())
}
