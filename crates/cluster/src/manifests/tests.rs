use std::fs;
use std::path::PathBuf;

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

fn settings() -> JobSettings {
    JobSettings {
        name: "shop".to_owned(),
        args: vec!["run".to_owned(), WORKLOAD_PATH.to_owned()],
        reader_args: vec!["serve".to_owned()],
        workers: 8,
        image: "offered:1".to_owned(),
        rendezvous: Rendezvous::Claim("runs".to_owned()),
        service_account: None,
        cpus: 2,
        memory_mib: 512,
        one_per_node: true,
        placement: Placement::default(),
        ttl: None,
        wait: Nanos::from_secs(300),
        deadline: None,
        secret: "shop".to_owned(),
    }
}

/// A bucket as rendezvous.
fn store(credentials: Option<&str>, volume: Option<Volume>) -> Rendezvous {
    let credentials = credentials.map(str::to_owned);
    Rendezvous::ObjectStore { credentials, volume, upload_timeout: Nanos::from_secs(300) }
}

/// A directory with the workload and its files.
fn folder(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for inner in ["pki", "rows"] {
        fs::create_dir(folder.path().join(inner)).unwrap();
    }
    for (file, content) in [
        ("pki/roots.pem", &b"roots"[..]),
        ("pki/own.pem", b"\xff\x00"),
        ("pki/own.key", b"a private key"),
        ("rows/users_1.csv", b"id\r\n7\r\n"),
        ("shop.toml", text.as_bytes()),
    ] {
        fs::write(folder.path().join(file), content).unwrap();
    }
    let path = folder.path().join("shop.toml");
    (folder, path)
}

fn refused(text: &str, settings: &JobSettings) -> String {
    let (_folder, path) = folder(text);
    settings.manifests(&path).unwrap_err().to_string()
}

#[test]
fn all_files_of_the_workload_are_mounted_and_no_secret_is_printed() {
    let (_folder, path) = folder(WORKLOAD);
    let manifests = settings().manifests(&path).unwrap();
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
    assert!(!said.contains("a private key"));
}

#[test]
fn the_deadline_of_the_job_allows_for_the_run() {
    let seconds = |text: &str, settings: &JobSettings| {
        let (_folder, path) = folder(text);
        settings.manifests(&path).unwrap().job["spec"]["activeDeadlineSeconds"].clone()
    };
    assert_eq!(seconds(WORKLOAD, &settings()), 60 + 300 + 300, "the run, the wait, and five minutes");
    let hour = JobSettings { deadline: Some(Nanos::from_secs(3600)), ..settings() };
    assert_eq!(seconds(WORKLOAD, &hour), 3600);
    let counted = WORKLOAD.replace("duration = \"1m\"", "requests = 100");
    assert_eq!(seconds(&counted, &hour), 3600);
    assert!(refused(&counted, &settings()).contains("ends after a number of requests"));
    let short = JobSettings { deadline: Some(Nanos::from_secs(60)), ..settings() };
    assert!(refused(WORKLOAD, &short).contains("the deadline of 1m is shorter than the run itself, 1m"));
}

