//! The manifests of `offered kubernetes`, checked against the Kubernetes API in `tests/oracle/kubernetes.json`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

const WORKLOAD: &str = "seed = 3\nduration = \"10m\"\narrivals.open.rate = \"2000/s\"\n[target]\nurl = \"https://shop.example/\"\n\
    tls = { certificate = \"own.pem\", key = \"own.key\" }\n[variables]\ntoken = { env = \"TOKEN\" }\n\
    [[request]]\nget = \"/\"\nauth.bearer = \"{{token}}\"\n";

/// Violations of the API's schema of this kind.
fn wrong(document: &Value) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/oracle/kubernetes.json");
    let mut schema: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let kind = match document["kind"].as_str() {
        Some("Job") => "io.k8s.api.batch.v1.Job",
        Some("ConfigMap") => "io.k8s.api.core.v1.ConfigMap",
        // A template has the fields of a pod.
        None => "io.k8s.api.core.v1.PodTemplateSpec",
        other => panic!("{other:?}"),
    };
    schema["$ref"] = format!("#/$defs/{kind}").into();
    let api = jsonschema::validator_for(&schema).unwrap();
    api.iter_errors(document).map(|why| format!("{}: {why}", why.instance_path())).collect()
}

#[test]
fn every_printed_field_is_in_the_api() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| fs::write(folder.path().join(name), content).unwrap();
    write("shop.toml", WORKLOAD.as_bytes());
    write("own.pem", b"\xff");
    write("own.key", b"");
    let path = folder.path().join("shop.toml");
    let args = ["kubernetes", path.to_str().unwrap(), "--workers", "8", "--spread", "host"];
    let claim = ["--pvc", "runs"];
    let bucket = ["--rendezvous", "s3://bucket/run7", "--credentials", "aws", "--storage", "10Gi"];
    let placed = [
        "--namespace=load",
        "--label=team=checkout",
        "--annotation=note=any text",
        "--node-selector=pool=load",
        "--toleration=dedicated=load:NoSchedule",
        "--toleration=gpu",
        "--pull-secret=registry",
        "--ttl=1h",
    ];
    let mut last = Vec::new();
    for more in [&claim[..], &bucket, &[&bucket[..], &placed].concat()] {
        let printed = Command::new(env!("CARGO_BIN_EXE_offered")).args(args).args(more).output().unwrap();
        last = serde_saphyr::from_multiple::<Value>(&String::from_utf8(printed.stdout).unwrap()).unwrap();
        assert_eq!(last.len(), 2);
        for document in &last {
            assert_eq!(wrong(document), [""; 0]);
        }
    }
    let mut misspelt = last[1].clone();
    misspelt["spec"]["template"]["spec"]["restart_policy"] = json!("Never");
    misspelt["spec"]["completions"] = json!("8");
    assert_eq!(wrong(&misspelt).len(), 2, "{:?}", wrong(&misspelt));
}

/// The pods that a user starts by hand.
#[test]
fn the_examples_are_of_the_api() {
    for name in ["push.yaml", "reader.yaml"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/cluster").join(name);
        let mut pod: Value = serde_saphyr::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        let fields = pod.as_object_mut().unwrap();
        assert_eq!((fields.remove("kind"), fields.remove("apiVersion")), (Some(json!("Pod")), Some(json!("v1"))));
        assert_eq!(wrong(&pod), [""; 0], "{name}");
        let image = concat!("offered:", env!("CARGO_PKG_VERSION"));
        assert_eq!(pod["spec"]["containers"][0]["image"], image, "{name}: the default of --image");
    }
}

/// The loop of the guide ends when a Job succeeds and when it fails, whatever other conditions it has.
#[test]
fn the_wait_of_the_guide_ends_in_both_cases() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/src/guides/machines.md");
    let guide = fs::read_to_string(guide).unwrap();
    let wait = guide.lines().find(|line| line.starts_with("until kubectl get job shop")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let ends = |conditions: &str| {
        let script = format!("kubectl() {{ echo '{conditions}'; }}\nsleep() {{ exit 7; }}\n{wait}\n");
        Command::new("sh").args(["-c", &script]).current_dir(folder.path()).status().unwrap().code()
    };
    for over in ["Complete", "Failed", "SuccessCriteriaMet Complete", "FailureTarget Failed"] {
        assert_eq!(ends(over), Some(0), "{over}");
    }
    // The pods of a Job with these conditions still run.
    for running in ["", "SuccessCriteriaMet", "FailureTarget", "Suspended"] {
        assert_eq!(ends(running), Some(7), "{running}");
    }
}
