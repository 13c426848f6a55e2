use std::fs;

use super::*;

const WORKLOAD: &str = r#"seed = 3
duration = "1m"
arrivals.open.rate = "100/s"
[target]
url = "https://shop.example/"
tls = { roots = "pki/roots.pem", certificate = "pki/own.pem", key = "pki/own.key" }
[variables]
user = { file = "rows/users_1.csv" }
token = { env = "TOKEN" }
[[request]]
get = "/{{user.id}}"
headers.X = "{{token}}"
"#;

fn cluster() -> Cluster {
    Cluster {
        name: "shop".to_owned(),
        args: vec!["run".to_owned(), super::WORKLOAD.to_owned()],
        waiting: vec!["serve".to_owned()],
        workers: 8,
        image: "offered:1".to_owned(),
        meets: Meets::Claim("runs".to_owned()),
        service_account: None,
        cpus: 2,
        memory_mib: 512,
        apart: true,
        wait: Nanos::from_secs(300),
        deadline: None,
        secret: "shop".to_owned(),
    }
}

/// A folder with the workload and its files.
fn folder(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for inner in ["pki", "rows"] {
        fs::create_dir(folder.path().join(inner)).unwrap();
    }
    for (file, content) in [
        ("pki/roots.pem", &b"roots"[..]),
        ("pki/own.pem", b"\xff\x00"),
        ("pki/own.key", b"nobody's business"),
        ("rows/users_1.csv", b"id\r\n7\r\n"),
        ("shop.toml", text.as_bytes()),
    ] {
        fs::write(folder.path().join(file), content).unwrap();
    }
    let path = folder.path().join("shop.toml");
    (folder, path)
}

fn refused(text: &str, cluster: &Cluster) -> String {
    let (_folder, path) = folder(text);
    cluster.manifests(&path).unwrap_err().to_string()
}

#[test]
fn everything_the_workload_reads_goes_where_it_finds_it_and_no_secret_is_told() {
    let (_folder, path) = folder(WORKLOAD);
    let manifests = cluster().manifests(&path).unwrap();
    let said = manifests.to_string();
    let read: Vec<Value> = serde_saphyr::from_multiple(&said).unwrap();
    assert_eq!(read, [manifests.config, manifests.job], "to the letter, carriage returns too");
    let [config, job] = &read[..] else { panic!("{said}") };
    let data = json!({ "workload.toml": WORKLOAD, "pki_2f_roots.pem": "roots", "rows_2f_users__1.csv": "id\r\n7\r\n" });
    assert_eq!((&config["data"], &config["binaryData"]), (&data, &json!({ "pki_2f_own.pem": "/wA=" })));
    let pod = &job["spec"]["template"]["spec"];
    let sources = &pod["volumes"][0]["projected"]["sources"];
    let paths = sources[0]["configMap"]["items"].as_array().unwrap().iter().map(|item| item["path"].as_str().unwrap());
    assert_eq!(paths.collect::<Vec<_>>(), ["workload.toml", "pki/own.pem", "pki/roots.pem", "rows/users_1.csv"]);
    let key = json!({ "name": "shop", "items": [{ "key": "pki_2f_own.key", "path": "pki/own.key" }] });
    assert_eq!(sources[1]["secret"], key);
    let token = json!({ "name": "TOKEN", "valueFrom": { "secretKeyRef": { "name": "shop", "key": "TOKEN" } } });
    assert_eq!(pod["containers"][0]["env"], json!([token]));
    let of_secret = (vec!["TOKEN".to_owned()], Some(("pki_2f_own.key".to_owned(), "pki/own.key".to_owned())));
    assert_eq!((manifests.environment, manifests.key), of_secret);
    assert!(!said.contains("nobody's business"));
}

#[test]
fn a_job_lasts_as_long_as_its_run_may_take() {
    let seconds = |text: &str, cluster: &Cluster| {
        let (_folder, path) = folder(text);
        cluster.manifests(&path).unwrap().job["spec"]["activeDeadlineSeconds"].clone()
    };
    assert_eq!(seconds(WORKLOAD, &cluster()), 60 + 300 + 300, "the run, the wait, and what is around them");
    let hour = Cluster { deadline: Some(Nanos::from_secs(3600)), ..cluster() };
    assert_eq!(seconds(WORKLOAD, &hour), 3600);
    let counted = WORKLOAD.replace("duration = \"1m\"", "requests = 100");
    assert_eq!(seconds(&counted, &hour), 3600);
    assert!(refused(&counted, &cluster()).contains("ends after a number of requests"));
    let short = Cluster { deadline: Some(Nanos::from_secs(60)), ..cluster() };
    assert!(refused(WORKLOAD, &short).contains("a deadline of 1m is shorter than the run itself, 1m"));
}

