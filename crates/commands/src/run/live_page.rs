//! `--ui`: the live page of a run.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use offered_base::Share;
use offered_experiment::FinishedRun;
use offered_report::format::number;
use offered_schedule::Sessions;
use offered_watch::LivePage;
use offered_workload::Workload;

use super::text::model;
use crate::failure::Failure;
use crate::output::status;
use crate::report;

/// Parses the address of `--ui`: `127.0.0.1:8090`, `[::1]:8090`, `8090` or `localhost:8090`.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    local(text).ok_or_else(|| {
        "write --ui 127.0.0.1:8090, --ui 8090, or --ui at the end of the line for a free port; for access from other \
         machines, --ui 192.0.2.7:8090"
            .to_owned()
    })
}

/// An address, or a port of 127.0.0.1.
pub(super) fn local(text: &str) -> Option<SocketAddr> {
    let port = text.strip_prefix("localhost:").unwrap_or(text).parse::<u16>();
    port.map(|port| SocketAddr::from((Ipv4Addr::LOCALHOST, port))).or_else(|_| text.parse()).ok()
}

/// Serves the page and prints its link.
pub(crate) fn serve(
    address: SocketAddr,
    workload: &Workload,
    share: Share,
    stop: Option<Arc<AtomicBool>>,
) -> Result<LivePage, Failure> {
    let (about, can_stop) = (description(workload, share), stop.is_some());
    let page = LivePage::serve(address, about, stop).map_err(|error| {
        Failure::input(format!("cannot serve the live page at {address}: {error}; choose another --ui"))
    })?;
    if !address.ip().is_loopback() {
        status!(
            "warning: the live page is reachable from other machines; anyone with its link can watch this run{}",
            if can_stop { " and stop it" } else { "" }
        );
    }
    status!("live page: {}", page.url());
    Ok(page)
}

/// Replaces the live page by the report. An error is only a warning: the result is already printed.
pub(crate) fn end(page: LivePage, made: &FinishedRun, workload: &Workload) {
    match super::report_of(made, workload).and_then(|report| report::page(&report)) {
        Ok(report) => page.end(report),
        Err(Failure::Input(why) | Failure::Stopped(why)) => {
            status!("warning: cannot show the report on the live page: {why}");
        }
    }
}

/// A one-line description of the run.
fn description(workload: &Workload, share: Share) -> String {
    let load = match (workload.sessions(), workload.scheduled_rate()) {
        (Sessions::Closed(closed), _) if closed.population().is_some() => format!(", up to {} users", closed.users()),
        (Sessions::Closed(closed), _) => format!(", {} users", closed.users()),
        (_, Some(rate)) => format!(", target {}/s", number(rate * share.fraction())),
        _ => String::new(),
    };
    let url = workload.target().map(|target| format!(" at {}", target.url())).unwrap_or_default();
    format!("{}{load}{url}", model(workload))
}

#[cfg(test)]
mod tests {

    #[test]
    fn an_address_is_loopback_unless_it_says_otherwise() {
        for (text, address) in [
            ("8090", "127.0.0.1:8090"),
            ("localhost:8090", "127.0.0.1:8090"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:8090", "[::1]:8090"),
            ("0.0.0.0:8090", "0.0.0.0:8090"),
        ] {
            assert_eq!(super::address(text), Ok(address.parse().unwrap()), "{text}");
        }
        for text in ["http://127.0.0.1/", "example.org:80", "70000", ""] {
            assert!(super::address(text).unwrap_err().contains("--ui 127.0.0.1:8090"), "{text}");
        }
    }
}
