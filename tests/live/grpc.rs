//! gRPC with a real server: JSON in both directions, and failures by name.

use std::path::Path;

use offered_events::Outcome;

use crate::harness::Tested;
use crate::process::ended;
use crate::run::run;
use crate::servers::Server;

tests![
    calls_use_a_descriptor_file_or_reflection,
    a_status_other_than_ok_is_a_failure_with_its_name,
    responses_are_checked_as_json,
    unknown_methods_are_reported_before_the_run
];

fn workload(folder: &Path, name: &str, target: &str, requests: &str) -> String {
    let file = folder.join(name);
    let text = format!(
        "duration = \"1s\"\narrivals.open.rate = \"50/s\"\n[target]\nprotocol = \"h2\"\n{target}\n{requests}\n"
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

const PLACE: &str =
    "[[request]]\ngrpc = \"shop.Orders/Place\"\nbody = '{\"item\": \"tea {{session}}\", \"count\": 3}'\n";

fn calls_use_a_descriptor_file_or_reflection() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::orders(folder.path())?;
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
    Ok(())
}

fn a_status_other_than_ok_is_a_failure_with_its_name() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::orders(folder.path())?;
    let target = format!("url = \"{}\"\ndescriptors = \"orders.binpb\"", server.url);
    let run = run(&[&workload(folder.path(), "few.toml", &target, &PLACE.replace(": 3", ": -3"))]);
    run.all(Outcome::GrpcError, "INVALID_ARGUMENT: fewer than none, é");
    server.stop();
    Ok(())
}

fn responses_are_checked_as_json() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::orders(folder.path())?;
    let target = format!("url = \"{}\"\ndescriptors = \"orders.binpb\"", server.url);
    let wrong = format!("{PLACE}check = [{{ name = \"forty\", json = \"$.number\", is = \"40\" }}]");
    run(&[&workload(folder.path(), "forty.toml", &target, &wrong)]).all(Outcome::CheckFailed, "forty");
    // The next call uses the response of the previous one.
    let chain = format!(
        "{PLACE}extract = [{{ name = \"number\", json = \"$.number\" }}]\n[[request]]\nname = \"again\"\n\
         grpc = \"shop.Orders/Place\"\nbody = '{{\"item\": \"more\", \"count\": {{{{number}}}}}}'\n[[flow]]\nname = \"both\"\n\
         [[flow.step]]\nrequest = \"shop.Orders/Place\"\n[[flow.step]]\nrequest = \"again\"\n"
    );
    let file = workload(folder.path(), "chain.toml", &target, &chain);
    let text = std::fs::read_to_string(&file).unwrap();
    let sessions = "arrivals.partly_open = { rate = \"20/s\", think = { constant = \"5ms\" } }";
    std::fs::write(&file, text.replace("arrivals.open.rate = \"50/s\"", sessions)).unwrap();
    let chained = run(&[&file]);
    chained.all(Outcome::Ok, "");
    let log = server.stop();
    let again = chained.events.iter().filter(|event| chained.labels[usize::from(event.label)] == "again").count();
    assert!(again > 0);
    assert_eq!(log.iter().filter(|line| *line == "more 30").count(), again);
    Ok(())
}

fn unknown_methods_are_reported_before_the_run() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::orders(folder.path())?;
    let here = format!("url = \"{}\"\n", server.url);
    for (target, request, words) in [
        ("descriptors = \"orders.binpb\"", PLACE.replace("Place", "Plaice"), "it has Place, Watch"),
        ("reflection = true", PLACE.replace("Orders", "Order"), "shop.Order"),
        ("descriptors = \"orders.binpb\"", PLACE.replace("Place", "Watch"), "is a streaming method"),
        ("descriptors = \"orders.binpb\"", PLACE.replace("count", "amount").replace(" {{session}}", ""), "amount"),
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
    Ok(())
}