#[test]
fn invalid_settings_are_refused() {
    let with = |change: fn(&mut JobSettings)| {
        let mut settings = settings();
        change(&mut settings);
        refused(WORKLOAD, &settings)
    };
    for (said, expected) in [
        (with(|settings| settings.workers = 0), "workers must be at least 1"),
        (with(|settings| settings.cpus = 0), "processors must be at least 1"),
        (with(|settings| settings.workers = 100_001), "100001 workers are too many"),
        (with(|settings| settings.name = "Shop".to_owned()), "`Shop` is not a valid name for a Job"),
        (with(|settings| settings.name = "a".repeat(62)), "at most 61"),
        (with(|settings| settings.name = "-a".to_owned()), "`-a` is not a valid name for a Job"),
        (
            with(|settings| settings.rendezvous = Rendezvous::Claim(String::new())),
            "`` is not a valid name for a PersistentVolumeClaim",
        ),
        (with(|settings| settings.image = "a b".to_owned()), "`a b` is not a valid name for an image"),
        (refused(&WORKLOAD.replace("seed = 3\n", ""), &settings()), "needs a seed"),
        (refused("seed = 1\nduration = \"1s\"\narrivals.open.rate = \"1/s\"\n", &settings()), "has no [target]"),
        (
            refused(&WORKLOAD.replace("\"{{token}}\"", "\"{{token}}\"\nauth.bearer = \"hunter2\""), &settings()),
            "contains a password, token or key",
        ),
        (
            refused(&WORKLOAD.replace("pki/roots.pem", "../roots.pem"), &settings()),
            "names ../roots.pem, which is outside",
        ),
        (
            refused(&WORKLOAD.replace("pki/own.key", "/etc/own.key"), &settings()),
            "names /etc/own.key, which is outside",
        ),
        (refused(&WORKLOAD.replace("pki/roots.pem", "pki/none.pem"), &settings()), "none.pem: No such file"),
        (refused(&WORKLOAD.replace("seed", "sede"), &settings()), "unknown key `sede`"),
    ] {
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn files_too_large_for_a_config_map_are_listed_with_their_sizes() {
    let (folder, path) = folder(WORKLOAD);
    fs::write(folder.path().join("rows/users_1.csv"), "id\n".to_owned() + &"1\n".repeat(MAX_APPLY_BYTES / 2)).unwrap();
    let bytes = 3 + MAX_APPLY_BYTES + WORKLOAD.len() + 5 + 2;
    assert_eq!(settings().manifests(&path).unwrap().warnings, [Warning::TooLargeToApply { bytes }]);
    fs::write(folder.path().join("rows/users_1.csv"), "id\n".to_owned() + &"1\n".repeat(MAX_BYTES / 2)).unwrap();
    let said = settings().manifests(&path).unwrap_err().to_string();
    let all = 3 + MAX_BYTES + WORKLOAD.len() + 5 + 2;
    let sizes = format!("have {all} bytes (rows/users_1.csv {}, workload.toml {}, ", 3 + MAX_BYTES, WORKLOAD.len());
    assert!(said.contains(&sizes), "{said}");
}

#[test]
fn every_exit_code_of_a_worker_that_ended_is_final() {
    let (_folder, path) = folder(WORKLOAD);
    let job = settings().manifests(&path).unwrap().job;
    let rules = &job["spec"]["podFailurePolicy"]["rules"];
    assert_eq!(rules[0]["onExitCodes"]["values"], json!([1, 2, 3, 4, 99]), "4: recorded, but not all of it uploaded");
}

#[test]
fn a_worker_has_time_to_upload_the_rest() {
    let (_folder, path) = folder(WORKLOAD);
    let of = |settings: JobSettings| {
        let job = settings.manifests(&path).unwrap().job;
        let grace = &job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"];
        (job["spec"]["activeDeadlineSeconds"].as_u64().unwrap(), grace.as_u64().unwrap())
    };
    let (deadline, grace) = of(settings());
    let in_store = of(JobSettings { rendezvous: store(None, None), ..settings() });
    assert_eq!(in_store, (deadline + 300, grace + 300));
}

#[test]
fn a_volume_of_a_worker_outlives_the_worker() {
    let (_folder, path) = folder(WORKLOAD);
    let volume = Volume { size: "10Gi".to_owned(), class: Some("fast".to_owned()) };
    let job = JobSettings { rendezvous: store(None, Some(volume)), ..settings() }.manifests(&path).unwrap().job;
    let volume = &job["spec"]["template"]["spec"]["volumes"][1];
    let claim = &volume["ephemeral"]["volumeClaimTemplate"]["spec"];
    assert_eq!(claim["resources"]["requests"]["storage"], "10Gi");
    assert_eq!((&claim["storageClassName"], &claim["accessModes"]), (&json!("fast"), &json!(["ReadWriteOnce"])));
}

#[test]
fn placement_is_in_every_object() {
    let (_folder, path) = folder(WORKLOAD);
    let pair = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    let placement = Placement {
        namespace: Some("load".to_owned()),
        labels: pair("team", "checkout"),
        annotations: pair("example.com/note", "any text"),
        node_selector: pair("pool", "load"),
        tolerations: vec!["dedicated=load:NoSchedule".parse().unwrap()],
        pull_secrets: vec!["registry".to_owned()],
    };
    let settings = JobSettings { placement, ttl: Some(Nanos::from_secs(3600)), ..settings() };
    let Manifests { config, job, reader, .. } = settings.manifests(&path).unwrap();
    let (template, reader) = (&job["spec"]["template"], reader.unwrap());
    for object in [&config, &job, template, &reader] {
        let metadata = &object["metadata"];
        assert_eq!(
            (&metadata["labels"]["team"], &metadata["annotations"]["example.com/note"]),
            (&json!("checkout"), &json!("any text"))
        );
        assert_eq!(metadata["labels"]["app.kubernetes.io/instance"], "shop");
    }
    for object in [&config, &job] {
        assert_eq!(object["metadata"]["namespace"], "load");
    }
    for pod in [&template["spec"], &reader["spec"]] {
        assert_eq!(pod["nodeSelector"], json!({ "pool": "load" }));
        assert_eq!(pod["tolerations"][0]["key"], "dedicated");
        assert_eq!(pod["imagePullSecrets"], json!([{ "name": "registry" }]));
    }
    assert_eq!(job["spec"]["ttlSecondsAfterFinished"], 3600);
    let selector =
        &template["spec"]["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
    assert_eq!(selector["labelSelector"]["matchLabels"].as_object().unwrap().len(), 2, "only our own");
    let invalid = Placement { namespace: Some("a.b".to_owned()), ..Placement::default() };
    assert!(
        refused(WORKLOAD, &JobSettings { placement: invalid, ..self::settings() })
            .contains("`a.b` is not a valid name for a namespace")
    );
}

#[test]
fn different_paths_have_different_keys() {
    let paths = ["a/b", "a_b", "a_2f_b", "a__b", "a b", "a.b", "a-b", "é"];
    let keys: std::collections::HashSet<String> = paths.iter().map(|path| workload_files::key_for(path)).collect();
    assert_eq!(keys.len(), paths.len());
    let plain = |c: char| c.is_ascii_alphanumeric() || ['-', '.', '_'].contains(&c);
    assert!(keys.iter().all(|key| key.chars().all(plain)), "{keys:?}");
}

#[test]
fn a_loopback_target_is_warned_about() {
    let (_folder, path) = folder(&WORKLOAD.replace("https://shop.example/", "https://127.0.0.1:8080/"));
    let warnings = settings().manifests(&path).unwrap().warnings;
    assert_eq!(warnings, [Warning::LoopbackTarget { url: "https://127.0.0.1:8080/".to_owned() }]);
}

#[test]
fn the_reader_mounts_the_claim_read_only() {
    let (_folder, path) = folder(WORKLOAD);
    let pod = settings().manifests(&path).unwrap().reader.unwrap()["spec"].clone();
    let container = &pod["containers"][0];
    assert_eq!(container["volumeMounts"], json!([{ "name": "runs", "mountPath": RUNS_PATH, "readOnly": true }]));
    assert_eq!(container["args"], json!(["serve"]));
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert!(pod["activeDeadlineSeconds"].as_u64().is_some(), "the cluster deletes it");
}

#[test]
fn with_an_object_store_there_is_no_claim_and_credentials_are_only_named() {
    let (_folder, path) = folder(WORKLOAD);
    let store = |credentials: Option<&str>| store(credentials, None);
    let keys = JobSettings { rendezvous: store(Some("aws")), ..settings() };
    let manifests = keys.manifests(&path).unwrap();
    assert!(manifests.reader.is_none(), "it is read in the store");
    let pod = &manifests.job["spec"]["template"]["spec"];
    let worker = &pod["containers"][0];
    assert_eq!(worker["envFrom"], json!([{ "secretRef": { "name": "aws" } }]));
    assert_eq!(worker["volumeMounts"][1], json!({ "name": "temporary", "mountPath": "/tmp" }), "on its way there");
    assert_eq!(pod["volumes"][1], json!({ "name": "temporary", "emptyDir": {} }));
    let role = JobSettings { rendezvous: store(None), service_account: Some("loader".to_owned()), ..settings() };
    let pod = role.manifests(&path).unwrap().job["spec"]["template"]["spec"].clone();
    assert_eq!((&pod["serviceAccountName"], &pod["containers"][0]["envFrom"]), (&json!("loader"), &Value::Null));
    assert!(
        refused(WORKLOAD, &JobSettings { rendezvous: store(Some("a b")), ..settings() })
            .contains("`a b` is not a valid name for a Secret with credentials")
    );
}
