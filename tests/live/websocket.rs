//! WebSocket with a real server: messages and responses are events.

use std::path::Path;

use offered_events::Outcome;

use crate::harness::Tested;
use crate::process::{ended, soon};
use crate::run::run;
use crate::servers::Server;

tests![every_session_has_its_own_connection, messages_are_checked, timeouts_closes_and_refusals_are_distinguished];

fn workload(folder: &Path, target: &str, requests: &str) -> String {
    let file = folder.join("chat.toml");
    let text = format!(
        "duration = \"2s\"\n[arrivals]\npartly_open = {{ rate = \"30/s\", stay = 0.7, think = {{ constant = \"10ms\" }} }}\n[target]\n{target}\n{requests}\n"
    );
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn every_session_has_its_own_connection() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::chat(folder.path())?;
    let target = format!("url = \"{}/room\"", server.url);
    let request = "[[request]]\nname = \"hello\"\nwebsocket = { send = \"hello {{session}}\", await = \"^you said hello [0-9]+$\" }\n\
                   check = [{ body = true, contains = \"said hello\" }]";
    let run = run(&[&workload(folder.path(), &target, request)]);
    run.all(Outcome::Ok, "");
    let sessions: std::collections::BTreeSet<u64> = run.events.iter().map(|event| event.session).collect();
    assert_eq!(run.connections(), sessions.len());
    for event in &run.events {
        assert!(event.status == 101 && event.reused == (event.step > 0), "{event:?}");
        // The two earlier messages are read as well.
        let said = format!("hello {}", event.session).len() as u64;
        assert_eq!((event.bytes_out, event.bytes_in), (said, said + 9 + 10), "{event:?}");
    }
    // Each session closes with a close frame, which the server receives (1006 would be an end without one).
    let is_end = |line: &String| line.starts_with("closed ");
    let all =
        soon(|| Some(server.told()).filter(|told| told.iter().filter(|line| is_end(line)).count() == sessions.len()));
    let ends: Vec<String> = all.expect("an end of each session").into_iter().filter(is_end).collect();
    assert!(ends.iter().all(|end| end == "closed 1000"), "{ends:?}");
    let mut log: Vec<String> = server.stop().into_iter().filter(|line| !is_end(line)).collect();
    log.sort();
    let mut said: Vec<String> = run.events.iter().map(|event| format!("hello {}", event.session)).collect();
    said.sort();
    assert_eq!(log, said);
    Ok(())
}

fn messages_are_checked() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::chat(folder.path())?;
    let target = format!("url = \"{}\"", server.url);
    let request = "[[request]]\nname = \"hello\"\nwebsocket = { send = \"hello\", await = \"^you\" }\n\
                   check = [{ name = \"polite\", body = true, contains = \"please\" }]";
    run(&[&workload(folder.path(), &target, request)]).all(Outcome::CheckFailed, "polite");
    server.stop();
    Ok(())
}

fn timeouts_closes_and_refusals_are_distinguished() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::chat(folder.path())?;
    let url = format!("url = \"{}\"", server.url);
    let ask = |target: &str, request: &str| run(&[&workload(folder.path(), target, request)]);
    let drop = ask(&url, "[[request]]\nwebsocket = { send = \"drop\", await = \"said\" }");
    drop.all(Outcome::Reset, "closed by the server (4001 as asked)");
    let hush = ask(&format!("{url}\nresponse_timeout = \"200ms\""), "[[request]]\nwebsocket = { send = \"hush\" }");
    hush.all(Outcome::Timeout, "no expected message");
    // The server has to respond to each message before the timeout.
    let other = ask(
        &format!("{url}\nresponse_timeout = \"1s\""),
        "[[request]]\nwebsocket = { send = \"x\", await = \"^never$\" }",
    );
    other.all(Outcome::Timeout, "no expected message");
    let unanswered: Vec<_> = other.events.iter().filter(|event| event.bytes_in == 0).collect();
    assert!(unanswered.is_empty(), "{} of {}: {unanswered:?}", unanswered.len(), other.events.len());
    let forbidden = ask(&url, "[[request]]\nget = \"/forbidden\"\nwebsocket = { send = \"x\" }");
    assert_eq!(forbidden.count(Outcome::HttpError), forbidden.events.len(), "{}", forbidden.json["outcomes"]);
    assert!(forbidden.events.iter().all(|event| event.status == 403));
    let only = ask(&url, "[[request]]\nwebsocket = {}");
    only.all(Outcome::Ok, "");
    server.stop();
    let invalid = "[[request]]\nwebsocket = { await = \"(\" }";
    let ended = ended(&["run", &workload(folder.path(), &url, invalid)]);
    assert!(matches!(ended.code, Some(1 | 2)) && ended.stderr.contains("regular expression"), "{ended:?}");
    Ok(())
}
