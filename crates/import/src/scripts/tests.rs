use super::*;
use crate::{Arrivals, ImportOptions, read};

const TOOLS: [Tool; 5] = [Tool::Jmeter, Tool::K6, Tool::Locust, Tool::Gatling, Tool::Wrk2];

fn workload(url: &str) -> Workload {
    let text = format!(
        "duration = \"10s\"\narrivals.open = {{ rate = \"1/s\" }}\ntarget = {{ url = \"{url}\", response_timeout = \"5s\" }}\n\
         variables.shop = \"north\"\n\
         [[request]]\nname = \"home\"\nget = \"/\"\nweight = 3\n\
         [[request]]\nname = \"say \\\"<hi>\\\"\"\npost = \"/{{{{shop}}}}/s?u={{{{session}}}}\"\nbody = '{{\"n\": {{{{sequence}}}}, \"t\": \"\\\"}}'\nheaders = {{ X-A = \"a&b\" }}\n"
    );
    Workload::parse(&text, "w.toml", &|_| Err("no file".to_owned())).unwrap()
}

fn shop(url: &str) -> Emulation {
    let workload = workload(url);
    Emulation {
        url: workload.target().unwrap().url().clone(),
        requests: workload.requests().to_vec(),
        users: 200,
        think: 6.3,
        rate: 31.5,
        ratio: 200.0 / 6.3,
        ramp: Nanos::from_secs(7),
        duration: Nanos::from_secs(1500),
    }
}

#[test]
fn jmeter_scripts_can_be_imported_again() {
    for (shape, think) in [
        (ThinkShape::Uniform, Distribution::uniform(0.0, 12.6).unwrap()),
        (ThinkShape::Exponential, Distribution::exponential(6.3).unwrap()),
        (ThinkShape::Constant, Distribution::constant(6.3).unwrap()),
    ] {
        let script = shop("http://h:81/").script(Tool::Jmeter, shape).unwrap();
        let plan = read(&script, "plan.jmx", &ImportOptions::default()).unwrap().remove(0);
        let Arrivals::Closed { users, ramp, think: drawn, visits: None, pace: None, .. } = &plan.arrivals else {
            panic!("{:?}", plan.arrivals)
        };
        assert_eq!((*users, *ramp, plan.duration), (200, Nanos::from_secs(7), Nanos::from_secs(1500)));
        assert_eq!(*drawn, think);
        let weights: Vec<(&str, f64)> = plan.requests.iter().map(|r| (r.name.as_str(), r.weight)).collect();
        assert_eq!(weights, [("home", 3.0), ("say \"<hi>\"", 1.0)]);
        assert_eq!(plan.target.url().to_string(), "http://h:81/");
        assert_eq!(plan.requests[1].headers[0].1.to_display(), "a&b");
    }
}

#[test]
fn workload_text_parses_to_the_workload() {
    let shape = Distribution::exponential(6.3).unwrap();
    let (emulation, original) = (shop("http://h:81/"), workload("http://h:81/"));
    let text = emulation.workload_text(&original, shape.clone()).unwrap();
    let workload = Workload::parse(&text, "w.toml", &|_| Err("no file".to_owned())).unwrap();
    assert_eq!(workload, emulation.workload(&original, shape.clone()).unwrap());
    let Sessions::Closed(closed) = &workload.sessions() else { panic!("closed") };
    assert_eq!((closed.users(), closed.think(), closed.ramp()), (200, &shape, Nanos::from_secs(7)));
    // Target and requests are unchanged.
    assert_eq!((workload.requests(), workload.target()), (original.requests(), original.target()));
}

#[test]
fn scripts_name_users_and_server_and_escape_texts() {
    let emulation = shop("http://h:81/");
    for tool in TOOLS {
        let script = emulation.script(tool, ThinkShape::Exponential).unwrap();
        assert!(script.contains("200 users") && script.contains("h:81") || tool == Tool::Jmeter, "{tool}: {script}");
        // Quotes in a name are escaped.
        assert!(!script.contains("say \"<hi>"), "{tool}: {script}");
    }
    assert_eq!(emulation.running_shares(), [0.75, 1.0]);
}

#[test]
fn unix_sockets_are_rejected() {
    for tool in TOOLS {
        let refused = shop("unix:/tmp/s:/").script(tool, ThinkShape::Uniform).unwrap_err();
        assert_eq!(refused, Error::UnixSocket { tool, socket: "/tmp/s".to_owned() });
    }
}
