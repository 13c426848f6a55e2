//! From a log to a workload, to a log of its simulated requests, and back: the workload must be recovered.

use std::fmt::Write as _;

use offered_base::{Instant, Share};
use offered_distributions::Distribution;
use offered_experiment::log_models::{Discipline, SiteModels};
use offered_logs::{Findings, Options, Progress, open_inputs, read};
use offered_schedule::System;
use offered_workload::Workload;

use crate::harness::Tested;
use crate::program::real;

tests![nasa_log_is_recovered, sites_with_known_distributions_are_recovered];

const TIMEOUT: u64 = 1800;

fn findings(name: &str) -> Findings {
    let options = Options::default();
    let inputs = open_inputs(&[name.to_owned()], &options.choice).unwrap();
    Findings::of(read(&inputs, &options, TIMEOUT, &Progress::default()).unwrap(), &options, TIMEOUT).unwrap()
}

/// Requests of `workload` to a server that responds at once, as a Squid log; a session is a client.
fn log_of(workload: &Workload) -> String {
    let (mut agenda, mut log) = (workload.agenda(Share::ALL), String::new());
    while let Some(launch) = agenda.due(Instant::MAX) {
        let ms = launch.intended.0 / 1_000_000;
        let (seconds, ms) = (1_700_000_000 + ms / 1000, ms % 1000);
        let client = format!("10.{}.{}.{}", launch.session >> 16, launch.session >> 8 & 255, launch.session & 255);
        writeln!(log, "{seconds}.{ms:03} 1 {client} TCP_MISS/200 100 GET http://a/x - DIRECT/1.1.1.1 text/html")
            .unwrap();
        agenda.completed(launch, launch.intended);
    }
    log
}

fn assert_same_site(name: &str) {
    let there = findings(name);
    let models = SiteModels::new(&there, 0.7).unwrap();
    let workload = models.workload(&there, System::PartlyOpen, Discipline::Ps).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), log_of(&workload)).unwrap();
    let back = findings(file.path().to_str().unwrap());
    let think = |found: &Findings| found.figures.think_time.as_ref().map(|think| (think.mean_s, think.cov)).unwrap();
    let ((mean, cov), (mean_back, cov_back)) = (think(&there), think(&back));
    let near = |what: &str, there: f64, back: f64, tolerance: f64| {
        assert!((back / there - 1.0).abs() <= tolerance, "{what}: {there} came back as {back}");
    };
    near("requests per session", there.figures.requests_per_session.mean, back.figures.requests_per_session.mean, 0.06);
    near("mean think time", mean, mean_back, 0.05);
    near("CoV of think times", cov, cov_back, 0.05);
    near("sessions", there.figures.sessions as f64, back.figures.sessions as f64, 0.06);
    near("requests", there.figures.requests as f64, back.figures.requests as f64, 0.08);
}

fn nasa_log_is_recovered() -> Tested {
    assert_same_site(&real("nasa_1995-08-01.log.gz")?);
    Ok(())
}

/// Sites with exponential think times, or with long tails that the session timeout truncates, and with
/// geometric or fixed lengths.
fn sites_with_known_distributions_are_recovered() {
    let tailed = Distribution::lognormal(60.0, 60.0).unwrap();
    for (think, length) in [
        (Distribution::exponential(30.0).unwrap(), "stay = 0.8"),
        (tailed.clone(), "stay = 0.75"),
        (tailed, "length = { empirical = [1, 1, 1, 1, 2, 3, 4, 40] }"),
        (Distribution::empirical(vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 600.0]).unwrap(), "stay = 0.7"),
    ] {
        let toml = format!(
            "seed = 7\nduration = \"20h\"\n[arrivals]\npartly_open = {{ rate = \"0.05/s\", {length}, think = {think} }}\n"
        );
        let site = Workload::parse(&toml, "site.toml", &|_| unreachable!()).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), log_of(&site)).unwrap();
        assert_same_site(file.path().to_str().unwrap());
    }
}
