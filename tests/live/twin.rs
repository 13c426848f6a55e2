//! A run compared with the simulation of its own workload, at a server that equals the model.
//!
//! Service times are long compared with the overhead of a busy machine, which the run measures as lateness and which is
//! allowed on the slow side only.

use std::fs;

use serde_json::Value;

use crate::harness::{Tested, needs};
use crate::process::{Serve, ended};

tests![
    open_arrivals_are_paired_with_their_simulation,
    closed_users_are_paired_as_far_as_both_got,
    sessions_are_paired_by_session_and_request,
    streams_are_paired_with_the_engine_that_the_workload_models
];

/// Maximum mean overhead of loopback and the server's thread.
const OWN_MS: f64 = 2.0;
/// A lateness above this limit indicates a pause of the machine.
const AWAY_MS: f64 = 100.0;

/// Runs `arrivals` and `requests` against a server that equals the model. Returns the twin of `verify --twin`.
fn verified(arrivals: &str, discipline: &str, requests: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("w.toml"), folder.path().join("run"));
    let text = |url: &str| {
        format!(
            "seed = 7\nduration = \"12s\"\nskip_first = \"1s\"\ngenerator.wait = \"sleep\"\n[arrivals]\n{arrivals}\n\
             [target]\nurl = \"{url}/\"\n[server]\ndiscipline = \"{discipline}\"\nservice = {{ exponential = \"15ms\" }}\n{requests}"
        )
    };
    let (path, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    fs::write(&file, text("http://127.0.0.1:1")).unwrap();
    let server = Serve::with(&[
        "--listen",
        "127.0.0.1:0",
        "--discipline",
        discipline,
        "--service",
        "exponential:15ms",
        "--seed",
        "7",
    ]);
    fs::write(&file, text(&server.url)).unwrap();
    let run = ended(&["run", path, "--output", out, "--quiet"]);
    assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
    let page = ended(&["verify", out, "--twin"]);
    assert!(page.stdout.contains("Compared with its simulation"), "{page:?}");
    let shown = folder.path().join("page.html");
    let report = ended(&["report", out, "-o", shown.to_str().unwrap()]);
    assert_eq!(report.code, Some(0), "{report:?}");
    assert!(
        fs::read_to_string(shown).unwrap().contains("Comparison with the server model"),
        "every report of such a run shows it"
    );
    let found = ended(&["verify", out, "--twin", "--json"]);
    serde_json::from_str(&found.stdout).unwrap_or_else(|why| panic!("{why}: {found:?}"))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn is_its_model(arrivals: &str, model: &str, requests: &str, correlation: f64) -> Tested {
    let (_, discipline) = model.split_once(", ").unwrap();
    let verdict = verified(arrivals, discipline, requests);
    let (twin, lateness) = (&verdict["twin"], &verdict["lateness"]);
    needs("presence", number(&lateness["max_us"]) / 1e3 < AWAY_MS)?;
    let total = twin["requests"].as_array().unwrap().last().unwrap();
    assert_eq!(twin["model"], model);
    let lacking: u64 = twin["unpaired"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert!(lacking * 10 < twin["pairs"].as_u64().unwrap(), "{twin}");
    let own = (OWN_MS + number(&lateness["mean_us"]) / 1e3) / number(&total["model_ms"]);
    let (low, high) = (number(&total["ratio_low"]), number(&total["ratio_high"]));
    assert!(low < 1.0 + own && high > 1.0 - own, "{low} to {high}, where 1 to {} is allowed: {twin}", 1.0 + own);
    assert!(number(&total["correlation"]) > correlation, "{twin}");
    Ok(())
}

/// Service time of the model for each request, passed to the server.
const SAID: &str = "[variables]\nwork = { work = \"ms\" }\n[[request]]\nget = \"/?work_ms={{work}}\"\n";
/// Work given by each request, independent of the order of arrival.
const BROUGHT: &str = "[[request]]\nname = \"short\"\nget = \"/work?ms=8\"\nweight = 9\nservice = { constant = \"8ms\" }\n\
                       [[request]]\nname = \"long\"\nget = \"/work?ms=60\"\nservice = { constant = \"60ms\" }\n";

fn open_arrivals_are_paired_with_their_simulation() -> Tested {
    // Job n of the server is the n-th arrival and has the same work in both systems.
    is_its_model("open = { rate = \"40/s\" }", "open, fcfs", "", 0.9)
}

fn closed_users_are_paired_as_far_as_both_got() -> Tested {
    // In a queue, run and model would diverge, since a slightly later request finds other requests before it. Without
    // queueing, both responses to a request equal its work, whenever it arrives.
    is_its_model("closed = { users = 12, think.exponential = \"200ms\" }", "closed, infinite", SAID, 0.9)
}

fn sessions_are_paired_by_session_and_request() -> Tested {
    let arrivals = "partly_open = { rate = \"10/s\", stay = 0.75, think.exponential = \"100ms\" }";
    is_its_model(arrivals, "partly-open, fcfs", BROUGHT, 0.7)
}

fn streams_are_paired_with_the_engine_that_the_workload_models() -> Tested {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("w.toml"), folder.path().join("run"));
    let (path, out) = (file.to_str().unwrap(), out.to_str().unwrap());
    let text = |url: &str| {
        format!(
            "seed = 7\nduration = \"12s\"\nskip_first = \"1s\"\ngenerator.wait = \"sleep\"\n[arrivals]\nopen.rate = \"20/s\"\n\
             [target]\nurl = \"{url}/\"\n[server]\n\
             engine = {{ step = \"10ms\", per_sequence = \"200us\", sequences = 16, per_prompt_token = \"50us\" }}\n\
             [variables]\nprompt = {{ prompt = \"uniform:50..150\" }}\nanswer = {{ random = \"uniform:10..80\", per = \"request\" }}\n\
             [[request]]\npost = \"/v1/chat/completions\"\nstream = \"openai\"\n\
             body = '{{\"model\": \"m\", \"messages\": [{{\"role\": \"user\", \"content\": \"{{{{prompt}}}}\"}}], \
             \"max_tokens\": {{{{answer}}}}, \"stream\": true, \"stream_options\": {{\"include_usage\": true}}}}'\n"
        )
    };
    fs::write(&file, text("http://127.0.0.1:1")).unwrap();
    let server = Serve::with(&["--listen", "127.0.0.1:0", "--engine", "10ms,200us,16,50us"]);
    fs::write(&file, text(&server.url)).unwrap();
    let run = ended(&["run", path, "--output", out, "--quiet"]);
    assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
    let found = ended(&["verify", out, "--twin", "--json"]);
    let verdict: Value = serde_json::from_str(&found.stdout).unwrap_or_else(|why| panic!("{why}: {found:?}"));
    let (twin, lateness) = (&verdict["twin"], &verdict["lateness"]);
    needs("presence", number(&lateness["max_us"]) / 1e3 < AWAY_MS)?;
    let total = twin["requests"].as_array().unwrap().last().unwrap();
    let own = (OWN_MS + number(&lateness["mean_us"]) / 1e3) / number(&total["model_ms"]);
    let (low, high) = (number(&total["ratio_low"]), number(&total["ratio_high"]));
    assert!(low < 1.0 + own && high > 1.0 - own, "{low} to {high}, where 1 to {} is allowed: {twin}", 1.0 + own);
    assert!(number(&total["correlation"]) > 0.9, "{twin}");
    // The simulation of the workload knows the same times to and per token.
    let simulated = ended(&["simulate", path, "--json"]);
    let simulated: Value = serde_json::from_str(&simulated.stdout).unwrap_or_else(|why| panic!("{why}: {simulated:?}"));
    let times = |name: &str| {
        let rows = verdict["tokens"]["times"].as_array().unwrap_or_else(|| panic!("{verdict}"));
        number(&rows.iter().find(|row| row["label"] == name).unwrap()["p50_ms"])
    };
    for (measured, predicted) in [("ttft", "ttft_s"), ("tpot", "tpot_s")] {
        let predicted = 1e3 * number(&simulated["results"][0]["tokens"][predicted]["p50"]);
        let measured = times(measured);
        assert!((measured - predicted).abs() < 0.1 * predicted + 2.0, "{measured} ms against {predicted} ms");
    }
    Ok(())
}