#[test]
fn mistakes_are_told_before_a_cluster_finds_them() {
    let with = |change: fn(&mut Cluster)| {
        let mut cluster = cluster();
        change(&mut cluster);
        refused(WORKLOAD, &cluster)
    };
    for (said, expected) in [
        (with(|cluster| cluster.workers = 0), "workers must be at least 1"),
        (with(|cluster| cluster.cpus = 0), "processors must be at least 1"),
        (with(|cluster| cluster.workers = 100_001), "100001 workers are more than an Indexed Job has"),
        (with(|cluster| cluster.name = "Shop".to_owned()), "`Shop` is no name for a Job"),
        (with(|cluster| cluster.name = "a".repeat(62)), "61 at most"),
        (with(|cluster| cluster.name = "-a".to_owned()), "`-a` is no name for a Job"),
        (with(|cluster| cluster.meets = Meets::Claim(String::new())), "`` is no name for a PersistentVolumeClaim"),
        (with(|cluster| cluster.image = "a b".to_owned()), "`a b` is no name for an image"),
        (refused(&WORKLOAD.replace("seed = 3\n", ""), &cluster()), "needs a seed"),
        (refused("seed = 1\nduration = \"1s\"\narrivals.open.rate = \"1/s\"\n", &cluster()), "has no [target]"),
        (
            refused(&WORKLOAD.replace("\"{{token}}\"", "\"{{token}}\"\nauth.bearer = \"hunter2\""), &cluster()),
            "stands in the text",
        ),
        (
            refused(&WORKLOAD.replace("pki/roots.pem", "../roots.pem"), &cluster()),
            "names ../roots.pem, which is not beneath",
        ),
        (
            refused(&WORKLOAD.replace("pki/own.key", "/etc/own.key"), &cluster()),
            "names /etc/own.key, which is not beneath",
        ),
        (refused(&WORKLOAD.replace("pki/roots.pem", "pki/none.pem"), &cluster()), "none.pem: No such file"),
        (refused(&WORKLOAD.replace("seed", "sede"), &cluster()), "unknown key `sede`"),
    ] {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn files_beyond_what_a_config_map_holds_are_named_with_their_sizes() {
    let (folder, path) = folder(WORKLOAD);
    fs::write(folder.path().join("rows/users_1.csv"), "id\n".to_owned() + &"1\n".repeat(MOST_APPLIED / 2)).unwrap();
    let bytes = 3 + MOST_APPLIED + WORKLOAD.len() + 5 + 2;
    assert_eq!(cluster().manifests(&path).unwrap().doubts, [Doubt::TooBigToApply { bytes }]);
    fs::write(folder.path().join("rows/users_1.csv"), "id\n".to_owned() + &"1\n".repeat(MOST_BYTES / 2)).unwrap();
    let said = cluster().manifests(&path).unwrap_err().to_string();
    let all = 3 + MOST_BYTES + WORKLOAD.len() + 5 + 2;
    let sizes = format!("has {all} (rows/users_1.csv {}, workload.toml {}, ", 3 + MOST_BYTES, WORKLOAD.len());
    assert!(said.contains(&sizes), "{said}");
}

#[test]
fn no_two_paths_have_one_key() {
    let paths = ["a/b", "a_b", "a_2f_b", "a__b", "a b", "a.b", "a-b", "é"];
    let keys: std::collections::HashSet<String> = paths.iter().map(|path| packed::key_of(path)).collect();
    assert_eq!(keys.len(), paths.len());
    let plain = |c: char| c.is_ascii_alphanumeric() || ['-', '.', '_'].contains(&c);
    assert!(keys.iter().all(|key| key.chars().all(plain)), "{keys:?}");
}

#[test]
fn what_a_pod_would_not_find_is_doubted() {
    let (_folder, path) = folder(&WORKLOAD.replace("https://shop.example/", "https://127.0.0.1:8080/"));
    let doubts = cluster().manifests(&path).unwrap().doubts;
    assert_eq!(doubts, [Doubt::OwnPod { url: "https://127.0.0.1:8080/".to_owned() }]);
}

#[test]
fn who_reads_a_run_waits_with_the_claim_and_changes_nothing_in_it() {
    let (_folder, path) = folder(WORKLOAD);
    let pod = cluster().manifests(&path).unwrap().reader.unwrap()["spec"].clone();
    let container = &pod["containers"][0];
    assert_eq!(container["volumeMounts"], json!([{ "name": "runs", "mountPath": RUNS, "readOnly": true }]));
    assert_eq!(container["args"], json!(["serve"]));
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert!(pod["activeDeadlineSeconds"].as_u64().is_some(), "nobody has to remember it");
}

#[test]
fn workers_that_meet_in_a_store_need_no_claim_and_their_credentials_are_only_named() {
    let (_folder, path) = folder(WORKLOAD);
    let meets = |credentials: Option<&str>| Meets::Store { credentials: credentials.map(str::to_owned) };
    let keys = Cluster { meets: meets(Some("aws")), ..cluster() };
    let manifests = keys.manifests(&path).unwrap();
    assert!(manifests.reader.is_none(), "it is read in the store");
    let pod = &manifests.job["spec"]["template"]["spec"];
    let worker = &pod["containers"][0];
    assert_eq!(worker["envFrom"], json!([{ "secretRef": { "name": "aws" } }]));
    assert_eq!(worker["volumeMounts"][1], json!({ "name": "temporary", "mountPath": "/tmp" }), "on its way there");
    assert_eq!(pod["volumes"][1], json!({ "name": "temporary", "emptyDir": {} }));
    let role = Cluster { meets: meets(None), service_account: Some("loader".to_owned()), ..cluster() };
    let pod = role.manifests(&path).unwrap().job["spec"]["template"]["spec"].clone();
    assert_eq!((&pod["serviceAccountName"], &pod["containers"][0]["envFrom"]), (&json!("loader"), &Value::Null));
    assert!(
        refused(WORKLOAD, &Cluster { meets: meets(Some("a b")), ..cluster() })
            .contains("`a b` is no name for a Secret of credentials")
    );
}
