//! gRPC with a real server: JSON there and back, failures with their names.

use std::path::Path;

use offered_model::Outcome;

use crate::process::ended;
use crate::run::run;
use crate::servers::Server;

fn workload(folder: &Path, name: &str, target: &str, requests: &str) -> String {
    let file = folder.join(name);
    let text = format!(
        "duration = \"1s\"\narrivals.open.rate = \"50/s\"\n[target]\nprotocol = \"h2\"\n{target}\n{requests}\n"
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

const PLACE: &str = "[[request]]\ngrpc = \"shop.Orders/Place\"\nbody = '{\"item\": \"tea {session}\", \"count\": 3}'\n";

#[test]
fn calls_are_made_from_a_file_of_descriptors_or_by_reflection() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::orders(folder.path()) else { return };
    let mut placed = 0;
    for described in ["descriptors = \"orders.binpb\"", "reflection = true"] {
        let target = format!("url = \"{}\"\n{described}", server.url);
        let checks =
            "check = [{ json = \"$.number\", is = \"30\" }, { json = \"$.itemText\", matches = \"^tea [0-9]+$\" }]";
        let run = run(&[&workload(folder.path(), "calls.toml", &target, &format!("{PLACE}{checks}"))]);
        run.all(Outcome::Ok, "");
        assert!(run.events.iter().all(|event| event.status == 200 && event.bytes_out > 5));
        placed += run.events.len();
    }
    let log = server.stop();
    assert_eq!(log.len(), placed);
    assert!(log.iter().all(|line| line.starts_with("tea ") && line.ends_with(" 3")), "{:?}", log.first());
}

#[test]
fn a_status_other_than_ok_is_a_failure_with_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::orders(folder.path()) else { return };
    let target = format!("url = \"{}\"\ndescriptors = \"orders.binpb\"", server.url);
    let run = run(&[&workload(folder.path(), "few.toml", &target, &PLACE.replace(": 3", ": -3"))]);
    run.all(Outcome::GrpcError, "INVALID_ARGUMENT: fewer than none, é");
    server.stop();
}

#[test]
fn what_cannot_be_called_is_told_before_launch() {
    let folder = tempfile::tempdir().unwrap();
    let Some(server) = Server::orders(folder.path()) else { return };
    let here = format!("url = \"{}\"\n", server.url);
    for (target, request, words) in [
        ("descriptors = \"orders.binpb\"", PLACE.replace("Place", "Plaice"), "known: Place, Watch"),
        ("reflection = true", PLACE.replace("Orders", "Order"), "shop.Order"),
        ("descriptors = \"orders.binpb\"", PLACE.replace("Place", "Watch"), "a stream of messages"),
        ("descriptors = \"orders.binpb\"", PLACE.replace("count", "amount").replace(" {session}", ""), "amount"),
        ("descriptors = \"none.binpb\"", PLACE.to_owned(), "none.binpb"),
        ("descriptors = \"wrong.toml\"", PLACE.to_owned(), "protoc"),
        ("", PLACE.to_owned(), "reflection = true"),
    ] {
        let file = workload(folder.path(), "wrong.toml", &format!("{here}{target}"), &request);
        let ended = ended(&["run", &file]);
        assert!(ended.code == Some(1) || ended.code == Some(2), "{ended:?}");
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{}", ended.stderr);
    }
    assert_eq!(server.stop(), Vec::<String>::new());
}
