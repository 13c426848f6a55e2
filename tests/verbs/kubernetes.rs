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
    let args = ["kubernetes", path.to_str().unwrap(), "--workers", "8", "--pvc", "runs", "--spread", "host"];
    let printed = Command::new(env!("CARGO_BIN_EXE_offered")).args(args).output().unwrap();
    let documents: Vec<Value> = serde_saphyr::from_multiple(&String::from_utf8(printed.stdout).unwrap()).unwrap();
    assert_eq!(documents.len(), 2);
    for document in &documents {
        assert_eq!(wrong(document), [""; 0]);
    }
    let mut misspelt = documents[1].clone();
    misspelt["spec"]["template"]["spec"]["restart_policy"] = json!("Never");
    misspelt["spec"]["completions"] = json!("8");
    assert_eq!(wrong(&misspelt).len(), 2, "{:?}", wrong(&misspelt));
}
